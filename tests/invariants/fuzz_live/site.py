"""The site of a case: its settings, sections, processes and responses."""

from __future__ import annotations

import gzip
import random
import sys
from collections import namedtuple
from contextlib import ExitStack, contextmanager
from functools import lru_cache
from secrets import token_hex
from typing import NamedTuple
from unittest import mock
from xml.etree import ElementTree

from django.core.signals import got_request_exception
from django.db.models import F, Value
from django.db.models.functions import Concat
from django.test import Client, override_settings

from tests.invariants.fuzz_live import faults
from tests.invariants.fuzz_live.cases import DURABLE, entry
from tests.invariants.fuzz_live.faults import PROTOCOL, SHARED
from tests.support.configuration import BASE
from tests.support.internals import MAX_URLS
from tests.support.published import SPACE
from tests.support.sections import declare, listing
from tests.support.services import REDIS

INDEX = "/sitemap.xml"
_BACKENDS = "django.core.cache.backends"


class Answer(NamedTuple):
    """A response. `urls` and `content` are of the uncompressed document."""

    process: int
    address: str
    at: float
    status: int
    headers: dict[str, str]
    content: bytes
    urls: tuple[str, ...]
    is_database_failing: bool
    error: str
    #: What the caches had lost when the request began.
    losses: int = 0
    method: str = "GET"

    @property
    def etag(self):
        return self.headers.get("ETag")

    @property
    def is_stored(self):
        return self.etag is not None or "no-store" not in self.headers.get("Cache-Control", "")

    @property
    def is_index(self):
        return self.address == INDEX

    @property
    def is_rows(self):
        return "-rows" in self.address

    @property
    def entries(self):
        return [entry(url) for url in self.urls]

    @property
    def pages(self):
        """Return the addresses that an index names for the random rows."""
        return [url.removeprefix(BASE) for url in self.urls if "-rows" in url]

    def __str__(self):
        error = f" {self.error}" if self.error else ""
        return f"{self.method} {self.address} {self.status}{error} by process {self.process}"


#: An index, and the answers for each page that it named for the random rows.
Crawl = namedtuple("Crawl", "index pages")


class Version(NamedTuple):
    """What a deployment declares of the random rows."""

    limit: int
    class_name: str = "Rows"
    is_dated: bool = True
    frequency: str | None = None
    #: Whether the model has columns that the section does not use.
    has_all_columns: bool = False


class Site:
    """A case in progress, with what it has answered."""

    def __init__(self, case, using, folder, table, memories, clock, register):
        self.case, self.using, self.folder, self.table = case, using, folder, table
        self.memories, self.clock, self.register = memories, clock, register
        self.client = Client(raise_request_exception=False)
        # The connections that read rows.
        self.aliases = (using, faults.REPLICA) if case.replicas else (using,)
        # Bodies by address and ETag, and the only ETag of a body by the address, the version and the body.
        self.bodies, self.etags = {}, {}
        # The addresses that an index named.
        self.known_names, self.versions, self.declared, self.slow = set(), {}, {}, None
        self.is_section_failing = self.is_racing = False
        # When an index named the section with the fixed list last.
        self.fixed_at = None
        # When the database failed last during a request, and when a process was killed.
        self.failed_at = self.killed_at = 0.0
        # Times of exports, what they published last for each number, and when they removed a number.
        self.exports, self.exported, self.removed = [], {}, {}

    @property
    def is_durable(self):
        """Return whether all processes share a cache that has lost nothing so far."""
        return self.case.cache in DURABLE and not faults.faults.losses

    @property
    def now(self):
        return self.clock.seconds

    @property
    def grace(self):
        """Seconds after which a crawl lists a row that was written, wherever it is."""
        return 300 + self.case.live_seconds

    @property
    def staleness(self):
        """Seconds for which a response may be outdated."""
        return 2 * self.case.live_seconds

    def may_be_locked(self, time, seconds):
        """Return whether locks can be left: a process was killed in the last seconds, or a cache failed."""
        return time <= seconds + max(self.killed_at, faults.faults.failed_at)

    def version(self, process):
        return self.versions.get(process, Version(self.case.limit))

    def deploy(self, process, **changes):
        self.memories.restart(process)
        self.versions[process] = self.version(process)._replace(**changes)

    def switch(self, process):
        """Become a process, with its memory and its declaration."""
        self.memories.switch(process)
        version = self.version(process)
        if version not in self.declared:
            self.declared[version] = sections(self, version)
        self.register(**self.declared[version])

    def is_settled(self):
        """Return whether rows have not changed for as long as a response may be outdated."""
        return not self.staleness or self.table.snapshots[-1][0] < self.now - self.staleness

    def request(self, process, address, etag=None, method="GET", *, fails=False):
        """Return the answer of a process. Without middleware, the memory of the process is all it has."""
        self.switch(process)
        losses, errors = faults.faults.losses, []

        def note(**_):
            errors.append(f"{sys.exc_info()[0].__name__}: {sys.exc_info()[1]}")

        got_request_exception.connect(note)
        try:
            headers = {} if etag is None else {"If-None-Match": etag}
            response = self.client.generic(method, address, headers={"host": BASE[8:], **headers})
        finally:
            got_request_exception.disconnect(note)
        content = b"".join(response) if response.streaming else response.content
        is_whole = response.status_code == 200 and method == "GET"
        plain = gzip.decompress(content) if is_whole and address.endswith(".gz") else content
        urls, error = urls_of(plain) if is_whole else (), " ".join(errors)
        sent = (response.status_code, dict(response.items()), plain, urls)
        return Answer(process, address, self.now, *sent, fails, error, losses, method)


