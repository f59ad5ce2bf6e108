"""Languages: pages, costs, and the same bytes however locations in several languages are declared."""

from __future__ import annotations

import gc
import re
import weakref
from unittest import mock

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.db import connections
from django.db.models import Case, F, OuterRef, Subquery, Value, When
from django.db.models.functions import Concat
from django.test import RequestFactory, override_settings
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils.translation import get_language
from hypothesis import example, given, strategies as st

from django_sitemaps09 import PathTemplate, Route, views
from django_sitemaps09.declare import locations as templates
from django_sitemaps09.export import export
from tests.models import Article, Category
from tests.support import sources as helpers
from tests.support.configuration import BASE
from tests.support.documents import LINKED, by_contrib
from tests.support.factories import ArticleFactory
from tests.support.internals import Limits, Page, PositionSource, QuerySource, slices, sources
from tests.support.memory import traced
from tests.support.sections import declare, listing
from tests.support.sources import LIMITS, TEN, compiled, errors, locations, page_of, rendered, spoken
from tests.support.ways import compatible_entries, whole

pytestmark = [pytest.mark.django_db, pytest.mark.urls(helpers.PREFIXED)]
pytestmark += [pytest.mark.sitemaps09(ENGINE="serial")]
BY_SLUG = Route("article", slug=F("slug"))
BARE = helpers.urlconf(prefixed=False)


def articles_in(using, count):
    Article.objects.using(using).bulk_create(Article(slug=f"s{n}") for n in range(count))
    return Article.objects.using(using).order_by("pk")


def linked(section):
    found = helpers.alternates(page_of(section).text)
    assert [links for links in found if len(dict(links)) < len(links)] == []
    return [dict(links) for links in found]


@pytest.mark.parametrize("location", ["/ä/", "/%C3%A4/", f"{BASE}/ä/"])
def test_links_name_an_item_however_its_url_is_written(location):
    for url in ("/ä/", "/%C3%A4/", "HTTPS://WWW.example.COM/ä/"):
        section = listing("a", location=location, alternates=lambda self, item, url=url: [("en", url)])
        assert linked(section) == [{"en": f"{BASE}/%C3%A4/"}]


def test_links_name_no_language_twice_and_are_reported_once_a_page(monkeypatch):
    helpers.set_slices(monkeypatch, 1)
    assert len(linked(spoken("a", alternates=True, languages=["sr@latin", "sr-latn"]))) == 2
    assert len(page_of(spoken("abc", alternates=True, languages=["ca-valencia"])).written.errors) == 1


@pytest.mark.parametrize("code", ["en", "de", "pt-br", "fr", "pt-BR", "DE"])
def test_x_default_is_the_url_of_the_default_language_less_its_prefix(code):
    """Django accepts a setting in upper case, because its checks and locales ignore case."""
    with override_settings(LANGUAGE_CODE=code):
        [found] = {links.get("x-default") for links in linked(spoken("a", alternates=True, x_default=True))}
    either = [None, f"{BASE}/a/"]
    assert found in {"fr": [None], "pt-BR": either, "DE": either}.get(code, either[1:])


@pytest.mark.parametrize(("urls", "start"), [(helpers.PREFIXED, f"{BASE}/en/"), (BARE, f"{BASE}/")])
@pytest.mark.parametrize("slug", ["en/", "de/", "en/en/de/", "a/en/b", "é/en/"])
def test_x_default_loses_nothing_but_a_prefix_of_languages(urls, start, slug):
    """With `prefix_default_language=False`, nothing is removed, even if a slug looks like a prefix."""
    ArticleFactory(slug=slug)
    template = PathTemplate(f"{start.removeprefix(str(BASE))}a/en/{{slug}}/", slug=F("slug"))
    for location in (
        *(Route("page", slug=F("slug")), template), lambda self, item: reverse("page", args=[slug]),
    ):  # fmt: skip
        with override_settings(ROOT_URLCONF=urls):
            for links in linked(declare(model=Article, location=location, **LINKED)):
                assert links["en"] == links["x-default"].replace(f"{BASE}/", start, 1)


def limited(of_items, /, **attributes):
    of_item = lambda self, item: of_items[item]  # noqa: E731
    return spoken(range(len(of_items)), alternates=True, get_languages_for_item=of_item, **attributes)


some_languages = st.lists(st.sampled_from(TEN[:5]), unique=True, max_size=5)


