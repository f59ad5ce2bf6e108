"""Laws of the writer: any text in, well-formed XML out, and never a page over its limits."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from datetime import date, datetime, timedelta, timezone
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st
from lxml import etree

from django_sitemaps09.entries import Alternate, Batch, Column, IndexEntry, ItemError
from django_sitemaps09.exceptions import SitemapError, TextError
from django_sitemaps09.protocol import (
    CHANGEFREQS,
    SITEMAP_NAMESPACE,
    XHTML_NAMESPACE,
    priority_text,
    w3c,
)
from django_sitemaps09.writer import (
    Limits,
    Written,
    index_document,
    url_elements,
    urlset_head,
    write_urlset,
)

SCHEMAS = Path(__file__).resolve().parents[2] / "shared" / "schemas"
DECLARATION = b'<?xml version="1.0" encoding="UTF-8"?>'
FIELDS = ("lastmod", "changefreq", "priority")
#: Production Char of XML 1.0, https://www.w3.org/TR/xml/#charsets, written anew.
XML_CHARACTERS = [
    *((0x9, 0xA), (0xD, 0xD), (0x20, 0xD7FF)),
    *((0xE000, 0xFFFD), (0x10000, 0x10FFFF)),
]
NOT_XML = tuple(map(chr, (0x0, 0xB, 0x1F, 0xD800, 0xDFFF, 0xFFFE, 0xFFFF)))


def is_xml(text: str) -> bool:
    return all(any(low <= ord(c) <= high for low, high in XML_CHARACTERS) for c in text)


def parse(document: bytes) -> Any:
    """The root, read as strictly as a reader of files from strangers reads."""
    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False)
    return etree.fromstring(document, parser)


def tag(name: str) -> str:
    return f"{{{SITEMAP_NAMESPACE}}}{name}"


class Entry(NamedTuple):
    """What a reader finds in a `<url>`; `None` or nothing where there is no element."""

    loc: str
    lastmod: str | None
    changefreq: str | None
    priority: str | None
    alternates: tuple[tuple[str, str], ...]


def read(document: bytes) -> list[Entry]:
    """The entries of a urlset, whose every element is known and comes at most once."""
    root = parse(document)
    assert root.tag == tag("urlset")
    found = []
    for url in root:
        assert url.tag == tag("url")
        parts = [child for child in url if child.tag != f"{{{XHTML_NAMESPACE}}}link"]
        texts = {child.tag: child.text or "" for child in parts}
        assert len(texts) == len(parts)
        assert set(texts) <= {tag(name) for name in ("loc", *FIELDS)}
        links = url[len(parts) :]
        assert all(set(link.attrib) == {"rel", "hreflang", "href"} for link in links)
        assert all(link.get("rel") == "alternate" for link in links)
        found.append(
            Entry(
                texts[tag("loc")],
                texts.get(tag("lastmod")),
                texts.get(tag("changefreq")),
                texts.get(tag("priority")),
                tuple((link.get("hreflang"), link.get("href")) for link in links),
            )
        )
    return found


def write(
    batches: Iterable[Batch], limits: Limits | None = None, *, alternates: bool = False
) -> tuple[bytes, Written]:
    chunks: list[bytes] = []
    written = write_urlset(batches, chunks.append, limits, alternates=alternates)
    return b"".join(chunks), written


def entries(batch: Batch) -> list[Entry]:
    """The entries of a batch, as they should be read again."""

    def each(column: Column) -> list[str | None]:
        if column is None or isinstance(column, str):
            return [column or None] * len(batch.keys)
        return [text or None for text in column]

    columns = map(each, (batch.lastmods, batch.changefreqs, batch.priorities))
    links = batch.alternates or [()] * len(batch.keys)
    return [
        Entry(*texts, tuple(map(tuple, some)))
        for *texts, some in zip(batch.locations, *columns, links, strict=True)
    ]


#: What breaks XML or comes back as something else, more often than chance would have it.
awkward = st.sampled_from(
    [
        *("&", "<", ">", '"', "'", "\t", "\n", "\r", "\r\n", "]]>", "<!--", "&amp;", "&#0;", "<![CDATA["),
        *("\x85", "\u2028", "\ufeff", "\U0001fffe", "e\u0301", "😀"),
        *NOT_XML,
    ]
)
anything = st.lists(awkward | st.characters(exclude_categories=()), max_size=5).map("".join)
writable = anything.filter(is_xml)


def columns(text: st.SearchStrategy[str], count: int) -> st.SearchStrategy[Column]:
    return st.none() | text | st.lists(st.none() | text, min_size=count, max_size=count)


@st.composite
def batches_of(draw: Callable[..., Any], text: st.SearchStrategy[str]) -> Batch:
    count = draw(st.integers(1, 4))
    link = st.lists(st.builds(Alternate, text, text), max_size=3)
    return Batch(
        keys=[f"key-{number}-" for number in range(count)],
        locations=draw(st.lists(text, min_size=count, max_size=count)),
        lastmods=draw(columns(text, count)),
        changefreqs=draw(columns(text, count)),
        priorities=draw(columns(text, count)),
        alternates=draw(st.none() | st.lists(link, min_size=count, max_size=count)),
    )


@given(batches_of(writable))
@example(Batch([1], ["a\r\nb\rc\td"], alternates=[[Alternate("a\tb", "a\r\nb\rc\td\n")]]))
@example(Batch([1, 2], ["a", "b"], lastmods="", changefreqs=["", None], priorities=["", ""]))
def test_every_text_is_read_again_as_it_was(batch: Batch) -> None:
    document, written = write([batch], alternates=True)
    assert read(document) == entries(batch)
    assert (written.urls, written.bytes, written.cut) == (len(batch.keys), len(document), None)


@given(batches_of(anything))
def test_any_text_is_written_or_refused_with_the_key_of_its_item(batch: Batch) -> None:
    bad = [
        key
        for key, entry in zip(batch.keys, entries(batch), strict=True)
        if not is_xml("".join(filter(None, entry[:-1])) + "".join(map("".join, entry.alternates)))
    ]
    try:
        document, _ = write([batch], alternates=True)
    except TextError as error:
        named = [key for key in bad if str(key) in str(error)]
        assert named
    else:
        assert not bad
        assert read(document) == entries(batch)


@pytest.mark.parametrize("character", NOT_XML, ids=ascii)
@pytest.mark.parametrize("field", ["locations", "lastmods", "changefreqs", "priorities", "alternates"])
def test_a_character_that_xml_cannot_hold_is_refused_wherever_it_stands(field: str, character: str) -> None:
    bad = f"a{character}b"
    values: list[Any] = ["a", bad, "c"]
    if field == "alternates":
        values = [[], [Alternate("de", "a"), Alternate("en", bad)], []]
    batch = replace(Batch(["first", "second", "third"], ["a", "b", "c"]), **{field: values})
    with pytest.raises(TextError, match="second") as raised:
        write([batch], alternates=True)
    assert isinstance(raised.value, (SitemapError, ValueError))
    assert repr(bad) in str(raised.value)


def test_a_constant_that_xml_cannot_hold_is_refused_even_without_entries() -> None:
    with pytest.raises(TextError):
        write([Batch([], [], lastmods="\x00")])


def test_every_character_of_xml_is_read_again_as_it_was() -> None:
    text = "".join(chr(c) for low, high in XML_CHARACTERS[:-1] for c in range(low, high + 1))
    text += "".join(chr(c) for c in range(0x10000, 0x110000, 97))
    document, _ = write([Batch([1], [text], alternates=[[Alternate(text, text)]])], alternates=True)
    assert read(document) == [Entry(text, None, None, None, ((text, text),))]


@pytest.mark.parametrize("alternates", [False, True])
def test_a_document_starts_at_byte_0_with_its_declaration_and_has_no_byte_order_mark(
    alternates: bool,
) -> None:
    document, _ = write([Batch([1], ["https://example.com/ü"])], alternates=alternates)
    assert document.startswith(DECLARATION)
    assert document.startswith(urlset_head(alternates=alternates))
    assert "https://example.com/ü".encode() in document
    assert not re.search(rb"<!DOCTYPE|<!ENTITY|<!\[CDATA\[|\xef\xbb\xbf", document)


def test_the_protocols_namespace_is_the_default_one_and_has_no_prefix() -> None:
    document, _ = write([Batch([1], ["a"])])
    assert parse(document).nsmap == {None: SITEMAP_NAMESPACE}
    assert b"<urlset xmlns=" in document
    assert b"<url><loc>a</loc></url>" in document


def test_the_namespace_of_links_is_declared_only_where_entries_can_have_some() -> None:
    batch = Batch([1], ["a"], alternates=[[Alternate("de", "b")]])
    assert parse(write([batch], alternates=True)[0]).nsmap == {
        None: SITEMAP_NAMESPACE,
        "xhtml": XHTML_NAMESPACE,
    }
    assert b"xhtml" not in write([replace(batch, alternates=None)])[0]


@given(batches_of(writable))
def test_elements_stand_in_the_order_of_the_schema(batch: Batch) -> None:
    order = [*(tag(name) for name in ("loc", *FIELDS)), f"{{{XHTML_NAMESPACE}}}link"]
    for url in parse(write([batch], alternates=True)[0]):
        positions = [order.index(child.tag) for child in url]
        assert positions == sorted(positions)


@pytest.mark.parametrize("column", ["", None, [None, None], ["", ""], ["", None]], ids=repr)
@pytest.mark.parametrize("field", ["lastmods", "changefreqs", "priorities"])
def test_an_element_without_text_is_not_written(field: str, column: Column) -> None:
    batch = replace(Batch([1, 2], ["a", "b"]), **{field: column})
    document, written = write([batch])
    assert document == write([Batch([1, 2], ["a", "b"])])[0]
    assert written.lastmod is None


@given(
    locations=st.lists(writable, max_size=5),
    texts=st.tuples(*[st.none() | writable.filter(bool)] * 3),
)
def test_a_constant_gives_the_bytes_of_a_column_that_repeats_it(
    locations: list[str], texts: tuple[str | None, ...]
) -> None:
    keys = range(len(locations))
    repeated = [[text] * len(locations) for text in texts]
    assert write([Batch(keys, locations, *texts)]) == write([Batch(keys, locations, *repeated)])


# Pages


class Item(NamedTuple):
    """The entries of one item: their locations, and a lastmod where it has one."""

    locations: tuple[str, ...]
    lastmod: str | None


class Shape(NamedTuple):
    """Items with their keys, how many make a batch each time, and whether languages are linked."""

    items: dict[int, Item]
    cuts: tuple[int, ...]
    alternates: bool

    def batches(self, after: int | None = None) -> list[Batch]:
        """The items behind a key, as a source gives them."""
        keys = [key for key in self.items if after is None or key > after]
        ends = list(accumulate(self.cuts))
        groups = [[key for key in keys if low <= key < high] for low, high in pairwise([0, *ends, 10**9])]
        return [self.batch(group) for group in groups]

    def batch(self, keys: Sequence[int]) -> Batch:
        rows = [(key, loc) for key in keys for loc in self.items[key].locations]
        links = [[Alternate("de", loc) for loc in self.items[key].locations] for key, _ in rows]
        return Batch(
            keys=[key for key, _ in rows],
            locations=[loc for _, loc in rows],
            lastmods=[self.items[key].lastmod for key, _ in rows],
            alternates=links if self.alternates else None,
        )

    def size(self, key: int) -> int:
        """The bytes of all entries of an item."""
        return sum(len(text.encode()) for text in url_elements(self.batch([key])))


EMPTY = {alternates: len(write([], alternates=alternates)[0]) for alternates in (False, True)}
locations = st.builds("{}{}".format, st.sampled_from(["", "ü", "&<", "😀"]), st.text("ab", max_size=60))
items = st.builds(
    Item,
    st.lists(locations, min_size=1, max_size=4).map(tuple),
    st.none() | st.sampled_from(["2026-01-01", "2026-01-01T00:00:00Z", "2025-12-31"]),
)
shapes = st.builds(
    Shape,
    st.lists(items, max_size=14).map(lambda some: dict(enumerate(some, 1))),
    st.lists(st.integers(0, 5), max_size=5).map(tuple),
    st.booleans(),
)


@st.composite
def limits_for(draw: Callable[..., Any], shape: Shape) -> Limits:
    """Limits near to what the items need, so that they bite."""
    sizes = sorted({shape.size(key) for key in shape.items})
    size = draw(st.integers(0, 500) | st.sampled_from(sizes or [0]))
    return Limits(draw(st.integers(1, 12)), EMPTY[shape.alternates] + size)


shaped = shapes.flatmap(lambda shape: st.tuples(st.just(shape), limits_for(shape)))


def pages(shape: Shape, limits: Limits) -> list[tuple[bytes, Written]]:
    """All pages of a shape, each from where the one before was cut."""
    found: list[tuple[bytes, Written]] = []
    after: Any = None
    while True:
        found.append(write(shape.batches(after), limits, alternates=shape.alternates))
        cut = found[-1][1].cut
        if cut is None:
            return found
        assert after is None or cut > after
        after = cut


def fits(shape: Shape, key: int, limits: Limits) -> bool:
    """Whether an item fits a page of its own."""
    return (
        len(shape.items[key].locations) <= limits.urls
        and EMPTY[shape.alternates] + shape.size(key) <= limits.bytes
    )


@given(shaped)
def test_no_page_is_over_its_limits_the_closing_tag_included(shaped: tuple[Shape, Limits]) -> None:
    shape, limits = shaped
    for document, written in pages(shape, limits):
        assert written.urls == len(read(document)) <= limits.urls
        assert written.bytes == len(document) <= limits.bytes
        assert document.endswith(b"</urlset>\n")


@given(shaped)
def test_going_on_behind_each_cut_writes_every_entry_that_fits_a_page_exactly_once(
    shaped: tuple[Shape, Limits],
) -> None:
    shape, limits = shaped
    found = [entry for document, _ in pages(shape, limits) for entry in read(document)]
    fitting = [key for key in shape.items if fits(shape, key, limits)]
    assert found == entries(shape.batch(fitting))


@given(shaped)
def test_an_item_is_left_out_with_an_error_only_where_it_fits_no_page(
    shaped: tuple[Shape, Limits],
) -> None:
    shape, limits = shaped
    errors = [error for _, written in pages(shape, limits) for error in written.errors]
    assert errors == [
        ItemError(str(key), "location", "fits no page")
        for key in shape.items
        if not fits(shape, key, limits)
    ]


@given(shaped)
def test_a_cut_is_the_key_of_the_last_item_written_and_the_next_one_would_not_fit(
    shaped: tuple[Shape, Limits],
) -> None:
    shape, limits = shaped
    for document, written in pages(shape, limits):
        if written.cut is None:
            continue
        last = shape.items[written.cut]
        assert [entry.loc for entry in read(document)][-len(last.locations) :] == list(last.locations)
        following = min(key for key in shape.items if key > written.cut)
        assert (
            written.urls + len(shape.items[following].locations) > limits.urls
            or written.bytes + shape.size(following) > limits.bytes
        )


@given(shaped)
def test_the_entries_of_an_item_are_never_parted(shaped: tuple[Shape, Limits]) -> None:
    shape, limits = shaped
    unique = {
        key: Item(tuple(f"{key}-{loc}" for loc in item.locations), item.lastmod)
        for key, item in shape.items.items()
    }
    for document, _ in pages(shape._replace(items=unique), limits):
        found = [entry.loc for entry in read(document)]
        for item in unique.values():
            assert set(item.locations) <= set(found) or not set(item.locations) & set(found)


@given(shaped=shaped, cuts=st.lists(st.integers(0, 5), max_size=5).map(tuple))
def test_how_entries_are_batched_changes_nothing(
    shaped: tuple[Shape, Limits], cuts: tuple[int, ...]
) -> None:
    shape, limits = shaped
    found = [pages(one, limits) for one in (shape, shape._replace(cuts=cuts))]
    # Where about the middle is, is told from some keys of each batch; it is never behind the cut.
    whole, parted = (
        [(document, written._replace(middle=None)) for document, written in one] for one in found
    )
    assert whole == parted
    for _, written in [*found[0], *found[1]]:
        assert (written.middle is None) == (written.cut is None)
        assert written.cut is None or written.middle <= written.cut


@given(shaped)
def test_the_newest_lastmod_is_told_only_if_all_entries_of_the_page_have_one(
    shaped: tuple[Shape, Limits],
) -> None:
    shape, limits = shaped
    for document, written in pages(shape, limits):
        lastmods = [entry.lastmod for entry in read(document)]
        dated = [lastmod for lastmod in lastmods if lastmod]
        assert written.lastmod == (max(dated) if lastmods and len(dated) == len(lastmods) else None)


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
    some = [Batch([i, -i], ["a", "b"], lastmods=column) for i, column in enumerate(lastmods, 1)]
    assert write(some)[1].lastmod == newest


def test_a_lastmod_that_no_entry_of_the_page_has_counts_for_nothing() -> None:
    batch = Batch([1, 2, 3], ["a", "b", "c"], lastmods=["2026-01-01", "2027-01-01", None])
    _, written = write([batch], Limits(1, 1_000))
    assert (written.lastmod, written.cut) == ("2026-01-01", 1)
    empty = Batch([], [], lastmods="2028-01-01")
    assert write([empty])[1].lastmod is None
    assert write([empty, batch], Limits(2, 1_000))[1].lastmod == "2027-01-01"


def test_without_limits_there_is_no_cut() -> None:
    count = 60_000
    document, written = write([Batch(range(count), ["https://example.com/"] * count)])
    assert (written.urls, written.cut, written.bytes) == (count, None, len(document))


def test_batches_behind_a_cut_are_not_asked_for() -> None:
    def endless() -> Iterable[Batch]:
        for key in range(3):
            yield Batch([key], ["a"])
        raise AssertionError("a batch too many was read")

    assert write(endless(), Limits(2, 1_000))[1].cut == 1


def test_errors_of_the_batches_are_handed_on() -> None:
    errors = [ItemError("1", "location", "is bad"), ItemError("2", "priority", "is bad too")]
    some = [Batch([], [], errors=errors[:1]), Batch([2], ["a"], errors=errors[1:])]
    assert write(some)[1].errors == tuple(errors)


def test_nothing_at_all_is_still_a_document() -> None:
    document, written = write([])
    assert read(document) == []
    assert written == Written(0, len(document), None, None, ())


# The index


@given(st.lists(st.builds(IndexEntry, writable, st.none() | writable.filter(bool)), max_size=4))
@example([IndexEntry("a\r\n\t&<>\"'", "\r")])
def test_an_index_is_read_again_as_it_was(some: list[IndexEntry]) -> None:
    document = index_document(some)
    root = parse(document)
    assert document.startswith(DECLARATION)
    assert root.tag == tag("sitemapindex")
    assert root.nsmap == {None: SITEMAP_NAMESPACE}
    assert all(child.tag == tag("sitemap") for child in root)
    assert [[(part.tag, part.text or "") for part in child] for child in root] == [
        [(tag("loc"), entry.location), *([(tag("lastmod"), entry.lastmod)] if entry.lastmod else [])]
        for entry in some
    ]


@given(location=anything, lastmod=anything)
def test_an_index_refuses_what_xml_cannot_hold_and_names_the_file(location: str, lastmod: str) -> None:
    assume(not is_xml(location + lastmod))
    with pytest.raises(TextError) as raised:
        index_document([IndexEntry("fine", None), IndexEntry(f"file-{location}", lastmod)])
    assert "file-" in str(raised.value)


# The schema


@pytest.fixture(scope="module")
def schema() -> Any:
    if not (SCHEMAS / "all.xsd").exists():
        pytest.skip(f"the schemas are not in {SCHEMAS}")
    return etree.XMLSchema(etree.parse(SCHEMAS / "all.xsd"))


uris = st.text("abc-._~:/?@!$&'()*+,;=0", max_size=30).map("https://example.com/".__add__)
lastmod_texts = st.builds(
    w3c,
    st.dates() | st.datetimes(datetime(1, 1, 2), datetime(9999, 12, 30), timezones=st.none()),
    st.sampled_from([timezone.utc, timezone(timedelta(hours=5, minutes=45))]),
)
priorities = st.builds(priority_text, st.floats(0, 1) | st.decimals(0, 1))
languages = st.sampled_from(["en", "de", "pt-BR", "zh-Hant-TW", "x-default", "es-419"])


@st.composite
def valid_batches(draw: Callable[..., Any]) -> Batch:
    count = draw(st.integers(1, 3))
    links = st.lists(st.builds(Alternate, languages, uris), max_size=3)
    return Batch(
        keys=range(count),
        locations=draw(st.lists(uris, min_size=count, max_size=count)),
        lastmods=draw(columns(lastmod_texts, count)),
        changefreqs=draw(columns(st.sampled_from(CHANGEFREQS), count)),
        priorities=draw(columns(priorities, count)),
        alternates=draw(st.none() | st.lists(links, min_size=count, max_size=count)),
    )


@given(batch=valid_batches())
def test_what_the_protocol_admits_is_valid_by_the_schema(schema: Any, batch: Batch) -> None:
    schema.assertValid(parse(write([batch], alternates=True)[0]))
    schema.assertValid(parse(write([replace(batch, alternates=None)])[0]))


@given(st.lists(st.builds(IndexEntry, uris, st.none() | lastmod_texts), min_size=1, max_size=3))
def test_an_index_is_valid_by_the_schema(schema: Any, some: list[IndexEntry]) -> None:
    schema.assertValid(parse(index_document(some)))


@pytest.mark.parametrize(
    "batch",
    [
        Batch([1], ["https://example.com/"], lastmods="2026-01"),
        Batch([1], ["https://example.com/"], changefreqs="Weekly"),
        Batch([1], ["https://example.com/"], priorities="1e-05"),
        Batch([1], ["https://example.com/"], alternates=[[Alternate("pt_BR", "https://a.b/")]]),
    ],
    ids=["lastmod", "changefreq", "priority", "alternates"],
)
def test_the_schema_of_these_tests_refuses_what_the_protocol_does(schema: Any, batch: Batch) -> None:
    assert not schema.validate(parse(write([batch], alternates=True)[0]))


def test_a_known_page_has_these_very_bytes() -> None:
    batch = Batch(
        keys=[7, 7],
        locations=["https://example.com/en/?a=1&b=2", "https://example.com/de/?a=1&b=2"],
        lastmods=w3c(date(2026, 1, 31), timezone.utc),
        changefreqs="weekly",
        priorities=["0.8", None],
        alternates=[[Alternate("en", "https://example.com/en/?a=1&b=2")], []],
    )
    assert write([batch], alternates=True)[0].decode() == (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        '<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"'
        ' xmlns:xhtml="http://www.w3.org/1999/xhtml">\n'
        "<url><loc>https://example.com/en/?a=1&amp;b=2</loc><lastmod>2026-01-31</lastmod>"
        "<changefreq>weekly</changefreq><priority>0.8</priority>"
        '<xhtml:link rel="alternate" hreflang="en" href="https://example.com/en/?a=1&amp;b=2"/></url>\n'
        "<url><loc>https://example.com/de/?a=1&amp;b=2</loc><lastmod>2026-01-31</lastmod>"
        "<changefreq>weekly</changefreq></url>\n"
        "</urlset>\n"
    )
