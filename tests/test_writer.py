"""Laws of the writer: any text in, well-formed XML out, and never a page over its limits."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import date, datetime, timedelta, timezone
from itertools import accumulate, chain, pairwise, zip_longest
from typing import Any, NamedTuple
from xml.parsers import expat

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st
from lxml import etree

from django_sitemaps09.entries import (
    Alternate,
    Batch,
    Column,
    IndexEntry,
    ItemError,
    Localization,
    SafeColumn,
    TemplateColumn,
)
from django_sitemaps09.exceptions import SitemapError, TextError
from django_sitemaps09.protocol import (
    CHANGEFREQS,
    SITEMAP_NAMESPACE,
    XHTML_NAMESPACE,
    Limits,
    priority_text,
    w3c,
)
from django_sitemaps09.writer import (
    FORMATS,
    TEXT,
    URLSET,
    Format,
    Out,
    Written,
    elements,
    index_document,
    urlset_head,
    write_documents,
    write_urlset,
)

DECLARATION = b'<?xml version="1.0" encoding="UTF-8"?>'
FIELDS = ("lastmod", "changefreq", "priority")
#: What a document with links declares.
LINKS = {"xhtml": XHTML_NAMESPACE}
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
    batches: Iterable[Batch],
    limits: Limits | None = None,
    *,
    base: str = "",
    namespaces: Mapping[str, str] | None = None,
) -> tuple[bytes, Written]:
    chunks: list[bytes] = []
    written = write_urlset(batches, chunks.append, limits, base=base, namespaces=namespaces)
    return b"".join(chunks), written


def write_all(
    kind: Format,
    batches: Iterable[Batch],
    bases: Sequence[str],
    limits: Limits | None = None,
    namespaces: Mapping[str, str] | None = None,
) -> list[tuple[bytes, Written]]:
    """One document for each base."""
    chunks: list[list[bytes]] = [[] for _ in bases]
    outs = [Out(some.append, base) for some, base in zip(chunks, bases, strict=True)]
    written = write_documents(kind, batches, outs, limits, namespaces)
    return [(b"".join(some), one) for some, one in zip(chunks, written, strict=True)]


def single(keys: Sequence[Any], locations: Sequence[str | None], **columns: Any) -> Batch:
    """Items with one location each, in no language."""
    return Batch(keys, [Localization("", locations)], **columns)


def locations_of(version: Localization) -> list[str | None]:
    """Composed ones put together anew."""
    found = version.locations
    if not isinstance(found, TemplateColumn):
        return list(found)
    rows = zip(*found.columns, strict=True)
    return ["".join(chain(*zip_longest(found.literals, row, fillvalue=""))) for row in rows]


def behind(base: str, location: str) -> str:
    return f"{base}{location}" if location.startswith("/") else location


def items_of(batch: Batch, base: str = "") -> list[list[Entry]]:
    """The entries of each item of a batch, as they should be read again."""

    def each(column: Column) -> list[str | None]:
        if column is None or isinstance(column, str):
            return [column or None] * len(batch.keys)
        return [text or None for text in column]

    columns = zip(*map(each, (batch.lastmods, batch.changefreqs, batch.priorities)), strict=True)
    explicit = batch.alternates or [()] * len(batch.keys)
    rows = zip(*map(locations_of, batch.versions), strict=True)
    found = []
    for row, texts, more in zip(rows, columns, explicit, strict=True):
        there = [
            (version, behind(base, location))
            for version, location in zip(batch.versions, row, strict=True)
            if location is not None
        ]
        links = [(version.language, location) for version, location in there if version.language]
        links += [(language, behind(base, location)) for language, location in more]
        found.append(
            [
                Entry(location, *texts, () if alone(version, batch) else tuple(links))
                for version, location in there
                if version.listed
            ]
        )
    return found


def alone(version: Localization, batch: Batch) -> bool:
    """Whether a version is no part of the set that the others make: no link leads to it, so it has none."""
    return not version.language and any(other.language for other in batch.versions if other.listed)


def entries(batch: Batch, base: str = "") -> list[Entry]:
    """The same, one after the other."""
    return [entry for item in items_of(batch, base) for entry in item]


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
def versions_of(
    draw: Callable[..., Any],
    text: st.SearchStrategy[str],
    literal: st.SearchStrategy[str],
    language: st.SearchStrategy[str],
    count: int,
) -> list[Localization]:
    """Of so many items, each of which has a location that is listed."""
    column = st.lists(text, min_size=count, max_size=count)
    composed = st.integers(1, 2).flatmap(
        lambda width: st.builds(
            TemplateColumn,
            st.lists(literal, min_size=width + 1, max_size=width + 1),
            st.lists(column, min_size=width, max_size=width),
        )
    )
    plain = st.lists(st.none() | text, min_size=count, max_size=count)
    first = Localization(draw(st.just("") | language), draw(column | composed))
    version = st.builds(Localization, st.just("") | language, column | plain | composed, st.booleans())
    others = draw(st.lists(version, max_size=3))
    if (
        others
        and others[0].complete
        and others[0].listed
        and not isinstance(first.locations, TemplateColumn)
    ):
        holes = draw(st.lists(st.booleans(), min_size=count, max_size=count))
        left = [None if hole else one for hole, one in zip(holes, first.locations, strict=True)]
        first = first._replace(locations=left)
    return draw(st.permutations([first, *others]))


@st.composite
def batches_of(
    draw: Callable[..., Any],
    text: st.SearchStrategy[str],
    literal: st.SearchStrategy[str],
    language: st.SearchStrategy[str],
) -> Batch:
    count = draw(st.integers(1, 4))
    link = st.lists(st.builds(Alternate, text, text), max_size=3)
    return Batch(
        keys=[f"key-{number}-" for number in range(count)],
        versions=draw(versions_of(text, literal, language, count)),
        lastmods=draw(columns(text, count)),
        changefreqs=draw(columns(text, count)),
        priorities=draw(columns(text, count)),
        alternates=draw(st.none() | st.lists(link, min_size=count, max_size=count)),
    )


writable_batches = batches_of(writable, writable, writable.filter(bool))


@given(writable_batches)
@example(single([1], ["a\r\nb\rc\td"], alternates=[[Alternate("a\tb", "a\r\nb\rc\td\n")]]))
@example(Batch([1], [Localization("a\tb", ["a\r\nb\rc\td\n"])]))
@example(Batch([1, 2], [Localization("{}%s", TemplateColumn(["%s{}", "%"], [["%d", "{0}"]]))]))
@example(single([1, 2], ["a", "b"], lastmods="", changefreqs=["", None], priorities=["", ""]))
def test_every_text_is_read_again_as_it_was(batch: Batch) -> None:
    document, written = write([batch], namespaces=LINKS)
    assert read(document) == entries(batch)
    assert (written.urls, written.bytes, written.cut) == (len(entries(batch)), len(document), None)


@given(batches_of(anything, writable, st.sampled_from(["de", "x-default"])))
@example(
    Batch([1], [Localization("", [""]), Localization("de", [None])], alternates=[[Alternate("", "\x00")]])
)
def test_any_text_is_written_or_refused_with_the_key_of_its_item(batch: Batch) -> None:
    bad = [
        key
        for key, item in zip(batch.keys, items_of(batch), strict=True)
        if not is_xml(
            "".join(
                "".join(filter(None, entry[:-1])) + "".join(map("".join, entry.alternates))
                for entry in item
            )
        )
    ]
    try:
        document, _ = write([batch], namespaces=LINKS)
    except TextError as error:
        # Links are refused where the item has no entry that holds them, too.
        links = zip(batch.keys, batch.alternates or (), strict=False)
        bad += [key for key, found in links if not is_xml("".join(map("".join, found)))]
        named = [key for key in bad if str(key) in str(error)]
        assert named
    else:
        assert not bad
        assert read(document) == entries(batch)


@pytest.mark.parametrize("character", NOT_XML, ids=ascii)
@pytest.mark.parametrize(
    "field",
    [
        *("locations", "gaps", "parts of locations", "links"),
        *("lastmods", "changefreqs", "priorities", "alternates"),
    ],
)
def test_a_character_that_xml_cannot_hold_is_refused_wherever_it_stands(field: str, character: str) -> None:
    bad = f"a{character}b"
    values: list[Any] = ["a", bad, "c"]
    fine = Localization("", ["a", "b", "c"])
    changed: dict[str, Any] = {
        "locations": {"versions": [Localization("", values)]},
        "gaps": {"versions": [fine, Localization("de", [None, bad, None])]},
        "parts of locations": {
            "versions": [Localization("", TemplateColumn(["/", "", "/"], [["a"] * 3, values]))]
        },
        "links": {"versions": [fine, Localization("x-default", values, listed=False)]},
        "alternates": {"alternates": [[], [Alternate("de", "a"), Alternate("en", bad)], []]},
    }.get(field, {field: values})
    batch = replace(Batch(["first", "second", "third"], [fine]), **changed)
    with pytest.raises(TextError, match="second") as raised:
        write([batch], namespaces=LINKS)
    assert isinstance(raised.value, (SitemapError, ValueError))
    assert repr(bad) in str(raised.value)


@pytest.mark.parametrize(
    "batch",
    [
        single([], [], lastmods="\x00"),
        Batch([], [Localization("\x00", [])]),
        Batch([], [Localization("", TemplateColumn(["\x00", ""], [[]]))]),
    ],
    ids=["lastmod", "language", "location"],
)
def test_a_constant_that_xml_cannot_hold_is_refused_even_without_entries(batch: Batch) -> None:
    with pytest.raises(TextError):
        write([batch])


def test_every_character_of_xml_is_read_again_as_it_was() -> None:
    text = "".join(chr(c) for low, high in XML_CHARACTERS[:-1] for c in range(low, high + 1))
    text += "".join(chr(c) for c in range(0x10000, 0x110000, 97))
    batch = Batch([1], [Localization(text, [text])], alternates=[[Alternate(text, text)]])
    document, _ = write([batch], namespaces=LINKS)
    assert read(document) == [Entry(text, None, None, None, ((text, text),) * 2)]


@pytest.mark.parametrize("namespaces", [{}, LINKS], ids=["plain", "links"])
def test_a_document_starts_at_byte_0_with_its_declaration_and_has_no_byte_order_mark(
    namespaces: dict[str, str],
) -> None:
    document, _ = write([single([1], ["https://example.com/ü"])], namespaces=namespaces)
    assert document.startswith(DECLARATION)
    assert document.startswith(urlset_head(namespaces))
    assert "https://example.com/ü".encode() in document
    assert not re.search(rb"<!DOCTYPE|<!ENTITY|<!\[CDATA\[|\xef\xbb\xbf", document)


def test_the_protocols_namespace_is_the_default_one_and_has_no_prefix() -> None:
    document, _ = write([single([1], ["a"])])
    assert parse(document).nsmap == {None: SITEMAP_NAMESPACE}
    assert b"<urlset xmlns=" in document
    assert b"<url><loc>a</loc></url>" in document


def test_the_namespace_of_links_is_declared_only_where_entries_can_have_some() -> None:
    for batch in (
        single([1], ["a"], alternates=[[Alternate("de", "b")]]),
        Batch([1], [Localization("", ["a"]), Localization("de", ["b"])]),
    ):
        found = parse(write([batch], namespaces=LINKS)[0]).nsmap
        assert found == {None: SITEMAP_NAMESPACE, "xhtml": XHTML_NAMESPACE}
    batch = Batch([1], [Localization("", ["a"]), Localization("", ["b"])])
    for namespaces in (None, {}):
        assert b"xhtml" not in write([batch], namespaces=namespaces)[0]


prefixes = st.from_regex(r"[a-w][a-z0-9.-]{0,4}", fullmatch=True)


@given(st.dictionaries(prefixes, writable.filter(bool), max_size=4), st.randoms(use_true_random=False))
@example({"video": "a", "image": "&<\">'\r\n\t", "a-b": "c", "a": "d"}, None)
def test_namespaces_are_declared_in_the_order_of_their_prefixes_and_read_again_as_they_were(
    spaces: dict[str, str], random: Any
) -> None:
    pairs = list(spaces.items())
    if random is not None:
        random.shuffle(pairs)
    document, _ = write([], namespaces=dict(pairs))
    assert document.startswith(urlset_head(spaces))
    found: list[tuple[str, list[str]]] = []
    parser = expat.ParserCreate()
    parser.ordered_attributes = True
    parser.StartElementHandler = lambda name, attributes: found.append((name, attributes))
    parser.Parse(document, True)
    declared = [("xmlns", SITEMAP_NAMESPACE)]
    declared += [(f"xmlns:{prefix}", spaces[prefix]) for prefix in sorted(spaces)]
    assert found == [("urlset", [*chain(*declared)])]


def test_a_namespace_that_xml_cannot_hold_is_refused_with_its_prefix() -> None:
    with pytest.raises(TextError, match="second"):
        urlset_head({"first": "a", "second": "\x00"})


@given(writable_batches)
def test_elements_stand_in_the_order_of_the_schema(batch: Batch) -> None:
    order = [*(tag(name) for name in ("loc", *FIELDS)), f"{{{XHTML_NAMESPACE}}}link"]
    for url in parse(write([batch], namespaces=LINKS)[0]):
        positions = [order.index(child.tag) for child in url]
        assert positions == sorted(positions)


@pytest.mark.parametrize("column", ["", None, [None, None], ["", ""], ["", None]], ids=repr)
@pytest.mark.parametrize("field", ["lastmods", "changefreqs", "priorities"])
def test_an_element_without_text_is_not_written(field: str, column: Column) -> None:
    batch = single([1, 2], ["a", "b"])
    document, written = write([replace(batch, **{field: column})])
    assert document == write([batch])[0]
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
    versions = [Localization("", locations)]
    assert write([Batch(keys, versions, *texts)]) == write([Batch(keys, versions, *repeated)])


@given(writable_batches)
@example(Batch([], [Localization("de", [])]))
def test_elements_are_the_text_of_each_item_and_all_of_them_that_of_the_document(batch: Batch) -> None:
    found = elements(URLSET, batch, "https://example.com")
    assert len(found) == len(batch.keys)
    whole = urlset_head(LINKS) + "".join(found).encode() + b"</urlset>\n"
    assert write([batch], base="https://example.com", namespaces=LINKS)[0] == whole
    for key, text, item in zip(batch.keys, found, items_of(batch, "https://example.com"), strict=True):
        assert text.count("<url>") == len(item), key


@given(writable_batches)
def test_the_counts_of_a_batch_are_the_entries_of_each_item(batch: Batch) -> None:
    assert list(batch.counts()) == [len(item) for item in items_of(batch)]
    assert sum(batch.counts()) == write([batch], namespaces=LINKS)[1].urls


# Versions


class Site(NamedTuple):
    """Items in several languages, each location there once, and some with one that is not listed."""

    batch: Batch

    def locations(self, item: int, base: str = "") -> list[tuple[Localization, str]]:
        """Where an item is, in the order of the versions."""
        found = [(version, locations_of(version)[item]) for version in self.batch.versions]
        return [(version, behind(base, text)) for version, text in found if text is not None]


BASES = ["", "https://a.example", "http://much-longer.example.com:8000"]
bases = st.sampled_from(BASES)
languages = st.sampled_from(["en", "de", "pt-BR", "zh-Hant-TW", "x-default", "es-419"])


@st.composite
def sites(draw: Callable[..., Any]) -> Site:
    count = draw(st.integers(1, 4))
    codes = draw(st.lists(languages, max_size=4, unique=True))
    codes += [""] * draw(st.integers(0 if codes else 1, 2))
    versions = []
    for place, code in enumerate(draw(st.permutations(codes))):
        starts = ["/", "/?a=1&b=", "https://b.example/", "http://c.example/'&"]
        if draw(st.booleans()):
            rows = [
                [f"{place}.{item}" for item in range(count)],
                ["&/" if i % 2 else "" for i in range(count)],
            ]
            made = draw(st.sampled_from([list, tuple]))
            found: Any = TemplateColumn([draw(st.sampled_from(starts)), "-/%s<", ""], list(map(made, rows)))
        elif draw(st.booleans()):
            # Both forms in one column.
            found = SafeColumn(
                f"{draw(st.sampled_from(['/', 'https://d.example/']))}{place}.{i}" for i in range(count)
            )
        else:
            start = st.sampled_from(starts) | st.none()
            some = [(draw(start), item) for item in range(count)]
            found = [one and f"{one}{place}.{item}" for one, item in some]
        versions.append(Localization(code, found, draw(st.booleans())))
    batch = Batch(range(count), versions)
    assume(all(batch.counts()))
    return Site(batch)


@given(sites(), bases)
def test_every_entry_of_an_item_has_the_same_whole_set_of_links_in_the_order_of_versions_itself_included(
    site: Site, base: str
) -> None:
    found = iter(read(write([site.batch], base=base, namespaces=LINKS)[0]))
    for item in site.batch.keys:
        there = site.locations(item, base)
        links = tuple((version.language, location) for version, location in there if version.language)
        for version, location in there:
            if version.listed:
                entry = next(found)
                own = () if alone(version, site.batch) else links
                assert (entry.loc, entry.alternates) == (location, own)
                assert ((version.language, location) in entry.alternates) == bool(version.language)
    assert next(found, None) is None


@given(sites(), bases)
def test_a_version_that_is_not_listed_is_only_linked_and_one_without_a_language_never(
    site: Site, base: str
) -> None:
    found = read(write([site.batch], base=base, namespaces=LINKS)[0])
    locs = [entry.loc for entry in found]
    hrefs = {href for entry in found for _, href in entry.alternates}
    assert all(language for entry in found for language, _ in entry.alternates)
    for item in site.batch.keys:
        for version, location in site.locations(item, base):
            assert locs.count(location) == version.listed
            # What nobody lists is linked by those that are in the set.
            linked = any(
                other.listed and not alone(other, site.batch) for other, _ in site.locations(item, base)
            )
            assert (location in hrefs) == (bool(version.language) and linked)


@given(sites(), bases)
def test_links_that_a_project_names_follow_those_between_versions_in_every_entry(
    site: Site, base: str
) -> None:
    batch = site.batch
    named = [[Alternate("fr", f"/{item}/&"), Alternate("it", "https://e.example/")] for item in batch.keys]
    own = read(write([batch], base=base, namespaces=LINKS)[0])
    both = read(write([replace(batch, alternates=named)], base=base, namespaces=LINKS)[0])
    counts = batch.counts()
    items = [item for item, count in zip(batch.keys, counts, strict=True) for _ in range(count)]
    versions = [
        version for item in batch.keys for version, _ in site.locations(item, base) if version.listed
    ]
    assert both == [
        entry
        if alone(version, batch)
        else entry._replace(
            alternates=(*entry.alternates, ("fr", f"{base}/{item}/&"), ("it", "https://e.example/"))
        )
        for entry, item, version in zip(own, items, versions, strict=True)
    ]


@given(sites(), bases)
def test_paths_are_joined_to_the_base_and_absolute_locations_are_not(site: Site, base: str) -> None:
    without = read(write([site.batch], namespaces=LINKS)[0])
    joined = read(write([site.batch], base=base, namespaces=LINKS)[0])
    assert joined == [
        entry._replace(
            loc=behind(base, entry.loc),
            alternates=tuple((language, behind(base, href)) for language, href in entry.alternates),
        )
        for entry in without
    ]
    for entry in joined:
        for location in (entry.loc, *(href for _, href in entry.alternates)):
            assert location.startswith("/") == (not base and "://" not in location)
            assert location.count("://") <= 1


@pytest.mark.parametrize("listed", [True, False])
@pytest.mark.parametrize(
    ("locations", "joined"),
    [
        (["/a", "b:/c"], ["x:/a", "b:/c"]),
        (["/a", None], ["x:/a", None]),
        ([None, "b:/c"], [None, "b:/c"]),
        (SafeColumn(["/a", "b:/c"]), ["x:/a", "b:/c"]),
        (TemplateColumn(["/", ""], [["a", "/"]]), ["x:/a", "x://"]),
        (TemplateColumn(["b:/", ""], [["/a", "c"]]), ["b://a", "b:/c"]),
        (TemplateColumn(["/&", "/", ""], [["a", "b"], ["/", ""]]), ["x:/&a//", "x:/&b/"]),
    ],
    ids=str,
)
def test_a_base_stands_before_what_begins_with_a_slash_in_loc_and_in_href(
    locations: Any, joined: list[str | None], listed: bool
) -> None:
    versions = [Localization("en", ["c:/1", "c:/2"]), Localization("de", locations, listed)]
    found = read(write([Batch([1, 2], versions)], base="x:", namespaces=LINKS)[0])
    expected = []
    for first, location in zip(["c:/1", "c:/2"], joined, strict=True):
        links = (("en", first), *(() if location is None else (("de", location),)))
        expected.append((first, links))
        expected += [(location, links)] if location is not None and listed else []
    assert [(entry.loc, entry.alternates) for entry in found] == expected


def test_whether_composed_texts_are_paths_is_told_by_what_all_share() -> None:
    batch = Batch([1], [Localization("de", TemplateColumn(["", ""], [["/a"]]))])
    [(text, _)] = write_all(TEXT, [batch], ["https://example.com"])
    assert text == b"/a\n"
    [entry] = read(write([batch], base="https://example.com", namespaces=LINKS)[0])
    assert (entry.loc, entry.alternates) == ("/a", (("de", "/a"),))


def test_a_column_that_is_too_short_is_an_error_and_no_loss() -> None:
    for kind in (URLSET, TEXT):
        with pytest.raises(ValueError, match="2"):
            write_all(kind, [Batch([1, 2, 3], [Localization("", ["a", "b"])])], [""])
    with pytest.raises(ValueError, match="argument"):
        write([Batch([1, 2, 3], [Localization("", ["a", None, "c"])], lastmods=["x", "y"])])


def test_what_an_item_has_in_other_namespaces_is_in_each_of_its_entries_behind_the_links() -> None:
    versions = [
        Localization("en", ["a", "b"]),
        Localization("de", [None, "c"]),
        Localization("fr", ["d", None], False),
    ]
    batch = Batch([1, 2], versions, priorities=["0.1", None], foreign=["<x:y>1</x:y>", ""])
    link = '<xhtml:link rel="alternate" hreflang="{}" href="{}"/>'.format
    assert elements(URLSET, batch, "") == [
        f"<url><loc>a</loc><priority>0.1</priority>{link('en', 'a')}{link('fr', 'd')}<x:y>1</x:y></url>\n",
        "".join(f"<url><loc>{loc}</loc>{link('en', 'b')}{link('de', 'c')}</url>\n" for loc in "bc"),
    ]


# Pages


class Item(NamedTuple):
    """The locations of one item, one for each version, and a lastmod where it has one."""

    locations: tuple[str | None, ...]
    lastmod: str | None


class Shape(NamedTuple):
    """Items with their keys, how many make a batch each time, and how their versions are linked."""

    items: dict[int, Item]
    cuts: tuple[int, ...]
    versions: tuple[tuple[str, bool], ...]
    alternates: bool

    @property
    def namespaces(self) -> dict[str, str]:
        return LINKS if self.alternates or any(language for language, _ in self.versions) else {}

    def batches(self, after: int | None = None) -> list[Batch]:
        """The items behind a key, as a source gives them."""
        keys = [key for key in self.items if after is None or key > after]
        ends = list(accumulate(self.cuts))
        groups = [[key for key in keys if low <= key < high] for low, high in pairwise([0, *ends, 10**9])]
        return [self.batch(group) for group in groups]

    def batch(self, keys: Sequence[int]) -> Batch:
        columns = [
            [self.items[key].locations[place] for key in keys] for place in range(len(self.versions))
        ]
        links = [
            [Alternate("de", loc) for loc in self.items[key].locations if loc is not None] for key in keys
        ]
        return Batch(
            keys=keys,
            versions=[
                Localization(language, column, listed)
                for (language, listed), column in zip(self.versions, columns, strict=True)
            ],
            lastmods=[self.items[key].lastmod for key in keys],
            alternates=links if self.alternates else None,
        )

    def locations(self, key: int) -> list[str]:
        """Those of an item's entries."""
        pairs = zip(self.versions, self.items[key].locations, strict=True)
        return [location for (_, listed), location in pairs if listed and location is not None]

    def size(self, key: int, kind: Format = URLSET, base: str = "") -> int:
        """The bytes of all entries of an item."""
        [text] = elements(kind, self.batch([key]), base)
        return len(text.encode())

    def empty(self, kind: Format = URLSET) -> int:
        """The bytes of a document without entries."""
        [(document, _)] = write_all(kind, [], [""], namespaces=self.namespaces)
        return len(document)


