"""Random querysets, keys and lastmods, live and exported, compared with Django and plain Python.

`SITEMAPS09_FUZZ_CASES` is the number of cases on all databases together, `SITEMAPS09_FUZZ_SEED` what they
begin with. A failure names the case; `SITEMAPS09_FUZZ_CASE` runs that one alone.
"""

from __future__ import annotations

import os
import random
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any
from unittest import mock
from xml.etree import ElementTree
from zoneinfo import ZoneInfo

import pytest
from django.conf import settings as configured
from django.core.cache import cache
from django.core.exceptions import ImproperlyConfigured
from django.db import transaction
from django.db.models import DateTimeField, QuerySet, Value
from django.db.models.functions import Cast, Concat
from django.test import RequestFactory, override_settings
from django.urls import reverse

from django_sitemaps09 import ModelSitemap, Route, checks, sources, views
from django_sitemaps09.export import export
from django_sitemaps09.hooks.values import lastmod_text
from django_sitemaps09.protocol import Base, Limits
from django_sitemaps09.queryset_traits import filters_window
from django_sitemaps09.sources import QuerySource, positions
from django_sitemaps09.sources.rows import members, slices
from django_sitemaps09.views import compat
from tests.invariants.fuzz.facts import KINDS, UTC, Fact, facts, write
from tests.invariants.fuzz.lastmods import Lastmod, of_kind
from tests.invariants.fuzz.querysets import Made, queryset
from tests.support.databases import ALIASES, parameter, require
from tests.support.published import SPACE, pages, plain, quick_folder

# Django warns in the compatibility views, as with contrib. The content of pages is asserted.
pytestmark = pytest.mark.filterwarnings("ignore::django.core.paginator.UnorderedObjectListWarning")

BASE = Base("https", "www.example.com")
LIMITS = Limits(50_000, 10_485_760)
SEED = os.environ.get("SITEMAPS09_FUZZ_SEED", "1")
# A run with only SQLite, for example of a new contributor, uses fewer cases.
CASES = int(os.environ.get("SITEMAPS09_FUZZ_CASES") or (300 if len(configured.DATABASES) == 3 else 60))
ONE = os.environ.get("SITEMAPS09_FUZZ_CASE")
#: Number of cases in one test. They share their rows.
PART = 25

#: Strings that must be quoted or escaped.
ODD = ["", "", " ", "%", "é", "&<", "'\"", "?#", "%2F", "\u200d\U0001f409"]
#: The text of each lastmod by the URL; the pages and their lastmods in the index, in order.
Entries = list[tuple[str, str | None]]
Pages = list[tuple[str | None, Entries]]


@dataclass
class Case:
    """A declaration, and the facts about its rows."""

    name: str
    kind: str
    made: Made
    lastmod_name: str
    lastmod: Lastmod
    methods: bool
    key: str
    limit: int
    facts: Mapping[str, Fact]
    exported: bool
    #: The end of a location after the slug.
    odd: str

    def __str__(self) -> str:
        hooks = "methods" if self.methods else "columns"
        return (
            f"SITEMAPS09_FUZZ_CASE={self.name}: {self.kind}, key={self.key}, limit={self.limit}, "
            f"{hooks}, lastmod={self.lastmod_name}, odd={self.odd!r}\n{self.made.text}"
        )

    @property
    def section(self) -> type[ModelSitemap[Any]]:
        fields, lastmod = self.made.fields, self.lastmod
        attributes: dict[str, Any] = {"queryset": self.made.rows, "limit": self.limit, "key": self.key}
        if self.methods or fields:
            attributes["location"] = lambda _, item: self.url(slug_of(item, fields))
            attributes["lastmod"] = lambda _, item: aware(lastmod.value(self.facts[slug_of(item, fields)]))
        else:
            attributes["location"] = Route("word", word=Concat("slug", Value(self.odd)))
            attributes["lastmod"] = lastmod.expression(self.kind)
        return type("Fuzzed", (ModelSitemap,), attributes)

    def url(self, slug: str) -> str:
        return reverse("word", args=[f"{slug}{self.odd}"])


def slug_of(item: Any, fields: str) -> str:
    if fields in ("values", "groups"):
        return str(item["slug" if fields == "values" else "last"])
    return str(item[0] if fields else item.slug)


def aware(value: date | None) -> date | None:
    """Return a time as Django returns it."""
    if isinstance(value, datetime) and configured.USE_TZ:
        return value.replace(tzinfo=UTC)
    return value


