"""Readings of all rows of a section, with the CPU time of this process and of the database server."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from django.conf import settings
from django.db import connection
from django.utils.module_loading import import_string

from benchmarks.measuring import Measured, Stopwatch
from benchmarks.subjects import Subject
from django_sitemaps09.protocol.pages import each_page
from django_sitemaps09.protocol.urls import Base
from django_sitemaps09.rows.compile import compile_source
from django_sitemaps09.rows.source_base import Source, rows_on_page

try:
    from django_sitemaps09.protocol.limits import Limits
except ImportError:
    # The other checkout that is measured can be older.
    from django_sitemaps09.protocol.entries import Limits

_LIMITS = Limits(50_000, settings.SITEMAPS09["MAX_BYTES"])
_BASE = Base("https", "www.example.com")


def measure(subject: Subject) -> Measured:
    """Measure one reading; `urls` is the number of rows."""
    [section] = import_string(subject.sections).values()
    source = compile_source("articles", section, _BASE, _LIMITS)
    connection.ensure_connection()
    watch, server = Stopwatch(), Server()
    with watch:
        count = {"read": rows, "index": index, "fingerprints": fingerprints}[subject.kind](source)
    measured = watch.measured(0, count)
    return measured._replace(cpu=measured.cpu + server.seconds())


def rows(source: Source) -> int:
    """Read rows as an export does: divide them into pages, and read each page."""
    pages = each_page(source, rows_on_page(source, _LIMITS))
    return sum(len(batch.keys) for page in pages for batch in source.batches(page))


def index(source: Source) -> int:
    """Read rows as the live index does: find the bounds of pages, and the newest row of each page."""
    pages = [*each_page(source, rows_on_page(source, _LIMITS))]
    for page in pages:
        if source.newest(page) is None:
            raise RuntimeError(f"{page} has no newest row")
    return sum(source.count(page.after, page.until, _LIMITS.urls) for page in pages)


def fingerprints(source: Source) -> int:
    """Read the fingerprint of each page, as conditional requests do."""
    pages = each_page(source, rows_on_page(source, _LIMITS))
    return sum(source.fingerprint(page.after, page.until).rows for page in pages)


class Server:
    """Stopwatch for the CPU time of the server's process or thread that serves our connection."""

    def __init__(self) -> None:
        self.stat = self._stat()
        self.start = self._now()

    def seconds(self) -> float:
        """Return the seconds since the start; 0 for SQLite, and for a server on another machine."""
        return self._now() - self.start

    def _now(self) -> float:
        with suppress(OSError):
            if self.stat is not None:
                fields = self.stat.read_text().rpartition(")")[2].split()
                return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
        return 0.0

    @staticmethod
    def _stat() -> Path | None:
        query = {
            "postgresql": "SELECT pg_backend_pid()",
            "mysql": "SELECT tid FROM information_schema.processlist WHERE id = CONNECTION_ID()",
        }.get(connection.vendor)
        if query is None:
            return None
        with connection.cursor() as cursor:
            cursor.execute(query)
            [number] = cursor.fetchone()
        return Path("/proc", str(number), "stat") if connection.vendor == "postgresql" else _thread(number)


def _thread(number: int) -> Path | None:
    return next(Path("/proc").glob(f"[0-9]*/task/{number}/stat"), None)
