"""A folder as a store: modes, links, and staged files."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from django_sitemaps09.exceptions import ExportError, ExportRunningError
from django_sitemaps09.stores import STATE, LocalStore, exclusive_lock, local, plain, state_store
from tests.support.stores import MOST, PAGE, below, stage


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.lstat().st_mode)


class TestAFolder:
    def test_lets_no_other_user_into_our_folder(self, folder: Path, umask: Callable[[int], int]) -> None:
        umask(0)
        LocalStore(folder).write("sitemap.xml", b"x")
        assert mode_of(folder / STATE) == 0o700
        (folder / STATE).chmod(0o777)
        state_store(LocalStore(folder)).write("manifest.json", b"{}")
        assert mode_of(folder / STATE) == 0o700
        assert mode_of(folder / STATE / "manifest.json") == 0o600

    @pytest.mark.parametrize("what", ["fsync", "replace", "write"])
    def test_keeps_the_file_if_a_write_fails(
        self, folder: Path, monkeypatch: pytest.MonkeyPatch, what: str
    ) -> None:
        def full(*arguments: object) -> None:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

        store = LocalStore(folder)
        store.write("sitemap.xml", b"before")
        with monkeypatch.context() as patch:
            if what == "write":
                # A device that is really full, behind the buffer of the file.
                device = Path("/dev/full")
                if not device.exists():
                    pytest.skip("this system has no /dev/full")
                name = "django_sitemaps09.stores.plain.create"
                patch.setattr(name, lambda path, mode: path.touch() or device.open("wb"))
            else:
                patch.setattr(*{"fsync": (os, "fsync"), "replace": (Path, "replace")}[what], full)
            with pytest.raises(OSError, match="No space left"):
                store.write("sitemap.xml", b"after")
        assert below(folder) == {"sitemap.xml": b"before"}

    def test_names_the_file_in_errors_of_the_system(
        self, folder: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Errors of an open file lack the name: the message is only `[Errno 5] Input/output error`."""

        def fail(descriptor: int) -> None:
            raise OSError(errno.EIO, os.strerror(errno.EIO))

        store = LocalStore(folder)
        stage(store, f"{STATE}/run-1/{PAGE}", b"x")
        with monkeypatch.context() as patch:
            patch.setattr(os, "fsync", fail)
            for work, named in (
                (lambda: store.write("sitemap.xml", b"x"), f"{folder}.*sitemap.xml"),
                (lambda: stage(store, f"{STATE}/run-1/b.xml", b"x"), f"{folder}.*b.xml"),
                # Any of this folder and its parents can be the first to exist.
                (store.sync, folder.parent),
            ):
                with pytest.raises(OSError, match=rf"Input/output error.*{named}"):
                    work()

    @pytest.mark.parametrize("number", [errno.EINVAL, errno.ENOTSUP], ids=errno.errorcode.get)
    def test_that_cannot_be_synced_is_written_with_one_warning(
        self,
        folder: Path,
        monkeypatch: pytest.MonkeyPatch,
        caplog: pytest.LogCaptureFixture,
        number: int,
    ) -> None:
        fsync = os.fsync

        def refuse_folders(descriptor: int) -> None:
            if stat.S_ISDIR(os.fstat(descriptor).st_mode):
                raise OSError(number, os.strerror(number))
            fsync(descriptor)

        monkeypatch.setattr(os, "fsync", refuse_folders)
        monkeypatch.setattr(plain, "_unsynced_devices", set())
        store = LocalStore(folder)
        for name in ("a.xml", "sub/b.xml"):
            store.write(name, b"x")
            stage(store, f"{STATE}/run-1/{PAGE}", b"x")
            store.sync()
        assert below(folder).keys() == {"a.xml", "sub/b.xml", f"{STATE}/run-1/{PAGE}"}
        [record] = caplog.records
        assert os.strerror(number) in record.getMessage()
        assert "If the power fails" in record.getMessage()

    @pytest.mark.skipif(not Path("/dev/full").exists(), reason="the system has no disk that is full")
    def test_names_the_file_if_its_closing_fails_as_well(
        self, folder: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """When a file with a buffer is closed, it tries to write the buffer again, and fails again."""

        def full(path: Path, mode: int | None) -> Any:
            return Path("/dev/full").open("wb")

        monkeypatch.setattr("django_sitemaps09.stores.local.create", full)
        with pytest.raises(OSError, match=rf"No space left.*{PAGE}"):
            stage(LocalStore(folder), f"{STATE}/run-1/{PAGE}", b"x")

    @pytest.mark.skipif(not Path("/proc/self/mem").exists(), reason="the system has no file that fails so")
    def test_names_the_file_that_cannot_be_read(self) -> None:
        with pytest.raises(OSError, match=r"Input/output error.*/proc/self/mem"):
            LocalStore(Path("/proc/self")).read("mem", MOST)

    def test_has_content_and_names_on_disk_when_a_write_ends(
        self, folder: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        synced: list[Path] = []
        fsync = os.fsync

        def record(descriptor: int) -> None:
            synced.append(Path(f"/proc/self/fd/{descriptor}").readlink())
            fsync(descriptor)

        if not Path("/proc/self/fd").exists():
            pytest.skip("this system does not tell what a descriptor is of")
        monkeypatch.setattr(os, "fsync", record)
        store = LocalStore(folder)
        store.write("a/sitemap.xml", b"x")
        assert synced[0].name.startswith("tmp-")
        # Each folder with a new entry, up to the first one that already existed.
        assert set(synced[1:]) == {folder / "a", folder, folder.parent}
        synced.clear()
        stage(store, f"{STATE}/run-1/{PAGE}", b"x")
        store.promote(f"{STATE}/run-1/{PAGE}", PAGE)
        # Only the content is synced, not the name.
        assert synced == [folder / STATE / "run-1" / PAGE]
        synced.clear()
        store.sync()
        assert set(synced) == {folder, folder / STATE, folder / STATE / "run-1"}
        synced.clear()
        store.sync()
        assert synced == []

    def test_may_have_lost_what_was_touched_before_a_sync(self, folder: Path) -> None:
        store = LocalStore(folder)
        stage(store, f"{STATE}/run-1/{PAGE}", b"x")
        store.delete_folder(f"{STATE}/run-1")
        store.sync()

    @pytest.mark.parametrize("kind", ["link", "dangling", "pipe", "folder"])
    def test_reads_no_more_than_plain_files(self, folder: Path, tmp_path: Path, kind: str) -> None:
        store, path = LocalStore(folder), folder / "sitemap.xml"
        folder.mkdir()
        (tmp_path / "secret").write_bytes(b"secret")
        place(path, tmp_path / "secret", kind)
        for call in (lambda: store.read("sitemap.xml", MOST), lambda: store.open("sitemap.xml")):
            with pytest.raises(ExportError, match=f"{path} is not a regular file"):
                call()
        assert store.names() == {}

    @pytest.mark.parametrize("kind", ["link", "dangling", "pipe"])
    def test_replaces_a_link_and_not_its_target(self, folder: Path, tmp_path: Path, kind: str) -> None:
        store = LocalStore(folder)
        (tmp_path / "mine").write_bytes(b"mine")
        stage(store, f"{STATE}/run-1/a", b"staged")
        for name in ("written", "promoted", "deleted", "again"):
            place(folder / name, tmp_path / "mine", kind)
        store.write("written", b"x")
        store.promote(f"{STATE}/run-1/a", "promoted")
        store.delete("deleted")
        stage(store, "again", b"x")
        assert below(folder) == {"written": b"x", "promoted": b"staged", "again": b"x"}
        assert (tmp_path / "mine").read_bytes() == b"mine"
        assert not (tmp_path / "nowhere").exists()

    def test_follows_no_link_below_it(self, folder: Path, tmp_path: Path) -> None:
        store = LocalStore(folder)
        (tmp_path / "mine" / "run-1").mkdir(parents=True)
        (tmp_path / "mine" / "run-1" / "a").write_bytes(b"mine")
        folder.mkdir()
        (folder / "sub").symlink_to(tmp_path / "mine")
        calls: list[Callable[[], object]] = [
            lambda: store.read("sub/run-1/a", MOST),
            lambda: store.write("sub/run-1/a", b"x"),
            lambda: stage(store, "sub/run-1/a", b"x"),
            lambda: store.delete("sub/run-1/a"),
            lambda: store.delete_folder("sub/run-1"),
            lambda: store.names("sub"),
            lambda: store.folders("sub/run-1"),
        ]
        for call in calls:
            with pytest.raises(ExportError, match=f"{folder / 'sub'} is a symbolic link"):
                call()
        assert store.folders() == []
        store.delete_folder("sub")
        assert list(folder.iterdir()) == []
        assert below(tmp_path / "mine") == {"run-1/a": b"mine"}

    def test_may_be_reached_through_a_link_of_its_owner(self, folder: Path, tmp_path: Path) -> None:
        folder.symlink_to(tmp_path / "real")
        (tmp_path / "real").mkdir()
        LocalStore(folder).write("sitemap.xml", b"x")
        assert (tmp_path / "real" / "sitemap.xml").read_bytes() == b"x"
        assert LocalStore(folder).identity == LocalStore(tmp_path / "real").identity

    @pytest.mark.parametrize("kind", ["link", "file"])
    def test_with_something_else_for_our_own_is_refused(
        self, folder: Path, tmp_path: Path, kind: str
    ) -> None:
        folder.mkdir()
        (tmp_path / "mine").mkdir()
        (tmp_path / "mine" / "tmp-1").write_bytes(b"mine")
        if kind == "link":
            (folder / STATE).symlink_to(tmp_path / "mine")
        else:
            (folder / STATE).write_bytes(b"mine")
        for store in (LocalStore(folder), state_store(LocalStore(folder))):
            with pytest.raises(ExportError, match=f"{folder / STATE} is (a symbolic link|not a folder)"):
                store.write("a", b"x")
            if kind == "link":
                with pytest.raises(ExportError, match="is a symbolic link"):
                    store.clean()
        assert below(tmp_path) == {"mine/tmp-1": b"mine"} | (
            {} if kind == "link" else {f"public/{STATE}": b"mine"}
        )

    def test_says_what_folder_is_in_the_place_of_a_file(self, folder: Path) -> None:
        store = LocalStore(folder)
        (folder / PAGE / "x").mkdir(parents=True)
        stage(store, f"{STATE}/run-1/{PAGE}", b"x")
        assert (store.is_blocked(PAGE), store.is_blocked("sitemap.xml")) == (True, False)
        calls: list[Callable[[], object]] = [
            lambda: store.promote(f"{STATE}/run-1/{PAGE}", PAGE),
            lambda: store.write(PAGE, b"x"),
            lambda: stage(store, PAGE, b"x"),
            lambda: store.delete(PAGE),
        ]
        for call in calls:
            with pytest.raises(ExportError, match=f"{folder / PAGE} is a folder. Remove it."):
                call()
        assert (folder / PAGE / "x").is_dir()

    def test_says_what_file_is_in_the_place_of_a_folder(self, folder: Path) -> None:
        store = LocalStore(folder)
        store.write("a", b"mine")
        assert store.read("a/b", MOST) is None
        assert store.names("a") == {}
        store.delete("a/b")
        with pytest.raises(ExportError, match=f"{folder / 'a'} is not a folder"):
            store.write("a/b", b"x")
        assert store.read("a", MOST) == b"mine"

    def test_is_written_while_an_export_that_starts_removes_temporary_files(
        self, folder: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        original, calls = local.create_whole, 0

        def create_whole(path: Path, content: bytes, mode: int | None) -> None:
            nonlocal calls
            calls += 1
            original(path, content, mode)
            if calls == 1:
                LocalStore(folder).clean()

        monkeypatch.setattr(local, "create_whole", create_whole)
        state_store(LocalStore(folder)).write("a/b", b"x")
        assert below(folder) == {f"{STATE}/a/b": b"x"}
        assert calls == 2

    def test_does_not_name_a_file_that_is_removed_meanwhile(
        self, folder: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        store = LocalStore(folder)
        store.write("a", b"x")
        store.write("b", b"xy")
        original = LocalStore._entries

        def entries(self: LocalStore, name: str) -> list[os.DirEntry[str]]:
            found = original(self, name)
            store.delete("a")
            return found

        monkeypatch.setattr(LocalStore, "_entries", entries)
        assert store.names() == {"b": 2}


def place(path: Path, there: Path, kind: str) -> None:
    """Create something that is not a regular file."""
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    else:
        path.symlink_to(there if kind == "link" else there.with_name("nowhere"))


class TestALockedFolder:
    def test_is_for_one_at_a_time(self, folder: Path) -> None:
        for _ in range(2):
            with exclusive_lock(LocalStore(folder)) as check:
                check()
                with pytest.raises(ExportRunningError, match=f"Another export is writing to {folder}"):
                    exclusive_lock(LocalStore(folder)).__enter__()
                check()
        assert mode_of(folder / STATE) == 0o700
        assert {mode_of(path) for path in (folder / STATE).iterdir()} == {0o600}

    @pytest.mark.parametrize("how", ["removed", "replaced", "its folder removed", "its folder a link"])
    def test_is_not_ours_once_its_lock_is_gone(self, folder: Path, tmp_path: Path, how: str) -> None:
        def lose() -> None:
            lock = folder / STATE / "lock"
            if how == "its folder a link":
                (folder / STATE).rename(tmp_path / "moved")
                (folder / STATE).symlink_to(tmp_path / "other")
                return
            lock.unlink()
            if how == "replaced":
                lock.touch()
            elif how == "its folder removed":
                (folder / STATE).rmdir()

        with exclusive_lock(LocalStore(folder)) as check:
            check()
            lose()
            with pytest.raises(ExportError, match=f"{folder / STATE / 'lock'} was removed or replaced"):
                check()

    @pytest.mark.parametrize("number", [errno.ENOLCK, errno.ENOTSUP, errno.EIO], ids=errno.errorcode.get)
    def test_says_what_to_do_if_its_file_system_has_no_locks(
        self, folder: Path, monkeypatch: pytest.MonkeyPatch, number: int
    ) -> None:
        def refuse(file: object, flags: int) -> bool:
            raise OSError(number, os.strerror(number))

        monkeypatch.setattr("django.core.files.locks.lock", refuse)
        with pytest.raises(ExportError) as raised, exclusive_lock(LocalStore(folder)):
            pass
        message = str(raised.value)
        assert message.startswith(f"{folder / STATE / 'lock'} cannot be locked ({os.strerror(number)})")
        assert "Choose another folder with --output" in message

    @pytest.mark.parametrize("number", [errno.EROFS, errno.ENOSPC, errno.EIO], ids=errno.errorcode.get)
    def test_need_not_be_removed_if_it_cannot_be_opened(
        self, folder: Path, monkeypatch: pytest.MonkeyPatch, number: int
    ) -> None:
        def refuse(path: Path, *arguments: object) -> int:
            raise OSError(number, os.strerror(number), str(path))

        with exclusive_lock(LocalStore(folder)):
            pass
        with monkeypatch.context() as patch:
            patch.setattr(os, "open", refuse)
            with pytest.raises(ExportError) as raised:
                exclusive_lock(LocalStore(folder)).__enter__()
        assert f"{os.strerror(number)}). Choose another folder" in str(raised.value)
        assert "Remove" not in str(raised.value)

    @pytest.mark.parametrize("kind", ["link", "file", "a stranger's", "a lock that is a link"])
    def test_is_not_locked_if_its_lock_could_be_anywhere(
        self, folder: Path, tmp_path: Path, kind: str
    ) -> None:
        own = folder / STATE
        folder.mkdir()
        (tmp_path / "mine").mkdir(mode=0o755)
        if kind == "link":
            own.symlink_to(tmp_path / "mine")
        elif kind == "file":
            own.touch()
        else:
            own.mkdir()
        if kind == "a lock that is a link":
            (own / "lock").symlink_to(tmp_path / "mine" / "lock")
        if kind == "a stranger's":
            if os.geteuid() != 0:
                pytest.skip("only root can give folders away")
            os.chown(own, 1234, 2345)
        words = "belongs to the user ID 1234" if kind == "a stranger's" else "Remove it"
        with pytest.raises(ExportError, match=words), exclusive_lock(LocalStore(folder)):
            pass
        assert list((tmp_path / "mine").iterdir()) == []
        assert mode_of(tmp_path / "mine") == 0o755
