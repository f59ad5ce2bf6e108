"""The box of the inspector: whether a URL is in the sitemap, in which file, and if not, why not."""

from __future__ import annotations

import gzip
from dataclasses import replace
from datetime import datetime, timezone

import pytest
from django.contrib import sitemaps as contrib
from django.db import connection
from django.db.models import Count, F, Value, Window
from django.db.models.functions import Concat, RowNumber
from django.test.utils import CaptureQueriesContext, override_settings
from django.urls import clear_script_prefix, set_script_prefix

from django_sitemaps09 import PathTemplate, Route, StaticViewSitemap
from django_sitemaps09.export import export
from django_sitemaps09.inspector import published_entries
from django_sitemaps09.inspector.lookup import look_up
from django_sitemaps09.inspector.rows import KeyQueries
from django_sitemaps09.protocol import parse_base
from django_sitemaps09.state import manifest
from django_sitemaps09.stores import STATE, LocalStore
from tests.models import Article, Document, Reading, Seat, Tag, Word
from tests.support.articles import Articles
from tests.support.configuration import BASE
from tests.support.exports import Bad
from tests.support.factories import ArticleFactory
from tests.support.sections import Numbers, declare, listing

pytestmark = [pytest.mark.django_db, pytest.mark.sitemaps09(ENGINE="serial")]

TIME = datetime(2026, 9, 1, 12, tzinfo=timezone.utc)
PAGE = "sitemap-articles-2.xml.gz"
NOT_OURS = f"not {BASE}, and no section allows it in its attribute `hosts`."
SEARCHED = "files that were searched."
NO_ROW = "Section 'articles': no row has the values of this URL."
WORDS = Route("word", word=F("word"))


def asked(url, base=BASE):
    return look_up(url, parse_base(base))


def shown(*urls):
    """Return the verdict, the section, the key and the file of each answer, as `-` without one."""
    found = [
        " ".join(str(part or "-") for part in (a.verdict, a.section, a.key, a.file))
        for a in map(asked, urls)
    ]
    return found if len(found) > 1 else found[0]


def sections_of(url):
    """Return the section, the verdict and the file of each answer for a URL."""
    answer = asked(url)
    return [(each.section, each.verdict, each.file) for each in (answer, *answer.others)]


def row_queries(url):
    """Return the queries of rows, without those for the collation of the key on SQLite."""
    with CaptureQueriesContext(connection) as captured:
        asked(url)
    queries = [query["sql"] for query in captured if 'FROM "tests_' in query["sql"]]
    assert not any(word in query for query in queries for word in ("COUNT", "OFFSET"))
    assert all("LIMIT" in query or " IN (" in query for query in queries)
    return len(queries)


def write_articles(*slugs, first=1):
    Article.objects.bulk_create(
        Article(pk=n, slug=slug, updated=TIME) for n, slug in enumerate(slugs, first)
    )


def numbered(last):
    return [f"s{number}" for number in range(1, last + 1)]


def rewrite_manifest(folder, **changes):
    state = LocalStore(folder / STATE, 0o600, own="")
    state.write(manifest.ROOT, replace(manifest.read_root(state), **changes).root())


@pytest.fixture
def publish(folder, configure, register):
    """Return a function that exports these sections."""
    configure(ROOT=folder)

    def publish(**sections):
        register(**sections)
        assert export().published

    return publish


@pytest.fixture
def articles(publish):
    """An export of 25 articles on three pages."""
    write_articles(*numbered(25))
    publish(articles=Articles)


def same(count):
    """Return a section of plain items whose URLs are those of articles."""
    return declare(Numbers, location=lambda self, item: f"/articles/s{item}/")(count)


def keyed(model, location, **attributes):
    """Return a section of a model, with three rows on each page."""
    return declare(model=model, location=location, limit=3, **attributes)


ByTemplate = declare(Articles, location=PathTemplate("/{slug}-{number}/", slug=F("slug"), number=F("pk")))


class Static(StaticViewSitemap):
    viewnames = ("about", "home")


