"""The steps that every export needs: reading rows with the database driver, and compressing pages."""

from __future__ import annotations

import sqlite3
import zlib
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

from django.db import connection

from benchmarks.measuring import Measured, Stopwatch
from benchmarks.subjects import ISAL_LEVEL, ZLIB_LEVEL

# As many rows as `django_sitemaps09` reads at once.
SLICES = {"sqlite": 1_500, "postgresql": 3_000, "mysql": 3_000}
# About the size of a slice of rows.
CHUNK = 300_000
QUERY = """
    SELECT article.id, category.slug, article.slug, CAST(article.updated AS text)
    FROM articles_article article JOIN articles_category category ON category.id = article.category_id
    WHERE article.published AND article.id > {placeholder} ORDER BY article.id LIMIT {limit}
"""


def driver(rows_a_query: int | None = None) -> Measured:
    """Measure reading all rows without Django, except for the settings of the connection."""
    rows_a_query = rows_a_query or SLICES[connection.vendor]
    if connection.vendor == "sqlite":
        opened: Any = sqlite3.connect(connection.settings_dict["NAME"])
        query = QUERY.format(placeholder="?", limit=rows_a_query)
    else:
        opened = connection.Database.connect(**_parameters())
        query = QUERY.format(placeholder="%s", limit=rows_a_query)
    urls = last = 0
    watch = Stopwatch()
    with closing(opened), watch:
        cursor = opened.cursor()
        while rows := cursor.execute(query, [last]).fetchall():
            last = rows[-1][0]
            urls += len(rows)
    return watch.measured(0, urls)


def _parameters() -> dict[str, Any]:
    names = {"NAME": "dbname", "USER": "user", "PASSWORD": "password", "HOST": "host", "PORT": "port"}
    return {theirs: connection.settings_dict[ours] for ours, theirs in names.items()}


def compression(pages: Path, *, isal: bool) -> Measured:
    """Measure compressing pages in memory, in one thread, without writing files."""
    watch = Stopwatch()
    size = urls = 0
    for path in sorted(pages.glob("sitemap-*.xml")):
        page = path.read_bytes()
        chunks = [page[start : start + CHUNK] for start in range(0, len(page), CHUNK)]
        with watch:
            compressor = _compressor(isal=isal)
            compressed = [compressor.compress(chunk) for chunk in chunks]
            compressed.append(compressor.flush())
        size += sum(map(len, compressed))
        urls += page.count(b"<url>")
    return watch.measured(size, urls)


def _compressor(*, isal: bool) -> Any:
    if isal:
        # It is installed and enabled only for these subjects.
        from isal import isal_zlib

        make: Callable[..., Any] = isal_zlib.compressobj
        return make(ISAL_LEVEL, isal_zlib.DEFLATED, 31)
    return zlib.compressobj(ZLIB_LEVEL, zlib.DEFLATED, 31)
