"""Check pages: their status, redirects, noindex, canonical URL, and what changed since the last audit."""

from __future__ import annotations

import json
import logging
import os
import re
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from datetime import datetime, timedelta, timezone
from hashlib import blake2b
from itertools import chain
from pathlib import Path
from secrets import token_hex
from typing import Any
from urllib.parse import urljoin

from django_sitemaps09.exceptions import AuditError, DocumentError, ExportError
from django_sitemaps09.protocol.fields import reason_of
from django_sitemaps09.protocol.urls import normalized, uri
from django_sitemaps09.target.local import read_plain, replace_whole
from django_sitemaps09.target.manifest import PARSE_ERRORS
from django_sitemaps09.tools.audit.parsers import etree
from django_sitemaps09.tools.audit.readers import Reader, Response, http_date, peek
from django_sitemaps09.tools.audit.rules import Findings, Problem
from django_sitemaps09.tools.audit.scratch import SampledPage
from django_sitemaps09.tools.audit.values import parse_lastmod

logger = logging.getLogger(__name__)

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
_FORMAT, _MAX_HISTORY = 1, 500_000_000  # The version of a history, and its maximum number of bytes.
# Elements whose text changes without the page: https://html.spec.whatwg.org/#sections
_CHANGING = ("script", "style", "nav", "header", "footer", "noscript", "template")


class History:
    """The file of a history: a digest of the text, the lastmod, and the day of the audit for each page.

    `compared` counts the pages that were compared, and `varying` those whose text differs within seconds.
    Raise `AuditError` if the file exists and is not a history.
    """

    def __init__(self, path: Path) -> None:
        # The file that a symbolic link names is replaced, not the link.
        self._path, self._pages, self.compared, self.varying = path.resolve(), dict[str, list[str]](), 0, 0
        if not os.access(self._path.parent, os.W_OK):
            raise AuditError(f"A history cannot be written in {self._path.parent}.")
        try:
            if (content := read_plain(self._path, _MAX_HISTORY)) is not None:
                values = json.loads(content)
                for url, (text, lastmod, day) in values["pages"].items():
                    self._pages[url] = [*map(str, (text, lastmod, day))]
                if values["format"] != _FORMAT:
                    raise ValueError("another version has written it")
        except (*PARSE_ERRORS, ExportError, OSError) as error:
            text = str(error).rstrip(".")
            raise AuditError(f"{path} is not a history of an audit: {text}. Name another file.") from error

    def compare(self, page: SampledPage, document: Any, again: Any) -> list[Problem]:
        """Return the rules that the lastmod of a page breaks. `document` and `again` are two responses."""
        text, today = _digest(document), f"{datetime.now(timezone.utc):%Y-%m-%d}"
        if again is None or _digest(again) != text:
            self.varying += 1
            return []
        known_text, known_lastmod, known_day = self._pages.get(page.url, ("", None, ""))
        self._pages[page.url] = [text, page.lastmod or "", today]
        known, lastmod = parse_lastmod(known_lastmod), parse_lastmod(page.lastmod)
        if known is None or lastmod is None:
            return []
        self.compared += 1
        is_newer = lastmod.at > known.at
        if known.is_date or lastmod.is_date:
            is_newer = lastmod.at.date() > known.at.date()
        if known_text == text:
            problem = "page-unchanged", f"lastmod {page.lastmod}, before {known_lastmod}"
            return [problem] if is_newer else []
        # A date includes its whole day: the page can have changed again after the last audit.
        is_open = lastmod.is_date and f"{lastmod.at:%Y-%m-%d}" >= known_day
        return [] if is_newer or is_open else [("page-changed", f"lastmod {page.lastmod}")]

    def write(self) -> None:
        """Replace the file. Pages that were not compared are kept. A failure is only logged."""
        content = json.dumps({"format": _FORMAT, "pages": self._pages}).encode()
        try:
            # Not a store: its names have no colon, and its folder of temporary files would stay.
            replace_whole(self._path, content, 0o600, self._path.with_name(f"tmp-{token_hex(8)}"))
        except (ExportError, OSError) as error:
            logger.warning("The history of the audit cannot be written: %s", reason_of(error))


def _digest(document: Any) -> str:
    """Return a digest of the main text of a page, without differences in whitespace."""
    root = next(chain(document.iter("main"), document.iter("body"), [document]))
    for element in [*root.iter(*_CHANGING)]:
        element.clear(keep_tail=True)
    text = " ".join("".join(root.itertext()).split())
    return blake2b(text.encode(errors="surrogatepass"), digest_size=16).hexdigest()


