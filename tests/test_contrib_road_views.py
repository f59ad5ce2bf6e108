"""Contrib's road: our views answer as those of `django.contrib.sitemaps` do.

Most tests ask both for the same and compare. Where our answers are meant to be others, which are
the deviations listed in `test_contrib_road.py`, contrib's are brought into our form first.
"""

from __future__ import annotations

import inspect
import pickle
from collections.abc import Callable, Iterator
from datetime import timedelta
from types import SimpleNamespace
from typing import Any
from urllib.parse import quote

import pytest
from django.contrib.flatpages.sitemaps import FlatPageSitemap
from django.contrib.sitemaps import views as contrib_views
from django.contrib.sites.models import Site
from django.core.cache import cache
from django.core.exceptions import ImproperlyConfigured
from django.core.paginator import Paginator
from django.db import connection
from django.http import HttpResponse
from django.template import loader
from django.template.response import ContentNotRenderedError, TemplateResponse
from django.test import Client, RequestFactory, modify_settings, override_settings
from django.test.utils import CaptureQueriesContext
from django.urls import resolve
from django.utils import translation

from django_sitemaps09 import GenericSitemap, Sitemap, views
from tests.contrib_road import middleware, roads
from tests.contrib_road.cases import CASES, CONTRIB, EARLY, LATE, LEAVES, UTC, Bases, Leaf, Tree
from tests.contrib_road.data import populate
from tests.contrib_road.roads import OURS, PROJECT, answer, expected, fetch, given

pytestmark = pytest.mark.django_db

BASES = Bases(Sitemap, GenericSitemap)


@pytest.fixture(autouse=True)
def _rows(db: None) -> Iterator[None]:
    populate()
    cache.clear()
    yield
    cache.clear()
    Site.objects.clear_cache()


def urls_of(name: str) -> Iterator[str]:
    """The URLs of a case: its index, all its sections at once, and each alone."""
    for path in ("index.xml", "sitemap.xml", *map("sitemap-{}.xml".format, CASES[name](CONTRIB))):
        yield f"/{name}/{quote(path)}"


URLS = [url for name in CASES for url in urls_of(name)]


