"""The schemas that other tests use accept exactly what the protocol allows."""

from __future__ import annotations

import pytest
from lxml import etree

from tests.support.schemas import OWN, SHARED, Schemas

HEAD = (
    '<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" xmlns:xhtml="http://www.w3.org/1999/xhtml"'
    ' xmlns:image="http://www.google.com/schemas/sitemap-image/1.1"'
    ' xmlns:video="http://www.google.com/schemas/sitemap-video/1.1"'
    ' xmlns:news="http://www.google.com/schemas/sitemap-news/0.9" xmlns:shop="urn:shop">'
)
LOC = "<loc>https://example.com/a</loc>"
IMAGE = "<image:loc>https://cdn.example/a.png</image:loc>"
THUMBNAIL = "<video:thumbnail_loc>https://example.com/a.png</video:thumbnail_loc>"
TITLE = "<video:title>A</video:title>"
DESCRIPTION = "<video:description>B</video:description>"
CONTENT = "<video:content_loc>https://example.com/a.mp4</video:content_loc>"
PLAYER = "<video:player_loc>https://example.com/player</video:player_loc>"
NAMED = (
    "<news:publication><news:name>The Times</news:name><news:language>en</news:language></news:publication>"
)
DATED = "<news:publication_date>2026-01-01</news:publication_date>"
HEADED = "<news:title>C</news:title>"


def urls(*parts: str) -> str:
    return f"{HEAD}{''.join(f'<url>{part}</url>' for part in parts)}</urlset>"


def index(*parts: str) -> str:
    space = "http://www.sitemaps.org/schemas/sitemap/0.9"
    entries = "".join(f"<sitemap>{part}</sitemap>" for part in parts)
    return f'<sitemapindex xmlns="{space}">{entries}</sitemapindex>'


def link(language: str, rel: str = "alternate") -> str:
    return f'{LOC}<xhtml:link rel="{rel}" hreflang="{language}" href="https://example.com/"/>'


def image(parts: str) -> str:
    return f"{LOC}<image:image>{parts}</image:image>"


def video(*rest: str) -> str:
    return f"{LOC}<video:video>{THUMBNAIL}{TITLE}{DESCRIPTION}{''.join(rest)}</video:video>"


def news(*parts: str) -> str:
    return f"{LOC}<news:news>{''.join(parts)}</news:news>"