locations = st.builds(
    "{}{}{}".format,
    st.sampled_from(["", "/"]),
    st.sampled_from(["a", "ü", "&<", "😀"]),
    st.text("ab", max_size=60),
)


@st.composite
def shapes_of(draw: Callable[..., Any], most: int = 14) -> Shape:
    versions = draw(st.lists(st.tuples(st.just("") | languages, st.booleans()), max_size=3).map(tuple))
    # One that every item has, so that each has an entry.
    place = draw(st.integers(0, len(versions)))
    versions = (*versions[:place], (draw(st.just("") | languages), True), *versions[place:])
    columns = [locations if i == place else st.none() | locations for i in range(len(versions))]
    item = st.builds(
        Item,
        st.tuples(*columns),
        st.none() | st.sampled_from(["2026-01-01", "2026-01-01T00:00:00Z", "2025-12-31"]),
    )
    return Shape(
        dict(enumerate(draw(st.lists(item, max_size=most)), 1)),
        draw(st.lists(st.integers(0, 5), max_size=5).map(tuple)),
        versions,
        draw(st.booleans()),
    )


shapes = shapes_of()


@st.composite
def limits_for(
    draw: Callable[..., Any], shape: Shape, kind: Format = URLSET, bases: Sequence[str] = ("",)
) -> Limits:
    """Limits near to what the items need, so that they bite."""
    sizes = sorted({shape.size(key, kind, base) for key in shape.items for base in bases})
    size = draw(st.integers(0, 500) | st.sampled_from(sizes or [0]))
    return Limits(draw(st.integers(1, 12)), shape.empty(kind) + size)


