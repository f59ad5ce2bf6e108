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
from django_sitemaps09.tools.inspector import exported_files, lookup
from django_sitemaps09.tools.inspector.row_searches import KeyQueries
from tests.models import Article, Document, Reading, Seat, Tag, Word
from tests.support.articles import Articles
from tests.support.configuration import BASE
from tests.support.exports import Bad
from tests.support.factories import ArticleFactory
from tests.support.internals import STATE, LocalStore, manifest, parse_base
from tests.support.sections import Numbers, declare, listing

pytestmark = [pytest.mark.django_db, pytest.mark.sitemaps09(ENGINE="serial")]

TIME = datetime(2026, 9, 1, 12, tzinfo=timezone.utc)
PAGE = "articles-2"
NO_ROW = "Section 'articles': no row has the values of this URL."
GONE = "No row of section 'articles' has this URL any more."
WORDS = Route("word", word=F("word"))


def asked(url, base=BASE):
    return lookup.look_up(url, parse_base(base))


def shown(url):
    """Return the verdict, the section, the key and the page of an answer, as `-` without one."""
    answer = asked(url)
    file = (answer.file or "-").removeprefix("sitemap-").removesuffix(".xml.gz")
    return " ".join([answer.verdict, answer.section or "-", answer.key or "-", file])


def texts(url):
    answer = asked(url)
    return " ".join([answer.heading, *answer.reasons, *answer.notes])


def table(text):
    return [tuple(map(str.strip, line.split("|"))) for line in text.strip().splitlines()]


def sections_of(url):
    answer = asked(url)
    return [(each.section, each.verdict, each.file) for each in (answer, *answer.others)]


def row_queries(url):
    with CaptureQueriesContext(connection) as captured:
        asked(url)
    queries = [query["sql"] for query in captured if 'FROM "tests_' in query["sql"]]
    assert not any(word in query for query in queries for word in ("COUNT", "OFFSET"))
    assert all("LIMIT" in query or " IN (" in query for query in queries)
    return len(queries)


def write_articles(*slugs, first=1):
    rows = (Article(pk=key, slug=slug, updated=TIME) for key, slug in enumerate(slugs, first))
    Article.objects.bulk_create(rows)


def numbered(last):
    return [f"s{number}" for number in range(1, last + 1)]


def rewrite_manifest(folder, **changes):
    state = LocalStore(folder / STATE, 0o600, own="")
    state.write(manifest.ROOT, replace(manifest.read_root(state), **changes).root())


@pytest.fixture
def publish(folder, configure, register):
    configure(ROOT=folder)

    def publish(**sections):
        register(**sections)
        assert export().published

    return publish


@pytest.fixture
def articles(publish):
    write_articles(*numbered(25))
    publish(articles=Articles)


def same(count):
    return declare(Numbers, location=lambda self, item: f"/articles/s{item}/")(count)


def keyed(model, location, **attributes):
    return declare(model=model, location=location, limit=3, **attributes)


ByTemplate = declare(Articles, location=PathTemplate("/{slug}-{number}/", slug=F("slug"), number=F("pk")))


Static = declare(StaticViewSitemap, viewnames=("about", "home"))


def test_a_section_with_a_path_template_has_the_row_of_each_form_of_a_url(publish):
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
    assert (shown("/new-one-9/"), shown("/elsewhere/")) == ("new articles 9 -", "absent - - -")
    update(9, published=False)
    assert (shown("/new-one-9/"), NO_ROW in texts("/missing-10/")) == ("filtered articles 9 -", True)


def broken(self):
    raise RuntimeError("<b>broken</b>")


def update(key=15, **values):
    Article.objects.filter(pk=key).update(**values)


