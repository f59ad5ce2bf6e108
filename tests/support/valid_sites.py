"""Valid documents in the forms of several programs, and unusual ones: an audit finds nothing.

Only the documents of `django.contrib.sitemaps` are rendered by the program itself. Those of Wagtail,
static-sitemaps and sitemap.js are written after their templates and code, and these programs do not run.
"""

from __future__ import annotations

import codecs
import gzip
from collections.abc import Mapping
from datetime import date, datetime, timezone
from pathlib import Path

from django.contrib import sitemaps
from django.template import Context, Engine

from tests.support.broken_sites import (
    BASE,
    HEAD,
    IMAGE,
    NEWS,
    OTHER,
    PAGE,
    SPACE,
    VIDEO,
    XHTML,
    article,
    index,
    links,
    url,
    urlset,
    video,
)

Files = Mapping[str, str | bytes | None]
AN_IMAGE = f"<image:image><image:loc>{BASE}/a.jpg</image:loc></image:image>"
ALL = " ".join([SPACE, XHTML, IMAGE, VIDEO, NEWS])
XSI = (
    'xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xsi:schemaLocation="http://www.sitemaps.org/'
    'schemas/sitemap/0.9 http://www.sitemaps.org/schemas/sitemap/0.9/sitemap.xsd"'
)
EN, DE, BOTH = ("en", "/words/en/"), ("de", "/words/de/"), [("en", "/words/en/"), ("de", "/words/de/")]


def page(content: str | bytes) -> Files:
    return {PAGE: content}


def element(rest: str, root: str = ALL) -> Files:
    return page(urlset(url(rest=rest), root=root))


def robots(lines: str) -> Files:
    return {"robots.txt": f"{lines}\nSitemap: {BASE}/sitemap.xml\n"}


def text(content: str | bytes) -> Files:
    return {"sitemap.xml": index(PAGE, "a.txt"), "a.txt": content}


def languages(*targets: tuple[str, str], pages: tuple[str, ...] = ("/words/en/", "/words/de/")) -> Files:
    return page(urlset(*(url(place, links(*targets)) for place in pages), root=ALL))


PLAIN = urlset(url())
_TEMPLATES = Path(sitemaps.__file__).parent / "templates"
_LINKS = [
    {"location": f"{BASE}/words/a/", "lang_code": "en"},
    {"location": "https://example.de/", "lang_code": "de"},
]


def rendered(name: str, **values: object) -> str:
    """Render a template of `django.contrib.sitemaps`."""
    return Engine().from_string((_TEMPLATES / name).read_text()).render(Context(values))


CONTRIB = rendered(
    "sitemap.xml",
    urlset=[
        {
            "location": f"{BASE}/words/a/",
            "lastmod": date(2026, 1, 31),
            "changefreq": "daily",
            "priority": "0.5",
        },
        {"location": f"{BASE}/words/b/", "alternates": []},
    ],
)
CONTRIB_LINKS = rendered("sitemap.xml", urlset=[{"location": f"{BASE}/words/a/", "alternates": _LINKS}])
CONTRIB_INDEX = rendered(
    "sitemap_index.xml",
    sitemaps=[{"location": f"{BASE}/{PAGE}", "last_mod": datetime(2026, 1, 31, tzinfo=timezone.utc)}],
)
# As in the template of static-sitemaps 5 for its index. It renders pages with the template of contrib.
STATIC = {
    "sitemap.xml": f"{HEAD}<sitemapindex {SPACE}>\n"
    f"<sitemap>\n    <loc>{BASE}/sitemap-pages.xml.gz</loc>\n    "
    "\n      <lastmod>2026-02-01T00:00:00+00:00</lastmod>\n    \n  </sitemap>\n</sitemapindex>\n",
    "sitemap-pages.xml.gz": gzip.compress(CONTRIB.encode()),
}
# As sitemap.js 9 writes it: everything on one line, with all namespaces.
SITEMAP_JS = (
    '<?xml version="1.0" encoding="UTF-8"?><urlset xmlns="http://www.sitemaps.org/schemas/sitem'
    'ap/0.9" xmlns:news="http://www.google.com/schemas/sitemap-news/0.9" xmlns:xhtml="http://ww'
    'w.w3.org/1999/xhtml" xmlns:image="http://www.google.com/schemas/sitemap-image/1.1" xmlns:v'
    f'ideo="http://www.google.com/schemas/sitemap-video/1.1"><url><loc>{BASE}/words/a/</loc><lastmod>'
    "2026-01-31T10:30:00.000Z</lastmod><changefreq>daily</changefreq><priority>0.5</priority><v"
    f"ideo:video><video:thumbnail_loc>{BASE}/a.jpg</video:thumbnail_loc><video:title>A</video:title><"
    f"video:description>B</video:description><video:content_loc>{BASE}/a.mp4</video:content_loc><vide"
    "o:rating>4.5</video:rating><video:tag>a</video:tag><video:tag>b</video:tag><video:family_f"
    'riendly>yes</video:family_friendly></video:video><xhtml:link rel="alternate" hreflang="en"'
    f' href="{BASE}/words/a/"/><xhtml:link rel="alternate" hreflang="de" href="https://example.de/wor'
    f'ds/a/"/><image:image><image:loc>{BASE}/a.jpg</image:loc></image:image></url><url><loc>{BASE}/words/b'
    "/?a=1&amp;b=2</loc></url></urlset>"
)
SITEMAP_JS_INDEX = (
    '<?xml version="1.0" encoding="UTF-8"?><sitemapindex xmlns="http://www.sitemaps.org/schemas'
    f'/sitemap/0.9"><sitemap><loc>{BASE}/sitemap-a-1.xml</loc><lastmod>2026-02-01T00:00:00.000Z</last'
    "mod></sitemap></sitemapindex>"
)
# Wagtail passes only locations and dates to the template of contrib.
WAGTAIL = rendered(
    "sitemap.xml",
    urlset=[{"location": f"{BASE}/words/a/", "lastmod": datetime(2026, 1, 31, 10, tzinfo=timezone.utc)}],
)