shaped = shapes.flatmap(lambda shape: st.tuples(st.just(shape), limits_for(shape)))


def pages(shape: Shape, limits: Limits) -> list[tuple[bytes, Written]]:
    """All pages of a shape, each from where the one before was cut."""
    found: list[tuple[bytes, Written]] = []
    after: Any = None
    while True:
        found.append(write(shape.batches(after), limits, namespaces=shape.namespaces))
        cut = found[-1][1].cut
        if cut is None:
            return found
        assert after is None or cut > after
        after = cut


def fits(shape: Shape, key: int, limits: Limits) -> bool:
    """Whether an item fits a page of its own."""
    return len(shape.locations(key)) <= limits.urls and shape.empty() + shape.size(key) <= limits.bytes


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
        last = shape.locations(written.cut)
        assert [entry.loc for entry in read(document)][-len(last) :] == last
        following = min(key for key in shape.items if key > written.cut)
        assert (
            written.urls + len(shape.locations(following)) > limits.urls
            or written.bytes + shape.size(following) > limits.bytes
        )


@given(shaped)
def test_the_entries_of_an_item_are_never_parted(shaped: tuple[Shape, Limits]) -> None:
    shape, limits = shaped
    unique = {
        key: Item(tuple(loc and f"{key}-{i}-{loc}" for i, loc in enumerate(item.locations)), item.lastmod)
        for key, item in shape.items.items()
    }
    shape = shape._replace(items=unique)
    for document, _ in pages(shape, limits):
        found = [entry.loc for entry in read(document)]
        for key in shape.items:
            own = shape.locations(key)
            assert set(own) <= set(found) or not set(own) & set(found)


