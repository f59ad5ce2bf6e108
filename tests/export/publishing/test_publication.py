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
from tests.support.sections import Numbers, declare

pytestmark = pytest.mark.sitemaps09


def tree(folder):
    """Return the state of a folder and everything in it, including private files.

    Any new file changes it, but not the time of the export, which each run writes.
    """
    states = {
        path: path.lstat() for path in (folder, *folder.rglob("*")) if path.name not in (STATE, EXPORTED)
    }
    return {path: (state.st_mtime_ns, state.st_ino, state.st_mode) for path, state in states.items()}


def run(folder, **counts):
    robots = counts.pop("robots", None)
    sitemaps = {name: Numbers(count) for name, count in counts.items()}
    return export(output=folder, sitemaps=sitemaps, robots=robots)


@pytest.mark.parametrize("offset", [None, timedelta(days=2), timedelta(hours=3)])
@pytest.mark.django_db
def test_an_index_has_no_lastmod_for_a_page_with_a_url_that_has_none_or_one_in_the_future(folder, offset):
    write_articles("a", "b")
    updated = None if offset is None else datetime.now(timezone.utc) + offset
    article_model().objects.filter(slug="a").update(updated=updated)
    dated = declare(Numbers, lastmod=date(2026, 3, 4))(2)
    export(output=folder, sitemaps={"articles": article_sitemap(), "dated": dated})
    assert re.findall(rb"<lastmod>(.*?)</lastmod>", plain(folder, "sitemap.xml")) == [b"2026-03-04"]
    assert b"<lastmod>" in plain(folder, named(folder)[0])


@pytest.mark.django_db
def test_an_index_names_no_section_without_urls_and_never_lists_nothing(folder):
    robots = folder.with_name("robots.txt")
    report = run(folder, a=0, b=0, robots=robots)
    assert (report.published, report.failures, content(folder), robots.exists()) == (False, [], {}, False)
    assert "No section has any URLs" in report.warnings[0]
    for count, found in ((1, ["a", "b"]), (0, ["a"])):
        sitemaps = {"empty": Numbers(0), "rows": article_sitemap(), "a": Numbers(1), "b": Numbers(count)}
        assert export(output=folder, sitemaps=sitemaps).failures == []
        assert named(folder) == [f"sitemap-{name}-1.xml.gz" for name in found]
    assert {*content(folder)} == {"sitemap.xml", "sitemap-a-1.xml.gz", "sitemap-b-1.xml.gz"}
    before = touched(folder)
    run(folder, a=0, b=0)
    assert touched(folder) == before


def test_an_index_names_the_pages_of_a_section_that_is_not_declared_any_more(folder):
    run(folder, a=1, b=1)
    before = tree(folder)
    [failure] = run(folder, a=1).failures
    assert tree(folder) == before
    assert "'b' is published but no longer declared" in failure
    assert failure.endswith("--remove b")


@pytest.mark.parametrize("gzip", [True, False])
@pytest.mark.parametrize("changed_only", [True, False])
@pytest.mark.django_db
def test_a_run_that_changes_nothing_writes_nothing_at_all(folder, configure, gzip, changed_only):
    def longer(self, item):
        return f"/{'x' * (item * 7 % 100 + 1)}/{item}/"

    configure(MAX_URLS=3, MAX_BYTES=500, GZIP=gzip)
    write_articles(*(f"{'x' * (number * 7 % 100)}-{number}" for number in range(20)))
    longer = declare(Numbers, location=longer)(20)
    sitemaps = {"articles": article_sitemap(), "longer": longer, "bad": Bad(9, [1]), "none": Numbers(0)}
    options = {"sitemaps": sitemaps, "robots": folder.with_name("robots.txt"), "changed_only": changed_only}
    first = export(output=folder, **options)
    assert [bool(section.split) for section in first.sections] == [True, True, False, False]
    assert len(paths(folder)) == len({*paths(folder)}) == 48
    assert {name.endswith(".xml.gz") for name in named(folder)} == {gzip}
    if changed_only:
        # This run stores the fingerprints of the pages that were split.
        assert export(output=folder, **options).written == ()
    before = tree(folder.parent)
    second = export(output=folder, **options)
    assert tree(folder.parent) == before
    assert (second.written, second.deleted, second.failures) == ((), (), [])
    for old, new in zip(first.sections, second.sections, strict=True):
        assert (new.written, new.unchanged) == (0, old.written)
        assert [(file.name, file.digest, file.size) for file in new.files] == [
            (file.name, file.digest, file.size) for file in old.files
        ]


