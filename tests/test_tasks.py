"""The Celery task that runs a whole export."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import pytest

import django_sitemaps09
from django_sitemaps09.exceptions import ExportRunningError
from django_sitemaps09.stores import LocalStore, exclusive_lock
from tests.support.celery_project import Site
from tests.support.engine_project import content
from tests.support.waiting import until


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Take the lock between two exports."""
    with ExitStack() as stack:

        def take() -> bool:
            with suppress(ExportRunningError):
                stack.enter_context(exclusive_lock(LocalStore(folder)))
                return True
            return False

        until(take, "the lock was never free")
        yield


@pytest.mark.slow
@pytest.mark.services
def test_beat_and_a_daemonic_worker_run_exports_whose_result_is_the_exit_status(
    make_site: Callable[..., Site], tmp_path: Path
) -> None:
    entry = {"task": "django_sitemaps09.export", "schedule": 0.5, "args": ["a", "one"]}
    site = make_site("redis", CELERY_BEAT_SCHEDULE={"export-sitemaps": entry})
    site.options = ("--beat", "--schedule", str(tmp_path / "beat"))
    site.run("exported", str(tmp_path / "serial"), "serial", "a", "one")
    root = tmp_path / "celery"
    with site.working(1, ROOT=str(root)):
        until(lambda: "{'status': 0, 'failures': []" in site.said(), "no export succeeded")
        with locked(root):
            until(lambda: "{'status': 75, 'failures': ['Another" in site.said(), "no export was refused")
            assert content(root) == content(tmp_path / "serial")
    assert "Traceback" not in site.said()


class TestWithoutCelery:
    @pytest.fixture(autouse=True)
    def _without_celery(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
        monkeypatch.delitem(sys.modules, "django_sitemaps09.tasks", raising=False)
        monkeypatch.setattr(django_sitemaps09, "tasks", None, raising=False)

    def test_the_module_is_imported_and_says_what_its_tasks_need(self) -> None:
        module = importlib.import_module("django_sitemaps09.tasks")
        for name in ("export", "render"):
            with pytest.raises(ImportError, match=r"Install the extra `celery`\."):
                getattr(module, name)
        assert not hasattr(module, "nothing")
        sys.modules.pop(module.__name__)
