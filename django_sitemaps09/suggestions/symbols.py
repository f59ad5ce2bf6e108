"""Symbols: unknown values, which differ from item to item."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NoReturn

from django.conf import settings
from django.db.models import AutoField, DateField, DateTimeField, ForeignKey, TimeField, UUIDField

from django_sitemaps09.suggestions.recordings import Recording
from django_sitemaps09.suggestions.values import FieldValue, RouteValue

#: Content of a `SymbolText`. Some functions read this content without calling a method that could refuse.
MARK = "\x00sitemaps09\x00"


class Symbol:
    """An unknown value. Code can only return it, pass it to `reverse()` or `str()`, or use parts of a date.

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
        is_time = isinstance(column, DateTimeField) and settings.USE_TZ
        part = Symbol(
            self._sitemaps09_recording,
            replace(value, part=name, is_time=is_time),
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
        # This is allowed: many projects call str() on an argument of reverse(), which also calls str().
        recording = self._sitemaps09_recording
        recording.text_place = f"{recording.place()}: creates a string from {self._sitemaps09_name()}"
        return SymbolText(self)

    def __bool__(self) -> bool:
        column: Any = self._sitemaps09_column
        while isinstance(column, ForeignKey):
            column = column.target_field
        # Values of these fields are never false.
        if not isinstance(column, (AutoField, DateField, TimeField, UUIDField)):
            self._sitemaps09_recording.refuse(f"depends on the value of {self._sitemaps09_name()}")
        # NULL needs no test here, since it is traced as None in a separate call.
        return True


def refusal(verb: str) -> Callable[..., NoReturn]:
    def method(self: Any, *args: object) -> NoReturn:
        recording: Recording = self._sitemaps09_recording
        name = self._sitemaps09_name()
        recording.refuse_use(name, f"{verb} {name}")

    return method


class SymbolText(str):
    """The result of `str()` for a symbol. It can only be passed to `reverse()`, or returned."""

    __slots__ = ("symbol",)

    symbol: Symbol

    def __new__(cls, symbol: Symbol) -> SymbolText:
        text = str.__new__(cls, MARK)
        text.symbol = symbol
        return text


def _text_refusal(self: Any, *args: object, **kwargs: object) -> NoReturn:
    refusal("creates a string from")(self.symbol)


# Methods that Python needs to create the text, and to read its symbol.
_OWN = {"__new__", "__init__", "__getattribute__", "__setattr__", "__class__", "__doc__"}
for _name in {*dir(str), "__radd__", "__rmod__", "__bool__", "__int__", "__float__", "__index__"} - _OWN:
    setattr(SymbolText, _name, _text_refusal)

_OPERATIONS = {
    "depends on the value of": "lt le gt ge eq ne hash len contains",
    "creates a string from": "repr format bytes fspath",
    "uses a part of": "getitem iter next reversed",
    "calls": "call",
    "copies": "reduce_ex copy deepcopy",
    "computes with": (
        "add radd sub rsub mul rmul truediv rtruediv floordiv rfloordiv mod rmod divmod rdivmod pow rpow "
        "and rand or ror xor rxor lshift rlshift rshift rrshift neg pos abs invert int float complex index "
        "round trunc floor ceil"
    ),
}
for _verb, _methods in _OPERATIONS.items():
    for _name in _methods.split():
        setattr(Symbol, f"__{_name}__", refusal(_verb))