def text(value: date | None) -> str | None:
    """Return a time as written in a sitemap, regardless of the zone of the value."""
    if not isinstance(value, datetime):
        return value and value.isoformat()
    if value.tzinfo is None:
        value = value.replace(tzinfo=UTC if configured.USE_TZ else ZoneInfo(configured.TIME_ZONE))
    return value.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def case_of(name: str, using: str, known: Mapping[str, Mapping[str, Fact]]) -> Case | None:
    """`None` where Django does not admit what came by chance, or its database cannot read it."""
    rng = random.Random(name)  # noqa: S311 what is random here is no secret
    kind = rng.choice([*KINDS])
    lastmods = of_kind(kind)
    lastmod = rng.choice([*lastmods])
    try:
        made = queryset(rng, kind, using)
        with transaction.atomic(using):
            list(made.rows.all())
    except Exception:  # noqa: BLE001 Django has many ways to refuse what came by chance
        return None
    query = made.rows.query
    if using == "mariadb" and query.group_by is not None and filters_window(query):
        # MariaDB returns different rows for `SELECT id` than for all columns.
        return None
    return Case(
        name,
        kind,
        made,
        lastmod,
        lastmods[lastmod],
        methods=rng.random() < 0.4,
        key=rng.choice(["pk", "pk", "pk", "number", "serial"]),
        limit=rng.choice([3, 5, 8, 20]),
        facts=known[kind],
        exported=rng.random() < 0.35,
        odd=rng.choice(ODD),
    )


def live(section: Any) -> Pages:
    cache.clear()
    request, declared = RequestFactory().get("/sitemap.xml"), {"fuzzed": section}
    index = ElementTree.fromstring(views.sitemap_index(request, sitemaps=declared).content)  # noqa: S314
    found = []
    for entry in index:
        number = str(entry.findtext(f"{SPACE}loc")).rpartition("-")[2].partition(".")[0]
        document = views.page(request, section="fuzzed", page=number, sitemaps=declared).content
        found.append((entry.findtext(f"{SPACE}lastmod"), entries(document)))
    return found


def exported(section: Any) -> Pages:
    declared: Any = {"fuzzed": section}
    with quick_folder() as folder:
        report = export(sitemaps=declared, output=folder)
        assert report.published or not report.sections[0].urls
        assert [*report.sections[0].errors] == []
        if not (folder / "sitemap.xml").exists():
            return []
        index = ElementTree.fromstring((folder / "sitemap.xml").read_bytes())  # noqa: S314
        lastmods = [entry.findtext(f"{SPACE}lastmod") for entry in index]
        documents = [plain((folder / name).read_bytes(), compressed=False) for name in pages(folder)]
        assert not export(sitemaps=declared, output=folder, changed_only=True).written
        return list(zip(lastmods, map(entries, documents), strict=True))


def compatible(section: Any) -> tuple[str | None, Entries]:
    """Return the page of the compatibility views, and the lastmod in their index."""
    whole = type("Whole", (section,), {"limit": 1_000})
    response = compat.sitemap(RequestFactory().get("/"), {"fuzzed": whole})
    return lastmod_text(whole().get_latest_lastmod()), entries(response.render().content)


def entries(document: bytes) -> Entries:
    root = ElementTree.fromstring(document)  # noqa: S314 our own output
    return [(str(e.findtext(f"{SPACE}loc")), e.findtext(f"{SPACE}lastmod")) for e in root]


def expected_lastmods(case: Case) -> Mapping[str, str | None] | None:
    """By the slug, in plain Python. Of aggregates, which see what a queryset joins, as Django has them."""
    if not case.lastmod.many or case.methods or case.made.fields:
        return {slug: text(case.lastmod.value(fact)) for slug, fact in case.facts.items()}
    rows: QuerySet[Any] = case.made.rows
    query = rows.query
    if query.combinator or query.is_sliced or query.distinct_fields or filters_window(query):
        # These are queried separately, for the row itself.
        return {slug: text(case.lastmod.value(fact)) for slug, fact in case.facts.items()}
    # MariaDB returns a string for an expression that contains a Value.
    expression = Cast(case.lastmod.expression(case.kind), DateTimeField())
    annotated = rows.annotate(expected=expression)
    found = [(row.slug, text(row.expected)) for row in annotated]
    return dict(found) if len({*found}) == len({slug for slug, _ in found}) else None


