"""Values in the dicts of `get_urls()`: what contrib's template writes as nothing is written as nothing."""

from __future__ import annotations

import enum
from datetime import date
from decimal import Decimal
from fractions import Fraction
from functools import partial
from types import MappingProxyType

import pytest
from django.contrib import sitemaps as contrib
from django.contrib.sitemaps import views as contrib_views
from django.core.exceptions import ObjectDoesNotExist
from django.core.paginator import Paginator
from django.test import RequestFactory
from django.utils.functional import lazystr
from django.utils.safestring import mark_safe
from lxml import etree

from django_sitemaps09 import views
from tests.support.sections import declare, listing

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.sitemaps09(BASE_URL="http://testserver", GZIP=False, ENGINE="serial"),
    pytest.mark.usefixtures("both_apps"),
]
URL, FIELDS = "http://testserver/a/", ("lastmod", "changefreq", "priority")


class Thing:
    """An object whose `str()` is its address in memory."""

    def takes_an_item(self, item):
        return "daily"

    def takes_nothing(self):
        return "daily"

    def not_found(self):
        raise ObjectDoesNotExist

    def delete(self):
        raise AssertionError("templates do not call this")

    delete.alters_data = True


class Frequency(str, enum.Enum):
    DAILY = "daily"

    def __str__(self):
        return self.value


def uncalled():
    raise AssertionError("templates do not call this")


uncalled.do_not_call_in_templates = True
#: Values that contrib's template writes as nothing.
NOTHING = {
    "none": None, "false": False, "empty": "", "zero": 0, "empty list": [],
    "method that takes an item": Thing().takes_an_item, "function that takes an item": lambda item: "daily",
    "class that takes an argument": type("Taking", (), {"__init__": lambda self, item: None}),
    "returns none": lambda: None, "alters data": Thing().delete, "not found": Thing().not_found,
    "partial": partial(Thing.takes_nothing),
}  # fmt: skip
#: Values that contrib's template writes, and their text.
TEXTS = {
    "string": ("daily", "daily"), "safe": (mark_safe("d&amp;a"), "d&a"), "markup": ("<b>&amp;", "<b>&amp;"),
    "lazy": (lazystr("daily"), "daily"), "enum": (Frequency.DAILY, "daily"),
    "method": (Thing().takes_nothing, "daily"), "optional argument": (lambda item=None: "daily", "daily"),
    "true": (True, "True"), "fraction": (Fraction(1, 2), "1/2"), "decimal": (Decimal("0.5"), "0.5"),
    "called number": (lambda: 0.5, "0.5"),
}  # fmt: skip
#: Values that contrib's template writes as the `repr()` of an object.
OBJECTS = {
    "object": Thing(), "class": type("Kind", (), {"do_not_call_in_templates": True}),
    "function that templates do not call": uncalled, "returned function": lambda: uncalled,
    "returned method": lambda: Thing().takes_an_item, "list": ["daily"], "bytes": b"daily",
    "text of an object": f"{Thing()}",
}  # fmt: skip


def opaque(*, entry=dict, **values):
    found = [entry({"item": 1, "location": URL, "lastmod": None, "alternates": [], **values})]
    return declare(contrib.Sitemap, paginator=Paginator([1], 1), get_urls=lambda self, *a, **k: found)


def compiled(**values):
    return listing("a", **{name: lambda self, item, value=value: value for name, value in values.items()})


def contribs(section, view=contrib_views.sitemap):
    return view(RequestFactory().get("/"), {"s": section}).render().content


def native(section):
    return views.page(RequestFactory().get("/"), section="s", page="1", sitemaps={"s": section}).content


compatible = partial(contribs, view=views.sitemap)
WAYS = (compatible, native)


def element(body, name):
    """Return the text of an element of the only entry; `None` if it does not exist."""
    [url] = etree.fromstring(body)
    return url.findtext(f"{{*}}{name}")


@pytest.mark.parametrize("value", NOTHING.values(), ids=NOTHING)
def test_what_contribs_template_writes_as_nothing_is_no_element_and_not_reported(value, caplog):
    for field in FIELDS:
        section = opaque(**{field: value})
        assert value is NOTHING["partial"] or element(contribs(section), field) is None
        assert [element(way(section), field) for way in WAYS] == [None, None], field
        assert caplog.records == []


@pytest.mark.parametrize(("value", "text"), TEXTS.values(), ids=TEXTS)
def test_text_and_numbers_are_written_as_by_contribs_template(value, text):
    for section in (opaque(changefreq=value), compiled(changefreq=value)):
        assert [element(way(section), "changefreq") for way in (compatible, contribs)] == [text, text]
    if text == "daily":
        assert element(native(opaque(changefreq=value)), "changefreq") == text


@pytest.mark.parametrize("value", OBJECTS.values(), ids=OBJECTS)
def test_an_object_that_is_not_a_text_reaches_no_document(value, caplog):
    """Deviation 12: contrib writes its `repr()`."""
    for way in WAYS:
        for section in (opaque, compiled):
            for field in FIELDS:
                caplog.clear()
                body = way(section(**{field: value}))
                assert (element(body, "loc"), element(body, field)) == (URL, None)
                assert caplog.records
        caplog.clear()
        assert b"<loc>" not in way(opaque(location=value))
        assert caplog.records


@pytest.mark.parametrize("way", WAYS)
def test_a_method_without_arguments_is_called_for_each_value(way):
    links = lambda: [{"lang_code": lambda: "de", "location": lambda: f"{URL}de/"}]  # noqa: E731
    values = {"location": lambda: URL, "lastmod": lambda: date(2026, 1, 1), "priority": lambda: 0.5}
    body = way(opaque(**values, alternates=links))
    assert [element(body, name) for name in ("loc", "lastmod", "priority")] == [URL, "2026-01-01", "0.5"]
    [link] = etree.fromstring(body).iter("{*}link")
    assert (link.get("hreflang"), link.get("href")) == ("de", f"{URL}de/")


def test_what_contribs_view_writes_for_no_value_is_written_and_what_it_raises_is_raised():
    for value in ("", Thing().takes_an_item, str):
        assert [element(way(opaque(location=value)), "loc") for way in (compatible, contribs)] == ["", ""]
    # Contrib's `get_urls()` converts a priority to a string, which is not false.
    for value in (0, 0.0, False):
        found = [element(way(compiled(priority=value)), "priority") for way in (compatible, contribs)]
        assert found == [str(value)] * 2
    for way in (compatible, contribs):
        with pytest.raises(ZeroDivisionError):
            way(opaque(changefreq=lambda: 1 / 0))


@pytest.mark.parametrize("way", WAYS)
def test_alternates_that_are_nothing_a_safe_location_and_any_mapping_are_as_in_contribs_document(way):
    for value in (Thing().takes_an_item, None, "", lambda: None):
        section = opaque(alternates=value)
        assert b"<xhtml:link" not in contribs(section) + way(section)
    section = opaque(location=mark_safe("http://testserver/a/?x=1&amp;y=2"))
    assert element(way(section), "loc") == element(contribs(section), "loc") == f"{URL}?x=1&y=2"
    section = opaque(entry=MappingProxyType, priority="0.5")
    assert [element(way(section), name) for name in ("loc", "priority")] == [URL, "0.5"]
