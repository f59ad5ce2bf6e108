"""The limits of the protocol and of search engines, with their sources, and those of values without one."""

from __future__ import annotations

from typing import NamedTuple

#: Maximum URLs in a sitemap, and sitemaps in an index ("Sitemap index files" in the protocol).
MAX_URLS = 50_000
#: Maximum size of an uncompressed file, in bytes: 50 MB since November 2016.
MAX_BYTES = 52_428_800
#: The default of `MAX_BYTES`: the limit until November 2016, which one search engine still documents.
OLD_MAX_BYTES = 10_485_760

#: Maximum length, in characters, of a `loc`. The protocol says less than 2,048, and the XSD at most 2,048.
MAX_LOCATION = 2_047
#: Yandex's limit of a `loc`, about which an audit warns.
YANDEX_MAX_LOCATION = 1_024
#: Maximum length, in characters, of a location before conversion.
MAX_RAW_LOCATION = 5_000
#: Maximum length, in characters, of a string without a documented limit: the highest limit of others.
MAX_TEXT = 2_048

#: Google's limits: images for one URL, articles in one file, and the age of an article in days. That of
#: images is used for videos, too.
MAX_IMAGES = 1_000
MAX_NEWS = 1_000
NEWS_DAYS = 2

#: Google's limits of a video: characters of its texts, number of tags, and duration in seconds.
#: https://developers.google.com/search/docs/crawling-indexing/sitemaps/video-sitemaps
MAX_VIDEO_TITLE = 100
MAX_VIDEO_DESCRIPTION = 2_048
MAX_VIDEO_UPLOADER = 255
MAX_VIDEO_TAGS = 32
MAX_DURATION = 28_800
#: Maximum number of views of a video: the highest value of the largest integer column in databases.
MAX_VIEWS = 2**63 - 1
#: Maximum number of countries in a restriction: the number of two-letter codes.
MAX_WORDS = 676

#: Crawlers read at least 500 KiB of a robots.txt (RFC 9309, section 2.5). Google reads no more.
MAX_ROBOTS_BYTES = 512_000
#: Maximum `Sitemap` lines for Seznam's crawler. The protocol and Google do not state a limit.
MAX_ROBOTS_SITEMAPS = 100

#: The maximum number of URLs in one message of IndexNow. https://www.indexnow.org/documentation
MAX_MESSAGE_URLS = 10_000


class Limits(NamedTuple):
    """The limits of one document. `bytes` includes the closing tag."""

    urls: int
    bytes: int


INDEX_LIMITS = Limits(MAX_URLS, MAX_BYTES)
