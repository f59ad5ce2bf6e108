"""Gzip compression: by isal if the extra `fast` is installed, else by zlib."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from functools import partial
from importlib import import_module
from types import ModuleType
from typing import BinaryIO, Protocol

# The extra `fast`. Imported once: this process cannot use a package that is installed later.
isal_zlib: ModuleType | None
try:
    isal_zlib = import_module("isal.isal_zlib")
except ImportError:
    isal_zlib = None

#: The default level of zlib. A thread hides most of its time; a higher level takes far more for 1 % less.
DEFAULT_LEVEL = 6
#: The default level for entries with many links to each other, ten times as long as others and mostly
#: alike. It takes half the time of 6, with which a thread could not keep up with the rows, for 38 bytes an
#: entry instead of 21.
LINKED_LEVEL = 3
# From 0 to 3. Level 2 is as fast as 0, for fewer bytes; 3 takes more than twice as long for about as many.
_ISAL_LEVEL = 2
# A gzip header and trailer around the stream; the header has neither a file name nor a time.
_GZIP = 31
_GZIP_MAGIC = b"\x1f\x8b"
# Bytes that are read, and decompressed, at once.
_CHUNK = 1_000_000


class Compressor(Protocol):
    """The interface of the objects that `zlib.compressobj()` returns."""

    def compress(self, data: bytes, /) -> bytes: ...

    def flush(self) -> bytes: ...


def compressor(level: int | None = None, *, linked: bool = False) -> Compressor:
    """Return a new gzip stream with reproducible output. A `level` from 1 to 9 always uses zlib.

    `linked` says that entries have links to each other.
    """
    if level is None and isal_zlib is not None:
        stream: Compressor = isal_zlib.compressobj(_ISAL_LEVEL, isal_zlib.DEFLATED, _GZIP)
        return stream
    default = LINKED_LEVEL if linked else DEFAULT_LEVEL
    return zlib.compressobj(default if level is None else level, zlib.DEFLATED, _GZIP)


def compress(data: bytes, level: int | None = None, *, linked: bool = False) -> bytes:
    """Return a whole gzip file."""
    stream = compressor(level, linked=linked)
    return stream.compress(data) + stream.flush()


def decompress(file: BinaryIO) -> Iterator[bytes]:
    """Yield the content of a file that may be compressed.

    Raise `zlib.error` or `EOFError` if it is damaged.
    """
    data = file.read(_CHUNK)
    chunks = iter(partial(file.read, _CHUNK), b"")
    if not data.startswith(_GZIP_MAGIC):
        yield data
        yield from chunks
        return
    stream = zlib.decompressobj(_GZIP)
    while data:
        while data:
            yield stream.decompress(data, _CHUNK)
            data = stream.unconsumed_tail
        data = next(chunks, b"")
    yield stream.flush()
    if not stream.eof:
        raise EOFError
