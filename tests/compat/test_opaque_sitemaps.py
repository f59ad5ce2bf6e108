"""Opaque sitemaps with their own `get_urls()`, and patches: every URL of contrib's view is listed."""

from __future__ import annotations

import datetime
import textwrap
from unittest import mock
from xml.etree import ElementTree

import pytest
from django.conf import settings as configured
from django.contrib import sitemaps as contrib
from django.core.paginator import EmptyPage, Paginator
from django.db import connections
from django.test import Client
from django.urls import include, path

from django_sitemaps09 import ModelSitemap, NewsSitemap, Sitemap, views
from django_sitemaps09.export import export
from tests.support.configuration import BASE
from tests.support.databases import require
from tests.support.native_views import forget
from tests.support.processes import ROOT, ended, started
from tests.support.published import indexed
from tests.support.sections import declare, listing

pytestmark = [pytest.mark.django_db, pytest.mark.urls(__name__), pytest.mark.sitemaps09]
SITEMAPS = {}
urlpatterns = [
    path("", include("django_sitemaps09.urls"), {"sitemaps": SITEMAPS}),
    path("contrib.xml", views.sitemap, {"sitemaps": SITEMAPS}),
]
BASES = pytest.mark.parametrize("base", [contrib.Sitemap, Sitemap], ids=["contrib", "compat"])


@pytest.fixture
def serve(monkeypatch):
    def only(section):
        monkeypatch.setitem(SITEMAPS, "s", section)
        return section

    return only


def live(url, name="loc"):
    """Return the texts of all elements with this name; empty if the document does not exist."""
    response = Client().get(url)
    if response.status_code == 404:
        return []
    assert response.status_code == 200
    root = ElementTree.fromstring(response.content)  # noqa: S314 our own output
    return [str(part.text) for part in root.iter() if part.tag.endswith(f"}}{name}")]


def on_both(name="loc"):
    return live("/contrib.xml", name), live("/sitemap-s-1.xml", name)


def named(*numbers):
    return [f"{BASE}/{number}/" for number in numbers]


def indexes(*numbers):
    return [f"{BASE}/sitemap-s-{number}.xml.gz" for number in numbers]


def exported(folder, section):
    report = export(output=folder, sitemaps={"s": section})
    assert report.failures == []
    return report.urls, indexed(folder)


def for_a_site(base, otherwise=0, after=lambda self: None, before=lambda page: None):
    class ForASite(base):
        limit, site = 4, None
        pages = []

        def get_urls(self, page=1, site=None, protocol=None):
            self.site = site
            self.pages.append(page)
            before(int(page))
            try:
                return super().get_urls(page, site, protocol)
            finally:
                after(self)

        def items(self):
            return list(range(10 if self.site else otherwise))

        def location(self, item):
            return f"/{item}/"

    return ForASite


@BASES
def test_a_section_that_lists_by_its_site_is_whole_and_is_called_once_for_a_page(base, serve, tmp_path):
    section = serve(for_a_site(base))
    assert (live("/sitemap.xml"), section.pages) == (indexes(1, 2, 3), [1])
    found = [live(f"/sitemap-s-{number}.xml") for number in (1, 2, 3, 4)]
    assert found == [named(0, 1, 2, 3), named(4, 5, 6, 7), named(8, 9), []]
    assert section.pages[:4] == [1, 1, 2, 3]
    section.pages.clear()
    assert exported(tmp_path, section) == (10, {*named(*range(10))})
    # Page 1 is requested before the paginator, and rendered once.
    assert section.pages == [1, 2, 3]
    fewer_without_a_site = serve(for_a_site(base, otherwise=3))
    assert (len(live("/sitemap.xml")), exported(tmp_path / "fewer", fewer_without_a_site)[0]) == (3, 10)


