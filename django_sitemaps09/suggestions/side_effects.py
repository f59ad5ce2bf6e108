"""Refuse queries and saved rows while hooks are called."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from threading import get_ident
from typing import Any, NoReturn

from django.core.exceptions import ImproperlyConfigured
from django.db import connections
from django.db.models.signals import m2m_changed, pre_delete, pre_save

from django_sitemaps09.suggestions.places import UntraceableError
from django_sitemaps09.suggestions.recordings import Recording

#: The recording of the hook that is being traced.
active: ContextVar[Recording | None] = ContextVar("sitemaps09_recording", default=None)


def _refuse(problem: str) -> NoReturn:
    if (recording := active.get()) is not None:
        recording.refuse(problem)
    raise UntraceableError(problem)


@contextmanager
def without_queries() -> Iterator[None]:
    """Refuse all queries of this thread inside the block."""

    def refuse_query(execute: Any, sql: Any, params: Any, many: bool, context: Any) -> NoReturn:
        _refuse("queries the database")

    with ExitStack() as wrappers:
        for alias in connections:
            try:
                wrappers.enter_context(connections[alias].execute_wrapper(refuse_query))
            except (ImproperlyConfigured, ImportError):
                # The driver of the database is missing, so no hook can query it.
                continue
        yield


@contextmanager
def without_saving() -> Iterator[None]:
    """Refuse to save or delete objects inside the block. Other threads are not affected."""
    thread = get_ident()

    def refuse_change(signal: Any, sender: Any, **kwargs: Any) -> None:
        if get_ident() == thread:
            _refuse(f"saves or deletes {sender.__name__} objects")

    signals = (pre_save, pre_delete, m2m_changed)
    for signal in signals:
        signal.connect(refuse_change, weak=False)
    try:
        yield
    finally:
        for signal in signals:
            signal.disconnect(refuse_change)
