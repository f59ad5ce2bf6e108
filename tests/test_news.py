"""News: what is recent, what is said of it, and files that are updated and not multiplied."""

from __future__ import annotations

import gzip
from collections.abc import Callable, Sequence
from datetime import date, datetime, timedelta, timezone
from itertools import count
from math import ceil
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings as configuration
from django.contrib.sites.models import Site
from django.core.cache import cache
from django.core.exceptions import ImproperlyConfigured
from django.db.models import F
from django.http import Http404
from django.test import Client, RequestFactory
from django.utils import timezone as django_timezone
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from lxml import etree

from django_sitemaps09 import ModelSitemap, News, NewsSitemap, Route, sections, views
from django_sitemaps09.conf import conf
from django_sitemaps09.entries import NAMESPACES
from django_sitemaps09.export import Report, export, export_hosts
from django_sitemaps09.export import api as exports
from django_sitemaps09.export.publishing.journal import JOURNAL
from django_sitemaps09.pages import fill
from django_sitemaps09.protocol import MAX_NEWS
from django_sitemaps09.sources.columns import extensions
from django_sitemaps09.stores import STATE
from django_sitemaps09.stores.local import LocalStore
from tests.models import Article, Dispatch, Word
from tests.support import published as looked_at

pytestmark = [pytest.mark.django_db, pytest.mark.slow, pytest.mark.sitemaps09(ENGINE="serial")]

BASE = "https://www.example.com"
NOW = datetime(2026, 9, 10, 12, tzinfo=timezone.utc)
HOUR, DAY, SECOND = timedelta(hours=1), timedelta(days=1), timedelta(seconds=1)
TWO_DAYS = 2 * DAY
LOC = "{http://www.sitemaps.org/schemas/sitemap/0.9}loc"
NEWS = f"{{{NAMESPACES['news']}}}"


class Fresh(NewsSitemap[Article]):
    """The headlines of articles are their slugs."""

    model = Article
    location = Route("article", slug=F("slug"))
    date_field = "updated"
    publication_name = "The Example Times"

    def title(self, item: Article) -> str:
        return f"About {item.slug}"


class Small(Fresh):
    limit = 10


class Words(ModelSitemap[Word]):
    """A section of ranges of a key."""

    model = Word
    location = Route("word", word=F("word"))
    limit = 10


class Clock:
    """What every clock in this package shows."""

    def __init__(self) -> None:
        self.time = NOW

    def show(self) -> datetime:
        """As `django.utils.timezone.now()` has it, by the setting."""
        if configuration.USE_TZ:
            return self.time
        return self.time.astimezone(django_timezone.get_default_timezone()).replace(tzinfo=None)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    found = Clock()

    class OfAnyDatetime(type):
        def __instancecheck__(cls, value: object) -> bool:
            return isinstance(value, datetime)

    class Stopped(datetime, metaclass=OfAnyDatetime):
        @classmethod
        def now(cls, tz: Any = None) -> datetime:  # type: ignore[override]
            return found.time.astimezone(tz)

    monkeypatch.setattr(django_timezone, "now", found.show)
    monkeypatch.setattr(extensions, "datetime", Stopped)
    monkeypatch.setattr(exports, "datetime", Stopped)
    return found


