"""Documents within limits: where they are cut, and that every entry is written."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import accumulate, pairwise
from typing import Any, NamedTuple

import pytest
from hypothesis import given, settings, strategies as st

from django_sitemaps09.entries import Alternate, Batch, Column, ItemError, Localization
from django_sitemaps09.protocol import Limits
from django_sitemaps09.writer import FORMATS, URLSET, Format, elements
from tests.support.examples import EXAMPLES
from tests.support.writing import LINKS, bases, languages, single, write

# Pages


class Item(NamedTuple):
    """The locations of an item, one for each localization, and an optional lastmod."""

    locations: tuple[str | None, ...]
    lastmod: str | None


class Shape(NamedTuple):
    """Items with their keys, the sizes of batches, and how localizations are linked."""

    items: dict[int, Item]
    cuts: tuple[int, ...]
    localizations: tuple[tuple[str, bool], ...]
    alternates: bool

    @property
    def namespaces(self) -> dict[str, str]:
        return LINKS if self.alternates or any(language for language, _ in self.localizations) else {}

    def batches(self, after: int | None = None) -> list[Batch]:
        """Yield the items after a key, like a source."""
        keys = [key for key in self.items if after is None or key > after]
        ends = list(accumulate(self.cuts))
        groups = [[key for key in keys if low <= key < high] for low, high in pairwise([0, *ends, 10**9])]
        return [self.batch(group) for group in groups]

    def batch(self, keys: Sequence[int]) -> Batch:
        columns = [
            [self.items[key].locations[place] for key in keys] for place in range(len(self.localizations))
        ]
        links = [
            [Alternate("de", loc) for loc in self.items[key].locations if loc is not None] for key in keys
        ]
        return Batch(
            keys=keys,
            localizations=[
                Localization(language, column, listed)
                for (language, listed), column in zip(self.localizations, columns, strict=True)
            ],
            lastmods=[self.items[key].lastmod for key in keys],
            alternates=links if self.alternates else None,
        )

    def locations(self, key: int) -> list[str]:
        """Return the locations of an item's entries."""
        pairs = zip(self.localizations, self.items[key].locations, strict=True)
        return [location for (_, listed), location in pairs if listed and location is not None]

    def size(self, key: int, kind: Format = URLSET, base: str = "") -> int:
        """Return the bytes of all entries of an item."""
        [text] = elements(kind, self.batch([key]), base)
        return len(text.encode())

    def empty(self, kind: Format = URLSET) -> int:
        """Return the bytes of a document without entries."""
        return len(write([], kind=kind, namespaces=self.namespaces)[0])


locations = st.builds(
    "{}{}{}".format,
    st.sampled_from(["", "/"]),
    st.sampled_from(["a", "ü", "&<", "😀"]),
    st.text("ab", max_size=60),
)


@st.composite
def shapes_of(draw: Callable[..., Any], most: int = 14) -> Shape:
    localizations = draw(st.lists(st.tuples(st.just("") | languages, st.booleans()), max_size=3).map(tuple))
    # A localization that every item has, so that each item has an entry.
    place = draw(st.integers(0, len(localizations)))
    localizations = (*localizations[:place], (draw(st.just("") | languages), True), *localizations[place:])
    columns = [locations if i == place else st.none() | locations for i in range(len(localizations))]
    item = st.builds(
        Item,
        st.tuples(*columns),
        st.none() | st.sampled_from(["2026-01-01", "2026-01-01T00:00:00Z", "2025-12-31"]),
    )
    return Shape(
        dict(enumerate(draw(st.lists(item, max_size=most)), 1)),
        draw(st.lists(st.integers(0, 5), max_size=5).map(tuple)),
        localizations,
        draw(st.booleans()),
    )


shapes = shapes_of()


@st.composite
def limits_for(draw: Callable[..., Any], shape: Shape, kind: Format = URLSET, base: str = "") -> Limits:
    """Draw limits close to the size of the items."""
    sizes = sorted({shape.size(key, kind, base) for key in shape.items})
    size = draw(st.integers(0, 500) | st.sampled_from(sizes or [0]))
    return Limits(draw(st.integers(1, 12)), shape.empty(kind) + size)


def test_limits_count_entries_and_not_items() -> None:
    localizations = [Localization("", list("abcd")), Localization("de", ["e", None, "g", "h"])]
    batch = Batch([1, 2, 3, 4], [*localizations, Localization("x-default", list("ijkl"), is_listed=False)])
    cuts = {urls: write([batch], Limits(urls, 10_000))[1][:4:3] for urls in range(2, 8)}
    assert cuts == {2: (2, 1), 3: (3, 2), 4: (3, 2), 5: (5, 3), 6: (5, 3), 7: (7, None)}
    _, written = write([batch], Limits(1, 10_000))
    assert (written.urls, written.cut) == (1, 2)
    assert written.errors == (ItemError("1", "location", "its entries alone exceed the limits of a page"),)


