"""Tables of the inspector's pages, with texts, numbers, times and meters in cells, and the plot."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import MAXYEAR, MINYEAR, datetime, timezone
from math import ceil
from typing import NamedTuple

from django.template.defaultfilters import filesizeformat

from django_sitemaps09.conf import conf
from django_sitemaps09.protocol import ItemError, excerpt, pluralize
from django_sitemaps09.target.journal import RecordedRun, SectionChange
from django_sitemaps09.tools.audit import AuditReport
from django_sitemaps09.tools.audit.rules.values import parse_lastmod
from django_sitemaps09.tools.inspector.lookup import Answer
from django_sitemaps09.tools.inspector.overview import LABELS, Overview
from django_sitemaps09.tools.status import SectionStatus

_NONE = "–"  # noqa: RUF001 an en dash, for a cell without a value
# Maximum number of sections that a run lists.
_MAX_CHANGES = 5
# Numbers of rows that are not folded: sections with problems, sections of a small site, and exports.
_SHOWN_PROBLEMS = 20
_SHOWN_SECTIONS = 10
_SHOWN_RUNS = 3

_SECTIONS = (
    "Last change: when the content of an exported file last changed. Live pages: the pages in the live "
    "index, if the cache has it. Lag: how much newer the newest lastmod on these pages is than the start "
    "of the section's last export without a failure."
)


class Cell(NamedTuple):
    """Cell of a table, with further `lines`, the percentage of a limit, and an id without its prefix."""

    text: str = ""
    lines: Sequence[str] = ()
    time: datetime | None = None
    meter: int | None = None
    is_error: bool = False
    anchor: str = ""


class Table(NamedTuple):
    """Table with a caption, and columns of which some have `numbers`. Only `shown` rows are not folded.

    The first cell of each row is its header.
    """

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
    lines = [f"{percentage}% of the limit"]
    return Cell(text, lines, meter=min(percentage, 100), is_error=value > limit)


def _time(seconds: float) -> Cell:
    return Cell(time=datetime.fromtimestamp(seconds, timezone.utc))


def _lastmod(text: str | None) -> Cell:
    """Return the cell for a lastmod in the W3C format, which can be a date without a time."""
    moment = parse_lastmod(text).moment
    # The first and the last year cannot be shown in every time zone.
    if moment is not None and not moment.is_date and MINYEAR < moment.at.year < MAXYEAR:
        return Cell(time=moment.at)
    return Cell(text or _NONE)


def sections_table(overview: Overview, text: str = "") -> Table:
    """Return a table with a row for each section: its fullest page compared with the limits.

    Sections with problems are first. With a `text`, only sections whose names or classes contain it are
    rows, and none is folded.
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
        name,
        *(_number(section.record.urls), _number(len(pages))),
        _meter(f"{urls:,}", urls, section.limit or conf.limits.urls),
        _meter(filesizeformat(size), size, conf.limits.bytes),
        Cell(filesizeformat(sum(page.size for page in pages))),
        *(_lastmod(max(texts, default=None)) for texts in lastmods),
        *live,
    ]


def freshness_table(overview: Overview) -> Table:
    """Return the plot as a table: the pages of each section by the age of their newest lastmod."""
    rows = [
        [Cell(section), *(_number(pages[label]) for label in LABELS)]
        for section, pages in overview.freshness.items()
    ]
    caption = "Number of pages by the age of their newest lastmod"
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
    columns = ("Started", "Duration", "Result", "Changes")
    return Table(caption, columns, rows, {"Duration"}, _SHOWN_RUNS)


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
    columns = ("Item", "Section", "Field", "Reason", "Skipped since")
    rows = [
        [
            Cell("all items" if error.key == "any" else excerpt(error.key)),
            Cell(section),
            Cell(error.field),
            Cell(excerpt(error.reason)),
            _time(started),
        ]
        for (section, error), started in skipped.items()
    ]
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
    entries = [("Exported", answer.published), ("Now", answer.live)]
    shown_entries = [(label, entry) for label, entry in entries if entry is not None]
    if not shown_entries:
        return None
    columns = ["Element", *(label for label, _ in shown_entries)]
    rows = [
        [Cell(name), *(Cell(entry.value(name) or _NONE) for _, entry in shown_entries)]
        for name in ("lastmod", "changefreq", "priority")
    ]
    links = [[f"{language}: {url}" for language, url in entry.links] for _, entry in shown_entries]
    if any(links):
        rows.append([Cell("alternates"), *(Cell(lines=lines or [_NONE]) for lines in links)])
    return Table("Elements of the entry", columns, rows)


class Plot(NamedTuple):
    """The number of pages of each age, and as a text; `highest` is the greatest number.

    `description` is the content of the plot as a sentence.
    """

    bars: Sequence[tuple[str, int, str]]
    highest: int
    description: str


def plot(counts: Mapping[str, int]) -> Plot:
    """Return the plot of the number of pages of each age, of which at least one is not 0."""
    bars = [(label, counts.get(label, 0), f"{counts.get(label, 0):,}") for label in LABELS]
    parts = ", ".join(f"{label}: {number}" for label, pages, number in bars if pages)
    description = f"{sum(counts.values()):,} pages by the age of their newest lastmod. {parts}."
    return Plot(bars, max(counts.values()), description)
