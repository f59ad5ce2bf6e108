"""Images, videos, news and extensions: refused if they are invalid, else written as in the schemas."""

from __future__ import annotations

import enum
import pickle
from dataclasses import FrozenInstanceError, dataclass, fields, replace
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from itertools import repeat
from pathlib import Path

import pytest
from django.core.files.storage import InMemoryStorage
from django.db.models import F
from django.db.models.fields.files import FieldFile, FileField
from django.utils.html import format_html
from django.utils.safestring import mark_safe
from django.utils.translation import gettext_lazy
from hypothesis import given, strategies as st
from lxml import etree

from django_sitemaps09 import Extension, Image, News, Platform, Restriction, Video
from django_sitemaps09.exceptions import TextError
from django_sitemaps09.protocol.urlset import extension_text, image_elements, news_element, video_elements
from tests.support.configuration import BASE
from tests.support.internals import NAMESPACES, SITEMAP_NAMESPACE
from tests.support.writing import parse

MOMENT = datetime(2026, 1, 31, 12, 30, 5, 999_999, tzinfo=timezone(timedelta(hours=2)))
IMAGE = {
    "loc": "/image.jpg", "caption": "A & B", "geo_location": "Limerick, Ireland", "title": "<Title>",
    "license": "/license?a=1&b=2",
}  # fmt: skip
LEAST_VIDEO = {
    "thumbnail_loc": "/thumbnail.png", "title": "Title", "description": "Description",
    "content_loc": "/video.mp4",
}  # fmt: skip
FULL_VIDEO = {
    **LEAST_VIDEO, "player_loc": "https://player.example.org/?v=1&w=2",
    "duration": timedelta(minutes=10, milliseconds=700), "expiration_date": MOMENT, "rating": 4.5,
    "view_count": 12_345, "publication_date": date(2026, 1, 31), "tags": ["steak", "a & b"],
    "family_friendly": True, "restriction": Restriction("allow", ["at", "DE"]),
    "requires_subscription": False, "uploader": "Grill & Co", "uploader_info": "/users/1?a=b&c=d",
    "platform": Platform("deny", ["web", "tv"]), "live": False,
}  # fmt: skip
NEWS = {
    "publication_name": "The Example Times", "language": "en", "publication_date": MOMENT,
    "title": "Companies A, B in merger talks",
}  # fmt: skip
LEAST = {
    Image: {"loc": "/a.png"}, Video: LEAST_VIDEO, News: NEWS,
    Restriction: {"relationship": "allow", "countries": ["DE"]},
    Platform: {"relationship": "deny", "platforms": ["web"]},
}  # fmt: skip


def written(value, base=BASE, key=1):
    if isinstance(value, News):
        return news_element(value, key)
    return (image_elements if isinstance(value, Image) else video_elements)([value], base, key)


def document(elements):
    prefixes = "".join(f' xmlns:{prefix}="{name}"' for prefix, name in NAMESPACES.items())
    url = f"<url><loc>{BASE}/page</loc>{elements}</url>"
    return parse(f'<urlset xmlns="{SITEMAP_NAMESPACE}"{prefixes}>{url}</urlset>'.encode())


def read(elements):
    assert not set("\n\r\t") & set(elements)
    [url] = document(elements)
    return url[1:]


def lines(element):
    return [f"{etree.QName(child).localname}={child.text or ''}" for child in element.iterdescendants()]


def file_of_a_model(name):
    return FieldFile(None, FileField(storage=InMemoryStorage()), name)


