"""Range addresses of live pages: what they answer, whoever answers, and who can make one."""

from __future__ import annotations

import re

import pytest
from django.db import connections
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from hypothesis import given, strategies as st

from tests.models import Article, Word
from tests.support.articles import Articles, write_keys
from tests.support.internals import exported, filenames, known_pages, listing
from tests.support.native_views import contents, crawl, forget, get, of_keys, pages, queries, slugs
from tests.support.sections import declare
from tests.support.sources import KINDS, compiled

pytestmark = [pytest.mark.django_db, pytest.mark.sitemaps09]
keys = st.none() | st.lists(st.text(), min_size=1, max_size=3).map(tuple)
names = st.text(alphabet=".~,-_:+%/09AZafto\u0663\uff17", max_size=30)


class TestTheGrammar:
    @given(keys, keys)
    def test_of_any_two_keys_can_be_read_and_is_of_no_file(self, after, until):
        text = filenames.bounds_text(after, until)
        assert filenames.parse_bounds(text) == (after, until)
        name = filenames.range_name("a-1", text, "A-_0123456", "xml.gz")
        match = re.fullmatch(rf"{filenames.LIVE_RANGE}\.xml\.gz", name)
        assert (match["section"], match["bounds"]) == ("a-1", text)
        kwargs = {"section": "a-1", "bounds": text, "signature": match["signature"]}
        assert reverse("django_sitemaps09:range-gz", kwargs=kwargs) == f"/{name}"
        assert not {"%", "/"} & {*name}
        kwargs = {"section": "a", "bounds": text, "signature": "A234567890"}
        for suffix, view in (("xml", "range"), ("xml.gz", "range-gz"), ("txt", "range-txt")):
            name = filenames.range_name("a", text, "A234567890", suffix)
            assert reverse(f"django_sitemaps09:{view}", kwargs=kwargs) == f"/{name}"
            assert (filenames.PUBLISHED.fullmatch(name), filenames.parse_page_name(name)) == (None, None)
            assert re.fullmatch(rf"{filenames.LIVE_PAGE}\.{suffix}", name) is None

    @given(names | names.map(".after.{}".format) | names.map(".to.{}".format))
    def test_has_one_text_for_each_range(self, text):
        bounds = filenames.parse_bounds(text)
        assert bounds is None or filenames.bounds_text(*bounds) == text

    def test_has_escapes_for_what_a_name_cannot_have_alone_and_no_others(self):
        valid = (".to.~", ".after.~,a", ".to.a~2Eb", ".after.to.to.after")
        assert None not in map(filenames.parse_bounds, valid)
        for text in (".to.", ".to.~61", ".to.~2e", ".to.~FF", ".to.~2", ".to.a~", ".to.a.b", ".to.a%20"):
            assert filenames.parse_bounds(text) is None, text


@pytest.mark.parametrize("name", ["integer", "uuid", "text", "text without case", "composite"])
def test_a_page_answers_with_the_rows_of_its_range_whoever_answers(name, using, register):
    kind = KINDS[name]
    numbers = {kind.of(kind.model(**kind.columns(n))): n for n in range(1, 41)}
    attributes = {"key": kind.key, "location": lambda self, item: f"/{numbers[item.pk]}/"}
    register(rows=declare(queryset=kind.rows(using), limit=10, **attributes))
    kind.make(using, [*range(1, 21), *range(30, 41)])
    assert sorted(map(int, crawl())) == [*range(1, 21), *range(30, 41)]
    urls, found = pages(), []
    kind.make(using, range(21, 30))
    for key in [*numbers][:3]:
        kind.rows(using).filter(pk=key).delete()
    # A deployment renames the class, and changes the limit.
    register(rows=type("Renamed", (declare(queryset=kind.rows(using).defer(), limit=3, **attributes),), {}))
    for url in urls:
        forget()
        with CaptureQueriesContext(connections[using]) as captured:
            found += slugs(url)
        assert len(captured) <= 2
    assert sorted(map(int, found)) == [*range(4, 41)]