class TestASectionWithAPathTemplate:
    def test_finds_the_row_of_each_form_of_a_url(self, publish):
        """The slugs contain the separator of the template, and escapes."""
        write_articles("plain", "two-words", "a b", "ü", "a%20b", "a/b", "x&y", "50%")
        publish(articles=ByTemplate)
        for path in (
            *("/plain-1/", "/two-words-2/", "/a b-3/", "/ü-4/", "/a/b-6/"),
            *("/%C3%BC-4/", "/a%20b-5/", "/x&y-7/", "/50%25-8/", "/50%-8/"),
            # Equivalent URLs of RFC 3986.
            *("/%c3%bc-4/", "/two%2Dwords-2/", "/%70lain-1/"),
        ):
            answer = asked(path)
            assert (answer.verdict, answer.key, answer.published) == ("listed", path[-2], answer.live), path
            assert 1 <= row_queries(path) <= 8
        write_articles("new-one", first=9)
        assert shown("/new-one-9/") == "new articles 9 -"
        Article.objects.filter(pk=9).update(published=False)
        assert shown("/new-one-9/", "/elsewhere/") == ["filtered articles 9 -", "absent - - -"]
        assert NO_ROW in asked("/missing-10/").reasons


@pytest.mark.usefixtures("articles")
class TestASectionWithARoute:
    def test_returns_the_file_and_the_entry_of_a_url(self):
        answer = asked(f"{BASE}/articles/s15/")
        assert (answer.file_url, answer.reasons, answer.notes) == (f"{BASE}/{PAGE}", [], [])
        assert answer.published == answer.live
        assert (answer.live.location, answer.live.value("lastmod")) == (answer.url, "2026-09-01T12:00:00Z")
        for number in (1, 10, 11, 15, 20, 21, 25):
            file = f"sitemap-articles-{-(-number // 10)}.xml.gz"
            assert shown(f"/articles/s{number}/") == f"listed articles {number} {file}"

    @pytest.mark.parametrize(
        ("path", "reason"),
        [
            ("/nowhere/s15/", "No URL pattern matches the path."),
            ("/words/abc/", "The path belongs to the view 'word', which no section has as its location."),
            ("/articles/S15/", NO_ROW),
            (
                "/articles/s15/?a=2",
                f"Section 'articles': another form of this URL is listed: {BASE}/articles/s15/",
            ),
            ("/about/?page=2", f"Section 'static': another form of this URL is listed: {BASE}/about/"),
        ],
    )
    def test_says_why_a_url_is_not_listed(self, path, reason, register):
        register(articles=Articles, static=Static)
        answer = asked(path)
        assert (answer.verdict, answer.reasons[0]) == ("absent", reason)

    def test_names_the_form_with_a_slash_if_only_this_one_is_listed(self):
        form = f"The sitemap lists this form: {BASE}/articles/s15/"
        assert (asked("/articles/s15").verdict, form in asked("/articles/s15").reasons) == ("absent", True)
        assert not any("this form" in reason for reason in asked("/articles/s99").reasons)

    def test_finds_a_url_that_the_section_no_longer_has(self, publish, register):
        publish(articles=Articles, static=Static)
        words = declare(Articles, location=Route("word", F("slug")))
        changed = {"articles": words, "static": declare(Static, viewnames=("home",))}
        register(**changed)
        assert shown("/articles/s15/", "/about/") == [
            f"unconfirmed articles - {PAGE}", "unconfirmed static - sitemap-static-1.xml.gz"
        ]  # fmt: skip
        publish(**changed)
        assert shown("/articles/s15/", "/about/") == ["absent - - -"] * 2

    def test_takes_a_path_and_a_url_of_the_other_scheme_or_without_one(self):
        assert (
            shown("/articles/s15/")
            == shown("www.example.com/articles/s15/")
            == f"listed articles 15 {PAGE}"
        )
        answer = asked("http://WWW.example.com:80/articles/s15/")
        assert (answer.verdict, answer.url) == ("listed", f"{BASE}/articles/s15/")
        assert answer.notes == [f"The sitemap is for {BASE}, so this URL was looked up with https."]

    def test_shows_what_has_changed_since_the_export(self):
        rows, url = Article.objects.filter(pk=15), "/articles/s15/"
        rows.update(updated=TIME.replace(day=2))
        answer = asked(url)
        lastmods = [entry.value("lastmod") for entry in (answer.published, answer.live)]
        assert (answer.verdict, lastmods) == ("changed", ["2026-09-01T12:00:00Z", "2026-09-02T12:00:00Z"])
        write_articles("s26", first=26)
        new = asked("/articles/s26/")
        assert (new.verdict, new.file, new.published) == ("new", None, None)
        assert "The next one will add it." in new.reasons[0]
        # A row that items() filters out is in the exported file until the next export.
        rows.update(published=False)
        answer = asked(url)
        assert (shown(url), answer.live) == (f"leaving articles 15 {PAGE}", None)
        assert "items() of section 'articles' does not return it" in answer.reasons[0]
        export()
        assert (shown(url), asked(url).published) == ("filtered articles 15 -", None)

    def test_shows_a_deleted_row_until_the_next_export(self):
        Article.objects.filter(pk=15).delete()
        answer = asked("/articles/s15/")
        assert (shown("/articles/s15/"), answer.reasons) == (
            f"leaving articles - {PAGE}",
            ["No row of section 'articles' has this URL any more.", "The next export will remove it."],
        )
        export()
        answer = asked("/articles/s15/")
        assert (answer.verdict, answer.reasons[0], answer.notes) == ("absent", NO_ROW, [])

    def test_shows_a_file_that_no_index_lists_even_if_its_time_cannot_be_a_date(self, folder):
        Article.objects.filter(pk__gt=10).delete()
        export(force=["articles"])
        answer = asked("/articles/s25/")
        assert shown("/articles/s25/") == "removed articles - sitemap-articles-3.xml.gz"
        assert "24 hours later (KEEP_REMOVED)" in answer.reasons[0]
        for time in (-1e300, 1e300):
            rewrite_manifest(folder, removed={"sitemap-articles-3.xml.gz": time})
            assert asked("/articles/s25/").verdict == "removed"

    def test_finds_the_url_of_a_row_on_the_page_of_another_row(self):
        Article.objects.filter(pk=1).update(slug="moved")
        Article.objects.filter(pk=25).update(slug="s1")
        assert shown("/articles/s1/") == "listed articles 25 sitemap-articles-1.xml.gz"

    def test_finds_a_url_in_the_files_of_a_section_that_was_renamed(self, register):
        register(renamed=Articles)
        assert shown("/articles/s15/") == f"listed renamed 15 {PAGE}"
        Article.objects.filter(pk=15).update(published=False)
        assert shown("/articles/s15/") == f"undeclared articles - {PAGE}"

    def test_runs_two_queries_of_a_few_rows(self):
        assert (row_queries("/articles/s15/"), row_queries("/articles/none/")) == (2, 2)
        Article.objects.filter(pk=15).update(published=False)
        assert row_queries("/articles/s15/") == 3

    def test_says_that_an_item_was_skipped_and_why(self, register):
        register(articles=declare(Articles, lastmod=F("slug")))
        answer = asked("/articles/s15/")
        assert answer.verdict == "changed"
        assert answer.reasons[0].startswith("Skipped: item 15, lastmod: ")

    def test_reads_the_files_of_a_section_that_raises(self, register):
        def get_queryset(self):
            raise RuntimeError("<b>broken</b>")

        register(articles=declare(Articles, get_queryset=get_queryset), numbers=Numbers(3))
        # Its row cannot be read, but its file can.
        assert shown("/articles/s15/") == f"unconfirmed articles - {PAGE}"
        reason = "Section 'articles' cannot be read: RuntimeError: <b>broken</b>"
        assert reason in asked("/articles/s15/").notes

    def test_does_not_hide_another_section_that_lists_the_url(self, publish):
        Article.objects.filter(pk=15).update(published=False)
        publish(articles=Articles, same=same(20))
        assert shown("/articles/s15/") == "unconfirmed same - sitemap-same-1.xml.gz"

    @pytest.mark.parametrize("base", ["https://www.example.com:443", "http://www.example.com:8000"])
    def test_accepts_a_base_url_with_a_port(self, base, configure, folder):
        configure(BASE_URL=base, ROOT=folder / "other")
        export()
        answer = asked(f"{base}/articles/s15/", base)
        assert (answer.url, answer.verdict) == (f"{base}/articles/s15/", "listed")

    def test_finds_an_undeclared_section_in_its_files(self, register):
        register(numbers=Numbers(3))
        answer = asked("/articles/s15/")
        assert (shown("/articles/s15/"), answer.heading, answer.reasons, answer.notes) == (
            f"undeclared articles - {PAGE}",
            "In the exported sitemap, in a section that is no longer declared",
            ["Section 'articles' is published, but no longer declared."],
            ["Exports keep its files. To remove them, use --remove articles."],
        )

    @pytest.mark.parametrize(
        "url", ["javascript:alert(1)//", "//evil.example/", "https://evil.example/", ""]
    )
    def test_makes_no_link_from_a_manifest_of_someone_else(self, folder, url):
        rewrite_manifest(folder, url=url)
        answer = asked("/articles/s15/")
        assert (answer.verdict, answer.file, answer.file_url) == ("listed", PAGE, None)


