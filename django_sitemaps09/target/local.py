"""Files in a local folder: durable, replaced atomically, and read without following links."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import accumulate
from pathlib import Path
from secrets import token_hex
from typing import BinaryIO

from django_sitemaps09.exceptions import ExportError
from django_sitemaps09.target import files

#: The private folder in the target for the state of exports.
STATE = ".sitemaps09"
_TEMPORARY = "tmp-"


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
        return files.read_plain(self._path(name), max_bytes, self._users)

    def open(self, name: str) -> BinaryIO | None:
        """Open a file for reading, if it exists."""
        return files.open_plain(self._path(name), self._users)

    def write(self, name: str, content: bytes) -> None:
        """Replace a file atomically. Its content and its name are durable when this returns."""
        path = self._path(name)
        changed = {path.parent, *self._make(path.parent), *self._make(self._own)}
        temporary = self._own / f"{_TEMPORARY}{token_hex(8)}"
        try:
            files.replace_whole(path, content, self.mode, temporary)
        except FileNotFoundError:
            # An export that starts removes the temporary files, even those of a submission that is running.
            files.replace_whole(path, content, self.mode, temporary)
        for folder in changed:
            files.sync(folder)

    @contextmanager
    def staged(self, name: str) -> Iterator[BinaryIO]:
        """Open a new file for writing, which the store has when the block ends; none if the block fails.

        Its content is durable then, and its name after `sync()`.
        """
        path = self._path(name)
        self._touched.update({path.parent, *self._make(path.parent)})
        # A killed run or an earlier attempt may have left a file.
        files.unlink(path)
        try:
            # `name_errors` must include close(): it fails again if buffered content cannot be written.
            with files.name_errors(path), files.create(path, self.mode) as file:
                yield file
        except BaseException:
            path.unlink(missing_ok=True)
            raise

    def promote(self, staged: str, name: str) -> None:
        """Replace a file atomically with a staged file, which may remain. It must exist."""
        source, path = self._path(staged), self._path(name)
        self._touched.update({source.parent, path.parent, *self._make(path.parent)})
        with files.detect_folder(path):
            source.replace(path)

    def sync(self) -> None:
        """Make durable all changes that this object has made since the last call."""
        touched = set(self._touched)
        for folder in touched:
            # A removed folder needs no sync.
            with suppress(FileNotFoundError, NotADirectoryError):
                files.sync(folder)
        self._touched.difference_update(touched)

    def delete(self, name: str) -> None:
        """Remove a file if it exists."""
        path = self._path(name)
        files.unlink(path)
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
        files.remove(path)

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
            files.is_own_link(self.folder, self._users or ())

    def clean(self) -> None:
        """Remove the temporary files of `write()` and `check()` in killed runs, but no folders of runs."""
        for entry in self._entries(self.own):
            if entry.name.startswith(_TEMPORARY):
                files.remove(Path(entry.path))

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
            with files.name_errors(folder):
                is_link = folder.is_symlink()
            if is_link:
                raise ExportError(f"{folder} is a symbolic link, which is not allowed here. Remove it.")
        return folders[-1]

    def _entries(self, folder: str) -> list[os.DirEntry[str]]:
        path = self._inside(check_name(folder).split("/") if folder else [])
        try:
            with files.name_errors(path), os.scandir(path) as entries:
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
            files.make_private(folder)
            return changed
        try:
            with files.name_errors(folder):
                folder.mkdir(exist_ok=True)
        except FileExistsError as error:
            raise ExportError(f"{folder} is not a folder. Remove it.") from error
        return changed