@given(shaped=shaped, cuts=st.lists(st.integers(0, 5), max_size=5).map(tuple))
def test_how_entries_are_batched_changes_nothing(
    shaped: tuple[Shape, Limits], cuts: tuple[int, ...]
) -> None:
    shape, limits = shaped
    found = [pages(one, limits) for one in (shape, shape._replace(cuts=cuts))]
    assert found[0] == found[1]


@given(shaped)
def test_the_middle_of_a_page_is_half_way_to_its_cut_and_without_a_cut_there_is_none(
    shaped: tuple[Shape, Limits],
) -> None:
    shape, limits = shaped
    after = 0
    for _, written in pages(shape, limits):
        if written.cut is None:
            assert written.middle is None
            continue
        keys = [key for key in shape.items if after < key <= written.cut and fits(shape, key, limits)]
        assert abs(2 * (keys.index(written.middle) + 1) - len(keys)) <= 1
        assert written.middle != written.cut or len(keys) == 1
        after = written.cut


@pytest.mark.parametrize("count", [1, 2, 3, 999, 1_000, 1_001, 2_003, 4_999, 12_345])
@pytest.mark.parametrize("at_a_time", [1, 7, 1_000, 20_000])
def test_the_middle_of_a_large_page_is_not_far_before_its_half(count: int, at_a_time: int) -> None:
    some = [
        Batch(keys, [Localization("", ["a"] * len(keys)), Localization("", ["b"] * len(keys))])
        for start in range(1, count + 2, at_a_time)
        if (keys := range(start, min(start + at_a_time, count + 2)))
    ]
    _, written = write(some, Limits(2 * count + 1, 10**9))
    assert (written.cut, written.urls) == (count, 2 * count)
    assert isinstance(written.middle, int)
    assert 0.498 * count - 1 <= written.middle <= max(count / 2, 1)


