"""`manage.py export_sitemaps`: the sitemap as files, and robots.txt up to date."""

from __future__ import annotations

import json
from typing import Any

from django.core.exceptions import ImproperlyConfigured
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import DatabaseError

from django_sitemaps09.exceptions import ExportRunningError, SitemapError
from django_sitemaps09.export import Report, SectionReport, export, export_hosts
from django_sitemaps09.export.progress import bar

_ROW = "{:<20} {:>13} {:>6} {:>8} {:>9} {:>7} {:>15} {:>13} {:>8}"
_HEAD = ("section", "URLs", "pages", "written", "unchanged", "removed", "bytes", "on disk", "seconds")


class Command(BaseCommand):
    """Parses, calls `export()`, and words its report."""

    help = "Writes the sitemaps to files, the index that names them, and the line in robots.txt."

    def add_arguments(self, parser: CommandParser) -> None:
        add, flag = parser.add_argument, "store_true"
        add("sections", nargs="*", help="only these; all others stay as they are")
        add("--output", metavar="DIR", help="the folder; else STORAGE or ROOT")
        add("--robots", metavar="PATH", help="the robots.txt; else ROBOTS_TXT")
        add("--base-url", action="append", metavar="URL", help="scheme and host; else BASE_URL; or several")
        add("--no-gzip", action=flag, help="write .xml, not .xml.gz")
        add("--dry-run", action=flag, help="render all, write nothing")
        add("--strict", action=flag, help="publish all that there is, or nothing")
        add("--changed-only", action=flag, help="render no page whose rows are what they were")
        add("--rebalance", action=flag, help="cut all pages anew")
        add("--force", action="append", default=[], metavar="NAME", help="publish it though it shrinks")
        add("--remove", action="append", default=[], metavar="NAME", help="take it out: it is gone")
        add("--engine", metavar="NAME", help="serial, processes, celery, or a dotted path; else ENGINE")
        add("--workers", type=int, metavar="N", help="how many; else as the engine has it")
        add("--changes", action=flag, help="count URLs that are added, removed and changed")
        add("--format", choices=["table", "json"], default="table")

    def handle(self, *args: Any, **options: Any) -> None:
        table = options["format"] == "table"
        same = ("output", "robots", "strict", "dry_run", "changed_only", "rebalance")
        given = {name: options[name] for name in (*same, "force", "remove", "engine", "workers", "changes")}
        given["gzip"] = False if options["no_gzip"] else None
        base_urls = options["base_url"] or [None]
        try:
            with bar(self.stderr, wanted=table and options["verbosity"] > 0) as page:
                line = self._line if table and options["verbosity"] > 0 else lambda section: None
                told = {"progress": line, "on_page": page, **given}
                if len(base_urls) == 1:
                    [base_url] = base_urls
                    reports = {base_url: export(options["sections"], base_url=base_url, **told)}
                else:
                    reports = export_hosts(base_urls, options["sections"], **told)
        except ExportRunningError as error:
            # EX_TEMPFAIL of sysexits.h: try again later.
            raise CommandError(str(error), returncode=75) from error
        except (SitemapError, ImproperlyConfigured, DatabaseError, OSError) as error:
            raise CommandError(str(error)) from error
        if not table:
            found = {url: report.as_dict() for url, report in reports.items()}
            document = {"hosts": found} if len(found) > 1 else next(iter(found.values()))
            self.stdout.write(json.dumps(document, indent=2))
        elif options["verbosity"] > 0:
            for report in reports.values():
                self._table(report, hints=options["verbosity"] > 1)
        for report in reports.values():
            for warning in report.warnings:
                self.stderr.write(self.style.WARNING(warning))
        failures = list(
            dict.fromkeys(failure for report in reports.values() for failure in report.failures)
        )
        if failures:
            raise CommandError("\n".join(failures))

    def _line(self, section: SectionReport) -> None:
        self.stdout.write(f"{section.section}: {section.failure or f'{section.urls:,} URLs'}")
        self.stdout.flush()

    def _table(self, report: Report, *, hints: bool) -> None:
        row = self.stdout.write
        row("")
        row(_ROW.format(*_HEAD))
        for part in [*report.sections, None]:
            found = report.sections if part is None else [part]
            sums = {
                name: f"{sum(getattr(section, name) for section in found):,}"
                for name in ("urls", "written", "unchanged", "removed", "bytes", "size")
            }
            pages = f"{sum(len(section.files) for section in found):,}"
            name = "all" if part is None else part.section
            seconds = f"{report.seconds if part is None else part.seconds:.2f}"
            urls, *counts, size, on_disk = sums.values()
            row(_ROW.format(name, urls, pages, *counts, size, on_disk, seconds))
        for section in report.sections:
            if section.left_out:
                row(f"{section.section}: {section.left_out:,} left out, the first: {section.errors[0]}")
            moved = {"skipped": section.skipped, "split": section.split, "merged": section.merged}
            if any(moved.values()):
                words = (f"{count:,} pages {what}" for what, count in moved.items() if count)
                row(f"{section.section}: {', '.join(words)}")
            for hint in section.hints if hints else ():
                row(f"{section.section}: {hint}")
        self._end(report)

    def _end(self, report: Report) -> None:
        row = self.stdout.write
        memory = "" if report.memory is None else f", peak memory {report.memory / 1e6:,.0f} MB"
        if report.workers_memory is not None:
            memory += f", of the largest worker {report.workers_memory / 1e6:,.0f} MB"
        row(f"{report.urls / max(report.seconds, 1e-9):,.0f} URLs per second{memory}")
        if report.recovered:
            row("An earlier export had been killed while it published; it was finished first.")
        if not report.published:
            row("Nothing was written.")
            return
        if report.changes is not None:
            row(", ".join(f"{count:,} URLs {what}" for what, count in report.changes.items()))
        row(f"{report.index_url} in {report.target}")
        if report.robots != "none":
            row(f"{report.robots_path}: {report.robots}")
