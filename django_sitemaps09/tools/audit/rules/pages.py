"""Check pages: their status, redirects, noindex, canonical URL and last change."""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from datetime import timedelta, timezone
from email.utils import parsedate_to_datetime
from typing import Any
from urllib.parse import urljoin

from django_sitemaps09.exceptions import DocumentError
from django_sitemaps09.protocol import normalized, uri
from django_sitemaps09.tools.audit.parsers import etree
from django_sitemaps09.tools.audit.readers import Reader, Response, read_start
from django_sitemaps09.tools.audit.rules import Findings
from django_sitemaps09.tools.audit.rules.history import History
from django_sitemaps09.tools.audit.rules.values import parse_lastmod
from django_sitemaps09.tools.audit.scratch import SampledPage

#: Maximum number of bytes of a page that are read. The head of a page is at its beginning.
MAX_PAGE = 2_000_000
_DAY = timedelta(days=1)
_ROBOTS_NAMES = ("robots", "googlebot", "bingbot")
_AGENT = re.compile(r"\s*([a-z*][\w*-]*)\s*:(.*)", re.IGNORECASE | re.DOTALL)
# Rules that have a value, and are no crawlers.
_VALUED = re.compile(r"max-[a-z-]+|unavailable_after", re.IGNORECASE)
# The target and the relations of a link in a header. Other parameters can be before the relations.
_LINK = re.compile(
    r"<([^<>]*)>(?:\s*;\s*(?!rel\b)[\w*-]+(?:\s*=\s*(?:\"[^\"<>]*\"|[^\s;,\"<>]+))?)*"
    r"\s*;\s*rel\s*=\s*(\"[^\"<>]*\"|[^\s;,\"<>]+)",
    re.IGNORECASE,
)
# Codes of languages that are also written as another one: old ones, and the forms of Norwegian.
_SAME = {"nb": "no", "nn": "no", "iw": "he", "in": "id", "ji": "yi", "tl": "fil", "mo": "ro"}
_MODIFIED = ("article:modified_time", "og:updated_time")


def check_pages(
    pages: Iterable[SampledPage], reader: Reader, findings: Findings, rate: float, history: History | None
) -> Iterator[int]:
    """Request pages, twice with a `history`, check them, and yield their number after each.

    At most `rate` pages are requested each second; 0 means as fast as possible.
    """
    next_time = 0.0

    def request(page: SampledPage) -> tuple[list[tuple[str, str]], Any]:
        nonlocal next_time
        time.sleep(max(0.0, next_time - time.monotonic()))
        next_time = time.monotonic() + (1 / rate if rate else 0.0)
        try:
            with reader.open(page.url, redirects=False) as response:
                document = _html(response) if response.status == 200 else None
                return [*_problems(page, response, document)], document
        except DocumentError as error:
            return [("page-unreachable", str(error))], None

    for count, page in enumerate(pages, 1):
        problems, document = request(page)
        if history is not None and document is not None:
            problems += history.compare(page, document, request(page)[1])
        for rule, detail in problems:
            findings.add(page.place, rule, f"{page.url} ({detail})" if detail else page.url)
        yield count


def _problems(page: SampledPage, response: Response, document: Any) -> Iterator[tuple[str, str]]:
    if 300 <= response.status < 400:
        yield "page-redirect", f"{response.status} to {response.header('location')}"
        return
    if response.status != 200:
        yield "page-status", str(response.status)
        return
    for tag in response.headers.get("x-robots-tag", ()):
        if _forbids_indexing(tag):
            yield "page-noindex", f"X-Robots-Tag: {tag}"
    modified, noindex = None, ""
    with suppress(ValueError, TypeError, OverflowError):
        # Not Django's parser: many servers send another form of the time zone or of the day.
        modified = parsedate_to_datetime(response.header("last-modified"))
        modified = modified if modified.tzinfo is not None else modified.replace(tzinfo=timezone.utc)
    links = _LINK.findall(",".join(response.headers.get("link", ())))
    canonicals = [
        _comparable(page.url, url)
        for url, relations in links
        if "canonical" in relations.strip('"').lower().split()
    ]
    for meta in document.iter("meta") if document is not None else ():
        name = (meta.get("name") or meta.get("property") or "").strip().lower()
        value = meta.get("content") or ""
        if name in _ROBOTS_NAMES and _forbids_indexing(value):
            noindex = f'<meta name="{name}" content="{value}">'
        elif name in _MODIFIED and (moment := parse_lastmod(value).moment):
            modified = moment.at
    if noindex:
        yield "page-noindex", noindex
    if document is not None:
        language = (next(document.iter("html"), document).get("lang") or "").strip()
        languages = {*map(_primary, (page.language or "").split())}
        if languages and language and _primary(language) not in languages:
            yield "page-language", f"lang {language}, hreflang {page.language}"
        bases = filter(None, (element.get("href") for element in document.iter("base")))
        base = _comparable(page.url, next(bases, "")) or page.url
        canonicals += [
            _comparable(base, link.get("href"))
            for link in document.iter("link")
            if link.get("href") and "canonical" in (link.get("rel") or "").lower().split()
        ]
    different = {*filter(None, canonicals)}
    if len(different) > 1:
        yield "page-canonicals", " and ".join(sorted(different))
    elif different - {_comparable(page.url, "")}:
        yield "page-canonical", different.pop()
    moment = parse_lastmod(page.lastmod).moment
    # A date includes its whole day.
    if moment and modified and modified > moment.at + (2 * _DAY if moment.is_date else _DAY):
        yield "page-newer", f"changed {modified:%Y-%m-%d %H:%M}, lastmod {page.lastmod}"


def _forbids_indexing(value: str) -> bool:
    """Return whether the rules in a value forbid indexing to all crawlers, or to Googlebot or Bingbot.

    A rule after the name of a crawler is for that crawler. `none` can be the value of another rule.
    """
    is_meant = True
    for part in value.split(","):
        match = _AGENT.match(part)
        if match is not None and _VALUED.fullmatch(match[1]):
            continue
        if match is not None:
            is_meant, part = match[1].lower() in ("*", *_ROBOTS_NAMES), match[2]
        if is_meant and not {"noindex", "none"}.isdisjoint(part.lower().split()):
            return True
    return False


def _primary(language: str) -> str:
    name = re.split("[-_]", language.lower())[0]
    return _SAME.get(name, name)


def _comparable(url: str, reference: str) -> str | None:
    """Return a reference of a page without its fragment, normalized if valid; `None` without a URL."""
    plain = None
    with suppress(ValueError):
        plain = urljoin(url, reference.strip()).partition("#")[0]
        return normalized(uri(plain))
    return plain


def _html(response: Response) -> Any:
    """Parse the beginning of an HTML page. Return `None` if it is empty or cannot be parsed."""
    kind = response.header("content-type").lower()
    # A browser takes a page without a type for HTML, too.
    if kind and "html" not in kind:
        return None
    body, _ = read_start(response.content(lambda *_: None), MAX_PAGE)
    charset = re.search(r"charset=[\"']?([\w-]+)", response.header("content-type"), re.ASCII)
    try:
        parser = etree.HTMLParser(encoding=charset and charset[1], no_network=True, huge_tree=False)
        return etree.fromstring(body, parser)
    except (etree.LxmlError, LookupError, ValueError):
        return None
