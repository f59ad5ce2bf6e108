"""Notifications after publishing: the files, and the changed URLs."""

from __future__ import annotations

import gzip
import logging
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db.models import F
from hypothesis import HealthCheck, given, settings, strategies as st

from django_sitemaps09.export import export
from django_sitemaps09.signals import published
from tests.export.notifications import Notifications
from tests.models import Article
from tests.support.articles import Articles
from tests.support.configuration import BASE
from tests.support.factories import ArticleFactory
from tests.support.memory import traced

pytestmark = [pytest.mark.django_db, pytest.mark.sitemaps09]


class DatedArticles(Articles):
    lastmod = F("day")


def changed(added=(), removed=(), changed=()):
    """Return the expected changes of articles with these slugs."""
    kinds = {"added": added, "removed": removed, "changed": changed}
    return {kind: {f"/articles/{slug}/" for slug in slugs} for kind, slugs in kinds.items()}


@pytest.fixture
def run(tmp_path):
    def exported(**options):
        notifications = Notifications()
        given = {
            "changes": True,
            "on_published": notifications,
            "sitemaps": {"articles": DatedArticles},
            **options,
        }
        return export(output=tmp_path / "public", **given), notifications

    return exported


@pytest.fixture
def receiver():
    notifications = Notifications()
    published.connect(notifications)
    yield notifications
    published.disconnect(notifications)


def write(first, last):
    """Section of articles with odd keys, so that rows can be inserted between them."""
    Article.objects.bulk_create(Article(pk=2 * n + 1, slug=f"s{n}") for n in range(first, last))


