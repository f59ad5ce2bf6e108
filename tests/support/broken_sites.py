"""Folders with one fault each, and the rules that they break."""

from __future__ import annotations

import gzip
from collections.abc import Mapping
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import NamedTuple

from tests.support.configuration import BASE

SPACE = 'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"'
HEAD = '<?xml version="1.0" encoding="UTF-8"?>\n'
XHTML = 'xmlns:xhtml="http://www.w3.org/1999/xhtml"'
IMAGE = 'xmlns:image="http://www.google.com/schemas/sitemap-image/1.1"'
VIDEO = 'xmlns:video="http://www.google.com/schemas/sitemap-video/1.1"'
NEWS = 'xmlns:news="http://www.google.com/schemas/sitemap-news/0.9"'
PAGE, OTHER = "sitemap-a-1.xml", "sitemap-b-1.xml"
NOW = datetime.now(timezone.utc)


class BrokenSite(NamedTuple):
    """Files that replace those of a site without faults, and the rules that the site then breaks."""

    files: Mapping[str, str | bytes | None]
    rules: frozenset[str]


def url(location: str = "/words/a/", rest: str = "", *, base: str = BASE) -> str:
    """Return an entry. A location without a scheme is joined to the base."""
    start = base if location.startswith("/") and not location.startswith("//") else ""
    return f"<url><loc>{start}{location}</loc>{rest}</url>"


def urlset(*entries: str, root: str = SPACE) -> str:
    return f"{HEAD}<urlset {root}>\n" + "\n".join(entries) + "\n</urlset>"


def index(*names: str, rest: str = "", base: str = BASE) -> str:
    listed = [name if "://" in name or not name else f"{base}/{name}" for name in names]
    entries = "".join(f"<sitemap><loc>{location}</loc>{rest}</sitemap>\n" for location in listed)
    return f"{HEAD}<sitemapindex {SPACE}>\n{entries}</sitemapindex>"


def sound(base: str = BASE) -> dict[str, str | bytes | None]:
    """Return the files of a site without faults."""
    return {
        "robots.txt": f"User-agent: *\nDisallow: /private/\n\nSitemap: {base}/sitemap.xml\n",
        "sitemap.xml": index(PAGE, OTHER, base=base),
        PAGE: urlset(
            url("/words/a/", "<lastmod>2026-01-31</lastmod>", base=base),
            url("/words/b/", "<changefreq>daily</changefreq><priority>0.5</priority>", base=base),
        ),
        OTHER: urlset(url("/about/", "<lastmod>2026-01-31T10:30:00Z</lastmod>", base=base)),
    }


def write(folder: Path, files: Mapping[str, str | bytes | None]) -> Path:
    """Write the files that are not `None`."""
    for name, content in files.items():
        if content is not None:
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content.encode() if isinstance(content, str) else content)
    return folder


def page(content: str | bytes, *rules: str) -> BrokenSite:
    return BrokenSite({PAGE: content}, frozenset(rules))


def entry(location: str, *rules: str) -> BrokenSite:
    return page(urlset(url(location)), *rules)


def element(rest: str, *rules: str, root: str = SPACE) -> BrokenSite:
    return page(urlset(url(rest=rest), root=root), *rules)


def compressed(content: bytes, *rules: str) -> BrokenSite:
    name = f"{PAGE}.gz"
    return BrokenSite({PAGE: None, "sitemap.xml": index(name, OTHER), name: content}, frozenset(rules))


def site(files: Mapping[str, str | bytes | None], *rules: str) -> BrokenSite:
    return BrokenSite(files, frozenset(rules))


def links(*targets: tuple[str, str], base: str = BASE) -> str:
    return "".join(
        f'<xhtml:link rel="alternate" hreflang="{language}" '
        f'href="{base if target.startswith("/") else ""}{target}"/>'
        for language, target in targets
    )


def linked(*entries: str) -> str:
    return urlset(*entries, root=f"{SPACE} {XHTML}")


def article(**values: str) -> str:
    texts = {
        "name": "The Times",
        "language": "en",
        "publication_date": NOW.isoformat(timespec="seconds"),
        "title": "A title",
        **values,
    }
    inner = {name: f"<news:{name}>{text}</news:{name}>" if text else "" for name, text in texts.items()}
    publication = f"<news:publication>{inner.pop('name')}{inner.pop('language')}</news:publication>"
    return f"<news:news>{publication}{''.join(inner.values())}</news:news>"


