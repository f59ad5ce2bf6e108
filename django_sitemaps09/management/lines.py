"""What commands have in common: options for hosts, tables, and lines that several commands print."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timezone
from typing import Any

from django.core.management.base import CommandParser

from django_sitemaps09.declare.hosts import site_urls
from django_sitemaps09.export import Verification
from django_sitemaps09.export.notify import EndpointReport, Submission
from django_sitemaps09.export.report import THIS_PROCESS, Report, SectionReport
from django_sitemaps09.protocol.fields import pluralize
from django_sitemaps09.tools.suggestions import Comparison, Suggestion


def add_host_options(parser: CommandParser, description: str) -> None:
    """Add the options `--base-url` and `--all-sites`, which exclude each other, and `--format`."""
    group = parser.add_mutually_exclusive_group()
    text = f"{description}; repeat it for several hosts"
    group.add_argument("--base-url", action="append", metavar="URL", help=text)
    text = "the host of each Site of django.contrib.sites, by https"
    group.add_argument("--all-sites", action="store_true", help=text)
    parser.add_argument("--format", choices=["table", "json"], default="table")


def base_urls(options: Mapping[str, Any]) -> list[str]:
    """Return the base URLs that the options choose; an empty list for that of the settings."""
    return site_urls() if options["all_sites"] else options["base_url"] or []


def has_several(options: Mapping[str, Any]) -> bool:
    """Return whether each host has its own folder and report, even if there is only one site."""
    return options["all_sites"] or len(options["base_url"] or ()) > 1


def write_results(
    stdout: Any,
    options: Mapping[str, Any],
    results: Mapping[Any, Any],
    lines: Callable[[Any], Iterable[str]],
    *,
    by_host: bool,
) -> None:
    """Write the results of hosts as JSON or, unless the verbosity is 0, as lines of text."""
    if options["format"] == "json":
        documents = {url: result.as_dict() for url, result in results.items()}
        document = {"hosts": documents} if by_host else next(iter(documents.values()))
        stdout.write(json.dumps(document, indent=2))
    elif options["verbosity"] > 0:
        for result in results.values():
            for line in lines(result):
                stdout.write(line)


def aligned(rows: Sequence[Sequence[str]], texts: int, widths: Sequence[int] = ()) -> Iterator[str]:
    """Yield the rows of a table as lines, with the first `texts` columns aligned to the left.

    Minimum `widths` of columns make the tables of several hosts alike.
    """
    gap = " " if widths else "  "
    longest = [max(map(len, column)) for column in zip(*rows, strict=True)]
    widths = list(map(max, longest, widths or longest))
    for row in rows:
        yield gap.join(
            cell.ljust(width) if number < texts else cell.rjust(width)
            for number, (cell, width) in enumerate(zip(row, widths, strict=True))
        )


def export_lines(report: Report, *, hints: bool) -> Iterator[str]:
    """Yield the lines of an export: a table of sections with their notes and hints, then the result."""
    yield ""
    yield from aligned(list(_export_rows(report)), 1, (20, 13, 6, 11, 9, 11, 15, 13, 8))
    for section in report.sections:
        yield from _notes(section, hints=hints)
    yield from _end(report)


def _export_rows(report: Report) -> Iterator[Sequence[str]]:
    written, removed = "written", "removed"
    if not report.published:
        written, removed = ("to write", "to remove") if report.dry_run else ("not written", "not removed")
    yield "section", "URLs", "pages", written, "unchanged", removed, "bytes", "on disk", "seconds"
    parts = [(section.section, [section], section.seconds) for section in report.sections]
    for name, sections, seconds in [*parts, ("all", report.sections, report.seconds)]:
        counts = ("urls", "written", "unchanged", "removed", "bytes", "size")
        urls, *numbers = (sum(getattr(section, count) for section in sections) for count in counts)
        pages = sum(len(section.files) for section in sections)
        yield name, *(f"{number:,}" for number in (urls, pages, *numbers)), f"{seconds:.2f}"


def skipped_line(section: SectionReport) -> str:
    """Return the counts of the skipped items and elements of a section, and the first error."""
    counts = {"item": section.skipped_items, "element": section.skipped_elements}
    what = " and ".join(pluralize(count, noun) for noun, count in counts.items() if count)
    return f"{section.section}: {what} skipped; first error: {section.errors[0]}"


def _notes(section: SectionReport, *, hints: bool) -> Iterator[str]:
    name = section.section
    # The files of a section that failed are from an earlier run.
    if section.failure is not None and section.files:
        urls, pages = pluralize(section.urls, "URL"), pluralize(len(section.files), "page")
        yield f"{name}: failed; the published files are kept ({urls} on {pages})"
    if section.errors:
        yield skipped_line(section)
    moves = {"not rendered (unchanged)": section.skipped, "split": section.split, "merged": section.merged}
    if any(moves.values()):
        words = (f"{pluralize(count, 'page')} {what}" for what, count in moves.items() if count)
        yield f"{name}: {', '.join(words)}"
    yield from (f"{name}: {hint}" for hint in section.hints if hints)


def _end(report: Report) -> Iterator[str]:
    memory = "" if report.memory is None else f", peak memory {report.memory / 1e6:,.0f} MB"
    if report.workers_memory is not None:
        memory += f", largest worker {report.workers_memory / 1e6:,.0f} MB"
    yield f"{pluralize(round(report.urls / max(report.seconds, 1e-9)), 'URL')} per second{memory}"
    if report.rendered_by.keys() - {THIS_PROCESS}:
        counts = (f"{pluralize(pages, 'page')} by {who}" for who, pages in report.rendered_by.items())
        yield f"Rendered {', '.join(counts)}"
    if report.recovered:
        yield "An earlier export was killed while publishing. This run completed it first."
    if not report.published:
        yield "Nothing was written."
        if report.dry_run:
            yield f"Without --dry-run, {pluralize(len(report.written), 'file')} would be written."
        return
    if report.changes is not None:
        yield ", ".join(f"{pluralize(count, 'URL')} {what}" for what, count in report.changes.items())
    if report.written or report.deleted:
        yield f"Published {report.index_url} to {report.target}"
    elif not report.failures:
        yield f"Nothing has changed in {report.index_url}, published to {report.target}"
    if report.robots != "none":
        yield f"{report.robots_path}: {report.robots}"
    if report.submission is not None:
        yield from submission_lines(report.submission)


def verification_lines(verification: Verification) -> Iterator[str]:
    """Yield the lines of a verification: what was read, then the repaired files."""
    files, urls = pluralize(verification.files, "file"), pluralize(verification.urls, "URL")
    yield f"{verification.target}: verified {files} with {urls} in {verification.seconds:.2f} seconds"
    repaired = (file for file in verification.damaged if file.repaired)
    yield from (f"{file.name} was repaired: {file.problem}" for file in repaired)
    if verification.is_unfinished:
        yield "A run is publishing, or was killed while publishing; the next run completes it."


def submission_lines(submission: Submission) -> Iterator[str]:
    """Yield the lines of a submission: a table of endpoints and hosts, without its failures."""
    if not submission.endpoints:
        yield f"{submission.target}: nothing is pending"
        return
    yield f"{submission.target}: {'to submit' if submission.dry_run else 'submitted'}"
    head = ("endpoint", "host", "messages", "accepted", "rejected", "pending", "status")
    yield from aligned([head, *map(_endpoint_row, submission.endpoints)], 2)
    for report in submission.endpoints:
        if report.resumes is not None:
            end = datetime.fromtimestamp(report.resumes, timezone.utc)
            yield f"{report.endpoint} ({report.host}): nothing more is sent before {end:%H:%M:%S} UTC"
        yield from (f"{report.endpoint}: {example}" for example in report.examples)


def _endpoint_row(report: EndpointReport) -> Sequence[str]:
    numbers = (report.messages, report.accepted, report.rejected, report.pending)
    status = "-" if report.status is None else str(report.status)
    return report.endpoint, report.host, *(f"{number:,}" for number in numbers), status


def suggestion_lines(suggestion: Suggestion) -> Iterator[str]:
    """Yield the lines of a suggestion: what to declare, the code, differences and notes."""
    section, comparison = suggestion.section, suggestion.comparison
    if comparison is not None and suggestion.code is not None:
        hooks = " and ".join([", ".join(suggestion.hooks[:-1]), suggestion.hooks[-1]]).removeprefix(" and ")
        yield from (f"{section}: declare {hooks}, {_equal(comparison)}:", "", suggestion.code, "")
    notes = [*suggestion.notes, *(comparison.differences if comparison else ())]
    yield from (f"{section}: {note}" for note in notes)


def comparison_lines(comparison: Comparison) -> Iterator[str]:
    """Yield the lines of a comparison of two classes."""
    if not comparison.differences:
        yield f"The classes are {_equal(comparison)}."
    yield from comparison.differences


def _equal(comparison: Comparison) -> str:
    if not comparison.rows:
        return "not compared, because there are no rows"
    first = "" if comparison.is_complete else "the first "
    return f"equal on {first}{pluralize(comparison.rows, 'row')}"
