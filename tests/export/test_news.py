"""News: which articles are recent, their elements, and files that are updated in place, never too many."""

from __future__ import annotations

import gzip
import shutil
from datetime import date, datetime, timedelta, timezone
from functools import partial
from itertools import count
from math import ceil
from types import SimpleNamespace

import pytest
from django.conf import settings as configuration
from django.contrib.sites.models import Site
from django.core.cache import cache
from django.core.exceptions import ImproperlyConfigured
from django.db.models import F
from django.http import Http404
from django.test import Client, RequestFactory
from django.utils import timezone as django_timezone
from django.utils.timezone import make_naive
from hypothesis import HealthCheck, example, given, settings, strategies as st
from lxml import etree

from django_sitemaps09 import News, NewsSitemap, Route, views
from django_sitemaps09.export import export, export_hosts
from tests.models import Article, Dispatch, Word
from tests.support import published as looked_at
from tests.support.articles import Fresh
from tests.support.configuration import BASE
from tests.support.factories import SiteFactory
from tests.support.internals import JOURNAL, MAX_NEWS, NAMESPACES, STATE, conf, fill, host_export as exports
from tests.support.killing import dies_at
from tests.support.native_views import last_parts as slugs
from tests.support.sections import declare
from tests.support.ways import native_pages

pytestmark = [pytest.mark.django_db, pytest.mark.slow, pytest.mark.sitemaps09(ENGINE="serial")]
NOW = datetime(2026, 9, 10, 12, tzinfo=timezone.utc)
HOUR, DAY, SECOND = timedelta(hours=1), timedelta(days=1), timedelta(seconds=1)
TWO_DAYS = 2 * DAY
NEWS = f"{{{NAMESPACES['news']}}}"
_numbers = count(1)


@pytest.fixture(autouse=True)
def stopped_clock(monkeypatch):
    """The time of all clocks in this package. What `show()` returns depends on `USE_TZ`."""
    found = SimpleNamespace(time=NOW)
    found.show = lambda: found.time if configuration.USE_TZ else make_naive(found.time)

    class OfAnyDatetime(type):
        def __instancecheck__(cls, value):
            return isinstance(value, datetime)

    class Stopped(datetime, metaclass=OfAnyDatetime):
        @classmethod
        def now(cls, tz=None):
            return found.time.astimezone(tz)

    monkeypatch.setattr(django_timezone, "now", found.show)
    monkeypatch.setattr("django_sitemaps09.declare.extensions.datetime", Stopped)
    monkeypatch.setattr(exports, "datetime", Stopped)
    return found


def write(amount, newest, step=timedelta(0)):
    times = (newest - place * step for place in range(amount))
    Article.objects.bulk_create(Article(slug=f"n{next(_numbers)}", updated=at) for at in times)


def publish(using="default", **times):
    rows = [Article(slug=slug, updated=at, day=at and at.date()) for slug, at in times.items()]
    Article.objects.using(using).bulk_create(rows)


def news_by_slug(data):
    news = (url.iterfind(f"{NEWS}news//*") for url in etree.fromstring(data))
    texts = [{e.tag.removeprefix(NEWS): e.text for e in found if not len(e)} or None for found in news]
    return dict(zip(slugs(data), texts, strict=True))


def with_news(data):
    return [slug for slug, said in news_by_slug(data).items() if said]


def live(sitemap, page=1):
    """Return a page of the section `news`; empty if it does not exist."""
    cache.clear()
    request = RequestFactory().get("/")
    try:
        return views.page(request, section="news", page=str(page), sitemaps={"news": sitemap}).content
    except Http404:
        return b""


def listed(sitemap):
    return slugs(data) if (data := live(sitemap)) else []


def exported(folder, name="sitemap-news-1.xml.gz"):
    data = (folder / name).read_bytes()
    return gzip.decompress(data) if name.endswith(".gz") else data


def names(folder):
    for name in looked_at.pages(folder):
        looked_at.urls(folder, name)
    return [name for name in looked_at.pages(folder) if name.startswith("sitemap-news-")]


def files(folder):
    return sorted(path.name for path in folder.glob("sitemap-news-*"))


