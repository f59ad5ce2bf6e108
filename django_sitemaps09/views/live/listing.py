"""The listing of a section: what indexes list, with counts. Its value, and where it is kept.

Nothing but indexes depends on a listing: a range address is answered without it. Any two listings cover all
keys, so processes need not agree.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator
from contextlib import suppress
from typing import Any, NamedTuple

from django.conf import settings
from django.core.exceptions import ValidationError
from django.http import HttpRequest
from django.urls import get_resolver, get_urlconf

from django_sitemaps09 import protocol
from django_sitemaps09.conf import conf
from django_sitemaps09.declare.hosts import is_host_from_client
from django_sitemaps09.declare.sections import Section, has_host_hook, instance
from django_sitemaps09.protocol import Base
from django_sitemaps09.protocol.compression import compress, decompress_whole
from django_sitemaps09.protocol.filenames import SUFFIXES, Suffix
from django_sitemaps09.protocol.pages import Key, Page
from django_sitemaps09.rows import digest_of
from django_sitemaps09.rows.keys import KeyColumns
from django_sitemaps09.views import caching
from django_sitemaps09.views.responses import tenant

_APP = "django_sitemaps09"
# Seconds until a listing expires in the cache. Each time it is stored, this time begins again.
_SECONDS = 30 * 86_400
# Maximum size of a listing, in bytes of JSON: an index has at most 50,000 pages.
_MAX_BYTES = 50_000_000
# Maximum number of pages of all listings that a process keeps in memory.
_MAX_KEPT = 500_000
# The W3C format. A cached lastmod becomes markup.
_LASTMOD = re.compile(r"[0-9]{4}[0-9TZ:.+-]{0,36}")
# Databases do not accept a NUL or half of a surrogate pair in a query.
_VALID = re.compile("[^\0\ud800-\udfff]*")
# What this process has read or stored last, by full cache key.
_kept: dict[str, _Kept] = {}


class ListedPage(NamedTuple):
    """The page up to a key, with its newest lastmod. Its `rows` are `None` until they are counted.

    If its entries are so long that fewer rows fit than on other pages, `most` is how many; otherwise 0.
    """

    until: Key | None
    rows: int | None = None
    newest: str | None = None
    most: int = 0


class Listing(NamedTuple):
    """The pages of a section in key order. Each begins after the one before; the last has no end.

    `columns` are the table and the name of each key column, and `identity` is the key identity. Both are
    empty for a section without key ranges, whose pages have numbers. A new page gets `rows` rows. `export`
    names the export whose pages the listing began with. All pages have been counted since `looked_at`, in
    seconds since 1970.
    """

    suffix: Suffix
    columns: tuple[str, ...] = ()
    identity: tuple[str, ...] = ()
    rows: int = 1
    export: str = ""
    looked_at: float = 0.0
    pages: tuple[ListedPage, ...] = ()

    def ranges(self) -> Iterator[Page]:
        """Yield each page as a range."""
        after = None
        for number, page in enumerate(self.pages, 1):
            yield Page(0 if self.columns else number, after, page.until)
            after = page.until

    def is_recent(self, seconds: float) -> bool:
        """Return whether all pages were counted in the last seconds."""
        return 0 <= time.time() - self.looked_at < seconds


def listing_name(section: str, declaration: Section, base: Base, namespace: str) -> str:
    """Return the cache key of a section's listing: nothing that needs its items, which can fail.

    Clients can choose ports. They choose the host of a section only if it has other rows on each host.
    """
    host = base.domain.partition(":")[0]
    if is_host_from_client():
        has_hook = False
        with suppress(Exception):
            # The index reports what a factory of the project raises.
            has_hook = has_host_hook(instance(declaration))
        host = host if has_hook else ""
    facts = host, str(get_urlconf() or settings.ROOT_URLCONF), namespace, section
    return f"django_sitemaps09:listing:{digest_of(facts)}"


def namespace_of(request: HttpRequest) -> str:
    return "" if request.resolver_match is None else request.resolver_match.namespace


def default_namespace() -> str:
    """Return the namespace of the native URLs where there is no request for one of them."""
    namespaces = get_resolver(get_urlconf()).app_dict.get(_APP, [_APP])
    return str(_APP if _APP in namespaces else namespaces[-1])


class _Kept(NamedTuple):
    """A listing, the cached value that it was read from, and whether its bounds are known to be keys."""

    content: bytes
    listing: Listing
    is_valid: bool


def read(name: str, key: KeyColumns | None = None, *, or_last: bool = False) -> Listing | None:
    """Return the cached listing, or `None` if there is none.

    While the cache fails, and with `or_last`, return the last one that this process knows. With `key`,
    return only a listing of these key columns. Reading a listing of thousands of pages takes as long as a
    short page, so each process does it once.
    """
    full_name, cached = tenant() + name, caching.get_bytes(caching.default, name)
    kept = _kept.get(full_name)
    if cached is not None and (kept is None or kept.content != cached[0]):
        listing = _parsed(cached[0])
        if listing is not None:
            kept = _keep(full_name, _Kept(cached[0], listing, is_valid=False))
    if kept is None or (cached is None and not (or_last or caching.default.is_paused())):
        return None
    if key is not None and not kept.is_valid and _are_keys(kept.listing, key):
        kept = _keep(full_name, kept._replace(is_valid=True))
    is_usable = key is None or (kept.is_valid and kept.listing.columns == key.stored_names)
    return kept.listing if is_usable else None


def store(name: str, listing: Listing, seconds: float = _SECONDS) -> None:
    """Cache a listing, and keep it in the memory of this process."""
    content = compress(json.dumps(listing).encode(), conf.gzip_level)
    _keep(tenant() + name, _Kept(content, listing, is_valid=True))
    caching.set_bytes(caching.default, name, content, seconds)


def forget(name: str) -> None:
    caching.default.delete(name)
    _kept.pop(tenant() + name, None)


def _keep(full_name: str, kept: _Kept) -> _Kept:
    if sum(len(other.listing.pages) + 1 for other in [*_kept.values()]) > _MAX_KEPT:
        _kept.clear()
    _kept[full_name] = kept
    return kept


def _are_keys(listing: Listing, key: KeyColumns) -> bool:
    """Return whether the bounds of a listing are keys. An invalid one would be an error of a query."""
    try:
        return all(key.parse(page.until) is not None for page in listing.pages[:-1])
    except (OverflowError, TypeError, ValueError, ValidationError):
        return False


def _parsed(content: bytes) -> Listing | None:
    """Parse a cached listing. Return `None` if it is invalid, or too large."""
    try:
        suffix, columns, identity, rows, export, looked_at, pages = json.loads(
            decompress_whole(content, _MAX_BYTES) or b""
        )
        listing = Listing(
            SUFFIXES[SUFFIXES.index(suffix)],
            tuple(map(str, columns)),
            tuple(map(str, identity)),
            int(rows),
            str(export),
            float(looked_at),
            tuple(_page(*page) for page in pages),
        )
    except (OverflowError, RecursionError, TypeError, ValueError):
        return None
    bounds = [page.until for page in listing.pages]
    has_end = not listing.columns or not bounds or (bounds[-1] is None and None not in bounds[:-1])
    are_few = len(bounds) <= protocol.MAX_URLS and len({*bounds}) in (len(bounds), 1)
    return listing if has_end and are_few and 0 < listing.rows <= protocol.MAX_URLS else None


def _page(until: Any, rows: Any, newest: Any, most: Any) -> ListedPage:
    """Parse a cached page. Raise `ValueError` or `TypeError` if it is invalid."""
    key = None if until is None else tuple(map(str, until))
    if isinstance(until, str) or not _VALID.fullmatch("".join(key or ())):
        raise ValueError(f"{until!r:.200} is not a key")
    if newest is not None and not _LASTMOD.fullmatch(str(newest)):
        raise ValueError(f"{newest!r:.200} is not a lastmod")
    return ListedPage(key, None if rows is None else int(rows), newest, int(most))
