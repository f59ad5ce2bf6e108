"""The box of the inspector: whether a URL is in the sitemap, in which file, and if not, why not."""

from __future__ import annotations

import gzip
from dataclasses import replace
from datetime import datetime, timezone
from typing import Any, ClassVar

import pytest
from django.contrib import sitemaps as contrib
from django.db import connection
from django.db.models import Count, F, Value, Window
from django.db.models.functions import Concat, RowNumber
from django.test.utils import CaptureQueriesContext, override_settings

from django_sitemaps09 import ModelSitemap, PathTemplate, Route, StaticViewSitemap
from django_sitemaps09.export import export
from django_sitemaps09.inspector import published_entries
from django_sitemaps09.inspector.lookup import look_up
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


def asked(url):
    return look_up(url, parse_base(BASE))


def answered(url, *names):
    """Return the verdict on a URL, and these attributes of the answer."""
    answer = asked(url)
    return (answer.verdict, *(getattr(answer, name) for name in names))


def shown(url):
    """Return the section, the verdict and the file of each answer."""
    answer = asked(url)
    return [(each.section, each.verdict, each.file) for each in (answer, *answer.others)]


def row_queries(url):
    """Return the queries of rows, without those for the collation of the key on SQLite."""
    with CaptureQueriesContext(connection) as captured:
        asked(url)
    queries = [query["sql"] for query in captured if 'FROM "tests_' in query["sql"]]
    assert not any(word in query for query in queries for word in ("COUNT", "OFFSET"))
    assert all("LIMIT" in query or " IN (" in query for query in queries)
    return queries


@pytest.fixture
def exporting(folder, configure):
    configure(ROOT=folder)


def write_articles(last):
    for number in range(1, last + 1):
        ArticleFactory(pk=number, slug=f"s{number}", updated=TIME)


def rewrite_manifest(folder, change):
    state = LocalStore(folder / STATE, 0o600, own="")
    root = manifest.read_root(state)
    assert root is not None
    state.write(manifest.ROOT, change(root).root())


@pytest.fixture
def articles(exporting, register):
    """An export of 25 articles on three pages."""
    write_articles(25)
    register(articles=Articles)
    export()


class Same(Numbers):
    """Section of plain items whose URLs are those of articles."""

    def location(self, item):
        return f"/articles/s{item}/"


class ByTemplate(Articles):
    location = PathTemplate("/{slug}-{number}/", slug=F("slug"), number=F("pk"))


@pytest.fixture
def templates(exporting, register):
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
    def test_finds_the_row_of_a_url(self, path):
        answer = asked(path)
        assert (answer.verdict, answer.key, answer.published) == ("listed", path[-2], answer.live)
        assert 1 <= len(row_queries(path)) <= 8

    def test_shows_rows_that_are_new_filtered_out_or_missing(self):
        ArticleFactory(pk=9, slug="new-one")
        assert asked("/new-one-9/").verdict == "new"
        Article.objects.filter(pk=9).update(published=False)
        assert asked("/new-one-9/").verdict == "filtered"
        verdict, reasons = answered("/missing-10/", "reasons")
        assert verdict == asked("/elsewhere/").verdict == "absent"
        assert "Section 'articles': no row has the values of this URL." in reasons


@pytest.mark.usefixtures("articles")
@pytest.mark.parametrize("url", ["javascript:alert(1)//", "//evil.example/", "https://evil.example/", ""])
def test_a_manifest_of_someone_else_makes_no_link(folder, url):
    rewrite_manifest(folder, lambda root: replace(root, url=url))
    assert answered("/articles/s15/", "file", "file_url") == ("listed", "sitemap-articles-2.xml.gz", None)


