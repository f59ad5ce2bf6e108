"""What is measured: every subject with what it needs. Nothing but the standard library here."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any, Literal

Kind = Literal["export", "page", "part", "read", "index", "fingerprints"]
Family = Literal["ours", "contrib", "static", "icv"]

#: The environment variables that tell a process what it is. Worker processes inherit them.
SUBJECT = "SITEMAPS09_BENCHMARK_SUBJECT"
DATABASE = "SITEMAPS09_BENCHMARK_DATABASE"
OUTPUT = "SITEMAPS09_BENCHMARK_OUTPUT"

PAGE_URLS = 50_000
#: A page of ours is cut for 95 % of what it may have.
OUR_PAGE_URLS = 47_500
#: The defaults of `django_sitemaps09`, in its `compression.py`.
ISAL_LEVEL = 2
ZLIB_LEVEL = 6

_DECLARED = "benchmarks.sections_ours.DECLARED"
_TRANSLATED = "benchmarks.sections_ours.TRANSLATED"
_UNCHANGED = "benchmarks.sections_ours.UNCHANGED"
_ROUTE = "benchmarks.sections_ours.WITH_ROUTE"
_CONTRIB = "benchmarks.sections_contrib.SITEMAPS"
_OUR_ROAD = "/sitemap-articles-1.xml"
_OUR_ROAD_GZIPPED = "/sitemap-articles-1.xml.gz"
_CONTRIBS_ROAD = "/contrib/sitemap-articles.xml?p=1"


@dataclass(frozen=True, slots=True)
class Subject:
    """One line of measurements.

    `sections` is the dotted path of a dict of sitemaps, `path` what a page is asked for by, `cold` that
    nothing was asked for before, `needs` the distribution without which there is nothing to measure.
    `most_rows` is how many rows it takes, each in so many `languages`; `share` is how many of all, about.
    """

    kind: Kind
    name: str
    family: Family = "ours"
    sections: str = _DECLARED
    isal: bool = False
    workers: int = 1
    path: str = ""
    cold: bool = False
    needs: str = "django-sitemaps09"
    most_rows: int | None = None
    languages: int = 1
    share: float = 1.0

    def urls(self, rows: int) -> int:
        """How many URLs it has to bring of so many rows."""
        if self.kind == "page":
            return min(rows, self.page_urls)
        return int(min(rows, self.most_rows or rows) * self.share) * self.languages

    @property
    def page_urls(self) -> int:
        """How many URLs the first page has, if there are enough."""
        return PAGE_URLS if self.path == _CONTRIBS_ROAD else OUR_PAGE_URLS

    @property
    def index(self) -> str:
        """Where the index is whose answer the page can make use of."""
        return "" if self.cold or self.path == _CONTRIBS_ROAD else "/sitemap.xml"

    @property
    def key(self) -> str:
        """What tells it from all others."""
        return f"{self.kind}: {self.name}"


DRIVER = Subject("part", "driver floor")
#: The same with all rows of a page at once, as an export without slices reads them.
DRIVER_PAGES = Subject("part", "driver floor, a query a page")
COMPRESS_ISAL = Subject("part", f"compression, isal {ISAL_LEVEL}", isal=True, needs="isal")
COMPRESS_ZLIB = Subject("part", f"compression, zlib {ZLIB_LEVEL}")

#: How all rows of a queryset are read.
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
    Subject("page", "ours", path=_OUR_ROAD),
    Subject("page", "ours, its bounds not known yet", path=_OUR_ROAD, cold=True),
    Subject("page", "ours, .xml.gz", path=_OUR_ROAD_GZIPPED),
    Subject("page", "ours, .xml.gz, fast", path=_OUR_ROAD_GZIPPED, isal=True, needs="isal"),
    Subject("page", "ours, contrib's class unchanged", sections=_UNCHANGED, path=_OUR_ROAD),
    Subject("page", "ours, contrib's class, location a Route", sections=_ROUTE, path=_OUR_ROAD),
    Subject(
        "page",
        "ours, contrib's class unchanged, contrib's road",
        sections=_UNCHANGED,
        path=_CONTRIBS_ROAD,
    ),
    Subject(
        "page",
        "ours, contrib's class, location a Route, contrib's road",
        sections=_ROUTE,
        path=_CONTRIBS_ROAD,
    ),
    Subject("page", "django.contrib.sitemaps", "contrib", _CONTRIB, path=_CONTRIBS_ROAD),
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
        # Methods have neither a newest row nor a fingerprint.
        if kind == "read" or "instances" not in name
    ),
)
#: What every ratio is to, for each of the tables.
BASELINES = {kind: next(one for one in ALL if one.kind == kind) for kind in ("export", "page", *READINGS)}
#: Rows of the table of exports that are sums of parts.
FLOORS: dict[str, tuple[Subject, ...]] = {
    DRIVER.name: (DRIVER,),
    f"{DRIVER.name} + isal {ISAL_LEVEL}": (DRIVER, COMPRESS_ISAL),
    f"{DRIVER_PAGES.name} + isal {ISAL_LEVEL}": (DRIVER_PAGES, COMPRESS_ISAL),
    f"{DRIVER.name} + zlib {ZLIB_LEVEL}": (DRIVER, COMPRESS_ZLIB),
}


def find(key: str) -> Subject:
    """The subject of a key."""
    return next(subject for subject in ALL if subject.key == key)


def current() -> Subject | None:
    """The subject of this process, `None` in one that measures nothing."""
    key = os.environ.get(SUBJECT)
    return find(key) if key else None


def table(subject: Subject) -> str:
    """The kind of table that a subject is in."""
    return "export" if subject.kind == "part" else subject.kind


def chosen(words: list[str]) -> list[Subject]:
    """Those whose key holds one of the words, or all; with what their ratios are to."""
    picked = [one for one in ALL if not words or any(word in one.key for word in words)]
    baselines = {BASELINES[table(one)] for one in picked}
    return [one for one in ALL if one in picked or one in baselines]
