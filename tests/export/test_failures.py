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
    paths,
    plain,
    run_folders,
    touched,
    write_articles,
    write_index,
)
from tests.support.killing import dies_at
from tests.support.sections import Numbers, declare

pytestmark = pytest.mark.sitemaps09
A, B = "sitemap-a-1.xml.gz", "sitemap-b-1.xml.gz"


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


def run(folder, a, b, **options):
    """Export two sections. A number stands for a section of so many numbers."""
    sitemaps = {"a": Numbers(a) if isinstance(a, int) else a, "b": Numbers(b) if isinstance(b, int) else b}
    return export(output=folder, sitemaps=sitemaps, **options)


@pytest.fixture
def before(folder):
    """Export two sections of three numbers, and return the state of their files."""
    run(folder, 3, 3)
    return touched(folder)


@pytest.mark.sitemaps09(MAX_URLS=2)
def test_a_section_that_fails_keeps_its_published_files_and_entries_and_the_others_are_published(folder):
    export(output=folder, sitemaps={"a": Numbers(3), "b": Numbers(3), "c": Numbers(1)})
    before = touched(folder)
    sitemaps = {"a": Numbers(1), "b": Failing(9, fine=5), "c": Numbers(4, start=9)}
    report = export(output=folder, sitemaps=sitemaps)
    after = touched(folder)
    assert {name: after[name] for name in after if "-b-" in name} == {
        name: before[name] for name in before if "-b-" in name
    }
    assert paths(folder) == [*numbers(1), *numbers(3), *numbers(4, start=9)]
    failures = ["Section 'b': ImproperlyConfigured: the project is broken."]
    assert (report.failures, report.published, run_folders(folder)) == (failures, True, [])
    # It does not keep what is removed beside it.
    export(output=folder, sitemaps={"a": Failing(1, fine=0), "c": Numbers(4)}, remove=["b"])
    assert [name[8:-7] for name in named(folder)] == ["a-1", "c-1", "c-2"]


def test_a_section_that_fails_stops_all_under_strict_and_may_fail_before_its_first_row(folder, before):
    def factory():
        raise RuntimeError("no sitemap today")

    report = run(folder, 9, factory, strict=True)
    assert (report.published, touched(folder)) == (False, before)
    assert "Section 'b': RuntimeError: no sitemap today." in report.failures
    report = run(folder, 9, factory)
    assert report.failures == ["Section 'b': RuntimeError: no sitemap today."]
    assert paths(folder) == [*numbers(9), *numbers(3)]


@pytest.mark.django_db
@pytest.mark.sitemaps09(MAX_URLS=4)
def test_a_database_that_fails_once_is_retried_at_any_point_and_for_each_page(folder):
    for calls in (*([call] for call in range(1, 21)), [12, 18]):
        public = folder / "-".join(map(str, calls))
        sitemap = Stumbling(10, calls)
        report = export(output=public, sitemaps={"a": sitemap})
        assert sitemap.calls > calls[-1]
        assert (report.failures, paths(public), report.urls) == ([], numbers(10), 10), calls
        assert report.sections[0].errors == ()


@pytest.mark.django_db
@pytest.mark.sitemaps09(MAX_URLS=4)
@pytest.mark.parametrize("call", [1, 5, 11, 16, 20])
def test_a_database_that_fails_for_good_fails_its_section_and_nothing_of_it_is_published(folder, call):
    report = run(folder, Stumbling(10, range(call, 1_000)), 1)
    assert report.failures == ["Section 'a': OperationalError: server closed the connection unexpectedly."]
    assert ({*content(folder)}, run_folders(folder)) == ({"sitemap.xml", B}, [])


@pytest.mark.django_db
@pytest.mark.sitemaps09(MAX_URLS=2)
@pytest.mark.parametrize("times", [1, 2])
def test_a_database_that_fails_in_the_middle_of_a_query_is_retried_once_too(folder, times):
    write_articles(*"abcde")
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
    if times == 1:
        assert (report.failures, paths(folder)) == ([], [f"/articles/{slug}/" for slug in "abcde"])
    else:
        assert report.failures == ["Section 'a': OperationalError: gone away."]
        assert (report.urls, content(folder)) == (0, {})


