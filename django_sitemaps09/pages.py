"""Pages of a section as ranges of its key: cutting, splitting, merging, and detection of changes.

A page is the range `(after, until]`, never a rank. It costs the same everywhere, and a row that is
deleted elsewhere does not move it. Keys are compared by the source of the rows, never here.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import reduce
from itertools import count, groupby, islice
from typing import NamedTuple, Protocol, TypeAlias, TypeVar

from django_sitemaps09.protocol import Limits

#: A key as text, one text for each column, in the form in which it is sent and stored.
Key: TypeAlias = "tuple[str, ...]"
#: Hashes have 64 bits. Their sums are taken modulo this, so that they can be subtracted.
HASHES = 1 << 64


class Page(NamedTuple):
    """A numbered range of keys: greater than `after`, up to and including `until`.

    `after` is `None` for the first page. `until` is `None` for the last one, which is open: rows that are
    appended later belong to it.
    """

    number: int
    after: Key | None
    until: Key | None


class PageMap(NamedTuple):
    """The pages of a section in the order of their keys; none for a section without rows."""

    pages: tuple[Page, ...]

    def find(self, number: int) -> Page | None:
        """Return the page with a number. Numbers are names, and need not be in order."""
        return next((page for page in self.pages if page.number == number), None)


class Fingerprint(NamedTuple):
    """The fingerprint of the rows in a range, which shows whether they changed.

    `newest` is the newest lastmod as W3C text. `hash` covers key and columns. As a number, it is a sum over
    the rows in any order, so that the hashes of adjacent ranges add up. As a text, it covers the rows in
    their order, and says nothing about a part or a larger range.
    """

    rows: int
    newest: str | None
    hash: int | str

    def plus(self, other: Fingerprint) -> Fingerprint:
        """Return the fingerprint of two ranges together. Raise `ValueError` if hashes do not add up."""
        newest = max(filter(None, (self.newest, other.newest)), default=None)
        return Fingerprint(self.rows + other.rows, newest, (self._sum + other._sum) % HASHES)

    def minus(self, part: Fingerprint) -> Fingerprint:
        """Return the fingerprint of the rest of a range, without `newest`, which cannot be derived.

        Raise `ValueError` if hashes do not add up.
        """
        return Fingerprint(self.rows - part.rows, None, (self._sum - part._sum) % HASHES)

    @property
    def _sum(self) -> int:
        if isinstance(self.hash, str):
            raise ValueError("Hashes that depend on the order of rows cannot be added")
        return self.hash

    def same(self, other: Fingerprint) -> bool:
        """Return whether both cover the same rows. `newest` is ignored: the hash includes lastmods."""
        return (self.rows, self.hash) == (other.rows, other.hash)


class Keyed(Protocol):
    """The interface of rows in the order of a key."""

    def is_empty(self) -> bool:
        """Return whether there are no rows."""

    def key_after(self, after: Key | None, count: int) -> Key | None:
        """Return the key `count` rows after `after`; `None` if no row comes after that key."""


class Rendered(Protocol):
    """The result of a renderer for the page that it wrote."""

    @property
    def cut(self) -> Key | None:
        """The last key that was written if the page exceeds its limits, else `None`."""


RenderedT = TypeVar("RenderedT", bound=Rendered)


class Filled(Protocol):
    """The numbers of URLs and bytes of a page."""

    @property
    def urls(self) -> int: ...

    @property
    def bytes(self) -> int: ...


FilledT = TypeVar("FilledT", bound=Filled)


def cut(rows: Keyed, rows_per_page: int) -> PageMap:
    """Cut all rows into pages from the first key on: a pure function of the rows."""
    return PageMap(tuple(each_page(rows, rows_per_page)))


def each_page(
    rows: Keyed, rows_per_page: int, numbers: Iterable[int] | None = None, after: Key | None = None
) -> Iterator[Page]:
    """Yield the pages of `cut`, each before the next one is looked up.

    They have the `numbers` in their order, by default from 1 on, and begin after `after`. Each page takes
    one query that reads only the key, in constant memory. All window functions that were measured took two
    to eight times as long.
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
    """Split a page after `key`; the first part keeps its number, the second gets `number`."""
    return Page(page.number, page.after, key), Page(number, key, page.until)


def fill(limit: int) -> int:
    """Return the part of a limit that pages are cut for, so that added rows do not split them at once."""
    return limit - limit // 20


