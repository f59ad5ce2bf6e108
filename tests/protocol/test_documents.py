"""Written documents: a reader finds every entry as it was, within limits, or the text is refused."""

from __future__ import annotations

from dataclasses import replace
from datetime import date, timezone
from itertools import accumulate, chain, pairwise
from xml.parsers import expat

import pytest
from hypothesis import assume, example, given, settings, strategies as st

from django_sitemaps09 import Alternate
from django_sitemaps09.exceptions import SitemapError, TextError
from django_sitemaps09.protocol.documents import WriteResult, elements, index_document, stylesheet
from django_sitemaps09.protocol.entries import IndexEntry, ItemError, SafeColumn, TemplateColumn
from django_sitemaps09.protocol.urlset import FORMATS, TEXT, URLSET, page_format
from tests.support.configuration import EXAMPLES
from tests.support.internals import NAMESPACES, SITEMAP_NAMESPACE, Batch, Limits, Localization, w3c
from tests.support.writing import LINKS, NOT_XML, anything, parse, single, write

DECLARATION = b'<?xml version="1.0" encoding="UTF-8"?>\n'
INSTRUCTION = b'<?xml-stylesheet type="text/css" href="sitemap.css"?>\n'
FIELDS = ("lastmod", "changefreq", "priority")
#: The production Char of XML 1.0, https://www.w3.org/TR/xml/#charsets, implemented independently.
XML_CHARACTERS = [*((0x9, 0xA), (0xD, 0xD), (0x20, 0xD7FF)), *((0xE000, 0xFFFD), (0x10000, 0x10FFFF))]


def is_xml(text):
    return all(any(low <= ord(c) <= high for low, high in XML_CHARACTERS) for c in text)


def tag(name):
    return f"{{{SITEMAP_NAMESPACE}}}{name}"


def read(document):
    """Return location, lastmod, changefreq, priority and links of each entry; fail on anything else."""
    root = parse(document)
    assert root.tag == tag("urlset")
    found = []
    for url in root:
        parts = [child for child in url if child.tag != f"{{{NAMESPACES['xhtml']}}}link"]
        texts = {child.tag: child.text or "" for child in parts}
        assert (url.tag, len(texts)) == (tag("url"), len(parts))
        assert {*texts} <= {tag(name) for name in ("loc", *FIELDS)}
        links = url[len(parts) :]
        assert all({*link.attrib} == {"rel", "hreflang", "href"} for link in links)
        assert {link.get("rel") for link in links} <= {"alternate"}
        pairs = tuple((link.get("hreflang"), link.get("href")) for link in links)
        found.append((texts[tag("loc")], *(texts.get(tag(name)) for name in FIELDS), pairs))
    return found


def locations_of(version):
    return version.locations.texts() if isinstance(version.locations, TemplateColumn) else version.locations


def entries_of(batch, base=""):
    behind = lambda location: f"{base}{location}" if location.startswith("/") else location  # noqa: E731

    def each(column):
        single = column is None or isinstance(column, str)
        return [text or None for text in ([column] * len(batch.keys) if single else column)]

    columns = zip(*map(each, (batch.lastmods, batch.changefreqs, batch.priorities)), strict=True)
    rows = zip(*map(locations_of, batch.localizations), strict=True)
    named, found = any(version.language for version in batch.localizations if version.is_listed), []
    for row, texts, own in zip(rows, columns, batch.alternates or [()] * len(batch.keys), strict=True):
        versions = zip(batch.localizations, row, strict=True)
        there = [(version, behind(location)) for version, location in versions if location is not None]
        links = [(version.language, location) for version, location in there if version.language]
        links += [(language, behind(location)) for language, location in own]
        # No link leads to an entry without a language if others have one.
        found.append(
            [(location, *texts, () if named and not version.language else tuple(links))
             for version, location in there if version.is_listed]
        )  # fmt: skip
    return found


def part(batch, places):
    def chosen(column):
        return column if column is None or isinstance(column, str) else [column[place] for place in places]

    versions = [each._replace(locations=chosen(locations_of(each))) for each in batch.localizations]
    names = ("keys", "lastmods", "changefreqs", "priorities", "alternates")
    return replace(batch, localizations=versions, **{name: chosen(getattr(batch, name)) for name in names})