NOT_TEXT = [7, 0, b"", False, "a\x00", "\ufffe", str.isspace, ["a"]]
NOT_SECONDS = [28_801, timedelta(seconds=0.9), timedelta(hours=9), 60.0, True, "60"]
TOO_EARLY = datetime.min.replace(tzinfo=timezone(timedelta(hours=1)))
ISO = "each value of {} must be a two-letter ISO 3166 code"
RELATIONSHIP = "must be one of allow, deny, not "
#: A class, a field, its invalid values, and the reason, where `{}` is the name of the field.
REFUSED = [
    (Image, "loc", ["", "  "], "must not be empty"),
    (Image, "loc", [None], "must be a string with a URL or a path, not None"),
    (Image, "loc", [b"/a.png", 7, Path("/a.png")], "must be a string .*, not .*(b'/a.png'|7|a.png)"),
    (Image, "loc", ["/a\n.png", "/a\x85.png"], "must not contain control characters"),
    (Image, "loc", ["/a\x00.png"], "must not contain '.x00', which is not allowed in XML"),
    (Image, "loc", ["/\ud800"], "must not contain '.ud800'"),
    (Image, "loc", [file_of_a_model("a.png")],
     "must be a string .*, not <FieldFile: a.png>; use its .url$"),
    (Image, "loc", [file_of_a_model(None)], "must be a string .*, not <FieldFile: None>; use its .url$"),
    (Image, "loc", [[1] * 1000],
     r"must be a string with a URL or a path, not \[(1, ){6}\.\.\.\] \(list\)$"),
    *((Image, name, NOT_TEXT, "must") for name in ("caption", "geo_location", "title", "license")),
    (Video, "thumbnail_loc", [""], "must not be empty"),
    (Video, "thumbnail_loc", [None], "must be a string"),
    (Video, "title", ["", " \n"], "must not be empty"),
    (Video, "title", [None], "must be text, not None"),
    (Video, "title", ["a" * 101], "must have at most 100 characters, not 101"),
    (Video, "description", [""], "must not be empty"),
    (Video, "description", ["a" * 2049], "must have at most 2,048 characters, not 2,049"),
    (Video, "content_loc", [None, ""], "{} or Video.player_loc is required"),
    (Video, "content_loc", ["/\n"], "must not contain control characters"),
    (Video, "player_loc", [7], "must be a string"),
    (Video, "duration", [0], "must be .* seconds from 1 to 28800, not 0"),
    (Video, "duration", NOT_SECONDS, "must be a timedelta or a whole number of seconds"),
    (Video, "expiration_date", ["2026-01-01"], "must be a date or a datetime"),
    (Video, "publication_date", [2026], "must be a date or a datetime"),
    (Video, "publication_date", [TOO_EARLY], "must have a year from 1 to 9999 in UTC"),
    (Video, "rating", [-0.1], "must be a number from 0.0 to 5.0, not -0.1"),
    (Video, "rating", [5.1, float("nan"), Decimal("sNaN"), "4", True], "must be a number"),
    (Video, "rating", [Decimal("1e-999"), Decimal("0." + 401 * "1")], "must have at most 400 digits"),
    (Video, "view_count", [-1, 2**63, False], "must be a whole number from 0"),
    (Video, "tags", [["a"] * 33], "must have at most 32 values"),
    (Video, "tags", ["steak", None], "must be a list or a tuple of strings, not ('steak'|None)"),
    (Video, "tags", [["a", ""]], "each value of {} must not be empty"),
    (Video, "tags", [["a", None]], "each value of {} must be text"),
    (Video, "family_friendly", ["yes"], "must be True or False, not 'yes'"),
    (Video, "requires_subscription", [1], "must be True or False"),
    (Video, "live", [0], "must be True or False"),
    (Video, "restriction", [("allow", ["DE"])], "must be a Restriction"),
    (Video, "platform", [Restriction("allow", ["DE"])], "must be a Platform"),
    (Video, "uploader", ["a" * 256], "must have at most 255 characters"),
    (Video, "uploader_info", ["/a"], "Video.uploader is required if {} is set"),
    (Restriction, "relationship", ["permit"], f"{RELATIONSHIP}'permit'"),
    (Restriction, "countries", [[]], "must have at least one"),
    (Restriction, "countries", ["DE"], "must be a list or a tuple of strings, not 'DE'"),
    (Restriction, "countries", [["DEU"], ["\u017f\u017f"], ["DE", "D\n"]], ISO),
    (Platform, "platforms", [[]], "must have at least one"),
    (Platform, "platforms", [["Web"]], "each value of {} must be one of web, mobile, tv, not 'Web'"),
    (Platform, "relationship", [None], f"{RELATIONSHIP}None"),
    *((News, name, [None, "", " ", b"a", 7, "\x0b"], "must") for name in NEWS),
    (News, "publication_name", [F("title"), object(), iter("ab")], "must be text"),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "field", "values", "reason"), REFUSED)
