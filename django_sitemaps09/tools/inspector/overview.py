"""The state of the sitemaps for the overview, and what is wrong with it, in words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import date, datetime, timezone
from itertools import islice

from django_sitemaps09.protocol import Base, ItemError, excerpt
from django_sitemaps09.target.journal import RecordedRun, read_history, section_changes
from django_sitemaps09.target.manifest import PageFile
from django_sitemaps09.tools.audit import AuditReport, last_report
from django_sitemaps09.tools.audit.rules.values import parse_lastmod
from django_sitemaps09.tools.status import Status, sentences, status

# Maximum number of skipped items that the overview lists.
_MAX_SKIPPED = 100

#: Ages by their maximum number of days. Older pages, and pages without a lastmod, follow.
AGES: Mapping[str, int] = {
    "within 1 day": 1,
    "within 7 days": 7,
    "within 30 days": 30,
    "within 90 days": 90,
    "within 1 year": 365,
}
OLDER = "older"
UNKNOWN = "no lastmod"
LABELS = (*AGES, OLDER, UNKNOWN)


@dataclass(frozen=True, slots=True)
class Overview:
    """State of the sitemaps of one host. No query for it depends on the number of rows.

    `freshness` has the number of exported pages by age, for each section. `skipped` has the section and the
    error of each skipped item or element, and the start of the export that skipped it, in seconds since
    1970. `audit` is the last audit, `None` if there was none.
    """

    status: Status
    freshness: Mapping[str, Counter[str]]
    runs: Sequence[RecordedRun]
    skipped: Mapping[tuple[str, ItemError], float]
    audit: AuditReport | None


def overview(base: Base) -> Overview:
    """Return the state of the sitemaps. Errors of the storage and of sections are part of the state."""
    state, today = status(base_url=str(base), is_thorough=False), datetime.now(timezone.utc).date()
    runs: Sequence[RecordedRun] = []
    # The export already has the error of the storage.
    with suppress(Exception):
        runs = [] if state.export.folder is None else read_history(state.export.folder.state)
    return Overview(
        status=state,
        freshness={
            section.section: freshness(section.record.pages, today)
            for section in state.sections
            if section.record is not None
        },
        runs=runs,
        skipped=_skipped(runs, [section.section for section in state.sections]),
        audit=last_report(base_url=str(base)),
    )


def freshness(pages: Iterable[PageFile], today: date) -> Counter[str]:
    """Count pages by the age of their newest lastmod, which is known only if all URLs have a lastmod."""
    return Counter(_age(page.lastmod, today) for page in pages)


def _age(lastmod: str | None, today: date) -> str:
    moment = parse_lastmod(lastmod).moment
    if moment is None:
        return UNKNOWN
    age = (today - moment.at.date()).days
    return next((label for label, days in AGES.items() if age <= days), OLDER)


def _skipped(runs: Sequence[RecordedRun], names: Iterable[str]) -> dict[tuple[str, ItemError], float]:
    """Return the skipped elements of each section, from its last complete rendering on."""
    skipped: dict[tuple[str, ItemError], float] = {}
    for name in names:
        for run, change in section_changes(runs, name):
            for error in change.errors:
                skipped.setdefault((name, error), run.started)
            if change.is_complete:
                break
    return dict(islice(skipped.items(), _MAX_SKIPPED))


def problems(overview: Overview) -> Iterator[tuple[str, str]]:
    """Yield what is wrong as sentences, the most severe problems first.

    Before each is the id of the heading in the overview that shows it, without its prefix.
    """
    export = overview.status.export
    if export.error is not None:
        yield "export", f"The export cannot be read: {export.error}"
    if export.is_unfinished:
        yield "export", "A run is publishing, or was killed while publishing. The next run completes it."
    states, kept = overview.status.sections, ": not declared any more, but the export keeps the files."
    texts = [(each.section, f" cannot be read: {each.error}") for each in states if each.error is not None]
    texts += [(each.section, kept) for each in states if not each.is_declared]
    for text in sentences(texts):
        yield "sections", text
    last_run = overview.runs[0] if overview.runs else None
    if last_run is not None and last_run.failures:
        outcome = "had failures" if last_run.is_published else "published nothing"
        yield "runs", f"The last recorded export {outcome}: {excerpt(last_run.failures[0])}"
    if overview.skipped:
        count = f"{len(overview.skipped):,}"
        yield "skipped", f"Items and elements that the last exports have skipped: {count}."
    if overview.audit is not None and overview.audit.errors:
        yield "audit", f"Errors that the last audit found: {overview.audit.errors:,}."
