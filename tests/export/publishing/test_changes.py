"""Notifications after publishing: the files, and the changed URLs."""

from __future__ import annotations

import gzip
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db.models import F

from django_sitemaps09.export import export
from django_sitemaps09.signals import published
from tests.export.notifications import Notifications
from tests.models import Article
from tests.support.articles import Articles, write_keys
from tests.support.configuration import BASE
from tests.support.memory import traced
from tests.support.sections import declare

pytestmark = [pytest.mark.django_db, pytest.mark.sitemaps09]
PAGES = [f"sitemap-articles-{number}.xml.gz" for number in (1, 2, 3)]
Dated = declare(Articles, lastmod=F("day"))


def changed(added=(), removed=(), changed=()):
    kinds = {"added": added, "removed": removed, "changed": changed}
    return {kind: {f"/articles/{slug}/" for slug in slugs} for kind, slugs in kinds.items()}


@pytest.fixture
def run(folder):
    def exported(**options):
        notices = Notifications()
        options = {"changes": True, "on_published": notices, "sitemaps": {"articles": Dated}, **options}
        return export(output=folder, **options), notices

    return exported


def test_changed_urls_are_none_if_another_row_still_has_the_same_entry(run):
    write_keys(1, 3, 5, 7, 9)
    days = {8: "2026-01-01", 16: "2026-01-02", 4: None, 6: None}
    Article.objects.bulk_create(Article(pk=key, slug="s7", day=day) for key, day in days.items())
    run()
    for key, expected in ((4, changed()), (8, changed(changed=["s7"]))):
        Article.objects.filter(pk=key).delete()
        assert run()[1].changes() == expected


def test_changed_urls_can_be_read_in_another_thread_and_are_not_escaped_for_xml(run):
    write_keys(*range(1, 6))
    read = []
    with ThreadPoolExecutor(1) as pool:
        run()
        Article.objects.create(pk=99, slug="a&b'c")
        by_method = declare(Dated, location=lambda self, item: item.get_absolute_url())
        look = {"on_published": lambda event: read.extend(pool.submit(lambda: [*event.urls()]).result())}
        run(sitemaps={"articles": by_method}, **look)
    assert [change.url for change in read] == [f"{BASE}/articles/a&b'c/"]


@pytest.mark.parametrize("gz", [True, False])
def test_changed_urls_are_read_from_files_of_ours_alone(run, folder, gz, caplog):
    """Someone who can write to the web root can neither stop exports nor fill the disk."""
    write_keys(*range(25))
    run(gzip=gz)
    content = b"<url><loc>https://evil.example/\xff</loc></url>\n<url>" + b"x" * 50_000_000
    content = gzip.compress(content) if gz else content
    (folder / PAGES[1].removesuffix("" if gz else ".gz")).write_bytes(content)
    Article.objects.filter(slug="s14").delete()
    with traced() as memory:
        report, notices = run(gzip=gz)
    assert (report.published, memory.peak < 10_000_000) == (True, True)
    assert "was not written by an export" in caplog.text
    assert notices.changes() == changed(added=(f"s{n}" for n in range(10, 20) if n != 14))


def test_changed_urls_are_read_no_further_than_our_file_went(run, folder):
    write_keys(*range(25))
    run()
    file = folder / PAGES[1]
    size = file.stat().st_size
    line = b"<url><loc>https://evil.example/\xff</loc></url>\n"
    bomb = gzip.compress(line * 3 + b"<url>" + b"x" * 20_000, 9)
    assert len(bomb) < size
    # The size is correct, but anything can follow the first member of a gzip file.
    file.write_bytes(bomb + bytes(size - len(bomb)))
    Article.objects.filter(slug="s14").delete()
    report, notices = run()
    assert (report.published, {kind for kind, _, _ in notices.urls}) == (True, {"added", "removed"})
    assert [url for kind, _, url in notices.urls if kind == "removed"] == ["https://evil.example/\ufffd"]


def test_receivers_are_called_when_everything_is_published_unless_nothing_changed(run, folder, caplog):
    write_keys(*range(1, 6))
    notices, seen = Notifications(), []

    def look(event):
        seen.append(sorted(path.name for path in folder.glob("*.xml*")))
        raise RuntimeError("the CDN is down")

    published.connect(notices)
    try:
        # One that fails is named, and undoes nothing.
        report, _ = run(on_published=look)
        assert report.published
        assert [warning for warning in report.warnings if "the CDN is down" in warning]
        assert "the CDN is down" in caplog.text
        run(on_published=look)
    finally:
        published.disconnect(notices)
    assert (notices.calls, len(notices.urls), notices.written) == (1, 5, [PAGES[0], "sitemap.xml"])
    assert seen == [notices.written]
