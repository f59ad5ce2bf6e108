"""An export with `--changed-only` reads less than a full one, also from replicas."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any, ClassVar
from unittest import mock

import pytest
from django.db import connections
from django.db.models import F, Value
from django.test.utils import CaptureQueriesContext

from django_sitemaps09 import Sitemap
from django_sitemaps09.export import export
from django_sitemaps09.export.rendering.page import (
    RenderedPage,
    Renderer,
    Task,
    check_declaration,
    render_page,
)
from django_sitemaps09.pages import HASHES, Fingerprint
from django_sitemaps09.sources.fingerprints import fingerprint
from tests.support.configuration import BASE
from tests.support.databases import parameter
from tests.support.twins import NEWER, OLD, PAGE, ROWS, Twins, add, path, some

pytestmark = pytest.mark.slow


class TestWhatIsSkipped:
    def test_is_not_read(self, twins: Twins) -> None:
        twins.settled()
        everything = CaptureQueriesContext(connections[twins.using])
        some_of_it = CaptureQueriesContext(connections[twins.using])
        folder = twins.folder / "changed"
        sitemaps = {"a": twins.section()}
        twins.now[0] += timedelta(hours=1)
        with some_of_it:
            report = export(output=folder, sitemaps=sitemaps, changed_only=True)
        assert report.sections[0].skipped == ROWS // PAGE
        with everything:
            export(output=folder, sitemaps=sitemaps)
        asked = [query["sql"] for query in some_of_it.captured_queries]
        # SQLite has no hash function, so the stored rows are read.
        stored = [sql for sql in asked if "+(" in sql]
        slices = [sql for sql in asked if "ORDER BY" in sql and "tests_category" in sql and "+(" not in sql]
        whole = [q["sql"] for q in everything.captured_queries]
        read = [sql for sql in whole if "ORDER BY" in sql and "tests_category" in sql]
        # The rows that are used to estimate the length of entries are always read.
        assert len(slices) == 1
        assert len(read) >= ROWS // PAGE + 1
        fingerprints = [sql for sql in asked if "COUNT(" in sql]
        embedded = connections[twins.using].vendor == "sqlite"
        assert (len(fingerprints), len(stored)) == ((0, ROWS // PAGE) if embedded else (1, 0))

    def test_is_all_but_the_page_that_changed(self, twins: Twins) -> None:
        twins.settled()
        add(twins, 335, NEWER)
        some(twins, 340).delete()
        report = twins.run()
        assert (report.skipped, report.written) == (ROWS // PAGE - 1, 1)
        assert twins.same

    def test_is_in_the_report_with_the_numbers_of_the_previous_run(self, twins: Twins) -> None:
        twins.run()
        first = twins.run()
        report = twins.run()
        assert [(file.name, file.urls, file.digest) for file in report.files] == [
            (file.name, file.urls, file.digest) for file in first.files
        ]
        assert report.urls == ROWS
        assert (report.skipped, report.unchanged, report.written) == (ROWS // PAGE, ROWS // PAGE, 0)

    def test_is_nothing_if_the_previous_run_hashed_rows_in_another_way(self, twins: Twins) -> None:
        """As a version before or after this one can."""

        def other_hashes(*arguments: Any) -> Fingerprint:
            found = fingerprint(*arguments)
            other = found.hash[::-1] if isinstance(found.hash, str) else HASHES - 1 - found.hash
            return found._replace(hash=other)

        with mock.patch("django_sitemaps09.sources.queryset.fingerprint", other_hashes):
            twins.settled()
            assert twins.run().skipped == ROWS // PAGE
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
    def test_is_unknown_if_a_hook_takes_the_item_or_a_time_is_missing(
        self, twins: Twins, attributes: dict[str, Any]
    ) -> None:
        twins.attributes |= attributes
        for _ in range(3):
            report = twins.run()
            assert report.skipped == 0
            assert twins.same

    def test_is_nothing_of_what_has_no_rows(self, tmp_path: Path, settings: Any) -> None:
        class Numbers(Sitemap[int]):
            lastmod = OLD

            def items(self) -> list[int]:
                return list(range(25))

            def location(self, item: int) -> str:
                return f"/{item}/"

        settings.SITEMAPS09 = {"BASE_URL": BASE, "MAX_URLS": PAGE, "ENGINE": "serial"}
        for _ in range(2):
            report = export(output=tmp_path, sitemaps={"a": Numbers}, changed_only=True)
            assert report.sections[0].skipped == 0


SECTIONS: dict[str, Any] = {}


class InThisProcess:
    """An engine that renders in this process like workers.

    It records tasks, and queries of each replica.
    """

    tasks: ClassVar[list[Task]] = []
    asked: ClassVar[Counter[str]] = Counter()

    def __init__(self, workers: int) -> None:
        self.workers = workers

    def __enter__(self) -> InThisProcess:
        return self

    def __exit__(self, *error: object) -> None:
        pass

    def submit(self, renderer: Renderer, task: Task) -> Callable[[], RenderedPage]:
        self.tasks.append(task)
        aliases = ("default", "replica")
        captured = {alias: CaptureQueriesContext(connections[alias]) for alias in aliases}
        with captured["default"], captured["replica"]:
            rendered = render_page(renderer, task, check=check_declaration)
        for alias, found in captured.items():
            self.asked[alias] += sum("tests_article" in query["sql"] for query in found.captured_queries)
        return lambda: rendered


class TestRowsOfReplicas:
    @pytest.mark.parametrize("snapshot_using", [parameter("default")], indirect=True)
    def test_are_read_from_one_of_them_in_a_run(self, twins: Twins, replica: Any) -> None:
        """With a fingerprint from one replica and rows from another, a page could stay outdated forever."""
        from tests.models import Article

        twins.attributes["queryset"] = Article.objects.all()
        folder = twins.folder / "changed"
        for _ in range(4):
            twins.settings.SITEMAPS09 = {"BASE_URL": BASE, "MAX_URLS": PAGE, "ENGINE": "serial"}
            captured = {
                alias: CaptureQueriesContext(connections[alias]) for alias in ("default", "replica")
            }
            with captured["default"], captured["replica"]:
                export(output=folder, sitemaps={"a": twins.section()}, changed_only=True)
            asked = {
                alias: [query for query in found.captured_queries if "tests_article" in query["sql"]]
                for alias, found in captured.items()
            }
            assert sorted(map(bool, asked.values())) == [False, True], asked

    @pytest.mark.parametrize("snapshot_using", [parameter("default")], indirect=True)
    def test_are_read_by_workers_from_that_of_the_command(
        self, twins: Twins, replica: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
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


def test_skipped_items_are_reported_each_time(twins: Twins) -> None:
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
