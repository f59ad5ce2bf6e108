"""What an export asks of a place for files, and the names that it may ask for."""

from __future__ import annotations

from contextlib import AbstractContextManager
from pathlib import Path
from typing import BinaryIO, Protocol

#: Our own folder in the target; what it holds is not for the web.
STATE = ".sitemaps09"


class Store(Protocol):
    """Files by name, each whole or not there.

    A name is relative and may have slashes, such as `.sitemaps09/run-1/sitemap-a-1.xml.gz`;
    `ValueError` for one that would lead out. `ExportError` where a place is taken by something else,
    or a storage fails; a folder's own failures are `OSError`. A store can be pickled, for workers.
    """

    @property
    def label(self) -> str:
        """For messages: the folder's path, or `storage 'sitemaps'`."""

    @property
    def identity(self) -> str:
        """The same for the same place, on each machine that can reach it. Not for messages."""

    @property
    def mode(self) -> int | None:
        """Permissions for files that are created at a `staged` path; `None` for the umask's."""

    def read(self, name: str, most: int) -> bytes | None:
        """The content of a file, `None` where there is none.

        `ExportError` for what is no plain file, or is larger than so many bytes.
        """

    def open(self, name: str) -> BinaryIO | None:
        """A file to read from, for large ones; `None` where there is none."""

    def write(self, name: str, content: bytes) -> None:
        """A file, whole or as it was; durable, name and all, when this returns."""

    def staged(self, name: str) -> AbstractContextManager[Path]:
        """A local path, where nothing is, to create a file at; it is in the store when the block ends.

        Where the block fails nothing is left. Who writes there also sees to it that the content is
        durable; `sync()` does so for the name.
        """

    def promote(self, staged: str, name: str) -> None:
        """A staged file takes the place of another one, whole. It may stay under its staged name, too.

        `FileNotFoundError` where it is not there.
        """

    def sync(self) -> None:
        """What this object has staged, promoted and deleted since the last call is durable."""

    def delete(self, name: str) -> None:
        """Removes a file if it is there."""

    def delete_folder(self, name: str) -> None:
        """Removes a folder with all that is below it, if it is there. Links are not followed."""

    def names(self, folder: str = "") -> dict[str, int | None]:
        """The plain files directly in a folder, with their size where that costs nothing more."""

    def folders(self, folder: str = "") -> list[str]:
        """The folders directly in a folder, in order."""

    def blocked(self, name: str) -> bool:
        """Whether a folder is where a file would have to be."""

    def check(self) -> None:
        """`ExportError` where the store does not keep what is promised here. It may write to find out."""

    def clean(self) -> None:
        """Removes what killed runs left of `write` and `check`. Their folders are the caller's."""


def checked(name: str) -> str:
    """The name as it is: none that comes from us leads out of its store, and no other one may."""
    # A colon is a drive on Windows.
    if any(character in name for character in "\\:\0") or not {"", ".", ".."}.isdisjoint(name.split("/")):
        raise ValueError(f"{name!r} is no name of a file in a store.")
    return name
