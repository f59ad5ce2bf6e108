"""The overview: the state of the sitemaps, and what is wrong with it; and the tables of all pages."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import MAXYEAR, MINYEAR, date, datetime, timezone
from itertools import islice
from math import ceil
from typing import Any, NamedTuple

from django.template.defaultfilters import filesizeformat

from django_sitemaps09.conf import conf
from django_sitemaps09.protocol.entries import ItemError
from django_sitemaps09.protocol.fields import excerpt, pluralize
from django_sitemaps09.protocol.urls import Base
from django_sitemaps09.target.journal import RecordedRun, SectionChange, read_history, section_changes
from django_sitemaps09.target.manifest import PageFile
from django_sitemaps09.tools.audit import AuditReport, last_report
from django_sitemaps09.tools.audit.values import parse_lastmod
from django_sitemaps09.tools.inspector.lookup import Answer
from django_sitemaps09.tools.status import SectionStatus, Status, sentences, status

_NONE = "–"  # noqa: RUF001 an en dash, for a cell without a value
# Maximum numbers of sections that a run lists, and of skipped items.
_MAX_CHANGES, _MAX_SKIPPED = 5, 100
# Numbers of rows that are not folded: sections with problems, sections of a small site, and exports.
_SHOWN_PROBLEMS, _SHOWN_SECTIONS, _SHOWN_RUNS = 20, 10, 3
_SECTIONS = (
    "Last change: when the content of an exported file last changed. Live pages: the pages in the live "
    "index, if the cache has it. Lag: how much newer the newest lastmod on these pages is than the start "
    "of the section's last export without a failure."
)
# Ages of pages by their maximum number of days.
_AGES = {1: "1 day", 7: "7 days", 30: "30 days", 90: "90 days", 365: "1 year"}
_OLDER, _UNKNOWN = "older", "no lastmod"
LABELS = (*(f"within {age}" for age in _AGES.values()), _OLDER, _UNKNOWN)


@dataclass(frozen=True, slots=True)
class Overview:
    """State of the sitemaps of one host. No query for it depends on the number of rows.

    `freshness` counts exported pages by age, for each section. `skipped` has the section and the error of
    each skipped item or element, and the start of the export that skipped it, in seconds since 1970.
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
    records = {section.section: section.record for section in state.sections}
    ages = {name: freshness(record.pages, today) for name, record in records.items() if record is not None}
    return Overview(state, ages, runs, _skipped(runs, records), last_report(base_url=str(base)))


def freshness(pages: Iterable[PageFile], today: date) -> Counter[str]:
    """Count pages by the age of their newest lastmod, which is known only if all URLs have a lastmod."""
    return Counter(_age(page.lastmod, today) for page in pages)


def _age(lastmod: str | None, today: date) -> str:
    moment = parse_lastmod(lastmod)
    if moment is None:
        return _UNKNOWN
    days = (today - moment.at.date()).days
    return next((f"within {age}" for most, age in _AGES.items() if days <= most), _OLDER)


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
    """Yield what is wrong, the most severe problems first: the part of the page with it, and a text."""
    export = overview.status.export
    if export.error is not None:
        yield "export", f"The export cannot be read: {export.error}"
    if export.is_unfinished:
        yield "export", "A run is publishing, or was killed while publishing. The next run completes it."
    states, kept = overview.status.sections, ": not declared any more, but the export keeps the files."
    texts = [(each.section, f" cannot be read: {each.error}") for each in states if each.error is not None]
    texts += [(each.section, kept) for each in states if not each.is_declared]
    yield from (("sections", text) for text in sentences(texts))
    last_run = overview.runs[0] if overview.runs else None
    if last_run is not None and last_run.failures:
        outcome = "had failures" if last_run.is_published else "published nothing"
        yield "runs", f"The last recorded export {outcome}: {excerpt(last_run.failures[0])}"
    if overview.skipped:
        text = "Items and elements that the last exports have skipped"
        yield "skipped", f"{text}: {len(overview.skipped):,}."
    if overview.audit is not None and overview.audit.errors:
        yield "audit", f"Errors that the last audit found: {overview.audit.errors:,}."


