"""Several processes that render pages at once."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing.connection import wait
from pathlib import Path
from typing import Protocol, TypeVar

import django
from django.apps import apps
from django.core.cache import caches
from django.db import connections

from django_sitemaps09.exceptions import ExportError

ResultT = TypeVar("ResultT")


class Submit(Protocol):
    """Begins a call, whose arguments and result can be pickled, and gives what waits for its result."""

    def __call__(
        self, function: Callable[..., ResultT], /, *arguments: object
    ) -> Callable[[], ResultT]: ...


@contextmanager
def processes(count: int) -> Iterator[Submit]:
    """So many worker processes, which end with this one. `ExportError` inside a transaction.

    `ExportError` comes from a result too, where a worker was killed; what is begun later has new ones.
    """
    used = [connection for connection in connections.all(initialized_only=True) if connection.connection]
    if any(connection.in_atomic_block or not connection.get_autocommit() for connection in used):
        raise ExportError(
            "An export with several workers cannot run inside a transaction, whose rows they do not see."
        )
    pool = _pool(count)

    def submit(function: Callable[..., ResultT], /, *arguments: object) -> Callable[[], ResultT]:
        nonlocal pool
        try:
            future = pool.submit(function, *arguments)
        except BrokenProcessPool:
            pool.shutdown()
            pool = _pool(count)
            future = pool.submit(function, *arguments)

        def result() -> ResultT:
            try:
                return future.result()
            except BrokenProcessPool as error:
                raise ExportError(_DIED) from error

        return result

    try:
        yield submit
    finally:
        pool.shutdown(cancel_futures=True)


def _pool(count: int) -> ProcessPoolExecutor:
    # A connection that two processes share says to one what was meant for the other.
    connections.close_all()
    caches.close_all()
    # A process with threads cannot be forked: what the others hold locked would stay locked.
    context = multiprocessing.get_context("spawn" if _threads() > 1 else None)
    pool = ProcessPoolExecutor(count, mp_context=context, initializer=_start)
    # Forked now, all of them, while no connection is open.
    pool.submit(os.getpid)
    return pool


def _threads() -> int:
    """Those of this process, where the system tells also those that Python does not know of."""
    tasks = Path("/proc/self/task")
    return len(list(tasks.iterdir())) if tasks.is_dir() else threading.active_count()


_DIED = "a worker process ended before its time; the system may have killed it for its memory"


def _start() -> None:
    """What a worker does first."""
    # The coordinator is the one that an interrupt from a terminal ends.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # A handler of the project's that only takes a note would keep this process from being ended.
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_end_with, args=[parent.sentinel], daemon=True).start()
    if not apps.ready:
        django.setup(set_prefix=False)


def _end_with(sentinel: int) -> None:
    """A worker that waits for work does not see by itself that there is nobody left to give it."""
    wait([sentinel])
    os._exit(1)
