"""Allowed hosts: which URLs a section may list, and how a project's values are converted to URLs."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

import pytest
from django.contrib.sitemaps import Sitemap as ContribSitemap
from django.contrib.sites.models import Site
from django.core.exceptions import ImproperlyConfigured
from django.db import OperationalError
from django.db.models import F, Value
from django.http import HttpRequest, HttpResponse
from django.test import RequestFactory, override_settings
from django.urls import include, path, reverse
from hypothesis import example, given, strategies as st

from django_sitemaps09 import Route, Sitemap, sources, views
from django_sitemaps09.protocol import MAX_LOCATION, Base
from django_sitemaps09.sitemaps.declared import read
from tests.compat import projects
from tests.models import Article
from tests.support.factories import ArticleFactory
from tests.support.sources import BASE, LIMITS, compiled, declaration, errors, listing, locations, rendered

ROOM = MAX_LOCATION - len(str(BASE))


def page(request: HttpRequest, **kwargs: object) -> HttpResponse:
    """View of all locations."""
    return HttpResponse()


urlpatterns = [path("", include("django_sitemaps09.urls")), path("<path:slug>", page, name="page")]


def done(urls: Any, base: Base = BASE, **attributes: Any) -> list[Any]:
    """Return the pages of a section with these locations."""
    section = listing(urls, location=lambda self, item: item, **attributes)
    return rendered(sources.source("things", section, base, LIMITS))


def admitted(url: Any, base: Base = BASE, **attributes: Any) -> str | None:
    """Return what a section lists for a location. A skipped location must be reported once."""
    pages = done([url], base, **attributes)
    found, skipped = locations(pages), errors(pages)
    assert len(found) + len(skipped) == 1
    assert [error[:2] for error in skipped] in ([], [("1", "location")])
    return found[0] if found else None


# Sections that are read through `get_urls()`.


class Opaque(ContribSitemap):  # type: ignore[type-arg]
    """Section that was written for contrib."""

    def items(self) -> list[str]:
        return ["/a/", ".evil.com/", "@evil.com/", ":8443/", "b/", "?c"]

    def location(self, item: str) -> str:
        return item


class Overriding(Sitemap[str]):
    """A subclass of our class that overrides contrib's internals."""

    items = Opaque.items
    location = Opaque.location

    def get_urls(self, *args: Any, **kwargs: Any) -> list[dict[str, Any]]:
        return super().get_urls(*args, **kwargs)


class Elsewhere(Opaque):
    def get_domain(self, site: Any = None) -> str:
        return "cdn.example.net"


class Declared(Opaque):
    hosts = ["blog.example.com"]

    def get_urls(self, *args: Any, **kwargs: Any) -> list[dict[str, Any]]:
        return [{"location": f"https://{host}/a/"} for host in ("blog.example.com", "evil.example.com")]


@pytest.mark.usefixtures("cached_site")
@pytest.mark.parametrize(
    ("sitemap", "urls"),
    [
        (Opaque, [f"{BASE}/a/", f"{BASE}/?c"]),
        (Overriding, [f"{BASE}/a/", f"{BASE}/?c"]),
        (Elsewhere, ["https://cdn.example.net/a/", "https://cdn.example.net/?c"]),
        (Declared, ["https://blog.example.com/a/"]),
    ],
)
def test_a_location_of_get_urls_is_checked_like_any_other(sitemap: Any, urls: list[str]) -> None:
    """Contrib appends a location to the host, so `.evil.com/` becomes part of the host."""
    pages = rendered(sources.source("things", sitemap, BASE, LIMITS))
    assert locations(pages) == urls
    total = len(Opaque().items()) if sitemap is not Declared else 2
    assert [error[1] for error in errors(pages)] == ["location"] * (total - len(urls))


# Which hosts.

SCHEMES = ["http", "https"]
NAMES = ["www.example.com", "shop.example.com", "example.com", "xn--bcher-kva.example"]
PORTS = ["", ":80", ":443", ":8443"]
origins = st.tuples(st.sampled_from(SCHEMES), st.sampled_from(NAMES), st.sampled_from(PORTS))


