"""The limits and namespaces of the protocol."""

from __future__ import annotations

#: The namespace is `http:` for ever; an `https:` one is another namespace.
SITEMAP_NAMESPACE = "http://www.sitemaps.org/schemas/sitemap/0.9"
XHTML_NAMESPACE = "http://www.w3.org/1999/xhtml"

#: URLs in one sitemap, and sitemaps in one index (the protocol, "Sitemap index files").
MAX_URLS = 50_000
#: Bytes of one uncompressed file: 50 MB since November 2016.
MAX_BYTES = 52_428_800
#: The limit of every edition before that, which at least one engine still states; our default.
STRICTEST_MAX_BYTES = 10_485_760
#: Characters of a `loc`: the prose says less than 2,048, the XSD 2,048 at most; this satisfies both.
MAX_LOCATION = 2_047

#: What Google reads: images of one URL, articles in one file, and how many days these are news.
MAX_IMAGES = 1_000
MAX_NEWS = 1_000
NEWS_DAYS = 2
