"""Read entries back from documents that the writer has written: each entry is on a line of its own."""

from __future__ import annotations

from collections.abc import Iterator
from html import unescape
from typing import BinaryIO

from django_sitemaps09.compression import decompress
from django_sitemaps09.writer.document import escape

# Maximum length of a line in bytes. The rest of a longer line is skipped.
_MAX_LINE = 1_000_000
_ENTRY, _END = b"<url><loc>", b"</url>"
_STARTS = (_ENTRY, b"http")


def entry_lines(file: BinaryIO, most: int) -> Iterator[bytes]:
    """Yield the lines with an element `url`, or with a URL in a text file, of the first `most` bytes.

    Raise `zlib.error` or `EOFError` if the file is damaged.
    """
    rest = b""
    for piece in decompress(file, most):
        *lines, rest = (rest + piece).split(b"\n")
        for line in lines:
            if line.startswith(_STARTS):
                yield line[:_MAX_LINE]
        rest = rest[:_MAX_LINE]
    if rest.startswith(_STARTS):
        yield rest


def location_of(line: bytes) -> str:
    """Return the URL of a line from `entry_lines()`."""
    if line.startswith(_ENTRY):
        line = line.removeprefix(_ENTRY).partition(b"</loc>")[0]
        return unescape(line.decode(errors="replace"))
    return line.decode(errors="replace")


def find_line(file: BinaryIO, most: int, location: str) -> str | None:
    """Return the complete line with the entry of a URL, or `None`."""
    [escaped] = escape([location], ())
    start, text = _ENTRY + f"{escaped}</loc>".encode(), location.encode()
    for line in entry_lines(file, most):
        if line == text or (line.startswith(start) and line.endswith(_END)):
            return line.decode(errors="replace")
    return None
