"""A folder, a storage in memory and an S3 do the same: a file is complete, or does not exist."""

from __future__ import annotations

import errno
import os
import pickle
import stat
import sys
import tempfile
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from hashlib import sha256
from itertools import count
from pathlib import Path
from secrets import token_hex

import pytest
from django.core.cache import cache, caches
from django.core.cache.backends.base import BaseCache
from django.core.files.base import ContentFile
from django.core.files.storage import InMemoryStorage, storages
from django.test import override_settings

from django_sitemaps09.exceptions import ExportError, ExportRunningError
from django_sitemaps09.export import export
from django_sitemaps09.target import local
from tests.support.exports import fails_with, local_storage
from tests.support.internals import (
    STATE,
    LocalStore,
    RemoteStore,
    exclusive_lock,
    state_store,
    stores as leases,
    target_store,
)
from tests.support.killing import die, forked, was_killed
from tests.support.processes import ended, started, until
from tests.support.sections import Numbers
from tests.support.services import unavailable_cache
from tests.support.stores import MOST, PAGE, Overwriting, below, memory, saved, stage, storage, store

__all__ = ["memory", "store"]

STAGED = f"{STATE}/run-1/{PAGE}"
#: Locations of an S3; an object of somebody else is beside the second one.
S3 = [pytest.param(location, marks=pytest.mark.services) for location in ("s3:", "s3:maps/2026")]


@pytest.fixture(params=["local", "memory", *S3])
def any_store(request, folder):
    kind, is_remote, location = request.param.partition(":")
    if not is_remote:
        yield LocalStore(folder) if kind == "local" else request.getfixturevalue("memory")
        return
    bucket = request.getfixturevalue("bucket")(location=location)
    if location:
        bucket.put_object(Key=f"{location}-beside", Body=b"mine")
    yield target_store(None)
    beside = {found.key for found in bucket.objects.all() if not found.key.startswith(f"{location}/")}
    assert not location or beside == {f"{location}-beside"}


def test_a_store_has_what_was_written_last_and_reads_no_more_than_the_limit(any_store):
    assert (any_store.read("sitemap.xml", MOST), any_store.open("sitemap.xml")) == (None, None)
    for content in (b"a long first content", b"12345", b""):
        any_store.write("sitemap.xml", content)
        assert any_store.read("sitemap.xml", len(content)) == content
        with any_store.open("sitemap.xml") as file:
            assert file.read() == content
    any_store.write("sitemap.xml", b"12345")
    with pytest.raises(ExportError, match=r"sitemap\.xml.* is larger than 4 bytes"):
        any_store.read("sitemap.xml", 4)


def test_a_staged_file_is_complete_and_published_by_its_promotion_alone(any_store):
    def fail():
        with any_store.staged(STAGED) as file:
            file.write(b"half")
            raise KeyboardInterrupt

    any_store.write(PAGE, b"a long content from before")
    with pytest.raises(KeyboardInterrupt):
        fail()
    assert any_store.names(f"{STATE}/run-1") == {}
    with pytest.raises(FileNotFoundError):
        any_store.promote(STAGED, PAGE)
    for content in (b"a long first attempt", b"second"):
        stage(any_store, STAGED, content)
        assert any_store.read(STAGED, MOST) == content
        assert any_store.read(PAGE, MOST) == b"a long content from before"
    any_store.promote(STAGED, PAGE)
    any_store.sync()
    assert any_store.read(PAGE, MOST) == b"second"


