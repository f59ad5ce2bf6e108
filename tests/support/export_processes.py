"""The memory of exports, in a process of their own: `python -m tests.support.export_processes`."""

from __future__ import annotations

import sys
from pathlib import Path

import django
from django.db import connection
from django.db.models import F, Value
from django.db.models.functions import Concat

from django_sitemaps09.export import export
from tests import settings as configuration
from tests.support.configuration import BASE
from tests.support.exports import article_model, article_sitemap


def peaks(folder: str, *counts: int) -> list[int]:
    """Return the peak memory, in bytes, after an export of each of these numbers of rows."""
    model = article_model()
    with connection.schema_editor() as editor:
        editor.create_model(model._meta.get_field("category").related_model)
        editor.create_model(model)
    with connection.cursor() as cursor:
        cursor.execute(
            f"INSERT INTO {model._meta.db_table} (id, slug, published, updated)"  # noqa: S608 no input
            " WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %s)"
            " SELECT i, 'article-number-' || i, 1, '2026-01-01 00:00:00' FROM n",
            [max(counts)],
        )
    found = []
    for count in counts:
        rows = model.objects.filter(pk__lte=count)
        sitemap = article_sitemap(
            queryset=rows, location=Concat(Value("/articles/"), F("slug"), Value("/"))
        )
        report = export(output=f"{folder}/{count}", sitemaps={"a": sitemap}, base_url=BASE)
        assert report.urls == count, report.failures
        found.append(high_water())
    return found


def high_water() -> int:
    status = Path("/proc/self/status")
    if status.exists():
        # Unlike ru_maxrss, this does not include the memory of the parent process.
        (line,) = [line for line in status.read_text().splitlines() if line.startswith("VmHWM:")]
        return int(line.split()[1]) * 1_024
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1_024)


if __name__ == "__main__":
    configuration.DATABASES["default"]["NAME"] = f"{sys.argv[1]}/db.sqlite3"
    django.setup()
    print(*peaks(sys.argv[1], *map(int, sys.argv[2:])))  # noqa: T201