@BASES
def test_a_section_may_fail_for_a_page_that_is_not_there_and_is_logged_if_it_fails(base, serve, caplog):
    def failing_from(first):
        def fail(page):
            if page >= first:
                raise LookupError(page)

        return for_a_site(base, before=fail)

    serve(failing_from(4))
    assert len(live("/sitemap.xml")) == 3
    caplog.clear()
    assert live("/sitemap-s-4.xml") == []
    # `get_urls()` for page 1 has set the site, by which the items are listed.
    assert "its paginator has none" not in caplog.text
    forget()
    serve(failing_from(1))
    with pytest.raises(LookupError, match=r"^1$"):
        live("/sitemap.xml")
    assert "Section 's' is missing from the index" in caplog.text


@pytest.mark.services
@pytest.mark.django_db(databases=[*{"default", "postgresql"} & {*configured.DATABASES}])
def test_a_page_whose_query_fails_is_none_if_a_request_is_a_transaction(serve, monkeypatch):
    """In a transaction, a failed query makes all later queries fail."""
    require(using := "postgresql")

    class Numbered(contrib.Sitemap):
        def get_urls(self, page=1, site=None, protocol=None):
            with connections[using].cursor() as cursor:
                cursor.execute("SELECT %s::smallint", [int(page)])
                return [{"location": f"{BASE}/{number}/"} for (number,) in cursor.fetchall()]

        def items(self):
            with connections[using].cursor() as cursor:
                cursor.execute("SELECT 1")
            return [1]

    serve(Numbered)
    monkeypatch.setitem(connections[using].settings_dict, "ATOMIC_REQUESTS", True)
    found = [live(url) for url in ("/sitemap.xml", "/sitemap-s-1.xml", "/sitemap-s-999999.xml")]
    assert found == [indexes(1), named(1), []]


@BASES
def test_a_section_without_items_is_what_its_get_urls_gives(base, serve, tmp_path, caplog):
    pages = []

    def get_urls(self, page=1, site=None, protocol=None):
        pages.append(page)
        return [{"location": f"{protocol}://{site.domain}/{number}/"} for number in (1, 2)]

    listed = serve(declare(base, get_urls=get_urls))
    assert live("/sitemap.xml") == indexes(1)
    assert (on_both(), exported(tmp_path, listed)) == ((named(1, 2), named(1, 2)), (2, {*named(1, 2)}))
    for number, expected in ((1, named(1, 2)), (99_999_999, [])):
        caplog.clear()
        pages.clear()
        assert (live(f"/sitemap-s-{number}.xml"), pages) == (expected, [number])
        assert "Declared.get_urls() returns 2 entries, but its paginator has none" in caplog.text
    # An export says that further pages are not known.
    own = for_a_site(base, after=lambda self: setattr(self, "site", None))
    assert exported(tmp_path / "own", own)[0] == 4
    assert "ForASite.get_urls() returns 4 entries, but its paginator has none" in caplog.text


@BASES
def test_a_section_has_no_page_if_its_get_urls_or_its_paginator_gives_none(base, serve, tmp_path):
    empty = serve(declare(for_a_site(base), items=lambda self: []))
    assert (live("/sitemap.xml"), live("/sitemap-s-1.xml"), exported(tmp_path, empty)[0]) == ([], [], 0)
    strict = serve(declare(empty, paginator=Paginator([], 1, allow_empty_first_page=False)))
    with pytest.raises(EmptyPage):
        strict().get_urls(site=mock.Mock(domain="www.example.com"))
    assert live("/sitemap.xml") == []


HOOKS_OF_THINGS = {"lastmod": lambda *_: None, "priority": lambda *_: 0.5, "changefreq": lambda *_: "daily"}
Things = listing([1, 2], **HOOKS_OF_THINGS)
Localized = declare(Things, i18n=True)
ELSEWHERE = f"{BASE}/patched/"
PATCHED = {"return_value": [{"location": ELSEWHERE}]}
ONE_LANGUAGE = {"side_effect": lambda item: ["de"][: item == 1]}
HOOKS = [
    ("location", {"return_value": "/patched/"}, ELSEWHERE),
    ("lastmod", {"return_value": datetime.date(2020, 1, 1)}, "2020-01-01"),
    ("priority", {"return_value": 0.1}, "0.1"),
    ("changefreq", {"return_value": "weekly"}, "weekly"),
]


