"""Pages of a section as ranges of its key: cut, find, split, and which of them changed.

A page is `(after, until]`, never a rank: it costs the same wherever it lies, and a row that is
deleted elsewhere does not move it. Keys are compared by what holds the rows, never here.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import reduce
from itertools import count, groupby, islice
from typing import NamedTuple, Protocol, TypeAlias, TypeVar

from django_sitemaps09.writer import Limits

#: A key as text, one text a column, as it travels and is stored.
Key: TypeAlias = "tuple[str, ...]"
#: Hashes are 64 bits wide; sums of them are taken modulo this, so that they can be subtracted.
HASHES = 1 << 64


class Page(NamedTuple):
    """A numbered range of keys: greater than `after`, up to and including `until`.

    `after` is `None` for the first page. `until` is `None` for the last one, which is open: what is
    appended later belongs to it.
    """

    number: int
    after: Key | None
    until: Key | None


class PageMap(NamedTuple):
    """The pages of a section in the order of their keys; none for a section without rows."""

    pages: tuple[Page, ...]

    def find(self, number: int) -> Page | None:
        """The page of a number. Numbers are names: they need not be in order."""
        return next((page for page in self.pages if page.number == number), None)


class Fingerprint(NamedTuple):
    """What tells whether the rows of a range are what they were.

    Additive over ranges that follow each other. `newest` is the newest lastmod as W3C text. `hash` is
    of key and columns, in whatever order the rows come; `None` where the database has none.
    """

    rows: int
    newest: str | None
    hash: int | None

    def plus(self, other: Fingerprint) -> Fingerprint:
        """That of two ranges together."""
        newest = max(filter(None, (self.newest, other.newest)), default=None)
        both = None if self.hash is None or other.hash is None else (self.hash + other.hash) % HASHES
        return Fingerprint(self.rows + other.rows, newest, both)

    def minus(self, part: Fingerprint) -> Fingerprint:
        """That of what a part leaves of the whole, without its `newest`, which nobody can tell.

        `ValueError` without hashes: what is left would tell too little.
        """
        if self.hash is None or part.hash is None:
            raise ValueError("Only fingerprints with a hash can be subtracted")
        return Fingerprint(self.rows - part.rows, None, (self.hash - part.hash) % HASHES)

    def same(self, other: Fingerprint) -> bool:
        """Whether both are of the same rows. A hash is of the lastmods too; without one they decide."""
        if self.hash is None or other.hash is None:
            return self == other
        return (self.rows, self.hash) == (other.rows, other.hash)


class Keyed(Protocol):
    """Rows in the order of a key."""

    def is_empty(self) -> bool:
        """Whether there are no rows."""

    def jump(self, after: Key | None, count: int) -> Key | None:
        """The key `count` rows behind `after`; `None` where no row lies behind that one."""


class Rendered(Protocol):
    """What a renderer tells of the page it wrote."""

    @property
    def cut(self) -> Key | None:
        """The last key that it wrote, where its limits did not admit all of the page."""


RenderedT = TypeVar("RenderedT", bound=Rendered)


class Filled(Protocol):
    """What a page holds."""

    @property
    def urls(self) -> int: ...

    @property
    def bytes(self) -> int: ...


FilledT = TypeVar("FilledT", bound=Filled)


def cut(rows: Keyed, rows_per_page: int) -> PageMap:
    """All rows cut to pages from the first key on: a pure function of the rows."""
    return PageMap(tuple(each_page(rows, rows_per_page)))


def each_page(
    rows: Keyed, rows_per_page: int, numbers: Iterable[int] | None = None, after: Key | None = None
) -> Iterator[Page]:
    """The pages of `cut`, of which each is known before the next one is looked for.

    They have the `numbers` in their order, by default from 1 on, and begin behind `after`. One query a
    page, in constant memory: a jump reads the key alone. Every window function measured took two to
    eight times as long.
    """
    if after is None and rows.is_empty():
        return
    for number in count(1) if numbers is None else numbers:
        until = rows.jump(after, rows_per_page)
        yield Page(number, after, until)
        if until is None:
            return
        after = until


def split(page: Page, at: Key, number: int) -> tuple[Page, Page]:
    """A page cut in two behind the key `at`; the first part keeps its number, the second gets `number`."""
    return Page(page.number, page.after, at), Page(number, at, page.until)


def fill(limit: int) -> int:
    """How much of a limit a page is cut for: what is added to it later must not split it at once."""
    return limit - limit // 20


def merge(pages: Sequence[FilledT], limits: Limits, most: int) -> list[tuple[FilledT, ...]]:
    """Neighbours that fit one page together, as groups; every other page is a group by itself.

    At most so many pages as `most` says are merged away. Two neighbours never fit one page afterwards,
    if there were not more of them, so that there are at most twice as many as a new cut would make.
    The open last page is different, since it grows: it is merged where both are half a page.
    """
    groups: list[tuple[FilledT, ...]] = []
    for place, page in enumerate(pages, 1):
        part = 2 if place == len(pages) else 1
        together = (*groups[-1], page) if groups else ()
        if (
            most > 0
            and together
            and sum(page.urls for page in together) <= fill(limits.urls) // part
            and sum(page.bytes for page in together) <= fill(limits.bytes) // part
        ):
            groups[-1] = together
            most -= 1
        else:
            groups.append((page,))
    return groups


def render_all(
    pages: Iterable[Page],
    begin: Callable[[Page], Callable[[], RenderedT]],
    ahead: int = 1,
    *,
    divide: Callable[[Page, RenderedT], Key | None] = lambda page, rendered: rendered.cut,
    highest: int = 0,
) -> Iterator[tuple[Page, RenderedT]]:
    """Each page with what was made of it; one that does not fit its limits is split until it does.

    `begin` gives what waits for the result of a page; so many as `ahead` says are begun before the
    first of them is waited for. Pages and their numbers do not depend on that. A second part has the
    first number above `highest` that no page has, so that the rest of `pages` is asked for before the
    first split. `divide` says where a page is split that was cut; both parts are made anew if that is
    not where it was cut.
    """
    remaining = iter(pages)
    begun: deque[tuple[Page, Callable[[], RenderedT]]] = deque()
    split_before = False
    try:
        while True:
            for page in islice(remaining, max(0, ahead - len(begun))):
                begun.append((page, begin(page)))
                highest = max(highest, page.number)
            if not begun:
                return
            page, result = begun.popleft()
            rendered = result()
            if rendered.cut is not None:
                if rendered.cut == page.after:
                    raise ValueError(f"{page} was cut where it begins, which would never end")
                if not split_before:
                    known = tuple(remaining)
                    highest = max([highest, *(page.number for page in known)])
                    remaining, split_before = iter(known), True
                highest += 1
                at = divide(page, rendered) or rendered.cut
                page, rest = split(page, at, highest)
                begun.appendleft((rest, begin(rest)))
                if at != rendered.cut:
                    begun.appendleft((page, begin(page)))
                    continue
            yield page, rendered
    except Exception:
        # What was begun before a page failed must not go on behind the back of whoever is told.
        for _, result in begun:
            with suppress(Exception):
                result()
        raise


#: A page, and the fingerprint that its rows had when they were read; `None` where that is not known.
Known: TypeAlias = "tuple[Page, Fingerprint | None]"
#: The fingerprint of a range, read now.
Ask: TypeAlias = "Callable[[Key | None, Key | None], Fingerprint]"


def changed(pages: Sequence[Known], ask: Ask) -> dict[int, Fingerprint | None]:
    """The numbers of the pages whose rows are not what they were, with the fingerprints they have now.

    Pages come in the order of their keys, one behind the other. One without a fingerprint is never
    asked for, and always told. Others are asked for by whole runs: once where nothing changed, twice
    where the last page of a run did, and about `log2` of its length for each other page that did.
    """
    found: dict[int, Fingerprint | None] = {}
    for known, run in groupby(pages, lambda pair: pair[1] is not None):
        if known:
            found |= _changed_of_run([(page, was) for page, was in run if was is not None], ask)
        else:
            found |= dict.fromkeys(page.number for page, _ in run)
    return found


#: Pages behind each other whose fingerprints are known.
_Run: TypeAlias = "Sequence[tuple[Page, Fingerprint]]"


def _changed_of_run(run: _Run, ask: Ask) -> dict[int, Fingerprint]:
    if any(was.hash is None for _, was in run):
        return _changed_one_by_one(run, ask)
    whole = _asked(run, ask)
    if whole.hash is None:
        return _changed_one_by_one(run, ask)
    # What is new is mostly at the end, and then the rest is known to be what it was.
    return _changed_within(run, whole, ask, at=len(run) - 1)


def _changed_one_by_one(run: _Run, ask: Ask) -> dict[int, Fingerprint]:
    """Without hashes a sum can be what it was though its parts are not."""
    now = [(page.number, was, ask(page.after, page.until)) for page, was in run]
    return {number: is_ for number, was, is_ in now if not is_.same(was)}


def _changed_within(
    run: _Run, now: Fingerprint, ask: Ask, at: int | None = None, derived: bool = False
) -> dict[int, Fingerprint]:
    """The changed pages of a run whose fingerprint is `now`, read, or `derived` from others.

    The part from `at` on is read, by default the second half, and the other part is derived from it.
    """
    if now.same(reduce(Fingerprint.plus, (was for _, was in run))):
        return {}
    if len(run) == 1:
        # Others can change the rows between two questions: only what was read is told.
        [(page, was)] = run
        now = _asked(run, ask) if derived else now
        return {} if now.same(was) else {page.number: now}
    at = len(run) // 2 if at is None else at
    first, second = run[:at], run[at:]
    part = _asked(second, ask)
    return {
        **_changed_within(first, now.minus(part), ask, derived=True),
        **_changed_within(second, part, ask),
    }


def _asked(run: _Run, ask: Ask) -> Fingerprint:
    return ask(run[0][0].after, run[-1][0].until)