S15 = "/articles/s15/"
#: What can change after an export of 25 articles, with a function that registers sections.
CHANGES = {
    "updated": lambda register: update(updated=TIME.replace(day=2)),
    "hidden": lambda register: update(published=False),
    "added": lambda register: write_articles("s26", first=26),
    "exchanged": lambda register: (update(1, slug="moved"), update(25, slug="s1")),
    "renamed": lambda register: register(renamed=Articles),
    "renamed, hidden": lambda register: (register(renamed=Articles), update(published=False)),
    "not declared": lambda register: register(numbers=Numbers(3)),
    "bad lastmod": lambda register: register(articles=declare(Articles, lastmod=F("slug"))),
    "broken": lambda register: register(
        articles=declare(Articles, get_queryset=broken), numbers=Numbers(3)
    ),
}
#: What has changed (with a star if it is exported), a URL, its answer, and a part of what that says.
ANSWERS = """
updated | /articles/s15/ | changed articles 15 articles-2 | but its entry has changed since the last export
hidden | /articles/s15/ | leaving articles 15 articles-2 | items() of section 'articles' does not return it
hidden* | /articles/s15/ | filtered articles 15 - | Not in the sitemap: its row is filtered out
added | /articles/s26/ | new articles 26 - | The next one will add it.
exchanged | /articles/s1/ | listed articles 25 articles-1 | In the sitemap
renamed | /articles/s15/ | listed renamed 15 articles-2 | In the sitemap
renamed, hidden | /articles/s15/ | undeclared articles - articles-2 | In the exported sitemap
not declared | /articles/s15/ | undeclared articles - articles-2 | in a section that is no longer declared
not declared | /articles/s15/ | undeclared articles - articles-2 | is published, but no longer declared.
not declared | /articles/s15/ | undeclared articles - articles-2 | To remove them, use --remove articles.
bad lastmod | /articles/s15/ | changed articles 15 articles-2 | Skipped: item 15, lastmod:
broken | /articles/s15/ | unconfirmed articles - articles-2 | be read: RuntimeError: <b>broken</b>
"""
#: URLs that are not listed, the verdict, and the first reason or a part of it.
UNLISTED = """
/nowhere/s15/ | absent | No URL pattern matches the path.
/words/abc/ | absent | The path belongs to the view 'word', which no section has as its location.
/articles/S15/ | absent | Section 'articles': no row has the values of this URL.
/articles/s15/?a=2 | absent | Section 'articles': another form of this URL is listed: https://www.example.com/articles/s15/
/about/?page=2 | absent | Section 'static': another form of this URL is listed: https://www.example.com/about/
https://elsewhere.example.net/articles/s15/ | elsewhere | https://elsewhere.example.net is not https://www.ex
//elsewhere.example.net/articles/s15/ | elsewhere | and no section allows it in its attribute `hosts`.
not a url | invalid | .
/a#b | invalid | .
javascript:alert(1) | invalid | .
https://a@b/ | invalid | .
"""


