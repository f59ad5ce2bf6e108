"""Check the alternates of entries: their languages, and that they list themselves and link back."""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Sequence
from functools import lru_cache
from importlib.resources import files
from typing import Any, NamedTuple

from django_sitemaps09 import protocol
from django_sitemaps09.protocol import MAX_LOCATION, Base, normalized
from django_sitemaps09.tools.audit.parsers import ReadEntry
from django_sitemaps09.tools.audit.rules import Findings
from django_sitemaps09.tools.audit.rules.robots import origin
from django_sitemaps09.tools.audit.rules.urls import url_problem
from django_sitemaps09.tools.audit.scratch import Scratch

#: Maximum number of incomplete groups of alternates in memory, and of the alternates of their entries. The
#: entries of a group usually follow each other. Beyond it, the oldest group goes to the temporary database.
_MAX_GROUPS, _MAX_KEPT = 2_000, 50_000
_APP = re.compile(r"(android|ios)-app:", re.IGNORECASE)
_MAX_LANGUAGE = 100  # Maximum length of a language that is parsed and cached. A longer one is invalid.

_CODES = files(__package__).joinpath("codes.txt").read_text("utf-8")
_BLOCKS = (re.sub("(?m)^#.*", "", block).split() for block in _CODES.split("\n\n"))
_TWO, _THREE, _REGIONS, _PAIRS = map(dict.fromkeys, _BLOCKS)
# Codes that were withdrawn, which some programs still write.
_LANGUAGES = {pair[:2] for pair in _TWO} | {"in", "iw", "ji", "jw", "mo", "sh"}
_SHORT = {pair[3:]: pair[:2] for pair in _TWO}
_MISTAKES = dict(pair.split("=") for pair in _PAIRS)


@lru_cache(1_000)
def parse_language(language: str) -> tuple[str, str | None, str]:
    """Return the normalized code of a language, the rule that it breaks or `None`, and the reason."""
    try:
        code = protocol.hreflang(language)
    except ValueError as error:
        return language, "hreflang-code", str(error)
    if "_" in language or "@" in language:
        return code, "hreflang-code", f"write {code}"
    name, *parts = code.split("-")
    if name == "x":
        return code, None, ""
    if name in _SHORT:
        return code, "hreflang-code", f"write {'-'.join([_SHORT[name], *parts])}"
    if len(name) == 2 and name not in _LANGUAGES:
        right = _MISTAKES.get(name)
        reason = f"write {right}" if right else f"there is no language {name!r}"
        if parts and parts[-1].lower() in _LANGUAGES and name.upper() in _REGIONS:
            reason = f"the language comes first: write {parts[-1].lower()}-{name.upper()}"
        return code, "hreflang-code", reason
    warning = protocol.hreflang_warning(code)
    if warning is None and len(name) == 3 and name not in _THREE:
        warning = f"there is no language {name!r} in ISO 639-2"
    elif warning is None and parts and len(parts[-1]) == 2 and parts[-1] not in _REGIONS:
        warning = f"there is no country {parts[-1]!r}"
    return code, warning and "hreflang-unsupported", warning or ""


def is_country(code: str) -> bool:
    return code.upper() in _REGIONS


class _Group(NamedTuple):
    """URLs with the same alternates: their places and targets, and the targets that are not among them."""

    entries: dict[str, tuple[str, frozenset[str]]]
    missing: set[str]


class LinkRules:
    """The checks of alternates in one audit."""

    def __init__(self, findings: Findings, scratch: Scratch) -> None:
        self._findings, self._scratch, self._size = findings, scratch, 0
        self._groups: OrderedDict[frozenset[str], _Group] = OrderedDict()
        self._bases: set[Base | None] = set()

    def check(self, place: str, entry: ReadEntry, elements: Sequence[Any]) -> None:
        report, url = self._findings.at(place), normalized(entry.url)
        # `hrefs` has all alternates, and `targets` those that must link back.
        languages, hrefs, targets = set[str](), set[str](), set[str]()
        for element in elements:
            language, href = element.get("hreflang"), (element.get("href") or "").strip()
            kinds = (element.get("rel") or "").lower().split()
            is_link = "alternate" in kinds and href and url_problem(href) is None
            is_other = kinds and ("alternate" not in kinds or _APP.match(href))
            if language is None and (is_other or (element.get("media") and is_link)):
                # A page for phones at a separate URL, AMP or an app: such a link has no language.
                continue
            if not language or not is_link:
                report("hreflang-link", f"{href or 'no href'} of {url}", entry.line)
                continue
            href = normalized(href)
            code, rule, reason = parse_language(language[:_MAX_LANGUAGE])
            if rule is not None:
                report(rule, f"{language!r} of {url}: {reason}", entry.line)
            if code in languages:
                report("hreflang-repeated", f"{language!r} of {url}", entry.line)
            languages.add(code)
            hrefs.add(href)
            # A page that only chooses a language need not be in a sitemap itself.
            if language.lower() != "x-default":
                targets.add(href)
        all_hrefs = (normalized((element.get("href") or "").strip()) for element in elements)
        if targets and url not in targets and url not in all_hrefs:
            report("hreflang-no-self", url, entry.line)
        if targets and len(url) <= MAX_LOCATION:
            self._add(url, frozenset((*hrefs, url)), frozenset(targets), f"{place}:{entry.line}")

    def _add(self, url: str, key: frozenset[str], targets: frozenset[str], place: str) -> None:
        """Remember a URL with its alternates until all of them have linked to each other."""
        group = self._groups.setdefault(key, _Group({}, set()))
        if url not in group.entries:
            self._size += len(key)
        group.entries[url] = (place, targets)
        group.missing.update(targets)
        group.missing.difference_update(group.entries)
        if not group.missing:
            self._size -= len(key) * len(group.entries)
            del self._groups[key]
            self._scratch.add_group(key)
        while len(self._groups) > _MAX_GROUPS or self._size > _MAX_KEPT:
            self._store(*self._groups.popitem(last=False))

    def _store(self, key: frozenset[str], group: _Group) -> None:
        self._size -= len(key) * len(group.entries)
        # A URL of a complete group can be listed again.
        for url, (place, targets) in () if self._scratch.has_group(key) else group.entries.items():
            self._bases.add(origin(url))
            self._scratch.add_links(url, sorted(key), targets, place)

    def finish(self) -> None:
        """Report alternates that do not link back. Alternates on hosts without entries are not checked."""
        while self._groups:
            self._store(*self._groups.popitem())
        for source, target, place in self._scratch.one_way_links():
            if origin(target) in self._bases:
                self._findings.add(place, "hreflang-no-return", f"{source} links to {target}")
