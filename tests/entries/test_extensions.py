"""Extensions of a project: no returned text breaks or changes the document around it."""

from __future__ import annotations

import pickle
from dataclasses import replace

import pytest
from django.utils.html import format_html
from hypothesis import given, strategies as st
from lxml import etree

from django_sitemaps09 import Extension
from django_sitemaps09.entries import NAMESPACES
from django_sitemaps09.protocol import SITEMAP_NAMESPACE
from django_sitemaps09.writer import extension_text

GEO = "http://www.google.com/geo/schemas/sitemap/1.0"
XML = "http://www.w3.org/XML/1998/namespace"


def xml(item):
    return f"<geo:geo>{item}</geo:geo>"


EXTENSION = Extension("geo", GEO, xml)


def read(elements):
    """Return the elements after `loc`, and check that the rest of the document is unchanged."""
    url = "<url><loc>https://example.com/{}</loc>{}</url>".format
    document = (
        f'<urlset xmlns="{SITEMAP_NAMESPACE}" xmlns:geo="{GEO}">{url(1, elements)}{url(2, "")}</urlset>'
    )
    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False, huge_tree=True)
    root = etree.fromstring(document.encode(), parser)
    assert [url.tag for url in root] == [f"{{{SITEMAP_NAMESPACE}}}url"] * 2
    assert [url[0].text for url in root] == ["https://example.com/1", "https://example.com/2"]
    assert len(root[1]) == 1
    assert all(part.tail is None for part in (*root, *root[0]))
    return root[0][1:]


def shape(elements):
    """Return the content of elements, without prefixes, comments and the notation of text."""
    return [
        (e.tag, sorted(e.attrib.items()), texts(e),
         shape([child for child in e if child.tag != etree.Comment]))
        for e in elements
    ]  # fmt: skip


def texts(element):
    found = [element.text or ""]
    for child in element:
        if child.tag == etree.Comment:
            found[-1] += child.tail or ""
        else:
            found.append(child.tail or "")
    return found


# Declarations

NOT_URIS = ["/geo", "geo", "urn:", "http://a b", 'http://a"', "http://a<", "http://a\n", "http://a/%zz"]
RESERVED = [SITEMAP_NAMESPACE, XML, "http://www.w3.org/2000/xmlns/", *NAMESPACES.values()]


@pytest.mark.parametrize(
    ("name", "values", "reason"),
    [("prefix", [""], "must not be empty"), ("prefix", [None], "must be text"),
     ("prefix", ["1a", "a:b", "a b", "a\n", 'a="b"', "ü"], "must be an XML name"),
     ("prefix", ["xml", *NAMESPACES], "must not be {}, which"),
     ("prefix", ["XmlNs", "xmlfoo"], "must not be {}"), ("namespace", [""], "must not be empty"),
     ("namespace", [7], "must be text"), ("namespace", NOT_URIS, "must be an absolute URI"),
     ("namespace", RESERVED, "must not be http"),
     ("xml", ["<geo:geo/>"], "must be a function that takes an item, not '<geo:geo/>'"),
     ("xml", [None], "must be a function")],
)  # fmt: skip
def test_an_invalid_or_reserved_declaration_is_refused(name, values, reason):
    for value in values:
        with pytest.raises(ValueError, match=f"^Extension.{name} {reason.format(value)}"):
            replace(EXTENSION, **{name: value})


@pytest.mark.parametrize("prefix", ["geo", "_", "a.b-c_1", "Image", "page_map"])
@pytest.mark.parametrize("namespace", ["urn:a", "http://a/b#", "http://a/?b&c='d'", "tag:a,2026:b%20c"])
def test_a_prefix_is_an_xml_name_and_a_namespace_any_other_uri(prefix, namespace):
    assert extension_text(Extension(prefix, namespace, xml), f"<{prefix}:a/>") == f"<{prefix}:a/>"


def test_extensions_are_comparable_hashable_and_can_be_pickled():
    assert {EXTENSION} == {Extension("geo", GEO, xml), pickle.loads(pickle.dumps(EXTENSION))}  # noqa: S301


# Texts


