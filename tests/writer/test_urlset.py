"""The urlset is well-formed and valid XML for any text."""

from __future__ import annotations

from dataclasses import replace
from datetime import date, timezone
from itertools import chain
from typing import Any
from xml.parsers import expat

import pytest
from hypothesis import example, given, strategies as st

from django_sitemaps09.entries import Alternate, Batch, Column, Localization, TemplateColumn
from django_sitemaps09.exceptions import SitemapError, TextError
from django_sitemaps09.protocol import SITEMAP_NAMESPACE, w3c
from django_sitemaps09.writer import URLSET, WriteResult, elements, urlset_head
from tests.support.writing import (
    LINKS,
    NOT_XML,
    XML_CHARACTERS,
    Entry,
    anything,
    bases,
    batches_of,
    entries,
    is_xml,
    items_of,
    parse,
    read,
    single,
    writable,
    write,
)

#: Texts of which many are paths, which stand behind a base.
some_paths = writable | writable.map("/".__add__)
writable_batches = batches_of(some_paths, some_paths.filter(bool), writable.filter(bool))


@given(writable_batches, bases)
@example(single([1], ["a\r\nb\rc\td"], alternates=[[Alternate("a\tb", "a\r\nb\rc\td\n")]]), "")
@example(Batch([1], [Localization("a\tb", ["a\r\nb\rc\td\n"])]), "")
@example(Batch([1, 2], [Localization("{}%s", TemplateColumn(["%s{}", "%"], [["%d", "{0}"]]))]), "")
@example(single([1, 2], ["a", "b"], lastmods="", changefreqs=["", None], priorities=["", ""]), "")
def test_every_text_is_read_again_as_it_was_with_all_links_of_its_item(batch: Batch, base: str) -> None:
    document, written = write([batch], base=base, namespaces=LINKS)
    found = entries(batch, base)
    assert read(document) == found
    assert (written.urls, written.bytes, written.cut) == (len(found), len(document), None)


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
        # Invalid links raise an error even if the item has no entry that would contain them.
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
def test_a_character_that_xml_cannot_hold_is_refused_anywhere(field: str, character: str) -> None:
    bad = f"a{character}b"
    values: list[Any] = ["a", bad, "c"]
    fine = Localization("", ["a", "b", "c"])
    changed: dict[str, Any] = {
        "locations": {"localizations": [Localization("", values)]},
        "gaps": {"localizations": [fine, Localization("de", [None, bad, None])]},
        "parts of locations": {
            "localizations": [Localization("", TemplateColumn(["/", "", "/"], [["a"] * 3, values]))]
        },
        "links": {"localizations": [fine, Localization("x-default", values, is_listed=False)]},
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


def test_the_namespace_of_links_is_declared_only_if_entries_can_have_some() -> None:
    for batch in (
        single([1], ["a"], alternates=[[Alternate("de", "b")]]),
        Batch([1], [Localization("", ["a"]), Localization("de", ["b"])]),
    ):
        found = parse(write([batch], namespaces=LINKS)[0]).nsmap
        assert found == {None: SITEMAP_NAMESPACE, **LINKS}
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


@pytest.mark.parametrize("column", ["", None, [None, None], ["", ""], ["", None]], ids=repr)
@pytest.mark.parametrize("field", ["lastmods", "changefreqs", "priorities"])
def test_an_element_without_text_is_not_written(field: str, column: Column) -> None:
    batch = single([1, 2], ["a", "b"])
    document, written = write([replace(batch, **{field: column})])
    assert document == write([batch])[0]
    assert written.lastmod is None


@given(locations=st.lists(writable, max_size=5), texts=st.tuples(*[st.none() | writable.filter(bool)] * 3))
def test_a_constant_gives_the_bytes_of_a_column_that_repeats_it(
    locations: list[str], texts: tuple[str | None, ...]
) -> None:
    keys = range(len(locations))
    repeated = [[text] * len(locations) for text in texts]
    localizations = [Localization("", locations)]
    assert write([Batch(keys, localizations, *texts)]) == write([Batch(keys, localizations, *repeated)])


@given(writable_batches)
@example(Batch([], [Localization("de", [])]))
def test_elements_are_the_text_of_each_item_and_all_of_them_that_of_the_document(batch: Batch) -> None:
    found = elements(URLSET, batch, "https://example.com")
    assert len(found) == len(batch.keys)
    whole = urlset_head(LINKS) + "".join(found).encode() + b"</urlset>\n"
    assert write([batch], base="https://example.com", namespaces=LINKS)[0] == whole
    for key, text, item in zip(batch.keys, found, items_of(batch, "https://example.com"), strict=True):
        assert text.count("<url>") == len(item), key
    assert list(batch.counts()) == [len(item) for item in items_of(batch)]


def test_nothing_at_all_is_still_a_document() -> None:
    document, written = write([])
    assert read(document) == []
    assert written == WriteResult(0, len(document), None, None, (), 0)


def test_a_known_page_has_these_very_bytes() -> None:
    batch = Batch(
        keys=[7, 8],
        localizations=[
            Localization("en", TemplateColumn(["/en/", "/?a=1&b=2"], [["7", "8"]])),
            Localization("de", ["https://example.de/7/?a=1&b=2", None]),
            Localization("x-default", ["/7/", "/8/"], is_listed=False),
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
