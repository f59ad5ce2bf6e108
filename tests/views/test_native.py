"""The native index, its pages and robots.txt: names, sections, hosts, languages, failures and limits."""

from __future__ import annotations

import gzip
import logging
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from unittest.mock import Mock
from xml.etree import ElementTree

import pytest
from django.conf.urls.i18n import i18n_patterns
from django.contrib.sitemaps import Sitemap as ContribSitemap
from django.contrib.sites.models import Site
from django.core.cache import cache
from django.core.exceptions import ImproperlyConfigured
from django.db import ProgrammingError, connection
from django.db.models import F
from django.db.models.functions import TruncDate
from django.test import Client
from django.urls import clear_script_prefix, include, path, resolve, reverse, set_script_prefix
from django.utils import timezone as django_timezone, translation
from django.utils.safestring import mark_safe
from django.utils.translation import gettext_lazy

from django_sitemaps09 import Image, Route, Sitemap, views
from django_sitemaps09.export import export
from tests.models import Article
from tests.support.articles import write_keys
from tests.support.configuration import BASE, limit_indexes, set_seconds
from tests.support.exports import Bad
from tests.support.factories import write_articles
from tests.support.internals import MAX_BYTES, caching, exported, index_document, indexes, listing
from tests.support.memory import traced
from tests.support.native_views import FORMS, Articles, Foreign, found, get, locations, nothing, queries
from tests.support.published import SPACE
from tests.support.sections import Numbers, declare

pytestmark = [pytest.mark.django_db, pytest.mark.sitemaps09]
URLS = ("/sitemap.xml", "/sitemap-one-1.xml", "/sitemap-one-1.xml.gz", "/robots.txt")
INDEX = "/sitemap.xml"


def raising(error):
    return declare(Numbers, items=Mock(side_effect=error))(1)


BROKEN = raising(RuntimeError("\x1b[31mno items\nat all"))


class TestTheNames:
    @pytest.mark.parametrize("name", ["a", "a-1", "1", "-", "_", "a-1-1", "A", "xml", "a-b_C", "2-3", "-2"])
    def test_have_the_number_after_the_last_hyphen(self, name):
        assert resolve("/sitemap-2.xml").url_name == "numbered-index"
        for view, end in (("page", "xml"), ("page-gz", "xml.gz")):
            url = reverse(f"django_sitemaps09:{view}", kwargs={"section": name, "page": 34})
            match = resolve(url)
            assert (url, match.view_name) == (f"/sitemap-{name}-34.{end}", f"django_sitemaps09:{view}")
            assert match.app_names == ["django_sitemaps09"]
            assert (match.kwargs["section"], match.kwargs["page"]) == (name, "34")

    def test_that_no_url_can_have_are_refused(self, register):
        register(**{"a.b": Numbers(1), "fine": Numbers(1)})
        for url in (INDEX, "/sitemap-fine-1.xml"):
            with pytest.raises(ImproperlyConfigured, match=r"The section 'a\.b'"):
                get(url)


class TestWhatIsNotFound:
    def test_is_a_page_that_no_map_has(self, register):
        write_articles("a", "b")
        register(articles=Articles, numbers=Numbers(2), foreign=Foreign)
        numbers = ("0", "-1", "01", "3", "9" * 9, "9" * 10, "1" * 300, "1e3", "²", "१", "", "+1")
        names = [f"{name}-{number}" for name in ("articles", "numbers", "foreign") for number in numbers]
        urls = [f"/sitemap-{name}{end}" for name in names for end in (".xml", ".xml.gz", ".txt")]
        assert [url for url in urls if get(url).status_code != 404] == []

    def test_is_a_name_that_does_not_exist_without_any_query(self, register, django_assert_num_queries):
        register(articles=Articles)
        names = (
            "-none-1.xml -Articles-1.xml -index-1.xml --1.xml -articles.xml xxml .xml/ -articles-1.XML"
            " -articles-1.xml.gz.gz -articles-1.txt.gz -articles-1.txt.txt -articles-1xxml .xml%0A"
            " -art%2Ficles-1.xml -articles-1.xml%0A -articles-1%0A.xml -articles%0A-1.xml"
            " -articles-1.xml.gz%0A -articles-1.txt%0A -articles-1.xml%00 -articles-0.xml -articles-2.xml"
            " -articles-99999999.xml -articles-100000000.xml -articles-999999999.xml"
        )
        urls = [f"{prefix}/sitemap{name}" for name in names.split() for prefix in ("", "/x")]
        with django_assert_num_queries(0):
            assert [url for url in urls if get(url).status_code != 404] == []

    def test_is_a_page_of_a_list_without_a_look_at_all_its_items(self, register):
        """Checking them took as much time as rendering all of them."""
        asked = []
        items = lambda self: asked.append("items") or range(5_000)  # noqa: E731
        location = lambda self, item: asked.append("location") or f"/{item}/"  # noqa: E731
        register(counted=declare(Sitemap, items=items, location=location))
        for end in (".xml", ".xml.gz", ".txt"):
            asked.clear()
            assert get(f"/sitemap-counted-2{end}").status_code == 404
            assert (asked.count("items"), asked.count("location") <= 200) == (1, True)


