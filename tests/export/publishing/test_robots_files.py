"""The robots.txt of an export: what is written or rejected, and when."""

from __future__ import annotations

import os
import signal
import stat
from contextlib import suppress
from itertools import count
from pathlib import Path
from unittest.mock import Mock

import pytest

from django_sitemaps09.export import export
from django_sitemaps09.export.publishing import publication, robots_files
from django_sitemaps09.protocol import Base
from django_sitemaps09.robots import BEGIN, END, NOTE
from django_sitemaps09.state.journal import JOURNAL
from django_sitemaps09.stores import STATE
from tests.support.configuration import BASE
from tests.support.exports import failing_at, numbers, paths, touched
from tests.support.sections import Numbers

pytestmark = pytest.mark.sitemaps09
BLOCK = f"{BEGIN}\n{NOTE}\nSitemap: {BASE}/sitemap.xml\n{END}\n"
MINE = "User-agent: *\n"
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can make files of others")


@pytest.fixture
def path(tmp_path):
    (tmp_path / "web").mkdir()
    return tmp_path / "web" / "robots.txt"


def run(folder, robots, count=1, **options):
    return export(output=folder, sitemaps={"a": Numbers(count)}, robots=robots, **options)


def names(path):
    return sorted(entry.name for entry in path.parent.iterdir())


def is_published_without(report, folder, count=1):
    """Return whether the sitemap is published, although robots.txt failed."""
    return (report.published, report.robots, paths(folder)) == (True, "failed", numbers(count))


def test_robots_txt_is_created_with_our_block_alone_and_then_left_alone(folder, path, configure):
    for robots in (str(path), None):
        configure(ROBOTS_TXT=None if robots else path)
        report = run(folder, robots)
        assert (path.read_text(), report.robots, report.failures, report.warnings) == (
            BLOCK,
            "written",
            [],
            [],
        )
        # It is not written again if it lists the index, in our block or in a line of its owner.
        for content in (BLOCK, f"sitemap:{BASE}/sitemap.xml"):
            path.write_text(content)
            before = touched(path.parent), path.parent.stat().st_mtime_ns
            assert run(folder, path, 9).robots == "unchanged"
            assert (touched(path.parent), path.parent.stat().st_mtime_ns) == before
        path.unlink()


def test_robots_txt_keeps_every_byte_outside_the_block(folder, path):
    mine = b"\xef\xbb\xbfUser-agent: *\r\nDisallow: /caf\xc3\xa9 # x\r\n\r\nDisallow:\t/a"
    path.write_bytes(mine)
    for public, base in ((folder, BASE), (folder.with_name("moved"), "https://example.org")):
        run(public, path, base_url=base)
        block = f"\n\n{BLOCK}".replace("\n", "\r\n").replace(BASE, base)
        assert path.read_bytes() == mine + block.encode()


@pytest.mark.parametrize("mode", [0o600, 0o664, 0o440], ids=oct)
def test_robots_txt_keeps_its_mode_its_owner_and_its_extended_attributes(folder, path, mode):
    path.write_text(MINE)
    owner, attributes = (path.stat().st_uid, path.stat().st_gid), {}
    # Only root can give files away, and not each file system has these attributes.
    if os.geteuid() == 0:
        owner = 1234, 2345
        os.chown(path, *owner)
    with suppress(OSError, AttributeError):
        os.setxattr(path, "user.note", b"mine")
        attributes = {"user.note": b"mine"}
    path.chmod(mode)
    assert run(folder, path).robots == "written"
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


@pytest.mark.parametrize(
    ("mine", "why"), [("User-agent: *\n".encode("utf-16"), "UTF-8"), (b"#" * 511_990 + b"\n", "512,000")]
)
def test_a_robots_txt_that_is_refused_is_not_changed_and_the_sitemap_is_published(folder, path, mine, why):
    path.write_bytes(mine)
    before = touched(path.parent)
    report = run(folder, path)
    assert is_published_without(report, folder)
    [failure] = report.failures
    assert (touched(path.parent), str(path) in failure, why in failure) == (before, True, True)


