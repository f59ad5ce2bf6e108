"""The management command `suggest_sitemaps`."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from django_sitemaps09.export.unattended import EXPORT_ERRORS
from django_sitemaps09.management.lines import suggestion_lines
from django_sitemaps09.suggestions import SAMPLE, suggest


class Command(BaseCommand):
    help = (
        "Suggests columns for sections whose hooks are methods, and compares their output with that of the "
        "methods, for a sample of items or for all items."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("sections", nargs="*", help="sections to look at (default: all sections)")
        group = parser.add_mutually_exclusive_group()
        group.add_argument(
            "--sample",
            type=int,
            default=SAMPLE,
            metavar="N",
            help=f"number of items to compare (default: {SAMPLE:,})",
        )
        parser.add_argument(
            "--base-url", metavar="URL", help="scheme and host of the URLs (default: BASE_URL)"
        )
        group.add_argument("--all", action="store_true", help="compare all items (recommended)")

    def handle(self, *args: Any, **options: Any) -> None:
        if options["sample"] < 1:
            raise CommandError("--sample must be at least 1.")
        try:
            suggestions = suggest(
                options["sections"],
                sample=None if options["all"] else options["sample"],
                base_url=options["base_url"],
            )
        except EXPORT_ERRORS as error:
            raise CommandError(str(error)) from error
        if not suggestions:
            self.stdout.write("There are no sections.")
        for suggestion in suggestions:
            for line in suggestion_lines(suggestion):
                self.stdout.write(line)
