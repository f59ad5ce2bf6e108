"""Responses of the compatibility views: templates, contexts that a project changes, arguments, caching."""

from __future__ import annotations

import inspect
import pickle
from types import SimpleNamespace

import pytest
from django.contrib.sitemaps import views as contrib_views
from django.core.cache import cache
from django.core.paginator import Paginator
from django.http import Http404
from django.template import loader
from django.template.response import ContentNotRenderedError, TemplateResponse
from django.test import Client, RequestFactory, modify_settings, override_settings
from django.urls import resolve

from django_sitemaps09 import Image, Sitemap, views
from tests.compat import projects
from tests.compat.cases import CASES, COMPAT_BASES, EARLY, LATE, LEAVES, section, updated
from tests.compat.projects import COMPAT, CONTRIB, answer, assert_same, canonical_answer, fetch, texts
from tests.support.processes import ROOT
from tests.support.sections import declare

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("articles")]
Leaves = section(COMPAT_BASES, LEAVES, lastmod=updated)


def get(view=views.sitemap, declared=Leaves, path="/", **options):
    return view(RequestFactory().get(path), {"one": declared}, **options)


def never():
    raise AssertionError


@pytest.mark.parametrize(("url", "name"), [
    *(("/limits/index.xml", "sitemap_index.xml"), ("/limits/sitemap.xml", "sitemap.xml")),
    *(("/templates/index.xml", "compat/index.xml"), ("/templates/sitemap.xml", "compat/urls.txt")),
    *(("/templates/several.xml", "sitemap.xml"), ("/templates/several-index.xml", "compat/index.xml")),
])  # fmt: skip
def test_a_test_of_the_project_sees_contribs_templates_and_contexts(url, name):
    response = fetch(COMPAT, url)
    assert [template.name for template in response.templates] == [name]
    key = "urlset" if "urlset" in response.context_data else "sitemaps"
    assert response.context[key] == response.context_data[key]


def test_our_templates_replace_contribs_even_without_our_app():
    for name in ("sitemap.xml", "sitemap_index.xml"):
        assert loader.get_template(name).origin.name.startswith(str(ROOT / "django_sitemaps09"))
    dated = declare(Sitemap, items=lambda self: ["/a/"], lastmod=LATE, location="/a/")
    contribs, ours = "django.contrib.sitemaps", "django_sitemaps09"
    with modify_settings(INSTALLED_APPS={"append": contribs, "remove": ours}):
        content, theirs = (get(each.sitemap, dated).render().content for each in (views, contrib_views))
    # Contrib writes the date in the local time zone.
    assert b"<lastmod>2026-01-02</lastmod>" in theirs
    assert b"<lastmod>2026-01-02T02:15:59Z</lastmod>" in content


@pytest.mark.parametrize("name", ["sitemap.xml", "sitemap_index.xml"])
def test_templates_of_the_project_need_no_file(name):
    own = {name: "<own>{{ urlset|length }}{{ sitemaps|length }}{{ request.path }}</own>"}
    url = "/limits/sitemap-of-2.xml" if name == "sitemap.xml" else "/limits/index.xml"
    options = {
        "loaders": [("django.template.loaders.locmem.Loader", own)],
        "context_processors": ["django.template.context_processors.request"],
    }
    urls = projects.routes(COMPAT, "limits")
    with override_settings(ROOT_URLCONF=urls, TEMPLATES=projects.templates(**options)):
        response = Client().get(url)
    assert response.content.decode() == f"<own>{'20' if name == 'sitemap.xml' else '06'}{url}</own>"


def test_templates_of_the_project_may_be_for_another_engine(settings):
    """Templates of that engine do not have an origin."""
    engine = "django.template.backends.dummy.TemplateStrings"
    settings.TEMPLATES = [{"BACKEND": engine, "DIRS": [projects.PROJECT_TEMPLATES]}]
    found = views.sitemap(RequestFactory().get("/"), {}).render().content.decode()
    assert found == (projects.PROJECT_TEMPLATES / "sitemap.xml").read_text(encoding="utf-8")


