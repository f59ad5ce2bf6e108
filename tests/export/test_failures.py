"""Exports that fail: sections, databases, disks, and processes that are killed."""

from __future__ import annotations

import errno
import os
import re
from pathlib import Path

import pytest
from django.db import OperationalError, connection
from django.db.models import Model
from django.test.utils import isolate_apps

from django_sitemaps09 import ModelSitemap
from django_sitemaps09.exceptions import ExportError, ExportRunningError
from django_sitemaps09.export import export
from django_sitemaps09.state.journal import JOURNAL
from django_sitemaps09.stores import STATE, LocalStore
from tests.support.exports import (
    Bad,
    Failing,
    article_sitemap,
    content,
    failing_at,
    locations,
    named,
    numbers,
    parse,
    paths,
    plain,
    run_folders,
    touched,
    write_articles,
    write_index,
)
from tests.support.killing import dies_at, forked, was_killed
from tests.support.sections import Numbers

pytestmark = pytest.mark.sitemaps09


class Stumbling(Numbers):
    """Section whose database fails in some calls of `location`: `failing` has their numbers, from 1."""

    def __init__(self, count, failing):
        super().__init__(count)
        self.failing, self.calls = failing, 0

    def location(self, item):
        self.calls += 1
        if self.calls in self.failing:
            raise OperationalError("server closed the connection unexpectedly")
        return super().location(item)


class Spy(Numbers):
    """Section that calls `look` when its items are requested, in the middle of an export."""

    def __init__(self, look):
        super().__init__(5)
        self.look = look

    def items(self):
        self.look()
        return super().items()


#: The replacements of files when two sections grow from 3 to 9 URLs, and what is published before each.
REPLACEMENTS = [
    # The files of both sections in the manifest, and the journal.
    (1, [3, 3]),
    (2, [3, 3]),
    (3, [3, 3]),
    # The pages, the index, the manifest of before, and that of now.
    (4, [3, 3]),
    (5, [9, 3]),
    (6, [9, 9]),
    (7, [9, 9]),
    (8, [9, 9]),
]


class TestAFailedSection:
    @pytest.mark.sitemaps09(MAX_URLS=2)
    def test_keeps_its_published_files_and_entries_and_the_others_are_published(self, folder):
        export(output=folder, sitemaps={"a": Numbers(3), "b": Numbers(3), "c": Numbers(1)})
        index = parse(plain(folder, "sitemap.xml"))
        before = touched(folder)
        report = export(
            output=folder, sitemaps={"a": Numbers(1), "b": Failing(9, fine=5), "c": Numbers(4, start=9)}
        )
        after = touched(folder)
        for name in ("sitemap-b-1.xml.gz", "sitemap-b-2.xml.gz"):
            assert after[name] == before[name]
        assert "sitemap-b-3.xml.gz" not in after
        assert [node[0].text for node in index][2:4] == [
            node[0].text for node in parse(plain(folder, "sitemap.xml"))
        ][1:3]
        assert paths(folder) == [*numbers(1), *numbers(3), *numbers(4, start=9)]
        assert report.failures == ["Section 'b': ImproperlyConfigured: the project is broken."]
        assert report.published
        assert run_folders(folder) == []

    def test_does_not_keep_what_is_removed_beside_it(self, folder):
        export(output=folder, sitemaps={"a": Numbers(1), "b": Numbers(1), "c": Numbers(1)})
        export(output=folder, sitemaps={"a": Failing(1, fine=0), "c": Numbers(1)}, remove=["b"])
        assert named(folder) == ["sitemap-a-1.xml.gz", "sitemap-c-1.xml.gz"]

    def test_stops_all_under_strict(self, folder):
        export(output=folder, sitemaps={"a": Numbers(3), "b": Numbers(3)})
        before = touched(folder)
        report = export(
            output=folder, sitemaps={"a": Numbers(9), "b": Failing(9, fine=5)}, strict=True, robots=None
        )
        assert touched(folder) == before
        assert not report.published
        assert "'b'" in report.failures[0]

    def test_may_fail_before_its_first_row(self, folder):
        def factory():
            raise RuntimeError("no sitemap today")

        report = export(output=folder, sitemaps={"b": factory, "a": Numbers(1)})
        assert report.failures == ["Section 'b': RuntimeError: no sitemap today."]
        assert paths(folder) == numbers(1)


