"""Symbols: unknown values, which differ from item to item."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NoReturn

from django.db.models import (
    AutoField,
    CharField,
    DateField,
    DateTimeField,
    ForeignKey,
    TextField,
    TimeField,
    UUIDField,
)

from django_sitemaps09.suggestions.recordings import Recording
from django_sitemaps09.suggestions.values import FieldValue, RouteValue


class Symbol:
    """An unknown value. Code can return it, pass it to `reverse()`, create a path, or use parts of a date.

    `column` is the model field that the value is from, or `None`.
    """

    __slots__ = ("_sitemaps09_column", "_sitemaps09_name", "_sitemaps09_recording", "_sitemaps09_value")

    def __init__(
        self,
        recording: Recording,
        value: FieldValue | RouteValue,
        name: Callable[[], str],
        *,
        column: Any = None,
    ) -> None:
        self._sitemaps09_recording = recording
        self._sitemaps09_value = value
        self._sitemaps09_name = name
        self._sitemaps09_column = column

    def __getattr__(self, name: str) -> Symbol | Callable[[], Symbol]:
        column: Any = self._sitemaps09_column
        names = ("year", "month", "day", *(["date"] if isinstance(column, DateTimeField) else []))
        if not isinstance(column, DateField) or name not in names:
            own_name = self._sitemaps09_name()
            self._sitemaps09_recording.refuse_use(own_name, f"uses {own_name[:-1]}.{name}`")
        value: Any = self._sitemaps09_value
        recording: Recording = self._sitemaps09_recording
        part = Symbol(
            recording,
            replace(
                value, part=name, zone=recording.rows.zone if isinstance(column, DateTimeField) else ""
            ),
            lambda: f"{self._sitemaps09_name()[:-1]}.{name}`",
        )
        return (lambda: part) if name == "date" else part

    def __setattr__(self, name: str, value: object) -> None:
        if name not in Symbol.__slots__:
            self._sitemaps09_recording.refuse(f"changes {self._sitemaps09_name()}")
        object.__setattr__(self, name, value)

    @property
    def __class__(self) -> Any:
        recording: Recording = self._sitemaps09_recording
        name = self._sitemaps09_name()
        recording.refuse_use(name, f"depends on the type of {name}")

    @__class__.setter
    def __class__(self, value: object) -> None:
        self._sitemaps09_recording.refuse(f"changes {self._sitemaps09_name()}")

    def __str__(self) -> str:
        recording: Recording = self._sitemaps09_recording
        return recording.text(self, self._sitemaps09_name())

    def __format__(self, spec: str) -> str:
        if spec:
            name = self._sitemaps09_name()
            self._sitemaps09_recording.refuse_use(name, f"formats {name} as `{spec}`")
        return str(self)

    def __add__(self, other: object) -> str:
        return f"{self}{other}" if _are_texts(self, other) else refusal("computes with {}")(self)

    def __radd__(self, other: object) -> str:
        return f"{other}{self}" if _are_texts(self, other) else refusal("computes with {}")(self)

    def __bool__(self) -> bool:
        value, column = self._sitemaps09_value, self._sitemaps09_column
        while isinstance(column, ForeignKey):
            column = column.target_field
        # Values of these fields are never false.
        never_false = (AutoField, DateField, TimeField, UUIDField)
        if isinstance(value, FieldValue) and not isinstance(column, never_false):
            self._sitemaps09_recording.refuse(f"depends on the value of {self._sitemaps09_name()}")
        # NULL needs no test here, since it is traced as None in a separate call.
        return True


def refusal(problem: str) -> Callable[..., NoReturn]:
    """Return a method that ends the call. The message has the name of the object instead of `{}`."""

    def method(self: Any, *args: object) -> NoReturn:
        recording: Recording = self._sitemaps09_recording
        name = self._sitemaps09_name()
        recording.refuse_use(name, problem.format(name))

    return method


def _are_texts(*values: object) -> bool:
    """Return whether all values are strings. Only strings can be added to strings."""
    return all(
        isinstance(value._sitemaps09_column, (CharField, TextField))  # noqa: SLF001 our own object
        if type(value) is Symbol
        else type(value) is str
        for value in values
    )


_OPERATIONS = {
    "depends on the value of {}": "lt le gt ge eq ne hash len contains",
    "creates a string from {}": "repr bytes fspath",
    "uses a part of {}": "getitem iter next reversed",
    "calls {}": "call",
    "copies {}": "reduce_ex copy deepcopy",
    "uses {} as a number": "int float complex index",
    "computes with {}": (
        "sub rsub mul rmul truediv rtruediv floordiv rfloordiv mod rmod divmod rdivmod pow rpow "
        "and rand or ror xor rxor lshift rlshift rshift rrshift neg pos abs invert "
        "round trunc floor ceil"
    ),
}
for _problem, _methods in _OPERATIONS.items():
    for _name in _methods.split():
        setattr(Symbol, f"__{_name}__", refusal(_problem))
