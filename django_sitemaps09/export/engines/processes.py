"""Several processes of this machine that render pages at once."""

from __future__ import annotations

import logging
import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing.connection import wait
from pathlib import Path
from typing import Any

import django
from django.apps import apps
from django.core.cache import caches
from django.db import connections

from django_sitemaps09.exceptions import ExportError
from django_sitemaps09.export.render import Rendered, Renderer, Task, render_page, same_declaration

logger = logging.getLogger(__name__)


class Processes:
    """So many worker processes, which end with this one; made when the first page is begun.

    A page whose worker was killed is begun once more, with new ones; then it is an `ExportError`.
    """

    def __init__(self, workers: int) -> None:
        self.workers = workers
        self._pool: ProcessPoolExecutor | None = None
        # Before an export opens one: what its caller has in a connection of his own is not ours to close.
        self._fork = not any(connection.connection for connection in connections.all(initialized_only=True))

    def __enter__(self) -> Processes:
        return self

    def __exit__(self, *error: object) -> None:
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)

    def begin(self, renderer: Renderer, task: Task) -> Callable[[], Rendered]:
        future = self._submit(renderer, task)

        def result() -> Rendered:
            try:
                return future.result()
            except BrokenProcessPool:
                logger.warning("%s: %s; trying again", task.label, _DIED)
            try:
                return self._submit(renderer, task).result()
            except BrokenProcessPool as error:
                raise ExportError(f"{_DIED}, twice in a row") from error

        return result

    def _submit(self, renderer: Renderer, task: Task) -> Future[Rendered]:
        if self._pool is None:
            self._pool = _pool(self.workers, fork=self._fork)
        try:
            return self._pool.submit(_render, renderer, task)
        except BrokenProcessPool:
            self._pool.shutdown()
            self._pool = _pool(self.workers, fork=self._fork)
            return self._pool.submit(_render, renderer, task)


def _render(renderer: Renderer, task: Task) -> Rendered:
    # A worker that was started anew knows nothing of settings that its parent has overridden.
    return render_page(renderer, task, check=same_declaration)


def _pool(count: int, *, fork: bool) -> ProcessPoolExecutor:
    # A process with threads cannot be forked: what the others hold locked would stay locked.
    context = multiprocessing.get_context(None if fork and _threads() == 1 else "spawn")
    if context.get_start_method() == "fork":
        # A connection that two processes share says to one what was meant for the other.
        connections.close_all()
        caches.close_all()
    known = {alias: _address(connections[alias].settings_dict) for alias in connections}
    pool = ProcessPoolExecutor(count, mp_context=context, initializer=_start, initargs=(known,))
    # Forked now, all of them, while no connection is open.
    pool.submit(os.getpid)
    return pool


def _address(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Where a database is: tests have another one than the settings say."""
    return {key: settings[key] for key in ("NAME", "HOST", "PORT", "USER", "PASSWORD") if key in settings}


def _threads() -> int:
    """Those of this process, where the system tells also those that Python does not know of."""
    tasks = Path("/proc/self/task")
    return len(list(tasks.iterdir())) if tasks.is_dir() else threading.active_count()


_DIED = "a worker process ended before its time; the system may have killed it for its memory"


def _start(databases: Mapping[str, Mapping[str, Any]]) -> None:
    """What a worker does first; the databases are those of its parent."""
    # The coordinator is the one that an interrupt from a terminal ends.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # A handler of the project's that only takes a note would keep this process from being ended.
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_end_with, args=[parent.sentinel], daemon=True).start()
    if not apps.ready:
        django.setup(set_prefix=False)
    for alias, address in databases.items():
        if alias in connections:
            connections[alias].settings_dict.update(address)


def _end_with(sentinel: int) -> None:
    """A worker that waits for work does not see by itself that there is nobody left to give it."""
    wait([sentinel])
    os._exit(1)
