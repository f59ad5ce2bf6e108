"""Read entries back from exported files, in a stream."""

from __future__ import annotations

from collections.abc import Iterable
from typing import BinaryIO, NamedTuple

from django_sitemaps09 import protocol
from django_sitemaps09.compression import decompress
from django_sitemaps09.entries import reason_of
from django_sitemaps09.inspector.answers import Entry
from django_sitemaps09.stores import Store
from django_sitemaps09.writer.document import escape

#: Maximum number of files that one search reads.
MAX_FILES = 40
# Maximum length of an entry in bytes.
_MAX_ENTRY = 1_000_000


class SearchResult(NamedTuple):
    """Result of a search for a URL in several files. `is_complete` is false if it ended at the limit."""

    name: str | None
    entry: Entry | None
    files: int
    is_complete: bool
    problems: tuple[str, ...] = ()


def search(store: Store, names: Iterable[str], location: str) -> SearchResult:
    """Search for a URL in files until it is found, in at most `MAX_FILES` files."""
    problems: list[str] = []
    files = 0
    for name in names:
        if files == MAX_FILES:
            return SearchResult(None, None, files, is_complete=False, problems=tuple(problems))
        files += 1
        try:
            entry = find_entry(store, name, location)
        except Exception as error:  # noqa: BLE001 each storage raises its own errors
            problems.append(f"{name} cannot be read: {reason_of(error)}")
            continue
        if entry is not None:
            return SearchResult(name, entry, files, is_complete=True, problems=tuple(problems))
    return SearchResult(None, None, files, is_complete=True, problems=tuple(problems))


def find_entry(store: Store, name: str, location: str) -> Entry | None:
    """Return the entry of a URL in a file, or `None`. A damaged file raises `EOFError` or `zlib.error`."""
    file = store.open(name)
    if file is None:
        return None
    with file:
        if name.endswith(".txt"):
            return _find(file, f"\n{location}\n".encode(), b"\n")
        [escaped_location] = escape([location], ())
        return _find(file, f"<url><loc>{escaped_location}</loc>".encode(), b"</url>")


def _find(file: BinaryIO, start: bytes, end: bytes) -> Entry | None:
    """Return the text that begins with `start` and ends with `end`."""
    # The first line of a text file has no line end before it.
    pending, size, is_found = b"\n" if start[:1] == b"\n" else b"", 0, False
    for chunk in decompress(file):
        size += len(chunk)
        pending += chunk
        position = pending.find(start)
        if position >= 0:
            pending, is_found = pending[position:], True
            stop = pending.find(end, len(start) - len(end))
            if stop >= 0:
                return Entry(pending[: stop + len(end)].decode(errors="replace").strip())
        else:
            pending = pending[1 - len(start) :]
        if size > protocol.MAX_BYTES or (is_found and len(pending) > _MAX_ENTRY):
            return None
    return None
