"""Write index entries as the bytes of one document."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import repeat

from django_sitemaps09.entries import IndexEntry
from django_sitemaps09.protocol import SITEMAP_NAMESPACE
from django_sitemaps09.writer.text import DECLARATION, escape


def index_document(entries: Iterable[IndexEntry]) -> bytes:
    """Return a sitemap index. The caller enforces its limits, and puts further entries into another one."""
    return b"".join(_index_lines(entries))


def _index_lines(entries: Iterable[IndexEntry]) -> Iterator[bytes]:
    yield f'{DECLARATION}<sitemapindex xmlns="{SITEMAP_NAMESPACE}">\n'.encode()
    for entry in entries:
        location, lastmod = escape([entry.location, entry.lastmod or ""], repeat(entry.location))
        lastmod_element = f"<lastmod>{lastmod}</lastmod>" if lastmod else ""
        yield f"<sitemap><loc>{location}</loc>{lastmod_element}</sitemap>\n".encode()
    yield b"</sitemapindex>\n"
