"""Gzip, by the codec that suits: a fast one where the extra `fast` is installed, else zlib."""

from __future__ import annotations

import zlib
from importlib import import_module
from types import ModuleType
from typing import Protocol

# The extra `fast`. Known at import: nothing that is installed later is of use to this process.
isal_zlib: ModuleType | None
try:
    isal_zlib = import_module("isal.isal_zlib")
except ImportError:
    isal_zlib = None

#: zlib's. An export hides most of its time in a thread; a higher level takes far more for 1 % less.
DEFAULT_LEVEL = 6
#: The same for entries with many links to each other, ten times as long as others and mostly alike: half
#: the time of 6, with which a thread could not keep up with the rows, for 38 bytes an entry and not 21.
LINKED_LEVEL = 3
# Of 0 to 3. It is as fast as 0, for fewer bytes; 3 takes more than twice as long for about as many.
_ISAL_LEVEL = 2
# A gzip header and trailer around the stream; the header has no name and no time.
_GZIP = 31


class Compressor(Protocol):
    """What `zlib.compressobj()` gives."""

    def compress(self, data: bytes, /) -> bytes: ...

    def flush(self) -> bytes: ...


def compressor(level: int | None = None, *, linked: bool = False) -> Compressor:
    """A new gzip stream; the same input gives the same bytes. A `level` from 1 to 9 is always zlib's.

    `linked` says that entries have links to each other.
    """
    if level is None and isal_zlib is not None:
        fast: Compressor = isal_zlib.compressobj(_ISAL_LEVEL, isal_zlib.DEFLATED, _GZIP)
        return fast
    default = LINKED_LEVEL if linked else DEFAULT_LEVEL
    return zlib.compressobj(default if level is None else level, zlib.DEFLATED, _GZIP)


def compress(data: bytes, level: int | None = None, *, linked: bool = False) -> bytes:
    """A whole gzip file."""
    stream = compressor(level, linked=linked)
    return stream.compress(data) + stream.flush()
