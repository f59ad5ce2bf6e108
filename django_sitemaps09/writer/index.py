"""Write index entries as a sitemap index."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import repeat

from django_sitemaps09.entries import IndexEntry
from django_sitemaps09.protocol import SITEMAP_NAMESPACE
from django_sitemaps09.writer.styling import add_instruction
from django_sitemaps09.writer.text import DECLARATION, escape


def index_document(entries: Iterable[IndexEntry], *, styled: bool = False) -> bytes:
    """Return a sitemap index of the entries. The caller must ensure that the entries fit the limits."""
    lines = [f'{DECLARATION}<sitemapindex xmlns="{SITEMAP_NAMESPACE}">\n']
    for entry in entries:
        location, lastmod = escape([entry.location, entry.lastmod or ""], repeat(entry.location))
        lastmod_element = f"<lastmod>{lastmod}</lastmod>" if lastmod else ""
        lines.append(f"<sitemap><loc>{location}</loc>{lastmod_element}</sitemap>\n")
    document = "".join([*lines, "</sitemapindex>\n"]).encode()
    return add_instruction(document) if styled else document
