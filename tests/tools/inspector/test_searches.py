"""How a URL is searched: values from its path, rows with these values, and entries of exported files."""

from __future__ import annotations

import uuid
from urllib.parse import unquote

import pytest
from django.core.exceptions import FieldError
from django.db import connections
from django.db.models import F
from django.test import override_settings
from django.test.utils import CaptureQueriesContext
from django.urls import include, path, re_path
from hypothesis import given, strategies as st

from django_sitemaps09 import PathTemplate, Route
from django_sitemaps09.declare.locations import resolve_path
from django_sitemaps09.tools.inspector import conditions, exported_files, row_searches
from tests.models import Article, Word
from tests.support.configuration import BASE
from tests.support.internals import ExportState, LocalStore, alias, compression, published, uri
from tests.support.sources import compiled, declaration, keys_of, kind, page_map, source_of
from tests.urls import nothing

__all__ = ["kind"]

pytestmark = [pytest.mark.urls(__name__), pytest.mark.usefixtures("cached_site")]

shop = (
    [path(f"{number}<slug:slug>/", nothing, name="product") for number in ("<int:number>/", "")],
    "shop",
)
urlpatterns = [
    path("any/<path:rest>", nothing, name="any"),
    path("word/<str:word>/", nothing, name="word"),
    path("any/shadowed/<slug:slug>/", nothing, name="shadowed"),
    path("id/<uuid:id>/", nothing, name="document"),
    path("<str:category>/shop/", include(shop, namespace="garden")),
    path("kind/<slug:slug>/", nothing, {"kind": "a"}, name="kind"),
    re_path(r"^year/([0-9]{4})/([a-z]+)/$", nothing, name="year"),
    re_path(r"^month/(?P<month>[0-9]+)(?:/(?P<day>[0-9]+))?/$", nothing, name="month"),
    path("view/<slug:slug>/", nothing),
]
SOME_ID = uuid.UUID(int=7)
NUMBERED = Route("shop:product", category=F("c"), number=F("n"), slug=F("s"))


def found(route, location):
    return next(iter(conditions.route_conditions(route, resolve_path(location))), None)


def by_alias(values):
    return {alias("location", place): value for place, value in enumerate(values)}


@pytest.mark.parametrize(("route", "location", "values"), [
    (Route("word", word=F("word")), "/word/a%20b/", ["a b"]),
    (Route("word", F("word")), "/word/a%20b/?page=2", ["a b"]),
    (Route("word", word=F("word")), "/word/a/b/", None),
    (Route("word", word="constant"), "/word/constant/", []),
    (Route("word", word="constant"), "/word/other/", None),
    (Route("document", id=F("id")), f"/id/{SOME_ID}/", [SOME_ID]),
    (Route("document", id=F("id")), "/id/7/", None),
    # Two patterns have the same name, and the prefix captures a value.
    (Route("garden:product", category=F("c"), slug=F("s")), "/tools/shop/rake/", ["tools", "rake"]),
    (Route("garden:product", category="tools", slug=F("s")), "/tools/shop/rake/", ["rake"]),
    (NUMBERED, "/tools/shop/7/rake/", ["tools", 7, "rake"]),
    (Route("kind", slug=F("s"), kind="a"), "/kind/x/", ["x"]),
    (Route("kind", slug=F("s"), kind="b"), "/kind/x/", None),
    (Route("year", F("y"), F("m")), "/year/2026/may/", ["2026", "may"]),
    (Route("year", 2026, F("m")), "/year/2026/may/", ["may"]),
    (Route("year", 2025, F("m")), "/year/2026/may/", None),
    (Route("month", month=F("m"), day=F("d")), "/month/5/31/", ["5", "31"]),
    (Route("unknown", word=F("word")), "/word/a/", None),
    # Another pattern shadows this one.
    (Route("shadowed", slug=F("slug")), "/any/shadowed/x/", ["x"]),
])  # fmt: skip
def test_a_route_extracts_its_values_from_a_path(route, location, values):
    assert found(route, location) == (None if values is None else by_alias(values))


_WORDS = st.characters(codec="utf-8", exclude_characters="/\n\r", exclude_categories=["Cc"])


@given(st.text(_WORDS, min_size=1))
@override_settings(ROOT_URLCONF=__name__)
def test_every_value_round_trips_through_a_route(text):
    route = Route("word", word=F("word"))
    location = route.url([text])
    assert (unquote(location), found(route, location)) == (f"/word/{text}/", by_alias([text]))


