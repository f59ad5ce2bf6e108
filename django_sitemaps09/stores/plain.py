"""Plain local files: created whole and durable, read without following links."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from django_sitemaps09.exceptions import ExportError

# Flags that the system does not have are 0.
_BINARY = getattr(os, "O_BINARY", 0)
_NO_FOLLOW = getattr(os, "O_NOFOLLOW", 0)
_NO_WAIT = getattr(os, "O_NONBLOCK", 0)


def create(path: Path, mode: int | None) -> BinaryIO:
    """Create a file, by default with the umask's mode: with 0600, a web server would respond with 403."""
    file = path.open("xb")
    if mode is not None:
        # By descriptor where possible, since the name could be a link by now.
        os.chmod(file.fileno() if os.chmod in os.supports_fd else path, mode & 0o777)  # noqa: PTH101
    return file


def create_whole(path: Path, content: bytes, mode: int | None) -> None:
    """Create a file whose content is durable; its name may not be."""
    with create(path, mode) as file:
        file.write(content)
        sync_content(file)


def sync_content(file: BinaryIO) -> None:
    """Sync what was written so far to disk."""
    file.flush()
    os.fsync(file.fileno())


def open_plain(path: Path) -> BinaryIO | None:
    """Open a file for reading; `None` if it does not exist. Raise `ExportError` for a link, a pipe etc."""
    try:
        # Without waiting, in case it is a pipe.
        descriptor = os.open(path, os.O_RDONLY | _BINARY | _NO_FOLLOW | _NO_WAIT)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        if stat.S_ISREG(path.lstat().st_mode):
            raise
        raise ExportError(f"{path} is not a regular file.") from error
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise ExportError(f"{path} is not a regular file.")
    return os.fdopen(descriptor, "rb")


def read_plain(path: Path, most: int) -> bytes | None:
    """Return the content of a file, `None` if it does not exist.

    Raise `ExportError` if it is not a plain file, or is larger than `most` bytes.
    """
    file = open_plain(path)
    if file is None:
        return None
    with file, name_errors(path):
        # Not `read(most + 1)`, which allocates all of that at once.
        content = file.read() if os.fstat(file.fileno()).st_size <= most else None
    if content is None or len(content) > most:
        raise ExportError(f"{path} is not a regular file of at most {most:,} bytes.")
    return content


@contextmanager
def name_errors(path: Path | str) -> Iterator[None]:
    """Add the name of the file to an `OSError`, which lacks it if the file is already open."""
    try:
        yield
    except OSError as error:
        if error.filename is None:
            error.filename = str(path)
        raise


def sync(folder: Path) -> None:
    """Sync the names in a folder to disk, if the system can do that."""
    if not hasattr(os, "O_DIRECTORY"):
        return
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        with name_errors(folder):
            os.fsync(descriptor)
    finally:
        os.close(descriptor)
