"""Prints by how many megabytes the index of contrib's views makes a process grow, in a process of its own.

    python -m tests.support.index_memory ALIAS DOUBLINGS ranges|cursor

The section's `lastmod` is a method, and it has as many rows as doubling one so often gives.
"""

from __future__ import annotations

import os
import resource
import sys
from pathlib import Path
from typing import Any

os.environ["DJANGO_SETTINGS_MODULE"] = "tests.settings"

import django
from django.conf import settings
from django.db import connections
from django.db.models import Count, QuerySet
from django.test import RequestFactory
from django.urls import path, set_urlconf

django.setup()

from django_sitemaps09 import Sitemap, views  # noqa: E402 models need what is set up above
from tests.models import Article, Category  # noqa: E402


def megabytes() -> float:
    """Return the peak memory of this process; Linux counts kilobytes, macOS bytes."""
    status = Path("/proc/self/status")
    if status.exists():
        # getrusage() includes the memory of the parent process.
        return float(status.read_text().partition("VmHWM:")[2].split()[0]) / 1e3
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (1e6 if sys.platform == "darwin" else 1e3)


def section(rows: QuerySet[Article]) -> type[Sitemap[Any]]:
    return type(
        "Articles", (Sitemap,), {"items": lambda self: rows, "lastmod": lambda self, item: item.updated}
    )


def write(alias: str, doublings: int) -> None:
    category = Category.objects.using(alias).create(slug="a")
    Article.objects.using(alias).create(
        slug="a" * 100, category=category, updated="2026-01-01T10:00:00Z", day="2026-01-01"
    )
    columns = "slug, category_id, published, updated, day"
    with connections[alias].cursor() as cursor:
        for _ in range(doublings):
            cursor.execute(f"INSERT INTO tests_article ({columns}) SELECT {columns} FROM tests_article")  # noqa: S608


def main(alias: str, doublings: int, shape: str) -> None:
    connection: Any = connections[alias]
    if alias == "default":
        # Not in memory, because it would be measured, too.
        connection.settings_dict["TEST"]["NAME"] = os.environ["SITEMAPS09_FILE"]
    before = connection.settings_dict["NAME"]
    # Otherwise, the sites framework would query another database.
    settings.SITEMAPS09 = {"BASE_URL": "https://www.example.com"}
    set_urlconf((path("sitemap-<section>.xml", views.sitemap, name="sitemap"),))  # type: ignore[arg-type]
    connection.creation.create_test_db(verbosity=0, autoclobber=True, serialize=False)
    try:
        write(alias, doublings)
        rows = Article.objects.using(alias).select_related("category").order_by("slug")
        if shape == "cursor":
            rows = rows.annotate(number=Count("comments"))
        few = rows.filter(pk__lt=1_000)
        for some, name in ((few, "few"), (rows, "all")):
            measured = megabytes()
            request = RequestFactory().get("/sitemap.xml")
            content = (
                views.index(request, {name: section(some)}, sitemap_url_name="sitemap").render().content
            )
            assert b"<lastmod>2026-01-01T10:00:00Z</lastmod>" in content
        sys.stdout.write(f"{megabytes() - measured:.1f} {megabytes():.1f}\n")
    finally:
        connection.creation.destroy_test_db(before, verbosity=0)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), sys.argv[3])