@pytest.mark.usefixtures("articles")
class TestAUrl:
    @pytest.mark.parametrize(
        "url", ["/a#b", "not a url", "javascript:alert(1)", "https://a@b/", "/a\nb", "/" + "a" * 5_000]
    )
    def test_is_invalid_if_no_sitemap_can_contain_it(self, url):
        answer = asked(url)
        assert (answer.verdict, len(answer.url) <= 200, bool(answer.reasons)) == ("invalid", True, True)

    @pytest.mark.parametrize("scheme", ["https:", ""])
    def test_on_another_host_belongs_to_no_section(self, scheme):
        answer = asked(f"{scheme}//elsewhere.example.net/articles/s15/")
        assert (answer.verdict, answer.reasons) == (
            "elsewhere",
            [f"https://elsewhere.example.net is {NOT_OURS}"],
        )
        assert asked(f"{scheme}//www.example.com/articles/s15/").url == f"{BASE}/articles/s15/"

    def test_on_a_host_that_a_section_allows_is_looked_up(self, publish, register):
        url = "https://shop.example.com/all/"
        elsewhere = {"hosts": ("https://shop.example.com",), "location": url}
        register(articles=Articles, elsewhere=declare(Articles, **elsewhere))
        assert asked("https://shop.example.com/articles/s15/").verdict == "absent"
        assert asked("https://elsewhere.example.net/").verdict == "elsewhere"
        export()
        register(articles=Articles)
        assert asked(url).verdict == "undeclared"
        for change in ({"limit": -1}, {"hosts": (), "location": F("slug")}):
            register(articles=Articles, elsewhere=declare(Articles, **{**elsewhere, **change}))
            assert asked(url).verdict == "unconfirmed"