def first(pages):
    return [f"sitemap-news-{number}.xml.gz" for number in range(1, pages + 1)]


def all_of(folder):
    return [slug for name in names(folder) for slug in slugs(exported(folder, name))]


class TestNewsOfTheLastTwoDays:
    def test_are_the_newest_first_and_nothing_of_the_future_in_each_database(self, stopped_clock, using):
        tick = timedelta(microseconds=1)
        times = {"too-old": -TWO_DAYS - tick, "oldest": -TWO_DAYS, "b": -HOUR, "c": -HOUR}
        times |= {"now": 0 * DAY, "future": tick}
        publish(using, **{slug: NOW + ago for slug, ago in times.items()}, far=NOW + 9 * DAY, never=None)
        rows = Article.objects.using(using)
        here = declare(Fresh, queryset=rows)
        # Among equals, the last key is the first.
        assert listed(here) == ["now", "c", "b", "oldest"]
        assert None not in news_by_slug(live(here)).values()
        assert listed(declare(Fresh, date_field="day", queryset=rows)) == ["future", "now", "c", "b"]
        stopped_clock.time += SECOND
        assert listed(here) == ["future", "now", "c", "b"]

    @pytest.mark.parametrize("zone", ["Europe/Zurich", "Pacific/Auckland", "America/Los_Angeles", "UTC"])
    def test_are_two_days_exactly_if_times_are_naive(self, stopped_clock, settings, zone):
        settings.USE_TZ, settings.TIME_ZONE = False, zone
        now = stopped_clock.show()
        publish(too_old=now - TWO_DAYS - SECOND, oldest=now - TWO_DAYS, now=now, future=now + SECOND)
        found = news_by_slug(live(Fresh))
        assert [*found] == ["now", "oldest"]
        assert found["oldest"] is not None
        assert found["now"]["publication_date"] == "2026-09-10T12:00:00Z"

    @pytest.mark.parametrize("use_tz", [True, False])
    @pytest.mark.parametrize(("hour", "today"), [(12, 10), (21, 10), (22, 11)])
    def test_are_today_and_yesterday_if_these_are_dates(self, stopped_clock, settings, hour, today, use_tz):
        """A date counts as midnight, so the day before yesterday is more than two days ago."""
        settings.USE_TZ = use_tz
        stopped_clock.time = NOW.replace(hour=hour, minute=30)
        days = [date(2026, 9, today) + ahead * DAY for ahead in (-2, -1, 0, 1)]
        Article.objects.bulk_create(Article(slug=str(day), day=day) for day in days)
        dated = declare(Fresh, date_field="day")
        found = news_by_slug(live(dated))
        assert [*found] == [str(days[2]), str(days[1])]
        assert [*found] == [each["publication_date"] for each in found.values()]
        # Whatever zone is activated.
        with django_timezone.override("America/Los_Angeles"):
            assert listed(dated) == [*found]

    @pytest.mark.parametrize("use_tz", [True, False])
    @pytest.mark.parametrize("ago", [47.5, 48.5])
    def test_are_48_hours_across_the_end_of_summer_time(self, stopped_clock, settings, ago, use_tz):
        settings.USE_TZ = use_tz
        stopped_clock.time = datetime(2026, 10, 26, 11, tzinfo=timezone.utc)
        then = stopped_clock.time - timedelta(hours=ago)
        zone = django_timezone.get_default_timezone()
        publish(a=then if use_tz else then.astimezone(zone).replace(tzinfo=None))
        assert listed(Fresh) == ["a"] * (ago < 48)

    @pytest.mark.parametrize("name", ["", "nothing", "slug", "category", "comments", "updated__year"])
    def test_need_the_name_of_a_date(self, name):
        with pytest.raises(ImproperlyConfigured, match=r"^Declared\.date_field is '"):
            declare(Fresh, date_field=name)().items()