def assert_parts_no_item(done):
    items = [{url.split("/")[-2] for url in part.locations} for part in done]
    assert sum(map(len, items)) == len(set().union(*items))


@pytest.mark.parametrize(
    "limits", [LIMITS, Limits(7, LIMITS.bytes), Limits(50_000, 4_000)], ids=["none", "urls", "bytes"]
)
@given(st.lists(some_languages, max_size=20), st.integers(1, 8))
@example([TEN[: n % 4] for n in range(20)], 3)
def test_each_item_is_on_one_page_in_the_languages_that_a_list_says(limits, languages, size):
    with mock.patch.object(slices, "SLICE", size):
        # As if every item had only one language.
        source = compiled(limited(languages, languages=TEN[:5]), limits)
        done = rendered(source, limits, helpers.cut(source, 7))
    expected = [f"{BASE}/{code}/{item}/" for item, codes in enumerate(languages) for code in codes]
    assert (sorted(locations(done)), errors(done)) == (sorted(expected), [])
    assert all(part.written.urls <= limits.urls and part.written.bytes <= limits.bytes for part in done)
    assert_parts_no_item(done)
    for part in done:
        for location, links in zip(part.locations, helpers.alternates(part.text), strict=True):
            item = int(location.split("/")[-2])
            assert {url for _, url in links} == {f"{BASE}/{code}/{item}/" for code in languages[item]}


