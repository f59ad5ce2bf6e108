"""The declarations of a class before they are used."""

from __future__ import annotations

from types import new_class
from typing import Any, TypeVar

import pytest
from django.contrib import sitemaps as contrib
from django.db.models import Model

from django_sitemaps09 import GenericSitemap, ModelSitemap, Sitemap, StaticViewSitemap
from django_sitemaps09.hooks.expressions import FIELDS, declared_expressions
from tests.models import Article, Category

ModelT = TypeVar("ModelT", bound=Model)


# Hooks


def test_a_location_is_that_of_the_item_if_nothing_else_is_declared() -> None:
    item = Article(slug="a")
    for base in (Sitemap, ModelSitemap, GenericSitemap):
        section = base.__new__(base)
        assert section.location(item) == section.default_location(item) == "/articles/a/"


def test_the_default_location_may_be_overridden_and_called() -> None:
    class Longer(Sitemap[Article]):
        def location(self, item: Article) -> str:
            return f"{self.default_location(item)}?from=sitemap"

    class Other(Sitemap[Article]):
        def default_location(self, item: Article) -> str:
            return f"/other{super().default_location(item)}"

    item = Article(slug="a")
    assert Longer().location(item) == "/articles/a/?from=sitemap"
    assert Other().location(item) == "/other/articles/a/"


def test_an_item_without_a_location_is_a_clear_error() -> None:
    with pytest.raises(AttributeError, match="get_absolute_url"):
        Sitemap().location(Category(slug="a"))


@pytest.mark.parametrize("base", [Sitemap, ModelSitemap, StaticViewSitemap])
def test_a_new_class_declares_nothing(base: Any) -> None:
    assert declared_expressions(base()) == declared_expressions(base) == {}
    assert [getattr(base(), name, None) for name in FIELDS[1:]] == [None, None, None]


@pytest.mark.parametrize(
    "base",
    [Sitemap[Article], ModelSitemap[Article], GenericSitemap[Article], Sitemap[tuple[str, int]]],
    ids=str,
)
def test_classes_may_be_subscripted_with_the_type_of_their_items(base: Any) -> None:
    section = new_class("Section", (base,))
    assert issubclass(section, base.__origin__)
    assert issubclass(section, contrib.Sitemap)


def test_bases_of_a_project_may_leave_the_type_open() -> None:
    class Base(ModelSitemap[ModelT]):
        changefreq = "daily"

    class Articles(Base[Article]):
        model = Article

    assert Articles().changefreq == "daily"
    assert isinstance(Articles(), ModelSitemap)
