"""An export with `--changed-only` reads less than a full one, also from replicas."""

from __future__ import annotations

from collections import Counter
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from typing import ClassVar

import pytest
from django.db import connections
from django.db.models import F, Value
from django.db.models.functions import Concat
from django.test.utils import CaptureQueriesContext

from django_sitemaps09 import Sitemap
from django_sitemaps09.export import export
from django_sitemaps09.export.rendering.page import Task, render_page
from django_sitemaps09.pages import HASHES
from django_sitemaps09.state import manifest
from django_sitemaps09.stores.local import LocalStore
from tests.support.configuration import BASE
from tests.support.databases import parameter
from tests.support.twins import NEWER, OLD, PAGE, ROWS, add, path, some

pytestmark = pytest.mark.slow


def _hashed_otherwise(page):
    assert page.fingerprint is not None
    hash = page.fingerprint.hash
    other = hash[::-1] if isinstance(hash, str) else HASHES - 1 - hash
    return replace(page, fingerprint=page.fingerprint._replace(hash=other))


def queries_of(twins, *, changed_only):
    """Export once more, and return the number of queries of the section's rows."""
    twins.now[0] += timedelta(hours=1)
    with CaptureQueriesContext(connections[twins.using]) as captured:
        report = export(
            output=twins.folder / "changed", sitemaps={"a": twins.section()}, changed_only=changed_only
        )
    assert report.sections[0].skipped == (ROWS // PAGE if changed_only else 0)
    return sum("tests_article" in query["sql"] for query in captured)


class TestWhatIsSkipped:
    def test_is_not_read(self, twins):
        twins.settled()
        fewer, more = (queries_of(twins, changed_only=changed_only) for changed_only in (True, False))
        # They are for a sample of rows, the type of the key, the fingerprint of a page, and those of the
        # rest. SQLite has no hash function, so it returns the columns of each page.
        assert more > ROWS // PAGE
        assert fewer == (more if connections[twins.using].vendor == "sqlite" else 4)

    def test_is_all_after_a_full_run_if_hashes_are_cheap(self, twins):
        is_cheap = connections[twins.using].vendor == "sqlite"
        twins.run(both_whole=True)
        assert twins.run().skipped == (ROWS // PAGE if is_cheap else 0)
        some(twins, 340).update(slug="other")
        twins.run(both_whole=True)
        # Pages that a full run did not change keep their fingerprints.
        assert twins.run().skipped == ROWS // PAGE - (not is_cheap)
        assert twins.same

    def test_is_nothing_if_all_rows_changed_and_two_pages_are_compared(self, twins):
        twins.settled()
        twins.articles.update(slug=Concat(F("slug"), Value("x")))
        with CaptureQueriesContext(connections[twins.using]) as captured:
            report = twins.run()
        assert (report.skipped, report.written) == (0, ROWS // PAGE)
        hashed = "+(" if connections[twins.using].vendor == "sqlite" else "SUM("
        compared = [query for query in captured if hashed in query["sql"] and "LIMIT" not in query["sql"]]
        assert len(compared) == 2
        assert twins.same

    def test_is_all_but_the_page_that_changed(self, twins):
        twins.settled()
        add(twins, 335, NEWER)
        some(twins, 340).delete()
        report = twins.run()
        assert (report.skipped, report.written) == (ROWS // PAGE - 1, 1)
        assert twins.same

    def test_is_in_the_report_with_the_numbers_of_the_previous_run(self, twins):
        twins.run()
        first = twins.run()
        report = twins.run()
        assert [(file.name, file.urls, file.digest) for file in report.files] == [
            (file.name, file.urls, file.digest) for file in first.files
        ]
        assert report.urls == ROWS
        assert (report.skipped, report.unchanged, report.written) == (ROWS // PAGE, ROWS // PAGE, 0)

    def test_is_nothing_if_the_previous_run_hashed_rows_in_another_way(self, twins):
        """As a version before or after this one can."""

        twins.settled()
        state = twins.folder / "changed" / ".sitemaps09"
        found = manifest.read(LocalStore(state))
        assert found is not None
        pages = [_hashed_otherwise(page) for page in found.sections["a"].pages]
        document = manifest.section_document(replace(found.sections["a"], pages=tuple(pages)))
        file = manifest.section_file("a", document)
        (state / file).write_bytes(document)
        (state / manifest.ROOT).write_bytes(replace(found, files={"a": file}).root())
        report = twins.run()
        assert (report.skipped, report.unchanged, report.written) == (0, ROWS // PAGE, 0)
        assert twins.run().skipped == ROWS // PAGE

    @pytest.mark.parametrize(
        "attributes",
        [
            {"location": lambda sitemap, item: f"/{item.slug}/"},
            {"lastmod": lambda sitemap, item: item.updated},
            {"lastmod": None},
            {"lastmod": OLD},
            {"lastmod": F("slug")},
        ],
        ids=["location", "lastmod", "none", "constant", "text"],
    )
    def test_is_unknown_if_a_hook_takes_the_item_or_a_time_is_missing(self, twins, attributes):
        twins.attributes |= attributes
        for _ in range(3):
            report = twins.run()
            assert report.skipped == 0
            assert twins.same

    def test_is_nothing_of_what_has_no_rows(self, tmp_path, settings):
        class Numbers(Sitemap[int]):
            lastmod = OLD

            def items(self):
                return list(range(25))

            def location(self, item):
                return f"/{item}/"

        settings.SITEMAPS09 = {"BASE_URL": BASE, "MAX_URLS": PAGE, "ENGINE": "serial"}
        for _ in range(2):
            report = export(output=tmp_path, sitemaps={"a": Numbers}, changed_only=True)
            assert report.sections[0].skipped == 0


@contextmanager
def queries_of_articles():
    """Count the queries of articles on each of two databases."""
    captured = {alias: CaptureQueriesContext(connections[alias]) for alias in ("default", "replica")}
    counts = {}
    with captured["default"], captured["replica"]:
        yield counts
    for alias, found in captured.items():
        counts[alias] = sum("tests_article" in query["sql"] for query in found.captured_queries)


SECTIONS = {}


class InThisProcess:
    """An engine that renders in this process like workers.

    It records tasks, and queries of each replica.
    """

    tasks: ClassVar[list[Task]] = []
    asked: ClassVar[Counter[str]] = Counter()

    def __init__(self, workers):
        self.workers = workers

    def __enter__(self):
        return self

    def __exit__(self, *error):
        pass

    def submit(self, renderer, task):
        self.tasks.append(task)
        with queries_of_articles() as asked:
            rendered = render_page(renderer, task)
        self.asked.update(asked)
        return lambda: rendered


class TestRowsOfReplicas:
    @pytest.mark.parametrize("snapshot_using", [parameter("default")], indirect=True)
    def test_are_read_from_one_of_them_in_a_run(self, twins, replica):
        """With a fingerprint from one replica and rows from another, a page could stay outdated forever."""
        from tests.models import Article

        twins.attributes["queryset"] = Article.objects.all()
        folder = twins.folder / "changed"
        for _ in range(4):
            twins.settings.SITEMAPS09 = {"BASE_URL": BASE, "MAX_URLS": PAGE, "ENGINE": "serial"}
            with queries_of_articles() as asked:
                export(output=folder, sitemaps={"a": twins.section()}, changed_only=True)
            assert sorted(map(bool, asked.values())) == [False, True], asked

    @pytest.mark.parametrize("snapshot_using", [parameter("default")], indirect=True)
    def test_are_read_by_workers_from_that_of_the_command(self, twins, replica, monkeypatch):
        from tests.models import Article

        twins.attributes["queryset"] = Article.objects.all()
        monkeypatch.setitem(SECTIONS, "a", twins.section())
        monkeypatch.setattr("django_sitemaps09.export.engines._unseen_rows", lambda: None)
        names = {"SITEMAPS": f"{__name__}.SECTIONS", "ENGINE": f"{__name__}.InThisProcess"}
        twins.settings.SITEMAPS09 = {"BASE_URL": BASE, "MAX_URLS": PAGE, **names}
        InThisProcess.tasks.clear()
        InThisProcess.asked.clear()
        report = export(output=twins.folder / "changed", changed_only=True)
        assert report.failures == []
        [using] = {task.using for task in InThisProcess.tasks}
        assert len(InThisProcess.tasks) == ROWS // PAGE
        assert {alias for alias, asked in InThisProcess.asked.items() if asked} == {using}


def test_skipped_items_are_reported_each_time(twins):
    from tests.models import Article

    twins.settled()
    Article.objects.using(twins.using).filter(pk=10).update(slug="x" * 119)
    twins.attributes["location"] = path(
        F("category__slug"), *(Value("/" + "y" * 200) for _ in range(10)), F("slug")
    )
    for _ in range(3):
        report = twins.run()
        assert report.skipped_items == 1
    assert (report.skipped, len(report.files)) == (ROWS // PAGE - 1, ROWS // PAGE)