@isolate_apps("tests")
def test_a_missing_table_fails_its_section_and_names_migrate(snapshot_using, folder, caplog):
    class Unmigrated(Model):
        class Meta:
            app_label = "tests"

    sitemap = declare(ModelSitemap, queryset=Unmigrated.objects.using(snapshot_using))()
    [failure] = run(folder, sitemap, 1).failures
    assert re.match(r"Section 'a': \w+Error: a table is missing, run manage.py migrate: ", failure)
    assert ("tests_unmigrated" in failure, paths(folder)) == (True, numbers(1))
    # It is not read again.
    [record] = caplog.records
    assert "run manage.py migrate" in record.getMessage()


def test_a_second_export_at_once_ends_before_it_changes_anything(folder, before, tmp_path):
    robots = tmp_path / "robots.txt"
    inside = []

    def items(self):
        # The staged files of the first export are not touched either.
        runs = run_folders(folder)
        with pytest.raises(ExportRunningError, match=f"Another export is writing to {folder}"):
            run(folder, 9, 9, robots=robots)
        assert (touched(folder), run_folders(folder), robots.exists()) == (before, runs, False)
        inside.append(len(runs))
        return range(5)

    run(folder, 2, declare(Numbers, items=items)(5))
    assert (inside, paths(folder)) == ([1], [*numbers(2), *numbers(5)])


@pytest.mark.parametrize("how", ["failed", "strict", "refused", "interrupted"])
def test_a_later_export_is_possible_however_the_first_ended(folder, how):
    def interrupted(self, item):
        raise KeyboardInterrupt

    if how == "failed":
        run(folder, Failing(1, 0), Failing(1, 0))
    elif how == "strict":
        run(folder, Bad(3, [1]), 1, strict=True)
    elif how == "refused":
        write_index(folder, "")
        with pytest.raises(ExportError):
            run(folder, 1, 1, names=["a"])
    else:
        with pytest.raises(KeyboardInterrupt):
            run(folder, declare(Numbers, location=interrupted)(1), 1)
    assert run_folders(folder) == []
    run(folder, 7, 1)
    assert paths(folder) == [*numbers(7), *numbers(1)]


@pytest.mark.parametrize("call", [1, 2, 3])
def test_a_failure_of_fsync_fails_its_section_or_all_at_the_index(folder, before, monkeypatch, call):
    monkeypatch.setattr(os, "fsync", failing_at(call, os.fsync))
    if call == 3:
        with pytest.raises(OSError, match="Input/output"):
            run(folder, 9, 9)
        assert (touched(folder), run_folders(folder)) == (before, [])
        return
    [failure] = run(folder, 9, 9).failures
    assert failure.startswith(f"Section '{'ab'[call - 1]}': OSError")
    after = touched(folder)
    assert [after[name] == before[name] for name in (A, B)] == [call == 1, call == 2]


@pytest.mark.parametrize(("call", "found"), [
    # The files of both sections in the manifest, and the journal.
    (1, [3, 3]), (2, [3, 3]), (3, [3, 3]),
    # The pages, the index, the manifest of before, and that of now.
    (4, [3, 3]), (5, [9, 3]), (6, [9, 9]), (7, [9, 9]), (8, [9, 9]),
])  # fmt: skip
def test_a_failure_while_publishing_leaves_whole_files_for_the_next_run(
    folder, before, monkeypatch, call, found
):
    with monkeypatch.context() as patch:
        patch.setattr(Path, "replace", failing_at(call, Path.replace))
        with pytest.raises(OSError, match="Input/output"):
            run(folder, 9, 9)
    after = touched(folder)
    assert [len(locations(plain(folder, name))) for name in named(folder)] == found
    assert (after == before, JOURNAL in run_folders(folder)) == (call <= 4, call > 3)
    report = run(folder, 9, 9)
    assert (report.recovered, paths(folder), run_folders(folder)) == (
        call > 3,
        [*numbers(9), *numbers(9)],
        [],
    )
    if call > 3:
        # Staged files are not rendered again.
        replaced = {name: after[name] for name in after if after[name] != before[name]}
        assert (report.written, touched(folder).items() >= replaced.items()) == ((), True)


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
    assert (export(output=folder, sitemaps=sections).recovered, paths(folder)) == (True, numbers(3))