def check(case: Case, using: str) -> str:
    """Return the outcome of a case. Raise `AssertionError` if a page has different rows or dates."""
    listed = Counter(slug_of(item, case.made.fields) for item in case.made.rows.all())
    section = case.section
    errors = [str(found.id)[-4:] for found in checks.check_declarations([section]) if found.level >= 40]
    try:
        source = sources.source("fuzzed", section, BASE, LIMITS)
    except ImproperlyConfigured as error:
        if not errors:
            raise
        return f"{errors[0]}: {error}"
    assert not errors, f"{errors} are no errors"
    if isinstance(source, QuerySource):
        listed = Counter([*listed])
    slugs = {f"{BASE}{case.url(slug)}": slug for slug in listed}
    wanted = Counter({url: listed[slug] for url, slug in slugs.items()})
    dates = expected_lastmods(case)
    for found in [live(section), *([exported(section)] if case.exported else [])]:
        assert Counter(url for _, page in found for url, _ in page) == wanted
        for newest, page in found:
            lastmods = [lastmod for _, lastmod in page]
            if dates is not None:
                assert lastmods == [dates[slugs[url]] for url, _ in page]
            assert 0 < len(page) <= case.limit
            if isinstance(source, QuerySource) and not case.methods:
                assert newest == (None if None in lastmods else max(filter(None, lastmods)))
    if case.exported:
        newest, page = compatible(section)
        assert {url for url, _ in page} == {*wanted}
        assert dates is None or [lastmod for _, lastmod in page] == [dates[slugs[url]] for url, _ in page]
        if page and not case.made.fields:
            lastmods = [lastmod for _, lastmod in page]
            assert newest == (None if None in lastmods else max(map(str, lastmods), default=None))
    return type(source).__name__


@contextmanager
def settings_of(use_tz: bool) -> Iterator[None]:
    options = {"BASE_URL": str(BASE), "GZIP": False, "ENGINE": "serial"}
    with override_settings(USE_TZ=use_tz, SITEMAPS09=options):
        yield


def parts() -> Iterator[Any]:
    """Return the cases of each test, for each database, with and without time zones."""
    each = -(-CASES // (2 * len(configured.DATABASES)))
    count = -(-each // PART)
    for alias in ALIASES:
        for use_tz in (True, False):
            for part in range(count):
                size = min(PART, each - part * PART)
                mark = parameter(alias)
                name = f"{mark.id}-{'aware' if use_tz else 'naive'}-{part}"
                yield pytest.param(alias, use_tz, part, size, marks=mark.marks, id=name)


@pytest.mark.parametrize(("using", "use_tz", "part", "size"), list(parts()))
def test_pages_have_the_rows_of_any_queryset_and_their_dates(
    using: str, use_tz: bool, part: int, size: int, record_property: Any
) -> None:
    require(using)
    outcomes: Counter[str] = Counter()
    failures: list[str] = []
    with settings_of(use_tz):
        seed = f"{SEED}:{using}:{use_tz}:{part}"
        known = {}
        for kind in KINDS:
            rows = facts(kind, seed)
            write(kind, rows, using)
            known[kind] = {fact.slug: fact for fact in rows}
        for number in range(size):
            name = f"{seed}:{number}"
            if ONE in (None, name):
                try:
                    outcomes[outcome(name, using, known)] += 1
                except AssertionError as error:
                    if ONE:
                        raise
                    failures.append(str(error))
    for found, times in outcomes.items():
        record_property(found, times)
    assert not failures, "\n\n".join(["", *failures])
    assert ONE or outcomes["QuerySource"] >= size // 4


def outcome(name: str, using: str, known: Mapping[str, Mapping[str, Fact]]) -> str:
    case = case_of(name, using, known)
    if case is None:
        return "Django"
    small = len(name) % 2 == 0
    try:
        with transaction.atomic(using), sliced(small):
            return check(case, using)
    except Exception as error:
        raise AssertionError(f"{case}\n{type(error).__name__}: {error}") from error


@contextmanager
def sliced(small: bool) -> Iterator[None]:
    """Read slices that end within a page."""
    size = 4 if small else 1_500
    with (
        mock.patch.object(slices, "SLICE", size),
        mock.patch.object(slices, "SERVER_SLICE", size),
        mock.patch.object(slices, "COSTLY_SLICE", size),
        mock.patch.object(members, "FEWEST", size),
        mock.patch.object(positions, "SLICE", size),
    ):
        yield