@pytest.mark.parametrize(("template", "path", "ways"), [
    ("/{a}/", "/a%20b/", [["a b"], ["a%20b"]]), ("/{a}/", "/%C3%BC/", [["ü"], ["%C3%BC"]]),
    ("/{a}/", "/x", []), ("/{a}", "/", [[""]]),
    ("/{a}/{b}/", "/x/y/", [["x", "y"]]), ("/{a}/{b}/", "/x/y/z/", [["x", "y/z"], ["x/y", "z"]]),
    ("/{a}-{b}/", "/my-slug-7/", [["my", "slug-7"], ["my-slug", "7"]]),
    ("/{b}/{a}/", "/x/y/", [["y", "x"]]), ("/{a}/{a}/", "/x/x/", [["x"]]),
    ("/{a}/{a}/", "/x/y/x/y/", [["y/x/y"], ["y"]]), ("/{a}{b}/", "/xy/", [["", "xy"], ["xy", ""]]),
    ("/page?id={a}", "/page?id=7", [["7"]]), ("/ü/{a}/", "/%C3%BC/x/", [["x"]]),
    ("/c/{c}/{a}/", "/c/d/x/", [["x"]]), ("/c/{c}/{a}/", "/c/e/x/", []),
    ("/all/", "/all/", [[]]), ("https://www.example.com/{a}/", "/x/", [["x"]]),
    ("https://{a}/x/", "/x/", None), ("/%{a}/", "/%41/", None),
    ("/{a}1/", "/%41/", [["%4"]]),
    # An escape can be composed of a value and a literal.
    ("/{a}1-/", "/%41%2D/", None),
])  # fmt: skip
def test_a_path_template_extracts_its_values_from_a_url(template, path, ways):
    values = {"a": F("a"), "b": F("b"), "c": "d"}
    used = {name: value for name, value in values.items() if f"{{{name}}}" in template}
    found = conditions.path_conditions(PathTemplate(template, **used), BASE + path)
    assert found == (None if ways is None else [by_alias(way) for way in ways])


def test_a_hostile_url_is_split_in_linear_time():
    names = "abcdefghij"
    template = PathTemplate(f"/{'/'.join(f'{{{name}}}' for name in names)}/x", **{n: F(n) for n in names})
    assert conditions.path_conditions(template, f"{BASE}{'/' * 2_000}") == []


@given(st.text(), st.text())
def test_every_value_round_trips_through_a_path_template(first, second):
    template = PathTemplate("/{a}/{b}", a=F("a"), b=F("b"))
    try:
        location = uri(str(template.url([first, second])))
    except ValueError:
        return
    ways = conditions.path_conditions(template, f"{BASE}{location}")
    ambiguous = first.count("/") + second.count("/") > 1
    assert ways is None or ambiguous or "%" in first + second or by_alias([first, second]) in ways


def test_only_columns_with_an_index_and_known_kinds_of_locations_are_conditions(monkeypatch):
    word, slug = resolve_path("/word/a/").match, resolve_path("/kind/x/").match
    assert conditions.field_conditions(Word, word) == [{"word": "a"}]
    # Its `slug` has no index, and it has no field `word`.
    assert conditions.field_conditions(Article, word) is conditions.field_conditions(Article, slug) is None
    # A column is compared with the path and the URL, with and without escapes.
    texts = [f"{start}{text}" for start in ("", BASE, BASE[6:]) for text in ("/a%20b/", "/a b/")]
    assert conditions.column_conditions(Word, F("word"), f"{BASE}/a%20b/") == [{"word__in": texts}]
    for column in ("slug", "category__slug"):
        assert conditions.column_conditions(Article, F(column), f"{BASE}/a b/") is None
    assert conditions.template_conditions(NUMBERED, resolve_path("/a/"), f"{BASE}/a/") == []
    monkeypatch.setattr(conditions, "Route", PathTemplate)
    assert conditions.template_conditions(NUMBERED, resolve_path("/a/"), f"{BASE}/a/") is None


def find_rows(source, conditions):
    return row_searches.find_rows(source, conditions, row_searches.KeyQueries().rows)


def test_every_row_is_found_on_its_page_whatever_its_key(kind, using):
    source = source_of(kind, using, 4)
    pages = page_map(source)
    assert len(pages) > 1
    for index, page in enumerate(pages):
        for key in keys_of(source, page):
            with CaptureQueriesContext(connections[using]) as queries:
                assert row_searches.page_index(source, key, pages) == index
            assert len(queries) <= len(pages).bit_length()
            assert find_rows(source, {source.members.key.name: key}) == {key: True}
            assert [*row_searches.row_batch(source, key, is_listed=True).keys] == [key]


