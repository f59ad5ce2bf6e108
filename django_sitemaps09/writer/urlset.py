"""Batches to the bytes of one urlset.

Element order is the XSD's: `loc`, `lastmod`, `changefreq`, `priority`, then what is foreign to it.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from itertools import accumulate, repeat
from typing import NamedTuple

from django_sitemaps09.entries import Alternate, Batch, Column, Composed, ItemError
from django_sitemaps09.protocol import SITEMAP_NAMESPACE, XHTML_NAMESPACE
from django_sitemaps09.writer.text import DECLARATION, escaped

_TAIL = b"</urlset>\n"
# Keys of a page that are remembered until it is whole.
_MARKS = 1_000


class Limits(NamedTuple):
    """The most that one document may hold; `bytes` counts the closing tag."""

    urls: int
    bytes: int


class Written(NamedTuple):
    """What a urlset came to. `lastmod` is the newest one if all entries have one.

    `cut` is the key of the last item written, where the limits did not admit the next one; `middle`
    then is the key of one about half way to it.
    """

    urls: int
    bytes: int
    lastmod: str | None
    cut: Hashable | None
    errors: tuple[ItemError, ...]
    middle: Hashable | None = None


def write_urlset(
    batches: Iterable[Batch],
    write: Callable[[bytes], object],
    limits: Limits | None = None,
    *,
    alternates: bool = False,
) -> Written:
    """One urlset to `write`, batch by batch, until the batches end or the next item would not fit.

    `alternates` says that entries can have some: their namespace is declared only then. The entries
    of one item are never parted; an item that fits no document is left out with an error.
    `TextError` for a text that XML cannot hold.
    """
    head = urlset_head(alternates=alternates)
    write(head)
    size, urls, cut = len(head) + len(_TAIL), 0, None
    lastmods: list[str | None] = []
    errors: list[ItemError] = []
    last: Hashable | None = None
    marks = _Marks()
    for batch in batches:
        errors += batch.errors
        pieces = _pieces(batch)
        chunk = "".join(pieces).encode()
        count = len(batch.keys)
        if limits is None or (urls + count <= limits.urls and size + len(chunk) <= limits.bytes):
            write(chunk)
            if limits is not None:
                marks.add(batch.keys, urls)
            size, urls = size + len(chunk), urls + count
            last = batch.keys[-1] if count else last
            lastmods += _ends(batch.lastmods, 0, count)
            continue
        texts = _elements(pieces, count)
        start = 0
        while start < count and cut is None:
            chunk, stop = _fitting(batch.keys, texts, start, limits, urls, size)
            if stop > start:
                write(chunk)
                marks.add(batch.keys[start:stop], urls)
                size, urls, last = size + len(chunk), urls + stop - start, batch.keys[stop - 1]
                lastmods += _ends(batch.lastmods, start, stop)
            if stop < count:
                if urls:
                    cut = last
                else:
                    errors.append(ItemError(str(batch.keys[start]), "location", "fits no page"))
                    stop = _next_item(batch.keys, start)
            start = stop
        if cut is not None:
            break
    write(_TAIL)
    dated = bool(lastmods) and None not in lastmods
    newest = max(filter(None, lastmods)) if dated else None
    middle = None if cut is None else marks.key(urls // 2)
    return Written(urls, size, newest, cut, tuple(errors), middle)


class _Marks:
    """Some keys of a page, evenly spread, which are remembered in case it has to be split."""

    def __init__(self) -> None:
        self._keys: list[Hashable] = []
        self._step = 1

    def add(self, keys: Sequence[Hashable], before: int) -> None:
        """The keys of entries that follow `before` other ones."""
        self._keys += keys[-before % self._step :: self._step]
        while len(self._keys) > _MARKS:
            self._keys = self._keys[::2]
            self._step *= 2

    def key(self, entry: int) -> Hashable:
        """That of an entry, or of one not far before it; they are counted from 1 on."""
        return self._keys[max(entry - 1, 0) // self._step]


def _fitting(
    keys: Sequence[Hashable],
    texts: Sequence[str],
    start: int,
    limits: Limits,
    urls: int,
    size: int,
) -> tuple[bytes, int]:
    """The bytes of the whole items from `start` that fit, and where they stop."""
    sizes = accumulate(len(text.encode()) for text in texts[start:])
    room = sum(size + taken <= limits.bytes for taken in sizes)
    stop = start + min(room, limits.urls - urls)
    while stop > start and stop < len(texts) and keys[stop] == keys[stop - 1]:
        stop -= 1
    return "".join(texts[start:stop]).encode(), stop


def _next_item(keys: Sequence[Hashable], start: int) -> int:
    return next((i for i in range(start, len(keys)) if keys[i] != keys[start]), len(keys))


def _ends(lastmods: Column, start: int, stop: int) -> list[str | None]:
    """What the newest lastmod of these entries can be told from: `None`, where one has none."""
    if start == stop:
        return []
    part = [lastmods] if lastmods is None or isinstance(lastmods, str) else lastmods[start:stop]
    return [None] if not all(part) else [max(part)]  # type: ignore[type-var]


def urlset_head(*, alternates: bool) -> bytes:
    """Everything before the first entry; the sitemap namespace unprefixed, as some parsers need it."""
    xhtml = f' xmlns:xhtml="{XHTML_NAMESPACE}"' if alternates else ""
    return f'{DECLARATION}<urlset xmlns="{SITEMAP_NAMESPACE}"{xhtml}>\n'.encode()


def url_elements(batch: Batch) -> list[str]:
    """One `<url>` element with a line end for each entry of a batch."""
    return _elements(_pieces(batch), len(batch.keys))


def _elements(pieces: Sequence[str], count: int) -> list[str]:
    width = len(pieces) // max(count, 1)
    return ["".join(pieces[start : start + width]) for start in range(0, len(pieces), width or 1)]


def _pieces(batch: Batch) -> list[str]:
    """The pieces of all elements in their order, as many for each: joined once, they are the text.

    To lay columns and what is between them side by side takes a third of the time of formatting.
    """
    count = len(batch.keys)
    parts = _parts(batch)
    pieces = [""] * (len(parts) * count)
    for place, part in enumerate(parts):
        pieces[place :: len(parts)] = [part] * count if isinstance(part, str) else part
    return pieces


def _parts(batch: Batch) -> list[str | Sequence[str]]:
    """What an element is made of: texts that all entries share, and columns."""
    locations = batch.locations
    if not isinstance(locations, Composed):
        locations = Composed(["", ""], [locations])
    literals = escaped(locations.literals, repeat(locations.literals[0]))
    parts: list[str | Sequence[str]] = [f"<url><loc>{literals[0]}"]
    for column, literal in zip(locations.columns, literals[1:], strict=True):
        parts += [escaped(column, batch.keys), literal]
    between = "</loc>"
    optional = (
        ("lastmod", batch.lastmods),
        ("changefreq", batch.changefreqs),
        ("priority", batch.priorities),
    )
    for name, texts in optional:
        if texts is None or isinstance(texts, str):
            # What all entries share stands between the columns.
            text = escaped([texts], batch.keys)[0] if texts else ""
            between += f"<{name}>{text}</{name}>" if text else ""
        elif all(texts):
            parts += [f"{between}<{name}>", escaped(texts, batch.keys)]  # type: ignore[arg-type]
            between = f"</{name}>"
        else:
            some = escaped([text or "" for text in texts], batch.keys)
            parts += [between, [f"<{name}>{text}</{name}>" if text else "" for text in some]]
            between = ""
    if batch.alternates is not None:
        parts += [between, _links(batch.alternates, batch.keys)]
        between = ""
    return [*parts, f"{between}</url>\n"]


def _links(alternates: Sequence[Sequence[Alternate]], keys: Sequence[Hashable]) -> list[str]:
    """The `xhtml:link` elements of each entry; those of one item's languages mostly share theirs."""
    found: list[str] = []
    before: Sequence[Alternate] | None = None
    for links, key in zip(alternates, keys, strict=True):
        if links is not before:
            texts = escaped([text for link in links for text in link], repeat(key))
            element = '<xhtml:link rel="alternate" hreflang="%s" href="%s"/>' * len(links)
            before, text = links, element % tuple(texts)
        found.append(text)
    return found
