"""A folder as a store: modes, links, staged files, and disks that fail."""

from __future__ import annotations

import errno
import os
import stat
import threading
from contextlib import suppress
from pathlib import Path
from secrets import token_hex

import pytest

from django_sitemaps09.exceptions import ExportError, ExportRunningError
from django_sitemaps09.stores import STATE, LocalStore, exclusive_lock, local, plain, state_store
from tests.support.stores import MOST, PAGE, below, stage

STAGED = f"{STATE}/run-1/{PAGE}"


def mode_of(path):
    return stat.S_IMODE(path.lstat().st_mode)


def fails_with(number):
    def fail(path, *arguments):
        raise OSError(number, os.strerror(number), *([str(path)] if isinstance(path, Path) else []))

    return fail


def full(path, mode):
    """Return a device that is really full, behind the buffer of the file."""
    return open("/dev/full", "wb")  # noqa: PTH123


def needs(path):
    return pytest.mark.skipif(not Path(path).exists(), reason=f"this system has no {path}")


def place(path, there, kind):
    """Create something that is not a regular file."""
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    else:
        path.symlink_to(there if kind == "link" else there.with_name("nowhere"))


def test_our_folder_is_closed_to_other_users(folder, umask):
    umask(0)
    LocalStore(folder).write("sitemap.xml", b"x")
    assert mode_of(folder / STATE) == 0o700
    (folder / STATE).chmod(0o777)
    state_store(LocalStore(folder)).write("manifest.json", b"{}")
    assert (mode_of(folder / STATE), mode_of(folder / STATE / "manifest.json")) == (0o700, 0o600)


class TestADiskThatFails:
    @pytest.mark.parametrize("what", ["fsync", "replace", pytest.param("write", marks=needs("/dev/full"))])
    def test_keeps_the_file(self, folder, monkeypatch, what):
        store, fail = LocalStore(folder), fails_with(errno.ENOSPC)
        store.write("sitemap.xml", b"before")
        patches = {
            "fsync": (os, "fsync", fail),
            "replace": (Path, "replace", fail),
            "write": (plain, "create", full),
        }
        with monkeypatch.context() as patch:
            patch.setattr(*patches[what])
            with pytest.raises(OSError, match="No space left"):
                store.write("sitemap.xml", b"after")
        assert below(folder) == {"sitemap.xml": b"before"}

    def test_is_reported_with_the_file(self, folder, monkeypatch):
        """Errors of an open file lack the name: the message is only `[Errno 5] Input/output error`."""
        store = LocalStore(folder)
        stage(store, STAGED, b"x")
        with monkeypatch.context() as patch:
            patch.setattr(os, "fsync", fails_with(errno.EIO))
            for work, named in (
                (lambda: store.write("sitemap.xml", b"x"), f"{folder}.*sitemap.xml"),
                (lambda: stage(store, f"{STATE}/run-1/b.xml", b"x"), f"{folder}.*b.xml"),
                # Any of this folder and its parents can be the first to exist.
                (store.sync, folder.parent),
            ):
                with pytest.raises(OSError, match=rf"Input/output error.*{named}"):
                    work()

    @needs("/dev/full")
    @needs("/proc/self/mem")
    def test_is_reported_with_the_file_that_cannot_be_closed_or_read(self, folder, monkeypatch):
        """When a file with a buffer is closed, it tries to write the buffer again, and fails again."""
        monkeypatch.setattr(local, "create", full)
        with pytest.raises(OSError, match=rf"No space left.*{PAGE}"):
            stage(LocalStore(folder), STAGED, b"x")
        with pytest.raises(OSError, match=r"Input/output error.*/proc/self/mem"):
            LocalStore(Path("/proc/self")).read("mem", MOST)

    @pytest.mark.parametrize("number", [errno.EINVAL, errno.ENOTSUP], ids=errno.errorcode.get)
    def test_without_synced_folders_costs_one_warning(self, folder, monkeypatch, caplog, number):
        fsync = os.fsync

        def refuse_folders(descriptor):
            if stat.S_ISDIR(os.fstat(descriptor).st_mode):
                raise OSError(number, os.strerror(number))
            fsync(descriptor)

        monkeypatch.setattr(os, "fsync", refuse_folders)
        monkeypatch.setattr(plain, "_unsynced_devices", set())
        store = LocalStore(folder)
        for name in ("a.xml", "sub/b.xml"):
            store.write(name, b"x")
            stage(store, STAGED, b"x")
            store.sync()
        assert below(folder).keys() == {"a.xml", "sub/b.xml", STAGED}
        [message] = caplog.messages
        assert os.strerror(number) in message
        assert "If the power fails" in message


