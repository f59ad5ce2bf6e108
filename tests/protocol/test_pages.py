"""Pages, for any keys, any limit, and any inserts and deletes, without a database."""

from __future__ import annotations

from functools import partial
from hashlib import sha256
from itertools import pairwise
from types import SimpleNamespace
from typing import NamedTuple

import pytest
from hypothesis import given, strategies as st

from django_sitemaps09.protocol.pages import each_page, even_bounds, find_changed, fit_together, render_all
from tests.support.internals import Fingerprint, Key, Limits, Page, fill

# A prime: multiplying the numbers below it, modulo this prime, shuffles them.
PRIME = 10_007


class Rows:
    """Rows of a table in memory, in an order that differs from that of the keys and of their texts."""

    def __init__(self, keys, changes=()):
        """Before each division, a set of keys in `changes` comes or goes."""
        self.keys, self.changes = set(keys), iter(changes)

    @staticmethod
    def rank(key):
        return key * 7_919 % PRIME

    @staticmethod
    def text(key):
        return (str(key),)

    def between(self, after, until):
        """Return the keys of a page, in order. The keys at its bounds may be deleted."""
        first = -1 if after is None else self.rank(int(after[0]))
        last = PRIME if until is None else self.rank(int(until[0]))
        return sorted((key for key in self.keys if first < self.rank(key) <= last), key=self.rank)

    def on(self, page):
        return self.between(page.after, page.until)

    def is_empty(self):
        return not self.keys

    def key_after(self, after, count):
        self.keys ^= next(self.changes, set())
        found = self.between(after, None)
        return self.text(found[count - 1]) if len(found) > count else None

    def count(self, after, until, most):
        return min(most, len(self.between(after, until)))

    def in_order(self, bounds):
        ranks = [self.rank(int(bound[0])) for bound in bounds]
        return ranks == sorted({*ranks})


def cut(rows, rows_per_page):
    return tuple(each_page(rows, rows_per_page))


class Written(NamedTuple):
    keys: list[int]
    cut: Key | None
    is_empty: bool = False


def writer(rows, limit, begun=None):
    def render(page):
        found = rows.on(page)
        cut = rows.text(found[limit - 1]) if len(found) > limit else None
        return Written(found[:limit], cut, not found)

    def submit(page):
        if begun is not None:
            begun.append(page)
        return partial(render, page)

    return submit


def rendered(rows, pages, limit, ahead=1, *, merges=False, **options):
    def join(size, page, written):
        urls = len(written.keys) + (size[0] if size else 0)
        return (urls, 0) if merges and (size is None or urls <= limit) else None

    return render_all(pages, writer(rows, limit), ahead, join=join, **options)


KEYS = st.sets(st.integers(0, 400), max_size=60)
LIMITS, PLACES = st.integers(1, 25), st.integers(0, 60)


def assert_chained(rows, pages):
    """Check that pages have no gaps and no overlaps, from the first possible key to the last."""
    bounds = [page.until for page in pages]
    assert [page.after for page in pages] == [None, *bounds[:-1]]
    assert bounds.pop() is None
    assert rows.in_order(bounds)
    assert len({page.number for page in pages}) == len(pages)


def assert_merged(parts, limit):
    """Check that no two pages that follow each other, but for empty ones, would fit on one."""
    sizes = [len(written.keys) for _, written in parts if written.keys]
    assert all(sum(pair) > limit for pair in pairwise(sizes))


@given(KEYS, LIMITS)
def test_every_key_is_on_exactly_one_page_and_only_the_last_page_is_not_full(keys, limit):
    rows = Rows(keys)
    pages = cut(rows, limit)
    if not keys:
        assert pages == ()
        return
    assert_chained(rows, pages)
    assert [page.number for page in pages] == list(range(1, len(pages) + 1))
    assert [key for page in pages for key in rows.on(page)] == rows.between(None, None)
    *full, last = [len(rows.on(page)) for page in pages]
    assert set(full) <= {limit}
    assert 0 < last <= limit


@given(KEYS, st.lists(KEYS, max_size=80), LIMITS)
def test_rows_that_come_and_go_while_they_are_cut_leave_no_gap(keys, changes, limit):
    rows = Rows(keys, changes)
    page_map = cut(rows, limit)
    if not keys:
        assert not page_map
        return
    assert_chained(rows, page_map)
    found = [written.keys for _, written in rendered(rows, page_map, limit)]
    assert [key for part in found for key in part] == rows.between(None, None)


