"""The compatibility views, `get_urls()`, exports and base classes give what contrib gives.

If responses differ by a deviation in `test_deviations.py`, contrib's response is converted first.
"""

from __future__ import annotations

import copy
from contextlib import nullcontext
from types import SimpleNamespace
from urllib.parse import quote, urlsplit

import pytest
from django.contrib import sitemaps as contrib
from django.contrib.sitemaps import views as contrib_views
from django.contrib.sites.models import Site
from django.core.exceptions import ImproperlyConfigured
from django.db import connection
from django.db.models import F, Value
from django.test import RequestFactory, modify_settings, override_settings
from django.test.utils import CaptureQueriesContext
from django.utils import translation
from lxml import etree

from django_sitemaps09 import GenericSitemap, ModelSitemap, NewsSitemap, Sitemap, StaticViewSitemap, views
from django_sitemaps09.export import export
from tests.compat import cases, projects
from tests.compat.cases import CASES, COMPAT_BASES, CONTRIB_BASES, LEAVES, section, sections, updated
from tests.compat.projects import COMPAT, CONTRIB, answer, assert_same, canonical_answer, outcome, texts
from tests.models import Article
from tests.support.factories import ArticleFactory, SiteFactory
from tests.support.internals import compat, uri
from tests.support.published import pages
from tests.support.sections import declare

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("articles")]
#: A site with only the required attribute.
HOST = SimpleNamespace(domain="shop.example.org")


@pytest.mark.parametrize("name", CASES)
def test_the_views_and_templates_of_the_project_answer_each_case_as_contribs(name):
    assert_same(f"/{name}/index.xml")
    for path in ("sitemap.xml", *map("sitemap-{}.xml".format, sections(name, CONTRIB_BASES))):
        for query in ("", "?p=2"):
            assert_same(f"/{name}/{quote(path)}{query}")
    for path in ("index.xml", "sitemap.xml", "sitemap.xml?p=2"):
        folders = [projects.PROJECT_TEMPLATES]
        ours, theirs = (answer(site, f"/{name}/{path}", folders=folders) for site in (COMPAT, CONTRIB))
        assert ours == theirs, path


@pytest.mark.parametrize("name", CASES)
def test_a_class_gives_what_contribs_gives_without_a_view(name):
    def found(declared):
        section = outcome(lambda: [declared() if callable(declared) else declared])
        if isinstance(section, tuple):
            return section
        [section] = section
        return {
            "urls": outcome(lambda: section.get_urls(site=HOST, protocol="http")),
            "default": outcome(section.get_urls),
            "second": outcome(lambda: section.get_urls(2, HOST, "https")),
            "items": outcome(lambda: section.items()),
            "languages": outcome(lambda: section._languages()),
            "latest": outcome(section.get_latest_lastmod),
            "after": getattr(section, "latest_lastmod", None),
            "pages": outcome(lambda: section.paginator.num_pages),
        }

    ours, theirs = (sections(name, bases) for bases in (COMPAT_BASES, CONTRIB_BASES))
    assert {key: found(ours[key]) for key in ours} == {key: found(theirs[key]) for key in theirs}


def listed(body):
    """Return the entries of a document as an export may write them: with quoted URLs, in any order."""
    found = []
    for url in projects.document(body):
        values = {etree.QName(each).localname: each.text for each in url if not each.attrib}
        links = {(each.get("hreflang").lower(), uri(each.get("href"))) for each in url if each.attrib}
        location, priority = values.pop("loc"), values.pop("priority", None)
        # Contrib's view leaves out the scheme.
        if urlsplit(location).netloc not in ("root", "shop", "blog"):
            found.append((uri(location), values, priority and float(priority), sorted(links)))
    return found


#: Cases that raise, or with values and names that no export accepts.
UNLISTED = ("failing_", "nothing_", "section_names_", "words_and_numbers_", "overridden_get_protocol")
UNLISTED += ("items_as_a_sequence_of_the_project", "tree_with_entries_that_are_objects", "hooks_that_set_")


@pytest.mark.parametrize("name", [name for name in CASES if not name.startswith(UNLISTED)])
def test_an_export_lists_what_contribs_view_lists(name, tmp_path, settings):
    settings.SITEMAPS09 = {"BASE_URL": "http://example.com", "GZIP": False, "ENGINE": "serial"}
    settings.ROOT_URLCONF = projects.routes(COMPAT, name)
    declared = sections(name, COMPAT_BASES)
    assert export(output=tmp_path, sitemaps=declared).failures == []
    found = {key: [] for key in declared}
    for page in pages(tmp_path):
        found[page.removeprefix("sitemap-").rpartition("-")[0]] += listed((tmp_path / page).read_bytes())
    for key, theirs in sections(name, CONTRIB_BASES).items():
        count = (theirs() if callable(theirs) else theirs).paginator.num_pages
        urls = [f"/{name}/sitemap-{key}.xml?p={page + 1}" for page in range(count)]
        expected = [entry for url in urls for entry in listed(canonical_answer(CONTRIB, url).body)]
        assert sorted(found[key], key=str) == sorted(expected, key=str), key


