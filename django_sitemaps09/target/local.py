"""Files in a local folder. A file is replaced atomically: write a temporary file, sync it, and move it."""

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
from django_sitemaps09.target.plain import (
    STATE,
    check_name,
    create,
    create_whole,
    is_foreign,
    is_own_link,
    is_valid_name,
    name_errors,
    open_plain,
    ownership,
    read_plain,
    sync,
    sync_content,
)

_TEMPORARY = "tmp-"


@dataclass(frozen=True)
class LocalStore:
    """A store in a local folder. The folder is created if necessary.

    The path of the folder may contain symbolic links. Links inside the folder are not followed, since other
    users may be able to write there. If the folder is that of a host in a `target`, it may be a link, but
    only one that this user owns.

    A store that `is_guarded` reads only files of this user, and of the owner of the target.
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
        return str(self.folder.resolve())

    def read(self, name: str, max_bytes: int) -> bytes | None:
        return read_plain(self._path(name), max_bytes, self._users)

    def open(self, name: str) -> BinaryIO | None:
        return open_plain(self._path(name), self._users)

    def write(self, name: str, content: bytes) -> None:
        path = self._path(name)
        changed = {path.parent, *self._make(path.parent), *self._make(self._own)}
        temporary = self._own / f"{_TEMPORARY}{token_hex(8)}"
        try:
            self._write(temporary, path, content)
        except FileNotFoundError:
            # An export that starts removes the temporary files, even those of a submission that is running.
            self._write(temporary, path, content)
        finally:
            temporary.unlink(missing_ok=True)
        for folder in changed:
            sync(folder)

    @contextmanager
    def staged(self, name: str) -> Iterator[BinaryIO]:
        path = self._path(name)
        self._touched.update({path.parent, *self._make(path.parent)})
        # A killed run or an earlier attempt may have left a file.
        _unlink(path)
        try:
            # `name_errors` must include close(): it fails again if buffered content cannot be written.
            with name_errors(path), create(path, self.mode) as file:
                yield file
                sync_content(file)
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
            # A removed folder needs no sync.
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
            # Move the folder first. A process that still writes there, such as a worker of a finished
            # run, could otherwise create a file during the removal.
            trash = path.with_name(f"{_TEMPORARY}{token_hex(8)}")
            try:
                path.replace(trash)
            except FileNotFoundError:
                return
            path = trash
        _remove(path)

    def names(self, folder: str = "") -> dict[str, int | None]:
        sizes: dict[str, int | None] = {}
        for entry in self._entries(folder):
            # Another process may remove the file meanwhile.
            with suppress(FileNotFoundError):
                if entry.is_file(follow_symlinks=False):
                    sizes[entry.name] = entry.stat(follow_symlinks=False).st_size
        return sizes

    def folders(self, folder: str = "") -> list[str]:
        return sorted(entry.name for entry in self._entries(folder) if entry.is_dir(follow_symlinks=False))

    def is_blocked(self, name: str) -> bool:
        return self._path(name).is_dir()

    def check(self) -> None:
        """Raise `ExportError` for another user's link. A local folder needs no test file."""
        # A private folder must not be a link at all.
        if self.own and self.target is not None:
            is_own_link(self.folder, self._users or ())

    def clean(self) -> None:
        for entry in self._entries(self.own):
            if entry.name.startswith(_TEMPORARY):
                _remove(Path(entry.path))

    def _write(self, temporary: Path, path: Path, content: bytes) -> None:
        with name_errors(path):
            create_whole(temporary, content, self.mode)
        _move(temporary, path)

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
        path = self.folder
        self.check()
        # A private folder must not be a link itself.
        folders = [] if self.own else [path]
        for part in parts:
            path /= part
            folders.append(path)
        for folder in folders:
            with name_errors(folder):
                is_link = folder.is_symlink()
            if is_link:
                raise ExportError(f"{folder} is a symbolic link, which is not allowed here. Remove it.")
        return path

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
        else:
            try:
                with name_errors(folder):
                    folder.mkdir(exist_ok=True)
            except FileExistsError as error:
                raise ExportError(f"{folder} is not a folder. Remove it.") from error
        return changed


def make_private(folder: Path) -> None:
    """Make a folder private: only this user can access it. Create it if necessary.

    Raise `ExportError` for a link, or for a folder owned by another user. Anyone who can write to the
    target can create a link or a folder there.
    """
    with suppress(FileExistsError):
        folder.mkdir(mode=0o700)
    status = folder.lstat()
    if not stat.S_ISDIR(status.st_mode):
        raise ExportError(f"{folder} is not a folder. Remove it.")
    if is_foreign(status):
        raise ExportError(f"{ownership(folder)} Run all exports as the same user.")
    if stat.S_IMODE(status.st_mode) != 0o700:
        folder.chmod(0o700)


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


def _move(source: Path, path: Path) -> None:
    with _detect_folder(path):
        source.replace(path)


def _unlink(path: Path) -> None:
    with _detect_folder(path), suppress(FileNotFoundError, NotADirectoryError):
        path.unlink()


def _remove(path: Path) -> None:
    """Remove a file, a link, or a folder with its content."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        _unlink(path)
