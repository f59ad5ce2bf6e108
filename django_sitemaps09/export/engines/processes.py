"""Render pages in several processes on this machine at once."""

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
from django_sitemaps09.export.engines import database_addresses, is_connected, use_addresses
from django_sitemaps09.export.page import RenderedPage, Renderer, Task, render_page

logger = logging.getLogger(__name__)


class Processes:
    """Pool of worker processes, created for the first page and shut down after the export.

    If a worker is killed, its page is submitted once more, to a new pool. If that also fails, raise
    `ExportError`.
    """

    def __init__(self, workers: int) -> None:
        self.workers = workers
        self._pool: ProcessPoolExecutor | None = None
        # A message in this pipe ends the workers.
        self._end_receiver, self._end_sender = multiprocessing.Pipe(duplex=False)
        # Checked before the export opens connections: forking must not close the caller's connections.
        self._can_fork = not is_connected()

    def __enter__(self) -> Processes:
        return self

    def __exit__(self, *error: object) -> None:
        if isinstance(error[1], BaseException) and not isinstance(error[1], Exception):
            # After an interrupt, do not wait for pages that are being rendered.
            self._end_sender.send_bytes(b"end")
        with self._end_receiver, self._end_sender:
            if self._pool is not None:
                self._pool.shutdown(cancel_futures=True)

    def submit(self, renderer: Renderer, task: Task) -> Callable[[], RenderedPage]:
        future = self._submit(renderer, task)

        def result() -> RenderedPage:
            try:
                return future.result()
            except BrokenProcessPool:
                logger.warning("%s: a worker process %s; retrying", task.label, _DIED.format("it"))
            try:
                return self._submit(renderer, task).result()
            except BrokenProcessPool as error:
                raise ExportError(f"two worker processes in a row {_DIED.format('them')}") from error

        return result

    def _submit(self, renderer: Renderer, task: Task) -> Future[RenderedPage]:
        with _signals_blocked():
            if self._pool is not None:
                try:
                    return self._pool.submit(render_page, renderer, task)
                except BrokenProcessPool:
                    self._pool.shutdown()
            self._pool = self._create_pool()
            return self._pool.submit(render_page, renderer, task)

    def _create_pool(self) -> ProcessPoolExecutor:
        # A process with threads cannot be forked: locks held by other threads would never be released.
        # /proc also lists threads that Python has not started.
        tasks = Path("/proc/self/task")
        threads = len(list(tasks.iterdir())) if tasks.is_dir() else threading.active_count()
        context = multiprocessing.get_context(None if self._can_fork and threads == 1 else "spawn")
        if context.get_start_method() == "fork":
            # Processes that share a connection would receive each other's results.
            connections.close_all()
            caches.close_all()
        arguments = database_addresses(), self._end_receiver
        pool = ProcessPoolExecutor(self.workers, context, _start, arguments)
        # Fork all workers now, while no connection is open.
        pool.submit(os.getpid)
        return pool


@contextmanager
def _signals_blocked() -> Iterator[None]:
    """Block signals in processes that are started inside the block, until they install handlers."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    previous = signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, previous)


_SIGNALS = (signal.SIGINT, signal.SIGTERM)
_DIED = "died unexpectedly; the system may have killed {} for lack of memory"


def _start(databases: Mapping[str, Mapping[str, Any]], end_receiver: Connection) -> None:
    """Prepare a worker process to use the parent's `databases`."""
    # Only the parent handles an interrupt from a terminal.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # A project's handler that only records the signal would keep this process running.
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _SIGNALS)
    parent_sentinel = multiprocessing.parent_process().sentinel  # type: ignore[union-attr]
    threading.Thread(target=_end_with, args=[parent_sentinel, end_receiver], daemon=True).start()
    if not apps.ready:
        django.setup(set_prefix=False)
    use_addresses(databases)


def _end_with(sentinel: int, end_receiver: Connection) -> None:
    """End this process when its parent ends or sends a message. An idle worker would not detect that."""
    wait([sentinel, end_receiver])
    os._exit(1)