def video(*removed: str, more: str = "", **values: str) -> str:
    texts = {
        "thumbnail_loc": f"{BASE}/a.jpg",
        "title": "A title",
        "description": "A description",
        "content_loc": f"{BASE}/a.mp4",
        **values,
    }
    inner = (f"<video:{name}>{text}</video:{name}>" for name, text in texts.items() if name not in removed)
    return f"<video:video>{''.join(inner)}{more}</video:video>"


def videos(text: str, *rules: str) -> BrokenSite:
    return element(text, *rules, root=f"{SPACE} {VIDEO}")


def news(text: str, *rules: str) -> BrokenSite:
    return element(text, *rules, root=f"{SPACE} {NEWS}")


def images(text: str, *rules: str) -> BrokenSite:
    return element(text, *rules, root=f"{SPACE} {IMAGE}")


PLAIN = urlset(url()).encode()
PACKED = gzip.compress(PLAIN * 1, mtime=0)
TOMORROW = (NOW + timedelta(days=3)).isoformat(timespec="seconds")
ALIKE = [url(f"/words/w{n}/", f"<lastmod>2026-01-31T10:0{n % 9}:00Z</lastmod>") for n in range(60)]
SAME_DAY = [url(f"/words/w{n}/", "<lastmod>2026-01-31</lastmod>") for n in range(60)]
GERMAN, ENGLISH = ("de", "/words/de/"), ("en", "/words/en/")

DOCUMENTS = {
    "an index that names a missing file": site({OTHER: None}, "document-missing"),
    "no sitemap at all": site(
        dict.fromkeys(("robots.txt", "sitemap.xml", PAGE, OTHER)), "document-missing"
    ),
    "a robots.txt that names a missing index": site({"sitemap.xml": None}, "document-missing"),
    "a text page that the server has lost": site(
        {"sitemap.xml": index(PAGE, "sitemap-t-1.txt")}, "document-missing"
    ),
    "an empty file": page("", "document-empty"),
    "a file cut short": page(urlset(url(), url("/words/b/"))[:-40], "xml-truncated"),
    "a file cut short before its root": page(HEAD, "xml-truncated"),
    "a compressed file cut short": compressed(PACKED[:-12], "gzip-truncated"),
    "a flipped bit": compressed(PACKED[:20] + bytes([PACKED[20] ^ 0xFF]) + PACKED[21:], "gzip-damaged"),
    "a wrong checksum": compressed(PACKED[:-8] + b"\0\0\0\0" + PACKED[-4:], "gzip-damaged"),
    "data behind the compressed data": compressed(PACKED + b"<!-- cached -->", "gzip-trailing"),
    "gzip in gzip": compressed(gzip.compress(PACKED), "gzip-twice"),
    "an ampersand that is not escaped": entry("/words/a?b=1&c=2", "xml-invalid"),
    "a line before the declaration": page(f"\n{urlset(url())}", "xml-invalid"),
    "HTML instead of XML": page("<!DOCTYPE html><html><body>Not found</body></html>", "document-type"),
    "HTML instead of text": site(
        {"sitemap.xml": index(PAGE, "a.txt"), "a.txt": "<!doctype html>\n<html></html>"}, "document-type"
    ),
    "a DOCTYPE": page(
        f'{HEAD}<!DOCTYPE urlset [<!ENTITY x "y">]>{urlset(url()).removeprefix(HEAD)}', "xml-doctype"
    ),
    "Latin-1": page(urlset(url()).replace("UTF-8", "ISO-8859-1").encode("iso-8859-1"), "document-encoding"),
    "UTF-16": page(urlset(url()).replace("UTF-8", "UTF-16").encode("utf-16"), "document-encoding"),
    "bytes that are not UTF-8": page(urlset(url("/words/ä/")).encode("iso-8859-1"), "document-encoding"),
    "RSS 1.0": page('<RDF xmlns="http://www.w3.org/1999/02/22-rdf-syntax-ns#"/>', "xml-root"),
    "the https namespace": page(urlset(url(), root=SPACE.replace("http:", "https:")), "xml-namespace"),
    "no namespace": page(urlset(url(), root=""), "xml-namespace"),
    "a prefix": page(
        urlset(url(), root=SPACE.replace("xmlns", "xmlns:s"))
        .replace("<u", "<s:u")
        .replace("</u", "</s:u")
        .replace("<loc", "<s:loc")
        .replace("</loc", "</s:loc"),
        "xml-prefix",
    ),
    "no entries": page(urlset(), "urlset-empty"),
    "more than 50,000 URLs": page(
        urlset(*(f"<url><loc>{BASE}/words/w{n}/</loc></url>" for n in range(50_001))),
        "document-too-many-urls",
    ),
    "a text page that is not UTF-8": site(
        {"sitemap.xml": index(PAGE, "a.txt"), "a.txt": f"{BASE}/words/ä/".encode("iso-8859-1")},
        "document-encoding",
        "url-encoding",
    ),
}