@lru_cache(1_000)
def urls_of(content):
    root = ElementTree.fromstring(content)  # noqa: S314 our own output
    return tuple(str(loc.text) for loc in root.iter(f"{SPACE}loc"))


def sections(site, version):
    """Return a section of the random rows, and one with a fixed list, which can fail."""
    model = site.table.model if version.has_all_columns else site.table.model_with_few_columns
    rows = model._default_manager.all()
    by_method = lambda sitemap, item: f"/{item.slug}/"  # noqa: E731
    declared = declare(
        queryset=rows if site.case.replicas else rows.using(site.using),
        location=by_method if site.case.by_method else Concat(Value("/"), F("slug"), Value("/")),
        lastmod=F("at") if version.is_dated else None,
        changefreq=version.frequency,
        limit=version.limit,
    )
    declared.__name__ = declared.__qualname__ = version.class_name

    def items(self):
        if site.is_section_failing:
            raise ZeroDivisionError("the section fails")
        return ["/a/", "/b/", "/c/"]

    return {"rows": declared, "fixed": declare(listing([], location=lambda self, item: item), items=items)}


@contextmanager
def configured(case, using, folder, clock):
    """Set the settings of a case, and the limit of the protocol."""
    faults.use(clock, random.Random(case.name))  # noqa: S311 not secret
    if case.cache == "failing" and case.limit == 20:
        faults.faults.failing = 0.01
    if case.cache == "evicting":
        faults.faults.evicting = 0.01
    options = {"BASE_URL": BASE, "ROOT": folder / "public", "MAX_URLS": case.limit, "MAX_SHRINK": 1.0}
    options |= {"GZIP": case.gzip, "ENGINE": "serial", "KEEP_REMOVED": case.keep_removed}
    options |= {"LIVE_SECONDS": case.live_seconds, "LIVE_CACHE": "pages" if case.live_cache else None}
    options["CACHE_CONTROL"] = {"public": True, "max_age": 600}
    router = faults.Router(random.Random(case.name), (using, faults.REPLICA))  # noqa: S311 not secret
    settings = override_settings(
        SITEMAPS09=options,
        CACHES={name: _cache(case, name, folder) for name in ("default", "pages")},
        MIDDLEWARE=["django.middleware.common.CommonMiddleware"],
        DATABASE_ROUTERS=[router] if case.replicas else [],
        SECRET_KEY="0",
    )
    urls = min(MAX_URLS, case.protocol * case.limit)
    with settings, mock.patch.dict(PROTOCOL, urls=urls), ExitStack() as stack:
        stack.callback(faults.faults.clear)
        yield


def _cache(case, name, folder):
    if case.cache == "local":
        return {"BACKEND": f"{_BACKENDS}.locmem.LocMemCache", "LOCATION": name}
    backend, location = {
        "redis": ("redis.RedisCache", f"redis://{REDIS}"),
        "database": ("db.DatabaseCache", f"{faults.CACHE_TABLE}_{name}"),
        "file": ("filebased.FileBasedCache", str(folder / name)),
    }.get(case.cache, ("locmem.LocMemCache", f"{SHARED}{name}"))
    prefix, options = f"{name}-{token_hex(8)}", {"inner": f"{_BACKENDS}.{backend}"}
    cache = f"{faults.__name__}.SharedCache"
    return {"BACKEND": cache, "LOCATION": location, "KEY_PREFIX": prefix, "OPTIONS": options}
