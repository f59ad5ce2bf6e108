"""Each argument, name and value of a wrong type is named with its type, and never a bare `TypeError`."""

from __future__ import annotations

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
from django_sitemaps09.views import compat
from tests.models import Article
from tests.support.sections import Numbers

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.sitemaps09(ENGINE="serial", INDEXNOW_KEY="0123456789"),
    pytest.mark.urls("tests.urls"),
]
SECTIONS = {"s": Numbers(2)}
LISTS = (7, None, b"s", "s", [7], [b"s"], [["s"]], [None], [gettext_lazy("s")])


def kind_of(value):
    """Return what a message says about a value: its type, or that of the first item of a list."""
    item = value[0] if isinstance(value, list) else value
    return "None" if item is None else type(item).__name__


def keywords(name, *values):
    def call(value, folder):
        return export(**{"sitemaps": SECTIONS, "output": folder, name: value})

    return [(call, name, value) for value in values]


def calls(name, call, *values):
    return [(call, name, value) for value in values]


ARGUMENTS = [
    *(each for name in ("names", "force", "remove") for each in keywords(name, *LISTS)),
    *keywords("gzip", 1, "no"),
    *(each for name in ("strict", "dry_run", "changed_only") for each in keywords(name, 1, "false", [])),
    *(each for name in ("rebalance", "changes", "submit") for each in keywords(name, 1, "false")),
    *keywords("engine", 7, True, b"serial"),
    *keywords("workers", True, 1.5, "2", b"2"),
    *keywords("sitemaps", 7, True, b"s", "s", object()),
    *keywords("base_url", 7, b"https://www.example.com", gettext_lazy("s")),
    *calls("base_urls", lambda urls, folder: export_hosts(urls, output=folder), *LISTS),
    *calls("base_urls", lambda urls, folder: submit_hosts(urls, output=folder), *LISTS),
    *calls("names", lambda names, folder: verify(names, output=folder), *LISTS),
    *calls("names", lambda names, folder: status(names), *LISTS),
    *calls("base", lambda url, folder: status((), url), 7, b"https://www.example.com"),
    *calls("URL", lambda url, folder: audit.audit(url), 7, b"https://www.example.com"),
    *calls("agents", lambda agents, folder: audit.audit(agents=agents), *LISTS),
    *calls("fetch", lambda fetch, folder: audit.audit(fetch=fetch), "5", True, 1.5, None, b"all"),
    *calls("second", lambda rate, folder: audit.audit(rate=rate), "5", True, None),
]


@pytest.mark.parametrize(
    ("call", "name", "value"),
    [pytest.param(*each, id=f"{each[1]} {number}") for number, each in enumerate(ARGUMENTS)],
)
def test_an_argument_of_a_wrong_type_is_named_with_its_type(call, name, value, tmp_path):
    with pytest.raises((ImproperlyConfigured, SitemapError)) as raised:
        call(value, tmp_path)
    assert name.replace("base_url", "base-url") in str(raised.value).replace("base_url", "base-url")
    assert ("list" if value == [] else kind_of(value)) in str(raised.value)


def test_names_can_be_any_iterable(tmp_path):
    sections = {"s": Numbers(2), "t": Numbers(2)}
    report = export(iter(["s"]), sitemaps=sections, output=tmp_path)
    assert [section.section for section in report.sections] == ["s"]
    checked = verify((name for name in ["s"]), sitemaps=sections, output=tmp_path)
    assert checked.files == verify(["s"], sitemaps=sections, output=tmp_path).files == 2


