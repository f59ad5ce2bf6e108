"""The limits and namespaces of the protocol."""

from __future__ import annotations

from typing import NamedTuple

#: The namespace always begins with `http:`; with `https:` it would be another one.
SITEMAP_NAMESPACE = "http://www.sitemaps.org/schemas/sitemap/0.9"
XHTML_NAMESPACE = "http://www.w3.org/1999/xhtml"

#: URLs in one sitemap, and sitemaps in one index (the protocol, "Sitemap index files").
MAX_URLS = 50_000
#: Bytes of one uncompressed file: 50 MB since November 2016.
MAX_BYTES = 52_428_800
#: The limit of all earlier editions, which at least one engine still states; the default here.
STRICTEST_MAX_BYTES = 10_485_760
#: Characters of a `loc`: the prose says less than 2,048, the XSD at most 2,048. This satisfies both.
MAX_LOCATION = 2_047

#: Google's limits: images of one URL, articles in one file, and the days for which an article is news.
#: The limit of images is also used for the videos of one URL.
MAX_IMAGES = 1_000
MAX_NEWS = 1_000
NEWS_DAYS = 2


class Limits(NamedTuple):
    """The limits of one document; `bytes` includes the closing tag."""

    urls: int
    bytes: int
