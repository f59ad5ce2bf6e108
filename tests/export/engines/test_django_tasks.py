"""Pages on workers of Django Tasks: a real database worker, and the backends that Django has."""

from __future__ import annotations

import importlib
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.core.management import CommandError, call_command

from django_sitemaps09.export import engines
from tests.support import celery_sections
from tests.support.celery_project import runs
from tests.support.celery_sections import HASTY
from tests.support.configuration import BASE
from tests.support.engine_project import PAGE, content, fill
from tests.support.tasks_project import DATABASE, TasksSite

pytestmark = pytest.mark.services


@pytest.mark.slow
class TestADatabaseWorker:
    def test_without_tables_is_a_warning(
        self, database: Path, make_tasks_site: Callable[..., TasksSite], tmp_path: Path
    ) -> None:
        site = make_tasks_site()
        site.database["NAME"] = str(database)
        report = site.run("exported", str(tmp_path / "tasks"), HASTY, "a", "b")
        [warning] = report["warnings"]
        missing = "a table is missing, run manage.py migrate: no such table: django_tasks_da"
        assert f"does not accept messages (OperationalError: {missing}" in warning
        assert (report | {"warnings": []}, content(tmp_path / "tasks")) == site.serial("a", "b")


# In a transaction, nothing would be sent.
@pytest.mark.django_db(transaction=True)
class TestABackend:
    @pytest.fixture(autouse=True)
    def _configure(self, settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        sections = "tests.support.celery_sections.SECTIONS"
        settings.SITEMAPS09 = {"SITEMAPS": sections, "BASE_URL": BASE, "MAX_URLS": PAGE}
        # This process also runs the tasks, so its rows are seen.
        monkeypatch.setattr(engines, "_unseen_rows", lambda: None)

    def test_that_runs_tasks_at_once_renders_the_same_bytes(
        self, backends: Callable[..., None], tmp_path: Path, caplog: pytest.LogCaptureFixture
    ) -> None:
        fill()
        backends(default="Immediate")
        serial = celery_sections.exported(str(tmp_path / "serial"), "serial", "a", "odd", "one")
        assert celery_sections.exported(str(tmp_path / "tasks"), "tasks", "a", "odd", "one") == serial
        assert serial["published"]
        assert content(tmp_path / "tasks") == content(tmp_path / "serial")
        assert runs(tmp_path / "tasks") == []
        assert "the export itself renders all pages" in caplog.text

    def test_that_never_runs_a_task_is_an_error(
        self, backends: Callable[..., None], tmp_path: Path
    ) -> None:
        backends(default="Dummy")
        for options in ({"engine": "tasks"}, {"engine": "tasks", "workers": 1}):
            with pytest.raises(CommandError, match="'default' of TASKS is a DummyBackend, which"):
                call_command("export_sitemaps", output=str(tmp_path / "public"), **options)
        assert not (tmp_path / "public").exists()

    def test_without_workers_is_a_failure_that_names_the_queue_after_half_a_minute(
        self, backends: Callable[..., None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        fill()
        backends("default", "sitemaps", default=DATABASE)
        unread: Any = engines.engine_class("tasks")
        monkeypatch.setattr(unread, "put", lambda engine, message: None)
        monkeypatch.setattr(unread, "clock", staticmethod(lambda: 1_000 * time.monotonic()))
        serial = celery_sections.exported(str(tmp_path / "serial"), "serial", "a", "b")
        report = celery_sections.exported(str(tmp_path / "tasks"), "tasks", "a", "b")
        [failure] = report["failures"]
        assert failure.startswith("No worker of Django Tasks took a page, so the export itself ")
        assert "reads the queue 'sitemaps' of the backend 'default' of TASKS (with django-tasks" in failure
        assert "manage.py db_worker --backend default --queue-name sitemaps)" in failure
        assert report | {"failures": [], "exit_status": 0} == serial
        assert content(tmp_path / "tasks") == content(tmp_path / "serial")

    def test_that_cannot_be_imported_is_an_error(self, backends: Callable[..., None]) -> None:
        backends(default="nowhere.Backend")
        with pytest.raises(ImproperlyConfigured, match="nowhere"):
            engines.engine("tasks", 2, elsewhere=True)


class TestTheQueue:
    @pytest.mark.parametrize(
        ("queues", "aliases", "page", "whole"),
        [
            ([], ["default"], ("default", "default"), ("default", "default")),
            (["default", "sitemaps"], ["default"], ("default", "sitemaps"), ("default", "default")),
            (["mail", "sitemaps"], ["default"], ("default", "sitemaps"), ("default", "sitemaps")),
            (["default"], ["default", "sitemaps"], ("sitemaps", "default"), ("default", "default")),
        ],
    )
    def test_is_named_sitemaps_for_pages_and_default_for_exports(
        self,
        backends: Callable[..., None],
        queues: list[str],
        aliases: list[str],
        page: tuple[str, str],
        whole: tuple[str, str],
    ) -> None:
        from django_sitemaps09.export.engines import django_tasks

        backends(*queues, **dict.fromkeys(aliases, DATABASE))
        assert tuple(django_tasks.route("sitemaps", "default").values()) == page
        assert tuple(django_tasks.route("default", "sitemaps").values()) == whole
        backend, queue = page
        engine: Any = engines.engine_class("tasks")(2)
        assert engine.describe()[0] == f"the queue {queue!r} of the backend {backend!r} of TASKS"

    @pytest.mark.parametrize(
        ("queues", "alias", "why"),
        [
            (["mail", "news"], "default", "Add 'sitemaps' or 'default' to its QUEUES, which"),
            ([], "mail", r"TASKS has no backend for sitemaps\. Add the b"),
        ],
    )
    def test_must_exist_in_a_backend_for_sitemaps(
        self, backends: Callable[..., None], queues: list[str], alias: str, why: str
    ) -> None:
        backends(*queues, **{alias: DATABASE})
        with pytest.raises(ImproperlyConfigured, match=why):
            engines.engine_class("tasks")(2)


def test_without_django_tasks_the_engine_says_what_it_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "django_sitemaps09.export.engines.django_tasks", raising=False)
    monkeypatch.delattr(engines, "django_tasks", raising=False)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    monkeypatch.setitem(sys.modules, "django_tasks", None)
    with pytest.raises(ImproperlyConfigured, match=r"which needs Django 6.0 or the extra `tasks`"):
        engines.engine_class("tasks")(2)
    monkeypatch.delitem(sys.modules, "django_sitemaps09.django_tasks", raising=False)
    with pytest.raises(ImportError, match=r"django_tasks needs Django 6.0 or the extra `tasks` \("):
        importlib.import_module("django_sitemaps09.django_tasks")
