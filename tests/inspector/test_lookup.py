"""The box of the inspector: whether a URL is in the sitemap, in which file, and if not, why not."""

from __future__ import annotations

import gzip
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, ClassVar

import pytest
from django.contrib import sitemaps as contrib
from django.db import connection
from django.db.models import Count, F, QuerySet, Value, Window
from django.db.models.functions import Concat, RowNumber
from django.test import Client
from django.test.utils import CaptureQueriesContext, override_settings

from django_sitemaps09 import ModelSitemap, PathTemplate, Route, StaticViewSitemap
from django_sitemaps09.export import export
from django_sitemaps09.inspector import published_entries
from django_sitemaps09.inspector.lookup import Answer, look_up
from django_sitemaps09.protocol import parse_base
from django_sitemaps09.state import manifest
from django_sitemaps09.stores import STATE, LocalStore
from tests.models import Article, Document, Seat, Tag, Word
from tests.support.articles import Articles
from tests.support.configuration import BASE
from tests.support.exports import Bad
from tests.support.factories import ArticleFactory
from tests.support.sections import Numbers

pytestmark = [pytest.mark.django_db, pytest.mark.sitemaps09(ENGINE="serial")]

TIME = datetime(2026, 9, 1, 12, tzinfo=timezone.utc)


def asked(url: str) -> Answer:
    return look_up(url, parse_base(BASE))


def shown(answer: Answer) -> list[tuple[str | None, str, str | None]]:
    """Return the section, the verdict and the file of each answer."""
    return [(each.section, each.verdict, each.file) for each in (answer, *answer.others)]


def row_queries(url: str) -> list[str]:
    """Return the queries of rows, without those for the collation of the key on SQLite."""
    with CaptureQueriesContext(connection) as captured:
        asked(url)
    queries = [query["sql"] for query in captured if 'FROM "tests_' in query["sql"]]
    assert not any(word in query for query in queries for word in ("COUNT", "OFFSET"))
    assert all("LIMIT" in query or " IN (" in query for query in queries)
    return queries


@pytest.fixture
def exporting(folder: Path, configure: Callable[..., None]) -> None:
    configure(ROOT=folder)


@pytest.fixture
def articles(exporting: None, register: Callable[..., None]) -> None:
    """An export of 25 articles on three pages."""
    for number in range(1, 26):
        ArticleFactory(pk=number, slug=f"s{number}", updated=TIME)
    register(articles=Articles)
    export()


class ByTemplate(Articles):
    location = PathTemplate("/{slug}-{number}/", slug=F("slug"), number=F("pk"))


@pytest.fixture
def templates(exporting: None, register: Callable[..., None]) -> None:
    """An export of articles whose slugs contain the separator of the template, and escapes."""
    for number, slug in enumerate(["plain", "two-words", "a b", "ü", "a%20b", "a/b", "x&y", "50%"], 1):
        ArticleFactory(pk=number, slug=slug, updated=TIME)
    register(articles=ByTemplate)
    export()


@pytest.mark.usefixtures("templates")
class TestASectionWithAPathTemplate:
    @pytest.mark.parametrize(
        "path",
        [
            *("/plain-1/", "/two-words-2/", "/a b-3/", "/ü-4/", "/a/b-6/"),
            *("/%C3%BC-4/", "/a%20b-5/", "/x&y-7/", "/50%25-8/", "/50%-8/"),
            # Equivalent URLs of RFC 3986.
            *("/%c3%bc-4/", "/two%2Dwords-2/", "/%70lain-1/"),
        ],
    )
    def test_finds_the_row_of_a_url(self, path: str) -> None:
        answer = asked(path)
        assert (answer.verdict, answer.key) == ("listed", path[-2])
        assert answer.published == answer.live

    def test_shows_rows_that_are_new_filtered_out_or_missing(self) -> None:
        ArticleFactory(pk=9, slug="new-one")
        assert asked("/new-one-9/").verdict == "new"
        Article.objects.filter(pk=9).update(published=False)
        assert asked("/new-one-9/").verdict == "filtered"
        answer = asked("/missing-10/")
        assert answer.verdict == "absent"
        assert "Section 'articles': no row has the values of this URL." in answer.reasons
        assert asked("/elsewhere/").verdict == "absent"

    def test_reads_a_few_rows(self) -> None:
        assert 1 <= len(row_queries("/two-words-2/")) <= 8


