"""The entries of items: acceptable URLs, skipped items, and skipped elements."""

from __future__ import annotations

from datetime import date, datetime

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.db import OperationalError
from django.db.models import Case, F, Value, When
from django.urls import reverse
from hypothesis import HealthCheck, given, settings, strategies as st

from django_sitemaps09 import Route, StaticViewSitemap
from django_sitemaps09.protocol import MAX_LOCATION, Limits
from tests.models import Article
from tests.support.sections import declare, listing
from tests.support.sources import BASE, KINDS, LIMITS, UTC, compiled, errors, locations, rendered, source_of

pytestmark = pytest.mark.usefixtures("cached_site")
ITEMS = ["a", "bad", "c"]
LONG = f"{BASE}/{'a' * (MAX_LOCATION - len(str(BASE)) - 1)}"


def failing(value, other=lambda item: None):
    def hook(self, item):
        if item != "bad":
            return other(item)
        if isinstance(value, Exception):
            raise value
        return value

    return hook


def url_of(value):
    return failing(value, "/{}/".format)


ELEMENTS = [
    ("lastmod", "2026-01-01", "neither a date nor a datetime"), ("lastmod", datetime.min, "out of range"),
    ("changefreq", "sometimes", "is not a changefreq"), ("changefreq", ["daily"], "is not a changefreq"),
    ("priority", 1.01, "is not a priority"), ("lastmod", ZeroDivisionError("oh"), "ZeroDivisionError: oh"),
    ("changefreq", ZeroDivisionError("oh"), "ZeroDivisionError: oh"),
    ("priority", ZeroDivisionError("oh"), "ZeroDivisionError: oh"),
]  # fmt: skip
LOCATIONS = [
    ("location", ValueError("no such thing"), "ValueError: no such thing"),
    ("location", KeyError("slug"), "KeyError: 'slug'"),
    ("location", AttributeError("get_absolute_url"), "AttributeError: get_absolute_url"),
    ("location", RecursionError("deep"), "RecursionError: deep"),
    ("location", "/a\x00b", "control character"),
    ("location", "/\ud800", "lone surrogate"),
    ("location", None, "neither text"),
    ("location", "//other.example/a", "'https://other.example/a' is not on https://www.example.com"),
    ("location", "///a", "has no host"),
    ("location", f"{LONG}a", "has 2,048 characters; at most 2,047 are allowed"),
    ("location", f"/{'ä' * 500}", "characters; at most 2,024 are allowed"),
    ("location", "https://other.example/a", "is not on https://www.example.com"),
]


@pytest.mark.parametrize(("field", "value", "reason"), [*LOCATIONS, *ELEMENTS], ids=range(20))
def test_an_item_without_a_url_and_an_invalid_element_are_skipped_and_reported(field, value, reason):
    hook = (url_of if field == "location" else failing)(value)
    done = rendered(compiled(listing(ITEMS, **{field: hook})))
    expected = [item for item in ITEMS if field != "location" or item != "bad"]
    assert locations(done) == [f"{BASE}/{item}/" for item in expected]
    assert field == "location" or f"<{field}>" not in done[0].text
    ((key, named, text),) = errors(done)
    assert (key, named) == ("2", field)
    assert reason in text


def test_what_is_skipped_is_named_by_its_key(using):
    KINDS["composite"].make(using, range(3))
    hook = lambda self, item: f"/{item.number // (item.number - 1)}/"  # noqa: E731
    [error] = errors(rendered(source_of(KINDS["composite"], using, location=hook)))
    assert error == ("('B', 1)", "location", "ZeroDivisionError: integer division or modulo by zero")


@pytest.mark.parametrize("error", [OperationalError("gone"), ImproperlyConfigured("no such app")])
@pytest.mark.parametrize("name", ["location", "lastmod", "get_languages_for_item"])
def test_a_broken_database_or_project_is_not_an_invalid_item(error, name):
    section = listing(ITEMS, **{name: failing(error)}, i18n=name == "get_languages_for_item")
    with pytest.raises(type(error)):
        rendered(compiled(section))


