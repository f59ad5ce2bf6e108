"""The listing of a section: what indexes list, with counts; where it is kept; the addresses of its pages.

Any two listings cover all keys, so processes need not agree, and what answers an address needs no memory.
A number is one of an export, or one of a section without key ranges, whose pages are counted from the first
row. Any other address is a signed range of keys. The signature shows that this site has listed it: nobody
else can choose ranges, or find out where keys of unlisted rows are. Only number 1 needs no listing: without
an export, it has all rows, up to the limits of the protocol.
"""

from __future__ import annotations

import json
import re
import time
from base64 import urlsafe_b64encode
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from django.conf import settings
from django.core.exceptions import ValidationError
from django.http import HttpRequest
from django.urls import get_resolver, get_urlconf
from django.utils.crypto import constant_time_compare, salted_hmac

from django_sitemaps09.conf import conf, surroundings
from django_sitemaps09.declare.hosts import is_host_from_client
from django_sitemaps09.declare.sections import Section, has_host_hook, instance
from django_sitemaps09.protocol import filenames
from django_sitemaps09.protocol.compression import compress, decompress_whole
from django_sitemaps09.protocol.filenames import bounds_text
from django_sitemaps09.protocol.limits import MAX_URLS
from django_sitemaps09.protocol.pages import Key, Page, each_page
from django_sitemaps09.protocol.urls import Base
from django_sitemaps09.rows.declaration_digests import digest_of
from django_sitemaps09.rows.keys import KeyColumns
from django_sitemaps09.rows.queryset import has_key_ranges
from django_sitemaps09.rows.source_base import Source, rows_on_page
from django_sitemaps09.views import caching, exported
from django_sitemaps09.views.exported import PublishedPages
from django_sitemaps09.views.responses import tenant