def test_limits_count_entries_and_not_items() -> None:
    versions = [Localization("", list("abcd")), Localization("de", ["e", None, "g", "h"])]
    batch = Batch([1, 2, 3, 4], [*versions, Localization("x-default", list("ijkl"), listed=False)])
    cuts = {urls: write([batch], Limits(urls, 10_000))[1][:4:3] for urls in range(2, 8)}
    assert cuts == {2: (2, 1), 3: (3, 2), 4: (3, 2), 5: (5, 3), 6: (5, 3), 7: (7, None)}
    _, written = write([batch], Limits(1, 10_000))
    assert (written.urls, written.cut) == (1, 2)
    assert written.errors == (ItemError("1", "location", "fits no page"),)


# Several documents at once


@st.composite
def shaped_for_several(draw: Callable[..., Any], kind: Format) -> tuple[Shape, Sequence[str], Limits]:
    shape = draw(shapes)
    several = draw(st.lists(bases, min_size=1, max_size=3))
    return shape, several, draw(limits_for(shape, kind, several))


@pytest.mark.parametrize("name", FORMATS)
@given(data=st.data())
def test_several_documents_have_the_same_items_each_as_if_it_were_written_alone(
    name: str, data: st.DataObject
) -> None:
    """They are cut at the same key, behind which the next item would not fit at least one of them."""
    kind = FORMATS[name]
    shape, several, limits = data.draw(shaped_for_several(kind))
    sizes = {key: [shape.size(key, kind, base) for base in several] for key in shape.items}
    fitting = [
        key
        for key in shape.items
        if len(shape.locations(key)) <= limits.urls and shape.empty(kind) + max(sizes[key]) <= limits.bytes
    ]
    errors: list[ItemError] = []
    after: Any = 0
    while after is not None:
        found = write_all(kind, shape.batches(after), several, limits, shape.namespaces)
        first = found[0][1]
        keys = [key for key in fitting if after < key <= (first.cut or 10**9)]
        for base, (document, written) in zip(several, found, strict=True):
            assert written == first._replace(bytes=len(document))
            assert len(document) <= limits.bytes
            [(alone, _)] = write_all(kind, [shape.batch(keys)], [base], namespaces=shape.namespaces)
            assert document == alone
            if kind is URLSET:
                assert document == write([shape.batch(keys)], base=base, namespaces=shape.namespaces)[0]
        assert first.urls == sum(len(shape.locations(key)) for key in keys) <= limits.urls
        if first.cut is not None:
            assert first.cut == keys[-1]
            following = first.cut + 1
            assert first.urls + len(shape.locations(following)) > limits.urls or any(
                written.bytes + size > limits.bytes
                for (_, written), size in zip(found, sizes[following], strict=True)
            )
        errors += first.errors
        after = first.cut
    left_out = [key for key in shape.items if key not in fitting]
    assert errors == [ItemError(str(key), "location", "fits no page") for key in left_out]


