"""Check the alternates of entries: their languages, and that they list themselves and link back."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from django_sitemaps09 import protocol
from django_sitemaps09.audit.documents import Entry
from django_sitemaps09.audit.findings import Findings
from django_sitemaps09.audit.robots_rules import origin
from django_sitemaps09.audit.scratch import Scratch
from django_sitemaps09.audit.url_rules import url_problem
from django_sitemaps09.protocol import MAX_LOCATION, XHTML_NAMESPACE, Base

LINK = f"{{{XHTML_NAMESPACE}}}link"
#: Maximum number of incomplete groups of alternates in memory. The entries of a group usually follow each
#: other. Beyond this number, the links of the oldest group go to the temporary database.
_MAX_GROUPS = 2_000
# Maximum length of a language that is parsed and cached. A longer one is invalid.
_MAX_LANGUAGE = 100


class LinkRules:
    """The checks of alternates in one audit."""

    def __init__(self, findings: Findings, scratch: Scratch) -> None:
        self._findings, self._scratch = findings, scratch
        # For each group of URLs, the place of each URL whose entry has these alternates.
        self._groups: OrderedDict[frozenset[str], dict[str, str]] = OrderedDict()
        self._bases: set[Base | None] = set()

    def check(self, place: str, entry: Entry, elements: Sequence[Any]) -> None:
        """Check the alternates of an entry."""
        url = entry.location.strip()
        languages: set[str] = set()
        targets: dict[str, None] = {}
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
            # A page that only chooses a language need not be in a sitemap itself.
            if language.lower() != "x-default":
                targets[href] = None
        if not targets:
            return
        if url not in targets and url not in {(element.get("href") or "").strip() for element in elements}:
            self._findings.add("hreflang-no-self", place, url, entry.line)
        if len(url) <= MAX_LOCATION:
            self._add(url, targets, f"{place}:{entry.line}")

    def _check_language(self, place: str, entry: Entry, language: str, languages: set[str]) -> None:
        code, rule, reason = _parse_language(language[:_MAX_LANGUAGE])
        if rule is not None or code in languages:
            text = f"{language!r} of {entry.location.strip()}"
            if rule is not None:
                self._findings.add(rule, place, f"{text}: {reason}", entry.line)
            if code in languages:
                self._findings.add("hreflang-repeated", place, text, entry.line)
        languages.add(code)

    def _add(self, url: str, targets: dict[str, None], place: str) -> None:
        """Remember a URL with its alternates until all of them have linked to each other."""
        key = frozenset((*targets, url))
        group = self._groups.setdefault(key, {})
        group[url] = place
        if len(group) == len(key):
            del self._groups[key]
            self._scratch.add_group(key)
        elif len(self._groups) > _MAX_GROUPS:
            self._store(*self._groups.popitem(last=False))

    def _store(self, key: frozenset[str], group: dict[str, str]) -> None:
        if self._scratch.has_group(key):
            # A URL of a complete group is listed again.
            return
        for url, place in group.items():
            self._bases.add(origin(url))
            self._scratch.add_links(url, sorted(key), place)

    def finish(self) -> None:
        """Report alternates that do not link back. Alternates on hosts without entries are not checked."""
        while self._groups:
            self._store(*self._groups.popitem())
        for source, target, place in self._scratch.one_way_links():
            if origin(target) in self._bases:
                self._findings.add("hreflang-no-return", place, f"{source} links to {target}")


def _link_problem(element: Any, href: str) -> bool:
    return element.get("rel") != "alternate" or not href or url_problem(href) is not None


@lru_cache(1_000)
def _parse_language(language: str) -> tuple[str, str | None, str]:
    """Return the normalized code of a language, the rule that it breaks or `None`, and the reason."""
    try:
        code = protocol.hreflang(language)
    except ValueError as error:
        return language, "hreflang-code", str(error)
    if "_" in language or "@" in language:
        return code, "hreflang-code", f"write {code}"
    warning = protocol.hreflang_warning(code)
    return code, warning and "hreflang-unsupported", warning or ""