@st.composite
def batches_of(draw, text, literal, language, most=4):
    count = draw(st.integers(1, most))
    column = lambda values: st.lists(values, min_size=count, max_size=count)  # noqa: E731
    optional = st.none() | text | column(st.none() | text)
    composed = st.integers(1, 2).flatmap(
        lambda width: st.builds(
            TemplateColumn, st.lists(literal, min_size=width + 1, max_size=width + 1),
            st.lists(column(text), min_size=width, max_size=width),
        )
    )  # fmt: skip
    first = Localization(draw(st.just("") | language), draw(column(text) | composed))
    gaps = column(st.none() | text)
    other = st.builds(Localization, st.just("") | language, column(text) | gaps | composed, st.booleans())
    others = draw(st.lists(other, max_size=3))
    is_full = others and others[0].is_complete and others[0].is_listed
    if is_full and not isinstance(first.locations, TemplateColumn):
        holes = zip(draw(column(st.booleans())), first.locations, strict=True)
        first = first._replace(locations=[None if hole else one for hole, one in holes])
    links = st.lists(st.builds(Alternate, text, text), max_size=3)
    return Batch(
        keys=[f"key-{number}-" for number in range(count)],
        localizations=draw(st.permutations([first, *others])), lastmods=draw(optional),
        changefreqs=draw(optional), priorities=draw(optional), alternates=draw(st.none() | column(links)),
    )  # fmt: skip


bases = st.sampled_from(["", "https://a.example", "http://much-longer.example.com:8000"])
writable = anything.filter(is_xml)
#: Texts of which many are paths, which stand behind a base.
some_paths = writable | writable.map("/".__add__)
writable_batches = batches_of(some_paths, some_paths.filter(bool), writable.filter(bool))


