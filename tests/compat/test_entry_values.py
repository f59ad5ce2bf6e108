"""Values in the dicts of `get_urls()`: what contrib's template writes as nothing is written as nothing."""

from __future__ import annotations

import enum
from collections.abc import Callable
from datetime import date
from decimal import Decimal
from fractions import Fraction
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest
from django.contrib import sitemaps as contrib
from django.contrib.sitemaps import views as contrib_views
from django.core.exceptions import ObjectDoesNotExist
from django.core.paginator import Paginator
from django.test import RequestFactory
from django.utils.functional import lazystr
from django.utils.safestring import mark_safe
from lxml import etree

import django_sitemaps09
from django_sitemaps09 import views
from django_sitemaps09.export import export
from tests.support.published import pages, plain

pytestmark = [pytest.mark.django_db, pytest.mark.sitemaps09]
URL = "http://testserver/a/"
FIELDS = ("lastmod", "changefreq", "priority")


@pytest.fixture(autouse=True)
def _both_apps(settings: Any) -> None:
    """Install contrib's app first, so that its views find its own templates."""
    settings.INSTALLED_APPS = ["django.contrib.sitemaps", *settings.INSTALLED_APPS]
    settings.SITEMAPS09 = {"BASE_URL": "http://testserver", "GZIP": False, "ENGINE": "serial"}


class Thing:
    """An object whose `str()` is its address in memory."""

    def takes_an_item(self, item: object) -> str:
        return "daily"

    def takes_nothing(self) -> str:
        return "daily"

    def not_found(self) -> str:
        raise ObjectDoesNotExist

    def delete(self) -> str:
        raise AssertionError("templates do not call this")

    delete.alters_data = True  # type: ignore[attr-defined]


class Frequency(str, enum.Enum):
    DAILY = "daily"

    def __str__(self) -> str:
        return self.value


class Spelled:
    def __str__(self) -> str:
        return "daily"


def uncalled() -> str:
    raise AssertionError("templates do not call this")


uncalled.do_not_call_in_templates = True  # type: ignore[attr-defined]
#: Values that contrib's template writes as nothing.
NOTHING: dict[str, Any] = {
    "none": None,
    "false": False,
    "empty": "",
    "zero": 0,
    "no decimal": Decimal(0),
    "empty list": [],
    "method that takes an item": Thing().takes_an_item,
    "function that takes an item": lambda item: "daily",
    "class that takes an argument": type("Taking", (), {"__init__": lambda self, item: None}),
    "returns none": lambda: None,
    "returns an empty string": str,
    "alters data": Thing().delete,
    "not found": Thing().not_found,
    "partial": partial(Thing.takes_nothing),
}
#: Values that contrib's template writes, and their text.
TEXTS: dict[str, tuple[Any, str]] = {
    "string": ("daily", "daily"),
    "safe": (mark_safe("d&amp;a"), "d&a"),
    "markup": ("<b>&amp;", "<b>&amp;"),
    "lazy": (lazystr("daily"), "daily"),
    "enum": (Frequency.DAILY, "daily"),
    "own str": (Spelled(), "daily"),
    "method": (Thing().takes_nothing, "daily"),
    "optional argument": (lambda item=None: "daily", "daily"),
    "integer": (1, "1"),
    "true": (True, "True"),
    "fraction": (Fraction(1, 2), "1/2"),
    "decimal": (Decimal("0.5"), "0.5"),
    "called number": (lambda: 0.5, "0.5"),
}
#: Values that contrib's template writes as the `repr()` of an object.
OBJECTS: dict[str, Any] = {
    "object": Thing(),
    "class": type("Kind", (), {"do_not_call_in_templates": True}),
    "function that templates do not call": uncalled,
    "returned function": lambda: uncalled,
    "returned method": lambda: Thing().takes_an_item,
    "list": ["daily"],
    "dict": {"daily": 1},
    "bytes": b"daily",
    "text of an object": f"{Thing()}",
}


def opaque(**values: Any) -> Any:
    """Return a sitemap whose `get_urls()` returns one entry with these values."""

    class Opaque(contrib.Sitemap):
        paginator = Paginator([1], 1)  # type: ignore[assignment]

        def get_urls(self, page: Any = 1, site: Any = None, protocol: Any = None) -> Any:
            return [{"item": 1, "location": URL, "lastmod": None, "alternates": [], **values}]

    return Opaque


def compiled(**values: Any) -> Any:
    """Return a sitemap whose methods return these values for each item."""
    hooks = {name: lambda self, item, value=value: value for name, value in values.items()}
    items = {"items": lambda self: [1], "location": lambda self, item: "/a/"}
    return type("Compiled", (django_sitemaps09.Sitemap,), {**items, **hooks})


def with_view(view: Any) -> Callable[[Any], bytes]:
    def body(section: Any) -> bytes:
        content = view(RequestFactory().get("/"), {"s": section}).render().content
        assert isinstance(content, bytes)
        return content

    return body


def native(section: Any) -> bytes:
    response = views.page(RequestFactory().get("/"), section="s", page="1", sitemaps={"s": section})
    content: bytes = response.content
    return content


contribs, compatible = with_view(contrib_views.sitemap), with_view(views.sitemap)
WAYS = pytest.mark.parametrize("way", [compatible, native], ids=["compatible", "native"])


