"""Declaration digests change if anything but rows changes the bytes of pages, and only then."""

from __future__ import annotations

import importlib
import linecache
import os
import sys
from datetime import datetime, timedelta
from decimal import Decimal
from unittest import mock

import pytest
from django.conf.urls.i18n import i18n_patterns
from django.db import connections
from django.db.models import F, Q, Value
from django.db.models.functions import TruncDay
from django.test import override_settings
from django.urls import path
from django.utils import timezone as zones, translation

from django_sitemaps09 import GenericSitemap, ModelSitemap, PathTemplate, Route, Sitemap, StaticViewSitemap
from django_sitemaps09.rows import declaration_digests
from tests.models import Article, Event
from tests.support.internals import Base
from tests.support.processes import ended, started
from tests.support.sections import declare
from tests.support.sources import NOON, UTC, compiled, listing
from tests.urls import nothing

DECLARING = f"""
import django
django.setup()
from {__name__} import digest, sections

for section in sections():
    print(digest(section))
"""
ROWS = Article.objects.filter(Q(slug="a") | Q(updated__lt=NOON))


def digest(section, **options):
    return compiled(section, **options).declaration_digest


class Sourced(ModelSitemap[Article]):
    location, lastmod = Route("article", slug=F("slug")), F("updated")
    changefreq = "daily"


class Sets(Sourced):
    """A section with sets, which have no order of their own."""

    queryset = Article.objects.filter(slug__in={"a", "b", "c", "d", "e"}, published=True, pk__gt=3)
    languages = ("en", "de")


def sections():
    month_ago = zones.now().replace(microsecond=7) - timedelta(days=30)
    return [
        Sets, declare(Sourced, queryset=ROWS, priority=lambda self, item: 0.5),
        declare(Sourced, queryset=ROWS, lastmod=NOON, priority=Decimal("0.5")),
        GenericSitemap({"queryset": ROWS, "date_field": "updated"}, priority=0.6),
        listing(["a"], priority=0.6), declare(StaticViewSitemap, viewnames=("about", "home")),
        declare(Sitemap, get_urls=lambda self, **kwargs: []),
        declare(Sourced, queryset=Article.objects.filter(updated__lte=zones.now())),
        declare(Sourced, queryset=Article.objects.filter(updated__gte=month_ago)),
    ]  # fmt: skip


def test_a_declaration_has_one_digest_in_all_processes():
    expected = [digest(section) for section in sections()]
    assert (len({*expected}), {len(found) for found in expected}) == (len(expected), {64})
    # Another order of sets than in this process.
    seed = "2" if os.environ.get("PYTHONHASHSEED") == "1" else "1"
    environment = {**os.environ, "PYTHONHASHSEED": seed, "DJANGO_SETTINGS_MODULE": "tests.settings"}
    status, printed, _ = ended(started("-c", DECLARING, environ=environment))
    assert (status, printed.split()) == (0, expected)


def declared(rows=None, **attributes):
    rows = Article.objects.all() if rows is None else rows
    return digest(declare(Sourced, queryset=rows, **attributes))


def filtered(**conditions):
    return lambda: declared(Article.objects.filter(**conditions))


def template(text, **values):
    return lambda: declared(location=PathTemplate(text, **values))


def in_german(**arguments):
    routes = {"en": Route("article", slug=F("slug")), "de": Route("article", **arguments)}
    return declared(i18n=True, location=routes)


def of_event(key):
    return digest(declare(model=Event, key=key, location=Value("/x/")))


TWO = {"i18n": True, "languages": ["en", "de"]}
DECLARATIONS = {
    "another filter": filtered(published=True), "another parameter": filtered(slug="b"),
    "a parameter elsewhere": filtered(slug="a", code="b"),
    "parameters swapped": filtered(slug="b", code="a"), "no rows": lambda: declared(Article.objects.none()),
    "another expression": lambda: declared(lastmod=F("day")),
    "another constant": lambda: declared(changefreq="weekly"),
    "no constant": lambda: declared(changefreq=None),
    "a constant of another type": lambda: declared(priority=Decimal("1")),
    "the same constant": lambda: declared(priority=1),
    "another route": lambda: declared(location=Route("word", word=F("slug"))),
    "the same column in a constant's place": lambda: declared(location=Route("word", word="slug")),
    "another constant of a route": lambda: declared(location=Route("seat", row="a", number=F("pk"))),
    "the other constant of a route": lambda: declared(location=Route("seat", row="b", number=F("pk"))),
    "a template": template("/{a}/", a=F("slug")), "another template": template("/{a}", a=F("slug")),
    "another column of a template": template("/{a}/", a=F("code")),
    "a constant of a template": template("/{a}/{b}/", a=F("slug"), b="1"),
    "another constant of a template": template("/{a}/{b}/", a=F("slug"), b="2"),
    "columns of a template": template("/{a}/{b}/", a=F("slug"), b=F("code")),
    "columns of a template swapped": template("/{b}/{a}/", a=F("slug"), b=F("code")),
    "languages": lambda: declared(**TWO),
    "other languages": lambda: declared(i18n=True, languages=["de", "en"]),
    "alternates": lambda: declared(**TWO, alternates=True),
    "x-default": lambda: declared(**TWO, alternates=True, x_default=True),
    "a location for a language": lambda: in_german(slug=F("code")),
    "another location for a language": lambda: in_german(slug=F("slug")),
    "a constant location for a language": lambda: in_german(slug="all"),
    "a limit": lambda: declared(limit=7), "a protocol": lambda: declared(protocol="http"),
    "a key": lambda: of_event("at"), "another key": lambda: of_event("price"),
}  # fmt: skip


