"""Read entries back from exported files, in a stream."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from django_sitemaps09 import protocol
from django_sitemaps09.entries import reason_of
from django_sitemaps09.inspector.answers import Entry
from django_sitemaps09.stores import Store
from django_sitemaps09.writer.lines import find_line

#: Maximum number of files that one search reads.
MAX_FILES = 40


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
        line = find_line(file, protocol.MAX_BYTES, location)
    return None if line is None else Entry(line)