class TestAKey:
    def test_of_text_is_compared_by_the_database(self, publish):
        words = ["a", "B", "ä", "z", "Z", "été", "it's", "a b", "ß", "x&y"]
        Word.objects.bulk_create(map(Word, words))
        publish(words=keyed(Word, WORDS))
        found = [asked(f"/words/{word}/") for word in words]
        assert [(answer.verdict, answer.key) for answer in found] == [("listed", word) for word in words]

    @pytest.mark.services
    def test_of_text_never_contains_nul(self, using, publish):
        Word.objects.using(using).create(word="a")
        publish(words=keyed(Word, WORDS, queryset=Word.objects.using(using)))
        answer = asked("/words/b%00/")
        assert (answer.verdict, answer.notes, answer.reasons[0]) == (
            "absent",
            [],
            NO_ROW.replace("articles", "words"),
        )

    def test_of_uuids_or_of_two_columns_is_found(self, publish):
        """A route can have a positional argument."""
        documents = Document.objects.bulk_create(Document(number=number) for number in range(8))
        Seat.objects.bulk_create(Seat(row="ab"[number % 2], number=number) for number in range(8))
        seat = Route("seat", row=F("row"), number=F("number"))
        publish(documents=keyed(Document, Route("document", F("id"))), seats=keyed(Seat, seat))
        assert {asked(f"/documents/{document.id}/").verdict for document in documents} == {"listed"}
        assert [(asked(f"/seats/{row}/5/").verdict, asked(f"/seats/{row}/5/").key) for row in "ba"] == [
            ("listed", "('b', 5)"), ("absent", None)
        ]  # fmt: skip


