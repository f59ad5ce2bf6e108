"""The recording of one call to a hook: the fields it uses, its side effects, and why it is untraceable."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from threading import get_ident
from types import FrameType
from typing import Any, NamedTuple, NoReturn

from django.core.exceptions import ImproperlyConfigured
from django.db import connections
from django.db.models import Model
from django.db.models.signals import m2m_changed, pre_delete, pre_save

from django_sitemaps09.suggestions.project_code import (
    UntraceableError,
    callers,
    code_origin,
    describe,
    project_frame,
)
from django_sitemaps09.suggestions.text_flows import passes_on
from django_sitemaps09.suggestions.values import FieldValue, RouteValue

#: The problem of a value that can decide something without being part of the result.
USED = "uses a string from {} for more than its result"


class Rows(NamedTuple):
    """The rows for which a stand-in stands.

    `annotations` has the names of the queryset's annotations. `attributes` has the names of all other
    attributes that an instance has, and its class does not. `zone` is the time zone of the datetimes of
    instances, or empty without time zones.
    """

    model: type[Model]
    annotations: frozenset[str] = frozenset()
    attributes: frozenset[str] = frozenset()
    zone: str = "UTC"


class Text(NamedTuple):
    """A string that was created from a symbol with a value, in the line `place`, where it has a name."""

    value: FieldValue | RouteValue
    place: str
    name: str

    def error(self, problem: str) -> UntraceableError:
        """Return an error. Its message has the name of the symbol instead of `{}`."""
        return UntraceableError(f"{self.place}: {problem.format(self.name)}")


@dataclass
class Recording:
    """One call to a hook with a stand-in whose fields and relations in `nulls` are `None`.

    `entry` is the frame that calls the hook. `mark` is the content of the strings that are created from
    symbols, with a unique character in place of `#`. `texts` has these strings by their marks, and `unused`
    the marks that did not reach a result. `uses` has the line that first uses each field, by path or key.
    `nullable` has a message with that line for each nullable field, by key. `urls` has the results of
    `reverse()` with their lines. The call to `reverse()` with the index `failing_call` raises an error, in
    the line `failed_at`.
    """

    rows: Rows
    nulls: frozenset[str]
    mark: str
    entry: FrameType
    failing_call: int | None = None
    failed_at: str = ""
    failure: UntraceableError | None = None
    texts: dict[str, Text] = field(default_factory=dict)
    unused: set[str] = field(default_factory=set)
    uses: dict[str, str] = field(default_factory=dict)
    nullable: dict[str, str] = field(default_factory=dict)
    stand_ins: dict[str, Any] = field(default_factory=dict)
    urls: list[tuple[Any, str]] = field(default_factory=list)

    def place(self) -> str:
        """Return the function and line of the project's code that is running."""
        found = project_frame(callers(sys._getframe(1), self.entry))
        return describe(found[0].f_code, found[1]) if found else self.rows.model.__name__

    def text(self, value: FieldValue | RouteValue, name: str) -> str:
        """Return a string that stands for a value. End the call if the code does more than pass it on."""
        callee = None
        for frame, line in callers(sys._getframe(1), self.entry):
            if code_origin(frame.f_code) == "this package":
                continue
            is_passed_on = passes_on(frame, line, callee)
            if not is_passed_on:
                problem = USED.format(name)
                if is_passed_on is None:
                    problem = f"creates a string from {name} in a function without source code"
                if callee:
                    self.refuse(problem, describe(frame.f_code, line))
                self.refuse_use(name, problem)
            callee = frame.f_code
        mark = self.mark.replace("#", chr(0xE000 + len(self.texts)))
        self.texts[mark] = Text(value, self.place(), name)
        self.unused.add(mark)
        return mark

    def split(self, text: str) -> Iterator[str | Text]:
        """Yield the parts of a string that is a result or an argument: literals, and texts."""
        pattern = "|".join(map(re.escape, self.texts))
        for part in re.split(f"({pattern})", text):
            self.unused.discard(part)
            if part:
                yield self.texts.get(part, part)

    def refuse(self, problem: str, place: str | None = None) -> NoReturn:
        """End the call. The error is kept, since the project's code may catch every exception."""
        error = UntraceableError(f"{place or self.place()}: {problem}")
        self.failure = self.failure or error
        raise error

    def name(self, owner: Any, attribute: str) -> str:
        """Return an attribute as it is written in the code that is running, such as `self.category`."""
        found = project_frame(callers(sys._getframe(1), self.entry))
        local_names: Mapping[str, Any] = found[0].f_locals if found else {}
        path = owner._sitemaps09_path  # noqa: SLF001 our own object
        parts, trail = path.split("__") if path else [], [attribute]
        while True:
            stand_in = self.stand_ins["__".join(parts)]
            name = next((name for name, value in local_names.items() if value is stand_in), None)
            if name or not parts:
                return f"`{'.'.join([name or 'item', *trail])}`"
            trail.insert(0, parts.pop())

    def refuse_use(self, name: str, problem: str) -> NoReturn:
        """End the call because the project's code uses a value, or passes it to Django's code."""
        frames = list(callers(sys._getframe(1), self.entry))
        found = project_frame(frames)
        called = frames[: frames.index(found)] if found else []
        is_passed = bool(called) and code_origin(called[-1][0].f_code) == "django"
        self.refuse(f"passes {name} to Django" if is_passed else problem)

    def use(self, owner: Any, attribute: str, key: str, *, is_nullable: bool) -> None:
        """Record where a field or a relation is first used."""
        self.uses.setdefault(key, self.place())
        if is_nullable:
            text = f"{self.place()}: depends on whether {self.name(owner, attribute)} is None"
            self.nullable.setdefault(key, text)


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
            # If the driver of the database is missing, no hook can query it.
            with suppress(ImproperlyConfigured, ImportError):
                wrappers.enter_context(connections[alias].execute_wrapper(refuse_query))
        yield


@contextmanager
def without_saving() -> Iterator[None]:
    """Refuse to save or delete objects inside the block. Other threads are not affected."""
    thread = get_ident()

    def refuse_change(signal: Any, sender: Any, **kwargs: Any) -> None:
        if get_ident() == thread:
            _refuse(f"saves or deletes {sender.__name__} objects")

    with ExitStack() as connected:
        for signal in (pre_save, pre_delete, m2m_changed):
            signal.connect(refuse_change, weak=False)
            connected.callback(signal.disconnect, refuse_change)
        yield
