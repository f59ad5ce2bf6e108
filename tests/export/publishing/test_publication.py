"""Published files of an export: the index, modes of files, the order of publication, and robots.txt."""

from __future__ import annotations

import os
import re
import stat
from contextlib import suppress
from datetime import date, datetime, timedelta, timezone
from itertools import count
from pathlib import Path
from unittest.mock import Mock

import pytest

from django_sitemaps09.exceptions import ExportError
from django_sitemaps09.export import export
from django_sitemaps09.export.publishing import robots_files
from django_sitemaps09.protocol.robots import BEGIN, END
from tests.support.configuration import BASE
from tests.support.exports import (
    Bad,
    article_sitemap,
    content,
    failing_at,
    local_storage,
    named,
    numbers,
    paths,
    plain,
    run_folders,
    touched,
)
from tests.support.factories import ArticleFactory, write_articles
from tests.support.internals import EXPORTED, HISTORY, JOURNAL, ROOT as MANIFEST, STATE, Base, publication
from tests.support.killing import die, forked, was_killed
from tests.support.published import states
from tests.support.sections import Numbers, declare

pytestmark = pytest.mark.sitemaps09


def tree(folder):
    """Return the state of a folder and everything in it. Any new file, even a temporary one, changes it."""
    folders = [path for path in (folder, *folder.glob("[!.]*")) if path.is_dir()]
    return states(folder, hidden=True), [(path.stat().st_mtime_ns, path.stat().st_mode) for path in folders]


def run(folder, robots=None, a=1, options=None, **counts):
    sitemaps = {name: Numbers(count) for name, count in {"a": a, **counts}.items()}
    return export(output=folder, sitemaps=sitemaps, robots=robots, **options or {})


@pytest.mark.parametrize("offset", [None, timedelta(days=2), timedelta(hours=3)])
@pytest.mark.django_db
def test_an_index_has_no_lastmod_for_a_page_with_a_url_that_has_none_or_one_in_the_future(folder, offset):
    ArticleFactory(slug="a", updated=offset and datetime.now(timezone.utc) + offset)
    ArticleFactory(slug="b", dated=True)
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
    for number, found in ((1, ["a", "b"]), (0, ["a"])):
        sitemaps = {"empty": Numbers(0), "rows": article_sitemap(), "a": Numbers(1), "b": Numbers(number)}
        assert export(output=folder, sitemaps=sitemaps).failures == []
        assert named(folder) == [f"sitemap-{name}-1.xml.gz" for name in found]
    assert {*content(folder)} == {"sitemap.xml", "sitemap-a-1.xml.gz", "sitemap-b-1.xml.gz"}
    before = touched(folder)
    run(folder, a=0, b=0)
    assert touched(folder) == before


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
    assert (tree(folder.parent), second.written, second.deleted, second.failures) == (before, (), (), [])
    for old, new in zip(first.sections, second.sections, strict=True):
        assert (new.written, new.unchanged) == (0, old.written)
        files = [[(file.name, file.digest, file.size) for file in each.files] for each in (old, new)]
        assert files[0] == files[1]


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
    (tmp_path / "file").write_text("mine")
    (folder / STATE / "run-link").symlink_to(tmp_path)
    (folder / STATE / "run-file").write_text("left")
    run(folder, a=2)
    assert (run_folders(folder), paths(folder)) == (["run-file", "run-link"], numbers(2))
    found = [path.read_text() for path in (tmp_path / "file", folder / STATE / "run-file")]
    assert found == ["mine", "left"]


@pytest.mark.parametrize(("what", "reason"), [("pipe", "is not a regular"), ("huge", "is larger than")])
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
    assert f"{robots} {reason}" in failure_of(run(folder, a=1, robots=robots), folder)


@pytest.mark.sitemaps09(MAX_URLS=2, KEEP_REMOVED=timedelta(0))
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
        *["content"] * 4, *("content", "section-a.jsonl", own), *("content", "section-b.jsonl", own),
        # The names of staged files are on disk before the journal lists them.
        *(own, "content", JOURNAL, own),
        *(f"sitemap-{page}.xml.gz" for page in ("a-1", "a-2", "b-1")),
        # The names of the pages are on disk before the index that lists them.
        *(public, "sitemap.xml", public), *("content", "robots.txt", public),
        # All of this happens before the manifest records the publication.
        *("content", MANIFEST, own), *(own, "content", HISTORY, own), *("content", EXPORTED, own),
    ]  # fmt: skip
    # At the end, the folder of the run is moved and then removed.
    assert {step for step in steps[33:] if not step.startswith("tmp-")} <= {public, own}
    run(folder, a=1, b=1)
    # The next run deletes `a-2`. That is on disk before the journal, which names it, is deleted.
    run(folder, a=1, b=1)
    assert steps[-8:-4] == [MANIFEST, own, public, own]


