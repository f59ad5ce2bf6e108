"""Live pages with an export: its pages, and those that the next export will add."""

from __future__ import annotations

import errno
import gzip
from datetime import timedelta

import pytest
from django.db.models import F

from django_sitemaps09 import Route
from django_sitemaps09.export import export, export_hosts
from tests.models import Article, Word
from tests.support.articles import Articles, write_keys
from tests.support.configuration import set_seconds
from tests.support.exports import fails_with
from tests.support.internals import exported as exported_views, indexes, listing, manifest, published
from tests.support.native_views import export_elsewhere, get, last_parts, locations, of_keys, queries, slugs
from tests.support.sections import declare

pytestmark = [pytest.mark.django_db, pytest.mark.sitemaps09]
NUMBER = "sitemap-articles-{}.xml.gz".format


@pytest.fixture(autouse=True)
def _target(folder, configure, register):
    configure(ROOT=folder)
    register(articles=Articles)


def live(name="sitemap.xml", **headers):
    """Return the last parts of the URLs in a live document; empty if it does not exist."""
    url = f"/{name.removesuffix('.gz')}"
    return [] if get(url, **headers).status_code == 404 else slugs(url, **headers)


def page(number):
    return live(NUMBER(number))


def pages(*numbers):
    return {number: page(number) for number in numbers}


def exported(folder, *numbers):
    return {n: last_parts(gzip.decompress((folder / NUMBER(n)).read_bytes())) for n in numbers}


class TestLivePagesOfAnExport:
    def test_are_its_pages_after_rows_have_gone_and_then_ranges(self, folder):
        write_keys(*range(1, 26))
        export()
        assert page(4) == page(999_999) == page(123_456_789) == []
        Article.objects.filter(pk__in=range(1, 8)).delete()
        assert pages(1, 2) == {1: of_keys(8, 9, 10), **exported(folder, 2)}
        write_keys(*range(26, 46))
        first, second, *others = live()
        assert [first, second] == [NUMBER(1), NUMBER(2)]
        assert {name.partition("after")[0] for name in others} == {"sitemap-articles."}
        assert [slug for name in (first, second, *others) for slug in live(name)] == of_keys(*range(8, 46))
        assert page(4) == []

    def test_are_listed_by_a_number_if_one_has_all_rows(self):
        write_keys(1)
        export()
        assert live() == [NUMBER(1)]

    def test_are_its_pages_after_a_split_until_its_files_are_removed(
        self, folder, clock, configure, client_chooses_host
    ):
        configure(SERVE_EXPORTED=False, KEEP_REMOVED=3_600)
        write_keys(*range(0, 60, 2))
        export()
        before = pages(1, 2, 3)
        write_keys(5)
        export_elsewhere()
        *closed, last = live()
        assert closed == [NUMBER(n) for n in (4, 5, 2)]
        # An export shrinks the last page, so its number is not listed.
        assert last.startswith("sitemap-articles.after.38.")
        assert pages(2, 3, 4, 5) == exported(folder, 2, 3, 4, 5)
        # With the previous index, a crawler still finds the file, and all rows of the live page.
        assert page(1) == [*page(4), *page(5)] == sorted([*before[1], "s5"], key=lambda slug: int(slug[1:]))
        clock.time += timedelta(hours=2)
        export_elsewhere()
        assert pages(1, 2, 3) == {**before, 1: []}
        # The pages are shared by hosts that clients choose.
        client_chooses_host(ROOT=folder)
        exported_views._exports.clear()
        for host in ("www.example.com", "b.example"):
            found = locations(get("/sitemap.xml", host=host).content)
            assert found[:3] == [f"http://{host}/{NUMBER(number)}" for number in (4, 5, 2)]

    def test_are_those_of_a_later_export_though_older_bounds_are_in_the_cache(self, folder):
        write_keys(*range(0, 60, 2))
        export()
        assert live()
        write_keys(5)
        export_elsewhere()
        assert page(4) == exported(folder, 4)[4]

    def test_are_ranges_if_the_manifest_cannot_be_read(self, folder, caplog):
        write_keys(*range(1, 16))
        export()
        (folder / ".sitemaps09" / "manifest.json").write_text("{")
        Article.objects.filter(pk__lte=10).delete()
        [name] = live()
        assert live(name) == of_keys(*range(11, 16))
        assert "cannot be read" in caplog.text
        # Nobody knows the range of a number, or whether there is such a page.
        answer = get("/sitemap-articles-1.xml")
        assert (answer.status_code, answer["Retry-After"]) == (503, "30")

    def test_are_cut_from_the_rows_if_the_key_is_another_one(self, register):
        write_keys(*range(1, 16))
        export()
        words = [f"w{n:02}" for n in range(12)]
        for word in words:
            Word.objects.create(word=word)
        register(articles=declare(model=Word, limit=10, location=Route("article", slug=F("word"))))
        assert len(live()) == 2
        assert [word for name in live() for word in live(name)] == page(1) == words

    def test_answer_by_their_numbers_after_the_manifest_was_lost(self, folder):
        write_keys(*range(0, 60, 2))
        export()
        Article.objects.filter(pk=58).update(slug="other")
        export()
        before = pages(1, 2, 3)
        (folder / ".sitemaps09" / "manifest.json").unlink()
        export_elsewhere()
        assert pages(1, 2, 3) == before

    def test_of_many_hosts_keep_their_numbers(self, client_chooses_host, folder, monkeypatch):
        """What a process keeps is bounded, since clients can choose hosts and ports."""
        write_keys(*range(1, 31))
        export(base_url="https://www.example.com")
        client_chooses_host("www.example.com", ROOT=folder)
        monkeypatch.setattr(exported_views, "_MAX_KEPT", 5)
        reads, read_section = [], manifest.read_section
        monkeypatch.setattr(manifest, "read_section", lambda *args: reads.append(1) or read_section(*args))
        for port in [*range(1, 20)] * 2:
            assert len(live(NUMBER(2), host=f"www.example.com:{port}")) == 10
        # All hosts share the pages, which are read once.
        assert (len(exported_views._sections), len(reads)) == (5, 1)

    def test_that_have_grown_are_listed_by_their_ranges_until_all_processes_know(self):
        write_keys(*range(0, 60, 2))
        export()
        Article.objects.filter(pk__range=(6, 34)).delete()
        export()
        # Page 1 has absorbed page 2. A process that does not know that would answer with less.
        name = live()[0]
        assert name.startswith("sitemap-articles.to.38.")
        assert page(1) == live(name) == of_keys(0, 2, 4, 36, 38)
        Article.objects.filter(pk=40).delete()
        export_elsewhere()
        assert live()[0] == NUMBER(1)


