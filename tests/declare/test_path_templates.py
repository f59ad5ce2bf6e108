"""A `PathTemplate` gives the same URLs as a method that returns the f-string."""

from __future__ import annotations

import copy
import pickle
import re
import uuid
from datetime import date, datetime, timezone
from decimal import Decimal
from unittest.mock import ANY

import pytest
from django.db import models
from django.db.models import Case, F, Value, When
from django.db.models.functions import Cast
from django.utils import translation
from django.utils.functional import lazystr
from django.utils.safestring import mark_safe
from django.utils.translation import gettext_lazy
from hypothesis import given, strategies as st

from django_sitemaps09 import PathTemplate
from django_sitemaps09.export import export_hosts
from tests.models import Article, Category
from tests.support.internals import SafeColumn
from tests.support.sections import declare
from tests.support.sources import BASE, compiled, rendered
from tests.support.ways import compatible_entries

pytestmark = [pytest.mark.django_db, pytest.mark.sitemaps09]
#: Texts with everything that has a meaning in a URL, in XML, in a format or in a file.
TEXTS = [
    *("plain", "with space", " ", "ünïcode", "日本", "\N{GRINNING FACE}", "\x7f", "\x85"),
    *("100%", "%41", "%zz", "%4", "a%20b", "%s", "%(a)s", "{brace}", "}", "[bracket]", "\\", "..", "."),
    *("a&b", "'quoted'", '"double"', "<tag>", "a/b", "/leading", "//twice", "trailing/", "?q=1", "a?b=c"),
    *("#fragment", "a#b", "line\nend", "\r", "\t", "", "None", "@evil.example", ":80"),
    *("http://evil.example/", "a;b,c=d+e!f*g(h)~i$j"),
]
MOMENT = datetime(2026, 5, 17, 23, 59, 59, 120_000, tzinfo=timezone.utc)
PLAIN = ("{}", "{0}", "{ a }", "{a!r}", "{a!s}", "{a:02d}", "{a:{b}}", "{a!r:>9}", "{a.b}", "{a[0]}")
NO_SLASH = ["{a}/", " /{a}/", "a/{a}/", "ftp://example.com/{a}/", "https:/{a}/"]
#: What is said about invalid templates with the argument `a`.
INVALID = [
    *((f"{field} is not a plain field", f"/{field}/") for field in PLAIN),
    *(('{b} has no value: pass b=F("...")', text) for text in ("/{b}/", "/{a}/{b}/")),
    *(("remove the argument a, or add {a} to the template", text) for text in ("/all/", "/{{a}}/", "")),
    ("Single '{' ", "/{a}/{"), ("Single '}' ", "/{a}/}"),
    *(("write a brace as {{ or }}", text) for text in ("/{a}/{", "/{a}/}", "/{a")),
    *(("begin the template with a slash", text) for text in NO_SLASH),
    ("write {slug}, not <slug:slug>", "/p/<slug:slug>/"), ("write {pk}, not <int:pk>", "/{a}/<int:pk>/"),
    *(("must be a string", value) for value in (7, None, b"/{a}/")),
]  # fmt: skip


@pytest.mark.parametrize(("problem", "template"), INVALID)
def test_an_invalid_template_is_refused_with_a_way_out(problem, template):
    with pytest.raises(ValueError, match=re.escape(problem)) as caught:
        PathTemplate(template, a=F("slug"))
    assert str(caught.value).startswith(f"PathTemplate({template!r}): ")


def test_an_argument_without_a_value_or_a_name_is_refused_with_a_way_out():
    for template, args, kwargs, problem in (
        ("/{a}/", (), {"a": None}, "the argument a is None"),
        ("/{}/", (F("slug"),), {}, "{} is not a plain field such as {slug}, with its value as a key"),
        ("/{slug}/", (F("slug"),), {}, 'pass each value as a keyword, such as slug=F("slug")'),
    ):
        with pytest.raises(ValueError, match=re.escape(problem)):
            PathTemplate(template, *args, **kwargs)


NOT_TEXT = [len, F, lambda item: item.slug, ["a"], ("a",), {"a": 1}, b"a", object(), Article(slug="a")]


@pytest.mark.parametrize("value", NOT_TEXT, ids=range(len(NOT_TEXT)))
def test_a_constant_whose_text_is_not_meant_for_a_url_is_refused(value):
    with pytest.raises(ValueError, match=r"the argument a is .*; pass a query expression, such as F"):
        PathTemplate("/{a}/", a=value)