class TestAUrlset:
    @given(writable_batches, bases)
    @example(single([1], ["a\r\nb\rc\td"], alternates=[[Alternate("a\tb", "a\r\nb\rc\td\n")]]), "")
    @example(Batch([1], [Localization("a\tb", ["a\r\nb\rc\td\n"])]), "")
    @example(Batch([1, 2], [Localization("{}%s", TemplateColumn(["%s{}", "%"], [["%d", "{0}"]]))]), "")
    @example(single([1, 2], ["a", "b"], lastmods="", changefreqs=["", None], priorities=["", ""]), "")
    @example(Batch([], [Localization("de", [])]), "")
    def test_is_read_again_as_it_was_with_all_links_of_each_item(self, batch, base):
        document, written = write([batch], base=base, namespaces=LINKS)
        items = entries_of(batch, base)
        assert (read(document), list(batch.counts())) == ([*chain(*items)], [len(item) for item in items])
        assert (written.urls, written.bytes, written.cut) == (sum(map(len, items)), len(document), None)
        texts = elements(URLSET, batch, base)
        assert [text.count("<url>") for text in texts] == [len(item) for item in items]
        assert document == URLSET.head(LINKS) + "".join(texts).encode() + b"</urlset>\n"

    @given(batches_of(anything, writable, st.sampled_from(["de", "x-default"])))
    @example(Batch([1], [Localization("", [""]), Localization("de", [None])], alternates=[[("", "\x00")]]))
    def test_of_any_text_is_written_or_refused_with_the_key_of_an_item(self, batch):
        items = entries_of(batch)
        texts = [
            "".join("".join(filter(None, entry[:-1])) + "".join(map("".join, entry[-1])) for entry in item)
            for item in items
        ]
        bad = {key for key, text in zip(batch.keys, texts, strict=True) if not is_xml(text)}
        try:
            document, _ = write([batch], namespaces=LINKS)
        except TextError as error:
            document, reason = None, str(error)
        if document is not None:
            assert not bad
            assert read(document) == [*chain(*items)]
        else:
            # Invalid links raise an error even if the item has no entry that would contain them.
            links = zip(batch.keys, batch.alternates or (), strict=False)
            bad |= {key for key, found in links if not is_xml("".join(map("".join, found)))}
            assert [key for key in bad if str(key) in reason]

    @pytest.mark.parametrize("character", NOT_XML[::3], ids=ascii)
    @pytest.mark.parametrize("field", ["locations", "gaps", "parts", "links", "alternates", *FIELDS])
    def test_is_refused_for_a_character_that_xml_cannot_hold_anywhere(self, field, character):
        bad = f"a{character}b"
        values, fine = ["a", bad, "c"], Localization("", ["a", "b", "c"])
        parts = TemplateColumn(["/", "", "/"], [["a"] * 3, values])
        changed = {
            "locations": {"localizations": [Localization("", values)]},
            "gaps": {"localizations": [fine, Localization("de", [None, bad, None])]},
            "parts": {"localizations": [Localization("", parts)]},
            "links": {"localizations": [fine, Localization("x-default", values, is_listed=False)]},
            "alternates": {"alternates": [[], [Alternate("de", "a"), Alternate("en", bad)], []]},
            "lastmod": {"lastmods": values}, "changefreq": {"changefreqs": values},
            "priority": {"priorities": values},
        }  # fmt: skip
        batch = Batch(["first", "second", "third"], [fine])
        with pytest.raises(TextError, match="second") as raised:
            write([replace(batch, **changed[field])], namespaces=LINKS)
        assert isinstance(raised.value, SitemapError | ValueError)
        assert repr(bad) in str(raised.value)

    @pytest.mark.parametrize(
        "batch",
        [single([], [], lastmods="\x00"), Batch([], [Localization("\x00", [])]),
         Batch([], [Localization("", TemplateColumn(["\x00", ""], [[]]))])],
    )  # fmt: skip
    def test_is_refused_for_such_a_constant_even_without_entries(self, batch):
        with pytest.raises(TextError):
            write([batch])

    def test_has_every_character_of_xml_as_it_was(self):
        text = "".join(chr(c) for low, high in XML_CHARACTERS[:-1] for c in range(low, high + 1))
        text += "".join(chr(c) for c in range(0x10000, 0x110000, 97))
        batch = Batch([1], [Localization(text, [text])], alternates=[[Alternate(text, text)]])
        document, _ = write([batch], namespaces=LINKS)
        assert read(document) == [(text, None, None, None, ((text, text),) * 2)]

    @given(st.lists(writable, max_size=5), st.tuples(*[st.none() | writable.filter(bool)] * 3))
    def test_has_the_same_bytes_for_a_constant_and_a_column_that_repeats_it(self, locations, texts):
        keys, localizations = range(len(locations)), [Localization("", locations)]
        repeated = [[text] * len(locations) for text in texts]
        assert write([Batch(keys, localizations, *texts)]) == write([Batch(keys, localizations, *repeated)])

    def test_has_these_very_bytes(self):
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
            foreign=["<x:y>1</x:y>", ""],
        )
        link = '<xhtml:link rel="alternate" hreflang="{}" href="https://example.{}"/>'.format
        core = "<lastmod>2026-01-31</lastmod><changefreq>weekly</changefreq>"
        seven = f"{link('en', 'com/en/7/?a=1&amp;b=2')}{link('de', 'de/7/?a=1&amp;b=2')}"
        seven = f"{core}<priority>0.8</priority>{seven}{link('x-default', 'com/7/')}<x:y>1</x:y></url>\n"
        eight = f"{link('en', 'com/en/8/?a=1&amp;b=2')}{link('x-default', 'com/8/')}"
        assert write([batch], base="https://example.com", namespaces=LINKS)[0].decode() == (
            '<?xml version="1.0" encoding="UTF-8"?>\n'
            '<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"'
            ' xmlns:xhtml="http://www.w3.org/1999/xhtml">\n'
            f"<url><loc>https://example.com/en/7/?a=1&amp;b=2</loc>{seven}"
            f"<url><loc>https://example.de/7/?a=1&amp;b=2</loc>{seven}"
            f"<url><loc>https://example.com/en/8/?a=1&amp;b=2</loc>{core}"
            f"{eight}{link('fr', 'com/fr/8/?a=1&amp;b=2')}</url>\n"
            "</urlset>\n"
        )

    def test_raises_an_error_for_a_column_that_is_too_short_and_loses_nothing(self):
        for kind in FORMATS.values():
            with pytest.raises(ValueError, match="2"):
                write([Batch([1, 2, 3], [Localization("", ["a", "b"])])], kind=kind)
        with pytest.raises(ValueError, match="argument"):
            write([Batch([1, 2, 3], [Localization("", ["a", None, "c"])], lastmods=["x", "y"])])