PROGRAMS: dict[str, Files] = {
    "contrib": page(CONTRIB),
    "contrib with alternates": page(CONTRIB_LINKS),
    "contrib's index": {"sitemap.xml": CONTRIB_INDEX, PAGE: CONTRIB},
    "static-sitemaps": STATIC,
    "sitemap.js": page(SITEMAP_JS),
    "sitemap.js's index": {"sitemap.xml": SITEMAP_JS_INDEX},
    "sitemap.js, compressed": {
        "sitemap.xml": index(f"{PAGE}.gz"), f"{PAGE}.gz": gzip.compress(SITEMAP_JS.encode())
    },
    "Wagtail": page(WAGTAIL),
    "a stylesheet": page(PLAIN.replace(HEAD, f'{HEAD}<?xml-stylesheet type="text/xsl" href="/a.xsl"?>\n')),
    "a schema location": page(urlset(url(), root=f"{SPACE} {XSI}")),
}  # fmt: skip

DOCUMENTS: dict[str, Files] = {
    "a byte order mark": page(codecs.BOM_UTF8 + PLAIN.encode()),
    "no XML declaration": page(PLAIN.removeprefix(HEAD)),
    "a declaration in single quotes": page(PLAIN.replace('"1.0"', "'1.0'").replace('"UTF-8"', "'utf-8'")),
    "US-ASCII": page(PLAIN.replace("UTF-8", "US-ASCII")),
    "a standalone declaration": page(PLAIN.replace("?>", ' standalone="yes"?>')),
    "comments everywhere": page(
        PLAIN.replace("<url>", "<!-- a --><url><!-- b -->").replace("</url>", "<!-- <url/> --></url>")
    ),
    "processing instructions": page(PLAIN.replace("<url>", "<?a b?><url><?c d?>")),
    "CDATA": page(urlset(f"<url><loc><![CDATA[{BASE}/words/a/?b=1&c=2]]></loc></url>")),
    "escaped characters": page(urlset(url("/words/a/?b=1&amp;c=2&#38;d=&#x33;"))),
    "Windows line endings": page(PLAIN.replace("\n", "\r\n")),
    "no line endings": page(PLAIN.replace("\n", "")),
    "tabs and spaces": page(PLAIN.replace("<url>", "\t <url>\n\t\t").replace("</url>", "\n </url>")),
    "whitespace at the end": page(f"{PLAIN}\n\n \n"),
    "a comment at the end": page(f"{PLAIN}<!-- cached -->"),
    "attributes of another namespace": page(urlset(url(), root=f'{SPACE} xmlns:a="urn:a" a:b="c"')),
    "several members of gzip": {
        "sitemap.xml": index(f"{PAGE}.gz"),
        f"{PAGE}.gz": gzip.compress(PLAIN[:50].encode()) + gzip.compress(PLAIN[50:].encode()),
    },
    "a page that is compressed without a .gz": page(gzip.compress(PLAIN.encode())),
    "50,000 URLs": page(urlset(*(f"<url><loc>{BASE}/words/w{n}/</loc></url>" for n in range(50_000)))),
    "an entry of 4,999 elements": element("<i:a/>" * 4_998, f'{SPACE} xmlns:i="urn:i"'),
    "a long comment before the root": page(PLAIN.replace(HEAD, f"{HEAD}<!-- {'a' * 300_000} -->\n")),
    "a long comment": page(PLAIN.replace("<url>", f"<!-- {'a' * 3_000_000} --><url>")),
    "text with a byte order mark": text(codecs.BOM_UTF8 + f"{BASE}/words/c/\n".encode()),
    "text with empty lines": text(f"\n{BASE}/words/c/\r\n\r\n{BASE}/words/d/"),
    "a robots.txt with a byte order mark": {
        "robots.txt": codecs.BOM_UTF8 + f"Sitemap: {BASE}/sitemap.xml".encode()
    },
    "a sitemap in place of an index": {"sitemap.xml": PLAIN, PAGE: None, OTHER: None},
    "an index with lastmods": {"sitemap.xml": index(PAGE, OTHER, rest="<lastmod>2026-02-01</lastmod>")},
}

