"""Write one file of an export: hash it while its rows are read, compress and stage it if it differs."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from functools import partial
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryFile, gettempdir
from typing import BinaryIO

from django_sitemaps09.compression import Compressor
from django_sitemaps09.stores.plain import name_errors

# Bytes that a file's thread gets at once, and how many such chunks may wait there.
_CHUNK = 1_000_000
_WAITING = 2
# Bytes that are compressed at once after they have waited in a temporary file.
_READ = 1_000_000

#: Opens a new file, which is complete and on disk when its block ends without an error.
Open = Callable[[], AbstractContextManager[BinaryIO]]


class DiscardFile(Exception):
    """Passed to the context manager of a staged file to discard it."""


class Sink:
    """Output of one file: counts, hashes and compresses its bytes, and writes them if there is a place.

    Hashing and compressing have a thread each, and release the GIL to the reading of rows. Only a few
    chunks wait there. Errors are raised by the next `write`, or at the end.

    If the digest of the published file is `known_digest`, uncompressed bytes wait in a temporary file. They
    are compressed and written only if their digest differs.
    """

    def __init__(
        self, opener: Open | None, stream: Compressor | None, known_digest: str | None = None
    ) -> None:
        self.size = 0
        self.unchanged = False
        self._digest = sha256()
        self._stream = stream
        self._opener = opener
        self._known_digest = known_digest
        self._stack = ExitStack()
        self._file: BinaryIO | None = None
        if known_digest is not None:
            self._file = self._stack.enter_context(TemporaryFile())  # noqa: SIM115
        elif opener is not None:
            self._file = self._stack.enter_context(opener())
        self._thread = ThreadPoolExecutor(1, "sitemap-file")
        # Hashing takes half as long as compressing where entries have many links.
        self._hashing = ThreadPoolExecutor(1, "sitemap-digest")
        self._buffer: list[bytes] = []
        self._write_futures: deque[Future[None]] = deque()
        self._hash_futures: deque[Future[None]] = deque()

    def write(self, data: bytes) -> None:
        """Write uncompressed bytes."""
        self._buffer.append(data)
        # Threads take turns at the GIL, and each switch costs both of them time.
        if sum(map(len, self._buffer)) >= _CHUNK:
            self._hand_over()

    def _hand_over(self) -> None:
        data, self._buffer = b"".join(self._buffer), []
        self._hash_futures.append(self._hashing.submit(self._digest.update, data))
        self._write_futures.append(self._thread.submit(self._receive, data))
        if len(self._write_futures) > _WAITING:
            self._hash_futures.popleft().result()
            self._write_futures.popleft().result()

    def _receive(self, data: bytes) -> None:
        if self._known_digest is not None and self._file is not None:
            with _name_errors(self._file):
                self._file.write(data)
        else:
            self._compress(data)

    def _compress(self, data: bytes) -> None:
        self._out(data if self._stream is None else self._stream.compress(data))

    def _out(self, data: bytes) -> None:
        self.size += len(data)
        if self._file is not None:
            with _name_errors(self._file):
                self._file.write(data)

    def end(self) -> Callable[[], str]:
        """End the file, and return a function that waits until it is on disk.

        That function returns the hexadecimal SHA-256 of the bytes that were given to `write`. Until it is
        called, the caller can do something else, such as render the next page.
        """
        if self._buffer:
            self._hand_over()
        self._write_futures.append(self._thread.submit(self._finish))

        def wait() -> str:
            self._thread.shutdown()
            self._hashing.shutdown()
            for future in self._write_futures:
                future.result()
            return self._digest.hexdigest()

        return wait

    def _finish(self) -> None:
        with self._stack:
            if self._known_digest is None:
                self._flush()
                return
            # Everything to hash was handed over before this task was.
            self._hashing.shutdown()
            self.unchanged = self._digest.hexdigest() == self._known_digest
            if not self.unchanged:
                self._compress_what_waits()

    def _compress_what_waits(self) -> None:
        raw, self._file = self._file, None
        if raw is None:
            return
        raw.seek(0)
        with ExitStack() as stack:
            if self._opener is not None:
                self._file = stack.enter_context(self._opener())
            for data in iter(partial(raw.read, _READ), b""):
                self._compress(data)
            self._flush()

    def _flush(self) -> None:
        if self._stream is not None:
            self._out(self._stream.flush())

    def give_up(self) -> None:
        """Close the file and discard what was written."""
        self._thread.shutdown(cancel_futures=True)
        self._hashing.shutdown(cancel_futures=True)
        with suppress(DiscardFile):
            self._stack.__exit__(DiscardFile, DiscardFile(), None)


def _name_errors(file: BinaryIO) -> AbstractContextManager[None]:
    """Name the file in errors, or the folder of temporary files if it has no name."""
    name = getattr(file, "name", None)
    return name_errors(name if isinstance(name, (str, Path)) else gettempdir())


@contextmanager
def open_sink(
    opener: Open | None, stream: Compressor | None, known_digest: str | None = None
) -> Iterator[Sink]:
    """Open a `Sink` that is discarded if the block fails; otherwise the block must call `end()`."""
    sink = Sink(opener, stream, known_digest)
    try:
        yield sink
    except BaseException:
        sink.give_up()
        raise