class TestTheHost:
    @pytest.fixture(autouse=True)
    def _rows(self, register):
        register(one=Numbers(1))
        yield
        Site.objects.clear_cache()

    @staticmethod
    def use_site(settings, domain):
        settings.SITEMAPS09 = {}
        Site.objects.update_or_create(pk=1, defaults={"domain": domain, "name": "x"})
        Site.objects.clear_cache()

    @staticmethod
    def bases(secure=False, **headers):
        named = set()
        for url in (INDEX, "/sitemap-one-1.xml", "/robots.txt"):
            response = Client().get(url, headers=headers, secure=secure)
            assert response.status_code == 200
            words = response.text.replace("<", " ").replace(">", " ").split()
            urls = [word for word in words if "://" in word and "xmlns" not in word]
            named |= {"/".join(url.split("/")[:3]) for url in urls}
        return named

    def test_is_that_of_base_url_whatever_the_request_says(self, settings):
        settings.ALLOWED_HOSTS = ["www.example.com"]
        spoofed = {"host": "evil.example", "x-forwarded-host": "evil.example", "x-forwarded-proto": "ftp"}
        assert self.bases(**spoofed) == self.bases(host="a b<c>") == {BASE}

    def test_is_that_of_the_request_without_sites_if_it_is_allowed(self, client_chooses_host):
        client_chooses_host(".example.org")
        assert self.bases(host="shop.example.org:8000", secure=True) == {"https://shop.example.org:8000"}
        for response in (get(url, host="evil.example") for url in URLS):
            assert (response.status_code, b"evil.example/" in response.content) == (400, False)

    @pytest.mark.parametrize(("domain", "host", "expected"), [
        ("site.example.org", None, "site.example.org"),
        ("bücher.example", "xn--bcher-kva.example:8443", "xn--bcher-kva.example"),
        ("пример.рф:8443", "xn--e1afmkfd.xn--p1ai:8443", "xn--e1afmkfd.xn--p1ai:8443"),
    ])  # fmt: skip
    def test_is_that_of_the_site_by_the_scheme_of_the_request(self, settings, domain, host, expected):
        """A site can be stored in Unicode. Without SITE_ID, the host of the request finds it."""
        if host is not None:
            del settings.SITE_ID
            settings.ALLOWED_HOSTS = ["*"]
        self.use_site(settings, domain)
        assert self.bases(host=host or "evil.example") == {f"http://{expected}"}
        assert self.bases(host=host or "evil.example", secure=True) == {f"https://{expected}"}

    @pytest.mark.parametrize("domain", ["a\nDisallow: /", "a b", "user@example.org", "example.org/x", ""])
    def test_is_refused_if_it_is_invalid(self, settings, domain):
        self.use_site(settings, domain)
        for url in URLS:
            with pytest.raises(ImproperlyConfigured, match="current site"):
                get(url)


