"""Each argument, name and value of a wrong type is named with its type, and never a bare `TypeError`."""

from __future__ import annotations

import re

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.db.models import F
from django.test import RequestFactory, override_settings
from django.urls import path
from django.utils import timezone
from django.utils.translation import gettext_lazy

from django_sitemaps09 import (
    ModelSitemap,
    NewsSitemap,
    PathTemplate,
    Route,
    Sitemap,
    StaticViewSitemap,
    audit,
    register,
    views,
)
from django_sitemaps09.checks import check_declarations, check_sections
from django_sitemaps09.exceptions import SitemapError
from django_sitemaps09.export import export, export_hosts, verify
from django_sitemaps09.notify import submit_hosts
from django_sitemaps09.status import status
from tests.models import Article
from tests.support.sections import Numbers, declare

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.sitemaps09(ENGINE="serial", INDEXNOW_KEY="0123456789"),
    pytest.mark.urls("tests.urls"),
]
SECTIONS = {"s": Numbers(2), "t": Numbers(2)}
LISTS = (7, None, b"s", "s", [7], [b"s"], [["s"]], [None], [gettext_lazy("s")])
BASE = b"https://www.example.com"


def kind_of(value):
    """Return what a message says about a value: its type, or that of the first item of a list."""
    item = value[0] if isinstance(value, list) and value else value
    return "None" if item is None else type(item).__name__


def exporting(name):
    return name, lambda value, folder: export(**{"sitemaps": SECTIONS, "output": folder, name: value})


@pytest.mark.parametrize(
    ("name", "call", "values"),
    [
        *((*exporting(name), LISTS) for name in ("names", "force", "remove")),
        (*exporting("gzip"), (1, "no")),
        *((*exporting(name), (1, "false", [])) for name in ("strict", "dry_run", "changed_only")),
        *((*exporting(name), (1, "false")) for name in ("rebalance", "changes", "submit")),
        (*exporting("engine"), (7, True, b"serial")),
        (*exporting("workers"), (True, 1.5, "2", b"2")),
        (*exporting("sitemaps"), (7, True, b"s", "s", object())),
        (*exporting("base_url"), (7, BASE, gettext_lazy("s"))),
        ("base_urls", lambda urls, folder: export_hosts(urls, output=folder), LISTS),
        ("base_urls", lambda urls, folder: submit_hosts(urls, output=folder), LISTS),
        ("names", lambda names, folder: verify(names, output=folder), LISTS),
        ("names", lambda names, folder: status(names), LISTS),
        ("base", lambda url, folder: status((), url), (7, BASE)),
        ("URL", lambda url, folder: audit.audit(url), (7, BASE)),
        ("agents", lambda agents, folder: audit.audit(agents=agents), LISTS),
        ("fetch", lambda fetch, folder: audit.audit(fetch=fetch), ("5", True, 1.5, None, b"all")),
        ("second", lambda rate, folder: audit.audit(rate=rate), ("5", True, None)),
    ],
)
def test_an_argument_of_a_wrong_type_is_named_with_its_type(name, call, values, tmp_path):
    for value in values:
        with pytest.raises((ImproperlyConfigured, SitemapError)) as raised:
            call(value, tmp_path)
        message = str(raised.value).replace("base-url", "base_url")
        assert (name in message, kind_of(value) in message) == (True, True), (value, message)


def test_names_can_be_any_iterable(tmp_path):
    report = export(iter(["s"]), sitemaps=SECTIONS, output=tmp_path)
    assert [section.section for section in report.sections] == ["s"]
    checked = verify((name for name in ["s"]), sitemaps=SECTIONS, output=tmp_path)
    assert checked.files == verify(["s"], sitemaps=SECTIONS, output=tmp_path).files == 2


@pytest.mark.parametrize("name", [2024, True, 1.5, b"x", ("x",), None])
def test_the_name_of_a_section_is_a_string(name):
    with pytest.raises(ImproperlyConfigured, match=rf"a name must be a string, not .*{kind_of(name)}"):
        register(name, Numbers(2))
    for view in (views.sitemap_index, views.sitemap):
        pattern = path("sitemap.xml", view, {"sitemaps": {name: Numbers(2)}})
        with override_settings(ROOT_URLCONF=(pattern,)):
            [message] = check_sections()
        assert (message.id, kind_of(name) in message.msg) == ("sitemaps09.W006", True)
    with pytest.raises(ImproperlyConfigured, match=kind_of(name)):
        views.sitemap_index(RequestFactory().get("/sitemap.xml"), sitemaps={name: Numbers(2)})


@pytest.mark.parametrize(
    ("base", "name", "values"),
    [
        (Sitemap, "limit", (b"x", ["x"], "x", None)),
        (Sitemap, "languages", (7, b"de", [7], "de")),
        (Sitemap, "items", (7, ["x"], None, "x")),
        (ModelSitemap, "model", (7, "Article", int, ["x"], b"x")),
        (ModelSitemap, "key", (7, ["pk"], b"pk")),
        (StaticViewSitemap, "viewnames", (7, "about", b"about", None)),
        (NewsSitemap, "date_field", (7, ["updated"], b"updated")),
    ],
)
def test_an_attribute_of_a_wrong_type_is_named_by_a_check_and_in_each_way(base, name, values, tmp_path):
    Article.objects.create(slug="a", updated=timezone.now())
    declared = {"location": lambda self, item: "/a/", "items": lambda self: [1], "model": Article}
    declared.pop("model" if base is Sitemap else "items")
    request = RequestFactory().get("/")
    for value in values:
        section = {"s": declare(base, **declared | {"i18n": name == "languages", name: value})}
        kind = kind_of(value) if name == "languages" or value is None else type(value).__name__
        assert any(name in message.msg for message in check_declarations(section.values()))
        [failure] = export(sitemaps=section, output=tmp_path).failures
        for text in ("ImproperlyConfigured", name, "int" if value is int else kind):
            assert text in failure
        with pytest.raises(ImproperlyConfigured, match=name):
            views.page(request, section="s", page="1", sitemaps=section)
        if name != "key":
            with pytest.raises(ImproperlyConfigured, match=name):
                views.sitemap(request, sitemaps=section).render()


@pytest.mark.parametrize(
    ("template", "arguments", "kind"),
    [
        (Route, (7,), "int"),
        (Route, (["article"],), "list"),
        (Route, (None,), "NoneType"),
        (PathTemplate, (b"/{a}/",), "bytes"),
        (lambda value: PathTemplate("/{a}/", a=value), (b"x",), r"the argument a is b'x' \(bytes\)"),
        (lambda value: PathTemplate("/{a}/", a=value), (["x"],), r"the argument a is \['x'\] \(list\)"),
    ],
)
def test_a_location_template_of_a_wrong_type_is_named(template, arguments, kind):
    with pytest.raises(ValueError, match=kind):
        template(*arguments)


@pytest.mark.parametrize(
    ("location", "text"),
    [({7: F("slug")}, r"contains 7 \(int\)"), ({"en": 7}, "value for 'en' must be a Route.*not int")],
)
def test_a_dict_of_locations_with_a_wrong_type_is_named(location, text, tmp_path):
    section = declare(model=Article, location=location, i18n=True)
    [failure] = export(sitemaps={"s": section}, output=tmp_path).failures
    assert re.search(text, failure)