@pytest.mark.usefixtures("articles")
class TestASectionWithARoute:
    def test_returns_the_file_and_the_entry_of_a_url(self):
        answer = asked(f"{BASE}/articles/s15/")
        assert (answer.verdict, answer.section, answer.key) == ("listed", "articles", "15")
        file = "sitemap-articles-2.xml.gz"
        assert (answer.file, answer.file_url, answer.reasons) == (file, f"{BASE}/{file}", [])
        assert answer.published == answer.live is not None
        assert answer.live.location == f"{BASE}/articles/s15/"
        assert answer.live.value("lastmod") == "2026-09-01T12:00:00Z"

    def test_finds_the_page_of_a_url_at_a_page_boundary(self):
        for number in (1, 10, 11, 20, 21, 25):
            file = f"sitemap-articles-{-(-number // 10)}.xml.gz"
            assert answered(f"/articles/s{number}/", "file") == ("listed", file)

    @pytest.mark.parametrize(
        ("path", "reason"),
        [
            ("/nowhere/s15/", "No URL pattern matches the path."),
            ("/words/abc/", "The path belongs to the view 'word', which no section has as its location."),
            ("/articles/S15/", "Section 'articles': no row has the values of this URL."),
            (
                "/articles/s15/?a=2",
                f"Section 'articles': another form of this URL is listed: {BASE}/articles/s15/",
            ),
            ("/about/?page=2", f"Section 'static': another form of this URL is listed: {BASE}/about/"),
        ],
        ids=["no pattern", "no section", "another case", "another form", "another form without a row"],
    )
    def test_says_why_a_url_is_not_listed(self, path, reason, register):
        register(articles=Articles, static=Static)
        verdict, reasons = answered(path, "reasons")
        assert (verdict, reasons[0]) == ("absent", reason)

    def test_finds_a_url_that_the_section_no_longer_has(self, register):
        register(articles=Articles, static=Static)
        export()
        words = type("Words", (Articles,), {"location": Route("word", F("slug"))})
        register(articles=words, static=type("Home", (Static,), {"viewnames": ("home",)}))
        assert answered("/articles/s15/", "section") == ("unconfirmed", "articles")
        assert answered("/about/", "section") == ("unconfirmed", "static")
        export()
        assert asked("/articles/s15/").verdict == asked("/about/").verdict == "absent"

    def test_takes_a_path_and_a_url_of_the_other_scheme_or_without_one(self):
        for url in ("/articles/s15/", "www.example.com/articles/s15/"):
            assert asked(url).verdict == "listed"
        *found, notes = answered("http://WWW.example.com:80/articles/s15/", "url", "notes")
        assert found == ["listed", f"{BASE}/articles/s15/"]
        assert "looked up with https" in notes[0]

    def test_shows_an_entry_that_has_changed_since_the_export(self):
        Article.objects.filter(pk=15).update(updated=TIME.replace(day=2))
        verdict, published, live = answered("/articles/s15/", "published", "live")
        assert (verdict, published.value("lastmod")) == ("changed", "2026-09-01T12:00:00Z")
        assert live.value("lastmod") == "2026-09-02T12:00:00Z"

    def test_shows_a_row_that_the_next_export_adds(self):
        ArticleFactory(pk=26, slug="s26")
        *found, reasons = answered("/articles/s26/", "file", "published", "reasons")
        assert (found, "The next one will add it." in reasons[0]) == (["new", None, None], True)

    def test_shows_a_row_that_items_filters_out(self):
        Article.objects.filter(pk=15).update(published=False)
        # It is in the exported file until the next export.
        verdict, file, live, reasons = answered("/articles/s15/", "file", "live", "reasons")
        assert (verdict, file, live) == ("leaving", "sitemap-articles-2.xml.gz", None)
        assert "items() of section 'articles' does not return it" in reasons[0]
        export()
        assert answered("/articles/s15/", "file", "published", "key") == ("filtered", None, None, "15")

    def test_shows_a_deleted_row_until_the_next_export(self):
        Article.objects.filter(pk=15).delete()
        assert answered("/articles/s15/", "section", "file", "reasons") == (
            *("leaving", "articles", "sitemap-articles-2.xml.gz"),
            ["No row of section 'articles' has this URL any more.", "The next export will remove it."],
        )
        export()
        verdict, reasons, notes = answered("/articles/s15/", "reasons", "notes")
        assert (verdict, notes) == ("absent", [])
        assert reasons[0] == "Section 'articles': no row has the values of this URL."

    def test_shows_a_file_that_no_index_lists_even_if_its_time_cannot_be_a_date(self, folder):
        Article.objects.filter(pk__gt=10).delete()
        export(force=["articles"])
        verdict, file, reasons = answered("/articles/s25/", "file", "reasons")
        assert (verdict, file) == ("removed", "sitemap-articles-3.xml.gz")
        assert "24 hours later (KEEP_REMOVED)" in reasons[0]
        for time in (-1e300, 1e300):
            rewrite_manifest(
                folder, lambda root, time=time: replace(root, removed=dict.fromkeys(root.removed, time))
            )
            assert asked("/articles/s25/").verdict == "removed"

    def test_finds_the_url_of_a_row_on_the_page_of_another_row(self):
        Article.objects.filter(pk=1).update(slug="moved")
        Article.objects.filter(pk=25).update(slug="s1")
        assert answered("/articles/s1/", "key", "file") == ("listed", "25", "sitemap-articles-1.xml.gz")

    def test_finds_a_url_in_the_files_of_a_section_that_was_renamed(self, register):
        register(renamed=Articles)
        file = "sitemap-articles-2.xml.gz"
        assert answered("/articles/s15/", "section", "file") == ("listed", "renamed", file)
        Article.objects.filter(pk=15).update(published=False)
        assert answered("/articles/s15/", "section") == ("undeclared", "articles")

    def test_runs_two_queries_of_a_few_rows(self):
        assert len(row_queries("/articles/s15/")) == 2
        assert len(row_queries("/articles/none/")) == 2
        Article.objects.filter(pk=15).update(published=False)
        assert len(row_queries("/articles/s15/")) == 3

    def test_says_that_an_item_was_skipped_and_why(self, register):
        register(articles=type("Prefixed", (Articles,), {"lastmod": F("slug")}))
        verdict, reasons = answered("/articles/s15/", "reasons")
        assert (verdict, reasons[0].startswith("Skipped: item 15, lastmod: ")) == ("changed", True)

    def test_reads_the_files_of_a_section_that_raises(self, register):
        class Broken(Articles):
            def get_queryset(self):
                raise RuntimeError("<b>broken</b>")

        register(articles=Broken, numbers=Numbers(3))
        # Its row cannot be read, but its file can.
        verdict, section, notes = answered("/articles/s15/", "section", "notes")
        assert (verdict, section) == ("unconfirmed", "articles")
        assert "Section 'articles' cannot be read: RuntimeError: <b>broken</b>" in notes

    def test_does_not_hide_another_section_that_lists_the_url(self, register):
        Article.objects.filter(pk=15).update(published=False)
        register(articles=Articles, same=Same(20))
        export()
        assert answered("/articles/s15/", "section") == ("unconfirmed", "same")

    @pytest.mark.parametrize("base", ["https://www.example.com:443", "http://www.example.com:8000"])
    def test_accepts_a_base_url_with_a_port(self, base, configure, folder):
        configure(BASE_URL=base, ROOT=folder / "other")
        export()
        answer = look_up(f"{base}/articles/s15/", parse_base(base))
        assert (answer.url, answer.verdict) == (f"{base}/articles/s15/", "listed")

    def test_finds_an_undeclared_section_in_its_files(self, register):
        register(numbers=Numbers(3))
        assert answered("/articles/s15/", "section", "heading", "reasons", "notes") == (
            *("undeclared", "articles", "In the exported sitemap, in a section that is no longer declared"),
            ["Section 'articles' is published, but no longer declared."],
            ["Exports keep its files. To remove them, use --remove articles."],
        )


