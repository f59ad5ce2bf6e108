"""The entries of items: acceptable URLs, skipped items, and skipped elements."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, datetime
from typing import Any

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.db import OperationalError
from django.db.models import QuerySet

from django_sitemaps09 import StaticViewSitemap
from django_sitemaps09.protocol import MAX_LOCATION, Limits
from tests.models import Article
from tests.support.sources import (
    BASE,
    COLUMNS,
    ITEMS,
    KINDS,
    LIMITS,
    compiled,
    declaration,
    errors,
    failing,
    listing,
    locations,
    rendered,
    source_of,
)

pytestmark = pytest.mark.usefixtures("cached_site")
LONG = f"{BASE}/{'a' * (MAX_LOCATION - len(str(BASE)) - 1)}"


@pytest.mark.parametrize(
    ("location", "reason"),
    [
        (ValueError("no such thing"), "ValueError: no such thing"),
        (KeyError("slug"), "KeyError: 'slug'"),
        (AttributeError("get_absolute_url"), "AttributeError: get_absolute_url"),
        (RecursionError("deep"), "RecursionError: deep"),
        ("/a\x00b", "control character"),
        ("/\ud800", "lone surrogate"),
        (None, "neither text"),
        ("//other.example/a", "'https://other.example/a' is not on https://www.example.com"),
        ("///a", "has no host"),
        (f"{LONG}a", "has 2,048 characters; at most 2,047 are allowed"),
        (f"/{'ä' * 500}", "characters; at most 2,024 are allowed"),
        ("https://other.example/a", "is not on https://www.example.com"),
    ],
)
def test_an_item_without_an_acceptable_url_is_skipped_and_reported(location: Any, reason: str) -> None:
    done = rendered(compiled(listing(ITEMS, location=failing((location,)))))
    assert locations(done) == [f"{BASE}/a/", f"{BASE}/c/"]
    ((key, field, text),) = errors(done)
    assert (key, field) == ("2", "location")
    assert reason in text


@pytest.mark.parametrize(
    ("field", "value", "reason"),
    [
        ("lastmod", "2026-01-01", "neither a date nor a datetime"),
        ("lastmod", datetime.min, "out of range"),
        ("lastmod", ZeroDivisionError("oh"), "ZeroDivisionError: oh"),
        ("changefreq", "sometimes", "is not a changefreq"),
        ("changefreq", ["daily"], "is not a changefreq"),
        ("changefreq", ZeroDivisionError("oh"), "ZeroDivisionError: oh"),
        ("priority", 1.01, "is not a priority"),
        ("priority", ZeroDivisionError("oh"), "ZeroDivisionError: oh"),
    ],
)
def test_a_bad_element_of_an_item_is_skipped_and_reported(field: str, value: Any, reason: str) -> None:
    done = rendered(compiled(listing(ITEMS, **{field: failing(value)})))
    assert locations(done) == [f"{BASE}/{item}/" for item in ITEMS]
    assert f"<{field}>" not in done[0].text
    ((key, named, text),) = errors(done)
    assert (key, named) == ("2", field)
    assert reason in text


def test_what_is_skipped_is_named_by_its_key(using: str) -> None:
    KINDS["composite"].make(using, range(3))
    hook = lambda self, item: f"/{item.number // (item.number - 1)}/"  # noqa: E731
    [error] = errors(rendered(source_of(KINDS["composite"], using, location=hook)))
    assert error == ("('B', 1)", "location", "ZeroDivisionError: integer division or modulo by zero")


@pytest.mark.parametrize("error", [OperationalError("gone"), ImproperlyConfigured("no such app")])
@pytest.mark.parametrize(
    "hooks",
    [
        lambda hook: {"location": hook},
        lambda hook: {"lastmod": hook},
        lambda hook: {"i18n": True, "get_languages_for_item": hook},
    ],
    ids=["location", "lastmod", "languages"],
)
def test_a_broken_database_or_project_is_not_an_invalid_item(
    error: Exception, hooks: Callable[[Any], dict[str, Any]]
) -> None:
    with pytest.raises(type(error)):
        rendered(compiled(listing(ITEMS, **hooks(failing(error)))))


def test_items_can_set_the_hooks() -> None:
    """Contrib's page calls `items()` before it reads a hook."""

    class Setting(listing([])):  # type: ignore[misc]
        def items(self) -> list[str]:
            self.lastmod, self.priority = date(2026, 1, 2), 0.8
            return ["a"]

    [page] = rendered(compiled(Setting))
    assert "<lastmod>2026-01-02</lastmod><priority>0.8</priority>" in page.text


@pytest.mark.parametrize(
    ("field", "value"), [("lastmod", "yesterday"), ("changefreq", "sometimes"), ("priority", 7)]
)
def test_a_bad_constant_is_an_error_with_expressions_and_otherwise_skipped(field: str, value: Any) -> None:
    with pytest.raises(ImproperlyConfigured, match=rf"Declared\.{field}.*Change or remove it.*method"):
        compiled(declaration(model=Article, location=COLUMNS["location"], **{field: value}))
    done = rendered(compiled(listing(ITEMS, **{field: value})))
    assert locations(done) == [f"{BASE}/{item}/" for item in ITEMS]
    assert f"<{field}>" not in done[0].text
    assert {error[1] for error in errors(done)} == {field}


@pytest.mark.parametrize("limit", [0, -1, True, 1.5, "1e4", "ten", None])
def test_a_limit_that_is_not_a_number_of_urls_is_refused(limit: Any) -> None:
    with pytest.raises(ImproperlyConfigured, match=r"Listing\.limit must be a whole number"):
        compiled(listing(ITEMS, limit=limit))


def test_a_limit_of_a_class_is_never_above_that_of_the_settings() -> None:
    done = rendered(compiled(listing(range(7), limit=50), Limits(3, LIMITS.bytes)), Limits(3, LIMITS.bytes))
    assert [part.written.urls for part in done] == [3, 3, 1]


def test_expressions_need_rows_that_can_carry_them(articles: QuerySet[Article]) -> None:
    queryset = articles.order_by("day").values_list("slug")
    with pytest.raises(ImproperlyConfigured, match=r"need model instances, not tuple.*methods"):
        rendered(compiled(declaration(queryset=queryset, **COLUMNS)))


@pytest.mark.parametrize("limit", [1, 50_000])
def test_names_of_views_are_a_section(limit: int) -> None:
    source = compiled(
        type("Static", (StaticViewSitemap,), {"viewnames": ["home", "nowhere", "about"], "limit": limit})
    )
    done = rendered(source)
    assert locations(done) == [f"{BASE}/home/", f"{BASE}/about/"]
    ((key, field, reason),) = errors(done)
    assert (key, field) == ("2", "location")
    assert "NoReverseMatch" in reason
