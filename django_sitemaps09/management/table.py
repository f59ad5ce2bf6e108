"""Formatting of reports as text: a table of sections and the result of a run, or of a verification."""

from __future__ import annotations

from collections.abc import Iterator

from django_sitemaps09.export import Verification
from django_sitemaps09.export.report import Report, SectionReport, pluralize
from django_sitemaps09.management import submission_table

_ROW = "{:<20} {:>13} {:>6} {:>11} {:>9} {:>11} {:>15} {:>13} {:>8}"


def lines(report: Report, *, hints: bool) -> Iterator[str]:
    """Yield the lines of a report, with the hints of its sections if `hints` is true."""
    yield ""
    yield from _table(report)
    for section in report.sections:
        yield from _notes(section, hints=hints)
    yield from _end(report)


def _table(report: Report) -> Iterator[str]:
    written, removed = "written", "removed"
    if not report.published:
        written, removed = ("to write", "to remove") if report.dry_run else ("not written", "not removed")
    yield _ROW.format(
        "section", "URLs", "pages", written, "unchanged", removed, "bytes", "on disk", "seconds"
    )
    for section_report in [*report.sections, None]:
        sections = report.sections if section_report is None else [section_report]
        urls, *counts, size, on_disk = (
            f"{sum(getattr(section, name) for section in sections):,}"
            for name in ("urls", "written", "unchanged", "removed", "bytes", "size")
        )
        pages = f"{sum(len(section.files) for section in sections):,}"
        name = "all" if section_report is None else section_report.section
        seconds = f"{report.seconds if section_report is None else section_report.seconds:.2f}"
        yield _ROW.format(name, urls, pages, *counts, size, on_disk, seconds)


def _notes(section: SectionReport, *, hints: bool) -> Iterator[str]:
    name = section.section
    if section.failure is not None and section.files:
        # The files are from an earlier run.
        urls = pluralize(sum(file.urls for file in section.files), "URL")
        pages = pluralize(len(section.files), "page")
        yield f"{name}: failed; the published files are kept ({urls} on {pages})"
    if section.skipped_items:
        what = "item or element" if section.skipped_items == 1 else "items or elements"
        yield f"{name}: {section.skipped_items:,} {what} skipped; first error: {section.errors[0]}"
    moves = {"not rendered (unchanged)": section.skipped, "split": section.split, "merged": section.merged}
    if any(moves.values()):
        words = (f"{pluralize(count, 'page')} {what}" for what, count in moves.items() if count)
        yield f"{name}: {', '.join(words)}"
    for hint in section.hints if hints else ():
        yield f"{name}: {hint}"


def _end(report: Report) -> Iterator[str]:
    memory = "" if report.memory is None else f", peak memory {report.memory / 1e6:,.0f} MB"
    if report.workers_memory is not None:
        memory += f", largest worker {report.workers_memory / 1e6:,.0f} MB"
    yield f"{pluralize(round(report.urls / max(report.seconds, 1e-9)), 'URL')} per second{memory}"
    if report.recovered:
        yield "An earlier export was killed while publishing. This run completed it first."
    if not report.published:
        yield "Nothing was written."
        if report.dry_run:
            yield f"Without --dry-run, {pluralize(len(report.written), 'file')} would be written."
        return
    if report.changes is not None:
        yield ", ".join(f"{pluralize(count, 'URL')} {what}" for what, count in report.changes.items())
    yield f"Published {report.index_url} to {report.target}"
    if report.robots != "none":
        yield f"{report.robots_path}: {report.robots}"
    if report.submission is not None:
        yield from submission_table.lines(report.submission)


def verification_lines(verification: Verification) -> Iterator[str]:
    """Yield the lines of a verification: what was read, then the repaired files."""
    files, urls = pluralize(verification.files, "file"), pluralize(verification.urls, "URL")
    yield f"{verification.target}: verified {files} with {urls} in {verification.seconds:.2f} seconds"
    for file in verification.damaged:
        if file.repaired:
            yield f"{file.name} was repaired: {file.problem}"
    if verification.is_unfinished:
        yield "A run is publishing, or was killed while publishing; the next run completes it."
