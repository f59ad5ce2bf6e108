"""Engines that render the pages of an export: this process, several processes, or workers of a queue."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from django.core.exceptions import ImproperlyConfigured
from django.db import connections
from django.utils.module_loading import import_string

from django_sitemaps09.conf import conf
from django_sitemaps09.export.page import Engine as Engine
from django_sitemaps09.orm.reading import is_in_transaction

#: Values of the setting `ENGINE`, besides "serial" and the dotted path of a class.
ENGINES = {
    "processes": "django_sitemaps09.export.engines.processes.Processes",
    "celery": "django_sitemaps09.export.engines.celery.Celery",
    "tasks": "django_sitemaps09.export.engines.django_tasks.DjangoTasks",
}
_ADDRESS = ("NAME", "HOST", "PORT", "USER", "PASSWORD")
# Maximum number of workers by default. Each needs a database connection and about 60 MB of memory.
_MAX_DEFAULT_WORKERS = 8


def engine(
    name: str | None, workers: int | None, *, elsewhere: bool
) -> AbstractContextManager[Engine | None]:
    """Return the named or configured engine, or a context manager that yields `None` to use this process.

    Other processes may be unable to find the sections (`elsewhere` is false), to see the rows, or to start.
    In these cases, raise `ImproperlyConfigured` if an engine or a number of workers is given.
    """
    engine_name = name or conf.engine
    if workers is not None and workers < 1:
        raise ImproperlyConfigured(f"An export needs at least one worker, not {workers}.")
    has_processes = engine_name == "processes"
    if engine_name == "serial" or (has_processes and workers == 1):
        return nullcontext()
    problem = _unseen_rows() if elsewhere else _PASSED
    if has_processes and multiprocessing.current_process().daemon:
        problem = _DAEMON
    # A fork would have to close the caller's connections. If any are open, start processes only on request.
    if workers is None and name is None and (problem or (has_processes and is_connected())):
        return nullcontext()
    if problem is not None:
        raise ImproperlyConfigured(problem)
    engine_type = engine_class(engine_name)
    count = getattr(engine_type, "default_workers", available_cores()) if workers is None else workers
    return nullcontext() if has_processes and count == 1 else engine_type(count)


def engine_class(name: str) -> Callable[[int], AbstractContextManager[Engine]]:
    """Return the class of a named engine; raise `ImproperlyConfigured` if it cannot be used."""
    path = ENGINES.get("processes" if name == "serial" else name, name)
    try:
        engine_type: Callable[[int], AbstractContextManager[Engine]] = import_string(path)
    except ImportError as error:
        raise ImproperlyConfigured(
            f"The engine {name!r} cannot be imported ({error}). Use 'serial', 'processes', 'celery' "
            "(which needs the extra `celery`), 'tasks' (which needs Django 6.0 or the extra `tasks`), or "
            "the dotted path of a class."
        ) from error
    if not all(hasattr(engine_type, name) for name in ("submit", "__enter__", "__exit__")):
        raise ImproperlyConfigured(f"The engine {name!r} does not have the methods of {__name__}.Engine.")
    return engine_type


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
            return (
                "An export with several workers cannot use an in-memory database, because the workers "
                "cannot see it. Use the engine 'serial'."
            )
        if is_in_transaction(connection):
            return (
                "An export with several workers cannot run in a transaction, because the workers do not "
                "see its rows. Use the engine 'serial', or call export() outside of the transaction."
            )
    return None


_DAEMON = (
    "An export with several workers cannot run in a daemonic process, such as a Celery worker, which "
    "must not start other processes. Use --workers 1, --engine celery or --engine tasks."
)
_PASSED = (
    "Other processes cannot find sections that are passed to export(). Set SITEMAPS09['SITEMAPS'] to "
    "the dotted path of their dict, or export with one worker."
)