@pytest.mark.usefixtures("articles")
class TestAUrl:
    @pytest.mark.parametrize(
        "url", ["/a#b", "not a url", "javascript:alert(1)", "https://a@b/", "/a\nb", "/" + "a" * 5_000]
    )
    def test_is_invalid_if_no_sitemap_can_contain_it(self, url):
        verdict, reasons, looked_up = answered(url, "reasons", "url")
        assert (verdict, len(looked_up) <= 200, bool(reasons)) == ("invalid", True, True)

    @pytest.mark.parametrize("scheme", ["https:", ""])
    def test_on_another_host_belongs_to_no_section(self, scheme):
        verdict, reasons = answered(f"{scheme}//elsewhere.example.net/articles/s15/", "reasons")
        assert verdict == "elsewhere"
        assert reasons[0].startswith("https://elsewhere.example.net is not https://www.example.com")
        assert asked(f"{scheme}//www.example.com/articles/s15/").url == f"{BASE}/articles/s15/"

    def test_on_a_host_that_a_section_allows_is_looked_up(self, register):
        url = "https://shop.example.com/all/"
        elsewhere = {"hosts": ("https://shop.example.com",), "location": url}
        register(articles=Articles, elsewhere=type("Elsewhere", (Articles,), elsewhere))
        assert asked("https://shop.example.com/articles/s15/").verdict == "absent"
        assert asked("https://elsewhere.example.net/").verdict == "elsewhere"
        export()
        register(articles=Articles)
        assert asked(url).verdict == "undeclared"
        for change in ({"limit": -1}, {"hosts": (), "location": F("slug")}):
            register(articles=Articles, elsewhere=type("Changed", (Articles,), {**elsewhere, **change}))
            assert asked(url).verdict == "unconfirmed"