@pytest.mark.parametrize("host", ["http://example.com", ""])
def test_an_image_that_a_project_adds_to_those_of_a_hook_gets_the_host_of_the_entries(host):
    hooks = {"location": "/a/", "images": lambda self, item: [Image("/i.png")]}
    response = get(declared=declare(Sitemap, items=lambda self: LEAVES, **hooks))
    for url in response.context_data["urlset"]:
        url["location"] = f"{host}/a/"
        url["images"].append(Image("/logo.png"))
    found = response.render().content.decode()
    assert f"<image:loc>{host or 'https://localhost'}/logo.png</image:loc>" in found


def of(key, edit):
    """Return an edit of the list with this key in the context."""
    return lambda response: edit(response.context_data[key]) and None


def first(**values):
    return of("urlset", lambda urls: urls[0].update(values))


URLSET = {
    "reads": of("urlset", lambda urls: [dict(url) for url in urls]),
    "appends": of("urlset", lambda urls: urls.append({"location": "http://x.example/?a&b"})),
    "deletes": of("urlset", lambda urls: urls.pop(0)),
    "sorts": of("urlset", lambda urls: urls.sort(key=lambda url: url["location"], reverse=True)),
    "changes values in place": first(location="https://b.example/", lastmod=LATE, priority="0.9"),
    "takes values away in place": first(lastmod=None, priority="", item=None),
    "sets alternates": first(alternates=[{"location": "/fr/", "lang_code": "fr"}]),
    "drops keys": of("urlset", lambda urls: [url.pop("alternates") for url in urls]),
    "replaces the list": lambda r: r.context_data.update(urlset=({"location": "http://y/"},)),
    "drops the list": lambda r: r.context_data.pop("urlset") and None,
    "adds a key": lambda r: r.context_data.update(note="more"),
    "replaces the context": lambda r: setattr(r, "context_data", {"urlset": []}),
    "names another template": lambda r: setattr(r, "template_name", "compat/urls.txt"),
    "names another status": lambda r: setattr(r, "status_code", 203),
    "sets a header": lambda r: r.headers.update({"Cache-Control": "max-age=5"}),
}
CONTRIBS_ITEM = contrib_views.SitemapIndexItem("https://cdn.example/more.xml", EARLY)
DICT = {"location": "https://cdn.example/dict.xml", "last_mod": EARLY}
INDEX = {
    "reads": of("sitemaps", lambda sites: [site.location for site in sites]),
    "deletes": of("sitemaps", lambda sites: sites.pop()),
    "changes a location in place": of("sitemaps", lambda sites: setattr(sites[0], "location", "/?a=1&b=2")),
    "takes a time away in place": of("sitemaps", lambda sites: setattr(sites[0], "last_mod", None)),
    "appends one of contribs": of("sitemaps", lambda sites: sites.append(CONTRIBS_ITEM)),
    "appends a dict": of("sitemaps", lambda sites: sites.append(DICT)),
    "appends an object without a time": of(
        "sitemaps", lambda sites: sites.append(SimpleNamespace(location="https://cdn.example/object.xml"))
    ),
    "drops the list": lambda r: r.context_data.pop("sitemaps") and None,
    "names another template": lambda r: setattr(r, "template_name", "compat/index.xml"),
    "adds a key": lambda r: r.context_data.update(note="more"),
}
EDITS = {"sitemap": URLSET, "index": INDEX}


@pytest.mark.parametrize(("view", "edit"), [(view, edit) for view in EDITS for edit in EDITS[view]])
def test_a_context_counts_however_it_is_changed_before_the_rendering(view, edit, editing):
    editing(EDITS[view][edit])
    for name in ("languages_with_a_default", "tree_as_class_and_instance"):
        url = f"/{name}/{view}.xml"
        if edit == "names another template":
            assert answer(COMPAT, url) == answer(CONTRIB, url)
        else:
            assert_same(url)


def test_a_context_counts_deep_within_an_entry(editing):
    def edit(response):
        response.context_data["urlset"][0]["alternates"][0]["location"] = "https://deep/?a&b"
        response.context_data["urlset"][1]["alternates"].clear()

    editing(edit)
    assert b"https://deep/" in assert_same("/languages_with_alternates/sitemap.xml").body


@pytest.mark.parametrize("name", CASES)
def test_the_stock_template_and_the_writer_produce_the_same_document(name, editing):
    """A context that was accessed is written by the template."""
    urls = (f"/{name}/index.xml", f"/{name}/sitemap.xml")
    before = [canonical_answer(COMPAT, url) for url in urls]
    editing(lambda response: setattr(response, "context_data", {**response.context_data}))
    assert [canonical_answer(COMPAT, url) for url in urls] == before


