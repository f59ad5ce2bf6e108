"""Engines that render the pages of an export: this process, several processes, or workers of a queue."""

from __future__ import annotations

import logging
import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, suppress
from functools import cached_property
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

import django
from django.apps import apps
from django.core.cache import caches
from django.core.exceptions import ImproperlyConfigured
from django.db import connections
from django.utils.module_loading import import_string

from django_sitemaps09.conf import conf
from django_sitemaps09.exceptions import ExportError
from django_sitemaps09.export.page import RenderedPage, Renderer, Task, render_page
from django_sitemaps09.orm.reading import is_in_transaction

logger = logging.getLogger(__name__)

#: Values of the setting `ENGINE`, besides the dotted path of a class.
ENGINES = {
    "serial": "django_sitemaps09.export.engines.Engine",
    "processes": "django_sitemaps09.export.engines.Processes",
    "celery": "django_sitemaps09.export.engines.celery.Celery",
    "tasks": "django_sitemaps09.export.engines.django_tasks.DjangoTasks",
}
_ADDRESS = ("NAME", "HOST", "PORT", "USER", "PASSWORD")
# Maximum number of workers by default. Each needs a database connection and about 60 MB of memory.
_MAX_DEFAULT_WORKERS = 8
# Signals that only the parent handles.
_SIGNALS = (signal.SIGINT, signal.SIGTERM)
_DIED = "died unexpectedly; the system may have killed {} for lack of memory"


class Engine:
    """Engine that renders pages in this process, and the base class of those that use others.

    `docs/reference/public.md` describes the members. A class of a project that does not inherit from this
    one gets its defaults from `engine_class()`.
    """

    workers: int
    default_workers: int | None = None
    failures: Sequence[str] = ()
    warnings: Sequence[str] = ()

    def __init__(self, workers: int = 1) -> None:
        self.workers = workers

    @cached_property
    def ahead(self) -> int:
        return 2 * self.workers

    @staticmethod
    def check() -> str | None:
        return None

    def __enter__(self) -> Engine:
        return self

    def __exit__(self, *error: object) -> None: ...

    def begin_section(self, render: Callable[..., Callable[[], RenderedPage]]) -> None:
        # A class of a project can have a `_render` of its own.
        self._sitemaps09_render = render

    def submit(self, renderer: Renderer, task: Task) -> Callable[[], RenderedPage]:
        """Submit a page, and return a function that waits for the result and raises errors.

        If the function has an attribute `abandon`, it is called instead if the result is not needed any
        more. It ends when this process no longer renders the page. Workers call `render_page()`.
        """
        return self._sitemaps09_render(task)

    def end_run(self) -> None: ...


def engine(name: str | None, workers: int | None, *, elsewhere: bool) -> Engine:
    """Return the named or configured engine, or else one that uses this process.

    Other processes may be unable to find the sections (`elsewhere` is false), to see the rows, or to start.
    In these cases, raise `ImproperlyConfigured` if an engine or a number of workers is given.
    """
    engine_name = name or conf.engine
    if workers is not None and workers < 1:
        raise ImproperlyConfigured(f"An export needs at least one worker, not {workers}.")
    has_processes = engine_name == "processes"
    if engine_name == "serial" or (has_processes and workers == 1):
        return Engine(1)
    problem = _unseen_rows() if elsewhere else _PASSED
    if has_processes and multiprocessing.current_process().daemon:
        problem = _DAEMON
    # A fork would have to close the caller's connections. If any are open, start processes only on request.
    if workers is None and name is None and (problem or (has_processes and is_connected())):
        return Engine(1)
    if problem is not None:
        raise ImproperlyConfigured(problem)
    engine_type = engine_class(engine_name)
    count = workers or engine_type.default_workers or available_cores()
    return Engine(1) if has_processes and count == 1 else engine_type(count)