@pytest.mark.django_db
class TestADatabaseThatFails:
    @pytest.mark.sitemaps09(MAX_URLS=4)
    def test_once_is_retried_at_any_point_and_for_each_page(self, folder):
        for calls in (*([call] for call in range(1, 21)), [12, 18]):
            public = folder / "-".join(map(str, calls))
            sitemap = Stumbling(10, calls)
            report = export(output=public, sitemaps={"a": sitemap})
            assert sitemap.calls > calls[-1]
            assert (report.failures, paths(public)) == ([], numbers(10)), calls
            assert (report.urls, report.sections[0].errors) == (10, ())

    @pytest.mark.sitemaps09(MAX_URLS=4)
    @pytest.mark.parametrize("call", [1, 5, 11, 16, 20])
    def test_for_good_fails_its_section_and_nothing_of_it_is_published(self, folder, call):
        sitemaps = {"a": Stumbling(10, range(call, 1_000)), "b": Numbers(1)}
        report = export(output=folder, sitemaps=sitemaps)
        assert set(content(folder)) == {"sitemap.xml", "sitemap-b-1.xml.gz"}
        assert report.failures == [
            "Section 'a': OperationalError: server closed the connection unexpectedly."
        ]
        assert run_folders(folder) == []

    @pytest.mark.parametrize(("times", "fails"), [(1, False), (2, True)])
    def test_in_the_middle_of_a_query_is_the_same(self, folder, configure, times, fails):
        write_articles("a", "b", "c", "d", "e")
        configure(MAX_URLS=2)
        left = times

        def gone(execute, sql, *arguments):
            nonlocal left
            if left and '."slug"' in sql and '."id" > ' in sql:
                left -= 1
                raise OperationalError("gone away")
            return execute(sql, *arguments)

        with connection.execute_wrapper(gone):
            report = export(output=folder, sitemaps={"a": article_sitemap()})
        assert left == 0
        if fails:
            assert report.failures == ["Section 'a': OperationalError: gone away."]
            assert report.urls == 0
            assert content(folder) == {}
        else:
            assert paths(folder) == [f"/articles/{slug}/" for slug in "abcde"]


@isolate_apps("tests")
def test_a_missing_table_fails_its_section_and_names_migrate(snapshot_using, folder, caplog):
    class Unmigrated(Model):
        class Meta:
            app_label = "tests"

    sitemap = type("Section", (ModelSitemap,), {"queryset": Unmigrated.objects.using(snapshot_using)})()
    report = export(output=folder, sitemaps={"a": sitemap, "b": Numbers(1)})
    (failure,) = report.failures
    assert re.match(r"Section 'a': \w+Error: a table is missing, run manage.py migrate: ", failure)
    assert "tests_unmigrated" in failure
    assert paths(folder) == numbers(1)
    # It is not read again.
    [record] = caplog.records
    assert "run manage.py migrate" in record.getMessage()


class TestTwoExportsAtOnce:
    def test_end_the_second_one_before_it_changes_anything(self, folder, tmp_path):
        robots = tmp_path / "robots.txt"
        export(output=folder, sitemaps={"a": Numbers(3)})
        before = touched(folder)
        inside = []

        def second():
            runs = run_folders(folder)
            with pytest.raises(ExportRunningError, match=f"Another export is writing to {folder}"):
                export(output=folder, sitemaps={"a": Numbers(9)}, robots=robots)
            assert touched(folder) == before
            assert run_folders(folder) == runs
            assert len(runs) == 1
            assert not robots.exists()
            inside.append(runs)

        # The staged files of the first export are not touched either.
        export(output=folder, sitemaps={"b": Numbers(2), "a": Spy(second)})
        assert len(inside) == 1
        assert paths(folder) == [*numbers(2), *numbers(5)]

    @pytest.mark.parametrize("how", ["well", "failed", "strict", "refused", "interrupted"])
    def test_are_one_after_the_other_however_the_first_ended(self, folder, how):
        class Interrupted(Numbers):
            def location(self, item):
                raise KeyboardInterrupt

        if how == "well":
            export(output=folder, sitemaps={"a": Numbers(1)})
        elif how == "failed":
            export(output=folder, sitemaps={"a": Failing(1, 0)})
        elif how == "strict":
            export(output=folder, sitemaps={"a": Bad(3, [1])}, strict=True)
        elif how == "refused":
            write_index(folder, "")
            with pytest.raises(ExportError):
                export(["a"], output=folder, sitemaps={"a": Numbers(1)})
        else:
            with pytest.raises(KeyboardInterrupt):
                export(output=folder, sitemaps={"a": Interrupted(1)})
        assert run_folders(folder) == []
        export(output=folder, sitemaps={"a": Numbers(7)})
        assert paths(folder) == numbers(7)


