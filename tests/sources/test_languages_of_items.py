"""Languages of each item: pages, costs, and the same bytes by columns and by methods."""

from __future__ import annotations

import gc
import re
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from django.db import connections
from django.db.models import F
from django.test import RequestFactory, override_settings
from django.test.utils import CaptureQueriesContext
from django.utils.translation import get_language
from hypothesis import example, given, strategies as st

from django_sitemaps09 import Route, Sitemap, sources, views
from django_sitemaps09.export import export
from django_sitemaps09.pages import Page
from django_sitemaps09.protocol import Limits
from django_sitemaps09.routing import routes
from django_sitemaps09.sources import slices
from django_sitemaps09.sources.positions import PositionSource
from django_sitemaps09.sources.queryset import QuerySource
from tests.models import Article
from tests.support.languages import (
    PREFIXED,
    SEVERAL,
    TEN,
    articles_in,
    by_route,
    complaints,
    page_of,
    slices_of,
    urlconf,
)
from tests.support.memory import traced
from tests.support.sources import (
    BASE,
    LIMITS,
    alternates,
    compiled,
    cut,
    declaration,
    errors,
    in_language,
    listing,
    locations,
    page_map,
    rendered,
    spoken,
)

BY_TEN = {"i18n": True, "alternates": True, "x_default": True, "languages": TEN}


class TestLanguagesOfEachItem:
    @given(st.lists(st.lists(st.sampled_from(TEN), unique=True, max_size=4), max_size=8), st.integers(1, 8))
    def test_are_those_that_a_list_says(self, languages: list[list[str]], size: int) -> None:
        section = spoken(
            range(len(languages)),
            alternates=True,
            get_languages_for_item=lambda self, item: languages[item],
        )
        with mock.patch.object(slices, "SLICE", size):
            done = rendered(compiled(section))
        expected = {f"{BASE}/{code}/{item}/" for item, codes in enumerate(languages) for code in codes}
        assert len(locations(done)) == len(expected)
        assert {*locations(done)} == expected
        assert errors(done) == []
        for part in done:
            for location, links in zip(part.locations, alternates(part.text), strict=True):
                item = int(location.split("/")[-2])
                assert {url for _, url in links} == {f"{BASE}/{code}/{item}/" for code in languages[item]}

    @pytest.mark.parametrize("bad", [None, 7, ["de", None], ["a b"], [""], ["<>"]])
    def test_that_are_invalid_skip_and_report_the_item(self, bad: Any) -> None:
        section = spoken("abc", get_languages_for_item=lambda self, item: bad if item == "b" else ["de"])
        assert page_of(section).locations == [f"{BASE}/de/a/", f"{BASE}/de/c/"]
        assert [error[:2] for error in complaints(section)] == [("2", "languages")]

    @pytest.mark.parametrize("kind", [set, iter])
    def test_can_be_any_iterable(self, kind: Any) -> None:
        section = spoken("a", get_languages_for_item=lambda self, item: kind(["de", "en"]))
        assert page_of(section).locations == [f"{BASE}/en/a/", f"{BASE}/de/a/"]

    def test_can_be_set_on_an_instance(self) -> None:
        sitemap: Any = spoken("a")()
        sitemap.get_languages_for_item = lambda item: ["de"]
        assert page_of(sitemap).locations == [f"{BASE}/de/a/"]


# Pages.


