"""Trace a hook: call it with a stand-in for the item, and return the value that can be declared instead."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from traceback import walk_tb
from types import CodeType, FrameType
from typing import Any

from django.db.models import Model
from django.urls import NoReverseMatch, get_urlconf
from django.utils import translation
from django.utils.functional import Promise

from django_sitemaps09.entries import reason_of
from django_sitemaps09.orm.internals import ReverseCall, evaluate_lazy, intercepted_reverse
from django_sitemaps09.suggestions.project_code import (
    UntraceableError,
    check_hidden,
    describe,
    project_frame,
)
from django_sitemaps09.suggestions.recordings import USED, Recording, Rows, Text, active, without_queries
from django_sitemaps09.suggestions.stand_ins import StandIn, Symbol
from django_sitemaps09.suggestions.values import (
    CoalescedValue,
    Constant,
    FieldValue,
    RouteValue,
    TemplateValue,
    Value,
)

# Maximum number of calls to a hook: it is called with and without a value of each nullable field it uses.
_MAX_CALLS = 100
# What stands for a string, with a character that no text has in place of `#`. The second one is unlike the
# first: code that pads or cuts changes only one of them.
_SHORT_MARK, _LONG_MARK = "#", f" #%{{}}/'Aé{'_' * 200} "


class RaisedError(Exception):
    """The hook raised an exception for the stand-in."""


@contextmanager
def _profile(frames: dict[CodeType, FrameType]) -> Iterator[None]:
    """Collect a frame of each function that runs in this thread inside the block.

    Functions that an import runs know no item. The callbacks of the garbage collector would run at random,
    so the collector is disabled.
    """
    imports = 0

    def collect(frame: FrameType, event: str, argument: object) -> None:
        nonlocal imports
        if frame.f_code.co_filename.startswith("<frozen importlib"):
            imports += (event == "call") - (event == "return")
        elif event == "call" and not imports:
            frames.setdefault(frame.f_code, frame)

    previous, collects = sys.getprofile(), gc.isenabled()
    gc.disable()
    sys.setprofile(collect)
    try:
        yield
    finally:
        sys.setprofile(previous)
        if collects:
            gc.enable()


@dataclass
class Trace:
    """The trace of one hook for an item of `rows`, in each of the `languages`.

    `nullable` has the keys of the nullable fields that the hook uses. `failing` has the keys of the fields
    for which the hook raises an exception if they are NULL. `models` has the models of the objects that it
    uses.
    """

    hook: Callable[[Any], Any]
    rows: Rows
    languages: Sequence[str]
    calls: int = 0
    nullable: set[str] = field(default_factory=set)
    failing: set[str] = field(default_factory=set)
    models: set[type[Model]] = field(default_factory=set)

    def value(self) -> Value:
        """Return the value in all languages. Raise `UntraceableError` if there is no such value."""
        with without_queries():
            values = []
            for code in self.languages:
                with translation.override(code):
                    try:
                        value, recording = self._value(frozenset())
                    except RaisedError as error:
                        raise UntraceableError(str(error)) from error
                values.append(value)
                self._check_fallbacks()
                if value != values[0]:
                    paths = {column.path for column in values[0].fields()}
                    others = [column.path for column in value.fields() if column.path not in paths]
                    place = recording.uses[others[0]] if others else self.start()
                    raise UntraceableError(f"{place}: depends on the active language")
        return values[0]

    def _check_fallbacks(self) -> None:
        """Raise `UntraceableError` if the hook returns a value although `reverse()` raises an error."""
        for failing_call in range(_MAX_CALLS):
            recording = Recording(self.rows, frozenset(), _SHORT_MARK, sys._getframe(), failing_call)
            with suppress(RaisedError, UntraceableError):
                self._call_once(recording)
                if recording.failed_at:
                    break
            if not recording.failed_at:
                return
        raise UntraceableError(f"{recording.failed_at}: catches errors from reverse()")

    def start(self) -> str:
        """Return the name of the hook's function, with its first line."""
        function: Any = getattr(self.hook, "__func__", self.hook)
        code = getattr(function, "__code__", None)
        return describe(code, code.co_firstlineno) if code else str(function)

    def _value(self, nulls: frozenset[str]) -> tuple[Value, Recording]:
        """Return the value for items in which exactly these nullable fields are known to be NULL."""
        self.calls += 1
        if self.calls > _MAX_CALLS:
            raise UntraceableError(f"{self.start()}: uses too many nullable fields")
        raw_value, recording = self._call(nulls)
        value = raw_value
        for key, dependence in recording.nullable.items():
            if key in nulls:
                continue
            self.nullable.add(key)
            try:
                other, _ = self._value(nulls | {key})
            except RaisedError:
                self.failing.add(key)
                continue
            if other == raw_value.without(key):
                continue
            if (
                not isinstance(value, FieldValue)
                or value.keys != (key,)
                or not isinstance(other, (FieldValue, Constant, CoalescedValue))
            ):
                raise UntraceableError(dependence)
            others = other.parts if isinstance(other, CoalescedValue) else (other,)
            value = CoalescedValue((value, *others))
        return value, recording

    def _call(self, nulls: frozenset[str]) -> tuple[Value, Recording]:
        recording = Recording(self.rows, nulls, _SHORT_MARK, sys._getframe())
        value = self._call_once(recording)
        if recording.texts:
            other_recording = Recording(self.rows, nulls, _LONG_MARK, sys._getframe())
            if self._call_once(other_recording) != value:
                [text, *_] = other_recording.texts.values()
                raise text.error("changes a string from {}")
        self.models |= {stand_in.__class__ for stand_in in recording.stand_ins.values()}
        return value, recording

    def _call_once(self, recording: Recording) -> Value:
        item = StandIn(recording, self.rows.model, "", ())
        token = active.set(recording)
        error = None
        frames: dict[CodeType, FrameType] = {}
        try:
            with intercepted_reverse(partial(_reverse, recording)), _profile(frames):
                result = self.hook(item)
                while type(result) is not Symbol and isinstance(result, Promise):
                    result = evaluate_lazy(result)
                declared = _value_of(result, recording)
                if declared is None:
                    kind = f"an object of type {result.__class__.__name__}"
                    raise UntraceableError(f"{self.start()}: returns {kind}, not a field or a URL")
                value = declared
        except Exception as raised:  # noqa: BLE001 the project's code can raise anything
            error = raised
        finally:
            active.reset(token)
        if recording.failure:
            raise recording.failure from error
        for frame in frames.values():
            check_hidden(frame)
        if error is not None:
            found = project_frame(reversed(list(walk_tb(error.__traceback__))))
            place = describe(found[0].f_code, found[1]) if found else self.start()
            if isinstance(error, TypeError) and "None" not in str(error):
                # The error can be caused by a stand-in instead of a missing value.
                raise UntraceableError(f"{place}: needs the value of a field") from error
            raise RaisedError(f"{place}: {reason_of(error)}") from error
        for url, place in recording.urls:
            if url != value:
                raise UntraceableError(f"{place}: uses a URL from reverse() for more than its result")
        for unused in recording.unused:
            raise recording.texts[unused].error(USED)
        return value


