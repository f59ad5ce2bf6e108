"""A `PathTemplate` gives the same URLs as a method that returns the f-string."""

from __future__ import annotations

import copy
import pickle
import re
import uuid
from collections.abc import Callable, Sequence
from datetime import date, datetime, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from django.db.models import (
    BooleanField,
    Case,
    CharField,
    DateField,
    DateTimeField,
    DecimalField,
    F,
    FloatField,
    IntegerField,
    QuerySet,
    UUIDField,
    Value,
    When,
)
from django.db.models.functions import Cast
from django.test.utils import override_settings
from django.utils import translation
from django.utils.functional import lazystr
from django.utils.safestring import mark_safe
from django.utils.translation import get_language, gettext_lazy
from hypothesis import given, strategies as st

from django_sitemaps09 import PathTemplate
from django_sitemaps09.entries import SafeColumn
from django_sitemaps09.export import export, export_hosts
from tests.models import Article, Category
from tests.support.databases import using
from tests.support.documents import by_contrib
from tests.support.languages import page_of
from tests.support.sources import compiled, declaration

__all__ = ["using"]

#: Texts with everything that has a meaning in a URL, in XML, in a format or in a file.
TEXTS = [
    *("plain", "with space", " ", "ünïcode", "日本", "\N{GRINNING FACE}", "\x7f", "\x85"),
    *("100%", "%41", "%zz", "%4", "a%20b", "%s", "%(a)s", "{brace}", "}", "[bracket]", "\\", "..", "."),
    *("a&b", "'quoted'", '"double"', "<tag>", "a/b", "/leading", "//twice", "trailing/", "?q=1", "a?b=c"),
    *("#fragment", "a#b", "line\nend", "\r", "\t", "", "None", "@evil.example", ":80"),
    *("http://evil.example/", "a;b,c=d+e!f*g(h)~i$j"),
]
MOMENT = datetime(2026, 5, 17, 23, 59, 59, 120_000, tzinfo=timezone.utc)
KINDS: dict[str, tuple[Any, list[Any]]] = {
    "integer": (IntegerField(), [0, 7, -5, 2_147_483_647]),
    "boolean": (BooleanField(), [True, False]),
    "decimal": (DecimalField(max_digits=9, decimal_places=3), [Decimal("1.500"), Decimal("-0.001")]),
    "float": (FloatField(), [0.1, -2.5, 1e300, 1e-7]),
    "date": (DateField(), [date(2026, 5, 17), date(1, 1, 1)]),
    "time": (DateTimeField(), [MOMENT, MOMENT.replace(microsecond=0)]),
    "uuid": (UUIDField(), [uuid.UUID(int=7)]),
    "text": (CharField(), ["a", "b c"]),
    "null": (CharField(), ["a", None]),
    "null number": (IntegerField(), [None, 7]),
}


def articles(using: str, count: int) -> QuerySet[Article]:
    Article.objects.using(using).bulk_create(Article(slug=f"s{n}") for n in range(count))
    return Article.objects.using(using).order_by("pk")


def with_values(using: str, field: Any, values: list[Any]) -> QuerySet[Article]:
    """Return one article for each value, with the value as the annotation `value`."""
    rows = articles(using, len(values))
    whens = [
        When(pk=row.pk, then=Value(value, output_field=field))
        for row, value in zip(rows, values, strict=True)
        if value is not None
    ]
    value: Any = Case(*whens, default=None, output_field=field)
    # Without a cast, MariaDB returns text.
    return rows.annotate(value=Cast(value, field) if isinstance(field, DateTimeField) else value)


def f_string(template: str, **paths: str) -> Callable[[Any, Any], str | None]:
    """Return the method that returns the f-string, or `None` if a value is `None`."""

    def value(item: Any, path: str) -> Any:
        for name in path.split("__"):
            item = None if item is None else getattr(item, name)
        return item

    def location(self: Any, item: Any) -> str | None:
        values = {name: value(item, path) for name, path in paths.items()}
        return None if None in values.values() else template.format(**values)

    return location


