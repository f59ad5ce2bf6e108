"""Write the entries of one page as documents, until the batches end or a limit is reached."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from itertools import accumulate, islice, takewhile
from typing import NamedTuple, TypeAlias

from django_sitemaps09.entries import Batch, Column, ItemError, excerpt
from django_sitemaps09.protocol import Limits

# The most keys of a page that are remembered, from which `WriteResult.middle` is chosen.
_MARKS = 1_000

#: The text of elements in parts: literals that all share, and columns of texts that differ.
Parts: TypeAlias = "Sequence[str | Sequence[str]]"


class WriteResult(NamedTuple):
    """The result of writing a document. `lastmod` is the newest one if all entries have one.

    `cut` is the key of the last item written if the next one would exceed the limits. `middle` is then
    the key of an item about halfway to it.
    """

    urls: int
    bytes: int
    lastmod: str | None
    cut: Hashable | None
    errors: tuple[ItemError, ...]
    middle: Hashable | None = None


class Format(NamedTuple):
    """A kind of document. `head` takes the namespaces that its entries can use, by prefix.

    `parts` takes a batch and the base that its paths are joined to, and returns its entries in parts.
    """

    head: Callable[[Mapping[str, str]], bytes]
    parts: Callable[[Batch, str], Parts]
    tail: bytes


class Destination(NamedTuple):
    """The destination of a document, and the base of its locations: `https://www.example.com` or empty."""

    write: Callable[[bytes], object]
    base: str = ""


def write_documents(
    kind: Format,
    batches: Iterable[Batch],
    destinations: Sequence[Destination],
    limits: Limits | None = None,
    namespaces: Mapping[str, str] | None = None,
) -> list[WriteResult]:
    """Write the same entries to several documents that differ in their bases, until one of them is full.

    The entries of one item stay together; an item that does not fit on an empty page is skipped with an
    error. Raise `TextError` for text that XML cannot contain.
    """
    documents = _Documents(kind, destinations, limits, kind.head(namespaces or {}))
    for batch in batches:
        documents.add(batch)
        if documents.cut is not None:
            break
    return documents.end()


class _Documents:
    """Documents that are written in lockstep."""

    def __init__(
        self, kind: Format, destinations: Sequence[Destination], limits: Limits | None, head: bytes
    ) -> None:
        self.cut: Hashable | None = None
        self._kind = kind
        self._destinations = destinations
        self._limits = limits
        self._urls = 0
        self._lastmods: list[str | None] = []
        self._errors: list[ItemError] = []
        self._marks = _Marks()
        self._sizes = [len(kind.tail)] * len(destinations)
        self._write([head] * len(destinations))

    def add(self, batch: Batch) -> None:
        """Add all items of a batch, or as many as fit."""
        self._errors += batch.errors
        texts = [
            _pieces(self._kind.parts(batch, destination.base), len(batch.keys))
            for destination in self._destinations
        ]
        chunks = ["".join(pieces).encode() for pieces in texts]
        counts = batch.counts()
        if self._limits is None:
            # No keys are remembered: they can be the items themselves, which would stay in memory.
            self._take(chunks, sum(counts), batch.lastmods, 0, len(batch.keys))
        elif self._has_room(chunks, sum(counts), self._limits):
            self._marks.add(batch.keys)
            self._take(chunks, sum(counts), batch.lastmods, 0, len(batch.keys))
        else:
            item_texts = [_join_pieces(pieces, len(batch.keys)) for pieces in texts]
            self._add_what_fits(batch, item_texts, counts, self._limits)

    def _add_what_fits(
        self, batch: Batch, texts: Sequence[Sequence[str]], counts: Sequence[int], limits: Limits
    ) -> None:
        start = 0
        while start < len(batch.keys) and self.cut is None:
            stop = _find_stop(texts, counts, start, limits, self._urls, self._sizes)
            chunks = ["".join(items[start:stop]).encode() for items in texts]
            self._marks.add(batch.keys[start:stop])
            self._take(chunks, sum(counts[start:stop]), batch.lastmods, start, stop)
            if stop < len(batch.keys):
                if self._urls:
                    self.cut = self._marks.last
                else:
                    self._errors.append(
                        ItemError(excerpt(batch.keys[stop]), "location", "does not fit on a page")
                    )
                    stop += 1
            start = stop

    def _has_room(self, chunks: Sequence[bytes], count: int, limits: Limits) -> bool:
        sizes = zip(self._sizes, chunks, strict=True)
        return self._urls + count <= limits.urls and all(
            size + len(chunk) <= limits.bytes for size, chunk in sizes
        )

    def _take(self, chunks: Sequence[bytes], count: int, lastmods: Column, start: int, stop: int) -> None:
        self._write(chunks)
        self._urls += count
        self._lastmods += _newest_lastmods(lastmods, start, stop)

    def _write(self, chunks: Sequence[bytes]) -> None:
        for place, (destination, chunk) in enumerate(zip(self._destinations, chunks, strict=True)):
            if chunk:
                destination.write(chunk)
                self._sizes[place] += len(chunk)

    def end(self) -> list[WriteResult]:
        """Write the last bytes and return the result for each document."""
        for destination in self._destinations:
            destination.write(self._kind.tail)
        has_lastmods = bool(self._lastmods) and None not in self._lastmods
        newest = max(filter(None, self._lastmods)) if has_lastmods else None
        middle = None if self.cut is None else self._marks.middle()
        # An error in a declaration is reported with each batch.
        errors = tuple(dict.fromkeys(self._errors))
        return [WriteResult(self._urls, size, newest, self.cut, errors, middle) for size in self._sizes]


def elements(kind: Format, batch: Batch, base: str) -> list[str]:
    """Return the text of each item of a batch: one entry for each of its listed locations."""
    return items(kind.parts(batch, base), len(batch.keys))


def items(parts: Parts, count: int) -> list[str]:
    """Return the text of each of `count` items."""
    return _join_pieces(_pieces(parts, count), count)


class _Marks:
    """Evenly spread keys of a page, remembered in case it has to be split."""

    def __init__(self) -> None:
        self.last: Hashable | None = None
        self._keys: list[Hashable] = []
        self._count = 0
        self._step = 1

    def add(self, keys: Sequence[Hashable]) -> None:
        self._keys += keys[-self._count % self._step :: self._step]
        self._count += len(keys)
        self.last = keys[-1] if keys else self.last
        while len(self._keys) > _MARKS:
            self._keys = self._keys[::2]
            self._step *= 2

    def middle(self) -> Hashable:
        """Return the key of the item halfway through the page, or of one shortly before it."""
        return self._keys[max(self._count // 2 - 1, 0) // self._step]


def _find_stop(
    documents: Sequence[Sequence[str]],
    counts: Sequence[int],
    start: int,
    limits: Limits,
    urls: int,
    sizes: Sequence[int],
) -> int:
    """Return the end of the items from `start` on that fit into all documents."""
    stop = start + _count_fitting(islice(counts, start, None), limits.urls - urls)
    for texts, size in zip(documents, sizes, strict=True):
        lengths = (len(text.encode()) for text in islice(texts, start, stop))
        stop = start + _count_fitting(lengths, limits.bytes - size)
    return stop


def _count_fitting(amounts: Iterable[int], room: int) -> int:
    """Return how many of the first amounts fit into `room`."""
    return sum(1 for _ in takewhile(room.__ge__, accumulate(amounts)))


def _newest_lastmods(lastmods: Column, start: int, stop: int) -> list[str | None]:
    """Return a list with the newest lastmod of these items, or with `None` if one of them has none."""
    if start == stop:
        return []
    part = [lastmods] if lastmods is None or isinstance(lastmods, str) else lastmods[start:stop]
    return [None] if not all(part) else [max(part)]  # type: ignore[type-var]


def _join_pieces(pieces: Sequence[str], count: int) -> list[str]:
    width = len(pieces) // max(count, 1)
    return ["".join(pieces[start : start + width]) for start in range(0, len(pieces), width or 1)]


def _pieces(parts: Parts, count: int) -> list[str]:
    """Return the pieces of all items in order, equally many for each. Joined, they are the text.

    Interleaving columns and literals takes a third of the time of formatting.
    """
    pieces = [""] * (len(parts) * count)
    for place, part in enumerate(parts):
        column = [part] * count if isinstance(part, str) else part
        if len(column) != count:
            raise ValueError(f"A column has {len(column)} texts for {count} items")
        pieces[place :: len(parts)] = column
    return pieces
