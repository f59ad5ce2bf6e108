"""Entries as they are read from the elements of sitemaps, indexes and feeds, with their broken rules."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from types import MappingProxyType
from typing import Any, Literal, NamedTuple
from urllib.parse import urljoin

from django_sitemaps09.protocol.media import NAMESPACES
from django_sitemaps09.protocol.urls import normalized
from django_sitemaps09.tools.audit.readers import http_date
from django_sitemaps09.tools.audit.rules import Problem, ReportRule

DocumentKind = Literal["urlset", "sitemapindex", "text", "feed"]

LINK = f"{{{NAMESPACES['xhtml']}}}link"  #: The tag of an alternate.
#: The elements of an entry in the order of the XSD.
_ORDER = {"urlset": ("loc", "lastmod", "changefreq", "priority"), "sitemapindex": ("loc", "lastmod")}
_RFC_3339 = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)", re.ASCII)
#: Maximum length of a value, and of an incomplete line in a text sitemap. A longer URL is invalid anyway.
MAX_VALUE = 16_384
#: Maximum length of a namespace, and of the names in an entry whose result is kept.
MAX_NAMES = 1_000


class ReadEntry(NamedTuple):
    """One URL, or one document in an index. `extensions` are the elements of other namespaces, by tag."""

    line: int
    location: str
    lastmod: str | None = None
    changefreq: str | None = None
    priority: str | None = None
    extensions: Mapping[str, Sequence[Any]] = MappingProxyType({})

    @property
    def url(self) -> str:
        """The location without whitespace around it."""
        return self.location.strip()

    @property
    def language(self) -> str | None:
        """The `hreflang` of the alternates that are the entry itself, with spaces; `None` without one."""
        url = normalized(self.url)
        languages = [
            (link.get("hreflang") or "").strip().lower()
            for link in self.extensions.get(LINK, ())
            if normalized((link.get("href") or "").strip()) == url
        ]
        return " ".join(filter(None, languages)).replace("x-default", "").strip() or None


def read_feed_entry(element: Any) -> ReadEntry | None:
    """Return the link and the date of an entry of a feed; `None` without a link, since none is required."""
    start = element.tag.removesuffix("entry") if element.tag != "item" else ""
    if element.tag == "item":
        location, name = element.findtext("link") or "", "pubDate"
        guid = element.find("guid")
        # Many feeds write other names, too, without `isPermaLink`.
        if not location.strip() and guid is not None and guid.get("isPermaLink") != "false":
            location = guid.text if "://" in (guid.text or "") else ""
    else:
        links = element.iterfind(f"{start}link")
        pages = (link.get("href") for link in links if link.get("rel", "alternate") == "alternate")
        location, name = next(pages, None) or "", "updated"
        with suppress(ValueError):
            # Only Atom can have relative URLs, if it names the base.
            location = location.strip() and urljoin(element.base or "", location)
    if not location.strip():
        return None
    date = element.findtext(f"{start}{name}")
    lastmod = None if date is None else _w3c_date(date[:MAX_VALUE].strip(), name)
    return ReadEntry(element.sourceline, location[:MAX_VALUE], lastmod)


def _w3c_date(text: str, name: str) -> str:
    """Return the date of a feed as a W3C date. An invalid one has the name of its element before it."""
    if name == "updated" and _RFC_3339.fullmatch(text.upper()):
        return text.upper()
    if name == "pubDate" and (moment := http_date(text)) is not None:
        return moment.isoformat()
    return f"{name} {text}"


def read_entry(element: Any, kind: DocumentKind, start: str, report: ReportRule) -> ReadEntry:
    """Return the entry in a sitemap or an index, whose own tags begin with `start`. Report broken rules."""
    values: dict[str, str | None] = {}
    tags = tuple([child.tag for child in element])
    find = _names if sum(map(len, tags)) <= MAX_NAMES else _names.__wrapped__
    names, problems = find(tags, kind, start)
    extensions: defaultdict[str, list[Any]] = defaultdict(list)
    for name, tag, child in zip(names, tags, element, strict=True):
        if name is None:
            extensions[tag].append(child)
        elif name not in values:
            values[name] = (child.text or "")[:MAX_VALUE]
    location = values.get("loc") or ""
    for rule, detail in problems:
        text = f"{location.strip()} ({detail})" if rule == "element-order" else detail
        report(rule, text, element.sourceline)
    if not location.strip():
        report("index-loc" if kind == "sitemapindex" else "url-missing", "", element.sourceline)
    lastmod, changefreq, priority = map(values.get, ("lastmod", "changefreq", "priority"))
    return ReadEntry(element.sourceline, location, lastmod, changefreq, priority, extensions)


@lru_cache(4_096)
def _names(tags: tuple[str, ...], kind: DocumentKind, start: str) -> tuple[list[str | None], list[Problem]]:
    """Return the local names of an entry's elements (`None` for extensions), and the broken rules."""
    order = _ORDER[kind]
    names = [
        tag[len(start) :] if (tag.startswith(start) if start else tag[0] != "{") else None for tag in tags
    ]
    problems = [
        ("element-unknown", tag if name is not None else f"{tag} has no namespace")
        for name, tag in zip(names, tags, strict=True)
        if name not in order and (name is not None or tag[0] != "{")
    ]
    problems += [("element-repeated", name) for name in sorted(order) if names.count(name) > 1]
    ranks = [order.index(name) if name in order else len(order) for name in names]
    if ranks != sorted(ranks):
        written = " ".join(name or tag for name, tag in zip(names, tags, strict=True))
        problems.append(("element-order", f"schema only: {written}"))
    return names, problems