def test_sections_that_share_a_route_are_each_searched_on_the_page_of_the_row(
    exporting, register, monkeypatch
):
    """A row has moved from one section to another since the export. Each has more files than are read."""

    def divide(last, first):
        """Let one section list the rows up to `last`, and another one those from `first` on."""
        parts = (Article.objects.filter(pk__lte=last), Article.objects.filter(pk__gte=first))
        classes = [type("Part", (Articles,), {"queryset": rows}) for rows in parts]
        register(first=classes[0], second=classes[1])

    monkeypatch.setattr(published_entries, "MAX_FILES", 2)
    write_articles(100)
    divide(50, 51)
    export()
    file = "sitemap-second-3.xml.gz"
    assert asked("/articles/s75/").file == file
    divide(80, 81)
    assert answered("/articles/s75/", "file") == ("listed", file)
    # No section lists the row any more.
    divide(20, 81)
    assert answered("/articles/s75/", "section", "file") == ("leaving", "second", file)


@pytest.mark.usefixtures("articles")
def test_the_form_with_a_slash_is_named_if_only_this_one_is_listed():
    verdict, reasons = answered("/articles/s15", "reasons")
    assert verdict == "absent"
    assert f"The sitemap lists this form: {BASE}/articles/s15/" in reasons
    assert not any("this form" in reason for reason in asked("/articles/s99").reasons)


def test_a_live_section_has_a_page_from_its_cached_listing(register, client):
    write_articles(25)
    register(articles=Articles)
    assert asked("/articles/s25/").file is None
    index = client.get("/sitemap.xml").content.decode()
    *others, file = answered("/articles/s25/", "published", "file_url", "file")
    assert (others, file in index) == (["live", None, None], True)
    assert f"{BASE}/articles/s25/" in gzip.decompress(client.get(f"/{file}").content).decode()


# Other keys and locations.


def keyed(model, location, **attributes):
    """Return a section of a model, with three rows on each page."""
    return type("Keyed", (ModelSitemap,), {"model": model, "location": location, "limit": 3, **attributes})


WORDS = Route("word", word=F("word"))


@pytest.mark.usefixtures("exporting")
class TestAKey:
    def test_of_text_is_compared_by_the_database(self, register):
        words = ["a", "B", "ä", "z", "Z", "été", "it's", "a b", "ß", "x&y"]
        Word.objects.bulk_create(map(Word, words))
        register(words=keyed(Word, WORDS))
        export()
        assert [answered(f"/words/{word}/", "key") for word in words] == [
            ("listed", word) for word in words
        ]

    @pytest.mark.services
    def test_of_text_never_contains_nul(self, using, register):
        Word.objects.using(using).create(word="a")
        register(words=keyed(Word, WORDS, queryset=Word.objects.using(using)))
        export()
        verdict, notes, reasons = answered("/words/b%00/", "notes", "reasons")
        assert (verdict, notes) == ("absent", [])
        assert reasons[0] == "Section 'words': no row has the values of this URL."

    def test_of_uuids_is_found_by_a_positional_argument(self, register):
        documents = [Document.objects.create(number=number) for number in range(8)]
        register(documents=keyed(Document, Route("document", F("id"))))
        export()
        for document in documents:
            assert asked(f"/documents/{document.id}/").verdict == "listed"

    def test_of_two_columns_is_found(self, register):
        for number in range(8):
            Seat.objects.create(row="ab"[number % 2], number=number)
        register(seats=keyed(Seat, Route("seat", row=F("row"), number=F("number"))))
        export()
        assert answered("/seats/b/5/", "key") == ("listed", "('b', 5)")
        assert asked("/seats/a/5/").verdict == "absent"


class OnAnotherHost(Articles):
    """Section whose items are all skipped."""

    location = PathTemplate("https://elsewhere.example.net/{slug}/", slug=F("slug"))


class First(Articles):
    """Section that filters by a window function: the first article of each category."""

    @property
    def queryset(self):
        return Article.objects.annotate(
            place=Window(RowNumber(), partition_by="category", order_by="pk")
        ).filter(place__lte=2)