class TestASectionOfAQueryset:
    @pytest.mark.parametrize("is_joined", [True, False])
    def test_with_joins_distinguishes_listed_rows_from_filtered_rows(self, is_joined, publish):
        """The queryset repeats rows, so that they are read through their keys."""
        joined = Article.objects.filter(tags__name__startswith="t").distinct()
        grouped = Article.objects.annotate(count=Count("tags")).filter(count__gt=1)
        tags = [Tag.objects.create(name=name) for name in ("t1", "t2")]
        ArticleFactory(pk=1, slug="listed", tags=tags)
        ArticleFactory(pk=2, slug="other")
        publish(articles=declare(Articles, queryset=joined if is_joined else grouped))
        assert shown("/articles/listed/", "/articles/other/") == [
            "listed articles 1 sitemap-articles-1.xml.gz", "filtered articles 2 -"
        ]  # fmt: skip

    @pytest.mark.parametrize("is_exported", [False, True])
    def test_whose_row_is_skipped_is_named_even_after_one_that_filters_the_row_out(
        self, register, publish, is_exported
    ):
        location = PathTemplate("https://elsewhere.example.net/{slug}/", slug=F("slug"))
        others = Article.objects.exclude(slug="one")
        skipped, filtered = (declare(Articles, location=location, **q) for q in ({}, {"queryset": others}))
        write_articles("one")
        (publish if is_exported else register)(filtered=filtered, skipped=skipped, numbers=Numbers(3))
        answer = asked("/one/")
        assert (answer.verdict, answer.section, answer.live) == ("skipped", "skipped", None)
        assert answer.reasons[0].startswith("Skipped: item 1, location: ")

    def test_that_had_another_key_in_the_export_has_no_page_for_the_row(self, publish, register):
        Word.objects.bulk_create(map(Word, "abcdef"))
        publish(things=keyed(Word, WORDS))
        write_articles("one")
        register(things=Articles)
        assert shown("/articles/one/") == "new things 1 -"

    def test_that_is_a_list_or_has_a_window_is_searched_in_its_files(self, publish):
        write_articles("s1", "s2", "s3", "s4")
        publish(articles=declare(items=lambda self: list(Article.objects.all()), model=Article))
        assert shown("/articles/s1/") == "unconfirmed articles - sitemap-articles-1.xml.gz"
        # All rows would be read.
        assert row_queries("/articles/s1/") == 0
        place = Window(RowNumber(), partition_by="category", order_by="pk")
        first = property(lambda self: Article.objects.annotate(place=place).filter(place__lte=2))
        publish(articles=declare(Articles, queryset=first))
        assert asked("/articles/s1/").verdict == "unconfirmed"
        answer = asked("/articles/s4/")
        assert (answer.verdict, "filters by a window function" in answer.reasons[0]) == ("absent", True)

    def test_with_a_method_is_found_by_an_indexed_field(self, publish):
        Word.objects.bulk_create(map(Word, "abc"))
        publish(words=declare(model=Word, location=lambda self, item: f"/words/{item.word}/"))
        assert shown("/words/b/") == "listed words b sitemap-words-1.xml.gz"

    def test_with_a_column_of_paths_is_found_by_its_index(self, publish):
        Word.objects.bulk_create([Word("/a/"), Word("/b b/")])
        publish(paths=declare(model=Word, location=F("word")))
        assert asked("/b%20b/").key == "/b b/"
        without_scheme = f"//{BASE.partition('://')[2]}/c/"
        Word.objects.create(word=without_scheme)
        assert shown("/c/", without_scheme) == [f"new paths {without_scheme} -"] * 2
        Word.objects.filter(word="/a/").delete()
        answer = asked("/a/")
        assert (answer.verdict, answer.file, answer.notes) == ("leaving", "sitemap-paths-1.xml.gz", [])
        assert "No row of section 'paths' has this URL any more." in answer.reasons

    def test_with_an_expression_is_searched_in_its_files(self, publish):
        Word.objects.create(word="a")
        publish(words=declare(model=Word, location=Concat(Value("/x/"), F("word"))))
        answer = asked("/x/a")
        assert (answer.verdict, answer.live) == ("unconfirmed", None)
        assert answer.notes[0].startswith("No row of section 'words' could be found by this URL")
        Word.objects.create(word="b")
        answer = asked("/x/b")
        assert answer.verdict == "absent"
        assert "Rows that are not in the exported files are missing." in answer.notes[0]