VALUES: dict[str, Files] = {
    f"the lastmod {value}": element(f"<lastmod>{value}</lastmod>")
    for value in (
        "2026-01-31T10:30:00+05:30",
        "2026-01-31T10:30:00.5Z",
        "2024-02-29",
        "1990-01-01",
        " 2026-01-31\n",
    )
} | {
    f"the priority {value}": element(f"<priority>{value}</priority>")
    for value in ("0", "1", "1.0", "0.85", "0.0", ".5")
} | {
    f"the URL {location}": page(urlset(url(location)))
    for location in (
        "/words/%C3%A4/",
        "/words/a/?b=c/d?e",
        "/words/a,b;c=d/",
                "https://WWW.example.com/words/a/",
        "https://www.example.com:443/words/a/",
        "/words/it's/",
        f"/words/{'a' * 900}/",
    )
} | {
    "different queries": page(urlset(url("/words/a/?b"), url("/words/a/?c"), url("/words/a/"))),
    "different cases of paths": page(urlset(url("/words/a/"), url("/words/A/"))),
    "an escaped slash": page(urlset(url("/words/a/?b=%2F"), url("/words/a/?b=/"))),
}  # fmt: skip

EXTENSIONS: dict[str, Files] = {
    "alternates": languages(EN, DE),
    "Google's example of a page to choose a language": languages(
        EN, DE, ("x-default", "/words/choose/"), pages=("/words/en/", "/words/de/", "/words/choose/")
    ),
    "a page to choose a language first": languages(
        ("x-default", "/words/choose/"), EN, DE, pages=("/words/choose/", "/words/de/", "/words/en/")
    ),
    # Other sites, and pages to choose a language, need not link back.
    "an alternate on another host": languages(EN, ("de", "https://example.de/"), pages=("/words/en/",)),
    "a page to choose a language that is not listed": languages(
        EN, ("x-default", "/words/choose/"), pages=("/words/en/",)
    ),
    "a language that is also the default": languages(EN, DE, ("x-default", "/words/en/")),
    "alternates with regions and scripts": languages(
        ("zh-Hant-TW", "/words/a/"), ("pt-BR", "/words/b/"), ("EN-gb", "/words/c/"), pages=(
            "/words/a/", "/words/b/", "/words/c/")
    ),
    "languages with codes of three letters": languages(("hsb", "/words/en/"), ("ckb", "/words/de/")),
    "an image": element(AN_IMAGE),
    "1,000 images": element(AN_IMAGE * 1_000),
    "an image with another prefix": element(
        f"<i:image><i:loc>{BASE}/a.jpg</i:loc></i:image>", f"{SPACE} {IMAGE.replace('image=', 'i=')}"
    ),
    "an image on another host": element(AN_IMAGE.replace(BASE, "https://cdn.example.net")),
    "a video": element(video()),
    "a video with tags": element(video(more="<video:tag>a</video:tag><video:tag>b</video:tag>")),
    "an article": element(article()),
    "all extensions": element(f"{AN_IMAGE}{video()}{article()}"),
    "an unknown extension": element("<a:b>c</a:b>", f'{SPACE} xmlns:a="urn:a"'),
    "a page map": element(
        "<PageMap xmlns='http://www.google.com/schemas/sitemap-pagemap/1.0'><DataObject/></PageMap>"
    ),
}  # fmt: skip

ROBOTS: dict[str, Files] = {
    "a robots.txt that allows again": robots("User-agent: *\nDisallow: /words/\nAllow: /words/"),
    "rules for another agent": robots("User-agent: OtherBot\nDisallow: /"),
    "rules for an agent with a similar name": robots("User-agent: News\nDisallow: /"),
    "an empty rule": robots("User-agent: *\nDisallow:"),
    "a rule that ends": robots("User-agent: *\nDisallow: /words$"),
    "unknown lines": robots("User-agent: *\nCrawl-delay: 5\nClean-param: a\n# A comment"),
    "lines in capitals": {"robots.txt": f"USER-AGENT: *\nSITEMAP: {BASE}/sitemap.xml"},
}

VALID = {**PROGRAMS, **DOCUMENTS, **VALUES, **EXTENSIONS, **ROBOTS}
