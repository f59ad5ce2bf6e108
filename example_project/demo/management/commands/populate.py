"""`manage.py populate`: fill the example with rows."""

from __future__ import annotations

import time
from collections.abc import Iterable
from itertools import islice
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.contrib.flatpages.models import FlatPage
from django.contrib.sites.models import Site
from django.core.management.base import BaseCommand, CommandParser
from django.db import connection, transaction
from django.db.models import Model

from articles.models import Article, Category
from demo import rows
from legacy.models import Event
from products.models import Product

BATCH = 2_000


class Command(BaseCommand):
    help = (
        "Adds the first N articles and M products, with their pages and events. Existing rows stay "
        "unchanged. The same numbers always give the same rows."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--articles", type=int, default=1_000, help="default: %(default)s")
        parser.add_argument("--products", type=int, default=200, help="default: %(default)s")

    def handle(self, *, articles: int, products: int, **options: Any) -> None:
        if connection.vendor == "sqlite":
            # Room for the indexes of a million rows: the default cache of 2 MB spills them again and again.
            connection.cursor().execute("PRAGMA cache_size = -128000")
        with transaction.atomic():
            fill_site()
            self.fill(Category, rows.CATEGORIES, rows.categories())
            category_ids = list(Category.objects.order_by("slug").values_list("pk", flat=True))
            self.fill(Article, articles, rows.articles(articles, category_ids))
            self.fill(Product, products, rows.products(products))
            self.fill(Event, rows.EVENTS, rows.events())

    def fill(self, model: type[Model], wanted: int, made: Iterable[Model]) -> None:
        """Add those of the `wanted` rows that are missing; a unique column of each tells which."""
        began = time.perf_counter()
        objects = model._default_manager
        before = objects.count()
        if before < wanted:
            made = iter(made)
            while batch := list(islice(made, BATCH)):
                objects.bulk_create(batch, ignore_conflicts=True)
        now = objects.count()
        seconds = time.perf_counter() - began
        names = model._meta.verbose_name_plural
        self.stdout.write(f"{names}: {now:,}, {now - before:,} of them new ({seconds:.1f} s)")


def fill_site() -> None:
    """Name the site as `BASE_URL` does, and give it its flatpages."""
    domain = urlsplit(settings.SITEMAPS09["BASE_URL"]).netloc
    site, _ = Site.objects.update_or_create(
        pk=settings.SITE_ID, defaults={"domain": domain, "name": "Example"}
    )
    for title in rows.FLATPAGES:
        page, _ = FlatPage.objects.get_or_create(
            url=f"/{title.lower()}/", defaults={"title": title, "content": f"<p>{title}.</p>"}
        )
        page.sites.add(site)
