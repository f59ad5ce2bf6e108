"""All subjects of the benchmark. This module uses only the standard library."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any, Literal

Kind = Literal["export", "page", "part", "read", "index", "fingerprints"]
Family = Literal["ours", "contrib", "static", "icv"]

#: Environment variables of the processes that are measured. Worker processes inherit them.
SUBJECT = "SITEMAPS09_BENCHMARK_SUBJECT"
DATABASE = "SITEMAPS09_BENCHMARK_DATABASE"
OUTPUT = "SITEMAPS09_BENCHMARK_OUTPUT"

PAGE_URLS = 50_000
#: A live page of `django_sitemaps09` is filled to 42% to 95%, depending on the keys around its end.
OUR_PAGE_URLS = range(21_000, 47_501)
#: A share of the rows is rounded within each category of articles, by up to this part of it.
_ROUNDED = 0.03
#: The defaults of `django_sitemaps09`, in its `compression.py`.
ISAL_LEVEL = 2
ZLIB_LEVEL = 6

_DECLARED = "benchmarks.sections_ours.DECLARED"
_TRANSLATED = "benchmarks.sections_ours.TRANSLATED"
_UNCHANGED = "benchmarks.sections_ours.UNCHANGED"
_ROUTE = "benchmarks.sections_ours.WITH_ROUTE"
_CONTRIB = "benchmarks.sections_contrib.SITEMAPS"
# The index names the page itself.
_NATIVE, _NATIVE_GZIPPED = ".xml", ".xml.gz"
_COMPAT = "/contrib/sitemap-articles.xml?p=1"


@dataclass(frozen=True, slots=True)
class Subject:
    """One line of measurements.

    `sections` is the dotted path of a dict of sitemaps, and `path` the path of a page, or its suffix. If
    `is_cold`, the process has not requested the index before the page. `needs` is the distribution that the
    subject measures. The subject has at most `most_rows` rows, or about a `share` of all rows, each in as
    many `languages`.
    """

    kind: Kind
    name: str
    family: Family = "ours"
    sections: str = _DECLARED
    isal: bool = False
    workers: int = 1
    path: str = ""
    is_cold: bool = False
    needs: str = "django-sitemaps09"
    most_rows: int | None = None
    languages: int = 1
    share: float = 1.0

    def urls(self, rows: int) -> range:
        """Return how many URLs the subject can have for a number of rows."""
        if self.kind == "page" and self.path != _COMPAT and rows >= OUR_PAGE_URLS.stop:
            return OUR_PAGE_URLS
        most = PAGE_URLS if self.kind == "page" else self.most_rows or rows
        urls = int(min(rows, most) * self.share) * self.languages
        slack = int(urls * _ROUNDED) if self.share < 1 else 0
        return range(urls - slack, urls + slack + 1)

    @property
    def index(self) -> str:
        """Path of the index that names the page; empty if it has a path of its own."""
        return "" if self.path == _COMPAT else "/sitemap.xml"

    @property
    def key(self) -> str:
        """Unique name of the subject."""
        return f"{self.kind}: {self.name}"


DRIVER = Subject("part", "driver floor")
#: The driver floor with one query for each page, as in an export without slices.
DRIVER_PAGES = Subject("part", "driver floor, a query a page")
COMPRESS_ISAL = Subject("part", f"compression, isal {ISAL_LEVEL}", isal=True, needs="isal")
COMPRESS_ZLIB = Subject("part", f"compression, zlib {ZLIB_LEVEL}")

#: The ways to read all rows of a queryset.
READINGS: tuple[Kind, ...] = ("read", "index", "fingerprints")

TEN_LANGUAGES: Any = {"sections": _TRANSLATED, "most_rows": 50_000, "languages": 10}

ALL = (
    Subject("export", "ours"),
    Subject("export", "ours, 2 processes", workers=2),
    Subject("export", "ours, fast", isal=True, needs="isal"),
    Subject("export", "ours, fast, 2 processes", isal=True, workers=2, needs="isal"),
    *(
        Subject("export", f"ours, 10 languages{name}", **TEN_LANGUAGES, **how)
        for name, how in (
            ("", {}),
            (", 2 processes", {"workers": 2}),
            (", fast", {"isal": True, "needs": "isal"}),
            (", fast, 2 processes", {"isal": True, "needs": "isal", "workers": 2}),
        )
    ),
    Subject("export", "ours, contrib's class unchanged", sections=_UNCHANGED),
    Subject("export", "ours, contrib's class unchanged, 2 processes", sections=_UNCHANGED, workers=2),
    Subject("export", "ours, contrib's class, location a Route", sections=_ROUTE),
    Subject("export", "django-static-sitemaps", "static", _CONTRIB, needs="django-static-sitemaps"),
    Subject("export", "django-icv-sitemaps", "icv", "", needs="django-icv-sitemaps"),
    DRIVER,
    DRIVER_PAGES,
    COMPRESS_ISAL,
    COMPRESS_ZLIB,
    Subject("page", "ours", path=_NATIVE),
    Subject("page", "ours, in a new process", path=_NATIVE, is_cold=True),
    Subject("page", "ours, .xml.gz", path=_NATIVE_GZIPPED),
    Subject("page", "ours, .xml.gz, fast", path=_NATIVE_GZIPPED, isal=True, needs="isal"),
    Subject("page", "ours, contrib's class unchanged", sections=_UNCHANGED, path=_NATIVE),
    Subject("page", "ours, contrib's class, location a Route", sections=_ROUTE, path=_NATIVE),
    Subject(
        "page",
        "ours, contrib's class unchanged, compatibility views",
        sections=_UNCHANGED,
        path=_COMPAT,
    ),
    Subject(
        "page",
        "ours, contrib's class, location a Route, compatibility views",
        sections=_ROUTE,
        path=_COMPAT,
    ),
    Subject("page", "django.contrib.sitemaps", "contrib", _CONTRIB, path=_COMPAT),
    *(
        Subject(
            kind, f"querysets, {name}", sections=f"benchmarks.sections_querysets.{section}", share=share
        )
        for kind in READINGS
        for name, section, share in (
            ("plain", "PLAIN", 1.0),
            ("a filter over a relation to one row", "TO_ONE", 1.0),
            ("a filter over a relation to many rows, all of two", "TO_MANY", 1.0),
            ("a filter over a relation to many rows, one of two", "SOME", 1.0),
            ("distinct()", "DISTINCT", 1.0),
            ("a filter over a relation to many rows, and distinct()", "JOINED", 1.0),
            ("a filter by Exists()", "EXISTING", 1.0),
            ("a filter by an aggregate", "GROUPED", 1.0),
            ("a lastmod that is an aggregate", "AGGREGATES", 1.0),
            ("a filter by a window", "RANKS", 1 / 3),
            ("a composite key", "SEATS", 1.0),
            ("a composite key, and distinct()", "DISTINCT_SEATS", 1.0),
            ("instances", "INSTANCES", 1.0),
            ("instances, a filter over a relation to many rows", "JOINED_INSTANCES", 1.0),
            ("instances, a filter by a window", "RANKED_INSTANCES", 1 / 3),
        )
        # Sections with methods have neither a newest row nor a fingerprint.
        if kind == "read" or "instances" not in name
    ),
)
#: The subject that ratios relate to, for each table.
BASELINES = {
    kind: next(subject for subject in ALL if subject.kind == kind) for kind in ("export", "page", *READINGS)
}
#: Rows of the table of exports that are sums of other subjects.
FLOORS: dict[str, tuple[Subject, ...]] = {
    DRIVER.name: (DRIVER,),
    f"{DRIVER.name} + isal {ISAL_LEVEL}": (DRIVER, COMPRESS_ISAL),
    f"{DRIVER_PAGES.name} + isal {ISAL_LEVEL}": (DRIVER_PAGES, COMPRESS_ISAL),
    f"{DRIVER.name} + zlib {ZLIB_LEVEL}": (DRIVER, COMPRESS_ZLIB),
}


def find(key: str) -> Subject:
    return next(subject for subject in ALL if subject.key == key)


def current() -> Subject | None:
    """Return the subject of this process; `None` if it measures nothing."""
    key = os.environ.get(SUBJECT)
    return find(key) if key else None


def table(subject: Subject) -> str:
    """Return the kind of the table that lists a subject."""
    return "export" if subject.kind == "part" else subject.kind


def chosen(words: list[str]) -> list[Subject]:
    """Return the subjects whose key contains one of the words, or all subjects, with their baselines."""
    picked = [subject for subject in ALL if not words or any(word in subject.key for word in words)]
    baselines = {BASELINES[table(subject)] for subject in picked}
    return [subject for subject in ALL if subject in picked or subject in baselines]
