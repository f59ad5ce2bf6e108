"""Check the values of entries: lastmod, changefreq and priority, and codes of languages and countries."""

from __future__ import annotations

import math
import random
import re
from collections.abc import Sequence
from datetime import datetime, timedelta, timezone
from functools import lru_cache
from importlib.resources import files
from typing import NamedTuple

from django_sitemaps09.protocol.values import CHANGEFREQS, hreflang, hreflang_warning
from django_sitemaps09.tools.audit.read_entries import ReadEntry
from django_sitemaps09.tools.audit.rules import ReportRule

# The forms that both the W3C note and the XSD allow.
_STRICT = re.compile(r"\d{4}-\d\d-\d\d(T\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d))?", re.ASCII)
# These, and forms that one of them allows: a year, a month, no seconds, no offset, a date with an offset.
_VALID = re.compile(
    r"\d{4}(-\d\d)?|\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d+)?)?)?(Z|[+-]\d\d:\d\d)?", re.ASCII
)
_PRIORITY = re.compile(r"\+?0*(\.\d+|0(\.\d*)?|1(\.0*)?)|-0*(0(\.0*)?|\.0+)", re.ASCII)
LONGEST = 100  #: Maximum length of a value that is parsed and cached. A longer value is invalid.
_FRACTION = re.compile(r"\.\d+")
_CLOCK, ZONES = timedelta(minutes=5), timedelta(hours=14)  #: Tolerances for clocks and time zones.
#: The lastmods of a site are alike if a share of them is within `_ALIKE`, and at least `_ALIKE_URLS` exist.
_ALIKE, _ALIKE_URLS, _ALIKE_SHARE = timedelta(minutes=10), 50, 0.95
_SAMPLE = 10_000
_FIRST_YEAR = 1990  # There was no web. Zero is the year 1 in .NET and Go, and 1970 in Unix.

_CODES = files(__package__).joinpath("codes.txt").read_text("utf-8")
_BLOCKS = (re.sub("(?m)^#.*", "", block).split() for block in _CODES.split("\n\n"))
_TWO, _THREE, _REGIONS, _PAIRS = map(dict.fromkeys, _BLOCKS)
# Codes that were withdrawn, which some programs still write.
_LANGUAGES = {pair[:2] for pair in _TWO} | {"in", "iw", "ji", "jw", "mo", "sh"}
_SHORT = {pair[3:]: pair[:2] for pair in _TWO}
_MISTAKES = dict(pair.split("=") for pair in _PAIRS)


class Moment(NamedTuple):
    """A date or time. `at` is its beginning in UTC. It `is_strict` if the W3C note and the XSD allow it."""

    at: datetime
    is_date: bool
    is_strict: bool


def parse_lastmod(text: str | None) -> Moment | None:
    """Parse a W3C date or time, with or without whitespace around it. Return `None` if it is invalid."""
    text = (text or "").strip()
    return None if len(text) > LONGEST else _parse(text)


@lru_cache(20_000)
def _parse(text: str) -> Moment | None:
    if not _VALID.fullmatch(text):
        return None
    # `2026-01-01Z` is the XSD's form of a date with an offset.
    value = _FRACTION.sub("", text) if "T" in text else f"{text}-01-01"[:10]
    try:
        # Python 3.10 cannot parse `Z`.
        at = datetime.fromisoformat(value.replace("Z", "+00:00"))
        at = at.replace(tzinfo=timezone.utc) if at.tzinfo is None else at.astimezone(timezone.utc)
    except (ValueError, OverflowError):
        return None
    return Moment(at, "T" not in value, _STRICT.fullmatch(text) is not None)


class Lastmods:
    """A random sample of the lastmods of a site. The same values in the same order give the same sample."""

    def __init__(self) -> None:
        self._count, self._times = 0, list[datetime]()
        self._random = random.Random(0)  # noqa: S311 a sample needs no secret

    def add(self, moments: Sequence[Moment]) -> None:
        # Reservoir sampling: https://en.wikipedia.org/wiki/Reservoir_sampling
        for moment in moments:
            self._count += 1
            if self._count <= _SAMPLE:
                self._times.append(moment.at)
            elif (position := int(self._random.random() * self._count)) < _SAMPLE:
                self._times[position] = moment.at

    def alike(self, now: datetime) -> str | None:
        """Return the text of the finding if the values are alike. `now` is the time of the audit."""
        if self._count < _ALIKE_URLS:
            return None
        times = sorted(self._times)
        size = math.ceil(_ALIKE_SHARE * len(times))
        for oldest, newest in zip(times, times[size - 1 :], strict=False):
            if newest - oldest <= _ALIKE:
                is_today = newest == now.replace(hour=0, minute=0, second=0, microsecond=0)
                is_now = ", the time of the audit" if is_today or abs(now - newest) <= _ALIKE else ""
                share = f"{_ALIKE_SHARE:.0%} or more of {self._count:,} values"
                return f"{share} from {oldest:%Y-%m-%d %H:%M} to {newest:%Y-%m-%d %H:%M}{is_now}"
        return None


def check_values(report: ReportRule, entries: Sequence[ReadEntry], now: datetime) -> list[Moment]:
    """Check the values of a batch of entries. Return the valid lastmods."""
    moments: list[Moment] = []
    for entry in entries:
        if entry.lastmod is not None:
            moment, rule = parse_lastmod(entry.lastmod), ""
            if moment is None:
                rule = "lastmod-format"
            # It is in the future everywhere on earth.
            elif moment.at > now + (ZONES if moment.is_date else _CLOCK):
                rule = "lastmod-future"
            elif moment.at.year < _FIRST_YEAR:
                rule = "lastmod-old"
            elif not moment.is_strict:
                rule = "lastmod-ambiguous"
            if moment is not None:
                moments.append(moment)
            if rule:
                report(rule, f"{entry.lastmod!r} of {entry.url}", entry.line)
        if entry.changefreq is not None and entry.changefreq.strip() not in CHANGEFREQS:
            report("changefreq-value", f"{entry.changefreq!r} of {entry.url}", entry.line)
        if entry.priority is not None and not _PRIORITY.fullmatch(entry.priority.strip()):
            report("priority-value", f"{entry.priority!r} of {entry.url}", entry.line)
    return moments


@lru_cache(1_000)
def parse_language(language: str) -> tuple[str, str | None, str]:
    """Return the normalized code of a language, the rule that it breaks or `None`, and the reason.

    Results are cached, so pass at most `LONGEST` characters. A longer language is invalid.
    """
    try:
        code = hreflang(language)
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
    warning = hreflang_warning(code)
    if warning is None and len(name) == 3 and name not in _THREE:
        warning = f"there is no language {name!r} in ISO 639-2"
    elif warning is None and parts and len(parts[-1]) == 2 and parts[-1] not in _REGIONS:
        warning = f"there is no country {parts[-1]!r}"
    return code, warning and "hreflang-unsupported", warning or ""


def is_country(code: str) -> bool:
    return code.upper() in _REGIONS