ELEMENTS = {
    "an unknown element": element("<lastModified>2026-01-31</lastModified>", "element-unknown"),
    "an unknown entry": page(urlset(url(), "<page/>"), "element-unknown"),
    "a lastmod before its loc": page(
        urlset(f"<url><lastmod>2026-01-31</lastmod><loc>{BASE}/words/a/</loc></url>"), "element-order"
    ),
    "an extension before the lastmod": page(
        urlset(
            url(
                rest=f"<image:image><image:loc>{BASE}/a.jpg</image:loc></image:image><lastmod>2026-01-31</lastmod>"
            ),
            root=f"{SPACE} {IMAGE}",
        ),
        "element-order",
    ),
    "two lastmods": element(
        "<lastmod>2026-01-31</lastmod><lastmod>2026-01-31</lastmod>", "element-repeated"
    ),
    "an entry without a URL": page(urlset("<url><lastmod>2026-01-31</lastmod></url>"), "url-missing"),
    "a date in words": element("<lastmod>yesterday</lastmod>", "lastmod-format"),
    "a day that does not exist": element("<lastmod>2026-02-30</lastmod>", "lastmod-format"),
    "a time with a space": element("<lastmod>2026-01-31 10:30:00Z</lastmod>", "lastmod-format"),
    "a time without a zone": element("<lastmod>2026-01-31T10:30:00</lastmod>", "lastmod-ambiguous"),
    "only a month": element("<lastmod>2026-01</lastmod>", "lastmod-ambiguous"),
    "a time without seconds": element("<lastmod>2026-01-31T10:30Z</lastmod>", "lastmod-ambiguous"),
    "a lastmod that is zero": element("<lastmod>1970-01-01</lastmod>", "lastmod-old"),
    "a lastmod in the future": element(f"<lastmod>{TOMORROW}</lastmod>", "lastmod-future"),
    "lastmods that are all now": page(urlset(*ALIKE), "lastmod-alike"),
    "lastmods that are all one day": page(urlset(*SAME_DAY), "lastmod-alike"),
    "an unknown changefreq": element("<changefreq>Weekly</changefreq>", "changefreq-value"),
    "a priority above 1": element("<priority>1.1</priority>", "priority-value"),
    "a decimal comma": element("<priority>0,5</priority>", "priority-value"),
    "an exponent": element("<priority>5e-1</priority>", "priority-value"),
}