class TestALanguage:
    def test_of_the_reader_changes_no_section(self, register, route, settings):
        settings.MIDDLEWARE = ["django.middleware.locale.LocaleMiddleware", *settings.MIDDLEWARE]
        hooks = {
            "items": lambda self: [f"{translation.get_language()}-{number}" for number in range(3)],
            "location": lambda self, item: f"/{translation.get_language()}/{item}/",
        }
        write_articles("a")
        register(
            spoken=declare(Sitemap, **hooks),
            routed=declare(model=Article, location=Route("translated", slug=F("slug"))),
            foreign=declare(ContribSitemap, **hooks),
            translated=declare(Sitemap, i18n=True, alternates=True, x_default=True, **hooks),
        )
        translated = i18n_patterns(path("t/<slug:slug>/", nothing, name="translated"))
        route(path("", include("django_sitemaps09.urls")), *translated)
        names = ("spoken", "routed", "foreign", "translated")
        urls = [INDEX, *(f"/sitemap-{name}-1.xml" for name in names)]
        english = [get(url, accept_language="en").content for url in urls]
        for language in ("de", "pt-br"):
            assert [get(url, accept_language=language).content for url in urls] == english
        spoken = [f"{BASE}/en/en-{item}/" for item in range(3)]
        assert [locations(content) for content in english[1:4]] == [spoken, [f"{BASE}/en/t/a/"], spoken]
        assert locations(english[4])[:3] == [f"{BASE}/{code}/en-0/" for code in ("en", "de", "pt-br")]

    def test_of_the_project_may_be_in_our_own_urls(self, register, route, settings):
        settings.MIDDLEWARE = ["django.middleware.locale.LocaleMiddleware", *settings.MIDDLEWARE]
        register(one=Numbers(1))
        route(*i18n_patterns(path("", include("django_sitemaps09.urls"))))
        assert found("/de/sitemap.xml") == ["/de/sitemap-one-1.xml.gz"]
        assert found("/de/sitemap-one-1.xml.gz") == ["/numbers/0/"]

    def test_and_a_time_zone_of_the_reader_change_no_day(self, register):
        write_articles("a")
        Article.objects.update(updated=datetime(2026, 1, 1, 23, 30, tzinfo=timezone.utc))
        register(daily=declare(Articles, lastmod=TruncDate("updated")))
        with django_timezone.override(timezone(timedelta(hours=-9))):
            for url in (INDEX, "/sitemap-daily-1.xml"):
                assert b"<lastmod>2026-01-02</lastmod>" in get(url).content


class TestRobotsTxt:
    RULES = "User-agent: *\nDisallow: /private/\n"

    @pytest.fixture
    def served(self, route):
        def served(**arguments):
            robots = path("robots.txt", views.robots_txt, arguments)
            route(path("", include("django_sitemaps09.urls")), robots)
            return get("/robots.txt").text

        return served

    @pytest.mark.parametrize("rules", [
        *(RULES, RULES.rstrip(), f"{RULES}\n\n", RULES.replace("\n", "\r\n"), gettext_lazy(RULES)),
        mark_safe("User-agent: *\nDisallow: /private/"),
        *(f"{RULES}Sitemap: /sitemap.xml", f"{RULES}Sitemap: {BASE}:8443/sitemap.xml"),
    ], ids=range(8))  # fmt: skip
    def test_has_the_rules_first(self, served, rules):
        assert served(rules=rules, sitemaps={}) == f"{str(rules).rstrip()}\n\nSitemap: {BASE}/sitemap.xml\n"

    def test_does_not_repeat_an_index_that_the_rules_list(self, served):
        lines = f"Sitemap: https://a.example/sitemap.xml\r\nsitemap : {BASE.upper()}:443/sitemap.xml  # own"
        for rules in (f"{self.RULES}Sitemap: {BASE}/sitemap.xml\n", f"{self.RULES}{lines}\n"):
            assert served(rules=rules) == rules

    @pytest.mark.parametrize("rules", [["User-agent: *"], b"User-agent: *", 7, lambda: ""])
    def test_names_rules_of_a_wrong_type(self, served, rules):
        named = rf"rules.*robots_txt.*string.*not .*{type(rules).__name__}"
        with pytest.raises(ImproperlyConfigured, match=named):
            served(rules=rules)


