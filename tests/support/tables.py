"""Rows that are hard to page through: joins, keys that can be NULL, database views, rows that vanish.

Use `shelf` for querysets of any kind, `make_coupons` and `view` for keys that are no keys, and `table` for
rows that another connection deletes, and adds again, between two queries of the code under test.
"""

from __future__ import annotations

from contextlib import contextmanager
from datetime import datetime, timedelta, timezone

import pytest
from django.db import connections, models
from django.db.models import F
from django.test.utils import isolate_apps

from django_sitemaps09 import PathTemplate, Route
from tests.models import Article, Category, Coupon
from tests.support.factories import CategoryFactory, TagFactory, add_related
from tests.support.sections import declare

FIRST = datetime(2026, 1, 1, tzinfo=timezone.utc)


@pytest.fixture
def shelf(using):
    """Create twelve articles with tags, comments and visits, several with more than one of them."""
    one = CategoryFactory(using=using, slug="one")
    tags = [TagFactory(using=using, name=name) for name in "ab"]
    moments = [FIRST + timedelta(days=number, hours=10, minutes=30, seconds=15) for number in range(12)]
    Article.objects.using(using).bulk_create(
        Article(slug=f"a{number:02}", category=one if number % 2 else None, published=number % 3 == 0,
                updated=moment if number % 5 else None, day=moment.date())
        for number, moment in enumerate(moments)
    )  # fmt: skip
    visits = [[moments[n] + timedelta(days=days) for days in range(n % 4)] for n in range(12)]
    # On MySQL, `bulk_create()` sets no keys.
    articles = Article.objects.using(using).order_by("slug")
    add_related(using, ((row, tags[: n % 3], n % 4, visits[n]) for n, row in enumerate(articles)))
    return Article.objects.using(using).all()


def section(queryset, key):
    return declare(queryset=queryset, key=key, location=PathTemplate("/{number}/", number=F("number")))


def make_coupons(using):
    """Create 20 coupons, four of them without a key, and return all of them."""
    Coupon.objects.using(using).all().delete()
    coupons = (Coupon(number=number, code=number if number % 5 else None) for number in range(20))
    Coupon.objects.using(using).bulk_create(coupons)
    return Coupon.objects.using(using).all()


def view(using, select, **fields):
    """Create a database view, and return its unmanaged model."""
    drop_view(using)
    with connections[using].cursor() as cursor:
        cursor.execute(f"CREATE VIEW sitemaps09_view AS {select}")
    meta = type("Meta", (), {"app_label": "tests", "managed": False, "db_table": "sitemaps09_view"})
    with isolate_apps("tests"):
        return type("Joined", (models.Model,), {"__module__": __name__, "Meta": meta, **fields})


def drop_view(using):
    with connections[using].cursor() as cursor:
        cursor.execute("DROP VIEW IF EXISTS sitemaps09_view")


#: Keys of the articles, and of those that vanish: some in most slices.
KEYS, VANISHING = tuple(range(1, 13)), (2, 5, 6, 11)


class Table:
    """Articles in the database `using`, and a connection `writer` that commits to the same database."""

    def __init__(self, using):
        self.using, self.statements = using, 0
        self.articles = Article.objects.using(using)
        self.restore(KEYS)

    def restore(self, keys=VANISHING):
        rows = Article.objects.using("writer")
        keys = sorted({*keys} - {*rows.values_list("pk", flat=True)})
        rows.bulk_create(Article(pk=pk, slug=f"s{pk}", updated=FIRST + timedelta(hours=pk)) for pk in keys)

    def section(self):
        location = Route("article", slug=F("slug"))
        return declare(queryset=self.articles.all(), location=location, lastmod=F("updated"))()

    @contextmanager
    def vanishing(self, first, last=None):
        """Remove rows before the statement `first` of the block, and restore them before `last`.

        Statements are counted from 1. Rows that are still missing are restored after the block.
        """
        self.statements = 0

        def execute(run, *arguments):
            self.statements += 1
            if self.statements == first:
                # Plain deletion, since only the tables of articles are sure to exist.
                Article.objects.using("writer").filter(pk__in=VANISHING)._raw_delete("writer")
            if self.statements == last:
                self.restore()
            return run(*arguments)

        with connections[self.using].execute_wrapper(execute):
            yield
        self.restore()


@pytest.fixture
def table(snapshot_using, tmp_path):
    """On SQLite, the database is a file, since two connections do not share one in memory.

    Added connections keep the alias of `snapshot_using`, since a test may only connect to its databases.
    """
    is_file = snapshot_using == "default"
    added = ["writer", "file"] if is_file else ["writer"]
    for alias in added:
        connections.databases[alias] = connections.databases[snapshot_using]
        connections[alias] = connections[snapshot_using].copy()
        if is_file:
            connections[alias].settings_dict["NAME"] = str(tmp_path / "rows.sqlite3")
    try:
        if is_file:
            # With a write-ahead log, another connection can commit while a transaction reads.
            with connections["file"].cursor() as cursor:
                cursor.execute("PRAGMA journal_mode=WAL")
                cursor.execute("PRAGMA foreign_keys=OFF")
            with connections["file"].schema_editor(atomic=False) as editor:
                editor.create_model(Category)
                editor.create_model(Article)
        yield Table("file" if is_file else snapshot_using)
    finally:
        for alias in added:
            connections[alias].close()
            del connections[alias], connections.databases[alias]