@pytest.mark.parametrize(("section", "base", "name", "given", "expected"), [
    *((Things, base, "get_urls", PATCHED, [ELSEWHERE]) for base in (contrib.Sitemap, Sitemap, Things)),
    *((Things, base, "_urls", PATCHED, [ELSEWHERE]) for base in (contrib.Sitemap, Sitemap, Things)),
    (Localized, Sitemap, "get_languages_for_item", ONE_LANGUAGE, named(1)),
    (Localized, Sitemap, "_items", {"return_value": [(7, "en")]}, named(7)),
    # A mock in the place of a hook is a method.
    *((Things, Things, *hook, [text] * 2) for *hook, text in HOOKS),
    *((Things, Things, name, {**value, "autospec": True}, [text] * 2) for name, value, text in HOOKS),
])  # fmt: skip
def test_a_patch_of_a_class_is_called_while_it_lasts(section, base, name, given, expected, serve, tmp_path):
    serve(section)
    element = name if name in HOOKS_OF_THINGS else "loc"
    before = on_both(element)
    with mock.patch.object(base, name, **given):
        assert on_both(element) == (expected, expected)
        count, urls = exported(tmp_path, section)
        assert (count == len(expected), element != "loc" or urls == {*expected}) == (True, True)
    assert on_both(element) == before != (expected, expected)


def test_a_patch_of_an_instance_or_of_what_calls_hooks_in_contrib_is_called(serve):
    with mock.patch.object(serve(Things()), "get_urls", **PATCHED):
        assert on_both() == ([ELSEWHERE], [ELSEWHERE])
    assert live("/contrib.xml") == named(1, 2)
    with mock.patch.object(contrib.Sitemap, "_get", return_value="/got/"):
        assert live("/contrib.xml") == [f"{BASE}/got/"] * 2


@pytest.mark.parametrize("make", [mock.Mock, mock.NonCallableMagicMock])
@pytest.mark.parametrize("spec", [contrib.Sitemap, Things, ModelSitemap, NewsSitemap])
def test_a_mock_in_place_of_a_sitemap_is_listed(make, spec, serve, tmp_path):
    section = serve(make(spec=spec))
    sitemap = section.return_value if callable(section) else section
    sitemap.get_urls.return_value = PATCHED["return_value"]
    sitemap.get_latest_lastmod.return_value = sitemap.latest_lastmod = None
    sitemap.paginator.num_pages = sitemap.paginator.count = 1
    assert (on_both(), exported(tmp_path, section)[1]) == (([ELSEWHERE], [ELSEWHERE]), {ELSEWHERE})


PATCHING = """
    from functools import wraps
    from django.conf import settings
    from django.contrib import sitemaps as contrib
    settings.configure()
    originals = {name: getattr(contrib.Sitemap, name) for name in ("get_urls", "get_domain", "_location")}

    def patch(original):
        return lambda self, *args, **kwargs: original(self, *args, **kwargs)

    patches = {name: patch(original) for name, original in originals.items()}
    patches["get_urls"] = wraps(originals["get_urls"])(patches["get_urls"])
    for name, function in patches.items():
        setattr(contrib.Sitemap, name, function)

    import django
    django.setup()
    from django_sitemaps09 import Sitemap
    from django_sitemaps09.declare.base import is_contribs, is_original
    from django_sitemaps09.declare.sitemap_attributes import is_compiled

    for name, function in originals.items():
        setattr(contrib.Sitemap, name, function)
    for name in patches:
        for function in (patches[name], originals[name]):
            setattr(contrib.Sitemap, name, function)
            sitemap = Sitemap()
            print(name, is_contribs(sitemap, name), is_original(sitemap, name), is_compiled(sitemap))
"""


def test_patches_made_before_the_import_of_this_package_are_called():
    """For example, a project can patch contrib in its settings."""
    names = ("get_urls", "get_domain", "_location")
    expected = [f"{name} {is_plain} {is_plain} {is_plain}" for name in names for is_plain in (False, True)]
    done = ended(started("-c", textwrap.dedent(PATCHING), environ={"PYTHONPATH": str(ROOT)}))
    assert done == (0, "".join(f"{line}\n" for line in expected), "")
