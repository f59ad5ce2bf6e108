"""One export at a time into each target."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from django.core.files import locks

from django_sitemaps09.exceptions import ExportError, ExportRunningError
from django_sitemaps09.stores.lease import lease
from django_sitemaps09.stores.local import LocalStore, private
from django_sitemaps09.stores.store import STATE, Store


@contextmanager
def only_one(target: Store) -> Iterator[Callable[[], None]]:
    """For one export at a time; what it gives raises `ExportError` once that does not hold any more.

    `ExportRunningError` where there is another. In a folder it is a file's lock, which the system gives
    back however a run ends; elsewhere a lease in the shared cache.
    """
    locked = (
        _locked(target.folder) if isinstance(target, LocalStore) else lease(target.identity, target.label)
    )
    with locked as check:
        yield check


@contextmanager
def _locked(folder: Path) -> Iterator[Callable[[], None]]:
    folder.mkdir(parents=True, exist_ok=True)
    private(folder / STATE)
    path = folder / STATE / "lock"
    with _lock_file(path) as handle:
        # False as from a lock that is taken; Windows raises instead.
        if not locks.lock(handle, locks.LOCK_EX | locks.LOCK_NB):
            raise ExportRunningError(f"Another export is writing to {folder}; nothing was touched.")

        def check() -> None:
            if not _is_at(handle, path):
                raise ExportError(
                    f"{path} was removed or replaced while an export ran, which was locked by it."
                )

        try:
            # Removed between the opening and the locking, it keeps nobody out.
            check()
            yield check
        finally:
            locks.unlock(handle)


def _is_at(handle: BinaryIO, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(handle.fileno()), path.lstat())
    except (FileNotFoundError, NotADirectoryError):
        return False


def _lock_file(path: Path) -> BinaryIO:
    """Opened without a wait and without a change, whatever it is."""
    flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    try:
        descriptor = os.open(path, flags, 0o600)
    except OSError as error:
        raise ExportError(f"{path} cannot be locked ({error.strerror}). Remove it.") from error
    return os.fdopen(descriptor, "r+b", buffering=0)
