"""What is wrong with the sitemaps of a host, in words, with the part of the overview that shows it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from django_sitemaps09.entries import excerpt
from django_sitemaps09.inspector.overview import Overview


class Problem(NamedTuple):
    """A problem as a sentence. `part` is the id of a heading in the overview, without its prefix."""

    text: str
    part: str


def problems(overview: Overview) -> list[Problem]:
    """Return what is wrong, the most severe problems first."""
    return [*_of_export(overview), *_of_sections(overview), *_of_runs(overview)]


def _of_export(overview: Overview) -> Iterator[Problem]:
    export = overview.export
    if export is not None and export.error is not None:
        yield Problem(f"The export cannot be read: {export.error}", "export")
    if export is not None and export.is_unfinished:
        text = "A run is publishing, or was killed while publishing. The next run completes it."
        yield Problem(text, "export")


def _of_sections(overview: Overview) -> Iterator[Problem]:
    for section in overview.sections:
        if section.error is not None:
            yield Problem(f"Section {section.section!r} cannot be read: {section.error}", "sections")
        if not section.is_declared:
            text = f"Section {section.section!r} is not declared any more, but the export keeps its files."
            yield Problem(text, "sections")


def _of_runs(overview: Overview) -> Iterator[Problem]:
    last_run = overview.runs[0] if overview.runs else None
    if last_run is not None and last_run.failures:
        outcome = "had failures" if last_run.is_published else "published nothing"
        text = f"The last recorded export {outcome}: {excerpt(last_run.failures[0])}"
        yield Problem(text, "runs")
    if overview.skipped:
        count = f"{len(overview.skipped):,}"
        yield Problem(f"Items and elements that the last exports have skipped: {count}.", "skipped")
    findings = [] if overview.audit is None else overview.audit.findings
    errors = sum(finding.count for finding in findings if finding.severity == "error")
    if errors:
        yield Problem(f"Errors that the last audit found: {errors:,}.", "audit")
