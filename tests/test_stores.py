"""Laws of the stores: files whole or not there, under their names, and one export at a time."""

from __future__ import annotations

import errno
import os
import pickle
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from hashlib import sha256
from pathlib import Path
from secrets import token_hex
from typing import Any

import django
import pytest
from django.core.cache import cache
from django.core.cache.backends.base import BaseCache
from django.core.files.base import ContentFile
from django.core.files.storage import InMemoryStorage, storages
from django.test import override_settings

from django_sitemaps09.exceptions import ExportError, ExportRunningError
from django_sitemaps09.stores import STATE, LocalStore, RemoteStore, Store, only_one, state, target
from django_sitemaps09.stores import lease as leases
from tests.support import services
from tests.support.waiting import until

ROOT = Path(__file__).parents[1]
PAGE = "sitemap-a-1.xml.gz"
#: More than any file here.
MOST = 1_000_000


class Overwriting(InMemoryStorage):
    """Replaces what has the name."""

    def get_available_name(self, name: str, max_length: int | None = None) -> str:
        return name

    def _save(self, name: str, content: Any) -> str:
        self.delete(name)
        return super()._save(name, content)


class Renaming(Overwriting):
    def get_available_name(self, name: str, max_length: int | None = None) -> str:
        return f"{name}.new"


class Forgetful(Overwriting):
    """Keeps the first content of a name, and says nothing."""

    def _save(self, name: str, content: Any) -> str:
        return name if self.exists(name) else super()._save(name, content)


class Broken(Overwriting):
    def _save(self, name: str, content: Any) -> str:
        raise RuntimeError("out of order")

    def exists(self, name: str) -> bool:
        raise RuntimeError("out of order")


def storage(backend: type, **options: Any) -> dict[str, Any]:
    return {"BACKEND": f"{backend.__module__}.{backend.__name__}", "OPTIONS": options}


def local_storage(folder: Path, **options: Any) -> dict[str, Any]:
    return {
        "BACKEND": "django.core.files.storage.FileSystemStorage",
        "OPTIONS": {"location": str(folder), **options},
    }


@pytest.fixture
def memory(declare: Callable[..., None]) -> RemoteStore:
    declare(sitemaps=storage(Overwriting))
    return RemoteStore("sitemaps")


@pytest.fixture(params=["local", "memory"])
def store(request: pytest.FixtureRequest, folder: Path) -> Any:
    return LocalStore(folder) if request.param == "local" else request.getfixturevalue("memory")


def below(folder: Path) -> dict[str, bytes]:
    """All files under a folder, at any depth."""
    return {
        str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()
    }


def saved(alias: str) -> dict[str, bytes]:
    """All files of a storage, at any depth."""

    def walk(folder: str) -> Iterator[str]:
        folders, files = storages[alias].listdir(folder)
        yield from (f"{folder}{name}" for name in files)
        for name in folders:
            yield from walk(f"{folder}{name}/")

    return {name: storages[alias].open(name).read() for name in walk("")}


def stage(store: Store, name: str, content: bytes) -> None:
    with store.staged(name) as file:
        file.write(content)


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.lstat().st_mode)


