"""Backends of Django Tasks without workers, and the queue of pages. See also `test_workers`."""

from __future__ import annotations

import importlib
import sys
import time

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.core.management import CommandError, call_command

from django_sitemaps09.export import engines
from tests.support import engine_project
from tests.support.configuration import BASE
from tests.support.engine_project import DATABASE, PAGE, fill, runs
from tests.support.exports import content

pytestmark = pytest.mark.services


def exported_twice(folder, *names):
    return [engine_project.exported(folder / engine, engine, *names) for engine in ("serial", "tasks")]


# In a transaction, nothing would be sent.
@pytest.mark.django_db(transaction=True)
class TestABackend:
    @pytest.fixture(autouse=True)
    def _configure(self, settings, monkeypatch):
        sections = "tests.support.engine_project.SECTIONS"
        settings.SITEMAPS09 = {"SITEMAPS": sections, "BASE_URL": BASE, "MAX_URLS": PAGE}
        # This process also runs the tasks, so its rows are seen.
        monkeypatch.setattr(engines, "_unseen_rows", lambda: None)

    def test_that_runs_tasks_at_once_renders_the_same_bytes(self, backends, tmp_path, caplog):
        fill()
        backends(default="Immediate")
        serial, report = exported_twice(tmp_path, "a", "odd", "one")
        assert (report, content(tmp_path / "tasks")) == (serial, content(tmp_path / "serial"))
        assert (serial["published"], runs(tmp_path / "tasks")) == (True, [])
        assert "the export itself renders all pages" in caplog.text

    @pytest.mark.parametrize("options", [{"engine": "tasks"}, {"engine": "tasks", "workers": 1}])
    def test_that_never_runs_a_task_is_an_error(self, backends, tmp_path, options):
        backends(default="Dummy")
        with pytest.raises(CommandError, match="'default' of TASKS is a DummyBackend, which"):
            call_command("export_sitemaps", output=str(tmp_path / "public"), **options)
        assert not (tmp_path / "public").exists()

    def test_without_workers_is_a_failure_that_names_the_queue_after_half_a_minute(
        self, backends, tmp_path, monkeypatch
    ):
        fill()
        backends("default", "sitemaps", default=DATABASE)
        unread = engines.engine_class("tasks")
        monkeypatch.setattr(unread, "put", lambda engine, message: None)
        monkeypatch.setattr(unread, "clock", staticmethod(lambda: 1_000 * time.monotonic()))
        serial, report = exported_twice(tmp_path, "a", "b")
        [failure] = report["failures"]
        assert failure.startswith("No worker of Django Tasks took a page, so the export itself ")
        assert "reads the queue 'sitemaps' of the backend 'default' of TASKS (with django-tasks" in failure
        assert "manage.py db_worker --backend default --queue-name sitemaps)" in failure
        assert report | {"failures": [], "exit_status": 0} == serial
        assert content(tmp_path / "tasks") == content(tmp_path / "serial")


@pytest.mark.parametrize(
    ("queues", "aliases", "page", "whole"),
    [
        ([], ["default"], ("default", "default"), ("default", "default")),
        (["default", "sitemaps"], ["default"], ("default", "sitemaps"), ("default", "default")),
        (["mail", "sitemaps"], ["default"], ("default", "sitemaps"), ("default", "sitemaps")),
        (["default"], ["default", "sitemaps"], ("sitemaps", "default"), ("default", "default")),
    ],
)
def test_the_queue_is_sitemaps_for_pages_and_default_for_exports(
    backends, queues, aliases, page, whole
):
    from django_sitemaps09.export.engines import django_tasks

    backends(*queues, **dict.fromkeys(aliases, DATABASE))
    assert tuple(django_tasks.route("sitemaps", "default").values()) == page
    assert tuple(django_tasks.route("default", "sitemaps").values()) == whole
    backend, queue = page
    engine = engines.engine_class("tasks")(2)
    assert engine.describe()[0] == f"the queue {queue!r} of the backend {backend!r} of TASKS"


@pytest.mark.parametrize(
    ("queues", "alias", "backend", "why"),
    [
        (["mail", "news"], "default", DATABASE, "Add 'sitemaps' or 'default' to its QUEUES, which"),
        ([], "mail", DATABASE, r"TASKS has no backend for sitemaps\. Add the b"),
        ([], "default", "nowhere.Backend", "nowhere"),
    ],
)
def test_a_queue_must_exist_in_a_backend_for_sitemaps(backends, queues, alias, backend, why):
    backends(*queues, **{alias: backend})
    with pytest.raises(ImproperlyConfigured, match=why):
        engines.engine_class("tasks")(2)


def test_without_django_tasks_the_engine_says_what_it_needs(monkeypatch):
    monkeypatch.delitem(sys.modules, "django_sitemaps09.export.engines.django_tasks", raising=False)
    monkeypatch.delattr(engines, "django_tasks", raising=False)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    monkeypatch.setitem(sys.modules, "django_tasks", None)
    with pytest.raises(ImproperlyConfigured, match=r"which needs Django 6.0 or the extra `tasks`"):
        engines.engine_class("tasks")(2)
    monkeypatch.delitem(sys.modules, "django_sitemaps09.django_tasks", raising=False)
    with pytest.raises(ImportError, match=r"django_tasks needs Django 6.0 or the extra `tasks` \("):
        importlib.import_module("django_sitemaps09.django_tasks")
