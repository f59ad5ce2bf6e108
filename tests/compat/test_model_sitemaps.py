"""`ModelSitemap`, `StaticViewSitemap` and `Route` on the compatibility views and by `get_urls()`."""

from __future__ import annotations

from datetime import date
from typing import Any

import pytest
from django.db import connection
from django.db.models import Case, Count, F, Value, When
from django.db.models.functions import Coalesce, Concat
from django.test import RequestFactory, override_settings
from django.test.utils import CaptureQueriesContext
from django.urls import reverse, set_script_prefix
from django.utils.translation import override

from django_sitemaps09 import (
    ModelSitemap,
    Route,
    StaticViewSitemap,
    views,
)
from tests.compat import projects
from tests.compat.cases.parts import EARLY
from tests.compat.data import UPDATED
from tests.compat.declared import KEYS, Host, Shop, ShopByMethods
from tests.models import Article
from tests.support.factories import CommentFactory

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("articles")]


class TestModelSitemap:
    """Sections with expressions as hooks."""

    def test_gives_the_dicts_that_methods_would_give(self) -> None:
        assert Shop().get_urls() == ShopByMethods().get_urls()
        assert [list(url) for url in Shop().get_urls()] == [KEYS] * 5

    def test_gives_instances_whose_fields_are_their_own(self) -> None:
        for url in Shop().get_urls():
            item = url["item"]
            assert type(item) is Article
            assert item.get_absolute_url() == f"/articles/{item.slug}/"
            assert url["lastmod"] == item.updated
            item.slug = "changed"
            item.save()
        assert Article.objects.filter(slug="changed").count() == 5

    def test_is_answered_by_the_views_as_methods_are(self) -> None:
        def answers(section: Any) -> Any:
            found = {"one": type("Paged", (section,), {"limit": 2})}
            made = [
                view(RequestFactory().get("/"), found).render() for view in (views.index, views.sitemap)
            ]
            return [(response.content, response.headers) for response in made]

        assert answers(Shop) == answers(ShopByMethods)
        assert [content.count(b"<loc>") for content, _ in answers(Shop)] == [3, 2]

    def test_is_read_under_a_template_of_the_project(self, settings: Any) -> None:
        settings.TEMPLATES = projects.templates(projects.PROJECT_TEMPLATES)
        made = views.sitemap(RequestFactory().get("/"), {"one": Shop}).render()
        assert "<news:title>gamma-ü</news:title>".encode() in made.content

    def test_queries_the_rows_of_a_page_once(self) -> None:
        with CaptureQueriesContext(connection) as queries:
            Shop().get_urls(site=Host())
        assert len(queries) == 2  # the paginator's count, and the rows

    def test_takes_an_expression_of_an_instance_with_the_rows(self) -> None:
        section = Shop()
        section.changefreq = Value("daily")
        with CaptureQueriesContext(connection) as queries:
            found = section.get_urls(site=Host())
        assert {url["changefreq"] for url in found} == {"daily"}
        assert len(queries) == 2

    def test_takes_methods_with_expressions(self) -> None:
        class Mixed(Shop):
            def priority(self, item: Article) -> float:
                return 0.5 if item.code == "c0" else 0.1

            def location(self, item: Article) -> str:
                return f"/mixed/{item.code}"

        found = Mixed().get_urls(site=Host())
        assert found[-1]["priority"] == "0.5"
        assert found[-1]["location"] == "https://shop.example.org/mixed/c0"
        assert found[-1]["lastmod"] == UPDATED["alpha"]

    def test_takes_expressions_of_every_kind(self) -> None:
        class Every(ModelSitemap[Article]):
            queryset = Article.objects.order_by("pk").annotate(shout=Concat("code", Value("!")))
            location = Route("article", category=Value("all"), slug=F("shout"))
            lastmod = Coalesce(F("updated"), Value(EARLY))
            changefreq = Case(When(code="c0", then=Value("daily")), default=Value("never"))
            priority = 0.5

        found = Every().get_urls(site=Host())
        assert found[0]["location"] == "https://shop.example.org/shop/all/c0!/"
        assert [url["changefreq"] for url in found] == ["daily", *["never"] * 4]
        assert [url["lastmod"] for url in found] == [*list(UPDATED.values())[:4], EARLY]
        assert {url["priority"] for url in found} == {"0.5"}

    def test_takes_aggregates(self, articles: list[Article]) -> None:
        CommentFactory(article=articles[1])
        CommentFactory(article=articles[1])

        class Counted(ModelSitemap[Article]):
            model = Article
            priority = Count("comments")

        assert [url["priority"] for url in Counted().get_urls()] == ["0", "2", "0", "0", "0"]

    def test_reads_the_newest_time_in_the_database(self) -> None:
        class Dated(Shop):
            queryset = Article.objects.filter(updated__isnull=False)

        with CaptureQueriesContext(connection) as queries:
            assert Dated().get_latest_lastmod() == UPDATED["gamma-ü"]
        assert len(queries) <= 2

    def test_has_no_newest_time_if_a_row_has_none_or_there_is_no_row(self) -> None:
        class Empty(Shop):
            queryset = Article.objects.none()

        assert Shop().get_latest_lastmod() is None
        assert Empty().get_latest_lastmod() is None

    def test_gives_dates_as_dates(self) -> None:
        class Days(ModelSitemap[Article]):
            queryset = Article.objects.filter(day__isnull=False)
            lastmod = F("day")

        assert [type(url["lastmod"]) for url in Days().get_urls()] == [date] * 4
        assert Days().get_latest_lastmod() == date(2025, 1, 4)

    def test_does_not_collide_with_annotations_of_the_project(self) -> None:
        class Annotated(Shop):
            queryset = Article.objects.filter(category__isnull=False).annotate(
                lastmod=Value("a"), location=Value("b"), priority=Value("c"), changefreq=Value("d")
            )

        found = Annotated().get_urls()
        assert [url["item"].location for url in found] == ["b"] * 5
        assert [url["lastmod"] for url in found] == list(UPDATED.values())

    def test_in_languages_gives_an_entry_for_each(self) -> None:
        class Localized(ModelSitemap[Article]):
            queryset = Article.objects.filter(code__in=["c0", "c1"])
            location = Route("localized-article", pk=F("pk"))
            lastmod = F("updated")
            i18n = True
            alternates = True
            x_default = True
            languages = ["en", "de"]

        class ByMethods(Localized):
            def location(self, item: Article) -> str:
                return reverse("localized-article", kwargs={"pk": item.pk})

            def lastmod(self, item: Article) -> Any:
                return item.updated

        found = Localized().get_urls()
        assert found == ByMethods().get_urls()
        assert [url["item"][1] for url in found] == ["en", "de", "en", "de"]
        assert [link["lang_code"] for link in found[0]["alternates"]] == ["en", "de", "x-default"]
        assert "/de/article/" in found[1]["location"]

    @pytest.mark.parametrize("language", ["en", "de"])
    def test_without_i18n_is_located_in_the_active_language_as_methods_are(self, language: str) -> None:
        class Active(ModelSitemap[Article]):
            model = Article
            location = Route("localized-article", pk=F("pk"))

        with override(language):
            for url in Active().get_urls(site=Host()):
                path = reverse("localized-article", kwargs={"pk": url["item"].pk})
                assert url["location"] == f"https://shop.example.org{path}"
                assert f"/{language}/" in path

    def test_is_located_under_the_script_prefix(self) -> None:
        set_script_prefix("/mounted/")
        try:
            found = Shop().get_urls(site=Host())
            assert found == ShopByMethods().get_urls(site=Host())
        finally:
            set_script_prefix("/")
        assert all("/mounted/shop/" in url["location"] for url in found)

    @override_settings(USE_TZ=False)
    def test_reads_naive_times_without_time_zones(self) -> None:
        assert Shop().get_urls() == ShopByMethods().get_urls()


class TestStaticViewSitemap:
    def test_gives_the_names_and_their_urls(self) -> None:
        class Pages(StaticViewSitemap):
            viewnames = ["home", "about"]
            changefreq = "daily"

        found = Pages().get_urls(site=Host(), protocol="http")
        assert [url["item"] for url in found] == ["home", "about"]
        assert [url["location"] for url in found] == [
            "http://shop.example.org/home/",
            "http://shop.example.org/about/",
        ]
        assert {url["changefreq"] for url in found} == {"daily"}

        assert StaticViewSitemap().get_urls(site=Host()) == []
