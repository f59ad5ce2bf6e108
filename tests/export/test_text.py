"""Text files, live and exported, contain only URLs; sections can change their format."""

from __future__ import annotations

import re
import shutil
from functools import partial
from hashlib import sha256

import pytest
from django.contrib.sitemaps import Sitemap as ContribSitemap
from django.core.cache import cache
from django.core.exceptions import ImproperlyConfigured
from django.test import Client
from hypothesis import HealthCheck, given, settings, strategies as st

from django_sitemaps09 import Sitemap
from django_sitemaps09.export import export
from tests.export.notifications import Notifications
from tests.models import Article
from tests.support import published as looked_at
from tests.support.articles import Articles, write_keys
from tests.support.configuration import BASE
from tests.support.exports import promoting
from tests.support.internals import STATE
from tests.support.manifests import known
from tests.support.native_views import last_parts
from tests.support.sections import declare, listing
from tests.support.sources import compiled

pytestmark = [pytest.mark.django_db, pytest.mark.slow, pytest.mark.sitemaps09(ENGINE="serial")]
slow_examples = [HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
TextArticles = declare(Articles, format="text")


def of(*paths, base=Sitemap, **attributes):
    return listing([*paths], base, location=lambda self, item: item, **{"format": "text", **attributes})


def text_of(keys):
    return b"".join(f"{BASE}/articles/s{key}/\n".encode() for key in keys)


def get(name):
    cache.clear()
    return Client().get(f"/{name}")


def urls(folder, name):
    if not name.endswith(".txt"):
        return looked_at.urls(folder, name)
    data = (folder / name).read_bytes()
    assert data.isascii()
    assert re.fullmatch(rb"(https?://\S+\n)*", data)
    return tuple(data.decode().split())


def names(folder):
    assert all(urls(folder, name) for name in looked_at.pages(folder))
    return looked_at.pages(folder)


def indexed(folder):
    return {url for name in names(folder) for url in urls(folder, name)}


def published_urls():
    return {f"{BASE}/articles/{row.slug}/" for row in Article.objects.filter(published=True)}


def named_live():
    names = last_parts(get("sitemap.xml").content)
    return [re.sub(r"\.(xml|xml\.gz|txt)$", ".txt", name) for name in names]


@pytest.mark.parametrize("sitemap", [Articles, TextArticles], ids=["xml", "text"])
def test_a_live_page_of_text_has_the_urls_of_any_section_a_line_each(register, sitemap):
    write_keys(*range(1, 16))
    register(articles=sitemap)
    # A row whose route has no URL is left out.
    for slug, keys in (("s15", range(1, 16)), ("no slug", range(1, 15)), ("", range(1, 15))):
        Article.objects.filter(pk=15).update(slug=slug)
        response = get("sitemap-articles-1.txt")
        assert (response.status_code, response.content) == (200, text_of(keys))
        assert b"".join(get(name).content for name in named_live()) == text_of(keys)


def test_a_live_page_of_text_may_be_empty_or_of_what_others_wrote_for_contrib(register):
    register(bad=of("https://elsewhere.example/"), words=of("/a", "/b", "/c", base=ContribSitemap, limit=2))
    assert named_live()[0] == "sitemap-bad-1.txt"
    assert (get("sitemap-bad-1.txt").status_code, get("sitemap-bad-1.txt").content) == (200, b"")
    found = [get(f"sitemap-words-{number}.txt").content.decode() for number in (1, 2)]
    assert found == [f"{BASE}/a\n{BASE}/b\n", f"{BASE}/c\n"]


@pytest.mark.parametrize("xml", [".xml.gz", ".xml"])
def test_the_live_index_names_text_if_it_is_the_format_of_the_section(register, configure, xml):
    configure(GZIP=xml == ".xml.gz")
    write_keys(*range(1, 16))
    register(articles=Articles, text=TextArticles)
    # Each name has ten characters that identify the key.
    found = [re.sub(r"\.[\w-]{10}(?=\.)", "", name) for name in last_parts(get("sitemap.xml").content)]
    ends = (f"articles.to.10{xml}", f"articles.after.10{xml}", "text.to.10.txt", "text.after.10.txt")
    assert found == [f"sitemap-{end}" for end in ends]


@settings(max_examples=40, suppress_health_check=slow_examples)
@given(st.lists(st.text(max_size=8).map("/{}".format), max_size=12, unique=True))
def test_lines_of_text_are_the_locations_of_xml_whatever_these_are(paths):
    with looked_at.quick_folder() as folder:
        export(output=folder, sitemaps={"a": of(*paths), "b": of(*paths, format="xml"), "c": of("/")})
        files = ("sitemap-a-1.txt", "sitemap-b-1.xml.gz")
        both = [urls(folder, name) if (folder / name).exists() else () for name in files]
        assert both[0] == both[1]


MEANINGS = ["%Y-%m", "txt", "TEXT", "", None, 7, ["text"], lambda self, item: "text", property(str)]


@pytest.mark.parametrize("found", MEANINGS, ids=range(len(MEANINGS)))
@pytest.mark.parametrize("base", [Sitemap, ContribSitemap], ids=["ours", "contribs"])
def test_the_format_of_a_class_for_contrib_may_mean_anything_and_is_ignored(folder, register, base, found):
    register(words=of("/a", base=base, format=found))
    export(output=folder)
    assert looked_at.pages(folder) == ["sitemap-words-1.xml.gz"]
    assert f"{BASE}/sitemap-words-1.xml.gz".encode() in get("sitemap.xml").content


@pytest.mark.parametrize("found", ["txt", "TEXT", "xml.gz", ""])
def test_another_format_is_an_error_if_the_class_has_expressions(folder, found):
    write_keys(1)
    sitemap = declare(Articles, format=found)
    with pytest.raises(ImproperlyConfigured, match=r"^Declared\.format must be 'xml' or 'text', not "):
        compiled(sitemap)
    report = export(output=folder, sitemaps={"articles": sitemap, "words": of("/a")})
    assert "must be 'xml' or 'text'" in str(report.sections[0].failure)
    assert indexed(folder) == {f"{BASE}/a"}


class TestAnExportOfText:
    def run(self, folder, sitemap=TextArticles, **options):
        return export(output=folder, sitemaps={"articles": sitemap}, **options)

    @pytest.mark.parametrize("compressed", [True, False])
    def test_has_plain_files_with_the_bytes_of_live_pages(self, folder, register, configure, compressed):
        configure(GZIP=compressed, ROOT=folder)
        register(articles=TextArticles)
        write_keys(*range(1, 16))
        [section] = export().sections
        assert names(folder) == ["sitemap-articles-1.txt", "sitemap-articles-2.txt"]
        pages = [text_of(keys) for keys in (range(1, 11), range(11, 16))]
        for read in (lambda name: (folder / name).read_bytes(), lambda name: get(name).content):
            assert [read(name) for name in names(folder)] == pages
        found = [(file.urls, file.bytes, file.size, file.digest) for file in section.files]
        sizes, digests = [*map(len, pages)], [sha256(data).hexdigest() for data in pages]
        assert found == [*zip((10, 5), sizes, sizes, digests, strict=True)]
        assert [page.digest for page in known(folder).sections["articles"].pages] == digests

    @pytest.mark.parametrize("options", [{}, {"changed_only": True}, {"strict": True}, {"gzip": False}])
    def test_writes_only_pages_whose_urls_have_changed(self, folder, options):
        write_keys(*range(1, 26))
        self.run(folder)
        before = looked_at.states(folder)
        for _ in range(2):
            assert (self.run(folder, **options).written, looked_at.states(folder)) == ((), before)
            Article.objects.update(updated="2026-01-01T00:00:00Z")
        Article.objects.filter(pk=12).update(slug="s-twelve", updated="2026-01-02T00:00:00Z")
        report = self.run(folder, **options)
        assert report.written == ("sitemap-articles-2.txt", "sitemap.xml")
        assert report.sections[0].skipped == (2 if "changed_only" in options else 0)

    def test_tells_which_urls_have_changed_as_they_are_in_text(self, folder):
        notifications = Notifications()
        write_keys(*range(10, 260, 10))
        run = partial(self.run, folder, changes=True, on_published=notifications)
        assert run().changes == {"added": 25, "removed": 0, "changed": 0}
        assert notifications.changes()["added"] == {f"/articles/s{key}/" for key in range(10, 260, 10)}
        Article.objects.filter(pk=30).update(slug="three")
        Article.objects.filter(pk=150).delete()
        Article.objects.filter(pk=160).update(updated="2026-01-01T00:00:00Z")
        # Add rows to the first page, which is then split.
        write_keys(11, 12, 13)
        assert run().sections[0].split == 1
        added = {f"/articles/{slug}/" for slug in ("three", "s11", "s12", "s13")}
        removed = {"/articles/s30/", "/articles/s150/"}
        assert notifications.changes() == {"added": added, "removed": removed, "changed": set()}
        assert all(name.endswith(".txt") for name in notifications.written[:-1])
        run(of("/?a=1&b=2", "/&amp;", "/ü", "/x"), force=["articles"])
        assert notifications.changes()["added"] == {"/?a=1&b=2", "/&amp;", "/%C3%BC", "/x"}
        run(of("/?a=1&b=2", "/&amp;", "/&"))
        assert notifications.changes() == {"added": {"/&"}, "removed": {"/%C3%BC", "/x"}, "changed": set()}

    @pytest.mark.parametrize(("suffix", "to"), [("txt", TextArticles), ("xml", Articles)])
    def test_replaces_no_foreign_file_when_the_suffix_changes(self, folder, suffix, to):
        write_keys(*range(1, 6))
        self.run(folder, Articles)
        foreign = folder / f"sitemap-articles-1.{suffix}"
        foreign.write_bytes(b"of somebody")
        self.run(folder, to, gzip=False)
        assert foreign.read_bytes() == b"of somebody"


#: Formats and compression, by the suffix of page names.
WAYS = {"xml.gz": (Articles, True), "xml": (Articles, False)}
WAYS |= {"txt": (TextArticles, True), "txt, plain": (TextArticles, False)}


def keep_all(monkeypatch, folder, stays):
    def look(*arguments):
        assert indexed(folder) >= stays

    promoting(monkeypatch, after=look)


class TestASectionThatChangesItsFormat:
    def run(self, folder, way, **options):
        sitemap, compressed = WAYS[way]
        report = export(output=folder, sitemaps={"articles": sitemap}, gzip=compressed, **options)
        assert report.failures == []
        suffix = way.partition(",")[0]
        assert all(name.endswith(f".{suffix}") for name in names(folder))
        assert indexed(folder) == published_urls()
        return report

    @settings(max_examples=20, suppress_health_check=slow_examples)
    @given(
        ways=st.lists(st.sampled_from([*WAYS]), min_size=2, max_size=7),
        option=st.sampled_from(["", "changed_only", "rebalance", "strict", "changes"]),
        keep=st.sampled_from([0, 24 * 3600]),
        seed=st.randoms(use_true_random=False),
    )
    def test_has_every_url_in_some_page_that_is_named_and_whole(self, configure, ways, option, keep, seed):
        """Check each step of publishing, and old files that are still kept, while rows come and go."""
        configure(KEEP_REMOVED=keep)
        Article.objects.all().delete()
        write_keys(*range(1, 81, 2))
        with looked_at.quick_folder() as folder:
            earlier = set()
            for way in ways:
                before, listed = published_urls(), {*names(folder)}
                Article.objects.filter(pk__in=seed.sample(range(1, 80), 6)).delete()
                new = {*seed.sample(range(1, 120), 6)} - {*Article.objects.values_list("pk", flat=True)}
                Article.objects.bulk_create(Article(pk=pk, slug=f"p{pk}") for pk in sorted(new))
                with pytest.MonkeyPatch.context() as patch:
                    if earlier:
                        keep_all(patch, folder, before & published_urls())
                    self.run(folder, way, **({option: True} if option else {}))
                # Files are kept, or deleted by the run after the one that needs them no more.
                found = {path.name for path in folder.glob("sitemap-*")}
                assert found == {*names(folder)} | (earlier if keep else listed)
                earlier |= {*names(folder)}
                for name in earlier:
                    if (folder / name).exists():
                        urls(folder, name)

    def test_keeps_its_files_when_it_is_guarded(self, folder):
        write_keys(*range(1, 201))
        self.run(folder, "xml.gz")
        before = looked_at.states(folder)
        Article.objects.filter(pk__gt=20).delete()
        [section] = export(output=folder, sitemaps={"articles": TextArticles}).sections
        assert ("shrink" in str(section.failure), looked_at.states(folder)) == (True, before)

    @pytest.mark.sitemaps09(ENGINE="serial", KEEP_REMOVED=0)
    @pytest.mark.parametrize("way", ["txt", "xml", "xml.gz"])
    @pytest.mark.parametrize("then", ["txt", "xml.gz"])
    def test_is_adopted_from_the_index_if_the_manifest_was_lost(self, folder, way, then, monkeypatch):
        write_keys(*range(1, 26))
        self.run(folder, way)
        before = {*names(folder)}
        shutil.rmtree(folder / STATE)
        keep_all(monkeypatch, folder, published_urls())
        self.run(folder, then)
        # Numbers are never used again, and the export still recognizes its old files.
        stems = [{name.split(".")[0] for name in each} for each in (before, names(folder))]
        assert (stems[0].isdisjoint(stems[1]), {*self.run(folder, then).deleted}) == (True, before)

    @pytest.mark.parametrize(("way", "changed"), [("xml", 0), ("txt", 25)])
    def test_tells_of_the_format_as_of_elements_that_have_changed(self, folder, way, changed):
        notifications = Notifications()
        write_keys(*range(1, 26))
        self.run(folder, "xml.gz")
        report = self.run(folder, way, changes=True, on_published=notifications)
        assert report.changes == {"added": 0, "removed": 0, "changed": changed}
        assert len(notifications.removed) == 3
