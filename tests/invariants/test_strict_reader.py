"""The strict reader accepts and returns valid documents, and rejects invalid ones."""

from __future__ import annotations

import pytest

from django_sitemaps09.entries import Alternate, Batch, Localization
from tests.support.strict_readers import SitemapJs
from tests.support.writing import LINKS, write

pytestmark = pytest.mark.slow

HEAD = """<?xml version="1.0" encoding="UTF-8"?>
<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"
        xmlns:xhtml="http://www.w3.org/1999/xhtml"
        xmlns:image="http://www.google.com/schemas/sitemap-image/1.1"
        xmlns:video="http://www.google.com/schemas/sitemap-video/1.1"
        xmlns:news="http://www.google.com/schemas/sitemap-news/0.9">"""
LINK = '<xhtml:link rel="alternate" hreflang="{}" href="https://example.org/{}"/>'
ALTERNATES = "".join(
    LINK.format(*pair) for pair in (("en", "cup?a=1&amp;b=2"), ("zh-Hant", "杯"), ("x-default", ""))
)
IMAGES = "".join(
    f"<image:image><image:loc>https://images.example.net/{name}.jpg</image:loc></image:image>"
    for name in ("front", "back")
)
VIDEO = """<video:video>
  <video:thumbnail_loc>https://example.org/cup.jpg</video:thumbnail_loc>
  <video:title>A cup &amp; its saucer</video:title>
  <video:description>How &lt;b&gt;cups&lt;/b&gt; are made</video:description>
  <video:content_loc>https://example.org/cup.mp4</video:content_loc>
  <video:player_loc>https://example.org/player?of=cup</video:player_loc>
  <video:duration>90</video:duration>
  <video:expiration_date>2027-01-31</video:expiration_date>
  <video:rating>4.5</video:rating>
  <video:view_count>1200</video:view_count>
  <video:publication_date>2026-01-31T08:00:00+01:00</video:publication_date>
  <video:tag>cups</video:tag>
  <video:tag>clay</video:tag>
  <video:family_friendly>yes</video:family_friendly>
  <video:restriction relationship="allow">DE AT CH</video:restriction>
  <video:requires_subscription>no</video:requires_subscription>
  <video:uploader info="https://example.org/potter">The potter</video:uploader>
  <video:platform relationship="deny">tv</video:platform>
  <video:live>no</video:live>
</video:video>"""
NEWS = """<news:news>
  <news:publication><news:name>Cup Weekly</news:name><news:language>en</news:language></news:publication>
  <news:publication_date>2026-01-31T08:00:00Z</news:publication_date>
  <news:title>A cup fell</news:title>
</news:news>"""
LASTMOD = "<lastmod>2026-01-31T09:30:00+00:00</lastmod>"
CORE = f"{LASTMOD}<changefreq>weekly</changefreq><priority>0.8</priority>"


def document(inner: str = "", *, head: str = HEAD) -> bytes:
    return f"{head}<url><loc>https://example.org/cup?a=1&amp;b=2</loc>{inner}</url></urlset>".encode()


FULL = document(CORE + ALTERNATES + IMAGES + VIDEO + NEWS)


def links(count: int) -> str:
    return "".join(LINK.format("de", number) for number in range(count))


def test_sitemap_js_accepts_what_is_at_the_edge(sitemap_js: SitemapJs) -> None:
    documents = [
        document(),
        document(links(100)),
        document("<lastmod>2026-01-31</lastmod>"),
        document("<lastmod>2026-01-31T09:30:00.123Z</lastmod>"),
        document("<priority>1.0</priority>"),
        document(IMAGES * 500),
        document(VIDEO.replace("<video:tag>cups</video:tag>", "<video:tag>cups</video:tag>" * 31)),
        document(VIDEO.replace("A cup &amp; its saucer", "t" * 100)),
        # Longer than the chunks that are read from a file.
        FULL.replace(b"<url>", b"<url><loc>https://example.org/c\xc3\xbcp</loc></url>" * 3_000 + b"<url>"),
    ]
    found = sitemap_js.strictly(documents)
    assert [len(items) for items in found] == [1] * 8 + [3_001]


