"""Plain files: created whole and durable, opened without following a link, and who owns them."""

from __future__ import annotations

import errno
import logging
import os
import shutil
import stat
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from django_sitemaps09.exceptions import ExportError

logger = logging.getLogger(__name__)

# The system may not have a flag. Without O_NONBLOCK, opening a pipe would block.
_READ_PLAIN = sum(getattr(os, flag, 0) for flag in ("O_RDONLY", "O_BINARY", "O_NOFOLLOW", "O_NONBLOCK"))

# Errors of file systems that cannot sync a folder.
_UNSUPPORTED = (errno.EINVAL, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP)
_unsynced_devices: set[int] = set()


class DamagedError(ExportError):
    """A stored file has no content that this package can have written."""


@contextmanager
def create(path: Path, mode: int | None) -> Iterator[BinaryIO]:
    """Create a file. When the block ends, its content is durable; its name is after `sync(folder)`.

    By default, the umask sets the mode, so web servers can read the file.
    """
    with path.open("xb") as file:
        if mode is not None:
            # Use the descriptor where possible, since the name could be a link by now.
            os.chmod(file.fileno() if os.chmod in os.supports_fd else path, mode & 0o777)  # noqa: PTH101
        yield file
        file.flush()
        os.fsync(file.fileno())


def replace_whole(path: Path, content: bytes, mode: int | None, temporary: Path) -> None:
    """Replace a file atomically, by way of a temporary one. Its name is durable after `sync(folder)`."""
    try:
        with name_errors(path), create(temporary, mode) as file:
            file.write(content)
        with detect_folder(path):
            temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


@contextmanager
def detect_folder(path: Path) -> Iterator[None]:
    """Raise `ExportError` instead of an `OSError` if `path` is a folder and not a file."""
    try:
        with name_errors(path.parent):
            yield
    except OSError as error:
        if path.is_dir():
            raise ExportError(f"{path} is a folder. Remove it.") from error
        raise


def unlink(path: Path) -> None:
    with detect_folder(path), suppress(FileNotFoundError, NotADirectoryError):
        path.unlink()


def remove(path: Path) -> None:
    """Remove a file, a link, or a folder with its content."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        unlink(path)


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
        device = os.fstat(descriptor).st_dev
        # One warning for each file system in each process.
        if device not in _unsynced_devices:
            _unsynced_devices.add(device)
            logger.warning(
                "%s cannot be synced to disk (%s). If the power fails, the latest changes to files may be "
                "undone, in any order. Then run export_sitemaps --verify --repair.",
                folder,
                error.strerror,
            )
    finally:
        os.close(descriptor)


def open_plain(path: Path, users: Collection[int] | None = None) -> BinaryIO | None:
    """Open a file for reading, if it exists; raise the errors of `read_plain()`."""
    with name_errors(path):
        try:
            descriptor = os.open(path, _READ_PLAIN)
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
    if users is not None and _is_foreign(status, users):
        os.close(descriptor)
        raise ExportError(f"{path} is owned by another user.")
    return os.fdopen(descriptor, "rb")


def read_plain(path: Path, max_bytes: int, users: Collection[int] | None = None) -> bytes | None:
    """Return the content of a file, if it exists.

    Raise `DamagedError` for anything but a regular file of up to `max_bytes` bytes. With `users`, raise
    `ExportError` for a file of anyone but these users and the current one.
    """
    if (file := open_plain(path, users)) is None:
        return None
    with file, name_errors(path):
        # Not `read(max_bytes + 1)`, because it allocates that much memory at once.
        content = file.read() if os.fstat(file.fileno()).st_size <= max_bytes else None
    if content is None or len(content) > max_bytes:
        raise DamagedError(f"{path} is larger than {max_bytes:,} bytes.")
    return content


def _is_foreign(status: os.stat_result, users: Collection[int] = ()) -> bool:
    """Return whether a file belongs to another user than the current one and `users`."""
    return status.st_uid not in (getattr(os, "geteuid", lambda: status.st_uid)(), *users)


def make_private(folder: Path) -> None:
    """Make a folder private, and create it if necessary: only this user can access it.

    Raise `ExportError` for a link or another user's folder: others may be able to write to the target.
    """
    with suppress(FileExistsError):
        folder.mkdir(mode=0o700)
    status = folder.lstat()
    if not stat.S_ISDIR(status.st_mode):
        raise ExportError(f"{folder} is not a folder. Remove it.")
    if _is_foreign(status):
        raise ExportError(f"{ownership(folder)} Run all exports as the same user.")
    # Use a descriptor, since the name could be a link by now. Windows has neither these flags nor modes.
    if hasattr(os, "O_DIRECTORY") and stat.S_IMODE(status.st_mode) != 0o700:
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        try:
            os.fchmod(descriptor, 0o700)
        finally:
            os.close(descriptor)


def is_own_link(path: Path, users: Collection[int] = ()) -> bool:
    """Return whether a path is a symbolic link of the current user, or of one of `users`.

    Raise `ExportError` for another user's link, since it could lead to any file of the current user.
    """
    try:
        status = path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    is_link = stat.S_ISLNK(status.st_mode)
    if is_link and _is_foreign(status, users):
        raise ExportError(
            f"{path} is a symbolic link owned by another user. Remove it, or replace it with a link owned "
            "by the user who runs exports."
        )
    return is_link


def ownership(path: Path) -> str:
    """Return a message that says who owns a path, or its first parent that can be seen, and what to do."""
    while not os.path.lexists(path):
        path = path.parent
    if not _is_foreign(path.lstat()):
        return f"{path} belongs to this user: change its permissions."
    try:
        owner = f"the user {path.owner()}"
    except (KeyError, NotImplementedError):
        owner = f"the user ID {path.lstat().st_uid}"
    return f"{path} belongs to {owner}: run this as its owner, or change the owner with chown."


@contextmanager
def name_errors(path: Path | str) -> Iterator[None]:
    """Add the file name to an error of an open file, and the owner if permission is denied."""
    try:
        yield
    except PermissionError as error:
        # Without an errno, Python adds nothing to the message.
        raise PermissionError(f"{path}: {error.strerror}. {ownership(Path(path))}") from error
    except OSError as error:
        if error.filename is None:
            error.filename = str(path)
        raise