class TestASectionThatIsReadAsAWhole:
    def test_is_searched_in_its_files(self, publish):
        plain = listing(["/a/?b=1&c='2'", "/d/"], contrib.Sitemap, location=lambda self, item: item)
        lines = declare(Numbers, format="text", location=lambda self, item: f"/lines/{item}/")(12)
        publish(numbers=Bad(30, [2]), plain=plain, lines=lines)
        answer = asked("/numbers/29/")
        assert shown("/numbers/29/") == "unconfirmed numbers - sitemap-numbers-1.xml.gz"
        assert (answer.live, answer.heading) == (
            None, "In the exported sitemap, but the next export may remove it"
        )  # fmt: skip
        for number in (2, 30):
            answer = asked(f"/numbers/{number}/")
            searched = "It is not in the 3 exported files that were searched."
            assert (answer.verdict, answer.reasons[-1]) == ("absent", searched)
        assert shown("/a/?b=1&c='2'") == "unconfirmed plain - sitemap-plain-1.xml.gz"
        # Text is searched by line.
        assert shown("/lines/0/", "/lines/11/") == ["unconfirmed lines - sitemap-lines-1.txt"] * 2
        assert asked("/lines/0/").published.location == f"{BASE}/lines/0/"
        assert asked("/lines/1").verdict == "absent"

    def test_says_how_far_the_search_came(self, publish, register, folder, monkeypatch):
        register(numbers=Numbers(3))
        answer = asked("/numbers/1/")
        assert answer.heading == "Not found in the sitemap: not all sections can be searched"
        assert "cannot be searched by URL: numbers." in answer.notes[0]
        publish(numbers=declare(Numbers, limit=5)(30))
        with monkeypatch.context() as context:
            context.setattr(published_entries, "MAX_FILES", 3)
            # The last pages are searched first.
            assert asked("/numbers/15/").verdict == "unconfirmed"
            answer = asked("/numbers/14/")
            assert answer.heading == "Not found in the sitemap: the search ended early"
            assert answer.notes[0] == "The search ended after 3 files. Other files may contain the URL."
        path = folder / "sitemap-numbers-1.xml.gz"
        path.write_bytes(path.read_bytes()[:40])
        answer = asked("/numbers/1/")
        assert answer.heading == "Not found in the sitemap: not everything can be read"
        assert answer.notes[0].startswith("sitemap-numbers-1.xml.gz cannot be read: ")


