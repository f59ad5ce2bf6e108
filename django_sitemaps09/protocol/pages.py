"""Pages of a section as key ranges: cut, split and merge pages, and detect changes.

A page is the key range `(after, until]`, as in keyset pagination, so all pages take equally long to read,
and no row moves to another page if one is deleted. Only the source of the rows can compare keys.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from itertools import chain, count, islice
from typing import NamedTuple, Protocol, TypeAlias, TypeVar

from django_sitemaps09.protocol.limits import Limits

#: Number of URLs, and of bytes.
Size: TypeAlias = "tuple[int, int]"
#: A key as strings, one for each column. Workers receive keys in this form, and the manifest stores it.
Key: TypeAlias = "tuple[str, ...]"
#: The modulus for sums of 64-bit hashes. Modular sums can be subtracted without loss.
HASHES = 1 << 64
#: The limit of a count that is not limited.
MANY = 1 << 62


class Page(NamedTuple):
    """A numbered range of keys: greater than `after`, up to and including `until`.

    The first page has no `after`. The last page has no `until`: rows that are appended later belong to it.
    """

    number: int
    after: Key | None
    until: Key | None


class Look(NamedTuple):
    """Number of rows that a page had, and their newest lastmod."""

    rows: int
    newest: str | None


class Fingerprint(NamedTuple):
    """Number, newest lastmod and hash of the rows in a range, to detect changes.

    `newest` is in the W3C format, or `None` if the rows were not rendered. `hash` covers the key and all
    columns. An integer is the sum of the row hashes. A string depends on the order of the rows.
    """

    rows: int
    newest: str | None
    hash: int | str

    def same(self, other: Fingerprint) -> bool:
        """Return whether the rows are the same. `newest` is ignored, since `hash` covers lastmods."""
        return (self.rows, self.hash) == (other.rows, other.hash)


class Keyed(Protocol):
    """Protocol for rows that are ordered by a key."""

    def is_empty(self) -> bool: ...

    def key_after(self, after: Key | None, count: int) -> Key | None:
        """Return the key that is `count` rows after `after`, or `None` if no row follows the result."""


class Counted(Keyed, Protocol):
    """Protocol for rows that can also be counted."""

    def count(self, after: Key | None, until: Key | None, most: int) -> int:
        """Return the number of rows in a range, or `most` if there are more."""

    def in_order(self, bounds: Sequence[Key]) -> bool:
        """Return whether the keys are in ascending order, and each occurs once."""


class Rendered(Protocol):
    """Protocol for the result of rendering one page.

    `cut` is the last key that fits, if the page exceeds its limits. An empty page has no entries.
    """

    @property
    def cut(self) -> Key | None: ...

    @property
    def is_empty(self) -> bool: ...


RenderedT = TypeVar("RenderedT", bound=Rendered)
# Pages in their order, of which the first ones are submitted. The function waits for the result.
_Queue: TypeAlias = "deque[tuple[Page, Callable[[], RenderedT] | None]]"


def each_page(
    rows: Keyed, rows_per_page: int, numbers: Iterable[int] | None = None, after: Key | None = None
) -> Iterator[Page]:
    """Divide the rows after `after` into pages. Yield each page before the next one is queried.

    `numbers` are by default from 1. Each page needs one query that reads only a key. Window functions took
    two to eight times as long.
    """
    if after is None and rows.is_empty():
        return
    for number in count(1) if numbers is None else numbers:
        until = rows.key_after(after, rows_per_page)
        yield Page(number, after, until)
        if until is None:
            return
        after = until


def even_bounds(rows: Counted, page: Page, cut: Key) -> list[Key]:
    """Return the keys that divide a page evenly into parts of at most as many rows as it has up to `cut`.

    Return only `cut` if rows are being deleted.
    """
    most, total = (rows.count(page.after, until, MANY) for until in (cut, page.until))
    parts = max(2, -(-total // max(most, 1)))
    bounds: list[Key] = []
    after = page.after
    for part in range(parts - 1):
        after = rows.key_after(after, max(1, (total + part) // parts))
        if after is None:
            break
        bounds.append(after)
    last = [] if page.until is None else [page.until]
    is_complete = len(bounds) == parts - 1 and rows.in_order([*bounds, *last])
    return bounds if is_complete else [cut]


def fill(limit: int) -> int:
    """Return 95% of a limit: new pages have room for rows that are added later."""
    return limit - limit // 20


def fullest(rows: int) -> int:
    """Return the limit of which `fill()` returns a number of rows."""
    return rows * 20 // 19


def fit_together(size: Size, limits: Limits, *, is_last: bool) -> bool:
    """Return whether adjacent pages, which have `size` together, fit on one page.

    The last page grows, so it must be at most half full. If no two adjacent pages fit together, there are
    at most twice as many pages as a new division would have.
    """
    divisor = 2 if is_last else 1
    return size[0] <= fill(limits.urls) // divisor and size[1] <= fill(limits.bytes) // divisor


def render_all(
    pages: Iterable[Page],
    submit: Callable[[Page], Callable[[], RenderedT]],
    ahead: int = 1,
    *,
    divide: Callable[[Page, RenderedT], Sequence[Key]] = lambda page, rendered: (),
    join: Callable[[Size | None, Page, RenderedT], Size | None] = lambda size, page, rendered: None,
    highest: int = 0,
) -> Iterator[tuple[Page, RenderedT]]:
    """Yield each page with its rendered result. Split pages that are too full, and merge small ones.

    `submit` starts to render a page, and returns a function that waits for the result. Up to `ahead` pages
    are submitted before the first result is awaited. Pages and their numbers do not depend on `ahead`.

    Adjacent pages that fit together are rendered again as one page, with the first number. `join` gets the
    size of adjacent pages, or `None` for none, and the next page, and returns the size of them all, or
    `None` if they do not fit. So the result is at rest: if it is rendered once more from the same rows, no
    page is split or merged.
    """
    queue: _Queue[RenderedT] = deque()
    # Adjacent rendered pages that fit together on one page, with empty ones between and after them.
    group: list[tuple[Page, RenderedT]] = []
    size: Size | None = None
    with _await_on_error(queue):
        for page_result in _render_each(queue, iter(pages), submit, ahead, divide, highest):
            if page_result is not None:
                page, rendered = page_result
                if rendered.is_empty and not group:
                    yield page_result
                    continue
                joined_size = size if rendered.is_empty else join(size, page, rendered)
                if rendered.is_empty or not group or joined_size:
                    group.append(page_result)
                    size = joined_size
                    continue
                queue.appendleft((page, partial(_same, rendered)))
            if sum(not rendered.is_empty for _, rendered in group) > 1:
                queue.appendleft((group[0][0]._replace(until=group[-1][0].until), None))
            else:
                yield from group
            group, size = [], None
            if page_result is None and not queue:
                return


def _render_each(
    queue: _Queue[RenderedT],
    pages: Iterator[Page],
    submit: Callable[[Page], Callable[[], RenderedT]],
    ahead: int,
    divide: Callable[[Page, RenderedT], Sequence[Key]],
    highest: int,
) -> Iterator[tuple[Page, RenderedT] | None]:
    """Yield each page of the queue, then of `pages`, with its result, or `None` while there are none.

    A page that is too full is split where the renderer cut it, and the first part keeps its number. If
    `divide` returns keys, it is split there, and all parts are rendered. They get new numbers, and the old
    one is not used again, except for the last page: its first part keeps its number. New numbers are the
    first unused ones above `highest`: all `pages` are read before the first split.
    """
    while True:
        for page in islice(pages, max(0, ahead - len(queue))):
            queue.append((page, None))
            highest = max(highest, page.number)
        for place, (page, result) in enumerate(islice(queue, ahead)):
            queue[place] = page, result or submit(page)
        if not queue:
            yield None
            continue
        page, result = queue.popleft()
        rendered = (result or submit(page))()
        # A part that was split off ends at its cut.
        if rendered.cut not in (None, page.until):
            rest = list(pages)
            queue.extend((page, None) for page in rest)
            highest = max([highest, *(page.number for page in rest)])
            parts, is_rendered = _divide(page, rendered, divide(page, rendered), highest + 1)
            highest = parts[-1].number
            queue.extendleft((part, None) for part in reversed(parts[is_rendered:]))
            if not is_rendered:
                continue
            page = parts[0]
        yield page, rendered


def _divide(page: Page, rendered: RenderedT, bounds: Sequence[Key], number: int) -> tuple[list[Page], bool]:
    """Return the parts of a page that is too full, and whether the first one is rendered already."""
    if rendered.cut is None or rendered.cut == page.after:
        raise ValueError(f"{page} was cut at its own lower bound, so splitting would never end")
    starts = [page.after, *(bounds or [rendered.cut])]
    numbers = chain(() if bounds and page.until is not None else [page.number], count(number))
    parts = map(Page, numbers, starts, [*starts[1:], page.until])
    return list(parts), not bounds


def _same(rendered: RenderedT) -> RenderedT:
    return rendered


@contextmanager
def _await_on_error(queue: Iterable[tuple[Page, Callable[[], object] | None]]) -> Iterator[None]:
    """If the block fails, wait for all submitted pages, so that none is rendered after the error.

    A result that can be abandoned ends sooner.
    """
    try:
        yield
    except Exception:
        for _, result in queue:
            with suppress(Exception):
                if result is not None:
                    getattr(result, "abandon", result)()
        raise


#: A page with the fingerprint of its published rows, or with `None` if the fingerprint is unknown.
KnownPage: TypeAlias = "tuple[Page, Fingerprint | None]"
#: A function that reads the current fingerprints of pages in key order.
ReadPages: TypeAlias = "Callable[[Sequence[Page]], Sequence[Fingerprint]]"
# Comparing stops when so many more pages differ than are the same.
_DIFFERING = 2
_GOLDEN = (5**0.5 - 1) / 2


def find_changed(pages: Sequence[KnownPage], read: ReadPages) -> set[int]:
    """Return the numbers of pages that must be rendered: of all whose rows changed, and possibly of others.

    `pages` must be in key order. When most pages differ, the rest is not compared, since comparing costs up
    to half of rendering. If hashes are integers, one query reads the rest for little more than it reads a
    page, as soon as a page is the same.
    """
    known = [(page, published) for page, published in pages if published is not None]
    changed = {page.number for page, _ in pages}
    remaining, balance = _scattered(known), 0
    while remaining and balance > -_DIFFERING:
        can_read_all = balance > 0 and not any(isinstance(published.hash, str) for _, published in known)
        count = len(remaining) if can_read_all else 1
        places, remaining = sorted(remaining[:count]), remaining[count:]
        for place, current in zip(places, read([known[place][0] for place in places]), strict=True):
            page, published = known[place]
            is_same = current.same(published)
            changed -= {page.number} if is_same else set()
            balance += 1 if is_same else -1
    return changed


def _scattered(pages: Sequence[object]) -> list[int]:
    """Return the places of pages in an order in which the first ones represent all.

    Adjacent pages often change together. New rows are mostly on the last page, which comes last.
    """
    places = range(len(pages))
    return [*sorted(places[:-1], key=lambda place: place * _GOLDEN % 1), *places[-1:]]