def both(
    rows: Any, template: str, attributes: dict[str, Any] | None = None, **paths: str
) -> tuple[Any, Any]:
    """Return a section with a template, and the section with the method."""
    columns = PathTemplate(template, **{name: F(path) for name, path in paths.items()})
    declared = {"queryset": rows, **(attributes or {})}
    by_method = declaration(location=f_string(template, **paths), **declared)
    return declaration(location=columns, **declared), by_method


def assert_same(by_template: Any, by_method: Any) -> Any:
    """Compare pages and skipped items. Return the page of the template."""
    page, expected = page_of(by_template), page_of(by_method)
    assert page.text == expected.text
    assert page.written.errors == expected.written.errors
    return page


# Declaring


#: What is said about invalid templates with the argument `a`.
FIELDS = ("{}", "{0}", "{ a }", "{a!r}", "{a!s}", "{a:02d}", "{a:{b}}", "{a!r:>9}", "{a.b}", "{a[0]}")
INVALID: dict[str, Sequence[Any]] = {
    **{f"{field} is not a plain field": [f"/{field}/"] for field in FIELDS},
    '{b} has no value: pass b=F("...")': ["/{b}/", "/{a}/{b}/"],
    "remove the argument a, or add {a} to the template": ["/all/", "/{{a}}/", ""],
    "Single '{' ": ["/{a}/{"],
    "Single '}' ": ["/{a}/}"],
    "write a brace as {{ or }}": ["/{a}/{", "/{a}/}", "/{a"],
    "begin the template with a slash": [
        "{a}/",
        " /{a}/",
        "a/{a}/",
        "ftp://example.com/{a}/",
        "https:/{a}/",
    ],
    "write {slug}, not <slug:slug>": ["/p/<slug:slug>/"],
    "write {pk}, not <int:pk>": ["/{a}/<int:pk>/"],
    "must be a string": [7, None, b"/{a}/"],
}


@pytest.mark.parametrize(("problem", "template"), [(key, one) for key in INVALID for one in INVALID[key]])
def test_an_invalid_template_is_refused_with_a_way_out(problem: str, template: Any) -> None:
    with pytest.raises(ValueError, match=re.escape(problem)) as caught:
        PathTemplate(template, a=F("slug"))
    assert str(caught.value).startswith(f"PathTemplate({template!r}): ")


def test_an_argument_without_a_value_or_a_name_is_refused_with_a_way_out() -> None:
    with pytest.raises(ValueError, match="the argument a is None"):
        PathTemplate("/{a}/", a=None)
    with pytest.raises(
        ValueError, match=r"\{\} is not a plain field such as \{slug\}, with its value as a key"
    ):
        PathTemplate("/{}/", F("slug"))  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r'pass each value as a keyword, such as slug=F\("slug"\)'):
        PathTemplate("/{slug}/", F("slug"))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "value", [len, F, lambda item: item.slug, ["a"], ("a",), {"a": 1}, b"a", object(), Article(slug="a")]
)
def test_a_constant_whose_text_is_not_meant_for_a_url_is_refused(value: Any) -> None:
    with pytest.raises(ValueError, match=r"the argument a is .*; pass a query expression, such as F"):
        PathTemplate("/{a}/", a=value)


@pytest.mark.parametrize(
    "value",
    [
        *("text", "", True, 7, 1.50, Decimal("1.50"), date(2026, 5, 17), MOMENT, MOMENT.time()),
        *(uuid.UUID(int=7), lazystr("lazy"), mark_safe("safe")),
    ],
)
def test_a_constant_is_written_as_in_an_f_string(value: Any) -> None:
    template = PathTemplate("/{a}/", a=value)
    assert template.url([]) == f"/{value}/"


def test_a_field_may_have_any_name() -> None:
    fields = {"self": F("a"), "template": F("b"), "class": F("c"), "ü": "d"}
    template = PathTemplate("/{self}/{template}/{class}/{ü}/{class}/", **fields)
    assert template.url([1, 2, 3]) == "/1/2/3/d/3/"