class Cell(NamedTuple):
    """Cell of a table, with further `lines`, the percentage of a limit, and an id without its prefix."""

    text: str = ""
    lines: Sequence[str] = ()
    time: datetime | None = None
    meter: int | None = None
    is_error: bool = False
    anchor: str = ""


class Table(NamedTuple):
    """Table with a header as the first cell of each row. Only the first `shown` rows are not folded."""

    caption: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    numbers: Collection[str] = ()
    shown: int = 10

    @property
    def parts(self) -> list[Table]:
        """The table of the rows that are shown, and that of the folded ones, if there are any."""
        parts = [self._replace(rows=self.rows[: self.shown]), self._replace(rows=self.rows[self.shown :])]
        return parts if parts[1].rows else parts[:1]

    @property
    def labelled_rows(self) -> list[list[tuple[str, Cell]]]:
        return [list(zip(self.columns, row, strict=True)) for row in self.rows]


def _number(value: int | None) -> Cell:
    return Cell(_NONE if value is None else f"{value:,}")


def _meter(text: str, value: int, limit: int) -> Cell:
    percentage = (ceil if value > limit else round)(100 * value / limit)
    line = f"{percentage}% of the limit"
    return Cell(text, [line], meter=min(percentage, 100), is_error=value > limit)


def _time(seconds: float) -> Cell:
    return Cell(time=datetime.fromtimestamp(seconds, timezone.utc))


def _lastmod(text: str | None) -> Cell:
    """Return the cell for a lastmod in the W3C format, which can be a date without a time."""
    moment = parse_lastmod(text)
    # The first and the last year cannot be shown in every time zone.
    if moment is not None and not moment.is_date and MINYEAR < moment.at.year < MAXYEAR:
        return Cell(time=moment.at)
    return Cell(text or _NONE)


def sections_table(overview: Overview, text: str = "") -> Table:
    """Return a table of sections, those with problems first: the fullest page compared with the limits.

    With a `text`, only sections whose names or classes contain it are rows, and none is folded.
    """
    sizes = ("URLs", "Pages", "URLs of the fullest page", "Bytes of the fullest page", "On disk")
    columns = ("Section", *sizes, "Newest lastmod", "Last change", "Live pages", "Lag")
    rows = sorted(map(_section_row, overview.status.sections), key=lambda row: not _has_problem(row))
    rows = [row for row in rows if text.casefold() in " ".join((row[0].text, *row[0].lines)).casefold()]
    is_folded = not text and len(rows) > _SHOWN_SECTIONS
    shown = min(sum(map(_has_problem, rows)), _SHOWN_PROBLEMS) if is_folded else len(rows)
    return Table(_SECTIONS, columns, rows, {*sizes, "Live pages"}, shown)


def _has_problem(row: Sequence[Cell]) -> bool:
    return any(cell.is_error for cell in row)


def _section_row(section: SectionStatus) -> list[Cell]:
    line = section.error or section.sitemap or "Not declared any more: the export keeps its files"
    is_error = section.error is not None or not section.is_declared
    name = Cell(section.section, [line], is_error=is_error, anchor=f"section-{section.section}")
    live = _number(None if section.live is None else len(section.live.pages)), Cell(section.lag_text)
    if section.record is None:
        return [name, *[Cell(_NONE)] * 7, *live]
    pages = section.record.pages
    urls, size = (max((getattr(page, key) for page in pages), default=0) for key in ("urls", "bytes"))
    lastmods = [[getattr(page, key) or "" for page in pages] for key in ("lastmod", "changed")]
    return [
        *(name, _number(section.record.urls), _number(len(pages))),
        _meter(f"{urls:,}", urls, section.limit or conf.limits.urls),
        _meter(filesizeformat(size), size, conf.limits.bytes),
        Cell(filesizeformat(sum(page.size for page in pages))),
        *(_lastmod(max(texts, default=None)) for texts in lastmods),
        *live,
    ]