_APP = "django_sitemaps09"
# Seconds until a listing expires in the cache after it was stored.
_SECONDS = 30 * 86_400
# Maximum bytes of JSON of a listing, of at most 50,000 pages, and number of pages that a process keeps.
_MAX_BYTES, _MAX_KEPT = 50_000_000, 500_000
# The W3C format. A cached lastmod becomes markup.
_LASTMOD = re.compile(r"[0-9]{4}[0-9TZ:.+-]{0,36}")
# Databases do not accept a NUL or half of a surrogate pair in a query.
_VALID = re.compile("[^\0\ud800-\udfff]*")
#: The base for measuring URLs if clients choose the host. Their choice must not affect page bounds.
HOST = "https://www.example.com"
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

    `columns` are the table and the name of each key column. They and the key `identity` are empty for a
    section without key ranges, whose pages have numbers. A new page gets `rows` rows. `export` is what the
    listing began with. All pages have been counted since `looked_at`, in seconds since 1970.
    """

    suffix: filenames.Suffix
    columns: tuple[str, ...] = ()
    identity: tuple[str, ...] = ()
    rows: int = 1
    export: str = ""
    looked_at: float = 0.0
    pages: tuple[ListedPage, ...] = ()

    def ranges(self) -> Iterator[Page]:
        after = None
        for number, page in enumerate(self.pages, 1):
            yield Page(0 if self.columns else number, after, page.until)
            after = page.until

    def is_recent(self, seconds: float) -> bool:
        return 0 <= time.time() - self.looked_at < seconds


def listing_name(section: str, declaration: Section, base: Base, namespace: str) -> str:
    """Return the cache key of a section's listing: nothing that needs its items, which can fail.

    Clients can choose ports. They choose the host of a section only if it has other rows on each host.
    """
    has_host = not is_host_from_client()
    if not has_host:
        # The index reports what a factory of the project raises.
        with suppress(Exception):
            has_host = has_host_hook(instance(declaration))
    host = base.domain.partition(":")[0] if has_host else ""
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
    """Return the cached listing, if there is one; with `key`, only one of these key columns.

    While the cache fails, and with `or_last`, it is the last one that this process knows. Parsing thousands
    of pages takes as long as a short page, so each process does it once.
    """
    full_name, cached = tenant() + name, caching.get_bytes(caching.default, name)
    kept = _kept.get(full_name)
    if cached is not None and (kept is None or kept.content != cached[0]):
        listing = _parsed(cached[0])
        if listing is not None:
            kept = _keep(full_name, _Kept(cached[0], listing, is_valid=False))
    if kept is None or (cached is None and not (or_last or caching.default.is_paused())):
        return None
    bounds = (page.until for page in kept.listing.pages)
    if key is not None and not kept.is_valid and _are_keys(bounds, key):
        kept = _keep(full_name, kept._replace(is_valid=True))
    is_usable = key is None or (kept.is_valid and kept.listing.columns == key.stored_names)
    return kept.listing if is_usable else None


def store(name: str, listing: Listing, seconds: float = _SECONDS) -> None:
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


def _are_keys(bounds: Iterable[Key | None], key: KeyColumns) -> bool:
    """Return whether bounds are keys of a section, whose key can have got another type.

    An invalid one would be an error of a query.
    """
    try:
        return all(bound is None or key.parse(bound) is not None for bound in bounds)
    except (OverflowError, TypeError, ValueError, ValidationError):
        return False


def _parsed(content: bytes) -> Listing | None:
    """Parse a cached listing. Return `None` if it is invalid or too large."""
    try:
        values = json.loads(decompress_whole(content, _MAX_BYTES) or b"")
        suffix, columns, identity, rows, export, looked_at, pages = values
        listing = Listing(
            filenames.SUFFIXES[filenames.SUFFIXES.index(suffix)],
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
    are_few = len(bounds) <= MAX_URLS and len({*bounds}) in (len(bounds), 1)
    return listing if has_end and are_few and 0 < listing.rows <= MAX_URLS else None


def _page(until: Any, rows: Any, newest: Any, most: Any) -> ListedPage:
    key = None if until is None else tuple(map(str, until))
    if isinstance(until, str) or not _VALID.fullmatch("".join(key or ())):
        raise ValueError(f"{until!r:.200} is not a key")
    if newest is not None and not _LASTMOD.fullmatch(str(newest)):
        raise ValueError(f"{newest!r:.200} is not a lastmod")
    return ListedPage(key, None if rows is None else int(rows), newest, int(most))


def find_numbered(source: Source, number: int) -> Page | None:
    """Return the page with a number, or `None`. Raise `BusyError` while an export cannot be read.

    With key ranges, numbers are those of an export. Without one, number 1 has all rows.
    """
    if not has_key_ranges(source):
        return next((page for page in pages_by_position(source) if page.number == number), None)
    pages = exported.published_pages(source)
    if pages is None or pages.find(number) is None:
        pages = exported.published_pages(source, again=True)
    if pages is None:
        raise caching.BusyError(f"the published pages of section {source.section!r}")
    if number == 1 and not pages.pages:
        return Page(1, None, None)
    page = pages.find(number)
    return page if page is not None and _are_keys(page[1:], source.members.key) else None


def find_range(source: Source, page: Page, signature: str) -> Page | None:
    """Return the page of a range address; `None` if this site has not signed it."""
    if not has_key_ranges(source):
        return None
    bounds, key = bounds_text(page.after, page.until), source.members.key
    is_signed = any(
        constant_time_compare(signature, sign(source.section, key.stored_names, bounds, secret))
        for secret in (settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS)
    )
    return page if is_signed and _are_keys(page[1:], key) else None


def sign(section: str, columns: Sequence[str], bounds: str, secret: str | bytes | None = None) -> str:
    """Return the signature of a range address, from `SECRET_KEY` unless another secret is given."""
    facts = repr((section, (*columns,), bounds))
    digest = salted_hmac("django_sitemaps09.range", facts, secret=secret, algorithm="sha256").digest()
    return urlsafe_b64encode(digest).decode()[: filenames.SIGNATURE]


def names(section: str, listing: Listing, published_pages: PublishedPages | None) -> Iterator[str]:
    """Yield the last part of the address of each listed page.

    Pages of an export have their numbers if they are listed with the same bounds. Without an export, a
    single page is number 1.
    """
    numbers = {} if published_pages is None else {**published_pages.listed}
    if published_pages is not None and not published_pages.pages:
        numbers[None, None] = 1
    for page in listing.ranges():
        number = numbers.get((page.after, page.until)) if listing.columns else page.number
        if number is not None:
            yield filenames.page_name(section, number, listing.suffix)
            continue
        bounds = bounds_text(page.after, page.until)
        yield filenames.range_name(section, bounds, sign(section, listing.columns, bounds), listing.suffix)


def pages_by_position(source: Source) -> Iterable[Page]:
    return each_page(source, live_rows_on_page(source))


def live_rows_on_page(source: Source) -> int:
    """Return the number of rows on a new page: not affected by what clients can choose on some servers.

    That is the host, and the script prefix, so URLs are measured with that of management commands.
    """
    base = source.declared.base if conf.base_url else source.declared.base._replace(scheme="https")
    base_url = HOST if is_host_from_client() else str(base)
    with surroundings(conf.script_prefix, get_urlconf()):
        return rows_on_page(source, conf.limits, base_url)