@needs("/proc/self/fd")
def test_content_and_names_are_on_disk_when_a_write_or_a_sync_ends(folder, monkeypatch):
    synced, fsync = [], os.fsync

    def record(descriptor):
        synced.append(Path(f"/proc/self/fd/{descriptor}").readlink())
        fsync(descriptor)

    def done(work):
        synced.clear()
        work()
        return list(synced)

    monkeypatch.setattr(os, "fsync", record)
    store = LocalStore(folder)
    content, *names = done(lambda: store.write("a/sitemap.xml", b"x"))
    assert content.name.startswith("tmp-")
    # Each folder with a new entry, up to the first one that already existed.
    assert set(names) == {folder / "a", folder, folder.parent}
    # Only the content is synced, not the name.
    assert done(lambda: stage(store, STAGED, b"x") or store.promote(STAGED, PAGE)) == [folder / STAGED]
    assert set(done(store.sync)) == {folder, folder / STATE, folder / STATE / "run-1"}
    assert done(store.sync) == []
    # What was touched before a sync may be lost.
    stage(store, STAGED, b"x")
    store.delete_folder(f"{STATE}/run-1")
    store.sync()


@pytest.mark.parametrize("kind", ["link", "dangling", "pipe", "folder"])
def test_a_folder_reads_only_plain_files_and_replaces_a_link_and_not_its_target(folder, tmp_path, kind):
    store, mine = LocalStore(folder), tmp_path / "mine"
    mine.write_bytes(b"mine")
    names = ("written", "promoted", "deleted", "again")
    stage(store, f"{STATE}/run-1/a", b"staged")
    for name in names:
        place(folder / name, mine, kind)
        for call in (lambda name=name: store.read(name, MOST), lambda name=name: store.open(name)):
            with pytest.raises(ExportError, match=f"{folder / name} is not a regular file"):
                call()
    assert store.names() == {}
    if kind == "folder":
        return
    store.write("written", b"x")
    store.promote(f"{STATE}/run-1/a", "promoted")
    store.delete("deleted")
    stage(store, "again", b"x")
    assert below(folder) == {"written": b"x", "promoted": b"staged", "again": b"x"}
    assert (mine.read_bytes(), (tmp_path / "nowhere").exists()) == (b"mine", False)


def test_a_folder_follows_no_link_name_but_may_be_reached_through_one(folder, tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "mine" / "run-1").mkdir(parents=True)
    (tmp_path / "mine" / "run-1" / "a").write_bytes(b"mine")
    folder.symlink_to(tmp_path / "real")
    (folder / "sub").symlink_to(tmp_path / "mine")
    store = LocalStore(folder)
    name = "sub/run-1/a"
    for call in (
        lambda: store.read(name, MOST), lambda: store.write(name, b"x"), lambda: store.delete(name),
        lambda: stage(store, name, b"x"), lambda: store.delete_folder("sub/run-1"),
        lambda: store.names("sub"), lambda: store.folders("sub/run-1"),
    ):  # fmt: skip
        with pytest.raises(ExportError, match=f"{folder / 'sub'} is a symbolic link"):
            call()
    assert store.folders() == []
    store.delete_folder("sub")
    assert list(folder.iterdir()) == []
    store.write("sitemap.xml", b"x")
    assert below(tmp_path) == {"mine/run-1/a": b"mine", "real/sitemap.xml": b"x"}
    assert store.identity == LocalStore(tmp_path / "real").identity


@pytest.mark.parametrize("kind", ["link", "file"])
def test_something_else_in_the_place_of_our_folder_is_refused(folder, tmp_path, kind):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "tmp-1").write_bytes(b"mine")
    folder.mkdir()
    if kind == "link":
        (folder / STATE).symlink_to(tmp_path / "mine")
    else:
        (folder / STATE).write_bytes(b"mine")
    before = below(tmp_path)
    for store in (LocalStore(folder), state_store(LocalStore(folder))):
        with pytest.raises(ExportError, match=f"{folder / STATE} is (a symbolic link|not a folder)"):
            store.write("a", b"x")
        if kind == "link":
            with pytest.raises(ExportError, match="is a symbolic link"):
                store.clean()
    assert below(tmp_path) == before


def test_a_folder_in_the_place_of_a_file_and_a_file_in_that_of_a_folder_are_named_and_stay(folder):
    store = LocalStore(folder)
    (folder / PAGE / "x").mkdir(parents=True)
    stage(store, STAGED, b"x")
    assert (store.is_blocked(PAGE), store.is_blocked("sitemap.xml")) == (True, False)
    for call in (
        lambda: store.promote(STAGED, PAGE), lambda: store.write(PAGE, b"x"),
        lambda: stage(store, PAGE, b"x"), lambda: store.delete(PAGE),
    ):  # fmt: skip
        with pytest.raises(ExportError, match=f"{folder / PAGE} is a folder. Remove it."):
            call()
    assert (folder / PAGE / "x").is_dir()
    store.write("a", b"mine")
    assert (store.read("a/b", MOST), store.names("a"), store.delete("a/b")) == (None, {}, None)
    with pytest.raises(ExportError, match=f"{folder / 'a'} is not a folder"):
        store.write("a/b", b"x")
    assert store.read("a", MOST) == b"mine"


