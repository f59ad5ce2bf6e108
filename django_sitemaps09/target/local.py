"""Files in a local folder: durable, replaced atomically, and read without following links."""

from __future__ import annotations

import errno
import logging
import os
import shutil
import stat
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import accumulate
from pathlib import Path
from secrets import token_hex
from typing import BinaryIO

from django_sitemaps09.exceptions import ExportError

logger = logging.getLogger(__name__)

#: The private folder in the target for the state of exports.
STATE = ".sitemaps09"
_TEMPORARY = "tmp-"

# The system may not have a flag. Without O_NONBLOCK, opening a pipe would block.
_READ_PLAIN = sum(getattr(os, flag, 0) for flag in ("O_RDONLY", "O_BINARY", "O_NOFOLLOW", "O_NONBLOCK"))

# Errors of file systems that cannot sync a folder.
_UNSUPPORTED = (errno.EINVAL, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP)
_unsynced_devices: set[int] = set()


class DamagedError(ExportError):
    """A stored file has no content that this package can have written."""


def is_valid_name(name: str) -> bool:
    """Return whether a file can have this name in a store, so that it does not lead outside."""
    # A colon can follow a drive letter on Windows.
    return {*"\\:\0"}.isdisjoint(name) and {"", ".", ".."}.isdisjoint(name.split("/"))


def check_name(name: str) -> str:
    """Return the name unchanged. Raise `ValueError` if it is not a valid name in a store."""
    if not is_valid_name(name):
        raise ValueError(f"{name!r} is not a valid file name in a store.")
    return name


@dataclass(frozen=True)
class LocalStore:
    """A store of named files in a local folder, which is created if necessary. It can be pickled.

    A file is always complete, and never partly written. Its name is relative and can contain slashes, such
    as `.sitemaps09/run-1/sitemap-a-1.xml.gz`. A name that would lead outside raises `ValueError`, and one
    of something other than a file `ExportError`.

    The path of the folder may contain symbolic links. Links inside the folder are not followed, since other
    users may be able to write there. If the folder is that of a host in a `target`, it may be a link, but
    only one that this user owns. A store that `is_guarded` reads only files of this user, and of the owner
    of the target.
    """

    folder: Path
    mode: int | None = None
    #: The private subfolder for temporary files. Empty if the whole folder is private.
    own: str = STATE
    #: The folder that contains this one, if this is a host's folder or a private one.
    target: Path | None = None
    is_guarded: bool = field(default=False, compare=False)
    _touched: set[Path] = field(default_factory=set, init=False, repr=False, compare=False)

    @property
    def label(self) -> str:
        return str(self.folder)

    @property
    def identity(self) -> str:
        """A string that identifies the same store on all machines. Prefer `label` in messages."""
        return str(self.folder.resolve())

    def read(self, name: str, max_bytes: int) -> bytes | None:
        """Return the content of a file, if it exists. Raise `DamagedError` if it is longer or irregular."""
        return read_plain(self._path(name), max_bytes, self._users)

    def open(self, name: str) -> BinaryIO | None:
        """Open a file for reading, if it exists."""
        return _open_plain(self._path(name), self._users)

    def write(self, name: str, content: bytes) -> None:
        """Replace a file atomically. Its content and its name are durable when this returns."""
        path = self._path(name)
        changed = {path.parent, *self._make(path.parent), *self._make(self._own)}
        temporary = self._own / f"{_TEMPORARY}{token_hex(8)}"
        try:
            replace_whole(path, content, self.mode, temporary)
        except FileNotFoundError:
            # An export that starts removes the temporary files, even those of a submission that is running.
            replace_whole(path, content, self.mode, temporary)
        for folder in changed:
            sync(folder)

    @contextmanager
    def staged(self, name: str) -> Iterator[BinaryIO]:
        """Open a new file for writing, which the store has when the block ends; none if the block fails.

        Its content is durable then, and its name after `sync()`.
        """
        path = self._path(name)
        self._touched.update({path.parent, *self._make(path.parent)})
        # A killed run or an earlier attempt may have left a file.
        _unlink(path)
        try:
            # `name_errors` must include close(): it fails again if buffered content cannot be written.
            with name_errors(path), create(path, self.mode) as file:
                yield file
        except BaseException:
            path.unlink(missing_ok=True)
            raise

    def promote(self, staged: str, name: str) -> None:
        """Replace a file atomically with a staged file, which may remain. It must exist."""
        source, path = self._path(staged), self._path(name)
        self._touched.update({source.parent, path.parent, *self._make(path.parent)})
        with _detect_folder(path):
            source.replace(path)

    def sync(self) -> None:
        """Make durable all changes that this object has made since the last call."""
        touched = set(self._touched)
        for folder in touched:
            # A removed folder needs no sync.
            with suppress(FileNotFoundError, NotADirectoryError):
                sync(folder)
        self._touched.difference_update(touched)

    def delete(self, name: str) -> None:
        """Remove a file if it exists."""
        path = self._path(name)
        _unlink(path)
        self._touched.add(path.parent)

    def delete_folder(self, name: str) -> None:
        """Remove a folder with its content, if it exists. Links are not followed."""
        path = self._path(name)
        self._touched.add(path.parent)
        if path.parent == self._own:
            # Move the folder first. A process that still writes there, such as a worker of a finished
            # run, could otherwise create a file during the removal.
            try:
                path = path.replace(path.with_name(f"{_TEMPORARY}{token_hex(8)}"))
            except FileNotFoundError:
                return
        _remove(path)

    def names(self, folder: str = "") -> dict[str, int | None]:
        """Return the sizes of a folder's regular files, by valid name; `None` if a size needs a request."""
        sizes: dict[str, int | None] = {}
        for entry in self._entries(folder):
            # Another process may remove the file meanwhile.
            with suppress(FileNotFoundError):
                if entry.is_file(follow_symlinks=False):
                    sizes[entry.name] = entry.stat(follow_symlinks=False).st_size
        return sizes

    def folders(self, folder: str = "") -> list[str]:
        """Return the sorted valid names of the folders in a folder."""
        return sorted(entry.name for entry in self._entries(folder) if entry.is_dir(follow_symlinks=False))

    def is_blocked(self, name: str) -> bool:
        """Return whether a file cannot be written, because a folder has its name."""
        return self._path(name).is_dir()

    def check(self) -> None:
        """Raise `ExportError` if the store does not behave as required. Others need a test file for it."""
        # A private folder must not be a link at all, and a host's folder not one of another user.
        if self.own and self.target is not None:
            is_own_link(self.folder, self._users or ())

    def clean(self) -> None:
        """Remove the temporary files of `write()` and `check()` in killed runs, but no folders of runs."""
        for entry in self._entries(self.own):
            if entry.name.startswith(_TEMPORARY):
                _remove(Path(entry.path))

    @property
    def _own(self) -> Path:
        return self.folder / self.own

    @property
    def _users(self) -> list[int] | None:
        """The users besides this one whose files are read; `None` for any user."""
        if not self.is_guarded:
            return None
        try:
            return [(self.target or self.folder).stat().st_uid]
        except (FileNotFoundError, NotADirectoryError):
            return []

    def _path(self, name: str) -> Path:
        *parents, name_part = check_name(name).split("/")
        return self._inside(parents) / name_part

    def _inside(self, parts: list[str]) -> Path:
        """Return the path of a folder. Raise `ExportError` if it leads through a link."""
        self.check()
        folders = [*accumulate(parts, Path.joinpath, initial=self.folder)]
        # A private folder must not be a link itself.
        for folder in folders[1:] if self.own else folders:
            with name_errors(folder):
                is_link = folder.is_symlink()
            if is_link:
                raise ExportError(f"{folder} is a symbolic link, which is not allowed here. Remove it.")
        return folders[-1]

    def _entries(self, folder: str) -> list[os.DirEntry[str]]:
        path = self._inside(check_name(folder).split("/") if folder else [])
        try:
            with name_errors(path), os.scandir(path) as entries:
                return [entry for entry in entries if is_valid_name(entry.name)]
        except (FileNotFoundError, NotADirectoryError):
            return []

    def _make(self, folder: Path) -> set[Path]:
        """Create a folder with its parents. Return the folders that contain a new folder."""
        exists = folder.is_dir()
        if exists and folder != self._own:
            return set()
        changed = set() if exists else self._make(folder.parent) | {folder.parent}
        if folder == self._own:
            make_private(folder)
            return changed
        try:
            with name_errors(folder):
                folder.mkdir(exist_ok=True)
        except FileExistsError as error:
            raise ExportError(f"{folder} is not a folder. Remove it.") from error
        return changed


