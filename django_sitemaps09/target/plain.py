"""Names in stores, durable creation of regular local files, and reading without following links."""

from __future__ import annotations

import errno
import logging
import os
import stat
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from django_sitemaps09.exceptions import ExportError

logger = logging.getLogger(__name__)

#: The private folder in the target for the state of exports.
STATE = ".sitemaps09"

# A flag that the system does not have is 0.
_BINARY = getattr(os, "O_BINARY", 0)
_NO_FOLLOW = getattr(os, "O_NOFOLLOW", 0)
_NO_WAIT = getattr(os, "O_NONBLOCK", 0)

# Errors of file systems that cannot sync a folder.
_UNSUPPORTED = (errno.EINVAL, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP)
_unsynced_devices: set[int] = set()


def is_valid_name(name: str) -> bool:
    """Return whether a file can have this name in a store, so that it does not lead outside."""
    # A colon can follow a drive letter on Windows.
    return {*"\\:\0"}.isdisjoint(name) and {"", ".", ".."}.isdisjoint(name.split("/"))


def check_name(name: str) -> str:
    """Return the name unchanged. Raise `ValueError` if it is not a valid name in a store."""
    if not is_valid_name(name):
        raise ValueError(f"{name!r} is not a valid file name in a store.")
    return name


def is_foreign(status: os.stat_result, users: Collection[int] = ()) -> bool:
    """Return whether a file belongs to another user than the current one and `users`."""
    return status.st_uid not in (getattr(os, "geteuid", lambda: status.st_uid)(), *users)


def is_own_link(path: Path, users: Collection[int] = ()) -> bool:
    """Return whether a path is a symbolic link of the current user, or of one of `users`.

    Raise `ExportError` for another user's link, since it could lead to any file of the current user.
    """
    try:
        status = path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    is_link = stat.S_ISLNK(status.st_mode)
    if is_link and is_foreign(status, users):
        raise ExportError(
            f"{path} is a symbolic link owned by another user. Remove it, or replace it with a link owned "
            "by the user who runs exports."
        )
    return is_link


class DamagedError(ExportError):
    """A stored file has no content that this package can have written."""


def create(path: Path, mode: int | None) -> BinaryIO:
    """Create a file with `mode`. By default, the umask sets the mode, so web servers can read the file."""
    file = path.open("xb")
    if mode is not None:
        # Use the descriptor where possible, since the name could be a link by now.
        os.chmod(file.fileno() if os.chmod in os.supports_fd else path, mode & 0o777)  # noqa: PTH101
    return file


def create_whole(path: Path, content: bytes, mode: int | None) -> None:
    """Create a file with durable content. Its name is durable only after `sync(folder)`."""
    with create(path, mode) as file:
        file.write(content)
        sync_content(file)


def sync_content(file: BinaryIO) -> None:
    file.flush()
    os.fsync(file.fileno())


def open_plain(path: Path, users: Collection[int] | None = None) -> BinaryIO | None:
    """Open a file for reading, or return `None`. Raise `DamagedError` for anything but a regular file.

    With `users`, raise `ExportError` for a file of anyone but these users and the current one.
    """
    with name_errors(path):
        try:
            # Without O_NONBLOCK, opening a pipe would block.
            descriptor = os.open(path, os.O_RDONLY | _BINARY | _NO_FOLLOW | _NO_WAIT)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            if stat.S_ISREG(path.lstat().st_mode):
                raise
            raise DamagedError(f"{path} is not a regular file.") from error
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode):
        os.close(descriptor)
        raise DamagedError(f"{path} is not a regular file.")
    if users is not None and is_foreign(status, users):
        os.close(descriptor)
        raise ExportError(f"{path} is owned by another user.")
    return os.fdopen(descriptor, "rb")


def read_plain(path: Path, max_bytes: int, users: Collection[int] | None = None) -> bytes | None:
    """Return the content of a file, or `None` if it does not exist.

    Raise the errors of `open_plain()`, and `DamagedError` for a file of more than `max_bytes` bytes.
    """
    file = open_plain(path, users)
    if file is None:
        return None
    with file, name_errors(path):
        # Not `read(max_bytes + 1)`, because it allocates that much memory at once.
        content = file.read() if os.fstat(file.fileno()).st_size <= max_bytes else None
    if content is None or len(content) > max_bytes:
        raise DamagedError(f"{path} is larger than {max_bytes:,} bytes.")
    return content


def ownership(path: Path) -> str:
    """Return a message that says who owns a path, or its first parent that can be seen, and what to do."""
    while not os.path.lexists(path):
        path = path.parent
    if not is_foreign(path.lstat()):
        return f"{path} belongs to this user: change its permissions."
    try:
        owner = f"the user {path.owner()}"
    except (KeyError, NotImplementedError):
        owner = f"the user ID {path.lstat().st_uid}"
    return f"{path} belongs to {owner}: run this as its owner, or change the owner with chown."


@contextmanager
def name_errors(path: Path | str) -> Iterator[None]:
    """Add the file name to an `OSError`, and the owner if permission is denied.

    Errors of open files lack the name.
    """
    try:
        yield
    except PermissionError as error:
        # Without an errno, Python adds nothing to the message.
        raise PermissionError(f"{path}: {error.strerror}. {ownership(Path(path))}") from error
    except OSError as error:
        if error.filename is None:
            error.filename = str(path)
        raise


def sync(folder: Path) -> None:
    """Sync the names in a folder to disk if the operating system and the file system support this."""
    if not hasattr(os, "O_DIRECTORY"):
        return
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        with name_errors(folder):
            os.fsync(descriptor)
    except OSError as error:
        if error.errno not in _UNSUPPORTED:
            raise
        _warn_unsynced(os.fstat(descriptor).st_dev, folder, error)
    finally:
        os.close(descriptor)


def _warn_unsynced(device: int, folder: Path, error: OSError) -> None:
    """Log a warning for each file system, once in each process."""
    if device not in _unsynced_devices:
        _unsynced_devices.add(device)
        logger.warning(
            "%s cannot be synced to disk (%s). If the power fails, the latest changes to files may be "
            "undone, in any order. Then run export_sitemaps --verify --repair.",
            folder,
            error.strerror,
        )
