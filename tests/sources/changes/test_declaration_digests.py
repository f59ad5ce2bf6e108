"""Declaration digests change if anything but rows changes the bytes of pages, and only then."""

from __future__ import annotations

import importlib
import linecache
import os
import subprocess
import sys
from collections.abc import Callable
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any
from unittest import mock

import pytest
from django.conf.urls.i18n import i18n_patterns
from django.db.models import F, Q, QuerySet, Value
from django.db.models.functions import TruncDay
from django.test import override_settings
from django.urls import path
from django.utils import timezone as zones, translation

from django_sitemaps09 import GenericSitemap, ModelSitemap, Route, Sitemap, StaticViewSitemap
from django_sitemaps09.protocol import Base
from django_sitemaps09.sources import declaration_digests
from tests.models import Article, Event
from tests.support.fingerprints import NOON, UTC, compiled, declaration, listing, queries, source_of
from tests.urls import nothing

# Everything except rows that determines the bytes of pages.

DECLARING = """
import django
django.setup()
from tests.support.fingerprints import compiled
from tests.sources.changes.test_declaration_digests import sections

for section in sections():
    print(compiled(section).declaration_digest)
"""


class Sourced(ModelSitemap[Article]):
    """One whose text is to be had."""

    location = Route("article", slug=F("slug"))
    lastmod = F("updated")
    changefreq = "daily"


class Sets(Sourced):
    """What has no order of its own."""

    queryset = Article.objects.filter(slug__in={"a", "b", "c", "d", "e"}, published=True, pk__gt=3)
    languages = ("en", "de")


class Names(StaticViewSitemap):
    viewnames = ("about", "home")


def sections() -> list[Any]:
    rows = Article.objects.filter(Q(slug="a") | Q(updated__lt=NOON))
    return [
        Sets,
        type("Made", (Sourced,), {"queryset": rows, "priority": lambda self, item: 0.5}),
        type("Constant", (Sourced,), {"queryset": rows, "lastmod": NOON, "priority": Decimal("0.5")}),
        GenericSitemap({"queryset": rows, "date_field": "updated"}, priority=0.6),
        listing(["a"], priority=0.6),
        Names,
        type("Own", (Sitemap,), {"get_urls": lambda self, **kwargs: []}),
        type("Now", (Sourced,), {"queryset": Article.objects.filter(updated__lte=zones.now())}),
        type("Month", (Sourced,), {"queryset": Article.objects.filter(updated__gte=a_month_ago())}),
    ]


def a_month_ago() -> datetime:
    return zones.now().replace(microsecond=7) - timedelta(days=30)


def test_a_declaration_has_one_digest_in_all_processes() -> None:
    expected = [compiled(section).declaration_digest for section in sections()]
    assert len({*expected}) == len(expected)
    assert {len(found) for found in expected} == {64}
    # Another order of sets than in this process.
    seed = "2" if os.environ.get("PYTHONHASHSEED") == "1" else "1"
    environment = {**os.environ, "PYTHONHASHSEED": seed, "DJANGO_SETTINGS_MODULE": "tests.settings"}
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-c", DECLARING], env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == expected


def declared(rows: Any = None, **attributes: Any) -> str:
    rows = Article.objects.all() if rows is None else rows
    found: str = compiled(type("Made", (Sourced,), {"queryset": rows, **attributes})).declaration_digest
    return found


def in_german(**arguments: Any) -> str:
    routes = {"en": Route("article", slug=F("slug")), "de": Route("article", **arguments)}
    return declared(i18n=True, location=routes)


DECLARATIONS: dict[str, Callable[[], str]] = {
    "another filter": lambda: declared(Article.objects.filter(published=True)),
    "another parameter": lambda: declared(Article.objects.filter(slug="b")),
    "a parameter elsewhere": lambda: declared(Article.objects.filter(slug="a", code="b")),
    "parameters swapped": lambda: declared(Article.objects.filter(slug="b", code="a")),
    "no rows": lambda: declared(Article.objects.none()),
    "another expression": lambda: declared(lastmod=F("day")),
    "another constant": lambda: declared(changefreq="weekly"),
    "no constant": lambda: declared(changefreq=None),
    "a constant of another type": lambda: declared(priority=Decimal("1")),
    "the same constant": lambda: declared(priority=1),
    "another route": lambda: declared(location=Route("word", word=F("slug"))),
    "the same column in a constant's place": lambda: declared(location=Route("word", word="slug")),
    "another constant of a route": lambda: declared(location=Route("seat", row="a", number=F("pk"))),
    "the other constant of a route": lambda: declared(location=Route("seat", row="b", number=F("pk"))),
    "languages": lambda: declared(i18n=True, languages=["en", "de"]),
    "other languages": lambda: declared(i18n=True, languages=["de", "en"]),
    "alternates": lambda: declared(i18n=True, languages=["en", "de"], alternates=True),
    "x-default": lambda: declared(i18n=True, languages=["en", "de"], alternates=True, x_default=True),
    "a location for a language": lambda: in_german(slug=F("code")),
    "another location for a language": lambda: in_german(slug=F("slug")),
    "a constant location for a language": lambda: in_german(slug="all"),
    "a limit": lambda: declared(limit=7),
    "a protocol": lambda: declared(protocol="http"),
    "a key": lambda: compiled(declaration(model=Event, key="at", location=Value("/x/"))).declaration_digest,
    "another key": lambda: (
        compiled(declaration(model=Event, key="price", location=Value("/x/"))).declaration_digest
    ),
}