#: Cases of each way to read a section: by rows, languages, `get_urls()`, other classes, or not at all.
WAYS = [
    *("hooks_as_methods", "generic", "generic_in_languages", "expressions", "expressions_in_one_language"),
    *("tree_with_alternates_of_its_own", "overridden_entries_of_a_tree", "flatpages"),
    *("overridden_get_domain", "sections_of_both_bases", "failing_hook", "limits", "protocols"),
    *(name for name in CASES if name.startswith("languages")),
]
NO_SITES = {"remove": ["django.contrib.sites", "django.contrib.flatpages"]}
LANGUAGES = [("de", "German"), ("it", "Italian")]


@pytest.mark.parametrize(("around", "request_has"), [
    (nullcontext(), {"secure": True}), (nullcontext(), {"SCRIPT_NAME": "/mounted"}),
    (translation.override("pt-br"), {}), (translation.override("fr"), {}),
    (override_settings(LANGUAGE_CODE="de", LANGUAGES=LANGUAGES), {}),
    (override_settings(USE_TZ=False), {}),
    (modify_settings(INSTALLED_APPS=NO_SITES), {"HTTP_HOST": "shop.example.org:8000"}),
], ids=["https", "prefix", "pt-br", "fr", "settings", "naive", "no sites"])  # fmt: skip
def test_what_surrounds_a_view_changes_answers_as_contribs(around, request_has):
    with around:
        for name in WAYS:
            for path in ("index.xml", "sitemap.xml"):
                assert_same(f"/{name}/{path}", **request_has)


@pytest.mark.parametrize("path", ["index.xml", "sitemap.xml"])
def test_the_site_is_that_of_the_settings_or_of_the_request(path, settings):
    url = f"/hooks_as_methods/{path}"
    Site.objects.filter(pk=1).update(domain="shop.example.org:8443")
    assert b"//shop.example.org:8443/" in assert_same(url, HTTP_HOST="evil.example").body
    Site.objects.all().delete()
    assert assert_same(url).refusal is not None
    assert assert_same("/limits/sitemap-of-2.xml").refusal is not None
    del settings.SITE_ID
    SiteFactory(domain="second.example.org")
    assert b"//second.example.org/" in assert_same(url, HTTP_HOST="second.example.org").body


def test_any_method_is_answered_as_by_contrib():
    for method in ("head", "post", "put", "delete", "options"):
        for path in ("index.xml", "sitemap.xml"):
            assert_same(f"/limits/{path}", method=method)


@pytest.mark.parametrize("name", ["items_as_a_queryset", "generic", "flatpages", "limits"])
def test_the_views_run_no_more_queries_than_contribs(name):
    for path in ("index.xml", "sitemap.xml"):
        counts = []
        for project in (COMPAT, CONTRIB):
            with CaptureQueriesContext(connection) as queries:
                # Not answer(), which reads the context.
                assert projects.fetch(project, f"/{name}/{path}").status_code == 200
            counts.append(len(queries))
        assert counts[0] <= counts[1]


@pytest.mark.parametrize("url", [
    *("/sitemap.xml", "/sitemap-two.xml", "/sitemap-none.xml", "/whole/"),
    *("/fixed.xml", "/fixed.xml?p=4", "/fixed-unknown.xml", "/fixed-empty.xml"),
    *("/nested.xml", "/nested-well.xml", "/nested/sitemap-two.xml", "/nested/sitemap-a/b.xml"),
    *("/unnamed.xml", "/unnamed-empty.xml", "/templates/several.xml", "/templates/no.xml"),
    *("/templates/extending.xml", "/types/index.xml", "/types/sitemap.xml", "/limits/index.xml?p=9"),
])  # fmt: skip
def test_a_url_pattern_of_any_kind_is_answered_as_by_contrib(url):
    assert_same(url)


@pytest.mark.parametrize("name", ["index.xml", "sitemap.xml", "several-index.xml", "latin.xml"])
def test_a_template_argument_is_answered_as_by_contrib_byte_for_byte(name):
    url = f"/{'types' if name == 'latin.xml' else 'templates'}/{name}"
    theirs = answer(CONTRIB, url)
    assert (theirs.status, answer(COMPAT, url)) == (200, theirs)


