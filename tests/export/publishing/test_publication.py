"""Published files of an export: the index, modes of files, and the order of publication."""

from __future__ import annotations

import os
import re
import stat
from datetime import date, datetime, timedelta, timezone
from pathlib import Path

import pytest

from django_sitemaps09.exceptions import ExportError
from django_sitemaps09.export import export
from django_sitemaps09.state.history import EXPORTED, HISTORY
from django_sitemaps09.state.journal import JOURNAL
from django_sitemaps09.state.manifest import ROOT as MANIFEST
from django_sitemaps09.stores import STATE
from tests.support.exports import (
    Bad,
    article_model,
    article_sitemap,
    content,
    local_storage,
    named,
    numbers,
    paths,
    plain,
    run_folders,
    touched,
    write_articles,
)
from tests.support.sections import Numbers

pytestmark = pytest.mark.sitemaps09


def tree(folder):
    """Return the state of a folder and everything in it, including private files.

    Any new file changes it, but not the time of the export, which each run writes.
    """
    found = {}
    for path in (folder, *folder.rglob("*")):
        if path.name in (STATE, EXPORTED):
            continue
        status = path.lstat()
        found[str(path)] = (status.st_mtime_ns, status.st_ino, status.st_mode)
    return found


class TestTheIndexOfAnExport:
    @pytest.mark.parametrize("offset", [None, timedelta(days=2), timedelta(hours=3)])
    @pytest.mark.django_db
    def test_has_no_lastmod_for_a_page_with_a_url_that_has_none_or_one_in_the_future(self, folder, offset):
        write_articles("a", "b")
        updated = None if offset is None else datetime.now(timezone.utc) + offset
        article_model().objects.filter(slug="a").update(updated=updated)
        export(output=folder, sitemaps={"articles": article_sitemap()})
        assert b"lastmod" not in plain(folder, "sitemap.xml")
        assert b"<lastmod>" in plain(folder, named(folder)[0])

    def test_has_a_lastmod_that_is_a_date_as_a_date(self, folder):
        class Dated(Numbers):
            lastmod = date(2026, 3, 4)

        export(output=folder, sitemaps={"a": Dated(2)})
        assert b"<lastmod>2026-03-04</lastmod>" in plain(folder, "sitemap.xml")

    @pytest.mark.django_db
    def test_does_not_name_a_section_without_urls(self, folder):
        for count, found in ((1, ["a", "b"]), (0, ["a"])):
            sitemaps = {
                "empty": Numbers(0),
                "rows": article_sitemap(),
                "a": Numbers(1),
                "b": Numbers(count),
            }
            assert export(output=folder, sitemaps=sitemaps).failures == []
            assert named(folder) == [f"sitemap-{name}-1.xml.gz" for name in found]
        assert set(content(folder)) == {"sitemap.xml", "sitemap-a-1.xml.gz", "sitemap-b-1.xml.gz"}

    def test_does_not_exist_if_it_would_list_nothing(self, folder, tmp_path):
        robots = tmp_path / "robots.txt"
        report = export(output=folder, sitemaps={"a": Numbers(0), "b": Numbers(0)}, robots=robots)
        assert content(folder) == {}
        assert not robots.exists()
        assert (report.published, report.failures) == (False, [])
        assert "No section has any URLs" in report.warnings[0]

    def test_stays_if_it_would_list_nothing(self, folder):
        export(output=folder, sitemaps={"a": Numbers(1)})
        before = touched(folder)
        export(output=folder, sitemaps={"a": Numbers(0)})
        assert touched(folder) == before

    def test_names_the_pages_of_a_section_that_is_not_declared_any_more(self, folder):
        export(output=folder, sitemaps={"a": Numbers(1), "b": Numbers(1)})
        before = tree(folder)
        report = export(output=folder, sitemaps={"a": Numbers(1)})
        assert tree(folder) == before
        (failure,) = report.failures
        assert "'b' is published but no longer declared" in failure
        assert failure.endswith("--remove b")


class TestARunThatChangesNothing:
    @pytest.mark.parametrize("gzip", [True, False])
    @pytest.mark.parametrize("changed_only", [True, False])
    @pytest.mark.django_db
    def test_writes_nothing_not_even_of_its_own(self, folder, configure, gzip, changed_only):
        class Longer(Numbers):
            def location(self, item):
                return f"/{'x' * (item * 7 % 100 + 1)}/{item}/"

        configure(MAX_URLS=3, MAX_BYTES=500, GZIP=gzip)
        write_articles(*(f"{'x' * (number * 7 % 100)}-{number}" for number in range(20)))
        sitemaps = {
            "articles": article_sitemap(),
            "longer": Longer(20),
            "bad": Bad(9, [1]),
            "none": Numbers(0),
        }
        robots = folder.with_name("robots.txt")
        first = export(output=folder, sitemaps=sitemaps, robots=robots, changed_only=changed_only)
        assert [bool(section.split) for section in first.sections] == [True, True, False, False]
        assert len(paths(folder)) == len({*paths(folder)}) == 48
        assert {name.endswith(".xml.gz") for name in named(folder)} == {gzip}
        if changed_only:
            # This run stores the fingerprints of the pages that were split.
            assert export(output=folder, sitemaps=sitemaps, robots=robots, changed_only=True).written == ()
        before = tree(folder.parent)
        second = export(output=folder, sitemaps=sitemaps, robots=robots, changed_only=changed_only)
        assert tree(folder.parent) == before
        assert (second.written, second.deleted, second.failures) == ((), (), [])
        assert [section.written for section in second.sections] == [0, 0, 0, 0]
        assert [section.unchanged for section in second.sections] == [
            section.written for section in first.sections
        ]
        found, expected = (
            [(file.name, file.digest, file.size) for section in run.sections for file in section.files]
            for run in (second, first)
        )
        assert found == expected


