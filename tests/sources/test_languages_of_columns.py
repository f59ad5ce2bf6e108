"""A dict `location` by language, and `item_language`: the same entries as methods."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.db.models import Case, F, OuterRef, QuerySet, Subquery, Value, When
from django.db.models.functions import Concat
from django.urls import reverse
from django.utils.translation import get_language

from django_sitemaps09 import ModelSitemap, Route
from tests.models import Article, Category
from tests.support.documents import by_contrib, entries
from tests.support.languages import PREFIXED, page_of, slices_of
from tests.support.sources import BASE, LIMITS, compiled, declaration

pytestmark = [pytest.mark.django_db, pytest.mark.sitemaps09, pytest.mark.urls(PREFIXED)]


@pytest.fixture
def rows() -> QuerySet[Article]:
    """Return articles with an English slug, a German one, or both, and one without any."""
    Article.objects.bulk_create(
        Article(slug="" if n % 5 == 4 else f"s{n}", code=f"c{n}" if n % 3 else None) for n in range(20)
    )
    return Article.objects.all()


def location(self: Any, item: Article) -> str:
    slug = item.code if get_language() == "de" else item.slug
    return reverse("article", kwargs={"slug": slug})


def languages(self: Any, item: Article) -> list[str]:
    return [code for code, slug in (("en", item.slug), ("de", item.code)) if slug]


BY_METHODS = {"languages": ["en", "de"], "location": location, "get_languages_for_item": languages}
BY_COLUMNS = {"location": {"en": Route("article", slug=F("slug")), "de": Route("article", slug=F("code"))}}
LINKED = {"i18n": True, "alternates": True, "x_default": True}
#: A location that is an expression, not a Route.
BY_TEXT = {
    "location": {
        "en": Case(When(slug="", then=None), default=Concat(Value("/en/articles/"), "slug", Value("/"))),
        "de": Case(When(code=None, then=None), default=Concat(Value("/de/articles/"), "code", Value("/"))),
    }
}


@pytest.mark.parametrize("declared", [BY_COLUMNS, BY_TEXT], ids=["route", "expression"])
@pytest.mark.parametrize("switches", [LINKED, {"i18n": True}], ids=["linked", "not linked"])
@pytest.mark.parametrize("size", [1, 3, 100])
def test_columns_by_language_give_the_bytes_of_methods(
    rows: Any, declared: Any, switches: Any, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    slices_of(monkeypatch, size)
    by_columns = page_of(declaration(queryset=rows, **switches, **declared))
    assert by_columns.text == page_of(declaration(queryset=rows, **switches, **BY_METHODS)).text
    assert len(by_columns.locations) == 16 + 13
    assert not by_columns.written.errors


def test_columns_by_language_create_no_items_and_have_fingerprints(rows: Any) -> None:
    source = compiled(declaration(queryset=rows, lastmod=F("updated"), **LINKED, **BY_COLUMNS))
    assert not source.declaration.needs_items
    assert source.can_fingerprint
    before = source.fingerprint(None, None)
    Article.objects.filter(code="c1").update(code="changed")
    assert source.fingerprint(None, None) != before


@pytest.mark.parametrize("declared", [BY_COLUMNS, BY_TEXT], ids=["route", "expression"])
def test_compatibility_views_list_the_same(rows: Any, declared: Any) -> None:
    section = declaration(queryset=rows, **LINKED, **declared)
    wanted = by_contrib(declaration(queryset=rows, **LINKED, **BY_METHODS))
    assert by_contrib(section) == wanted
    assert entries(page_of(section).text.encode()) == entries(wanted)


def test_a_method_can_restrict_the_languages_of_columns(rows: Any) -> None:
    def first(self: Any, item: Article) -> list[str]:
        return languages(self, item)[:1]

    by_methods = {**LINKED, **BY_METHODS, "get_languages_for_item": first}
    by_columns = {**LINKED, **BY_COLUMNS, "get_languages_for_item": lambda self, item: ["en"]}
    both = page_of(declaration(queryset=rows, **by_columns)).locations
    assert both == [
        url for url in page_of(declaration(queryset=rows, **by_methods)).locations if "/en/" in url
    ]
    assert len(both) == 16


def test_a_method_x_default_takes_the_columns(rows: Any) -> None:
    hooks = {**LINKED, "x_default": lambda self, item: item.pk % 2 == 0}
    by_columns = page_of(declaration(queryset=rows, **hooks, **BY_COLUMNS)).text
    assert by_columns == page_of(declaration(queryset=rows, **hooks, **BY_METHODS)).text
    assert "x-default" in by_columns


@pytest.mark.parametrize(
    ("attributes", "problem"),
    [
        ({"location": BY_COLUMNS["location"]}, "no effect without i18n"),
        ({"location": BY_COLUMNS["location"], "i18n": True, "languages": ["en", "fr"]}, "the languages fr"),
        ({"location": {}, "i18n": True}, "an empty dict"),
        (
            {"location": {"en": "/a/"}, "i18n": True},
            "must be a Route, a PathTemplate or a query expression, not str",
        ),
    ],
)
def test_an_invalid_dict_is_refused(rows: Any, attributes: Any, problem: str) -> None:
    with pytest.raises(ImproperlyConfigured, match=problem):
        compiled(declaration(queryset=rows, **attributes))


# One row for each translation. Translations of each other have the same weight.


def by_row(**attributes: Any) -> type[ModelSitemap[Any]]:
    """Return a section for rows whose language is the slug of their category."""
    published = Article.objects.filter(published=True)

    def url(code: str) -> Subquery:
        translations = published.filter(weight=OuterRef("weight"), category__slug=code)
        path = Concat(Value(f"/{code}/articles/"), "slug", Value("/"))
        return Subquery(translations.annotate(url=path).values("url")[:1])

    declared = {
        "queryset": published,
        "i18n": True,
        "alternates": True,
        "item_language": F("category__slug"),
        "location": {code: url(code) for code in ("en", "de")},
    }
    return declaration(**{**declared, **attributes})


@pytest.fixture
def translations() -> None:
    categories = {code: Category.objects.create(slug=code) for code in ("en", "de", "fr")}
    for slug, code, weight, published in (
        ("one", "en", 0.1, True),
        ("eins", "de", 0.1, True),
        ("two", "en", 0.2, True),
        ("zwei", "de", 0.2, False),
        ("drei", "de", 0.3, True),
        ("trois", "fr", 0.3, True),
    ):
        Article.objects.create(slug=slug, category=categories[code], weight=weight, published=published)


def links(document: str) -> dict[str, list[tuple[str, str]]]:
    """Return the links of each entry by its path."""
    found = {}
    for url in document.split("<url>")[1:]:
        [path] = re.findall(f"<loc>{BASE}(.*?)</loc>", url)
        found[path] = re.findall(f'hreflang="(.*?)" href="{BASE}(.*?)"', url)
    return found


PAIR = {("en", "/en/articles/one/"), ("de", "/de/articles/eins/")}
LISTED = {
    "/en/articles/one/": PAIR,
    "/de/articles/eins/": PAIR,
    "/en/articles/two/": {("en", "/en/articles/two/")},
    "/de/articles/drei/": {("de", "/de/articles/drei/")},
}


@pytest.mark.usefixtures("translations")
def test_a_row_in_one_language_is_listed_once_and_links_to_its_translations() -> None:
    found = links(page_of(by_row()).text)
    assert {path: {*pairs} for path, pairs in found.items()} == LISTED
    assert sum(map(len, found.values())) == 6
    assert compiled(by_row()).rows_per_page == LIMITS.urls


@pytest.mark.usefixtures("translations")
def test_compatibility_views_list_a_row_in_one_language_once_too() -> None:
    section = by_row()
    wanted = {tuple(sorted(entry)) for entry in entries(page_of(section).text.encode())}
    assert {tuple(sorted(entry)) for entry in entries(by_contrib(section))} == wanted


@pytest.mark.usefixtures("translations")
def test_a_row_in_another_language_is_reported(caplog: pytest.LogCaptureFixture) -> None:
    """The section lists English and German: neither a French row nor one without a language."""
    Article.objects.create(slug="none", weight=0.4, published=True)
    [french, none] = page_of(by_row()).written.errors
    assert (french.field, none.field) == ("item_language", "item_language")
    assert french.reason == "'fr' is not one of the languages en, de"
    assert none.reason == "None is not one of the languages en, de"
    caplog.clear()
    assert len(entries(by_contrib(by_row()))) == 4
    messages = [record.getMessage() for record in caplog.records]
    assert len([message for message in messages if "item_language: 'fr' is not one of" in message]) == 1
    assert len([message for message in messages if "item_language: None is not one of" in message]) == 1
    # These two are all, so no line counts the others.
    assert len(messages) == 2


@pytest.mark.usefixtures("translations")
def test_a_row_that_has_no_location_in_its_language_is_not_reported() -> None:
    location = {"en": Route("article", slug=F("code")), "de": Route("article", slug=F("slug"))}
    page = page_of(by_row(location=location))
    assert page.locations == [f"{BASE}/de/articles/{slug}/" for slug in ("eins", "drei")]
    assert [error.reason for error in page.written.errors] == ["'fr' is not one of the languages en, de"]


@pytest.mark.usefixtures("translations")
@pytest.mark.parametrize("x_default", [True, lambda self, item: True], ids=["constant", "method"])
def test_translations_of_a_row_share_its_default(x_default: Any) -> None:
    found = links(page_of(by_row(x_default=x_default)).text)
    for path, pairs in LISTED.items():
        english = {("x-default", url.removeprefix("/en")) for code, url in pairs if code == "en"}
        assert {*found[path]} == pairs | english
        assert len(found[path]) == len(pairs | english)


@pytest.mark.usefixtures("translations")
def test_a_row_in_one_language_can_have_the_same_location_in_all_languages() -> None:
    section = by_row(location=Route("article", slug=F("slug")), languages=["en", "de"], alternates=False)
    assert page_of(section).locations == [f"{BASE}{path}" for path in LISTED]


@pytest.mark.usefixtures("translations")
def test_a_row_in_one_language_does_not_link_to_other_languages_without_a_dict() -> None:
    section = by_row(location=Route("article", slug=F("slug")), languages=["en", "de"], x_default=True)
    found = entries(page_of(section).text.encode())
    assert found == entries(by_contrib(section))
    for path, pairs in links(page_of(section).text).items():
        language, rest = path[1:3], path[3:]
        assert pairs == [(language, path)] + [("x-default", rest)] * (language == "en")


@pytest.mark.parametrize("spelling", ["pt-br", "pt-BR", "pt_BR"])
def test_the_language_of_a_row_can_have_another_spelling(spelling: str) -> None:
    Article.objects.create(slug="um")
    declared = {"pt-br": Route("article", slug=F("slug"))}
    section = declaration(
        model=Article, i18n=True, alternates=True, item_language=Value(spelling), location=declared
    )
    assert page_of(section).locations == [f"{BASE}/pt-br/articles/um/"]
    assert len(entries(by_contrib(section))) == 1


@pytest.mark.parametrize("value", ["en", lambda self, item: "en"], ids=["constant", "method"])
def test_an_attribute_of_the_project_is_no_language_of_a_row(rows: Any, value: Any) -> None:
    """Classes written for Django's package can have any attribute."""
    with_attribute = declaration(queryset=rows, item_language=value, **LINKED, **BY_METHODS)
    without = declaration(queryset=rows, **LINKED, **BY_METHODS)
    assert by_contrib(with_attribute) == by_contrib(without)
    assert page_of(with_attribute).text == page_of(without).text
