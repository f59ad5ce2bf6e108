"""The lease: one export at a time on storages without locks."""

from __future__ import annotations

import socket
import threading
from hashlib import sha256

import pytest
from django.core.cache import cache, caches
from django.core.cache.backends.base import BaseCache
from django.test import override_settings

from django_sitemaps09.exceptions import ExportError, ExportRunningError
from django_sitemaps09.stores import RemoteStore, exclusive_lock, lock as leases
from tests.support.killing import die, forked, was_killed
from tests.support.stores import Overwriting, storage
from tests.support.waiting import until


class Yes(BaseCache):
    """A cache whose client ignores errors."""

    def __init__(self, location, params):
        super().__init__(params)

    def add(self, *arguments, **options):
        return True

    def get(self, key, default=None, version=None):
        return default

    def clear(self):
        pass


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
    """Return the seconds until the lease expires."""
    return cache._cache.get_client().pttl(cache.make_key(key)) / 1_000


def lease_threads():
    return [thread.name for thread in threading.enumerate() if thread.name == "sitemap-lease"]


def unavailable_cache():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
    backend = "django.core.cache.backends.redis.RedisCache"
    return override_settings(
        CACHES={"default": {"BACKEND": backend, "LOCATION": f"redis://127.0.0.1:{port}"}}
    )


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
        barrier, came, taken = threading.Barrier(8), threading.Barrier(8), []

        def come():
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
        assert not lease_threads()

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
    ("django.core.cache.backends.locmem.LocMemCache", "not shared between processes.*Redis, Memcached or"),
    ("django.core.cache.backends.dummy.DummyCache", "stores nothing.*Redis, Memcached or the database"),
    ("django.core.cache.backends.filebased.FileBasedCache", "not shared between machines.*Redis, Memc"),
    (f"{__name__}.Yes", "was lost"),
])  # fmt: skip
def test_a_cache_that_cannot_hold_a_lease_is_refused_with_what_to_set(memory, tmp_path, backend, why):
    given = {"BACKEND": backend, "LOCATION": str(tmp_path)}
    with override_settings(CACHES={"default": given}), pytest.raises(ExportError, match=why) as raised:
        exclusive_lock(memory).__enter__()
    assert not isinstance(raised.value, ExportRunningError)
