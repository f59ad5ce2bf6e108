"""Random batches to write, and readers of the written documents."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain, zip_longest
from typing import Any, NamedTuple

from hypothesis import strategies as st
from lxml import etree

from django_sitemaps09.entries import NAMESPACES, Alternate, Batch, Column, Localization, TemplateColumn
from django_sitemaps09.protocol import SITEMAP_NAMESPACE, Limits
from django_sitemaps09.writer import URLSET, Format, WriteResult, write_document

DECLARATION = b'<?xml version="1.0" encoding="UTF-8"?>'
FIELDS = ("lastmod", "changefreq", "priority")
#: The namespaces that a document with links declares.
LINKS = {"xhtml": NAMESPACES["xhtml"]}

#: The production Char of XML 1.0, https://www.w3.org/TR/xml/#charsets, implemented independently.
XML_CHARACTERS = [*((0x9, 0xA), (0xD, 0xD), (0x20, 0xD7FF)), *((0xE000, 0xFFFD), (0x10000, 0x10FFFF))]

NOT_XML = tuple(map(chr, (0x0, 0xB, 0x1F, 0xD800, 0xDFFF, 0xFFFE, 0xFFFF)))


def is_xml(text: str) -> bool:
    return all(any(low <= ord(c) <= high for low, high in XML_CHARACTERS) for c in text)


def parse(document: bytes) -> Any:
    """Return the root, parsed as strictly as untrusted files."""
    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False)
    return etree.fromstring(document, parser)


def tag(name: str) -> str:
    return f"{{{SITEMAP_NAMESPACE}}}{name}"


class Entry(NamedTuple):
    """Content of a `<url>`; `None` or empty for a missing element."""

    loc: str
    lastmod: str | None
    changefreq: str | None
    priority: str | None
    alternates: tuple[tuple[str, str], ...]


def read(document: bytes) -> list[Entry]:
    """Return the entries of a urlset, in which each element must be known and occur at most once."""
    root = parse(document)
    assert root.tag == tag("urlset")
    found = []
    for url in root:
        assert url.tag == tag("url")
        parts = [child for child in url if child.tag != f"{{{NAMESPACES['xhtml']}}}link"]
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
    kind: Format = URLSET,
    base: str = "",
    namespaces: Mapping[str, str] | None = None,
) -> tuple[bytes, WriteResult]:
    """Return a document and its result."""
    chunks: list[bytes] = []
    written = write_document(kind, batches, chunks.append, base, limits, namespaces)
    return b"".join(chunks), written


def single(keys: Sequence[Any], locations: Sequence[str | None], **columns: Any) -> Batch:
    """Build items with one location each, without languages."""
    return Batch(keys, [Localization("", locations)], **columns)


def locations_of(version: Localization) -> list[str | None]:
    """Join the parts of template columns again."""
    found = version.locations
    if not isinstance(found, TemplateColumn):
        return list(found)
    rows = zip(*found.columns, strict=True)
    return ["".join(chain(*zip_longest(found.literals, row, fillvalue=""))) for row in rows]


def behind(base: str, location: str) -> str:
    return f"{base}{location}" if location.startswith("/") else location


def items_of(batch: Batch, base: str = "") -> list[list[Entry]]:
    """Return the entries of each item of a batch, as a reader should find them."""

    def each(column: Column) -> list[str | None]:
        if column is None or isinstance(column, str):
            return [column or None] * len(batch.keys)
        return [text or None for text in column]

    columns = zip(*map(each, (batch.lastmods, batch.changefreqs, batch.priorities)), strict=True)
    explicit = batch.alternates or [()] * len(batch.keys)
    rows = zip(*map(locations_of, batch.localizations), strict=True)
    found = []
    for row, texts, more in zip(rows, columns, explicit, strict=True):
        there = [
            (version, behind(base, location))
            for version, location in zip(batch.localizations, row, strict=True)
            if location is not None
        ]
        links = [(version.language, location) for version, location in there if version.language]
        links += [(language, behind(base, location)) for language, location in more]
        found.append(
            [
                Entry(location, *texts, () if alone(version, batch) else tuple(links))
                for version, location in there
                if version.is_listed
            ]
        )
    return found


def alone(version: Localization, batch: Batch) -> bool:
    """Return whether a localization has no language while others do, so that no link leads to it."""
    return not version.language and any(other.language for other in batch.localizations if other.is_listed)


def entries(batch: Batch, base: str = "") -> list[Entry]:
    """Return the entries of all items in one list."""
    return [entry for item in items_of(batch, base) for entry in item]


#: Characters that break XML or are changed by parsers, drawn more often than others.
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
def localizations_of(
    draw: Callable[..., Any],
    text: st.SearchStrategy[str],
    literal: st.SearchStrategy[str],
    language: st.SearchStrategy[str],
    count: int,
) -> list[Localization]:
    """Draw localizations of `count` items, each of which has a listed location."""
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
        and others[0].is_complete
        and others[0].is_listed
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
        localizations=draw(localizations_of(text, literal, language, count)),
        lastmods=draw(columns(text, count)),
        changefreqs=draw(columns(text, count)),
        priorities=draw(columns(text, count)),
        alternates=draw(st.none() | st.lists(link, min_size=count, max_size=count)),
    )


# Versions


bases = st.sampled_from(["", "https://a.example", "http://much-longer.example.com:8000"])
languages = st.sampled_from(["en", "de", "pt-BR", "zh-Hant-TW", "x-default", "es-419"])


# The schema
