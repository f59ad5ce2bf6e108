"""Write one file of an export: hash it while rows are read, then compress and stage it if it differs."""

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

# Bytes in a chunk for a file's threads, and the maximum number of chunks that wait for them.
_CHUNK = 1_000_000
_WAITING = 2
# Bytes that are compressed at once from a temporary file.
_READ = 1_000_000

#: Opens a new file. The file is complete and on disk when the context ends without an error.
Open = Callable[[], AbstractContextManager[BinaryIO]]


class DiscardFile(Exception):
    """Exception that makes the context manager of a staged file discard the file."""


class Sink:
    """Output file that counts, hashes and compresses bytes, and writes them with an `opener`.

    Hashing and compressing have one thread each. They release the GIL, so rows are read meanwhile. Only a
    few chunks wait for these threads. The next `write()`, or waiting for the end, raises their errors.

    `known_digest` is the digest of the published file. If it is given, bytes wait in a temporary file, and
    are only compressed and written if their digest differs.
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
        self._buffer.append(data)
        # Only one thread at a time holds the GIL, and each switch takes time, so hand over long chunks.
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

        The function returns the hexadecimal SHA-256 of the uncompressed bytes. Before calling it, the
        caller can do other work, such as rendering the next page.
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
            # All chunks were submitted for hashing before this task.
            self._hashing.shutdown()
            self.unchanged = self._digest.hexdigest() == self._known_digest
            if not self.unchanged:
                self._compress_temporary_file()

    def _compress_temporary_file(self) -> None:
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
    """Add the file name to errors, or the folder of temporary files if the file has no name."""
    name = getattr(file, "name", None)
    return name_errors(name if isinstance(name, (str, Path)) else gettempdir())


@contextmanager
def open_sink(
    opener: Open | None, stream: Compressor | None, known_digest: str | None = None
) -> Iterator[Sink]:
    """Open a `Sink` and discard its file if the block fails; otherwise the block must call `end()`."""
    sink = Sink(opener, stream, known_digest)
    try:
        yield sink
    except BaseException:
        sink.give_up()
        raise
