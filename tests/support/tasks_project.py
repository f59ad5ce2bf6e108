"""A temporary project whose pages are rendered by workers of Django Tasks, with the queue in its database.

The workers are those of the package django-tasks-db. Otherwise, the project is that of `celery_project`.
"""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.support import services
from tests.support.celery_project import BROKERS, END_WITH_THE_TESTS, NOWHERE, PROJECT, Site, end, require
from tests.support.waiting import DEADLINE, until

DATABASE = "django_tasks_db.DatabaseBackend"
FILES = {
    "__init__.py": END_WITH_THE_TESTS,
    "settings.py": PROJECT["settings.py"]
    + """
INSTALLED_APPS = [*INSTALLED_APPS, "django_tasks_db"]
""",
    "engine.py": PROJECT["engine.py"]
    .replace("import celery\n", "import django_tasks\n")
    .replace('celery._RETRIES["max_retries"] = 1\n', "")
    .replace("celery.Celery", "django_tasks.DjangoTasks"),
}


class TasksSite(Site):
    """A project with its own queue in its own copy of the database."""

    project = FILES
    ready = "Starting worker"

    def __init__(self, folder: Path, database: Path, **tasks: Any) -> None:
        super().__init__(folder, None, folder / "db.sqlite3")
        shutil.copyfile(database, folder / "db.sqlite3")
        # The settings for one test replace these.
        self.celery = {"TASKS": {"default": {"BACKEND": DATABASE, "QUEUES": ["default", "sitemaps"]}}}
        self.celery |= tasks

    def worker_command(self) -> list[str]:
        quick = ["--interval", "0.05", "--no-startup-delay"]
        return ["django", "db_worker", "--queue-name", "*", *quick]

    def are_idle(self) -> None:
        def count(condition: str) -> int:
            query = f"SELECT count(*) FROM django_tasks_database_dbtaskresult WHERE {condition}"  # noqa: S608
            with closing(sqlite3.connect(self.folder / "db.sqlite3", timeout=DEADLINE)) as database:
                found: int = database.execute(query).fetchone()[0]
                return found

        until(lambda: self.sent() <= count("1"), "messages were not sent")
        until(lambda: not count("status IN ('READY', 'RUNNING')"), "workers never ended their pages")


def require_tasks() -> None:
    services.require_packages("django_tasks_db")


@pytest.fixture(scope="session")
def tasks_database(tmp_path_factory: pytest.TempPathFactory, database: Path) -> Path:
    """Create the rows, and the empty queue."""
    require_tasks()
    site = TasksSite(tmp_path_factory.mktemp("tasks-rows") / "site", database)
    process = site.start("django", "migrate", "django_tasks_database", "--verbosity", "0")
    with process:
        try:
            _, err = process.communicate(timeout=DEADLINE)
        finally:
            end(process)
    assert process.returncode == 0, err
    return site.folder / "db.sqlite3"


@pytest.fixture
def make_tasks_site(tmp_path: Path, tasks_database: Path) -> Callable[..., TasksSite]:
    """A project for one test, without workers."""
    return lambda **tasks: TasksSite(tmp_path / "site", tasks_database, **tasks)


@pytest.fixture
def backends(settings: Any) -> Callable[..., None]:
    """Set `TASKS`, by the class of each backend and its queues."""
    require_tasks()
    from django_sitemaps09.export.engines.django_tasks import tasks

    def declare(*queues: str, **classes: str) -> None:
        ours = f"{tasks.__name__}.backends."
        settings.TASKS = {
            alias: {"BACKEND": name if "." in name else f"{ours}{name.lower()}.{name}Backend"}
            | ({"QUEUES": list(queues)} if queues else {})
            for alias, name in classes.items()
        }

    return declare


@pytest.fixture(scope="module", params=[*BROKERS, "tasks"])
def crew(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, database: Path
) -> Iterator[Site]:
    """Start two workers for all tests that leave them unchanged.

    One pair of Celery workers has no result backend, the other has one that does not respond.
    """
    broker, folder = request.param, tmp_path_factory.mktemp("crew") / "site"
    if broker == "tasks":
        site: Site = TasksSite(folder, request.getfixturevalue("tasks_database"))
    else:
        require(broker)
        backend = {} if broker == "redis" else {"CELERY_RESULT_BACKEND": NOWHERE}
        site = Site(folder, broker, database, **backend)
    try:
        with site.working(2, ROOT=str(folder / "theirs")):
            yield site
    finally:
        site.clear()
