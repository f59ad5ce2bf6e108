"""Stand-ins for the items of a section: methods run on them, and fields are symbols without a value.

A symbol is an unknown value, which differs from item to item.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import replace
from typing import Any, NoReturn

from django.db import models
from django.db.models import DateField, DateTimeField, Model
from django.utils.functional import cached_property

from django_sitemaps09.suggestions.recordings import Recording
from django_sitemaps09.suggestions.values import FieldValue, RouteValue

# Without a limit, a method that follows relations in a loop would never end.
_DEEPEST = 8
_MISSING = object()
_QUERYING = ("django.db.models.fields", "django.db.models.manager", "django.contrib.contenttypes")


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
        def part_name() -> str:
            return f"{self._sitemaps09_name()[:-1]}.{name}`"

        column: Any = self._sitemaps09_column
        names = ("year", "month", "day", *(["date"] if isinstance(column, DateTimeField) else []))
        if not isinstance(column, DateField) or name not in names:
            _refuse_use(self, f"uses {part_name()}")
        value: Any = self._sitemaps09_value
        recording: Recording = self._sitemaps09_recording
        zone = recording.rows.zone if isinstance(column, DateTimeField) else ""
        part = Symbol(recording, replace(value, part=name, zone=zone), part_name)
        return (lambda: part) if name == "date" else part

    def __setattr__(self, name: str, value: object) -> None:
        if name not in Symbol.__slots__:
            self._sitemaps09_recording.refuse(f"changes {self._sitemaps09_name()}")
        object.__setattr__(self, name, value)

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        _refuse_use(self, f"depends on the type of {self._sitemaps09_name()}")

    def __str__(self) -> str:
        return self._sitemaps09_recording.text(self._sitemaps09_value, self._sitemaps09_name())

    def __format__(self, spec: str) -> str:
        if spec:
            _refuse_use(self, f"formats {self._sitemaps09_name()} as `{spec}`")
        return str(self)

    def __add__(self, other: object) -> str:
        return f"{self}{other}" if _are_texts(self, other) else refusal("computes with {}")(self)

    def __radd__(self, other: object) -> str:
        return f"{other}{self}" if _are_texts(self, other) else refusal("computes with {}")(self)

    def __bool__(self) -> bool:
        value, column = self._sitemaps09_value, self._sitemaps09_column
        while isinstance(column, models.ForeignKey):
            column = column.target_field
        # Values of these fields are never false.
        never_false = (models.AutoField, DateField, models.TimeField, models.UUIDField)
        if isinstance(value, FieldValue) and not isinstance(column, never_false):
            self._sitemaps09_recording.refuse(f"depends on the value of {self._sitemaps09_name()}")
        # NULL needs no test here, since it is traced as None in a separate call.
        return True


def refusal(problem: str) -> Callable[..., NoReturn]:
    """Return a method that ends the call. The message has the name of the object instead of `{}`."""

    def method(self: Any, *args: object) -> NoReturn:
        _refuse_use(self, problem.format(self._sitemaps09_name()))

    return method


def _refuse_operations(kind: type, problem: str, names: str) -> None:
    for name in names.split():
        setattr(kind, f"__{name}__", refusal(problem))


def _refuse_use(value: Any, problem: str) -> NoReturn:
    """End the call, because the code uses the value of a symbol or of a stand-in."""
    recording: Recording = value._sitemaps09_recording  # noqa: SLF001 our own object
    recording.refuse_use(value._sitemaps09_name(), problem)  # noqa: SLF001 our own object


def _are_texts(*values: object) -> bool:
    """Return whether all values are strings. Only strings can be added to strings."""
    return all(
        isinstance(value._sitemaps09_column, (models.CharField, models.TextField))  # noqa: SLF001 our own object
        if type(value) is Symbol
        else type(value) is str
        for value in values
    )


_ARITHMETIC = (
    "sub rsub mul rmul truediv rtruediv floordiv rfloordiv mod rmod divmod rdivmod pow rpow "
    "and rand or ror xor rxor lshift rlshift rshift rrshift neg pos abs invert round trunc floor ceil"
)
_refuse_operations(Symbol, "depends on the value of {}", "lt le gt ge eq ne hash len contains")
_refuse_operations(Symbol, "creates a string from {}", "repr bytes fspath")
_refuse_operations(Symbol, "uses a part of {}", "getitem iter next reversed")
_refuse_operations(Symbol, "calls {}", "call")
_refuse_operations(Symbol, "copies {}", "reduce_ex copy deepcopy")
_refuse_operations(Symbol, "uses {} as a number", "int float complex index")
_refuse_operations(Symbol, "computes with {}", _ARITHMETIC)


class _Attributes:
    """Base class of `StandIn`, whose instances have attributes."""


_own = vars(_Attributes)["__dict__"].__get__


class StandIn(_Attributes):
    """Stand-in for an instance of a model: `isinstance()`, `super()`, methods and properties work.

    It has none of the methods that every model has, such as `save()`, and no related managers. For a
    related object, `path` is the path to it, and `keys` has the nullable relations on this path.
    """

    def __init__(self, recording: Recording, model: type[Model], path: str, keys: tuple[str, ...]) -> None:
        _own(self).update(
            _sitemaps09_recording=recording,
            _sitemaps09_model=model,
            _sitemaps09_path=path,
            _sitemaps09_prefix=f"{path}__" if path else "",
            _sitemaps09_keys=keys,
        )
        recording.stand_ins[path] = self

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        return self._sitemaps09_model

    def _sitemaps09_name(self) -> str:
        recording: Recording = self._sitemaps09_recording
        return recording.name(self, "").replace(".`", "`")

    @property
    def __dict__(self) -> Any:  # type: ignore[override]
        self._sitemaps09_recording.refuse(f"uses all attributes of {self._sitemaps09_name()}")

    def __bool__(self) -> bool:
        model = self._sitemaps09_model
        if _attribute(model, "__bool__") is not _MISSING or _attribute(model, "__len__") is not _MISSING:
            self._sitemaps09_recording.refuse("depends on whether an object is true")
        return True

    def __getattr__(self, name: str) -> Any:
        recording: Recording = self._sitemaps09_recording
        model: type[Model] = self._sitemaps09_model
        found = self._sitemaps09_field(name)
        if found is not _MISSING:
            return found
        attribute = _attribute(model, name)
        if attribute is _MISSING:
            if not self._sitemaps09_path and name in recording.rows.annotations:
                return self._sitemaps09_symbol(name, (name,))
            # An instance can have other attributes, for example from prefetch_related().
            if name in recording.rows.attributes or _attribute(model, "__getattr__") is not _MISSING:
                recording.refuse(f"uses {recording.name(self, name)}")
            raise AttributeError(f"{model.__name__!r} object has no attribute {name!r}")
        if isinstance(attribute, (cached_property, functools.cached_property)):
            # The stand-in keeps no value, so that each use of a string is seen.
            return attribute.func(self)
        if attribute is vars(Model).get(name, _MISSING):
            _refuse_use(self, f"uses {recording.name(self, name)}")
        # Managers and relations to many objects query the database.
        if type(attribute).__module__.startswith(_QUERYING):
            recording.refuse(f"uses {recording.name(self, name)}")
        get = getattr(type(attribute), "__get__", None)
        return attribute if get is None else get(attribute, self, model)

    def __setattr__(self, name: str, value: object) -> None:
        fields = self._sitemaps09_model._meta.concrete_fields
        names = {"pk", "__class__", *(field.name for field in fields), *(field.attname for field in fields)}
        if name in names or hasattr(type(_attribute(self._sitemaps09_model, name)), "__set__"):
            self._sitemaps09_recording.refuse(f"changes {self._sitemaps09_recording.name(self, name)}")
        _own(self)[name] = value

    def _sitemaps09_field(self, name: str) -> Any:
        """Return the symbol of a field, the stand-in of a related object, or `_MISSING`."""
        recording: Recording = self._sitemaps09_recording
        model, keys = self._sitemaps09_model, self._sitemaps09_keys
        if name == "pk":
            if len(model._meta.pk_fields) > 1:
                recording.refuse(f"uses {recording.name(self, name)}, which has several columns")
            return self._sitemaps09_symbol(name, keys, model._meta.pk)
        for column in model._meta.concrete_fields:
            if name not in (column.attname, column.name):
                continue
            key = f"{self._sitemaps09_prefix}{column.name}"
            own_keys = (*keys, key) if column.null else keys
            # A project, a package or its field can replace the descriptor, for example for translated
            # fields. An instance has an empty file instead of None.
            is_plain = type(_attribute(model, column.attname)).__module__.startswith("django.db.")
            if not is_plain or (isinstance(column, models.FileField) and column.null):
                recording.refuse(f"uses {recording.name(self, name)}, which is not a plain field")
            if name == column.attname:
                return self._sitemaps09_symbol(name, own_keys, column)
            recording.use(self, name, key, is_nullable=column.null)
            if key in recording.nulls:
                return None
            if type(column.related_model._meta.base_manager) is not models.Manager:
                recording.refuse(f"uses {recording.name(self, name)}, whose model has its own base manager")
            if key.count("__") >= _DEEPEST:
                recording.refuse(f"follows more than {_DEEPEST} relations")
            return recording.stand_ins.get(key) or StandIn(recording, column.related_model, key, own_keys)
        return _MISSING

    def _sitemaps09_symbol(self, name: str, keys: tuple[str, ...], column: Any = None) -> Symbol | None:
        """Return the symbol of a column of the model, or of an annotation; `None` if it is NULL."""
        recording: Recording = self._sitemaps09_recording
        path = f"{self._sitemaps09_prefix}{name}"
        key = f"{self._sitemaps09_prefix}{column.name}" if column else path
        recording.use(self, name, key, is_nullable=column is None or column.null)
        recording.uses.setdefault(path, recording.place())
        if key in recording.nulls:
            return None
        return Symbol(recording, FieldValue(path, keys), lambda: recording.name(self, name), column=column)


_refuse_operations(StandIn, "compares {}", "eq ne hash lt le gt ge")
_refuse_operations(StandIn, "creates a string from {}", "str repr format")
_refuse_operations(StandIn, "copies {}", "reduce_ex copy deepcopy")


def _attribute(model: type[Model], name: str) -> Any:
    """Return an attribute of a model or its base classes, without calling a descriptor."""
    for base in model.__mro__:
        if base is not object and name in vars(base):
            return vars(base)[name]
    return _MISSING