class TestChangedUrls:
    def test_are_none_if_not_requested(self, run):
        write(0, 5)
        report, notifications = run(changes=False)
        assert (notifications.calls, notifications.urls, report.changes) == (1, [], None)

    def test_are_those_that_were_added_removed_and_changed(self, run):
        write(0, 25)
        run()
        Article.objects.filter(slug="s3").update(slug="s-three")
        Article.objects.filter(slug="s14").delete()
        Article.objects.filter(slug="s15").update(day="2026-01-01")
        write(25, 26)
        _, notifications = run()
        assert notifications.changes() == changed(["s-three", "s25"], ["s3", "s14"], ["s15"])
        assert notifications.written == [
            *(f"sitemap-articles-{n}.xml.gz" for n in (1, 2, 3)),
            "sitemap.xml",
        ]

    def test_are_none_if_another_row_still_has_the_same_entry(self, run):
        write(0, 5)
        Article.objects.bulk_create(
            Article(pk=key, slug="s3", day=f"2026-01-0{key // 8}") for key in (8, 16)
        )
        Article.objects.bulk_create(Article(pk=key, slug="s3") for key in (4, 6))
        run()
        Article.objects.filter(pk=4).delete()
        _, notifications = run()
        assert notifications.changes() == changed()
        Article.objects.filter(pk=8).delete()
        _, notifications = run()
        assert notifications.changes() == changed(changed=["s3"])

    def test_can_be_read_in_another_thread(self, run):
        write(0, 5)
        with ThreadPoolExecutor(1) as pool:
            _, notifications = run()
            read = []
            write(5, 7)
            run(on_published=lambda event: read.append(pool.submit(lambda: len([*event.urls()])).result()))
        assert (len(notifications.urls), read) == (5, [2])

    @pytest.mark.parametrize("gz", [True, False])
    def test_are_read_from_files_of_ours_alone(self, run, tmp_path, gz, caplog):
        """Someone who can write to the web root can neither stop exports nor fill the disk."""
        write(0, 25)
        run(gzip=gz)
        file = tmp_path / "public" / f"sitemap-articles-2.xml{'.gz' if gz else ''}"
        lines = b"<url><loc>https://evil.example/\xff</loc></url>\n"
        content = lines + b"<url>" + b"x" * 50_000_000
        file.write_bytes(gzip.compress(content) if gz else content)
        Article.objects.filter(slug="s14").delete()
        with traced() as memory:
            report, notifications = run(gzip=gz)
        assert report.published
        assert "was not written by an export" in caplog.text
        assert notifications.changes() == changed(added=(f"s{n}" for n in range(10, 20) if n != 14))
        assert memory.peak < 10_000_000

    def test_are_read_no_further_than_our_file_went(self, run, tmp_path):
        write(0, 25)
        run()
        file = tmp_path / "public" / "sitemap-articles-2.xml.gz"
        size = file.stat().st_size
        line = b"<url><loc>https://evil.example/\xff</loc></url>\n"
        bomb = gzip.compress(line * 3 + b"<url>" + b"x" * 20_000, 9)
        assert len(bomb) < size
        # The size is correct, but anything can follow the first member of a gzip file.
        file.write_bytes(bomb + bytes(size - len(bomb)))
        Article.objects.filter(slug="s14").delete()
        report, notifications = run()
        assert report.published
        assert {kind for kind, _, _ in notifications.urls} == {"added", "removed"}
        removed = [url for kind, _, url in notifications.urls if kind == "removed"]
        assert [url.encode() for url in removed] == ["https://evil.example/\ufffd".encode()]

    def test_are_reported_without_escaping_for_xml(self, run):
        ArticleFactory(slug="a&b'c")
        location = {"location": lambda self, item: item.get_absolute_url()}
        by_method = type("ByMethod", (DatedArticles,), location)
        _, notifications = run(sitemaps={"articles": by_method})
        assert [change.url for change in notifications.urls] == [f"{BASE}/articles/a&b'c/"]

    @settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(
        rounds=st.lists(
            st.dictionaries(st.integers(1, 60), st.none() | st.integers(0, 3), max_size=25),
            min_size=1,
            max_size=4,
        )
    )
    def test_are_the_difference_of_the_rows_whatever_happens_to_pages(self, tmp_path_factory, rounds):
        Article.objects.all().delete()
        folder = tmp_path_factory.mktemp("public")
        before = {}
        for changes in rounds:
            Article.objects.filter(pk__in=changes).delete()
            Article.objects.bulk_create(
                Article(pk=key, slug=f"s{key}", day=f"2026-01-0{version + 1}")
                for key, version in changes.items()
                if version is not None
            )
            notifications = Notifications()
            export(
                output=folder,
                sitemaps={"articles": DatedArticles},
                force=["articles"],
                changes=True,
                on_published=notifications,
            )
            now = {article.slug: article.day.day for article in Article.objects.all()}
            if now:
                assert notifications.changes() == changed(
                    now.keys() - before.keys(),
                    before.keys() - now.keys(),
                    (slug for slug in now.keys() & before.keys() if now[slug] != before[slug]),
                )
                before = now


class TestReceivers:
    def test_are_called_with_the_signal_when_everything_is_published_unless_nothing_changed(
        self, run, tmp_path, receiver
    ):
        write(0, 5)
        seen = []

        def look(event):
            seen.append(sorted(path.name for path in (tmp_path / "public").glob("*.xml*")))

        for _ in range(2):
            run(on_published=look)
            assert receiver.written == ["sitemap-articles-1.xml.gz", "sitemap.xml"]
            assert (receiver.calls, len(receiver.urls)) == (1, 5)
            assert seen == [receiver.written]

    def test_that_fail_are_named_and_undo_nothing(self, run, tmp_path, receiver, caplog):
        write(0, 5)

        def fail(event):
            raise RuntimeError("the CDN is down")

        with caplog.at_level(logging.ERROR):
            report, _ = run(on_published=fail)
        assert report.published
        assert receiver.calls == 1
        assert [warning for warning in report.warnings if "the CDN is down" in warning]
        assert "the CDN is down" in caplog.text
        assert (tmp_path / "public" / "sitemap.xml").exists()
