"""The lease: one export at a time on storages without locks."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from hashlib import sha256
from pathlib import Path
from secrets import token_hex
from typing import Any

import pytest
from django.core.cache import cache, caches
from django.core.cache.backends.base import BaseCache
from django.test import override_settings

from django_sitemaps09.exceptions import ExportError, ExportRunningError
from django_sitemaps09.stores import RemoteStore, Store, exclusive_lock, lock as leases
from tests.support import services
from tests.support.killing import die, forked, was_killed
from tests.support.stores import Overwriting, in_redis, storage
from tests.support.waiting import until


@pytest.fixture
def redis(settings: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    services.require_redis()
    settings.CACHES = in_redis(f"sitemaps09-tests-{token_hex(8)}")
    monkeypatch.setattr(leases, "LEASE", 20)
    monkeypatch.setattr(leases, "RENEWAL", 0.05)
    yield
    cache._cache.get_client(write=True).close()


def lease_threads() -> list[str]:
    return [thread.name for thread in threading.enumerate() if thread.name == "sitemap-lease"]


def remaining(store: Store) -> float:
    """Return the seconds until the lease expires."""
    milliseconds: int = cache._cache.get_client().pttl(cache.make_key(key_of(store)))
    return milliseconds / 1_000


def key_of(store: Store) -> str:
    return f"django_sitemaps09:lease:{sha256(store.identity.encode()).hexdigest()}"


@pytest.mark.usefixtures("redis")
class TestALease:
    def test_is_held_by_one_at_a_time(self, memory: RemoteStore) -> None:
        for _ in range(2):
            with exclusive_lock(memory) as check:
                check()
                with pytest.raises(ExportRunningError, match="Another export is writing to storage"):
                    exclusive_lock(memory).__enter__()
                check()
            assert cache.get(key_of(memory)) is None

    def test_is_taken_by_one_of_many_who_come_at_once(self, memory: RemoteStore) -> None:
        barrier, came, taken = threading.Barrier(8), threading.Barrier(8), []

        def come() -> None:
            barrier.wait()
            try:
                with exclusive_lock(memory):
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

    def test_is_taken_if_it_is_released_at_the_same_moment(
        self, memory: RemoteStore, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        backend = caches["default"]
        original, held = backend.add, [True]
        # The other run has the lease when it is asked for, and no longer when its owner is looked up.
        monkeypatch.setattr(backend, "add", lambda *args: not (held and held.pop()) and original(*args))
        with exclusive_lock(memory) as check:
            check()

    def test_is_one_for_each_place(self, memory: RemoteStore, declare: Callable[..., None]) -> None:
        declare(sitemaps=storage(Overwriting), other=storage(Overwriting))
        with exclusive_lock(memory) as check, exclusive_lock(RemoteStore("other")) as other:
            check()
            other()

    def test_is_renewed_for_as_long_as_the_block_takes(self, memory: RemoteStore) -> None:
        with exclusive_lock(memory) as check:
            assert 0 < remaining(memory) <= 20
            for _ in range(3):
                cache.touch(key_of(memory), 10)
                until(lambda: remaining(memory) > 15, "it was not renewed")
            with pytest.raises(ExportRunningError):
                exclusive_lock(memory).__enter__()
            check()
        assert not lease_threads()

    def test_is_free_again_some_time_after_a_kill(self, memory: RemoteStore) -> None:
        def killed() -> None:
            with exclusive_lock(memory):
                die()

        assert was_killed(forked(killed))
        with pytest.raises(ExportRunningError):
            exclusive_lock(memory).__enter__()
        assert 0 < remaining(memory) <= 20
        cache.touch(key_of(memory), 1)
        until(lambda: cache.get(key_of(memory)) is None, "it never expired")
        with exclusive_lock(memory) as check:
            check()

    @pytest.mark.parametrize("how", ["expired", "taken by another"])
    def test_that_was_lost_is_reported_and_the_new_one_is_not_changed(
        self, memory: RemoteStore, how: str
    ) -> None:
        with exclusive_lock(memory) as check:
            if how == "expired":
                cache.delete(key_of(memory))
            else:
                cache.set(key_of(memory), "of another", 10)
            with pytest.raises(ExportError, match="was lost") as raised:
                check()
            assert not isinstance(raised.value, ExportRunningError)
            until(lambda: not lease_threads(), "it was renewed although it was lost")
        if how == "expired":
            assert cache.get(key_of(memory)) is None
        else:
            assert cache.get(key_of(memory)) == "of another"
            assert 0 < remaining(memory) <= 10

    def test_is_released_if_the_block_fails(self, memory: RemoteStore) -> None:
        def fail() -> None:
            with exclusive_lock(memory):
                raise RuntimeError("broken")

        with pytest.raises(RuntimeError, match="broken"):
            fail()
        assert cache.get(key_of(memory)) is None

    def test_survives_a_cache_that_fails_for_less_than_its_time(
        self, memory: RemoteStore, caplog: pytest.LogCaptureFixture
    ) -> None:
        with exclusive_lock(memory) as check:
            with override_settings(CACHES={"default": dead_redis()}):
                until(lambda: "could not be renewed" in caplog.text, "the outage went unseen")
            cache.touch(key_of(memory), 10)
            until(lambda: remaining(memory) > 15, "it was never renewed again")
            check()

    def test_cannot_be_checked_in_a_cache_that_fails(
        self, memory: RemoteStore, caplog: pytest.LogCaptureFixture
    ) -> None:
        dead = dead_redis()
        failed = r"cache 'default', .* failed: ConnectionError"
        with override_settings(CACHES={"default": dead}), pytest.raises(ExportError, match=failed):
            exclusive_lock(memory).__enter__()
        held = exclusive_lock(memory)
        check = held.__enter__()
        with override_settings(CACHES={"default": dead}):
            with pytest.raises(ExportError, match=failed):
                check()
            held.__exit__(None, None, None)
        assert "could not be released" in caplog.text


class TestACacheThatCannotHoldALease:
    @pytest.mark.parametrize(
        ("backend", "why"),
        [
            ("locmem.LocMemCache", "not shared between processes"),
            ("dummy.DummyCache", "stores nothing"),
            ("filebased.FileBasedCache", "not shared between machines"),
        ],
    )
    def test_is_refused_with_what_to_set(
        self, memory: RemoteStore, tmp_path: Path, backend: str, why: str
    ) -> None:
        given = {"BACKEND": f"django.core.cache.backends.{backend}", "LOCATION": str(tmp_path)}
        refused = f"{why}.*Redis, Memcached or the database"
        with override_settings(CACHES={"default": given}), pytest.raises(ExportError, match=refused):
            exclusive_lock(memory).__enter__()

    def test_is_detected_if_it_reports_success_but_stores_nothing(
        self, memory: RemoteStore, tmp_path: Path
    ) -> None:
        with override_settings(CACHES={"default": {"BACKEND": f"{__name__}.Yes"}}):
            with pytest.raises(ExportError, match="was lost") as raised:
                exclusive_lock(memory).__enter__()
            assert not isinstance(raised.value, ExportRunningError)


class Yes(BaseCache):
    """A cache whose client ignores errors."""

    def __init__(self, location: str, params: dict[str, Any]) -> None:
        super().__init__(params)

    def add(self, *arguments: Any, **options: Any) -> bool:
        return True

    def get(self, key: str, default: Any = None, version: int | None = None) -> Any:
        return default

    def clear(self) -> None:
        pass


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