@pytest.mark.parametrize("name", FORMATS)
@settings(max_examples=5 * EXAMPLES)
@given(data=st.data())
def test_documents_within_limits_have_every_item_that_fits_once_and_whole(
    name: str, data: st.DataObject
) -> None:
    """A document is cut where the next item would not fit."""
    kind, shape, base = FORMATS[name], data.draw(shapes), data.draw(bases)
    limits = data.draw(limits_for(shape, kind, base))
    sizes = {key: shape.size(key, kind, base) for key in shape.items}
    fitting = [
        key
        for key in shape.items
        if len(shape.locations(key)) <= limits.urls and shape.empty(kind) + sizes[key] <= limits.bytes
    ]
    errors: list[ItemError] = []
    after: Any = 0
    while after is not None:
        document, written = write(
            shape.batches(after), limits, kind=kind, base=base, namespaces=shape.namespaces
        )
        keys: list[Any] = [key for key in fitting if after < key <= (written.cut or 10**9)]
        assert written.bytes == len(document) <= limits.bytes
        assert document == write([shape.batch(keys)], kind=kind, base=base, namespaces=shape.namespaces)[0]
        assert written.urls == sum(len(shape.locations(key)) for key in keys) <= limits.urls
        assert written.items == len(keys)
        lastmods = {shape.items[key].lastmod for key in keys}
        # The newest lastmod is known only if all entries have one. A text file has none to compare.
        if kind is URLSET:
            newest = None if None in lastmods else max(filter(None, lastmods), default=None)
            assert written.lastmod == newest
        if written.cut is not None:
            assert written.cut == keys[-1]
            following = keys[-1] + 1
            assert (
                written.urls + len(shape.locations(following)) > limits.urls
                or written.bytes + sizes[following] > limits.bytes
            )
        errors += written.errors
        after = written.cut
    skipped = [key for key in shape.items if key not in fitting]
    assert errors == [
        ItemError(str(key), "location", "its entries alone exceed the limits of a page") for key in skipped
    ]


# The result of writing a page


@pytest.mark.parametrize(
    ("lastmods", "newest"),
    [
        ([["2026-01-02", "2026-01-01"], "2026-01-01T00:00:00Z"], "2026-01-02"),
        ([["2026-01-01", "2026-01-01"], "2026-01-01T00:00:00Z"], "2026-01-01T00:00:00Z"),
        (["2026-01-01", "2026-01-03"], "2026-01-03"),
        (["2026-01-01", None], None),
        ([None, "2026-01-01"], None),
        ([["2026-01-01", None], "2026-01-01"], None),
        ([["2026-01-01", ""], "2026-01-01"], None),
        (["2026-01-01", ""], None),
    ],
)
def test_the_newest_lastmod_is_that_of_all_batches(lastmods: list[Column], newest: str | None) -> None:
    some = [single([i, -i], ["a", "b"], lastmods=column) for i, column in enumerate(lastmods, 1)]
    assert write(some)[1].lastmod == newest


def test_a_lastmod_that_no_entry_of_the_page_has_counts_for_nothing() -> None:
    batch = single([1, 2, 3], ["a", "b", "c"], lastmods=["2026-01-01", "2027-01-01", None])
    _, written = write([batch], Limits(1, 1_000))
    assert (written.lastmod, written.cut) == ("2026-01-01", 1)
    empty = single([], [], lastmods="2028-01-01")
    assert write([empty])[1].lastmod is None
    assert write([empty, batch], Limits(2, 1_000))[1].lastmod == "2027-01-01"


def test_without_limits_there_is_no_cut() -> None:
    count = 60_000
    document, written = write([single(range(count), ["https://example.com/"] * count)])
    assert (written.urls, written.cut, written.bytes) == (count, None, len(document))


def test_batches_after_a_cut_are_not_requested() -> None:
    def endless() -> Iterable[Batch]:
        for key in range(3):
            yield single([key], ["a"])
        raise AssertionError("a batch too many was read")

    assert write(endless(), Limits(2, 1_000))[1].cut == 1


def test_errors_of_the_batches_are_handed_on() -> None:
    errors = [ItemError("1", "location", "is bad"), ItemError("2", "priority", "is bad too")]
    some = [single([], [], errors=errors[:1]), single([2], ["a"], errors=errors[1:])]
    assert write(some)[1].errors == tuple(errors)
