"""News: which articles are recent, and their elements."""

from __future__ import annotations

from datetime import date, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from django.contrib.sites.models import Site
from django.core.exceptions import ImproperlyConfigured
from django.db.models import F
from django.test import RequestFactory
from django.urls import resolve
from django.utils import timezone as django_timezone
from lxml import etree

from django_sitemaps09 import ModelSitemap, News, NewsSitemap, Route, views
from django_sitemaps09.conf import conf
from django_sitemaps09.entries import NAMESPACES
from django_sitemaps09.export import export, export_hosts
from django_sitemaps09.protocol import MAX_NEWS
from tests.models import Article, Dispatch
from tests.support import published as looked_at
from tests.support.factories import ArticleFactory
from tests.support.news import (
    DAY,
    HOUR,
    LOC,
    NOW,
    SECOND,
    TWO_DAYS,
    Clock,
    Fresh,
    exported,
    first,
    live,
    names,
    publish,
    slugs,
    write,
)

pytestmark = [pytest.mark.django_db, pytest.mark.slow, pytest.mark.sitemaps09(ENGINE="serial")]
NEWS = f"{{{NAMESPACES['news']}}}"


def news_by_slug(data: bytes) -> dict[str, dict[str, str] | None]:
    """Return the news elements of each URL; `None` for a URL without news."""
    found: dict[str, dict[str, str] | None] = {}
    for loc in etree.fromstring(data).iter(LOC):
        news = loc.getparent().find(f"{NEWS}news")
        slug = str(loc.text).rstrip("/").rpartition("/")[2]
        found[slug] = (
            None
            if news is None
            else {
                node.tag.removeprefix(NEWS): str(node.text)
                for node in news.iter()
                if isinstance(node.tag, str) and not len(node)
            }
        )
    return found


def listed(sitemap: Any) -> list[str]:
    """Return the articles on live page 1."""
    data = live(sitemap)
    return slugs(data) if data else []