@pytest.fixture
def declared(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Registers sections, and no others."""

    def register(**sitemaps: Any) -> None:
        monkeypatch.setattr(sections, "_registered", sitemaps)
        monkeypatch.setattr(sections, "_discovered", True)

    return register


_numbers = count(1)


def write(amount: int, newest: datetime, step: timedelta = timedelta(0)) -> None:
    """So many articles, the first one published at `newest`, each other one `step` before the last."""
    Article.objects.bulk_create(
        Article(slug=f"n{next(_numbers)}", updated=newest - place * step) for place in range(amount)
    )


def publish(**times: Any) -> None:
    """An article for each name, published then."""
    Article.objects.bulk_create(Article(slug=slug, updated=time) for slug, time in times.items())


def slugs(data: bytes) -> list[str]:
    """The last parts of the URLs in a document, in its order."""
    return [str(loc.text).rstrip("/").rpartition("/")[2] for loc in etree.fromstring(data).iter(LOC)]


def told(data: bytes) -> dict[str, dict[str, str] | None]:
    """What a document says of each URL as news, `None` where it says nothing."""
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


def live(sitemap: Any, page: int = 1) -> bytes:
    """A page of the section `news`; nothing where there is none."""
    cache.clear()
    request = RequestFactory().get("/")
    try:
        found = views.page(request, section="news", page=str(page), sitemaps={"news": sitemap})
    except Http404:
        return b""
    return found.content


def listed(sitemap: Any) -> list[str]:
    """The articles that a live page 1 has."""
    data = live(sitemap)
    return slugs(data) if data else []


def exported(folder: Path, name: str) -> bytes:
    data = (folder / name).read_bytes()
    return gzip.decompress(data) if name.endswith(".gz") else data


def names(folder: Path, section: str = "news") -> list[str]:
    """The pages of a section that the index names, each of which has to be there, and whole."""
    for name in looked_at.pages(folder):
        looked_at.urls(folder, name)
    return [name for name in looked_at.pages(folder) if name.startswith(f"sitemap-{section}-")]


def first(pages: int) -> list[str]:
    return [f"sitemap-news-{number}.xml.gz" for number in range(1, pages + 1)]


def files(folder: Path, section: str = "news") -> list[str]:
    """The pages of a section that are there, named or not."""
    return sorted(path.name for path in folder.glob(f"sitemap-{section}-*"))


def expected(now: datetime) -> list[str]:
    """The recent articles, the newest first, by Python."""
    rows = [row for row in Article.objects.all() if row.updated and now - TWO_DAYS <= row.updated <= now]
    rows.sort(key=lambda row: (row.updated, row.pk), reverse=True)
    return [row.slug for row in rows]


class TestNewsOfTheLastTwoDays:
    def test_are_two_days_exactly_and_nothing_of_the_future(self, clock: Clock) -> None:
        publish(
            too_old=NOW - TWO_DAYS - SECOND,
            oldest=NOW - TWO_DAYS,
            now=NOW,
            future=NOW + SECOND,
            far=NOW + 9 * DAY,
            never=None,
        )
        assert listed(Fresh) == ["now", "oldest"]
        assert None not in told(live(Fresh)).values()
        clock.time += SECOND
        assert listed(Fresh) == ["future", "now"]

    def test_are_two_days_exactly_in_each_database(self, clock: Clock, using: str) -> None:
        tick = timedelta(microseconds=1)
        rows = Article.objects.using(using)
        times = {"too-old": -TWO_DAYS - tick, "oldest": -TWO_DAYS, "now": 0 * DAY, "future": tick}
        rows.bulk_create(
            Article(slug=slug, updated=NOW + ago, day=(NOW + ago).date()) for slug, ago in times.items()
        )
        assert listed(type("There", (Fresh,), {"queryset": rows})) == ["now", "oldest"]
        dated = type("Dated", (Fresh,), {"queryset": rows, "date_field": "day"})
        assert listed(dated) == ["future", "now"]

    def test_are_the_newest_first_and_the_last_key_first_among_equals(self, clock: Clock) -> None:
        publish(b=NOW - HOUR, a=NOW, c=NOW - HOUR, d=NOW - 2 * HOUR)
        assert listed(Fresh) == ["a", "c", "b", "d"]

    @pytest.mark.parametrize("zone", ["Europe/Zurich", "Pacific/Auckland", "America/Los_Angeles", "UTC"])
    def test_are_two_days_exactly_where_times_are_naive(
        self, clock: Clock, settings: Any, zone: str
    ) -> None:
        settings.USE_TZ, settings.TIME_ZONE = False, zone
        now = clock.show()
        publish(too_old=now - TWO_DAYS - SECOND, oldest=now - TWO_DAYS, now=now, future=now + SECOND)
        assert listed(Fresh) == ["now", "oldest"]
        data = told(live(Fresh))
        assert data["now"] is not None
        assert data["oldest"] is not None
        assert data["now"]["publication_date"] == "2026-09-10T12:00:00Z"

    @pytest.mark.parametrize("use_tz", [True, False])
    @pytest.mark.parametrize(
        ("hour", "today"),
        [(12, date(2026, 9, 10)), (21, date(2026, 9, 10)), (22, date(2026, 9, 11))],
    )
    def test_are_today_and_yesterday_where_these_are_dates_of_the_zone_of_the_site(
        self, clock: Clock, settings: Any, hour: int, today: date, use_tz: bool
    ) -> None:
        """A date is its midnight; that of the day before yesterday is more than two days ago."""
        settings.USE_TZ = use_tz
        clock.time = NOW.replace(hour=hour, minute=30)
        days = [today + ahead * DAY for ahead in (-2, -1, 0, 1)]
        Article.objects.bulk_create(Article(slug=f"d{day:%d}", day=day) for day in days)
        sitemap = type("Dated", (Fresh,), {"date_field": "day"})
        assert listed(sitemap) == [f"d{day:%d}" for day in (days[2], days[1])]
        data = told(live(sitemap))
        assert [said and said["publication_date"] for said in data.values()] == [
            days[2].isoformat(),
            days[1].isoformat(),
        ]

    @pytest.mark.parametrize(
        ("ago", "use_tz"),
        [
            (47.5, True),
            (48.5, True),
            (47.5, False),
            (48.5, False),
        ],
    )
    def test_are_48_hours_across_the_end_of_summer_time(
        self, clock: Clock, settings: Any, ago: float, use_tz: bool
    ) -> None:
        settings.USE_TZ = use_tz
        clock.time = datetime(2026, 10, 26, 11, tzinfo=timezone.utc)
        then = clock.time - timedelta(hours=ago)
        zone = django_timezone.get_default_timezone()
        publish(a=then if use_tz else then.astimezone(zone).replace(tzinfo=None))
        assert listed(Fresh) == ["a"] * (ago < 48)

    def test_are_those_of_a_zone_of_the_site_whatever_is_activated(self, clock: Clock) -> None:
        clock.time = NOW.replace(hour=22, minute=30)
        Article.objects.create(slug="a", day=date(2026, 9, 11))
        with django_timezone.override("America/Los_Angeles"):
            assert listed(type("Dated", (Fresh,), {"date_field": "day"})) == ["a"]

    @pytest.mark.parametrize("name", ["", "nothing", "slug", "category", "comments", "updated__year"])
    def test_need_the_name_of_a_date(self, name: str) -> None:
        sitemap = type("Bad", (Fresh,), {"date_field": name})
        with pytest.raises(ImproperlyConfigured, match=r"^Bad\.date_field is '"):
            sitemap().items()


class TestWhatIsSaidOfNews:
    def test_has_all_tags_that_are_required(self, clock: Clock) -> None:
        publish(a=NOW - HOUR)
        assert told(live(Fresh)) == {
            "a": {
                "name": "The Example Times",
                "language": "en",
                "publication_date": "2026-09-10T11:00:00Z",
                "title": "About a",
            }
        }

    def test_has_the_text_of_an_item_as_title_unless_there_is_another_one(self, clock: Clock) -> None:
        publish(a=NOW)
        sitemap = type("Bare", (Fresh,), {"title": NewsSitemap.title})
        [said] = told(live(sitemap)).values()
        assert said is not None
        assert said["title"] == str(Article.objects.get())

    def test_has_text_as_it_is(self, clock: Clock) -> None:
        publish(a=NOW)
        odd = "Grüße & <b>\"'\u2028\U0001f600]]>"
        sitemap = type("Odd", (Fresh,), {"title": lambda self, item: odd, "publication_name": odd})
        [said] = told(live(sitemap)).values()
        assert said is not None
        assert (said["title"], said["name"]) == (odd, odd)

    @pytest.mark.parametrize(
        ("site", "own", "language"),
        [
            ("en-us", None, "en"),
            ("zh-hans", None, "zh-cn"),
            ("zh-hant", None, "zh-tw"),
            ("de", "pt-br", "pt"),
            ("de", "zh_TW", "zh-tw"),
            ("de", "zh-hans", "zh-cn"),
            ("de", "fil", "fil"),
            ("de", "", "de"),
        ],
    )
    def test_has_a_language_of_google_news_that_of_the_site_unless_there_is_another_one(
        self, clock: Clock, settings: Any, site: str, own: str | None, language: str
    ) -> None:
        settings.LANGUAGE_CODE = site
        publish(a=NOW)
        [said] = told(live(type("Own", (Fresh,), {"publication_language": own}))).values()
        assert said is not None
        assert said["language"] == language

    @pytest.mark.parametrize("code", ["zh", "english", "e", "en us", "12", 7])
    def test_is_left_out_and_named_where_the_language_is_none(
        self, clock: Clock, folder: Path, code: Any
    ) -> None:
        publish(a=NOW, b=NOW)
        report = export(
            output=folder, sitemaps={"news": type("Own", (Fresh,), {"publication_language": code})}
        )
        assert told(exported(folder, first(1)[0])) == {"a": None, "b": None}
        [section] = report.sections
        assert (section.left_out, section.failure) == (2, None)
        assert {error.field for error in section.errors} == {"news"}
        assert all(repr(code) in error.reason for error in section.errors)

    @pytest.mark.parametrize(
        "attributes",
        [
            {"publication_name": ""},
            {"title": lambda self, item: ""},
            {"title": lambda self, item: 1 // 0},
            {"news": lambda self, item: "news"},
            {"news": lambda self, item: [item]},
        ],
    )
    def test_is_left_out_and_named_where_something_is_wrong_and_the_url_stays(
        self, clock: Clock, folder: Path, attributes: dict[str, Any]
    ) -> None:
        publish(a=NOW)
        sitemaps = {"news": type("Wrong", (Fresh,), attributes)}
        report = export(output=folder, sitemaps=sitemaps)
        assert told(exported(folder, first(1)[0])) == {"a": None}
        assert [error.field for error in report.sections[0].errors] == ["news"]
        before = looked_at.states(folder)
        publish(b=NOW)
        report = export(output=folder, sitemaps=sitemaps, strict=True)
        assert not report.published
        assert looked_at.states(folder) == before

    def test_is_nothing_where_a_method_says_so(self, clock: Clock, folder: Path) -> None:
        publish(a=NOW, b=NOW)

        class Chosen(Fresh):
            def news(self, item: Article) -> News | None:
                return super().news(item) if item.slug == "b" else None

        report = export(output=folder, sitemaps={"news": Chosen}, strict=True)
        found = told(exported(folder, first(1)[0]))
        assert [slug for slug, said in found.items() if said] == ["b"]
        assert set(found) == {"a", "b"}
        assert report.sections[0].left_out == 0

    @pytest.mark.parametrize("declared", [None, True, "news"])
    def test_is_nothing_where_news_is_no_method(self, clock: Clock, declared: Any) -> None:
        publish(a=NOW)
        assert told(live(type("Switched", (Fresh,), {"news": declared}))) == {"a": None}


class TestNewsOfAnySitemap:
    class Articles(ModelSitemap[Article]):
        model = Article
        location = Route("article", slug=F("slug"))
        lastmod = F("updated")

        def news(self, item: Article) -> News | None:
            return News("Times", "en", item.updated or NOW, item.slug)

    def test_are_pages_like_any_other_when_they_are_older_and_no_error(
        self, clock: Clock, folder: Path
    ) -> None:
        publish(new=NOW - TWO_DAYS, old=NOW - TWO_DAYS - SECOND, oldest=NOW - 999 * DAY)
        report = export(output=folder, sitemaps={"news": self.Articles}, strict=True)
        assert report.published
        assert report.sections[0].left_out == 0
        found = told(exported(folder, first(1)[0]))
        assert {slug: said is not None for slug, said in found.items()} == {
            "new": True,
            "old": False,
            "oldest": False,
        }
        assert live(self.Articles) == exported(folder, first(1)[0])

    def test_are_measured_in_the_zone_of_the_site_where_their_time_has_none(self, clock: Clock) -> None:
        class Naive(self.Articles):  # type: ignore[name-defined, misc]
            def news(self, item: Article) -> News:
                assert item.updated is not None
                return News("Times", "en", item.updated.astimezone(conf.zone).replace(tzinfo=None), "t")

        publish(new=NOW - TWO_DAYS, old=NOW - TWO_DAYS - SECOND)
        found = told(live(Naive))
        assert found["old"] is None
        assert found["new"] is not None
        assert found["new"]["publication_date"] == "2026-09-08T12:00:00Z"

    def test_are_those_of_yesterday_where_their_time_is_a_date(self, clock: Clock) -> None:
        class Dated(self.Articles):  # type: ignore[name-defined, misc]
            def news(self, item: Article) -> News:
                assert item.updated is not None
                return News("Times", "en", item.updated.date(), "t")

        publish(today=NOW, yesterday=NOW - DAY, before=NOW - TWO_DAYS)
        found = told(live(Dated))
        assert [slug for slug, said in found.items() if said] == ["today", "yesterday"]

    @pytest.mark.parametrize("limit", [1_001, 50_000])
    @pytest.mark.parametrize("base", ["news", "model", "list", "contrib", "paginator"])
    def test_are_at_most_a_thousand_in_a_file_whatever_the_limit(
        self, clock: Clock, folder: Path, base: str, limit: int
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
    def test_are_at_most_a_thousand_in_a_live_page(self, clock: Clock, base: str) -> None:
        write(1_100, NOW)
        sitemap = type("Large", (Fresh if base == "news" else self.Articles,), {"limit": 50_000})
        index = views.sitemap_index(RequestFactory().get("/"), sitemaps={"news": sitemap}).content
        numbers = [int(name.split("-")[2].partition(".")[0]) for name in slugs(index)]
        sizes = [len(slugs(live(sitemap, number))) for number in numbers]
        assert sum(sizes) == 1_100
        assert max(sizes) <= MAX_NEWS
        if base == "news":
            # Nothing is added to a page, so that it has no room for more.
            assert sizes == [1_000, 100]

    def test_on_the_road_of_contrib_are_as_recent_as_on_ours(self, clock: Clock) -> None:
        publish(new=NOW - TWO_DAYS, old=NOW - TWO_DAYS - SECOND)
        response: Any = views.sitemap(RequestFactory().get("/"), {"news": self.Articles}, section="news")
        found = told(response.render().content)
        assert [said is not None for said in found.values()] == [True, False]
        response = views.sitemap(RequestFactory().get("/"), {"news": Fresh}, section="news")
        assert slugs(response.render().content) == ["new"]


class TestFilesOfNews:
    def run(self, folder: Path, sitemap: Any = Fresh, **options: Any) -> Report:
        return export(output=folder, sitemaps={"news": sitemap, "words": Words}, **options)

    @pytest.fixture(autouse=True)
    def _words(self) -> None:
        """There is always something to name in an index."""
        Word.objects.bulk_create(Word(word=f"w{number:02}") for number in range(25))

    @pytest.mark.parametrize("options", [{}, {"changed_only": True}, {"rebalance": True}, {"strict": True}])
    def test_are_as_many_as_are_needed_and_never_more(
        self, clock: Clock, folder: Path, options: dict[str, bool]
    ) -> None:
        words: dict[str, Any] = {}
        for amount in (0, 1_000, 2_100, 300, 0, 5):
            clock.time += 3 * DAY
            write(amount, clock.time, SECOND)
            report = self.run(folder, **options)
            assert report.failures == []
            assert names(folder) == first(ceil(amount / MAX_NEWS))
            assert set(files(folder)) <= set(first(3))
            found = [slug for name in names(folder) for slug in slugs(exported(folder, name))]
            assert found == expected(clock.time)
            assert [live(Fresh, page) for page in range(1, len(names(folder)) + 1)] == [
                exported(folder, name) for name in names(folder)
            ]
            beside = {name: state for name, state in looked_at.states(folder).items() if "-words-" in name}
            if words and "rebalance" not in options:
                assert beside == words
            words = beside

    @pytest.mark.parametrize("keep", [0, 24 * 3600])
    def test_that_are_not_needed_any_more_go_and_come_back(
        self, clock: Clock, folder: Path, configure: Callable[..., None], keep: int
    ) -> None:
        """A file that is needed again is none that is due to be deleted, whichever run comes first."""
        configure(KEEP_REMOVED=keep)

        def pages(amount: int, later: timedelta) -> list[str]:
            clock.time += later
            Article.objects.all().delete()
            write(amount, clock.time)
            report = self.run(folder, Small)
            assert report.failures == []
            assert names(folder) == first(ceil(amount / fill(10)))
            return files(folder)

        assert pages(27, HOUR) == first(3)
        # Named no more, and still there for whoever has the index of before.
        assert pages(5, HOUR) == first(3)
        # Due to be deleted in this very run, were it not needed.
        assert pages(27, 25 * HOUR) == first(3)
        assert pages(27, 25 * HOUR) == first(3)
        assert pages(27, 25 * HOUR) == first(3)
        assert pages(5, HOUR) == first(3)
        assert pages(15, HOUR) == (first(2) if keep == 0 else first(3))
        assert pages(5, 23 * HOUR) == first(2)
        assert pages(5, 25 * HOUR) == first(1)
        assert pages(15, 25 * HOUR) == first(2)

    def test_are_named_as_removed_only_once_and_deleted_in_time(self, clock: Clock, folder: Path) -> None:
        write(27, NOW)
        self.run(folder, Small)
        clock.time += 3 * DAY
        write(5, clock.time)
        report = self.run(folder, Small)
        assert report.sections[0].removed == 2
        assert files(folder) == first(3)
        clock.time += 23 * HOUR
        assert self.run(folder, Small).sections[0].removed == 0
        assert files(folder) == first(3)
        clock.time += HOUR
        assert sorted(self.run(folder, Small).deleted) == first(3)[1:]
        assert files(folder) == first(1)

    def test_shrink_as_they_like_and_other_sections_do_not(self, clock: Clock, folder: Path) -> None:
        write(900, NOW)
        many = [f"x{number:03}" for number in range(300)]
        Word.objects.bulk_create(Word(word=word) for word in many)
        self.run(folder)
        clock.time += 3 * DAY
        write(100, clock.time)
        Word.objects.filter(word__in=many).delete()
        before = {name: state for name, state in looked_at.states(folder).items() if "-words-" in name}
        report = self.run(folder)
        assert [section.failure is None for section in report.sections] == [True, False]
        assert "shrink from 325 to 25" in str(report.sections[1].failure)
        assert len(looked_at.urls(folder, first(1)[0])) == 100
        after = {name: state for name, state in looked_at.states(folder).items() if "-words-" in name}
        assert after == before

    def test_are_not_written_again_where_nothing_changed(self, clock: Clock, folder: Path) -> None:
        write(27, NOW)
        self.run(folder, Small)
        before = looked_at.states(folder, hidden=True)
        clock.time += HOUR
        report = self.run(folder, Small)
        assert report.written == ()
        assert looked_at.states(folder, hidden=True) == before

    def test_stay_where_every_article_fails(self, clock: Clock, folder: Path) -> None:
        write(5, NOW)
        self.run(folder)
        before = looked_at.states(folder)
        failing = type("Failing", (Fresh,), {"location": lambda self, item: "https://other.example/"})
        report = self.run(folder, failing)
        assert "every item was left out" in str(report.sections[0].failure)
        assert looked_at.states(folder) == before

    @settings(
        max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
    )
    @given(
        steps=st.lists(
            st.tuples(
                st.integers(0, 40),
                st.sampled_from([HOUR, 23 * HOUR, 25 * HOUR, TWO_DAYS, 3 * DAY]),
                st.sampled_from(["", "changed_only", "rebalance", "strict", "changes"]),
                st.booleans(),
            ),
            min_size=2,
            max_size=8,
        ),
        keep=st.sampled_from([0, 3_600, 24 * 3_600]),
    )
    def test_have_the_lowest_numbers_whatever_comes_and_goes(
        self,
        clock: Clock,
        configure: Callable[..., None],
        declared: Callable[..., None],
        steps: Sequence[tuple[int, timedelta, str, bool]],
        keep: int,
    ) -> None:
        Article.objects.all().delete()
        clock.time = NOW
        declared(news=Small, words=Words)
        with looked_at.quick_folder() as folder:
            configure(KEEP_REMOVED=keep, ROOT=folder)
            most = 0
            named_since: dict[str, datetime] = {}
            for amount, later, option, compressed in steps:
                clock.time += later
                write(amount, clock.time, timedelta(minutes=90))
                configure(GZIP=compressed)
                report = export(**({option: True} if option else {}))
                assert report.failures == []
                recent = expected(clock.time)
                pages = ceil(len(recent) / fill(10))
                most = max(most, pages)
                suffix = "xml.gz" if compressed else "xml"
                wanted = [f"sitemap-news-{number}.{suffix}" for number in range(1, pages + 1)]
                assert names(folder) == wanted
                assert [s for name in wanted for s in slugs(exported(folder, name))] == recent
                assert all(int(name.split("-")[2].split(".")[0]) <= most for name in files(folder))
                for number, name in enumerate(wanted, 1):
                    cache.clear()
                    response: Any = Client().get(f"/{name}")
                    content = response.content
                    assert (gzip.decompress(content) if compressed else content) == exported(folder, name)
                    assert number <= pages
                # What was named by an index of the last while is still there.
                for name, since in named_since.items():
                    if (clock.time - since).total_seconds() < keep:
                        assert name in files(folder)
                named_since |= dict.fromkeys(wanted, clock.time)

    def test_are_live_what_they_are_now_where_an_export_is_older(
        self, clock: Clock, folder: Path, configure: Callable[..., None], declared: Callable[..., None]
    ) -> None:
        declared(news=Small, words=Words)
        configure(ROOT=folder)
        write(27, NOW)
        export()
        clock.time += 3 * DAY
        write(12, clock.time)
        client = Client()
        found = [client.get(f"/{name}") for name in first(3)]
        assert [response.status_code for response in found] == [200, 200, 404]
        index: Any = client.get("/sitemap.xml")
        assert [name for name in slugs(index.content) if "-news-" in name] == first(2)
        live_pages = [gzip.decompress(response.content) for response in found[:2]]
        export()
        assert live_pages == [exported(folder, name) for name in first(2)]

    def test_that_came_and_went_are_told(self, clock: Clock, folder: Path) -> None:
        """An article that only moves to another page has not changed."""
        write(15, NOW - HOUR, HOUR)
        report = self.run(folder, Small, changes=True)
        assert report.changes == {"added": 40, "removed": 0, "changed": 0}
        before = expected(clock.time)
        clock.time += 36 * HOUR
        write(3, clock.time)
        after = expected(clock.time)
        report = self.run(folder, Small, changes=True)
        gone = len({*before} - {*after})
        assert gone > 0
        assert report.changes == {"added": 3, "removed": gone, "changed": 0}

    def test_can_be_text(self, clock: Clock, folder: Path) -> None:
        text = type("Text", (Small,), {"format": "text"})
        for amount in (15, 5, 27):
            clock.time += 3 * DAY
            write(amount, clock.time)
            assert self.run(folder, text).failures == []
            wanted = [f"sitemap-news-{n}.txt" for n in range(1, ceil(amount / fill(10)) + 1)]
            assert [name for name in looked_at.pages(folder) if "-news-" in name] == wanted
            found = [line for name in wanted for line in (folder / name).read_text().splitlines()]
            assert found == [f"{BASE}/articles/{slug}/" for slug in expected(clock.time)]

    def test_are_the_same_numbers_on_each_host(self, clock: Clock, folder: Path) -> None:
        hosts = ["https://one.example", "https://two.example"]
        for amount in (27, 5, 15):
            clock.time += 25 * HOUR
            Article.objects.all().delete()
            write(amount, clock.time)
            sitemaps = {"news": Small, "words": Words}
            if amount == 15:
                # One of the hosts has forgotten all.
                for lost in (folder / "two.example" / STATE).iterdir():
                    lost.unlink()
            reports = export_hosts(hosts, output=folder, sitemaps=sitemaps)
            assert [report.failures for report in reports.values()] == [[], []]
            one, two = (names(folder / host) for host in ("one.example", "two.example"))
            assert one == two
            if amount != 15:
                assert one == first(ceil(amount / fill(10)))
            else:
                # Nobody knows any more whose the files are that no index names.
                assert len(one) == 2
                assert set(one).isdisjoint(first(3)[1:])

    def test_are_of_columns_too(self, clock: Clock, folder: Path) -> None:
        publish(a=NOW - HOUR, b=NOW - 2 * HOUR)
        columns = type("Columns", (Fresh,), {"lastmod": F("updated"), "changefreq": "hourly"})
        methods = type(
            "Methods",
            (Fresh,),
            {
                "location": lambda self, item: item.get_absolute_url(),
                "lastmod": lambda self, item: item.updated,
                "changefreq": lambda self, item: "hourly",
            },
        )
        data = live(columns)
        assert data == live(methods)
        assert data.count(b"<lastmod>2026-09-10T1") == data.count(b"<news:news>") == 2
        self.run(folder, columns)
        assert exported(folder, first(1)[0]) == data
        assert b"<lastmod>2026-09-10T11:00:00Z</lastmod>" in exported(folder, "sitemap.xml")

    def test_shrink_as_they_like_by_a_paginator_of_their_own_too(self, clock: Clock, folder: Path) -> None:
        class Own(Small):
            def get_urls(self, *args: Any, **kwargs: Any) -> list[dict[str, Any]]:
                return super().get_urls(*args, **kwargs)

        for amount in (200, 15, 27):
            clock.time += 3 * DAY
            write(amount, clock.time)
            assert self.run(folder, Own).failures == []
            assert names(folder) == first(ceil(amount / 10))

    def test_have_the_lowest_numbers_where_the_limit_of_bytes_parts_a_page(
        self, clock: Clock, folder: Path, configure: Callable[..., None]
    ) -> None:
        """The first entries tell how many fit, and later ones are longer."""
        configure(MAX_BYTES=200_000)

        class Longer(Fresh):
            def title(self, item: Article) -> str:
                return "long" * 80 if item.slug.startswith("old") else "short"

        write(400, NOW)
        Article.objects.bulk_create(
            Article(slug=f"old{number}", updated=NOW - HOUR) for number in range(400)
        )
        for _ in range(3):
            report = self.run(folder, Longer)
            assert report.failures == []
            assert sum(len(looked_at.urls(folder, name)) for name in names(folder)) == 800
            clock.time += HOUR
        # The rest of a page has the number behind all others.
        assert sorted(names(folder)) == files(folder) == first(len(names(folder)))

    def test_have_the_lowest_numbers_where_languages_part_a_page(self, clock: Clock, folder: Path) -> None:
        """A page is cut for all languages; an item can have more of them than the section."""

        class Translated(Small):
            i18n = True
            languages = ["en"]

            def get_languages_for_item(self, item: Article) -> list[str]:
                return ["en", "de"] if int(item.slug[1:]) % 2 else ["en"]

        write(30, NOW)
        for _ in range(3):
            assert self.run(folder, Translated).failures == []
        # The rest of a page has the number behind all others.
        assert sorted(names(folder)) == files(folder) == first(len(names(folder)))

    def test_take_nobody_elses_place(self, clock: Clock, folder: Path) -> None:
        folder.mkdir()
        (folder / first(2)[1]).write_bytes(b"of somebody")
        write(15, NOW)
        self.run(folder, Small)
        assert (folder / first(2)[1]).read_bytes() == b"of somebody"

    def test_have_the_lowest_numbers_where_the_manifest_was_lost(self, clock: Clock, folder: Path) -> None:
        write(27, NOW)
        self.run(folder, Small)
        for lost in (folder / STATE).iterdir():
            if lost.is_file():
                lost.unlink()
        clock.time += 3 * DAY
        write(15, clock.time)
        self.run(folder, Small)
        assert names(folder) == first(2)
        clock.time += 25 * HOUR
        self.run(folder, Small)
        assert files(folder) == first(2)

    def test_begin_at_one_where_the_section_had_ranges_of_a_key_before(
        self, clock: Clock, folder: Path
    ) -> None:
        write(40, NOW)
        ranged = type(
            "Ranged", (ModelSitemap,), {"model": Article, "location": Fresh.location, "limit": 10}
        )
        self.run(folder, ranged)
        Article.objects.filter(slug__in=expected(NOW)[5:10]).delete()
        self.run(folder, ranged, rebalance=True)
        assert names(folder)[0] != first(1)[0]
        self.run(folder, Small)
        assert names(folder) == first(4)
        self.run(folder, ranged)
        assert not set(names(folder)) & set(first(8))
        assert looked_at.indexed(folder) >= {f"{BASE}/articles/{slug}/" for slug in expected(NOW)}


class Killed(BaseException):
    """What nothing catches, like a power cut."""


class TestAnExportOfNewsThatIsKilled:
    def test_leaves_whole_files_and_the_next_one_repairs_it(
        self, clock: Clock, folder: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        above = folder
        Word.objects.bulk_create(Word(word=f"w{number:02}") for number in range(25))
        sitemaps = {"news": Small, "words": Words}
        for step in count(1):
            ended = []
            # Pages go; pages come; and one goes that was due to be deleted, before it comes back.
            for amounts in ((27, 5, 15), (5, 27, 15), (27, 5, 6, 25)):
                folder = above / f"{step}-{amounts[1]}-{amounts[-1]}"
                for place, amount in enumerate(amounts, 2):
                    Article.objects.all().delete()
                    clock.time += 25 * HOUR
                    write(amount, clock.time)
                    if place < len(amounts) or place > len(amounts):
                        assert export(output=folder, sitemaps=sitemaps).failures == []
                        continue
                    named = looked_at.named(folder)
                    ended.append(not self.killed(step, folder, sitemaps, monkeypatch))
                    for name in named | looked_at.named(folder):
                        assert looked_at.urls(folder, name)
                wanted = first(ceil(amounts[-1] / fill(10)))
                assert names(folder) == wanted
                found = [slug for name in wanted for slug in slugs(exported(folder, name))]
                assert found == expected(clock.time)
                assert not (folder / STATE / JOURNAL).exists()
                clock.time += 25 * HOUR
                Article.objects.update(updated=clock.time)
                export(output=folder, sitemaps=sitemaps)
                assert files(folder) == names(folder) == wanted
            if all(ended):
                break
        assert step > 7

    def killed(self, steps: int, folder: Path, sitemaps: Any, monkeypatch: pytest.MonkeyPatch) -> bool:
        """An export that ends at that step of publishing; false where it has not so many."""
        left = iter(range(steps - 1))

        def dying(function: Callable[..., Any]) -> Callable[..., Any]:
            def called(*arguments: Any) -> Any:
                if next(left, None) is None:
                    raise Killed
                return function(*arguments)

            return called

        with monkeypatch.context() as patch:
            for name in ("promote", "write", "delete"):
                patch.setattr(LocalStore, name, dying(getattr(LocalStore, name)))
            try:
                export(output=folder, sitemaps=sitemaps)
            except Killed:
                return True
        return False


class TestNewsOfASite:
    class Dispatches(NewsSitemap[Dispatch]):
        model = Dispatch
        site_field = "site"
        date_field = "at"
        publication_name = "Times"

    @pytest.fixture(autouse=True)
    def _dispatches(self, clock: Clock) -> None:
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

    def test_are_those_of_each_host_that_is_exported(self, clock: Clock, folder: Path) -> None:
        hosts = ["https://one.example", "https://two.example"]
        for _ in range(2):
            reports = export_hosts(hosts, output=folder, sitemaps={"news": self.Dispatches})
            assert [report.failures for report in reports.values()] == [[], []]
            found = [slugs(exported(folder / host.removeprefix("https://"), first(1)[0])) for host in hosts]
            assert found == [["1", "3"], ["2", "4", "5"]]