def test_a_constant_is_written_as_in_an_f_string_in_the_active_language():
    numbers = [True, 7, 1.50, Decimal("1.50"), date(2026, 5, 17), MOMENT, MOMENT.time(), uuid.UUID(int=7)]
    for value in ("text", "", *numbers, lazystr("lazy"), mark_safe("safe")):
        assert PathTemplate("/{a}/", a=value).url([]) == f"/{value}/"
    template = PathTemplate("/{language}/{slug}/{n}/", language=lazystr("x"), slug=F("slug"), n=1.50)
    assert template.url(["s"]) == "/x/s/1.5/"
    template = PathTemplate("/{name}/{slug}", name=gettext_lazy("March"), slug=F("slug"))
    for language, month in (("de", "März"), ("en", "March")):
        with translation.override(language):
            assert template.url(["s"]) == f"/{month}/s"


def test_a_field_may_have_any_name_and_values_are_in_the_order_of_the_arguments():
    fields = {"self": F("a"), "template": F("b"), "class": F("c"), "ü": "d"}
    template = PathTemplate("/{self}/{template}/{class}/{ü}/{class}/", **fields)
    assert template.url([1, 2, 3]) == "/1/2/3/d/3/"
    template = PathTemplate("/{b}/{a}/{b}/{c}{{}}%s", a=F("x"), c="c", b=F("y"))
    assert (template.expressions, template.url(iter(["x", "y"]))) == ([F("x"), F("y")], "/y/x/y/c{}%s")
    assert template.compiled().compose([["x", "z"], [1, 2]]) is None


@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy, lambda t: pickle.loads(pickle.dumps(t))])  # noqa: S301
def test_a_template_can_be_copied_and_shows_how_it_was_made(duplicate):
    template = PathTemplate("/{a}/{b}/", a=F("a"), b=1)
    twin = duplicate(template)
    assert repr(twin) == repr(template) == "PathTemplate('/{a}/{b}/', a=F(a), b=1)"
    assert twin.url(["s"]) == "/s/1/"


def test_a_value_that_is_equal_to_none_is_written():
    assert PathTemplate("/{s}/", s=F("slug")).url([ANY]) == "/<ANY>/"


@pytest.mark.parametrize(
    "column", [["a", "b-1"], [1, 0, -1], [uuid.UUID(int=1)], [True], [Decimal("1.50")], [date(2026, 1, 1)]]
)
def test_safe_values_are_written_as_columns(column):
    columns = PathTemplate("/{a}/", a=F("a")).compiled().compose([column])
    # A document checks a point before it writes it.
    assert isinstance(columns.columns[0], SafeColumn) == (column != [Decimal("1.50")])
    assert columns.texts() == [f"/{value}/" for value in column]


def test_no_rows_and_no_columns_are_not_written_in_columns():
    assert PathTemplate("/{a}/", a=F("a")).compiled().compose([[]]) is None
    assert PathTemplate("/a/").compiled().compose([]) is None
    assert PathTemplate("/a/").url([]) == "/a/"


FORMS = ["/{a}/{b}/", "/c%20d/{a}/{b}", "/{b}{a}", "/%{a}4{b}", "/{a}/{a}?{b}", "/{b}/{a}/{b}/"]
FORMS += ["https://x.example/{a}/{b}"]


@given(
    st.lists(st.tuples(st.sampled_from(TEXTS) | st.text(max_size=5), st.integers()), min_size=1),
    st.sampled_from(FORMS),
)
def test_columns_are_the_urls_of_their_rows(values, template):
    path = PathTemplate(template, a=F("a"), b=F("b"))
    urls = [path.url(row) for row in values]
    assert urls == [template.format(a=a, b=b) for a, b in values]
    columns = path.compiled().compose([*zip(*values, strict=True)])
    # A value after a percent sign may end an escape, and a template with a host has no columns.
    may_be_plain = template[0] == "/" and not re.search("%[0-9A-Fa-f]?{", template)
    is_plain = may_be_plain and all(a.isascii() and a.isalnum() for a, _ in values)
    assert columns.texts() == urls if columns is not None else not is_plain


def both(rows, template, attributes=(), **paths):
    """Return a section with the template, and one with a method for the f-string."""

    def location(self, item):
        values = {name: getattr(item, f"own_{name}") for name in paths}
        return None if None in values.values() else template.format(**values)

    columns = {name: F(path) for name, path in paths.items()}
    own = rows.annotate(**{f"own_{name}": column for name, column in columns.items()})
    of_template = declare(queryset=rows, location=PathTemplate(template, **columns), **dict(attributes))
    return [of_template, declare(queryset=own, location=location, **dict(attributes))]


def same(sections, *, reasons=True):
    """Return the only page of a template, which must be that of the method, as on Django's pages."""
    by_template, by_method = sections
    [page], [expected] = (rendered(compiled(section)) for section in sections)
    # A reason of a long text may show another part of it.
    found, wanted = ([each[: 2 + reasons] for each in part.written.errors] for part in (page, expected))
    assert (page.text, found) == (expected.text, wanted)
    assert compatible_entries(by_template) == compatible_entries(by_method)
    return page