VALID = [
    urls(LOC),
    urls(LOC, f"{LOC}<lastmod>2026-01-01</lastmod><changefreq>weekly</changefreq><priority>0.5</priority>"),
    urls(f"{LOC}<lastmod>2026-01-01T10:30:00Z</lastmod>", f"{LOC}<priority>1</priority>"),
    urls(f"{LOC}<lastmod>2026-01-01T10:30:00+05:45</lastmod><changefreq>never</changefreq>"),
    urls(f"<loc>https://example.com/{'a' * 2_027}</loc>"),
    urls(*map(link, ["en", "pt-BR", "zh-Hant-TW", "es-419", "x-default"])),
    urls(image(IMAGE), image(f"{IMAGE}<image:caption>A</image:caption><image:title>B</image:title>")),
    urls(video(CONTENT), video(PLAYER), video(CONTENT, PLAYER)),
    urls(video(CONTENT, "<video:duration>28800</video:duration><video:rating>4.5</video:rating>")),
    urls(video(CONTENT, '<video:restriction relationship="allow">CH DE</video:restriction>')),
    urls(video(CONTENT, '<video:platform relationship="deny">web tv</video:platform>')),
    urls(video(CONTENT, *["<video:tag>a</video:tag>"] * 32, "<video:live>no</video:live>")),
    urls(video(CONTENT, '<video:uploader info="https://example.com/b">B</video:uploader>')),
    urls(news(NAMED, DATED, HEADED)),
    urls(news(NAMED.replace(">en<", ">zh-tw<"), DATED, HEADED)),
    index(LOC, f"{LOC}<lastmod>2026-01-01T10:30:00Z</lastmod>"),
]
INVALID = {
    "no entry": urls(),
    "no loc": urls("<lastmod>2026-01-01</lastmod>"),
    "loc twice": urls(LOC + LOC),
    "loc of 2,049 characters": urls(f"<loc>https://example.com/{'a' * 2_029}</loc>"),
    "order": urls(f"{LOC}<priority>1</priority><lastmod>2026-01-01</lastmod>"),
    "an extension before lastmod": urls(f"{image(IMAGE)}<lastmod>2026-01-01</lastmod>"),
    "month": urls(f"{LOC}<lastmod>2026-01</lastmod>"),
    "no such day": urls(f"{LOC}<lastmod>2026-02-30</lastmod>"),
    "no seconds": urls(f"{LOC}<lastmod>2026-01-01T10:30Z</lastmod>"),
    "a space": urls(f"{LOC}<lastmod>2026-01-01 10:30:00Z</lastmod>"),
    "Weekly": urls(f"{LOC}<changefreq>Weekly</changefreq>"),
    "priority over 1": urls(f"{LOC}<priority>1.1</priority>"),
    "priority with an exponent": urls(f"{LOC}<priority>5e-1</priority>"),
    "priority with a comma": urls(f"{LOC}<priority>0,5</priority>"),
    "an element that nobody knows": urls(f"{LOC}<size>1</size>"),
    "an extension that nobody knows": urls(f"{LOC}<shop:price>1</shop:price>"),
    "pt_BR": urls(link("pt_BR")),
    "no href": urls(f'{LOC}<xhtml:link rel="alternate" hreflang="en"/>'),
    "another rel": urls(link("en", "canonical")),
    "an image without loc": urls(image("<image:title>A</image:title>")),
    "order of an image": urls(image(f"<image:title>A</image:title>{IMAGE}")),
    "a video without a title": urls(video(CONTENT).replace(TITLE, "")),
    "a title over 100": urls(video(CONTENT).replace(">A<", f">{'a' * 101}<")),
    "a description over 2,048": urls(video(CONTENT).replace(">B<", f">{'a' * 2_049}<")),
    "33 tags": urls(video(CONTENT, *["<video:tag>a</video:tag>"] * 33)),
    "duration": urls(video(CONTENT, "<video:duration>28801</video:duration>")),
    "rating": urls(video(CONTENT, "<video:rating>5.1</video:rating>")),
    "live": urls(video(CONTENT, "<video:live>maybe</video:live>")),
    "a restriction of nothing": urls(video(CONTENT, "<video:restriction>CH</video:restriction>")),
    "a platform": urls(video(CONTENT, '<video:platform relationship="deny">radio</video:platform>')),
    "order of a video": urls(video("<video:live>no</video:live>", CONTENT)),
    "news without a title": urls(news(NAMED, DATED)),
    "order of news": urls(news(NAMED, HEADED, DATED)),
    "language of news": urls(news(NAMED.replace(">en<", ">en-US<"), DATED, HEADED)),
    "date of news": urls(news(NAMED, DATED.replace("2026-01-01", "today"), HEADED)),
    "an empty index": index(),
    "a changefreq in an index": index(f"{LOC}<changefreq>daily</changefreq>"),
}
#: Documents that the text of the protocol forbids, but its schemas accept.
FORBIDDEN_BY_PROSE = {
    "no language": urls(f'{LOC}<xhtml:link rel="alternate" href="https://example.com/"/>'),
    "relative": urls("<loc>/a/long/enough/path</loc>"),
    "loc of 2,048 characters": urls(f"<loc>https://example.com/{'a' * 2_028}</loc>"),
    "no zone": urls(f"{LOC}<lastmod>2026-01-01T10:30:00</lastmod>"),
    "a day with a zone": urls(f"{LOC}<lastmod>2026-01-01Z</lastmod>"),
    "a video without any location": urls(video()),
    "a video of no length": urls(video(CONTENT, "<video:duration>0</video:duration>")),
}


@pytest.fixture(scope="module")
def own() -> Schemas:
    return Schemas(OWN)


@pytest.fixture(scope="module")
def shared() -> Schemas:
    if not SHARED.exists():
        pytest.skip("no schemas of others are beside this checkout")
    return Schemas(SHARED)


@pytest.mark.parametrize("document", VALID)
def test_schemas_accept_valid_documents(own: Schemas, document: str) -> None:
    own.assertValid(etree.fromstring(document))


@pytest.mark.parametrize("document", [*INVALID.values(), *FORBIDDEN_BY_PROSE.values()])
def test_schemas_reject_invalid_documents(own: Schemas, document: str) -> None:
    assert not own.validate(etree.fromstring(document))


def test_the_schemas_of_others_agree(own: Schemas, shared: Schemas) -> None:
    documents = [etree.fromstring(document) for document in [*VALID, *INVALID.values()]]
    assert [*map(own.validate, documents)] == [*map(shared.validate, documents)]