#: A fault of each kind that the reader, or our own comparison, must detect.
REFUSED = {
    "the namespace with https": (FULL.replace(b'"http://www.sitemaps', b'"https://www.sitemaps'), "schema"),
    "no namespace": (document(head="<urlset>"), "schema"),
    "an element of the protocol in a wrong case": (document("<lastMod>2026-01-31</lastMod>"), "lastMod"),
    "an element that nobody knows": (
        document("<image:image><image:size>1</image:size></image:image>"),
        "size",
    ),
    "an attribute that nobody knows": (document(VIDEO.replace("info=", "about=")), "uploader about"),
    "another prefix": (FULL.replace(b"image:", b"i:").replace(b":image", b":i"), "i:i"),
    "a namespace that is declared below the root": (document('<image:image xmlns:a="b"/>'), "xmlns:a"),
    "a changefreq that is none": (document("<changefreq>fortnightly</changefreq>"), "lost ['fortnightly']"),
    "a priority over 1": (document("<priority>1.1</priority>"), "priority"),
    "microseconds": (document("<lastmod>2026-01-31T09:30:00.123456+00:00</lastmod>"), "lastmod"),
    "more than 100 alternates": (document(links(101)), "too many links"),
    "an alternate without href": (document('<xhtml:link rel="alternate" hreflang="de"/>'), "href"),
    "a loc that is too long": (document().replace(b"/cup", b"/" + b"c" * 2048), "max length"),
    "a video without description": (document(VIDEO.replace("description>", "category>")), "Video"),
    "news twice": (document(NEWS * 2), "lost"),
    "a text that stands free": (document("cup"), "cup"),
    "an end that is missing": (FULL[: -len(b"</urlset>")], "XML"),
    "an entity that nobody declared": (document("<lastmod>&now;</lastmod>"), "entity"),
    "no entry at all": (f"{HEAD}</urlset>".encode(), "schema"),
}


def test_sitemap_js_refuses_what_is_wrong(sitemap_js: SitemapJs) -> None:
    readings = sitemap_js.read([content for content, _ in REFUSED.values()])
    said = {what: "\n".join(reading.complaints) for what, reading in zip(REFUSED, readings, strict=True)}
    assert [what for what, complaints in said.items() if not complaints] == []
    astray = {what: said[what] for what, (_, word) in REFUSED.items() if word not in said[what]}
    assert astray == {}


def test_one_refused_document_fails_all_and_is_named(sitemap_js: SitemapJs) -> None:
    with pytest.raises(AssertionError, match=r"\{1: .*too many links"):
        sitemap_js.strictly([FULL, document(links(101)), FULL])


def written() -> bytes:
    """Return a document that this package has written."""
    location = "https://example.org/a?b=1&c=<2>"
    batch = Batch(
        keys=[1, 2],
        localizations=[Localization("", [location, "https://example.org/de"])],
        lastmods=["2026-01-31T09:30:00+00:00", None],
        changefreqs="daily",
        priorities=["1.0", "0.3"],
        alternates=[[Alternate("en", location), Alternate("x-default", "https://example.org/a")], []],
    )
    return write([batch], namespaces=LINKS)[0]


def test_sitemap_js_gives_back_what_this_package_writes(sitemap_js: SitemapJs) -> None:
    nothing: dict[str, object] = {"links": [], "img": [], "video": []}
    location = "https://example.org/a?b=1&c=<2>"
    [items] = sitemap_js.strictly([written()])
    assert items == [
        nothing
        | {
            "url": location,
            "lastmod": "2026-01-31T09:30:00+00:00",
            "changefreq": "daily",
            "priority": 1,
            "links": [
                {"lang": "en", "url": location},
                {"lang": "x-default", "url": "https://example.org/a"},
            ],
        },
        nothing | {"url": "https://example.org/de", "changefreq": "daily", "priority": 0.3},
    ]
