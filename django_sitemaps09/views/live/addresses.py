"""The addresses of live pages: page numbers, and signed ranges of keys. What answers them needs no memory.

A number is one of an export, or one of a section without key ranges, whose pages are counted from the first
row. The signature of a range shows that this site has listed it: nobody else can choose ranges, which could
be long, or find out where keys of unlisted rows are.
"""

from __future__ import annotations

from base64 import urlsafe_b64encode
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress

from django.conf import settings
from django.core.exceptions import ValidationError
from django.urls import get_urlconf
from django.utils.crypto import constant_time_compare, salted_hmac

from django_sitemaps09.conf import conf, surroundings
from django_sitemaps09.declare.hosts import is_host_from_client
from django_sitemaps09.protocol.filenames import SIGNATURE, bounds_text, page_name, range_name
from django_sitemaps09.protocol.pages import Page, each_page
from django_sitemaps09.rows import QuerySource, Source, has_key_ranges, rows_on_page
from django_sitemaps09.views import exported
from django_sitemaps09.views.caching import BusyError
from django_sitemaps09.views.exported import PublishedPages
from django_sitemaps09.views.live.listing import Listing

#: The base for measuring URLs if clients choose the host. Their choice must not affect page bounds.
HOST = "https://www.example.com"


def find_numbered(source: Source, number: int) -> Page | None:
    """Return the page with a number, or `None`. Raise `BusyError` while an export cannot be read.

    With key ranges, numbers are those of the export. Without an export, number 1 has all rows.
    """
    if not has_key_ranges(source):
        return next((page for page in pages_by_position(source) if page.number == number), None)
    pages: PublishedPages | None = exported.NO_PAGES
    if conf.has_target:
        pages = exported.published_pages(source)
        if pages is None or pages.find(number) is None:
            pages = exported.published_pages(source, again=True)
    if pages is None:
        raise BusyError(f"the published pages of section {source.section!r}")
    if number == 1 and not pages.pages:
        return Page(1, None, None)
    page = pages.find(number)
    return page and _valid(source, page)


def find_range(source: Source, page: Page, signature: str) -> Page | None:
    """Return the page of a range address; `None` if this site has not signed it."""
    if not has_key_ranges(source):
        return None
    bounds, columns = bounds_text(page.after, page.until), source.members.key.stored_names
    is_signed = any(
        constant_time_compare(signature, sign(source.section, columns, bounds, secret))
        for secret in (settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS)
    )
    return _valid(source, page) if is_signed else None


def _valid(source: QuerySource, page: Page) -> Page | None:
    """Return a page unless its bounds are no keys of the section: its key can have got another type."""
    with suppress(OverflowError, TypeError, ValueError, ValidationError):
        source.members.key.parse(page.after)
        source.members.key.parse(page.until)
        return page
    return None


def sign(section: str, columns: Sequence[str], bounds: str, secret: str | bytes | None = None) -> str:
    """Return the signature of a range address, from `SECRET_KEY` unless another secret is given."""
    facts = repr((section, (*columns,), bounds))
    digest = salted_hmac("django_sitemaps09.range", facts, secret=secret, algorithm="sha256").digest()
    return urlsafe_b64encode(digest).decode()[:SIGNATURE]


def names(section: str, listing: Listing, published_pages: PublishedPages | None) -> Iterator[str]:
    """Yield the last part of the address of each listed page.

    Pages of an export have their numbers if they are listed with the same bounds. A single page without an
    export is number 1.
    """
    numbers = {} if published_pages is None else {**published_pages.listed}
    if published_pages is not None and not published_pages.pages:
        numbers[None, None] = 1
    for page in listing.ranges():
        number = numbers.get((page.after, page.until)) if listing.columns else page.number
        if number is not None:
            yield page_name(section, number, listing.suffix)
            continue
        bounds = bounds_text(page.after, page.until)
        yield range_name(section, bounds, sign(section, listing.columns, bounds), listing.suffix)


def pages_by_position(source: Source) -> Iterable[Page]:
    """Return the pages of a section without key ranges, counted from the first row."""
    return each_page(source, live_rows_on_page(source))


def live_rows_on_page(source: Source) -> int:
    """Return the number of rows on a new page.

    URLs are measured with the script prefix of management commands. On some servers, clients can change the
    current one, and the host.
    """
    base = source.declared.base if conf.base_url else source.declared.base._replace(scheme="https")
    base_url = HOST if is_host_from_client() else str(base)
    with surroundings(conf.script_prefix, get_urlconf()):
        return rows_on_page(source, conf.limits, base_url)