class ByMethod(Articles):
    """Section whose location is a method, with the primary key in the URL."""

    model = Word
    queryset = None

    location: ClassVar[Any]

    def location(self, item):
        return f"/words/{item.word}/"

    lastmod = None


@pytest.mark.usefixtures("exporting")
class TestASectionOfAQueryset:
    @pytest.mark.parametrize(
        "rows",
        [
            # The queryset repeats rows, so that they are read through their keys.
            Article.objects.filter(tags__name__startswith="t").distinct(),
            Article.objects.annotate(count=Count("tags")).filter(count__gt=1),
        ],
        ids=["joined", "grouped"],
    )
    def test_with_joins_distinguishes_listed_rows_from_filtered_rows(self, rows, register):
        tags = [Tag.objects.create(name=name) for name in ("t1", "t2")]
        ArticleFactory(pk=1, slug="listed", tags=tags)
        ArticleFactory(pk=2, slug="other")
        register(articles=type("Section", (Articles,), {"queryset": rows}))
        export()
        assert asked("/articles/listed/").verdict == "listed"
        assert asked("/articles/other/").verdict == "filtered"

    @pytest.mark.parametrize("is_exported", [False, True])
    def test_whose_row_is_skipped_is_named_even_after_one_that_filters_the_row_out(
        self, register, is_exported
    ):
        class Filtered(OnAnotherHost):
            def items(self):
                return super().items().exclude(slug="one")

        ArticleFactory(pk=1, slug="one")
        register(filtered=Filtered, skipped=OnAnotherHost, numbers=Numbers(3))
        assert not is_exported or export().published
        *found, reasons = answered("/one/", "section", "live", "reasons")
        assert found == ["skipped", "skipped", None]
        assert reasons[0].startswith("Skipped: item 1, location: ")

    def test_that_had_another_key_in_the_export_has_no_page_for_the_row(self, register):
        Word.objects.bulk_create(map(Word, "abcdef"))
        register(things=keyed(Word, WORDS))
        export()
        ArticleFactory(pk=1, slug="one")
        register(things=Articles)
        assert asked("/articles/one/").verdict == "new"

    def test_that_was_exported_by_position_is_searched_in_its_files(self, register):
        class Listed(ModelSitemap[Article]):
            model = Article

            def items(self):
                return list(super().items())

        ArticleFactory(pk=1, slug="listed")
        register(articles=Listed)
        export()
        assert asked("/articles/listed/").verdict == "unconfirmed"
        # All rows would be read.
        assert row_queries("/articles/listed/") == []

    def test_with_a_window_is_searched_in_its_files(self, register):
        write_articles(4)
        register(articles=First)
        export()
        assert asked("/articles/s1/").verdict == "unconfirmed"
        verdict, reasons = answered("/articles/s4/", "reasons")
        assert verdict == "absent"
        assert "filters by a window function" in reasons[0]

    def test_with_a_method_is_found_by_an_indexed_field(self, register):
        Word.objects.bulk_create(map(Word, "abc"))
        register(words=ByMethod)
        export()
        assert answered("/words/b/", "key") == ("listed", "b")

    def test_with_a_column_of_paths_is_found_by_its_index(self, register):
        Word.objects.bulk_create([Word("/a/"), Word("/b b/")])
        register(paths=type("Paths", (ModelSitemap,), {"model": Word, "location": F("word")}))
        export()
        assert answered("/b%20b/", "key") == ("listed", "/b b/")
        without_scheme = f"//{BASE.partition('://')[2]}/c/"
        Word.objects.create(word=without_scheme)
        for text in ("/c/", without_scheme):
            assert answered(text, "key") == ("new", without_scheme)
        Word.objects.filter(word="/a/").delete()
        *found, reasons = answered("/a/", "file", "notes", "reasons")
        assert found == ["leaving", "sitemap-paths-1.xml.gz", []]
        assert "No row of section 'paths' has this URL any more." in reasons

    def test_with_an_expression_is_searched_in_its_files(self, register):
        Word.objects.bulk_create([Word("a")])
        location = Concat(Value("/x/"), F("word"))
        register(words=type("Expressed", (ModelSitemap,), {"model": Word, "location": location}))
        export()
        *found, notes = answered("/x/a", "live", "notes")
        assert found == ["unconfirmed", None]
        assert notes[0].startswith("No row of section 'words' could be found by this URL")
        Word.objects.create(word="b")
        verdict, notes = answered("/x/b", "notes")
        assert verdict == "absent"
        assert "Rows that are not in the exported files are missing." in notes[0]