@pytest.mark.parametrize("sizes", [(4,), (1, 3), (2, 2), (1, 1, 1, 1)], ids=str)
@pytest.mark.parametrize("several", [BASES[:2], BASES[1::-1]], ids=["short first", "long first"])
def test_several_documents_are_cut_where_the_first_of_them_is_full(
    several: Sequence[str], sizes: tuple[int, ...]
) -> None:
    texts = ["/a", "/b", "c:/", "/d"]
    some = [
        single(range(start + 1, stop + 1), texts[start:stop])
        for start, stop in pairwise(accumulate(sizes, initial=0))
    ]
    room = len(urlset_head({})) + len(b"</urlset>\n")
    whole = single([1, 2, 3, 4], texts)
    short, long = (sum(len(text) for text in elements(URLSET, whole, base)[:3]) for base in BASES[:2])
    for size, cut in ((short, 1), (long - 1, 2), (long, 3)):
        found = write_all(URLSET, some, several, Limits(9, room + size))
        assert [written.cut for _, written in found] == [cut, cut]
    found = write_all(URLSET, some, [BASES[0]] * 2, Limits(9, room + short))
    assert [written.cut for _, written in found] == [3, 3]


@pytest.mark.parametrize("kind", FORMATS.values(), ids=FORMATS)
def test_batches_are_asked_for_once_however_many_documents_they_fill(kind: Format) -> None:
    some = iter([single([1], ["/a"]), single([2], ["/b"])])
    found = write_all(kind, some, BASES)
    assert [written.urls for _, written in found] == [2, 2, 2]
    assert write_all(kind, [single([1], ["/a"])], []) == []


