"""The management command `audit_sitemaps`."""

from __future__ import annotations

import argparse
import json
from functools import partial
from typing import Any

from django.core.exceptions import ImproperlyConfigured
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import DatabaseError

from django_sitemaps09.audit import audit
from django_sitemaps09.audit.api import RATE, Fetch, parse_baseline
from django_sitemaps09.conf import local_path
from django_sitemaps09.entries import excerpt, pluralize
from django_sitemaps09.exceptions import SitemapError
from django_sitemaps09.management.hosts import write_results
from django_sitemaps09.management.lines import audit_lines
from django_sitemaps09.protocol import MAX_LOCATION

#: Exit status for invalid arguments, as in argparse.
_USAGE = 2
#: Exit status after Ctrl-C, as in shells.
_INTERRUPTED = 130


class Command(BaseCommand):
    help = "Checks the live sitemaps, a folder with exported files, or a published sitemap."

    def add_arguments(self, parser: CommandParser) -> None:
        add, flag = parser.add_argument, "store_true"
        target = parser.add_mutually_exclusive_group()
        target.add_argument(
            "--url",
            metavar="URL",
            help="robots.txt, sitemap, index or site to request (default: live views)",
        )
        target.add_argument("--dir", metavar="DIR", help="folder with exported files (default: live views)")
        add("--base-url", metavar="URL", help="scheme and host of the URLs (default: BASE_URL)")
        add(
            "--agent",
            action="append",
            default=[],
            metavar="NAME",
            help="user agent that robots.txt must allow, in addition to *; repeat the option for each",
        )
        add("--fetch", type=_fetch, default=0, metavar="N", help="number of pages to request, or 'all'")
        add(
            "--rate",
            type=float,
            default=RATE,
            metavar="N",
            help=f"with --url, maximum number of pages to request each second (default: {RATE:g})",
        )
        add("--baseline", metavar="FILE", help="findings to accept, as written by --write-baseline")
        add("--write-baseline", metavar="FILE", help="write a file that accepts all current findings")
        add("--strict", action=flag, help="exit with 1 for warnings, too")
        add("--format", choices=["table", "json"], default="table")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            path, new_path = (
                local_path(options[name], option, "Name a file.")
                for name, option in (("baseline", "--baseline"), ("write_baseline", "--write-baseline"))
            )
            accepted = {} if path is None else parse_baseline(path.read_bytes(), str(path))
        except (SitemapError, ImproperlyConfigured, OSError) as error:
            raise CommandError(str(error), returncode=_USAGE) from error
        shows_documents = options["verbosity"] > 1 and options["format"] == "table"
        try:
            report = audit(
                options["url"],
                directory=options["dir"],
                base_url=options["base_url"],
                agents=options["agent"],
                fetch=options["fetch"],
                rate=options["rate"],
                on_document=self._show if shows_documents else lambda place: None,
            ).accepting(accepted)
            if new_path is not None:
                content = json.dumps(report.baseline(), indent=2)
                new_path.write_text(f"{content}\n", encoding="utf-8")
        except (SitemapError, ImproperlyConfigured) as error:
            raise CommandError(str(error), returncode=_USAGE) from error
        except (DatabaseError, OSError) as error:
            raise CommandError(str(error)) from error
        except KeyboardInterrupt:
            raise CommandError("The audit was interrupted.", returncode=_INTERRUPTED) from None
        lines = partial(audit_lines, examples=3 if options["verbosity"] == 1 else None)
        write_results(self.stdout, options, {None: report}, lines, by_host=False)
        is_failed = report.errors or (options["strict"] and report.warnings)
        if is_failed and not options["write_baseline"]:
            counts = f"{pluralize(report.errors, 'error')} and {pluralize(report.warnings, 'warning')}"
            raise CommandError(f"The audit of {report.target} found {counts}.")

    def _show(self, place: str) -> None:
        self.stdout.write(excerpt(place, MAX_LOCATION))


def _fetch(text: str) -> Fetch:
    try:
        return "all" if text == "all" else int(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{text!r} is neither a number nor 'all'") from error