def test_a_value_that_the_documentation_does_not_allow_is_refused_on_creation(kind, field, values, reason):
    name = f"{kind.__name__}.{field}"
    pattern = reason.replace("{}", name) if "{}" in reason else f"{name} {reason}"
    for value in values:
        with pytest.raises(ValueError, match=f"^{pattern}"):
            kind(**LEAST[kind] | {field: value})


DROPPED = ["category", "gallery_loc", "price", "tvshow", "allow_embed", "autoplay", "content_segment_loc"]
OF_NEWS = ["access", "genres", "keywords", "stock_tickers"]


def test_a_tag_that_google_dropped_is_refused_with_what_to_do_and_any_other_one_as_by_python():
    for kind, names, reason in (
        (Video, [*DROPPED, "id"], "Video: Google dropped {} in 2022"),
        (News, OF_NEWS, "News: Google News no longer supports {}"),
    ):
        for name in names:
            with pytest.raises(TypeError, match=f"^{reason.format(name)}; remove the listed arguments$"):
                kind(**LEAST[kind], **{name: "a"})
    for kind, least in LEAST.items():
        with pytest.raises(TypeError, match="unexpected keyword argument 'colour'"):
            kind(**least, colour="red")


@pytest.mark.parametrize(
    "value", [Image("/a.png"), Image(**IMAGE), Video(**LEAST_VIDEO), Video(**FULL_VIDEO), News(**NEWS)]
)
def test_values_are_comparable_hashable_frozen_and_can_be_pickled(value):
    copies = [replace(value), *(pickle.loads(pickle.dumps(value, protocol)) for protocol in range(2, 6))]  # noqa: S301
    assert {value} == {*copies}
    assert [*map(written, copies)] == [written(value)] * len(copies)
    with pytest.raises((FrozenInstanceError, TypeError)):
        value.title = "another"
    assert not hasattr(value, "__dict__")


class Word(str, enum.Enum):
    DENY, TV = "deny", "tv"
    AT = "at"


def test_texts_are_stored_as_plain_strings_regardless_of_their_type():
    # Spaces of other scripts are percent-encoded like any other character.
    assert Image("/a\u3000b.png").loc == "/a\u3000b.png"
    image = Image(mark_safe("/a.png"), caption=gettext_lazy("Yes"), title=Word.TV)
    assert (image.loc, image.caption, image.title) == ("/a.png", "Yes", "tv")
    assert {type(image.loc), type(image.caption), type(image.title)} == {str}
    assert Restriction(Word.DENY, [Word.AT]) == Restriction("deny", ["AT"])
    assert Platform("deny", [Word.TV]).platforms == ("tv",)
    assert type(Platform(Word.DENY, [Word.TV]).relationship) is str


def test_a_subclass_that_redeclares_a_field_keeps_its_check():
    @dataclass(frozen=True, kw_only=True)
    class Clip(Video):
        duration: timedelta = timedelta(minutes=10)

    assert Clip(**LEAST_VIDEO).duration == 600
    with pytest.raises(ValueError, match=r"Clip\.duration"):
        Clip(**LEAST_VIDEO, duration=timedelta(days=2))