@pytest.mark.usefixtures("exporting")
class TestASectionThatIsReadAsAWhole:
    def test_is_searched_in_its_files(self, register):
        register(numbers=Bad(30, [2]))
        export()
        heading = "In the exported sitemap, but the next export may remove it"
        expected = ("unconfirmed", "numbers", None, "sitemap-numbers-1.xml.gz", heading)
        assert answered("/numbers/29/", "section", "live", "file", "heading") == expected
        for number in (2, 30):
            verdict, reasons = answered(f"/numbers/{number}/", "reasons")
            assert verdict == "absent"
            assert reasons[-1] == "It is not in the 1 exported files that were searched."

    def test_of_contrib_is_searched_in_its_files(self, register):
        hooks = {"items": lambda self: ["/a/?b=1&c='2'", "/d/"], "location": lambda self, item: item}
        register(plain=type("Plain", (contrib.Sitemap,), hooks))
        export()
        assert asked("/a/?b=1&c='2'").verdict == "unconfirmed"

    def test_reports_that_the_search_reached_its_limit(self, register, monkeypatch):
        register(numbers=type("Five", (Numbers,), {"limit": 5})(30))
        export()
        monkeypatch.setattr(published_entries, "MAX_FILES", 3)
        # The last pages are searched first.
        assert asked("/numbers/15/").verdict == "unconfirmed"
        *found, notes = answered("/numbers/14/", "heading", "notes")
        assert found == ["absent", "Not found in the sitemap: the search ended early"]
        assert notes[0] == "The search ended after 3 files. Other files may contain the URL."

    def test_is_not_searched_without_an_export(self, register):
        register(numbers=Numbers(3))
        *found, notes = answered("/numbers/1/", "heading", "notes")
        assert found == ["absent", "Not found in the sitemap: not all sections can be searched"]
        assert "cannot be searched by URL: numbers." in notes[0]

    def test_is_searched_by_line_if_its_files_are_text(self, register):
        register(numbers=type("Lines", (Numbers,), {"format": "text"})(12))
        export()
        *found, published = answered("/numbers/0/", "file", "published")
        assert found == ["unconfirmed", "sitemap-numbers-1.txt"]
        assert published.location == f"{BASE}/numbers/0/"
        assert asked("/numbers/11/").verdict == "unconfirmed"
        assert asked("/numbers/1").verdict == "absent"

    def test_reports_a_damaged_file(self, folder, register):
        register(numbers=Numbers(3))
        export()
        path = folder / "sitemap-numbers-1.xml.gz"
        path.write_bytes(path.read_bytes()[:40])
        *found, notes = answered("/numbers/1/", "heading", "notes")
        assert found == ["absent", "Not found in the sitemap: not everything can be read"]
        assert notes[0].startswith("sitemap-numbers-1.xml.gz cannot be read: ")


class Two(Numbers):
    """Section with two items on each page."""

    limit = 2


@pytest.mark.usefixtures("exporting")
class TestASearchOfManyFiles:
    @pytest.fixture(autouse=True)
    def _limit(self, monkeypatch):
        monkeypatch.setattr(published_entries, "MAX_FILES", 4)
        write_articles(60)

    def test_begins_with_what_only_files_can_answer(self, register):
        register(articles=Articles, numbers=Two(20), gone=Two(4, start=100), small=Two(2, start=200))
        export()
        register(articles=Articles, numbers=Two(20), small=Two(2, start=200))
        # A long section does not use up the search.
        found = {number: asked(f"/numbers/{number}/").section for number in (100, 103, 201)}
        assert found == {100: "gone", 103: "gone", 201: "small"}
        # A new row can have the URL of a row of another section.
        location = PathTemplate("/numbers/{pk}/", pk=F("pk"))
        register(articles=type("Numbered", (Articles,), {"location": location}))
        ArticleFactory(pk=103, slug="s103")
        assert answered("/numbers/103/", "key", "file")[1:] == ("103", "sitemap-gone-2.xml.gz")

    def test_finds_the_page_of_a_deleted_row_by_the_key_in_its_url(self, register):
        register(articles=ByTemplate)
        export()
        Article.objects.filter(pk__in=[5, 15]).delete()
        assert answered("/s5-5/", "file") == ("leaving", "sitemap-articles-1.xml.gz")
        register(articles=Articles)
        heading = "Not found in the sitemap: the search ended early"
        assert asked("/articles/s15/").heading == heading
        ArticleFactory(pk=61, slug="s61")
        assert answered("/articles/s61/", "heading", "reasons")[1:] == (heading, [])


