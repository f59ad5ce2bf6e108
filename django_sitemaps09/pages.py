"""Pages of a section as key ranges: cut, split and merge pages, and detect changes.

A page is the key range `(after, until]`, as in keyset pagination, and not an offset. All pages take equally
long to read. If a row is deleted, rows on other pages do not move. Only the source of the rows can compare
keys.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import reduce
from itertools import count, groupby, islice
from typing import NamedTuple, Protocol, TypeAlias, TypeVar

from django_sitemaps09.protocol import Limits

#: A key as strings, one for each column. Workers receive keys in this form, and the manifest stores it.
Key: TypeAlias = "tuple[str, ...]"
#: The modulus for sums of 64-bit hashes. Modular sums can be subtracted without loss.
HASHES = 1 << 64


class Page(NamedTuple):
    """A numbered range of keys: greater than `after`, up to and including `until`.

    The first page has no `after`. The last page has no `until`: rows that are appended later belong to it.
    """

    number: int
    after: Key | None
    until: Key | None


class PageMap(NamedTuple):
    """The pages of a section in key order. A section without rows has no pages."""

    pages: tuple[Page, ...]


class Fingerprint(NamedTuple):
    """Number, newest lastmod and hash of the rows in a range, to detect changes.

    `newest` is in the W3C format. `hash` covers the key and all columns. An integer is the sum of the row
    hashes, so the hashes of adjacent ranges can be added. A string depends on the order of the rows, so
    strings cannot be added.
    """

    rows: int
    newest: str | None
    hash: int | str

    def plus(self, other: Fingerprint) -> Fingerprint:
        """Return the fingerprint of both ranges. Raise `ValueError` if a hash is a string."""
        newest = max(filter(None, (self.newest, other.newest)), default=None)
        return Fingerprint(self.rows + other.rows, newest, (self._sum + other._sum) % HASHES)

    def minus(self, part: Fingerprint) -> Fingerprint:
        """Return the fingerprint of the range without `part`. Its `newest` is unknown.

        Raise `ValueError` if a hash is a string.
        """
        return Fingerprint(self.rows - part.rows, None, (self._sum - part._sum) % HASHES)

    @property
    def _sum(self) -> int:
        if isinstance(self.hash, str):
            raise ValueError("Hashes that depend on the order of rows cannot be added")
        return self.hash

    def same(self, other: Fingerprint) -> bool:
        """Return whether the rows are the same. `newest` is ignored, since `hash` covers lastmods."""
        return (self.rows, self.hash) == (other.rows, other.hash)


class Keyed(Protocol):
    """Protocol for rows that are ordered by a key."""

    def is_empty(self) -> bool:
        """Return whether there are no rows."""

    def key_after(self, after: Key | None, count: int) -> Key | None:
        """Return the key that is `count` rows after `after`, or `None` if no row follows the result."""


class Rendered(Protocol):
    """Protocol for the result of rendering one page."""

    @property
    def cut(self) -> Key | None:
        """Return the last key that fits if the page exceeds its limits, else `None`."""


RenderedT = TypeVar("RenderedT", bound=Rendered)


class Filled(Protocol):
    """Protocol for objects with a page's number of URLs and bytes."""

    @property
    def urls(self) -> int: ...

    @property
    def bytes(self) -> int: ...


FilledT = TypeVar("FilledT", bound=Filled)


def cut(rows: Keyed, rows_per_page: int) -> PageMap:
    """Divide all rows into pages of `rows_per_page`, numbered from 1."""
    return PageMap(tuple(each_page(rows, rows_per_page)))


def each_page(
    rows: Keyed, rows_per_page: int, numbers: Iterable[int] | None = None, after: Key | None = None
) -> Iterator[Page]:
    """Divide the rows after `after` into pages. Yield each page before the next one is queried.

    `numbers` are the page numbers in order, by default from 1. Each page needs one query that reads only a
    key. Window functions took two to eight times as long in measurements.
    """
    if after is None and rows.is_empty():
        return
    for number in count(1) if numbers is None else numbers:
        until = rows.key_after(after, rows_per_page)
        yield Page(number, after, until)
        if until is None:
            return
        after = until


def split(page: Page, key: Key, number: int) -> tuple[Page, Page]:
    """Split a page after `key`. The first part keeps the page number. The second part gets `number`."""
    return Page(page.number, page.after, key), Page(number, key, page.until)


def fill(limit: int) -> int:
    """Return 95% of a limit. New pages are filled up to this, to leave room for rows added later."""
    return limit - limit // 20


def merge(pages: Sequence[FilledT], limits: Limits, max_merged: int) -> list[tuple[FilledT, ...]]:
    """Group adjacent pages that fit together on one page. Each remaining page forms its own group.

    At most `max_merged` pages are merged into previous pages. If fewer are merged, no two adjacent groups
    fit on one page. There are then at most twice as many groups as a new division would have pages. The
    last page grows, so it is merged only if the resulting page is at most half full.
    """
    groups: list[tuple[FilledT, ...]] = []
    for position, page in enumerate(pages, 1):
        divisor = 2 if position == len(pages) else 1
        group = (*groups[-1], page) if groups else ()
        if (
            max_merged > 0
            and group
            and sum(page.urls for page in group) <= fill(limits.urls) // divisor
            and sum(page.bytes for page in group) <= fill(limits.bytes) // divisor
        ):
            groups[-1] = group
            max_merged -= 1
        else:
            groups.append((page,))
    return groups