def test_a_video_keeps_what_can_be_written_and_reads_tags_once_and_as_far_as_needed():
    video = Video(**FULL_VIDEO)
    assert (video.duration, video.rating, video.tags) == (600, Decimal("4.5"), ("steak", "a & b"))
    assert video.restriction.countries == ("AT", "DE")
    tags = [f"tag {number:02}" for number in range(32)]
    # A set has no order.
    assert Video(**LEAST_VIDEO, tags=set(tags)).tags == tuple(tags)
    assert Restriction("deny", frozenset(["de", "at"])).countries == ("AT", "DE")
    assert Video(**LEAST_VIDEO, tags=iter(["a", "b"])).tags == ("a", "b")
    many = repeat("a", 1_000)
    with pytest.raises(ValueError, match="at most 32"):
        Video(**LEAST_VIDEO, tags=many)
    assert len([*many]) == 1_000 - 33


def test_the_usual_prefixes_stand_for_the_namespaces_and_cannot_be_changed():
    assert NAMESPACES["xhtml"] == "http://www.w3.org/1999/xhtml"
    assert [*NAMESPACES] == ["xhtml", "image", "video", "news"]
    with pytest.raises(TypeError):
        NAMESPACES["image"] = "a"


def test_values_with_every_field_are_written_in_the_order_of_the_schemas(schema):
    assert {field.name for field in fields(Video)} == set(FULL_VIDEO)
    values = [Image(**IMAGE), Image("https://cdn.example.org/b.jpg"), Video(**FULL_VIDEO)]
    elements = "".join(map(written, [*values, Video(**LEAST_VIDEO), News(**NEWS)]))
    schema.assertValid(document(elements))
    found = read(elements)
    assert [etree.QName(each).localname for each in found] == ["image", "image", "video", "video", "news"]
    assert [lines(each) for each in found] == [
        [*(f"loc={BASE}/image.jpg", "caption=A & B", "geo_location=Limerick, Ireland", "title=<Title>"),
         f"license={BASE}/license?a=1&b=2"],
        ["loc=https://cdn.example.org/b.jpg"],
        [*(f"thumbnail_loc={BASE}/thumbnail.png", "title=Title", "description=Description"),
         *(f"content_loc={BASE}/video.mp4", "player_loc=https://player.example.org/?v=1&w=2"),
         *("duration=600", "expiration_date=2026-01-31T10:30:05Z", "rating=4.5", "view_count=12345"),
         *("publication_date=2026-01-31", "tag=steak", "tag=a & b", "family_friendly=yes"),
         *("restriction=AT DE", "requires_subscription=no", "uploader=Grill & Co", "platform=web tv"),
         "live=no"],
        [f"{name}={BASE if 'loc' in name else ''}{text}" for name, text in LEAST_VIDEO.items()],
        [*("publication=", "name=The Example Times", "language=en"),
         *("publication_date=2026-01-31T10:30:05Z", "title=Companies A, B in merger talks")],
    ]  # fmt: skip
    assert {etree.QName(child).localname: dict(child.attrib) for child in found[2] if child.attrib} == {
        "restriction": {"relationship": "allow"},
        "uploader": {"info": f"{BASE}/users/1?a=b&c=d"},
        "platform": {"relationship": "deny"},
    }


def test_a_known_entry_has_these_very_bytes():
    assert image_elements([Image("/a.png?a=1&b=2"), Image("https://e.org/b.png")], BASE, 1) == (
        "<image:image><image:loc>https://www.example.com/a.png?a=1&amp;b=2</image:loc></image:image>"
        "<image:image><image:loc>https://e.org/b.png</image:loc></image:image>"
    )
    restriction = Restriction("deny", ["de"])
    video = Video("/a.png", "A\tB", "A\nB", player_loc="/p", restriction=restriction, tags=["a"])
    assert video_elements([video], "", 1) == (
        "<video:video><video:thumbnail_loc>/a.png</video:thumbnail_loc><video:title>A&#9;B</video:title>"
        "<video:description>A&#10;B</video:description><video:player_loc>/p</video:player_loc>"
        '<video:tag>a</video:tag><video:restriction relationship="deny">DE</video:restriction>'
        "</video:video>"
    )
    assert image_elements([], BASE, 1) == video_elements([], BASE, 1) == ""