def test_values_are_in_the_order_of_the_arguments() -> None:
    template = PathTemplate("/{b}/{a}/{b}/{c}{{}}%s", a=F("x"), c="c", b=F("y"))
    assert template.expressions == [F("x"), F("y")]
    assert template.url(iter(["x", "y"])) == "/y/x/y/c{}%s"
    columns = template.compiled().compose([["x", "z"], [1, 2]])
    assert columns is None
    columns = PathTemplate("/{b}/{a}/{b}/", a=F("x"), b=F("y")).compiled().compose([["x", "z"], [1, 2]])
    assert columns is not None
    assert columns.texts() == ["/1/x/1/", "/2/z/2/"]


def test_a_constant_is_text_in_the_active_language() -> None:
    template = PathTemplate("/{language}/{slug}/{n}/", language=lazystr("x"), slug=F("slug"), n=1.50)
    assert template.url(["s"]) == "/x/s/1.5/"
    template = PathTemplate("/{name}/{slug}", name=gettext_lazy("March"), slug=F("slug"))
    with translation.override("de"):
        assert template.url(["s"]) == "/März/s"
    with translation.override("en"):
        assert template.url(["s"]) == "/March/s"


@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy, lambda t: pickle.loads(pickle.dumps(t))])  # noqa: S301
def test_a_template_can_be_copied_and_shows_how_it_was_made(duplicate: Any) -> None:
    template = PathTemplate("/{a}/{b}/", a=F("a"), b=1)
    twin = duplicate(template)
    assert repr(twin) == repr(template) == "PathTemplate('/{a}/{b}/', a=F(a), b=1)"
    assert twin.url(["s"]) == "/s/1/"


# Columns


@pytest.mark.parametrize(
    "column", [["a", "b-1"], [1, 0, -1], [uuid.UUID(int=1)], [True], [Decimal("1.50")], [date(2026, 1, 1)]]
)
def test_safe_values_are_written_as_columns(column: list[Any]) -> None:
    columns = PathTemplate("/{a}/", a=F("a")).compiled().compose([column])
    assert columns is not None
    # A point is checked by the writer.
    assert isinstance(columns.columns[0], SafeColumn) == (column != [Decimal("1.50")])
    assert columns.texts() == [f"/{value}/" for value in column]
    # No rows and no columns are not written in columns.
    assert PathTemplate("/{a}/", a=F("a")).compiled().compose([[]]) is None
    assert PathTemplate("/a/").compiled().compose([]) is None
    assert PathTemplate("/a/").url([]) == "/a/"


@given(
    values=st.lists(st.tuples(st.sampled_from(TEXTS) | st.text(max_size=5), st.integers()), min_size=1),
    template=st.sampled_from(
        ["/{a}/{b}/", "/{b}{a}", "/%{a}4{b}", "/{a}/{a}?{b}", "https://x.example/{a}/{b}"]
    ),
)
def test_columns_are_the_urls_of_their_rows(values: list[Any], template: str) -> None:
    path = PathTemplate(template, a=F("a"), b=F("b"))
    urls = [path.url(row) for row in values]
    assert urls == [template.format(a=a, b=b) for a, b in values]
    columns = path.compiled().compose([*zip(*values, strict=True)])
    assert columns is None or columns.texts() == urls


# Pages


@pytest.mark.services
@pytest.mark.sitemaps09
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("template", ["/{v}/", "/a-{v}-{w}", "/x?v={v}&w={w}"])
def test_pages_are_those_of_the_method(using: str, kind: str, template: str) -> None:
    rows = with_values(using, *KINDS[kind])
    paths = {name: path for name, path in (("v", "value"), ("w", "slug")) if f"{{{name}}}" in template}
    by_template, by_method = both(rows, template, **paths)
    assert_same(by_template, by_method)
    assert by_contrib(by_template) == by_contrib(by_method)