@pytest.fixture
def move(tmp_path, settings, monkeypatch):
    """Put listings into a shared cache, and return a function that ages what is known."""
    backend = "django.core.cache.backends.filebased.FileBasedCache"
    settings.CACHES = {"default": {"BACKEND": backend, "LOCATION": str(tmp_path / "cache")}}
    move_seconds = set_seconds(monkeypatch, listing, indexes)
    return lambda seconds: (move_seconds(seconds), exported_views._exports.clear())


class TestHostsWithExportsOfTheirOwn:
    @pytest.fixture(autouse=True)
    def _exports(self, folder, client_chooses_host, move):
        client_chooses_host("a.example", "b.example", ROOT=folder, LIVE_SECONDS=0)
        write_keys(*range(0, 60, 2))
        export_hosts(["https://a.example", "https://b.example"])
        write_keys(5)
        export_hosts(["https://a.example"])
        Article.objects.filter(pk=5).delete()
        write_keys(*range(25, 28, 2))
        export_hosts(["https://b.example"])

    def test_are_listed_by_their_own_numbers(self):
        names = {host: live(host=host) for host in ("a.example", "b.example")}
        assert names["a.example"] != names["b.example"]
        for host, listed in names.items():
            # Neither host's index makes the other one count pages again. One query looks at the end.
            assert (queries("/sitemap.xml", host=host), live(host=host)) == (1, listed)

    def test_answer_with_the_pages_of_their_previous_exports(self, move):
        assert [live(NUMBER(5), host=host)[-1] for host in ("b.example", "a.example")] == ["s38", "s18"]
        Article.objects.filter(pk__range=(2, 14)).delete()
        for key in (100, 101, 102):
            write_keys(key)
            export_hosts(["https://a.example"], force=["articles"])
            move(11)
        assert NUMBER(5) not in live(host="a.example")
        assert live(NUMBER(5), host="a.example") == ["s16", "s18"]

    def test_are_known_while_their_exports_cannot_be_read(self, move, monkeypatch):
        before = {name: live(name, host="a.example") for name in live(host="a.example")}
        monkeypatch.setattr(published, "find_section", fails_with(errno.EIO))
        move(11)
        assert {name: live(name, host="a.example") for name in live(host="a.example")} == before


def test_pages_of_an_export_are_adopted_when_it_can_be_read_again(move, monkeypatch):
    """A storage that fails between two reads has a manifest, but no record of the section."""
    write_keys(*range(1, 31))
    export()
    with monkeypatch.context() as context:
        context.setattr(manifest, "read_section", fails_with(errno.EIO))
        names = live()
        assert live() == names
        assert not any("articles-" in name for name in names)
    move(301)
    assert live()[:2] == [NUMBER(1), NUMBER(2)]
    assert all(map(live, names))
