"""Extensions of a project: no returned text breaks or changes the document around it."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from django.utils.html import format_html
from hypothesis import given, strategies as st
from lxml import etree

from django_sitemaps09.entries import NAMESPACES, Extension
from django_sitemaps09.protocol import SITEMAP_NAMESPACE
from django_sitemaps09.writer import extension_text

GEO = "http://www.google.com/geo/schemas/sitemap/1.0"
XML = "http://www.w3.org/XML/1998/namespace"


def xml(item: object) -> str:
    return f"<geo:geo>{item}</geo:geo>"


EXTENSION = Extension("geo", GEO, xml)


def document(elements: str) -> bytes:
    url = f"<url><loc>https://example.com/1</loc>{elements}</url>"
    after = "<url><loc>https://example.com/2</loc></url>"
    return f'<urlset xmlns="{SITEMAP_NAMESPACE}" xmlns:geo="{GEO}">{url}{after}</urlset>'.encode()


def read(elements: str) -> Any:
    """Return the elements after `loc`, and check that the rest of the document is unchanged."""
    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False, huge_tree=True)
    root = etree.fromstring(document(elements), parser)
    assert len(root) == 2
    assert [url.tag for url in root] == [f"{{{SITEMAP_NAMESPACE}}}url"] * 2
    assert [url[0].text for url in root] == ["https://example.com/1", "https://example.com/2"]
    assert len(root[1]) == 1
    assert all(part.tail is None for part in (*root, *root[0]))
    return root[0][1:]


def shape(elements: Sequence[Any]) -> list[Any]:
    """Return the content of elements, without prefixes, comments and the notation of text."""
    return [
        (
            each.tag,
            sorted(each.attrib.items()),
            texts(each),
            shape([e for e in each if e.tag != etree.Comment]),
        )
        for each in elements
    ]


def texts(element: Any) -> list[str]:
    """Return the texts before, between and after the child elements."""
    found = [element.text or ""]
    for child in element:
        if child.tag == etree.Comment:
            found[-1] += child.tail or ""
        else:
            found.append(child.tail or "")
    return found


# Declarations


@pytest.mark.parametrize("prefix", ["geo", "_", "a.b-c_1", "Image", "page_map"])
def test_a_prefix_is_an_xml_name(prefix: str) -> None:
    extension = Extension(prefix, GEO, xml)
    assert extension_text(extension, f"<{prefix}:a/>") == f"<{prefix}:a/>"


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"prefix": ""}, "Extension.prefix must not be empty"),
        ({"prefix": None}, "Extension.prefix must be text"),
        *(
            ({"prefix": prefix}, "Extension.prefix must be an XML name")
            for prefix in ("1a", "a:b", "a b", "a\n", 'a="b"', "ü")
        ),
        ({"prefix": "xml"}, "Extension.prefix must not be xml, which is reserved"),
        ({"prefix": "XmlNs"}, "Extension.prefix must not be XmlNs"),
        ({"prefix": "xmlfoo"}, "Extension.prefix must not be xmlfoo"),
        *(({"prefix": prefix}, f"Extension.prefix must not be {prefix}, which") for prefix in NAMESPACES),
        ({"namespace": ""}, "Extension.namespace must not be empty"),
        ({"namespace": 7}, "Extension.namespace must be text"),
        *(
            ({"namespace": namespace}, "Extension.namespace must be an absolute URI")
            for namespace in (
                *("/geo", "geo", "urn:", "http://a b", 'http://a"', "http://a<"),
                *("http://a\n", "http://a/%zz"),
            )
        ),
        *(
            ({"namespace": namespace}, "Extension.namespace must not be http")
            for namespace in (SITEMAP_NAMESPACE, XML, "http://www.w3.org/2000/xmlns/", *NAMESPACES.values())
        ),
        ({"xml": "<geo:geo/>"}, "Extension.xml must be a function that takes an item, not '<geo:geo/>'"),
        ({"xml": None}, "Extension.xml must be a function"),
    ],
    ids=repr,
)
def test_an_invalid_or_reserved_declaration_is_refused(changes: dict[str, Any], reason: str) -> None:
    with pytest.raises(ValueError, match=f"^{reason}"):
        replace(EXTENSION, **changes)


@pytest.mark.parametrize("namespace", ["urn:a", "http://a/b#", "http://a/?b&c='d'", "tag:a,2026:b%20c"])
def test_any_other_uri_can_be_a_namespace(namespace: str) -> None:
    extension = Extension("geo", namespace, xml)
    assert extension_text(extension, "<geo:a/>") == "<geo:a/>"


def test_extensions_are_comparable_hashable_and_can_be_pickled() -> None:
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
        (
            "<geo:a><![CDATA[</geo:a></url>&amp;]]></geo:a>",
            "<geo:a>&lt;/geo:a&gt;&lt;/url&gt;&amp;amp;</geo:a>",
        ),
        ("<geo:a>]]&gt;</geo:a>", "<geo:a>]]&gt;</geo:a>"),
        ("<!-- a --><geo:a>b<!-- </geo:a> -->c</geo:a>", "<geo:a>bc</geo:a>"),
        ("<geo:ü>é</geo:ü>", "<geo:ü>é</geo:ü>"),
    ],
)
def test_elements_are_rewritten_on_one_line(given_text: str, expected: str) -> None:
    assert extension_text(EXTENSION, given_text) == expected
    read(expected)


@pytest.mark.parametrize(
    ("given_text", "reason"),
    [
        ("<geo:a>", "the XML is not well-formed: mismatched tag at line 1, column 10"),
        ("<geo:a/>\n  <geo:b></geo:c>", "the XML is not well-formed: mismatched tag at line 2, column 12"),
        ("</url>", "the XML is not well-formed: invalid token"),
        ("</url> ", "the XML is not well-formed: invalid token"),
        ("</url><a/>", "the XML is not well-formed: junk after document element"),
        *(
            (text, "the XML is not well-formed")
            for text in (
                *("</url><url>", "<geo:a/></url><url><loc>https://evil.example/</loc>", "</url><!--"),
                *("</url><?a", "<!--", "<geo:a b='", "<geo:a b=1/>", "<geo:a>a & b</geo:a>"),
                *("<geo:a>]]></geo:a>", "<!DOCTYPE url>"),
                *("<!DOCTYPE a [<!ENTITY b 'c'>]><geo:a>&b;</geo:a>",),
                *("<!ENTITY b SYSTEM 'file:///etc/passwd'>", "<geo:a:b/>", "<geo:/>"),
            )
        ),
        ("<![CDATA[", "the XML is not well-formed: unclosed CDATA section"),
        ("<geo:a b='1' b='2'/>", "the XML is not well-formed: duplicate attribute"),
        (f"<geo:a xmlns:g='{GEO}' geo:b='1' g:b='2'/>", "the XML is not well-formed: duplicate attribute"),
        ("<geo:a>&nbsp;</geo:a>", "the XML is not well-formed: undefined entity at line 1, column 8"),
        ("<geo:a>&#0;</geo:a>", "the XML is not well-formed: reference to invalid character number"),
        ("<geo:a>&#xFFFE;</geo:a>", "the XML is not well-formed: reference to invalid character number"),
        ("<geo:a>&#xD800;</geo:a>", "the XML is not well-formed: reference to invalid character number"),
        (
            "<?xml version='1.0'?><geo:a/>",
            "the XML is not well-formed: XML or text declaration not at start",
        ),
        ("<?php echo 1 ?>", "the XML has a processing instruction: php"),
        ("<geo:a><?b?></geo:a>", "the XML has a processing instruction: b"),
        ("<g:a/>", "the XML is not well-formed: unbound prefix"),
        ("<geo:a g:b=''/>", "the XML is not well-formed: unbound prefix"),
        ("<loc>https://evil.example/</loc>", f"the element loc of {SITEMAP_NAMESPACE} is not in"),
        ("<a xmlns=''/>", "the element a without a namespace"),
        ("<geo:a xmlns:geo='urn:b'/>", "the element a of urn:b"),
        ("<geo:a><b/></geo:a>", "the element b of"),
        (f"<a xmlns='{GEO} a'/>", "the (element a|XML is not well-formed)"),
        (
            "<geo:a xmlns:b='urn:b' b:c=''/>",
            "the attribute c of urn:b is not in the namespace of the extension",
        ),
        ("<geo:a xml:base='/'/>", "the attribute base of"),
        ("text", "the XML has text outside of elements: 'text'"),
        ("<geo:a/>\xa0", "the XML has text outside of elements"),
        ("<![CDATA[a]]>", "the XML has text outside of elements: 'a'"),
        ("&lt;geo:a/&gt;", "the XML has text outside of elements: '<geo:a/>'"),
        ("<geo:a>\x00</geo:a>", "the XML contains '.x00', a character that is not allowed"),
        ("\ud800", "the XML contains '.ud800'"),
        ("<geo:a>\ufffe</geo:a>", "the XML contains '.ufffe'"),
        (None, "the XML must be a string, not NoneType"),
        (b"<geo:a/>", "the XML must be a string, not bytes"),
    ],
    ids=ascii,
)
def test_xml_that_is_malformed_or_in_another_namespace_is_refused_with_the_reason(
    given_text: Any, reason: str
) -> None:
    with pytest.raises(ValueError, match=f"^{reason}"):
        extension_text(EXTENSION, given_text)


def test_elements_can_be_nested_to_50_levels() -> None:
    def nested(levels: int) -> str:
        return "<geo:a>" * levels + "b" + "</geo:a>" * levels

    assert extension_text(EXTENSION, nested(50)) == nested(50)
    for levels in (51, 300):
        with pytest.raises(ValueError, match=r"^the XML has more than 50 levels of nested elements"):
            extension_text(EXTENSION, nested(levels))


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("<geo:a/>" * 401, "the XML has more than 400 elements and attributes"),
        ("<geo:a " + " ".join(f'a{i}=""' for i in range(400)) + "/>", "the XML has more than 400 elements"),
        (f"<geo:a>{'a' * 20_000}</geo:a>", "the XML has 20,015 characters; at most 16,384 are allowed"),
    ],
    ids=["elements", "attributes", "text"],
)
def test_what_would_take_long_to_parse_is_refused(text: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        extension_text(EXTENSION, text)
    assert extension_text(EXTENSION, "<geo:a/>" * 400) == "<geo:a/>" * 400


def test_the_result_of_format_html_is_accepted() -> None:
    made = format_html("<geo:a b='{}'>{}</geo:a>", "'", "<&>")
    assert extension_text(EXTENSION, made) == '<geo:a b="&apos;">&lt;&amp;&gt;</geo:a>'


contents = st.text(
    st.sampled_from("&<>\"' \t\n\r]") | st.characters(exclude_categories=("Cs", "Cc", "Cn")), max_size=6
)


def escape(text: str) -> str:
    for character in "&<>\"'\t\r":
        text = text.replace(character, f"&#{ord(character)};")
    return text


@st.composite
def elements_of(draw: Any, inner: st.SearchStrategy[str]) -> str:
    """Draw an element as an author might write it."""
    name = draw(st.sampled_from(["a", "ü", "x.y-z"]))
    start, prefix = draw(
        st.sampled_from([("geo:", ""), ("g:", f" xmlns:g='{GEO}'"), ("", f" xmlns='{GEO}'")])
    )
    keys = draw(st.lists(st.sampled_from(["b", "geo:b", "c", "xml:lang"]), unique=True))
    attributes = "".join(f' {key}="{escape(draw(contents))}"' for key in keys)
    space = draw(st.sampled_from(["", " ", "\n"]))
    return f"<{start}{name}{prefix}{attributes}{space}>{draw(inner)}</{start}{name}{space}>"


parts = st.recursive(
    st.just("") | contents.map(escape) | st.just("<!-- & -->") | st.just("<![CDATA[<a>&]]>"),
    lambda inner: st.lists(elements_of(inner) | inner, max_size=3).map("".join),
    max_leaves=8,
)
wholes = st.lists(elements_of(parts) | st.sampled_from(["", " ", "\r\n", "<!-- a -->"]), max_size=3).map(
    "".join
)


@given(wholes)
def test_well_formed_xml_keeps_its_meaning_when_it_is_rewritten(text: str) -> None:
    written = extension_text(EXTENSION, text)
    whole = etree.fromstring(f'<url xmlns:geo="{GEO}">{text}</url>'.encode())
    assert shape(read(written)) == shape([each for each in whole if each.tag != etree.Comment])
    assert extension_text(EXTENSION, written) == written
