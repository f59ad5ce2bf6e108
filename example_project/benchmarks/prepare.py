"""Create, fill and drop the databases of the benchmark, inside its virtual environment.

`python -m benchmarks.prepare fill ROWS SLUGS`, `... pages FOLDER` or `... drop`. An environment variable
names the database. `fill` prints the versions that are measured as one line of JSON.
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

#: The exit status if a server does not answer.
NO_SERVER = 3
BATCH = 2_000
#: Statements that drop a database, even if it is in use.
DROPS = {"postgresql": "DROP DATABASE {} WITH (FORCE)", "mysql": "DROP DATABASE {}"}
CREATES = {
    "postgresql": "CREATE DATABASE {} TEMPLATE template0 ENCODING 'UTF8'",
    "mysql": "CREATE DATABASE {} CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_ci",
}
OURS = re.compile(r"sitemaps09_bench_[0-9]+_(ascii|mixed)")


def server(url: str) -> Any:
    """Return a connection to the server of a URL, without selecting the database."""
    # For SQLite alone, the drivers need not be installed.
    parts = urlsplit(url)
    if parts.scheme == "mysql":
        import MySQLdb

        return MySQLdb.connect(
            host=parts.hostname,
            port=parts.port or 3306,
            user=unquote(parts.username or ""),
            password=unquote(parts.password or ""),
            connect_timeout=5,
        )
    import psycopg

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
    """Create the database of a URL if it is on a server and does not exist."""
    parts = urlsplit(url)
    if parts.scheme not in CREATES:
        return
    name = parts.path[1:]
    if not OURS.fullmatch(name):
        raise ValueError(f"{name} is not the name of a benchmark database")
    with closing(server(url)) as connected, closing(connected.cursor()) as cursor:
        if name not in names(cursor, parts.scheme):
            cursor.execute(CREATES[parts.scheme].format(name))


def names(cursor: Any, scheme: str) -> list[str]:
    """Return the names of all benchmark databases on a server."""
    cursor.execute("SHOW DATABASES" if scheme == "mysql" else "SELECT datname FROM pg_database")
    return [name for (name,) in cursor.fetchall() if OURS.fullmatch(name)]


def drop(url: str) -> None:
    """Drop all benchmark databases on a server."""
    scheme = urlsplit(url).scheme
    with closing(server(url)) as connected, closing(connected.cursor()) as cursor:
        for name in names(cursor, scheme):
            cursor.execute(DROPS[scheme].format(name))
            sys.stderr.write(f"dropped {name}\n")


def fill(published: int, slugs: Any) -> None:
    """Create tables and rows that do not exist. All rows are created in one transaction."""
    from django.contrib.sites.models import Site

    from articles.models import Article, Category
    from benchmarks import rows
    from benchmarks.related.models import Seat
    from demo.rows import categories

    call_command("migrate", verbosity=0)
    # Apps without migrations, with foreign keys to the tables of the other apps.
    call_command("migrate", run_syncdb=True, verbosity=0)
    with transaction.atomic():
        Site.objects.update_or_create(pk=1, defaults={"domain": "www.example.com", "name": "Example"})
        if not Article.objects.exists():
            Category.objects.bulk_create(categories())
            ids = list(Category.objects.order_by("slug").values_list("pk", flat=True))
            articles = rows.articles(published, slugs, ids)
            while batch := list(islice(articles, BATCH)):
                Article.objects.bulk_create(batch)
        if not Seat.objects.exists():
            related()
    with connection.cursor() as cursor:
        cursor.execute(
            "ANALYZE TABLE articles_article, benchmark_related_comment, benchmark_related_seat"
            if connection.vendor == "mysql"
            else "ANALYZE"
        )
    count = Article.objects.filter(published=True).count()
    if count != published:
        raise SystemExit(f"The database has {count:,} published articles, not {published:,}. Use --clean.")


def related() -> None:
    """Create two comments and a seat for each article, inside the database."""
    with connection.cursor() as cursor:
        for shown in (True, False):
            cursor.execute(
                "INSERT INTO benchmark_related_comment (article_id, shown) "
                "SELECT id, %s FROM articles_article ORDER BY id",
                [shown],
            )
        # Not `/`, which differs between databases.
        cursor.execute(
            "INSERT INTO benchmark_related_seat (block, number, updated) "
            "SELECT id % 100, id, updated FROM articles_article WHERE published"
        )


def versions() -> dict[str, str]:
    """Return the versions of everything that is measured."""
    numbers = {"python": platform.python_version(), "django": django.get_version()}
    for name in ("django-sitemaps09", *OPTIONAL):
        with suppress(PackageNotFoundError):
            numbers[name] = version(name.partition("[")[0])
    queries = {"sqlite": "sqlite_version()", "postgresql": "CURRENT_SETTING('server_version')"}
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT {queries.get(connection.vendor, 'VERSION()')}")
        number = cursor.fetchone()[0].split()[0].partition("-")[0]
    numbers["database"] = f"{connection.display_name} {number}"
    return numbers


def pages(folder: str) -> None:
    """Export uncompressed pages, for the measurement of compression."""
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
        except Exception as error:  # each driver raises its own exceptions if it or the server is missing
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