def stored(texts: list[str], using: str) -> QuerySet[Article]:
    """Return an article for each text that the database can store."""
    Article.objects.using(using).bulk_create(Article(slug=text) for text in texts)
    return Article.objects.using(using).order_by("pk")


@pytest.mark.services
@pytest.mark.sitemaps09
@pytest.mark.parametrize("template", ["/{v}/", "/{v}", "/{v}{v}", "/p?q={v}", "/{{{v}}}/%4{v}1/ü "])
def test_pages_of_any_text_are_those_of_the_method(using: str, template: str) -> None:
    rows = stored(TEXTS, using)
    by_template, by_method = both(rows, template, v="slug")
    page = assert_same(by_template, by_method)
    assert page.locations
    assert by_contrib(by_template) == by_contrib(by_method)
    for text in TEXTS:
        assert_same(*both(rows.filter(slug=text), template, v="slug"))


@pytest.mark.django_db
@pytest.mark.sitemaps09
def test_a_long_text_is_skipped_as_with_the_method() -> None:
    rows = with_values("default", CharField(), ["a" * 2_000, "b" * 3_000, "ü" * 500, "x"])
    by_template, by_method = both(rows, "/{v}/", v="value")
    page, expected = page_of(by_template), page_of(by_method)
    assert page.text == expected.text
    assert len(page.written.errors) == len(expected.written.errors) == 2
    assert by_contrib(by_template) == by_contrib(by_method)


@pytest.mark.django_db
@pytest.mark.sitemaps09
def test_a_null_skips_the_item_and_is_reported() -> None:
    category = Category.objects.create(slug="c")
    first, _ = Article.objects.bulk_create([Article(slug="a"), Article(slug="b", category=category)])
    by_template, by_method = both(Article.objects.all(), "/{c}/{s}/", c="category__slug", s="slug")
    page = assert_same(by_template, by_method)
    assert page.locations == ["https://www.example.com/c/b/"]
    assert [(key, field) for key, field, _ in page.written.errors] == [(str(first.pk), "location")]
    assert b"/c/b/" in by_contrib(by_template)
    assert by_contrib(by_template) == by_contrib(by_method)


@pytest.mark.django_db
@pytest.mark.sitemaps09
@pytest.mark.parametrize(
    "template",
    [
        *("https://www.example.com/{s}/", "HTTPS://WWW.EXAMPLE.COM/{s}/", "https://shop.example.com/{s}"),
        *("https://other.example.com/{s}", "https://{s}.example.com/", "http://{s}"),
    ],
)
def test_absolute_urls_are_on_the_allowed_hosts_of_the_method(template: str) -> None:
    rows = stored(["shop", "a b", "", "www"], "default")
    hosts = {"hosts": ["https://shop.example.com"]}
    by_template, by_method = both(rows, template, hosts, s="slug")
    assert_same(by_template, by_method)
    assert by_contrib(by_template) == by_contrib(by_method)


@pytest.mark.django_db
@pytest.mark.sitemaps09
@pytest.mark.parametrize("linked", [False, True])
def test_languages_are_those_of_the_method(*, linked: bool) -> None:
    rows = stored(["a", "b c", "ü", "en", "/en/", "#"], "default")
    attributes = {"i18n": True, "languages": ["en", "de"], "alternates": linked, "x_default": linked}
    for template in ("/{s}/", "/en/{s}/", "/{s}/en/"):
        by_template, by_method = both(rows, template, attributes, s="slug")
        assert_same(by_template, by_method)
        assert by_contrib(by_template) == by_contrib(by_method)