def test_robots_txt_cannot_be_a_folder_or_in_one_that_does_not_exist(folder, tmp_path):
    missing = tmp_path / "missing" / "robots.txt"
    for path, why in (
        (tmp_path, ""),
        (
            missing,
            f": the folder {tmp_path}/missing does not exist. Create it, or name another path with "
            "--robots or SITEMAPS09['ROBOTS_TXT'].",
        ),
    ):
        report = run(folder, path)
        [failure] = report.failures
        assert is_published_without(report, folder)
        assert failure.startswith(f"{path} was not changed")
        assert failure.endswith(why)
    assert not missing.parent.exists()
    # A dry run does not create the target, in which it can be.
    target = tmp_path / "new"
    assert run(target, target / "robots.txt", dry_run=True).failures == []
    assert run(target, target / "robots.txt").robots == "written"


def test_a_robots_txt_that_a_disk_fails_to_write_is_whole_or_as_it_was(folder, path, monkeypatch):
    states = []
    for call in count(1):
        path.write_text(MINE)
        with monkeypatch.context() as patch, suppress(OSError):
            patch.setattr(os, "fsync", failing_at(call, os.fsync))
            states.append((run(folder / str(call), path).robots, path.read_text() == MINE))
        assert path.read_text() in (MINE, f"{MINE}\n{BLOCK}")
        assert names(path) == ["robots.txt"]
        if states[-1:] == [("written", False)]:
            break
    assert ("failed", True) in states


@needs_root
@pytest.mark.parametrize("far", [False, True])
def test_a_link_of_another_user_is_not_followed(folder, path, tmp_path, far):
    victim, link = tmp_path / "victim", tmp_path / "link" if far else path
    victim.write_text("mine\n")
    link.symlink_to(victim)
    os.chown(link, 1234, 2345, follow_symlinks=False)
    if far:
        path.symlink_to(link)
    report = run(folder, path)
    assert is_published_without(report, folder)
    assert (victim.read_text(), path.is_symlink()) == ("mine\n", True)
    assert f"{link} is a symbolic link owned by another user" in report.failures[0]


def test_a_link_to_itself_ends_no_run_and_no_journal(folder, path, monkeypatch):
    path.symlink_to(path)
    for count_ in (1, 2):
        report = run(folder, path, count_)
        assert is_published_without(report, folder, count_)
        assert "links form a loop" in report.failures[0]
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
    real = robots_files.create_whole

    def create(*arguments):
        edit = next(edits, None)
        content = path.read_text() + (f"Disallow: /{edit}/\n" if edit else "")
        if how == "by another file":
            path.with_name("new").write_text(content)
            path.with_name("new").replace(path)
        else:
            path.write_text(content)
        return real(*arguments)

    monkeypatch.setattr(robots_files, "create_whole", create)
    report = run(folder, path)
    if how == "always":
        assert is_published_without(report, folder)
        assert {line[:9] for line in path.read_text().splitlines()} == {"User-agen", "Disallow:"}
    else:
        assert report.robots == "written"
        assert path.read_text() == f"{MINE}Disallow: /1/\nDisallow: /2/\n\n{BLOCK}"
    assert names(path) == ["robots.txt"]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="what dies is a fork")
def test_a_killed_replacement_leaves_no_file_after_the_next_run(folder, path):
    path.write_text(MINE)
    path.with_name(".robots.txt.1.tmp").write_text("of another program")
    export(output=folder, sitemaps={"a": Numbers(1)})
    number = os.fork()
    if not number:
        os.fsync = lambda descriptor: os.kill(os.getpid(), signal.SIGKILL)
        host = Mock(robots=path, base=Base("https", "www.example.com"), url=f"{BASE}/")
        robots_files.Robots(host, ["sitemap.xml"]).update()
        os._exit(1)
    assert os.waitpid(number, 0)[1] == signal.SIGKILL
    assert len(names(path)) == 3
    assert run(folder, path).robots == "written"
    assert names(path) == [".robots.txt.1.tmp", "robots.txt"]


def test_a_robots_txt_that_keeps_crawlers_from_the_index_is_warned_about_with_its_path(folder, path):
    path.write_text(f"{MINE}Disallow: /sitemap\n")
    report = run(folder, path)
    [warning] = report.warnings
    assert (warning.startswith(f"{path}: "), "line 2 (" in warning, report.failures) == (True, True, [])
