"""Render pages in several processes of this machine at once."""

from __future__ import annotations

import logging
import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

import django
from django.apps import apps
from django.core.cache import caches
from django.db import connections

from django_sitemaps09.exceptions import ExportError
from django_sitemaps09.export.rendering.page import Rendered, Renderer, Task, check_declaration, render_page

logger = logging.getLogger(__name__)


class Processes:
    """Pool of worker processes, which is created for the first page and ends with the export.

    A page whose worker was killed is submitted once more, to a new pool; then it raises `ExportError`.
    """

    def __init__(self, workers: int) -> None:
        self.workers = workers
        self._pool: ProcessPoolExecutor | None = None
        # A message in this pipe ends the workers.
        self._end_receiver, self._end_sender = multiprocessing.Pipe(duplex=False)
        # Looked up before the export opens connections: those of the caller must not be closed to fork.
        self._fork = not any(connection.connection for connection in connections.all(initialized_only=True))

    def __enter__(self) -> Processes:
        return self

    def __exit__(self, *error: object) -> None:
        if isinstance(error[1], BaseException) and not isinstance(error[1], Exception):
            # An interrupt does not wait for the pages that are being rendered.
            self._end_sender.send_bytes(b"end")
        with self._end_receiver, self._end_sender:
            if self._pool is not None:
                self._pool.shutdown(cancel_futures=True)

    def submit(self, renderer: Renderer, task: Task) -> Callable[[], Rendered]:
        future = self._submit(renderer, task)

        def result() -> Rendered:
            try:
                return future.result()
            except BrokenProcessPool:
                logger.warning("%s: %s; retrying", task.label, _DIED)
            try:
                return self._submit(renderer, task).result()
            except BrokenProcessPool as error:
                raise ExportError(f"{_DIED} (twice in a row)") from error

        return result

    def _submit(self, renderer: Renderer, task: Task) -> Future[Rendered]:
        with _signals_wait():
            if self._pool is None:
                self._pool = self._create_pool()
            try:
                return self._pool.submit(_render, renderer, task)
            except BrokenProcessPool:
                self._pool.shutdown()
                self._pool = self._create_pool()
                return self._pool.submit(_render, renderer, task)

    def _create_pool(self) -> ProcessPoolExecutor:
        return _pool(self.workers, self._end_receiver, fork=self._fork)


@contextmanager
def _signals_wait() -> Iterator[None]:
    """Block signals for processes that start meanwhile, until these have handlers of their own."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    previous = signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, previous)


def _render(renderer: Renderer, task: Task) -> Rendered:
    # A worker that was spawned does not know settings that its parent has overridden.
    return render_page(renderer, task, check=check_declaration)


def _pool(count: int, end_receiver: Connection, *, fork: bool) -> ProcessPoolExecutor:
    # A process with threads cannot be forked: locks held by other threads would stay locked.
    context = multiprocessing.get_context(None if fork and _threads() == 1 else "spawn")
    if context.get_start_method() == "fork":
        # Processes that share a connection would get each other's answers.
        connections.close_all()
        caches.close_all()
    addresses = {alias: _address(connections[alias].settings_dict) for alias in connections}
    pool = ProcessPoolExecutor(
        count, mp_context=context, initializer=_start, initargs=(addresses, end_receiver)
    )
    # Fork all workers now, while no connection is open.
    pool.submit(os.getpid)
    return pool


def _address(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the address of a database, which in tests differs from the settings."""
    return {key: settings[key] for key in ("NAME", "HOST", "PORT", "USER", "PASSWORD") if key in settings}


def _threads() -> int:
    """Return the number of threads, including those unknown to Python if the system lists them."""
    tasks = Path("/proc/self/task")
    return len(list(tasks.iterdir())) if tasks.is_dir() else threading.active_count()


_SIGNALS = (signal.SIGINT, signal.SIGTERM)
_DIED = "a worker process died unexpectedly; the system may have killed it for lack of memory"


def _start(databases: Mapping[str, Mapping[str, Any]], end_receiver: Connection) -> None:
    """Prepare a worker process.

    `databases` are the addresses that its parent uses; `end_receiver` is the pipe by which the parent ends
    it.
    """
    # An interrupt from a terminal is handled by the coordinator alone.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # A handler of the project that only records the signal would keep this process running.
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _SIGNALS)
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_end_with, args=[parent.sentinel, end_receiver], daemon=True).start()
    if not apps.ready:
        django.setup(set_prefix=False)
    for alias, address in databases.items():
        if alias in connections:
            connections[alias].settings_dict.update(address)


def _end_with(sentinel: int, end_receiver: Connection) -> None:
    """End this process when its parent ends, which a worker that waits for work does not notice."""
    wait([sentinel, end_receiver])
    os._exit(1)
