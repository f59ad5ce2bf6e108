"""`manage.py demo`: create the database, fill it and export sitemaps."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandParser

from articles.models import Article


class Command(BaseCommand):
    help = "Creates the database, fills it if it is empty, and exports the sitemaps and robots.txt."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--articles", type=int, default=100_000, help="default: %(default)s")
        parser.add_argument("--products", type=int, default=2_000, help="default: %(default)s")
        parser.add_argument(
            "--output", type=Path, default=settings.BASE_DIR / "public", help="default: %(default)s"
        )

    def handle(self, *, articles: int, products: int, output: Path, **options: Any) -> None:
        self.stdout.write("Creating the tables")
        call_command("migrate", verbosity=0)
        if not Article.objects.exists():
            self.stdout.write("Filling the tables")
            call_command("populate", articles=articles, products=products, stdout=self.stdout)
        output = output.resolve()
        self.stdout.write(f"Exporting to {output}")
        call_command("export_sitemaps", output=output, robots=output / "robots.txt", stdout=self.stdout)
        port = urlsplit(settings.BASE_URL).port or 8000
        self.stdout.write(
            HOW_TO_LOOK.format(
                output=output,
                base=settings.BASE_URL,
                runserver=shlex.join([sys.executable, sys.argv[0], "runserver", str(port)]),
            )
        )


HOW_TO_LOOK = """
The files are in {output}. The site serves the same sections live:

    {runserver}

    {base}/                         the site
    {base}/robots.txt               names the index
    {base}/sitemap.xml              the index of all sections
    {base}/sitemap-articles-1.xml   one of its pages, rendered from the database
    {base}/legacy/sitemap.xml       the app written for django.contrib.sitemaps
"""