# Text files

lines = st.text(st.characters(exclude_characters="\n", exclude_categories=("Cs",)), min_size=1, max_size=20)


@given(batches_of(lines, lines, lines), bases)
@example(single([1], ["/?a=1&b=<'\">"]), "")
@example(
    Batch(
        [1, 2],
        [Localization("de", ["a", None]), Localization("", TemplateColumn(["/%", "%s"], [["&", "{}"]]))],
    ),
    "b:",
)
def test_a_text_file_is_the_locations_of_the_listed_versions_a_line_each_and_nothing_else(
    batch: Batch, base: str
) -> None:
    [(document, written)] = write_all(TEXT, [batch], [base], namespaces=LINKS)
    found = [entry.loc for entry in entries(batch, base)]
    assert document == "".join(f"{location}\n" for location in found).encode()
    assert (written.urls, written.bytes) == (len(found), len(document))
    assert "".join(elements(TEXT, batch, base)).encode() == document


@given(sites(), bases)
def test_a_text_file_has_the_locations_of_the_urlset_in_its_order(site: Site, base: str) -> None:
    [(document, _)] = write_all(TEXT, [site.batch], [base])
    found = read(write([site.batch], base=base, namespaces=LINKS)[0])
    assert document.decode().splitlines() == [entry.loc for entry in found]


@pytest.mark.parametrize(
    "some",
    [[], [single([], [])], [single([], [], lastmods="2026-01-01")]],
    ids=["no batch", "an empty batch", "a constant"],
)
def test_a_text_file_without_entries_is_empty(some: list[Batch]) -> None:
    [(document, written)] = write_all(TEXT, some, ["https://example.com"], Limits(1, 0), LINKS)
    assert document == b""
    assert written == Written(0, 0, None, None, ())


def test_a_text_file_is_cut_at_its_very_last_byte() -> None:
    batch = Batch([1, 2], [Localization("", ["/a", "/b"]), Localization("", ["/ü", None])])
    found = [write_all(TEXT, [batch], ["c:"], Limits(9, size))[0] for size in (16, 15, 11, 10)]
    assert [document.decode() for document, _ in found] == [
        "c:/a\nc:/ü\nc:/b\n",
        "c:/a\nc:/ü\n",
        "c:/a\nc:/ü\n",
        "c:/b\n",
    ]
    assert [written.cut for _, written in found] == [None, 1, 1, None]


# What a page tells of itself


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