def test_the_permissions_of_files_come_from_the_umask_unless_the_storage_sets_them(folder, settings, umask):
    def modes():
        return {path.name: stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir() if path.is_file()}

    umask(0o027)
    for _ in range(2):
        run(folder, a=1, robots=folder / "robots.txt")
    assert modes() == dict.fromkeys(["sitemap.xml", "sitemap-a-1.xml.gz", "robots.txt"], 0o640)
    umask(0o077)
    settings.STORAGES = {**settings.STORAGES, "sitemaps": local_storage(folder, 0o4604)}
    run(None, a=2)
    assert modes() == {"sitemap.xml": 0o604, "sitemap-a-1.xml.gz": 0o604, "robots.txt": 0o640}


@pytest.mark.parametrize("name", ["sitemap.xml", "sitemap-b-1.xml.gz"])
def test_a_folder_in_the_place_of_a_file_stops_all_before_the_first_one(folder, name):
    (folder / name).mkdir(parents=True)
    with pytest.raises(ExportError, match=f"{folder}: {name} is a folder"):
        run(folder, a=1, b=1)
    assert (content(folder), run_folders(folder)) == ({}, [])


def test_a_link_or_a_file_among_the_runs_is_neither_followed_nor_treated_as_a_run(folder, tmp_path):
    (folder / STATE).mkdir(parents=True)
    # A pipe in the place of the lock does not block an export.
    os.mkfifo(folder / STATE / "lock")
    run(folder, a=1)
    (tmp_path / "precious").mkdir()
    (tmp_path / "precious" / "file").write_text("mine")
    (folder / STATE / "run-link").symlink_to(tmp_path / "precious")
    (folder / STATE / "run-file").write_text("left")
    run(folder, a=2)
    assert (run_folders(folder), paths(folder)) == (["run-file", "run-link"], numbers(2))
    assert (tmp_path / "precious" / "file").read_text() == "mine"
    assert (folder / STATE / "run-file").read_text() == "left"


@pytest.mark.parametrize(
    ("what", "reason"), [("pipe", "is not a regular file"), ("huge", "is larger than")]
)
def test_a_pipe_or_a_huge_file_as_robots_txt_or_index_is_not_read(folder, tmp_path, what, reason):
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
    report = run(folder, a=1, robots=robots)
    assert (report.robots, paths(folder)) == ("failed", numbers(1))
    assert f"{robots} {reason}" in report.failures[0]


@pytest.mark.sitemaps09(MAX_URLS=2)
def test_the_order_of_publishing_is_all_files_on_disk_then_the_pages_then_the_index(folder, monkeypatch):
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
    run(folder, a=3, b=1, robots=folder / "robots.txt")
    public, own = "names in ''", f"names in {STATE!r}"
    # The pages are published in any order.
    steps[14:17] = sorted(steps[14:17])
    assert steps[:33] == [
        # Three pages and an index.
        *["content"] * 4,
        *("content", "section-a.jsonl", own),
        *("content", "section-b.jsonl", own),
        # The names of staged files are on disk before the journal lists them.
        *(own, "content", JOURNAL, own),
        *(f"sitemap-{page}.xml.gz" for page in ("a-1", "a-2", "b-1")),
        # The names of the pages are on disk before the index that lists them.
        *(public, "sitemap.xml", public),
        *("content", "robots.txt", public),
        # All of this happens before the manifest records the publication.
        *("content", MANIFEST, own),
        *(own, "content", HISTORY, own),
        *("content", EXPORTED, own),
    ]
    # At the end, the folder of the run is moved and then removed.
    assert {step for step in steps[33:] if not step.startswith("tmp-")} <= {public, own}