def test_a_write_survives_an_export_that_removes_temporary_files_meanwhile(folder, monkeypatch):
    original, calls = local.create_whole, []

    def create_whole(path, content, mode):
        calls.append(path)
        original(path, content, mode)
        if len(calls) == 1:
            LocalStore(folder).clean()

    monkeypatch.setattr(local, "create_whole", create_whole)
    state_store(LocalStore(folder)).write("a/b", b"x")
    assert (below(folder), len(calls)) == ({f"{STATE}/a/b": b"x"}, 2)


def test_a_file_that_is_removed_meanwhile_is_not_listed(folder, monkeypatch):
    store, original = LocalStore(folder), LocalStore._entries
    store.write("a", b"x")
    store.write("b", b"xy")

    def entries(self, name):
        found = original(self, name)
        store.delete("a")
        return found

    monkeypatch.setattr(LocalStore, "_entries", entries)
    assert store.names() == {"b": 2}


def test_a_folder_can_be_removed_while_another_process_writes_there(folder):
    """A worker that outlives its run does this."""
    store, ended, written = LocalStore(folder), threading.Event(), []

    def write():
        while not ended.is_set():
            with suppress(OSError):
                store.write(f"{STATE}/run-1/{token_hex(4)}", b"")
                written.append(True)

    thread = threading.Thread(target=write)
    thread.start()
    try:
        for _ in range(100):
            store.delete_folder(f"{STATE}/run-1")
    finally:
        ended.set()
        thread.join()
    store.delete_folder(f"{STATE}/run-1")
    assert (written != [], store.folders(STATE)) == (True, [])


class TestALockedFolder:
    def test_is_for_one_at_a_time(self, folder):
        for _ in range(2):
            with exclusive_lock(LocalStore(folder)) as check:
                check()
                with pytest.raises(ExportRunningError, match=f"Another export is writing to {folder}"):
                    exclusive_lock(LocalStore(folder)).__enter__()
                check()
        assert mode_of(folder / STATE) == 0o700
        assert {mode_of(path) for path in (folder / STATE).iterdir()} == {0o600}

    @pytest.mark.parametrize("how", ["removed", "replaced", "its folder removed", "its folder a link"])
    def test_is_not_ours_once_its_lock_is_gone(self, folder, tmp_path, how):
        lock = folder / STATE / "lock"
        with exclusive_lock(LocalStore(folder)) as check:
            check()
            if how == "its folder a link":
                (folder / STATE).rename(tmp_path / "moved")
                (folder / STATE).symlink_to(tmp_path / "other")
            else:
                lock.unlink()
            if how == "replaced":
                lock.touch()
            elif how == "its folder removed":
                (folder / STATE).rmdir()
            with pytest.raises(ExportError, match=f"{lock} was removed or replaced"):
                check()

    @pytest.mark.parametrize(("call", "numbers"), [
        ("django.core.files.locks.lock", [errno.ENOLCK, errno.ENOTSUP, errno.EIO]),
        ("os.open", [errno.EROFS, errno.ENOSPC, errno.EIO]),
    ])  # fmt: skip
    def test_says_what_to_do_if_it_cannot_be_locked(self, folder, monkeypatch, call, numbers):
        with exclusive_lock(LocalStore(folder)):
            pass
        for number in numbers:
            with monkeypatch.context() as patch:
                patch.setattr(call, fails_with(number))
                with pytest.raises(ExportError) as raised:
                    exclusive_lock(LocalStore(folder)).__enter__()
            message, lock = str(raised.value), folder / STATE / "lock"
            assert message.startswith(f"{lock} cannot be locked ({os.strerror(number)}). ")
            assert ("Choose another folder with --output" in message, "Remove" in message) == (True, False)

    @pytest.mark.parametrize("kind", ["link", "file", "a stranger's", "a lock that is a link"])
    def test_is_not_locked_if_its_lock_could_be_anywhere(self, folder, tmp_path, kind):
        own, mine = folder / STATE, tmp_path / "mine"
        folder.mkdir()
        mine.mkdir(mode=0o755)
        if kind == "link":
            own.symlink_to(mine)
        elif kind == "file":
            own.touch()
        else:
            own.mkdir()
        if kind == "a lock that is a link":
            (own / "lock").symlink_to(mine / "lock")
        if kind == "a stranger's":
            if os.geteuid() != 0:
                pytest.skip("only root can give folders away")
            os.chown(own, 1234, 2345)
        words = "belongs to the user ID 1234" if kind == "a stranger's" else "Remove it"
        with pytest.raises(ExportError, match=words), exclusive_lock(LocalStore(folder)):
            pass
        assert (list(mine.iterdir()), mode_of(mine)) == ([], 0o755)
