"""Use `traced` for the memory that Python allocates in a block, `peak_memory` for that of the process.

    python -m tests.support.memory ALIAS DOUBLINGS ranges|cursor

prints by how many megabytes the index of contrib's views makes a process of its own grow. The section's
`lastmod` is a method, and it has as many rows as doubling one so often gives.
"""

from __future__ import annotations

import os
import sys
import tracemalloc
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import django
import pytest
from django.conf import settings
from django.db import connections
from django.db.models import Count
from django.test import RequestFactory
from django.urls import path, set_urlconf

from django_sitemaps09.export.report import resource
from tests.support.sections import listing

needs_resource = pytest.mark.skipif(resource is None, reason="this system does not tell")


@contextmanager
def traced():
    """Measure the bytes that Python has `held` at the end of the block, and the `peak` inside."""
    found = SimpleNamespace(held=0, peak=0)
    tracemalloc.start()
    try:
        yield found
        found.held, found.peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()


def peak_memory():
    """Return the peak memory of this process in bytes; Linux counts kilobytes, macOS bytes."""
    status = Path("/proc/self/status")
    if status.exists():
        # getrusage() includes the memory of the parent process.
        return int(status.read_text().partition("VmHWM:")[2].split()[0]) * 1_024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1_024)


def write(alias, doublings):
    from tests.models import Article, Category

    category = Category.objects.using(alias).create(slug="a")
    times = {"updated": "2026-01-01T10:00:00Z", "day": "2026-01-01"}
    Article.objects.using(alias).create(slug="a" * 100, category=category, **times)
    columns = "slug, category_id, published, updated, day"
    with connections[alias].cursor() as cursor:
        for _ in range(doublings):
            cursor.execute(f"INSERT INTO tests_article ({columns}) SELECT {columns} FROM tests_article")  # noqa: S608


def main(alias, doublings, shape):
    from django_sitemaps09 import views
    from tests.models import Article

    connection = connections[alias]
    if alias == "default":
        # Not in memory, because it would be measured, too.
        connection.settings_dict["TEST"]["NAME"] = os.environ["SITEMAPS09_FILE"]
    before = connection.settings_dict["NAME"]
    # Otherwise, the sites framework would query another database.
    settings.SITEMAPS09 = {"BASE_URL": "https://www.example.com"}
    set_urlconf((path("sitemap-<section>.xml", views.sitemap, name="sitemap"),))
    connection.creation.create_test_db(verbosity=0, autoclobber=True, serialize=False)
    try:
        write(alias, doublings)
        rows = Article.objects.using(alias).select_related("category").order_by("slug")
        if shape == "cursor":
            rows = rows.annotate(number=Count("comments"))
        for some, name in ((rows.filter(pk__lt=1_000), "few"), (rows, "all")):
            measured, section = peak_memory(), listing(some, lastmod=lambda self, item: item.updated)
            request = RequestFactory().get("/sitemap.xml")
            response = views.index(request, {name: section}, sitemap_url_name="sitemap").render()
            assert b"<lastmod>2026-01-01T10:00:00Z</lastmod>" in response.content
        sys.stdout.write(f"{(peak_memory() - measured) / 1e6:.1f} {peak_memory() / 1e6:.1f}\n")
    finally:
        connection.creation.destroy_test_db(before, verbosity=0)


if __name__ == "__main__":
    os.environ["DJANGO_SETTINGS_MODULE"] = "tests.settings"
    django.setup()
    main(sys.argv[1], int(sys.argv[2]), sys.argv[3])