class TestASearchOfManyFiles:
    @pytest.fixture(autouse=True)
    def _limit(self, monkeypatch):
        monkeypatch.setattr(published_entries, "MAX_FILES", 4)
        write_articles(*numbered(60))

    def test_begins_with_what_only_files_can_answer(self, publish, register):
        two = declare(Numbers, limit=2)
        sections = {"articles": Articles, "numbers": two(20), "small": two(2, start=200)}
        publish(**sections, gone=two(4, start=100))
        register(**sections)
        # A long section does not use up the search.
        found = {number: asked(f"/numbers/{number}/").section for number in (100, 103, 201)}
        assert found == {100: "gone", 103: "gone", 201: "small"}
        # A new row can have the URL of a row of another section.
        register(articles=declare(Articles, location=PathTemplate("/numbers/{pk}/", pk=F("pk"))))
        write_articles("s103", first=103)
        answer = asked("/numbers/103/")
        assert (answer.key, answer.file) == ("103", "sitemap-gone-2.xml.gz")

    def test_finds_the_page_of_a_deleted_row_by_the_key_in_its_url(self, publish, register):
        publish(articles=ByTemplate)
        Article.objects.filter(pk__in=[5, 15]).delete()
        assert shown("/s5-5/") == "leaving articles - sitemap-articles-1.xml.gz"
        register(articles=Articles)
        heading = "Not found in the sitemap: the search ended early"
        assert asked("/articles/s15/").heading == heading
        write_articles("s61", first=61)
        assert (asked("/articles/s61/").heading, asked("/articles/s61/").reasons) == (heading, [])

    def test_looks_on_the_page_of_the_row_in_sections_that_share_a_route(
        self, publish, register, monkeypatch
    ):
        """A row has moved to another section since the export. Each has more files than are read."""
        monkeypatch.setattr(published_entries, "MAX_FILES", 2)
        write_articles(*numbered(100)[60:], first=61)

        def parts(last, first):
            """Let one section list the rows up to `last`, and another one those from `first` on."""
            rows = Article.objects.filter(pk__lte=last), Article.objects.filter(pk__gte=first)
            return dict(
                zip(("first", "second"), (declare(Articles, queryset=q) for q in rows), strict=True)
            )

        publish(**parts(50, 51))
        file = "sitemap-second-3.xml.gz"
        assert shown("/articles/s75/") == f"listed second 75 {file}"
        register(**parts(80, 81))
        assert shown("/articles/s75/") == f"listed first 75 {file}"
        # No section lists the row any more.
        register(**parts(20, 81))
        assert shown("/articles/s75/") == f"leaving second 75 {file}"


@pytest.mark.usefixtures("articles")
class TestAUrlInTwoSections:
    def test_shows_both(self, register, publish):
        others = {"second": declare(Articles, priority=0.5), "same": same(20)}
        register(articles=Articles, **others)
        assert sections_of("/articles/s15/")[1:] == [("second", "new", None)]
        # The exported one is shown first.
        register(**others, articles=Articles)
        exported = ("articles", "listed", PAGE)
        assert sections_of("/articles/s15/") == [exported, ("second", "new", None)]
        publish(articles=Articles, **others)
        unconfirmed = ("same", "unconfirmed", "sitemap-same-1.xml.gz")
        second = ("second", "listed", "sitemap-second-2.xml.gz")
        assert sections_of("/articles/s15/") == [exported, second, unconfirmed]
        assert asked("/articles/s25/").others[0].section == "second"
        register(**others)
        assert {other.section for other in asked("/articles/s15/").others} == {"articles", "same"}
        assert asked("/articles/none/").others == ()

    def test_shows_both_if_it_belonged_to_another_row(self, publish):
        publish(articles=Articles, second=Articles)
        for key, slug in ((5, "tmp"), (25, "s5"), (5, "s25")):
            Article.objects.filter(pk=key).update(slug=slug)
        names = ("articles", "second")
        assert sections_of("/articles/s5/") == [
            (name, "listed", f"sitemap-{name}-1.xml.gz") for name in names
        ]
        Article.objects.filter(slug="s15").delete()
        assert [found[:2] for found in sections_of("/articles/s15/")] == [
            (name, "leaving") for name in names
        ]

    @pytest.mark.parametrize(("section", "verdict"), [(Articles, "listed"), (same(20), "unconfirmed")])
    def test_shows_at_most_eleven(self, publish, section, verdict):
        """The last one that is shown has no other heading."""
        publish(articles=Articles, **{f"same-{number}": section for number in range(12)})
        answer = asked("/articles/s15/")
        assert [other.verdict for other in answer.others] == [verdict] * 10
        assert answer.notes[-1] == "Further sections may contain the URL, too."


class TestWithoutAnExport:
    def test_a_section_is_live_and_has_a_page_from_its_cached_listing(self, register, client):
        write_articles(*numbered(25))
        register(articles=Articles, static=Static)
        assert shown("/articles/s25/", "/about/") == ["live articles 25 -", f"live static {BASE}/about/ -"]
        index = client.get("/sitemap.xml").text
        answer = asked("/articles/s25/")
        assert (answer.published, answer.file_url, answer.file in index) == (None, None, True)
        assert f"{BASE}/articles/s25/" in gzip.decompress(client.get(f"/{answer.file}").content).decode()
        register(articles=Articles, second=Articles)
        assert [other.verdict for other in asked("/articles/s15/").others] == ["live"]

    @override_settings(FORCE_SCRIPT_NAME="/app")
    def test_the_script_prefix_is_part_of_the_path(self, register):
        write_articles("one")
        register(articles=Articles)
        set_script_prefix("/app/")
        try:
            assert shown("/app/articles/one/", "/articles/one/") == ["live articles 1 -", "absent - - -"]
        finally:
            clear_script_prefix()