def test_a_store_lists_what_is_directly_in_a_folder_and_deletes_that_and_no_more(any_store):
    for name in ("b.xml", "sub/c.xml", "sub/sub/d.xml", f"{STATE}/run-1/a/x", STAGED, f"{STATE}/run-10/x"):
        any_store.write(name, b"123")
    size = 3 if isinstance(any_store, LocalStore) else None
    assert (any_store.names(), any_store.names("sub")) == ({"b.xml": size}, {"c.xml": size})
    assert (sorted(any_store.folders()), any_store.folders("sub")) == ([STATE, "sub"], ["sub"])
    assert (any_store.names("nowhere"), any_store.folders("nowhere")) == ({}, [])
    for _ in range(2):
        any_store.delete("sub/c.xml")
        any_store.delete("nowhere/at/all.xml")
        any_store.delete_folder(f"{STATE}/run-1")
        assert (any_store.names("sub"), any_store.folders("sub")) == ({}, ["sub"])
        assert (any_store.folders(STATE), set(any_store.names())) == (["run-10"], {"b.xml"})


@pytest.mark.parametrize("name", ["/etc/passwd", "./a", "a/../../b", "a//b", "", "a\\b", "C:a", "a\0b"])
def test_a_name_that_leads_outside_is_refused(store, name):
    store.write(PAGE, b"x")
    for call in (
        lambda: store.read(name, 1), lambda: store.open(name), lambda: store.write(name, b""),
        lambda: store.staged(name).__enter__(), lambda: store.promote(PAGE, name),
        lambda: store.promote(name, PAGE), lambda: store.delete(name), lambda: store.delete_folder(name),
        lambda: store.is_blocked(name), lambda: store.names(name or "/"),
        lambda: store.folders(name or "/"),
    ):  # fmt: skip
        with pytest.raises(ValueError, match="not a valid file name"):
            call()
    assert store.read(PAGE, MOST) == b"x"


def test_a_store_is_checked_without_a_trace_and_is_the_same_in_another_process(any_store):
    any_store.check()
    any_store.write(PAGE, b"x")
    any_store.clean()
    any_store.sync()
    assert (set(any_store.names()), any_store.names(STATE)) == ({PAGE}, {})
    other = pickle.loads(pickle.dumps(any_store))  # noqa: S301 our own
    assert (other, other.label, other.identity) == (any_store, any_store.label, any_store.identity)
    assert other.read(PAGE, MOST) == b"x"
    other.write("sitemap.xml", b"y")
    assert any_store.read("sitemap.xml", MOST) == b"y"


def test_a_target_or_state_that_is_missing_is_reported_with_every_solution(settings):
    settings.SITEMAPS09 = {}
    with pytest.raises(ExportError, match=r"--output DIR.*'ROOT'.*'STORAGE'"):
        target_store(None)
    finds = {"STORAGE": lambda: target_store(None), "STATE": lambda: state_store(LocalStore(Path("x")))}
    for key, find in finds.items():
        settings.SITEMAPS09 = {key: "nowhere"}
        with pytest.raises(ExportError, match=rf"SITEMAPS09\['{key}'\] is 'nowhere'"):
            find()


def test_the_state_is_in_our_folder_or_where_the_setting_says(store, folder, tmp_path, settings, declare):
    label = str(folder) if isinstance(store, LocalStore) else "storage 'sitemaps'"
    assert store.label == label
    if isinstance(store, RemoteStore):
        assert state_store(store).label == f"{STATE} in {label}"
    state_store(store).write("manifest.json", b"{}")
    assert store.read(f"{STATE}/manifest.json", MOST) == b"{}"
    assert state_store(store).identity != store.identity
    declare(state=local_storage(tmp_path / "state"))
    settings.SITEMAPS09 = {"STATE": "state"}
    state_store(store).write("manifest.json", b"{}")
    assert below(tmp_path / "state") == {"manifest.json": b"{}"}
    # It is never next to what is published.
    settings.SITEMAPS09 = {"STORAGE": "state", "STATE": "state"}
    state_store(target_store(None)).write("manifest.json", b"[]")
    assert below(tmp_path / "state") == {"manifest.json": b"{}", f"{STATE}/manifest.json": b"[]"}
    declare(state=storage(Overwriting))
    assert state_store(target_store(None)) == RemoteStore("state", STATE)


