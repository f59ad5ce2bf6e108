"""Export a site that has moved to another host."""

from __future__ import annotations

import gzip

import pytest
from django.core.exceptions import ImproperlyConfigured

from django_sitemaps09.exceptions import ExportError
from django_sitemaps09.export import export, export_hosts
from tests.models import Article
from tests.support.articles import Articles
from tests.support.configuration import limit_indexes
from tests.support.exports import content
from tests.support.factories import ArticleFactory
from tests.support.sections import declare

pytestmark = pytest.mark.django_db
OLD, NEW = "http://old.example", "https://new.example"
Failing = declare(Articles, items=lambda self: 1 / 0)
SITEMAPS = {"articles": Articles}


@pytest.fixture
def target(configure, folder):
    configure(ROOT=folder, SERVE_EXPORTED=True, SITEMAPS=f"{__name__}.SITEMAPS")
    ArticleFactory.create_batch(25)
    return folder


def move(**options):
    return export(base_url=NEW, moved_from=OLD, **options)


def test_a_moved_host_needs_the_base_url_of_the_manifest_and_all_sections(target):
    with pytest.raises(ExportError, match="contains no export that could move"):
        move()
    assert content(target) == {}
    export(base_url=OLD)
    before = content(target)
    for base, options, error, words in (
        ("https://other.example", {}, ExportError, r"contains an export of http://old\.example"),
        ("other", {}, ImproperlyConfigured, "--moved-from"),
        (OLD, {"names": ["articles"]}, ExportError, "export all of them"),
    ):
        with pytest.raises(error, match=words):
            export(base_url=NEW, moved_from=base, **options)
    assert content(target) == before
    move()
    assert "Nothing was moved" in move().warnings[-1]


def test_a_moved_host_is_protected_if_it_would_shrink(target):
    ArticleFactory.create_batch(200)
    export(base_url=OLD)
    Article.objects.all().delete()
    before = content(target)
    report = move()
    assert (report.published, content(target)) == (False, before)
    assert ("would shrink" in report.failures[0], move(force=["articles"]).failures) == (True, [])


def test_a_moved_host_stays_if_one_of_its_sections_fails_and_can_lose_a_section_at_once(target):
    export(base_url=OLD, sitemaps={**SITEMAPS, "other": Articles, "gone": Articles})
    before = content(target)
    report = move(sitemaps={**SITEMAPS, "other": Failing, "gone": Articles})
    assert (report.published, report.exit_status, content(target)) == (False, 1, before)
    report = move(sitemaps={**SITEMAPS, "other": Articles}, remove=["gone"])
    assert (report.published, report.failures) == (True, [])
    assert b"gone" not in (target / "sitemap.xml").read_bytes()


@pytest.mark.parametrize("moved", [1, 2])
def test_moved_hosts_move_in_the_folders_of_several_hosts(target, moved):
    olds = ["http://www.example.com", "http://b.example"]
    export_hosts(olds)
    news = [url.replace("http:", "https:") for url in olds[:moved]] + olds[moved:]
    reports = export_hosts(news, moved_from=olds[:moved]).values()
    assert [(report.exit_status, report.warnings) for report in reports] == [(0, [])] * 2
    for number, url in enumerate(news):
        text = (target / url.partition("//")[2] / "sitemap.xml").read_text()
        assert (f"{url}/sitemap-articles-4" in text) == (number < moved)


def test_a_moved_host_serves_ranges_of_old_pages_and_no_old_index(target, configure, monkeypatch, client):
    def get(path):
        return b"".join(client.get(path, headers={"host": "new.example"}))

    configure(BASE_URL=NEW)
    with monkeypatch.context() as patched:
        limit_indexes(patched, 1)
        export(base_url=OLD)
    assert (target / "sitemap-2.xml").exists()
    move()
    assert OLD.encode() not in get("/sitemap-2.xml")
    for number in (2, 5):
        content = gzip.decompress(get(f"/sitemap-articles-{number}.xml.gz"))
        assert (content.count(b"<url>"), content.count(f"{NEW}/".encode())) == (10, 10)
