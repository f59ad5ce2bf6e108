"""A lock that allows one export at a time for each target."""

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
    """Lock a target for one export at a time; yield a check that raises `ExportError` if the lock is lost.

    Raise `ExportRunningError` if another export holds it. A folder has a locked file, which the system
    unlocks however a run ends; other targets have a lease in the shared cache.
    """
    locked = (
        _locked(target.folder) if isinstance(target, LocalStore) else lease(target.identity, target.label)
    )
    with locked as check:
        yield check


@contextmanager
def _locked(folder: Path) -> Iterator[Callable[[], None]]:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        private(folder / STATE)
    except OSError as error:
        raise ExportError(_unusable(folder, error)) from error
    path = folder / STATE / "lock"
    with _lock_file(path) as handle:
        # `False` if the lock is taken; Windows raises an error instead.
        if not locks.lock(handle, locks.LOCK_EX | locks.LOCK_NB):
            raise ExportRunningError(f"Another export is writing to {folder}; nothing was touched.")

        def check() -> None:
            if not _is_at(handle, path):
                raise ExportError(
                    f"{path} was removed or replaced while an export ran, which was locked by it."
                )

        try:
            # If the file was removed between opening and locking, the lock keeps nobody out.
            check()
            yield check
        finally:
            locks.unlock(handle)


def _unusable(folder: Path, error: OSError) -> str:
    """Return why nothing can be exported to a folder, and what to do."""
    other = "Give another folder with --output, or set SITEMAPS09['ROOT'] or its storage to one"
    # Not Path.is_file(), which raises an error without permission to look.
    blocking = next((path for path in (folder, *folder.parents) if os.path.isfile(path)), None)  # noqa: PTH113
    if blocking is not None:
        return f"Nothing can be exported to {folder}: {blocking} is a file, not a folder. {other}."
    return (
        f"Nothing can be exported to {folder}: {error.filename or folder} cannot be made there "
        f"({error.strerror}). {other}, or run exports as the user who owns it."
    )


def _is_at(handle: BinaryIO, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(handle.fileno()), path.lstat())
    except (FileNotFoundError, NotADirectoryError):
        return False


def _lock_file(path: Path) -> BinaryIO:
    """Open the lock file, without waiting and without changing it, whatever it is."""
    flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    try:
        descriptor = os.open(path, flags, 0o600)
    except OSError as error:
        raise ExportError(f"{path} cannot be locked ({error.strerror}). Remove it.") from error
    return os.fdopen(descriptor, "r+b", buffering=0)
