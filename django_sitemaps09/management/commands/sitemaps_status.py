"""The management command `sitemaps_status`."""

from __future__ import annotations

import argparse
import re
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from django_sitemaps09.export.runs import EXPORT_ERRORS
from django_sitemaps09.management import lines
from django_sitemaps09.tools.status import status


class Command(BaseCommand):
    help = "Prints the state of the sitemaps: what live indexes list, and their exported files."
    # A check that fails must not hide the state of the other sections.
    requires_system_checks = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("sections", nargs="*", help="sections to show (default: all sections)")
        lines.add_host_options(parser, "scheme and host to show (default: BASE_URL)")
        parser.add_argument(
            "--max-age",
            type=_seconds,
            metavar="AGE",
            help="exit with 1 if the last export of a section is older, such as 90m, 26h or 2d",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            urls: list[str | None] = [*lines.base_urls(options)] or [None]
            is_shown = options["verbosity"] > 0 or options["format"] == "json"
            statuses = {url: status(options["sections"], url, is_thorough=is_shown) for url in urls}
        except EXPORT_ERRORS as error:
            raise CommandError(str(error)) from error
        by_host = lines.has_several(options)
        lines.write_results(self.stdout, options, statuses, lines.status_lines, by_host=by_host)
        if options["max_age"] and (old := [*lines.age_lines(statuses.values(), options["max_age"])]):
            raise CommandError("\n".join(old))


def _seconds(text: str) -> int:
    match = re.fullmatch(r"([1-9][0-9]*)([smhd])", text)
    if match is None:
        raise argparse.ArgumentTypeError(
            f"{text!r} is not an age. Use a whole number and s, m, h or d, such as 90m, 26h or 2d"
        )
    return int(match[1]) * lines.SECONDS[match[2]]
