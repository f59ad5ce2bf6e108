"""`manage.py export_sitemaps`: the sitemap as files, and robots.txt up to date."""

from __future__ import annotations

import json
from typing import Any

from django.core.exceptions import ImproperlyConfigured
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import DatabaseError

from django_sitemaps09.exceptions import ExportRunningError, SitemapError
from django_sitemaps09.export import Report, SectionReport, export

_ROW = "{:<24} {:>13} {:>7} {:>15} {:>15} {:>9}"


class Command(BaseCommand):
    """Parses, calls `export()`, and words its report."""

    help = "Writes the sitemaps to files, the index that names them, and the line in robots.txt."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("sections", nargs="*", help="only these; all others stay as they are")
        parser.add_argument("--output", metavar="DIR", help="the folder; else STORAGE or ROOT")
        parser.add_argument("--robots", metavar="PATH", help="the robots.txt; else ROBOTS_TXT")
        parser.add_argument("--base-url", metavar="URL", help="scheme and host; else BASE_URL")
        parser.add_argument("--no-gzip", action="store_true", help="write .xml, not .xml.gz")
        parser.add_argument("--dry-run", action="store_true", help="render all, write nothing")
        parser.add_argument("--strict", action="store_true", help="publish all that there is, or nothing")
        parser.add_argument("--workers", type=int, default=1, metavar="N", help="render in N processes")
        parser.add_argument("--format", choices=["table", "json"], default="table")

    def handle(self, *args: Any, **options: Any) -> None:
        table = options["format"] == "table"
        try:
            report = export(
                options["sections"],
                output=options["output"],
                robots=options["robots"],
                base_url=options["base_url"],
                gzip=False if options["no_gzip"] else None,
                strict=options["strict"],
                dry_run=options["dry_run"],
                workers=options["workers"],
                progress=self._line if table else lambda section: None,
            )
        except ExportRunningError as error:
            # EX_TEMPFAIL of sysexits.h: try again later.
            raise CommandError(str(error), returncode=75) from error
        except (SitemapError, ImproperlyConfigured, DatabaseError, OSError) as error:
            raise CommandError(str(error)) from error
        if table:
            self._table(report, hints=options["verbosity"] > 1)
        else:
            self.stdout.write(json.dumps(report.as_dict(), indent=2))
        for warning in report.warnings:
            self.stderr.write(self.style.WARNING(warning))
        if report.failures:
            raise CommandError("\n".join(report.failures))

    def _line(self, section: SectionReport) -> None:
        self.stdout.write(f"{section.section}: {section.failure or f'{section.urls:,} URLs'}")
        self.stdout.flush()

    def _table(self, report: Report, *, hints: bool) -> None:
        row = self.stdout.write
        row("")
        row(_ROW.format("section", "URLs", "pages", "bytes", "on disk", "seconds"))
        for part in [*report.sections, None]:
            found = report.sections if part is None else [part]
            row(
                _ROW.format(
                    "all" if part is None else part.section,
                    f"{sum(s.urls for s in found):,}",
                    f"{sum(len(s.files) for s in found):,}",
                    f"{sum(s.bytes for s in found):,}",
                    f"{sum(s.size for s in found):,}",
                    f"{report.seconds if part is None else part.seconds:.2f}",
                )
            )
        for section in report.sections:
            if section.left_out:
                row(f"{section.section}: {section.left_out:,} left out, the first: {section.errors[0]}")
            for hint in section.hints if hints else ():
                row(f"{section.section}: {hint}")
        if not report.published:
            row("Nothing was written.")
            return
        row(f"{report.index_url} in {report.folder}")
        if report.robots != "none":
            row(f"{report.robots_path}: {report.robots}")
