"""Exports of two hosts submit exactly the URLs that differ in what they publish, and each of them once.

`SITEMAPS09_CHANGES_ROWS` is the number of rows, `SITEMAPS09_FUZZ_SEED` what the random edits begin with.
"""

from __future__ import annotations

import gzip
import os
import random
from copy import copy
from datetime import datetime, timedelta, timezone
from itertools import chain, count, islice

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.db.models import F

from django_sitemaps09 import ModelSitemap, Route, Sitemap
from django_sitemaps09.export import export_hosts
from tests.models import Article
from tests.support import published
from tests.support.search_engines import KEY, engine

__all__ = ["engine"]

#: Rows of the first run, and runs. For more: SITEMAPS09_CHANGES_ROWS=5000, -o faulthandler_timeout=0.
ROWS = int(os.environ.get("SITEMAPS09_CHANGES_ROWS", "400"))
SEED = os.environ.get("SITEMAPS09_FUZZ_SEED", "1")
RUNS = 10
HOSTS = ["https://www.example.com", "https://shop.example.com"]
START = datetime(2026, 1, 1, tzinfo=timezone.utc)

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.sitemaps09(INDEXNOW_KEY=KEY, INDEXNOW_MAX_URLS=1_000_000, MAX_URLS=ROWS // 20),
]


class Ranged(ModelSitemap[Article]):
    """Articles of one weight, as ranges of their key. The second host lists only published ones."""

    location = Route("article", slug=F("slug"))
    lastmod = F("updated")

    def __init__(self, weight):
        self.queryset = Article.objects.filter(weight=weight)

    def for_host(self, domain):
        sitemap = copy(self)
        if domain in HOSTS[1]:
            sitemap.queryset = self.queryset.filter(published=True)
        return sitemap


class Positioned(Sitemap[Article]):
    """Articles of weight 2, the newest first, paginated by position."""

    def items(self):
        return [*Article.objects.filter(weight=2).order_by("-updated", "slug")]

    def location(self, item):
        return item.get_absolute_url()

    def lastmod(self, item):
        return item.updated


class Broken(Positioned):
    def location(self, item):
        raise ImproperlyConfigured("the project is broken")


class Edits:
    weights = (0, 1, 2)

    def __init__(self):
        self.random = random.Random(SEED)  # noqa: S311 the same edits each time
        self.slugs = (f"s{number}" for number in count())
        self.values = {
            "slug": lambda: next(self.slugs),
            "updated": lambda: START + timedelta(hours=self.random.randrange(5_000)),
            "weight": lambda: self.random.choice(self.weights),
            "published": lambda: self.random.choice([True, False]),
        }

    def make(self, number):
        names = self.random.choices(["add", "delete", "create_again", "swap", *self.values], k=number)
        for name in names:
            if name in self.values:
                self.save(name, [(article, self.values[name]()) for article in self.some()])
            else:
                getattr(self, name)()
        return names

    def some(self):
        articles = [*Article.objects.filter(weight__in=self.weights).order_by("pk")]
        return self.random.sample(articles, min(len(articles), self.random.choice([1, 8, ROWS // 10])))

    def save(self, name, values):
        for article, value in values:
            setattr(article, name, value)
        Article.objects.bulk_update([article for article, _ in values], [name], batch_size=100)

    def add(self, rows=ROWS // 20):
        Article.objects.bulk_create(
            Article(slug=slug, weight=self.values["weight"](), updated=self.values["updated"]())
            for slug in islice(self.slugs, rows)
        )

    def delete(self):
        articles = self.some()
        Article.objects.filter(pk__in=[article.pk for article in articles]).delete()
        return articles

    def create_again(self):
        """Give rows other keys, so that they move to the last page of their section."""
        articles = self.delete()
        for article in articles:
            article.pk = None
        Article.objects.bulk_create(articles)

    def swap(self):
        articles = self.some()
        slugs = [article.slug for article in articles]
        self.save("slug", [*zip(articles, [*slugs[1:], slugs[0]], strict=True)])


def entries(folder):
    found = {}
    for name in published.pages(folder):
        for line in gzip.decompress((folder / name).read_bytes()).splitlines():
            if line.startswith(b"<url>"):
                url = line.partition(b"<loc>")[2].partition(b"</loc>")[0].decode()
                found.setdefault(url, set()).add(line)
    return found


def differing(old, new):
    for url in old.keys() | new.keys():
        if old.get(url) != new.get(url):
            yield url, "added" if url not in old else "removed" if url not in new else "changed"


@pytest.mark.slow
def test_each_url_that_differs_is_submitted_once(tmp_path, engine, configure, monkeypatch):
    configure(INDEXNOW_URLS=[engine.url])
    monkeypatch.setattr("django_sitemaps09.export.notify.client.PAUSE", -1.0)
    edits = Edits()
    edits.add(ROWS)
    folders, old = [tmp_path / host.removeprefix("https://") for host in HOSTS], [{}, {}]
    for run in range(RUNS):
        is_broken, is_removed = run % 6 == 3, run % 6 == 5
        # Nothing moves to or from a section while it fails.
        edits.weights = (0, 1) if is_broken else (0, 1, 2)
        case = f"seed {SEED}, run {run}: {edits.make(5 if run else 0)}"
        sitemaps = {"a": Ranged(0), "b": Ranged(1), "c": Broken() if is_broken else Positioned()}
        if is_removed:
            del sitemaps["b"]
        engine.requests.clear()
        changes = []

        def collect(event, changes=changes):
            changes += event.urls() if event.urls else ()

        reports = export_hosts(
            HOSTS, sitemaps=sitemaps, output=tmp_path, engine="serial", force=[*sitemaps],
            remove=["b"] if is_removed else [], changed_only=edits.random.random() < 0.5,
            rebalance=edits.random.random() < 0.2, changes=run % 2 == 1, submit=True, on_published=collect,
        )  # fmt: skip
        assert [bool(report.failures) for report in reports.values()] == [is_broken] * 2, case
        new = [entries(folder) for folder in folders]
        kinds = dict(chain.from_iterable(map(differing, old, new)))
        assert engine.submitted == (sorted(kinds) if run else []), case
        if run % 2:
            assert sorted((url, kind) for kind, _, url in changes) == sorted(kinds.items()), case
        old = new
