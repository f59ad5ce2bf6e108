"""The limits and the namespace of the protocol."""

from __future__ import annotations

from typing import NamedTuple

#: The namespace of sitemaps. Namespaces are compared as strings, so `https:` would be another namespace.
SITEMAP_NAMESPACE = "http://www.sitemaps.org/schemas/sitemap/0.9"

#: Maximum URLs in a sitemap, and sitemaps in an index ("Sitemap index files" in the protocol).
MAX_URLS = 50_000
#: Maximum size of an uncompressed file, in bytes: 50 MB since November 2016.
MAX_BYTES = 52_428_800
#: The default of `MAX_BYTES`: the limit until November 2016, which one search engine still documents.
STRICTEST_MAX_BYTES = 10_485_760
#: Maximum length, in characters, of a `loc`. The protocol says less than 2,048, and the XSD at most 2,048.
MAX_LOCATION = 2_047

#: Google's limits: images for one URL, articles in one file, and the age of an article in days.
#: `MAX_IMAGES` is used for the videos of one URL, too.
MAX_IMAGES = 1_000
MAX_NEWS = 1_000
NEWS_DAYS = 2


class Limits(NamedTuple):
    """The limits of one document. `bytes` includes the closing tag."""

    urls: int
    bytes: int


#: Limits of one index.
INDEX_LIMITS = Limits(MAX_URLS, MAX_BYTES)
