"""Export a site that has moved to another host."""

from __future__ import annotations

import gzip
from datetime import timedelta

import pytest
from django.core.exceptions import ImproperlyConfigured

from django_sitemaps09 import protocol
from django_sitemaps09.exceptions import ExportError
from django_sitemaps09.export import export, export_hosts
from tests.models import Article
from tests.support.articles import Articles
from tests.support.factories import ArticleFactory

pytestmark = pytest.mark.django_db
OLD, NEW = "http://old.example", "https://new.example"


class Failing(Articles):
    def items(self):
        raise ValueError("no items")


SITEMAPS = {"articles": Articles}


@pytest.fixture
def target(configure, folder):
    configure(ROOT=folder, SERVE_EXPORTED=True, SITEMAPS=f"{__name__}.SITEMAPS")
    ArticleFactory.create_batch(25)
    return folder


def run(base_url, **options):
    return export(base_url=base_url, **options)


def names(target):
    return {path.name for path in target.glob("sitemap*")}


def contents(target):
    return {path: path.read_bytes() for path in target.glob("sitemap*")}


class TestAMovedHost:
    def test_is_refused_with_advice(self, target):
        run(OLD)
        with pytest.raises(ExportError, match=r"pass --moved-from http://old\.example once"):
            run(NEW)

    def test_removes_the_old_pages_and_deletes_them_later(self, target, clock, configure):
        configure(KEEP_REMOVED=3600)
        run(OLD)
        old = names(target) - {"sitemap.xml"}
        report = run(NEW, moved_from=OLD)
        assert report.failures == []
        index = (target / "sitemap.xml").read_text()
        assert OLD not in index
        new = names(target) - {"sitemap.xml"} - old
        assert len(new) == len(old) == 3
        assert names(target) >= old
        for name in new:
            assert f"{NEW}/{name}" in index
            assert OLD.encode() not in gzip.decompress((target / name).read_bytes())
        clock.time += timedelta(hours=2)
        assert set(run(NEW).deleted) == old
        assert names(target) == new | {"sitemap.xml"}

    def test_is_told_once(self, target):
        run(OLD)
        run(NEW, moved_from=OLD)
        assert run(NEW, moved_from=OLD).written == ()
        assert run(NEW).written == ()

    def test_needs_the_base_url_of_the_manifest(self, target):
        run(OLD)
        before = contents(target)
        with pytest.raises(ExportError, match=r"contains an export of http://old\.example"):
            run(NEW, moved_from="https://other.example")
        with pytest.raises(ImproperlyConfigured, match="--moved-from"):
            run(NEW, moved_from="other")
        with pytest.raises(ExportError, match="export all of them"):
            run(NEW, moved_from=OLD, names=["articles"])
        assert contents(target) == before

    def test_is_protected_if_it_would_shrink(self, target):
        ArticleFactory.create_batch(200)
        run(OLD)
        Article.objects.all().delete()
        before = contents(target)
        report = run(NEW, moved_from=OLD)
        assert "would shrink" in report.failures[0]
        assert not report.published
        assert contents(target) == before
        assert run(NEW, moved_from=OLD, force=["articles"]).failures == []

    def test_stays_if_one_of_its_sections_fails(self, target, configure):
        run(OLD, sitemaps={**SITEMAPS, "fails": Articles})
        before = contents(target)
        report = run(NEW, moved_from=OLD, sitemaps={**SITEMAPS, "fails": Failing})
        assert (report.published, report.exit_status) == (False, 1)
        assert contents(target) == before
        assert run(NEW, moved_from=OLD, sitemaps={**SITEMAPS, "fails": Articles}).published

    def test_can_lose_a_section_at_once(self, target):
        run(OLD, sitemaps={**SITEMAPS, "gone": Articles})
        report = run(NEW, moved_from=OLD, remove=["gone"])
        assert report.failures == []
        assert "gone" not in (target / "sitemap.xml").read_text()

    @pytest.mark.parametrize("moved", [1, 2], ids=["one", "both"])
    def test_moves_in_the_folders_of_several_hosts(self, target, moved):
        olds = ["http://www.example.com", "http://b.example"]
        export_hosts(olds)
        news = [url.replace("http:", "https:") for url in olds[:moved]] + olds[moved:]
        reports = export_hosts(news, moved_from=olds[:moved])
        assert [report.exit_status for report in reports.values()] == [0, 0]
        assert [report.warnings for report in reports.values()] == [[], []]
        for number, url in enumerate(news):
            text = (target / url.partition("//")[2] / "sitemap.xml").read_text()
            assert (f"{url}/sitemap-articles-4" in text) == (number < moved)

    def test_is_told_if_there_is_nothing_to_move(self, target):
        with pytest.raises(ExportError, match="contains no export that could move"):
            run(NEW, moved_from=OLD)
        assert names(target) == set()
        run(NEW)
        assert "Nothing was moved" in run(NEW, moved_from=OLD).warnings[-1]

    def test_serves_none_of_its_old_indexes(self, target, configure, monkeypatch, client):
        configure(BASE_URL=NEW)
        with monkeypatch.context() as patched:
            patched.setattr(protocol, "INDEX_LIMITS", protocol.Limits(1, protocol.MAX_BYTES))
            run(OLD)
        assert (target / "sitemap-2.xml").exists()
        run(NEW, moved_from=OLD)
        response = client.get("/sitemap-2.xml", headers={"host": "new.example"})
        assert OLD.encode() not in b"".join(response)

    def test_its_old_pages_are_not_served_and_answer_with_their_ranges(self, target, configure, client):
        configure(BASE_URL=NEW)
        run(OLD)
        run(NEW, moved_from=OLD)
        for number, slugs in ((2, range(10, 20)), (5, range(10, 20))):
            response = client.get(f"/sitemap-articles-{number}.xml.gz", headers={"host": "new.example"})
            content = gzip.decompress(b"".join(response))
            assert content.count(b"<url>") == len(slugs)
            assert content.count(f"{NEW}/".encode()) == len(slugs)