class TestEveryAnswer:
    @pytest.mark.parametrize("url", URLS)
    def test_is_contribs(self, url: str) -> None:
        for page in ("", "?p=2", "?p=3", "?p=99"):
            assert given(f"{url}{page}") == expected(f"{url}{page}")

    @pytest.mark.parametrize("url", URLS)
    def test_is_contribs_to_the_byte_under_templates_of_the_project(self, url: str) -> None:
        for page in ("", "?p=2"):
            ours = answer(OURS, f"{url}{page}", folders=[PROJECT])
            assert ours == answer(roads.CONTRIB, f"{url}{page}", folders=[PROJECT])

    @pytest.mark.parametrize("name", CASES)
    def test_over_https_is_contribs(self, name: str) -> None:
        for path in ("index.xml", "sitemap.xml"):
            url = f"/{name}/{path}"
            assert given(url, secure=True) == expected(url, secure=True)

    @pytest.mark.parametrize("language", ["de", "pt-br", "fr"])
    @pytest.mark.parametrize("name", [name for name in CASES if name.startswith("languages")])
    def test_under_another_active_language_is_contribs(self, name: str, language: str) -> None:
        with translation.override(language):
            for path in ("index.xml", "sitemap.xml"):
                assert given(f"/{name}/{path}") == expected(f"/{name}/{path}")

    @pytest.mark.parametrize("name", [name for name in CASES if name.startswith("languages")])
    @override_settings(LANGUAGE_CODE="de", LANGUAGES=[("de", "German"), ("it", "Italian")])
    def test_under_other_settings_of_languages_is_contribs(self, name: str) -> None:
        for path in ("index.xml", "sitemap.xml"):
            assert given(f"/{name}/{path}") == expected(f"/{name}/{path}")

    @pytest.mark.parametrize("name", CASES)
    @modify_settings(INSTALLED_APPS={"remove": ["django.contrib.sites", "django.contrib.flatpages"]})
    def test_without_the_sites_framework_is_contribs(self, name: str) -> None:
        for path in ("index.xml", "sitemap.xml"):
            url = f"/{name}/{path}"
            ours = given(url, HTTP_HOST="shop.example.org:8000")
            assert ours == expected(url, HTTP_HOST="shop.example.org:8000")
            assert ours.status != 200 or b"//example.com/leaf" not in ours.body

    @pytest.mark.parametrize("path", ["index.xml", "sitemap.xml", "sitemap-two.xml"])
    def test_without_a_row_for_the_site_is_contribs_refusal(self, path: str) -> None:
        Site.objects.all().delete()
        ours = given(f"/limits/{path}")
        assert ours.refusal is not None
        assert ours == expected(f"/limits/{path}")

    @pytest.mark.parametrize("path", ["index.xml", "sitemap.xml"])
    def test_names_the_site_of_the_request_when_no_site_id_is_set(self, path: str, settings: Any) -> None:
        del settings.SITE_ID
        Site.objects.create(domain="second.example.org", name="second")
        url, host = f"/hooks_as_methods/{path}", {"HTTP_HOST": "second.example.org"}
        assert given(url, **host) == expected(url, **host)
        assert b"//second.example.org/" in given(url, **host).body

    @pytest.mark.parametrize("path", ["index.xml", "sitemap.xml"])
    def test_names_the_domain_of_the_current_site_not_of_the_request(self, path: str) -> None:
        Site.objects.filter(pk=1).update(domain="shop.example.org:8443")
        url = f"/hooks_as_methods/{path}"
        assert given(url, HTTP_HOST="evil.example") == expected(url, HTTP_HOST="evil.example")
        assert b"//shop.example.org:8443/" in given(url, HTTP_HOST="evil.example").body

    @pytest.mark.parametrize("method", ["head", "post", "put", "delete", "options"])
    def test_to_any_method_is_contribs(self, method: str) -> None:
        for path in ("index.xml", "sitemap.xml"):
            url = f"/limits/{path}"
            assert given(url, method=method) == expected(url, method=method)

    @pytest.mark.parametrize("name", ["items_as_a_queryset", "generic", "flatpages", "limits"])
    def test_asks_the_database_no_more_than_contribs(self, name: str) -> None:
        for path in ("index.xml", "sitemap.xml"):
            asked = []
            for road in (OURS, roads.CONTRIB):
                with CaptureQueriesContext(connection) as queries:
                    # Not answer(), which looks at the context.
                    assert roads.fetch(road, f"/{name}/{path}").status_code == 200
                asked.append(len(queries))
            assert asked[0] <= asked[1]

    @pytest.mark.parametrize(
        "url",
        [
            "/sitemap.xml",
            "/sitemap-two.xml",
            "/fixed.xml",
            "/fixed.xml?p=4",
            "/fixed-unknown.xml",
            "/fixed-empty.xml",
            "/whole/",
            "/nested.xml",
            "/nested-well.xml",
            "/nested/sitemap-two.xml",
            "/nested/sitemap-a/b.xml",
            "/unnamed.xml",
            "/unnamed-empty.xml",
            "/templates/several.xml",
            "/templates/no.xml",
            "/types/index.xml",
            "/types/sitemap.xml",
        ],
    )
    def test_on_every_way_of_routing_is_contribs(self, url: str) -> None:
        assert given(url) == expected(url)

    @pytest.mark.parametrize(
        "url",
        [
            "/templates/index.xml",
            "/templates/sitemap.xml",
            "/templates/several-index.xml",
            "/types/latin.xml",
        ],
    )
    def test_by_a_template_given_as_argument_is_contribs_to_the_byte(self, url: str) -> None:
        theirs = answer(roads.CONTRIB, url)
        assert theirs.status == 200
        assert answer(OURS, url) == theirs


class TestPage:
    """The parameter `p`."""

    @pytest.mark.parametrize(
        "value",
        [
            *("0", "-1", "1", "3", "4", "999", "abc", "", "1.0", "1.5", "last", "None", "1e1"),
            *("%201%20", "01", "%2B1", "1_0", "%D9%A2", "9" * 30, "9" * 5000, "%00", "'", "&p=3"),
            *("2&p=3", "3&p=abc", "1&q=2", "%3Cb%3E"),
        ],
    )
    @pytest.mark.parametrize("path", ["sitemap-one.xml", "sitemap.xml"])
    def test_means_what_it_means_to_contrib(self, path: str, value: str) -> None:
        url = f"/one_section_in_pages/{path}?p={value}"
        assert given(url) == expected(url)

    @pytest.mark.parametrize(
        ("url", "text"),
        [
            ("/limits/sitemap-three.xml", "No sitemap available for section: 'three'"),
            ("/limits/sitemap-two.xml?p=0", "Page 0 empty"),
            ("/limits/sitemap-two.xml?p=5", "Page 5 empty"),
            ("/limits/sitemap-two.xml?p=-1", "Page -1 empty"),
            ("/limits/sitemap-two.xml?p=abc", "No page 'abc'"),
            ("/limits/sitemap-two.xml?p=", "No page ''"),
            ("/limits/sitemap.xml?p=2", "Page 2 empty"),
            ("/no_items/sitemap-base.xml?p=2", "Page 2 empty"),
        ],
    )
    def test_that_there_is_not_is_refused_in_these_words(self, url: str, text: str) -> None:
        found = given(url)
        assert (found.status, found.context) == (404, text)

    def test_is_read_by_index_as_by_contribs_not_at_all(self) -> None:
        assert given("/limits/index.xml?p=9") == expected("/limits/index.xml?p=9")

    def test_covers_the_items_in_their_order_once(self) -> None:
        found = [
            text
            for page in (1, 2, 3)
            for text in roads.texts(answer(OURS, f"/one_section_in_pages/sitemap.xml?p={page}").body, "loc")
        ]
        assert found == [f"http://example.com/leaf/n{number}/" for number in range(7)]

    def test_that_an_index_names_is_answered(self) -> None:
        found = roads.texts(answer(OURS, "/limits/index.xml").body, "loc")
        assert len(found) == 4 + 1 + 1
        for location in found:
            assert answer(OURS, location.removeprefix("http://example.com")).status == 200


