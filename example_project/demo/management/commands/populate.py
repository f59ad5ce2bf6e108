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
            # The indexes of a million rows do not fit into the default cache of 2 MB.
            connection.cursor().execute("PRAGMA cache_size = -128000")
        with transaction.atomic():
            fill_site()
            self.fill(Category, rows.CATEGORIES, rows.categories())
            category_ids = list(Category.objects.order_by("slug").values_list("pk", flat=True))
            self.fill(Article, articles, rows.articles(articles, category_ids))
            self.fill(Product, products, rows.products(products))
            self.fill(Event, rows.EVENTS, rows.events())

    def fill(self, model: type[Model], wanted: int, instances: Iterable[Model]) -> None:
        """Add those of the `wanted` rows that do not exist yet. A unique column identifies each row."""
        started = time.perf_counter()
        objects, names = model._default_manager, model._meta.verbose_name_plural
        old_count = objects.count()
        if old_count < wanted:
            instances, done = iter(instances), 0
            while batch := list(islice(instances, BATCH)):
                objects.bulk_create(batch, ignore_conflicts=True)
                done += len(batch)
                if self.stdout.isatty():
                    # The next line that is written replaces this one.
                    self.stdout.write(f"{names}: {done:,} of {wanted:,}\r", ending="")
                    self.stdout.flush()
        count = objects.count()
        seconds = time.perf_counter() - started
        self.stdout.write(f"{names}: {count:,}, {count - old_count:,} of them new ({seconds:.1f} s)")


def fill_site() -> None:
    """Create the `Site` with the domain of `BASE_URL`, and its flatpages."""
    domain = urlsplit(settings.SITEMAPS09["BASE_URL"]).netloc
    site, _ = Site.objects.update_or_create(
        pk=settings.SITE_ID, defaults={"domain": domain, "name": "Example"}
    )
    for title in rows.FLATPAGES:
        page, _ = FlatPage.objects.get_or_create(
            url=f"/{title.lower()}/", defaults={"title": title, "content": f"<p>{title}.</p>"}
        )
        page.sites.add(site)