@pytest.mark.parametrize(
    ("given_text", "expected"),
    [
        ("", ""),
        (" \r\n\t ", ""),
        ("<geo:geo/>", "<geo:geo/>"),
        ("<geo:geo></geo:geo >", "<geo:geo/>"),
        ("\n<geo:a/>\n<geo:a/>\n", "<geo:a/><geo:a/>"),
        ("<geo:a><geo:b/> </geo:a>", "<geo:a><geo:b/> </geo:a>"),
        ("<geo:a><geo:b>1</geo:b>&amp;<geo:b/></geo:a>", "<geo:a><geo:b>1</geo:b>&amp;<geo:b/></geo:a>"),
        ("<geo:a\n b='1'\tc=\"'\"/>", '<geo:a b="1" c="&apos;"/>'),
        ("<geo:a b='&#10;&lt;&#x20AC;' geo:c=''/>", '<geo:a b="&#10;&lt;€" geo:c=""/>'),
        ("<geo:a xml:lang='de' xml:space='preserve'/>", '<geo:a xml:lang="de" xml:space="preserve"/>'),
        ("<geo:a>\n\t\r</geo:a>", "<geo:a>&#10;&#9;&#10;</geo:a>"),
        ("<geo:a>&#13;</geo:a>", "<geo:a>&#13;</geo:a>"),
        (f"<a xmlns='{GEO}'><b/></a>", "<geo:a><geo:b/></geo:a>"),
        (f"<x:a xmlns:x='{GEO}' x:b='1'/>", '<geo:a geo:b="1"/>'),
        ("<geo:a><![CDATA[</geo:a></url>&amp;]]></geo:a>",
         "<geo:a>&lt;/geo:a&gt;&lt;/url&gt;&amp;amp;</geo:a>"),
        ("<geo:a>]]&gt;</geo:a>", "<geo:a>]]&gt;</geo:a>"),
        ("<!-- a --><geo:a>b<!-- </geo:a> -->c</geo:a>", "<geo:a>bc</geo:a>"),
        ("<geo:ü>é</geo:ü>", "<geo:ü>é</geo:ü>"),
        (format_html("<geo:a b='{}'>{}</geo:a>", "'", "<&>"), '<geo:a b="&apos;">&lt;&amp;&gt;</geo:a>'),
    ],
)  # fmt: skip
def test_elements_are_rewritten_on_one_line(given_text, expected):
    assert extension_text(EXTENSION, given_text) == expected
    read(expected)


