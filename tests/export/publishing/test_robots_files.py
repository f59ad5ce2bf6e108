"""The robots.txt of an export: what is written or rejected, and when."""

from __future__ import annotations

import os
import signal
import stat
from collections.abc import Callable
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

from django_sitemaps09.export import Report, export
from django_sitemaps09.export.publishing import publication, robots_files
from django_sitemaps09.protocol import Base
from django_sitemaps09.robots import BEGIN, END
from django_sitemaps09.state.journal import JOURNAL
from django_sitemaps09.stores import STATE
from tests.support.configuration import BASE
from tests.support.exports import failing_at, numbers, paths, touched
from tests.support.sections import Numbers

pytestmark = pytest.mark.sitemaps09
BLOCK = f"{BEGIN}\n# Written by the export of sitemaps; changes inside this block are lost.\n"


def run(folder: Path, robots: Path, count: int = 1) -> Report:
    return export(output=folder, sitemaps={"a": Numbers(count)}, robots=robots)


class TestRobotsTxt:
    @pytest.fixture
    def path(self, tmp_path: Path) -> Path:
        return tmp_path / "robots.txt"

    @pytest.mark.parametrize("by", ["argument", "setting"])
    def test_is_created_with_our_block_alone(
        self, folder: Path, path: Path, by: str, configure: Callable[..., None]
    ) -> None:
        if by == "setting":
            configure(ROBOTS_TXT=path)
        report = export(
            output=folder, sitemaps={"a": Numbers(1)}, robots=str(path) if by == "argument" else None
        )
        assert path.read_text() == f"{BLOCK}Sitemap: {BASE}/sitemap.xml\n{END}\n"
        assert (report.robots, report.failures, report.warnings) == ("written", [], [])

    def test_keeps_every_byte_outside_the_block(self, folder: Path, path: Path) -> None:
        mine = b"\xef\xbb\xbfUser-agent: *\r\nDisallow: /caf\xc3\xa9 # x\r\n\r\nDisallow:\t/a"
        path.write_bytes(mine)
        run(folder, path)
        assert path.read_bytes().startswith(mine)
        block = path.read_bytes().removeprefix(mine)
        assert block.count(b"\n") == block.count(b"\r\n") == 6
        assert f"\r\nSitemap: {BASE}/sitemap.xml\r\n".encode() in block
        moved = folder.with_name("moved")
        export(output=moved, sitemaps={"a": Numbers(1)}, robots=path, base_url="https://example.org")
        assert path.read_bytes() == mine + block.replace(b"www.example.com", b"example.org")

    @pytest.mark.parametrize("is_by_owner", [False, True])
    def test_is_not_written_if_it_lists_the_index(self, tmp_path: Path, is_by_owner: bool) -> None:
        robots = tmp_path / "robots"
        robots.mkdir()
        if is_by_owner:
            (robots / "robots.txt").write_text(f"sitemap:{BASE}/sitemap.xml")
        else:
            run(tmp_path / "public", robots / "robots.txt")
        before = touched(robots), robots.stat().st_mtime_ns
        report = run(tmp_path / "public", robots / "robots.txt", 9)
        assert (touched(robots), robots.stat().st_mtime_ns) == before
        assert report.robots == "unchanged"

    @pytest.mark.parametrize("mode", [0o600, 0o664, 0o440], ids=oct)
    def test_keeps_its_mode_its_owner_and_its_extended_attributes(
        self, folder: Path, path: Path, mode: int
    ) -> None:
        path.write_text("User-agent: *\n")
        owner, attributes = (path.stat().st_uid, path.stat().st_gid), {}
        # Only root can give files away, and not each file system has these attributes.
        if os.geteuid() == 0:
            owner = 1234, 2345
            os.chown(path, *owner)
        with suppress(OSError, AttributeError):
            os.setxattr(path, "user.note", b"mine")
            attributes = {"user.note": b"mine"}
        path.chmod(mode)
        run(folder, path)
        assert "Sitemap: " in path.read_text()
        assert stat.S_IMODE(path.stat().st_mode) == mode
        assert (path.stat().st_uid, path.stat().st_gid) == owner
        assert {name: os.getxattr(path, name) for name in attributes} == attributes

    @pytest.mark.parametrize("there", [True, False])
    def test_that_is_a_link_stays_a_link(
        self, folder: Path, path: Path, tmp_path: Path, there: bool
    ) -> None:
        real = tmp_path / "real" / "robots-of-the-site.txt"
        real.parent.mkdir()
        if there:
            real.write_text("User-agent: *\n")
        path.symlink_to(Path("real") / real.name)
        report = run(folder, path)
        assert (report.robots, report.failures) == ("written", [])
        assert path.is_symlink()
        assert "Sitemap: " in real.read_text()
        assert [entry.name for entry in real.parent.iterdir()] == [real.name]

    @pytest.mark.parametrize(
        ("mine", "why"),
        [
            (b"User-agent: caf\xe9\n", "UTF-8"),
            ("User-agent: *\n".encode("utf-16"), "UTF-8"),
            (f"{BEGIN}\nUser-agent: *\n".encode(), "out of order"),
            (b"#" * 511_990 + b"\n", "512,000"),
        ],
    )
    def test_that_is_refused_is_not_changed_and_the_sitemap_is_published(
        self, folder: Path, path: Path, mine: bytes, why: str
    ) -> None:
        path.write_bytes(mine)
        before = path.stat().st_mtime_ns
        report = run(folder, path)
        assert (path.read_bytes(), path.stat().st_mtime_ns) == (mine, before)
        assert (report.published, paths(folder), report.robots) == (True, numbers(1), "failed")
        (failure,) = report.failures
        assert str(path) in failure
        assert why in failure

    def test_cannot_be_a_folder_or_in_one_that_does_not_exist(self, folder: Path, tmp_path: Path) -> None:
        for path, why in (
            (tmp_path, ""),
            (
                tmp_path / "missing" / "robots.txt",
                f": the folder {tmp_path}/missing does not exist. Create it, or name another path with "
                "--robots or SITEMAPS09['ROBOTS_TXT'].",
            ),
        ):
            report = run(folder, path)
            assert (report.published, paths(folder), report.robots) == (True, numbers(1), "failed")
            [failure] = report.failures
            assert failure.startswith(f"{path} was not changed")
            assert failure.endswith(why)
        assert not path.parent.exists()

    def test_can_be_in_a_target_that_a_dry_run_does_not_create(self, folder: Path) -> None:
        options: dict[str, Any] = {"sitemaps": {"a": Numbers(1)}, "robots": folder / "robots.txt"}
        assert export(output=folder, dry_run=True, **options).failures == []
        assert export(output=folder, **options).robots == "written"

    def test_is_whole_or_as_it_was(self, folder: Path, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        mine = "User-agent: *\n"
        states: list[str] = []
        left_alone: list[bool] = []
        for call in count(1):
            path.write_text(mine)
            failing = failing_at(call, os.fsync)
            with monkeypatch.context() as patch, suppress(OSError):
                patch.setattr(os, "fsync", failing)
                report = run(folder / str(call), path)
                states.append(report.robots)
                left_alone.append(path.read_text() == mine)
            assert path.read_text() in (mine, f"{mine}\n{BLOCK}Sitemap: {BASE}/sitemap.xml\n{END}\n")
            assert [entry.name for entry in path.parent.iterdir() if entry.is_file()] == ["robots.txt"]
            if states[-1:] == ["written"]:
                break
        assert ("failed", True) in zip(states, left_alone, strict=True)
        assert not left_alone[-1]

    @pytest.mark.skipif(os.geteuid() != 0, reason="only root can make links of others")
    @pytest.mark.parametrize("far", [False, True], ids=["link", "behind a link of ours"])
    def test_that_is_a_link_of_another_user_is_not_followed(
        self, folder: Path, path: Path, tmp_path: Path, far: bool
    ) -> None:
        victim, link = tmp_path / "victim", tmp_path / "link" if far else path
        victim.write_text("mine\n")
        link.symlink_to(victim)
        os.chown(link, 1234, 2345, follow_symlinks=False)
        if far:
            path.symlink_to(link)
        report = run(folder, path)
        assert (victim.read_text(), path.is_symlink()) == ("mine\n", True)
        assert (report.published, paths(folder), report.robots) == (True, numbers(1), "failed")
        assert f"{link} is a symbolic link owned by another user" in report.failures[0]

    def test_that_is_a_link_to_itself_ends_no_run_and_no_journal(
        self, folder: Path, path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        path.symlink_to(path)
        for count_ in (1, 2):
            report = run(folder, path, count_)
            assert (report.published, paths(folder), report.robots) == (True, numbers(count_), "failed")
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
        assert (report.recovered, report.robots) == (True, "failed")
        assert paths(folder) == numbers(3)
        assert not (folder / STATE / JOURNAL).exists()

    @pytest.mark.parametrize("how", ["in place", "by another file"])
    def test_that_its_owner_edits_meanwhile_has_the_edit(
        self, folder: Path, path: Path, monkeypatch: pytest.MonkeyPatch, how: str
    ) -> None:
        path.write_text("User-agent: *\n")
        edits = iter(["Disallow: /first/\n", "Disallow: /second/\n"])
        real = robots_files.create_whole

        def create(*arguments: Any) -> Any:
            content = path.read_text() + next(edits, "")
            if how == "in place":
                path.write_text(content)
            else:
                path.with_name("new").write_text(content)
                path.with_name("new").replace(path)
            return real(*arguments)

        monkeypatch.setattr(robots_files, "create_whole", create)
        report = run(folder, path)
        expected = "User-agent: *\nDisallow: /first/\nDisallow: /second/\n"
        assert path.read_text() == f"{expected}\n{BLOCK}Sitemap: {BASE}/sitemap.xml\n{END}\n"
        assert report.robots == "written"

    def test_that_keeps_changing_is_not_replaced(
        self, folder: Path, path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        real = robots_files.create_whole

        def create(*arguments: Any) -> Any:
            with path.open("a") as file:
                file.write("# again\n")
            return real(*arguments)

        monkeypatch.setattr(robots_files, "create_whole", create)
        report = run(folder, path)
        assert (report.published, report.robots) == (True, "failed")
        assert set(path.read_text().splitlines()) == {"# again"}
        assert [entry.name for entry in path.parent.iterdir() if entry.is_file()] == ["robots.txt"]

    @pytest.mark.skipif(not hasattr(os, "fork"), reason="what dies is a fork")
    def test_whose_replacement_is_killed_leaves_no_file_after_the_next_run(
        self, folder: Path, path: Path
    ) -> None:
        path.write_text("User-agent: *\n")
        foreign = path.with_name(".robots.txt.1.tmp")
        foreign.write_text("mine")
        export(output=folder, sitemaps={"a": Numbers(1)})
        number = os.fork()
        if not number:
            os.fsync = lambda descriptor: os.kill(os.getpid(), signal.SIGKILL)  # type: ignore[assignment]
            host = Mock(robots=path, base=Base("https", "www.example.com"), url=f"{BASE}/")
            robots_files.Robots(host, ["sitemap.xml"]).update()
            os._exit(1)
        assert os.waitpid(number, 0)[1] == signal.SIGKILL
        assert len([entry for entry in path.parent.iterdir() if entry.is_file()]) == 3
        report = run(folder, path)
        assert report.robots == "written"
        assert {entry.name for entry in path.parent.iterdir() if entry.is_file()} == {
            "robots.txt",
            foreign.name,
        }

    def test_that_keeps_crawlers_from_the_index_is_warned_about_with_its_path(
        self, folder: Path, path: Path
    ) -> None:
        path.write_text("User-agent: *\nDisallow: /sitemap\n")
        report = run(folder, path)
        (warning,) = report.warnings
        assert warning.startswith(f"{path}: ")
        assert "line 2 (" in warning
        assert report.failures == []