@pytest.mark.usefixtures("articles")
class TestAUrlInTwoSections:
    def test_shows_both(self, register):
        others = {"second": type("Second", (Articles,), {"priority": 0.5}), "same": Same(20)}
        register(articles=Articles, **others)
        assert shown("/articles/s15/")[1:] == [("second", "new", None)]
        # The exported one is shown first.
        register(**others, articles=Articles)
        exported = ("articles", "listed", "sitemap-articles-2.xml.gz")
        assert shown("/articles/s15/") == [exported, ("second", "new", None)]
        register(articles=Articles, **others)
        export()
        assert shown("/articles/s15/") == [
            exported,
            ("second", "listed", "sitemap-second-2.xml.gz"),
            ("same", "unconfirmed", "sitemap-same-1.xml.gz"),
        ]
        assert asked("/articles/s25/").others[0].section == "second"
        register(**others)
        assert {other.section for other in asked("/articles/s15/").others} == {"articles", "same"}
        assert asked("/articles/none/").others == ()

    def test_shows_both_if_it_belonged_to_another_row(self, register):
        register(articles=Articles, second=Articles)
        export()
        for key, slug in ((5, "tmp"), (25, "s5"), (5, "s25")):
            Article.objects.filter(pk=key).update(slug=slug)
        names = ("articles", "second")
        assert shown("/articles/s5/") == [(name, "listed", f"sitemap-{name}-1.xml.gz") for name in names]
        Article.objects.filter(slug="s15").delete()
        assert [found[:2] for found in shown("/articles/s15/")] == [(name, "leaving") for name in names]

    @pytest.mark.parametrize(("section", "verdict"), [(Articles, "listed"), (Same(20), "unconfirmed")])
    def test_shows_at_most_eleven(self, register, section, verdict):
        """The last one that is shown has no other heading."""
        register(articles=Articles, **{f"same-{number}": section for number in range(12)})
        export()
        answer = asked("/articles/s15/")
        assert [other.verdict for other in answer.others] == [verdict] * 10
        assert answer.notes[-1] == "Further sections may contain the URL, too."

    def test_shows_both_without_an_export(self, register, configure):
        configure(ROOT=None)
        register(articles=Articles, second=Articles)
        assert [other.verdict for other in asked("/articles/s15/").others] == ["live"]


class Static(StaticViewSitemap):
    viewnames = ("about", "home")


@pytest.mark.usefixtures("exporting")
@pytest.mark.parametrize("format_name", ["xml", "text"])
def test_the_entry_of_a_view_is_equal_to_the_exported_one(format_name, register):
    register(static=type("Formatted", (Static,), {"format": format_name}))
    export()
    answer = asked("/about/")
    assert (answer.verdict, answer.published) == ("listed", answer.live)


def test_a_view_without_arguments_is_listed_live(register):
    register(static=Static)
    answer = asked("/about/")
    assert (answer.verdict, answer.section) == ("live", "static")


@override_settings(ROOT_URLCONF="tests.support.inspector_plain_urls")
@pytest.mark.usefixtures("exporting")
def test_each_language_has_an_entry_with_its_alternates(register):
    ArticleFactory(pk=1, slug="one")
    location = Route("seen", slug=F("slug"))
    register(articles=type("Linked", (Articles,), {"i18n": True, "alternates": True, "location": location}))
    export()
    verdict, live = answered("/de/seen/one/", "live")
    assert (verdict, live.location) == ("listed", f"{BASE}/de/seen/one/")
    assert {("de", f"{BASE}/de/seen/one/"), ("en", f"{BASE}/seen/one/")} <= {*live.links}
    assert asked("/seen/one/").verdict == "listed"
    assert asked("/fr/seen/one/").verdict == "absent"


@override_settings(FORCE_SCRIPT_NAME="/app")
def test_the_script_prefix_is_part_of_the_path(register, client):
    from django.urls import clear_script_prefix, set_script_prefix

    ArticleFactory(pk=1, slug="one")
    register(articles=Articles)
    set_script_prefix("/app/")
    try:
        assert asked("/app/articles/one/").verdict == "live"
        assert asked("/articles/one/").verdict == "absent"
    finally:
        clear_script_prefix()