def test_an_empty_field_is_as_one_that_is_not_given_and_a_zero_and_a_no_are_written():
    for field in ("caption", "geo_location", "title", "license"):
        assert written(Image("/a.png", **{field: ""})) == written(Image("/a.png"))
    empty = {"player_loc": "", "uploader": "", "uploader_info": "", "tags": ()}
    assert written(Video(**LEAST_VIDEO | empty)) == written(Video(**LEAST_VIDEO))
    with pytest.raises(ValueError, match=r"^Video\.uploader is required"):
        Video(**LEAST_VIDEO, uploader="", uploader_info="/a")
    [found] = read(written(Video(**LEAST_VIDEO, live=False, view_count=0, rating=0)))
    assert lines(found)[-3:] == ["rating=0", "view_count=0", "live=no"]


@pytest.mark.parametrize(
    ("rating", "text"),
    [(0.3, "0.3"), (-0.0, "0.0"), (5e-324, f"0.{323 * '0'}5"), (Decimal("4.50"), "4.50")],
)
def test_a_rating_is_written_as_it_is_printed_without_sign_and_exponent(rating, text):
    [found] = read(written(Video(**LEAST_VIDEO, rating=rating)))
    assert lines(found)[-1] == f"rating={text}"


@pytest.mark.parametrize("value", [Image("/a.png"), Image(**IMAGE), Video(**LEAST_VIDEO)])
def test_a_base_that_xml_cannot_hold_is_refused_with_the_key_of_the_item(value):
    with pytest.raises(TextError, match="the key"):
        written(value, "\x00", "the key")


GEO, XML = "http://www.google.com/geo/schemas/sitemap/1.0", "http://www.w3.org/XML/1998/namespace"


def xml(item):
    return f"<geo:geo>{item}</geo:geo>"


EXTENSION = Extension("geo", GEO, xml)


def read_extension(elements):
    """Return the elements after `loc`, and check that the rest of the document is unchanged."""
    url = "<url><loc>https://example.com/{}</loc>{}</url>".format
    urls = url(1, elements) + url(2, "")
    document = f'<urlset xmlns="{SITEMAP_NAMESPACE}" xmlns:geo="{GEO}">{urls}</urlset>'
    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False, huge_tree=True)
    root = etree.fromstring(document.encode(), parser)
    assert [url.tag for url in root] == [f"{{{SITEMAP_NAMESPACE}}}url"] * 2
    assert [url[0].text for url in root] == ["https://example.com/1", "https://example.com/2"]
    assert len(root[1]) == 1
    assert all(part.tail is None for part in (*root, *root[0]))
    return root[0][1:]


def shape(elements):
    """Return the content of elements, without prefixes, comments and the notation of text."""
    elements = [each for each in elements if each.tag != etree.Comment]
    texts = [etree.tostring(each, encoding="unicode", with_tail=False) for each in elements]
    return [etree.canonicalize(text, rewrite_prefixes=True) for text in texts]


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


UNCHANGED = [
    *("", "<geo:geo/>", "<geo:a><geo:b/> </geo:a>", "<geo:a><geo:b>1</geo:b>&amp;<geo:b/></geo:a>"),
    *("<geo:a>&#13;</geo:a>", "<geo:a>]]&gt;</geo:a>", "<geo:ü>é</geo:ü>"),
]


