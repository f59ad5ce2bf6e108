"""Locations: on which hosts they may be, and how a project's values become URLs."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

import pytest
from django.contrib.sitemaps import Sitemap as ContribSitemap
from django.contrib.sites.models import Site
from django.core.exceptions import ImproperlyConfigured
from django.db import OperationalError
from django.db.models import F, Value
from django.db.models.functions import Concat
from django.http import HttpResponse
from django.test import RequestFactory
from django.urls import include, path, reverse
from django.utils.functional import lazystr
from hypothesis import example, given, strategies as st

from django_sitemaps09 import PathTemplate, Route, Sitemap, views
from tests.compat import projects
from tests.models import Article, Parent
from tests.support.internals import MAX_LOCATION, Base, Page
from tests.support.sections import declare, listing
from tests.support.sources import BASE, compiled, errors, locations, rendered, set_slices, through_get_urls

pytestmark = [pytest.mark.django_db, pytest.mark.urls(__name__)]


def page(request, **kwargs):
    return HttpResponse()


urlpatterns = [path("", include("django_sitemaps09.urls")), path("<path:slug>", page, name="page")]


def of(*urls, base=Sitemap, **attributes):
    attributes.setdefault("location", lambda self, item: item)
    return listing(list(urls), base, **attributes)


def listed(section, base=BASE, found=None):
    pages = rendered(compiled(section, base=base), found=found)
    return [url.removeprefix(str(base)) for url in locations(pages)], errors(pages)


def admitted(url, base=BASE, **attributes):
    found, skipped = listed(of(url, **attributes), base)
    assert [error[:2] for error in skipped] == [("1", "location")] * (1 - len(found))
    return found[0] if found else None


SCHEMES = ["http", "https"]
NAMES = ["www.example.com", "shop.example.com", "example.com", "xn--bcher-kva.example"]
PORTS = ["", ":80", ":443", ":8443"]
origins = st.tuples(st.sampled_from(SCHEMES), st.sampled_from(NAMES), st.sampled_from(PORTS))


def written(origin):
    return "{}://{}{}".format(*origin)


def with_port(origin):
    scheme, name, port = origin
    return scheme, name, port or {"http": ":80", "https": ":443"}[scheme]


#: Spellings of a host, URLs on it, and how these can be written.
SPELLINGS = [
    (["https://shop.example.com", "HTTPS://SHOP.Example.COM/", "https://shop.example.com:443",
      "Shop.Example.com", "shop.example.com:443"],
     ["https://shop.example.com/a", "https://shop.example.com:443/a", "HTTPS://SHOP.EXAMPLE.COM/a"],
     ["https://shop.example.com/a", "https://shop.example.com:443/a"]),
    (["bücher.example", "BÜCHER.example", "xn--bcher-kva.example"],
     ["https://bücher.example/ü", "https://BÜCHER.EXAMPLE/ü", "https://bu\u0308cher.example/ü",
      "https://bücher。example/%C3%BC", "https://xn--bcher-kva.example/%C3%BC"],
     ["https://xn--bcher-kva.example/%C3%BC"]),
    (["[2001:DB8::1]", "https://[2001:db8::1]:443/"], ["https://[2001:db8::1]/[a]"],
     ["https://[2001:db8::1]/%5Ba%5D"]),
]  # fmt: skip


class TestAllowedHosts:
    @given(st.lists(origins, max_size=4), origins, st.sampled_from([list, tuple, set, frozenset]))
    def test_admit_exactly_their_schemes_names_and_ports(self, hosts, url, kind):
        found = admitted(f"{written(url)}/a", hosts=kind(map(written, hosts)))
        allowed = map(with_port, [*hosts, ("https", "www.example.com", "")])
        assert found == (f"{written(url)}/a".removeprefix(str(BASE)) if with_port(url) in allowed else None)

    @pytest.mark.parametrize("scheme", SCHEMES)
    @given(st.sampled_from(NAMES), st.sampled_from(PORTS), origins)
    def test_without_a_scheme_take_the_one_of_the_base(self, scheme, name, port, url):
        found = admitted(f"{written(url)}/a", Base(scheme, "base.example"), hosts=[name + port])
        assert (found is not None) == (with_port(url) == with_port((scheme, name, port)))

    @pytest.mark.parametrize(("hosts", "urls", "expected"), SPELLINGS, ids=range(3))
    def test_are_the_same_in_any_spelling_and_written_as_in_dns(self, hosts, urls, expected):
        assert {admitted(url, hosts=[host]) for url in urls for host in hosts} <= {*expected}
        assert {admitted(url) for url in urls} == {None}

    @pytest.mark.parametrize("url", [
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
        *("https://www.example.com:0443/", "https://www.example.com:４４３/"),  # noqa: RUF001
        *("https://www.example.com[]/", "https://user@www.example.com/"),
        *("https://user:password@www.example.com/", "https://@www.example.com/"),
        *(" https://www.example.com/a", "https://www.example.com/a\n", "https://www.example.com/a#b"),
        *("https://www.example.com#b", "https://www.example.com/\ud800", "https://\ud800.example/"),
        *("ws://www.example.com/", "javascript://www.example.com/%0aalert(1)"),
        *("https://www.exa mple.com/", "https://www.example.com\t/a", "https:/www.example.com/a"),
        *("//evil.example\\a\x00", "www.example.com/a", "a/b", " ", "//shop.example.com:/a"),
        *("https://shop.example.com:/a", "https://https://shop.example.com/a", "https://https/a"),
        *("https://www.example.comhttps://www.example.com/a", "\\a", None, 7, b"/a"),
    ], ids=repr)  # fmt: skip
    def test_that_are_not_allowed_are_skipped_and_reported_and_the_rest_is_listed(self, url):
        hosts = ["https://shop.example.com", "[2001:db8::1]"]
        found, skipped = listed(of("/before", url, "/after", hosts=hosts))
        assert (found, [error[:2] for error in skipped]) == (["/before", "/after"], [("2", "location")])

    @pytest.mark.parametrize(("error", "is_raised"), [(OperationalError, True), (LookupError, False)])
    def test_of_a_property_that_fails_are_none_unless_the_database_fails(self, error, is_raised):
        """Only an error of the database does not depend on what the class means by the name."""

        def fail(self):
            raise error("failed")

        section = of("/a", hosts=property(fail))
        if is_raised:
            with pytest.raises(error):
                compiled(section)
        else:
            assert listed(section) == (["/a"], [])

    @given(st.text(max_size=30) | st.text("/:@\\#?[]%.a\n\t", max_size=30))
    @example("@evil.example/")
    @example(":443@evil.example/")
    @example("\\@evil.example/")
    @example(".evil.example/")
    @example("//evil.example/")
    def test_are_changed_by_nothing_after_them(self, rest):
        for found in listed(of(f"{BASE}{rest}", f"/{rest}"))[0]:
            assert found.startswith(("/", f"{BASE}:443/"))
            assert urlsplit(f"{BASE}{found}" if found[0] == "/" else found).hostname == "www.example.com"

    @pytest.mark.parametrize(
        "hosts",
        ["shop.example.com", ["shop.example.com/a"], ["ftp://shop.example.com"], ["shop example"], [""],
         ["https://user@shop.example.com"], ["*.example.com"], [7], [None], 7, {"shop.example.com": 1}],
        ids=repr,
    )  # fmt: skip
    def test_that_cannot_be_are_refused_in_a_class_with_expressions(self, hosts):
        """Such a class cannot have been written for contrib."""
        section = declare(model=Article, location=Route("page", slug=F("slug")), hosts=hosts)
        with pytest.raises(ImproperlyConfigured, match=r"Declared\.hosts (must be|contains) "):
            compiled(section)


MEANINGS = [
    *("all", 7, None, {"a": 1}, ["not a host"], [("a", 1)], [object()], lambda self: ["shop.example.com"]),
    *(property(lambda self: Article.objects.all()), property(lambda self: self.nothing)),
    *(Article.objects.none(), type("Unreadable", (), {"__get__": lambda self, *owners: 1 / 0})()),
]


@pytest.mark.parametrize("hosts", MEANINGS, ids=range(len(MEANINGS)))
def test_hosts_of_a_class_for_contrib_can_have_any_meaning_and_allow_only_the_base(hosts, settings):
    found, skipped = listed(of("/a", "https://shop.example.com/a", hosts=hosts))
    assert (found, len(skipped)) == (["/a"], 1)
    settings.ROOT_URLCONF = projects.COMPAT.urlconf
    assert djangos_page(of("/a", hosts=hosts)) == ["http://example.com/a"]


def djangos_page(section, **options):
    response = views.sitemap(RequestFactory().get("/", **options), {"s": section}).render()
    return re.findall("<loc>(.*?)</loc>", response.content.decode())


URLS = ["/path", "http://example.com/a", "https://example.com/a", "https://www.example.com/a"]


@pytest.mark.parametrize("secure", [True, False])
@pytest.mark.parametrize(("base", "attributes", "urls"), [
    ("https://www.example.com", {}, ["https://www.example.com/path", "https://www.example.com/a"]),
    # The scheme of the class is used before that of the setting and of the request.
    (None, {"protocol": "http"}, ["http://example.com/path", "http://example.com/a"]),
    (None, {"protocol": "https"}, ["https://example.com/path", "https://example.com/a"]),
    ("https://example.com", {"protocol": "http"}, ["http://example.com/path", "http://example.com/a"]),
    # Hosts without a scheme have that of the base.
    ("https://example.com", {"hosts": ["www.example.com"]},
     ["https://example.com/path", "https://example.com/a", "https://www.example.com/a"]),
    ("https://example.com", {"hosts": ["www.example.com"], "protocol": "http"},
     ["http://example.com/path", "http://example.com/a"]),
    ("HTTPS://Example.COM:443/", {}, ["https://example.com:443/path", "https://example.com/a"]),
])  # fmt: skip
def test_the_base_is_what_the_setting_and_the_class_say(settings, base, attributes, urls, secure):
    """Behind a proxy that terminates TLS, requests use http. No location is skipped because of that."""
    settings.SITEMAPS09 = {"BASE_URL": base}
    Site.objects.clear_cache()
    headers = {"host": "10.0.0.1:8000" if base else "testserver"}
    request = RequestFactory().get("/", secure=secure, headers=headers)
    document = views.page(request, "things", "1", {"things": of(*URLS, **attributes)}).content.decode()
    assert re.findall("<loc>(.*?)</loc>", document) == urls


@given(slug=st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=15))
@example(slug="100%")
@example(slug="%41")
@example(slug="a#b?c")
@example(slug="[a]\\b")
@example(slug="ü/ß")
@example(slug="a/../b")
def test_a_route_a_method_and_a_constant_are_quoted_in_the_same_way(slug):
    """A route quotes all of its arguments, as `reverse()` does, so its result does not change again."""
    expected = reverse("page", kwargs={"slug": slug})
    method = lambda self, item: reverse("page", args=[slug])  # noqa: E731
    for location in (expected, Route("page", slug=slug), method):
        assert listed(of("a", location=location)) == ([expected], [])


def test_a_column_of_paths_is_quoted_as_by_methods():
    slugs = ["100%", "%41", "[a]\\b", "ü", "plain", "a&b'c", "a#b?c", "a/../b", "\N{GRINNING FACE}"]
    method = of(*(f"/{slug}" for slug in slugs))
    found, skipped = listed(words(*slugs, location=Concat(Value("/"), "name")))
    assert (found, found[0]) == (listed(method)[0], "/100%25")
    assert [error[1:] for error in skipped] == [error[1:] for error in listed(method)[1]]


@pytest.mark.parametrize("base", ["https://a.example", "https://a-much-longer-name.example:8443"])
@pytest.mark.parametrize("absolute", [True, False])
@pytest.mark.parametrize("quoted", [True, False])
def test_the_characters_of_a_whole_url_are_counted(base, absolute, quoted):
    for more, count in ((0, 1), (1, 0)):
        room = MAX_LOCATION + more - len(base) - 1
        text = "/" + ("ü" + "a" * (room - 6) if quoted else "a" * room)
        found, skipped = listed(of(f"{base}{text}" if absolute else text), Base(*base.split("://")))
        assert (len(found), len(skipped)) == (count, 1 - count)
        assert {len(base) + len(url) for url in found} <= {MAX_LOCATION}


def test_the_characters_of_the_url_of_a_route_are_counted():
    Article.objects.create(slug="s")
    for more in (0, 1):
        slug = Value("a" * (MAX_LOCATION - len(str(BASE)) - 1 + more))
        found, skipped = listed(declare(model=Article, location=Route("page", slug=slug)))
        assert (len(found), len(skipped)) == (1 - more, more)


def words(*texts, **attributes):
    Parent.objects.bulk_create(Parent(name=text) for text in texts)
    return declare(**{"model": Parent, "location": F("name"), **attributes})


#: The ways to declare locations.
WAYS = {
    "method": of,
    "contrib": lambda *urls, **attributes: of(*urls, base=ContribSitemap, **attributes),
    "overriding": lambda *urls, **attributes: through_get_urls(of(*urls, **attributes)),
    "expression": words,
    "function": lambda *urls, **others: words(*urls, location=Concat(F("name"), Value("")), **others),
}
OPAQUE, LISTS, COLUMNS = ["contrib", "overriding"], ["method", "contrib"], ["expression", "function"]
EACH, METHOD, CONTRIB, EXPRESSION = [*LISTS, *COLUMNS], ["method"], ["contrib"], ["expression"]
DOCS, BOOK = "//docs.example.com/x/", "https://xn--bcher-kva.example"
NOT_DOCS = "'https://docs.example.com/x/' is not on https://www.example.com: use a path that begins "
NOT_DOCS += "with one slash, or add its host to the sitemap's `hosts`"
EARLIER = "an earlier location of the page is empty, too"
EVIL = ["/a/", ".evil.com/", "@evil.com/", ":8443/", "b/", "?c"]
HOSTS = {"hosts": ["docs.example.com"]}


def at(domain, **attributes):
    return {"get_domain": lambda self, site=None: domain, **attributes}


def template(text):
    return {"location": PathTemplate(text, a=F("name"))}


#: Ways, locations, attributes, what is listed, and a part of each reason.
CASES = [
    (EACH, [DOCS, "/ok/"], {}, ["/ok/"], [NOT_DOCS]),
    (EACH, [DOCS, "/ok/"], HOSTS, [f"https:{DOCS}", "/ok/"], []),
    (EACH, ["//www.example.com/x/"], {}, ["/x/"], []),
    (METHOD, [""], {"location": DOCS}, [], [NOT_DOCS]),
    (METHOD, [""], {"location": PathTemplate(DOCS)}, [], [NOT_DOCS]),
    # Contrib appends a location to the host, so `.evil.com/` becomes part of the host.
    (OPAQUE, EVIL, {}, ["/a/", "/?c"], [""] * 4),
    (OPAQUE, EVIL, at("a.example"), ["https://a.example/a/", "https://a.example/?c"], [""] * 4),
    (METHOD, ["/a/"], at("a.example", hosts=property(lambda self: 1 / 0)), ["https://a.example/a/"], []),
    (CONTRIB, ["/x/"], at("https://www.example.com"), [], [""]),
    (CONTRIB, ["/x/"], at("www.example.com:"), [], [""]),
    # Contrib writes `https://www.example.com//x/`: a path, which names no host.
    (LISTS, ["/x/"], at("www.example.com/"), ["//x/"], []),
    # The package writes a host as in DNS, and a class of contrib has its own scheme.
    (LISTS, ["", "//xn--bcher-kva.example/y/"], at("bücher.example"), [f"{BOOK}/", f"{BOOK}/y/"], []),
    (CONTRIB, [DOCS], {"protocol": "http", "hosts": ["http://docs.example.com"]}, [f"http:{DOCS}"], []),
    # An empty location is the home page, and a query belongs to it.
    (LISTS, ["/a/", "", "?p=1"], {}, ["/a/", "/", "/?p=1"], []),
    (LISTS, [lazystr("/a/"), lazystr(""), lazystr("?p=1")], {}, ["/a/", "/", "/?p=1"], []),
    (LISTS, ["", "/a/", "", "", "?p=1", "?p=1"], {}, ["/", "/a/", "/?p=1", "/?p=1"], [EARLIER] * 2),
    (COLUMNS, ["/a/", "", "?p=1"], {}, ["/a/"], ["", ""]),
    # It is one for each language. A document names the same problem of an item once.
    (METHOD, ["", ""], {"i18n": True, "languages": ["en", "de"]}, ["/", "/"], [EARLIER]),
    # A template never begins with the host in a value.
    (EXPRESSION, ["", "/e.example", "//e.example"], template("/{a}/x/"), [], [""] * 3),
    (EXPRESSION, ["", "/e.example", "//e.example"], template("/{a}"), ["/"], [""] * 2),
    (EXPRESSION, ["", "/e.example", "//e.example"], template("//{a}.example/"), [], [""] * 3),
    (EXPRESSION, ["", "//e/"], template("/c{a}/"), ["/c/", "/c//e//"], []),
    (EXPRESSION, ["a", "", "b/c", "/d"], template("/{a}/"), ["/a/", "/b/c/"], [""] * 2),
]


@pytest.mark.parametrize(
    ("way", "urls", "attributes", "expected", "reasons"),
    [(way, *case) for ways, *case in CASES for way in ways],
)
def test_a_location_is_on_the_host_that_two_slashes_name_or_else_on_its_base(
    way, urls, attributes, expected, reasons
):
    found, skipped = listed(WAYS[way](*urls, **attributes))
    assert (found, [field for _, field, _ in skipped]) == (expected, ["location"] * len(reasons))
    assert [error for part, error in zip(reasons, skipped, strict=True) if part not in error[2]] == []


@pytest.mark.usefixtures("cached_site")
def test_urls_of_get_urls_are_on_their_hosts():
    on_hosts = [f"https://{host}.example.com/a/" for host in ("blog", "evil")]
    urls, found = [f"{BASE}//docs.example.com/x/", "https://docs.example.com/y/", f"{BASE}/a//b"], []
    for each, hosts in ((on_hosts, ["blog.example.com"]), (urls, None)):
        own = lambda self, each=each, **_: [{"location": url} for url in each]  # noqa: E731
        found.append(listed(of(*each, base=ContribSitemap, get_urls=own, hosts=hosts)))
    assert [len(skipped) for _, skipped in found] == [1, 0]
    assert [each for each, _ in found] == [on_hosts[:1], [urls[0][len(str(BASE)) :], urls[1], "/a//b"]]


def test_an_opaque_class_links_to_the_host_that_two_slashes_name():
    attributes = {"i18n": True, "languages": ["en", "de"], "alternates": True}
    [done] = rendered(compiled(WAYS["contrib"](DOCS, **HOSTS, **attributes)))
    assert done.text.count(f'href="https:{DOCS}"') == done.text.count("href=") == 4


def test_an_empty_location_is_listed_once_for_all_slices_and_in_a_file_of_several_pages(monkeypatch):
    set_slices(monkeypatch, 3)
    section = words(*(f"w{number:02}" for number in range(20)), location=lambda self, item: "")
    found, skipped = listed(section)
    assert (found, len(skipped)) == (["/"], 19)
    found, skipped = listed(WAYS["contrib"]("", "/a/", "", limit=1), found=[Page(1, None, None)])
    assert (found, [key for key, _, _ in skipped]) == (["/", "/a/"], ["3/1 ()"])


@pytest.mark.parametrize("i18n", [False, True])
def test_djangos_pages_skip_a_url_on_another_host_but_write_what_a_class_of_contrib_has(i18n, caplog):
    attributes = {"i18n": i18n, "languages": ["en"], "alternates": True}
    urls = [DOCS, "/ok/", "//example.com/y/"]
    found = djangos_page(of(*urls, **attributes), secure=True)
    assert found == ["https://example.com/ok/", "https://example.com/y/"]
    assert "'https://docs.example.com/x/' is not on https://example.com" in caplog.text
    # Nothing is known about what its own methods mean.
    assert f"https://example.com{DOCS}" in djangos_page(WAYS["contrib"](*urls, **attributes), secure=True)


@pytest.mark.parametrize(
    ("location", "expected"),
    [(DOCS, ["https://docs.example.com/x/"]), ("//docs.example.com", ["https://docs.example.com/"]),
     ("//EXAMPLE.com:443/x/", ["https://example.com:443/x/"]), ("//example.com.evil.example/", []),
     ("//example.com@evil.example/", []), ("///x/", [])],
)  # fmt: skip
def test_djangos_pages_list_and_link_to_a_url_on_an_allowed_host(location, expected):
    attributes = {"hosts": ["docs.example.com"], "i18n": True, "languages": ["en"], "alternates": True}
    section = of(location, "/ok/", **attributes)
    response = views.sitemap(RequestFactory().get("/", secure=True), {"s": section}).render()
    for pattern in ("<loc>(.*?)</loc>", 'href="(.*?)"'):
        assert re.findall(pattern, response.content.decode()) == [*expected, "https://example.com/ok/"]


@pytest.mark.parametrize("way", LISTS)
def test_djangos_pages_write_an_empty_location_as_contrib_does(way):
    assert djangos_page(WAYS[way]("", "?p=1")) == ["http://example.com", "http://example.com?p=1"]


@pytest.mark.parametrize("domain", ["https://www.example.com", "www.example.com:", "http", "a b"])
def test_a_domain_that_is_no_host_is_refused(domain):
    """Contrib writes `https://https://www.example.com/x/`."""
    for way in (djangos_page, listed):
        with pytest.raises(ImproperlyConfigured, match=r"^Declared\.get_domain\(\) returned "):
            way(of("/x/", **at(domain)))