def test_whatever_decides_the_bytes_of_pages_changes_the_digest() -> None:
    found = {name: make() for name, make in DECLARATIONS.items()}
    assert found == {name: make() for name, make in DECLARATIONS.items()}
    assert len({declared(), *found.values()}) == len(found) + 1


@pytest.mark.parametrize(
    "changed",
    [
        {"LANGUAGE_CODE": "de"},
        {"TIME_ZONE": "Asia/Tokyo"},
        {"USE_TZ": False},
        {"SITEMAPS09": {"STYLESHEET": True}},
        {"ROOT_URLCONF": (path("pieces/<slug:slug>/", nothing, name="article"),)},
        {"ROOT_URLCONF": tuple(i18n_patterns(path("articles/<slug:slug>/", nothing, name="article")))},
        {"ROOT_URLCONF": (path("articles/<str:slug>/", nothing, name="article"),)},
    ],
    ids=["language", "zone", "no zones", "a stylesheet", "a pattern", "a prefix", "a converter"],
)
def test_settings_that_decide_the_bytes_change_the_digest(changed: dict[str, Any]) -> None:
    before = declared()
    with override_settings(**changed):
        assert declared() != before
    assert declared() == before


def test_a_version_changes_the_digest_and_a_base_does_not() -> None:
    """What is published is of one base, or of several that come and go."""
    section = type("Made", (Sourced,), {"queryset": Article.objects.all()})
    found = {
        compiled(section, base=Base("https", domain)).declaration_digest
        for domain in ("a.example", "b.example")
    }
    assert len(found) == 1
    with mock.patch("django_sitemaps09.__version__", "999"):
        found.add(compiled(section, base=Base("https", "a.example")).declaration_digest)
    assert len(found) == 2


def test_the_text_of_a_class_or_of_its_base_changes_the_digest(tmp_path: Any, monkeypatch: Any) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    text = """
from django.db.models import Value
from django_sitemaps09 import ModelSitemap, Sitemap
from tests.models import Article

class Mixin:
    def helper(self):
        return {}

class Columns(Mixin, ModelSitemap):
    model = Article
    location = Value("/x/")

class Positions(Mixin, Sitemap):
    def items(self):
        return ["a"]

class Urls(Mixin, Sitemap):
    def get_urls(self, **kwargs):
        return []
"""
    seen = []
    for number in (1, 1, 2):
        monkeypatch.delitem(sys.modules, "sourced_sitemaps", raising=False)
        (tmp_path / "sourced_sitemaps.py").write_text(text.replace("{}", str(number)))
        importlib.invalidate_caches()
        linecache.clearcache()
        made = importlib.import_module("sourced_sitemaps")
        seen.append(
            [compiled(getattr(made, name)).declaration_digest for name in ("Columns", "Positions", "Urls")]
        )
    first, again, other = seen
    assert first == again
    assert not {*first} & {*other}


def test_the_time_of_a_query_and_what_is_active_leave_the_digest() -> None:
    now = datetime.now(UTC)
    queries_ = [Article.objects.filter(updated__lte=now - timedelta(seconds=ago)) for ago in (0, 60)]
    (found,) = {declared(rows, lastmod=TruncDay("updated")) for rows in queries_}
    with zones.override("Asia/Tokyo"), translation.override("de"):
        assert declared(queries_[0], lastmod=TruncDay("updated")) == found
    assert declared(Article.objects.filter(updated__lte=NOON), lastmod=TruncDay("updated")) != found


@pytest.mark.parametrize("field", ["updated__lte", "updated__date__lte"])
def test_the_day_of_a_query_is_not_in_the_digest(monkeypatch: pytest.MonkeyPatch, field: str) -> None:
    """A query of today's rows has the same digest tomorrow. Its fingerprint shows the rows that joined."""
    found = []
    for day in (21, 22):
        moment = datetime(2026, 11, day, 15, tzinfo=UTC)
        monkeypatch.setattr(
            declaration_digests,
            "datetime",
            type("At", (datetime,), {"now": lambda *_, moment=moment: moment}),
        )
        midnight = moment.replace(hour=0)
        today = midnight if field == "updated__lte" else moment.date()
        found.append(declared(Article.objects.filter(**{field: today})))
        found.append(declared(Article.objects.filter(**{field: today - timedelta(days=7)})))
    assert found[0] == found[2]
    assert len({*found}) == 3
    # An export can continue after midnight with the query of its start.
    yesterday = today - timedelta(days=1)
    assert declared(Article.objects.filter(**{field: yesterday})) == found[0]


def test_the_order_of_a_set_in_a_query_leaves_the_digest() -> None:
    def found(*slugs: str) -> str:
        return declared(Article.objects.filter(code="z", slug__in=slugs, pk__gt=3))

    assert found("a", "b", "c") == found("c", "a", "b") != found("a", "b", "d")


def test_no_row_is_read_for_a_digest(articles: QuerySet[Article], using: str) -> None:
    source = source_of(articles, i18n=True, languages=["en", "de"])
    with queries(using, 0):
        assert source.declaration_digest