def freshness_table(overview: Overview) -> Table:
    """Return the plot as a table: the pages of each section by the age of their newest lastmod."""
    caption, counts = "Number of pages by the age of their newest lastmod", overview.freshness.items()
    rows = [[Cell(section), *(_number(pages[label]) for label in LABELS)] for section, pages in counts]
    return Table(caption, ["Section", *LABELS], rows, numbers=LABELS)


def runs_table(runs: Sequence[RecordedRun]) -> Table:
    """Return a table of the last exports that changed anything or had new problems."""
    outcomes = {True: "Published", False: "Nothing published"}
    rows = [
        [
            _time(run.started),
            Cell(f"{run.seconds:,.1f} s"),
            Cell(outcomes[run.is_published], run.failures, is_error=bool(run.failures)),
            Cell(lines=list(_changes(run.sections)) or ["No changes"]),
        ]
        for run in runs
    ]
    caption = "Exports that changed files or had problems, newest first"
    return Table(caption, ("Started", "Duration", "Result", "Changes"), rows, {"Duration"}, _SHOWN_RUNS)


def _changes(changes: Sequence[SectionChange]) -> Iterator[str]:
    for change in changes[:_MAX_CHANGES]:
        urls = pluralize(change.urls, "URL")
        if change.urls != change.previous_urls:
            urls = f"{urls} ({change.urls - change.previous_urls:+,})"
        files = {"written": change.written, "removed": change.removed}
        parts = [urls, *(f"{pluralize(count, 'file')} {what}" for what, count in files.items() if count)]
        parts += [f"{change.skipped_items:,} skipped"] if change.skipped_items else []
        parts += ["failed"] if change.failure is not None else []
        yield f"{change.section}: {', '.join(parts)}"
    if len(changes) > _MAX_CHANGES:
        yield f"and {pluralize(len(changes) - _MAX_CHANGES, 'further section')}"


def skipped_table(skipped: Mapping[tuple[str, ItemError], float]) -> Table:
    """Return a table of the items and elements that the last exports have skipped."""
    rows = []
    for (section, error), started in skipped.items():
        key = "all items" if error.key == "any" else excerpt(error.key)
        rows.append([*map(Cell, (key, section, error.field, excerpt(error.reason))), _time(started)])
    columns = ("Item", "Section", "Field", "Reason", "Skipped since")
    return Table("Skipped items and elements, with reasons", columns, rows)


def audit_table(audit: AuditReport) -> Table:
    rows = [
        [
            Cell(finding.rule),
            Cell(finding.severity, is_error=finding.severity == "error"),
            _number(finding.count),
            Cell(lines=[excerpt(example) for example in finding.examples]),
        ]
        for finding in audit.findings
    ]
    return Table("Findings by rule", ("Rule", "Severity", "Count", "Examples"), rows, {"Count"})


def entry_table(answer: Answer) -> Table | None:
    """Return a table of the elements of an entry, as exported and as they are now; `None` without one."""
    labelled = {"Exported": answer.published, "Now": answer.live}
    entries = {label: entry for label, entry in labelled.items() if entry is not None}
    if not entries:
        return None
    rows = [
        [Cell(name), *(Cell(entry.value(name) or _NONE) for entry in entries.values())]
        for name in ("lastmod", "changefreq", "priority")
    ]
    links = [[f"{language}: {url}" for language, url in entry.links] for entry in entries.values()]
    if any(links):
        rows.append([Cell("alternates"), *(Cell(lines=lines or [_NONE]) for lines in links)])
    return Table("Elements of the entry", ["Element", *entries], rows)


def plot(counts: Mapping[str, int]) -> dict[str, Any]:
    """Return what the plot of the number of pages of each age shows. At least one number is not 0."""
    bars = [(label, counts.get(label, 0), f"{counts.get(label, 0):,}") for label in LABELS]
    parts = ", ".join(f"{label}: {number}" for label, pages, number in bars if pages)
    description = f"{sum(counts.values()):,} pages by the age of their newest lastmod. {parts}."
    return {"bars": bars, "highest": max(counts.values()), "description": description}