def test_batches_behind_a_cut_are_not_asked_for() -> None:
    def endless() -> Iterable[Batch]:
        for key in range(3):
            yield single([key], ["a"])
        raise AssertionError("a batch too many was read")

    assert write(endless(), Limits(2, 1_000))[1].cut == 1


def test_errors_of_the_batches_are_handed_on() -> None:
    errors = [ItemError("1", "location", "is bad"), ItemError("2", "priority", "is bad too")]
    some = [single([], [], errors=errors[:1]), single([2], ["a"], errors=errors[1:])]
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


uris = st.text("abc-._~:/?@!$&'()*+,;=0", max_size=30).map("https://example.com/".__add__)
lastmod_texts = st.builds(
    w3c,
    st.dates() | st.datetimes(datetime(1, 1, 2), datetime(9999, 12, 30), timezones=st.none()),
    st.sampled_from([timezone.utc, timezone(timedelta(hours=5, minutes=45))]),
)
priorities = st.builds(priority_text, st.floats(0, 1) | st.decimals(0, 1))


@st.composite
def valid_batches(draw: Callable[..., Any]) -> Batch:
    count = draw(st.integers(1, 3))
    located = uris | uris.map(lambda uri: uri.removeprefix("https://example.com"))
    links = st.lists(st.builds(Alternate, languages, located), max_size=3)
    return Batch(
        keys=range(count),
        versions=draw(versions_of(located, located, languages, count)),
        lastmods=draw(columns(lastmod_texts, count)),
        changefreqs=draw(columns(st.sampled_from(CHANGEFREQS), count)),
        priorities=draw(columns(priorities, count)),
        alternates=draw(st.none() | st.lists(links, min_size=count, max_size=count)),
    )


@given(batch=valid_batches())
def test_what_the_protocol_admits_is_valid_by_the_schema(schema: Any, batch: Batch) -> None:
    site = "https://example.com"
    schema.assertValid(parse(write([batch], base=site, namespaces=LINKS)[0]))
    unlinked = [version._replace(language="") for version in batch.versions]
    batch = replace(batch, versions=unlinked, alternates=None)
    schema.assertValid(parse(write([batch], base=site)[0]))


@given(st.lists(st.builds(IndexEntry, uris, st.none() | lastmod_texts), min_size=1, max_size=3))
def test_an_index_is_valid_by_the_schema(schema: Any, some: list[IndexEntry]) -> None:
    schema.assertValid(parse(index_document(some)))


@pytest.mark.parametrize(
    "batch",
    [
        single([1], ["https://example.com/"], lastmods="2026-01"),
        single([1], ["https://example.com/"], changefreqs="Weekly"),
        single([1], ["https://example.com/"], priorities="1e-05"),
        single([1], ["https://example.com/"], alternates=[[Alternate("pt_BR", "https://a.b/")]]),
        Batch([1], [Localization("pt_BR", ["https://example.com/"])]),
    ],
    ids=["lastmod", "changefreq", "priority", "alternates", "languages"],
)
def test_the_schema_of_these_tests_refuses_what_the_protocol_does(schema: Any, batch: Batch) -> None:
    assert not schema.validate(parse(write([batch], namespaces=LINKS)[0]))


def test_a_known_page_has_these_very_bytes() -> None:
    batch = Batch(
        keys=[7, 8],
        versions=[
            Localization("en", TemplateColumn(["/en/", "/?a=1&b=2"], [["7", "8"]])),
            Localization("de", ["https://example.de/7/?a=1&b=2", None]),
            Localization("x-default", ["/7/", "/8/"], listed=False),
        ],
        lastmods=w3c(date(2026, 1, 31), timezone.utc),
        changefreqs="weekly",
        priorities=["0.8", None],
        alternates=[[], [Alternate("fr", "/fr/8/?a=1&b=2")]],
    )
    document, _ = write([batch], base="https://example.com", namespaces=LINKS)
    links = (
        '<xhtml:link rel="alternate" hreflang="en" href="https://example.com/en/7/?a=1&amp;b=2"/>'
        '<xhtml:link rel="alternate" hreflang="de" href="https://example.de/7/?a=1&amp;b=2"/>'
        '<xhtml:link rel="alternate" hreflang="x-default" href="https://example.com/7/"/>'
    )
    assert document.decode() == (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        '<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"'
        ' xmlns:xhtml="http://www.w3.org/1999/xhtml">\n'
        "<url><loc>https://example.com/en/7/?a=1&amp;b=2</loc><lastmod>2026-01-31</lastmod>"
        f"<changefreq>weekly</changefreq><priority>0.8</priority>{links}</url>\n"
        "<url><loc>https://example.de/7/?a=1&amp;b=2</loc><lastmod>2026-01-31</lastmod>"
        f"<changefreq>weekly</changefreq><priority>0.8</priority>{links}</url>\n"
        "<url><loc>https://example.com/en/8/?a=1&amp;b=2</loc><lastmod>2026-01-31</lastmod>"
        "<changefreq>weekly</changefreq>"
        '<xhtml:link rel="alternate" hreflang="en" href="https://example.com/en/8/?a=1&amp;b=2"/>'
        '<xhtml:link rel="alternate" hreflang="x-default" href="https://example.com/8/"/>'
        '<xhtml:link rel="alternate" hreflang="fr" href="https://example.com/fr/8/?a=1&amp;b=2"/></url>\n'
        "</urlset>\n"
    )