INDEXES = {
    "an empty index": site({"sitemap.xml": index()}, "index-empty"),
    "an index of indexes": site(
        {"sitemap.xml": index("sitemap-2.xml"), "sitemap-2.xml": index(PAGE)}, "index-nested"
    ),
    "an index that lists itself": site({"sitemap.xml": index(PAGE, "sitemap.xml")}, "index-cycle"),
    "indexes that list each other": site(
        {"sitemap.xml": index("sitemap-2.xml"), "sitemap-2.xml": index(PAGE, "sitemap.xml")},
        "index-nested",
        "index-cycle",
    ),
    "a page that is listed twice": site({"sitemap.xml": index(PAGE, PAGE)}, "index-duplicate"),
    "an index entry without a URL": site({"sitemap.xml": index(PAGE, "")}, "index-loc"),
    "a relative URL in an index": site(
        {"sitemap.xml": index(PAGE).replace(f"<loc>{BASE}", "<loc>")}, "index-loc"
    ),
    "a page on another host": site({"sitemap.xml": index(PAGE, "http://example.net/a.xml")}, "index-host"),
    "a page outside the index's directory": site(
        {
            "robots.txt": f"Sitemap: {BASE}/maps/sitemap.xml",
            "maps/sitemap.xml": index(PAGE),
        },
        "index-scope",
    ),
    "an index with an old lastmod": site(
        {"sitemap.xml": index(PAGE, rest="<lastmod>2025-12-31</lastmod>")}, "index-lastmod"
    ),
    "an invalid lastmod in an index": site(
        {"sitemap.xml": index(PAGE, rest="<lastmod>now</lastmod>")}, "lastmod-format"
    ),
}

URLS = {
    "a relative URL": entry("words/a/", "url-relative"),
    "a URL without a scheme": entry("//www.example.com/words/a/", "url-relative"),
    "another scheme": entry("ftp://www.example.com/a", "url-invalid"),
    "a password": entry("https://user:secret@www.example.com/", "url-invalid"),
    "an invalid port": entry("https://www.example.com:99999/", "url-invalid"),
    "a space": entry("/words/a b/", "url-encoding"),
    "a letter that is not ASCII": entry("/words/ä/", "url-encoding"),
    "a percent sign without digits": entry("/words/100%/", "url-encoding"),
    "a fragment": entry("/words/a/#top", "url-fragment"),
    "a long URL": entry(f"/words/{'a' * 2_048}/", "url-length"),
    "a URL that is long for Yandex": entry(f"/words/{'a' * 1_024}/", "url-long"),
    "whitespace": page(urlset(f"<url><loc>\n {BASE}/words/a/\n</loc></url>"), "url-whitespace"),
    "another host": entry("https://example.com/words/a/", "url-host"),
    "http instead of https": entry("http://www.example.com/words/a/", "url-host"),
    "another port": entry("https://www.example.com:8443/words/a/", "url-host"),
    "a URL outside the directory": site(
        {"sitemap.xml": index(f"maps/{PAGE}"), f"maps/{PAGE}": urlset(url())}, "url-scope"
    ),
    "a URL twice": page(urlset(url(), url()), "url-duplicate"),
    "a URL twice across pages": page(urlset(url("/about/")), "url-duplicate-across"),
    "a URL that no pattern matches": entry("/wordz/a/", "url-unresolved"),
    "a URL without its last slash": entry("/words/a", "url-unresolved"),
    "a forbidden URL": site(
        {
            PAGE: urlset(url("/words/private/")),
            "robots.txt": f"User-agent: *\nDisallow: /*private\nSitemap: {BASE}/sitemap.xml",
        },
        "url-blocked",
    ),
    "a URL that is forbidden for one agent": site(
        {"robots.txt": f"User-agent: Newsbot\nDisallow: /words/\n\nSitemap: {BASE}/sitemap.xml"},
        "url-blocked",
    ),
    "a robots.txt without a sitemap": site(
        {"robots.txt": "User-agent: *\nAllow: /\n"}, "robots-no-sitemap"
    ),
    "a relative line in robots.txt": site({"robots.txt": "Sitemap: /sitemap.xml"}, "robots-line"),
    "a robots.txt that is too large": site(
        {"robots.txt": f"Sitemap: {BASE}/sitemap.xml\n" + "# padding\n" * 60_000}, "robots-size"
    ),
    "a robots.txt in Latin-1": site(
        {"robots.txt": f"# café\nSitemap: {BASE}/sitemap.xml\n".encode("iso-8859-1")}, "robots-encoding"
    ),
    "a forbidden sitemap": site(
        {"robots.txt": f"User-agent: *\nDisallow: /sitemap-a\nSitemap: {BASE}/sitemap.xml"},
        "robots-blocks-document",
    ),
}