MALFORMED = [
    *(
        "</url><url>", "<geo:a/></url><url><loc>https://evil.example/</loc>", "</url><!--", "</url><?a",
        "<!--",
    ),
    *("<geo:a b='", "<geo:a b=1/>", "<geo:a>a & b</geo:a>", "<geo:a>]]></geo:a>", "<!DOCTYPE url>"),
    "<!DOCTYPE a [<!ENTITY b 'c'>]><geo:a>&b;</geo:a>",
    *("<!ENTITY b SYSTEM 'file:///etc/passwd'>", "<geo:a:b/>", "<geo:/>"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("given_text", "reason"),
    [
        *((text, "is not well-formed") for text in MALFORMED),
        ("<geo:a>", "is not well-formed: mismatched tag at line 1, column 10"),
        ("<geo:a/>\n  <geo:b></geo:c>", "is not well-formed: mismatched tag at line 2, column 12"),
        ("</url>", "is not well-formed: invalid token"),
        ("</url> ", "is not well-formed: invalid token"),
        ("</url><a/>", "is not well-formed: junk after document element"),
        ("<![CDATA[", "is not well-formed: unclosed CDATA section"),
        ("<geo:a b='1' b='2'/>", "is not well-formed: duplicate attribute"),
        (f"<geo:a xmlns:g='{GEO}' geo:b='1' g:b='2'/>", "is not well-formed: duplicate attribute"),
        ("<geo:a>&nbsp;</geo:a>", "is not well-formed: undefined entity at line 1, column 8"),
        ("<geo:a>&#0;</geo:a>", "is not well-formed: reference to invalid character number"),
        ("<geo:a>&#xFFFE;</geo:a>", "is not well-formed: reference to invalid character number"),
        ("<geo:a>&#xD800;</geo:a>", "is not well-formed: reference to invalid character number"),
        ("<?xml version='1.0'?><geo:a/>", "is not well-formed: XML or text declaration not at start"),
        ("<?php echo 1 ?>", "has a processing instruction: php"),
        ("<geo:a><?b?></geo:a>", "has a processing instruction: b"),
        ("<g:a/>", "is not well-formed: unbound prefix"),
        ("<geo:a g:b=''/>", "is not well-formed: unbound prefix"),
        ("text", "has text outside of elements: 'text'"),
        ("<geo:a/>\xa0", "has text outside of elements"),
        ("<![CDATA[a]]>", "has text outside of elements: 'a'"),
        ("&lt;geo:a/&gt;", "has text outside of elements: '<geo:a/>'"),
        ("<geo:a>\x00</geo:a>", "contains '.x00', a character that is not allowed"),
        ("\ud800", "contains '.ud800'"),
        ("<geo:a>\ufffe</geo:a>", "contains '.ufffe'"),
        (None, "must be a string, not NoneType"),
        (b"<geo:a/>", "must be a string, not bytes"),
        # What would take long to parse.
        ("<geo:a/>" * 401, "has more than 400 elements and attributes"),
        ("<geo:a " + " ".join(f'a{i}=""' for i in range(400)) + "/>", "has more than 400 elements"),
        (f"<geo:a>{'a' * 20_000}</geo:a>", "has 20,015 characters; at most 16,384 are allowed"),
        ("<geo:a>" * 51 + "</geo:a>" * 51, "has more than 50 levels of nested elements"),
        ("<geo:b>" * 300 + "</geo:b>" * 300, "has more than 50 levels of nested elements"),
    ],
    ids=lambda value: ascii(value)[:40],
)
def test_malformed_or_long_xml_is_refused_with_the_reason(given_text, reason):
    with pytest.raises(ValueError, match=f"^the XML {reason}"):
        extension_text(EXTENSION, given_text)


@pytest.mark.parametrize(
    ("given_text", "reason"),
    [
        ("<loc>https://evil.example/</loc>", f"the element loc of {SITEMAP_NAMESPACE} is not in"),
        ("<a xmlns=''/>", "the element a without a namespace"),
        ("<geo:a xmlns:geo='urn:b'/>", "the element a of urn:b"),
        ("<geo:a><b/></geo:a>", "the element b of"),
        (f"<a xmlns='{GEO} a'/>", "the (element a|XML is not well-formed)"),
        ("<geo:a xmlns:b='urn:b' b:c=''/>",
         "the attribute c of urn:b is not in the namespace of the extension"),
        ("<geo:a xml:base='/'/>", "the attribute base of"),
    ],
)  # fmt: skip
def test_xml_in_another_namespace_is_refused_with_the_reason(given_text, reason):
    with pytest.raises(ValueError, match=f"^{reason}"):
        extension_text(EXTENSION, given_text)


def test_400_elements_and_50_levels_are_accepted():
    for text in ("<geo:a/>" * 400, "<geo:a>" * 50 + "b" + "</geo:a>" * 50):
        assert extension_text(EXTENSION, text) == text


contents = st.text(
    st.sampled_from("&<>\"' \t\n\r]") | st.characters(exclude_categories=("Cs", "Cc", "Cn")), max_size=6
)


def escape(text):
    for character in "&<>\"'\t\r":
        text = text.replace(character, f"&#{ord(character)};")
    return text


@st.composite
def elements_of(draw, inner):
    """Draw an element as an author might write it."""
    name, space = draw(st.sampled_from(["a", "ü", "x.y-z"])), draw(st.sampled_from(["", " ", "\n"]))
    prefixes = [("geo:", ""), ("g:", f" xmlns:g='{GEO}'"), ("", f" xmlns='{GEO}'")]
    start, prefix = draw(st.sampled_from(prefixes))
    keys = draw(st.lists(st.sampled_from(["b", "geo:b", "c", "xml:lang"]), unique=True))
    attributes = "".join(f' {key}="{escape(draw(contents))}"' for key in keys)
    return f"<{start}{name}{prefix}{attributes}{space}>{draw(inner)}</{start}{name}{space}>"


parts = st.recursive(
    st.just("") | contents.map(escape) | st.just("<!-- & -->") | st.just("<![CDATA[<a>&]]>"),
    lambda inner: st.lists(elements_of(inner) | inner, max_size=3).map("".join),
    max_leaves=8,
)
wholes = st.lists(elements_of(parts) | st.sampled_from(["", " ", "\r\n", "<!-- a -->"]), max_size=3)


@given(wholes.map("".join))
def test_well_formed_xml_keeps_its_meaning_when_it_is_rewritten(text):
    written = extension_text(EXTENSION, text)
    whole = etree.fromstring(f'<url xmlns:geo="{GEO}">{text}</url>'.encode())
    assert shape(read(written)) == shape([each for each in whole if each.tag != etree.Comment])
    assert extension_text(EXTENSION, written) == written
