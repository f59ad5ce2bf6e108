"""Write one file of an export: hash it while rows are read, then compress and stage it if it differs."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack, suppress
from functools import partial
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryFile, gettempdir
from typing import BinaryIO

from django_sitemaps09.protocol.compression import Compressor
from django_sitemaps09.target.plain import name_errors

# Bytes in a chunk for a file's threads, and the maximum number of chunks that wait for them.
_CHUNK = 1_000_000
_WAITING = 2

#: Opens a new file. The file is complete and on disk when the context ends without an error.
Open = Callable[[], AbstractContextManager[BinaryIO]]


class Sink:
    """Output file that counts, hashes and compresses bytes, and writes them with an `opener`, if any.

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
        # A dry run keeps nothing.
        self._opener: Open = opener or (lambda: Path(os.devnull).open("wb"))  # noqa: SIM115
        self._known_digest = known_digest
        self._stack = ExitStack()
        first_opener: Open = self._opener if known_digest is None else TemporaryFile
        self._file = self._stack.enter_context(first_opener())
        self._thread = ThreadPoolExecutor(1, "sitemap-file")
        # Hashing takes half as long as compressing where entries have many links.
        self._hashing = ThreadPoolExecutor(1, "sitemap-digest")
        self._buffer: list[bytes] = []
        self._futures: deque[Future[None]] = deque()

    def write(self, data: bytes) -> None:
        self._buffer.append(data)
        # Only one thread at a time holds the GIL, and each switch takes time, so hand over long chunks.
        if sum(map(len, self._buffer)) >= _CHUNK:
            self._hand_over()

    def _hand_over(self) -> None:
        data, self._buffer = b"".join(self._buffer), []
        self._futures.append(self._hashing.submit(self._digest.update, data))
        receive = self._compress if self._known_digest is None else self._save
        self._futures.append(self._thread.submit(receive, data))
        while len(self._futures) > 2 * _WAITING:
            self._futures.popleft().result()

    def _compress(self, data: bytes) -> None:
        self._save(data if self._stream is None else self._stream.compress(data))

    def _save(self, data: bytes) -> None:
        self.size += len(data)
        # A temporary file has no name, so errors name its folder.
        name = getattr(self._file, "name", None)
        with name_errors(name if isinstance(name, (str, Path)) else gettempdir()):
            self._file.write(data)

    def end(self) -> Callable[[], str]:
        """End the file, and return a function that waits until it is on disk.

        The function returns the hexadecimal SHA-256 of the uncompressed bytes. Before calling it, the
        caller can do other work, such as rendering the next page.
        """
        if self._buffer:
            self._hand_over()
        self._futures.append(self._thread.submit(self._finish))

        def wait() -> str:
            self._thread.shutdown()
            self._hashing.shutdown()
            for future in self._futures:
                future.result()
            return self._digest.hexdigest()

        return wait

    def _finish(self) -> None:
        with self._stack:
            if self._known_digest is not None:
                # All chunks were submitted for hashing before this task.
                self._hashing.shutdown()
                self.size = 0
                self.unchanged = self._digest.hexdigest() == self._known_digest
                if self.unchanged:
                    return
                temporary_file = self._file
                temporary_file.seek(0)
                self._file = self._stack.enter_context(self._opener())
                for data in iter(partial(temporary_file.read, _CHUNK), b""):
                    self._compress(data)
            if self._stream is not None:
                self._save(self._stream.flush())

    def __enter__(self) -> Sink:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        """Discard the file if the block failed. Otherwise, it must have called `end()`."""
        if kind is not None:
            self._thread.shutdown(cancel_futures=True)
            self._hashing.shutdown(cancel_futures=True)
            # The error of the block is not one of the file, which would be named after it.
            with suppress(CancelledError), self._stack:
                raise CancelledError