def written(origin: tuple[str, str, str]) -> str:
    scheme, name, port = origin
    return f"{scheme}://{name}{port}"


def with_port(origin: tuple[str, str, str]) -> tuple[str, str, str]:
    """Return an origin as browsers compare it."""
    scheme, name, port = origin
    return scheme, name, port or {"http": ":80", "https": ":443"}[scheme]


SHOP = (
    [
        *("https://shop.example.com/a", "https://shop.example.com:443/a"),
        *("https://SHOP.EXAMPLE.COM/a", "HTTPS://shop.example.com/a"),
    ],
    ["https://shop.example.com/a", "https://shop.example.com:443/a"],
)
BOOKS = (
    [
        *("https://bücher.example/ü", "https://BÜCHER.EXAMPLE/ü", "https://bu\u0308cher.example/ü"),
        *("https://bücher。example/%C3%BC", "https://xn--bcher-kva.example/%C3%BC"),
    ],
    ["https://xn--bcher-kva.example/%C3%BC"],
)
ADDRESS = (["https://[2001:db8::1]/[a]"], ["https://[2001:db8::1]/%5Ba%5D"])
#: An allowed host, URLs on it, and how they can be written.
SPELLINGS = {
    "https://shop.example.com": SHOP,
    "HTTPS://SHOP.Example.COM/": SHOP,
    "https://shop.example.com:443": SHOP,
    "Shop.Example.com": SHOP,
    "shop.example.com:443": SHOP,
    "bücher.example": BOOKS,
    "BÜCHER.example": BOOKS,
    "xn--bcher-kva.example": BOOKS,
    "[2001:DB8::1]": ADDRESS,
    "https://[2001:db8::1]:443/": ADDRESS,
}