@pytest.mark.usefixtures("articles")
class TestASectionWithARoute:
    def test_returns_the_file_and_the_entry_of_a_url(self):
        answer = asked(f"{BASE}/articles/s15/")
        assert (answer.file_url, answer.reasons, answer.notes) == (f"{BASE}/sitemap-{PAGE}.xml.gz", [], [])
        assert answer.published == answer.live
        assert (answer.live.location, answer.live.value("lastmod")) == (answer.url, "2026-09-01T12:00:00Z")
        for number in (1, 10, 11, 15, 20, 21, 25):
            assert shown(f"/articles/s{number}/") == f"listed articles {number} articles-{-(-number // 10)}"
        assert shown("www.example.com/articles/s15/") == f"listed articles 15 {PAGE}"
        answer = asked("http://WWW.example.com:80/articles/s15/")
        assert (answer.verdict, answer.url) == ("listed", f"{BASE}/articles/s15/")
        assert answer.notes == [f"The sitemap is for {BASE}, so this URL was looked up with https."]

    @pytest.mark.parametrize(("change", "url", "answer", "text"), table(ANSWERS))
    def test_shows_what_has_changed_since_the_export(self, change, url, answer, text, register):
        CHANGES[change.rstrip("*")](register)
        if change.endswith("*"):
            export()
        assert (shown(url), text in texts(url)) == (answer, True), texts(url)

    def test_says_no_more_of_a_deleted_row(self):
        Article.objects.filter(pk=15).delete()
        assert shown(S15) == f"leaving articles - {PAGE}"
        assert (asked(S15).reasons, asked(S15).notes) == ([GONE, "The next export will remove it."], [])
        export()
        assert (shown(S15), asked(S15).reasons[0], asked(S15).notes) == ("absent - - -", NO_ROW, [])

    def test_shows_the_entry_of_the_export_and_that_of_the_row(self):
        update(updated=TIME.replace(day=2))
        answer = asked(S15)
        lastmods = [entry.value("lastmod") for entry in (answer.published, answer.live)]
        assert lastmods == ["2026-09-01T12:00:00Z", "2026-09-02T12:00:00Z"]
        update(published=False)
        assert (asked(S15).published, asked(S15).live) == (answer.published, None)

    def test_says_why_a_url_is_not_listed(self, register):
        register(articles=Articles, static=Static)
        invalid = [("/a\nb", "invalid", "."), ("/" + "a" * 5_000, "invalid", ".")]
        for url, verdict, reason in (*table(UNLISTED), *invalid):
            answer = asked(url)
            first = answer.reasons[0]
            is_said = first == reason if verdict == "absent" else reason in first
            assert (answer.verdict, is_said, len(answer.url) <= 200) == (verdict, True, True), (url, first)
        # With its host, it is too long for a sitemap.
        assert asked("/" + "a" * 2_040).verdict == "absent"
        # The form with a slash is named if only this one is listed.
        form = f"The sitemap lists this form: {BASE}/articles/s15/"
        assert (asked("/articles/s15").verdict, form in asked("/articles/s15").reasons) == ("absent", True)
        assert not any("this form" in reason for reason in asked("/articles/s99").reasons)
        for url in ("https://www.example.com/articles/s15/", "//www.example.com/articles/s15/"):
            assert asked(url).url == f"{BASE}/articles/s15/"

    def test_finds_a_url_that_the_section_no_longer_has(self, publish, register):
        publish(articles=Articles, static=Static)
        words = declare(Articles, location=Route("word", F("slug")))
        changed = {"articles": words, "static": declare(Static, viewnames=("home",))}
        register(**changed)
        assert shown(S15) == f"unconfirmed articles - {PAGE}"
        assert shown("/about/") == "unconfirmed static - static-1"
        publish(**changed)
        assert shown(S15) == shown("/about/") == "absent - - -"

    def test_shows_a_file_that_no_index_lists_even_if_its_time_cannot_be_a_date(self, folder):
        Article.objects.filter(pk__gt=10).delete()
        export(force=["articles"])
        assert "24 hours later (KEEP_REMOVED)" in texts("/articles/s25/")
        for time in (None, -1e300, 1e300):
            if time:
                rewrite_manifest(folder, removed={"sitemap-articles-3.xml.gz": time})
            assert shown("/articles/s25/") == "removed articles - articles-3"

    def test_runs_two_queries_of_a_few_rows(self):
        assert (row_queries(S15), row_queries("/articles/none/")) == (2, 2)
        update(published=False)
        assert row_queries(S15) == 3

    def test_does_not_hide_another_section_that_lists_the_url(self, publish):
        update(published=False)
        publish(articles=Articles, same=same(20))
        assert shown(S15) == "unconfirmed same - same-1"

    @pytest.mark.parametrize("base", ["https://www.example.com:443", "http://www.example.com:8000"])
    def test_accepts_a_base_url_with_a_port(self, base, configure, folder):
        configure(BASE_URL=base, ROOT=folder / "other")
        export()
        answer = asked(f"{base}/articles/s15/", base)
        assert (answer.url, answer.verdict) == (f"{base}/articles/s15/", "listed")

    def test_makes_no_link_from_a_manifest_of_someone_else(self, folder):
        for url in ("javascript:alert(1)//", "//evil.example/", "https://evil.example/", ""):
            rewrite_manifest(folder, url=url)
            assert (shown(S15), asked(S15).file_url) == (f"listed articles 15 {PAGE}", None)

    def test_of_a_host_that_it_allows_is_looked_up(self, publish, register):
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
        answer, reason = asked("/words/b%00/"), "Section 'words': no row has the values of this URL."
        assert (answer.verdict, answer.notes, answer.reasons[0]) == ("absent", [], reason)

    def test_of_uuids_or_of_two_columns_is_found(self, publish):
        """A route can have a positional argument."""
        documents = Document.objects.bulk_create(Document(number=number) for number in range(8))
        Seat.objects.bulk_create(Seat(row="ab"[number % 2], number=number) for number in range(8))
        seat = Route("seat", row=F("row"), number=F("number"))
        publish(documents=keyed(Document, Route("document", F("id"))), seats=keyed(Seat, seat))
        assert {asked(f"/documents/{document.id}/").verdict for document in documents} == {"listed"}
        assert shown("/seats/b/5/") == "listed seats ('b', 5) seats-3"
        assert shown("/seats/a/5/") == "absent - - -"