def element(body: bytes, name: str) -> str | None:
    """Return the text of an element of the only entry; `None` if it does not exist."""
    [url] = etree.fromstring(body)
    text: str | None = url.findtext(f"{{*}}{name}")
    return text


@WAYS
@pytest.mark.parametrize("field", FIELDS)
@pytest.mark.parametrize("value", NOTHING.values(), ids=NOTHING)
def test_what_contribs_template_writes_as_nothing_is_no_element(value: Any, field: str, way: Any) -> None:
    section = opaque(**{field: value})
    if value is not NOTHING["partial"]:
        assert element(contribs(section), field) is None
    assert element(way(section), field) is None


@pytest.mark.parametrize("section", [opaque, compiled])
@pytest.mark.parametrize(("value", "text"), TEXTS.values(), ids=TEXTS)
def test_text_and_numbers_are_written_as_by_contribs_template(value: Any, text: str, section: Any) -> None:
    declared = section(changefreq=value)
    assert element(compatible(declared), "changefreq") == element(contribs(declared), "changefreq") == text


@pytest.mark.parametrize("name", [name for name, (_, text) in TEXTS.items() if text == "daily"])
def test_the_native_views_write_the_same_words(name: str) -> None:
    assert element(native(opaque(changefreq=TEXTS[name][0])), "changefreq") == "daily"


@WAYS
def test_a_method_without_arguments_is_called_for_each_value(way: Any) -> None:
    body = way(
        opaque(
            location=lambda: URL,
            lastmod=lambda: date(2026, 1, 1),
            priority=lambda: 0.5,
            alternates=lambda: [{"lang_code": lambda: "de", "location": lambda: f"{URL}de/"}],
        )
    )
    assert [element(body, name) for name in ("loc", "lastmod", "priority")] == [URL, "2026-01-01", "0.5"]
    [link] = etree.fromstring(body).iter("{*}link")
    assert (link.get("hreflang"), link.get("href")) == ("de", f"{URL}de/")


@WAYS
@pytest.mark.parametrize("section", [opaque, compiled])
@pytest.mark.parametrize("field", FIELDS)
@pytest.mark.parametrize("value", OBJECTS.values(), ids=OBJECTS)
def test_an_object_that_is_no_text_reaches_no_document(
    value: Any, field: str, section: Any, way: Any, caplog: pytest.LogCaptureFixture
) -> None:
    """Deviation 12: contrib writes its `repr()`."""
    body = way(section(**{field: value}))
    assert element(body, "loc") == URL
    assert element(body, field) is None
    assert caplog.records


@WAYS
@pytest.mark.parametrize("value", OBJECTS.values(), ids=OBJECTS)
def test_an_entry_whose_location_is_an_object_is_skipped(
    value: Any, way: Any, caplog: pytest.LogCaptureFixture
) -> None:
    assert b"<loc>" not in way(opaque(location=value))
    assert caplog.records


@pytest.mark.parametrize(
    ("section", "name", "text"),
    [
        *((opaque(location=value), "loc", "") for value in ("", Thing().takes_an_item, str)),
        # Contrib's `get_urls()` converts a priority to a string, which is not false.
        *((compiled(priority=value), "priority", str(value)) for value in (0, 0.0, False)),
    ],
    ids=["empty", "method that takes an item", "returns an empty string", "zero", "0.0", "false"],
)
def test_what_contribs_view_writes_for_no_value_is_written(section: Any, name: str, text: str) -> None:
    assert element(compatible(section), name) == element(contribs(section), name) == text


@pytest.mark.parametrize("value", [Thing().takes_an_item, None, "", lambda: None])
@WAYS
def test_alternates_that_are_nothing_are_no_links(value: Any, way: Any) -> None:
    section = opaque(alternates=value)
    assert b"<xhtml:link" not in contribs(section) + way(section)


@WAYS
def test_a_safe_location_is_the_url_that_contribs_template_writes(way: Any) -> None:
    section = opaque(location=mark_safe("http://testserver/a/?x=1&amp;y=2"))
    assert element(way(section), "loc") == element(contribs(section), "loc") == f"{URL}?x=1&y=2"


@WAYS
def test_an_entry_can_be_any_mapping(way: Any) -> None:
    section = opaque()
    section.get_urls = lambda self, **kwargs: [MappingProxyType({"location": URL, "priority": "0.5"})]
    assert [element(way(section), name) for name in ("loc", "priority")] == [URL, "0.5"]


def test_an_error_of_a_method_is_raised_as_by_contrib() -> None:
    def fail() -> str:
        raise ValueError("own")

    for way in (contribs, compatible):
        with pytest.raises(ValueError, match="own"):
            way(opaque(changefreq=fail))


def test_an_export_reports_objects_and_not_what_contrib_writes_as_nothing(tmp_path: Path) -> None:
    nothing, thing = opaque(changefreq=Thing().takes_an_item, priority=0), opaque(changefreq=Thing())
    report = export(sitemaps={"nothing": nothing, "thing": thing}, output=tmp_path)
    assert [section.skipped_elements for section in report.sections] == [0, 1]
    for name in pages(tmp_path):
        document = plain((tmp_path / name).read_bytes(), compressed=False)
        assert (element(document, "loc"), element(document, "changefreq")) == (URL, None)
