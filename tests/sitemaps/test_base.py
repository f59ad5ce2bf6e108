"""The declarations of a class before they are used."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.contrib import sitemaps as contrib
from django.core.exceptions import ImproperlyConfigured
from django.db.models import F
from django.test import Client, RequestFactory

from django_sitemaps09 import GenericSitemap, ModelSitemap, Sitemap, StaticViewSitemap, views
from django_sitemaps09.export import export
from django_sitemaps09.hooks.expressions import FIELDS, declared_expressions
from tests.models import Article, Category

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
    way = r"get_absolute_url.*Sitemap has no `location`: define `def location\(self, item\)`"
    with pytest.raises(AttributeError, match=f"{way}$"):
        Sitemap().location(Category(slug="a"))
    with pytest.raises(AttributeError, match=f"{way}, or use StaticViewSitemap for view names$"):
        Sitemap().location("a")


@pytest.mark.parametrize("base", [Sitemap, ModelSitemap, StaticViewSitemap])
def test_a_new_class_declares_nothing(base: Any) -> None:
    assert declared_expressions(base()) == declared_expressions(base) == {}
    assert [getattr(base(), name, None) for name in FIELDS[1:]] == [None, None, None]


# Items


def returning(value: Any, base: Any = Sitemap, method: str = "items", **attributes: Any) -> Any:
    """Return a class `Own` whose method returns a value."""
    methods = {method: lambda self: value() if callable(value) else value}
    return type("Own", (base,), {"location": lambda self, item: "/a/", **methods, **attributes})


NO_RETURN = "Own.items() returned None. Add `return` before its queryset or list."
NO_QUERYSET = "Own.items() must return a queryset, such as `Article.objects.all()`, not "
GENERIC = "GenericSitemap.queryset must be a queryset, such as `Article.objects.all()`, not "

WRONG: dict[str, tuple[Callable[[], Any], str]] = {
    "None": (lambda: returning(None), NO_RETURN),
    "None in languages": (lambda: returning(None, i18n=True), NO_RETURN),
    "None with columns": (lambda: returning(None, lastmod=F("updated")), NO_RETURN),
    "None of get_queryset()": (
        lambda: returning(None, ModelSitemap, "get_queryset"),
        "Own.get_queryset() returned None. Add `return` before its queryset or list.",
    ),
    "a manager": (lambda: returning(lambda: Article.objects), f"{NO_QUERYSET}Manager."),
    "a model": (lambda: returning(lambda: Article), f"{NO_QUERYSET}the class Article."),
    "a number": (lambda: returning(5), f"{NO_QUERYSET}int."),
    "a model as the queryset": (
        lambda: type("Own", (ModelSitemap,), {"queryset": Category}),
        "Own.queryset must be a queryset, such as `Category.objects.all()`, not the class Category.",
    ),
    "no queryset": (lambda: type("Own", (ModelSitemap,), {"queryset": None}), "Own has no queryset: set"),
    "a generic model": (lambda: GenericSitemap({"queryset": Article}), f"{GENERIC}the class Article."),
    "a generic None": (lambda: GenericSitemap({"queryset": None}), f"{GENERIC}NoneType."),
}


@pytest.mark.django_db
@pytest.mark.sitemaps09
@pytest.mark.parametrize("name", WRONG)
def test_items_that_are_not_iterable_say_what_to_write(
    name: str, tmp_path: Path, register: Callable[..., None]
) -> None:
    declare, message = WRONG[name]
    register(x=declare())
    [section] = export(output=tmp_path).sections
    assert (section.failure or "").startswith(f"ImproperlyConfigured: {message}")
    calls: list[Callable[[], Any]] = [
        lambda: Client().get("/sitemap-x-1.xml"),
        lambda: views.sitemap(RequestFactory().get("/"), {"x": declare()}),
    ]
    for call in calls:
        with pytest.raises(ImproperlyConfigured) as raised:
            call()
        assert str(raised.value).startswith(message)


@pytest.mark.django_db
@pytest.mark.sitemaps09
def test_a_class_of_contrib_without_a_return_says_so_too(
    tmp_path: Path, register: Callable[..., None]
) -> None:
    register(x=returning(None, contrib.Sitemap))
    [section] = export(output=tmp_path).sections
    assert section.failure == f"ImproperlyConfigured: {NO_RETURN}"


ITERABLES: dict[str, Callable[[], Any]] = {
    "a generator": lambda: (item for item in "ab"),
    "a set": lambda: {"a", "b"},
    "a dict": lambda: {"a": 1, "b": 2},
    "values of a dict": lambda: {1: "a", 2: "b"}.values(),
    "a tuple": lambda: ("a", "b"),
}


@pytest.mark.django_db
@pytest.mark.sitemaps09
@pytest.mark.parametrize("name", ITERABLES)
@pytest.mark.parametrize("i18n", [False, True])
def test_items_can_be_any_iterable(
    name: str, i18n: bool, tmp_path: Path, register: Callable[..., None]
) -> None:
    """Deviation 15: contrib needs a length and slices."""
    own = {"i18n": i18n, "languages": ["en"], "location": lambda self, item: f"/{item}/"}
    section = returning(ITERABLES[name], **own)
    register(x=section)
    assert export(output=tmp_path).urls == 2
    assert Client().get("/sitemap-x-1.xml").content.count(b"<loc>") == 2
    for _ in range(2):
        answer = views.sitemap(RequestFactory().get("/"), {"x": section}).render()
        assert answer.content.count(b"<loc>") == 2