class TestIndex:
    def test_names_contribs_view_by_default(self) -> None:
        found = roads.texts(answer(OURS, "/sitemap.xml").body, "loc")
        assert "http://example.com/sitemap-two.xml?p=4" in found

    def test_asks_the_attribute_protocol_not_the_method(self) -> None:
        found = roads.texts(answer(OURS, "/machinery_get_protocol/index.xml").body, "loc")
        assert found == ["http://example.com/machinery_get_protocol/sitemap-one.xml"]


class TestHeaders:
    @pytest.mark.parametrize("path", ["index.xml", "sitemap.xml", "sitemap-two.xml"])
    def test_keep_sitemaps_out_of_results(self, path: str) -> None:
        assert answer(OURS, f"/limits/{path}").headers == {
            "Content-Type": "application/xml",
            "X-Robots-Tag": "noindex, noodp, noarchive",
            "Last-Modified": answer(roads.CONTRIB, f"/limits/{path}").headers["Last-Modified"],
        }

    @pytest.mark.parametrize(
        ("url", "value"),
        [
            ("/times_as_dates/sitemap-method.xml", "Thu, 13 Mar 2025 00:00:00 GMT"),
            ("/times_as_dates/sitemap.xml", "Wed, 06 May 2026 00:00:00 GMT"),
            ("/times_as_dates/index.xml", "Wed, 06 May 2026 00:00:00 GMT"),
            ("/times_with_zones/sitemap-method.xml", "Fri, 02 Jan 2026 02:15:59 GMT"),
            ("/times_with_zones/sitemap-attribute.xml", "Sun, 01 Jun 2025 10:00:01 GMT"),
            ("/times_with_zones/index.xml", "Fri, 02 Jan 2026 02:15:59 GMT"),
            (
                "/times_mixed_across_sections_ascending/sitemap.xml",
                "Fri, 02 Jan 2026 02:15:59 GMT",
            ),
            (
                "/times_mixed_across_sections_descending/index.xml",
                "Fri, 02 Jan 2026 02:15:59 GMT",
            ),
            (
                "/times_with_a_date_after_all_datetimes/sitemap.xml",
                "Sat, 03 Jan 2026 00:00:00 GMT",
            ),
            ("/times_missing_on_one_item/sitemap-first.xml", None),
            ("/times_missing_on_one_item/sitemap-last.xml", None),
            ("/times_missing_on_one_item/index.xml", None),
            ("/times_missing_on_the_first_section/sitemap.xml", None),
            ("/times_missing_on_the_last_section/sitemap.xml", None),
            ("/times_missing_on_the_last_section/index.xml", None),
            ("/times_of_which_one_section_has_no_items/sitemap.xml", None),
            ("/newest_time_told_by_a_method/index.xml", "Fri, 02 Jan 2026 02:15:59 GMT"),
            ("/newest_time_denied_by_a_method/index.xml", None),
            ("/newest_time_as_a_class_attribute/sitemap.xml", "Sun, 01 Jun 2025 10:00:01 GMT"),
            ("/nothing_at_all/sitemap.xml", None),
            ("/nothing_at_all/index.xml", None),
            ("/generic_dated_everywhere/index.xml", "Sun, 01 Mar 2026 04:59:59 GMT"),
            ("/generic_dated_everywhere/sitemap.xml", "Sun, 01 Mar 2026 04:59:59 GMT"),
            ("/tree_that_tells_its_newest_time/sitemap.xml", "Sun, 01 Jun 2025 10:00:01 GMT"),
        ],
    )
    def test_last_modified_is_the_newest_time_if_all_have_one(self, url: str, value: str | None) -> None:
        assert answer(OURS, url).headers.get("Last-Modified") == value

    def test_last_modified_of_a_page_is_the_newest_of_that_page(self) -> None:
        found = [
            answer(OURS, f"/one_section_in_pages/sitemap-one.xml?p={page}").headers.get("Last-Modified")
            for page in (1, 2, 3)
        ]
        assert found == ["Sat, 02 Mar 2024 23:30:00 GMT", "Tue, 05 Mar 2024 23:30:00 GMT", None]

    @override_settings(MIDDLEWARE=["django.middleware.http.ConditionalGetMiddleware"])
    @pytest.mark.parametrize("path", ["index.xml", "sitemap.xml"])
    def test_last_modified_lets_a_client_keep_what_it_has(self, path: str) -> None:
        url = f"/times_with_zones/{path}"
        newest = answer(OURS, url).headers["Last-Modified"]
        assert answer(OURS, url, HTTP_IF_MODIFIED_SINCE=newest).status == 304