def test_neither_boto3_nor_storages_nor_redis_is_imported_with_the_room():
    found = "{'boto3', 'botocore', 'storages', 'redis'} & {*sys.modules}"
    code = f"import sys, django_sitemaps09.target.store; print({found})"
    assert ended(started("-c", code, environ={**os.environ})) == (0, "set()\n", "")


def mode_of(path):
    return stat.S_IMODE(path.lstat().st_mode)


def full(path, mode):
    """Return a device that is really full, behind the buffer of the file."""
    return open("/dev/full", "wb")  # noqa: PTH123


def needs(path):
    return pytest.mark.skipif(not Path(path).exists(), reason=f"this system has no {path}")


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
        owner = {"fsync": (os, "fsync"), "replace": (Path, "replace"), "write": (local, "create")}[what]
        with monkeypatch.context() as patch:
            patch.setattr(*owner, full if what == "write" else fail)
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
        monkeypatch.setattr(local, "_unsynced_devices", set())
        store = LocalStore(folder)
        for name in ("a.xml", "sub/b.xml"):
            store.write(name, b"x")
            stage(store, STAGED, b"x")
            store.sync()
        assert below(folder).keys() == {"a.xml", "sub/b.xml", STAGED}
        [message] = caplog.messages
        assert (os.strerror(number) in message, "If the power fails" in message) == (True, True)


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


def link(name):
    return lambda path: path.symlink_to(f"../{name}")


@pytest.mark.parametrize("place", [link("mine"), link("nowhere"), os.mkfifo, Path.mkdir], ids=range(4))
def test_a_folder_reads_only_plain_files_and_replaces_a_link_and_not_its_target(folder, tmp_path, place):
    store, mine = LocalStore(folder), tmp_path / "mine"
    mine.write_bytes(b"mine")
    names = ("written", "promoted", "deleted", "again")
    stage(store, f"{STATE}/run-1/a", b"staged")
    for name in names:
        place(folder / name)
        for call in (lambda name=name: store.read(name, MOST), lambda name=name: store.open(name)):
            with pytest.raises(ExportError, match=f"{folder / name} is not a regular file"):
                call()
    assert store.names() == {}
    if place is Path.mkdir:
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
    (tmp_path / "mine").mkdir(mode=0o755)
    (tmp_path / "mine" / "tmp-1").write_bytes(b"mine")
    folder.mkdir()
    if kind == "link":
        (folder / STATE).symlink_to(tmp_path / "mine")
    else:
        (folder / STATE).write_bytes(b"mine")
    before = below(tmp_path)
    for refused in (LocalStore(folder), state_store(LocalStore(folder))):
        with pytest.raises(ExportError, match=f"{folder / STATE} is (a symbolic link|not a folder)"):
            refused.write("a", b"x")
        if kind == "link":
            with pytest.raises(ExportError, match="is a symbolic link"):
                refused.clean()
    with pytest.raises(ExportError, match="Remove it"), exclusive_lock(LocalStore(folder)):
        pass
    assert (below(tmp_path), mode_of(tmp_path / "mine")) == (before, 0o755)


def test_a_link_that_replaces_our_folder_after_a_check_is_not_followed(folder, tmp_path, monkeypatch):
    for path in (folder / STATE, tmp_path / "mine"):
        path.mkdir(0o755, parents=True)

    def check_and_replace(path):
        status = os.lstat(path)
        if path.name == STATE and stat.S_ISDIR(status.st_mode):
            path.rename(tmp_path / "moved")
            path.symlink_to(tmp_path / "mine")
        return status

    monkeypatch.setattr(Path, "lstat", check_and_replace)
    with pytest.raises(ExportError, match=STATE), exclusive_lock(LocalStore(folder)):
        pass
    assert (mode_of(tmp_path / "mine"), below(tmp_path)) == (0o755, {})


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
    original, synced = os.fsync, []

    def fsync(descriptor):
        original(descriptor)
        synced.append(stat.S_ISREG(os.fstat(descriptor).st_mode))
        if len(synced) == 1:
            LocalStore(folder).clean()

    monkeypatch.setattr(os, "fsync", fsync)
    state_store(LocalStore(folder)).write("a/b", b"x")
    assert (below(folder), synced[:2], any(synced[2:])) == ({f"{STATE}/a/b": b"x"}, [True, True], False)