class TestARange:
    @pytest.fixture(autouse=True)
    def _articles(self, register):
        register(articles=Articles)
        write_keys(*range(1, 31))

    def test_is_looked_for_in_no_storage(self, configure, monkeypatch, tmp_path):
        urls = pages()
        configure(ROOT=tmp_path, SERVE_EXPORTED=True)
        for name in ("respond", "published_pages"):
            monkeypatch.setattr(exported, name, lambda *_: pytest.fail("looked for"))
        assert [slug for url in urls for slug in slugs(url)] == of_keys(*range(1, 31))

    def test_of_each_format_is_in_that_format_at_no_longer_name(self, register):
        register(articles=Articles, texts=declare(Articles, format="text"))
        xml, _, _, text, *_ = pages()
        forms = {xml: "application/xml", f"{xml}.gz": "application/gzip", text: "text/plain; charset=utf-8"}
        assert {url: get(url).headers["Content-Type"] for url in forms} == forms
        longer = [
            f"{url}{end}"
            for url in (*forms, "/sitemap-texts-1.txt", "/sitemap-1.xml")
            for end in ("x", "%0A")
        ]
        assert [url for url in longer if get(url).status_code != 404] == []

    def test_answers_with_a_signature_by_an_earlier_secret(self, settings):
        urls, before = pages(), contents()
        settings.SECRET_KEY, settings.SECRET_KEY_FALLBACKS = "new", [settings.SECRET_KEY]
        assert [slugs(url) for url in urls] == before
        assert {*pages()}.isdisjoint(urls)
        settings.SECRET_KEY_FALLBACKS = []
        assert {get(url).status_code for url in urls} == {404}

    @pytest.mark.parametrize(("pattern", "replacement"), [
        *((r"to\.\d+", "to.5"), (r"\.to\.\d+", ""), (r"to\.", "to.0"), (r"to\.(\d)", "to.\uff11")),
        *((r"articles", "others"), (r"\.([\w-]{9})[\w-]\.", r".\1.")),
        *((r"\.[\w-]{10}\.", ".AAAAAAAAAA."), (r"(\.to\..*?)\.", r".after.1\1.")),
    ])  # fmt: skip
    def test_that_this_site_has_not_signed_is_404_without_a_query(self, pattern, replacement, register):
        register(articles=Articles, others=Articles)
        url = pages()[0]
        forged = re.sub(pattern, replacement, url)
        assert forged != url
        assert (queries(forged), get(forged).status_code) == (0, 404)

    @pytest.mark.parametrize(("text", "status"), [("x", 404), ("", 404), ("9" * 26, 200)])
    def test_of_a_key_of_another_type_or_column_is_404(self, text, status):
        """After a migration, the bounds are no keys any more."""
        bounds = filenames.bounds_text((text,), None)
        signature = listing.sign("articles", compiled(Articles).members.key.stored_names, bounds)
        for signed, found in ((signature, status), (listing.sign("articles", ("t.other",), bounds), 404)):
            assert get(f"/{filenames.range_name('articles', bounds, signed, 'xml')}").status_code == found


def test_a_page_without_lastmods_is_not_modified_at_the_second_visit(using, register):
    queryset = Article.objects.using(using).filter(published=True)
    register(articles=declare(Articles, queryset=queryset, lastmod=None))
    write_keys(*range(1, 31), using=using)
    url, *_ = pages()
    with CaptureQueriesContext(connections[using]) as captured:
        etag, first = get(url)["ETag"], len(captured)
        known_pages._entries.clear()
        assert get(url, if_none_match=etag).status_code == 304
    # The rows with their fingerprint, and the fingerprint.
    assert (first, len(captured)) == (1, 2)


@pytest.mark.parametrize(("long", "count"), [(range(8, 12), 16), (range(31, 39), 15), (range(1, 200), 1)])
def test_a_bound_that_is_too_long_is_replaced_by_a_key_near_it(long, count, register):
    """If there is none that fits, the range stays whole."""
    register(rows=declare(model=Word, limit=10, location=lambda self, item: f"/{item.pk[:3]}/"))
    Word.objects.bulk_create(Word(word=f"{n:03}{'ä' * 40 * (n in long)}") for n in range(1, 151))
    assert (max(map(len, pages())) < 450, len(pages())) == (True, count)
    assert crawl() == [f"{n:03}" for n in range(1, 151)]