class TestPages:
    @pytest.mark.parametrize("limit", [1, 3, 7, 30])
    @pytest.mark.parametrize("kind", ["queryset", "list", "union"])
    @pytest.mark.django_db
    @override_settings(ROOT_URLCONF=PREFIXED)
    def test_count_entries_and_part_no_item(self, kind: str, limit: int) -> None:
        rows = articles_in("default", 10)
        items = {
            "queryset": lambda: rows,
            "list": lambda: list(rows),
            "union": lambda: rows.filter(pk__lt=5).order_by().union(rows.order_by(), all=False),
        }[kind]
        section = type(
            "Paged",
            (Sitemap,),
            {"items": lambda self: items(), "i18n": True, "location": by_route, "limit": limit},
        )
        source = compiled(section)
        assert isinstance(source, QuerySource if kind == "queryset" else PositionSource)
        done = rendered(source)
        assert sorted(locations(done)) == sorted(
            f"{BASE}/{code}/articles/{row.slug}/" for row in rows for code in ("en", "de", "pt-br")
        )
        assert {part.written.urls for part in done[:-1]} <= {max(1, limit // 3) * 3}
        holders = [{url.split("/")[-2] for url in part.locations} for part in done]
        assert sum(map(len, holders)) == len(rows)

    @pytest.mark.parametrize(
        "limits", [Limits(7, LIMITS.bytes), Limits(50_000, 4_000)], ids=["urls", "bytes"]
    )
    @given(st.lists(st.lists(st.sampled_from(TEN[:5]), unique=True, max_size=5), max_size=20))
    @example([TEN[: n % 4] for n in range(20)])
    def test_keep_the_languages_of_each_item_together(
        self, limits: Limits, languages: list[list[str]]
    ) -> None:
        section = spoken(
            range(len(languages)),
            alternates=True,
            languages=TEN[:5],
            get_languages_for_item=lambda self, item: languages[item],
        )
        # As if every item had only one language.
        source = compiled(section, limits)
        done = rendered(source, limits, cut(source, 7))
        expected = {f"{BASE}/{code}/{item}/" for item, codes in enumerate(languages) for code in codes}
        assert sorted(locations(done)) == sorted(expected)
        assert all(part.written.urls <= limits.urls and part.written.bytes <= limits.bytes for part in done)
        holders = [{url.split("/")[-2] for url in part.locations} for part in done]
        assert sum(map(len, holders)) == len(set().union(*holders))

    def test_hold_no_item_with_more_languages_than_the_limit_and_than_the_class(self) -> None:
        """Such an item is never divided, and is reported."""
        section = spoken("a", limit=2, get_languages_for_item=lambda self, item: TEN)
        done = rendered(compiled(section))
        assert locations(done) == []
        assert errors(done) == [("1", "location", "its entries alone exceed the limits of a page")]


class TestPagesOfItemsWithFewLanguages:
    """The size of pages depends on the languages that items have, not on all declared languages."""

    def test_are_cut_for_the_languages_that_the_first_items_have(self) -> None:
        used = {"few": TEN[:1], "two": TEN[:2], "all": TEN}
        rows = {}
        for name, codes in used.items():
            section = spoken(
                range(300),
                languages=TEN,
                limit=100,
                get_languages_for_item=lambda self, item, codes=codes: codes,
            )
            rows[name] = sources.rows_on_page(compiled(section), LIMITS)
        assert rows == {"few": 95, "two": 48, "all": 10}

    def test_hold_no_more_entries_than_the_limit_if_later_items_have_all(self) -> None:
        section = spoken(
            range(600),
            languages=TEN,
            limit=100,
            get_languages_for_item=lambda self, item: TEN[:1] if item < 300 else TEN,
        )
        source = compiled(section)
        done = rendered(source, LIMITS, cut(source, sources.rows_on_page(source, LIMITS)))
        assert len(set(locations(done))) == len(locations(done)) == 300 + 3_000
        assert all(part.written.urls <= 100 for part in done)

    @pytest.mark.django_db
    def test_are_live_what_they_are_in_the_export(self, settings: Any, tmp_path: Path) -> None:
        settings.SITEMAPS09 = {"ROOT": tmp_path, "BASE_URL": "https://www.example.com"}
        Article.objects.bulk_create(Article(slug=f"s{i}") for i in range(200))
        languages = lambda self, item: TEN[:1]  # noqa: E731
        section = declaration(
            model=Article, i18n=True, languages=TEN, limit=100, get_languages_for_item=languages
        )
        [exported] = export(sitemaps={"few": section}).sections
        assert [file.urls for file in exported.files] == [95, 95, 10]
        response = views.sitemap_index(RequestFactory().get("/sitemap.xml"), {"few": section})
        *names, last = re.findall(r"sitemap-few[^<]+", response.content.decode())
        assert names == [file.name for file in exported.files][:2]
        assert last.startswith("sitemap-few.after.")


@pytest.mark.usefixtures("cached_site")
class TestALanguage:
    def test_without_a_url_is_neither_listed_nor_named_by_the_others(self) -> None:
        def location(self: Any, item: str) -> str:
            if item == "b" and get_language() == "de":
                raise LookupError("not translated")
            return in_language(self, item)

        (done,) = rendered(compiled(listing("abc", i18n=True, alternates=True, location=location)))
        assert f"{BASE}/de/b/" not in done.text
        assert [len(links) for links in alternates(done.text)] == [3, 3, 3, 2, 2, 3, 3, 3]
        assert errors([done]) == [("2", "location", "LookupError: not translated")]


# Costs


def counted(section: Any) -> Iterator[int]:
    """Read all entries of a section without keeping them; yield how many each batch has."""
    return (sum(batch.counts()) for batch in compiled(section).batches(Page(1, None, None)))


def read(section: Any) -> int:
    return sum(counted(section))


class TestTheCosts:
    @pytest.mark.django_db
    @override_settings(ROOT_URLCONF=PREFIXED)
    def test_no_list_of_items_by_languages_is_made(self) -> None:
        """Twice as many items take no more memory."""
        articles_in("default", 8_000)
        first = Article.objects.order_by("pk")[0].pk
        peaks = []
        for count in (4_000, 8_000):
            section = declaration(
                queryset=Article.objects.filter(pk__lt=first + count),
                location=Route("article", slug=F("slug")),
                **BY_TEN,
            )
            read(section)
            gc.collect()
            with traced() as memory:
                rows = 0
                for counts in counted(section):
                    rows += counts
                    # On Python 3.10, the exceptions that asgiref catches while a route is reversed keep
                    # their frames until the next garbage collection.
                    gc.collect(1)
            assert rows == count * 10
            peaks.append(memory.peak)
        assert peaks[1] < peaks[0] * 1.2

    @pytest.mark.django_db
    @override_settings(ROOT_URLCONF=PREFIXED)
    def test_no_more_instances_live_than_those_of_a_slice(self) -> None:
        articles_in("default", 3 * slices.INSTANCES)
        alive: weakref.WeakSet[Article] = weakref.WeakSet()
        most = 0

        def location(self: Any, item: Article) -> str:
            nonlocal most
            alive.add(item)
            if len(alive) > 2 * slices.INSTANCES:
                # On Python 3.10, an exception inside reverse() keeps frames until the next garbage
                # collection.
                gc.collect()
            most = max(most, len(alive))
            return by_route(self, item)

        assert read(declaration(model=Article, location=location, **BY_TEN)) == 30 * slices.INSTANCES
        assert 0 < most <= 2 * slices.INSTANCES

    @pytest.mark.parametrize("columns", [True, False], ids=["columns", "methods"])
    @override_settings(ROOT_URLCONF=PREFIXED)
    def test_queries_are_as_many_in_ten_languages_as_in_one(
        self, using: str, monkeypatch: pytest.MonkeyPatch, columns: bool
    ) -> None:
        """There is one query for each slice, but slices are smaller if there are many rows."""
        rows = articles_in(using, 250)
        slices_of(monkeypatch, 100)
        counts = []
        for languages in (["en"], TEN):
            location = Route("article", slug=F("slug")) if columns else by_route
            section = declaration(queryset=rows, location=location, **BY_TEN | {"languages": languages})
            with CaptureQueriesContext(connections[using]) as asked:
                assert read(section) == 250 * len(languages)
            counts.append(len([query for query in asked if "tests_article" in query["sql"]]))
        assert counts == [3, 3]

    @pytest.mark.django_db
    def test_a_route_is_compiled_once_a_language(self, monkeypatch: pytest.MonkeyPatch) -> None:
        articles_in("default", 300)
        slices_of(monkeypatch, 10)
        section = declaration(model=Article, location=Route("article", slug=F("slug")), **BY_TEN)
        with (
            override_settings(ROOT_URLCONF=urlconf(prefixed=True)),
            mock.patch.object(routes, "candidates", wraps=routes.candidates) as compiling,
        ):
            assert read(section) == 3_000
            assert compiling.call_count == len(TEN)

    @pytest.mark.django_db
    @override_settings(ROOT_URLCONF=PREFIXED)
    def test_slices_of_many_languages_are_smaller(self) -> None:
        articles_in("default", 600)
        section = declaration(model=Article, location=Route("article", slug=F("slug")), **BY_TEN)
        source = compiled(section)
        sizes = [len(batch.keys) for batch in source.batches(Page(1, None, None))]
        assert sizes == [480, 120]


# Ways to declare languages


@pytest.mark.parametrize("size", [1, 2, 3])
@pytest.mark.parametrize("limit", [1, 9, 50_000])
@pytest.mark.parametrize(
    "attributes",
    [
        {},
        {"alternates": True},
        {"alternates": True, "x_default": True},
        {"alternates": True, "x_default": lambda self, item: item.slug != "s3" or "/start/"},
        {"alternates": lambda self, item: [("ja", f"https://ja.example/{item.slug}")]},
        {"alternates": lambda self, item: [("de", "/")] if item.pk % 3 else [("ja", "https://a.example/")]},
        {"languages": ["ca-valencia", "de"], "alternates": True},
        {"alternates": True, "get_languages_for_item": lambda self, item: SEVERAL[int(item.slug[1:]) % 7]},
    ],
    ids=[
        *("languages", "links", "x-default", "x-default of a method", "links of a method"),
        *("invalid links", "a language without hreflang", "languages of each item"),
    ],
)
@override_settings(ROOT_URLCONF=PREFIXED)
@pytest.mark.django_db
def test_columns_and_methods_give_the_same_bytes_in_slices_of_any_size(
    monkeypatch: pytest.MonkeyPatch, attributes: dict[str, Any], limit: int, size: int
) -> None:
    rows = articles_in("default", 8)
    columns = {"location": Route("article", slug=F("slug")), "priority": F("weight")}
    methods = {"location": by_route, "priority": lambda self, item: item.weight}

    def section(hooks: dict[str, Any]) -> Any:
        return compiled(declaration(queryset=rows, i18n=True, limit=limit, **attributes, **hooks))

    # The sample that determines the size of pages is a slice, too.
    found = page_map(section(methods))
    whole = rendered(section(methods), found=found)
    slices_of(monkeypatch, size)
    for hooks in (columns, methods):
        done = rendered(section(hooks), found=found)
        assert [part.text for part in done] == [part.text for part in whole]
        assert {*errors(done)} == {*errors(whole)}
