"""Sections and readers of published files, for tests of exports."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import django
from django.db import connection
from django.db.models import F, Value
from django.db.models.functions import Concat

from django_sitemaps09.export import export
from django_sitemaps09.export.rendering import sink
from tests import settings as configuration
from tests.support.configuration import BASE
from tests.support.exports import article_model, article_sitemap
from tests.support.sections import Numbers


def killed(folder: str, when: str) -> None:
    """Export, and die at the n-th write to a page or move of a file, as in a power cut."""
    what, _, number = when.partition(":")
    left = int(number)

    def dying(function: Callable[..., Any]) -> Callable[..., Any]:
        def called(*arguments: Any) -> Any:
            nonlocal left
            left -= 1
            if not left:
                os.kill(os.getpid(), signal.SIGKILL)
            return function(*arguments)

        return called

    if what == "write":
        sink.Sink.write = dying(sink.Sink.write)  # type: ignore[method-assign]
    else:
        Path.replace = dying(Path.replace)  # type: ignore[method-assign]
    export(output=folder, sitemaps={"a": Numbers(9), "b": Numbers(9)}, base_url=BASE)


def limited(folder: str, count: str) -> None:
    """Export with a limit of 4 kB for each file."""
    import resource

    resource.setrlimit(resource.RLIMIT_FSIZE, (4_096, 4_096))
    sitemaps = {"a": Numbers(int(count)), "b": Numbers(1)}
    report = export(output=folder, sitemaps=sitemaps, base_url=BASE)
    sys.stdout.write("\n".join(report.failures))


def peak(folder: str, rows: str) -> None:
    """Print the peak memory of an export of this many rows, in bytes."""
    model = article_model()
    with connection.schema_editor() as editor:
        editor.create_model(model._meta.get_field("category").related_model)
        editor.create_model(model)
    with connection.cursor() as cursor:
        cursor.execute(
            f"INSERT INTO {model._meta.db_table} (id, slug, published, updated)"  # noqa: S608 no input
            " WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %s)"
            " SELECT i, 'article-number-' || i, 1, '2026-01-01 00:00:00' FROM n",
            [int(rows)],
        )
    sitemap = article_sitemap(location=Concat(Value("/articles/"), F("slug"), Value("/")))
    report = export(output=folder, sitemaps={"a": sitemap}, base_url=BASE)
    assert report.urls == int(rows), report.failures
    sys.stdout.write(str(high_water()))


def high_water() -> int:
    status = Path("/proc/self/status")
    if status.exists():
        # Unlike ru_maxrss, this does not include the memory of the parent process.
        (line,) = [line for line in status.read_text().splitlines() if line.startswith("VmHWM:")]
        return int(line.split()[1]) * 1_024
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1_024)


if __name__ == "__main__":
    configuration.DATABASES["default"]["NAME"] = f"{sys.argv[2]}.sqlite3"
    django.setup()
    {"killed": killed, "limited": limited, "peak": peak}[sys.argv[1]](*sys.argv[2:])