class TestPriority:
    @pytest.mark.parametrize("language", ["fr", "de"])
    @override_settings(USE_THOUSAND_SEPARATOR=True)
    def test_is_never_localized(self, language: str) -> None:
        with translation.override(language):
            for url in ("/hooks_as_attributes/sitemap.xml", "/hooks_as_methods/sitemap.xml"):
                found = roads.texts(answer(OURS, url).body, "priority")
                assert found
                assert set(found) <= {"0.5", "0.3"}

    def test_as_a_number_in_an_entry_that_others_wrote_is_never_localized(self) -> None:
        """Deviation 9: contrib writes 0,5 where that is the language's way."""
        with translation.override("fr"):
            found = answer(OURS, "/tree_as_class_and_instance/sitemap-class.xml").body
        assert set(roads.texts(found, "priority")) == {"0.5"}

    def test_changed_to_a_number_in_the_context_is_never_localized(
        self, editing: Callable[..., None]
    ) -> None:
        def change(response: Any) -> None:
            response.context_data["urlset"][0]["priority"] = 0.3

        editing(change)
        with translation.override("fr"):
            found = answer(OURS, "/hooks_missing/sitemap.xml").body
        assert roads.texts(found, "priority") == ["0.3"]


class TestTemplates:
    @pytest.mark.parametrize(
        ("url", "name"),
        [
            ("/limits/index.xml", "sitemap_index.xml"),
            ("/limits/sitemap.xml", "sitemap.xml"),
            ("/templates/index.xml", "contrib_road/index.xml"),
            ("/templates/sitemap.xml", "contrib_road/urls.txt"),
            ("/templates/several.xml", "sitemap.xml"),
            ("/templates/several-index.xml", "contrib_road/index.xml"),
        ],
    )
    def test_that_a_test_of_the_project_sees_are_contribs(self, url: str, name: str) -> None:
        response = fetch(OURS, url)
        assert [template.name for template in response.templates] == [name]
        key = "urlset" if "urlset" in response.context_data else "sitemaps"
        assert response.context[key] == response.context_data[key]

    @pytest.mark.parametrize("name", ["sitemap.xml", "sitemap_index.xml"])
    def test_of_contribs_names_are_there_without_contribs_app(self, name: str) -> None:
        assert loader.get_template(name).origin.name.startswith(
            str(roads.HERE.parent.parent / "django_sitemaps09")
        )

    @pytest.mark.parametrize(
        ("path", "comment"), [("index.xml", 1), ("sitemap.xml", 1), ("sitemap-two.xml", 1)]
    )
    def test_of_the_project_win_over_the_stock_ones(self, path: str, comment: int) -> None:
        body = answer(OURS, f"/limits/{path}", folders=[PROJECT]).body
        assert body.count(b"<!-- the project's own -->") == comment

    def test_of_the_project_see_the_item(self) -> None:
        body = answer(OURS, "/items_as_a_queryset/sitemap.xml?p=2", folders=[PROJECT]).body
        assert "<news:title>gamma-ü</news:title>".encode() in body

    @pytest.mark.parametrize("name", ["sitemap.xml", "sitemap_index.xml"])
    def test_of_the_project_need_no_file(self, name: str) -> None:
        own = {name: "<own>{{ urlset|length }}{{ sitemaps|length }}{{ request.path }}</own>"}
        url = "/limits/sitemap-two.xml" if name == "sitemap.xml" else "/limits/index.xml"
        options = {
            "loaders": [("django.template.loaders.locmem.Loader", own)],
            "context_processors": ["django.template.context_processors.request"],
        }
        routes = roads.urlconf(OURS, "limits")
        with override_settings(ROOT_URLCONF=routes, TEMPLATES=roads.templates(**options)):
            response = Client().get(url)
        numbers = "20" if name == "sitemap.xml" else "06"
        assert response.content.decode() == f"<own>{numbers}{url}</own>"

    @override_settings(
        TEMPLATES=[
            {
                "BACKEND": "django.template.backends.dummy.TemplateStrings",
                "DIRS": [roads.PROJECT],
            }
        ]
    )
    def test_of_the_project_may_be_for_another_engine(self) -> None:
        """That engine's templates do not even tell where they come from."""
        request = RequestFactory().get("/")
        found = views.sitemap(request, {}).render().content.decode()
        assert found == (roads.PROJECT / "sitemap.xml").read_text(encoding="utf-8")

    def test_are_looked_for_at_each_request(self) -> None:
        before = answer(OURS, "/limits/sitemap-two.xml").body
        during = answer(OURS, "/limits/sitemap-two.xml", folders=[PROJECT]).body
        assert b"own" in during
        assert answer(OURS, "/limits/sitemap-two.xml").body == before

    def test_that_extend_the_stock_one_write_what_it_writes(self) -> None:
        found = given("/templates/extending.xml")
        assert found == expected("/templates/extending.xml")
        assert found.body == given("/times_with_zones/sitemap.xml").body

    @pytest.mark.parametrize("place", ["before", "after"])
    def test_may_stand_beside_contribs_app(self, place: str, settings: Any) -> None:
        """`django.contrib.sitemaps` may stay among the installed apps, in either place."""
        apps = list(settings.INSTALLED_APPS)
        at = apps.index("django_sitemaps09") + (place == "after")
        settings.INSTALLED_APPS = [*apps[:at], "django.contrib.sitemaps", *apps[at:]]
        for url in ("/limits/sitemap.xml", "/limits/index.xml", "/languages_with_a_default/sitemap.xml"):
            assert given(url) == expected(url)