NOTE = "# Written by the export of sitemaps; changes inside this block are lost."
BLOCK = f"{BEGIN}\n{NOTE}\nSitemap: {BASE}/sitemap.xml\n{END}\n"
MINE = "User-agent: *\n"


@pytest.fixture
def path(tmp_path):
    (tmp_path / "web").mkdir()
    return tmp_path / "web" / "robots.txt"


def names(path):
    return sorted(entry.name for entry in path.parent.iterdir())


def failure_of(report, folder, count=1):
    """Return the failure of an export that has published all but robots.txt."""
    assert (report.published, report.robots, paths(folder)) == (True, "failed", numbers(count))
    [failure] = report.failures
    return failure


def test_robots_txt_is_created_with_our_block_alone_and_then_left_alone(folder, path, configure):
    for robots in (str(path), None):
        configure(ROBOTS_TXT=None if robots else path)
        report = run(folder, robots)
        assert (path.read_text(), report.robots) == (BLOCK, "written")
        assert report.failures == report.warnings == []
        # It is not written again if it lists the index, in our block or in a line of its owner.
        for text in (BLOCK, f"sitemap:{BASE}/sitemap.xml"):
            path.write_text(text)
            before = touched(path.parent), path.parent.stat().st_mtime_ns
            assert run(folder, path, 9).robots == "unchanged"
            assert (touched(path.parent), path.parent.stat().st_mtime_ns) == before
        path.unlink()


@pytest.mark.parametrize("mode", [0o600, 0o664, 0o440], ids=oct)
def test_robots_txt_keeps_its_bytes_mode_owner_and_extended_attributes(folder, path, mode, monkeypatch):
    mine = b"\xef\xbb\xbfUser-agent: *\r\nDisallow: /caf\xc3\xa9 # x\r\n\r\nDisallow:\t/a"
    path.write_bytes(mine)
    owner, attributes = (path.stat().st_uid, path.stat().st_gid), {}
    # Only root can give files away, and not each file system has these attributes.
    if os.geteuid() == 0:
        owner = 1234, 2345
        os.chown(path, *owner)
    chown = os.chown
    # By its name, another user could get another file.
    monkeypatch.setattr(os, "chown", lambda copy, *owner: chown(int(copy), *owner))
    with suppress(OSError, AttributeError):
        os.setxattr(path, "user.note", b"mine")
        attributes = {"user.note": b"mine"}
    path.chmod(mode)
    for public, base in ((folder, BASE), (folder.with_name("moved"), "https://example.org")):
        assert run(public, path, options={"base_url": base}).robots == "written"
        assert path.read_bytes() == mine + f"\n\n{BLOCK}".replace("\n", "\r\n").replace(BASE, base).encode()
    status = path.stat()
    assert (stat.S_IMODE(status.st_mode), (status.st_uid, status.st_gid)) == (mode, owner)
    assert {name: os.getxattr(path, name) for name in attributes} == attributes


@pytest.mark.parametrize("there", [True, False])
def test_a_link_to_robots_txt_stays_a_link(folder, path, tmp_path, there):
    real = tmp_path / "real" / "robots-of-the-site.txt"
    real.parent.mkdir()
    if there:
        real.write_text(MINE)
    path.symlink_to(Path("../real") / real.name)
    report = run(folder, path)
    assert (report.robots, report.failures, path.is_symlink()) == ("written", [], True)
    assert (real.read_text(), names(real)) == (f"{MINE}\n{BLOCK}" if there else BLOCK, [real.name])


@pytest.mark.parametrize(("mine", "why"), [(b"\xff\xfe*\0", "UTF-8"), (b"#" * 511_990 + b"\n", "512,000")])
def test_a_robots_txt_that_is_refused_is_not_changed_and_the_sitemap_is_published(folder, path, mine, why):
    path.write_bytes(mine)
    before = touched(path.parent)
    failure = failure_of(run(folder, path), folder)
    assert (touched(path.parent), str(path) in failure, why in failure) == (before, True, True)


