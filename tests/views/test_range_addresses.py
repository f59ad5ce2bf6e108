"""Range addresses of live pages: what they answer, whoever answers, and who can make one."""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from django.core.cache import cache
from django.db import connections
from django.db.models import Model
from django.test.utils import CaptureQueriesContext
from django.urls import resolve, reverse
from hypothesis import given, strategies as st

from django_sitemaps09 import ModelSitemap, sources
from django_sitemaps09.filenames import (
    LIVE_PAGE,
    LIVE_RANGE,
    PUBLISHED,
    bounds_text,
    parse_bounds,
    parse_page_name,
    range_name,
)
from django_sitemaps09.views import exported
from django_sitemaps09.views.live import addresses, listing, memo
from tests.models import Article, Document, Name, Seat, Word
from tests.support.articles import Articles, write_keys
from tests.support.configuration import Configure, Register
from tests.support.native_views import get, last_parts
from tests.support.sources import compiled, declaration

pytestmark = [pytest.mark.django_db, pytest.mark.sitemaps09]

MODELS: dict[str, tuple[type[Model], str, Callable[[int], dict[str, Any]]]] = {
    "integer": (Article, "pk", lambda n: {"pk": 7 * n - 300, "slug": f"s{n}"}),
    "UUID": (Document, "pk", lambda n: {"pk": uuid.UUID(int=n * 2**115 + n), "number": n}),
    "text": (Word, "pk", lambda n: {"word": f"Wörd {n:04}"}),
    "text without case": (Name, "pk", lambda n: {"name": f"{'nN'[n % 2]}ame {n:04}"}),
    "two columns": (Seat, "pk", lambda n: {"row": f"r{n // 50:03}", "number": n % 50}),
}


def write(name: str, using: str, numbers: Sequence[int]) -> None:
    model, _, row = MODELS[name]
    model._default_manager.using(using).bulk_create(model(**row(n)) for n in numbers)


def delete(name: str, using: str, numbers: Sequence[int]) -> None:
    model, _, row = MODELS[name]
    for n in numbers:
        key = {field: value for field, value in row(n).items() if field != "slug"}
        model._default_manager.using(using).filter(**key).delete()


keys = st.none() | st.lists(st.text(), min_size=1, max_size=3).map(tuple)
names = st.text(alphabet=".~,-_:+%/09AZafto\u0663\uff17", max_size=30)


class TestTheGrammar:
    @given(keys, keys)
    def test_of_any_two_keys_can_be_read(self, after: Any, until: Any) -> None:
        text = bounds_text(after, until)
        assert parse_bounds(text) == (after, until)
        name = range_name("a-1", text, "A-_0123456", "xml.gz")
        match = re.fullmatch(rf"{LIVE_RANGE}\.xml\.gz", name)
        assert match
        assert (match["section"], match["bounds"]) == ("a-1", text)
        kwargs = {"section": "a-1", "bounds": text, "signature": match["signature"]}
        assert reverse("django_sitemaps09:range-gz", kwargs=kwargs) == f"/{name}"
        assert not {"%", "/"} & {*name}

    @given(names | names.map(".after.{}".format) | names.map(".to.{}".format))
    def test_has_one_text_for_each_range(self, text: str) -> None:
        bounds = parse_bounds(text)
        assert bounds is None or bounds_text(*bounds) == text

    @pytest.mark.parametrize(
        ("text", "is_valid"),
        [
            *((text, True) for text in (".to.~", ".after.~,a", ".to.a~2Eb", ".after.to.to.after")),
            *((text, False) for text in (".to.", ".to.~61", ".to.~2e", ".to.~FF", ".to.~2", ".to.a~")),
            *((text, False) for text in (".to.a.b", ".to.a%20")),
        ],
    )
    def test_has_escapes_for_what_a_name_cannot_have_alone(self, text: str, is_valid: bool) -> None:
        assert (parse_bounds(text) is not None) == is_valid

    @given(keys, keys)
    def test_is_of_no_file(self, after: Any, until: Any) -> None:
        for suffix in ("xml", "xml.gz", "txt"):
            name = range_name("a", bounds_text(after, until), "A234567890", suffix)  # type: ignore[arg-type]
            assert PUBLISHED.fullmatch(name) is None
            assert parse_page_name(name) is None
            assert re.fullmatch(rf"{LIVE_PAGE}\.{suffix}", name) is None


def forget() -> None:
    """Answer as a process that has never seen an index, with an empty cache."""
    cache.clear()
    listing._kept.clear()
    memo._entries.clear()
    exported._exports.clear()
    exported._pages.clear()
    exported._sections.clear()