def render_all(
    pages: Iterable[Page],
    submit: Callable[[Page], Callable[[], RenderedT]],
    ahead: int = 1,
    *,
    divide: Callable[[Page, RenderedT], Key | None] = lambda page, rendered: rendered.cut,
    retires: Callable[[Page], bool] = lambda page: False,
    highest: int = 0,
) -> Iterator[tuple[Page, RenderedT]]:
    """Yield each page with its rendered result. Split pages that exceed their limits until they fit.

    `submit` starts to render a page, and returns a function that waits for the result. Up to `ahead` pages
    are submitted before the first result is awaited. Pages and their numbers do not depend on `ahead`.

    The second part of a split page gets the first unused number above `highest`. To know the used numbers,
    all `pages` are read before the first split. `divide` returns the key at which a page is split. If that
    is not the key at which the renderer cut the page, both parts are rendered again. If `retires` returns
    `True` for a page, both parts are rendered with new numbers.
    """
    remaining_pages = iter(pages)
    submitted: deque[tuple[Page, Callable[[], RenderedT]]] = deque()
    is_any_split = False
    with _await_on_error(submitted):
        while True:
            for page in islice(remaining_pages, max(0, ahead - len(submitted))):
                submitted.append((page, submit(page)))
                highest = max(highest, page.number)
            if not submitted:
                return
            page, result = submitted.popleft()
            rendered = result()
            if rendered.cut is not None:
                if not is_any_split:
                    rest_pages = tuple(remaining_pages)
                    highest = max([highest, *(page.number for page in rest_pages)])
                    remaining_pages, is_any_split = iter(rest_pages), True
                key, is_retired = divide(page, rendered) or rendered.cut, retires(page)
                page, second_part, highest = _parts(page, rendered.cut, key, highest, is_retired=is_retired)
                submitted.appendleft((second_part, submit(second_part)))
                if is_retired or key != rendered.cut:
                    submitted.appendleft((page, submit(page)))
                    continue
            yield page, rendered


def _parts(page: Page, cut: Key, key: Key, highest: int, *, is_retired: bool) -> tuple[Page, Page, int]:
    """Return both parts of a page that was cut, and the new highest page number."""
    if cut == page.after:
        raise ValueError(f"{page} would be split at its own lower bound, so splitting would never end")
    if is_retired:
        # The old number remains reserved for the file that was published under it.
        highest += 1
        page = page._replace(number=highest)
    return *split(page, key, highest + 1), highest + 1


@contextmanager
def _await_on_error(submitted: Iterable[tuple[Page, Callable[[], object]]]) -> Iterator[None]:
    """If the block fails, wait for all submitted pages, so that none is being rendered after the error."""
    try:
        yield
    except Exception:
        for _, result in submitted:
            with suppress(Exception):
                result()
        raise


#: A page with the fingerprint of its published rows, or with `None` if the fingerprint is unknown.
KnownPage: TypeAlias = "tuple[Page, Fingerprint | None]"
#: A function that reads the current fingerprint of the range from `after` to `until`.
ReadRange: TypeAlias = "Callable[[Key | None, Key | None], Fingerprint]"
#: Adjacent pages whose fingerprints are known.
_Run: TypeAlias = "Sequence[tuple[Page, Fingerprint]]"


def find_changed(pages: Sequence[KnownPage], read: ReadRange) -> dict[int, Fingerprint | None]:
    """Return the numbers of pages whose rows changed, with the current fingerprints of these pages.

    `pages` must be adjacent and in key order. A page without a fingerprint is not read, and is always
    returned with `None`. All other pages are read in runs of adjacent pages.

    Integer hashes can be added, so a run needs only one read if nothing changed, and two reads if only the
    last page changed. Each other page that changed needs about `log2(len(run))` reads. With string hashes,
    each page is read once.
    """
    fingerprints: dict[int, Fingerprint | None] = {}
    for is_known, group in groupby(pages, lambda pair: pair[1] is not None):
        if is_known:
            run = [(page, published) for page, published in group if published is not None]
            fingerprints |= _changed_in_run(run, read)
        else:
            fingerprints |= dict.fromkeys(page.number for page, _ in group)
    return fingerprints


def _changed_in_run(run: _Run, read: ReadRange) -> dict[int, Fingerprint]:
    if not any(isinstance(published.hash, str) for _, published in run):
        current = _read_run(run, read)
        if not isinstance(current.hash, str):
            # New rows are mostly on the last page, so compare this page and all others separately.
            return _changed_within(run, current, read, middle=len(run) - 1)
    readings = [(page.number, published, read(page.after, page.until)) for page, published in run]
    return {number: current for number, published, current in readings if not current.same(published)}


def _changed_within(
    run: _Run, current: Fingerprint, read: ReadRange, middle: int | None = None, *, is_derived: bool = False
) -> dict[int, Fingerprint]:
    """Return the changed pages of a run. `is_derived` is true if `current` is the result of a subtraction.

    Read the pages from `middle` on, by default the second half. Derive the first half by subtraction.
    """
    if current.same(reduce(Fingerprint.plus, (published for _, published in run))):
        return {}
    if len(run) == 1:
        # Rows can change between two queries, so a derived fingerprint is not returned but read again.
        [(page, published)] = run
        current = _read_run(run, read) if is_derived else current
        return {} if current.same(published) else {page.number: current}
    middle = len(run) // 2 if middle is None else middle
    first_half, second_half = run[:middle], run[middle:]
    second_fingerprint = _read_run(second_half, read)
    return {
        **_changed_within(first_half, current.minus(second_fingerprint), read, is_derived=True),
        **_changed_within(second_half, second_fingerprint, read),
    }


def _read_run(run: _Run, read: ReadRange) -> Fingerprint:
    return read(run[0][0].after, run[-1][0].until)
