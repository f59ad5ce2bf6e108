"""Storages in memory, and readers of their files."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from django.core.files.storage import InMemoryStorage, storages

from django_sitemaps09.exceptions import ExportError
from django_sitemaps09.stores import STATE, LocalStore, RemoteStore, Store
from tests.support.services import REDIS

PAGE = "sitemap-a-1.xml.gz"
#: More bytes than any file in these tests has.
MOST = 1_000_000


class Overwriting(InMemoryStorage):
    """Storage that replaces existing files."""

    def get_available_name(self, name: str, max_length: int | None = None) -> str:
        return name

    def _save(self, name: str, content: Any) -> str:
        self.delete(name)
        return super()._save(name, content)


def storage(backend: type, **options: Any) -> dict[str, Any]:
    return {"BACKEND": f"{backend.__module__}.{backend.__name__}", "OPTIONS": options}


@pytest.fixture
def memory(declare: Callable[..., None]) -> RemoteStore:
    declare(sitemaps=storage(Overwriting))
    return RemoteStore("sitemaps")


@pytest.fixture(params=["local", "memory"])
def store(request: pytest.FixtureRequest, folder: Path) -> Any:
    return LocalStore(folder) if request.param == "local" else request.getfixturevalue("memory")


def below(folder: Path) -> dict[str, bytes]:
    """Return all files below a folder, at any depth."""
    return {
        str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()
    }


def saved(alias: str) -> dict[str, bytes]:
    """Return all files of a storage, at any depth."""

    def walk(folder: str) -> Iterator[str]:
        folders, files = storages[alias].listdir(folder)
        yield from (f"{folder}{name}" for name in files)
        for name in folders:
            yield from walk(f"{folder}{name}/")

    return {name: storages[alias].open(name).read() for name in walk("")}


def stage(store: Store, name: str, content: bytes) -> None:
    with store.staged(name) as file:
        file.write(content)


class AnyStore:
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

    def test_refuses_to_read_more_than_the_limit(self, store: Store) -> None:
        store.write("sitemap.xml", b"12345")
        assert store.read("sitemap.xml", 5) == b"12345"
        with pytest.raises(ExportError, match=r"sitemap\.xml.* is larger than 4 bytes"):
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
    def test_accepts_no_name_that_leads_outside(self, store: Store, name: str) -> None:
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
            lambda: store.is_blocked(name),
            lambda: store.names(name or "/"),
            lambda: store.folders(name or "/"),
        ]
        for call in calls:
            with pytest.raises(ValueError, match="not a valid file name"):
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


def in_redis(prefix: str) -> dict[str, Any]:
    """Use a separate cache in a shared Redis."""
    return {
        "default": {
            "BACKEND": "django.core.cache.backends.redis.RedisCache",
            "LOCATION": f"redis://{REDIS}",
            "KEY_PREFIX": prefix,
        }
    }