@pytest.mark.parametrize("value", [
    *("0", "-1", "1", "3", "4", "999", "abc", "", "1.0", "1.5", "last", "None", "1e1"),
    *("%201%20", "01", "%2B1", "1_0", "%D9%A2", "9" * 30, "9" * 5000, "%00", "'", "&p=3"),
    *("2&p=3", "3&p=abc", "1&q=2", "%3Cb%3E"),
])  # fmt: skip
def test_the_page_of_a_url_means_what_it_means_to_contrib(value):
    for path in ("sitemap-one.xml", "sitemap.xml"):
        assert_same(f"/one_section_in_pages/{path}?p={value}")


@pytest.mark.parametrize("page", [1, "1", " 1 ", 1.0, 0, "2", -1, "x", None, 1.5], ids=repr)
def test_a_page_of_get_urls_is_taken_or_refused_as_by_contrib(page):
    ours, theirs = (
        outcome(lambda b=b: sections("hooks_as_methods", b)["one"]().get_urls(page=page))
        for b in (COMPAT_BASES, CONTRIB_BASES)
    )
    assert ours == theirs


@pytest.mark.parametrize("language", ["fr", "de"])
@override_settings(USE_THOUSAND_SEPARATOR=True)
def test_a_priority_is_never_localized(language, editing):
    """Deviation 9: contrib writes 0,5 in languages with a decimal comma."""
    priorities = lambda url: {*texts(answer(COMPAT, url).body, "priority")}  # noqa: E731
    with translation.override(language):
        assert priorities("/hooks_as_attributes/sitemap.xml") == {"0.5"}
        assert priorities("/hooks_as_methods/sitemap.xml") == {"0.3"}
        assert priorities("/tree_as_class_and_instance/sitemap-class.xml") == {"0.5"}
        editing(lambda response: response.context_data["urlset"][0].update(priority=0.4))
        assert priorities("/hooks_as_methods/sitemap.xml") == {"0.4", "0.3"}


KEYS = ["item", "location", "lastmod", "changefreq", "priority", "alternates"]


def plain(bases):
    return section(bases, LEAVES, lastmod=updated)()


def shop(**attributes):
    return cases.stated(**cases.SHOP | attributes)(COMPAT_BASES)()


def generic(bases, **info):
    return bases.GenericSitemap({"queryset": Article.objects.order_by("pk"), **info})


@pytest.mark.parametrize("kind", [Sitemap, GenericSitemap, ModelSitemap, NewsSitemap, StaticViewSitemap])
def test_a_class_of_ours_is_a_subclass_of_contribs_and_adds_no_name_that_can_collide(kind):
    assert issubclass(kind, (Sitemap, contrib.Sitemap))
    assert issubclass(kind, contrib.GenericSitemap) == (kind is GenericSitemap)
    private = {name for cls in kind.__mro__ for name in vars(cls) if name.startswith("_")}
    added = private - set(dir(contrib.GenericSitemap))
    assert {name for name in added if not name.startswith(("__", "_sitemaps09_"))} <= {"_is_protocol"}


def test_a_sitemap_has_the_defaults_of_contribs_and_no_hook_more(bases):
    for name in dir(contrib.Sitemap):
        theirs = getattr(contrib.Sitemap, name)
        is_value = not name.startswith("__") and not callable(theirs) and not isinstance(theirs, property)
        assert not is_value or getattr(Sitemap, name) == theirs
    for name in ("lastmod", "changefreq", "priority", "latest_lastmod"):
        assert not hasattr(bases.Sitemap(), name)


def test_a_project_can_write_its_own_index_with_the_names_of_contribs_module():
    for name in ("SitemapIndexItem", "_get_latest_lastmod", "x_robots_tag"):
        assert getattr(views, name) is getattr(compat, name) is getattr(contrib_views, name)


def test_get_reads_any_hook_that_a_project_adds_or_returns_the_default(bases):
    made = section(bases, LEAVES, rating=5, title=lambda self, item: item.slug.upper())()
    assert [made._get(name, LEAVES[0]) for name in ("rating", "title", "none")] == [5, "OAK", None]
    assert made._get("none", LEAVES[0], "a") == made._get(name="none", item=LEAVES[0], default="a") == "a"


def never(*args):
    raise AssertionError


