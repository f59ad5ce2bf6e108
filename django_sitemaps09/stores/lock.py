"""The locks that allow one export and one submission at a time for each target."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, Literal

from django.core.files import locks

from django_sitemaps09.exceptions import ExportError, ExportRunningError
from django_sitemaps09.stores.lease import lease
from django_sitemaps09.stores.local import LocalStore, make_private
from django_sitemaps09.stores.store import STATE, Store

#: What a lock excludes: another export to the same target, or another submission of its changes.
Purpose = Literal["export", "submission"]
_FILES: dict[Purpose, str] = {"export": "lock", "submission": "submission.lock"}
_RUNNING: dict[Purpose, str] = {
    "export": "Another export is writing to {}; nothing was changed.",
    "submission": "Another process is submitting the changes of {}; this one has submitted nothing.",
}


@contextmanager
def exclusive_lock(target: Store, purpose: Purpose = "export") -> Iterator[Callable[[], None]]:
    """Lock a target for this run. Yield a function that raises `ExportError` if the lock is lost.

    Raise `ExportRunningError` if another run has the lock. A local folder has a lock file. The operating
    system unlocks it even if the run is killed. Other targets have a lease in the shared cache.
    """
    if isinstance(target, LocalStore):
        target.check()
        lock = _lock_folder(target.folder, purpose)
    else:
        identity = target.identity if purpose == "export" else f"{purpose} {target.identity}"
        lock = lease(identity, target.label, _RUNNING[purpose].format(target.label))
    with lock as check:
        yield check


@contextmanager
def _lock_folder(folder: Path, purpose: Purpose) -> Iterator[Callable[[], None]]:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        make_private(folder / STATE)
    except OSError as error:
        raise ExportError(_unusable(folder, error)) from error
    path = folder / STATE / _FILES[purpose]
    with _lock_file(path) as handle:
        # lock() returns `False` if another process has the lock. On Windows, it raises an error instead.
        if not locks.lock(handle, locks.LOCK_EX | locks.LOCK_NB):
            raise ExportRunningError(_RUNNING[purpose].format(folder))

        def check() -> None:
            if not _is_at(handle, path):
                raise ExportError(f"The lock file {path} was removed or replaced during an export.")

        try:
            # If the file was removed before it was locked, the lock does not exclude other exports.
            check()
            yield check
        finally:
            locks.unlock(handle)


def _unusable(folder: Path, error: OSError) -> str:
    """Return the error message for a folder to which an export cannot write."""
    instead = "Choose another folder with --output, SITEMAPS09['ROOT'] or SITEMAPS09['STORAGE']"
    # Not Path.is_file(): it raises an error if the permission to read a folder is missing.
    blocking = next((path for path in (folder, *folder.parents) if os.path.isfile(path)), None)  # noqa: PTH113
    if blocking is not None:
        return f"Cannot export to {folder}: {blocking} is a file, not a folder. {instead}."
    return (
        f"Cannot export to {folder}: {error.filename or folder} cannot be created ({error.strerror}). "
        f"{instead}, or run exports as the user who owns the folder."
    )


def _is_at(handle: BinaryIO, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(handle.fileno()), path.lstat())
    except (FileNotFoundError, NotADirectoryError):
        return False


def _lock_file(path: Path) -> BinaryIO:
    """Open or create the lock file. Do not wait, and do not change an existing file."""
    flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    try:
        descriptor = os.open(path, flags, 0o600)
    except OSError as error:
        raise ExportError(f"{path} cannot be locked ({error.strerror}). Remove it.") from error
    return os.fdopen(descriptor, "r+b", buffering=0)