class TestHosts:
    @given(st.lists(origins, max_size=4), origins, st.sampled_from([list, tuple, set, frozenset]))
    def test_admit_exactly_their_schemes_names_and_ports(
        self, hosts: list[Any], url: tuple[str, str, str], kind: Any
    ) -> None:
        found = admitted(f"{written(url)}/a", hosts=kind(map(written, hosts)))
        is_one = with_port(url) in {with_port(host) for host in [*hosts, ("https", "www.example.com", "")]}
        assert found == (f"{written(url)}/a" if is_one else None)

    @pytest.mark.parametrize("scheme", SCHEMES)
    @given(host=st.tuples(st.sampled_from(NAMES), st.sampled_from(PORTS)), url=origins)
    def test_without_a_scheme_take_the_bases(self, scheme: str, host: Any, url: Any) -> None:
        base = Base(scheme, "base.example")
        found = admitted(f"{written(url)}/a", base, hosts=["".join(host)])
        assert (found is not None) == (with_port(url) == with_port((scheme, *host)))

    @pytest.mark.parametrize("host", SPELLINGS)
    def test_are_the_same_in_any_spelling_and_written_as_dns_has_them(self, host: str) -> None:
        urls, expected = SPELLINGS[host]
        for url in urls:
            assert admitted(url, hosts=[host]) in expected
            assert admitted(url) is None

    @pytest.mark.parametrize(
        "url",
        [
            *("https://www.example.com.evil.example/a", "https://evilwww.example.com/a"),
            *("https://www.example.comevil/a", "https://www.example.com:8443/a"),
            *("https://www.example.com:80/a", "http://www.example.com/a", "http://www.example.com:443/a"),
            *("https://example.com/a", "https://a.www.example.com/a", "https://www.example.com./a"),
            *("https://evil.example/https://www.example.com/", "https://[2001:db8::2]/"),
            *("https://evil.example?https://www.example.com/", "https://www.example.com@evil.example/"),
            *("https://www.example.com%2f@evil.example/", "https://evil.example%5C@www.example.com/"),
            *("https://www.example.com:443@evil.example/", "https://evil.example\\@www.example.com/"),
            *("https://www.example.com\\.evil.example/", "https://www.example.com%2eevil.example/"),
            *("https://www.example.com%00/", "https://www.example.com:443:443/"),
            "https://www.example.com:0443/",
            "https://www.example.com:４４３/",  # noqa: RUF001 digits that are not ASCII
            *("https://www.example.com:-1/", "https://www.example.com:0/", "https://www.example.com:x/"),
            *("https://[::1/", "https://www.example.com:65536/", "https://[www.example.com]/"),
            *("https://www.example.com[]/", "https://user@www.example.com/"),
            *("https://user:password@www.example.com/", "https://@www.example.com/"),
            *("https:///www.example.com/", "https:/www.example.com/a", "https:www.example.com/a"),
            *("https://", "https://www.exa mple.com/", "https://www.example.com\t/a"),
            *(" https://www.example.com/a", "https://www.example.com/a\n", "https://www.example.com/a#b"),
            *("https://www.example.com#b", "https://www.example.com/\ud800", "https://\ud800.example/"),
            *("ws://www.example.com/", "javascript://www.example.com/%0aalert(1)"),
            *("//evil.example\\a\x00", "www.example.com/a", "a/b", " ", "//shop.example.com:/a"),
            *("https://shop.example.com:/a", "https://https://shop.example.com/a", "https://https/a"),
            *("https://www.example.comhttps://www.example.com/a", "\\a", None, 7, b"/a"),
        ],
        ids=repr,
    )
    def test_that_are_not_allowed_are_skipped_and_reported(self, url: Any) -> None:
        """The rest of the section is listed."""
        pages = done(["/before", url, "/after"], hosts=["https://shop.example.com", "[2001:db8::1]"])
        assert locations(pages) == [f"{BASE}/before", f"{BASE}/after"]
        assert [error[:2] for error in errors(pages)] == [("2", "location")]

    @pytest.mark.parametrize(("error", "is_raised"), [(OperationalError, True), (LookupError, False)])
    def test_of_a_property_that_fails_are_none_unless_the_database_fails(
        self, error: type[Exception], is_raised: bool
    ) -> None:
        """Only an error of the database does not depend on what the class means by the name."""

        def fail(self: Any) -> Any:
            raise error("failed")

        section = listing(["/a"], location=lambda self, item: item, hosts=property(fail))
        if is_raised:
            with pytest.raises(error):
                compiled(section)
        else:
            assert locations(rendered(compiled(section))) == [f"{BASE}/a"]

    def test_are_listed_if_one_is_missing(self) -> None:
        ((_, _, reason),) = errors(done(["https://blog.example.com/a"]))
        assert "'https://blog.example.com/a' is not on https://www.example.com" in reason
        assert "`hosts`" in reason

    @given(st.text(max_size=30) | st.text("/:@\\#?[]%.a\n\t", max_size=30))
    @example("@evil.example/")
    @example(":443@evil.example/")
    @example("\\@evil.example/")
    @example(".evil.example/")
    @example("//evil.example/")
    def test_nothing_after_a_host_changes_the_host(self, rest: str) -> None:
        for url in (f"{BASE}{rest}", f"/{rest}"):
            found = admitted(url)
            if found is not None:
                assert found.startswith((f"{BASE}/", f"{BASE}:443/"))
                assert urlsplit(found).hostname == "www.example.com"

    @pytest.mark.parametrize(
        "hosts",
        [
            "shop.example.com",
            ["shop.example.com/a"],
            ["ftp://shop.example.com"],
            ["https://user@shop.example.com"],
            ["shop example"],
            ["*.example.com"],
            [""],
            [7],
            [None],
            7,
            {"shop.example.com": 1},
        ],
        ids=repr,
    )
    def test_that_cannot_be_are_refused_with_expressions(self, hosts: Any) -> None:
        """A class that cannot have been written for contrib is an error, which names the class."""
        section = declaration(model=Article, location=Route("page", slug=F("slug")), hosts=hosts)
        with pytest.raises(ImproperlyConfigured, match=r"Declared\.hosts (must be|contains) "):
            sources.source("things", section, BASE, LIMITS)


# Locations are quoted once, and their length includes the base.


