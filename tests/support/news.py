"""Dispatches, a clock that a test sets, and readers of news."""

from __future__ import annotations

import gzip
from datetime import datetime, timedelta, timezone
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings as configuration
from django.core.cache import cache
from django.db.models import F
from django.http import Http404
from django.test import RequestFactory
from django.utils import timezone as django_timezone
from lxml import etree

from django_sitemaps09 import NewsSitemap, Route, views
from django_sitemaps09.export import host as exports
from django_sitemaps09.hooks import extensions
from tests.models import Article
from tests.support import published as looked_at
from tests.support.factories import ArticleFactory

NOW = datetime(2026, 9, 10, 12, tzinfo=timezone.utc)
HOUR, DAY, SECOND = timedelta(hours=1), timedelta(days=1), timedelta(seconds=1)
TWO_DAYS = 2 * DAY
LOC = "{http://www.sitemaps.org/schemas/sitemap/0.9}loc"


class Fresh(NewsSitemap[Article]):
    """Section whose headlines are the slugs of articles."""

    model = Article
    location = Route("article", slug=F("slug"))
    date_field = "updated"
    publication_name = "The Example Times"

    def title(self, item: Article) -> str:
        return f"About {item.slug}"


class Clock:
    """The time of all clocks in this package."""

    def __init__(self) -> None:
        self.time = NOW

    def show(self) -> datetime:
        """Return the time as `django.utils.timezone.now()` does, depending on `USE_TZ`."""
        if configuration.USE_TZ:
            return self.time
        return self.time.astimezone(django_timezone.get_default_timezone()).replace(tzinfo=None)


@pytest.fixture
def stopped_clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    found = Clock()

    class OfAnyDatetime(type):
        def __instancecheck__(cls, value: object) -> bool:
            return isinstance(value, datetime)

    class Stopped(datetime, metaclass=OfAnyDatetime):
        @classmethod
        def now(cls, tz: Any = None) -> datetime:  # type: ignore[override]
            return found.time.astimezone(tz)

    monkeypatch.setattr(django_timezone, "now", found.show)
    monkeypatch.setattr(extensions, "datetime", Stopped)
    monkeypatch.setattr(exports, "datetime", Stopped)
    return found


_numbers = count(1)


def write(amount: int, newest: datetime, step: timedelta = timedelta(0)) -> None:
    """Create `amount` articles, the first one published at `newest`, each other one `step` earlier."""
    Article.objects.bulk_create(
        Article(slug=f"n{next(_numbers)}", updated=newest - place * step) for place in range(amount)
    )


def publish(**times: Any) -> None:
    """Create an article for each name, published at this time."""
    for slug, time in times.items():
        ArticleFactory(slug=slug, updated=time)


def slugs(data: bytes) -> list[str]:
    """Return the last parts of the URLs in a document, in order."""
    return [str(loc.text).rstrip("/").rpartition("/")[2] for loc in etree.fromstring(data).iter(LOC)]


def live(sitemap: Any, page: int = 1) -> bytes:
    """Return a page of the section `news`; empty if it does not exist."""
    cache.clear()
    request = RequestFactory().get("/")
    try:
        found = views.page(request, section="news", page=str(page), sitemaps={"news": sitemap})
    except Http404:
        return b""
    return found.content


def exported(folder: Path, name: str) -> bytes:
    data = (folder / name).read_bytes()
    return gzip.decompress(data) if name.endswith(".gz") else data


def names(folder: Path, section: str = "news") -> list[str]:
    """Return the pages of a section in the index, which must all be complete."""
    for name in looked_at.pages(folder):
        looked_at.urls(folder, name)
    return [name for name in looked_at.pages(folder) if name.startswith(f"sitemap-{section}-")]


def first(pages: int) -> list[str]:
    return [f"sitemap-news-{number}.xml.gz" for number in range(1, pages + 1)]
