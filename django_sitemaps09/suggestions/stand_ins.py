"""Stand-ins for the items of a section: methods run on them, and fields are symbols without a value."""

from __future__ import annotations

import functools
from typing import Any

from django.db.models import FileField, Manager, Model
from django.utils.functional import cached_property

from django_sitemaps09.suggestions.recordings import Recording
from django_sitemaps09.suggestions.symbols import Symbol, refusal
from django_sitemaps09.suggestions.values import FieldValue

# Without a limit, a method that follows relations in a loop would never end.
_DEEPEST = 8
_MISSING = object()
_QUERYING = ("django.db.models.fields", "django.db.models.manager", "django.contrib.contenttypes")


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
            _sitemaps09_keys=keys,
        )
        recording.stand_ins[path] = self

    @property
    def __class__(self) -> Any:
        return _own(self)["_sitemaps09_model"]

    @__class__.setter
    def __class__(self, value: object) -> None:
        self._sitemaps09_recording.refuse("changes the class of the item")

    def _sitemaps09_name(self) -> str:
        recording: Recording = _own(self)["_sitemaps09_recording"]
        return recording.name(self, "").replace(".`", "`")

    @property
    def __dict__(self) -> Any:  # type: ignore[override]
        self._sitemaps09_recording.refuse(f"uses all attributes of {self._sitemaps09_name()}")

    def __bool__(self) -> bool:
        model = _own(self)["_sitemaps09_model"]
        if _attribute(model, "__bool__") is not _MISSING or _attribute(model, "__len__") is not _MISSING:
            self._sitemaps09_recording.refuse("depends on whether an object is true")
        return True

    def __getattr__(self, name: str) -> Any:
        own = _own(self)
        recording: Recording = own["_sitemaps09_recording"]
        model: type[Model] = own["_sitemaps09_model"]
        found = _field(self, name)
        if found is not _MISSING:
            return found
        attribute = _attribute(model, name)
        if attribute is _MISSING:
            if not own["_sitemaps09_path"] and name in recording.rows.annotations:
                return _symbol(self, name, FieldValue(name, (name,)), is_nullable=True)
            # An instance can have other attributes, for example from prefetch_related().
            if name in recording.rows.attributes or _attribute(model, "__getattr__") is not _MISSING:
                recording.refuse(f"uses {recording.name(self, name)}")
            raise AttributeError(f"{model.__name__!r} object has no attribute {name!r}")
        if isinstance(attribute, (cached_property, functools.cached_property)):
            # The stand-in keeps no value, so that each use of a string is seen.
            return attribute.func(self)
        module = type(attribute).__module__
        if attribute is vars(Model).get(name, _MISSING):
            recording.refuse_use(self._sitemaps09_name(), f"uses {recording.name(self, name)}")
        # Managers and relations to many objects query the database.
        if module.startswith(_QUERYING):
            recording.refuse(f"uses {recording.name(self, name)}")
        get = getattr(type(attribute), "__get__", None)
        return attribute if get is None else get(attribute, self, model)

    def __setattr__(self, name: str, value: object) -> None:
        attribute = _attribute(_own(self)["_sitemaps09_model"], name)
        if hasattr(type(attribute), "__set__") or name in _names(_own(self)["_sitemaps09_model"]):
            self._sitemaps09_recording.refuse(f"changes {self._sitemaps09_recording.name(self, name)}")
        _own(self)[name] = value


for _problem, _methods in (
    ("compares {}", "eq ne hash lt le gt ge"),
    ("creates a string from {}", "str repr format"),
    ("copies {}", "reduce_ex copy deepcopy"),
):
    for _name in _methods.split():
        setattr(StandIn, f"__{_name}__", refusal(_problem))


def _attribute(model: type[Model], name: str) -> Any:
    """Return an attribute of a model or its base classes, without calling a descriptor."""
    for base in model.__mro__:
        if base is not object and name in vars(base):
            return vars(base)[name]
    return _MISSING


def _names(model: type[Model]) -> set[str]:
    fields = model._meta.concrete_fields
    return {"pk", *(field.name for field in fields), *(field.attname for field in fields)}


def _field(owner: StandIn, name: str) -> Any:
    """Return the symbol of a field, the stand-in of a related object, or `_MISSING`."""
    own = _own(owner)
    recording: Recording = own["_sitemaps09_recording"]
    options = own["_sitemaps09_model"]._meta
    prefix = f"{own['_sitemaps09_path']}__" if own["_sitemaps09_path"] else ""
    keys = own["_sitemaps09_keys"]
    if name == "pk":
        if len(options.pk_fields) > 1:
            recording.refuse(f"uses {recording.name(owner, name)}, which has several columns")
        return _symbol(owner, name, FieldValue(f"{prefix}pk", keys), is_nullable=False, column=options.pk)
    for column in options.concrete_fields:
        key = f"{prefix}{column.name}"
        own_keys = (*keys, key) if column.null else keys
        # A project, a package or its field can replace the descriptor, for example for translated fields.
        descriptor = _attribute(own["_sitemaps09_model"], column.attname)
        if name in (column.attname, column.name) and (
            not type(descriptor).__module__.startswith("django.db.")
            # An instance has an empty file instead of None.
            or (isinstance(column, FileField) and column.null)
        ):
            recording.refuse(f"uses {recording.name(owner, name)}, which is not a plain field")
        if name == column.attname:
            value = FieldValue(f"{prefix}{name}", own_keys)
            return _symbol(owner, name, value, is_nullable=column.null, key=key, column=column)
        if name == column.name:
            recording.use(owner, name, key, is_nullable=column.null)
            if key in recording.nulls:
                return None
            if type(column.related_model._meta.base_manager) is not Manager:
                recording.refuse(
                    f"uses {recording.name(owner, name)}, whose model has its own base manager"
                )
            if key.count("__") >= _DEEPEST:
                recording.refuse(f"follows more than {_DEEPEST} relations")
            return recording.stand_ins.get(key) or StandIn(recording, column.related_model, key, own_keys)
    return _MISSING


def _symbol(
    owner: StandIn,
    name: str,
    value: FieldValue,
    *,
    is_nullable: bool,
    key: str | None = None,
    column: Any = None,
) -> Symbol | None:
    recording: Recording = _own(owner)["_sitemaps09_recording"]
    key = key or value.path
    recording.use(owner, name, key, is_nullable=is_nullable)
    recording.uses.setdefault(value.path, recording.place())
    if key in recording.nulls:
        return None
    return Symbol(recording, value, lambda: recording.name(owner, name), column=column)
