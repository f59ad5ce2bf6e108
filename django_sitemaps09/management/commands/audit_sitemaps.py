"""The management command `audit_sitemaps`."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterator
from functools import partial
from itertools import count
from typing import Any

from django.core.exceptions import ImproperlyConfigured
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import DatabaseError

from django_sitemaps09.conf import local_path
from django_sitemaps09.exceptions import SitemapError
from django_sitemaps09.management import lines
from django_sitemaps09.management.streams import progress_line
from django_sitemaps09.protocol.fields import excerpt, pluralize
from django_sitemaps09.protocol.limits import MAX_LOCATION
from django_sitemaps09.tools.audit import RULES, audit
from django_sitemaps09.tools.audit.audits import RATE, AuditInterrupted, AuditReport, Fetch, parse_baseline

#: Exit status for invalid arguments, as in argparse, and after Ctrl-C, as in shells.
_USAGE, _INTERRUPTED = 2, 130
# The options that are arguments of `audit()`.
_ARGUMENTS = ("url", "base_url", "fetch", "rate", "user_agent", "history")


class Command(BaseCommand):
    help = "Checks the live sitemaps, a folder with exported files, or a published sitemap."

    def add_arguments(self, parser: CommandParser) -> None:
        add, target = parser.add_argument, parser.add_mutually_exclusive_group()
        url = "robots.txt, sitemap, index or site to request (default: live views)"
        target.add_argument("--url", help=url)
        target.add_argument("--dir", "--output", help="folder with exported files (default: live views)")
        add("--base-url", metavar="URL", help="scheme and host of the URLs (default: BASE_URL)")
        agents = "user agent that robots.txt must allow, in addition to *; repeat the option for each"
        add("--agent", action="append", default=[], metavar="NAME", help=agents)
        add("--fetch", type=_fetch, default=0, metavar="N", help="number of pages to request, or 'all'")
        rate = f"with --url, maximum number of pages to request each second (default: {RATE:g})"
        add("--rate", type=float, default=RATE, metavar="N", help=rate)
        add("--user-agent", metavar="NAME", help="with --url, the name that requests send")
        add("--history", metavar="FILE", help="with --fetch, compare lastmods with the changes of pages")
        add("--baseline", metavar="FILE", help="findings to accept, as written by --write-baseline")
        add("--write-baseline", metavar="FILE", help="write a file that accepts all current findings")
        add("--strict", action="store_true", help="exit with 1 for warnings, too")
        add("--format", choices=["table", "json"], default="table")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            path = local_path(options["baseline"], "--baseline", "Name a file.")
            new_path = local_path(options["write_baseline"], "--write-baseline", "Name a file.")
            accepted = {} if path is None else parse_baseline(path.read_bytes(), str(path))
        except (SitemapError, ImproperlyConfigured, OSError) as error:
            raise CommandError(str(error), returncode=_USAGE) from error
        is_table, is_long = options["format"] == "table", options["verbosity"] > 1
        try:
            with progress_line(self.stderr, wanted=is_table and not is_long) as progress:
                report = audit(
                    directory=options["dir"],
                    agents=options["agent"],
                    **{name: options[name] for name in _ARGUMENTS},
                    on_document=self._show if is_table and is_long else _counter(progress, "document"),
                    on_page=_counter(progress, "page"),
                ).accepting(accepted)
            if new_path is not None:
                new_path.write_text(f"{json.dumps(report.baseline(), indent=2)}\n", encoding="utf-8")
        except (SitemapError, ImproperlyConfigured) as error:
            raise CommandError(str(error), returncode=_USAGE) from error
        except (DatabaseError, OSError) as error:
            raise CommandError(str(error)) from error
        except KeyboardInterrupt as interruption:
            if isinstance(interruption, AuditInterrupted):
                self._write(interruption.report.accepting(accepted), options)
            raise CommandError("The audit was interrupted.", returncode=_INTERRUPTED) from None
        self._write(report, options)
        is_failed = report.errors or (options["strict"] and report.warnings)
        if is_failed and not options["write_baseline"]:
            counts = f"{pluralize(report.errors, 'error')} and {pluralize(report.warnings, 'warning')}"
            raise CommandError(f"The audit of {report.target} found {counts}.")

    def _write(self, report: AuditReport, options: dict[str, Any]) -> None:
        to_lines = partial(_report_lines, examples=3 if options["verbosity"] == 1 else None)
        lines.write_results(self.stdout, options, {None: report}, to_lines, by_host=False)

    def _show(self, place: str) -> None:
        self.stdout.write(excerpt(place, MAX_LOCATION))


def _counter(progress: Any, noun: str) -> Callable[[Any], None]:
    """Return a function that counts what was read in a progress line, if there is one."""
    numbers = count(1)

    def show(_: Any) -> None:
        if progress is not None:
            progress.bar_format = "{desc} [{elapsed}]"
            progress.set_description_str(f"{pluralize(next(numbers), noun)} read", refresh=False)
            progress.update()

    return show


def _fetch(text: str) -> Fetch:
    try:
        return "all" if text == "all" else int(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{text!r} is neither a number nor 'all'") from error


def _report_lines(report: AuditReport, *, examples: int | None) -> Iterator[str]:
    """Yield the lines of an audit: a table of the broken rules, with at most `examples` of each."""
    read = f"{pluralize(report.documents, 'document')} with {pluralize(report.urls, 'URL')}"
    fetched = f", {pluralize(report.pages, 'page')} fetched" if report.pages else ""
    prefix = "PARTIAL, interrupted: " if report.is_partial else ""
    yield f"{prefix}{report.target}: read {read}{fetched} in {report.seconds:.2f} seconds"
    if report.compared or report.varying:
        compared, varying = pluralize(report.compared, "page"), pluralize(report.varying, "page")
        yield f"Compared {compared} with the history; not judged: {varying} that differ within seconds."
    if not report.findings:
        unknown = "" if report.pages else " Whether their pages exist is unknown without --fetch."
        yield f"Nothing is wrong with {'what was read' if report.is_partial else 'the documents'}.{unknown}"
        return
    yield ""
    rows = [(row.rule, row.severity, f"{row.count:,}", f"{row.accepted:,}") for row in report.findings]
    yield from lines.aligned([("rule", "severity", "count", "accepted"), *rows], 2, (22, 8, 10, 10))
    for finding in (each for each in report.findings if not each.is_accepted):
        yield ""
        rule = RULES[finding.rule]
        # A published site may be of another program.
        project = "" if "://" in report.target else f" {rule.project}"
        yield f"{finding.rule}: {rule.meaning} {rule.fix}{project}".rstrip()
        yield from (f"  {example}" for example in finding.examples[:examples])