@given(KEYS.filter(bool), st.lists(st.tuples(KEYS, PLACES, PLACES), max_size=5), LIMITS, st.booleans())
def test_a_stale_map_still_gives_every_key_once_on_pages_within_the_limit(keys, changes, limit, merges):
    """In each round, rows are added and deleted, and the map of the previous round is used."""
    rows = Rows(keys)
    page_map = cut(rows, limit)
    for inserted, start, count in changes:
        rows.keys |= inserted
        rows.keys -= {*rows.between(None, None)[start : start + count]}
        parts = list(rendered(rows, page_map, limit, merges=merges))
        assert_chained(rows, [page for page, _ in parts])
        assert not merges or assert_merged(parts, limit) is None
        assert [key for _, written in parts for key in written.keys] == rows.between(None, None)
        for page, written in parts:
            assert written.keys == rows.on(page)
            assert len(written.keys) <= limit
        page_map = tuple(page for page, _ in parts)


@given(KEYS.filter(bool), KEYS, LIMITS)
def test_a_page_keeps_its_number_and_a_new_number_was_never_used(keys, inserted, limit):
    rows = Rows(keys)
    before = cut(rows, limit)
    # As after earlier splits, numbers are not in the order of the keys.
    count = len(before)
    before = tuple(page._replace(number=2 * count - page.number) for page in before)
    rows.keys |= inserted
    after = {page.number: page for page, _ in rendered(rows, before, limit)}
    for page in before:
        kept = after.get(page.number)
        assert kept is not None
        assert kept.after == page.after
        assert set(rows.on(kept)) <= set(rows.on(page))
    new, highest = after.keys() - {page.number for page in before}, max(page.number for page in before)
    assert sorted(new) == list(range(highest + 1, highest + 1 + len(new)))


