"""Pages of a section as ranges of its key: cut, find, split.

A page is `(after, until]`, never a rank: it costs the same wherever it lies, and a row that is
deleted elsewhere does not move it. Keys are compared by what holds the rows, never here.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from itertools import count, islice
from typing import NamedTuple, Protocol, TypeAlias, TypeVar

#: A key as text, one text a column, as it travels and is stored.
Key: TypeAlias = "tuple[str, ...]"


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


def cut(rows: Keyed, rows_per_page: int) -> PageMap:
    """All rows cut to pages from the first key on: a pure function of the rows."""
    return PageMap(tuple(each_page(rows, rows_per_page)))


def each_page(rows: Keyed, rows_per_page: int) -> Iterator[Page]:
    """The pages of `cut`, of which each is known before the next one is looked for.

    One query a page, in constant memory: a jump reads the key alone. Every window function measured
    took two to eight times as long.
    """
    if rows.is_empty():
        return
    after: Key | None = None
    for number in count(1):
        until = rows.jump(after, rows_per_page)
        yield Page(number, after, until)
        if until is None:
            return
        after = until


def split(page: Page, at: Key, number: int) -> tuple[Page, Page]:
    """A page cut in two behind the key `at`; the first part keeps its number, the second gets `number`."""
    return Page(page.number, page.after, at), Page(number, at, page.until)


def render_all(
    pages: Iterable[Page], begin: Callable[[Page], Callable[[], RenderedT]], ahead: int = 1
) -> Iterator[tuple[Page, RenderedT]]:
    """Each page with what was made of it; one that does not fit its limits is split until it does.

    `begin` gives what waits for the result of a page; so many as `ahead` says are begun before the
    first of them is waited for. Pages and their numbers do not depend on that. A second part has the
    first number that no page has, so that the rest of `pages` is asked for before the first split.
    """
    remaining = iter(pages)
    begun: deque[tuple[Page, Callable[[], RenderedT]]] = deque()
    highest = 0
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
                page, rest = split(page, rendered.cut, highest)
                begun.appendleft((rest, begin(rest)))
            yield page, rendered
    except Exception:
        # What was begun before a page failed must not go on behind the back of whoever is told.
        for _, result in begun:
            with suppress(Exception):
                result()
        raise
