"""The schemas and the strict reader that other tests use accept exactly what the protocol allows."""

from __future__ import annotations

import pytest
from lxml import etree

from tests.support.writing import OWN, SHARED, Schemas

HEAD = (
    '<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" xmlns:xhtml="http://www.w3.org/1999/xhtml"'
    ' xmlns:image="http://www.google.com/schemas/sitemap-image/1.1"'
    ' xmlns:video="http://www.google.com/schemas/sitemap-video/1.1"'
    ' xmlns:news="http://www.google.com/schemas/sitemap-news/0.9"'
)
LOC = "<loc>https://example.com/a</loc>"
TITLE, CONTENT = (
    "<video:title>A</video:title>", "<video:content_loc>https://example.com/a.mp4</video:content_loc>",
)  # fmt: skip
PLAYER = "<video:player_loc>https://example.com/player</video:player_loc>"
NAMED = "<news:publication><news:name>Times</news:name><news:language>en</news:language></news:publication>"
DATED = "<news:publication_date>2026-01-01</news:publication_date>"
HEADED = "<news:title>C</news:title>"


def elements(**texts):
    """Return elements, where two underscores stand for a colon."""
    return "".join(
        f"<{name.replace('__', ':')}>{text}</{name.replace('__', ':')}>" for name, text in texts.items()
    )


def urls(*parts):
    entries = "".join(f"<url>{part}</url>" for part in parts)
    return f'{HEAD} xmlns:shop="urn:shop">{entries}</urlset>'


def core(**texts):
    return urls(LOC + elements(**texts))


def index(*parts):
    entries = "".join(f"<sitemap>{part}</sitemap>" for part in parts)
    return f'<sitemapindex xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{entries}</sitemapindex>'


def link(language, rel="alternate"):
    return f'{LOC}<xhtml:link rel="{rel}" hreflang="{language}" href="https://example.com/"/>'


def image(title="", **texts):
    location = elements(image__loc="https://cdn.example/a.png")
    return f"{LOC}<image:image>{title}{location}{elements(**texts)}</image:image>"


def video(*rest, title=TITLE, description="B", **texts):
    first = elements(video__thumbnail_loc="https://example.com/a.png") + title
    parts = "".join(rest) + elements(**{f"video__{name}": text for name, text in texts.items()})
    return f"{LOC}<video:video>{first}{elements(video__description=description)}{parts}</video:video>"


def news(*parts):
    return f"{LOC}<news:news>{''.join(parts)}</news:news>"


ALLOWED = '<video:restriction relationship="allow">CH DE</video:restriction>'
PLATFORM = '<video:platform relationship="deny">{}</video:platform>'
TAG, LIVE = "<video:tag>a</video:tag>", "<video:live>no</video:live>"
UPLOADER = '<video:uploader info="https://example.com/b">B</video:uploader>'
CHINESE = NAMED.replace(">en<", ">zh-tw<")
VALID = [
    urls(LOC),
    urls(LOC, LOC + elements(lastmod="2026-01-01", changefreq="weekly", priority="0.5")),
    core(lastmod="2026-01-01T10:30:00Z"),
    core(lastmod="2026-01-01T10:30:00+05:45", changefreq="never"),
    core(priority="1"),
    urls(f"<loc>https://example.com/{'a' * 2_027}</loc>"),
    urls(*map(link, ["en", "pt-BR", "zh-Hant-TW", "es-419", "x-default"])),
    urls(image(), image(image__caption="A", image__title="B")),
    urls(
        video(CONTENT), video(PLAYER), video(CONTENT, PLAYER),
        video(CONTENT, duration="28800", rating="4.5"),
    ),
    urls(
        video(CONTENT, ALLOWED), video(CONTENT, PLATFORM.format("web tv")), video(CONTENT, TAG * 32, LIVE)
    ),
    urls(video(CONTENT, UPLOADER)),
    urls(news(NAMED, DATED, HEADED), news(CHINESE, DATED, HEADED)),
    index(LOC, LOC + elements(lastmod="2026-01-01T10:30:00Z")),
]  # fmt: skip
INVALID = [
    *(urls(), urls("<lastmod>2026-01-01</lastmod>"), urls(LOC + LOC)),
    urls(f"<loc>https://example.com/{'a' * 2_029}</loc>"),
    core(priority="1", lastmod="2026-01-01"),
    urls(f"{image()}<lastmod>2026-01-01</lastmod>"),
    *(core(lastmod=text)
     for text in ("2026-01", "2026-02-30", "2026-01-01T10:30Z", "2026-01-01 10:30:00Z")),
    core(changefreq="Weekly"),
    *(core(priority=text) for text in ("1.1", "5e-1", "0,5")),
    *(core(size="1"), core(shop__price="1")),
    *(urls(link("pt_BR")), urls(link("en", "canonical"))),
    urls(f'{LOC}<xhtml:link rel="alternate" hreflang="en"/>'),
    urls(image().replace("image:loc", "image:title")),
    urls(image(title="<image:title>A</image:title>")),
    *(urls(video(CONTENT, title="")), urls(video(CONTENT, title=TITLE.replace("A", "a" * 101)))),
    *(urls(video(CONTENT, description="a" * 2_049)), urls(video(CONTENT, TAG * 33))),
    *(urls(video(CONTENT, duration="28801")), urls(video(CONTENT, rating="5.1"))),
    *(
        urls(video(CONTENT, live="maybe")), urls(video(CONTENT, restriction="CH")),
        urls(video(LIVE, CONTENT)),
    ),
    urls(video(CONTENT, PLATFORM.format("radio"))),
    *(urls(news(NAMED, DATED)), urls(news(NAMED, HEADED, DATED))),
    urls(news(NAMED.replace(">en<", ">en-US<"), DATED, HEADED)),
    urls(news(NAMED, DATED.replace("2026-01-01", "today"), HEADED)),
    *(index(), index(f"{LOC}<changefreq>daily</changefreq>")),
]  # fmt: skip
#: Documents that the text of the protocol forbids, but its schemas accept.
FORBIDDEN_BY_PROSE = [
    urls(f'{LOC}<xhtml:link rel="alternate" href="https://example.com/"/>'),
    urls("<loc>/a/long/enough/path</loc>"), urls(f"<loc>https://example.com/{'a' * 2_028}</loc>"),
    *(core(lastmod=text) for text in ("2026-01-01T10:30:00", "2026-01-01Z")),
    *(urls(video()), urls(video(CONTENT, duration="0"))),
]  # fmt: skip