@pytest.fixture
def editing(monkeypatch: pytest.MonkeyPatch, settings: Any) -> Callable[..., None]:
    """Has answers changed by a middleware before they are rendered."""

    def start(edit: Callable[[Any], Any]) -> None:
        settings.MIDDLEWARE = [middleware.PATH]
        monkeypatch.setattr(middleware, "edit", edit)

    return start


def set_item(key: str, value: Any) -> Callable[[Any], None]:
    def edit(response: Any) -> None:
        response.context_data["urlset"][0][key] = value

    return edit


URLSET_EDITS: dict[str, Callable[[Any], Any]] = {
    "reads": lambda r: [dict(url) for url in r.context_data["urlset"]] and None,
    "appends": lambda r: r.context_data["urlset"].append({"location": "http://x.example/?a&b"}),
    "deletes": lambda r: r.context_data["urlset"].pop(0) and None,
    "clears": lambda r: r.context_data["urlset"].clear(),
    "reverses": lambda r: r.context_data["urlset"].reverse(),
    "sorts": lambda r: r.context_data["urlset"].sort(key=lambda url: url["location"]),
    "slices": lambda r: r.context_data["urlset"].__delitem__(slice(1, None)),
    "replaces an entry": lambda r: r.context_data["urlset"].__setitem__(0, {"location": "/x"}),
    "changes a location in place": set_item("location", "https://other.example/"),
    "changes a lastmod in place": set_item("lastmod", EARLY + timedelta(days=9)),
    "takes a lastmod away in place": set_item("lastmod", None),
    "changes a changefreq in place": set_item("changefreq", "always"),
    "changes a priority in place": set_item("priority", "0.9"),
    "empties a priority in place": set_item("priority", ""),
    "sets alternates": set_item("alternates", [{"location": "/fr/", "lang_code": "fr"}]),
    "changes an item in place": set_item("item", None),
    "drops keys": lambda r: (
        [url.pop(key) for url in r.context_data["urlset"] for key in ("priority", "alternates")] and None
    ),
    "replaces the list": lambda r: r.context_data.update(urlset=[{"location": "http://y/"}]),
    "replaces the list by a tuple": lambda r: r.context_data.update(
        urlset=tuple(r.context_data["urlset"][:1])
    ),
    "drops the list": lambda r: r.context_data.pop("urlset") and None,
    "adds a key": lambda r: r.context_data.update(note="more"),
    "replaces the context": lambda r: setattr(r, "context_data", {"urlset": []}),
    "copies the context": lambda r: setattr(r, "context_data", dict(r.context_data)),
    "names another template": lambda r: setattr(r, "template_name", "contrib_road/urls.txt"),
    "names several templates": lambda r: setattr(r, "template_name", ["no.xml", "sitemap.xml"]),
    "names another status": lambda r: setattr(r, "status_code", 203),
    "sets a header": lambda r: r.headers.update({"Cache-Control": "max-age=5"}),
}

INDEX_EDITS: dict[str, Callable[[Any], Any]] = {
    "reads": lambda r: [site.location for site in r.context_data["sitemaps"]] and None,
    "deletes": lambda r: r.context_data["sitemaps"].pop() and None,
    "reverses": lambda r: r.context_data["sitemaps"].reverse(),
    "changes a location in place": lambda r: setattr(
        r.context_data["sitemaps"][0], "location", "https://cdn.example/?a=1&b=2"
    ),
    "changes a time in place": lambda r: setattr(r.context_data["sitemaps"][0], "last_mod", LATE),
    "takes a time away in place": lambda r: setattr(r.context_data["sitemaps"][0], "last_mod", None),
    "appends one of contribs": lambda r: r.context_data["sitemaps"].append(
        contrib_views.SitemapIndexItem("https://cdn.example/more.xml", EARLY)
    ),
    "appends a dict": lambda r: r.context_data["sitemaps"].append(
        {"location": "https://cdn.example/dict.xml", "last_mod": EARLY}
    ),
    "appends an object without a time": lambda r: r.context_data["sitemaps"].append(
        SimpleNamespace(location="https://cdn.example/object.xml")
    ),
    "drops the list": lambda r: r.context_data.pop("sitemaps") and None,
    "replaces the list": lambda r: r.context_data.update(sitemaps=r.context_data["sitemaps"][1:]),
    "names another template": lambda r: setattr(r, "template_name", "contrib_road/index.xml"),
    "adds a key": lambda r: r.context_data.update(note="more"),
}