class TestNewsOfTheLastTwoDays:
    def test_are_two_days_exactly_and_nothing_of_the_future(self, stopped_clock: Clock) -> None:
        publish(
            too_old=NOW - TWO_DAYS - SECOND,
            oldest=NOW - TWO_DAYS,
            now=NOW,
            future=NOW + SECOND,
            far=NOW + 9 * DAY,
            never=None,
        )
        assert listed(Fresh) == ["now", "oldest"]
        assert None not in news_by_slug(live(Fresh)).values()
        stopped_clock.time += SECOND
        assert listed(Fresh) == ["future", "now"]

    def test_are_two_days_exactly_in_each_database(self, stopped_clock: Clock, using: str) -> None:
        tick = timedelta(microseconds=1)
        rows = Article.objects.using(using)
        times = {"too-old": -TWO_DAYS - tick, "oldest": -TWO_DAYS, "now": 0 * DAY, "future": tick}
        rows.bulk_create(
            Article(slug=slug, updated=NOW + ago, day=(NOW + ago).date()) for slug, ago in times.items()
        )
        assert listed(type("There", (Fresh,), {"queryset": rows})) == ["now", "oldest"]
        dated = type("Dated", (Fresh,), {"queryset": rows, "date_field": "day"})
        assert listed(dated) == ["future", "now"]

    def test_are_the_newest_first_and_the_last_key_first_among_equals(self, stopped_clock: Clock) -> None:
        publish(b=NOW - HOUR, a=NOW, c=NOW - HOUR, d=NOW - 2 * HOUR)
        assert listed(Fresh) == ["a", "c", "b", "d"]

    @pytest.mark.parametrize("zone", ["Europe/Zurich", "Pacific/Auckland", "America/Los_Angeles", "UTC"])
    def test_are_two_days_exactly_if_times_are_naive(
        self, stopped_clock: Clock, settings: Any, zone: str
    ) -> None:
        settings.USE_TZ, settings.TIME_ZONE = False, zone
        now = stopped_clock.show()
        publish(too_old=now - TWO_DAYS - SECOND, oldest=now - TWO_DAYS, now=now, future=now + SECOND)
        assert listed(Fresh) == ["now", "oldest"]
        data = news_by_slug(live(Fresh))
        assert data["now"] is not None
        assert data["oldest"] is not None
        assert data["now"]["publication_date"] == "2026-09-10T12:00:00Z"

    @pytest.mark.parametrize("use_tz", [True, False])
    @pytest.mark.parametrize(
        ("hour", "today"), [(12, date(2026, 9, 10)), (21, date(2026, 9, 10)), (22, date(2026, 9, 11))]
    )
    def test_are_today_and_yesterday_if_these_are_dates_of_the_zone_of_the_site(
        self, stopped_clock: Clock, settings: Any, hour: int, today: date, use_tz: bool
    ) -> None:
        """A date counts as midnight, so the day before yesterday is more than two days ago."""
        settings.USE_TZ = use_tz
        stopped_clock.time = NOW.replace(hour=hour, minute=30)
        days = [today + days_ahead * DAY for days_ahead in (-2, -1, 0, 1)]
        for day in days:
            ArticleFactory(slug=f"d{day:%d}", day=day)
        sitemap = type("Dated", (Fresh,), {"date_field": "day"})
        assert listed(sitemap) == [f"d{day:%d}" for day in (days[2], days[1])]
        data = news_by_slug(live(sitemap))
        assert [said and said["publication_date"] for said in data.values()] == [
            days[2].isoformat(),
            days[1].isoformat(),
        ]

    @pytest.mark.parametrize("use_tz", [True, False])
    @pytest.mark.parametrize("ago", [47.5, 48.5])
    def test_are_48_hours_across_the_end_of_summer_time(
        self, stopped_clock: Clock, settings: Any, ago: float, use_tz: bool
    ) -> None:
        settings.USE_TZ = use_tz
        stopped_clock.time = datetime(2026, 10, 26, 11, tzinfo=timezone.utc)
        then = stopped_clock.time - timedelta(hours=ago)
        zone = django_timezone.get_default_timezone()
        publish(a=then if use_tz else then.astimezone(zone).replace(tzinfo=None))
        assert listed(Fresh) == ["a"] * (ago < 48)

    def test_are_those_of_a_zone_of_the_site_whatever_is_activated(self, stopped_clock: Clock) -> None:
        stopped_clock.time = NOW.replace(hour=22, minute=30)
        ArticleFactory(slug="a", day=date(2026, 9, 11))
        with django_timezone.override("America/Los_Angeles"):
            assert listed(type("Dated", (Fresh,), {"date_field": "day"})) == ["a"]

    @pytest.mark.parametrize("name", ["", "nothing", "slug", "category", "comments", "updated__year"])
    def test_need_the_name_of_a_date(self, name: str) -> None:
        sitemap = type("Bad", (Fresh,), {"date_field": name})
        with pytest.raises(ImproperlyConfigured, match=r"^Bad\.date_field is '"):
            sitemap().items()