@pytest.mark.urls("tests.urls")
def test_at_most_ten_rows_are_found(using):
    articles = Article.objects.using(using)
    articles.bulk_create(Article(pk=100 + number, slug="same") for number in range(11))
    source = compiled(declaration(location=Route("article", slug=F("slug")), queryset=articles.all()))
    assert len(find_rows(source, {alias("location"): "same"})) == 10
    with pytest.raises(FieldError):
        find_rows(source, {"unknown": 1})


def test_one_query_excludes_many_queries_without_rows(using):
    articles = Article.objects.using(using)
    articles.create(pk=3, slug="s3")
    asked = [articles.filter(slug=f"s{number}").values_list("pk") for number in range(30)]
    queries = row_searches.KeyQueries()
    with CaptureQueriesContext(connections[using]) as captured:
        queries.prepare([lambda read: list(map(read, [*asked, asked[0].none()]))])
        assert [number for number, query in enumerate(asked) if queries.rows(query)] == [3]
        assert queries.rows(asked[0].none()) == []
    assert len(captured) == 2


URLS = [f"https://www.example.com/{number}/?a=1&b='{number}'" for number in range(30)]


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    folder = tmp_path_factory.mktemp("public")
    texts = [url.replace("&", "&amp;").replace("'", "&apos;") for url in URLS]
    entries = [f"<url><loc>{text}</loc><lastmod>2026-11-23</lastmod></url>\n" for text in texts]
    document = f"<urlset>\n{''.join(entries)}</urlset>\n".encode()
    (folder / "sitemap-a-1.xml").write_bytes(document)
    (folder / "sitemap-a-1.xml.gz").write_bytes(compression.compress(document))
    (folder / "sitemap-a-1.txt").write_text("".join(f"{url}\n" for url in URLS))
    (folder / "sitemap-a-2.xml.gz").write_bytes(b"\x1f\x8b damaged")
    return LocalStore(folder)


def files_in(store):
    return exported_files.ExportedFiles(ExportState(folder=published.ExportFolder("", store, store)))


@given(st.sampled_from(URLS), st.integers(1, 500), st.sampled_from(["xml", "xml.gz", "txt"]))
def test_every_entry_is_found_with_chunks_of_any_size(store, url, size, suffix):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(compression, "_CHUNK", size)
        files, names = files_in(store), [f"sitemap-a-1.{suffix}"]
        entry = files.search(names, url).entry
        assert (entry.location, entry.value("lastmod")) == (url, None if suffix == "txt" else "2026-11-23")
        assert (files.search(names, url[:-1]).entry, files.notes) == (None, [])


def test_a_search_reads_each_file_once_and_ends_at_the_first_with_the_url(store, monkeypatch):
    names = ["sitemap-a-9.xml", "sitemap-a-2.xml.gz", "sitemap-a-1.xml", "sitemap-a-1.txt"]
    files = files_in(store)
    entry = files.search(names, URLS[3])
    assert (entry.name, entry.files) == ("sitemap-a-1.xml", 3)
    [note] = files.notes
    assert note.startswith("sitemap-a-2.xml.gz cannot be read: ")
    monkeypatch.setattr(exported_files, "MAX_FILES", 2)
    files = files_in(store)
    assert (files.search([*names[2:], *names[2:3]], "https://none/").files, files.notes) == (2, [])


def test_an_entry_that_is_too_long_is_not_read(tmp_path):
    long_entry = f"<url><loc>https://a/</loc><x>{'x' * 3_000_000}</x></url>"
    (tmp_path / "sitemap-a-1.xml").write_text(f"<urlset>\n{long_entry}\n</urlset>")
    files = files_in(LocalStore(tmp_path))
    assert (files.search(["sitemap-a-1.xml"], "https://a/").entry, files.notes) == (None, [])


def test_an_entry_shows_its_elements_without_escapes():
    link = '<xhtml:link rel="alternate" hreflang="de" href="https://a/?a=1&amp;b=2"/>'
    entry = exported_files.Entry(f"<url><loc>https://a/&apos;</loc><priority>0.5</priority>{link}</url>")
    assert (entry.location, entry.value("priority")) == ("https://a/'", "0.5")
    assert (entry.value("changefreq"), entry.links) == (None, [("de", "https://a/?a=1&b=2")])