@pytest.mark.django_db(transaction=True)
def test_a_page_is_not_read_in_the_transaction_of_a_request(register, monkeypatch):
    """After a lost connection, it could not be read again."""
    transactions = []
    get_queryset = lambda _: transactions.append(connection.in_atomic_block) or Article.objects.all()  # noqa: E731
    monkeypatch.setitem(connection.settings_dict, "ATOMIC_REQUESTS", True)
    write_articles("a")
    register(articles=declare(Articles, get_queryset=get_queryset))
    assert ({get(url).status_code for url in (INDEX, *FORMS)}, {*transactions}) == ({200}, {False})


class TestTheIndex:
    def test_calls_a_section_for_each_request_if_it_can_be_called(self, register):
        counts = iter([1, 2, 3])
        register(one=lambda: Numbers(next(counts)))
        assert [len(found("/sitemap-one-1.xml")) for _ in range(3)] == [1, 2, 3]

    def test_and_robots_txt_have_the_script_prefix_in_their_links(self, register):
        register(one=Numbers(1))
        set_script_prefix("/app/")
        try:
            assert found() == ["/app/sitemap-one-1.xml.gz"]
            assert f"Sitemap: {BASE}/app/sitemap.xml".encode() in get("/robots.txt").content
        finally:
            clear_script_prefix()

    @pytest.mark.parametrize("view", [views.sitemap_index, views.index])
    def test_without_sections_is_logged_once_with_what_to_do(self, register, caplog, settings, view):
        settings.ROOT_URLCONF = (path("sitemap.xml", view, {"sitemaps": {}}),)
        assert (found(), caplog.messages) == ([], [])
        settings.ROOT_URLCONF = (path("sitemap.xml", view),)
        assert [found(), found()] == [[], []]
        [(logger, level, message)] = caplog.record_tuples
        assert (logger, level) == ("django_sitemaps09.views.responses", logging.WARNING)
        assert message == (
            'A sitemap index is empty, because there is no section. Write @register("...") above sitemap '
            "classes in an app's sitemaps.py, or set SITEMAPS09['SITEMAPS'] to the dotted path of a dict "
            "of sitemaps."
        )

    def test_has_the_newest_lastmod_of_each_page(self, register, configure):
        configure(MAX_URLS=1)
        write_articles("a", "b", "c", "d", "e")
        Article.objects.filter(slug="d").update(updated=None)
        Article.objects.filter(slug="e").update(updated=datetime.now(timezone.utc) + timedelta(days=1))
        register(articles=Articles)
        root = ElementTree.fromstring(get(INDEX).content)  # noqa: S314
        lastmods = [entry.findtext(f"{SPACE}lastmod") for entry in root]
        assert lastmods == [*(f"2026-01-0{day}T10:30:15Z" for day in (1, 2, 3)), None, None]

    def test_names_a_section_as_soon_as_it_has_urls(self, register):
        """Page 1 of a section with key ranges has all keys, so it exists even without rows."""
        register(empty=Articles, none=Numbers(0), one=Numbers(1))
        assert found() == ["/sitemap-one-1.xml.gz"]
        assert found("/sitemap-empty-1.xml") == found("/sitemap-empty-1.xml.gz") == []
        names = ("empty-2.xml", "none-1.xml", "none-1.xml.gz")
        assert {get(f"/sitemap-{name}").status_code for name in names} == {404}
        write_articles("a")
        assert found() == ["/sitemap-empty-1.xml.gz", "/sitemap-one-1.xml.gz"]

    def test_of_each_site_in_a_project_has_its_own_pages(self, route, register):
        register(registered=Numbers(1))
        urls = include("django_sitemaps09.urls")
        route(
            path("", urls),
            path("a/", include("django_sitemaps09.urls", namespace="a"), {"sitemaps": {"one": Numbers(2)}}),
            path("b/", include("django_sitemaps09.urls", namespace="b"), {"sitemaps": {"one": Numbers(3)}}),
            path("shop/", include(([path("maps/", urls, {"sitemaps": {"deep": Numbers(4)}})], "shop"))),
        )
        for prefix, name, count in (
            *(("", "registered", 1), ("/a", "one", 2), ("/b", "one", 3), ("/shop/maps", "deep", 4)),
        ):
            page = f"{prefix}/sitemap-{name}-1.xml"
            assert found(f"{prefix}/sitemap.xml") == [f"{page}.gz"]
            assert len(found(page)) == len(found(f"{page}.gz")) == count
        urls = ("/sitemap-one-1.xml", "/a/sitemap-registered-1.xml", "/b/sitemap-two-1.xml")
        assert {get(url).status_code for url in urls} == {404}