@pytest.mark.parametrize("limit", [1, 3, 7, 30])
@pytest.mark.parametrize("kind", ["queryset", "list", "union"])
def test_pages_count_entries_and_part_no_item(kind, limit):
    rows = articles_in("default", 10)
    union = rows.filter(pk__lt=5).order_by().union(rows.order_by(), all=False)
    items = {"queryset": rows, "list": [*rows], "union": union}[kind]
    # An evaluated queryset is a list.
    items = items if kind == "list" else items.all()
    source = compiled(listing(items, i18n=True, location=helpers.by_route, limit=limit))
    assert isinstance(source, QuerySource if kind == "queryset" else PositionSource)
    done = rendered(source)
    wanted = [f"{BASE}/{code}/articles/{row.slug}/" for row in rows for code in ("en", "de", "pt-br")]
    assert sorted(locations(done)) == sorted(wanted)
    assert {part.written.urls for part in done[:-1]} <= {max(1, limit // 3) * 3}
    assert_parts_no_item(done)


def test_an_item_with_more_languages_than_the_limit_and_than_the_class_is_reported_and_not_divided():
    sitemap = spoken("a", limit=2)()
    sitemap.get_languages_for_item = lambda item: TEN
    done = rendered(compiled(sitemap))
    assert locations(done) == []
    assert errors(done) == [("1", "location", "its entries alone exceed the limits of a page")]


def test_pages_are_cut_for_the_languages_that_the_first_items_have():
    of_counts = (limited([TEN[:count]] * 300, languages=TEN, limit=100) for count in (1, 2, 10))
    assert [sources.rows_on_page(compiled(section), LIMITS) for section in of_counts] == [95, 48, 10]
    # They hold no more entries than the limit if later items have all languages.
    section = limited([TEN[:1]] * 300 + [TEN] * 300, languages=TEN, limit=100)
    source = compiled(section)
    done = rendered(source, LIMITS, helpers.cut(source, sources.rows_on_page(source, LIMITS)))
    assert len({*locations(done)}) == len(locations(done)) == 300 + 3_000
    assert all(part.written.urls <= 100 for part in done)


@pytest.mark.urls("tests.urls")
def test_pages_of_items_with_few_languages_are_live_what_they_are_in_the_export(configure, tmp_path):
    configure(ROOT=tmp_path)
    Article.objects.bulk_create(Article(slug=f"s{i}") for i in range(200))
    attributes = {"i18n": True, "languages": TEN, "get_languages_for_item": lambda self, item: TEN[:1]}
    section = declare(model=Article, limit=100, **attributes)
    [exported] = export(sitemaps={"few": section}).sections
    assert [file.urls for file in exported.files] == [95, 95, 10]
    response = views.sitemap_index(RequestFactory().get("/sitemap.xml"), {"few": section})
    *names, last = re.findall(r"sitemap-few[^<]+", response.content.decode())
    assert names == [file.name for file in exported.files][:2]
    assert last.startswith("sitemap-few.after.")


BY_TEN = {**LINKED, "languages": TEN}


def counted(section):
    return (sum(batch.counts()) for batch in compiled(section).batches(Page(1, None, None)))


def test_no_list_of_items_by_languages_is_made():
    """Twice as many items take no more memory."""
    first, peaks = articles_in("default", 8_000)[0].pk, []
    for count in (4_000, 8_000):
        section = declare(queryset=Article.objects.filter(pk__lt=first + count), location=BY_SLUG, **BY_TEN)
        sum(counted(section))
        gc.collect()
        with traced() as memory:
            entries = 0
            for counts in counted(section):
                entries += counts
                # On Python 3.10, the exceptions that asgiref catches while a route is reversed keep
                # their frames until the next garbage collection.
                gc.collect(1)
        assert entries == count * 10
        peaks.append(memory.peak)
    assert peaks[1] < peaks[0] * 1.2


def test_no_more_instances_live_than_those_of_a_slice():
    articles_in("default", 3 * slices.INSTANCES)
    alive, counts = weakref.WeakSet(), []

    def location(self, item):
        alive.add(item)
        if len(alive) > 2 * slices.INSTANCES:
            # On Python 3.10, an exception inside reverse() keeps frames until the next collection.
            gc.collect()
        counts.append(len(alive))
        return helpers.by_route(self, item)

    assert sum(counted(declare(model=Article, location=location, **BY_TEN))) == 30 * slices.INSTANCES
    assert 0 < max(counts) <= 2 * slices.INSTANCES


@pytest.mark.parametrize("location", [BY_SLUG, helpers.by_route], ids=["columns", "methods"])
def test_queries_are_as_many_in_ten_languages_as_in_one(using, monkeypatch, location):
    """There is one query for each slice, but slices are smaller if there are many rows."""
    rows = articles_in(using, 250)
    helpers.set_slices(monkeypatch, 100)
    for languages in (["en"], TEN):
        section = declare(queryset=rows, location=location, **BY_TEN | {"languages": languages})
        with CaptureQueriesContext(connections[using]) as asked:
            assert sum(counted(section)) == 250 * len(languages)
        assert len([query for query in asked if "tests_article" in query["sql"]]) == 3


def test_a_route_is_compiled_once_a_language_and_slices_of_many_languages_are_smaller(monkeypatch):
    articles_in("default", 600)
    section = declare(model=Article, location=BY_SLUG, **BY_TEN)
    with (
        override_settings(ROOT_URLCONF=helpers.urlconf(prefixed=True)),
        mock.patch.object(templates, "candidates", wraps=templates.candidates) as compiling,
    ):
        assert [*counted(section)] == [4_800, 1_200]
        assert compiling.call_count == len(TEN)
        helpers.set_slices(monkeypatch, 10)
        assert sum(counted(section)) == 6_000
        assert compiling.call_count == len(TEN)


@pytest.mark.parametrize("size", [1, 2, 3])
@pytest.mark.parametrize("limit", [1, 9, 50_000])
@pytest.mark.parametrize("attributes",
    [{}, {"alternates": True}, {"alternates": True, "x_default": True},
     {"alternates": True, "x_default": lambda self, item: item.slug != "s3" or "/start/"},
     {"alternates": lambda self, item: [("ja", f"https://ja.example/{item.slug}")]},
     {"alternates": lambda self, item: [("de", "/") if item.pk % 3 else ("ja", "https://a.example/")]},
     {"languages": ["ca-valencia", "de"], "alternates": True},
     {"alternates": True, "get_languages_for_item": lambda _, item: helpers.SEVERAL[int(item.slug[1]) % 7]},
    ], ids=range(8),
)  # fmt: skip
def test_columns_and_methods_give_the_same_bytes_in_any_slices(monkeypatch, attributes, limit, size):
    rows, columns = articles_in("default", 8), {"location": BY_SLUG, "priority": F("weight")}
    methods = {"location": helpers.by_route, "priority": lambda self, item: item.weight}
    source = lambda hooks: compiled(declare(queryset=rows, i18n=True, limit=limit, **attributes, **hooks))  # noqa: E731
    # The sample that determines the size of pages is a slice, too.
    found = helpers.page_map(source(methods))
    whole = rendered(source(methods), found=found)
    helpers.set_slices(monkeypatch, size)
    for hooks in (columns, methods):
        done = rendered(source(hooks), found=found)
        assert [part.text for part in done] == [part.text for part in whole]
        assert {*errors(done)} == {*errors(whole)}


@pytest.fixture
def rows(db):
    texts = (("" if n % 5 == 4 else f"s{n}", f"c{n}" if n % 3 else None) for n in range(20))
    Article.objects.bulk_create(Article(slug=slug, code=code) for slug, code in texts)
    return Article.objects.all()


def location(self, item):
    return reverse("article", kwargs={"slug": item.code if get_language() == "de" else item.slug})


def languages_of(self, item):
    return [code for code, slug in (("en", item.slug), ("de", item.code)) if slug]


def path_in(code, column):
    return Concat(Value(f"/{code}/articles/"), column, Value("/"))


BY_METHODS = {"languages": ["en", "de"], "location": location, "get_languages_for_item": languages_of}
BY_ROUTES = {"location": {"en": BY_SLUG, "de": Route("article", slug=F("code"))}}
BY_TEMPLATE = {
    "en": PathTemplate("/{code}/articles/{slug}/", code="en", slug=F("slug")),
    "de": PathTemplate("/de/articles/{slug}/", slug=F("code")),
}
BY_TEXT = {
    "en": Case(When(slug="", then=None), default=path_in("en", "slug")),
    "de": Case(When(code=None, then=None), default=path_in("de", "code")),
}
DECLARED = [BY_ROUTES, {"location": BY_TEXT}, {"location": BY_TEMPLATE}]


@pytest.mark.parametrize("declared", DECLARED, ids=["route", "text", "template"])
@pytest.mark.parametrize("switches", [LINKED, {"i18n": True}], ids=["linked", "not linked"])
def test_columns_by_language_give_the_bytes_of_methods(rows, declared, switches, monkeypatch):
    by_columns, by_methods = (declare(queryset=rows, **switches, **each) for each in (declared, BY_METHODS))
    assert compatible_entries(by_columns) == compatible_entries(by_methods)
    for size in (1, 3, 100):
        helpers.set_slices(monkeypatch, size)
        page = page_of(by_columns)
        assert page.text == page_of(by_methods).text
        assert (len(page.locations), page.written.errors) == (16 + 13, ())


def test_columns_by_language_create_no_items_and_have_fingerprints(rows):
    source = compiled(declare(queryset=rows, lastmod=F("updated"), **LINKED, **BY_ROUTES))
    assert (source.conversion.needs_items, source.can_fingerprint) == (False, True)
    before = source.fingerprint(None, None)
    Article.objects.filter(code="c1").update(code="changed")
    assert source.fingerprint(None, None) != before


def test_methods_can_restrict_the_languages_of_columns_and_say_x_default(rows):
    english = {**LINKED, **BY_ROUTES, "get_languages_for_item": lambda self, item: ["en"]}
    all_locations = page_of(declare(queryset=rows, **LINKED, **BY_METHODS)).locations
    wanted = [url for url in all_locations if "/en/" in url]
    assert (page_of(declare(queryset=rows, **english)).locations, len(wanted)) == (wanted, 16)
    hooks = {**LINKED, "x_default": lambda self, item: item.pk % 2 == 0}
    texts = [page_of(declare(queryset=rows, **hooks, **each)).text for each in (BY_ROUTES, BY_METHODS)]
    assert texts[0] == texts[1]
    assert "x-default" in texts[0]


def test_an_invalid_dict_by_language_is_refused(rows):
    for attributes, problem in (
        (BY_ROUTES, "no effect without i18n"),
        ({**BY_ROUTES, "i18n": True, "languages": ["en", "fr"]}, "the languages fr"),
        ({"location": {}, "i18n": True}, "an empty dict"),
        ({"location": {"en": "/a/"}, "i18n": True},
         "must be a Route, a PathTemplate or a query expression, not str"),
    ):  # fmt: skip
        with pytest.raises(ImproperlyConfigured, match=problem):
            compiled(declare(queryset=rows, **attributes))


@pytest.mark.parametrize("value", ["en", lambda self, item: "en"], ids=["constant", "method"])
def test_an_attribute_of_the_project_is_no_language_of_a_row(rows, value):
    """Classes written for Django's package can have any attribute."""
    with_it = declare(queryset=rows, item_language=value, **LINKED, **BY_METHODS)
    without = declare(queryset=rows, **LINKED, **BY_METHODS)
    assert compatible_entries(with_it) == compatible_entries(without)
    assert page_of(with_it).text == page_of(without).text


# One row for each translation. Translations of each other have the same weight.


@pytest.fixture
def translations(db):
    categories = {code: Category.objects.create(slug=code) for code in ("en", "de", "fr")}
    slugs, codes = ("one", "eins", "two", "zwei", "drei", "trois"), ("en", "de", "en", "de", "de", "fr")
    for slug, code, weight in zip(slugs, codes, (0.1, 0.1, 0.2, 0.2, 0.3, 0.3), strict=True):
        values = {"category": categories[code], "weight": weight, "published": slug != "zwei"}
        Article.objects.create(slug=slug, **values)


def by_row(**attributes):
    """Return a section for rows whose language is the slug of their category."""
    published = Article.objects.filter(published=True)

    def url(code):
        translated = published.filter(weight=OuterRef("weight"), category__slug=code)
        return Subquery(translated.annotate(url=path_in(code, "slug")).values("url")[:1])

    declared = {
        "item_language": F("category__slug"), "location": {code: url(code) for code in ("en", "de")},
    }  # fmt: skip
    return declare(queryset=published, i18n=True, **{"alternates": True, **declared, **attributes})


ONE, TWO = "/en/articles/one/", "/en/articles/two/"
EINS, DREI = "/de/articles/eins/", "/de/articles/drei/"
PAIR = {"en": ONE, "de": EINS}
#: The path of each entry and its links.
LISTED = {ONE: PAIR, EINS: PAIR, TWO: {"en": TWO}, DREI: {"de": DREI}}


def written(section):
    return whole(page_of(section).text.encode())


def entries_of(section):
    text = page_of(section).text.replace(str(BASE), "")
    paths = re.findall("<loc>(.*?)</loc>", text)
    assert len({*paths}) == len(paths)
    return dict(zip(paths, map(dict, helpers.alternates(text)), strict=True))


@pytest.mark.usefixtures("translations")
def test_a_row_in_one_language_is_listed_once_and_links_to_its_translations():
    assert (entries_of(by_row()), compiled(by_row()).rows_per_page) == (LISTED, LIMITS.urls)
    both = (compatible_entries(by_row()), written(by_row()))
    ours, theirs = (sorted((entry.path, sorted(entry.others)) for entry in entries) for entries in both)
    assert ours == theirs
    for x_default in (True, lambda self, item: True):
        more = [{"x-default": ONE.removeprefix("/en")}] * 2 + [{"x-default": TWO.removeprefix("/en")}, {}]
        wanted = {path: links | each for (path, links), each in zip(LISTED.items(), more, strict=True)}
        assert entries_of(by_row(x_default=x_default)) == wanted


@pytest.mark.usefixtures("translations")
def test_a_row_in_another_language_or_in_none_is_reported_and_one_without_a_location_is_not(caplog):
    Article.objects.create(slug="none", weight=0.4, published=True)
    reasons = [f"item_language: {code} is not one of the languages en, de" for code in ("'fr'", None)]
    assert [f"{field}: {reason}" for _, field, reason in page_of(by_row()).written.errors] == reasons
    caplog.clear()
    assert len(whole(by_contrib(by_row()))) == 4
    # These two are all, so no line counts the others.
    assert [record.getMessage().partition(", ")[2] for record in caplog.records] == reasons
    page = page_of(by_row(location={"en": Route("article", slug=F("code")), "de": BY_SLUG}))
    assert (page.locations, len(page.written.errors)) == ([f"{BASE}{EINS}", f"{BASE}{DREI}"], 2)


@pytest.mark.usefixtures("translations")
def test_a_row_in_one_language_without_a_dict_links_to_no_other_language():
    attributes = {"location": BY_SLUG, "languages": ["en", "de"]}
    assert page_of(by_row(alternates=False, **attributes)).locations == [f"{BASE}{path}" for path in LISTED]
    section = by_row(x_default=True, **attributes)
    assert compatible_entries(section) == written(section)
    for path, links in entries_of(section).items():
        language, rest = path[1:3], path[3:]
        assert links == {language: path} | ({"x-default": rest} if language == "en" else {})


@pytest.mark.parametrize("spelling", ["pt-br", "pt-BR", "pt_BR"])
def test_the_language_of_a_row_can_have_another_spelling(spelling):
    Article.objects.create(slug="um")
    attributes = {"item_language": Value(spelling), "location": {"pt-br": BY_SLUG}}
    section = declare(model=Article, i18n=True, alternates=True, **attributes)
    assert page_of(section).locations == [f"{BASE}/pt-br/articles/um/"]
    assert len(compatible_entries(section)) == 1