EXTENSIONS = {
    "an invalid language": page(
        linked(url("/words/en/", links(ENGLISH, ("english", "/words/x/")))),
        "hreflang-code",
        "hreflang-no-return",
    ),
    "a language with an underscore": page(
        linked(url("/words/en/", links(("en_GB", "/words/en/")))), "hreflang-code"
    ),
    "a region that is not a country": page(
        linked(url("/words/en/", links(("en-UK", "/words/en/")))), "hreflang-unsupported"
    ),
    "a language twice": page(
        linked(
            url("/words/en/", links(ENGLISH, ("EN", "/words/de/"))),
            url("/words/de/", links(ENGLISH, ("EN", "/words/de/"))),
        ),
        "hreflang-repeated",
    ),
    "a link without a language": page(
        linked(url("/words/en/", f'{links(ENGLISH)}<xhtml:link rel="alternate" href="{BASE}/"/>')),
        "hreflang-link",
    ),
    "a relative link": page(
        linked(url("/words/en/", f'{links(ENGLISH)}<xhtml:link rel="alternate" hreflang="de" href="a"/>')),
        "hreflang-link",
    ),
    "alternates without the URL itself": page(
        linked(url("/words/en/", links(GERMAN)), url("/words/de/", links(ENGLISH))), "hreflang-no-self"
    ),
    "an alternate that does not link back": page(
        linked(url("/words/en/", links(ENGLISH, GERMAN)), url("/words/de/", links(GERMAN))),
        "hreflang-no-return",
    ),
    "an alternate that is not listed": page(
        linked(url("/words/en/", links(ENGLISH, GERMAN))), "hreflang-no-return"
    ),
    "an image without a URL": images("<image:image/>", "image-url"),
    "an image with a relative URL": images(
        "<image:image><image:loc>/a.jpg</image:loc></image:image>", "image-url"
    ),
    "an image with a caption": images(
        f"<image:image><image:loc>{BASE}/a.jpg</image:loc><image:caption>A</image:caption></image:image>",
        "image-dropped",
    ),
    "too many images": images(
        f"<image:image><image:loc>{BASE}/a.jpg</image:loc></image:image>" * 1_001, "image-too-many"
    ),
    "a video without a thumbnail": videos(video("thumbnail_loc"), "video-required"),
    "a video without a file": videos(video("content_loc"), "video-required"),
    "a video that is the page": videos(video(content_loc=f"{BASE}/words/a/"), "video-url"),
    "a video of nine hours": videos(video(duration="32400"), "video-value"),
    "a video with a long title": videos(video(title="a" * 101), "video-value"),
    "a restriction without a relationship": videos(video(restriction="CH"), "video-value"),
    "a video whose elements are out of order": videos(
        video(more="<video:duration>5</video:duration>", rating="5"), "video-order"
    ),
    "a video with a price": videos(video(price="5"), "video-dropped"),
    "a video with too many tags": videos(
        video(more="<video:tag>a</video:tag>" * 33), "video-too-many-tags"
    ),
    "an article without a title": news(article(title=""), "news-required"),
    "an article in en-US": news(article(language="en-US"), "news-language"),
    "an article with an invalid date": news(article(publication_date="today"), "news-date"),
    "an old article": news(article(publication_date="2026-01-31"), "news-old"),
    "two articles at one URL": news(article() * 2, "news-repeated"),
    "an article with keywords": news(article(keywords="a"), "news-dropped"),
    "too many articles": page(
        urlset(*(url(f"/words/w{n}/", article()) for n in range(1_001)), root=f"{SPACE} {NEWS}"),
        "news-too-many",
    ),
}


def in_language(code: str, *rules: str) -> BrokenSite:
    return page(linked(url("/words/en/", links((code, "/words/en/")))), *rules)


def twice(first: str, second: str, *rules: str) -> BrokenSite:
    return page(urlset(url(first), url(second)), "url-duplicate", *rules)


def misspelled(declaration: str, rest: str, *rules: str) -> BrokenSite:
    return element(rest, "namespace-similar", *rules, root=f"{SPACE} {declaration}")


def forbidden(agent: str, rule: str) -> BrokenSite:
    lines = f"User-agent: {agent}\nDisallow: {rule}\nSitemap: {BASE}/sitemap.xml"
    return site({"robots.txt": lines}, "url-blocked")