@pytest.mark.usefixtures("articles")
@pytest.mark.parametrize("url", ["javascript:alert(1)//", "//evil.example/", "https://evil.example/", ""])
def test_a_manifest_of_someone_else_makes_no_link(folder: Path, url: str) -> None:
    state = LocalStore(folder / STATE, 0o600, own="")
    root = manifest.read_root(state)
    assert root is not None
    state.write(manifest.ROOT, replace(root, url=url).root())
    answer = asked("/articles/s15/")
    assert (answer.verdict, answer.file, answer.file_url) == ("listed", "sitemap-articles-2.xml.gz", None)


@pytest.mark.usefixtures("articles")
class TestASectionWithARoute:
    def test_returns_the_file_and_the_entry_of_a_url(self) -> None:
        answer = asked(f"{BASE}/articles/s15/")
        assert (answer.verdict, answer.section, answer.key) == ("listed", "articles", "15")
        assert answer.file == "sitemap-articles-2.xml.gz"
        assert answer.file_url == f"{BASE}/sitemap-articles-2.xml.gz"
        assert answer.published == answer.live
        assert answer.live is not None
        assert answer.live.location == f"{BASE}/articles/s15/"
        assert answer.live.value("lastmod") == "2026-09-01T12:00:00Z"
        assert answer.reasons == []

    @pytest.mark.parametrize("number", [1, 10, 11, 20, 21, 25])
    def test_finds_the_page_of_a_url_at_a_page_boundary(self, number: int) -> None:
        answer = asked(f"/articles/s{number}/")
        assert (answer.verdict, answer.file) == ("listed", f"sitemap-articles-{-(-number // 10)}.xml.gz")

    @pytest.mark.parametrize(
        ("path", "reason"),
        [
            ("/nowhere/s15/", "No URL pattern matches the path."),
            ("/words/abc/", "The path belongs to the view 'word', which no section has as its location."),
            ("/articles/S15/", "Section 'articles': no row has the values of this URL."),
            (
                "/articles/s15/?page=2",
                f"Section 'articles': another form of this URL is listed: {BASE}/articles/s15/",
            ),
            ("/about/?page=2", f"Section 'static': another form of this URL is listed: {BASE}/about/"),
        ],
        ids=["no pattern", "no section", "another case", "another form", "another form without a row"],
    )
    def test_says_why_a_url_is_not_listed(
        self, path: str, reason: str, register: Callable[..., None]
    ) -> None:
        register(articles=Articles, static=Static)
        answer = asked(path)
        assert (answer.verdict, answer.reasons[0]) == ("absent", reason)

    def test_finds_a_url_that_the_section_no_longer_has(self, register: Callable[..., None]) -> None:
        register(articles=Articles, static=Static)
        export()
        others = {
            "articles": type("Words", (Articles,), {"location": Route("word", F("slug"))}),
            "static": type("Home", (Static,), {"viewnames": ("home",)}),
        }
        register(**others)
        for path, section in (("/articles/s15/", "articles"), ("/about/", "static")):
            answer = asked(path)
            assert (answer.verdict, answer.section) == ("unconfirmed", section)
        export()
        assert asked("/articles/s15/").verdict == asked("/about/").verdict == "absent"

    def test_takes_a_path_and_a_url_of_the_other_scheme_or_without_one(self) -> None:
        assert asked("/articles/s15/").verdict == "listed"
        assert asked("www.example.com/articles/s15/").verdict == "listed"
        answer = asked("http://WWW.example.com:80/articles/s15/")
        assert (answer.url, answer.verdict) == (f"{BASE}/articles/s15/", "listed")
        assert "looked up with https" in answer.notes[0]

    def test_shows_an_entry_that_has_changed_since_the_export(self) -> None:
        Article.objects.filter(pk=15).update(updated=TIME.replace(day=2))
        answer = asked("/articles/s15/")
        assert answer.verdict == "changed"
        assert answer.published is not None
        assert answer.live is not None
        assert answer.published.value("lastmod") == "2026-09-01T12:00:00Z"
        assert answer.live.value("lastmod") == "2026-09-02T12:00:00Z"

    def test_shows_a_row_that_the_next_export_adds(self) -> None:
        ArticleFactory(pk=26, slug="s26")
        answer = asked("/articles/s26/")
        assert (answer.verdict, answer.file, answer.published) == ("new", None, None)
        assert "The next one will add it." in answer.reasons[0]

    def test_shows_a_row_that_items_filters_out(self) -> None:
        Article.objects.filter(pk=15).update(published=False)
        answer = asked("/articles/s15/")
        # It is in the exported file until the next export.
        assert (answer.verdict, answer.file) == ("leaving", "sitemap-articles-2.xml.gz")
        assert answer.live is None
        assert "items() of section 'articles' does not return it" in answer.reasons[0]
        export()
        answer = asked("/articles/s15/")
        assert (answer.verdict, answer.file, answer.published) == ("filtered", None, None)
        assert answer.key == "15"

    def test_shows_a_deleted_row_until_the_next_export(self) -> None:
        Article.objects.filter(pk=15).delete()
        answer = asked("/articles/s15/")
        assert (answer.verdict, answer.section) == ("leaving", "articles")
        assert answer.file == "sitemap-articles-2.xml.gz"
        assert answer.reasons == [
            "No row of section 'articles' has this URL any more.",
            "The next export will remove it.",
        ]
        export()
        answer = asked("/articles/s15/")
        assert answer.verdict == "absent"
        assert answer.reasons[0] == "Section 'articles': no row has the values of this URL."
        assert answer.notes == []

    def test_shows_a_file_that_no_index_lists(self) -> None:
        Article.objects.filter(pk__gt=10).delete()
        export(force=["articles"])
        answer = asked("/articles/s25/")
        assert (answer.verdict, answer.file) == ("removed", "sitemap-articles-3.xml.gz")
        assert "24 hours later (KEEP_REMOVED)" in answer.reasons[0]

    @pytest.mark.parametrize("time", [-1e300, 1e300])
    def test_shows_a_removed_file_whose_time_cannot_be_a_date(self, folder: Path, time: float) -> None:
        Article.objects.filter(pk__gt=10).delete()
        export(force=["articles"])
        state = LocalStore(folder / STATE, 0o600, own="")
        root = manifest.read_root(state)
        assert root is not None
        state.write(manifest.ROOT, replace(root, removed=dict.fromkeys(root.removed, time)).root())
        assert asked("/articles/s25/").verdict == "removed"

    def test_finds_the_url_of_a_row_on_the_page_of_another_row(self) -> None:
        Article.objects.filter(pk=1).update(slug="moved")
        Article.objects.filter(pk=25).update(slug="s1")
        answer = asked("/articles/s1/")
        assert (answer.verdict, answer.key, answer.file) == ("listed", "25", "sitemap-articles-1.xml.gz")

    def test_finds_a_url_in_the_files_of_a_section_that_was_renamed(
        self, register: Callable[..., None]
    ) -> None:
        register(renamed=Articles)
        answer = asked("/articles/s15/")
        assert (answer.verdict, answer.section) == ("listed", "renamed")
        assert answer.file == "sitemap-articles-2.xml.gz"
        Article.objects.filter(pk=15).update(published=False)
        answer = asked("/articles/s15/")
        assert (answer.verdict, answer.section) == ("undeclared", "articles")

    def test_runs_two_queries_of_a_few_rows(self) -> None:
        assert len(row_queries("/articles/s15/")) == 2
        assert len(row_queries("/articles/none/")) == 2
        Article.objects.filter(pk=15).update(published=False)
        assert len(row_queries("/articles/s15/")) == 3

    def test_says_that_an_item_was_skipped_and_why(self, register: Callable[..., None]) -> None:
        class Prefixed(Articles):
            lastmod = F("slug")

        register(articles=Prefixed)
        answer = asked("/articles/s15/")
        assert answer.verdict == "changed"
        assert answer.reasons[0].startswith("Skipped: item 15, lastmod: ")

    def test_reads_the_files_of_a_section_that_raises(self, register: Callable[..., None]) -> None:
        class Broken(Articles):
            def get_queryset(self) -> QuerySet[Article]:
                raise RuntimeError("<b>broken</b>")

        register(articles=Broken, numbers=Numbers(3))
        answer = asked("/articles/s15/")
        assert "Section 'articles' cannot be read: RuntimeError: <b>broken</b>" in answer.notes

        # Its row cannot be read, but its file can.
        assert (answer.verdict, answer.section) == ("unconfirmed", "articles")

    def test_does_not_hide_another_section_that_lists_the_url(self, register: Callable[..., None]) -> None:
        class Same(Numbers):
            def location(self, item: int) -> str:
                return f"/articles/s{item}/"

        Article.objects.filter(pk=15).update(published=False)
        register(articles=Articles, same=Same(20))
        export()
        answer = asked("/articles/s15/")
        assert (answer.verdict, answer.section) == ("unconfirmed", "same")

    @pytest.mark.parametrize("base", ["https://www.example.com:443", "http://www.example.com:8000"])
    def test_accepts_a_base_url_with_a_port(
        self, base: str, configure: Callable[..., None], folder: Path
    ) -> None:
        configure(BASE_URL=base, ROOT=folder / "other")
        export()
        answer = look_up(f"{base}/articles/s15/", parse_base(base))
        assert (answer.url, answer.verdict) == (f"{base}/articles/s15/", "listed")

    def test_finds_an_undeclared_section_in_its_files(self, register: Callable[..., None]) -> None:
        register(numbers=Numbers(3))
        answer = asked("/articles/s15/")
        assert (answer.verdict, answer.section) == ("undeclared", "articles")
        assert answer.reasons == ["Section 'articles' is published, but no longer declared."]
        # An export keeps its files.
        assert answer.heading == "In the exported sitemap, in a section that is no longer declared"
        assert answer.notes == ["Exports keep its files. To remove them, use --remove articles."]