def make_private(folder: Path) -> None:
    """Make a folder private, and create it if necessary: only this user can access it.

    Raise `ExportError` for a link or another user's folder: others may be able to write to the target.
    """
    with suppress(FileExistsError):
        folder.mkdir(mode=0o700)
    status = folder.lstat()
    if not stat.S_ISDIR(status.st_mode):
        raise ExportError(f"{folder} is not a folder. Remove it.")
    _check_own(folder, status)
    # Use a descriptor, since the name could be a link by now. Windows has neither these flags nor modes.
    if hasattr(os, "O_DIRECTORY") and stat.S_IMODE(status.st_mode) != 0o700:
        try:
            descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        except PermissionError as error:
            raise ExportError(f"{folder} cannot be opened. {ownership(folder)}") from error
        try:
            _check_own(folder, os.fstat(descriptor))
            os.fchmod(descriptor, 0o700)
        finally:
            os.close(descriptor)


def _check_own(folder: Path, status: os.stat_result) -> None:
    if _is_foreign(status):
        raise ExportError(f"{ownership(folder)} Run all exports as the same user.")


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
        with _detect_folder(path):
            temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


@contextmanager
def _detect_folder(path: Path) -> Iterator[None]:
    """Raise `ExportError` instead of an `OSError` if `path` is a folder and not a file."""
    try:
        with name_errors(path.parent):
            yield
    except OSError as error:
        if path.is_dir():
            raise ExportError(f"{path} is a folder. Remove it.") from error
        raise


def _unlink(path: Path) -> None:
    with _detect_folder(path), suppress(FileNotFoundError, NotADirectoryError):
        path.unlink()


def _remove(path: Path) -> None:
    """Remove a file, a link, or a folder with its content."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        _unlink(path)


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


def _open_plain(path: Path, users: Collection[int] | None = None) -> BinaryIO | None:
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
    if (file := _open_plain(path, users)) is None:
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