class TestThePermissions:
    def test_of_files_come_from_the_umask(self, folder, umask):
        umask(0o027)
        for _ in range(2):
            export(output=folder, sitemaps={"a": Numbers(1)}, robots=folder / "robots.txt")
        modes = {
            path.name: stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir() if path.is_file()
        }
        assert modes == dict.fromkeys(["sitemap.xml", "sitemap-a-1.xml.gz", "robots.txt"], 0o640)

    def test_of_files_come_from_the_storage_if_it_sets_them(self, folder, settings, umask):
        umask(0o077)
        settings.STORAGES = {**settings.STORAGES, "sitemaps": local_storage(folder, 0o4604)}
        export(sitemaps={"a": Numbers(1)})
        for name in ("sitemap.xml", "sitemap-a-1.xml.gz"):
            assert stat.S_IMODE((folder / name).stat().st_mode) == 0o604


class TestWhatStandsInTheWay:
    """Links, folders and pipes of other users are not followed, and do not block an export."""

    @pytest.mark.parametrize("name", ["sitemap.xml", "sitemap-b-1.xml.gz"])
    def test_at_the_place_of_a_file_stops_all_before_the_first_one(self, folder, name):
        (folder / name).mkdir(parents=True)
        with pytest.raises(ExportError, match=f"{folder}: {name} is a folder"):
            export(output=folder, sitemaps={"a": Numbers(1), "b": Numbers(1)})
        assert content(folder) == {}
        assert run_folders(folder) == []

    def test_at_the_place_of_the_lock_can_be_a_pipe(self, folder):
        (folder / STATE).mkdir(parents=True)
        os.mkfifo(folder / STATE / "lock")
        export(output=folder, sitemaps={"a": Numbers(1)})
        assert paths(folder) == numbers(1)

    def test_among_the_runs_is_neither_followed_nor_treated_as_a_run(self, folder, tmp_path):
        export(output=folder, sitemaps={"a": Numbers(1)})
        (tmp_path / "precious").mkdir()
        (tmp_path / "precious" / "file").write_text("mine")
        (folder / STATE / "run-link").symlink_to(tmp_path / "precious")
        (folder / STATE / "run-file").write_text("left")
        export(output=folder, sitemaps={"a": Numbers(2)})
        assert run_folders(folder) == ["run-file", "run-link"]
        assert (tmp_path / "precious" / "file").read_text() == "mine"
        assert (folder / STATE / "run-file").read_text() == "left"

    @pytest.mark.parametrize(
        ("what", "reason"), [("pipe", "is not a regular file"), ("huge", "is larger than")]
    )
    def test_as_robots_txt_or_index_is_not_read(self, folder, tmp_path, what, reason):
        robots = tmp_path / "robots.txt"
        for path in (robots, folder / "sitemap.xml"):
            path.parent.mkdir(exist_ok=True)
            if what == "pipe":
                os.mkfifo(path)
            else:
                with path.open("wb") as file:
                    file.truncate(60_000_000)
        with pytest.raises(ExportError, match=rf"sitemap\.xml {reason}"):
            export(["a"], output=folder, sitemaps={"a": Numbers(1)}, robots=robots)
        report = export(output=folder, sitemaps={"a": Numbers(1)}, robots=robots)
        assert (report.robots, paths(folder)) == ("failed", numbers(1))
        assert f"{robots} {reason}" in report.failures[0]


class TestTheOrderOfPublishing:
    @pytest.mark.sitemaps09(MAX_URLS=2)
    def test_is_all_files_on_disk_then_the_pages_then_the_index(self, folder, monkeypatch):
        steps = []
        fsync, replace = os.fsync, Path.replace

        def synced(descriptor):
            found = os.fstat(descriptor)
            names = {(folder / name).stat().st_ino: f"names in {name!r}" for name in ("", STATE)}
            if not stat.S_ISDIR(found.st_mode):
                steps.append("content")
            elif found.st_ino in names:
                steps.append(names[found.st_ino])
            fsync(descriptor)

        def replaced(self, target):
            steps.append(re.sub(r"-[0-9a-f]{32}", "", target.name))
            return replace(self, target)

        folder.mkdir()
        monkeypatch.setattr(os, "fsync", synced)
        monkeypatch.setattr(Path, "replace", replaced)
        export(output=folder, sitemaps={"a": Numbers(3), "b": Numbers(1)}, robots=folder / "robots.txt")
        public, own = "names in ''", f"names in {STATE!r}"
        # Three pages and an index.
        assert steps[:4] == ["content"] * 4
        assert steps[4:7] == ["content", "section-a.jsonl", own]
        assert steps[7:10] == ["content", "section-b.jsonl", own]
        # The names of staged files are on disk before the journal lists them.
        assert steps[10:14] == [own, "content", JOURNAL, own]
        assert sorted(steps[14:17]) == [f"sitemap-{page}.xml.gz" for page in ("a-1", "a-2", "b-1")]
        # The names of the pages are on disk before the index that lists them.
        assert steps[17:19] == [public, "sitemap.xml"]
        assert steps[19] == public
        assert steps[20:23] == ["content", "robots.txt", public]
        # All of this happens before the manifest records the publication.
        assert steps[23:26] == ["content", MANIFEST, own]
        assert steps[26:30] == [own, "content", HISTORY, own]
        assert steps[30:33] == ["content", EXPORTED, own]
        # At the end, the folder of the run is moved and then removed.
        assert {step for step in steps[33:] if not step.startswith("tmp-")} <= {public, own}