@given(KEYS, LIMITS)
def test_an_overfull_closed_page_is_divided_evenly_and_each_part_is_rendered_once(keys, limit):
    rows, begun = Rows(keys), []
    page = Page(1, None, rows.text(400))
    divide = lambda page, written: even_bounds(rows, page, written.cut or ())  # noqa: E731
    done = list(render_all([page], writer(rows, limit, begun), divide=divide))
    sizes = [len(written.keys) for _, written in done]
    assert [key for _, written in done for key in written.keys] == rows.on(page)
    assert (done[0][0].after, done[-1][0].until) == (None, page.until)
    if len(sizes) > 1:
        assert max(sizes) - min(sizes) <= 1
        assert [part.number for part, _ in done] == [*range(2, len(sizes) + 2)]
        assert len(sizes) == -(-sum(sizes) // limit) == len(begun) - 1


@given(st.sets(st.integers(0, 400), min_size=9, max_size=60), st.data())
def test_a_page_whose_rows_are_deleted_meanwhile_is_divided_somehow(keys, data):
    """Most rows are on a page that is too full, and some of them go while its bounds are read."""
    keys = Rows(keys).between(None, None)
    bound = Rows.text(keys[data.draw(st.integers(len(keys) // 2, len(keys) - 1))])
    start, most = data.draw(st.integers(0, len(keys))), data.draw(st.integers(1, len(keys)))
    gone = {*keys[start : start + most]} ^ data.draw(st.sets(st.sampled_from(keys), max_size=3))
    # The rows go before one of the reads.
    rows = Rows(keys, [*[set()] * data.draw(st.integers(0, 3)), gone])
    limit, merges, ahead = data.draw(st.integers(1, 6)), data.draw(st.booleans()), data.draw(LIMITS)

    def divide(page, written):
        return even_bounds(rows, page, written.cut) if page.until else []

    pages = [Page(1, None, bound), Page(2, bound, None)]
    done = list(rendered(rows, pages, limit, ahead, merges=merges, divide=divide))
    assert_chained(rows, [page for page, _ in done])
    found = [key for _, written in done for key in written.keys]
    # Pages that were rendered before have rows that are gone.
    assert [key for key in found if key not in gone] == [key for key in keys if key not in gone]
    assert found == Rows(found).between(None, None)
    assert {*found} <= {*keys}
    assert all(len(written.keys) <= limit for _, written in done)
    assert not merges or assert_merged(done, limit) is None


@pytest.mark.parametrize("ahead", [1, 3])
def test_the_requested_number_of_pages_is_submitted_before_waiting(ahead):
    begun = []

    def begin(page):
        begun.append(page.number)
        return lambda: Written([], None)

    pages = render_all(cut(Rows(range(10)), 2), begin, ahead)
    assert begun == []
    for number in (1, 2):
        assert next(pages)[0].number == number
        # A page could be merged with the next one, which is awaited, too.
        assert begun == [*range(1, number + 1 + ahead)]
    assert [page.number for page, _ in pages] == [3, 4, 5]


@pytest.mark.parametrize("overflowing", [None, 1, 2])
def test_a_page_is_submitted_before_the_next_one_is_queried(overflowing):
    """Rendering elsewhere can begin with the first page. Only a split needs all numbers at once."""
    done = []

    class Watched(Rows):
        def key_after(self, after, count):
            done.append("key_after")
            return super().key_after(after, count)

    def begin(page):
        done.append(f"begin {page.number}")
        first_key = (str(2 * page.number - 2),)
        return lambda: Written([], first_key if page.number == overflowing else None)

    found = [page.number for page, _ in render_all(each_page(Watched(range(8)), 2), begin)]
    one, two, three, four, five = ("begin 1", "begin 2", "begin 3", "begin 4", "begin 5")
    ask = "key_after"
    assert (done, found) == {
        None: ([ask, one, ask, two, ask, three, ask, four], [1, 2, 3, 4]),
        1: ([ask, one, ask, ask, ask, five, two, three, four], [1, 5, 2, 3, 4]),
        2: ([ask, one, ask, two, ask, ask, five, three, four], [1, 2, 5, 3, 4]),
    }[overflowing]


def test_submitted_pages_are_awaited_if_an_earlier_page_fails():
    waited = []

    def begin(page):
        def result():
            waited.append(page.number)
            raise ValueError(f"page {page.number}")

        return result

    with pytest.raises(ValueError, match="page 1"):
        list(render_all(cut(Rows(range(10)), 2), begin, 3))
    assert waited == [1, 2, 3]


@given(keys=KEYS, rows_per_page=LIMITS, limit=LIMITS, ahead=st.integers(1, 9))
def test_the_number_of_submitted_pages_changes_no_page(keys, rows_per_page, limit, ahead):
    rows = Rows(keys)
    page_map = cut(rows, rows_per_page)
    assert list(rendered(rows, page_map, limit, ahead)) == list(rendered(rows, page_map, limit))


def test_a_cut_that_makes_no_progress_is_an_error():
    stuck = (Page(1, ("7",), None),)
    with pytest.raises(ValueError, match="never end"):
        list(render_all(stuck, lambda page: lambda: SimpleNamespace(cut=("7",), is_empty=False)))


class Table:
    """Rows with values. A fingerprint hashes each row separately, or all rows in order."""

    def __init__(self, rows, adds_up=False):
        self.rows, self.adds_up, self.queries, self.asked = dict(rows), adds_up, 0, []

    def within(self, after, until):
        first, last = -1 if after is None else int(after[0]), PRIME if until is None else int(until[0])
        return {key: value for key, value in self.rows.items() if first < key <= last}

    def fingerprint(self, after, until):
        rows = self.within(after, until)
        hashed = repr(sorted(rows.items()))
        number = int.from_bytes(sha256(hashed.encode()).digest()[:8], "big")
        return Fingerprint(len(rows), None, number if self.adds_up else hashed)

    def ask(self, pages):
        self.queries += 1
        self.asked += [(page.after, page.until) for page in pages]
        return [self.fingerprint(page.after, page.until) for page in pages]


TABLES = st.dictionaries(st.integers(0, 99), st.integers(0, 5), max_size=60)
BOUNDS = st.sets(st.integers(0, 98), max_size=20)


def pages_of(bounds):
    """Return the pages between bounds, with numbers that are not in the order of the keys."""
    keys = [None, *((str(bound),) for bound in sorted(bounds)), None]
    return [Page(900 - n, after, until) for n, (after, until) in enumerate(pairwise(keys))]


def known_of(table, pages, unknown=()):
    return [
        (page, None if n in unknown else table.fingerprint(page.after, page.until)._replace(newest="2026"))
        for n, page in enumerate(pages)
    ]


@given(TABLES, TABLES, BOUNDS, st.sets(st.integers(0, 20)), st.booleans())
def test_a_page_that_is_not_reported_was_read_and_is_the_same(before, after, bounds, unknown, adds_up):
    was, now = Table(before, adds_up), Table(after, adds_up)
    pages = pages_of(bounds)
    found = find_changed(known_of(was, pages, unknown), now.ask)
    unknown_ranges = {(page.after, page.until) for n, page in enumerate(pages) if n in unknown}
    assert len({*now.asked}) == len(now.asked)
    assert not unknown_ranges & {*now.asked}
    for page in pages:
        is_same = was.within(page.after, page.until) == now.within(page.after, page.until)
        assert (page.number not in found) == ((page.after, page.until) in now.asked and is_same)


@given(TABLES, TABLES, BOUNDS)
def test_two_more_pages_that_differ_than_are_the_same_end_comparing(before, after, bounds):
    was, now = Table(before), Table(after)
    find_changed(known_of(was, pages_of(bounds)), now.ask)
    balance = [0]
    for ends in now.asked:
        balance.append(balance[-1] + (1 if was.within(*ends) == now.within(*ends) else -1))
    assert min(balance[:-1], default=0) > -2
    assert balance[-1] == -2 or len(now.asked) == len(bounds) + 1


def compared(count, changed, adds_up=False):
    table = Table(dict.fromkeys(range(count), 1), adds_up)
    known = known_of(table, pages_of(range(count - 1)))
    table.rows |= dict.fromkeys(changed, 2)
    found = find_changed(known, table.ask)
    return {n for n, (page, _) in enumerate(known) if page.number in found}, len(table.asked), table.queries


@pytest.mark.parametrize("count", [1, 2, 3, 7, 10, 22, 211])
def test_only_pages_that_changed_are_reported_and_two_are_compared_if_all_did(count):
    assert compared(count, range(count))[:2] == ({*range(count)}, min(count, 2))
    for changed in {0, count // 2, count - 1} if count > 1 else ():
        assert compared(count, [changed])[:2] == ({changed}, count)
    # Adjacent pages can be a fifth of all, at the start, in the middle or at the end.
    for first in (0, count // 2, count - count // 5) if count >= 10 else ():
        several = range(first, first + count // 5)
        assert compared(count, several)[0] == {*several}
    # On a server, one query reads the rest after a page that is the same.
    assert compared(count, [], adds_up=True) == (set(), count, min(count, 2))
    found, _, queries = compared(count, [0], adds_up=True)
    assert found == {0}
    assert queries <= 2 + 4


def test_no_pages_are_not_read_and_hashes_of_different_kinds_are_not_the_same():
    """A database can be moved from SQLite to PostgreSQL."""
    table = Table({})
    assert find_changed([], table.ask) == set()
    assert (find_changed([(Page(1, None, None), None)], table.ask), table.asked) == ({1}, [])
    assert not Fingerprint(1, None, 7).same(Fingerprint(1, None, "7"))


def sized(urls, size):
    return lambda: SimpleNamespace(urls=urls, bytes=size, cut=None, is_empty=not urls + size)


def places(count):
    bounds = [None, *((str(place),) for place in range(1, count)), None]
    return [Page(number, *pair) for number, pair in enumerate(pairwise(bounds), 1)]


PAGE_LIMITS = Limits(100, 1_000)
#: How far a page is filled, and half of it, the limit for the last page.
FULL, HALF = fill(100), fill(100) // 2


@pytest.mark.parametrize(
    ("sizes", "groups"),
    [([(FULL - 1, 0), (1, 0), (FULL, 0)], [2, 1]), ([(FULL, 0), (1, 0), (FULL, 0)], [1, 1, 1]),
     ([(0, fill(1_000) - 1), (0, 1), (0, fill(1_000))], [2, 1]),
     ([(0, fill(1_000)), (0, 1), (0, fill(1_000))], [1, 1, 1]), ([(HALF - 1, 0), (1, 0)], [2]),
     ([(HALF, 0), (1, 0)], [1, 1]), ([(1, 0), (1, 0), (1, 0), (FULL, 0)], [3, 1]),
     ([(HALF, 0), (HALF, 0), (1, 0), (HALF, 0), (2, 0)], [3, 1, 1])],
)  # fmt: skip
@pytest.mark.parametrize("ahead", [1, 3])
def test_small_pages_are_rendered_as_one_until_no_two_fit_together(sizes, groups, ahead):
    numbers, merges = [], sum(group > 1 for group in groups)

    def join(size, page, rendered):
        if size is None:
            return rendered.urls, rendered.bytes
        size = size[0] + rendered.urls, size[1] + rendered.bytes
        return size if fit_together(size, PAGE_LIMITS, is_last=page.until is None) else None

    def submit(page):
        numbers.append(page.number)
        first = 0 if page.after is None else int(page.after[0])
        last = len(sizes) if page.until is None else int(page.until[0])
        urls, size = (sum(amounts) for amounts in zip(*sizes[first:last], strict=True))
        return sized(urls, size)

    done = [page for page, _ in render_all(places(len(sizes)), submit, ahead, join=join)]
    assert [sum(groups[:place]) + 1 for place in range(len(groups))] == [page.number for page in done]
    assert len(numbers) == len(sizes) + merges
    assert [page for page, _ in render_all(done, submit, ahead, join=join)] == done
    assert len(numbers) == len(sizes) + merges + len(done)


def test_empty_pages_are_not_read_again_by_a_result_that_follows():
    sizes = [0, 0, 20, 0, 0, 20, 0, FULL, 0, 0, HALF, 0]

    def submit(page):
        first, last = (int(bound[0]) if bound else None for bound in (page.after, page.until))
        return sized(sum(sizes[first:last]), 0)

    def join(size, page, rendered):
        urls = rendered.urls + (size[0] if size else 0)
        return (urls, 0) if size is None or urls <= FULL else None

    done = list(render_all(places(len(sizes)), submit, join=join))
    expected = [(1, 0), (2, 0), (3, 40), (8, FULL), (9, 0), (10, 0), (11, HALF), (12, 0)]
    assert [(page.number, rendered.urls) for page, rendered in done] == expected
    assert [page.after for page, _ in done[1:]] == [page.until for page, _ in done[:-1]]