def test_whatever_decides_the_bytes_of_pages_changes_the_digest():
    found = {name: make() for name, make in DECLARATIONS.items()}
    assert found == {name: make() for name, make in DECLARATIONS.items()}
    assert len({declared(), *found.values()}) == len(found) + 1


SETTINGS = {
    "language": {"LANGUAGE_CODE": "de"}, "zone": {"TIME_ZONE": "Asia/Tokyo"}, "no zones": {"USE_TZ": False},
    "stylesheet": {"SITEMAPS09": {"STYLESHEET": True}},
    "pattern": {"ROOT_URLCONF": (path("pieces/<slug:slug>/", nothing, name="article"),)},
    "prefix": {"ROOT_URLCONF": (*i18n_patterns(path("articles/<slug:slug>/", nothing, name="article")),)},
    "converter": {"ROOT_URLCONF": (path("articles/<str:slug>/", nothing, name="article"),)},
}  # fmt: skip


@pytest.mark.parametrize("name", SETTINGS)
def test_settings_that_decide_the_bytes_change_the_digest(name):
    before = declared()
    with override_settings(**SETTINGS[name]):
        assert declared() != before
    assert declared() == before


def test_a_version_changes_the_digest_and_a_base_does_not():
    """What is published is of one base, or of several that come and go."""
    section = declare(Sourced, queryset=Article.objects.all())
    bases = [Base("https", domain) for domain in ("a.example", "b.example")]
    assert len(found := {digest(section, base=base) for base in bases}) == 1
    with mock.patch("django_sitemaps09.__version__", "999"):
        assert digest(section, base=bases[0]) not in found


SOURCE = """
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


def test_the_text_of_a_class_or_of_its_base_changes_the_digest(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    seen = []
    for number in (1, 1, 2):
        monkeypatch.delitem(sys.modules, "sourced_sitemaps", raising=False)
        (tmp_path / "sourced_sitemaps.py").write_text(SOURCE.replace("{}", str(number)))
        importlib.invalidate_caches()
        linecache.clearcache()
        made = importlib.import_module("sourced_sitemaps")
        seen.append([digest(getattr(made, name)) for name in ("Columns", "Positions", "Urls")])
    first, again, other = seen
    assert first == again
    assert not {*first} & {*other}


def test_the_time_of_a_query_what_is_active_and_the_order_of_a_set_leave_the_digest():
    now, day = datetime.now(UTC), TruncDay("updated")
    recent = [Article.objects.filter(updated__lte=now - timedelta(seconds=ago)) for ago in (0, 60)]
    (found,) = {declared(rows, lastmod=day) for rows in recent}
    with zones.override("Asia/Tokyo"), translation.override("de"):
        assert declared(recent[0], lastmod=day) == found
    assert declared(Article.objects.filter(updated__lte=NOON), lastmod=day) != found
    found = [filtered(code="z", slug__in=slugs, pk__gt=3)() for slugs in ("abc", "cab", "abd")]
    assert found[0] == found[1] != found[2]
    hosts = [f"h{n}.example" for n in range(20)]
    assert len({declared(hosts=order) for order in (hosts, hosts[::-1], {*hosts})}) == 1


@pytest.mark.parametrize("field", ["updated__lte", "updated__date__lte"])
def test_the_day_of_a_query_is_not_in_the_digest(monkeypatch, field):
    """A query of today's rows has the same digest tomorrow. Its fingerprint shows the rows that joined."""
    found = []
    for day in (21, 22):
        moment = datetime(2026, 11, day, 15, tzinfo=UTC)
        now = type("At", (datetime,), {"now": lambda *_, moment=moment: moment})
        monkeypatch.setattr(declaration_digests, "datetime", now)
        today = moment.replace(hour=0) if field == "updated__lte" else moment.date()
        found += [filtered(**{field: today - timedelta(days=days)})() for days in (0, 7)]
    assert (found[0], len({*found})) == (found[2], 3)
    # An export can continue after midnight with the query of its start.
    assert filtered(**{field: today - timedelta(days=1)})() == found[0]


def test_no_row_is_read_for_a_digest(shelf, using, django_assert_num_queries):
    source = compiled(declare(Sourced, queryset=shelf, **TWO))
    with django_assert_num_queries(0, connection=connections[using]):
        assert source.declaration_digest