@pytest.mark.parametrize("format_name", ["xml", "text"])
def test_the_entry_of_a_view_is_equal_to_the_exported_one(format_name, publish):
    publish(static=declare(Static, format=format_name))
    answer = asked("/about/")
    assert (answer.verdict, answer.published) == ("listed", answer.live)


@override_settings(ROOT_URLCONF="tests.support.inspector_plain_urls")
def test_each_language_has_an_entry_with_its_alternates(publish):
    write_articles("one")
    publish(articles=declare(Articles, i18n=True, alternates=True, location=Route("seen", slug=F("slug"))))
    answer = asked("/de/seen/one/")
    assert (answer.verdict, answer.live.location) == ("listed", f"{BASE}/de/seen/one/")
    assert {("de", f"{BASE}/de/seen/one/"), ("en", f"{BASE}/seen/one/")} <= {*answer.live.links}
    assert [asked(path).verdict for path in ("/seen/one/", "/fr/seen/one/")] == ["listed", "absent"]


class TestManySections:
    @staticmethod
    def asked(path):
        """Return a short answer if it needed few queries."""
        with CaptureQueriesContext(connection) as queries:
            found = shown(path)
        assert len(queries) <= 50
        return found

    def test_need_few_queries_for_a_url(self, publish):
        """A filter over a multi-valued relation is read through the keys of its rows."""
        parts = {}
        for number in range(300):
            tag = Tag.objects.create(name=f"t{number}")
            article = ArticleFactory(pk=number + 1, slug=f"s{number}", tags=[tag])
            filters = {"tags": tag} if number % 2 else {"pk": article.pk}
            parts[f"part-{number}"] = declare(
                Articles, queryset=Article.objects.filter(published=True, **filters)
            )
        publish(**parts)
        with CaptureQueriesContext(connection) as queries:
            answer = asked("/articles/none/")
        names = "'part-0', 'part-1', 'part-2', 'part-3', 'part-4' and 295 more"
        assert (len(queries) <= 10, answer.heading, answer.reasons) == (
            *(True, "Not in the sitemap"),
            [
                f"Sections {names}: no row has the values of this URL.",
                f"It is not in the 300 exported {SEARCHED}",
            ],
        )
        for n in (0, 1, 298, 299):
            assert self.asked(f"/articles/s{n}/") == f"listed part-{n} {n + 1} sitemap-part-{n}-1.xml.gz"
        Article.objects.filter(pk__in=[299, 300]).update(published=False)
        for n in (298, 299):
            assert self.asked(f"/articles/s{n}/") == f"leaving part-{n} - sitemap-part-{n}-1.xml.gz"

    def test_are_not_hidden_by_some_that_fail(self, publish, register):
        write_articles(*numbered(60))
        parts = {
            f"part-{n}": declare(Articles, queryset=Article.objects.filter(pk=n)) for n in range(1, 61)
        }
        publish(**parts)
        for number, rows in ((3, Article.objects.extra(where=["x = 1"])), (4, Article.objects.using("x"))):
            parts[f"part-{number}"] = declare(Articles, queryset=rows)
        register(**parts)
        assert self.asked("/articles/s7/") == "listed part-7 7 sitemap-part-7-1.xml.gz"
        failed = [note.partition(":")[0] for note in asked("/articles/s7/").notes]
        assert failed == [f"Section 'part-{number}' cannot be read" for number in (4, 3)]


def test_queries_differ_by_values_that_their_repr_does_not_show():
    for number in range(3):
        Reading.objects.create(ratio=number, blob=b"%d" % number, amount=number, serial=str(number))
    queries = KeyQueries()
    found = [queries.rows(Reading.objects.filter(blob=b"%d" % number))[0].ratio for number in range(3)]
    assert found == [0, 1, 2]