def test_items_can_set_the_hooks():
    """Contrib's page calls `items()` before it reads a hook."""

    class Setting(listing([])):
        def items(self):
            self.lastmod, self.priority = date(2026, 1, 2), 0.8
            return ["a"]

    [page] = rendered(compiled(Setting))
    assert "<lastmod>2026-01-02</lastmod><priority>0.8</priority>" in page.text


@pytest.mark.parametrize(
    ("field", "value"), [("lastmod", "yesterday"), ("changefreq", "sometimes"), ("priority", 7)]
)
def test_a_bad_constant_is_an_error_with_expressions_and_otherwise_skipped(field, value):
    with pytest.raises(ImproperlyConfigured, match=rf"Declared\.{field}.*Change or remove it.*method"):
        compiled(declare(model=Article, location=Value("/x/"), **{field: value}))
    done = rendered(compiled(listing(ITEMS, **{field: value})))
    assert locations(done) == [f"{BASE}/{item}/" for item in ITEMS]
    assert f"<{field}>" not in done[0].text
    assert {error[1] for error in errors(done)} == {field}


@pytest.mark.parametrize("limit", [0, -1, True, 1.5, "1e4", "ten", None])
def test_a_limit_that_is_not_a_number_of_urls_is_refused(limit):
    with pytest.raises(ImproperlyConfigured, match=r"Declared\.limit must be a whole number"):
        compiled(listing(ITEMS, limit=limit))


def test_a_limit_of_a_class_is_never_above_that_of_the_settings():
    limits = Limits(3, LIMITS.bytes)
    done = rendered(compiled(listing(range(7), limit=50), limits), limits)
    assert [part.written.urls for part in done] == [3, 3, 1]


@pytest.mark.parametrize("limit", [1, 50_000])
def test_names_of_views_are_a_section(limit):
    names = ["home", "nowhere", "about"]
    done = rendered(compiled(declare(StaticViewSitemap, viewnames=names, limit=limit)))
    assert locations(done) == [f"{BASE}/home/", f"{BASE}/about/"]
    ((key, field, reason),) = errors(done)
    assert (key, field) == ("2", "location")
    assert "NoReverseMatch" in reason


# An expression and a method give the same bytes

FACTS = st.lists(
    st.fixed_dictionaries(
        {
            "slug": st.text("abcäß&'\"<> %\\-_.~@", min_size=1, max_size=12),
            "updated": st.none()
            | st.datetimes(datetime(1000, 1, 2), datetime(9999, 12, 30), timezones=st.just(UTC)),
            "day": st.none() | st.dates(date(1000, 1, 1)),
            "weight": st.none() | st.decimals(-1, 2, places=3),
            "published": st.booleans(),
        }
    ),
    max_size=8,
)

FACT_COLUMNS = {
    "location": Route("word", word=F("slug")), "lastmod": F("updated"), "priority": F("weight"),
    "changefreq": Case(When(published=True, then=Value("daily")), default=Value("sometimes")),
}  # fmt: skip

FACT_METHODS = {
    "location": lambda self, item: reverse("word", args=[item.slug]),
    "lastmod": lambda self, item: item.updated,
    "priority": lambda self, item: item.weight,
    "changefreq": lambda self, item: "daily" if item.published else "sometimes",
}


@settings(
    max_examples=25,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(facts=FACTS, limit=st.integers(1, 9))
def test_the_same_facts_give_the_same_bytes(using, facts, limit):
    """This includes invalid values, which are skipped for the same reason."""
    rows = Article.objects.using(using)
    rows.all().delete()
    rows.bulk_create(Article(**fact) for fact in facts)
    outcomes = []
    mixed = {**FACT_METHODS, "location": FACT_COLUMNS["location"], "priority": FACT_COLUMNS["priority"]}
    for hooks in (FACT_COLUMNS, FACT_METHODS, mixed):
        for lastmod in (hooks["lastmod"], F("day") if hooks is FACT_COLUMNS else lambda _, item: item.day):
            done = rendered(
                compiled(declare(queryset=rows.all(), limit=limit, **{**hooks, "lastmod": lastmod}))
            )
            outcomes.append(([part.text for part in done], errors(done)))
    assert outcomes[0::2] == [outcomes[0]] * 3
    assert outcomes[1::2] == [outcomes[1]] * 3
    assert len(locations(done)) == len(facts)
