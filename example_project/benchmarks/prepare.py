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
#: What is said to drop a database, with all who use it.
DROPS = {"postgresql": "DROP DATABASE {} WITH (FORCE)", "mysql": "DROP DATABASE {}"}
CREATES = {
    "postgresql": "CREATE DATABASE {} TEMPLATE template0 ENCODING 'UTF8'",
    "mysql": "CREATE DATABASE {} CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_ci",
}
OURS = re.compile(r"sitemaps09_bench_[0-9]+_(ascii|mixed)")


def server(url: str) -> Any:
    """A connection to a server, apart from the database that is named."""
    # The drivers are not there where only SQLite is wanted.
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
    """The database of a URL, if it is a server's and not there."""
    parts = urlsplit(url)
    if parts.scheme not in CREATES:
        return
    name = parts.path[1:]
    if not OURS.fullmatch(name):
        raise ValueError(f"{name} is no name of a database of the benchmark")
    with closing(server(url)) as there, closing(there.cursor()) as cursor:
        if name not in names(cursor, parts.scheme):
            cursor.execute(CREATES[parts.scheme].format(name))


def names(cursor: Any, scheme: str) -> list[str]:
    """The databases of the benchmark on a server."""
    cursor.execute("SHOW DATABASES" if scheme == "mysql" else "SELECT datname FROM pg_database")
    return [name for (name,) in cursor.fetchall() if OURS.fullmatch(name)]


def drop(url: str) -> None:
    """Every database of the benchmark on that server."""
    scheme = urlsplit(url).scheme
    with closing(server(url)) as there, closing(there.cursor()) as cursor:
        for name in names(cursor, scheme):
            cursor.execute(DROPS[scheme].format(name))
            sys.stderr.write(f"dropped {name}\n")


def fill(published: int, slugs: Any) -> None:
    """Tables and rows, where they are not there. All rows come in one transaction, so none or all are."""
    from django.contrib.sites.models import Site

    from articles.models import Article, Category
    from benchmarks import rows
    from benchmarks.related.models import Seat
    from demo.rows import categories

    call_command("migrate", verbosity=0)
    # Apps without migrations, of which one refers to the tables of the others.
    call_command("migrate", run_syncdb=True, verbosity=0)
    with transaction.atomic():
        Site.objects.update_or_create(pk=1, defaults={"domain": "www.example.com", "name": "Example"})
        if not Article.objects.exists():
            Category.objects.bulk_create(categories())
            ids = list(Category.objects.order_by("slug").values_list("pk", flat=True))
            made = rows.articles(published, slugs, ids)
            while batch := list(islice(made, BATCH)):
                Article.objects.bulk_create(batch)
        if not Seat.objects.exists():
            related()
    with connection.cursor() as cursor:
        cursor.execute(
            "ANALYZE TABLE articles_article, benchmark_related_comment, benchmark_related_seat"
            if connection.vendor == "mysql"
            else "ANALYZE"
        )
    found = Article.objects.filter(published=True).count()
    if found != published:
        raise SystemExit(
            f"The database holds {found:,} published articles, not {published:,}. Use --clean."
        )


def related() -> None:
    """What articles are joined to, by the database alone: two comments each, and as many seats."""
    with connection.cursor() as cursor:
        for shown in (True, False):
            cursor.execute(
                "INSERT INTO benchmark_related_comment (article_id, shown) "
                "SELECT id, %s FROM articles_article ORDER BY id",
                [shown],
            )
        # The remainder, since `/` is not the same everywhere.
        cursor.execute(
            "INSERT INTO benchmark_related_seat (block, number, updated) "
            "SELECT id % 100, id, updated FROM articles_article WHERE published"
        )


def versions() -> dict[str, str]:
    """Of all that is measured here."""
    found = {"python": platform.python_version(), "django": django.get_version()}
    for name in ("django-sitemaps09", *OPTIONAL):
        with suppress(PackageNotFoundError):
            found[name] = version(name.partition("[")[0])
    asked = {"sqlite": "sqlite_version()", "postgresql": "CURRENT_SETTING('server_version')"}
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT {asked.get(connection.vendor, 'VERSION()')}")
        number = cursor.fetchone()[0].split()[0].partition("-")[0]
    found["database"] = f"{connection.display_name} {number}"
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