@pytest.mark.parametrize("listed", [True, False])
@pytest.mark.parametrize(("locations", "joined"), [
    (["/a", "b:/c"], ["x:/a", "b:/c"]),
    (["/a", None], ["x:/a", None]),
    ([None, "b:/c"], [None, "b:/c"]),
    (SafeColumn(["/a", "b:/c"]), ["x:/a", "b:/c"]),
    (TemplateColumn(["/", ""], [["a", "/"]]), ["x:/a", "x://"]),
    (TemplateColumn(["b:/", ""], [["/a", "c"]]), ["b://a", "b:/c"]),
    (TemplateColumn(["/&", "/", ""], [["a", "b"], ["/", ""]]), ["x:/&a//", "x:/&b/"]),
    # A template column is a path only if its first literal is.
    (TemplateColumn(["", ""], [["/a", "/b"]]), ["/a", "/b"]),
], ids=str)  # fmt: skip
def test_a_base_stands_before_what_begins_with_a_slash_in_loc_and_in_href(locations, joined, listed):
    batch = Batch([1, 2], [Localization("en", ["c:/1", "c:/2"]), Localization("de", locations, listed)])
    expected = []
    for first, location in zip(["c:/1", "c:/2"], joined, strict=True):
        links = (("en", first), *(() if location is None else (("de", location),)))
        expected += [(first, links), *([(location, links)] if location is not None and listed else [])]
    found = read(write([batch], base="x:", namespaces=LINKS)[0])
    assert [(loc, links) for loc, *_, links in found] == expected
    assert write([batch], kind=TEXT, base="x:")[0].decode().split() == [loc for loc, _ in expected]


@given(
    st.dictionaries(
        st.from_regex(r"[a-w][a-z0-9.-]{0,4}", fullmatch=True), writable.filter(bool), max_size=4
    ),
    st.randoms(use_true_random=False),
)
@example({"video": "a", "image": "&<\">'\r\n\t", "a-b": "c", "a": "d"}, None)
def test_namespaces_are_declared_in_the_order_of_their_prefixes_and_read_again_as_they_were(spaces, random):
    pairs = list(spaces.items())
    if random is not None:
        random.shuffle(pairs)
    document, _ = write([], namespaces=dict(pairs))
    assert document.startswith(URLSET.head(spaces))
    found, parser = [], expat.ParserCreate()
    parser.ordered_attributes = True
    parser.StartElementHandler = lambda name, attributes: found.append((name, attributes))
    parser.Parse(document, True)
    declared = [("xmlns", SITEMAP_NAMESPACE)]
    declared += [(f"xmlns:{prefix}", spaces[prefix]) for prefix in sorted(spaces)]
    assert found == [("urlset", [*chain(*declared)])]


def test_a_namespace_that_xml_cannot_hold_is_refused_with_its_prefix():
    with pytest.raises(TextError, match="second"):
        URLSET.head({"first": "a", "second": "\x00"})


def test_the_instruction_with_the_stylesheet_counts_for_the_limit_of_bytes():
    def page(limit=None, *, styled):
        batch, kind = single([1, 2, 3], ["/0", "/1", "/2"]), page_format("xml", styled=styled)
        return write([batch], limit and Limits(9, limit), kind=kind, base="https://a.example")

    size = len(page(styled=False)[0])
    assert (page(size, styled=False)[1].urls, page(size + len(INSTRUCTION), styled=True)[1].urls) == (3, 3)
    document, result = page(size + len(INSTRUCTION) - 1, styled=True)
    assert (result.urls, result.cut) == (2, 2)
    assert len(document) < size + len(INSTRUCTION)
    assert document.startswith(DECLARATION + INSTRUCTION)