@pytest.mark.parametrize(("given_text", "expected"), [
    *((text, text) for text in UNCHANGED),
    (" \r\n\t ", ""),
    ("<geo:geo></geo:geo >", "<geo:geo/>"),
    ("\n<geo:a/>\n<geo:a/>\n", "<geo:a/><geo:a/>"),
    ("<geo:a\n b='1'\tc=\"'\"/>", '<geo:a b="1" c="&apos;"/>'),
    ("<geo:a b='&#10;&lt;&#x20AC;' geo:c=''/>", '<geo:a b="&#10;&lt;€" geo:c=""/>'),
    ("<geo:a xml:lang='de' xml:space='preserve'/>", '<geo:a xml:lang="de" xml:space="preserve"/>'),
    ("<geo:a>\n\t\r</geo:a>", "<geo:a>&#10;&#9;&#10;</geo:a>"),
    (f"<a xmlns='{GEO}'><b/></a>", "<geo:a><geo:b/></geo:a>"),
    (f"<x:a xmlns:x='{GEO}' x:b='1'/>", '<geo:a geo:b="1"/>'),
    ("<geo:a><![CDATA[</geo:a></url>&amp;]]></geo:a>",
     "<geo:a>&lt;/geo:a&gt;&lt;/url&gt;&amp;amp;</geo:a>"),
    ("<!-- a --><geo:a>b<!-- </geo:a> -->c</geo:a>", "<geo:a>bc</geo:a>"),
    (format_html("<geo:a b='{}'>{}</geo:a>", "'", "<&>"), '<geo:a b="&apos;">&lt;&amp;&gt;</geo:a>'),
])  # fmt: skip
def test_elements_are_rewritten_on_one_line(given_text, expected):
    assert extension_text(EXTENSION, given_text) == expected
    read_extension(expected)


MALFORMED = [
    *("</url><url>", "<geo:a/></url><url><loc>https://evil.example/</loc>", "</url><!--", "</url><?a"),
    *("<!--", "<geo:a b='", "<geo:a b=1/>", "<geo:a>a & b</geo:a>", "<geo:a>]]></geo:a>"),
    *("<!DOCTYPE url>", "<!DOCTYPE a [<!ENTITY b 'c'>]><geo:a>&b;</geo:a>", "<geo:a:b/>", "<geo:/>"),
    "<!ENTITY b SYSTEM 'file:///etc/passwd'>",
]
TWICE = ["<geo:a b='1' b='2'/>", f"<geo:a xmlns:g='{GEO}' geo:b='1' g:b='2'/>"]
NO_XML = ["<geo:a>&#0;</geo:a>", "<geo:a>&#xFFFE;</geo:a>", "<geo:a>&#xD800;</geo:a>"]
DEEP = ["<geo:a>" * 51 + "</geo:a>" * 51, "<geo:b>" * 300 + "</geo:b>" * 300]