@pytest.mark.parametrize(
    "limit",
    ["3", " 3 ", b"3", 3.0, Decimal(3), type("Own", (), {"__int__": lambda self: 3})()],
    ids=range(6),
)
def test_a_limit_is_what_contribs_paginator_takes(register, tmp_path, limit):
    """A setting from an environment variable is a string, and `1e4` is a float."""
    declared = declare(Numbers, limit=limit)(7)
    assert declared.paginator.num_pages == 3
    register(numbers=declared)
    pages = [f"/sitemap-numbers-{number}.xml.gz" for number in (1, 2, 3)]
    assert (found(), [len(found(page)) for page in pages]) == (pages, [3, 3, 1])
    report = export(output=tmp_path, sitemaps={"numbers": declared})
    assert (report.failures, len(report.sections[0].files)) == ([], 3)


class TestASectionThatFails:
    def test_is_logged_and_affects_no_other_one(self, register, caplog):
        register(one=Numbers(1), broken=BROKEN, two=Numbers(1))
        assert found() == ["/sitemap-one-1.xml.gz", "/sitemap-two-1.xml.gz"]
        [logged] = [each for each in caplog.records if each.name.startswith("django_sitemaps09.views")]
        text = r"Section 'broken' is missing from the index: RuntimeError: \x1b[31mno items\nat all"
        assert logged.getMessage() == text
        assert (logged.name, logged.exc_info is None) == ("django_sitemaps09.views.indexes", False)
        # Without anything else to name, the index fails.
        register(broken=BROKEN, empty=Numbers(0))
        with pytest.raises(RuntimeError, match="no items"):
            get(INDEX)

    @pytest.mark.parametrize(("message", "reason"), [
        ('relation "gone" does not exist', "a table is missing, run manage.py migrate: relation"),
        ('missing FROM-clause entry for table "gone"\nLINE 1: SELECT', "missing FROM-clause entry"),
    ])  # fmt: skip
    def test_for_want_of_a_table_is_a_503_for_the_index(self, register, caplog, message, reason):
        """An index without the section would say that its pages are gone.

        PostgreSQL has one code for a missing table, and for a mistake in a query.
        """
        error = ProgrammingError(message)
        error.__cause__ = type("DriverError", (Exception,), {"sqlstate": "42P01"})()
        register(one=Numbers(1), gone=raising(error))
        assert get(INDEX).status_code == 503
        assert f"ProgrammingError: {reason}" in caplog.text

    def test_by_its_limit_affects_no_other_section(self, register):
        """With contrib's class, such a limit fails only requests for that section."""
        limits = ("sixty", 60.5, None, 0, float("inf"), True)
        wrong = {f"wrong-{n}": declare(Numbers, limit=limit)(1) for n, limit in enumerate(limits)}
        register(**wrong, right=Numbers(1))
        assert found() == ["/sitemap-right-1.xml.gz"]

    @pytest.mark.django_db(transaction=True)
    @pytest.mark.parametrize("atomic", [False, True])
    def test_by_its_queries_is_listed_with_its_last_pages(self, register, monkeypatch, atomic):
        """On PostgreSQL, a failed query makes all later queries in the transaction fail."""
        wrong = declare(Articles, queryset=Article.objects.extra(where=["no_such_column = 1"]))
        monkeypatch.setitem(connection.settings_dict, "ATOMIC_REQUESTS", atomic)
        write_articles("a")
        register(wrong=wrong, right=Articles, also_wrong=wrong)
        unknown = get(INDEX)
        assert (unknown.status_code, unknown.headers["Retry-After"]) == (503, "30")
        register(wrong=Articles, right=Articles, also_wrong=Articles)
        complete = get(INDEX)
        register(wrong=wrong, right=Articles, also_wrong=wrong)
        set_seconds(monkeypatch, listing, indexes)(indexes.AGE)
        failing = get(INDEX)
        assert (failing.content, failing["Cache-Control"]) == (complete.content, "no-store")
        assert ("Cache-Control" in complete.headers, "ETag" in failing.headers) == (False, False)

    def test_is_missing_if_the_cache_does_not_know_its_pages(self, register):
        register(one=Numbers(1), other=Numbers(1))
        get(INDEX)
        register(one=Numbers(1), other=BROKEN)
        assert len(found()) == 2
        cache.clear()
        # This process knows them, too.
        assert len(found()) == 2
        listing._kept.clear()
        response = get(INDEX)
        assert response.content.count(b"<loc>") == 1
        assert (response["Cache-Control"], "ETag" in response.headers) == ("no-store", False)


