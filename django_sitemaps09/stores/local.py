"""Files in a folder of this machine: made beside, synced, then moved in."""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from secrets import token_hex
from typing import BinaryIO

from django_sitemaps09.exceptions import ExportError
from django_sitemaps09.stores.store import STATE, checked

_TEMPORARY = "tmp-"


@dataclass(frozen=True)
class LocalStore:
    """A folder, which need not be there yet.

    It may be reached through links, as its owner wants; below it no link is followed, as who can write
    there need not be this user.
    """

    folder: Path
    mode: int | None = None
    #: Where temporary files are made, in the folder: never beside what is published. Empty for a folder
    #: that is our own as a whole.
    own: str = STATE
    _touched: set[Path] = field(default_factory=set, init=False, repr=False, compare=False)

    @property
    def label(self) -> str:
        return str(self.folder)

    @property
    def identity(self) -> str:
        return str(self.folder.resolve())

    def read(self, name: str, most: int) -> bytes | None:
        file = self.open(name)
        if file is None:
            return None
        with file:
            # Never `read(most + 1)`, which takes memory for all of that at once.
            content = file.read() if os.fstat(file.fileno()).st_size <= most else None
        if content is None or len(content) > most:
            raise ExportError(f"{self._path(name)} is no plain file of at most {most:,} bytes.")
        return content

    def open(self, name: str) -> BinaryIO | None:
        path = self._path(name)
        try:
            # Without a wait, should it be a pipe.
            descriptor = os.open(path, os.O_RDONLY | _BINARY | _NO_FOLLOW | _NO_WAIT)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            if stat.S_ISREG(path.lstat().st_mode):
                raise
            raise ExportError(f"{path} is no plain file.") from error
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            os.close(descriptor)
            raise ExportError(f"{path} is no plain file.")
        return os.fdopen(descriptor, "rb")

    def write(self, name: str, content: bytes) -> None:
        path = self._path(name)
        changed = {path.parent, *self._make(path.parent), *self._make(self._own)}
        temporary = self._own / f"{_TEMPORARY}{token_hex(8)}"
        try:
            with create(temporary, self.mode) as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            _move(temporary, path)
        finally:
            temporary.unlink(missing_ok=True)
        for folder in changed:
            sync(folder)

    @contextmanager
    def staged(self, name: str) -> Iterator[Path]:
        path = self._path(name)
        self._touched.update({path.parent, *self._make(path.parent)})
        # Of a run that was killed, or of a first attempt.
        _unlink(path)
        try:
            yield path
        except BaseException:
            path.unlink(missing_ok=True)
            raise

    def promote(self, staged: str, name: str) -> None:
        source, path = self._path(staged), self._path(name)
        self._touched.update({source.parent, path.parent, *self._make(path.parent)})
        _move(source, path)

    def sync(self) -> None:
        touched = set(self._touched)
        for folder in touched:
            # With a folder that is gone went all its names.
            with suppress(FileNotFoundError, NotADirectoryError):
                sync(folder)
        self._touched.difference_update(touched)

    def delete(self, name: str) -> None:
        path = self._path(name)
        _unlink(path)
        self._touched.add(path.parent)

    def delete_folder(self, name: str) -> None:
        path = self._path(name)
        self._touched.add(path.parent)
        if path.parent == self._own:
            # Moved away first: who still writes there, such as a worker of a run that is over, would keep
            # it from ever being empty.
            away = path.with_name(f"{_TEMPORARY}{token_hex(8)}")
            try:
                path.replace(away)
            except FileNotFoundError:
                return
            path = away
        _remove(path)

    def names(self, folder: str = "") -> dict[str, int | None]:
        return {
            entry.name: entry.stat(follow_symlinks=False).st_size
            for entry in self._entries(folder)
            if entry.is_file(follow_symlinks=False)
        }

    def folders(self, folder: str = "") -> list[str]:
        return sorted(entry.name for entry in self._entries(folder) if entry.is_dir(follow_symlinks=False))

    def blocked(self, name: str) -> bool:
        return self._path(name).is_dir()

    def check(self) -> None:
        """A folder keeps the promises, or says so at the first write."""

    def clean(self) -> None:
        for entry in self._entries(self.own):
            if entry.name.startswith(_TEMPORARY):
                _remove(Path(entry.path))

    @property
    def _own(self) -> Path:
        return self.folder / self.own

    def _path(self, name: str) -> Path:
        *above, last = checked(name).split("/")
        return self._inside(above) / last

    def _inside(self, parts: list[str]) -> Path:
        path = self.folder
        # Where the folder is our own, so is its name.
        below = [path] if not self.own else []
        for part in parts:
            path /= part
            below.append(path)
        for folder in below:
            if folder.is_symlink():
                raise ExportError(f"{folder} is a link, which could lead anywhere. Remove it.")
        return path

    def _entries(self, folder: str) -> list[os.DirEntry[str]]:
        path = self._inside(checked(folder).split("/") if folder else [])
        try:
            with os.scandir(path) as entries:
                return list(entries)
        except (FileNotFoundError, NotADirectoryError):
            return []

    def _make(self, folder: Path) -> set[Path]:
        """Makes a folder with those above it, and gives those that have a new name in them."""
        there = folder.is_dir()
        if there and folder != self._own:
            return set()
        changed = set() if there else self._make(folder.parent) | {folder.parent}
        if folder == self._own:
            private(folder)
        else:
            try:
                folder.mkdir(exist_ok=True)
            except FileExistsError as error:
                raise ExportError(f"{folder} is no folder. Remove it.") from error
        return changed


# What a system does not know is left out.
_BINARY = getattr(os, "O_BINARY", 0)
_NO_FOLLOW = getattr(os, "O_NOFOLLOW", 0)
_NO_WAIT = getattr(os, "O_NONBLOCK", 0)


def create(path: Path, mode: int | None) -> BinaryIO:
    """A new file with the umask's mode: a temporary file's 0600 would give a web server 403."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _BINARY, 0o666)
    if mode is not None:
        # Of the file that was opened: its name could be a link by now.
        os.chmod(descriptor if os.chmod in os.supports_fd else path, mode & 0o777)  # noqa: PTH101
    return os.fdopen(descriptor, "wb")


def private(folder: Path) -> None:
    """Our own folder, made where there is none, for this user alone.

    Who can write to the target could have put something else in its place: links are not followed,
    and a folder of somebody else's is refused.
    """
    with suppress(FileExistsError):
        folder.mkdir(mode=0o700)
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != getattr(os, "geteuid", lambda: found.st_uid)():
        raise ExportError(
            f"{folder} is not a folder of this user's. Remove it, and run exports as one user, who owns "
            f"{folder.parent}."
        )
    if stat.S_IMODE(found.st_mode) != 0o700:
        folder.chmod(0o700)


def sync(folder: Path) -> None:
    """The names in a folder on disk, where the system can do that."""
    if not hasattr(os, "O_DIRECTORY"):
        return
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _move(source: Path, path: Path) -> None:
    try:
        source.replace(path)
    except OSError as error:
        if path.is_dir():
            raise ExportError(f"{path} is a folder. Remove it.") from error
        raise


def _unlink(path: Path) -> None:
    try:
        path.unlink()
    except (FileNotFoundError, NotADirectoryError):
        return
    except OSError as error:
        if path.is_dir():
            raise ExportError(f"{path} is a folder. Remove it.") from error
        raise


def _remove(path: Path) -> None:
    """A file, a link or a folder with all that is in it."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        _unlink(path)
