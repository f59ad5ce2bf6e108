"""Check pages: their status, redirects, noindex, canonical URL and last change."""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from datetime import datetime, timedelta, timezone
from email.utils import parsedate_to_datetime
from typing import Any
from urllib.parse import urljoin

from django_sitemaps09.audit.documents import etree
from django_sitemaps09.audit.readers import Reader, Response, read_start
from django_sitemaps09.audit.rules import Findings
from django_sitemaps09.audit.rules.values import parse_lastmod
from django_sitemaps09.audit.scratch import SampledPage
from django_sitemaps09.exceptions import DocumentError
from django_sitemaps09.protocol import uri

#: Maximum number of bytes of a page that are read. The head of a page is at its beginning.
MAX_PAGE = 2_000_000
_DAY = timedelta(days=1)
_ROBOTS_NAMES = ("robots", "googlebot", "bingbot")
#: A value such as `none` of `max-image-preview`, or a rule for another crawler, does not forbid indexing.
_NOINDEX = re.compile(
    rf"(?:^|,)\s*(?:(?:\*|{'|'.join(_ROBOTS_NAMES)})\s*:\s*)?(?:[\w-]+\s+)*(?:noindex|none)(?=$|[\s,])",
    re.IGNORECASE,
)
_CANONICAL = re.compile(r"<([^<>]*)>[^<>]*;\s*rel\s*=\s*\"?canonical\b", re.IGNORECASE)
_MODIFIED = ("article:modified_time", "og:updated_time")


def check_pages(pages: Iterable[SampledPage], reader: Reader, findings: Findings, rate: float) -> int:
    """Request pages, check the responses, and return the number of pages.

    At most `rate` pages are requested each second; 0 means as fast as possible.
    """
    count, next_time = 0, 0.0
    for count, page in enumerate(pages, 1):  # noqa: B007 the last number is returned
        time.sleep(max(0.0, next_time - time.monotonic()))
        next_time = time.monotonic() + (1 / rate if rate else 0.0)
        try:
            with reader.open(page.url, redirects=False) as response:
                problems = [*_problems(page, response)]
        except DocumentError as error:
            problems = [("page-unreachable", str(error))]
        for rule, detail in problems:
            findings.add(page.place, rule, f"{page.url} ({detail})" if detail else page.url)
    return count


def _problems(page: SampledPage, response: Response) -> Iterator[tuple[str, str]]:
    if 300 <= response.status < 400:
        yield "page-redirect", f"{response.status} to {response.headers.get('location', '')}"
        return
    if response.status != 200:
        yield "page-status", str(response.status)
        return
    tag = response.headers.get("x-robots-tag", "")
    if _NOINDEX.search(tag):
        yield "page-noindex", f"X-Robots-Tag: {tag}"
    modified = None
    with suppress(ValueError, TypeError, OverflowError):
        # Not Django's parser: many servers send another form of the time zone or of the day.
        modified = parsedate_to_datetime(response.headers.get("last-modified", ""))
        modified = modified if modified.tzinfo is not None else modified.replace(tzinfo=timezone.utc)
    match = _CANONICAL.search(response.headers.get("link", ""))
    canonical = match and _comparable(page.url, match[1])
    if "html" in response.headers.get("content-type", ""):
        noindex, html_canonical, html_modified = _read_head(_html(response), page.url)
        if noindex is not None:
            yield "page-noindex", noindex
        canonical = html_canonical or canonical
        modified = html_modified or modified
    if canonical is not None and canonical != _comparable(page.url, ""):
        yield "page-canonical", canonical
    moment = parse_lastmod(page.lastmod).moment
    # A date includes its whole day.
    slack = 2 * _DAY if moment is not None and moment.is_date else _DAY
    if moment is not None and modified is not None and modified > moment.at + slack:
        yield "page-newer", f"changed {modified:%Y-%m-%d %H:%M}, lastmod {page.lastmod}"


def _read_head(document: Any, url: str) -> tuple[str | None, str | None, datetime | None]:
    """Return the element with `noindex`, the canonical URL, and the time of the last change."""
    if document is None:
        return None, None, None
    noindex = canonical = modified = None
    for meta in document.iter("meta"):
        name = (meta.get("name") or meta.get("property") or "").strip().lower()
        value = meta.get("content") or ""
        if name in _ROBOTS_NAMES and _NOINDEX.search(value):
            noindex = f'<meta name="{name}" content="{value}">'
        elif name in _MODIFIED and (moment := parse_lastmod(value).moment):
            modified = moment.at
    for link in document.iter("link"):
        if "canonical" in (link.get("rel") or "").lower().split() and link.get("href"):
            canonical = _comparable(url, link.get("href")) or canonical
    return noindex, canonical, modified


def _comparable(url: str, reference: str) -> str | None:
    """Return a reference of a page without its fragment, as a URI if it is valid; `None` without a URL."""
    plain = None
    with suppress(ValueError):
        plain = urljoin(url, reference.strip()).partition("#")[0]
        return uri(plain)
    return plain


def _html(response: Response) -> Any:
    """Parse the beginning of a page. Return `None` if it is empty or cannot be parsed."""
    body, _ = read_start(response.content(lambda *_: None), MAX_PAGE)
    charset = re.search(r"charset=[\"']?([\w-]+)", response.headers.get("content-type", ""), re.ASCII)
    try:
        parser = etree.HTMLParser(encoding=charset and charset[1], no_network=True, huge_tree=False)
        return etree.fromstring(body, parser)
    except (etree.LxmlError, LookupError, ValueError):
        return None