def _value_of(result: Any, recording: Recording) -> Value | None:
    """Return the value of a result or an argument; `None` if it cannot be declared."""
    if type(result) is Symbol:
        return result._sitemaps09_value  # noqa: SLF001 our own object
    if not isinstance(result, str):
        return Constant(result) if result is None or type(result) in (bool, int, float) else None
    parts = list(recording.split(str(result)))
    texts = [part for part in parts if isinstance(part, Text)]
    if not texts:
        return Constant(str(result))
    if len(parts) == 1:
        return texts[0].value
    values: list[Any] = [part.value if isinstance(part, Text) else Constant(part) for part in parts]
    if not all(isinstance(value, (Constant, FieldValue)) for value in values):
        raise texts[0].error("creates a string from {}")
    return TemplateValue(tuple(values))


def _reverse(recording: Recording, call: ReverseCall) -> Any:
    """Return a symbol for a URL. Return `NotImplemented` if no argument is a symbol, or a NULL.

    `reverse()` then returns the actual URL, which a method may cache.
    """
    arguments = [_value_of(argument, recording) for argument in (*call.args, *call.kwargs.values())]
    name = call.viewname if isinstance(call.viewname, str) else ""
    texts = [part for part in recording.split(str(name)) if isinstance(part, Text)]
    if texts:
        recording.refuse(f"creates the name of a view from {texts[0].name}")
    if all(
        isinstance(value, Constant) and (value.value is not None or not recording.nulls)
        for value in arguments
    ):
        return NotImplemented
    if type(call.viewname) is not str or call.urlconf != get_urlconf() or call.current_app:
        recording.refuse("calls reverse() with a view, a URLconf or a current_app")
    for argument, value in zip((*call.args, *call.kwargs.values()), arguments, strict=True):
        if isinstance(value, TemplateValue):
            recording.refuse("passes a string of several parts to reverse()")
        if not isinstance(value, (FieldValue, Constant)):
            recording.refuse(f"passes an object of type {argument.__class__.__name__} to reverse()")
    values: Any = tuple(arguments)
    url = RouteValue(call.viewname, values, tuple(call.kwargs))
    place = recording.place()
    if len(recording.urls) == recording.failing_call and not recording.failed_at:
        recording.failed_at = place
        recording.urls.clear()
        raise NoReverseMatch
    recording.urls.append((url, place))
    return Symbol(recording, url, lambda: "the URL from `reverse()`")