def listed() -> list[str]:
    """Return the addresses in the index, of uncompressed pages."""
    names = last_parts(get("/sitemap.xml").content)
    return [f"/{name.removesuffix('.gz')}" for name in names]


def slugs(url: str) -> list[str]:
    response = get(url)
    assert response.status_code == 200, url
    return last_parts(response.content)


@pytest.mark.parametrize("kind", [*MODELS])
def test_a_page_answers_with_the_rows_of_its_range_whoever_answers(
    kind: str, using: str, register: Register
) -> None:
    model, key, row = MODELS[kind]
    numbers = {model(**row(n)).pk: n for n in range(1, 41)}
    attributes = {"key": key, "limit": 10, "location": lambda self, item: f"/{numbers[item.pk]}/"}
    rows = model._default_manager.using(using)
    register(rows=type("Rows", (ModelSitemap,), {**attributes, "queryset": rows.all()}))
    write(kind, using, [*range(1, 21), *range(30, 41)])
    pages = {url: slugs(url) for url in listed()}
    assert sorted(int(n) for found in pages.values() for n in found) == [*range(1, 21), *range(30, 41)]
    write(kind, using, range(21, 30))
    delete(kind, using, range(1, 4))
    found: list[str] = []
    # A deployment renames the class, and changes the limit.
    register(rows=type("Renamed", (ModelSitemap,), {**attributes, "limit": 3, "queryset": rows.defer()}))
    for url in pages:
        forget()
        with CaptureQueriesContext(connections[using]) as queries:
            found += slugs(url)
        assert len(queries) <= 2
    assert sorted(map(int, found)) == [*range(4, 41)]


class TestARange:
    @pytest.fixture(autouse=True)
    def _articles(self, register: Register) -> None:
        register(articles=Articles)
        write_keys(*range(1, 31))

    def test_is_answered_while_rows_are_imported_into_it(self) -> None:
        """A crawler that has the index of before misses none of the rows that were there."""
        urls = listed()
        write_keys(*range(-500, 0))
        assert len(slugs(urls[0])) == 510
        assert {slug for url in urls for slug in slugs(url)} == {
            f"s{n}" for n in (*range(-500, 0), *range(1, 31))
        }

    def test_without_rows_is_an_empty_page(self) -> None:
        first, *_ = listed()
        Article.objects.all().delete()
        response = get(first)
        assert response.status_code == 200
        assert last_parts(response.content) == []
        assert get(first, if_none_match=response["ETag"]).status_code == 304

    def test_is_looked_for_in_no_storage(
        self, configure: Configure, monkeypatch: pytest.MonkeyPatch, tmp_path: Any
    ) -> None:
        urls = listed()
        configure(ROOT=tmp_path, SERVE_EXPORTED=True)

        def fail(*_: object) -> None:
            raise AssertionError

        monkeypatch.setattr(exported, "respond", fail)
        monkeypatch.setattr(exported, "published_pages", fail)
        assert [slug for url in urls for slug in slugs(url)] == [f"s{n}" for n in range(1, 31)]

    def test_has_all_formats(self) -> None:
        url = listed()[1]
        found = slugs(url)
        assert get(f"{url}.gz")["Content-Type"] == "application/gzip"
        text = get(url.replace(".xml", ".txt"))
        assert [line.split("/")[-2] for line in text.content.decode().splitlines()] == found

    def test_answers_with_a_signature_by_an_earlier_secret(self, settings: Any) -> None:
        urls = listed()
        settings.SECRET_KEY, settings.SECRET_KEY_FALLBACKS = "new", [settings.SECRET_KEY]
        assert {url: slugs(url) for url in urls}
        assert {*listed()}.isdisjoint(urls)
        settings.SECRET_KEY_FALLBACKS = []
        assert {get(url).status_code for url in urls} == {404}

    @pytest.mark.parametrize(
        ("pattern", "replacement"),
        [
            *((r"to\.\d+", "to.5"), (r"\.to\.\d+", ""), (r"to\.", "to.0"), (r"to\.(\d)", "to.\uff11")),
            *(
                (r"articles", "others"),
                (r"\.[\w-]{10}\.", ".AAAAAAAAAA."),
                (r"\.([\w-]{9})[\w-]\.", r".\1."),
            ),
            (r"(\.to\..*?)\.", r".after.1\1."),
        ],
    )
    def test_that_this_site_has_not_signed_is_404_without_a_query(
        self, pattern: str, replacement: str, register: Register, django_assert_num_queries: Any
    ) -> None:
        register(articles=Articles, others=Articles)
        url = listed()[0]
        forged = re.sub(pattern, replacement, url)
        assert forged != url
        with django_assert_num_queries(0):
            assert get(forged).status_code == 404

    @pytest.mark.parametrize("number", [0, 2, 99_999_999, 100_000_000, 123_456_789, 999_999_999])
    def test_a_number_that_no_export_gave_is_404_without_a_query(
        self, number: int, django_assert_num_queries: Any
    ) -> None:
        with django_assert_num_queries(0):
            assert get(f"/sitemap-articles-{number}.xml").status_code == 404

    def test_number_1_has_all_rows_without_an_export(self) -> None:
        assert len(slugs("/sitemap-articles-1.xml")) == 30
        Article.objects.filter(pk__gt=5).delete()
        forget()
        assert listed() == ["/sitemap-articles-1.xml"]