@pytest.mark.parametrize("view", [views.index, views.sitemap], ids=["index", "sitemap"])
def test_a_response_is_a_template_response_that_is_rendered_once(view):
    response, rendered = get(view), []
    response.add_post_render_callback(rendered.append)
    assert (isinstance(response, TemplateResponse), response.is_rendered, rendered) == (True, False, [])
    for use in (lambda: response.content, lambda: list(response), lambda: pickle.dumps(response)):
        with pytest.raises(ContentNotRenderedError):
            use()
    early = response.rendered_content
    assert not response.is_rendered
    assert response.render() is response
    assert rendered == [response]
    content = response.content
    assert content == (early if isinstance(early, bytes) else early.encode())
    response.context_data.clear()
    assert response.render().content == content
    copied = pickle.loads(pickle.dumps(response))  # noqa: S301 - our own bytes
    assert (copied.content, copied.headers) == (content, response.headers)


@pytest.mark.parametrize("name", ["index", "sitemap"])
def test_a_view_takes_contribs_arguments_and_needs_no_sections(name):
    both = (getattr(module, name) for module in (contrib_views, views))
    theirs, ours = (inspect.signature(view).parameters.items() for view in both)
    expected = [(key, each.kind, None if key == "sitemaps" else each.default) for key, each in theirs]
    assert [(key, each.kind, each.default) for key, each in ours] == expected


def test_a_view_reads_its_mapping_at_each_request_and_creates_only_what_is_requested():
    request, mapping = RequestFactory().get("/"), {}
    assert texts(views.sitemap(request, mapping).render().content, "loc") == []
    counted = projects.counted(COMPAT_BASES)
    mapping["one"] = counted
    for view in (views.sitemap, views.index):
        for _ in range(3):
            made, found = counted.made, texts(view(request, mapping).render().content, "loc")
            assert (len(found), counted.made - made) == (3 if view is views.sitemap else 1, 1)
    mapping["never"] = never
    assert views.sitemap(request, mapping, section="one").render()
    with pytest.raises(Http404, match="No sitemap available for section: 'none'"):
        views.sitemap(request, {"never": never}, section="none")


def test_an_overridden_get_urls_or_paginator_gets_the_page_of_the_request_unchanged():
    calls = []

    def get_urls(self, page=1, site=None, protocol=None):
        calls.append((page, site.domain, protocol))
        return []

    telling = declare(Leaves, get_urls=get_urls)
    get(declared=telling, path="/?p=x").render()
    views.sitemap(RequestFactory().get("/", secure=True), {"one": telling}).render()
    assert calls == [("x", "example.com", "http"), (1, "example.com", "https")]

    class Named(Paginator):
        def validate_number(self, number):
            return {"first": 1, "second": 2}.get(str(number)) or super().validate_number(number)

    lettered = declare(Leaves, paginator=property(lambda self: Named(LEAVES, 2)))
    made = get(declared=lettered, path="/?p=second").render()
    assert texts(made.content, "loc") == ["http://example.com/leaf/ash/"]


@pytest.mark.parametrize("path", ["index.xml", "sitemap-counted.xml"])
def test_a_cached_view_calls_the_section_once(path, settings):
    section = resolve(f"/cached/{path}", urlconf=COMPAT.urlconf).kwargs["sitemaps"]["counted"]

    def twice(url):
        before, found = section.made, [answer(COMPAT, url) for _ in "ab"]
        assert section.made == before + 1
        return found

    first, second = twice(f"/cached/{path}")
    counted = answer(COMPAT, f"/counted/{path}").body
    assert first.body == second.body == counted.replace(b"/counted/", b"/cached/")
    assert {**second.headers, "Age": "0"} == {**first.headers, "Age": "0"}
    cache.clear()
    assert {*first.headers} == {*answer(CONTRIB, f"/cached/{path}").headers}
    assert first.headers["X-Robots-Tag"] == "noindex, noodp, noarchive"
    names = ("cache.UpdateCache", "gzip.GZip", "common.Common", "cache.FetchFromCache")
    settings.MIDDLEWARE = [f"django.middleware.{name}Middleware" for name in names]
    first, second = twice(f"/counted/{path}")
    assert first.body == second.body
