"""The management command `sitemaps_status`."""

from __future__ import annotations

import json
from typing import Any

from django.core.exceptions import ImproperlyConfigured
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import DatabaseError

from django_sitemaps09.exceptions import SitemapError
from django_sitemaps09.management.lines import status_lines
from django_sitemaps09.status import status


class Command(BaseCommand):
    """Prints the state of live serving and of the export."""

    help = "Prints the state of the sitemaps: their page maps in the cache, and their exported files."
    # A check that fails must not hide the state of the other sections.
    requires_system_checks = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("sections", nargs="*", help="sections to show (default: all sections)")
        parser.add_argument("--base-url", metavar="URL", help="scheme and host to show (default: BASE_URL)")
        parser.add_argument("--format", choices=["table", "json"], default="table")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            current_status = status(options["sections"], options["base_url"])
        except (SitemapError, ImproperlyConfigured, DatabaseError) as error:
            raise CommandError(str(error)) from error
        if options["format"] == "json":
            self.stdout.write(json.dumps(current_status.as_dict(), indent=2))
            return
        for line in status_lines(current_status):
            self.stdout.write(line)
