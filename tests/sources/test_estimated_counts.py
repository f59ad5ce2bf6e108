"""Querysets whose `count()` estimates: no row is lost or listed twice, and no page is empty or too full."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from django.db.models import F, QuerySet

from django_sitemaps09 import ModelSitemap, PathTemplate
from django_sitemaps09.export import export
from tests.models import Article
from tests.support.published import pages, urls
from tests.support.ways import native_pages

pytestmark = [pytest.mark.usefixtures("cached_site"), pytest.mark.sitemaps09(ENGINE="serial", GZIP=False)]


class Estimated(QuerySet[Article]):
    """A queryset as of a package that asks the planner of the database for the number of rows."""

    estimate = 0

    def count(self) -> int:
        return self.estimate


@pytest.mark.parametrize("estimate", [0, 1, 29, 30, 31, 60, 10_000])
@pytest.mark.parametrize("limit", [5, 30, 100])
@pytest.mark.parametrize("by_method", [False, True], ids=["columns", "methods"])
def test_no_row_is_lost_or_repeated(
    estimate: int, limit: int, by_method: bool, using: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Estimated, "estimate", estimate)
    Article.objects.using(using).bulk_create(Article(pk=n, slug=f"s{n:02}") for n in range(1, 31))
    rows: Any = Estimated(Article, using=using).order_by("slug")[:30]
    location: Any = PathTemplate("/{slug}/", slug=F("slug"))
    if by_method:
        location = lambda self, item: f"/{item.slug}/"  # noqa: E731
    attributes = {"queryset": rows, "limit": limit, "location": location}
    section = type("Listed", (ModelSitemap,), attributes)
    expected = [f"/s{n:02}/" for n in range(1, 31)]
    assert not export(sitemaps={"s": section}, output=folder).failures
    found = [
        url.removeprefix("https://www.example.com") for page in pages(folder) for url in urls(folder, page)
    ]
    assert found == expected
    assert all(0 < len(urls(folder, page)) <= limit for page in pages(folder))
    assert export(sitemaps={"s": section}, output=folder).written == ()
    found_live = native_pages(section)
    assert [path for _, page in found_live for path, _ in page] == expected
    assert all(0 < len(page) <= limit for _, page in found_live)
