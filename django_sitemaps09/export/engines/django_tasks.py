"""Render pages in workers of Django Tasks: `django.tasks` of Django 6, or the package `django-tasks`."""

from __future__ import annotations

import logging
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from django.core.exceptions import ImproperlyConfigured
from django.db import DatabaseError

from django_sitemaps09.export.engines.messages import handle_message
from django_sitemaps09.export.engines.queues import QueueEngine
from django_sitemaps09.orm.reading import retry

logger = logging.getLogger(__name__)

_PACKAGE = "django.tasks" if find_spec("django.tasks") else "django_tasks"
tasks: Any = import_module(_PACKAGE)
_DUMMY: Any = import_module(f"{_PACKAGE}.backends.dummy").DummyBackend
_IMMEDIATE: Any = import_module(f"{_PACKAGE}.backends.immediate").ImmediateBackend


def route(*names: str) -> dict[str, str]:
    """Return the first of these names that is a backend, and the first that is one of its queues."""
    alias = next((name for name in names if name in tasks.task_backends), None)
    if alias is None:
        raise ImproperlyConfigured("TASKS has no backend for sitemaps. Add the backend 'default'.")
    queues = tasks.task_backends[alias].queues or {"default"}
    queue = next((name for name in names if name in queues), None)
    if queue is None:
        raise ImproperlyConfigured(
            f"The backend {alias!r} of TASKS has no queue for sitemaps. Add 'sitemaps' or 'default' to its "
            f"QUEUES, which are {', '.join(map(repr, sorted(queues)))}."
        )
    return {"backend": alias, "queue_name": queue}


_page_route = partial(route, "sitemaps", "default")
_HINT = "Use a backend with workers, such as django_tasks_db.DatabaseBackend."


class DjangoTasks(QueueEngine):
    """Engine that sends pages to the backend and the queue `sitemaps` of `TASKS`, or else to `default`."""

    worker_name = "worker of Django Tasks"
    shown_errors = (DatabaseError,)

    def __init__(self, workers: int) -> None:
        super().__init__(workers)
        if warning := self.check():
            logger.warning("%s", warning)

    @staticmethod
    def check() -> str | None:
        """Return a warning about the backend; raise `ImproperlyConfigured` if it never runs a task."""
        alias = _page_route()["backend"]
        backend, label = tasks.task_backends[alias], f"The backend {alias!r} of TASKS is"
        if isinstance(backend, _DUMMY):
            raise ImproperlyConfigured(f"{label} a DummyBackend, which never runs a task. {_HINT}")
        effect = "the export itself renders all pages, one after the other"
        is_immediate = isinstance(backend, _IMMEDIATE)
        return f"{label} an ImmediateBackend, so {effect}. {_HINT}" if is_immediate else None

    def put(self, message: str) -> None:
        retry(lambda: render.using(**_page_route()).enqueue(message), "Sending a page")

    def describe(self) -> tuple[str, str]:
        queue = "the queue {queue_name!r} of the backend {backend!r} of TASKS"
        command = "with django-tasks-db: manage.py db_worker --backend {backend} --queue-name {queue_name}"
        return queue.format(**_page_route()), command.format(**_page_route())


@tasks.task(**_page_route())  # type: ignore[untyped-decorator]
def render(message: str) -> None:
    """Render one page of an export in a worker."""
    handle_message(message)