class TestAFailureToWrite:
    """Each file is complete, or does not exist."""

    @pytest.fixture
    def before(self, folder):
        export(output=folder, sitemaps={"a": Numbers(3), "b": Numbers(3)})
        return touched(folder)

    @pytest.mark.parametrize("gzip", [True, False])
    def test_in_the_middle_of_a_page_fails_its_section_alone(self, folder, gzip):
        export(output=folder, sitemaps={"a": Numbers(3), "b": Numbers(3)}, gzip=gzip)
        before = touched(folder)

        def limited():
            resource = pytest.importorskip("resource")
            resource.setrlimit(resource.RLIMIT_FSIZE, (4_096, 4_096))
            sitemaps = {"a": Numbers(4_000), "b": Numbers(4)}
            (failure,) = export(output=folder, sitemaps=sitemaps, gzip=gzip).failures
            assert failure.startswith("Section 'a': OSError: [Errno 27] File too large")

        assert not was_killed(forked(limited))
        after = touched(folder)
        assert {name: after[name] for name in after if "-a-" in name} == {
            name: before[name] for name in before if "-a-" in name
        }
        assert paths(folder) == [*numbers(3), *numbers(4)]
        assert run_folders(folder) == []

    @pytest.mark.parametrize("call", [1, 2])
    def test_at_the_fsync_of_a_page_fails_its_section_alone(self, folder, before, monkeypatch, call):
        monkeypatch.setattr(os, "fsync", failing_at(call, os.fsync))
        report = export(output=folder, sitemaps={"a": Numbers(9), "b": Numbers(9)})
        failed, other = ("a", "b") if call == 1 else ("b", "a")
        after = touched(folder)
        assert after[f"sitemap-{failed}-1.xml.gz"] == before[f"sitemap-{failed}-1.xml.gz"]
        assert after[f"sitemap-{other}-1.xml.gz"] != before[f"sitemap-{other}-1.xml.gz"]
        assert [f"Section {failed!r}: OSError" in failure for failure in report.failures] == [True]

    def test_of_the_staged_index_leaves_all_as_it_was(self, folder, before, monkeypatch):
        monkeypatch.setattr(os, "fsync", failing_at(3, os.fsync))
        with pytest.raises(OSError, match="Input/output"):
            export(output=folder, sitemaps={"a": Numbers(9), "b": Numbers(9)})
        assert touched(folder) == before
        assert run_folders(folder) == []

    @pytest.mark.parametrize(("call", "found"), REPLACEMENTS)
    def test_while_publishing_leaves_an_index_over_whole_files_and_the_next_one_ends_it(
        self, folder, before, monkeypatch, call, found
    ):
        begun = call > 3
        sitemaps = {"a": Numbers(9), "b": Numbers(9)}
        with monkeypatch.context() as patch:
            patch.setattr(Path, "replace", failing_at(call, Path.replace))
            with pytest.raises(OSError, match="Input/output"):
                export(output=folder, sitemaps=sitemaps)
        after = touched(folder)
        assert (after == before) == (call <= 4)
        assert [len(locations(plain(folder, name))) for name in named(folder)] == found
        assert (JOURNAL in run_folders(folder)) == begun
        report = export(output=folder, sitemaps=sitemaps)
        assert report.recovered == begun
        assert paths(folder) == [*numbers(9), *numbers(9)]
        if begun:
            assert report.written == ()
            # Staged files are not rendered again.
            assert all(
                touched(folder)[name] == after[name] for name in after if after[name] != before[name]
            )
        assert run_folders(folder) == []


def test_a_killed_run_whose_files_cannot_be_read_is_finished_by_the_next_run_that_can(folder, monkeypatch):
    sections = {"numbers": Numbers(3)}
    assert dies_at(2, lambda: export(output=folder, sitemaps=sections))

    def unreadable(store, name):
        raise OSError(errno.EIO, "Input/output error")

    with monkeypatch.context() as patched:
        patched.setattr(LocalStore, "open", unreadable)
        with pytest.raises(OSError, match=r"sitemap.*-1\.xml\.gz"):
            export(output=folder, sitemaps=sections)
    assert (folder / STATE / JOURNAL).exists()
    assert export(output=folder, sitemaps=sections).recovered
    assert paths(folder) == numbers(3)
