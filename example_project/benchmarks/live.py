"""Compare live requests with `django.contrib.sitemaps`, on PostgreSQL and gunicorn with two workers.

`python example_project/benchmarks/live.py --rows 1000000` needs gunicorn, psycopg and redis in its own
environment, and both servers on this machine. Every request is sent over a new connection. Each table shows
the medians of several requests from a single run.
"""

from __future__ import annotations

import argparse
import http.client
import os
import re
import socket
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path
from secrets import token_hex

EXAMPLE = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(EXAMPLE))

from benchmarks import subjects  # noqa: E402 found only now

CACHE = "SITEMAPS09_BENCHMARK_CACHE"
OURS = "page: ours"
CONTRIB = "page: django.contrib.sitemaps"
POSTGRESQL = "postgresql://postgres@127.0.0.1:5432"
_HOST = {"Host": "testserver"}
_DEADLINE = 600
_CONCURRENT = 16
# How often requests are sent that take a few milliseconds.
_TIMES = 100
GUNICORN = ["gunicorn", "--workers=2", f"--timeout={_DEADLINE}", "--log-level=warning"]
GUNICORN += ["django.core.wsgi:get_wsgi_application()"]

FILL = """
INSERT INTO articles_article (id, category_id, slug, title, published, updated, image_url)
SELECT n, {category} + mod(n, {categories}),
    'quiet-harbours-in-lisbon-' || substr(md5(n::text), 1, 12) || '-' || n, 'Title ' || n, mod(n, 50) <> 25,
    timestamptz '2023-01-01 00:00Z' + mod(n::bigint * 7919, 94608000) * interval '1 second', ''
FROM generate_series(1, %s) AS n
"""


def database_url(server_url: str, rows: int) -> str:
    """Return the URL of the database with so many rows."""
    return f"{server_url}/sitemaps09_bench_{rows}_ascii"


def fill(rows: int) -> None:
    """Create the database with `rows` rows, one in fifty of them unpublished."""
    import django
    from django.core.management import call_command
    from django.db import connection, transaction

    from benchmarks import prepare

    prepare.create(os.environ[subjects.DATABASE])
    django.setup()
    from articles.models import Article, Category
    from demo.rows import categories

    call_command("migrate", verbosity=0)
    call_command("migrate", run_syncdb=True, verbosity=0)
    if not Article.objects.exists():
        with transaction.atomic(), connection.cursor() as cursor:
            Category.objects.all().delete()
            Category.objects.bulk_create(categories())
            first = Category.objects.order_by("pk").values_list("pk", flat=True)[0]
            sql = FILL.format(category=first, categories=Category.objects.count())
            cursor.execute(sql, [rows])
    with connection.cursor() as cursor:
        cursor.execute("VACUUM ANALYZE")


@contextmanager
def server(
    subject: str, database: str, cache: str, seconds: int, server_command: Sequence[str] = GUNICORN
) -> Iterator[int]:
    """Run a server with two workers; yield its port, and print the memory of its largest worker."""
    with closing(socket.create_server(("127.0.0.1", 0))) as probe:
        port = probe.getsockname()[1]
    environment = {
        **os.environ,
        subjects.SUBJECT: subject,
        subjects.DATABASE: database,
        subjects.OUTPUT: "",
        CACHE: cache,
        "SITEMAPS09_BENCHMARK_LIVE_SECONDS": str(seconds),
        "DJANGO_SETTINGS_MODULE": "benchmarks.settings",
        "PYTHONPATH": str(EXAMPLE),
    }
    command = [sys.executable, "-m", *server_command]
    command += [f"--bind=127.0.0.1:{port}"] if "gunicorn" in command else ["--factory", f"--port={port}"]
    process = subprocess.Popen(command, env=environment, cwd=EXAMPLE)  # noqa: S603 our own command
    try:
        for _ in range(200):
            try:
                request(port, "/no-such-page/")
                break
            except OSError:
                time.sleep(0.1)
        yield port
        peak = max(map(peak_kilobytes, children(process.pid)))
        sys.stderr.write(f"{subject}: the largest worker had {peak // 1024} MB\n")
    finally:
        process.terminate()
        process.wait(60)


def children(pid: int) -> list[int]:
    """Return the processes whose parent is a process."""
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def peak_kilobytes(pid: int) -> int:
    """Return the peak memory of a process."""
    found = re.search(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text())
    return int(found[1]) if found else 0


def request(port: int, path: str, **headers: str) -> tuple[int, bytes, str]:
    """Return status, content and ETag of a request."""
    with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=_DEADLINE)) as connection:
        connection.request("GET", path, headers={**_HOST, **headers})
        response = connection.getresponse()
        return response.status, response.read(), response.headers.get("ETag", "")


def seconds(call: Callable[[], object], times: int) -> float:
    """Return the median duration of a call."""
    durations = []
    for _ in range(times):
        started = time.perf_counter()
        call()
        durations.append(time.perf_counter() - started)
    return statistics.median(durations)