class TestAnyStore:
    def test_has_what_was_written_last(self, store: Store) -> None:
        assert store.read("sitemap.xml", MOST) is None
        assert store.open("sitemap.xml") is None
        for content in (b"a long first content", b"short", b""):
            store.write("sitemap.xml", content)
            assert store.read("sitemap.xml", MOST) == content
            file = store.open("sitemap.xml")
            assert file is not None
            with file:
                assert file.read() == content

    def test_makes_the_folders_of_a_name(self, store: Store) -> None:
        store.write(f"{STATE}/a/b/c.json", b"{}")
        assert store.read(f"{STATE}/a/b/c.json", MOST) == b"{}"
        assert (store.folders(), store.folders(f"{STATE}/a")) == ([STATE], ["b"])

    def test_refuses_to_read_more_than_it_was_told(self, store: Store) -> None:
        store.write("sitemap.xml", b"12345")
        assert store.read("sitemap.xml", 5) == b"12345"
        with pytest.raises(ExportError, match=r"sitemap\.xml.* is no .*file of at most 4 bytes"):
            store.read("sitemap.xml", 4)

    def test_promotes_what_is_staged_to_its_place(self, store: Store) -> None:
        store.write(PAGE, b"a long content from before")
        stage(store, f"{STATE}/run-1/{PAGE}", b"staged")
        assert store.read(PAGE, MOST) == b"a long content from before"
        assert store.read(f"{STATE}/run-1/{PAGE}", MOST) == b"staged"
        store.promote(f"{STATE}/run-1/{PAGE}", PAGE)
        store.sync()
        assert store.read(PAGE, MOST) == b"staged"

    def test_has_no_way_to_promote_what_is_not_there(self, store: Store) -> None:
        store.write(PAGE, b"before")
        with pytest.raises(FileNotFoundError):
            store.promote(f"{STATE}/run-1/{PAGE}", PAGE)
        assert store.read(PAGE, MOST) == b"before"

    def test_keeps_nothing_of_a_staged_file_whose_writer_failed(self, store: Store) -> None:
        def fail() -> None:
            with store.staged(f"{STATE}/run-1/{PAGE}") as file:
                file.write(b"half")
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            fail()
        assert store.names(f"{STATE}/run-1") == {}

    def test_takes_a_second_attempt_in_place_of_the_first(self, store: Store) -> None:
        for content in (b"a long first attempt", b"second"):
            stage(store, f"{STATE}/run-1/{PAGE}", content)
        assert store.read(f"{STATE}/run-1/{PAGE}", MOST) == b"second"

    def test_names_what_is_directly_in_a_folder(self, store: Store) -> None:
        for name in ("b.xml", "a.xml", "sub/c.xml", "sub/sub/d.xml"):
            store.write(name, b"123")
        size = 3 if isinstance(store, LocalStore) else None
        assert store.names() == {"a.xml": size, "b.xml": size}
        assert store.names("sub") == {"c.xml": size}
        assert set(store.folders()) - {STATE} == {"sub"}
        assert (store.names("nowhere"), store.folders("nowhere")) == ({}, [])

    def test_deletes_what_is_there_and_minds_not_what_is_not(self, store: Store) -> None:
        for name in (PAGE, "sitemap.xml", f"{STATE}/run-1/a/{PAGE}", f"{STATE}/run-1/{PAGE}"):
            store.write(name, b"x")
        for _ in range(2):
            store.delete(PAGE)
            store.delete("nowhere/at/all.xml")
            store.delete_folder(f"{STATE}/run-1")
        assert set(store.names()) == {"sitemap.xml"}
        assert store.folders(STATE) == []

    @pytest.mark.parametrize(
        "name", ["/etc/passwd", "../a", "a/../../b", "a//b", "", "a/", ".", "./a", "a\\b", "C:a", "a\0b"]
    )
    def test_takes_no_name_that_leads_elsewhere(self, store: Store, name: str) -> None:
        store.write(PAGE, b"x")
        calls: list[Callable[[], object]] = [
            lambda: store.read(name, 1),
            lambda: store.open(name),
            lambda: store.write(name, b""),
            lambda: store.staged(name).__enter__(),
            lambda: store.promote(PAGE, name),
            lambda: store.promote(name, PAGE),
            lambda: store.delete(name),
            lambda: store.delete_folder(name),
            lambda: store.blocked(name),
            lambda: store.names(name or "/"),
            lambda: store.folders(name or "/"),
        ]
        for call in calls:
            with pytest.raises(ValueError, match="no name of a file"):
                call()
        assert store.read(PAGE, MOST) == b"x"

    def test_keeps_its_promises_and_is_clean_after(self, store: Store) -> None:
        store.check()
        store.write(PAGE, b"x")
        store.clean()
        assert set(store.names()) == {PAGE}
        assert store.names(STATE) == {}

    def test_is_the_same_in_another_process(self, store: Store) -> None:
        store.write(PAGE, b"x")
        store.sync()
        other = pickle.loads(pickle.dumps(store))  # noqa: S301 our own
        assert other == store
        assert (other, other.label, other.identity) == (store, store.label, store.identity)
        assert other.read(PAGE, MOST) == b"x"


