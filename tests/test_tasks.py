"""The tasks that run a whole export, and the backends and queues of Django Tasks."""

from __future__ import annotations

import importlib
import importlib.util
import logging
import sys
from contextlib import ExitStack, contextmanager, suppress

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.core.management import CommandError, call_command

import django_sitemaps09
from django_sitemaps09.exceptions import ExportRunningError
from tests.support.commands import Broken
from tests.support.configuration import BASE
from tests.support.engine_project import DATABASE, HASTY, ROWS
from tests.support.exports import content
from tests.support.internals import LocalStore, engines, exclusive_lock
from tests.support.processes import until
from tests.support.sections import Numbers


@contextmanager
def locked(folder):
    with ExitStack() as stack:

        def is_taken():
            with suppress(ExportRunningError):
                return stack.enter_context(exclusive_lock(LocalStore(folder)))

        until(is_taken, "the lock was never free")
        yield


def enqueued(*names):
    """Run an export in a worker of Django Tasks, and return the status and the result of its task."""
    from django_sitemaps09.django_tasks import export

    result = export.enqueue(*names)

    def is_finished():
        result.refresh()
        return result.is_finished

    until(is_finished, "no worker completed the export")
    return str(result.status), result.return_value


def ordered(*names):
    """Run an export in a worker of Celery, which has no result backend."""
    from django_sitemaps09.tasks import export

    export.delay(*names)


@pytest.mark.slow
@pytest.mark.services
def test_beat_and_a_daemonic_worker_run_exports_whose_result_is_the_exit_status(make_project, tmp_path):
    entry = {"task": "django_sitemaps09.export", "schedule": 0.5, "args": ["a", "one"]}
    project, root = make_project("redis", CELERY_BEAT_SCHEDULE={"exports": entry}), tmp_path / "celery"
    with project.working(1, "--beat", "--schedule", str(tmp_path / "beat"), ROOT=str(root)):
        until(lambda: "{'status': 0, 'failures': []" in project.log(), "no export succeeded")
        with locked(root):
            until(lambda: "{'status': 75, 'failures': ['Another" in project.log(), "no export was refused")
            assert content(root) == project.serial("a", "one")[1]
    assert "Traceback" not in project.log()


@pytest.mark.slow
@pytest.mark.services
def test_a_worker_of_django_tasks_exports_with_pages_of_another_one(make_project, tmp_path):
    project, root = make_project("tasks"), tmp_path / "tasks"
    with project.working(2, ENGINE=HASTY, ROOT=str(root)):
        for taken in (False, True):
            with ExitStack() as stack:
                if taken:
                    stack.enter_context(exclusive_lock(LocalStore(root)))
                status, result = project.run(enqueued, "a", "one")
            busy = f"Another export is writing to {root}; nothing was changed."
            expected = (75, [busy]) if taken else (0, [])
            assert (status, result["status"], result["failures"]) == ("SUCCESSFUL", *expected)
    assert (project.sent() > 1, content(root)) == (True, project.serial("a", "one")[1])


@pytest.mark.slow
@pytest.mark.services
@pytest.mark.parametrize(("broker", "engine"), [("redis", "celery"), ("tasks", "tasks")])
def test_the_only_worker_renders_the_pages_of_its_export_itself(broker, engine, make_project, tmp_path):
    """A worker that runs a whole export cannot take pages."""
    project, keys = make_project(broker), {"ENGINE": engine, "ROOT": str(tmp_path / "public")}
    with project.working(1, **keys):
        if broker == "tasks":
            status, result = project.run(enqueued, "a", **keys)
            assert (status, result["status"], result["failures"]) == ("SUCCESSFUL", 0, [])
            assert result["hosts"][0]["urls"] == ROWS
        else:
            project.run(ordered, "a", **keys)
            until((tmp_path / "public" / "sitemap.xml").exists, "nothing was published")
            until(lambda: "export[" in project.log() and "'status': 0" in project.log(), "it never ended")


@pytest.mark.services
@pytest.mark.sitemaps09
def test_a_backend_without_workers_runs_the_export_at_once(backends, configure, register, folder, caplog):
    backends(default="Immediate")
    from django_sitemaps09.django_tasks import export

    configure(ROOT=str(folder))
    register(a=Numbers(3), b=Numbers(2))
    value = export.enqueue("a", strict=True).return_value
    assert (value["status"], value["hosts"][0]["index_url"]) == (0, f"{BASE}/sitemap.xml")
    assert {"sitemap-a-1.xml.gz", "sitemap-b-1.xml.gz"} & {*content(folder)} == {"sitemap-a-1.xml.gz"}
    register(a=Broken(3))
    [failure] = export.enqueue().return_value["failures"]
    assert ("django_sitemaps09.export.exports", logging.ERROR, failure) in caplog.record_tuples


def test_without_celery_the_module_is_imported_and_says_what_its_tasks_need(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    monkeypatch.delitem(sys.modules, "django_sitemaps09.tasks", raising=False)
    monkeypatch.setattr(django_sitemaps09, "tasks", None, raising=False)
    module = importlib.import_module("django_sitemaps09.tasks")
    for name in ("export", "render"):
        with pytest.raises(ImportError, match=r"Install the extra `celery`\."):
            getattr(module, name)
    assert not hasattr(module, "nothing")
    sys.modules.pop(module.__name__)


# In a transaction, nothing would be sent.
@pytest.mark.services
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


@pytest.mark.services
@pytest.mark.parametrize(("queues", "aliases", "page", "whole"), [
    ([], ["default"], ("default", "default"), ("default", "default")),
    (["default", "sitemaps"], ["default"], ("default", "sitemaps"), ("default", "default")),
    (["mail", "sitemaps"], ["default"], ("default", "sitemaps"), ("default", "sitemaps")),
    (["default"], ["default", "sitemaps"], ("sitemaps", "default"), ("default", "default")),
])  # fmt: skip
def test_the_queue_is_sitemaps_for_pages_and_default_for_exports(backends, queues, aliases, page, whole):
    from django_sitemaps09.export.engines import django_tasks

    backends(*queues, **dict.fromkeys(aliases, DATABASE))
    assert tuple(django_tasks.route("sitemaps", "default").values()) == page
    assert tuple(django_tasks.route("default", "sitemaps").values()) == whole
    backend, queue = page
    engine = engines.engine_class("tasks")(2)
    assert engine.describe()[0] == f"the queue {queue!r} of the backend {backend!r} of TASKS"


@pytest.mark.services
@pytest.mark.parametrize(("queues", "alias", "backend", "why"), [
    (["mail", "news"], "default", DATABASE, "Add 'sitemaps' or 'default' to its QUEUES, which"),
    ([], "mail", DATABASE, r"TASKS has no backend for sitemaps\. Add the b"),
    ([], "default", "nowhere.Backend", "nowhere"),
])  # fmt: skip
def test_a_queue_must_exist_in_a_backend_for_sitemaps(backends, queues, alias, backend, why):
    backends(*queues, **{alias: backend})
    with pytest.raises(ImproperlyConfigured, match=why):
        engines.engine_class("tasks")(2)


@pytest.mark.services
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