def ours(database: str, rounds: int) -> dict[str, tuple[float, int]]:
    """Return seconds and URLs of each request to the native views."""
    results: dict[str, tuple[float, int]] = {}
    cache = token_hex(8)
    with server(OURS, database, cache, 60) as port:
        started = time.perf_counter()
        with ThreadPoolExecutor(_CONCURRENT) as pool:
            indexes = list(pool.map(lambda _: request(port, "/sitemap.xml"), range(_CONCURRENT)))
        results[f"{_CONCURRENT} requests for the index at once, nothing cached"] = (
            time.perf_counter() - started,
            0,
        )
        assert {status for status, _, _ in indexes} == {200}
        paths = [
            match[1].removesuffix(".gz")
            for match in re.finditer(r"<loc>https?://[^/]+([^<]+)</loc>", indexes[0][1].decode())
        ]
        results["index, cached"] = seconds(lambda: request(port, "/sitemap.xml"), _TIMES), 0
        for name, path in {
            "first page": paths[0],
            "middle page": paths[len(paths) // 2],
            "last full page": paths[-2],
        }.items():
            status, content, etag = request(port, path)
            assert status == 200
            urls = content.count(b"<loc>")
            results[name] = seconds(lambda path=path: request(port, path), rounds), urls
        path = paths[len(paths) // 2]
        _, content, etag = request(port, path)
        urls = content.count(b"<loc>")
        results["middle page, .xml.gz"] = seconds(lambda: request(port, f"{path}.gz"), rounds), urls

        def conditional() -> None:
            status, *_ = request(port, path, **{"If-None-Match": etag})
            assert status == 304

        results["middle page, conditional, within LIVE_SECONDS"] = seconds(conditional, _TIMES), urls
        results["a number that no page has"] = (
            seconds(lambda: request(port, "/sitemap-articles-12345678.xml"), _TIMES),
            0,
        )
        results["a path that no URL pattern matches"] = (
            seconds(lambda: request(port, "/no-such-page/"), _TIMES),
            0,
        )
    with server(OURS, database, cache, 0) as port:
        results["middle page, conditional, after LIVE_SECONDS"] = seconds(conditional, rounds), urls
    with server(OURS, database, f"{cache}+pages", 60) as port:
        request(port, path)
        results["middle page, in LIVE_CACHE"] = (
            seconds(lambda: request(port, path, **{"Accept-Encoding": "gzip"}), _TIMES),
            urls,
        )
        results["middle page, in LIVE_CACHE, .xml.gz"] = (
            seconds(lambda: request(port, f"{path}.gz"), _TIMES),
            urls,
        )
        for number in range(500):
            request(port, paths[number % len(paths)])
    return results


def contrib(database: str, rows: int, rounds: int) -> dict[str, tuple[float, int]]:
    """Return seconds and URLs of each request to contrib's views. Their index reads all rows."""
    results: dict[str, tuple[float, int]] = {}
    last_full_page = rows * 49 // 50 // 50_000
    with server(CONTRIB, database, token_hex(8), 60) as port:
        for name, number in {"first page": 1, "last full page": last_full_page}.items():
            path = f"/contrib/sitemap-articles.xml?p={number}"
            urls = request(port, path)[1].count(b"<loc>")
            results[name] = seconds(lambda path=path: request(port, path), rounds), urls
        started = time.perf_counter()
        status, *_ = request(port, "/contrib/sitemap.xml")
        assert status == 200, "the index failed"
        results["index"] = time.perf_counter() - started, 0
    return results


def table(ours_results: dict[str, tuple[float, int]], base: dict[str, tuple[float, int]]) -> str:
    """Return a Markdown table: milliseconds, microseconds a URL, and how many times as fast as contrib."""
    lines = ["| request | ms | µs/URL | times as fast |", "|---|---:|---:|---:|"]
    page_time = base["first page"][0] / base["first page"][1]
    for name, (duration, urls) in ours_results.items():
        per_url = f"{duration / urls * 1e6:.2f}" if urls else ""
        ratio = page_time / (duration / urls) if urls else base["index"][0] / duration
        if "index" not in name and not urls:
            ratio = 0
        times = f"{ratio:.0f}" if ratio else ""
        lines.append(f"| {name} | {duration * 1e3:.1f} | {per_url} | {times} |")
    for name, (duration, urls) in base.items():
        per_url = f"{duration / urls * 1e6:.2f}" if urls else ""
        lines.append(f"| django.contrib.sitemaps: {name} | {duration * 1e3:.1f} | {per_url} | 1 |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--server", default=POSTGRESQL, help="without a database")
    parser.add_argument("--fill", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    database = database_url(arguments.server, arguments.rows)
    if arguments.fill:
        fill(arguments.rows)
        return
    environment = {
        **os.environ,
        subjects.DATABASE: database,
        subjects.OUTPUT: "",
        "DJANGO_SETTINGS_MODULE": "benchmarks.settings",
        "PYTHONPATH": str(EXAMPLE),
    }
    subprocess.run(  # noqa: S603 our own command
        [sys.executable, __file__, "--fill", "--rows", str(arguments.rows), "--server", arguments.server],
        env=environment,
        check=True,
    )
    results = (
        ours(database, arguments.rounds),
        contrib(database, arguments.rows, max(1, arguments.rounds // 2)),
    )
    sys.stdout.write(f"{table(*results)}\n")


if __name__ == "__main__":
    main()