class TestContext:
    """What a middleware, or a view around ours, changes before the answer is rendered."""

    @pytest.mark.parametrize("edit", URLSET_EDITS)
    @pytest.mark.parametrize(
        "name", ["hooks_as_methods", "languages_with_a_default", "tree_as_class_and_instance"]
    )
    def test_of_a_sitemap_counts_however_it_is_changed(
        self, name: str, edit: str, editing: Callable[..., None]
    ) -> None:
        editing(URLSET_EDITS[edit])
        url = f"/{name}/sitemap.xml"
        if edit == "names another template":
            assert answer(OURS, url) == answer(roads.CONTRIB, url)
        else:
            assert given(url) == expected(url)

    @pytest.mark.parametrize("edit", INDEX_EDITS)
    @pytest.mark.parametrize("name", ["times_with_zones", "limits", "hooks_missing"])
    def test_of_an_index_counts_however_it_is_changed(
        self, name: str, edit: str, editing: Callable[..., None]
    ) -> None:
        editing(INDEX_EDITS[edit])
        url = f"/{name}/index.xml"
        if edit == "names another template":
            assert answer(OURS, url) == answer(roads.CONTRIB, url)
        else:
            assert given(url) == expected(url)

    def test_counts_deep_within_an_entry(self, editing: Callable[..., None]) -> None:
        def edit(response: Any) -> None:
            response.context_data["urlset"][0]["alternates"][0]["location"] = "https://deep/?a&b"
            response.context_data["urlset"][1]["alternates"].clear()

        editing(edit)
        url = "/languages_with_alternates/sitemap.xml"
        assert given(url) == expected(url)
        assert b"https://deep/" in given(url).body

    @pytest.mark.parametrize("name", CASES)
    def test_that_was_touched_is_written_as_one_that_was_not(
        self, name: str, editing: Callable[..., None]
    ) -> None:
        """The stock template and the quick way write the same."""
        before = [given(f"/{name}/{path}") for path in ("index.xml", "sitemap.xml")]
        editing(lambda response: setattr(response, "context_data", {**response.context_data}))
        after = [given(f"/{name}/{path}") for path in ("index.xml", "sitemap.xml")]
        assert after == before

    def test_may_be_answered_by_another_response(self, editing: Callable[..., None]) -> None:
        editing(
            lambda r: TemplateResponse(r._request, "contrib_road/urls.txt", {"urlset": [], "note": "other"})
        )
        assert answer(OURS, "/limits/sitemap.xml").body.strip() == b"other"

    def test_is_a_plain_dict_with_a_list(self) -> None:
        made = views.sitemap(RequestFactory().get("/"), CASES["limits"](BASES))
        assert type(made.context_data) is dict
        assert list(made.context_data) == ["urlset"]
        assert isinstance(made.context_data["urlset"], list)
        assert len(made.context_data["urlset"]) > 0
        assert all(type(url) is dict for url in made.context_data["urlset"])

    def test_of_an_index_holds_location_and_last_mod(self) -> None:
        request = RequestFactory().get("/")
        sections = CASES["times_as_dates"](BASES)
        with override_settings(ROOT_URLCONF=OURS.urlconf):
            made = views.index(request, sections)
            theirs = contrib_views.index(request, sections)
        assert list(made.context_data) == ["sitemaps"]
        assert made.context_data["sitemaps"] == theirs.context_data["sitemaps"]


class Section(Sitemap[Leaf]):
    made: int = 0

    def __init__(self) -> None:
        type(self).made += 1

    def items(self) -> list[Leaf]:
        return LEAVES

    def lastmod(self, item: Leaf) -> Any:
        return item.updated


@pytest.fixture(params=["index", "sitemap"])
def response(request: pytest.FixtureRequest, settings: Any) -> Any:
    """What a view has returned, not rendered yet."""
    settings.ROOT_URLCONF = OURS.urlconf
    return getattr(views, request.param)(RequestFactory().get("/"), {"one": Section})