def merge(pages: Sequence[FilledT], limits: Limits, max_merged: int) -> list[tuple[FilledT, ...]]:
    """Group adjacent pages that fit on one page together; every other page is a group by itself.

    At most `max_merged` pages are merged into others. If that suffices, no two adjacent pages fit on one
    page afterwards. There are then at most twice as many as a new cut would make. The open last page is
    different, since it grows: it is merged only if the result is at most half a page.
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
    """Yield each page with its rendered result. A page that exceeds its limits is split until it fits.

    `submit` returns a function that waits for the result of a page. Up to `ahead` pages are submitted
    before the first result is awaited; pages and their numbers do not depend on that.

    The second part of a split page gets the first number above `highest` that no page has, so the rest of
    `pages` is read before the first split. `divide` returns the key at which a page is split. Both parts
    are rendered again if that is not where it was cut, or if the page `retires`: then both get new numbers.
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
    """Return both parts of a page that was cut, and the highest number that any page has now."""
    if cut == page.after:
        raise ValueError(f"{page} was cut where it begins, which would loop forever")
    if is_retired:
        # The old number stays with what was published under it.
        highest += 1
        page = page._replace(number=highest)
    return *split(page, key, highest + 1), highest + 1


@contextmanager
def _await_on_error(submitted: Iterable[tuple[Page, Callable[[], object]]]) -> Iterator[None]:
    """Wait for all submitted pages before an error is raised, since they must not go on after it."""
    try:
        yield
    except Exception:
        for _, result in submitted:
            with suppress(Exception):
                result()
        raise


#: A page, and the fingerprint that its rows had when they were read, or `None` if it is not known.
KnownPage: TypeAlias = "tuple[Page, Fingerprint | None]"
#: A function that reads the present fingerprint of a range.
Ask: TypeAlias = "Callable[[Key | None, Key | None], Fingerprint]"


def find_changed(pages: Sequence[KnownPage], ask: Ask) -> dict[int, Fingerprint | None]:
    """Return the numbers of the pages whose rows changed, with their present fingerprints.

    Pages must be adjacent, and in the order of their keys. A page without a fingerprint is never read, and
    always returned with `None`. If hashes add up, whole runs are read: once if nothing changed, and twice
    if the last page changed. Each other page that changed takes about `log2` of the run's length in reads.
    If hashes do not add up, each page is read once.
    """
    fingerprints: dict[int, Fingerprint | None] = {}
    for is_known, run in groupby(pages, lambda pair: pair[1] is not None):
        if is_known:
            fingerprints |= _changed_of_run(
                [(page, published) for page, published in run if published is not None], ask
            )
        else:
            fingerprints |= dict.fromkeys(page.number for page, _ in run)
    return fingerprints


#: Adjacent pages whose fingerprints are known.
_Run: TypeAlias = "Sequence[tuple[Page, Fingerprint]]"


def _changed_of_run(run: _Run, ask: Ask) -> dict[int, Fingerprint]:
    if any(isinstance(published.hash, str) for _, published in run):
        return _changed_one_by_one(run, ask)
    run_fingerprint = _read_run(run, ask)
    if isinstance(run_fingerprint.hash, str):
        return _changed_one_by_one(run, ask)
    # New rows are mostly in the last page. If so, the rest is known to be unchanged.
    return _changed_within(run, run_fingerprint, ask, middle=len(run) - 1)


def _changed_one_by_one(run: _Run, ask: Ask) -> dict[int, Fingerprint]:
    """Return the changed pages if hashes do not add up."""
    readings = [(page.number, published, ask(page.after, page.until)) for page, published in run]
    return {number: present for number, published, present in readings if not present.same(published)}


def _changed_within(
    run: _Run, present: Fingerprint, ask: Ask, middle: int | None = None, is_derived: bool = False
) -> dict[int, Fingerprint]:
    """Return the changed pages of a run whose fingerprint is `present`: read, or derived if `is_derived`.

    The part from `middle` on, by default the second half, is read, and the other part is derived from it.
    """
    if present.same(reduce(Fingerprint.plus, (published for _, published in run))):
        return {}
    if len(run) == 1:
        # Rows can change between two queries, so only a fingerprint that was read is returned.
        [(page, published)] = run
        present = _read_run(run, ask) if is_derived else present
        return {} if present.same(published) else {page.number: present}
    middle = len(run) // 2 if middle is None else middle
    first_half, second_half = run[:middle], run[middle:]
    second_fingerprint = _read_run(second_half, ask)
    return {
        **_changed_within(first_half, present.minus(second_fingerprint), ask, is_derived=True),
        **_changed_within(second_half, second_fingerprint, ask),
    }


def _read_run(run: _Run, ask: Ask) -> Fingerprint:
    return ask(run[0][0].after, run[-1][0].until)
