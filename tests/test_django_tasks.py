"""The task of Django Tasks that runs a whole export."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from django_sitemaps09.stores import LocalStore, exclusive_lock
from tests.support.celery_sections import HASTY
from tests.support.configuration import BASE
from tests.support.engine_project import content
from tests.support.sections import Numbers
from tests.support.tasks_project import TasksSite

pytestmark = pytest.mark.services


@pytest.mark.slow
def test_a_worker_exports_with_pages_of_another_one_and_returns_the_exit_status(
    make_tasks_site: Callable[..., TasksSite], tmp_path: Path
) -> None:
    site, root = make_tasks_site(), tmp_path / "tasks"
    site.run("exported", str(tmp_path / "serial"), "serial", "a", "one")
    with site.working(2, ENGINE=HASTY, ROOT=str(root)):
        status, result = site.run("enqueued", "a", "one")
        assert (status, result["status"], result["failures"]) == ("SUCCESSFUL", 0, [])
        with exclusive_lock(LocalStore(root)):
            status, result = site.run("enqueued", "a", "one")
        refused = f"Another export is writing to {root}; nothing was changed."
        assert (status, result["status"], result["failures"]) == ("SUCCESSFUL", 75, [refused])
    assert site.sent() > 1
    assert content(root) == content(tmp_path / "serial")


@pytest.mark.sitemaps09
def test_a_backend_without_workers_runs_the_export_at_once(
    backends: Callable[..., None],
    configure: Callable[..., None],
    register: Callable[..., None],
    folder: Path,
) -> None:
    backends(default="Immediate")
    from django_sitemaps09.django_tasks import export

    configure(ROOT=str(folder))
    register(a=Numbers(3), b=Numbers(2))
    result = export.enqueue("a", strict=True)
    assert result.return_value["status"] == 0
    assert result.return_value["hosts"][0]["index_url"] == f"{BASE}/sitemap.xml"
    assert "sitemap-a-1.xml.gz" in content(folder)
    assert "sitemap-b-1.xml.gz" not in content(folder)
