"""The schemas and the strict reader that other tests use accept exactly what the protocol allows."""

from __future__ import annotations

import pytest
from lxml import etree

from tests.support.writing import OWN, SHARED, Schemas

HEAD = (
    '<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" xmlns:xhtml="http://www.w3.org/1999/xhtml"'
    ' xmlns:image="http://www.google.com/schemas/sitemap-image/1.1"'
    ' xmlns:video="http://www.google.com/schemas/sitemap-video/1.1"'
    ' xmlns:news="http://www.google.com/schemas/sitemap-news/0.9" xmlns:shop="urn:shop">'
)
LOC = "<loc>https://example.org/cup?a=1&amp;b=2</loc>"
LINK = '<xhtml:link rel="alternate" hreflang="en" href="https://example.org/en?a=1&amp;b=2"/>'
NOWHERE = '<xhtml:link rel="alternate" hreflang="en"/>'
IMAGE = "<image:image><image:loc>https://images.example.net/a.jpg</image:loc></image:image>"
TITLE = "<video:title>A cup &amp; its saucer</video:title>"
CONTENT = "<video:content_loc>https://example.org/cup.mp4</video:content_loc>"
PLAYER = "<video:player_loc>https://example.org/player?of=cup</video:player_loc>"
TAG, LIVE = "<video:tag>clay</video:tag>", "<video:live>no</video:live>"
VIDEO = f"""<video:video>
  <video:thumbnail_loc>https://example.org/cup.jpg</video:thumbnail_loc>
  {TITLE}
  <video:description>How &lt;b&gt;cups&lt;/b&gt; are made</video:description>
  {CONTENT}{PLAYER}
  <video:duration>90</video:duration>
  <video:expiration_date>2027-01-31</video:expiration_date>
  <video:rating>4.5</video:rating>
  <video:view_count>1200</video:view_count>
  <video:publication_date>2026-01-31T08:00:00+01:00</video:publication_date>
  {TAG}
  <video:family_friendly>yes</video:family_friendly>
  <video:restriction relationship="allow">DE AT CH</video:restriction>
  <video:requires_subscription>no</video:requires_subscription>
  <video:uploader info="https://example.org/potter">The potter</video:uploader>
  <video:platform relationship="deny">tv</video:platform>
  {LIVE}
</video:video>"""
PUBLISHED = "<news:publication_date>2026-01-01</news:publication_date>"
HEADED = "<news:title>C</news:title>"
NEWS = (
    "<news:news><news:publication><news:name>Times</news:name><news:language>en</news:language>"
    f"</news:publication>{PUBLISHED}{HEADED}</news:news>"
)
DAY, TIME = "<lastmod>2026-01-31", "<lastmod>2026-01-31T09:30:00+00:00"
CORE = f"{TIME}</lastmod><changefreq>weekly</changefreq><priority>0.8</priority>"
URL = f"<url>{LOC}{CORE}{LINK}{IMAGE}{VIDEO}{NEWS}</url>"
FULL = f"{HEAD}{URL}</urlset>"


def edited(*edits):
    found = FULL
    for old, new in edits:
        assert old in found, old
        found = found.replace(old, new)
    return found


def index(*parts):
    entries = "".join(f"<sitemap>{part}</sitemap>" for part in parts)
    return f'<sitemapindex xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{entries}</sitemapindex>'


def with_path(length):
    return LOC, f"<loc>https://example.com/{'a' * length}</loc>"


