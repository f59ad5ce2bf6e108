"""The management command `suggest_sitemaps`."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils.module_loading import import_string

from django_sitemaps09.export.exports import EXPORT_ERRORS
from django_sitemaps09.management.lines import comparison_lines, suggestion_lines
from django_sitemaps09.tools.suggestions import compare, suggest


class Command(BaseCommand):
    help = (
        "Suggests columns for sections whose hooks are methods. Reads the source of the methods, and "
        "compares the columns with them on all rows."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        add = parser.add_argument
        add("sections", nargs="*", help="sections to look at (default: all sections)")
        add("--rows", type=int, metavar="N", help="compare the first N rows only")
        add("--base-url", metavar="URL", help="scheme and host of the URLs (default: BASE_URL)")
        add("--compare", nargs=2, metavar=("OLD", "NEW"), help="compare two classes by their dotted paths")
        add("--format", choices=["text", "json"], default="text")

    def handle(self, *args: Any, **options: Any) -> None:
        if options["rows"] is not None and options["rows"] < 1:
            raise CommandError("--rows must be at least 1.")
        if options["compare"] and options["sections"]:
            raise CommandError("--compare takes two classes and no sections.")
        arguments = {"rows": options["rows"], "base_url": options["base_url"]}
        try:
            if options["compare"]:
                result: Any = compare(*map(import_string, options["compare"]), **arguments)
                lines = [*comparison_lines(result)]
            else:
                result = suggest(options["sections"], **arguments)
                lines = [line for each in result for line in suggestion_lines(each)]
        except (*EXPORT_ERRORS, ImportError, TypeError) as error:
            raise CommandError(str(error)) from error
        if options["format"] == "json":
            lines = [json.dumps(result, default=asdict, indent=2)]
        self.stdout.write("\n".join(lines or ["There are no sections."]))
        if options["compare"] and result.differences:
            raise CommandError("The classes differ.")
