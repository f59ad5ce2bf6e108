"""`manage.py demo`: create the database, fill it, export sitemaps and audit them."""

from __future__ import annotations

import secrets
import shlex
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.contrib.auth.models import User
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandParser

from articles.models import Article
from django_sitemaps09.conf import local_path

USER = "demo"


class Command(BaseCommand):
    help = (
        "Creates the database, fills it if it is empty, exports the sitemaps and robots.txt twice, and "
        "audits them. Each run sets a new password for the user of the inspector."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--articles", type=int, default=100_000, help="default: %(default)s")
        parser.add_argument("--products", type=int, default=2_000, help="default: %(default)s")
        parser.add_argument("--output", default=settings.BASE_DIR / "public", help="default: %(default)s")

    def handle(self, *, articles: int, products: int, output: Path | str, **options: Any) -> None:
        self.stdout.write("Creating the tables")
        call_command("migrate", verbosity=0)
        if not Article.objects.exists():
            self.stdout.write("Filling the tables")
            call_command("populate", articles=articles, products=products)
        output = local_path(output, "--output").resolve()
        for what in (f"Exporting to {output}", "Exporting again, although nothing has changed"):
            self.stdout.write(f"\n{what}")
            call_command("export_sitemaps", output=output, robots=output / "robots.txt", changed_only=True)
        self.audit(output)
        port = urlsplit(settings.BASE_URL).port or 8000
        self.stdout.write(
            HOW_TO_LOOK.format(
                output=output,
                base=settings.BASE_URL,
                runserver=shlex.join([sys.executable, sys.argv[0], "runserver", str(port)]),
                user=USER,
                password=new_password(),
            )
        )

    def audit(self, folder: Path) -> None:
        """Audit the exported files if the extra `audit` is installed."""
        self.stdout.write("\nAuditing the exported files")
        packages = ["lxml", "protego", "urllib3"]
        if all(map(find_spec, packages)):
            call_command("audit_sitemaps", dir=folder, strict=True)
        else:
            install = shlex.join([sys.executable, "-m", "pip", "install", *packages])
            self.stdout.write(f"Skipped, since the extra `audit` is not installed: {install}")


def new_password() -> str:
    """Return a new password of the user who may see the inspector."""
    user, _ = User.objects.get_or_create(username=USER, defaults={"is_staff": True, "is_superuser": True})
    password = secrets.token_urlsafe(9)
    user.set_password(password)
    user.save()
    return password


HOW_TO_LOOK = """
The files are in {output}. The site serves the same sections live:

    {runserver}

    {base}/                         the site
    {base}/robots.txt               names the index
    {base}/sitemap.xml              the index of all sections, readable in a browser
    {base}/sitemap-articles-1.xml   one of its pages, rendered from the database
    {base}/sitemaps/                the inspector: log in as {user} with the password {password}
    {base}/legacy/sitemap.xml       the app written for django.contrib.sitemaps
"""
