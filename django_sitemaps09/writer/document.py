"""Write the entries of one page as documents, until the batches end or a limit is reached."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from itertools import accumulate, islice, takewhile
from typing import NamedTuple, TypeAlias

from django_sitemaps09.entries import Batch, Column, ItemError, TemplateColumn, excerpt
from django_sitemaps09.protocol import Limits

#: XML in parts: literals that are the same for all items, and columns with one string for each item.
Parts: TypeAlias = "Sequence[str | Sequence[str]]"


class WriteResult(NamedTuple):
    """The result of writing a document.

    `lastmod` is the newest lastmod, or `None` if an entry has no lastmod. If the document is full, `cut` is
    the key of the last written item. `items` is the number of written items; each has one or more URLs.
    """

    urls: int
    bytes: int
    lastmod: str | None
    cut: Hashable | None
    errors: tuple[ItemError, ...]
    items: int


class Format(NamedTuple):
    """A document format.

    `head` takes the namespaces of the entries by prefix, and returns the first bytes. `parts` takes a batch
    and the base URL for paths, and returns the entries of all items in parts.
    """

    head: Callable[[Mapping[str, str]], bytes]
    parts: Callable[[Batch, str], Parts]
    tail: bytes


class Destination(NamedTuple):
    """A function that writes the bytes of one document, and the (possibly empty) base URL of its paths."""

    write: Callable[[bytes], object]
    base: str = ""


def write_documents(
    kind: Format,
    batches: Iterable[Batch],
    destinations: Sequence[Destination],
    limits: Limits | None = None,
    namespaces: Mapping[str, str] | None = None,
) -> list[WriteResult]:
    """Write the same entries to several documents with different base URLs, until a document is full.

    All entries of an item are in the same document. An item that does not fit into an empty document is
    skipped with an error. Raise `TextError` for a string that XML cannot contain.
    """
    documents = _Documents(kind, destinations, limits, kind.head(namespaces or {}))
    for batch in batches:
        documents.add(batch)
        if documents.cut is not None:
            break
    return documents.end()


class _Documents:
    """Several documents that are filled with the same items."""

    def __init__(
        self, kind: Format, destinations: Sequence[Destination], limits: Limits | None, head: bytes
    ) -> None:
        self.cut: Hashable | None = None
        self._kind = kind
        self._destinations = destinations
        self._limits = limits
        self._urls = self._items = 0
        self._lastmods: list[str | None] = []
        self._errors: list[ItemError] = []
        self._last: Hashable | None = None
        self._sizes = [len(kind.tail)] * len(destinations)
        self._write([head] * len(destinations))

    def add(self, batch: Batch) -> None:
        """Write all items of a batch, or those that fit into every document."""
        limits = self._limits
        self._errors += batch.errors
        texts = [
            _pieces(self._kind.parts(batch, destination.base), len(batch.keys))
            for destination in self._destinations
        ]
        chunks = ["".join(pieces).encode() for pieces in texts]
        counts = batch.counts()
        if limits is None or self._has_room(chunks, sum(counts), limits):
            self._last = batch.keys[-1] if batch.keys else self._last
            self._take(chunks, sum(counts), batch.lastmods, 0, len(batch.keys))
        else:
            item_texts = [_join_pieces(pieces, len(batch.keys)) for pieces in texts]
            self._add_fitting(batch, item_texts, counts, limits)

    def _add_fitting(
        self, batch: Batch, texts: Sequence[Sequence[str]], counts: Sequence[int], limits: Limits
    ) -> None:
        start, keys = 0, batch.keys
        while start < len(keys) and self.cut is None:
            stop = start + _count_fitting(islice(counts, start, None), limits.urls - self._urls)
            for items, size in zip(texts, self._sizes, strict=True):
                lengths = (len(text.encode()) for text in islice(items, start, stop))
                stop = start + _count_fitting(lengths, limits.bytes - size)
            chunks = ["".join(items[start:stop]).encode() for items in texts]
            self._last = keys[stop - 1] if stop > start else self._last
            self._take(chunks, sum(counts[start:stop]), batch.lastmods, start, stop)
            if stop < len(keys) and self._urls:
                self.cut = self._last
            elif stop < len(keys):
                reason = "its entries alone exceed the limits of a page"
                self._errors.append(ItemError(excerpt(keys[stop]), "location", reason))
                stop += 1
            start = stop

    def _has_room(self, chunks: Sequence[bytes], count: int, limits: Limits) -> bool:
        sizes = (size + len(chunk) for size, chunk in zip(self._sizes, chunks, strict=True))
        return self._urls + count <= limits.urls and all(size <= limits.bytes for size in sizes)

    def _take(self, chunks: Sequence[bytes], count: int, lastmods: Column, start: int, stop: int) -> None:
        self._write(chunks)
        self._urls += count
        self._items += stop - start
        self._lastmods += _newest_lastmods(lastmods, start, stop)

    def _write(self, chunks: Sequence[bytes]) -> None:
        for place, (destination, chunk) in enumerate(zip(self._destinations, chunks, strict=True)):
            if chunk:
                destination.write(chunk)
                self._sizes[place] += len(chunk)

    def end(self) -> list[WriteResult]:
        """Write the closing tags, and return the result for each document."""
        for destination in self._destinations:
            destination.write(self._kind.tail)
        has_lastmods = bool(self._lastmods) and None not in self._lastmods
        newest = max(filter(None, self._lastmods)) if has_lastmods else None
        # Each batch repeats the errors of its declaration.
        errors = tuple(dict.fromkeys(self._errors))
        return [
            WriteResult(self._urls, size, newest, self.cut, errors, self._items) for size in self._sizes
        ]


def elements(kind: Format, batch: Batch, base: str) -> list[str]:
    """Return the XML or text of each item: one entry for each listed location."""
    return items(kind.parts(batch, base), len(batch.keys))


def items(parts: Parts, count: int) -> list[str]:
    """Join the parts to one string for each of `count` items."""
    return _join_pieces(_pieces(parts, count), count)


def _count_fitting(amounts: Iterable[int], room: int) -> int:
    return sum(1 for _ in takewhile(room.__ge__, accumulate(amounts)))


def _newest_lastmods(lastmods: Column, start: int, stop: int) -> list[str | None]:
    """Return a list with the newest lastmod of these items. It contains `None` if a lastmod is missing."""
    if start == stop:
        return []
    part = [lastmods] if lastmods is None or isinstance(lastmods, str) else lastmods[start:stop]
    return [None] if not all(part) else [max(part)]  # type: ignore[type-var]


def _join_pieces(pieces: Sequence[str], count: int) -> list[str]:
    width = len(pieces) // max(count, 1)
    return ["".join(pieces[start : start + width]) for start in range(0, len(pieces), width or 1)]


def _pieces(parts: Parts, count: int) -> list[str]:
    """Return the strings to concatenate for all items in order, the same number for each item.

    Interleaving columns and literals takes a third of the time of formatting each item.
    """
    pieces = [""] * (len(parts) * count)
    for place, part in enumerate(parts):
        column = [part] * count if isinstance(part, str) else part
        if len(column) != count:
            raise ValueError(f"A column has {len(column)} values for {count} items")
        pieces[place :: len(parts)] = column
    return pieces


def _lines(batch: Batch, base: str) -> Parts:
    """Return a line for each location. Locations are URIs and never contain line endings."""
    parts = []
    for localization in batch.listed_localizations:
        locations = localization.locations
        if isinstance(locations, TemplateColumn):
            first = base if locations.literals[0][:1] == "/" else ""
            parts.append([f"{first}{text}\n" for text in locations.texts()])
        else:
            lines = (f"{base}{text}" if text and text[0] == "/" else text for text in locations)
            parts.append([f"{line}\n" if line else "" for line in lines])
    return parts


#: A text file with one URL on each line ("Text file" in the protocol).
TEXT = Format(lambda namespaces: b"", _lines, b"")