def test_a_file_that_is_removed_meanwhile_is_not_listed(folder, monkeypatch):
    store, entries = LocalStore(folder), LocalStore._entries
    store.write("a", b"x")
    store.write("b", b"xy")
    monkeypatch.setattr(LocalStore, "_entries", lambda *args: (entries(*args), store.delete("a"))[0])
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
        # However slowly the other one is scheduled.
        for turn in count():
            store.delete_folder(f"{STATE}/run-1")
            if turn > 100 and len(written) > 1:
                break
    finally:
        ended.set()
        thread.join()
    store.delete_folder(f"{STATE}/run-1")
    assert store.folders(STATE) == []


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

    def test_is_not_locked_by_a_link_or_in_a_folder_of_another_user(self, folder, tmp_path):
        (folder / STATE).mkdir(parents=True)
        (folder / STATE / "lock").symlink_to(tmp_path / "lock")
        with pytest.raises(ExportError, match="Remove it"), exclusive_lock(LocalStore(folder)):
            pass
        assert not (tmp_path / "lock").exists()
        if os.geteuid() != 0:
            pytest.skip("only root can give folders away")
        os.chown(folder / STATE, 1234, 2345)
        with (
            pytest.raises(ExportError, match="belongs to the user ID 1234"),
            exclusive_lock(LocalStore(folder)),
        ):
            pass


class Forgetful(Overwriting):
    """A storage that silently keeps the first content of a name."""

    def _save(self, name, content):
        return name if self.exists(name) else super()._save(name, content)


class Broken(Overwriting):
    def _save(self, *arguments):
        raise RuntimeError("out of order")

    exists = _save


HINT = r".*file_overwrite.*allow_overwrite.*'ROOT'"


@pytest.mark.parametrize(("backend", "why"), [
    (InMemoryStorage, f"'sitemaps' saved .*probe-.* as .*probe-{HINT}"),
    (Forgetful, f"'sitemaps' does not return the content that was saved last{HINT}"),
    (Broken, "Access to .*probe-.*'sitemaps' failed: RuntimeError: out of order"),
])  # fmt: skip
def test_a_storage_that_does_not_replace_is_refused_and_not_changed(declare, backend, why):
    declare(sitemaps=storage(backend))
    InMemoryStorage._save(storages["sitemaps"], "mine", ContentFile(b"mine"))
    with pytest.raises(ExportError, match=why):
        RemoteStore("sitemaps").check()
    assert saved("sitemaps") == {"mine": b"mine"}


def test_a_storage_that_renames_or_fails_later_is_named_then_and_has_nothing_new(declare):
    declare(sitemaps=storage(InMemoryStorage))
    store = RemoteStore("sitemaps")
    store.write(PAGE, b"before")
    stage(store, "staged", b"after")
    for call in (lambda: store.write(PAGE, b"after"), lambda: store.promote("staged", PAGE)):
        with pytest.raises(ExportError, match=f"saved '{PAGE}' as"):
            call()
    assert saved("sitemaps") == {PAGE: b"before", "staged": b"after"}
    declare(sitemaps=storage(Broken))
    store = RemoteStore("sitemaps")
    for call in (lambda: store.write(PAGE, b"x"), lambda: store.read(PAGE, 1)):
        with pytest.raises(ExportError, match=f"Access to '{PAGE}' in storage 'sitemaps' failed: Runtime"):
            call()