class TestAPage:
    def test_leaves_out_and_logs_what_cannot_be_listed(self, register, caplog):
        register(bad=Bad(5, bad=[1, 2]), worse=Bad(5_000, bad=range(5_000)))
        with caplog.at_level(logging.WARNING, "django_sitemaps09"):
            page = get("/sitemap-bad-1.xml")
        assert locations(page.content) == [f"{BASE}/numbers/{number}/" for number in (0, 3, 4)]
        assert page.content.count(b"<priority>") == 2
        logged = [message.split(": ")[:2] for message in sorted(caplog.messages)]
        items = ("2, location", "3, location", "4, priority")
        assert logged == [["Section 'bad', page 1", f"skipped item {item}"] for item in items]
        # With nothing but bad items, a page is logged in a few lines.
        caplog.clear()
        assert get("/sitemap-worse-1.xml").content.endswith(b"</urlset>\n")
        logged = [message for message in caplog.messages if "skipped" in message]
        assert (len(logged), "4998 more" in logged[3]) == (4, True)
        assert found() == ["/sitemap-bad-1.xml.gz", "/sitemap-worse-1.xml.gz"]
        assert found("/sitemap-worse-1.xml") == []

    def test_of_too_many_urls_is_served_whole_and_logged_with_advice(self, register, configure, caplog):
        """Only an export can split such a page. Live, it is served up to the limits of the protocol."""
        register(foreign=Foreign)
        for limit in (4, 5):
            configure(MAX_URLS=limit)
            caplog.clear()
            assert [len(found(page)) for page in found()] == [5, 2]
            logged = [message for message in caplog.messages if "limit" in message]
            assert len(logged) == (limit == 4)
            for part in ("Section 'foreign', page 1", "5 URLs", "Set a lower `limit`"):
                assert all(part in message for message in logged)

    @pytest.mark.parametrize(("most", "whole"), [(60_000, False), (MAX_BYTES, True)])
    def test_of_too_many_bytes_is_cut_where_the_protocol_says(
        self, register, configure, monkeypatch, caplog, most, whole
    ):
        # Later entries are longer than the first ones.
        location = lambda self, item: f"/numbers/{item}/{'x' * (item // 200 * 500)}"  # noqa: E731
        configure(MAX_BYTES=20_000)
        monkeypatch.setattr("django_sitemaps09.rows.source_base.MAX_BYTES", most)
        register(growing=declare(Numbers, location=location)(500))
        pages = [gzip.decompress(get(page).content) for page in found()]
        served = [name for page in pages for name in locations(page)]
        assert (max(map(len, pages)) <= most, "Set a lower `limit`" in caplog.text) == (True, True)
        assert (len(served) == 500, "only the first" not in caplog.text) == (whole, whole)

    def test_of_huge_captions_takes_little_memory(self, register):
        """Without a limit, 3,000 captions of 100 kB took 712 MB."""
        images = lambda self, item: [Image(f"/{item}.jpg", caption=f"{item}{'&' * 100_000}")]  # noqa: E731
        register(captioned=declare(Numbers, images=images)(3_000))
        with traced() as memory:
            response = get("/sitemap-captioned-1.xml")
        assert (len(locations(response.content)) > 2_800, memory.peak < 30_000_000) == (True, True)


