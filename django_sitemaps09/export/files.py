"""One file of an export: hashed, compressed and staged while its rows are read; or left as it is."""

from __future__ import annotations

import os
import stat
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from functools import partial
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryFile
from typing import BinaryIO

from django_sitemaps09.compression import Compressor
from django_sitemaps09.exceptions import ExportError
from django_sitemaps09.stores import Store, create
from django_sitemaps09.stores.local import sync

# Bytes that go to a file's thread at once, and how many times that wait there.
_CHUNK = 1_000_000
_WAITING = 2
# Bytes that are compressed at once of those that have waited for it.
_READ = 1_000_000

#: Opens a new file that is whole, and on disk, when it is left without an error.
Open = Callable[[], AbstractContextManager[BinaryIO]]


@contextmanager
def staged_file(store: Store, name: str) -> Iterator[BinaryIO]:
    """A new file of a store."""
    with store.staged(name) as path, create(path, store.mode) as file:
        yield file
        file.flush()
        os.fsync(file.fileno())


class Unwanted(Exception):
    """Told to the place of a file that is not wanted any more."""


class Sink:
    """Where the bytes of one file go: counted, hashed, compressed, and written if there is a place.

    Hashing and compressing have a thread each, and leave Python to the reading of rows. Not more than a
    few chunks wait there; errors are raised by the next `write`, or at the end.

    With the digest of a file that is published, bytes wait as they are, in a temporary file, until it is
    known whether they are other ones: only then are they compressed and written.
    """

    def __init__(self, place: Open | None, stream: Compressor | None, known: str | None = None) -> None:
        self.size = 0
        self.unchanged = False
        self._digest = sha256()
        self._stream = stream
        self._place = place
        self._known = known
        self._open = ExitStack()
        self._file: BinaryIO | None = None
        if known is not None:
            self._file = self._open.enter_context(TemporaryFile())  # noqa: SIM115
        elif place is not None:
            self._file = self._open.enter_context(place())
        self._thread = ThreadPoolExecutor(1, "sitemap-file")
        # Where entries have many links, this takes half as long as compressing.
        self._hashing = ThreadPoolExecutor(1, "sitemap-digest")
        self._gathered: list[bytes] = []
        self._waiting: deque[Future[None]] = deque()
        self._hashed: deque[Future[None]] = deque()

    def write(self, data: bytes) -> None:
        """Bytes before compression."""
        self._gathered.append(data)
        # Two threads take turns at Python, and each turn costs both.
        if sum(map(len, self._gathered)) >= _CHUNK:
            self._hand_over()

    def _hand_over(self) -> None:
        data, self._gathered = b"".join(self._gathered), []
        self._hashed.append(self._hashing.submit(self._digest.update, data))
        self._waiting.append(self._thread.submit(self._take, data))
        if len(self._waiting) > _WAITING:
            self._hashed.popleft().result()
            self._waiting.popleft().result()

    def _take(self, data: bytes) -> None:
        if self._known is not None and self._file is not None:
            self._file.write(data)
        else:
            self._compress(data)

    def _compress(self, data: bytes) -> None:
        self._out(data if self._stream is None else self._stream.compress(data))

    def _out(self, data: bytes) -> None:
        self.size += len(data)
        if self._file is not None:
            self._file.write(data)

    def end(self) -> Callable[[], str]:
        """Nothing comes any more. What is given back waits until the file is on disk.

        It gives the hexadecimal SHA-256 of what was given to `write`. Who has something else to do
        meanwhile, such as the next page, does not wait for the thread.
        """
        if self._gathered:
            self._hand_over()
        self._waiting.append(self._thread.submit(self._last))

        def ended() -> str:
            self._thread.shutdown()
            self._hashing.shutdown()
            for written in self._waiting:
                written.result()
            return self._digest.hexdigest()

        return ended

    def _last(self) -> None:
        with self._open:
            if self._known is None:
                self._flush()
                return
            # All that is to be hashed was handed over before this was.
            self._hashing.shutdown()
            self.unchanged = self._digest.hexdigest() == self._known
            if not self.unchanged:
                self._compress_what_waits()

    def _compress_what_waits(self) -> None:
        raw, self._file = self._file, None
        if raw is None:
            return
        raw.seek(0)
        with ExitStack() as opened:
            if self._place is not None:
                self._file = opened.enter_context(self._place())
            for data in iter(partial(raw.read, _READ), b""):
                self._compress(data)
            self._flush()

    def _flush(self) -> None:
        if self._stream is not None:
            self._out(self._stream.flush())

    def give_up(self) -> None:
        """Closed, and nothing of it is left."""
        self._thread.shutdown(cancel_futures=True)
        self._hashing.shutdown(cancel_futures=True)
        with suppress(Unwanted):
            self._open.__exit__(Unwanted, Unwanted(), None)


@contextmanager
def sink(place: Open | None, stream: Compressor | None, known: str | None = None) -> Iterator[Sink]:
    """A `Sink` that is closed where its writer fails; `end()` it otherwise."""
    opened = Sink(place, stream, known)
    try:
        yield opened
    except BaseException:
        opened.give_up()
        raise


def read_regular(path: Path, most: int) -> bytes | None:
    """The content of a file, `None` where there is none. `ExportError` for what is no plain file."""
    if not path.exists():
        return None
    found = path.stat()
    if not stat.S_ISREG(found.st_mode) or found.st_size > most:
        raise ExportError(f"{path} is no plain file of at most {most:,} bytes.")
    return path.read_bytes()


def replace(path: Path, content: bytes) -> None:
    """A file whole, by a temporary one beside it; it keeps its mode and owner, and a link stays a link."""
    path = path.resolve()
    found = path.stat() if path.exists() else None
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    temporary.unlink(missing_ok=True)
    try:
        with create(temporary, None if found is None else stat.S_IMODE(found.st_mode)) as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        if found is not None and (found.st_uid, found.st_gid) != _owner(temporary):
            os.chown(temporary, found.st_uid, found.st_gid, follow_symlinks=False)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
    sync(path.parent)


def _owner(path: Path) -> tuple[int, int]:
    found = path.lstat()
    return found.st_uid, found.st_gid