def engine_class(name: str) -> type[Engine]:
    """Return the class of a named engine; raise `ImproperlyConfigured` if it cannot be used."""
    try:
        engine_type: Any = import_string(ENGINES.get(name, name))
    except ImportError as error:
        raise ImproperlyConfigured(
            f"The engine {name!r} cannot be imported ({error}). Use 'serial', 'processes', 'celery' "
            "(which needs the extra `celery`), 'tasks' (which needs Django 6.0 or the extra `tasks`), or "
            "the dotted path of a class."
        ) from error
    methods = ("submit", "__enter__", "__exit__")
    if not (isinstance(engine_type, type) and all(hasattr(engine_type, each) for each in methods)):
        raise ImproperlyConfigured(f"The engine {name!r} does not have the methods of {__name__}.Engine.")
    if issubclass(engine_type, Engine):
        return engine_type
    return type(engine_type.__name__, (engine_type, Engine), {})


def available_cores() -> int:
    """Return how many cores this process may use, up to the maximum number of default workers."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(cores, _MAX_DEFAULT_WORKERS)


def is_connected() -> bool:
    return any(connection.connection for connection in connections.all(initialized_only=True))


def database_addresses() -> dict[str, dict[str, Any]]:
    """Return where the databases are, by alias. During tests, this differs from the settings."""
    return {each: {key: connections[each].settings_dict[key] for key in _ADDRESS} for each in connections}


def use_addresses(addresses: Mapping[str, Mapping[str, Any]]) -> None:
    """Use the databases of the process that has started this one."""
    for alias, address in addresses.items():
        if alias in connections:
            connections[alias].settings_dict.update(address)


def _unseen_rows() -> str | None:
    """Return why other processes cannot see the rows that this process sees, or `None`."""
    for connection in connections.all(initialized_only=True):
        if getattr(connection, "is_in_memory_db", bool)():
            return _IN_MEMORY
        if is_in_transaction(connection):
            return _IN_TRANSACTION
    return None


_IN_MEMORY = (
    "An export with several workers cannot use an in-memory database, because the workers cannot see it. "
    "Use the engine 'serial'."
)
_IN_TRANSACTION = (
    "An export with several workers cannot run in a transaction, because the workers do not see its rows. "
    "Use the engine 'serial', or call export() outside of the transaction."
)
_DAEMON = (
    "An export with several workers cannot run in a daemonic process, such as a Celery worker, which "
    "must not start other processes. Use --workers 1, --engine celery or --engine tasks."
)
_PASSED = (
    "Other processes cannot find sections that are passed to export(). Set SITEMAPS09['SITEMAPS'] to "
    "the dotted path of their dict, or export with one worker."
)


class Processes(Engine):
    """Pool of worker processes, created for the first page and shut down after the export.

    If a worker is killed, its page is submitted once more, to a new pool; then, raise `ExportError`.
    """

    def __init__(self, workers: int) -> None:
        super().__init__(workers)
        self._pool: ProcessPoolExecutor | None = None
        # A message in this pipe ends the workers.
        self._end_receiver, self._end_sender = multiprocessing.Pipe(duplex=False)
        # Checked before the export opens connections: forking must not close the caller's connections.
        self._can_fork = not is_connected()

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
                with suppress(BrokenProcessPool):
                    return self._pool.submit(render_page, renderer, task)
                self._pool.shutdown()
            self._pool = self._create_pool()
            return self._pool.submit(render_page, renderer, task)

    def _create_pool(self) -> ProcessPoolExecutor:
        # A process with threads cannot be forked: locks held by other threads would never be released.
        # /proc also lists threads that Python has not started.
        tasks = Path("/proc/self/task")
        threads = len(list(tasks.iterdir())) if tasks.is_dir() else threading.active_count()
        method = "spawn"
        if self._can_fork and threads == 1:
            # From Python 3.14 on, the default of Linux is a server that stays, and starts workers slowly.
            default = "fork" if sys.platform == "linux" else multiprocessing.get_start_method()
            method = multiprocessing.get_start_method(allow_none=True) or default
        context = multiprocessing.get_context(method)
        if method == "fork":
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