class TestResponse:
    """The `TemplateResponse` that the views return."""

    def test_is_one_and_not_rendered(self, response: Any) -> None:
        assert isinstance(response, TemplateResponse)
        assert not response.is_rendered
        with pytest.raises(ContentNotRenderedError):
            _ = response.content
        with pytest.raises(ContentNotRenderedError):
            list(response)

    def test_renders_itself_once_and_returns_itself(self, response: Any) -> None:
        assert response.render() is response
        assert response.is_rendered
        content = response.content
        response.context_data.clear()
        assert response.render().content == content

    def test_tells_its_template(self, response: Any) -> None:
        assert response.template_name in ("sitemap.xml", "sitemap_index.xml")
        assert response.resolve_template(response.template_name).render(
            response.resolve_context(response.context_data)
        )

    def test_gives_its_content_without_being_rendered(self, response: Any) -> None:
        content = response.rendered_content
        assert not response.is_rendered
        as_bytes = content if isinstance(content, bytes) else content.encode()
        assert response.render().content == as_bytes

    def test_tells_callbacks_when_it_is_rendered(self, response: Any) -> None:
        told: list[Any] = []
        response.add_post_render_callback(told.append)
        assert told == []
        response.render()
        assert told == [response]
        response.add_post_render_callback(told.append)
        assert told == [response, response]

    def test_is_replaced_by_what_a_callback_returns(self, response: Any) -> None:
        other = HttpResponse(b"other")
        response.add_post_render_callback(lambda rendered: other)
        assert response.render() is other

    def test_keeps_content_that_is_set_before(self, response: Any) -> None:
        response.content = b"<mine/>"
        assert response.is_rendered
        assert response.render().content == b"<mine/>"

    def test_takes_headers_and_status(self, response: Any) -> None:
        response.headers["Cache-Control"] = "private"
        response.status_code = 203
        response.render()
        assert (response.status_code, response["Cache-Control"]) == (203, "private")

    def test_is_pickled_once_rendered_and_not_before(self, response: Any) -> None:
        with pytest.raises(ContentNotRenderedError):
            pickle.dumps(response)
        response.render()
        copied = pickle.loads(pickle.dumps(response))  # noqa: S301 - our own bytes
        assert copied.content == response.content
        assert copied.headers == response.headers


class TestViews:
    @pytest.mark.parametrize("name", ["index", "sitemap"])
    def test_take_contribs_arguments_and_may_do_without_sections(self, name: str) -> None:
        theirs = inspect.signature(getattr(contrib_views, name)).parameters
        ours = inspect.signature(getattr(views, name)).parameters
        assert list(ours) == list(theirs)
        assert all(ours[key].kind is theirs[key].kind for key in theirs)
        assert {key: ours[key].default for key in ours} == {
            **{key: theirs[key].default for key in theirs},
            "sitemaps": None,
        }

    def test_take_their_arguments_by_position(self) -> None:
        request = RequestFactory().get("/")
        with override_settings(ROOT_URLCONF=OURS.urlconf):
            index = views.index(request, {"one": Section}, "i.xml", "text/xml", "cached")
            assert index.context_data["sitemaps"][0].location.endswith("/cached/sitemap-one.xml")
        sitemap = views.sitemap(request, {"one": Section}, "one", "s.xml", "text/plain")
        assert (index.template_name, index["Content-Type"]) == ("i.xml", "text/xml")
        assert (sitemap.template_name, sitemap["Content-Type"]) == ("s.xml", "text/plain")

    @pytest.mark.parametrize("view", ["index", "sitemap"])
    def test_make_a_class_anew_once_for_each_request(self, view: str) -> None:
        with override_settings(ROOT_URLCONF=OURS.urlconf):
            for _ in range(3):
                before = Section.made
                getattr(views, view)(RequestFactory().get("/"), {"one": Section}).render()
                assert Section.made == before + 1

    def test_make_no_section_that_is_not_asked_for(self) -> None:
        def never() -> Any:
            raise AssertionError

        sections = {"never": never, "one": Section}
        assert views.sitemap(RequestFactory().get("/"), sections, section="one").render()

    def test_keep_nothing_of_a_request(self) -> None:
        class Growing(Section):
            def __init__(self) -> None:
                self.seen: list[str] = []

            def location(self, item: Leaf) -> str:
                self.seen.append(item.slug)
                return f"/{len(self.seen)}"

        found = [
            views.sitemap(RequestFactory().get("/"), {"one": Growing}).render().content for _ in range(2)
        ]
        assert found[0] == found[1]

    def test_use_an_instance_for_every_request(self) -> None:
        sections = {"one": Section()}
        found = [views.sitemap(RequestFactory().get("/"), sections).render().content for _ in range(2)]
        assert found[0] == found[1]
        assert b"/leaf/elm/" in found[0]

    def test_read_a_mapping_at_each_request(self) -> None:
        sections: dict[str, Any] = {}
        first = views.sitemap(RequestFactory().get("/"), sections).render().content
        sections["one"] = Section
        second = views.sitemap(RequestFactory().get("/"), sections).render().content
        assert roads.texts(first, "loc") == []
        assert len(roads.texts(second, "loc")) == 3

    def test_refuse_a_section_before_reading_any(self) -> None:
        def never() -> Any:
            raise AssertionError

        url = "/sitemap-none.xml"
        assert given(url) == expected(url)
        with pytest.raises(Exception, match="No sitemap available for section: 'none'"):
            views.sitemap(RequestFactory().get("/"), {"never": never}, section="none")

    def test_give_the_page_as_it_stands_in_the_request(self) -> None:
        """Whoever overrides `get_urls()` or the paginator gets the text, as from contrib."""
        told: list[Any] = []

        class Telling(Section):
            def get_urls(self, page: Any = 1, site: Any = None, protocol: Any = None) -> Any:
                told.append((page, site.domain, protocol))
                return []

        views.sitemap(RequestFactory().get("/?p=x"), {"one": Telling}).render()
        views.sitemap(RequestFactory().get("/", secure=True), {"one": Telling}).render()
        assert told == [("x", "example.com", "http"), (1, "example.com", "https")]

    def test_read_the_pages_of_the_paginator_that_a_class_has(self) -> None:
        class Named(Paginator):
            def validate_number(self, number: Any) -> int:
                return {"first": 1, "second": 2}.get(str(number)) or super().validate_number(number)

        class Lettered(Section):
            @property
            def paginator(self) -> Paginator:
                return Named(LEAVES, 2)

        made = views.sitemap(RequestFactory().get("/?p=second"), {"one": Lettered}).render()
        assert roads.texts(made.content, "loc") == ["http://example.com/leaf/ash/"]