INDEXES = ["/sitemap.xml", "/sitemap-2.xml", "/sitemap-3.xml"]
PAGES = [f"/sitemap-{name}.xml.gz" for name in ("a-1", "a-2", "a-3", "a-4", "b-1", "b-2", "b-3")]
OTHER_HOST = "other.example.com"
OTHER_URLS = (
    path("", include("django_sitemaps09.urls"), {"sitemaps": {"b": Numbers(1)}}),
    path("robots.txt", views.robots_txt),
)


def urlconf_by_host(respond):
    def with_urlconf(request):
        if request.get_host() == OTHER_HOST:
            request.urlconf = OTHER_URLS
        return respond(request)

    return with_urlconf


@pytest.fixture
def three_pages_in_an_index(configure, monkeypatch, register):
    configure(MAX_URLS=1)
    limit_indexes(monkeypatch, 3)
    register(a=Numbers(4), b=Numbers(3))


def announced(**headers):
    lines = get("/robots.txt", **headers).text.splitlines()
    return [line.removeprefix(f"Sitemap: {BASE}") for line in lines if line.startswith("Sitemap: ")]


several = pytest.mark.usefixtures("three_pages_in_an_index")


@several
class TestSeveralIndexes:
    def test_list_each_page_once_in_order_and_have_etags_of_their_own_and_others_are_404(self):
        assert [found(name) for name in INDEXES] == [PAGES[:3], PAGES[3:6], PAGES[6:]]
        etags = {name: get(name)["ETag"] for name in INDEXES}
        assert len({*etags.values()}) == 3
        assert [get(name, If_None_Match=etag).status_code for name, etag in etags.items()] == [304] * 3
        for number in (1, 4, 99_999_999, 100_000_000, "02", "0"):
            assert get(f"/sitemap-{number}.xml").status_code == 404

    @pytest.mark.parametrize(("pages", "names"), [(0, 1), (1, 1), (3, 1), (4, 2), (6, 2), (7, 3)])
    def test_are_as_few_as_possible(self, register, pages, names):
        register(a=Numbers(pages))
        assert [get(name).status_code for name in INDEXES] == [200] * names + [404] * (3 - names)

    @pytest.mark.parametrize(("options", "most"), [({}, 0), ({"CASCADE": True}, 0), ({}, 3)])
    def test_are_those_of_an_export(self, folder, configure, monkeypatch, options, most):
        if most:
            # Limit the bytes of an index instead of its pages.
            elements = f"<loc>{BASE}/sitemap-a-1.xml.gz</loc><lastmod>2026-11-27T10:30:00Z</lastmod>"
            size = len(index_document([])) + most * len(f"<sitemap>{elements}</sitemap>\n")
            limit_indexes(monkeypatch, 50_000, size)
        configure(ROOT=folder, **options)
        export()
        files = {f"/{file.name}": locations(file.read_bytes()) for file in folder.glob("sitemap*.xml")}
        assert len(files) == 3 + len(options)
        assert {name: locations(get(name).content) for name in files} == files

    def test_of_a_cascade_are_listed_by_the_first_if_there_are_several(self, configure, register):
        configure(CASCADE=True)
        assert found() == ["/sitemap-1.xml", "/sitemap-2.xml", "/sitemap-3.xml"]
        assert [page for name in found() for page in found(name)] == PAGES
        assert get("/sitemap-4.xml").status_code == 404
        register(a=Numbers(3))
        assert (found(), get("/sitemap-1.xml").status_code) == (PAGES[:3], 404)

    def test_of_rows_are_read_without_a_query_once_their_bounds_are_known(self, register):
        write_keys(*range(5))
        register(articles=declare(Articles, limit=1))
        pages = [page for name in INDEXES for page in (found(name) if get(name).status_code == 200 else [])]
        assert len(pages) == len({*pages}) >= 5
        assert (queries("/sitemap-2.xml"), found("/sitemap-2.xml")) == (0, pages[3:6])

    def test_are_in_the_namespace_of_the_request(self, route, configure):
        configure(CASCADE=True)
        route(path("maps/", include("django_sitemaps09.urls", namespace="shop")))
        assert found("/maps/sitemap.xml")[1] == "/maps/sitemap-2.xml"
        assert reverse("shop:numbered-index", kwargs={"number": 2}) == "/maps/sitemap-2.xml"

    def test_are_not_404_if_a_section_fails_that_could_fill_them(self, register):
        register(a=Numbers(4), broken=BROKEN)
        assert [len(found(name)) for name in INDEXES[:2]] == [3, 1]
        with pytest.raises(RuntimeError):
            get("/sitemap-3.xml")


