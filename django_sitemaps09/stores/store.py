"""The interface that an export requires of a store, and the check of file names."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import BinaryIO, Protocol

#: Our own folder in the target, whose content is not public.
STATE = ".sitemaps09"


class Store(Protocol):
    """A place for files by name, each of which is whole or missing.

    A name is relative and can contain slashes, such as `.sitemaps09/run-1/sitemap-a-1.xml.gz`. A name that
    would lead outside raises `ValueError`. Methods raise `ExportError` if something else is in the place of
    a file, or if a storage fails. Failures of a folder are `OSError`. A store can be pickled, for workers.
    """

    @property
    def label(self) -> str:
        """The name of the store in messages: the folder's path, or `storage 'sitemaps'`."""

    @property
    def identity(self) -> str:
        """A text that identifies the place on each machine that can reach it. Not for messages."""

    def read(self, name: str, most: int) -> bytes | None:
        """Return the content of a file, `None` if it does not exist.

        Raise `ExportError` if it is not a plain file, or is larger than `most` bytes.
        """

    def open(self, name: str) -> BinaryIO | None:
        """Open a large file for reading; return `None` if it does not exist."""

    def write(self, name: str, content: bytes) -> None:
        """Replace a file atomically; its content and its name are durable when this returns."""

    def staged(self, name: str) -> AbstractContextManager[BinaryIO]:
        """Open a new file for writing; it is in the store, whole, when the block ends.

        Its content is durable then, and its name after `sync()`. If the block fails, nothing remains.
        """

    def promote(self, staged: str, name: str) -> None:
        """Replace a file atomically by a staged one, which may also remain under its staged name.

        Raise `FileNotFoundError` if the staged file does not exist.
        """

    def sync(self) -> None:
        """Make durable what this object has staged, promoted and deleted since the last call."""

    def delete(self, name: str) -> None:
        """Remove a file if it exists."""

    def delete_folder(self, name: str) -> None:
        """Remove a folder with all that is below it, if it exists. Links are not followed."""

    def names(self, folder: str = "") -> dict[str, int | None]:
        """Return the plain files directly in a folder, with their sizes if these cost nothing more."""

    def folders(self, folder: str = "") -> list[str]:
        """Return the folders directly in a folder, sorted."""

    def is_blocked(self, name: str) -> bool:
        """Return whether a folder is in the place of a file."""

    def check(self) -> None:
        """Raise `ExportError` if the store does not behave as described here. It may write to find out."""

    def clean(self) -> None:
        """Remove what `write` and `check` of killed runs left behind. The caller removes their folders."""


def check_name(name: str) -> str:
    """Return a name unchanged; raise `ValueError` if it would lead outside of its store."""
    # A colon is a drive on Windows.
    if any(character in name for character in "\\:\0") or not {"", ".", ".."}.isdisjoint(name.split("/")):
        raise ValueError(f"{name!r} is not a valid file name in a store.")
    return name