AN_IMAGE = f"<image:image><image:loc>{BASE}/a.jpg</image:loc></image:image>"
LANGUAGES = {
    f"the language {code!r}": in_language(code, rule)
    for code, rule in {
        **dict.fromkeys(["jp", "cz", "gb", "us-en", "eng", "ger", "dk", "gr", "ua"], "hreflang-code"),
        **dict.fromkeys(["vn", "sp", "us", "xx", "qq-US", "deu-DE", "fre", "en_us", "kz"], "hreflang-code"),
        **dict.fromkeys(["en-XX", "pt-EU", "de-ZZ", "es-419", "en-UN"], "hreflang-unsupported"),
    }.items()
}
EQUIVALENT = {
    f"{first!r} and {second!r}": twice(first, second, *rules)
    for first, second, *rules in [
        ("/words/a/", "https://WWW.example.com/words/a/"),
        ("/words/a/", "https://www.example.com:443/words/a/"),
        ("/words/a/", "/words/%61/"),
        ("/words/~a/", "/words/%7Ea/"),
        ("/words/%C3%A4/", "/words/%c3%a4/"),
        ("/words/a/", "/words/./%61/"),
        ("/words/a/", "/about/../words/a/"),
        ("/words/a/?b=%7E", "/words/a/?b=~"),
    ]
}
OTHERS = {
    "HTML in lower case": page("<!doctype html><html lang=en><title>Not found", "document-type"),
    "HTML with a comment": page("<!-- a -->\n<!doctype html>\n<p>Not found", "document-type"),
    "HTML without a doctype": page("<html lang=en><meta charset=utf-8></html>", "document-type"),
    "XHTML": page(f'{HEAD}<!DOCTYPE html PUBLIC "a" "b"><html><body/></html>', "document-type"),
    "an XHTML namespace that Google does not know": misspelled(
        'xmlns:xhtml="http://www.w3.org/TR/xhtml11/xhtml11_schema.html"', links(ENGLISH)
    ),
    "an image namespace with https": misspelled(IMAGE.replace("http:", "https:"), AN_IMAGE),
    "an image namespace of another version": misspelled(IMAGE.replace("1.1", "1.0"), AN_IMAGE),
    "a video namespace of another version": misspelled(VIDEO.replace("1.1", "1.0"), video()),
    "a news namespace with https": misspelled(NEWS.replace("http:", "https:"), article()),
    "a misspelled element of a video": videos(
        video(more="<video:lenght>5</video:lenght>"), "element-unknown"
    ),
    "a video with two titles": videos(
        video(more="<video:title>A</video:title>"), "element-repeated", "video-order"
    ),
    "a misspelled element of an image": images(
        AN_IMAGE.replace("</image:image>", "<image:lok/></image:image>"), "element-unknown"
    ),
    "an image with two URLs": images(
        AN_IMAGE.replace("</image:image>", "<image:loc>https://a.b/</image:loc></image:image>"),
        "element-repeated",
    ),
    "a misspelled element of an article": news(article(titel="A"), "element-unknown"),
    "an article with two titles": news(
        article().replace("</news:news>", "<news:title>A</news:title></news:news>"), "element-repeated"
    ),
    "a publication with two names": news(
        article().replace("<news:language>", "<news:name>A</news:name><news:language>"), "element-repeated"
    ),
    "a .gz file that is not compressed": compressed(PLAIN, "gzip-missing"),
    "an agent with its version": forbidden("Newsbot/2.1", "/words/"),
    "an agent in capitals": forbidden("NEWSBOT", "/words/"),
    "an agent without a hyphenated part": forbidden("*\nUser-agent: other", "/*/a/"),
    "an entry of an entry": element(f"<url><loc>{BASE}/words/b/</loc></url>", "element-unknown"),
    "more elements in an entry than are read": element(
        "<i:a/>" * 5_001, "document-limit", root=f'{SPACE} xmlns:i="urn:i"'
    ),
    "many elements that are not entries": page(
        urlset(url(), "<a/>" * 60_000), "element-unknown", "document-limit"
    ),
    "two locs": element(f"<loc>{BASE}/words/b/</loc>", "element-repeated"),
}

BROKEN = {**DOCUMENTS, **ELEMENTS, **INDEXES, **URLS, **EXTENSIONS, **LANGUAGES, **EQUIVALENT, **OTHERS}
