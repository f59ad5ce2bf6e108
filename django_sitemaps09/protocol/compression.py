"""Gzip compression with isal if the extra `fast` is installed, else with zlib."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator
from functools import partial
from importlib import import_module
from itertools import chain
from types import ModuleType
from typing import BinaryIO, Protocol

isal_zlib: ModuleType | None
try:
    isal_zlib = import_module("isal.isal_zlib")
except ImportError:
    isal_zlib = None

#: The default compression level of zlib. A higher level takes much more time and saves only 1%.
DEFAULT_LEVEL = 6
#: The default level for entries with many alternates, which are long and very similar. It takes half the
#: time of level 6, which would be longer than reading the rows, and 38 bytes an entry instead of 21.
LINKED_LEVEL = 3
# The level of isal, from 0 to 3. Level 2 is as fast as level 0. Level 3 takes twice as long.
_ISAL_LEVEL = 2
# Window bits that select gzip. The header then contains neither a file name nor a time.
_GZIP = 31
#: The first bytes of every gzip file.
GZIP_MAGIC = b"\x1f\x8b"
# Bytes of the checksum and the length at the end of a member.
_TRAILER_SIZE = 8
# Maximum number of bytes to read or decompress at a time. Of a damaged file, no more than this is lost.
_CHUNK = 131_072


class Compressor(Protocol):
    """Protocol for the objects that `zlib.compressobj()` returns."""

    def compress(self, data: bytes, /) -> bytes: ...
    def flush(self) -> bytes: ...


def compressor(level: int | None = None, *, linked: bool = False) -> Compressor:
    """Return a new gzip stream with reproducible output. A `level` from 1 to 9 always uses zlib."""
    if level is None and isal_zlib is not None:
        stream: Compressor = isal_zlib.compressobj(_ISAL_LEVEL, isal_zlib.DEFLATED, _GZIP)
        return stream
    default = LINKED_LEVEL if linked else DEFAULT_LEVEL
    return zlib.compressobj(default if level is None else level, zlib.DEFLATED, _GZIP)


def compress(data: bytes, level: int | None = None, *, linked: bool = False) -> bytes:
    stream = compressor(level, linked=linked)
    return stream.compress(data) + stream.flush()


class TrailingDataError(zlib.error):
    """Other data, which begin with `data`, follow the compressed data."""

    def __init__(self, data: bytes) -> None:
        super().__init__("there is data after the end of the gzip stream")
        self.data = data


def gunzip(chunks: Iterable[bytes], most: int, *, members: bool = False) -> Iterator[bytes]:
    """Yield the content of gzip data in pieces.

    There are at most `most` bytes and one, which shows that the content is longer. With `members`, the data
    can have several. Raise `zlib.error` if they are damaged or other data follow, and `EOFError` if they
    are truncated, after the pieces before that.
    """
    stream, left = zlib.decompressobj(_GZIP), most + 1
    pieces = _apart_from_trailer(chunks)
    for data in pieces:
        while data:
            if stream.eof:
                if not members or not data.startswith(GZIP_MAGIC[:1]):
                    raise TrailingDataError(data + next(pieces, b""))
                stream = zlib.decompressobj(_GZIP)
            if piece := stream.decompress(data, min(_CHUNK, left)):
                yield piece
            left -= len(piece)
            if not left:
                return
            data = stream.unused_data if stream.eof else stream.unconsumed_tail
    if rest := stream.flush()[:left]:
        yield rest
    if not stream.eof:
        raise EOFError


def _apart_from_trailer(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the checksum at the end by itself, because zlib returns nothing from a piece with an error."""
    rest = b""
    for chunk in chunks:
        rest += chunk
        yield rest[:-_TRAILER_SIZE]
        rest = rest[-_TRAILER_SIZE:]
    yield rest


def decompress(file: BinaryIO, most: int) -> Iterator[bytes]:
    """Yield the content of a file in pieces like `gunzip()`, decompressed if it is a gzip file."""
    head = file.read(max(_CHUNK, len(GZIP_MAGIC)))
    chunks = chain([head], iter(partial(file.read, _CHUNK), b""))
    if head.startswith(GZIP_MAGIC):
        yield from gunzip(chunks, most)
        return
    left = most + 1
    while left and (chunk := next(chunks, b"")[:left]):
        yield chunk
        left -= len(chunk)


def decompress_whole(content: bytes, most: int) -> bytes | None:
    """Return a gzip file decompressed; `None` if it is damaged, or expands to more than `most` bytes."""
    try:
        # zlib copies the rest of a chunk after each piece, so a chunk must be short.
        chunks = (content[start : start + _CHUNK] for start in range(0, len(content), _CHUNK))
        data = b"".join(gunzip(chunks, most))
    except (zlib.error, EOFError):
        return None
    return data if len(data) <= most else None