# These two repeat rows, so that they are read through their keys.
JOINED = Article.objects.filter(tags__name__startswith="t").distinct()
GROUPED = Article.objects.annotate(count=Count("tags")).filter(count__gt=1)
FIRST_TWO = Article.objects.annotate(place=Window(RowNumber(), partition_by="category", order_by="pk"))
SECTIONS = {
    "joined": declare(Articles, queryset=JOINED),
    "grouped": declare(Articles, queryset=GROUPED),
    "window": declare(Articles, queryset=FIRST_TWO.filter(place__lte=2)),
    "method": declare(model=Word, location=lambda self, item: f"/words/{item.word}/"),
    "expressed": declare(model=Word, location=Concat(Value("/x/"), F("word"))),
    "numbers": Bad(30, [2]),
    "plain": listing(["/a/?b=1&c='2'", "/d/"], contrib.Sitemap, location=lambda self, item: item),
    "lines": declare(Numbers, format="text", location=lambda self, item: f"/lines/{item}/")(12),
}
#: A section of the articles `s1` (with tags) to `s4` or of words; a URL, its answer, and what that says.
EXPORTS = """
joined | /articles/s1/ | listed joined 1 joined-1 | In the sitemap
joined | /articles/s2/ | filtered joined 2 - | its row is filtered out
grouped | /articles/s1/ | listed grouped 1 grouped-1 | In the sitemap
grouped | /articles/s2/ | filtered grouped 2 - | its row is filtered out
window | /articles/s1/ | unconfirmed window 1 window-1 | but the next export may remove it
window | /articles/s4/ | absent window 4 - | filters by a window function
method | /words/b/ | listed method b method-1 | In the sitemap
expressed | /x/a | unconfirmed expressed - expressed-1 | could be found by this URL
expressed | /x/z | absent - - - | Rows that are not in the exported files are missing.
numbers | /numbers/29/ | unconfirmed numbers - numbers-1 | but the next export may remove it
numbers | /numbers/2/ | absent - - - | not in the 1 exported files that were searched.
plain | /a/?b=1&c='2' | unconfirmed plain - plain-1 | but the next export may remove it
lines | /lines/0/ | unconfirmed lines - lines-1.txt | but the next export may remove it
lines | /lines/1 | absent - - - | not in the 1 exported files that were searched.
"""


