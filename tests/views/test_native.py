"""The native views over HTTP: missing pages, the host, the listing, languages, robots.txt."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime, timedelta, timezone
from typing import Any
from urllib.robotparser import RobotFileParser

import pytest
from django.conf.urls.i18n import i18n_patterns
from django.contrib.sitemaps import Sitemap as ContribSitemap
from django.contrib.sites.models import Site
from django.core.cache import cache
from django.core.cache.backends.locmem import LocMemCache
from django.core.exceptions import ImproperlyConfigured
from django.db import connection
from django.db.models import F
from django.db.models.functions import TruncDate
from django.http import HttpRequest, HttpResponse
from django.test import Client
from django.urls import include, path
from django.utils import timezone as django_timezone, translation
from django.utils.safestring import mark_safe
from django.utils.translation import gettext_lazy

from django_sitemaps09 import ModelSitemap, Route, views
from tests.models import Article
from tests.support.configuration import BASE, Configure, Register, UseUrls
from tests.support.native_views import (
    Articles,
    Foreign,
    found,
    get,
    listed,
    locations,
    nothing,
    write_articles,
)
from tests.support.sections import Numbers

pytestmark = [pytest.mark.django_db, pytest.mark.sitemaps09]
URLS = ("/sitemap.xml", "/sitemap-one-1.xml", "/sitemap-one-1.xml.gz", "/robots.txt")


class TestWhatIsNotFound:
    @pytest.fixture(autouse=True)
    def _rows(self, register: Register) -> None:
        write_articles("a", "b")
        register(articles=Articles, numbers=Numbers(2), foreign=Foreign)

    @pytest.mark.parametrize("end", [".xml", ".xml.gz", ".txt"])
    @pytest.mark.parametrize("name", ["articles", "numbers", "foreign"])
    def test_is_a_page_that_no_map_has(self, name: str, end: str) -> None:
        for number in ("0", "-1", "01", "3", "9" * 9, "9" * 10, "1" * 300, "1e3", "²", "१", "", "+1"):
            assert get(f"/sitemap-{name}-{number}{end}").status_code == 404, number

    @pytest.mark.parametrize(
        "name",
        [
            *(
                *("-none-1.xml", "-Articles-1.xml", "-index-1.xml", "--1.xml", "-articles.xml", "xxml"),
                ".xml/",
            ),
            *("-articles-1.xml.gz.gz", "-articles-1.txt.gz", "-articles-1.txt.txt", "-articles-1.XML"),
            *(
                *("-articles-1xxml", "-art%2Ficles-1.xml", ".xml%0A", "-articles-1.xml%0A"),
                "-articles-1%0A.xml",
            ),
            *("-articles%0A-1.xml", "-articles-1.xml.gz%0A", "-articles-1.xml%00"),
        ],
    )
    def test_is_a_name_that_does_not_exist_without_any_query(
        self, name: str, django_assert_num_queries: Any
    ) -> None:
        with django_assert_num_queries(0):
            assert get(f"/sitemap{name}").status_code == 404
            assert get(f"/x/sitemap{name}").status_code == 404

    def test_is_a_page_of_a_list_without_a_look_at_all_its_items(self, register: Register) -> None:
        """Checking them took as much time as rendering all of them."""
        asked: dict[str, int] = {"items": 0, "location": 0}

        class Counted(Numbers):
            def items(self) -> Sequence[int]:
                asked["items"] += 1
                return super().items()

            def location(self, item: int) -> str:
                asked["location"] += 1
                return super().location(item)

        register(counted=Counted(5_000))
        for end in (".xml", ".xml.gz", ".txt"):
            asked.update(items=0, location=0)
            assert get(f"/sitemap-counted-2{end}").status_code == 404
            assert asked["items"] == 1
            assert asked["location"] <= 200


class TestTheHost:
    @pytest.fixture(autouse=True)
    def _rows(self, register: Register, settings: Any) -> Iterator[None]:
        register(one=Numbers(1))
        yield
        Site.objects.clear_cache()

    @staticmethod
    def use_site(settings: Any, domain: str) -> None:
        settings.SITEMAPS09 = {}
        Site.objects.update_or_create(pk=1, defaults={"domain": domain, "name": "x"})
        Site.objects.clear_cache()

    @staticmethod
    def hosts(**request: Any) -> set[str]:
        """Return all bases in the three kinds of documents."""
        named = set()
        for url in ("/sitemap.xml", "/sitemap-one-1.xml", "/robots.txt"):
            response = Client().get(url, **request)
            assert response.status_code == 200
            text = response.content.decode()
            for word in text.replace("<", " ").replace(">", " ").split():
                if "://" in word and "sitemaps.org" not in word and "xmlns" not in word:
                    named.add("/".join(word.split("/")[:3]))
        return named

    def test_is_that_of_base_url_whatever_the_request_says(self, settings: Any) -> None:
        settings.ALLOWED_HOSTS = ["www.example.com"]
        spoofed = {"host": "evil.example", "x-forwarded-host": "evil.example", "x-forwarded-proto": "ftp"}
        assert self.hosts(headers=spoofed) == {BASE}
        assert self.hosts(headers={"host": "a b<c>"}) == {BASE}

    def test_is_that_of_the_site_with_the_scheme_of_the_request(self, settings: Any) -> None:
        self.use_site(settings, "site.example.org")
        assert self.hosts(headers={"host": "evil.example"}) == {"http://site.example.org"}
        assert self.hosts(headers={"host": "evil.example"}, secure=True) == {"https://site.example.org"}

    def test_is_that_of_the_request_without_sites_if_it_is_allowed(
        self, client_chooses_host: Configure
    ) -> None:
        client_chooses_host(".example.org")
        hosts = self.hosts(headers={"host": "shop.example.org:8000"}, secure=True)
        assert hosts == {"https://shop.example.org:8000"}
        for url in URLS:
            response = get(url, host="evil.example")
            assert response.status_code == 400
            assert b"evil.example/" not in response.content

    @pytest.mark.parametrize(
        ("domain", "host", "expected"),
        [
            ("bücher.example", "xn--bcher-kva.example", "xn--bcher-kva.example"),
            ("bücher.example", "xn--bcher-kva.example:8443", "xn--bcher-kva.example"),
            ("пример.рф:8443", "xn--e1afmkfd.xn--p1ai:8443", "xn--e1afmkfd.xn--p1ai:8443"),
        ],
    )
    def test_is_that_of_the_site_that_is_stored_in_unicode(
        self, settings: Any, domain: str, host: str, expected: str
    ) -> None:
        del settings.SITE_ID
        settings.ALLOWED_HOSTS = ["*"]
        self.use_site(settings, domain)
        assert self.hosts(headers={"host": host}) == {f"http://{expected}"}

    @pytest.mark.parametrize("domain", ["a\nDisallow: /", "a b", "user@example.org", "example.org/x", ""])
    def test_is_refused_if_it_is_invalid(self, settings: Any, domain: str) -> None:
        self.use_site(settings, domain)
        for url in URLS:
            with pytest.raises(ImproperlyConfigured, match="current site"):
                get(url)


class JsonCache(LocMemCache):
    """A cache that stores values as JSON, so tuples are returned as lists."""

    def set(self, key: Any, value: Any, *args: Any, **kwargs: Any) -> None:
        super().set(key, json.dumps(value), *args, **kwargs)

    def add(self, key: Any, value: Any, *args: Any, **kwargs: Any) -> bool:
        return super().add(key, json.dumps(value), *args, **kwargs)

    def get(self, key: Any, *args: Any, **kwargs: Any) -> Any:
        kept = super().get(key, *args, **kwargs)
        return kept if kept is None else json.loads(kept)


class TestTheListing:
    @pytest.fixture(autouse=True)
    def _rows(self, register: Register, configure: Configure) -> None:
        configure(MAX_URLS=3)
        write_articles("a", "b", "c", "d", "e")
        register(articles=Articles)

    @pytest.mark.parametrize("backend", ["django.core.cache.backends.locmem.LocMemCache", "JsonCache"])
    def test_is_made_once_for_all_readers_in_any_cache(
        self, backend: str, settings: Any, django_assert_num_queries: Any
    ) -> None:
        settings.CACHES = {"default": {"BACKEND": backend if "." in backend else f"{__name__}.{backend}"}}
        index = get("/sitemap.xml").content
        with django_assert_num_queries(0):
            assert get("/sitemap.xml").content == index
        assert listed() == [f"/articles/{slug}/" for slug in "abcde"]

    def test_is_not_that_of_another_section_or_limit(
        self, register: Register, configure: Configure
    ) -> None:
        class Some(Articles):
            queryset = Article.objects.exclude(slug="a")

        register(articles=Articles, some=Some)
        both = [*(f"/articles/{slug}/" for slug in "abcde"), *(f"/articles/{slug}/" for slug in "bcde")]
        for limit, pages in ((3, 4), (1, 9), (5, 2)):
            configure(MAX_URLS=limit)
            # Two versions of a project do not count pages in turn: another limit waits for the next look.
            before = found() if limit != 3 else None
            cache.clear()
            assert listed() == both
            assert len(found()) == pages
            assert before is None or len(before) != pages


class TestALanguage:
    MIDDLEWARE = ("django.middleware.locale.LocaleMiddleware",)

    @pytest.fixture(autouse=True)
    def _negotiated(self, settings: Any) -> None:
        settings.MIDDLEWARE = [*self.MIDDLEWARE, *settings.MIDDLEWARE]

    def test_of_the_reader_changes_no_section(self, register: Register, route: UseUrls) -> None:
        class Spoken(Numbers):
            def items(self) -> list[str]:
                return [f"{translation.get_language()}-{number}" for number in range(3)]

            def location(self, item: str) -> str:
                return f"/{translation.get_language()}/{item}/"

        class Translated(Spoken):
            i18n = alternates = x_default = True

        class Routed(ModelSitemap[Article]):
            model = Article
            location = Route("translated", slug=F("slug"))

        class SpokenForeign(ContribSitemap):
            items, location = Spoken.items, Spoken.location

        write_articles("a")
        register(spoken=Spoken(0), routed=Routed, foreign=SpokenForeign, translated=Translated(0))
        route(
            path("", include("django_sitemaps09.urls")),
            *i18n_patterns(path("t/<slug:slug>/", nothing, name="translated")),
        )
        names = ("spoken", "routed", "foreign", "translated")
        urls = ["/sitemap.xml", *(f"/sitemap-{name}-1.xml" for name in names)]
        english = [get(url, accept_language="en").content for url in urls]
        for language in ("de", "pt-br"):
            assert [get(url, accept_language=language).content for url in urls] == english
        assert b"/en/en-2/" in english[1]
        assert b"/en/t/a/" in english[2]
        assert b"/en/en-2/" in english[3]
        assert locations(english[4]) == [
            f"{BASE}/{language}/en-{item}/" for item in range(3) for language in ("en", "de", "pt-br")
        ]
        assert english[4].count(b'hreflang="x-default"') == 9

    def test_of_the_project_may_be_in_our_own_urls(self, register: Register, route: UseUrls) -> None:
        register(one=Numbers(1))
        route(*i18n_patterns(path("", include("django_sitemaps09.urls"))))
        assert found("/de/sitemap.xml") == ["/de/sitemap-one-1.xml.gz"]
        assert found("/de/sitemap-one-1.xml.gz") == ["/numbers/0/"]

    def test_a_zone_of_the_reader_changes_nothing_either(self, register: Register, settings: Any) -> None:
        class Daily(Articles):
            lastmod = TruncDate("updated")

        write_articles("a")
        Article.objects.update(updated=datetime(2026, 1, 1, 23, 30, tzinfo=timezone.utc))
        register(daily=Daily)
        settings.MIDDLEWARE = [f"{__name__}.far_west"]
        for url in ("/sitemap.xml", "/sitemap-daily-1.xml"):
            assert b"<lastmod>2026-01-02</lastmod>" in get(url).content


def far_west(get_response: Callable[[HttpRequest], HttpResponse]) -> Callable[[HttpRequest], HttpResponse]:
    """Middleware that activates a time zone, as in many projects."""

    def middleware(request: HttpRequest) -> HttpResponse:
        with django_timezone.override(timezone(timedelta(hours=-9))):
            return get_response(request)

    return middleware


class TestRobotsTxt:
    RULES = "User-agent: *\nDisallow: /private/\n"

    @pytest.fixture
    def served(self, route: UseUrls) -> Callable[..., str]:
        """Return a function that returns robots.txt as the view makes it with these arguments."""

        def served(**arguments: Any) -> str:
            route(
                path("", include("django_sitemaps09.urls")),
                path("shop/", include("django_sitemaps09.urls", namespace="shop")),
                path("robots.txt", views.robots_txt, arguments),
            )
            return get("/robots.txt").content.decode()

        return served

    def test_names_the_index_and_allows_all_without_rules(self) -> None:
        response = get("/robots.txt")
        assert response.content.decode() == f"Sitemap: {BASE}/sitemap.xml\n"
        assert response.headers["Content-Type"] == "text/plain; charset=utf-8"

    @pytest.mark.parametrize(
        "rules",
        [
            *(RULES, RULES.rstrip(), f"{RULES}\n\n", RULES.replace("\n", "\r\n"), gettext_lazy(RULES)),
            mark_safe("User-agent: *\nDisallow: /private/"),
            *(f"{RULES}Sitemap: /sitemap.xml", f"{RULES}Sitemap: {BASE}:8443/sitemap.xml"),
        ],
        ids=range(8),
    )
    def test_has_the_rules_first(self, served: Callable[..., str], rules: Any) -> None:
        content = served(rules=rules, sitemaps={})
        assert content == f"{str(rules).rstrip()}\n\nSitemap: {BASE}/sitemap.xml\n"
        parser = RobotFileParser()
        parser.parse(content.splitlines())
        assert f"{BASE}/sitemap.xml" in (parser.site_maps() or [])
        assert not parser.can_fetch("any", f"{BASE}/private/")
        assert parser.can_fetch("any", f"{BASE}/sitemap.xml")

    @pytest.mark.parametrize(
        "line",
        [
            f"Sitemap: {BASE}/sitemap.xml",
            f"sitemap : {BASE.upper()}:443/sitemap.xml  # by hand",
            f"Sitemap: https://elsewhere.example/sitemap.xml\r\nSITEMAP:{BASE}/sitemap.xml",
        ],
    )
    def test_does_not_repeat_an_index_that_the_rules_list(
        self, served: Callable[..., str], line: str
    ) -> None:
        rules = f"{self.RULES}{line}\n"
        assert served(rules=rules) == rules

    @pytest.mark.parametrize("rules", [["User-agent: *"], b"User-agent: *", 7, lambda: ""])
    def test_names_rules_of_a_wrong_type(self, served: Callable[..., str], rules: Any) -> None:
        kind = type(rules).__name__
        with pytest.raises(ImproperlyConfigured, match=rf"rules.*robots_txt.*string.*not .*{kind}"):
            served(rules=rules)

    def test_names_the_index_that_it_is_told_of(self, served: Callable[..., str]) -> None:
        assert served(sitemap_url_name="shop:index", rules=None) == f"Sitemap: {BASE}/shop/sitemap.xml\n"


@pytest.mark.django_db(transaction=True)
def test_a_page_is_not_read_in_the_transaction_of_a_request(
    register: Register, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After a lost connection, it could not be read again."""
    transactions = []

    class Recording(Articles):
        def get_queryset(self) -> Any:
            transactions.append(connection.in_atomic_block)
            return Article.objects.all()

    monkeypatch.setitem(connection.settings_dict, "ATOMIC_REQUESTS", True)
    write_articles("a")
    register(articles=Recording)
    for url in ("/sitemap.xml", "/sitemap-articles-1.xml", "/sitemap-articles-1.xml.gz"):
        assert get(url).status_code == 200
    assert set(transactions) == {False}