@pytest.mark.parametrize("name", [2024, True, 1.5, b"x", ("x",), None])
def test_the_name_of_a_section_is_a_string(name):
    with pytest.raises(ImproperlyConfigured, match=rf"a name must be a string, not .*{kind_of(name)}"):
        register(name, Numbers(2))
    for pattern in (
        path("sitemap.xml", views.sitemap_index, {"sitemaps": {name: Numbers(2)}}),
        path("compat.xml", compat.sitemap, {"sitemaps": {name: Numbers(2)}}),
    ):
        with override_settings(ROOT_URLCONF=(pattern,)):
            [message] = check_sections()
        assert message.id == "sitemaps09.W006"
        assert kind_of(name) in message.msg
    with pytest.raises(ImproperlyConfigured, match=kind_of(name)):
        views.sitemap_index(RequestFactory().get("/sitemap.xml"), sitemaps={name: Numbers(2)})


ATTRIBUTES = [
    (Sitemap, "limit", (b"x", ["x"], "x", None), True),
    (Sitemap, "languages", (7, b"de", [7], "de"), True),
    (Sitemap, "items", (7, ["x"], None, "x"), True),
    (ModelSitemap, "model", (7, "Article", int, ["x"], b"x"), True),
    (ModelSitemap, "key", (7, ["pk"], b"pk"), False),
    (StaticViewSitemap, "viewnames", (7, "about", b"about", None), True),
    (NewsSitemap, "date_field", (7, ["updated"], b"updated"), True),
]


@pytest.mark.parametrize(
    ("base", "name", "value", "is_in_compat"),
    [
        pytest.param(base, name, value, flag, id=f"{base.__name__}.{name} {number}")
        for base, name, values, flag in ATTRIBUTES
        for number, value in enumerate(values)
    ],
)
def test_an_attribute_of_a_wrong_type_is_named_by_a_check_and_in_each_way(
    base, name, value, is_in_compat, tmp_path
):
    Article.objects.create(slug="a", updated=timezone.now())
    declared = {"location": lambda self, item: "/a/"}
    if base is Sitemap:
        declared["items"] = lambda self: [1]
    if issubclass(base, ModelSitemap):
        declared["model"] = Article
    section = type("Wrong", (base,), {**declared, "i18n": name == "languages", name: value})
    kind = kind_of(value) if name == "languages" or value in (int, None) else type(value).__name__
    found = [message.msg for message in check_declarations([section])]
    assert any(name in text for text in found), found
    [failure] = export(sitemaps={"s": section}, output=tmp_path).failures
    assert "ImproperlyConfigured" in failure
    assert name in failure
    assert ("int" if value is int else kind) in failure
    with pytest.raises(ImproperlyConfigured, match=name):
        views.page(RequestFactory().get("/"), section="s", page="1", sitemaps={"s": section})
    if is_in_compat:
        with pytest.raises(ImproperlyConfigured, match=name):
            compat.sitemap(RequestFactory().get("/"), sitemaps={"s": section}).render()


@pytest.mark.parametrize(
    ("declare", "kind"),
    [
        (lambda: Route(7), "int"),
        (lambda: Route(["article"], slug=F("slug")), "list"),
        (lambda: Route(None), "NoneType"),
        (lambda: PathTemplate(b"/{a}/", a=F("slug")), "bytes"),
        (lambda: PathTemplate("/{a}/", a=b"x"), r"the argument a is b'x' \(bytes\)"),
        (lambda: PathTemplate("/{a}/", a=["x"]), r"the argument a is \['x'\] \(list\)"),
    ],
)
def test_a_location_template_of_a_wrong_type_is_named(declare, kind):
    with pytest.raises(ValueError, match=kind):
        declare()


@pytest.mark.parametrize(
    ("location", "text"),
    [({7: F("slug")}, r"contains 7 \(int\)"), ({"en": 7}, "value for 'en' must be a Route.*not int")],
)
def test_a_dict_of_locations_with_a_wrong_type_is_named(location, text, tmp_path):
    declared = {"model": Article, "location": location, "i18n": True}
    section = type("Wrong", (ModelSitemap,), declared)
    [failure] = export(sitemaps={"s": section}, output=tmp_path).failures
    with pytest.raises(AssertionError, match=text):
        raise AssertionError(failure)
