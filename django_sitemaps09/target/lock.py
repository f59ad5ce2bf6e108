"""The locks that allow one export and one submission at a time for each target.

A local folder has a lock file. Other targets have a lease in the shared cache, so machines need no shared
disk.
"""

from __future__ import annotations

import errno
import logging
import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from secrets import token_hex
from threading import Event, Thread
from typing import BinaryIO, Literal

from django.core.cache import DEFAULT_CACHE_ALIAS, cache, caches
from django.core.cache.backends.dummy import DummyCache
from django.core.cache.backends.filebased import FileBasedCache
from django.core.cache.backends.locmem import LocMemCache
from django.core.files import locks
from django.db import connections

from django_sitemaps09.exceptions import ExportError, ExportRunningError
from django_sitemaps09.protocol import reason_of
from django_sitemaps09.target.local import LocalStore, make_private
from django_sitemaps09.target.plain import STATE, ownership
from django_sitemaps09.target.store import Store

logger = logging.getLogger(__name__)

#: What a lock excludes: another export to the same target, or another submission of its changes.
Purpose = Literal["export", "submission"]
_FILES: dict[Purpose, str] = {"export": "lock", "submission": "submission.lock"}
_RUNNING: dict[Purpose, str] = {
    "export": "Another export is writing to {}; nothing was changed.",
    "submission": "Another process is submitting the changes of {}; this one has submitted nothing.",
}

_INSTEAD = "Choose another folder with --output, SITEMAPS09['ROOT'] or SITEMAPS09['STORAGE']"

#: Seconds until a lease expires. If a run is killed, another export can start after this time.
LEASE = 60
#: Seconds between two renewals. `LEASE` is several times longer, so a single renewal may fail.
RENEWAL = 15
# Maximum number of attempts. Another run can release the lease between a failed attempt and reading it.
_ATTEMPTS = 3
_KEY = "django_sitemaps09:lease:"

_UNSUITABLE = {
    LocMemCache: "is not shared between processes or machines",
    DummyCache: "stores nothing",
    FileBasedCache: "is not shared between machines, and two exports could add the same key at once",
}


def exclusive_lock(
    target: Store, purpose: Purpose = "export"
) -> AbstractContextManager[Callable[[], None]]:
    """Lock a target for this run. The context is a function that raises `ExportError` if the lock is lost.

    Raise `ExportRunningError` if another run has the lock. A local folder has a lock file. The operating
    system unlocks it even if the run is killed. Other targets have a lease in the shared cache.
    """
    if isinstance(target, LocalStore):
        target.check()
        return _lock_folder(target.folder, purpose)
    identity = target.identity if purpose == "export" else f"{purpose} {target.identity}"
    return _lease(identity, target.label, _RUNNING[purpose].format(target.label))


@contextmanager
def _lock_folder(folder: Path, purpose: Purpose) -> Iterator[Callable[[], None]]:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        make_private(folder / STATE)
    except OSError as error:
        raise ExportError(_unusable(folder, error)) from error
    path = folder / STATE / _FILES[purpose]
    with _lock_file(path) as handle:
        try:
            # It returns `False` if another process has the lock. On Windows, it raises an error.
            is_locked = locks.lock(handle, locks.LOCK_EX | locks.LOCK_NB)
        except OSError as error:
            raise ExportError(
                f"{path} cannot be locked ({error.strerror}). Its file system may not support locks. "
                f"{_INSTEAD}."
            ) from error
        if not is_locked:
            raise ExportRunningError(_RUNNING[purpose].format(folder))

        def check() -> None:
            with suppress(FileNotFoundError, NotADirectoryError):
                if os.path.samestat(os.fstat(handle.fileno()), path.lstat()):
                    return
            raise ExportError(f"The lock file {path} was removed or replaced during an export.")

        try:
            # If the file was removed before it was locked, the lock does not exclude other exports.
            check()
            yield check
        finally:
            # Closing the file unlocks it, too.
            with suppress(OSError):
                locks.unlock(handle)


def _unusable(folder: Path, error: OSError) -> str:
    """Return the error message for a folder to which an export cannot write."""
    # Not Path.is_file(): it raises an error if the permission to read a folder is missing.
    blocking = next((path for path in (folder, *folder.parents) if os.path.isfile(path)), None)  # noqa: PTH113
    if blocking is not None:
        return f"Cannot export to {folder}: {blocking} is a file, not a folder. {_INSTEAD}."
    path = Path(error.filename or folder)
    advice = ""
    if isinstance(error, PermissionError):
        # The parent of a missing folder can belong to the system.
        is_there = os.path.lexists(folder)
        advice = f" {ownership(path)}" if is_there else f" Or create {folder} for the user who exports."
    return f"Cannot export to {folder}: {path} cannot be created ({error.strerror}). {_INSTEAD}.{advice}"