def test_a_page_without_lastmods_is_not_modified_at_the_second_visit(
    using: str, register: Register
) -> None:
    queryset = Article.objects.using(using).filter(published=True)
    register(articles=type("Undated", (Articles,), {"queryset": queryset, "lastmod": None}))
    write_keys(*range(1, 31), using=using)
    url, *_ = listed()
    with CaptureQueriesContext(connections[using]) as queries:
        etag = get(url)["ETag"]
    # The rows, with their fingerprint.
    assert len(queries) == 1
    memo._entries.clear()
    with CaptureQueriesContext(connections[using]) as queries:
        assert get(url, if_none_match=etag).status_code == 304
    assert len(queries) == 1


@pytest.mark.parametrize(("long", "pages"), [(range(8, 12), 16), (range(31, 39), 15), (range(1, 200), 1)])
def test_a_bound_that_is_too_long_is_replaced_by_a_key_near_it(
    long: range, pages: int, register: Register
) -> None:
    """If there is none that fits, the range stays whole."""
    rows = {"model": Word, "limit": 10, "location": lambda self, item: f"/{item.pk[:3]}/"}
    register(rows=type("Rows", (ModelSitemap,), rows))
    Word.objects.bulk_create(Word(word=f"{n:03}{'ä' * 40 * (n in long)}") for n in range(1, 151))
    urls = listed()
    assert all(len(url) < 450 for url in urls)
    found = [slugs(url) for url in urls]
    assert [word for words in found for word in words] == [f"{n:03}" for n in range(1, 151)]
    assert len(urls) == pages


def test_a_uuid_in_capitals_is_404(register: Register) -> None:
    rows = type("Rows", (ModelSitemap,), {"model": Document, "limit": 2, "location": "/x/"})
    register(rows=rows)
    for n in range(5):
        Document.objects.create(pk=uuid.UUID(int=n * 2**115 + 0xABCDEF), number=n)
    url = listed()[0]
    assert get(url).status_code == 200
    head, bound, rest = re.split(r"(?<=\.to\.)|(?=\.[\w-]{10}\.xml)", url)
    assert bound != bound.upper()
    assert get(f"{head}{bound.upper()}{rest}").status_code == 404


def test_a_key_of_another_type_is_404(register: Register) -> None:
    """After a migration, the bounds are no keys any more."""
    register(articles=Articles)
    columns = compiled(Articles).members.key.stored_names
    for text in ("x", "99999999999999999999999999", ""):
        bounds = bounds_text((text,), None)
        name = range_name("articles", bounds, addresses.sign("articles", columns, bounds), "xml")
        assert get(f"/{name}").status_code in (200, 404)
        assert get(f"/{name}").status_code == (404 if text in ("x", "") else 200)


def test_a_range_is_signed_for_its_section_and_key_columns() -> None:
    signatures = {
        addresses.sign(section, columns, bounds)
        for section in ("a", "b")
        for columns in (("t.id",), ("t.other",), ("t.id", "t.other"))
        for bounds in ("", ".to.1", ".after.1")
    }
    assert len(signatures) == 18
    assert all(re.fullmatch(r"[\w-]{10}", signature) for signature in signatures)


def test_columns_that_are_not_declared_are_in_no_digest() -> None:
    digests = {
        compiled(declaration(queryset=queryset, location="/x/")).declaration_digest
        for queryset in (Article.objects.all(), Article.objects.defer("title"), Article.objects.only("pk"))
    }
    assert len(digests) == 1


def test_the_urls_have_names() -> None:
    for suffix, name in (("xml", "range"), ("xml.gz", "range-gz"), ("txt", "range-txt")):
        match = resolve(f"/sitemap-a.to.5.A234567890.{suffix}")
        assert (match.url_name, match.kwargs["suffix"]) == (name, suffix)
    assert sources.has_key_ranges(compiled(Articles))