def stored(texts, using="default"):
    Article.objects.using(using).bulk_create(Article(slug=text) for text in texts)
    return Article.objects.using(using).order_by("pk")


def with_values(using, field, values):
    rows = stored([f"s{number}" for number in range(len(values))], using)
    pairs = [(row, value) for row, value in zip(rows, values, strict=True) if value is not None]
    whens = [When(pk=row.pk, then=Value(value, output_field=field)) for row, value in pairs]
    value = Case(*whens, default=None, output_field=field)
    # Without a cast, MariaDB returns text.
    return rows.annotate(value=Cast(value, field) if isinstance(field, models.DateTimeField) else value)


DECIMAL = models.DecimalField(max_digits=9, decimal_places=3)
KINDS = {
    "integer": (models.IntegerField(), [0, 7, -5, 2_147_483_647, None]),
    "boolean": (models.BooleanField(), [True, False]),
    "decimal": (DECIMAL, [Decimal("1.500"), Decimal("-0.001")]),
    "float": (models.FloatField(), [0.1, -2.5, 1e300, 1e-7]),
    "date": (models.DateField(), [date(2026, 5, 17), date(1, 1, 1)]),
    "time": (models.DateTimeField(), [MOMENT, MOMENT.replace(microsecond=0)]),
    "uuid": (models.UUIDField(), [uuid.UUID(int=7)]), "text": (models.CharField(), ["a", "b c"]),
    "null": (models.CharField(), ["a", None]),
    "long": (models.CharField(), ["a" * 2_000, "b" * 3_000, "ü" * 500, "x"]),
}  # fmt: skip


@pytest.mark.services
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("template", ["/{v}/", "/a-{v}-{w}", "/x?v={v}&w={w}"])
def test_pages_are_those_of_the_method(using, kind, template):
    rows = with_values(using, *KINDS[kind])
    paths = [(name, path) for name, path in (("v", "value"), ("w", "slug")) if f"{{{name}}}" in template]
    page = same(both(rows, template, **dict(paths)), reasons=kind != "long")
    assert len(page.written.errors) == {"integer": 1, "null": 1, "long": 2}.get(kind, 0)


@pytest.mark.services
@pytest.mark.parametrize("template", ["/{v}/", "/{v}", "/{v}{v}", "/p?q={v}", "/{{{v}}}/%4{v}1/ü "])
def test_pages_of_any_text_are_those_of_the_method(using, template):
    rows = stored(TEXTS, using)
    assert same(both(rows, template, v="slug")).locations
    for text in TEXTS:
        same(both(rows.filter(slug=text), template, v="slug"))


ABSOLUTE = [
    *("https://www.example.com/{s}/", "HTTPS://WWW.EXAMPLE.COM/{s}/", "https://shop.example.com/{s}"),
    *("https://other.example.com/{s}", "https://{s}.example.com/", "http://{s}"),
]


def test_hosts_languages_and_nulls_are_those_of_the_method():
    rows = stored(["shop", "a b", "", "www", "ü", "en", "/en/", "#"])
    for template in ABSOLUTE:
        same(both(rows, template, {"hosts": ["https://shop.example.com"]}, s="slug"))
    for linked in (False, True):
        attributes = {"i18n": True, "languages": ["en", "de"], "alternates": linked, "x_default": linked}
        for template in ("/{s}/", "/en/{s}/", "/{s}/en/"):
            same(both(rows, template, attributes, s="slug"))
    category = Category.objects.create(slug="c")
    first, _ = Article.objects.bulk_create([Article(slug="a"), Article(slug="b", category=category)])
    page = same(both(Article.objects.filter(slug__in="ab"), "/{c}/{s}/", c="category__slug", s="slug"))
    assert page.locations == [f"{BASE}/c/b/"]
    assert [error[:2] for error in page.written.errors] == [(str(first.pk), "location")]


@pytest.mark.sitemaps09(GZIP=False, ENGINE="serial")
def test_exports_of_several_hosts_and_of_text_are_those_of_the_method(tmp_path):
    rows, hosts = stored([*TEXTS, "a" * 120]), ["https://a.example", "https://longer.b.example"]
    made = [*both(rows, "/{s}/{s}", s="slug"), *both(rows, "/{s}/", {"format": "text"}, s="slug")]
    export_hosts(base_urls=hosts, sitemaps=dict(zip("abcd", made, strict=True)), output=tmp_path)
    for host in hosts:
        folder, names = tmp_path / host.partition("://")[2], ("a-1.xml", "b-1.xml", "c-1.txt", "d-1.txt")
        found = [(folder / f"sitemap-{name}").read_text() for name in names]
        assert (found[0], found[2]) == (found[1], found[3])
        assert (found[0].count(f"{host}/plain/plain"), found[2].count(f"{host}/plain/\n")) == (1, 1)