@several
class TestTheirRobotsTxt:
    def test_lists_the_further_indexes_as_soon_as_one_was_served(self, register, configure):
        assert announced() == ["/sitemap.xml"]
        for sections, names in (
            ({"a": Numbers(4), "b": Numbers(3)}, INDEXES),
            ({"a": Numbers(4), "broken": BROKEN}, INDEXES),
            ({"a": Numbers(1)}, INDEXES[:1]),
        ):
            register(**sections)
            get("/sitemap.xml")
            register(a=BROKEN)
            assert (queries("/robots.txt"), announced()) == (0, names)
        configure(CASCADE=True)
        register(a=Numbers(7))
        get("/sitemap.xml")
        assert announced() == ["/sitemap.xml"]

    def test_lists_the_indexes_of_its_own_namespace_and_view(self, route):
        urls = "django_sitemaps09.urls"
        sitemaps = [
            path("a/", include(urls, namespace="a")),
            path("b/", include(urls, namespace="b"), {"sitemaps": {"b": Numbers(1)}}),
            path("mine.xml", views.sitemap_index, name="mine"),
        ]
        route(*sitemaps, path("robots.txt", views.robots_txt, {"sitemap_url_name": "a:index"}))
        for served, names in (("/b/sitemap.xml", INDEXES[:1]), ("/a/sitemap.xml", INDEXES)):
            get(served)
            assert announced() == [f"/a{name}" for name in names]
        robots = path("robots.txt", views.robots_txt, {"sitemap_url_name": "mine", "rules": None})
        route(*sitemaps, path("", include(urls)), robots)
        get("/mine.xml")
        assert announced() == ["/mine.xml"]

    @pytest.mark.parametrize("value", ["x", None, [3], 0, -1, 10**12])
    def test_ignores_a_foreign_value_in_the_cache(self, monkeypatch, value):
        get("/sitemap.xml")
        monkeypatch.setattr(caching.default, "get", lambda name: value)
        assert announced() == ["/sitemap.xml"]

    @pytest.mark.parametrize("cascade", [False, True])
    def test_lists_the_exported_indexes_that_are_served(self, folder, configure, register, cascade):
        configure(SERVE_EXPORTED=True, ROOT=folder, CASCADE=cascade)
        export()
        exported._exports.clear()
        cache.clear()
        register(a=Numbers(1))
        assert announced() == (["/sitemap.xml"] if cascade else INDEXES)
        for name in announced():
            assert get(name).body == (folder / name[1:]).read_bytes()
        (folder / ".sitemaps09" / "manifest.json").write_text("{")
        exported._exports.clear()
        assert announced() == ["/sitemap.xml"]

    def test_lists_the_live_indexes_if_exported_ones_have_another_path(self, folder, configure, register):
        configure(SERVE_EXPORTED=True, ROOT=folder, FILES_URL=f"{BASE}/files/")
        register(a=Numbers(1))
        export()
        exported._exports.clear()
        register(a=Numbers(7))
        get("/sitemap.xml")
        assert announced() == INDEXES

    def test_lists_the_indexes_of_the_urlconf_of_its_host(self, settings):
        settings.MIDDLEWARE = [f"{__name__}.urlconf_by_host"]
        get("/sitemap.xml")
        get("/sitemap.xml", Host=OTHER_HOST)
        assert (len(announced(Host=OTHER_HOST)), announced()) == (1, INDEXES)