@pytest.mark.parametrize(("site", "attributes", "said"), [
    ("en-us", {}, {}),
    ("de", {"publication_language": "zh_TW"}, {"language": "zh-tw"}),
    ("de", {"publication_language": ""}, {"language": "de"}),
    ("en", {"title": NewsSitemap.title}, {"title": "Article object (1)"}),
], ids=["required", "a language", "that of the site", "the text of the item"])  # fmt: skip
def test_news_have_all_tags_that_are_required(settings, site, attributes, said):
    settings.LANGUAGE_CODE = site
    Article.objects.create(pk=1, slug="a", updated=NOW - HOUR)
    required = {"name": "The Example Times", "language": "en", "title": "About a"}
    required["publication_date"] = "2026-09-10T11:00:00Z"
    assert news_by_slug(live(declare(Fresh, **attributes))) == {"a": required | said}


@pytest.mark.parametrize("attributes", [
    {"publication_name": ""}, {"publication_language": "english"}, {"publication_language": 7},
    {"title": lambda self, item: ""}, {"title": lambda self, item: 1 // 0},
    {"news": lambda self, item: [item]},
], ids=range(6))  # fmt: skip
def test_invalid_news_are_skipped_and_reported_and_the_url_stays(folder, attributes):
    publish(a=NOW)
    [section] = export(output=folder, sitemaps={"news": declare(Fresh, **attributes)}).sections
    assert news_by_slug(exported(folder)) == {"a": None}
    assert [error.field for error in section.errors] == ["news"]


def test_news_are_omitted_if_a_method_returns_none_or_news_is_not_a_method(folder):
    publish(a=NOW, b=NOW)
    chosen = declare(Fresh, news=lambda self, item: Fresh.news(self, item) if item.slug == "b" else None)
    report = export(output=folder, sitemaps={"news": chosen}, strict=True)
    assert ({*slugs(exported(folder))}, with_news(exported(folder))) == ({"a", "b"}, ["b"])
    assert report.sections[0].errors == ()
    for declared in (None, True, "news"):
        assert with_news(live(declare(Fresh, news=declared))) == []


def times_news(self, item):
    return News("Times", "en", item.updated or NOW, item.slug)


Articles = declare(model=Article, location=Fresh.location, lastmod=F("updated"), news=times_news)


class TestNewsOfAnySitemap:
    def test_are_pages_like_any_other_when_they_are_older_and_no_error(self, folder):
        publish(new=NOW - TWO_DAYS, old=NOW - TWO_DAYS - SECOND, oldest=NOW - 999 * DAY)
        report = export(output=folder, sitemaps={"news": Articles}, strict=True)
        assert (report.published, report.sections[0].errors) == (True, ())
        assert (slugs(exported(folder)), with_news(exported(folder))) == (["new", "old", "oldest"], ["new"])
        assert live(Articles) == exported(folder)
        # Django's pages are as recent.
        for sitemap, urls in ((Articles, 3), (Fresh, 1)):
            response = views.sitemap(RequestFactory().get("/"), {"news": sitemap}, section="news")
            content = response.render().content
            assert (len(slugs(content)), with_news(content)) == (urls, ["new"])

    def test_are_measured_in_the_zone_of_the_site_if_their_time_has_none_and_in_days_if_it_is_a_date(self):
        naive = lambda self, item: News(  # noqa: E731
            "Times", "en", item.updated.astimezone(conf.zone).replace(tzinfo=None), "t"
        )
        publish(today=NOW, new=NOW - TWO_DAYS, old=NOW - TWO_DAYS - SECOND, yesterday=NOW - DAY)
        found = news_by_slug(live(declare(Articles, news=naive)))
        assert [slug for slug, said in found.items() if said] == ["today", "new", "yesterday"]
        assert found["new"]["publication_date"] == "2026-09-08T12:00:00Z"
        of_day = lambda self, item: News("Times", "en", item.updated.date(), "t")  # noqa: E731
        assert with_news(live(declare(Articles, news=of_day))) == ["today", "yesterday"]

    @pytest.mark.parametrize("limit", [1_001, 50_000])
    @pytest.mark.parametrize("base", ["news", "model", "list", "contrib", "paginator"])
    def test_are_at_most_a_thousand_in_a_file_whatever_the_limit(self, folder, base, limit):
        write(1_100, NOW)
        listing = {"items": lambda self: [*Article.objects.all()], "lastmod": None}
        own = {
            "list": {**listing, "location": lambda self, item: item.get_absolute_url()},
            "contrib": {"get_urls": lambda self, **asked: super(foreign, self).get_urls(**asked)},
            "paginator": {"paginator": property(lambda self: super(foreign, self).paginator)},
        }
        foreign = declare(Fresh if base == "news" else Articles, limit=limit, **own.get(base, {}))
        assert export(output=folder, sitemaps={"news": foreign}).urls == 1_100
        sizes = [len(looked_at.urls(folder, name)) for name in names(folder)]
        assert (sum(sizes), max(sizes) <= MAX_NEWS) == (1_100, True)

    @pytest.mark.parametrize("base", [Fresh, Articles])
    def test_are_at_most_a_thousand_in_a_live_page(self, base):
        write(1_100, NOW)
        sizes = [len(page) for _, page in native_pages(declare(base, limit=50_000))]
        assert (sum(sizes), max(sizes) <= MAX_NEWS) == (1_100, True)
        # Rows are never added to a page of a news section, so it needs no room for more.
        assert base is Articles or sizes == [1_000, 100]


def test_news_of_a_site_are_those_of_the_host_that_is_served_and_of_each_that_is_exported(settings, folder):
    fields = {"site_field": "site", "date_field": "at"}
    dispatches = declare(NewsSitemap, model=Dispatch, publication_name="Times", **fields)
    hosts = ["one.example", "two.example"]
    Site.objects.all().delete()
    Site.objects.clear_cache()
    sites = [SiteFactory(domain=host) for host in hosts]
    for number, hours in enumerate((1, 2, 3, 4, 5, 72, -1), 1):
        Dispatch.objects.create(pk=number, site=sites[number in (2, 4, 5)], at=NOW - hours * HOUR)
    wanted = [["1", "3"], ["2", "4", "5"]]
    for host, keys in zip(hosts, wanted, strict=True):
        settings.SITEMAPS09 = {"BASE_URL": f"https://{host}"}
        assert listed(dispatches) == keys
    for _ in range(2):
        urls = [f"https://{host}" for host in hosts]
        reports = export_hosts(urls, output=folder, sitemaps={"news": dispatches})
        assert [report.failures for report in reports.values()] == [[], []]
        assert [slugs(exported(folder / host)) for host in hosts] == wanted


Small = declare(Fresh, limit=10)
#: A section of key ranges, so that the index is never empty.
Words = declare(model=Word, location=Route("word", word=F("word")), limit=10)
SITEMAPS = {"news": Small, "words": Words}


def expected(now):
    rows = [row for row in Article.objects.all() if row.updated and now - TWO_DAYS <= row.updated <= now]
    rows.sort(key=lambda row: (row.updated, row.pk), reverse=True)
    return [row.slug for row in rows]


def of_words(folder):
    return {name: state for name, state in looked_at.states(folder).items() if "-words-" in name}


steps = st.tuples(
    st.integers(0, 40), st.sampled_from([HOUR, 23 * HOUR, 25 * HOUR, TWO_DAYS, 3 * DAY]),
    st.sampled_from([None, "changed_only", "rebalance", "strict", "changes"]), st.booleans(),
)  # fmt: skip


class TestFilesOfNews:
    def run(self, folder, sitemap=Small, **options):
        return export(output=folder, sitemaps={**SITEMAPS, "news": sitemap}, **options)

    @pytest.fixture(autouse=True)
    def _words(self):
        Word.objects.bulk_create(Word(word=f"w{number:02}") for number in range(25))

    def test_shrink_as_they_like_and_other_sections_do_not(self, stopped_clock, folder):
        write(900, NOW)
        Word.objects.bulk_create(Word(word=f"x{number:03}") for number in range(300))
        self.run(folder, Fresh)
        stopped_clock.time += 3 * DAY
        write(100, stopped_clock.time)
        Word.objects.filter(word__startswith="x").delete()
        before = of_words(folder)
        news, words = self.run(folder, Fresh).sections
        assert (news.failure, "shrink from 325 to 25" in str(words.failure)) == (None, True)
        assert (len(all_of(folder)), of_words(folder)) == (100, before)
        own = declare(Small, get_urls=lambda self, *args, **asked: Small.get_urls(self, *args, **asked))
        for amount in (200, 15, 27):
            stopped_clock.time += 3 * DAY
            write(amount, stopped_clock.time)
            assert self.run(folder, own, force=["words"]).failures == []
            assert names(folder) == first(ceil(amount / 10))

    @settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(st.lists(steps, min_size=2, max_size=8), st.sampled_from([0 * HOUR, HOUR, DAY]))
    # In the last run, files of the first are kept; needed again when they are due; or deleted.
    @example([(27, HOUR, None, True), (0, TWO_DAYS, None, True), (0, 23 * HOUR, None, True)], DAY)
    @example([(27, HOUR, None, True), (0, TWO_DAYS, None, True), (27, 25 * HOUR, None, True)], DAY)
    @example([(27, HOUR, None, True), (0, TWO_DAYS, None, True), (0, HOUR, None, True)], 0 * HOUR)
    def test_have_the_lowest_numbers_at_any_time(self, stopped_clock, configure, register, steps, keep):
        Article.objects.all().delete()
        stopped_clock.time = NOW
        register(**SITEMAPS)
        with looked_at.quick_folder() as folder:
            configure(KEEP_REMOVED=keep, ROOT=folder)
            # When each file was removed from the index.
            removed = {}
            for amount, later, option, compressed in steps:
                stopped_clock.time += later
                write(amount, stopped_clock.time, timedelta(minutes=90))
                configure(GZIP=compressed)
                listed = names(folder)
                report = export(**({option: True} if option else {}))
                recent = expected(stopped_clock.time)
                pages, suffix = ceil(len(recent) / fill(10)), "xml.gz" if compressed else "xml"
                wanted = [f"sitemap-news-{number}.{suffix}" for number in range(1, pages + 1)]
                assert (names(folder), all_of(folder), report.failures) == (wanted, recent, [])
                # A file that is no longer listed still exists for crawlers that have an earlier index.
                # It is not deleted if it is needed again, regardless of which run comes first.
                removed = {name: since for name, since in removed.items() if name not in wanted}
                due = {name for name, since in removed.items() if stopped_clock.time - since >= keep}
                gone = {*listed} - {*wanted}
                removed = {name: removed[name] for name in removed.keys() - due}
                removed |= dict.fromkeys(gone, stopped_clock.time)
                assert files(folder) == sorted({*wanted, *removed})
                assert {name for name in report.deleted if "-news-" in name} == due
                assert report.sections[0].removed == len(gone)
                for name in wanted:
                    cache.clear()
                    content = Client().get(f"/{name}").content
                    assert (gzip.decompress(content) if compressed else content) == exported(folder, name)

    def test_show_the_current_rows_live_before_an_export(self, stopped_clock, folder, configure, register):
        register(**SITEMAPS)
        configure(ROOT=folder)
        write(27, NOW)
        export()
        stopped_clock.time += 3 * DAY
        write(12, stopped_clock.time)
        *found, missing, index = (Client().get(f"/{name}") for name in (*first(3), "sitemap.xml"))
        assert missing.status_code == 404
        assert [name for name in slugs(index.content) if "-news-" in name] == first(2)
        export()
        files = [(folder / name).read_bytes() for name in first(2)]
        assert [response.content for response in found] == files

    @pytest.mark.parametrize("reason", ["bytes", "languages"])
    def test_have_the_lowest_numbers_if_a_page_is_split(self, stopped_clock, folder, configure, reason):
        """A page is cut for all languages, and for the length of the first entries."""
        if reason == "bytes":
            configure(MAX_BYTES=3_000)

        class Split(Small):
            i18n = reason == "languages"
            languages = ["en"]

            def title(self, item):
                return "long" * 80 if reason == "bytes" and item.slug.startswith("old") else "short"

            def get_languages_for_item(self, item):
                return ["en", "de"] if int(item.slug.strip("nold")) % 2 else ["en"]

        write(15, NOW)
        publish(**{f"old{number}": NOW - HOUR for number in range(15)})
        for _ in range(3):
            report = self.run(folder, Split)
            assert report.failures == []
            assert report.sections[0].split
            assert len({url for name in names(folder) for url in looked_at.urls(folder, name)}) == 30
            stopped_clock.time += HOUR
        # The rest of a page has the number behind all others.
        assert sorted(names(folder)) == files(folder) == first(len(names(folder)))

    def test_replace_no_foreign_file_and_stay_if_nothing_changed(self, stopped_clock, folder):
        folder.mkdir()
        foreign = folder / first(2)[1]
        foreign.write_bytes(b"of somebody")
        write(15, NOW)
        self.run(folder)
        assert foreign.read_bytes() == b"of somebody"
        before = looked_at.states(folder, hidden=True)
        stopped_clock.time += HOUR
        assert (self.run(folder).written, looked_at.states(folder, hidden=True)) == ((), before)

    def test_stay_if_every_article_fails(self, stopped_clock, folder):
        """A news section may shrink to nothing, but not by a mistake."""
        write(27, NOW)
        self.run(folder)
        before = looked_at.states(folder)
        report = self.run(folder, declare(Small, location=lambda self, item: "https://other.example/"))
        assert "every item was skipped" in str(report.sections[0].failure)
        assert looked_at.states(folder) == before

    def test_that_were_added_and_removed_are_reported(self, stopped_clock, folder):
        """An article that only moves to another page has not changed."""
        write(15, NOW - HOUR, HOUR)
        assert self.run(folder, changes=True).changes == {"added": 40, "removed": 0, "changed": 0}
        before = {*expected(stopped_clock.time)}
        stopped_clock.time += 36 * HOUR
        write(3, stopped_clock.time)
        gone = len(before - {*expected(stopped_clock.time)})
        assert gone > 0
        assert self.run(folder, changes=True).changes == {"added": 3, "removed": gone, "changed": 0}

    def test_have_the_lowest_numbers_if_the_manifest_was_lost(self, stopped_clock, folder):
        write(27, NOW)
        self.run(folder)
        shutil.rmtree(folder / STATE)
        stopped_clock.time += 3 * DAY
        write(15, stopped_clock.time)
        self.run(folder)
        assert names(folder) == first(2)
        stopped_clock.time += 25 * HOUR
        self.run(folder)
        assert files(folder) == first(2)

    def test_begin_at_one_if_the_section_had_ranges_of_a_key_before(self, folder):
        write(40, NOW)
        ranged = declare(model=Article, location=Fresh.location, limit=10)
        self.run(folder, ranged)
        Article.objects.filter(slug__in=expected(NOW)[5:10]).delete()
        self.run(folder, ranged, rebalance=True)
        assert names(folder)[0] != first(1)[0]
        self.run(folder)
        assert names(folder) == first(4)
        self.run(folder, ranged)
        assert not {*names(folder)} & {*first(8)}
        assert looked_at.indexed(folder) >= {f"{BASE}/articles/{slug}/" for slug in expected(NOW)}

    def test_are_whole_if_an_export_is_killed_and_the_next_one_repairs_them(self, stopped_clock, folder):
        above = folder
        for step in count(1):
            ended = []
            # Pages are removed and added. One page is removed when it is due for deletion, and then needed
            # again.
            for amounts in ((27, 5, 15), (5, 27, 15), (27, 5, 6, 25)):
                folder = above / f"{step}-{amounts[1]}-{amounts[-1]}"
                for place, amount in enumerate(amounts, 2):
                    Article.objects.all().delete()
                    stopped_clock.time += 25 * HOUR
                    write(amount, stopped_clock.time)
                    if place != len(amounts):
                        assert self.run(folder).failures == []
                        continue
                    named = looked_at.named(folder)
                    ended.append(not dies_at(step, partial(self.run, folder), "promote", "write", "delete"))
                    for name in named | looked_at.named(folder):
                        assert looked_at.urls(folder, name)
                wanted = first(ceil(amounts[-1] / fill(10)))
                assert (names(folder), all_of(folder)) == (wanted, expected(stopped_clock.time))
                assert not (folder / STATE / JOURNAL).exists()
                stopped_clock.time += 25 * HOUR
                Article.objects.update(updated=stopped_clock.time)
                self.run(folder)
                assert files(folder) == names(folder) == wanted
            if all(ended):
                break
        assert step > 7
