"""The management command `export_sitemaps`."""

from __future__ import annotations

import json
import signal
import sys
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from django.core.exceptions import ImproperlyConfigured
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import DatabaseError

from django_sitemaps09 import sections
from django_sitemaps09.exceptions import ExportRunningError, SitemapError
from django_sitemaps09.export import Report, SectionReport, export, export_hosts
from django_sitemaps09.export.interrupts import Interrupted, interruptible
from django_sitemaps09.export.report import pluralize
from django_sitemaps09.management.ignored_templates import ignored_templates
from django_sitemaps09.management.progress import bar
from django_sitemaps09.management.streams import LenientStream, flush_or_discard
from django_sitemaps09.management.table import lines

#: Options that are passed to `export()` under the same names.
_PASSED_ON = (
    *("output", "robots", "strict", "dry_run", "changed_only", "rebalance"),
    *("force", "remove", "engine", "workers", "changes"),
)


class Command(BaseCommand):
    """Exports the sitemaps and prints the report."""

    help = "Exports the sitemaps and their index to files, and updates robots.txt."

    def add_arguments(self, parser: CommandParser) -> None:
        add, flag = parser.add_argument, "store_true"
        add(
            "sections",
            nargs="*",
            help="sections to export; the others stay unchanged (default: all sections)",
        )
        add("--output", metavar="DIR", help="folder to export to (default: STORAGE or ROOT)")
        add("--robots", metavar="PATH", help="robots.txt to update (default: ROBOTS_TXT)")
        add(
            "--base-url",
            action="append",
            metavar="URL",
            help="scheme and host of the URLs (default: BASE_URL); repeat it for several hosts",
        )
        add("--no-gzip", action=flag, help="write .xml files instead of .xml.gz")
        add("--dry-run", action=flag, help="render all pages, but write nothing")
        add("--strict", action=flag, help="publish nothing if a section fails or anything is skipped")
        add("--changed-only", action=flag, help="do not render pages whose rows have not changed")
        add("--rebalance", action=flag, help="rebuild all pages")
        add(
            "--force",
            action="append",
            default=[],
            metavar="NAME",
            help="publish this section even if it shrinks too much",
        )
        add(
            "--remove",
            action="append",
            default=[],
            metavar="NAME",
            help="remove this published section; it must no longer be declared",
        )
        add(
            "--engine", metavar="NAME", help="serial, processes, celery, or a dotted path (default: ENGINE)"
        )
        add("--workers", type=int, metavar="N", help="number of workers (default: chosen by the engine)")
        add("--changes", action=flag, help="count the URLs that are added, removed and changed")
        add("--format", choices=["table", "json"], default="table")

    def __init__(self, stdout: Any = None, stderr: Any = None, **options: Any) -> None:
        out: Any = LenientStream(sys.stdout if stdout is None else stdout, "standard output")
        err: Any = LenientStream(sys.stderr if stderr is None else stderr, "standard error")
        super().__init__(out, err, **options)

    def run_from_argv(self, argv: list[str]) -> None:
        try:
            super().run_from_argv(argv)
        except Interrupted as error:
            # A second signal, for example from a process manager, must not change the exit status.
            signal.signal(error.number, signal.SIG_IGN)
            self.stderr.write(f"{CommandError.__name__}: {error}")
            sys.exit(error.returncode)
        finally:
            flush_or_discard()

    def execute(self, *args: Any, **options: Any) -> Any:
        """Run with streams that can fail. A signal raises `Interrupted`.

        The exception is a `KeyboardInterrupt`, so it also ends a caller that handles a `CommandError`.
        """
        for name in ("stdout", "stderr"):
            if options.get(name) is not None:
                options[name] = LenientStream(options[name], name)
        with interruptible():
            return super().execute(*args, **options)

    def check(self, *args: Any, **kwargs: Any) -> None:
        """Discover registered sections first, so that they are checked even without export settings."""
        # The export itself reports an error in the mapping.
        with suppress(Exception):
            sections.mapping()
        super().check(*args, **kwargs)

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            reports = self._export(options)
        except ExportRunningError as error:
            # EX_TEMPFAIL of sysexits.h: try again later.
            raise CommandError(str(error), returncode=75) from error
        except (SitemapError, ImproperlyConfigured, DatabaseError, OSError) as error:
            raise CommandError(str(error)) from error
        if options["format"] == "json":
            hosts = {url: report.as_dict() for url, report in reports.items()}
            document = {"hosts": hosts} if len(hosts) > 1 else next(iter(hosts.values()))
            self.stdout.write(json.dumps(document, indent=2))
        elif options["verbosity"] > 0:
            for report in reports.values():
                for line in lines(report, hints=options["verbosity"] > 1):
                    self.stdout.write(line)
        # Flush here, so that a failure of the stream is reported before the end of the process.
        self.stdout.flush()
        warnings = [warning for report in reports.values() for warning in report.warnings]
        for warning in dict.fromkeys([*warnings, *ignored_templates()]):
            self.stderr.write(self.style.WARNING(warning))
        failures = dict.fromkeys(failure for report in reports.values() for failure in report.failures)
        if failures:
            raise CommandError("\n".join(failures))

    def _export(self, options: dict[str, Any]) -> Mapping[Any, Report]:
        """Export with these options, and show the progress in a terminal."""
        shows_table = options["format"] == "table" and options["verbosity"] > 0
        arguments = {name: options[name] for name in _PASSED_ON}
        arguments["gzip"] = False if options["no_gzip"] else None
        base_urls = options["base_url"] or [None]
        with bar(self.stderr, wanted=shows_table) as progress:
            if progress is not None:
                arguments |= {
                    "on_plan": progress.plan,
                    "on_page": progress.page,
                    "progress": progress.section,
                }
            elif shows_table:
                arguments["progress"] = self._line
            if len(base_urls) > 1:
                return export_hosts(base_urls, options["sections"], **arguments)
            [base_url] = base_urls
            return {base_url: export(options["sections"], base_url=base_url, **arguments)}

    def _line(self, section: SectionReport) -> None:
        self.stdout.write(f"{section.section}: {section.failure or pluralize(section.urls, 'URL')}")
        self.stdout.flush()
