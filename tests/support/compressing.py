"""A section whose pages are compressed, and a strict reader of gzip files."""

from __future__ import annotations

import gzip
import zlib

from tests.support.sections import Numbers

#: Gzip, deflate, no flags (such as that of a name), no time.
HEADER = b"\x1f\x8b\x08\x00\x00\x00\x00\x00"


class Cubes(Numbers):
    """Section whose pages do not compress well."""

    def __init__(self):
        super().__init__(5_000)

    def location(self, item):
        return f"/numbers/{item}/{item**3}/"


# The section that the setting SITEMAPS names.
SECTIONS = {"numbers": Cubes}


def unpacked(data):
    """Return the content of exactly one gzip member, without a second member or other data after it."""
    reader = zlib.decompressobj(31)
    content = reader.decompress(data) + reader.flush()
    assert data.startswith(HEADER)
    assert (reader.eof, reader.unused_data) == (True, b"")
    assert gzip.decompress(data) == content
    return content