def test_names_that_mean_something_to_native_views_mean_nothing_to_compatibility_views(bases):
    """A project may already have attributes with these names."""
    names = {"key": "anything", "images": "not callable", "model": None, "videos": never, "news": never}
    named = section(bases, LEAVES, **names)
    expected = [f"https://shop.example.org/leaf/{leaf.slug}/" for leaf in LEAVES]
    assert [url["location"] for url in named().get_urls(site=HOST)] == expected
    assert len(texts(views.sitemap(RequestFactory().get("/"), {"one": named}).render().content, "loc")) == 3


def test_get_urls_returns_plain_dicts_with_the_items_themselves_and_reads_them_once(bases):
    calls, made = [], plain(bases)
    made.items = lambda: calls.append(1) or LEAVES
    found = made.get_urls()
    assert (calls, [(type(url), list(url)) for url in found]) == ([1], [(dict, KEYS)] * len(LEAVES))
    assert all(url["item"] is leaf for url, leaf in zip(found, LEAVES, strict=True))
    assert copy.copy(plain(bases)).get_urls() == copy.deepcopy(plain(bases)).get_urls() == found


@pytest.mark.parametrize("make", [lambda b: section(b, Article.objects.order_by("pk"))(), generic])
def test_a_class_without_a_site_misses_it_before_it_reads_items(bases, make):
    Site.objects.all().delete()
    Site.objects.clear_cache()
    found = make(bases)
    found.items = never
    with pytest.raises(ImproperlyConfigured, match="enable the sites framework or pass a Site"):
        found.get_urls()
    with modify_settings(INSTALLED_APPS={"remove": ["django.contrib.sites", "django.contrib.flatpages"]}):
        with pytest.raises(ImproperlyConfigured, match="enable the sites framework or pass a Site"):
            make(bases).get_urls()
        assert len(make(bases).get_urls(site=HOST)) == 5


def test_a_generic_sitemap_keeps_its_arguments_and_no_row(bases):
    rows, values = Article.objects.all(), {"priority": 0.6, "changefreq": "monthly", "protocol": "http"}
    with CaptureQueriesContext(connection) as queries:
        made = bases.GenericSitemap(info_dict={"queryset": rows, "date_field": "updated"}, **values)
    assert (len(queries), made.queryset is rows, made.date_field) == (0, True, "updated")
    assert {name: getattr(made, name) for name in values} == values
    empty = bases.GenericSitemap({"queryset": None})
    assert [getattr(empty, name) for name in ("date_field", *values)] == [None] * 4
    assert empty.lastmod(LEAVES[0]) is empty.get_latest_lastmod() is None
    assert outcome(lambda: bases.GenericSitemap({})) == (KeyError, "'queryset'")
    # An instance that is created at import sees rows that were added later.
    made = generic(bases, date_field="updated")
    for count in (5, 6):
        assert (len(made.get_urls()), made.queryset._result_cache) == (count, None)
        ArticleFactory(slug="later")
    with CaptureQueriesContext(connection) as queries:
        assert made.get_latest_lastmod() == projects.UPDATED["gamma-ü"]
    assert len(queries) == 1


def test_items_of_expressions_are_instances_whose_fields_are_their_own():
    names = {name: Value(name) for name in ("location", "lastmod", "priority", "changefreq")}
    found = shop(rows=Article.objects.order_by("pk").annotate(**names)).get_urls()
    for url in found:
        item = url["item"]
        assert (type(item), list(url), [getattr(item, name) for name in names]) == (Article, KEYS, [*names])
        assert item.get_absolute_url() == f"/articles/{item.slug}/"
        assert url["lastmod"] == item.updated
        item.slug = "changed"
        item.save()
    assert Article.objects.filter(slug="changed").count() == len(found) == 5
    # A hook for further elements adds its key.
    assert [url["news"] for url in shop(news=lambda self, item: None).get_urls()] == [None] * 5


def test_the_newest_time_is_read_in_the_database():
    """One row has no time."""
    rows = Article.objects.all()
    for given, newest in ((rows.exclude(updated=None), projects.UPDATED["gamma-ü"]), (rows, None)):
        with CaptureQueriesContext(connection) as queries:
            assert shop(rows=given).get_latest_lastmod() == newest
        assert len(queries) <= 2


def test_rows_that_are_not_a_queryset_and_a_date_field_that_is_not_a_name_are_refused_clearly():
    listed = declare(Sitemap, lastmod=F("updated"), items=lambda self: [Article()])
    for declared in (listed, declare(queryset=Article.objects.all)):
        with pytest.raises(ImproperlyConfigured, match=r"Declared.*queryset"):
            declared().get_urls(site=HOST)
    with pytest.raises(ImproperlyConfigured, match=r"`date_field` of GenericSitemap must be .*not 7 \(int"):
        generic(COMPAT_BASES, date_field=7).get_urls(site=HOST)