def test_robots_txt_cannot_be_a_folder_or_in_one_that_does_not_exist(folder, tmp_path):
    missing = tmp_path / "missing" / "robots.txt"
    advice = f": the folder {missing.parent} does not exist. Create it, or name another path with --robots"
    for path, why in ((tmp_path, ""), (missing, f"{advice} or SITEMAPS09['ROBOTS_TXT'].")):
        failure = failure_of(run(folder, path), folder)
        assert (failure.startswith(f"{path} was not changed"), failure.endswith(why)) == (True, True)
    assert not missing.parent.exists()
    # A dry run does not create the target, in which it can be.
    target = tmp_path / "new"
    assert run(target, target / "robots.txt", options={"dry_run": True}).failures == []
    assert run(target, target / "robots.txt").robots == "written"


def test_a_robots_txt_that_a_disk_fails_to_write_is_whole_or_as_it_was(folder, path, monkeypatch):
    states = []
    for call in count(1):
        path.write_text(MINE)
        with monkeypatch.context() as patch, suppress(OSError):
            patch.setattr(os, "fsync", failing_at(call, os.fsync))
            states.append((run(folder / str(call), path).robots, path.read_text() == MINE))
        assert (path.read_text() in (MINE, f"{MINE}\n{BLOCK}"), names(path)) == (True, ["robots.txt"])
        if states[-1:] == [("written", False)]:
            break
    assert ("failed", True) in states


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make files of others")
@pytest.mark.parametrize("far", [False, True])
def test_a_link_of_another_user_is_not_followed(folder, path, tmp_path, far):
    victim, link = tmp_path / "victim", tmp_path / "link" if far else path
    victim.write_text("mine\n")
    link.symlink_to(victim)
    os.chown(link, 1234, 2345, follow_symlinks=False)
    if far:
        path.symlink_to(link)
    failure = failure_of(run(folder, path), folder)
    assert (victim.read_text(), path.is_symlink()) == ("mine\n", True)
    assert f"{link} is a symbolic link owned by another user" in failure


def test_a_link_to_itself_ends_no_run_and_no_journal(folder, path, monkeypatch):
    path.symlink_to(path)
    for count_ in (1, 2):
        assert "links form a loop" in failure_of(run(folder, path, count_), folder, count_)
    # The same holds for a run that is killed before its end, and that the next run finishes.
    path.unlink()
    with monkeypatch.context() as patch:
        patch.setattr(publication, "replace_manifest", Mock(side_effect=OSError("killed")))
        with pytest.raises(OSError, match="killed"):
            run(folder, path, 3)
    path.unlink()
    path.symlink_to(path)
    report = run(folder, path, 3)
    assert (report.recovered, report.robots, paths(folder)) == (True, "failed", numbers(3))
    assert not (folder / STATE / JOURNAL).exists()


@pytest.mark.parametrize("how", ["in place", "by another file", "always"])
def test_a_robots_txt_that_its_owner_edits_meanwhile_has_the_edits(folder, path, monkeypatch, how):
    path.write_text(MINE)
    edits = count(1) if how == "always" else iter("12")
    real = robots_files.create

    def create(*arguments):
        edit = next(edits, None)
        content = path.read_text() + (f"Disallow: /{edit}/\n" if edit else "")
        if how == "by another file":
            path.with_name("new").write_text(content)
            path.with_name("new").replace(path)
        else:
            path.write_text(content)
        return real(*arguments)

    monkeypatch.setattr(robots_files, "create", create)
    report = run(folder, path)
    if how == "always":
        assert failure_of(report, folder)
        assert {line[:9] for line in path.read_text().splitlines()} == {"User-agen", "Disallow:"}
    else:
        assert report.robots == "written"
        assert path.read_text() == f"{MINE}Disallow: /1/\nDisallow: /2/\n\n{BLOCK}"
    assert names(path) == ["robots.txt"]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="what dies is a fork")
def test_a_killed_replacement_leaves_no_file_after_the_next_run(folder, path):
    path.write_text(MINE)
    path.with_name(".robots.txt.1.tmp").write_text("of another program")
    run(folder)

    def update():
        os.fsync = die
        host = Mock(robots=path, base=Base("https", "www.example.com"), url=f"{BASE}/")
        robots_files.Robots(host, ["sitemap.xml"]).update()

    assert was_killed(forked(update))
    assert len(names(path)) == 3
    assert (run(folder, path).robots, names(path)) == ("written", [".robots.txt.1.tmp", "robots.txt"])