@pytest.mark.usefixtures("articles")
class TestAUrl:
    @pytest.mark.parametrize(
        "url",
        ["/a#b", "not a url", "javascript:alert(1)", "https://a@b/", "/a\nb", "/" + "a" * 5_000],
    )
    def test_is_invalid_if_no_sitemap_can_contain_it(self, url: str) -> None:
        answer = asked(url)
        assert answer.verdict == "invalid"
        assert answer.reasons
        assert len(answer.url) <= 200

    def test_on_another_host_belongs_to_no_section(self) -> None:
        answer = asked("https://elsewhere.example.net/articles/s15/")
        assert answer.verdict == "elsewhere"
        assert answer.reasons[0].startswith("https://elsewhere.example.net is not https://www.example.com")

    def test_without_a_scheme_is_on_the_host_that_it_names(self) -> None:
        assert asked("//elsewhere.example.net/articles/s15/").verdict == "elsewhere"
        assert asked("//www.example.com/articles/s15/").url == "https://www.example.com/articles/s15/"

    def test_on_a_host_that_a_section_allows_is_looked_up(self, register: Callable[..., None]) -> None:
        class Elsewhere(Articles):
            hosts = ("https://shop.example.com",)
            location = "https://shop.example.com/all/"

        register(articles=Articles, elsewhere=Elsewhere)
        assert asked("https://shop.example.com/articles/s15/").verdict == "absent"
        assert asked("https://elsewhere.example.net/").verdict == "elsewhere"
        export()
        register(articles=Articles)
        assert asked("https://shop.example.com/all/").verdict == "undeclared"
        for change in ({"limit": -1}, {"hosts": (), "location": F("slug")}):
            register(articles=Articles, elsewhere=type("Changed", (Elsewhere,), change))
            assert asked("https://shop.example.com/all/").verdict == "unconfirmed"