class TestAnExportedSection:
    @pytest.mark.parametrize(("name", "url", "answer", "text"), table(EXPORTS))
    def test_is_asked_for_the_row_or_searched_in_its_files(self, name, url, answer, text, publish):
        ArticleFactory(pk=1, slug="s1", tags=[Tag.objects.create(name=name) for name in ("t1", "t2")])
        write_articles("s2", "s3", "s4", first=2)
        Word.objects.bulk_create(map(Word, "abc"))
        publish(**{name: SECTIONS[name]})
        assert (shown(url), text in texts(url)) == (answer, True), texts(url)
        found = asked(url)
        is_searched = found.verdict == "unconfirmed" and name != "window"
        assert not is_searched or (found.live, found.published.location) == (None, BASE + url)

    @pytest.mark.parametrize("make", ["register", "publish"])
    def test_whose_row_is_skipped_is_named_even_after_one_that_filters_the_row_out(self, make, request):
        elsewhere = PathTemplate("https://elsewhere.example.net/{slug}/", slug=F("slug"))
        skipped = declare(Articles, location=elsewhere)
        others = declare(skipped, queryset=Article.objects.exclude(slug="s1"))
        write_articles("s1")
        request.getfixturevalue("publish")
        request.getfixturevalue(make)(others=others, skipped=skipped, numbers=Numbers(3))
        assert (shown("/s1/"), asked("/s1/").live) == ("skipped skipped 1 -", None)
        assert asked("/s1/").reasons[0].startswith("Skipped: item 1, location: ")

    def test_that_had_another_key_in_the_export_has_no_page_for_the_row(self, publish, register):
        Word.objects.bulk_create(map(Word, "abcdef"))
        publish(things=keyed(Word, WORDS))
        write_articles("one")
        register(things=Articles)
        assert shown("/articles/one/") == "new things 1 -"

    def test_that_is_a_list_is_searched_in_its_files_alone(self, publish):
        """All rows would be read."""
        write_articles("s1")
        publish(articles=declare(items=lambda self: list(Article.objects.all()), model=Article))
        assert shown("/articles/s1/") == "unconfirmed articles - articles-1"
        assert row_queries("/articles/s1/") == 0

    def test_with_a_column_of_paths_is_found_by_its_index(self, publish):
        Word.objects.bulk_create([Word("/a/"), Word("/b b/")])
        publish(paths=declare(model=Word, location=F("word")))
        assert shown("/b%20b/") == "listed paths /b b/ paths-1"
        without_scheme = f"//{BASE.partition('://')[2]}/c/"
        Word.objects.create(word=without_scheme)
        assert shown("/c/") == shown(without_scheme) == f"new paths {without_scheme} -"
        Word.objects.filter(word="/a/").delete()
        assert (shown("/a/"), asked("/a/").notes) == ("leaving paths - paths-1", [])
        assert GONE.replace("articles", "paths") in asked("/a/").reasons

    def test_says_how_far_the_search_came(self, publish, register, folder, monkeypatch):
        register(numbers=Numbers(3))
        assert asked("/numbers/1/").heading == "Not found in the sitemap: not all sections can be searched"
        assert "cannot be searched by URL: numbers." in asked("/numbers/1/").notes[0]
        publish(numbers=declare(Numbers, limit=5)(30))
        with monkeypatch.context() as context:
            context.setattr(exported_files, "MAX_FILES", 3)
            # The last pages are searched first.
            assert asked("/numbers/15/").verdict == "unconfirmed"
            assert asked("/numbers/14/").heading == "Not found in the sitemap: the search ended early"
            note = "The search ended after 3 files. Other files may contain the URL."
            assert asked("/numbers/14/").notes[0] == note
        path = folder / "sitemap-numbers-1.xml.gz"
        path.write_bytes(path.read_bytes()[:40])
        answer = asked("/numbers/1/")
        assert answer.heading == "Not found in the sitemap: not everything can be read"
        assert answer.notes[0].startswith("sitemap-numbers-1.xml.gz cannot be read: ")


class TestASearchOfManyFiles:
    @pytest.fixture(autouse=True)
    def _limit(self, monkeypatch):
        monkeypatch.setattr(exported_files, "MAX_FILES", 4)
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
        assert shown("/numbers/103/").endswith(" articles 103 gone-2")

    def test_finds_the_page_of_a_deleted_row_by_the_key_in_its_url(self, publish, register):
        publish(articles=ByTemplate)
        Article.objects.filter(pk__in=[5, 15]).delete()
        assert shown("/s5-5/") == "leaving articles - articles-1"
        register(articles=Articles)
        heading = "Not found in the sitemap: the search ended early"
        assert asked("/articles/s15/").heading == heading
        write_articles("s61", first=61)
        assert (asked("/articles/s61/").heading, asked("/articles/s61/").reasons) == (heading, [])

    def test_looks_on_the_page_of_the_row_in_sections_of_one_route(self, publish, register, monkeypatch):
        """A row has moved to another section since the export. Each has more files than are read."""
        monkeypatch.setattr(exported_files, "MAX_FILES", 2)
        write_articles(*numbered(100)[60:], first=61)

        def parts(last, first):
            """Let one section list the rows up to `last`, and another one those from `first` on."""
            rows = Article.objects.filter(pk__lte=last), Article.objects.filter(pk__gte=first)
            first, second = (declare(Articles, queryset=part) for part in rows)
            return {"first": first, "second": second}

        publish(**parts(50, 51))
        assert shown("/articles/s75/") == "listed second 75 second-3"
        register(**parts(80, 81))
        assert shown("/articles/s75/") == "listed first 75 second-3"
        # No section lists the row any more.
        register(**parts(20, 81))
        assert shown("/articles/s75/") == "leaving second 75 second-3"


