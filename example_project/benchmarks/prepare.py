"""The benchmark's databases: made, filled, dropped. Runs in the benchmark's own virtual environment.

`python -m benchmarks.prepare fill ROWS SLUGS`, `... pages FOLDER` or `... drop`; the database is told
by the environment. `fill` prints what was found as one line of JSON.
"""

from __future__ import annotations

import json
import os
import platform
import re
import sys
from contextlib import closing, suppress
from importlib.metadata import PackageNotFoundError, version
from itertools import islice
from typing import Any
from urllib.parse import unquote, urlsplit

import django
from django.core.management import call_command
from django.db import connection, transaction

from benchmarks import subjects
from benchmarks.environment import OPTIONAL

#: The exit status where a server does not answer.
NO_SERVER = 3
BATCH = 2_000
OURS = re.compile(r"sitemaps09_bench_[0-9]+_(ascii|mixed)")


def server(url: str) -> Any:
    """A connection to a PostgreSQL server, apart from the database that is named."""
    # The driver is not there where only SQLite is wanted.
    import psycopg

    parts = urlsplit(url)
    return psycopg.connect(
        host=parts.hostname,
        port=parts.port,
        user=unquote(parts.username or ""),
        password=unquote(parts.password or ""),
        dbname="postgres",
        autocommit=True,
        connect_timeout=5,
    )


def create(url: str) -> None:
    """The database of a URL, if it is PostgreSQL's and not there."""
    parts = urlsplit(url)
    if parts.scheme != "postgresql":
        return
    name = parts.path[1:]
    if not OURS.fullmatch(name):
        raise ValueError(f"{name} is no name of a database of the benchmark")
    with closing(server(url)) as there:
        if there.execute("SELECT 1 FROM pg_database WHERE datname = %s", [name]).fetchone() is None:
            there.execute(f"CREATE DATABASE {name} TEMPLATE template0 ENCODING 'UTF8'")


def drop(url: str) -> None:
    """Every database of the benchmark on that server."""
    with closing(server(url)) as there:
        for (name,) in there.execute("SELECT datname FROM pg_database").fetchall():
            if OURS.fullmatch(name):
                there.execute(f"DROP DATABASE {name} WITH (FORCE)")
                sys.stderr.write(f"dropped {name}\n")


def fill(published: int, slugs: Any) -> None:
    """Tables and rows, where they are not there. All rows come in one transaction, so none or all are."""
    from django.contrib.sites.models import Site

    from articles.models import Article, Category
    from benchmarks import rows
    from demo.rows import categories

    call_command("migrate", verbosity=0)
    with transaction.atomic():
        Site.objects.update_or_create(pk=1, defaults={"domain": "www.example.com", "name": "Example"})
        if not Article.objects.exists():
            Category.objects.bulk_create(categories())
            ids = list(Category.objects.order_by("slug").values_list("pk", flat=True))
            made = rows.articles(published, slugs, ids)
            while batch := list(islice(made, BATCH)):
                Article.objects.bulk_create(batch)
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")
    found = Article.objects.filter(published=True).count()
    if found != published:
        raise SystemExit(
            f"The database holds {found:,} published articles, not {published:,}. Use --clean."
        )


def versions() -> dict[str, str]:
    """Of all that is measured here."""
    found = {"python": platform.python_version(), "django": django.get_version()}
    for name in ("django-sitemaps09", *OPTIONAL):
        with suppress(PackageNotFoundError):
            found[name] = version(name.partition("[")[0])
    numbers = connection.Database.sqlite_version_info if connection.vendor == "sqlite" else None
    if numbers is None:
        with connection.cursor() as cursor:
            cursor.execute("SHOW server_version")
            found["database"] = f"PostgreSQL {cursor.fetchone()[0].split()[0]}"
    else:
        found["database"] = f"SQLite {'.'.join(map(str, numbers))}"
    return found


def pages(folder: str) -> None:
    """Our pages, not compressed, for those that measure compression."""
    from django_sitemaps09.export import export

    report = export(output=folder, base_url="https://www.example.com", gzip=False)
    if not report.published:
        raise SystemExit("The pages could not be exported: " + "; ".join(report.failures))


def main(action: str, *arguments: str) -> None:
    url = os.environ[subjects.DATABASE]
    if action == "drop":
        drop(url)
        return
    if action == "fill":
        try:
            create(url)
        except Exception as error:  # whatever a driver or a server that is not there makes of it
            sys.stderr.write(f"{type(error).__name__}: {error}\n")
            raise SystemExit(NO_SERVER) from error
    django.setup()
    if action == "fill":
        fill(int(arguments[0]), arguments[1])
        sys.stdout.write(f"{json.dumps(versions())}\n")
    else:
        pages(arguments[0])


if __name__ == "__main__":
    main(*sys.argv[1:])