class TestQuoting:
    @given(slug=st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=15))
    @example(slug="100%")
    @example(slug="%41")
    @example(slug="a#b?c")
    @example(slug="[a]\\b")
    @example(slug="ü/ß")
    @example(slug="a/../b")
    @override_settings(ROOT_URLCONF=__name__)
    def test_is_the_same_for_a_route_a_method_and_a_constant(self, slug: str) -> None:
        """A route quotes all of its arguments, as `reverse()` does, so its result does not change again."""
        expected = reverse("page", kwargs={"slug": slug})
        constant = listing("a", location=expected)
        constant_route = listing("a", location=Route("page", slug=slug))
        method = listing("a", location=lambda self, item: reverse("page", args=[slug]))
        for section in (constant, constant_route, method):
            pages = rendered(sources.source("things", section, BASE, LIMITS))
            assert locations(pages) == [f"{BASE}{expected}"]

    @pytest.mark.django_db
    @override_settings(ROOT_URLCONF=__name__)
    def test_of_a_column_of_a_route_is_that_of_reverse(self) -> None:
        slugs = ["100%", "%41", "a#b?c", "[a]\\b", "ü", "a/../b", "plain", "a&b'c", "\N{GRINNING FACE}"]
        Article.objects.bulk_create(Article(slug=slug) for slug in slugs)
        section = declaration(model=Article, location=Route("page", slug=F("slug")))
        pages = rendered(sources.source("things", section, BASE, LIMITS))
        assert locations(pages) == [f"{BASE}{reverse('page', args=[slug])}" for slug in slugs]

    @pytest.mark.django_db
    def test_of_a_column_of_paths_is_that_of_methods(self) -> None:
        slugs = ["100%", "%41", "[a]\\b", "ü", "plain", "a&b'c"]
        Article.objects.bulk_create(Article(slug=f"/{slug}") for slug in slugs)
        column = declaration(model=Article, location=F("slug"))
        method = declaration(model=Article, location=lambda self, item: item.slug)
        found = [
            locations(rendered(sources.source("things", section, BASE, LIMITS)))
            for section in (column, method)
        ]
        assert found[0] == found[1]
        assert found[0][0] == f"{BASE}/100%25"

    @pytest.mark.parametrize("base", ["https://a.example", "https://a-much-longer-name.example:8443"])
    @pytest.mark.parametrize("absolute", [True, False])
    @pytest.mark.parametrize("quoted", [True, False])
    def test_counts_the_characters_of_a_whole_url(self, base: str, absolute: bool, quoted: bool) -> None:
        found = Base(*base.split("://"))
        for more, listed in ((0, True), (1, False)):
            room = MAX_LOCATION + more - len(base) - 1
            text = "/" + ("ü" + "a" * (room - 6) if quoted else "a" * room)
            url = admitted(f"{base}{text}" if absolute else text, found)
            assert (url is not None) == listed
            assert url is None or len(url) == MAX_LOCATION

    @pytest.mark.django_db
    @override_settings(ROOT_URLCONF=__name__)
    def test_counts_the_url_of_a_route(self) -> None:
        ArticleFactory(slug="s")
        for more in (0, 1):
            slug = "a" * (ROOM - 1 + more)
            section = declaration(model=Article, location=Route("page", slug=Value(slug)))
            pages = rendered(sources.source("things", section, BASE, LIMITS))
            assert [len(url) for url in locations(pages)] == ([MAX_LOCATION] if not more else [])
            assert len(errors(pages)) == more


# The base of locations


URLS = ["/path", "http://example.com/a", "https://example.com/a", "https://www.example.com/a"]


def answered(
    attributes: Any, urls: Any = URLS, *, secure: bool = False, host: str = "testserver"
) -> list[str]:
    """Return the locations of the only page of a section of these URLs, from the native views."""
    section = listing(urls, location=lambda self, item: item, **attributes)
    request = RequestFactory().get("/", secure=secure, headers={"host": host})
    content = views.page(request, "things", "1", {"things": section}).content.decode()
    return [part.split("</loc>")[0] for part in content.split("<loc>")[1:]]