class TestCaching:
    @pytest.mark.parametrize("path", ["index.xml", "sitemap-counted.xml"])
    def test_by_cache_page_asks_the_section_once(self, path: str) -> None:
        url = f"/cached/{path}"
        made = resolve(url, urlconf=OURS.urlconf).kwargs["sitemaps"]["counted"].made
        made.clear()
        first, second = answer(OURS, url), answer(OURS, url)
        assert len(made) == 1
        assert second.body == first.body
        assert {**second.headers, "Age": "0"} == {**first.headers, "Age": "0"}
        cache.clear()
        assert set(first.headers) == set(answer(roads.CONTRIB, url).headers)
        assert first.headers["X-Robots-Tag"] == "noindex, noodp, noarchive"

    @pytest.mark.parametrize("path", ["index.xml", "sitemap-counted.xml"])
    def test_by_cache_page_gives_what_is_given_without(self, path: str) -> None:
        cached = answer(OURS, f"/cached/{path}").body
        assert cached == answer(OURS, f"/counted/{path}").body.replace(b"/counted/", b"/cached/")

    def test_of_the_whole_site_asks_the_section_once(self, settings: Any) -> None:
        settings.MIDDLEWARE = [
            "django.middleware.cache.UpdateCacheMiddleware",
            "django.middleware.gzip.GZipMiddleware",
            "django.middleware.common.CommonMiddleware",
            "django.middleware.cache.FetchFromCacheMiddleware",
        ]
        url = "/counted/sitemap-counted.xml"
        made = resolve(url, urlconf=OURS.urlconf).kwargs["sitemaps"]["counted"].made
        made.clear()
        first, second = answer(OURS, url), answer(OURS, url)
        assert len(made) == 1
        assert first.body == second.body


class TestOtherPeoplesObjects:
    def test_may_be_subclasses_of_nothing(self) -> None:
        made = views.sitemap(RequestFactory().get("/"), {"tree": Tree}).render()
        assert roads.texts(made.content, "loc") == [
            "https://root.example.net/?a=1&b=2",
            "http://example.com/root",
            "//root/",
            "https://shop.example.net/?a=1&b=2",
            "http://example.com/shop",
            "//shop/",
        ]
        assert roads.texts(made.content, "priority") == ["0.5", "0.5"]
        assert roads.texts(made.content, "lastmod") == ["2024-02-29T23:30:00Z"] * 2

    def test_may_be_flatpages(self) -> None:
        found = roads.texts(answer(OURS, "/flatpages/sitemap-class.xml").body, "loc")
        assert found == ["http://example.com/about/", "http://example.com/a&b/"] or sorted(found) == [
            "http://example.com/a&b/",
            "http://example.com/about/",
        ]

    @modify_settings(INSTALLED_APPS={"remove": ["django.contrib.sites"]})
    def test_say_what_they_need(self) -> None:
        with pytest.raises(ImproperlyConfigured, match=r"requires django\.contrib\.sites"):
            views.sitemap(RequestFactory().get("/"), {"flat": FlatPageSitemap}).render()

    def test_may_give_times_of_any_zone(self) -> None:
        class Zoned(Tree):
            def get_urls(self, page: Any = 1, site: Any = None, protocol: Any = None) -> Any:
                return [{"location": "https://x/", "lastmod": LATE.astimezone(UTC)}]

        made = views.sitemap(RequestFactory().get("/"), {"tree": Zoned}).render()
        assert roads.texts(made.content, "lastmod") == ["2026-01-02T02:15:59Z"]