class TestNewsElements:
    @pytest.mark.parametrize(
        ("site", "attributes", "said"),
        [
            ("en-us", {}, {}),
            ("de", {"publication_language": "zh_TW"}, {"language": "zh-tw"}),
            ("de", {"publication_language": ""}, {"language": "de"}),
            ("en", {"title": NewsSitemap.title}, {"title": "Article object (1)"}),
        ],
        ids=["required", "a language", "that of the site", "the text of the item"],
    )
    def test_has_all_tags_that_are_required(
        self, stopped_clock: Clock, settings: Any, site: str, attributes: Any, said: dict[str, str]
    ) -> None:
        settings.LANGUAGE_CODE = site
        ArticleFactory(pk=1, slug="a", updated=NOW - HOUR)
        required = {
            "name": "The Example Times",
            "language": "en",
            "publication_date": "2026-09-10T11:00:00Z",
            "title": "About a",
        }
        assert news_by_slug(live(type("Own", (Fresh,), attributes))) == {"a": required | said}

    @pytest.mark.parametrize(
        "attributes",
        [
            {"publication_name": ""},
            {"publication_language": "english"},
            {"publication_language": 7},
            {"title": lambda self, item: ""},
            {"title": lambda self, item: 1 // 0},
            {"news": lambda self, item: "news"},
            {"news": lambda self, item: [item]},
        ],
    )
    def test_is_skipped_and_reported_if_something_is_wrong_and_the_url_stays(
        self, stopped_clock: Clock, folder: Path, attributes: dict[str, Any]
    ) -> None:
        publish(a=NOW)
        sitemaps = {"news": type("Wrong", (Fresh,), attributes)}
        report = export(output=folder, sitemaps=sitemaps)
        assert news_by_slug(exported(folder, first(1)[0])) == {"a": None}
        assert [error.field for error in report.sections[0].errors] == ["news"]
        before = looked_at.states(folder)
        publish(b=NOW)
        report = export(output=folder, sitemaps=sitemaps, strict=True)
        assert not report.published
        assert looked_at.states(folder) == before

    def test_is_omitted_if_a_method_returns_none(self, stopped_clock: Clock, folder: Path) -> None:
        publish(a=NOW, b=NOW)

        class Chosen(Fresh):
            def news(self, item: Article) -> News | None:
                return super().news(item) if item.slug == "b" else None

        report = export(output=folder, sitemaps={"news": Chosen}, strict=True)
        found = news_by_slug(exported(folder, first(1)[0]))
        assert [slug for slug, said in found.items() if said] == ["b"]
        assert set(found) == {"a", "b"}
        assert report.sections[0].errors == ()

    @pytest.mark.parametrize("declared", [None, True, "news"])
    def test_is_nothing_if_news_is_not_a_method(self, stopped_clock: Clock, declared: Any) -> None:
        publish(a=NOW)
        assert news_by_slug(live(type("Switched", (Fresh,), {"news": declared}))) == {"a": None}


class TestNewsOfAnySitemap:
    class Articles(ModelSitemap[Article]):
        model = Article
        location = Route("article", slug=F("slug"))
        lastmod = F("updated")

        def news(self, item: Article) -> News | None:
            return News("Times", "en", item.updated or NOW, item.slug)

    def test_are_pages_like_any_other_when_they_are_older_and_no_error(
        self, stopped_clock: Clock, folder: Path
    ) -> None:
        publish(new=NOW - TWO_DAYS, old=NOW - TWO_DAYS - SECOND, oldest=NOW - 999 * DAY)
        report = export(output=folder, sitemaps={"news": self.Articles}, strict=True)
        assert report.published
        assert report.sections[0].errors == ()
        found = news_by_slug(exported(folder, first(1)[0]))
        assert {slug: said is not None for slug, said in found.items()} == {
            "new": True,
            "old": False,
            "oldest": False,
        }
        assert live(self.Articles) == exported(folder, first(1)[0])

    def test_are_measured_in_the_zone_of_the_site_if_their_time_has_none(
        self, stopped_clock: Clock
    ) -> None:
        class Naive(self.Articles):  # type: ignore[name-defined, misc]
            def news(self, item: Article) -> News:
                assert item.updated is not None
                return News("Times", "en", item.updated.astimezone(conf.zone).replace(tzinfo=None), "t")

        publish(new=NOW - TWO_DAYS, old=NOW - TWO_DAYS - SECOND)
        found = news_by_slug(live(Naive))
        assert found["old"] is None
        assert found["new"] is not None
        assert found["new"]["publication_date"] == "2026-09-08T12:00:00Z"

    def test_are_those_of_yesterday_if_their_time_is_a_date(self, stopped_clock: Clock) -> None:
        class Dated(self.Articles):  # type: ignore[name-defined, misc]
            def news(self, item: Article) -> News:
                assert item.updated is not None
                return News("Times", "en", item.updated.date(), "t")

        publish(today=NOW, yesterday=NOW - DAY, before=NOW - TWO_DAYS)
        found = news_by_slug(live(Dated))
        assert [slug for slug, said in found.items() if said] == ["today", "yesterday"]

    @pytest.mark.parametrize("limit", [1_001, 50_000])
    @pytest.mark.parametrize("base", ["news", "model", "list", "contrib", "paginator"])
    def test_are_at_most_a_thousand_in_a_file_whatever_the_limit(
        self, stopped_clock: Clock, folder: Path, base: str, limit: int
    ) -> None:
        write(1_100, NOW)
        own: dict[str, Any] = {"limit": limit}
        if base == "list":
            own["items"] = lambda self: list(Article.objects.all())
            own |= {"location": lambda self, item: item.get_absolute_url(), "lastmod": None}
        if base == "contrib":
            own["get_urls"] = lambda self, **asked: super(foreign, self).get_urls(**asked)  # type: ignore[misc]
        if base == "paginator":
            own["paginator"] = property(lambda self: super(foreign, self).paginator)  # type: ignore[misc]
        foreign: Any
        foreign = type("Foreign", (Fresh if base == "news" else self.Articles,), own)
        report = export(output=folder, sitemaps={"news": foreign})
        assert report.urls == 1_100
        sizes = [len(looked_at.urls(folder, name)) for name in names(folder)]
        assert sum(sizes) == 1_100
        assert max(sizes) <= MAX_NEWS

    @pytest.mark.parametrize("base", ["news", "model"])
    def test_are_at_most_a_thousand_in_a_live_page(self, stopped_clock: Clock, base: str) -> None:
        write(1_100, NOW)
        sitemap = type("Large", (Fresh if base == "news" else self.Articles,), {"limit": 50_000})
        index = views.sitemap_index(RequestFactory().get("/"), sitemaps={"news": sitemap}).content
        matches = [resolve(f"/{name.removesuffix('.gz')}") for name in slugs(index)]
        request, declared = RequestFactory().get("/"), {"news": sitemap}
        sizes = [
            len(slugs(match.func(request, **{**match.kwargs, "sitemaps": declared}).content))
            for match in matches
        ]
        assert sum(sizes) == 1_100
        assert max(sizes) <= MAX_NEWS
        if base == "news":
            # Rows are never added to a page, so it needs no room for more.
            assert sizes == [1_000, 100]

    def test_on_compat_views_are_as_recent_as_on_native_views(self, stopped_clock: Clock) -> None:
        publish(new=NOW - TWO_DAYS, old=NOW - TWO_DAYS - SECOND)
        response: Any = views.sitemap(RequestFactory().get("/"), {"news": self.Articles}, section="news")
        found = news_by_slug(response.render().content)
        assert [said is not None for said in found.values()] == [True, False]
        response = views.sitemap(RequestFactory().get("/"), {"news": Fresh}, section="news")
        assert slugs(response.render().content) == ["new"]


class TestNewsOfASite:
    class Dispatches(NewsSitemap[Dispatch]):
        model = Dispatch
        site_field = "site"
        date_field = "at"
        publication_name = "Times"

    @pytest.fixture(autouse=True)
    def _dispatches(self, stopped_clock: Clock) -> None:
        one = Site.objects.get_or_create(pk=1, defaults={"domain": "one.example", "name": "one"})[0]
        Site.objects.filter(pk=1).update(domain="one.example")
        two = Site.objects.create(domain="two.example", name="two")
        Site.objects.clear_cache()
        for number, site in enumerate((one, two, one, two, two), 1):
            Dispatch.objects.create(pk=number, site=site, at=NOW - number * HOUR)
        Dispatch.objects.create(pk=6, site=one, at=NOW - 3 * DAY)
        Dispatch.objects.create(pk=7, site=one, at=NOW + HOUR)

    def test_are_those_of_the_host_that_is_served(self, settings: Any) -> None:
        settings.SITEMAPS09 = {}
        found = {}
        for host in ("one.example", "two.example"):
            settings.SITEMAPS09 = {"BASE_URL": f"https://{host}"}
            found[host] = listed(self.Dispatches)
        assert found == {"one.example": ["1", "3"], "two.example": ["2", "4", "5"]}

    def test_are_those_of_each_host_that_is_exported(self, stopped_clock: Clock, folder: Path) -> None:
        hosts = ["https://one.example", "https://two.example"]
        for _ in range(2):
            reports = export_hosts(hosts, output=folder, sitemaps={"news": self.Dispatches})
            assert [report.failures for report in reports.values()] == [[], []]
            found = [slugs(exported(folder / host.removeprefix("https://"), first(1)[0])) for host in hosts]
            assert found == [["1", "3"], ["2", "4", "5"]]