@pytest.mark.django_db
@pytest.mark.sitemaps09
def test_a_dict_by_language_gives_the_bytes_of_the_method() -> None:
    Article.objects.bulk_create(
        Article(slug="" if n % 5 == 4 else f"s {n}", code=f"ü{n}" if n % 3 else None) for n in range(20)
    )

    def location(self: Any, item: Article) -> str:
        return f"/de/{item.code}/" if get_language() == "de" else f"/en/{item.slug}/"

    def languages(self: Any, item: Article) -> list[str]:
        return [code for code, slug in (("en", item.slug), ("de", item.code)) if slug]

    columns = {
        "en": PathTemplate("/{code}/{s}/", code="en", s=F("slug")),
        "de": PathTemplate("/de/{s}/", s=F("code")),
    }
    attributes = {"queryset": Article.objects.all(), "i18n": True, "alternates": True, "x_default": True}
    by_template = declaration(location=columns, **attributes)
    by_method = declaration(
        location=location, languages=["en", "de"], get_languages_for_item=languages, **attributes
    )
    page = assert_same(by_template, by_method)
    assert len(page.locations) == 16 + 13
    assert by_contrib(by_template) == by_contrib(by_method)


@pytest.mark.django_db
def test_text_files_are_those_of_the_method(tmp_path: Path) -> None:
    rows = stored(TEXTS, "default")
    files = []
    options = {"BASE_URL": "https://www.example.com", "GZIP": False, "ENGINE": "serial"}
    with override_settings(SITEMAPS09=options):
        for number, section in enumerate(both(rows, "/{s}/", {"format": "text"}, s="slug")):
            export(sitemaps={"s": section}, output=tmp_path / str(number))
            files.append((tmp_path / str(number) / "sitemap-s-1.txt").read_text())
    assert files[0] == files[1]
    assert "https://www.example.com/plain/\n" in files[0]


@pytest.mark.django_db
def test_exports_of_several_hosts_are_those_of_the_method(tmp_path: Path, settings: Any) -> None:
    settings.SITEMAPS09 = {"GZIP": False, "ENGINE": "serial"}
    rows, hosts = stored([*TEXTS, "a" * 120], "default"), ["https://a.example", "https://longer.b.example"]
    files = []
    for section, folder in zip(
        both(rows, "/{s}/{s}", s="slug"), (tmp_path / "a", tmp_path / "b"), strict=True
    ):
        export_hosts(base_urls=hosts, sitemaps={"s": section}, output=folder)
        pages = folder.rglob("*-s-*.xml")
        files.append({str(page.relative_to(folder)): page.read_bytes() for page in pages})
    assert files[0] == files[1]
    assert sorted(files[0]) == ["a.example/sitemap-s-1.xml", "longer.b.example/sitemap-s-1.xml"]


@pytest.mark.django_db
@pytest.mark.sitemaps09
def test_a_template_needs_no_instances_and_has_fingerprints() -> None:
    source = compiled(both(stored(["a"], "default"), "/{s}/", {"lastmod": F("updated")}, s="slug")[0])
    assert not source.declaration.needs_items
    assert source.can_fingerprint


def test_a_value_that_is_equal_to_none_is_written() -> None:
    class Everything(str):
        def __eq__(self, other: object) -> bool:
            return True

        __hash__ = str.__hash__

    assert PathTemplate("/{s}/", s=F("slug")).url([Everything("odd")]) == "/odd/"


@pytest.mark.django_db
@pytest.mark.sitemaps09
def test_a_changed_template_changes_the_declaration() -> None:
    def digest(template: str, **values: Any) -> str:
        section = declaration(queryset=Article.objects.all(), location=PathTemplate(template, **values))
        result: str = compiled(section).declaration_digest
        return result

    assert digest("/{a}/", a=F("slug")) == digest("/{a}/", a=F("slug"))
    digests = {
        digest("/{a}/", a=F("slug")),
        digest("/{a}", a=F("slug")),
        digest("/{a}/", a=F("code")),
        digest("/{a}/{b}/", a=F("slug"), b="1"),
        digest("/{a}/{b}/", a=F("slug"), b="2"),
        digest("/{b}/{a}/", a=F("slug"), b=F("code")),
        digest("/{a}/{b}/", a=F("slug"), b=F("code")),
    }
    assert len(digests) == 7