class TestAFolder:
    @pytest.mark.parametrize(("mask", "expected"), [(0o022, 0o644), (0o027, 0o640), (0o077, 0o600)])
    def test_has_files_with_the_mode_of_the_umask(
        self, folder: Path, umask: Callable[[int], int], mask: int, expected: int
    ) -> None:
        umask(mask)
        store = LocalStore(folder)
        store.write("sitemap.xml", b"x")
        stage(store, f"{STATE}/run-1/{PAGE}", b"x")
        store.promote(f"{STATE}/run-1/{PAGE}", PAGE)
        assert (mode_of(folder / "sitemap.xml"), mode_of(folder / PAGE)) == (expected, expected)

    def test_has_files_with_the_mode_that_it_was_given_whatever_the_umask(
        self, folder: Path, umask: Callable[[int], int]
    ) -> None:
        umask(0o077)
        store = LocalStore(folder, 0o4664)
        store.write("sitemap.xml", b"x")
        stage(store, f"{STATE}/run-1/{PAGE}", b"x")
        assert mode_of(folder / "sitemap.xml") == 0o664
        assert mode_of(folder / STATE / "run-1" / PAGE) == 0o664

    def test_lets_nobody_else_into_our_own(self, folder: Path, umask: Callable[[int], int]) -> None:
        umask(0)
        LocalStore(folder).write("sitemap.xml", b"x")
        assert mode_of(folder / STATE) == 0o700
        (folder / STATE).chmod(0o777)
        state(LocalStore(folder)).write("manifest.json", b"{}")
        assert mode_of(folder / STATE) == 0o700
        assert mode_of(folder / STATE / "manifest.json") == 0o600

    def test_is_littered_with_nothing(self, folder: Path) -> None:
        store = LocalStore(folder)
        store.write("sitemap.xml", b"x")
        state(store).write("manifest.json", b"{}")
        assert below(folder) == {"sitemap.xml": b"x", f"{STATE}/manifest.json": b"{}"}

    @pytest.mark.parametrize("what", ["fsync", "replace", "write"])
    def test_has_the_file_as_it_was_where_a_write_fails(
        self, folder: Path, monkeypatch: pytest.MonkeyPatch, what: str
    ) -> None:
        def full(*arguments: object) -> None:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

        store = LocalStore(folder)
        store.write("sitemap.xml", b"before")
        with monkeypatch.context() as patch:
            if what == "write":
                # A device that is full for real, behind the file's own buffer.
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

    def test_has_the_file_as_it_was_where_the_system_takes_no_more(self, folder: Path) -> None:
        LocalStore(folder).write("sitemap.xml", b"before")
        done = in_a_process("limited", folder)
        assert (done.returncode, done.stdout) == (0, "OSError"), done.stderr
        assert below(folder) == {"sitemap.xml": b"before"}

    def test_names_the_file_in_errors_of_the_system(
        self, folder: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """An open file has none in them: `[Errno 5] Input/output error` is all that is said."""

        def fail(descriptor: int) -> None:
            raise OSError(errno.EIO, os.strerror(errno.EIO))

        store = LocalStore(folder)
        stage(store, f"{STATE}/run-1/{PAGE}", b"x")
        with monkeypatch.context() as patch:
            patch.setattr(os, "fsync", fail)
            for work, named in (
                (lambda: store.write("sitemap.xml", b"x"), f"{folder}.*sitemap.xml"),
                (lambda: stage(store, f"{STATE}/run-1/b.xml", b"x"), f"{folder}.*b.xml"),
                # Of this folder and those above it any can be the first.
                (store.sync, folder.parent),
            ):
                with pytest.raises(OSError, match=rf"Input/output error.*{named}"):
                    work()

    @pytest.mark.skipif(not Path("/dev/full").exists(), reason="the system has no disk that is full")
    def test_names_the_file_where_its_closing_fails_as_well(
        self, folder: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A file with a buffer tries to write it again when it is closed, and fails again."""

        def full(path: Path, mode: int | None) -> Any:
            return Path("/dev/full").open("wb")

        monkeypatch.setattr("django_sitemaps09.stores.local.create", full)
        with pytest.raises(OSError, match=rf"No space left.*{PAGE}"):
            stage(LocalStore(folder), f"{STATE}/run-1/{PAGE}", b"x")

    @pytest.mark.skipif(not Path("/proc/self/mem").exists(), reason="the system has no file that fails so")
    def test_names_the_file_that_cannot_be_read(self) -> None:
        with pytest.raises(OSError, match=r"Input/output error.*/proc/self/mem"):
            LocalStore(Path("/proc/self")).read("mem", MOST)

    def test_has_the_file_as_it_was_where_a_write_is_killed_and_is_cleaned_by_the_next(
        self, folder: Path
    ) -> None:
        store = LocalStore(folder)
        store.write("sitemap.xml", b"before")
        done = in_a_process("killed", folder)
        assert done.returncode == -signal.SIGKILL, done.stderr
        left = below(folder)
        assert left.pop("sitemap.xml") == b"before"
        (name,) = left
        assert (Path(name).parent, left[name]) == (Path(STATE), b"after")
        store.write(f"{STATE}/run-1/x", b"of the caller")
        state(store).clean()
        assert below(folder) == {"sitemap.xml": b"before", f"{STATE}/run-1/x": b"of the caller"}

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
        # Each folder with a new name in it, up to the first that was there.
        assert set(synced[1:]) == {folder / "a", folder, folder.parent}
        synced.clear()
        stage(store, f"{STATE}/run-1/{PAGE}", b"x")
        store.promote(f"{STATE}/run-1/{PAGE}", PAGE)
        # The content alone, and no name.
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
            with pytest.raises(ExportError, match=f"{path} is no plain file"):
                call()
        assert store.names() == {}

    @pytest.mark.parametrize("kind", ["link", "dangling", "pipe"])
    def test_replaces_what_is_at_a_name_and_not_what_it_leads_to(
        self, folder: Path, tmp_path: Path, kind: str
    ) -> None:
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
            with pytest.raises(ExportError, match=f"{folder / 'sub'} is a link"):
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
        for store in (LocalStore(folder), state(LocalStore(folder))):
            with pytest.raises(ExportError, match=f"{folder / STATE} is (a link|no folder|not a folder)"):
                store.write("a", b"x")
            if kind == "link":
                with pytest.raises(ExportError, match="is a link"):
                    store.clean()
        assert below(tmp_path) == {"mine/tmp-1": b"mine"} | (
            {} if kind == "link" else {f"public/{STATE}": b"mine"}
        )

    def test_says_what_folder_is_in_the_place_of_a_file(self, folder: Path) -> None:
        store = LocalStore(folder)
        (folder / PAGE / "x").mkdir(parents=True)
        stage(store, f"{STATE}/run-1/{PAGE}", b"x")
        assert (store.blocked(PAGE), store.blocked("sitemap.xml")) == (True, False)
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
        with pytest.raises(ExportError, match=f"{folder / 'a'} is no folder"):
            store.write("a/b", b"x")
        assert store.read("a", MOST) == b"mine"

    def test_is_read_whole_at_every_moment_of_a_replacement(self, folder: Path) -> None:
        store = LocalStore(folder)
        contents = {b"a" * 300_000, b"b" * 200_000}
        store.write("sitemap.xml", b"a" * 300_000)
        ended = threading.Event()
        seen: set[bytes | None] = set()

        def look() -> None:
            while not ended.is_set():
                seen.add(LocalStore(folder).read("sitemap.xml", MOST))

        thread = threading.Thread(target=look)
        thread.start()
        for _ in range(20):
            for content in contents:
                store.write("sitemap.xml", content)
        ended.set()
        thread.join()
        assert seen <= contents


def place(path: Path, there: Path, kind: str) -> None:
    """Something that is no plain file."""
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    else:
        path.symlink_to(there if kind == "link" else there.with_name("nowhere"))


class TestTheTarget:
    def test_is_the_argument_then_the_storage_then_the_root(
        self, tmp_path: Path, settings: Any, declare: Callable[..., None]
    ) -> None:
        settings.SITEMAPS09 = {"ROOT": tmp_path / "root"}
        assert target(None) == LocalStore(tmp_path / "root")
        declare(sitemaps=local_storage(tmp_path / "storage", file_permissions_mode=0o640))
        assert target(None) == LocalStore(tmp_path / "storage", 0o640)
        assert target(tmp_path / "output") == LocalStore(tmp_path / "output")
        settings.SITEMAPS09 = {"STORAGE": "other"}
        declare(other=storage(InMemoryStorage))
        assert target(None) == RemoteStore("other")
        assert list(tmp_path.iterdir()) == []

    def test_that_is_nowhere_is_told_with_every_way_out(self, settings: Any) -> None:
        settings.SITEMAPS09 = {}
        with pytest.raises(ExportError, match=r"--output DIR.*'ROOT'.*'STORAGE'"):
            target(None)
        for key in ("STORAGE", "STATE"):
            settings.SITEMAPS09 = {key: "nowhere"}
            with pytest.raises(ExportError, match=rf"SITEMAPS09\['{key}'\] is 'nowhere'"):
                target(None) if key == "STORAGE" else state(LocalStore(Path("x")))

    def test_has_a_label_for_messages(self, memory: RemoteStore, folder: Path) -> None:
        assert (memory.label, LocalStore(folder).label) == ("storage 'sitemaps'", str(folder))
        assert state(memory).label == f"{STATE} in storage 'sitemaps'"

    def test_keeps_its_state_in_our_folder_of_it(self, store: Store) -> None:
        state(store).write("manifest.json", b"{}")
        assert store.read(f"{STATE}/manifest.json", MOST) == b"{}"
        assert state(store).identity != store.identity

    def test_keeps_its_state_where_the_setting_says(
        self, tmp_path: Path, settings: Any, declare: Callable[..., None], store: Store
    ) -> None:
        declare(state=local_storage(tmp_path / "state"))
        settings.SITEMAPS09 = {"STATE": "state"}
        state(store).write("manifest.json", b"{}")
        assert below(tmp_path / "state") == {"manifest.json": b"{}"}

    def test_never_has_its_state_beside_what_is_published(
        self, settings: Any, declare: Callable[..., None], folder: Path
    ) -> None:
        settings.SITEMAPS09 = {"STATE": "sitemaps"}
        declare(sitemaps=local_storage(folder))
        state(target(None)).write("manifest.json", b"{}")
        assert below(folder) == {f"{STATE}/manifest.json": b"{}"}
        declare(sitemaps=storage(Overwriting))
        assert state(target(None)) == RemoteStore("sitemaps", STATE)


class TestAStorageWithoutPaths:
    @pytest.mark.parametrize(
        ("backend", "why"),
        [
            (InMemoryStorage, "saved .*probe-.* as .*probe-"),
            (Renaming, "saved .*probe-.* as .*probe-"),
            (Forgetful, "gives back what it did not get last"),
            (Broken, "failed at .*probe-.*: RuntimeError: out of order"),
        ],
        ids=lambda value: getattr(value, "__name__", ""),
    )
    def test_that_does_not_replace_is_refused_and_left_as_it_was(
        self, declare: Callable[..., None], backend: type, why: str
    ) -> None:
        declare(sitemaps=storage(backend))
        InMemoryStorage._save(storages["sitemaps"], "mine", ContentFile(b"mine"))  # type: ignore[arg-type]
        with pytest.raises(ExportError, match=why) as raised:
            RemoteStore("sitemaps").check()
        assert "'sitemaps'" in str(raised.value)
        if backend is not Broken:
            for word in ("file_overwrite", "allow_overwrite", "'ROOT'"):
                assert word in str(raised.value)
        assert saved("sitemaps") == {"mine": b"mine"}

    def test_that_renames_later_is_refused_then_and_has_nothing_new(
        self, declare: Callable[..., None]
    ) -> None:
        declare(sitemaps=storage(InMemoryStorage))
        store = RemoteStore("sitemaps")
        store.write(PAGE, b"before")
        with pytest.raises(ExportError, match=f"saved '{PAGE}' as"):
            store.write(PAGE, b"after")
        stage(store, "staged", b"after")
        with pytest.raises(ExportError, match=f"saved '{PAGE}' as"):
            store.promote("staged", PAGE)
        assert saved("sitemaps") == {PAGE: b"before", "staged": b"after"}

    def test_that_fails_is_named_with_the_file_and_its_error(self, declare: Callable[..., None]) -> None:
        declare(sitemaps=storage(Broken))
        store = RemoteStore("sitemaps")
        for call in (lambda: store.write(PAGE, b"x"), lambda: store.read(PAGE, 1)):
            with pytest.raises(ExportError, match=f"storage 'sitemaps' failed at '{PAGE}': RuntimeError"):
                call()

    def test_leaves_nothing_on_this_machine(
        self, memory: RemoteStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
        stage(memory, PAGE, b"x")
        assert list(tmp_path.iterdir()) == []
        with memory.staged(PAGE) as file:
            file.write(b"y")
            file.flush()
            # Not even while it is written, so that a kill leaves nothing.
            assert list(tmp_path.iterdir()) == []
        assert saved("sitemaps") == {PAGE: b"y"}

    def test_is_cleaned_of_the_probes_of_killed_runs(self, memory: RemoteStore) -> None:
        for name in (f"{STATE}/probe-1.txt", f"{STATE}/manifest.json", "probe-2.txt"):
            memory.write(name, b"x")
        state(memory).clean()
        assert set(saved("sitemaps")) == {f"{STATE}/manifest.json", "probe-2.txt"}


class TestALockedFolder:
    def test_is_for_one_at_a_time(self, folder: Path) -> None:
        for _ in range(2):
            with only_one(LocalStore(folder)) as check:
                check()
                with pytest.raises(ExportRunningError, match=f"Another export is writing to {folder}"):
                    only_one(LocalStore(folder)).__enter__()
                check()
        assert mode_of(folder / STATE) == 0o700

    def test_is_free_again_after_a_kill(self, folder: Path) -> None:
        done = in_a_process("killed_with_the_lock", folder)
        assert done.returncode == -signal.SIGKILL, done.stderr
        with only_one(LocalStore(folder)) as check:
            check()

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

        with only_one(LocalStore(folder)) as check:
            check()
            lose()
            with pytest.raises(ExportError, match=f"{folder / STATE / 'lock'} was removed or replaced"):
                check()

    @pytest.mark.parametrize("kind", ["link", "file", "a stranger's", "a lock that is a link"])
    def test_is_not_locked_where_its_lock_could_be_anywhere(
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
        with pytest.raises(ExportError, match="Remove it"), only_one(LocalStore(folder)):
            pass
        assert list((tmp_path / "mine").iterdir()) == []
        assert mode_of(tmp_path / "mine") == 0o755


@pytest.fixture
def redis(settings: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    services.require_redis()
    settings.CACHES = in_redis(f"sitemaps09-tests-{token_hex(8)}")
    monkeypatch.setattr(leases, "LEASE", 2)
    monkeypatch.setattr(leases, "RENEWAL", 0.2)
    yield
    cache._cache.get_client(write=True).close()


def in_redis(prefix: str) -> dict[str, Any]:
    """A cache of its own in a Redis that others use."""
    return {
        "default": {
            "BACKEND": "django.core.cache.backends.redis.RedisCache",
            "LOCATION": f"redis://{services.REDIS}",
            "KEY_PREFIX": prefix,
        }
    }


def key_of(store: Store) -> str:
    return f"django_sitemaps09:lease:{sha256(store.identity.encode()).hexdigest()}"


@pytest.mark.usefixtures("redis")
class TestALease:
    def test_is_held_by_one_at_a_time(self, memory: RemoteStore) -> None:
        for _ in range(2):
            with only_one(memory) as check:
                check()
                with pytest.raises(ExportRunningError, match="Another export is writing to storage"):
                    only_one(memory).__enter__()
                check()
            assert cache.get(key_of(memory)) is None

    def test_is_taken_by_one_of_many_who_come_at_once(self, memory: RemoteStore) -> None:
        barrier, came, taken = threading.Barrier(8), threading.Barrier(8), []

        def come() -> None:
            barrier.wait()
            try:
                with only_one(memory):
                    taken.append(True)
                    came.wait()
            except ExportRunningError:
                taken.append(False)
                came.wait()

        threads = [threading.Thread(target=come) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(taken) == [False] * 7 + [True]

    def test_is_one_for_each_place(self, memory: RemoteStore, declare: Callable[..., None]) -> None:
        declare(sitemaps=storage(Overwriting), other=storage(Overwriting))
        with only_one(memory) as check, only_one(RemoteStore("other")) as other:
            check()
            other()

    def test_is_renewed_for_as_long_as_the_block_takes(self, memory: RemoteStore) -> None:
        with only_one(memory) as check:
            time.sleep(3)
            with pytest.raises(ExportRunningError):
                only_one(memory).__enter__()
            check()
        assert not [thread for thread in threading.enumerate() if thread.name == "sitemap-lease"]

    def test_is_free_again_some_time_after_a_kill(self, memory: RemoteStore) -> None:
        done = in_a_process("killed_with_the_lease", Path(cache.key_prefix))
        assert done.returncode == -signal.SIGKILL, done.stderr
        with pytest.raises(ExportRunningError):
            only_one(memory).__enter__()
        time.sleep(2.2)
        with only_one(memory) as check:
            check()

    @pytest.mark.parametrize("how", ["expired", "taken by another"])
    def test_that_was_lost_is_told_and_the_new_one_is_left_alone(
        self, memory: RemoteStore, how: str
    ) -> None:
        with only_one(memory) as check:
            if how == "expired":
                cache.delete(key_of(memory))
            else:
                cache.set(key_of(memory), "of another", 20)
            with pytest.raises(ExportError, match="is lost") as raised:
                check()
            assert not isinstance(raised.value, ExportRunningError)
            # Longer than some renewals, shorter than the lease of the other.
            time.sleep(1)
        remaining = cache._cache.get_client().pttl(cache.make_key(key_of(memory)))
        if how == "expired":
            assert cache.get(key_of(memory)) is None
        else:
            assert cache.get(key_of(memory)) == "of another"
            assert 0 < remaining <= 19_000

    def test_is_given_back_where_the_block_fails(self, memory: RemoteStore) -> None:
        def fail() -> None:
            with only_one(memory):
                raise RuntimeError("broken")

        with pytest.raises(RuntimeError, match="broken"):
            fail()
        assert cache.get(key_of(memory)) is None

    def test_survives_a_cache_that_fails_for_less_than_its_time(
        self, memory: RemoteStore, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(leases, "LEASE", 20)
        dead = dead_redis()
        with only_one(memory) as check:
            with override_settings(CACHES={"default": dead}):
                until(lambda: "was not renewed" in caplog.text, "the outage went unseen")
            remaining = partial(cache._cache.get_client().pttl, cache.make_key(key_of(memory)))
            cache.touch(key_of(memory), 10)
            until(lambda: remaining() > 15_000, "it was never renewed again")
            check()

    def test_cannot_be_checked_in_a_cache_that_fails(
        self, memory: RemoteStore, caplog: pytest.LogCaptureFixture
    ) -> None:
        dead = dead_redis()
        failed = r"cache 'default', .* failed: ConnectionError"
        with override_settings(CACHES={"default": dead}), pytest.raises(ExportError, match=failed):
            only_one(memory).__enter__()
        held = only_one(memory)
        check = held.__enter__()
        with override_settings(CACHES={"default": dead}):
            with pytest.raises(ExportError, match=failed):
                check()
            held.__exit__(None, None, None)
        assert "was not given back" in caplog.text


class TestACacheThatCannotHoldALease:
    @pytest.mark.parametrize(
        ("backend", "why"),
        [
            ("locmem.LocMemCache", "not shared between processes"),
            ("dummy.DummyCache", "keeps nothing"),
            ("filebased.FileBasedCache", "not shared between machines"),
        ],
    )
    def test_is_refused_with_what_to_set(
        self, memory: RemoteStore, tmp_path: Path, backend: str, why: str
    ) -> None:
        given = {"BACKEND": f"django.core.cache.backends.{backend}", "LOCATION": str(tmp_path)}
        refused = f"{why}.*Redis, Memcached or the database"
        with override_settings(CACHES={"default": given}), pytest.raises(ExportError, match=refused):
            only_one(memory).__enter__()

    def test_is_found_out_where_it_says_yes_and_keeps_nothing(
        self, memory: RemoteStore, tmp_path: Path
    ) -> None:
        with override_settings(CACHES={"default": {"BACKEND": f"{__name__}.Yes"}}):
            with pytest.raises(ExportError, match="is lost") as raised:
                only_one(memory).__enter__()
            assert not isinstance(raised.value, ExportRunningError)


class Yes(BaseCache):
    """As a client that swallows its errors."""

    def __init__(self, location: str, params: dict[str, Any]) -> None:
        super().__init__(params)

    def add(self, *arguments: Any, **options: Any) -> bool:
        return True

    def get(self, key: str, default: Any = None, version: int | None = None) -> Any:
        return default

    def clear(self) -> None:
        pass


def head(bucket: Any, key: str) -> dict[str, Any]:
    found: dict[str, Any] = bucket.meta.client.head_object(Bucket=bucket.name, Key=key)
    return found


def public(bucket: Any, key: str) -> bool:
    grants = bucket.Object(key).Acl().grants
    return any(grant["Grantee"].get("URI", "").endswith("/AllUsers") for grant in grants)


class TestAnS3:
    @pytest.mark.parametrize("location", ["", "maps/2026"])
    def test_does_what_a_store_does(self, bucket: Callable[..., Any], location: str) -> None:
        made = bucket(location=location)
        made.put_object(Key="maps/2026-beside", Body=b"of somebody")
        store = target(None)
        tests = TestAnyStore()
        tests.test_has_what_was_written_last(store)
        tests.test_refuses_to_read_more_than_it_was_told(store)
        tests.test_promotes_what_is_staged_to_its_place(store)
        store.delete_folder(f"{STATE}/run-1")
        tests.test_keeps_nothing_of_a_staged_file_whose_writer_failed(store)
        tests.test_takes_a_second_attempt_in_place_of_the_first(store)
        for number in range(3):
            store.write(f"{STATE}/run-1/{number}.json", b"{}")
        store.write(f"{STATE}/run-10/0.json", b"{}")
        folders = [STATE] if location else [STATE, "maps"]
        assert (store.folders(), store.folders(STATE)) == (folders, ["run-1", "run-10"])
        assert set(store.names(f"{STATE}/run-1")) == {"0.json", "1.json", "2.json", PAGE}
        store.delete_folder(f"{STATE}/run-1")
        store.delete_folder(f"{STATE}/run-1")
        assert store.folders(STATE) == ["run-10"]
        store.delete("sitemap.xml")
        store.delete("sitemap.xml")
        assert set(store.names()) == {PAGE}
        with pytest.raises(FileNotFoundError):
            store.promote(f"{STATE}/run-1/{PAGE}", PAGE)
        store.check()
        prefix = f"{location}/" if location else ""
        assert {found.key for found in made.objects.all()} == {
            "maps/2026-beside",
            f"{prefix}{PAGE}",
            f"{prefix}{STATE}/run-10/0.json",
        }

    @pytest.mark.parametrize("compressing", [False, True])
    @pytest.mark.parametrize(
        ("name", "expected"),
        [
            ("sitemap-a-1.xml.gz", "application/gzip"),
            ("sitemap.xml", "application/xml"),
            ("sitemap-a-1.txt", "text/plain; charset=utf-8"),
            (f"{STATE}/manifest.json", "application/json"),
            (f"{STATE}/pages.jsonl", "application/json"),
        ],
    )
    def test_has_files_of_their_types_as_they_are(
        self, bucket: Callable[..., Any], name: str, expected: str, compressing: bool
    ) -> None:
        types = ("application/gzip", "application/xml", "application/json", "text/plain; charset=utf-8")
        made = bucket(gzip=compressing, gzip_content_types=types)
        store, content = target(None), b"x" * 5_000
        for how in ("written", "promoted", "promoted again"):
            if how == "written":
                store.write(name, content)
            else:
                stage(store, f"{STATE}/run-1/{name}", content)
                store.promote(f"{STATE}/run-1/{name}", name)
                assert head(made, f"{STATE}/run-1/{name}")["ContentType"] == expected
            found = head(made, name)
            assert found["ContentType"] == expected, how
            assert "ContentEncoding" not in found
            assert found["ContentLength"] == 5_000
            assert store.read(name, MOST) == content

    def test_keeps_what_the_project_declares_for_its_objects(self, bucket: Callable[..., Any]) -> None:
        declared = {"CacheControl": "max-age=60", "Metadata": {"a": "b"}, "ContentEncoding": "br"}
        made = bucket(object_parameters=declared, default_acl="public-read")
        store = target(None)
        store.write("sitemap.xml", b"x")
        stage(store, f"{STATE}/run-1/{PAGE}", b"x")
        store.promote(f"{STATE}/run-1/{PAGE}", PAGE)
        for key in ("sitemap.xml", PAGE, f"{STATE}/run-1/{PAGE}"):
            found = head(made, key)
            assert (found["CacheControl"], found["Metadata"]) == ("max-age=60", {"a": "b"})
            assert "ContentEncoding" not in found
        assert public(made, "sitemap.xml")
        assert public(made, PAGE)
        # What is not published is not public.
        assert not public(made, f"{STATE}/run-1/{PAGE}")

    def test_has_large_files_as_it_has_small_ones(self, bucket: Callable[..., Any]) -> None:
        made = bucket(object_parameters={"CacheControl": "max-age=60"})
        store, content = target(None), os.urandom(1_000) * 20_000
        stage(store, f"{STATE}/run-1/{PAGE}", content)
        store.promote(f"{STATE}/run-1/{PAGE}", PAGE)
        found = head(made, PAGE)
        assert (found["ContentType"], found["CacheControl"]) == ("application/gzip", "max-age=60")
        assert "ContentEncoding" not in found
        file = store.open(PAGE)
        assert file is not None
        with file:
            assert b"".join(iter(lambda: file.read(1_000_000), b"")) == content

    def test_asks_a_subclass_of_the_project_for_each_object(
        self,
        bucket: Callable[..., Any],
        declare: Callable[..., None],
        settings: Any,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        made = bucket()
        from storages.backends.s3 import S3Storage

        class PerObject(S3Storage):  # type: ignore[misc]
            def get_object_parameters(self, name: str) -> dict[str, str]:
                return {"CacheControl": name}

        monkeypatch.setattr(sys.modules[__name__], "PerObject", PerObject, raising=False)
        declare(sitemaps={**settings.STORAGES["sitemaps"], "BACKEND": f"{__name__}.PerObject"})
        target(None).write("sitemap.xml", b"x")
        assert head(made, "sitemap.xml")["CacheControl"] == "sitemap.xml"
        assert head(made, "sitemap.xml")["ContentType"] == "application/xml"

    def test_leaves_the_storage_of_the_project_as_it_was(self, bucket: Callable[..., Any]) -> None:
        made = bucket(default_acl="public-read", gzip=True)
        declared = storages["sitemaps"]
        before = dict(vars(declared))
        target(None).write(PAGE, b"x")
        assert storages["sitemaps"] is declared
        assert vars(declared) == before
        declared.save("media.xml.gz", ContentFile(b"x"))
        assert head(made, "media.xml.gz")["ContentEncoding"] == "gzip"

    def test_that_does_not_overwrite_is_refused_and_left_as_it_was(
        self, bucket: Callable[..., Any]
    ) -> None:
        made = bucket(file_overwrite=False)
        with pytest.raises(ExportError, match="file_overwrite"):
            target(None).check()
        assert list(made.objects.all()) == []

    def test_is_one_place_whatever_it_is_called_and_two_where_it_is_two(
        self, bucket: Callable[..., Any], declare: Callable[..., None], settings: Any
    ) -> None:
        bucket(location="maps")
        given = settings.STORAGES["sitemaps"]
        changed = {**given, "OPTIONS": {**given["OPTIONS"], "location": "other"}}
        declare(same=given, other=changed)
        assert RemoteStore("same").identity == RemoteStore("sitemaps").identity
        assert RemoteStore("other").identity != RemoteStore("sitemaps").identity
        assert "secret" not in RemoteStore("same").identity

    def test_that_is_not_there_is_an_error_that_names_it(self, bucket: Callable[..., Any]) -> None:
        made = bucket()
        made.delete()
        with pytest.raises(ExportError, match=r"storage 'sitemaps' failed at .*NoSuchBucket"):
            target(None).write(PAGE, b"x")

    def test_is_the_same_in_another_process(self, bucket: Callable[..., Any]) -> None:
        made = bucket()
        store = target(None)
        store.write("sitemap.xml", b"x")
        pickle.loads(pickle.dumps(store)).write(PAGE, b"x")  # noqa: S301 our own
        assert head(made, PAGE)["ContentType"] == "application/gzip"


def test_neither_boto3_nor_storages_is_imported_with_the_room() -> None:
    code = (
        "import sys, django_sitemaps09.stores as s; "
        "print([m for m in ('boto3', 'botocore', 'storages', 'redis') if m in sys.modules])"
    )
    done = subprocess.run(  # noqa: S603 our own interpreter and code
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout == "[]\n"


def dead_redis() -> dict[str, Any]:
    return {
        "BACKEND": "django.core.cache.backends.redis.RedisCache",
        "LOCATION": f"redis://127.0.0.1:{free_port()}",
    }


def free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port: int = taken.getsockname()[1]
    return port


# What runs in a process of its own: `python -m tests.test_stores killed FOLDER`.


def in_a_process(function: str, folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(  # noqa: S603 our own interpreter and arguments
        [sys.executable, "-m", "tests.test_stores", function, str(folder)],
        env=os.environ | {"DJANGO_SETTINGS_MODULE": "tests.settings"},
        cwd=ROOT,
        capture_output=True,
        encoding="utf-8",
        timeout=60,
        check=False,
    )


def die(*arguments: object) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def killed(folder: Path) -> None:
    """A write that ends as by a power cut, before its file is moved in."""
    Path.replace = die  # type: ignore[method-assign,assignment]
    LocalStore(folder).write("sitemap.xml", b"after")


def limited(folder: Path) -> None:
    """A write under a system that lets no file grow over 4 kB."""
    import resource

    resource.setrlimit(resource.RLIMIT_FSIZE, (4_096, 4_096))
    try:
        LocalStore(folder).write("sitemap.xml", b"x" * 10_000)
    except OSError as error:
        sys.stdout.write(type(error).__name__)


def killed_with_the_lock(folder: Path) -> None:
    with only_one(LocalStore(folder)):
        die()


def killed_with_the_lease(prefix: Path) -> None:
    leases.LEASE = 2
    declared = {"sitemaps": storage(Overwriting)}
    caches = in_redis(str(prefix))
    with override_settings(STORAGES=declared, CACHES=caches), only_one(RemoteStore("sitemaps")):
        die()


if __name__ == "__main__":
    django.setup()
    functions = [killed, limited, killed_with_the_lock, killed_with_the_lease]
    {function.__name__: function for function in functions}[sys.argv[1]](Path(sys.argv[2]))
