"""Backends of Django Tasks without workers, and the queue of pages. See also `test_workers`."""

from __future__ import annotations

import importlib
import sys

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.core.management import CommandError, call_command

from django_sitemaps09.export import engines
from tests.support.configuration import BASE
from tests.support.engine_project import DATABASE

pytestmark = pytest.mark.services


# In a transaction, nothing would be sent.
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("options", [{"engine": "tasks"}, {"engine": "tasks", "workers": 1}])
def test_a_backend_that_never_runs_a_task_is_an_error(backends, settings, monkeypatch, tmp_path, options):
    settings.SITEMAPS09 = {"SITEMAPS": "tests.support.engine_project.SECTIONS", "BASE_URL": BASE}
    # This process also runs the tasks, so its rows are seen.
    monkeypatch.setattr(engines, "_unseen_rows", lambda: None)
    backends(default="Dummy")
    with pytest.raises(CommandError, match="'default' of TASKS is a DummyBackend, which"):
        call_command("export_sitemaps", output=str(tmp_path / "public"), **options)
    assert not (tmp_path / "public").exists()


@pytest.mark.parametrize(
    ("queues", "aliases", "page", "whole"),
    [
        ([], ["default"], ("default", "default"), ("default", "default")),
        (["default", "sitemaps"], ["default"], ("default", "sitemaps"), ("default", "default")),
        (["mail", "sitemaps"], ["default"], ("default", "sitemaps"), ("default", "sitemaps")),
        (["default"], ["default", "sitemaps"], ("sitemaps", "default"), ("default", "default")),
    ],
)
def test_the_queue_is_sitemaps_for_pages_and_default_for_exports(backends, queues, aliases, page, whole):
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
