"""The stores that an export uses, by its arguments and the settings, and their locks.

One export and one submission at a time have the lock of a target: a lock file in a local folder, else a
lease in the shared cache, so machines need no shared disk.
"""

from __future__ import annotations

import errno
import logging
import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from secrets import token_hex
from threading import Event, Thread
from typing import BinaryIO, Literal, TypeAlias

from django.core.cache import DEFAULT_CACHE_ALIAS, cache, caches
from django.core.cache.backends.dummy import DummyCache
from django.core.cache.backends.filebased import FileBasedCache
from django.core.cache.backends.locmem import LocMemCache
from django.core.exceptions import ImproperlyConfigured
from django.core.files import locks
from django.core.files.storage import InMemoryStorage, storages
from django.db import connections

from django_sitemaps09.conf import conf
from django_sitemaps09.exceptions import ExportError, ExportRunningError
from django_sitemaps09.protocol.fields import reason_of
from django_sitemaps09.target.local import STATE, LocalStore, make_private, ownership
from django_sitemaps09.target.remote import RemoteStore

logger = logging.getLogger(__name__)

# Packages of the extra `s3` that a storage imports.
_S3_PACKAGES = {"storages", "boto3", "botocore", "s3transfer"}
_S3_ADVICE = ". For S3, install the extra `s3`: pip install 'django-sitemaps09[s3]'."

#: What a lock excludes: another export to the same target, or another submission of its changes.
Purpose = Literal["export", "submission"]
# The lock file for each purpose, and the error if it is locked.
_PURPOSES: dict[Purpose, tuple[str, str]] = {
    "export": ("lock", "Another export is writing to {}; nothing was changed."),
    "submission": (
        "submission.lock",
        "Another process is submitting the changes of {}; this one has submitted nothing.",
    ),
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


#: A place for named files. `LocalStore` documents the methods of both.
Store: TypeAlias = LocalStore | RemoteStore


def target_store(output: Path | None, folder: str = "") -> Store:
    """Return the store for published files: `output`, or else the setting `STORAGE`, or else `ROOT`.

    `folder` is the subfolder of a host. Raise `ExportError` if there is no target.
    """
    if output is None and conf.storage is not None:
        return _from_storage(conf.storage, "STORAGE", folder)
    if local_folder := output or conf.root:
        return _local_store(local_folder, folder)
    raise ExportError(
        "There is no target to export to. Pass --output DIR, set SITEMAPS09['ROOT'] to a directory, or "
        "set SITEMAPS09['STORAGE'] to an alias in STORAGES."
    )


def state_store(target: Store, folder: str = "") -> Store:
    """Return the store for the manifest and the journal: `STATE`, or else a folder in the target."""
    if conf.state is not None:
        store = _from_storage(conf.state, "STATE", folder)
        # If this storage is also the target, private files need a separate folder.
        if store.identity != target.identity:
            return store
    return _private_store(target)


def owner(target: Store, state: Store) -> str:
    """Return the identity of the target that a state belongs to.

    It is empty for a state inside the target, which can be moved or copied with the target.
    """
    return "" if state == _private_store(target) else target.identity


def _private_store(target: Store) -> Store:
    if isinstance(target, RemoteStore):
        return RemoteStore(target.alias, f"{target.folder}/{STATE}".lstrip("/"))
    parent = target.target or target.folder
    return LocalStore(target.folder / STATE, 0o600, "", parent, is_guarded=target.is_guarded)


def _from_storage(alias: str, key: str, subfolder: str) -> Store:
    try:
        storage = storages[alias]
        folder = Path(storage.path("sitemap.xml")).parent
    except ImproperlyConfigured as error:
        cause = error.__context__
        package = (cause.name or "").partition(".")[0] if isinstance(cause, ImportError) else ""
        advice = _S3_ADVICE if package in _S3_PACKAGES else ""
        raise ExportError(f"SITEMAPS09[{key!r}] is {alias!r}: {error}{advice}") from error
    except NotImplementedError:
        return RemoteStore(alias, subfolder)
    # A storage in memory returns paths, but has no files there.
    if isinstance(storage, InMemoryStorage):
        return RemoteStore(alias, subfolder)
    return _local_store(folder, subfolder, getattr(storage, "file_permissions_mode", None))


def _local_store(target: Path, folder: str, mode: int | None = None) -> LocalStore:
    return LocalStore(target / folder, mode, target=target if folder else None)


def exclusive_lock(
    target: Store, purpose: Purpose = "export"
) -> AbstractContextManager[Callable[[], None]]:
    """Lock a target for this run. The context is a function that raises `ExportError` if the lock is lost.

    Raise `ExportRunningError` if another run has the lock.
    """
    file, text = _PURPOSES[purpose]
    running = text.format(target.label)
    if isinstance(target, LocalStore):
        target.check()
        return _lock_folder(target.folder, file, running)
    identity = target.identity if purpose == "export" else f"{purpose} {target.identity}"
    return _leased(identity, target.label, running)


@contextmanager
def _lock_folder(folder: Path, file: str, running: str) -> Iterator[Callable[[], None]]:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        make_private(folder / STATE)
    except OSError as error:
        raise ExportError(_unusable(folder, error)) from error
    path = folder / STATE / file
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
            raise ExportRunningError(running)

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
        advice = ownership(path) if isinstance(error, PermissionError) else f"{_INSTEAD}."
        if error.errno in (errno.ELOOP, errno.EMLINK, errno.EISDIR, errno.ENXIO):
            advice = "Remove it."
        raise ExportError(f"{path} cannot be locked ({error.strerror}). {advice}") from error
    return os.fdopen(descriptor, "r+b", buffering=0)


@contextmanager
def _leased(identity: str, label: str, running: str) -> Iterator[Callable[[], None]]:
    """Take the lease for a target, and renew it until the block ends. Yield a function that checks it."""
    backend = caches[DEFAULT_CACHE_ALIAS]
    for unsuitable, reason in _UNSUITABLE.items():
        if isinstance(backend, unsuitable):
            raise ExportError(
                f"Exports to {label} need a lease in the cache {DEFAULT_CACHE_ALIAS!r}, but "
                f"{type(backend).__name__} {reason}. Set CACHES[{DEFAULT_CACHE_ALIAS!r}] to Redis, "
                "Memcached or the database."
            )
    lease = _Lease(f"{_KEY}{sha256(identity.encode()).hexdigest()}", token_hex(16), label)
    lease.take(running)
    end_event = Event()
    thread = Thread(target=lease.keep, args=(end_event,), name="sitemap-lease", daemon=True)
    with ExitStack() as stack:
        stack.callback(lease.release)
        thread.start()
        stack.callback(thread.join)
        stack.callback(end_event.set)
        yield lease.check


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
        is_touched = cache.get(self.key) == self.token and bool(cache.touch(self.key, LEASE))
        return is_touched and cache.get(self.key) == self.token

    def keep(self, end_event: Event) -> None:
        """Renew the lease, in a thread, until the event is set or the lease is lost."""
        is_held = True
        try:
            while is_held and not end_event.wait(RENEWAL):
                try:
                    is_held = self.renew()
                except Exception:
                    # Another try may succeed.
                    logger.warning("The lease for %s could not be renewed", self.label, exc_info=True)
        finally:
            # Storages and caches have separate connections in each thread.
            caches.close_all()
            connections.close_all()

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
