"""The management command `submit_sitemaps`."""

from __future__ import annotations

import sqlite3
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from django_sitemaps09.export.exports import EXPORT_ERRORS
from django_sitemaps09.export.notify import generate_key, submit, submit_hosts
from django_sitemaps09.management import lines


class Command(BaseCommand):
    help = "Submits the changed URLs of exports to search engines: by IndexNow, and by pings."

    def add_arguments(self, parser: CommandParser) -> None:
        add, flag = parser.add_argument, "store_true"
        add("--output", metavar="DIR", help="folder of the export (default: STORAGE or ROOT)")
        lines.add_host_options(parser, "host of an export for several hosts (default: the target itself)")
        add("--dry-run", action=flag, help="show what is pending, but send nothing")
        add("--generate-key", action=flag, help="print a new key for INDEXNOW_KEY, and do nothing else")

    def execute(self, *args: Any, **options: Any) -> Any:
        # A check reports that SUBMIT needs a key. It must not prevent the generation of one.
        options["skip_checks"] = options["skip_checks"] or options["generate_key"]
        return super().execute(*args, **options)

    def handle(self, *args: Any, **options: Any) -> None:
        if options["generate_key"]:
            self.stdout.write(generate_key())
            return
        arguments = {"output": options["output"], "dry_run": options["dry_run"]}
        try:
            urls = lines.base_urls(options)
            submissions = submit_hosts(urls, **arguments) if urls else {None: submit(**arguments)}
        except (*EXPORT_ERRORS, sqlite3.Error) as error:
            raise CommandError(str(error), returncode=getattr(error, "exit_status", 1)) from error
        lines.write_results(self.stdout, options, submissions, lines.submission_lines, by_host=bool(urls))
        failures = [failure for submission in submissions.values() for failure in submission.failures]
        if failures:
            raise CommandError("\n".join(dict.fromkeys(failures)))
