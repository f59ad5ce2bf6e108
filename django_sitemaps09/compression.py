"""Gzip compression with isal if the extra `fast` is installed, else with zlib."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from functools import partial
from importlib import import_module
from types import ModuleType
from typing import BinaryIO, Protocol

# The extra `fast`.
isal_zlib: ModuleType | None
try:
    isal_zlib = import_module("isal.isal_zlib")
except ImportError:
    isal_zlib = None

#: The default compression level of zlib. A higher level takes much more time and saves only 1%.
DEFAULT_LEVEL = 6
#: The default level for entries with many alternates. Such entries are ten times as long and very similar.
#: Level 3 takes half the time of level 6, and 38 bytes for each entry instead of 21. Level 6 would take
#: longer than reading the rows.
LINKED_LEVEL = 3
# The level of isal, from 0 to 3. Level 2 is as fast as level 0. Level 3 takes twice as long.
_ISAL_LEVEL = 2
# Window bits that select gzip. The header then contains neither a file name nor a time.
_GZIP = 31
#: The first bytes of every gzip file.
GZIP_MAGIC = b"\x1f\x8b"
# Maximum number of bytes to read or decompress at a time.
_CHUNK = 1_000_000


class Compressor(Protocol):
    """Protocol for the objects that `zlib.compressobj()` returns."""

    def compress(self, data: bytes, /) -> bytes: ...

    def flush(self) -> bytes: ...


def compressor(level: int | None = None, *, linked: bool = False) -> Compressor:
    """Return a new gzip stream with reproducible output. A `level` from 1 to 9 always uses zlib.

    `linked` selects the default level for entries with many alternates.
    """
    if level is None and isal_zlib is not None:
        stream: Compressor = isal_zlib.compressobj(_ISAL_LEVEL, isal_zlib.DEFLATED, _GZIP)
        return stream
    default = LINKED_LEVEL if linked else DEFAULT_LEVEL
    return zlib.compressobj(default if level is None else level, zlib.DEFLATED, _GZIP)


def compress(data: bytes, level: int | None = None, *, linked: bool = False) -> bytes:
    """Return `data` as a gzip file."""
    stream = compressor(level, linked=linked)
    return stream.compress(data) + stream.flush()


def decompress_whole(content: bytes, most: int) -> bytes | None:
    """Return a gzip file decompressed; `None` if it is damaged, or expands to more than `most` bytes."""
    stream = zlib.decompressobj(_GZIP)
    try:
        data = stream.decompress(content, most + 1)
    except zlib.error:
        return None
    return data if stream.eof and len(data) <= most and not stream.unused_data else None


def decompress(file: BinaryIO) -> Iterator[bytes]:
    """Yield the content of a file in chunks, decompressed if it is a gzip file.

    Raise `zlib.error` or `EOFError` if it is damaged, or if anything follows the compressed data.
    """
    data = file.read(_CHUNK)
    chunks = iter(partial(file.read, _CHUNK), b"")
    if not data.startswith(GZIP_MAGIC):
        yield data
        yield from chunks
        return
    stream = zlib.decompressobj(_GZIP)
    while data and not stream.eof:
        while data:
            yield stream.decompress(data, _CHUNK)
            data = stream.unconsumed_tail
        data = next(chunks, b"")
    yield stream.flush()
    if not stream.eof:
        raise EOFError
    if data or stream.unused_data:
        raise zlib.error("there is data after the end of the gzip stream")