@pytest.mark.usefixtures("articles")
class TestAUrlInTwoSections:
    def test_shows_both(self, register, publish):
        others = {"second": declare(Articles, priority=0.5), "same": same(20)}
        register(articles=Articles, **others)
        assert sections_of("/articles/s15/")[1:] == [("second", "new", None)]
        # The exported one is shown first.
        register(**others, articles=Articles)
        exported = ("articles", "listed", "sitemap-articles-2.xml.gz")
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
        names, found = ("articles", "second"), sections_of("/articles/s5/")
        assert found == [(name, "listed", f"sitemap-{name}-1.xml.gz") for name in names]
        Article.objects.filter(slug="s15").delete()
        assert [each[:2] for each in sections_of("/articles/s15/")] == [(n, "leaving") for n in names]

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
        assert shown("/articles/s25/") == "live articles 25 -"
        assert shown("/about/") == f"live static {BASE}/about/ -"
        index, answer = client.get("/sitemap.xml").text, asked("/articles/s25/")
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
            assert shown("/app/articles/one/") == "live articles 1 -"
            assert shown("/articles/one/") == "absent - - -"
        finally:
            clear_script_prefix()


@pytest.mark.parametrize("format_name", ["xml", "text"])
def test_the_entry_of_a_view_is_equal_to_the_exported_one(format_name, publish):
    publish(static=declare(Static, format=format_name))
    answer = asked("/about/")
    assert (answer.verdict, answer.published) == ("listed", answer.live)


@override_settings(ROOT_URLCONF="tests.support.inspector")
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
        with CaptureQueriesContext(connection) as queries:
            found = shown(path)
        assert len(queries) <= 50
        return found

    def test_need_few_queries_for_a_url(self, publish, monkeypatch):
        """A filter over a multi-valued relation is read through the keys of its rows."""
        monkeypatch.setattr("django_sitemaps09.tools.inspector.row_searches._MAX_CHECKED", 30)
        parts = {}
        for number in range(100):
            tag = Tag.objects.create(name=f"t{number}")
            article = ArticleFactory(pk=number + 1, slug=f"s{number}", tags=[tag])
            filters = {"tags": tag} if number % 2 else {"pk": article.pk}
            rows = Article.objects.filter(published=True, **filters)
            parts[f"part-{number}"] = declare(Articles, queryset=rows)
        publish(**parts)
        with CaptureQueriesContext(connection) as queries:
            answer = asked("/articles/none/")
        names = "'part-0', 'part-1', 'part-2', 'part-3', 'part-4' and 95 more"
        assert (len(queries) <= 10, answer.heading) == (True, "Not in the sitemap")
        no_row = f"Sections {names}: no row has the values of this URL."
        assert answer.reasons == [no_row, "It is not in the 100 exported files that were searched."]
        for n in (0, 1, 98, 99):
            assert self.asked(f"/articles/s{n}/") == f"listed part-{n} {n + 1} part-{n}-1"
        Article.objects.filter(pk__in=[99, 100]).update(published=False)
        for n in (98, 99):
            assert self.asked(f"/articles/s{n}/") == f"leaving part-{n} - part-{n}-1"

    def test_are_not_hidden_by_some_that_fail(self, publish, register):
        write_articles(*numbered(60))
        rows = {n: Article.objects.filter(pk=n) for n in range(1, 61)}
        parts = {f"part-{n}": declare(Articles, queryset=row) for n, row in rows.items()}
        publish(**parts)
        for number, rows in ((3, Article.objects.extra(where=["x = 1"])), (4, Article.objects.using("x"))):
            parts[f"part-{number}"] = declare(Articles, queryset=rows)
        register(**parts)
        assert self.asked("/articles/s7/") == "listed part-7 7 part-7-1"
        failed = [note.partition(":")[0] for note in asked("/articles/s7/").notes]
        assert failed == [f"Section 'part-{number}' cannot be read" for number in (4, 3)]


def test_queries_differ_by_values_that_their_repr_does_not_show():
    for number in range(3):
        Reading.objects.create(ratio=number, blob=b"%d" % number, amount=number, serial=str(number))
    queries = KeyQueries()
    found = [queries.rows(Reading.objects.filter(blob=b"%d" % number))[0].ratio for number in range(3)]
    assert found == [0, 1, 2]
