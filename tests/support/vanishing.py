"""Rows that another connection deletes, and adds again, between two queries of the code under test."""

from __future__ import annotations

from contextlib import contextmanager
from datetime import datetime, timedelta, timezone

import pytest
from django.db import connections
from django.db.models import F

from django_sitemaps09 import ModelSitemap, Route
from tests.models import Article, Category

OLD = datetime(2026, 1, 1, tzinfo=timezone.utc)
#: Keys of the articles, and of those that vanish: some in most slices.
KEYS = tuple(range(1, 13))
VANISHING = (2, 5, 6, 11)


class Table:
    """Articles in the database `using`, and a connection `writer` that commits to the same database."""

    def __init__(self, using):
        self.using = using
        self.articles = Article.objects.using(using)
        self.statements = 0
        self.add(KEYS)

    def add(self, keys):
        Article.objects.using("writer").bulk_create(
            Article(pk=key, slug=f"s{key}", updated=OLD + timedelta(hours=key)) for key in keys
        )

    def remove(self):
        # Plain deletion, since only the tables of articles are sure to exist.
        rows = Article.objects.using("writer").filter(pk__in=VANISHING)
        rows._raw_delete("writer")

    def restore(self):
        found = Article.objects.using("writer").filter(pk__in=VANISHING).values_list("pk", flat=True)
        self.add(tuple(sorted({*VANISHING} - {*found})))

    def section(self):
        declared = {
            "queryset": self.articles.all(),
            "location": Route("article", slug=F("slug")),
            "lastmod": F("updated"),
        }
        return type("Articles", (ModelSitemap,), declared)()

    @contextmanager
    def vanishing(self, first, last=None):
        """Remove rows before the statement `first` of the block, and restore them before `last`.

        Statements are counted from 1. Rows that are still missing are restored after the block.
        """
        self.statements = 0

        def execute(run, *arguments):
            self.statements += 1
            if self.statements == first:
                self.remove()
            if self.statements == last:
                self.restore()
            return run(*arguments)

        with connections[self.using].execute_wrapper(execute):
            yield
        self.restore()


def _add(alias, path, like):
    """Add a connection to the database of `like`, or to a SQLite database in a file.

    It keeps the alias of `like` as its own, since a test may only connect to its databases.
    """
    made = connections[like].copy()
    if path is not None:
        made.settings_dict["NAME"] = str(path)
    connections.databases[alias] = connections.databases[like]
    connections[alias] = made


def _create_tables():
    # With a write-ahead log, another connection can commit while a transaction reads.
    with connections["file"].cursor() as cursor:
        cursor.execute("PRAGMA journal_mode=WAL")
        cursor.execute("PRAGMA foreign_keys=OFF")
    with connections["file"].schema_editor(atomic=False) as editor:
        editor.create_model(Category)
        editor.create_model(Article)


@pytest.fixture
def table(snapshot_using, tmp_path):
    path = tmp_path / "rows.sqlite3" if snapshot_using == "default" else None
    added = ["writer"]
    _add("writer", path, snapshot_using)
    try:
        if path is not None:
            added.append("file")
            _add("file", path, snapshot_using)
            _create_tables()
        yield Table("file" if path else snapshot_using)
    finally:
        for alias in added:
            connections[alias].close()
            del connections[alias], connections.databases[alias]