def test_a_storage_leaves_nothing_here_and_is_cleaned_of_probes(memory, tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    stage(memory, PAGE, b"x")
    assert list(tmp_path.iterdir()) == []
    with memory.staged(PAGE) as file:
        file.write(b"y")
        file.flush()
        # No name exists while the file is written, so a killed run leaves nothing behind.
        assert list(tmp_path.iterdir()) == []
    for name in (f"{STATE}/probe-1.txt", f"{STATE}/manifest.json", "probe-2.txt"):
        memory.write(name, b"x")
    state_store(memory).clean()
    assert saved("sitemaps") == {PAGE: b"y", f"{STATE}/manifest.json": b"x", "probe-2.txt": b"x"}


def head(bucket, key):
    """Return the type, the encoding and the caching of an object."""
    found = bucket.meta.client.head_object(Bucket=bucket.name, Key=key)
    return found["ContentType"], found.get("ContentEncoding"), found.get("CacheControl")


class TestAnS3:
    @pytest.mark.parametrize("compressing", [False, True])
    def test_has_files_of_their_types_as_they_are(self, bucket, compressing):
        types = ("application/gzip", "application/xml", "application/json", "text/plain; charset=utf-8")
        made = bucket(gzip=compressing, gzip_content_types=types)
        store, content = target_store(None), b"x" * 5_000
        for name, expected in (
            (PAGE, "application/gzip"), ("sitemap.xml", "application/xml"), ("sitemap-a-1.txt", types[-1]),
            ("sitemap.css", "text/css; charset=utf-8"), (f"{STATE}/manifest.json", "application/json"),
            (f"{STATE}/pages.jsonl", "application/json"),
        ):  # fmt: skip
            for how in ("written", "promoted", "promoted again"):
                if how == "written":
                    store.write(name, content)
                else:
                    stage(store, f"{STATE}/run-1/{name}", content)
                    store.promote(f"{STATE}/run-1/{name}", name)
                    assert head(made, f"{STATE}/run-1/{name}")[0] == expected
                assert head(made, name) == (expected, None, None), (name, how)
                assert (made.Object(name).content_length, store.read(name, MOST)) == (5_000, content)

    def test_keeps_what_the_project_declares_for_its_objects_even_for_large_ones(self, bucket):
        declared = {"CacheControl": "max-age=60", "Metadata": {"a": "b"}, "ContentEncoding": "br"}
        made = bucket(object_parameters=declared, default_acl="public-read")
        # The second content is larger than what boto3 sends in one request.
        store, gzipped = target_store(None), ("application/gzip", None, "max-age=60")
        store.write("sitemap.xml", b"x")
        for content in (b"x", os.urandom(1_000) * 9_000):
            stage(store, STAGED, content)
            store.promote(STAGED, PAGE)
            keys = ("sitemap.xml", PAGE, STAGED)
            found = [head(made, key) for key in keys]
            assert found == [("application/xml", None, "max-age=60"), gzipped, gzipped]
            assert [made.Object(key).metadata for key in keys] == [{"a": "b"}] * 3
            # Unpublished files are not public. The server for tests has no rules for large objects.
            if content == b"x":
                are_public = ["AllUsers" in str(made.Object(key).Acl().grants) for key in keys]
                assert are_public == [True, True, False]
        with store.open(PAGE) as file:
            assert b"".join(iter(lambda: file.read(1_000_000), b"")) == content

    def test_calls_a_subclass_of_the_project_for_each_object(self, bucket, declare, settings, monkeypatch):
        made = bucket()
        from storages.backends.s3 import S3Storage

        class PerObject(S3Storage):
            def get_object_parameters(self, name):
                return {"CacheControl": name}

        monkeypatch.setattr(sys.modules[__name__], "PerObject", PerObject, raising=False)
        declare(sitemaps={**settings.STORAGES["sitemaps"], "BACKEND": f"{__name__}.PerObject"})
        target_store(None).write("sitemap.xml", b"x")
        assert head(made, "sitemap.xml") == ("application/xml", None, "sitemap.xml")

    def test_leaves_the_storage_of_the_project_as_it_was(self, bucket):
        made = bucket(default_acl="public-read", gzip=True)
        declared = storages["sitemaps"]
        before = dict(vars(declared))
        target_store(None).write(PAGE, b"x")
        assert (storages["sitemaps"] is declared, vars(declared)) == (True, before)
        declared.save("media.xml.gz", ContentFile(b"x"))
        assert head(made, "media.xml.gz")[1] == "gzip"

    def test_that_does_not_overwrite_or_is_not_there_is_refused_by_name_and_not_changed(self, bucket):
        made = bucket(file_overwrite=False)
        with pytest.raises(ExportError, match="file_overwrite"):
            target_store(None).check()
        assert list(made.objects.all()) == []
        made.delete()
        with pytest.raises(ExportError, match=r"Access to .*storage 'sitemaps' failed: .*NoSuchBucket"):
            target_store(None).write(PAGE, b"x")

    def test_that_refuses_to_delete_an_object_is_an_error_with_its_name(self, bucket):
        bucket()
        store, refused = target_store(None), {"Errors": [{"Key": STAGED, "Message": "Access Denied"}]}
        stage(store, STAGED, b"x")
        events = store._storage.connection.meta.client.meta.events
        events.register("after-call.s3.DeleteObjects", lambda parsed, **_: parsed.update(refused))
        with pytest.raises(ExportError, match=f"{STAGED}: Access Denied"):
            store.delete_folder(STATE)

    def test_is_one_place_whatever_it_is_called_and_two_where_it_is_two(self, bucket, declare, settings):
        bucket(location="maps")
        given = settings.STORAGES["sitemaps"]
        declare(same=given, other={**given, "OPTIONS": {**given["OPTIONS"], "location": "other"}})
        first, same, other = (RemoteStore(alias).identity for alias in ("sitemaps", "same", "other"))
        assert (same == first, other == first, "secret" in same) == (True, False, False)


class Yes(BaseCache):
    """A cache whose client ignores errors."""

    def __init__(self, location, params):
        super().__init__(params)

    def add(self, *arguments, **options):
        return True

    def get(self, key, default=None, version=None):
        return default


@pytest.fixture
def redis(shared_cache, monkeypatch):
    monkeypatch.setattr(leases, "LEASE", 20)
    monkeypatch.setattr(leases, "RENEWAL", 0.05)
    yield
    cache._cache.get_client(write=True).close()


@pytest.fixture
def key(memory):
    return f"django_sitemaps09:lease:{sha256(memory.identity.encode()).hexdigest()}"


def remaining(key):
    return cache._cache.get_client().pttl(cache.make_key(key)) / 1_000


def lease_threads():
    return [thread.name for thread in threading.enumerate() if thread.name == "sitemap-lease"]


@pytest.mark.usefixtures("redis")
class TestALease:
    def test_is_held_by_one_at_a_time_for_each_place_and_freed_after_an_error(self, memory, key, declare):
        declare(sitemaps=storage(Overwriting), other=storage(Overwriting))
        for _ in range(2):
            with pytest.raises(RuntimeError, match="broken"), exclusive_lock(memory) as check:  # noqa: PT012
                check()
                with pytest.raises(ExportRunningError, match="Another export is writing to storage"):
                    exclusive_lock(memory).__enter__()
                with exclusive_lock(RemoteStore("other")) as other:
                    other()
                    check()
                raise RuntimeError("broken")
            assert cache.get(key) is None

    def test_is_taken_by_one_of_many_who_come_at_once(self, memory):
        barrier = threading.Barrier(8)

        def come(_):
            barrier.wait()
            try:
                with exclusive_lock(memory):
                    return barrier.wait() >= 0
            except ExportRunningError:
                return barrier.wait() < 0

        with ThreadPoolExecutor(8) as pool:
            assert sorted(pool.map(come, range(8))) == [False] * 7 + [True]

    def test_is_taken_if_it_is_released_at_the_same_moment(self, memory, monkeypatch):
        original, held = caches["default"].add, [True]
        # The other run has the lease when it is asked for, and no longer when its owner is looked up.
        add = lambda *args: not (held and held.pop()) and original(*args)  # noqa: E731
        monkeypatch.setattr(caches["default"], "add", add)
        with exclusive_lock(memory) as check:
            check()

    def test_is_renewed_while_the_block_lasts_even_after_an_outage_of_the_cache(self, memory, key, caplog):
        with exclusive_lock(memory) as check:
            assert 0 < remaining(key) <= 20
            for is_out in (False, False, True):
                if is_out:
                    with unavailable_cache():
                        until(lambda: "could not be renewed" in caplog.text, "the outage went unseen")
                cache.touch(key, 10)
                until(lambda: remaining(key) > 15, "it was not renewed")
            with pytest.raises(ExportRunningError):
                exclusive_lock(memory).__enter__()
            check()
        assert (lease_threads(), cache.get(key)) == ([], None)

    def test_is_free_again_some_time_after_a_kill(self, memory, key):
        def killed():
            with exclusive_lock(memory):
                die()

        assert was_killed(forked(killed))
        with pytest.raises(ExportRunningError):
            exclusive_lock(memory).__enter__()
        assert 0 < remaining(key) <= 20
        cache.touch(key, 1)
        until(lambda: cache.get(key) is None, "it never expired")
        with exclusive_lock(memory) as check:
            check()

    @pytest.mark.parametrize("other", [None, "of another"])
    def test_that_was_lost_is_reported_and_the_new_one_is_not_changed(self, memory, key, other):
        with exclusive_lock(memory) as check:
            if other is None:
                cache.delete(key)
            else:
                cache.set(key, other, 10)
            with pytest.raises(ExportError, match="was lost") as raised:
                check()
            assert not isinstance(raised.value, ExportRunningError)
            until(lambda: not lease_threads(), "it was renewed although it was lost")
        assert cache.get(key) == other
        assert other is None or 0 < remaining(key) <= 10

    def test_cannot_be_taken_or_checked_in_a_cache_that_fails(self, memory, caplog):
        failed = r"cache 'default', .* failed: ConnectionError"
        with unavailable_cache(), pytest.raises(ExportError, match=failed):
            exclusive_lock(memory).__enter__()
        held = exclusive_lock(memory)
        check = held.__enter__()
        with unavailable_cache():
            with pytest.raises(ExportError, match=failed):
                check()
            held.__exit__(None, None, None)
        assert "could not be released" in caplog.text


@pytest.mark.parametrize(("backend", "why"), [
    ("django.core.cache.backends.locmem.LocMemCache", "is not shared between processes or machines"),
    ("django.core.cache.backends.dummy.DummyCache", "stores nothing"),
    ("django.core.cache.backends.filebased.FileBasedCache",
     "is not shared between machines, and two exports could add the same key at once"),
    (f"{__name__}.Yes", ""),
])  # fmt: skip
@pytest.mark.sitemaps09
def test_a_cache_that_cannot_hold_a_lease_is_refused_with_what_to_set(memory, tmp_path, backend, why):
    given = {"BACKEND": backend, "LOCATION": str(tmp_path)}
    with override_settings(CACHES={"default": given}), pytest.raises(ExportError) as raised:
        export(sitemaps={"a": Numbers(1)})
    assert (isinstance(raised.value, ExportRunningError), saved("sitemaps")) == (False, {})
    says = (
        f"Exports to storage 'sitemaps' need a lease in the cache 'default', but {backend.split('.')[-1]} "
        f"{why}. Set CACHES['default'] to Redis, Memcached or the database."
    )
    lost = (
        "The lease for storage 'sitemaps' in the cache 'default' was lost: it was not renewed for 60 "
        "seconds, or the cache dropped it. Another export may be running."
    )
    assert str(raised.value) == (says if why else lost)