def test_our_schemas_accept_valid_documents_and_reject_invalid_ones():
    own = Schemas(OWN)
    for document in VALID:
        own.assertValid(etree.fromstring(document))
    invalid = [*INVALID, *FORBIDDEN_BY_PROSE]
    assert [document for document in invalid if own.validate(etree.fromstring(document))] == []


def test_the_schemas_of_others_agree():
    if not SHARED.exists():
        pytest.skip("no schemas of others are beside this checkout")
    shared = Schemas(SHARED)
    documents = [etree.fromstring(document) for document in [*VALID, *INVALID]]
    assert [*map(shared.validate, documents)] == [True] * len(VALID) + [False] * len(INVALID)


# The strict reader

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
THE_NEWS = f"<news:news>{NAMED}{DATED}{HEADED}</news:news>"


def links(*languages):
    return "".join(
        f'<xhtml:link rel="alternate" hreflang="{language}" href="https://example.org/{number}?a=1&amp;b=2"/>'
        for number, language in enumerate(languages)
    )


def document(inner="", *, head=f"{HEAD}>"):
    text = f"{head}<url><loc>https://example.org/cup?a=1&amp;b=2</loc>{inner}</url></urlset>"
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{text}'.encode()


CORE = elements(lastmod="2026-01-31T09:30:00+00:00", changefreq="weekly", priority="0.8")
FULL = document(CORE + links("en", "zh-Hant", "x-default") + IMAGES + VIDEO + THE_NEWS)


#: A fault of each kind that the reader, or our own comparison, must detect, and a part of the complaint.
REFUSED = [
    (FULL.replace(b'"http://www.sitemaps', b'"https://www.sitemaps'), "schema"),
    (document(head="<urlset>"), "schema"), (document("<lastMod>2026-01-31</lastMod>"), "lastMod"),
    (document("<image:image><image:size>1</image:size></image:image>"), "size"),
    (document(VIDEO.replace("info=", "about=")), "uploader about"),
    (FULL.replace(b"image:", b"i:").replace(b":image", b":i"), "i:i"),
    (document('<image:image xmlns:a="b"/>'), "xmlns:a"),
    (document("<changefreq>fortnightly</changefreq>"), "lost ['fortnightly']"),
    (document("<priority>1.1</priority>"), "priority"),
    (document("<lastmod>2026-01-31T09:30:00.123456+00:00</lastmod>"), "lastmod"),
    (document(links(*["de"] * 101)), "too many links"),
    (document('<xhtml:link rel="alternate" hreflang="de"/>'), "href"),
    (document().replace(b"/cup", b"/" + b"c" * 2048), "max length"),
    (document(VIDEO.replace("description>", "category>")), "Video"), (document(THE_NEWS * 2), "lost"),
    (document("cup"), "cup"), (FULL[: -len(b"</urlset>")], "XML"),
    (document("<lastmod>&now;</lastmod>"), "entity"), (f"{HEAD}></urlset>".encode(), "schema"),
]  # fmt: skip


@pytest.mark.slow
def test_sitemap_js_refuses_what_is_wrong_and_names_the_document(sitemap_js):
    complaints = ["\n".join(each.complaints) for each in sitemap_js.read([data for data, _ in REFUSED])]
    pairs = zip(REFUSED, complaints, strict=True)
    assert [(part, said) for (_, part), said in pairs if part not in said] == []
    with pytest.raises(AssertionError, match=r"\{1: .*too many links"):
        sitemap_js.strictly([FULL, document(links(*["de"] * 101)), FULL])