@pytest.mark.django_db
class TestTheBase:
    @pytest.fixture(autouse=True)
    def _routes(self, settings: Any) -> None:
        settings.ROOT_URLCONF = __name__
        Site.objects.clear_cache()

    @pytest.mark.parametrize("secure", [True, False])
    @pytest.mark.parametrize(
        ("base", "attributes", "urls"),
        [
            ("https://www.example.com", {}, ["https://www.example.com/path", "https://www.example.com/a"]),
            # The scheme of the class is used before that of the setting and of the request.
            (None, {"protocol": "http"}, ["http://example.com/path", "http://example.com/a"]),
            (None, {"protocol": "https"}, ["https://example.com/path", "https://example.com/a"]),
            (
                "https://example.com",
                {"protocol": "http"},
                ["http://example.com/path", "http://example.com/a"],
            ),
            # Hosts without a scheme have that of the base.
            (
                "https://example.com",
                {"hosts": ["www.example.com"]},
                ["https://example.com/path", "https://example.com/a", "https://www.example.com/a"],
            ),
            (
                "https://example.com",
                {"hosts": ["www.example.com"], "protocol": "http"},
                ["http://example.com/path", "http://example.com/a"],
            ),
            ("HTTPS://Example.COM:443/", {}, ["https://example.com:443/path", "https://example.com/a"]),
        ],
    )
    def test_is_what_the_setting_and_the_class_say(
        self, settings: Any, base: str | None, attributes: Any, urls: list[str], secure: bool
    ) -> None:
        """Behind a proxy that terminates TLS, requests use http. No location is skipped because of that."""
        settings.SITEMAPS09 = {"BASE_URL": base}
        host = "10.0.0.1:8000" if base else "testserver"
        assert answered(attributes, secure=secure, host=host) == urls


# Classes that were written for contrib.


class Unreadable:
    """An attribute that can be read only during a request, for example."""

    def __get__(self, instance: object, owner: type) -> Any:
        raise RuntimeError("no request")


MEANINGS: dict[str, Any] = {
    "text": "all",
    "number": 7,
    "none": None,
    "dict": {"a": 1},
    "list of texts": ["not a host"],
    "list of pairs": [("a", 1)],
    "list of objects": [object()],
    "method": lambda self: ["shop.example.com"],
    "property": property(lambda self: Article.objects.all()),
    "property without a value": property(lambda self: self.nothing),
    "queryset": Article.objects.none(),
    "unreadable": Unreadable(),
}


@pytest.mark.django_db
class TestAnAttributeOfAnotherMeaning:
    @pytest.mark.parametrize("hosts", MEANINGS.values(), ids=MEANINGS)
    def test_does_not_affect_native_pages(self, hosts: Any) -> None:
        """Only the base is allowed."""
        pages = done(["/a", "https://shop.example.com/a"], hosts=hosts)
        assert locations(pages) == [f"{BASE}/a"]
        assert len(errors(pages)) == 1

    @pytest.mark.parametrize("hosts", MEANINGS.values(), ids=MEANINGS)
    def test_does_not_affect_compat_views(self, hosts: Any, settings: Any) -> None:
        settings.ROOT_URLCONF = projects.COMPAT.urlconf
        section = listing(["/a"], location=lambda self, item: item, hosts=hosts)
        response = views.sitemap(RequestFactory().get("/"), {"things": section}).render()
        assert b"<loc>http://example.com/a</loc>" in response.content

    def test_has_no_effect_on_a_class_that_overrides_contribs_internals(self) -> None:
        class Elsewhere(Sitemap):
            hosts = property(lambda self: 1 / 0)

            def items(self) -> list[str]:
                return ["a"]

            def location(self, item: str) -> str:
                return f"/{item}"

            def get_domain(self, site: Any = None) -> str:
                return "elsewhere.example"

        source = sources.source("things", Elsewhere, BASE, LIMITS)
        assert locations(rendered(source)) == ["https://elsewhere.example/a"]


def test_the_other_hosts_are_in_one_order() -> None:
    """A set has no order, but equal declarations must have the same digest in each process."""
    names = [f"h{n}.example" for n in range(20)]
    orders = [
        read(listing("a", hosts=hosts)(), BASE, LIMITS).hosts for hosts in (names, names[::-1], {*names})
    ]
    assert orders[0] == orders[1] == orders[2]