VALID = [
    FULL, edited((URL, f"<url>{LOC}</url>")), edited((URL, URL * 2)), edited((TIME, DAY)),
    *(edited((TIME, f"{DAY}T10:30:00{zone}")) for zone in ("Z", "+05:45")), edited(("weekly", "never")),
    edited((">0.8<", ">1<")), edited(with_path(2_027)),
    *(edited(('lang="en"', f'lang="{code}"')) for code in ("pt-BR", "zh-Hant-TW", "es-419", "x-default")),
    edited((IMAGE, IMAGE * 2)), edited(("</image:image", "<image:caption>A</image:caption></image:image")),
    edited((CONTENT, "")), edited((PLAYER, "")), edited((">90<", ">28800<")), edited((">tv<", ">web tv<")),
    edited((TAG, TAG * 32)), edited((">en<", ">zh-tw<")), index(LOC, f"{LOC}{DAY}T10:30:00Z</lastmod>"),
]  # fmt: skip
INVALID = [
    edited((URL, "")), edited((LOC, "")), edited((LOC, LOC * 2)), edited(with_path(2_029)),
    edited((CORE, "<priority>1</priority><lastmod>2026-01-01</lastmod>")),
    edited((CORE, ""), (IMAGE, f"{IMAGE}{DAY}</lastmod>")),
    *(edited((TIME, f"<lastmod>{text}"))
     for text in ("2026-01", "2026-02-30", "2026-01-01T10:30Z", "2026-01-01 10:30:00Z")),
    edited(("weekly", "Weekly")), *(edited((">0.8<", f">{text}<")) for text in ("1.1", "5e-1", "0,5")),
    *(edited((LINK, f"<{name}>1</{name}>")) for name in ("size", "shop:price")),
    edited(('lang="en"', 'lang="pt_BR"')), edited(('"alternate"', '"canonical"')),
    edited((LINK, NOWHERE)), edited(("image:loc", "image:title")),
    edited(("<image:loc", "<image:title>A</image:title><image:loc")), edited((TITLE, "")),
    edited((">A cup", f">{'a' * 101}")), edited((">How", f">{'a' * 2_049}")), edited((TAG, TAG * 33)),
    edited((">90<", ">28801<")), edited((">4.5<", ">5.1<")), edited((LIVE, LIVE.replace("no", "maybe"))),
    edited((' relationship="allow"', "")), edited((CONTENT, LIVE + CONTENT)), edited((">tv<", ">radio<")),
    edited((HEADED, "")), edited((HEADED, ""), (PUBLISHED, f"{HEADED}{PUBLISHED}")),
    edited((">en<", ">en-US<")), edited((">2026-01-01<", ">today<")), index(),
    index(f"{LOC}<changefreq>daily</changefreq>"),
]  # fmt: skip
#: Documents that the text of the protocol forbids, but its schemas accept.
FORBIDDEN_BY_PROSE = [
    edited(('hreflang="en"', "")), edited((LOC, "<loc>/long/enough/</loc>")), edited(with_path(2_028)),
    *(edited((TIME, f"<lastmod>{text}")) for text in ("2026-01-01T10:30:00", "2026-01-01Z")),
    edited((CONTENT, ""), (PLAYER, "")), edited((">90<", ">0<")),
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
    shared, documents = Schemas(SHARED), [etree.fromstring(document) for document in [*VALID, *INVALID]]
    assert [*map(shared.validate, documents)] == [True] * len(VALID) + [False] * len(INVALID)


#: A fault of each kind that the strict reader, or our own comparison, must detect, and a part of the
#: complaint.
REFUSED = [
    (edited(('"http://www.sitemaps', '"https://www.sitemaps')), "schema"), (edited((URL, "")), "schema"),
    (f"<urlset><url>{LOC}</url></urlset>", "schema"), (edited(("lastmod", "lastMod")), "lastMod"),
    (edited(("</image:loc>", "</image:loc><image:size>1</image:size>")), "size"),
    (edited(("info=", "about=")), "uploader about"), (edited(("image:", "i:"), (":image", ":i")), "i:i"),
    (edited(("<image:image>", '<image:image xmlns:a="b">')), "xmlns:a"),
    (edited(("weekly", "fortnightly")), "lost ['fortnightly']"), (edited((">0.8<", ">1.1<")), "priority"),
    (edited((TIME, f"{DAY}T09:30:00.123456+00:00")), "lastmod"),
    (edited((LINK, LINK * 101)), "too many links"), (edited((LINK, NOWHERE)), "href"),
    (edited(with_path(2_048)), "max length"), (edited(("description>", "category>")), "Video"),
    (edited((NEWS, NEWS * 2)), "lost"), (edited((LOC, f"{LOC}cup")), "cup"), (FULL[:-9], "XML"),
    (edited((DAY, "<lastmod>&now;")), "entity"),
]  # fmt: skip


@pytest.mark.slow
def test_sitemap_js_refuses_what_is_wrong_and_names_the_document(sitemap_js):
    readings = sitemap_js.read([text.encode() for text, _ in REFUSED])
    said = [(part, "\n".join(found.complaints)) for (_, part), found in zip(REFUSED, readings, strict=True)]
    assert [(part, complaints) for part, complaints in said if part not in complaints] == []
    with pytest.raises(AssertionError, match=r"\{1: .*too many links"):
        sitemap_js.strictly([FULL.encode(), edited((LINK, LINK * 101)).encode(), FULL.encode()])
