"""Templates and contexts of the compatibility views: changes by a project or a middleware take effect."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from django.contrib.sitemaps import views as contrib_views
from django.template import loader
from django.template.response import TemplateResponse
from django.test import Client, RequestFactory, modify_settings, override_settings

from django_sitemaps09 import Sitemap, views
from tests.compat import projects
from tests.compat.cases.parts import CASES, COMPAT_BASES, EARLY, LATE
from tests.compat.projects import COMPAT, PROJECT_TEMPLATES, answer, compat_answer, contrib_answer, fetch
from tests.support.paths import ROOT

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("rows")]


class TestTemplates:
    @pytest.mark.parametrize(
        ("url", "name"),
        [
            ("/limits/index.xml", "sitemap_index.xml"),
            ("/limits/sitemap.xml", "sitemap.xml"),
            ("/templates/index.xml", "compat/index.xml"),
            ("/templates/sitemap.xml", "compat/urls.txt"),
            ("/templates/several.xml", "sitemap.xml"),
            ("/templates/several-index.xml", "compat/index.xml"),
        ],
    )
    def test_that_a_test_of_the_project_sees_are_contribs(self, url: str, name: str) -> None:
        response = fetch(COMPAT, url)
        assert [template.name for template in response.templates] == [name]
        key = "urlset" if "urlset" in response.context_data else "sitemaps"
        assert response.context[key] == response.context_data[key]

    @pytest.mark.parametrize("name", ["sitemap.xml", "sitemap_index.xml"])
    def test_with_contribs_names_exist_without_contribs_app(self, name: str) -> None:
        assert loader.get_template(name).origin.name.startswith(str(ROOT / "django_sitemaps09"))

    def test_of_contrib_are_replaced_without_our_app(self) -> None:
        apps = {"append": "django.contrib.sitemaps", "remove": "django_sitemaps09"}
        attributes = {"items": lambda self: ["/a/"], "lastmod": LATE, "location": "/a/"}
        section = type("Dated", (Sitemap,), attributes)
        with modify_settings(INSTALLED_APPS=apps):
            content = views.sitemap(RequestFactory().get("/"), {"s": section}).render().content
            theirs = contrib_views.sitemap(RequestFactory().get("/"), {"s": section}).render().content
        # Contrib writes the date in the local time zone.
        assert b"<lastmod>2026-01-02</lastmod>" in theirs
        assert b"<lastmod>2026-01-02T02:15:59Z</lastmod>" in content

    def test_of_the_project_see_the_item(self) -> None:
        body = answer(COMPAT, "/items_as_a_queryset/sitemap.xml?p=2", folders=[PROJECT_TEMPLATES]).body
        assert "<news:title>gamma-ü</news:title>".encode() in body

    @pytest.mark.parametrize("name", ["sitemap.xml", "sitemap_index.xml"])
    def test_of_the_project_need_no_file(self, name: str) -> None:
        own = {name: "<own>{{ urlset|length }}{{ sitemaps|length }}{{ request.path }}</own>"}
        url = "/limits/sitemap-two.xml" if name == "sitemap.xml" else "/limits/index.xml"
        options = {
            "loaders": [("django.template.loaders.locmem.Loader", own)],
            "context_processors": ["django.template.context_processors.request"],
        }
        routes = projects.urlconf(COMPAT, "limits")
        with override_settings(ROOT_URLCONF=routes, TEMPLATES=projects.templates(**options)):
            response = Client().get(url)
        numbers = "20" if name == "sitemap.xml" else "06"
        assert response.content.decode() == f"<own>{numbers}{url}</own>"

    @override_settings(
        TEMPLATES=[
            {
                "BACKEND": "django.template.backends.dummy.TemplateStrings",
                "DIRS": [projects.PROJECT_TEMPLATES],
            }
        ]
    )
    def test_of_the_project_may_be_for_another_engine(self) -> None:
        """Templates of that engine do not have an origin."""
        request = RequestFactory().get("/")
        found = views.sitemap(request, {}).render().content.decode()
        assert found == (projects.PROJECT_TEMPLATES / "sitemap.xml").read_text(encoding="utf-8")

    def test_are_searched_at_each_request(self) -> None:
        before = answer(COMPAT, "/limits/sitemap-two.xml").body
        during = answer(COMPAT, "/limits/sitemap-two.xml", folders=[PROJECT_TEMPLATES]).body
        assert b"own" in during
        assert answer(COMPAT, "/limits/sitemap-two.xml").body == before

    @pytest.mark.parametrize("place", ["before", "after"])
    def test_can_be_installed_with_contribs_app(self, place: str, settings: Any) -> None:
        """`django.contrib.sitemaps` may stay installed, before or after this app."""
        apps = list(settings.INSTALLED_APPS)
        at = apps.index("django_sitemaps09") + (place == "after")
        settings.INSTALLED_APPS = [*apps[:at], "django.contrib.sitemaps", *apps[at:]]
        for url in ("/limits/sitemap.xml", "/limits/index.xml", "/languages_with_a_default/sitemap.xml"):
            assert compat_answer(url) == contrib_answer(url)


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
    "names another template": lambda r: setattr(r, "template_name", "compat/urls.txt"),
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
    "names another template": lambda r: setattr(r, "template_name", "compat/index.xml"),
    "adds a key": lambda r: r.context_data.update(note="more"),
}


class TestContext:
    """Changes by a middleware, or by a wrapping view, before the response is rendered."""

    @pytest.mark.parametrize(
        ("view", "edit"),
        [*(("sitemap", edit) for edit in URLSET_EDITS), *(("index", edit) for edit in INDEX_EDITS)],
    )
    def test_counts_however_it_is_changed(self, view: str, edit: str, editing: Callable[..., None]) -> None:
        editing((URLSET_EDITS if view == "sitemap" else INDEX_EDITS)[edit])
        for name in ("languages_with_a_default", "tree_as_class_and_instance"):
            url = f"/{name}/{view}.xml"
            if edit == "names another template":
                assert answer(COMPAT, url) == answer(projects.CONTRIB, url)
            else:
                assert compat_answer(url) == contrib_answer(url)

    def test_counts_deep_within_an_entry(self, editing: Callable[..., None]) -> None:
        def edit(response: Any) -> None:
            response.context_data["urlset"][0]["alternates"][0]["location"] = "https://deep/?a&b"
            response.context_data["urlset"][1]["alternates"].clear()

        editing(edit)
        url = "/languages_with_alternates/sitemap.xml"
        assert compat_answer(url) == contrib_answer(url)
        assert b"https://deep/" in compat_answer(url).body

    @pytest.mark.parametrize("name", CASES)
    def test_that_was_accessed_is_written_like_one_that_was_not(
        self, name: str, editing: Callable[..., None]
    ) -> None:
        """The stock template and the writer produce the same document."""
        before = [compat_answer(f"/{name}/{path}") for path in ("index.xml", "sitemap.xml")]
        editing(lambda response: setattr(response, "context_data", {**response.context_data}))
        after = [compat_answer(f"/{name}/{path}") for path in ("index.xml", "sitemap.xml")]
        assert after == before

    def test_may_be_answered_by_another_response(self, editing: Callable[..., None]) -> None:
        editing(lambda r: TemplateResponse(r._request, "compat/urls.txt", {"urlset": [], "note": "other"}))
        assert answer(COMPAT, "/limits/sitemap.xml").body.strip() == b"other"

    def test_is_a_plain_dict_with_a_list(self) -> None:
        made = views.sitemap(RequestFactory().get("/"), CASES["limits"](COMPAT_BASES))
        assert type(made.context_data) is dict
        assert list(made.context_data) == ["urlset"]
        assert isinstance(made.context_data["urlset"], list)
        assert {type(url) for url in made.context_data["urlset"]} == {dict}