def test_sections_that_share_a_route_are_each_searched_on_the_page_of_the_row(
    exporting: None, register: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A row has moved from one section to another since the export. Each has more files than are read."""

    def divide(last: int, first: int) -> None:
        """Let one section list the rows up to `last`, and another one those from `first` on."""
        parts = (Article.objects.filter(pk__lte=last), Article.objects.filter(pk__gte=first))
        classes = [type("Part", (Articles,), {"queryset": rows}) for rows in parts]
        register(first=classes[0], second=classes[1])

    monkeypatch.setattr(published_entries, "MAX_FILES", 2)
    for number in range(1, 101):
        ArticleFactory(pk=number, slug=f"s{number}", updated=TIME)
    divide(50, 51)
    export()
    assert asked("/articles/s75/").file == "sitemap-second-3.xml.gz"
    divide(80, 81)
    answer = asked("/articles/s75/")
    assert (answer.verdict, answer.file) == ("listed", "sitemap-second-3.xml.gz")
    # No section lists the row any more.
    divide(20, 81)
    answer = asked("/articles/s75/")
    assert (answer.verdict, answer.section) == ("leaving", "second")
    assert answer.file == "sitemap-second-3.xml.gz"


@pytest.mark.usefixtures("articles")
def test_the_form_with_a_slash_is_named_if_only_this_one_is_listed() -> None:
    answer = asked("/articles/s15")
    assert answer.verdict == "absent"
    assert f"The sitemap lists this form: {BASE}/articles/s15/" in answer.reasons
    assert not any("this form" in reason for reason in asked("/articles/s99").reasons)
    assert asked(f"{BASE}/articles/s15/").verdict == "listed"


def test_a_live_section_has_a_page_from_its_cached_listing(
    register: Callable[..., None], client: Client
) -> None:
    for number in range(1, 26):
        ArticleFactory(pk=number, slug=f"s{number}")
    register(articles=Articles)
    assert asked("/articles/s25/").file is None
    index = client.get("/sitemap.xml").content.decode()
    answer = asked("/articles/s25/")
    assert (answer.verdict, answer.published, answer.file_url) == ("live", None, None)
    assert answer.file is not None
    assert answer.file in index
    assert f"{BASE}/articles/s25/" in gzip.decompress(client.get(f"/{answer.file}").content).decode()


# Other keys and locations.


class Words(ModelSitemap[Word]):
    model = Word
    location = Route("word", word=F("word"))
    limit = 3


class Documents(ModelSitemap[Document]):
    model = Document
    location = Route("document", F("id"))
    limit = 3


class Seats(ModelSitemap[Seat]):
    model = Seat
    location = Route("seat", row=F("row"), number=F("number"))
    limit = 3


@pytest.mark.usefixtures("exporting")
class TestAKey:
    def test_of_text_is_compared_by_the_database(self, register: Callable[..., None]) -> None:
        words = ["a", "B", "ä", "z", "Z", "été", "it's", "a b", "ß", "x&y"]
        Word.objects.bulk_create(map(Word, words))
        register(words=Words)
        export()
        for word in words:
            answer = asked(f"/words/{word}/")
            assert (answer.verdict, answer.key) == ("listed", word)

    @pytest.mark.services
    def test_of_text_never_contains_nul(self, using: str, register: Callable[..., None]) -> None:
        class Elsewhere(Words):
            queryset = Word.objects.using(using)

        Word.objects.using(using).create(word="a")
        register(words=Elsewhere)
        export()
        answer = asked("/words/b%00/")
        assert (answer.verdict, answer.notes) == ("absent", [])
        assert answer.reasons[0] == "Section 'words': no row has the values of this URL."

    def test_of_uuids_is_found_by_a_positional_argument(self, register: Callable[..., None]) -> None:
        documents = [Document.objects.create(number=number) for number in range(8)]
        register(documents=Documents)
        export()
        for document in documents:
            assert asked(f"/documents/{document.id}/").verdict == "listed"

    def test_of_two_columns_is_found(self, register: Callable[..., None]) -> None:
        for number in range(8):
            Seat.objects.create(row="ab"[number % 2], number=number)
        register(seats=Seats)
        export()
        answer = asked("/seats/b/5/")
        assert (answer.verdict, answer.key) == ("listed", "('b', 5)")
        assert asked("/seats/a/5/").verdict == "absent"


class Joined(Articles):
    """Section whose queryset repeats rows, so that they are read through their keys."""

    queryset = Article.objects.filter(tags__name__startswith="t").distinct()


class OnAnotherHost(Articles):
    """Section whose items are all skipped."""

    location = PathTemplate("https://elsewhere.example.net/{slug}/", slug=F("slug"))


class Grouped(Articles):
    queryset = Article.objects.annotate(count=Count("tags")).filter(count__gt=1)


class First(Articles):
    """Section that filters by a window function: the first article of each category."""

    @property
    def queryset(self) -> Any:  # type: ignore[override]
        return Article.objects.annotate(
            place=Window(RowNumber(), partition_by="category", order_by="pk")
        ).filter(place__lte=2)


class ByMethod(Articles):
    """Section whose location is a method, with the primary key in the URL."""

    model = Word
    queryset = None

    location: ClassVar[Any]  # type: ignore[misc]

    def location(self, item: Word) -> str:  # type: ignore[no-redef]
        return f"/words/{item.word}/"

    lastmod = None


@pytest.mark.usefixtures("exporting")
class TestASectionOfAQueryset:
    @pytest.mark.parametrize("section", [Joined, Grouped])
    def test_with_joins_distinguishes_listed_rows_from_filtered_rows(
        self, section: Any, register: Callable[..., None]
    ) -> None:
        tags = [Tag.objects.create(name=name) for name in ("t1", "t2")]
        ArticleFactory(pk=1, slug="listed", tags=tags)
        ArticleFactory(pk=2, slug="other")
        register(articles=section)
        export()
        assert asked("/articles/listed/").verdict == "listed"
        assert asked("/articles/other/").verdict == "filtered"

    def test_whose_row_is_skipped_is_named_even_after_one_that_filters_the_row_out(
        self, register: Callable[..., None]
    ) -> None:
        class Filtered(OnAnotherHost):
            def items(self) -> Any:
                return super().items().exclude(slug="one")

        ArticleFactory(pk=1, slug="one")
        register(filtered=Filtered, skipped=OnAnotherHost)
        answer = asked("/one/")
        assert (answer.verdict, answer.section, answer.live) == ("skipped", "skipped", None)
        assert answer.reasons[0].startswith("Skipped: item 1, location: ")

    def test_without_published_pages_says_why_it_lists_nothing(self, register: Callable[..., None]) -> None:
        ArticleFactory(pk=1, slug="one")
        register(numbers=Numbers(3), articles=OnAnotherHost)
        assert export().published
        answer = asked("/one/")
        assert (answer.verdict, answer.section, answer.live) == ("skipped", "articles", None)
        assert answer.reasons[0].startswith("Skipped: item 1, location: ")

    def test_that_had_another_key_in_the_export_has_no_page_for_the_row(
        self, register: Callable[..., None]
    ) -> None:
        Word.objects.bulk_create(map(Word, "abcdef"))
        register(things=Words)
        export()
        ArticleFactory(pk=1, slug="one")
        register(things=Articles)
        assert asked("/articles/one/").verdict == "new"

    def test_that_was_exported_by_position_is_searched_in_its_files(
        self, register: Callable[..., None]
    ) -> None:
        class Listed(ModelSitemap[Article]):
            model = Article

            def items(self) -> Any:
                return list(super().items())

        ArticleFactory(pk=1, slug="listed")
        register(articles=Listed)
        export()
        assert asked("/articles/listed/").verdict == "unconfirmed"
        # All rows would be read.
        assert row_queries("/articles/listed/") == []

    def test_with_a_window_is_searched_in_its_files(self, register: Callable[..., None]) -> None:
        for number in range(1, 5):
            ArticleFactory(pk=number, slug=f"s{number}")
        register(articles=First)
        export()
        answer = asked("/articles/s1/")
        assert answer.verdict == "unconfirmed"
        answer = asked("/articles/s4/")
        assert answer.verdict == "absent"
        assert "filters by a window function" in answer.reasons[0]

    def test_with_a_method_is_found_by_an_indexed_field(self, register: Callable[..., None]) -> None:
        Word.objects.bulk_create(map(Word, "abc"))
        register(words=ByMethod)
        export()
        answer = asked("/words/b/")
        assert (answer.verdict, answer.key) == ("listed", "b")

    def test_with_a_column_of_paths_is_found_by_its_index(self, register: Callable[..., None]) -> None:
        class Paths(ModelSitemap[Word]):
            model = Word
            location = F("word")

        Word.objects.bulk_create([Word("/a/"), Word("/b b/")])
        register(paths=Paths)
        export()
        answer = asked("/b%20b/")
        assert (answer.verdict, answer.key) == ("listed", "/b b/")
        without_scheme = f"//{BASE.partition('://')[2]}/c/"
        Word.objects.create(word=without_scheme)
        for text in ("/c/", without_scheme):
            assert (asked(text).verdict, asked(text).key) == ("new", without_scheme)
        Word.objects.filter(word="/a/").delete()
        answer = asked("/a/")
        assert (answer.verdict, answer.file) == ("leaving", "sitemap-paths-1.xml.gz")
        assert "No row of section 'paths' has this URL any more." in answer.reasons
        assert answer.notes == []

    def test_with_an_expression_is_searched_in_its_files(self, register: Callable[..., None]) -> None:
        class Expressed(ModelSitemap[Word]):
            model = Word
            location = Concat(Value("/x/"), F("word"))

        Word.objects.bulk_create([Word("a")])
        register(words=Expressed)
        export()
        answer = asked("/x/a")
        assert (answer.verdict, answer.live) == ("unconfirmed", None)
        assert answer.notes[0].startswith("No row of section 'words' could be found by this URL")
        Word.objects.create(word="b")
        answer = asked("/x/b")
        assert answer.verdict == "absent"
        assert "Rows that are not in the exported files are missing." in answer.notes[0]


@pytest.mark.usefixtures("exporting")
class TestASectionThatIsReadAsAWhole:
    def test_is_searched_in_its_files(self, register: Callable[..., None]) -> None:
        register(numbers=Numbers(30))
        export()
        answer = asked("/numbers/29/")
        assert (answer.verdict, answer.section, answer.live) == ("unconfirmed", "numbers", None)
        assert answer.heading == "In the exported sitemap, but the next export may remove it"
        assert answer.file == "sitemap-numbers-1.xml.gz"
        answer = asked("/numbers/30/")
        assert answer.verdict == "absent"
        assert answer.reasons[-1] == "It is not in the 1 exported files that were searched."

    def test_of_contrib_is_searched_in_its_files(self, register: Callable[..., None]) -> None:
        class Plain(contrib.Sitemap):  # type: ignore[type-arg]
            def items(self) -> Sequence[str]:
                return ["/a/?b=1&c='2'", "/d/"]

            def location(self, item: str) -> str:
                return item

        register(plain=Plain)
        export()
        assert asked("/a/?b=1&c='2'").verdict == "unconfirmed"

    def test_reports_that_the_search_reached_its_limit(
        self, register: Callable[..., None], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        numbers = Numbers(30)
        numbers.limit = 5
        register(numbers=numbers)
        export()
        monkeypatch.setattr(published_entries, "MAX_FILES", 3)
        # The last pages are searched first.
        assert asked("/numbers/15/").verdict == "unconfirmed"
        answer = asked("/numbers/14/")
        assert answer.verdict == "absent"
        assert answer.heading == "Not found in the sitemap: the search ended early"
        assert answer.notes[0] == "The search ended after 3 files. Other files may contain the URL."

    def test_is_not_searched_without_an_export(
        self, register: Callable[..., None], configure: Callable[..., None]
    ) -> None:
        register(numbers=Numbers(3))
        answer = asked("/numbers/1/")
        assert answer.verdict == "absent"
        assert answer.heading == "Not found in the sitemap: not all sections can be searched"
        assert "cannot be searched by URL: numbers." in answer.notes[0]

    def test_is_searched_by_line_if_its_files_are_text(self, register: Callable[..., None]) -> None:
        class Lines(Numbers):
            format = "text"

        register(numbers=Lines(12))
        export()
        answer = asked("/numbers/0/")
        assert (answer.verdict, answer.file) == ("unconfirmed", "sitemap-numbers-1.txt")
        assert answer.published is not None
        assert answer.published.location == f"{BASE}/numbers/0/"
        assert asked("/numbers/11/").verdict == "unconfirmed"
        assert asked("/numbers/1").verdict == "absent"

    def test_reports_a_damaged_file(self, folder: Path, register: Callable[..., None]) -> None:
        register(numbers=Numbers(3))
        export()
        path = folder / "sitemap-numbers-1.xml.gz"
        path.write_bytes(path.read_bytes()[:40])
        answer = asked("/numbers/1/")
        assert answer.verdict == "absent"
        assert answer.heading == "Not found in the sitemap: not everything can be read"
        assert answer.notes[0].startswith("sitemap-numbers-1.xml.gz cannot be read: ")

    def test_does_not_list_a_skipped_item(self, register: Callable[..., None]) -> None:
        register(numbers=Bad(5, [2]))
        export()
        assert asked("/numbers/1/").verdict == "unconfirmed"
        assert asked("/numbers/2/").verdict == "absent"


class Two(Numbers):
    """Section with two items on each page."""

    limit = 2


@pytest.mark.usefixtures("exporting")
class TestASearchOfManyFiles:
    @pytest.fixture(autouse=True)
    def _limit(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(published_entries, "MAX_FILES", 4)

    def test_begins_with_what_only_files_can_answer(self, register: Callable[..., None]) -> None:
        for number in range(1, 61):
            ArticleFactory(pk=number, slug=f"s{number}")
        register(articles=Articles, numbers=Two(20), gone=Two(4, start=100), small=Two(2, start=200))
        export()
        register(articles=Articles, numbers=Two(20), small=Two(2, start=200))
        for path in ("/numbers/100/", "/numbers/103/"):
            assert asked(path).section == "gone"
        # A long section does not use up the search.
        assert asked("/numbers/201/").section == "small"
        # A new row can have the URL of a row of another section.
        register(
            articles=type("Same", (Articles,), {"location": PathTemplate("/numbers/{pk}/", pk=F("pk"))})
        )
        ArticleFactory(pk=103, slug="s103")
        answer = asked("/numbers/103/")
        assert (answer.key, answer.file) == ("103", "sitemap-gone-2.xml.gz")

    def test_finds_the_page_of_a_deleted_row_by_the_key_in_its_url(
        self, register: Callable[..., None]
    ) -> None:
        for number in range(1, 61):
            ArticleFactory(pk=number, slug=f"s{number}")
        register(articles=ByTemplate)
        export()
        Article.objects.filter(pk__in=[5, 15]).delete()
        answer = asked("/s5-5/")
        assert (answer.verdict, answer.file) == ("leaving", "sitemap-articles-1.xml.gz")
        register(articles=Articles)
        answer = asked("/articles/s15/")
        assert answer.heading == "Not found in the sitemap: the search ended early"
        ArticleFactory(pk=61, slug="s61")
        answer = asked("/articles/s61/")
        assert (answer.heading, answer.reasons) == ("Not found in the sitemap: the search ended early", [])


@pytest.mark.usefixtures("articles")
class TestAUrlInTwoSections:
    def test_shows_both(self, register: Callable[..., None]) -> None:
        class Same(Numbers):
            def location(self, item: int) -> str:
                return f"/articles/s{item}/"

        others = {"second": type("Second", (Articles,), {"priority": 0.5}), "same": Same(20)}
        register(articles=Articles, **others)
        assert shown(asked("/articles/s15/"))[1:] == [("second", "new", None)]
        export()
        assert shown(asked("/articles/s15/")) == [
            ("articles", "listed", "sitemap-articles-2.xml.gz"),
            ("second", "listed", "sitemap-second-2.xml.gz"),
            ("same", "unconfirmed", "sitemap-same-1.xml.gz"),
        ]
        assert asked("/articles/s25/").others[0].section == "second"
        register(**others)
        answer = asked("/articles/s15/")
        assert {other.section for other in answer.others} == {"articles", "same"}
        assert asked("/articles/none/").others == ()
        register(articles=Articles, **{f"same{number}": Same(20) for number in range(12)})
        export()
        answer = asked("/articles/s15/")
        assert (len(answer.others), answer.notes[-1]) == (10, "Further sections may contain the URL, too.")

    def test_shows_both_if_it_belonged_to_another_row(self, register: Callable[..., None]) -> None:
        register(articles=Articles, second=Articles)
        export()
        for key, slug in ((5, "tmp"), (25, "s5"), (5, "s25")):
            Article.objects.filter(pk=key).update(slug=slug)
        assert shown(asked("/articles/s5/")) == [
            ("articles", "listed", "sitemap-articles-1.xml.gz"),
            ("second", "listed", "sitemap-second-1.xml.gz"),
        ]
        Article.objects.filter(slug="s15").delete()
        answers = [(section, verdict) for section, verdict, _ in shown(asked("/articles/s15/"))]
        assert answers == [("articles", "leaving"), ("second", "leaving")]

    def test_has_no_other_heading_in_the_last_section_that_is_shown(
        self, register: Callable[..., None]
    ) -> None:
        register(**{f"same-{number}": Articles for number in range(12)})
        export()
        answer = asked("/articles/s15/")
        assert [other.verdict for other in answer.others] == ["listed"] * 10
        assert answer.notes == ["Further sections may contain the URL, too."]

    def test_is_first_shown_in_the_section_that_is_exported(self, register: Callable[..., None]) -> None:
        register(new=type("New", (Articles,), {"priority": 0.5}), articles=Articles)
        assert shown(asked("/articles/s15/")) == [
            ("articles", "listed", "sitemap-articles-2.xml.gz"),
            ("new", "new", None),
        ]

    def test_shows_both_without_an_export(
        self, register: Callable[..., None], configure: Callable[..., None]
    ) -> None:
        configure(ROOT=None)
        register(articles=Articles, second=Articles)
        assert [other.verdict for other in asked("/articles/s15/").others] == ["live"]


class Static(StaticViewSitemap):
    viewnames = ("about", "home")


@pytest.mark.usefixtures("exporting")
@pytest.mark.parametrize("format_name", ["xml", "text"])
def test_the_entry_of_a_view_is_equal_to_the_exported_one(
    format_name: str, register: Callable[..., None]
) -> None:
    register(static=type("Formatted", (Static,), {"format": format_name}))
    export()
    answer = asked("/about/")
    assert (answer.verdict, answer.published) == ("listed", answer.live)


def test_a_view_without_arguments_is_listed_live(register: Callable[..., None]) -> None:
    register(static=Static)
    answer = asked("/about/")
    assert (answer.verdict, answer.section) == ("live", "static")


class Linked(Articles):
    i18n = True
    alternates = True
    location = Route("seen", slug=F("slug"))


@override_settings(ROOT_URLCONF="tests.support.inspector_plain_urls")
@pytest.mark.usefixtures("exporting")
def test_each_language_has_an_entry_with_its_alternates(register: Callable[..., None]) -> None:
    ArticleFactory(pk=1, slug="one")
    register(articles=Linked)
    export()
    answer = asked("/de/seen/one/")
    assert answer.verdict == "listed"
    assert answer.live is not None
    assert answer.live.location == f"{BASE}/de/seen/one/"
    assert ("de", f"{BASE}/de/seen/one/") in answer.live.links
    assert ("en", f"{BASE}/seen/one/") in answer.live.links
    assert asked("/seen/one/").verdict == "listed"
    assert asked("/fr/seen/one/").verdict == "absent"


@override_settings(FORCE_SCRIPT_NAME="/app")
def test_the_script_prefix_is_part_of_the_path(register: Callable[..., None], client: Client) -> None:
    from django.urls import clear_script_prefix, set_script_prefix

    ArticleFactory(pk=1, slug="one")
    register(articles=Articles)
    set_script_prefix("/app/")
    try:
        assert asked("/app/articles/one/").verdict == "live"
        assert asked("/articles/one/").verdict == "absent"
    finally:
        clear_script_prefix()
