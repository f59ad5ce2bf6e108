"""Two exports of the same rows: a full one, and one with `--changed-only`."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

import pytest
from django.conf import settings
from django.db.models import CharField, F, Value
from django.db.models.functions import Concat
from django.urls import set_script_prefix

from django_sitemaps09.export import export
from tests.models import Article, Category
from tests.support.configuration import BASE
from tests.support.factories import CategoryFactory
from tests.support.internals import host as exports
from tests.support.published import quick_folder, unpacked as published
from tests.support.sections import declare

#: The time of the first run. Rows are older.
START = datetime(2026, 6, 1, 12, tzinfo=timezone.utc)
OLD = datetime(2026, 1, 1, tzinfo=timezone.utc)
ROWS, PAGE = 100, 10


def path(*parts):
    return Concat(Value("/"), *parts, Value("/"), output_field=CharField())


class Twins:
    """Two exports of the same section at the same times."""

    def __init__(self, folder, using, settings, monkeypatch):
        self.folder, self.using, self.settings = folder, using, settings
        self.articles = Article.objects.using(using)
        self.now = now = [START]
        self.attributes, self.keys, self.options = {}, {}, {}

        class Clock(datetime):
            @classmethod
            def now(cls, tz=None):
                return now[0]

        monkeypatch.setattr(exports, "datetime", Clock)

    def section(self):
        hooks = {"lastmod": F("updated"), "priority": F("weight")}
        hooks |= {"location": path(F("category__slug"), Value("/"), F("slug"))}
        return declare(**{"queryset": self.articles.all(), **hooks, **self.attributes})()

    def run(self, after=timedelta(hours=1), *, both_whole=False):
        """Run both exports, and return the report of the one that may skip pages."""
        self.now[0] += after
        found = []
        wanted = {"BASE_URL": BASE, "MAX_URLS": PAGE, "ENGINE": "serial", **self.keys}
        # Each override of the setting slows down later accesses, so skip it if the value is the same.
        if getattr(settings, "SITEMAPS09", None) != wanted:
            self.settings.SITEMAPS09 = wanted
        for name, changed_only in (("changed", not both_whole), ("whole", False)):
            options = {"sitemaps": {"a": self.section()}, "changed_only": changed_only, **self.options}
            report = export(output=self.folder / name, **options)
            assert report.failures == []
            found.append(report.sections[0])
        assert found[1].skipped == 0
        return found[0]

    @property
    def same(self):
        return published(self.folder / "changed") == published(self.folder / "whole")

    @property
    def same_but_for_the_index(self):
        found, expected = (published(self.folder / name) for name in ("changed", "whole"))
        return found | {"sitemap.xml": b""} == expected | {"sitemap.xml": b""}

    def settled(self):
        """Export twice, so that each page has a fingerprint."""
        self.run()
        report = self.run()
        assert report.skipped == len(report.files) == ROWS // PAGE
        assert self.same


@pytest.fixture
def twins(snapshot_using, settings, monkeypatch):
    categories = [CategoryFactory(using=snapshot_using, slug=slug) for slug in ("red", "blue")]
    Article.objects.using(snapshot_using).bulk_create(
        Article(
            pk=10 * number,
            slug=f"a{number}",
            category=categories[number % 2],
            updated=OLD + timedelta(days=number % 7, hours=number),
            weight="0.5",
        )
        for number in range(1, ROWS + 1)
    )
    with quick_folder() as folder:
        yield Twins(folder, snapshot_using, settings, monkeypatch)
    set_script_prefix("/")


def add(twins, pk, updated=OLD):
    category = Category.objects.using(twins.using).earliest("pk")
    twins.articles.create(pk=pk, slug=f"new{pk}", category=category, updated=updated, weight="0.5")


def some(twins, *pks):
    return twins.articles.filter(pk__in=pks)


NEWER = START + timedelta(minutes=90)