@pytest.mark.parametrize(("given_text", "reason"), [
    *((text, "XML is not well-formed") for text in MALFORMED),
    ("<geo:a>", "XML is not well-formed: mismatched tag at line 1, column 10"),
    ("<geo:a/>\n  <geo:b></geo:c>", "XML is not well-formed: mismatched tag at line 2, column 12"),
    *((text, "XML is not well-formed: invalid token") for text in ("</url>", "</url> ")),
    ("</url><a/>", "XML is not well-formed: junk after document element"),
    ("<![CDATA[", "XML is not well-formed: unclosed CDATA section"),
    *((text, "XML is not well-formed: duplicate attribute") for text in TWICE),
    ("<geo:a>&nbsp;</geo:a>", "XML is not well-formed: undefined entity at line 1, column 8"),
    *((text, "XML is not well-formed: reference to invalid character number") for text in NO_XML),
    ("<?xml version='1.0'?><geo:a/>", "XML is not well-formed: XML or text declaration not at start"),
    ("<?php echo 1 ?>", "XML has a processing instruction: php"),
    ("<geo:a><?b?></geo:a>", "XML has a processing instruction: b"),
    *((text, "XML is not well-formed: unbound prefix") for text in ("<g:a/>", "<geo:a g:b=''/>")),
    ("text", "XML has text outside of elements: 'text'"),
    ("<geo:a/>\xa0", "XML has text outside of elements"),
    ("<![CDATA[a]]>", "XML has text outside of elements: 'a'"),
    ("&lt;geo:a/&gt;", "XML has text outside of elements: '<geo:a/>'"),
    ("<geo:a>\x00</geo:a>", "XML contains '.x00', a character that is not allowed"),
    ("\ud800", "XML contains '.ud800'"),
    ("<geo:a>\ufffe</geo:a>", "XML contains '.ufffe'"),
    (None, "XML must be a string, not NoneType"),
    (b"<geo:a/>", "XML must be a string, not bytes"),
    ("<loc>https://evil.example/</loc>", f"element loc of {SITEMAP_NAMESPACE} is not in"),
    ("<a xmlns=''/>", "element a without a namespace"),
    ("<geo:a xmlns:geo='urn:b'/>", "element a of urn:b"),
    ("<geo:a><b/></geo:a>", "element b of"),
    (f"<a xmlns='{GEO} a'/>", "(element a|XML is not well-formed)"),
    ("<geo:a xmlns:b='b' b:c=''/>", "attribute c of b is not in the namespace of the extension"),
    ("<geo:a xml:base='/'/>", "attribute base of"),
    # What would take long to parse.
    ("<geo:a/>" * 401, "XML has more than 400 elements and attributes"),
    ("<geo:a " + " ".join(f'a{i}=""' for i in range(400)) + "/>", "XML has more than 400 elements"),
    (f"<geo:a>{'a' * 20_000}</geo:a>", "XML has 20,015 characters; at most 16,384 are allowed"),
    *((text, "XML has more than 50 levels of nested elements") for text in DEEP),
], ids=lambda value: ascii(value)[:40])  # fmt: skip
def test_xml_that_is_malformed_or_long_or_in_another_namespace_is_refused(given_text, reason):
    with pytest.raises(ValueError, match=f"^the {reason}"):
        extension_text(EXTENSION, given_text)


def test_400_elements_and_50_levels_are_accepted():
    for text in ("<geo:a/>" * 400, "<geo:a>" * 50 + "b" + "</geo:a>" * 50):
        assert extension_text(EXTENSION, text) == text


characters = st.sampled_from("&<>\"' \t\n\r]") | st.characters(exclude_categories=("Cs", "Cc", "Cn"))
contents = st.text(characters, max_size=6)


def escape(text):
    for character in "&<>\"'\t\r":
        text = text.replace(character, f"&#{ord(character)};")
    return text


@st.composite
def elements_of(draw, inner):
    name, space = draw(st.sampled_from(["a", "ü", "x.y-z"])), draw(st.sampled_from(["", " ", "\n"]))
    prefixes = [("geo:", ""), ("g:", f" xmlns:g='{GEO}'"), ("", f" xmlns='{GEO}'")]
    start, prefix = draw(st.sampled_from(prefixes))
    keys = draw(st.lists(st.sampled_from(["b", "geo:b", "c", "xml:lang"]), unique=True))
    attributes = "".join(f' {key}="{escape(draw(contents))}"' for key in keys)
    return f"<{start}{name}{prefix}{attributes}{space}>{draw(inner)}</{start}{name}{space}>"


parts = st.recursive(
    st.just("") | contents.map(escape) | st.just("<!-- & -->") | st.just("<![CDATA[<a>&]]>"),
    lambda inner: st.lists(elements_of(inner) | inner, max_size=3).map("".join), max_leaves=8,
)  # fmt: skip
wholes = st.lists(elements_of(parts) | st.sampled_from(["", " ", "\r\n", "<!-- a -->"]), max_size=3)


@given(wholes.map("".join))
def test_well_formed_xml_keeps_its_meaning_when_it_is_rewritten(text):
    written = extension_text(EXTENSION, text)
    whole = etree.fromstring(f'<url xmlns:geo="{GEO}">{text}</url>'.encode())
    assert (shape(read_extension(written)), extension_text(EXTENSION, written)) == (shape(whole), written)
