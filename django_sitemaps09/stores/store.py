"""The interface of stores, and the validation of file names in them."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import BinaryIO, Protocol

#: The private folder in the target for the state of exports.
STATE = ".sitemaps09"


class Store(Protocol):
    """The interface of stores, which hold named files. A file is always complete, and never partly written.

    A name is relative and can contain slashes, such as `.sitemaps09/run-1/sitemap-a-1.xml.gz`. A name that
    would lead outside raises `ValueError`. Methods raise `ExportError` if a storage fails, or if a name
    belongs to something other than a file. Errors of local folders are `OSError`. Stores can be pickled.
    """

    @property
    def label(self) -> str:
        """The name of the store in messages: the folder's path, or `storage 'sitemaps'`."""

    @property
    def identity(self) -> str:
        """A string that identifies the same store on all machines. Prefer `label` in messages."""

    def read(self, name: str, max_bytes: int) -> bytes | None:
        """Return the content of a file, or `None` if it does not exist.

        Raise `ExportError` if the file is not regular or has more than `max_bytes` bytes.
        """

    def open(self, name: str) -> BinaryIO | None:
        """Open a file for reading, without loading it into memory. Return `None` if it does not exist."""

    def write(self, name: str, content: bytes) -> None:
        """Replace a file atomically. Its content and its name are durable when this returns."""

    def staged(self, name: str) -> AbstractContextManager[BinaryIO]:
        """Open a new file for writing. The store has the complete file when the block ends.

        Then the content is durable. The name is durable after `sync()`. A block that fails leaves no file.
        """

    def promote(self, staged: str, name: str) -> None:
        """Replace a file atomically with a staged file. The staged file may also remain.

        Raise `FileNotFoundError` if the staged file does not exist.
        """

    def sync(self) -> None:
        """Make durable all changes that this object has made since the last call."""

    def delete(self, name: str) -> None:
        """Remove a file if it exists."""

    def delete_folder(self, name: str) -> None:
        """Remove a folder with its content, if it exists. Links are not followed."""

    def names(self, folder: str = "") -> dict[str, int | None]:
        """Return the sizes of a folder's regular files, by name; `None` if a size needs a request."""

    def folders(self, folder: str = "") -> list[str]:
        """Return the sorted names of the folders in a folder."""

    def is_blocked(self, name: str) -> bool:
        """Return whether a file cannot be written, because a folder has its name."""

    def check(self) -> None:
        """Raise `ExportError` if the store does not behave as required. This may write a test file."""

    def clean(self) -> None:
        """Remove the temporary files that `write()` and `check()` left behind in killed runs.

        The folders of runs are kept.
        """


def check_name(name: str) -> str:
    """Return the name unchanged. Raise `ValueError` if it would lead outside the store."""
    # A colon can follow a drive letter on Windows.
    if any(character in name for character in "\\:\0") or not {"", ".", ".."}.isdisjoint(name.split("/")):
        raise ValueError(f"{name!r} is not a valid file name in a store.")
    return name