def test_the_stylesheet_needs_nothing_from_elsewhere():
    text = stylesheet().decode("ascii")
    assert [word for word in ("url(", "@import") if word in text] == []
    assert len(text.splitlines()) <= 80


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
@example(single([], [], lastmods="2026-01-01"), "https://example.com")
def test_a_text_file_is_the_locations_of_the_listed_localizations_a_line_each(batch, base):
    document, written = write([batch], kind=TEXT, base=base, namespaces=LINKS)
    found = [location for location, *_ in chain(*entries_of(batch, base))]
    assert document == "".join(f"{location}\n" for location in found).encode()
    assert (written.urls, written.bytes) == (len(found), len(document))
    assert "".join(elements(TEXT, batch, base)).encode() == document


@pytest.mark.parametrize("batches", [[], [single([], [])], [single([], [], lastmods="2026-01-01")]])
def test_a_document_without_entries_is_valid_and_a_text_file_is_empty(batches):
    document, written = write(batches)
    assert (read(document), written) == ([], WriteResult(0, len(document), None, None, (), 0))
    document, written = write(batches, Limits(1, 0), kind=TEXT, base="https://a.b", namespaces=LINKS)
    assert (document, written) == (b"", WriteResult(0, 0, None, None, (), 0))


@given(st.lists(st.builds(IndexEntry, writable, st.none() | writable.filter(bool)), max_size=4))
@example([IndexEntry("a\r\n\t&<>\"'", "\r")])
def test_an_index_is_read_again_as_it_was(files):
    document = index_document(files)
    root = parse(document)
    assert document.startswith(DECLARATION)
    assert (root.tag, root.nsmap) == (tag("sitemapindex"), {None: SITEMAP_NAMESPACE})
    assert [(child.tag, [(part.tag, part.text or "") for part in child]) for child in root] == [
        (
            tag("sitemap"),
            [(tag(name), text) for name, text in zip(("loc", "lastmod"), file, strict=True)
             if text is not None],
        )
        for file in files
    ]  # fmt: skip


@given(location=anything, lastmod=anything)
def test_an_index_refuses_what_xml_cannot_hold_and_names_the_file(location, lastmod):
    assume(not is_xml(location + lastmod))
    with pytest.raises(TextError, match="file-"):
        index_document([IndexEntry("fine", None), IndexEntry(f"file-{location}", lastmod)])


TOO_LARGE = "its entries alone exceed the limits of a page"
#: Texts of very different lengths.
lengths = st.builds(
    "{}{}{}".format, st.sampled_from(["", "/"]), st.sampled_from(["a", "ü", "&<", "😀"]),
    st.text("ab", max_size=60),
)  # fmt: skip
languages = st.sampled_from(["en", "de", "pt-BR", "zh-Hant-TW", "x-default", "es-419"])


@pytest.mark.parametrize("name", FORMATS)
@settings(max_examples=5 * EXAMPLES)
@given(
    batch=batches_of(lengths, lengths, languages, most=14), base=bases,
    cuts=st.lists(st.integers(0, 5), max_size=5), urls=st.integers(1, 12),
    near=st.integers(0, 500) | st.integers(-14, -1),
)  # fmt: skip
def test_documents_within_limits_have_each_fitting_item_once_and_whole(name, batch, base, cuts, urls, near):
    """A document is cut where the next item would not fit."""
    kind = FORMATS[name]
    places, counts = range(len(batch.keys)), list(batch.counts())
    sizes = [len(text.encode()) for text in elements(kind, batch, base)]
    empty = len(write([], kind=kind, namespaces=LINKS)[0])
    # Many limits are the size of an item.
    limits = Limits(urls, empty + (near if near >= 0 else sizes[near % len(sizes)]))
    fitting = [n for n in places if counts[n] <= limits.urls and empty + sizes[n] <= limits.bytes]
    start, errors = 0, []
    while start is not None:
        ends = [*accumulate(cuts, initial=start), len(places)]
        groups = [[n for n in places if low <= n < high] for low, high in pairwise(ends)]
        parts = [part(batch, group) for group in groups]
        document, written = write(parts, limits, kind=kind, base=base, namespaces=LINKS)
        stop = len(places) if written.cut is None else batch.keys.index(written.cut) + 1
        chosen = [n for n in fitting if start <= n < stop]
        assert document == write([part(batch, chosen)], kind=kind, base=base, namespaces=LINKS)[0]
        assert written.bytes == len(document) <= limits.bytes
        assert (written.urls, written.items) == (sum(counts[n] for n in chosen), len(chosen))
        assert written.urls <= limits.urls
        # The newest lastmod is known only if all entries have one. A text file has none to compare.
        lastmods = [entry[1] for item in entries_of(part(batch, chosen)) for entry in item]
        if kind is URLSET:
            assert written.lastmod == (None if None in lastmods else max(lastmods, default=None))
        if written.cut is not None:
            assert stop - 1 == chosen[-1]
            assert written.urls + counts[stop] > limits.urls or written.bytes + sizes[stop] > limits.bytes
        errors += written.errors
        start = None if written.cut is None else stop
    assert errors == [ItemError(batch.keys[n], "location", TOO_LARGE) for n in places if n not in fitting]


