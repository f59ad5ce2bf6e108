"""Check the values of entries: lastmod, changefreq and priority."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime, timedelta, timezone
from functools import lru_cache
from typing import NamedTuple

from django_sitemaps09.audit.documents import ReadEntry
from django_sitemaps09.audit.readers import ReportRule
from django_sitemaps09.protocol import CHANGEFREQS

# The forms that both the W3C note and the XSD allow.
_STRICT = re.compile(r"\d{4}-\d\d-\d\d(T\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d))?", re.ASCII)
# These, and forms that one of them allows: a year, a month, no seconds, no offset, a date with an offset.
_VALID = re.compile(
    r"\d{4}(-\d\d)?|\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d+)?)?)?(Z|[+-]\d\d:\d\d)?", re.ASCII
)
_PRIORITY = re.compile(r"\+?(0?\.\d+|0\.?\d*|1\.?0*|-?0\.?0*)", re.ASCII)
# Maximum length of a value that is parsed and cached. A longer value is not a date.
_LONGEST = 100
_FRACTION = re.compile(r"\.\d+")
#: Tolerances for clocks and time zones.
_CLOCK = timedelta(minutes=5)
_ZONES = timedelta(hours=14)
#: The lastmods of a document are alike if all are within `_ALIKE`, and at least `_ALIKE_URLS` exist.
_ALIKE = timedelta(minutes=10)
_ALIKE_URLS = 50


class Moment(NamedTuple):
    """A date or time. `at` is its beginning in UTC."""

    at: datetime
    is_date: bool


class ParsedValue(NamedTuple):
    """A parsed value, and the id of the rule that it breaks."""

    moment: Moment | None
    rule: str | None


def parse_lastmod(text: str | None) -> ParsedValue:
    """Parse a W3C date or time, with or without whitespace around it."""
    text = (text or "").strip()
    return ParsedValue(None, "lastmod-format") if len(text) > _LONGEST else _parse(text)


@lru_cache(20_000)
def _parse(text: str) -> ParsedValue:
    if not _VALID.fullmatch(text):
        return ParsedValue(None, "lastmod-format")
    rule = None if _STRICT.fullmatch(text) else "lastmod-ambiguous"
    # `2026-01-01Z` is the XSD's form of a date with an offset.
    value = _FRACTION.sub("", text) if "T" in text else f"{text}-01-01"[:10]
    try:
        # Python 3.10 cannot parse `Z`.
        at = datetime.fromisoformat(value.replace("Z", "+00:00"))
        at = at.replace(tzinfo=timezone.utc) if at.tzinfo is None else at.astimezone(timezone.utc)
    except (ValueError, OverflowError):
        return ParsedValue(None, "lastmod-format")
    return ParsedValue(Moment(at, "T" not in value), rule)


class LastmodRange:
    """The oldest and the newest lastmod of a document."""

    def __init__(self) -> None:
        self._count = 0
        # The oldest and the newest, after the first call of `add()`.
        self._ends: list[Moment] = []

    def add(self, moments: Sequence[Moment], count: int) -> None:
        if moments:
            known = [*self._ends, *moments]
            self._ends = [min(known), max(known)]
            self._count += count

    def alike(self) -> str | None:
        """Return the text of the finding if all values are alike."""
        if self._count < _ALIKE_URLS:
            return None
        oldest, newest = (moment.at for moment in self._ends)
        if newest - oldest > _ALIKE:
            return None
        return f"{self._count:,} URLs from {oldest:%Y-%m-%d %H:%M} to {newest:%Y-%m-%d %H:%M}"

    def newer_than(self, listed: Moment | None) -> str | None:
        """Return the text of the finding if the newest value is newer than that in the index."""
        if not self._ends or listed is None:
            return None
        newest = self._ends[-1]
        # A date includes its whole day. If only one of the values is a date, its zone is not known.
        slack = timedelta(0)
        if listed.is_date and not newest.is_date:
            slack = timedelta(days=1, microseconds=-1)
        if newest.is_date != listed.is_date:
            slack += _ZONES
        if newest.at - listed.at <= slack:
            return None
        return f"{newest.at:%Y-%m-%d %H:%M:%S}, in the index {listed.at:%Y-%m-%d %H:%M:%S}"


def check_values(
    report: ReportRule, entries: Sequence[ReadEntry], span: LastmodRange, now: datetime
) -> None:
    """Check the values of a batch of entries, and add their lastmod to the span of the document."""
    moments: list[Moment] = []
    for entry in entries:
        if entry.lastmod is not None:
            moment, rule = parse_lastmod(entry.lastmod)
            if moment is not None:
                moments.append(moment)
                # It is in the future everywhere on earth.
                if moment.at > now + (_ZONES if moment.is_date else _CLOCK):
                    rule = "lastmod-future"
            if rule is not None:
                report(rule, f"{entry.lastmod!r} of {entry.url}", entry.line)
        if entry.changefreq is not None and entry.changefreq.strip() not in CHANGEFREQS:
            report("changefreq-value", f"{entry.changefreq!r} of {entry.url}", entry.line)
        if entry.priority is not None and not _PRIORITY.fullmatch(entry.priority.strip()):
            report("priority-value", f"{entry.priority!r} of {entry.url}", entry.line)
    span.add(moments, sum(entry.lastmod is not None for entry in entries))
