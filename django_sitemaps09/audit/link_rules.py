"""Check the alternates of entries: their languages, and that they list themselves and link back."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from typing import Any, NamedTuple

from django_sitemaps09.audit.documents import Entry
from django_sitemaps09.audit.languages import parse_language
from django_sitemaps09.audit.report import Findings
from django_sitemaps09.audit.robots_rules import origin
from django_sitemaps09.audit.scratch import Scratch
from django_sitemaps09.audit.url_rules import url_problem
from django_sitemaps09.protocol import MAX_LOCATION, XHTML_NAMESPACE, Base

LINK = f"{{{XHTML_NAMESPACE}}}link"
#: Maximum number of incomplete groups of alternates in memory. The entries of a group usually follow each
#: other. Beyond this number, the links of the oldest group go to the temporary database.
_MAX_GROUPS = 2_000
# Maximum number of alternates of their entries.
_MAX_KEPT = 50_000
# Maximum length of a language that is parsed and cached. A longer one is invalid.
_MAX_LANGUAGE = 100


class _Group(NamedTuple):
    """URLs that have the same alternates: the place and the languages of each, and those not yet read.

    A page that only chooses a language is linked as `x-default`, and need not be in a sitemap itself.
    """

    entries: dict[str, tuple[str, frozenset[str]]]
    missing: set[str]


class LinkRules:
    """The checks of alternates in one audit."""

    def __init__(self, findings: Findings, scratch: Scratch) -> None:
        self._findings, self._scratch = findings, scratch
        self._groups: OrderedDict[frozenset[str], _Group] = OrderedDict()
        self._size = 0
        self._bases: set[Base | None] = set()

    def check(self, place: str, entry: Entry, elements: Sequence[Any]) -> None:
        """Check the alternates of an entry."""
        url = entry.location.strip()
        languages: set[str] = set()
        targets: set[str] = set()
        hrefs: set[str] = set()
        for element in elements:
            language, href = element.get("hreflang"), (element.get("href") or "").strip()
            if language is None and element.get("media") and not _link_problem(element, href):
                # A page for phones at a separate URL: such a link has no language.
                continue
            if not language or _link_problem(element, href):
                text = f"{href or 'no href'} of {url}"
                self._findings.add("hreflang-link", place, text, entry.line)
                continue
            self._check_language(place, entry, language, languages)
            hrefs.add(href)
            if language.lower() != "x-default":
                targets.add(href)
        if not targets:
            return
        if url not in targets and url not in {(element.get("href") or "").strip() for element in elements}:
            self._findings.add("hreflang-no-self", place, url, entry.line)
        if len(url) <= MAX_LOCATION:
            self._add(url, frozenset((*hrefs, url)), frozenset(targets), f"{place}:{entry.line}")

    def _check_language(self, place: str, entry: Entry, language: str, languages: set[str]) -> None:
        code, rule, reason = parse_language(language[:_MAX_LANGUAGE])
        if rule is not None or code in languages:
            text = f"{language!r} of {entry.location.strip()}"
            if rule is not None:
                self._findings.add(rule, place, f"{text}: {reason}", entry.line)
            if code in languages:
                self._findings.add("hreflang-repeated", place, text, entry.line)
        languages.add(code)

    def _add(self, url: str, key: frozenset[str], targets: frozenset[str], place: str) -> None:
        """Remember a URL with its alternates until all of them have linked to each other."""
        group = self._groups.setdefault(key, _Group({}, set()))
        if url not in group.entries:
            self._size += len(key)
        group.entries[url] = (place, targets)
        group.missing.update(targets)
        group.missing.difference_update(group.entries)
        if not group.missing and group.entries.keys() >= targets:
            self._size -= len(key) * len(group.entries)
            del self._groups[key]
            self._scratch.add_group(key)
        while len(self._groups) > _MAX_GROUPS or self._size > _MAX_KEPT:
            self._store(*self._groups.popitem(last=False))

    def _store(self, key: frozenset[str], group: _Group) -> None:
        self._size -= len(key) * len(group.entries)
        if self._scratch.has_group(key):
            # A URL of a complete group is listed again.
            return
        for url, (place, targets) in group.entries.items():
            self._bases.add(origin(url))
            self._scratch.add_links(url, sorted(key), targets, place)

    def finish(self) -> None:
        """Report alternates that do not link back. Alternates on hosts without entries are not checked."""
        while self._groups:
            self._store(*self._groups.popitem())
        for source, target, place in self._scratch.one_way_links():
            if origin(target) in self._bases:
                self._findings.add("hreflang-no-return", place, f"{source} links to {target}")


def _link_problem(element: Any, href: str) -> bool:
    return element.get("rel") != "alternate" or not href or url_problem(href) is not None