def test_limits_count_entries_and_not_items():
    localizations = [Localization("", list("abcd")), Localization("de", ["e", None, "g", "h"])]
    batch = Batch([1, 2, 3, 4], [*localizations, Localization("x-default", list("ijkl"), is_listed=False)])
    cuts = {urls: write([batch], Limits(urls, 10_000))[1][:4:3] for urls in range(1, 8)}
    assert cuts == {1: (1, 2), 2: (2, 1), 3: (3, 2), 4: (3, 2), 5: (5, 3), 6: (5, 3), 7: (7, None)}
    assert write([batch], Limits(1, 10_000))[1].errors == (ItemError("1", "location", TOO_LARGE),)


@pytest.mark.parametrize(
    ("lastmods", "newest"),
    [([["2026-01-02", "2026-01-01"], "2026-01-01T00:00:00Z"], "2026-01-02"),
     ([["2026-01-01", "2026-01-01"], "2026-01-01T00:00:00Z"], "2026-01-01T00:00:00Z"),
     (["2026-01-01", "2026-01-03"], "2026-01-03"), (["2026-01-01", None], None),
     ([None, "2026-01-01"], None), ([["2026-01-01", None], "2026-01-01"], None),
     ([["2026-01-01", ""], "2026-01-01"], None), (["2026-01-01", ""], None)],
)  # fmt: skip
def test_the_newest_lastmod_is_that_of_all_batches(lastmods, newest):
    batches = [single([i, -i], ["a", "b"], lastmods=column) for i, column in enumerate(lastmods, 1)]
    assert write(batches)[1].lastmod == newest


def test_a_lastmod_that_no_entry_of_the_page_has_counts_for_nothing():
    batch = single([1, 2, 3], ["a", "b", "c"], lastmods=["2026-01-01", "2027-01-01", None])
    _, written = write([batch], Limits(1, 1_000))
    assert (written.lastmod, written.cut) == ("2026-01-01", 1)
    empty = single([], [], lastmods="2028-01-01")
    assert write([empty])[1].lastmod is None
    assert write([empty, batch], Limits(2, 1_000))[1].lastmod == "2027-01-01"


def test_without_limits_there_is_no_cut_and_behind_a_cut_no_batch_is_requested():
    count = 60_000
    document, written = write([single(range(count), ["https://example.com/"] * count)])
    assert (written.urls, written.cut, written.bytes) == (count, None, len(document))

    def endless():
        for key in range(3):
            yield single([key], ["a"])
        raise AssertionError("a batch too many was read")

    assert write(endless(), Limits(2, 1_000))[1].cut == 1


def test_errors_of_the_batches_are_handed_on():
    errors = [ItemError("1", "location", "is bad"), ItemError("2", "priority", "is bad too")]
    batches = [single([], [], errors=errors[:1]), single([2], ["a"], errors=errors[1:])]
    assert write(batches)[1].errors == tuple(errors)