def check_pages(
    pages: Iterable[SampledPage], reader: Reader, findings: Findings, rate: float, history: History | None
) -> Iterator[int]:
    """Request pages, twice with a `history`, check them, and yield their number after each.

    At most `rate` pages are requested each second; 0 means as fast as possible.
    """
    next_time = 0.0

    def request(page: SampledPage) -> tuple[list[Problem], Any]:
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


def _problems(page: SampledPage, response: Response, document: Any) -> Iterator[Problem]:
    if 300 <= response.status < 400:
        yield "page-redirect", f"{response.status} to {response.header('location')}"
        return
    if response.status != 200:
        yield "page-status", str(response.status)
        return
    for tag in response.headers.get("x-robots-tag", ()):
        if _forbids_indexing(tag):
            yield "page-noindex", f"X-Robots-Tag: {tag}"
    document = etree.Element("html") if document is None else document
    modified, noindex = http_date(response.header("last-modified")), ""
    for meta in document.iter("meta"):
        name = (meta.get("name") or meta.get("property") or "").strip().lower()
        value = meta.get("content") or ""
        if name in _ROBOTS_NAMES and _forbids_indexing(value):
            noindex = f'<meta name="{name}" content="{value}">'
        elif name in _MODIFIED and (moment := parse_lastmod(value)):
            modified = moment.at
    if noindex:
        yield "page-noindex", noindex
    language = (next(document.iter("html"), document).get("lang") or "").strip()
    languages = {*map(_primary, (page.language or "").split())}
    if languages and language and _primary(language) not in languages:
        yield "page-language", f"lang {language}, hreflang {page.language}"
    canonicals = {*filter(None, _canonicals(page.url, response, document))}
    if len(canonicals) > 1:
        yield "page-canonicals", " and ".join(sorted(canonicals))
    elif canonicals - {_comparable(page.url, "")}:
        yield "page-canonical", canonicals.pop()
    moment = parse_lastmod(page.lastmod)
    # A date includes its whole day.
    if moment and modified and modified - moment.at > (2 * _DAY if moment.is_date else _DAY):
        yield "page-newer", f"changed {modified:%Y-%m-%d %H:%M}, lastmod {page.lastmod}"


def _canonicals(url: str, response: Response, document: Any) -> Iterator[str | None]:
    """Yield the canonical URLs of a page, from its headers and its links."""
    for target, relations in _LINK.findall(",".join(response.headers.get("link", ()))):
        if "canonical" in relations.strip('"').lower().split():
            yield _comparable(url, target)
    bases = filter(None, (element.get("href") for element in document.iter("base")))
    base = _comparable(url, next(bases, "")) or url
    for link in document.iter("link"):
        if link.get("href") and "canonical" in (link.get("rel") or "").lower().split():
            yield _comparable(base, link.get("href"))


def _comparable(url: str, reference: str) -> str | None:
    """Return a reference of a page without its fragment, normalized if valid; `None` without a URL."""
    plain = None
    with suppress(ValueError):
        plain = urljoin(url, reference.strip()).partition("#")[0]
        return normalized(uri(plain))
    return plain


def _forbids_indexing(value: str) -> bool:
    """Return whether the rules in a value forbid indexing to all crawlers, or to Googlebot or Bingbot."""
    is_meant = True
    for part in value.split(","):
        if match := _AGENT.match(part):
            # `none` can also be the value of a rule.
            if _VALUED.fullmatch(match[1]):
                continue
            is_meant, part = match[1].lower() in ("*", *_ROBOTS_NAMES), match[2]
        if is_meant and not {"noindex", "none"}.isdisjoint(part.lower().split()):
            return True
    return False


def _primary(language: str) -> str:
    name = re.split("[-_]", language.lower())[0]
    return _SAME.get(name, name)


def _html(response: Response) -> Any:
    """Parse the beginning of an HTML page. Return `None` if it is empty or cannot be parsed."""
    kind = response.header("content-type")
    # A browser takes a page without a type for HTML, too.
    if kind and "html" not in kind.lower():
        return None
    body, _ = peek(response.content(lambda *_: None), MAX_PAGE)
    charset = re.search(r"charset=[\"']?([\w-]+)", kind, re.ASCII)
    try:
        parser = etree.HTMLParser(encoding=charset and charset[1], no_network=True, huge_tree=False)
        return etree.fromstring(body[:MAX_PAGE], parser)
    except (etree.LxmlError, LookupError, ValueError):
        return None