def _lock_file(path: Path) -> BinaryIO:
    """Open or create the lock file. Do not wait, and do not change an existing file."""
    flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    try:
        descriptor = os.open(path, flags, 0o600)
    except OSError as error:
        is_no_file = error.errno in (errno.ELOOP, errno.EMLINK, errno.EISDIR, errno.ENXIO)
        advice = "Remove it." if is_no_file else f"{_INSTEAD}."
        if isinstance(error, PermissionError):
            advice = ownership(path)
        raise ExportError(f"{path} cannot be locked ({error.strerror}). {advice}") from error
    return os.fdopen(descriptor, "r+b", buffering=0)


@contextmanager
def _lease(identity: str, label: str, running: str) -> Iterator[Callable[[], None]]:
    """Take the lease for a target, and renew it until the block ends. Yield a function that checks it.

    Raise `ExportRunningError` with the message `running` if another run has the lease, and `ExportError`
    if the cache is unsuitable. The function raises `ExportError` if the lease is lost.
    """
    backend = caches[DEFAULT_CACHE_ALIAS]
    for unsuitable, reason in _UNSUITABLE.items():
        if isinstance(backend, unsuitable):
            raise ExportError(
                f"Exports to {label} need a lease in the cache {DEFAULT_CACHE_ALIAS!r}, but "
                f"{type(backend).__name__} {reason}. Set CACHES[{DEFAULT_CACHE_ALIAS!r}] to Redis, "
                "Memcached or the database."
            )
    held_lease = _Lease(f"{_KEY}{sha256(identity.encode()).hexdigest()}", token_hex(16), label)
    held_lease.take(running)
    try:
        with _renewed(held_lease):
            yield held_lease.check
    finally:
        held_lease.release()


@contextmanager
def _renewed(lease: _Lease) -> Iterator[None]:
    """Renew a lease in a thread, until the block ends or the lease is lost."""
    end_event = Event()

    def renew_until_end() -> None:
        is_held = True
        try:
            while is_held and not end_event.wait(RENEWAL):
                try:
                    is_held = lease.renew()
                except Exception:
                    # Another try may succeed.
                    logger.warning("The lease for %s could not be renewed", lease.label, exc_info=True)
        finally:
            # Storages and caches have separate connections in each thread.
            caches.close_all()
            connections.close_all()

    thread = Thread(target=renew_until_end, name="sitemap-lease", daemon=True)
    thread.start()
    try:
        yield
    finally:
        end_event.set()
        thread.join()


@dataclass(frozen=True)
class _Lease:
    key: str
    #: The cached value. It is unique, so a run cannot renew or release the lease of another run.
    token: str
    label: str

    def take(self, running: str) -> None:
        with self._errors():
            for _ in range(_ATTEMPTS):
                is_added = cache.add(self.key, self.token, LEASE)
                other_token = None if is_added else cache.get(self.key)
                if is_added or other_token is not None:
                    break
        if other_token is not None:
            raise ExportRunningError(running)
        # A cache backend that ignores errors may have stored nothing.
        self.check()

    def check(self) -> None:
        """Renew the lease. Raise `ExportError` if it is lost."""
        with self._errors():
            is_renewed = self.renew()
        if not is_renewed:
            raise ExportError(
                f"The lease for {self.label} in the cache {DEFAULT_CACHE_ALIAS!r} was lost: it was not "
                f"renewed for {LEASE} seconds, or the cache dropped it. Another export may be running."
            )

    def renew(self) -> bool:
        """Renew the lease. Return whether it is still valid: it may have expired since the last call."""
        return (
            cache.get(self.key) == self.token
            and bool(cache.touch(self.key, LEASE))
            and cache.get(self.key) == self.token
        )

    def release(self) -> None:
        try:
            # Renew the lease first. Otherwise, it could expire between the check and the deletion.
            if self.renew():
                cache.delete(self.key)
        except Exception:
            logger.warning("The lease for %s could not be released", self.label, exc_info=True)

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except Exception as error:
            raise ExportError(
                f"The cache {DEFAULT_CACHE_ALIAS!r}, which holds the lease for {self.label}, failed: "
                f"{reason_of(error)}"
            ) from error
