"""Prove on the rows of a section that columns can replace its methods, one hook at a time.

Both declarations are compared on a sample of the rows: the bytes, and the time that they take.
"""

from __future__ import annotations

import datetime
import random
from collections.abc import Collection, Generator, Hashable, Iterable, Mapping, Sequence
from contextlib import closing, suppress
from copy import copy
from inspect import getattr_static
from itertools import islice, zip_longest
from time import perf_counter
from typing import Any, NamedTuple

from django.conf import settings
from django.core.exceptions import FieldError
from django.db import connections, transaction
from django.db.models import CharField, F, ImageField, Model, QuerySet, TextField
from django.db.models.signals import post_init
from django.utils import timezone

from django_sitemaps09 import sources, writer
from django_sitemaps09.conf import conf
from django_sitemaps09.entries import MAX_MESSAGE, excerpt, reason_of
from django_sitemaps09.hooks.expressions import FIELDS, Field
from django_sitemaps09.orm.traits import chunks
from django_sitemaps09.pages import Page
from django_sitemaps09.protocol import Base
from django_sitemaps09.sitemaps.models import can_filter
from django_sitemaps09.suggestions.project_code import UntraceableError, other_inputs
from django_sitemaps09.suggestions.recordings import Rows
from django_sitemaps09.suggestions.tracing import Trace
from django_sitemaps09.suggestions.values import CoalescedValue, Constant, RouteValue, TemplateValue, Value

#: The default number of items on which declarations are compared.
SAMPLE = 1_000
# Number of `LANGUAGES` in which a hook is traced without i18n. By default, the setting has a hundred.
_OTHER_LANGUAGES = 5
_OTHER_CLASS = "The items are not instances of the model itself."
_FAILING = (
    "No item has NULL in `{}`. For such an item, the method raises an error, and the item is "
    "skipped. The declaration would write None into its URL."
)
_OVERRIDDEN = "Columns do not run {}, which can change the values of instances."
_EVERYTHING = Page(1, None, None)
# The best of several times has the least noise.
_ROUNDS = 3
# Minimum number of URLs for a measurement. With fewer, the queries take most of the time.
_WORTH_TIMING = 100
# Number of runs of rows in a sample: the first rows, the last rows, and rows at random places in between.
_PARTS = 20
# Maximum number of additional rows with NULL, and with an empty string, for each field.
_WITHOUT_VALUE = 20
# Some databases limit the parameters of a query.
_KEYS_AT_A_TIME = 500


class DifferenceError(Exception):
    """The declarations have different entries for an item."""


class Sample(NamedTuple):
    """Items of a section, on which declarations are compared.

    `parts` are querysets. `None` stands for the items of the sitemap. At most `most` items of a part are
    read.
    """

    section: str
    base: Base
    parts: Sequence[QuerySet[Any] | None] = (None,)
    most: int | None = None

    def compare(self, sitemap: Any, declared: Any) -> int:
        """Return the number of compared items. Raise `DifferenceError` for the first difference."""
        count = 0
        for part in self.parts:
            with closing(self._texts(sitemap, part)) as left, closing(self._texts(declared, part)) as right:
                pairs = zip_longest(left, right)
                for entry, declared_entry in islice(pairs, self.most):
                    if entry != declared_entry:
                        raise DifferenceError(_difference(entry, declared_entry))
                    count += 1
        return count

    def microseconds(self, sitemap: Any) -> float | None:
        """Return the microseconds per URL of a declaration; `None` for a small number of URLs."""
        rounds = []
        for _ in range(_ROUNDS):
            start_time, urls = perf_counter(), 0
            for part in self.parts:
                with closing(self._texts(sitemap, part)) as entries:
                    urls += sum(text.count("<loc>") for _, text in islice(entries, self.most))
            if urls < _WORTH_TIMING:
                return None
            rounds.append((perf_counter() - start_time) / urls * 1e6)
        return min(rounds)

    def _texts(self, sitemap: Any, part: QuerySet[Any] | None) -> Generator[tuple[Hashable, str]]:
        """Yield the key and the text of each item, as in an export."""
        if part is not None:
            sitemap = copy(sitemap)
            sitemap.items = lambda: part
        source = sources.source(self.section, sitemap, self.base, conf.limits)
        with closing(source.batches(_EVERYTHING)) as batches:
            for batch in batches:
                texts = writer.elements(writer.FORMATS["xml"], batch, str(self.base))
                yield from zip(batch.keys, texts, strict=True)


def _difference(entry: tuple[Any, str] | None, declared: tuple[Any, str] | None) -> str:
    """Return a message with both texts of an item, or with one text if the other is skipped."""
    if entry and declared and entry[0] == declared[0]:
        return f"item {entry[0]!r} is {_shown(entry)} now, but would be {_shown(declared)}"
    if declared is None or (entry and entry[0] < declared[0]):
        return f"item {entry[0]!r} is {_shown(entry)} now, but would be skipped"  # type: ignore[index, arg-type]
    return f"item {declared[0]!r} is skipped now, but would be {_shown(declared)}"


def _shown(entry: tuple[Any, str]) -> str:
    return excerpt(entry[1].strip(), MAX_MESSAGE)


def sample_keys(
    rows: QuerySet[Any], size: int, nullable: Collection[str], paths: Collection[str]
) -> list[Any]:
    """Return the primary keys of about `size` rows, and of rows with NULL or an empty string.

    `nullable` has the lookups of fields and relations that can be NULL, `paths` the lookups of all fields.
    """
    keys = rows.order_by("pk").values_list("pk", flat=True)
    count = keys.count()
    if count <= size:
        return list(dict.fromkeys(keys))
    length = max(1, size // _PARTS)
    room = max(1, (count - length) // _PARTS)
    starts = [0, count - length]
    places = range(max(1, room - length + 1))
    starts += [part * room + random.choice(places) for part in range(1, _PARTS - 1)]  # noqa: S311 not secret
    found = dict.fromkeys(key for start in starts for key in keys[start : start + length])
    conditions: list[dict[str, Any]] = [{f"{key}__isnull": True} for key in sorted(nullable)]
    for path in sorted(paths):
        with suppress(FieldError):
            column: Any = F(path).resolve_expression(rows.query.clone())
            if isinstance(column.output_field, (CharField, TextField)):
                conditions.append({path: ""})
    for condition in conditions:
        found |= dict.fromkeys(keys.filter(**condition)[:_WITHOUT_VALUE])
    return list(found)


class SectionProof:
    """The comparison of a section with its declared hooks."""

    def __init__(self, name: str, sitemap: Any, items: QuerySet[Any], base: Base, size: int | None) -> None:
        self.sitemap = sitemap
        self.items = items
        self.size = size or SAMPLE
        self.everything = Sample(name, base)
        self.sample = self.everything
        self.traces: dict[Field, Trace] = {}

    def values(self, methods: Sequence[Field]) -> tuple[dict[Field, Value], tuple[str, ...]]:
        """Return the values of the hooks that can be declared, and notes about all others."""
        values: dict[Field, Value] = {}
        notes: list[str] = []
        row = next(iter(self.items.all()[:1]), None)
        if row is None or type(row) is not self.items.model:
            return values, ("There is no item to compare." if row is None else _OTHER_CLASS,)
        annotations = frozenset(self.items.query.annotation_select)
        zone = connections[self.items.db].timezone_name if settings.USE_TZ else ""
        rows = Rows(self.items.model, annotations, frozenset(vars(row)) - annotations, zone)
        for hook in methods:
            trace = Trace(getattr(copy(self.sitemap), hook), rows, self._languages())
            try:
                values[hook] = _checked(hook, trace)
                self.traces[hook] = trace
            except UntraceableError as error:
                notes.append(f"{hook} stays a method: {error}.")
        if values:
            self.sample = self._sample(values.values())
        for hook in list(values):
            # One hook at a time, so that a difference concerns only this hook.
            try:
                # A query that fails would end the outer transaction.
                with transaction.atomic(using=self.items.db):
                    if isinstance(values[hook], CoalescedValue) and self._converts_dates(values[hook]):
                        raise DifferenceError("the database would convert a date to a datetime")
                    if not self.compare({hook: values[hook]}, self.sample):
                        raise DifferenceError("all compared items are skipped")
            except Exception as error:  # noqa: BLE001 the error concerns only this hook
                problem = error if isinstance(error, DifferenceError) else reason_of(error, MAX_MESSAGE)
                code = values.pop(hook).code
                notes.append(f"{hook} stays a method: {code} cannot replace it: {problem}.")
        if isinstance(values.get("location"), RouteValue) and can_filter(self.items):
            notes += [
                _FAILING.format(key)
                for key in sorted(self.traces["location"].failing)
                if not self.items.filter(**{f"{key}__isnull": True}).exists()
            ]
        if values and (overridden := sorted(self._overridden(values))):
            notes.append(_OVERRIDDEN.format(" and ".join(overridden)))
        return values, tuple(notes)

    def _converts_dates(self, value: Value) -> bool:
        """Return whether values are dates and datetimes. The sample can have values of only one type."""
        columns = value.declaration.resolve_expression(self.items.query.clone()).get_source_expressions()
        types = {column.output_field.get_internal_type() for column in columns}
        return {"DateField", "DateTimeField"} <= types

    def _overridden(self, values: Iterable[Field]) -> set[str]:
        """Return what can change the values of an instance when it is created or read."""
        models = {model for hook in values for model in self.traces[hook].models}
        # Django itself connects a receiver for images.
        receivers = {
            f"the post_init receivers of {model.__name__}"
            for model in models
            if post_init.has_listeners(model)
            and not any(isinstance(column, ImageField) for column in model._meta.concrete_fields)
        }
        return receivers | {
            f"{model.__name__}.{name}()"
            for model in models
            for name in ("__init__", "from_db", "__getattribute__")
            if getattr_static(model, name) is not getattr_static(Model, name)
        }

    def comments(self, values: Iterable[Field]) -> dict[Field, str]:
        """Return a comment for each hook whose declaration can be another one at another time."""
        time = timezone.now().astimezone(datetime.timezone.utc)
        comments = {}
        for hook in values:
            trace = self.traces[hook]
            inputs = other_inputs(trace.hook, {type(self.sitemap), *trace.models})
            if use := next(inputs, None):
                comments[hook] = f"As it was at {time:%Y-%m-%d %H:%M} UTC, because {use}."
        return comments

    def _languages(self) -> list[str]:
        """Return the languages of the section, or else `LANGUAGE_CODE` and a few others."""
        if self.sitemap.i18n:
            codes = self.sitemap._languages()  # noqa: SLF001 contrib's hook
        else:
            codes = [code for code, _ in settings.LANGUAGES[:_OTHER_LANGUAGES]]
        return list(dict.fromkeys([conf.language, *codes]))

    def _sample(self, values: Iterable[Value]) -> Sample:
        if not can_filter(self.items):
            # Such items are only compared up to the size of the sample.
            return self.everything._replace(most=self.size)
        nullable = {key for trace in self.traces.values() for key in trace.nullable}
        paths = {column.path for value in values for column in value.fields()}
        keys = sample_keys(self.items, self.size, nullable, paths)
        querysets = [self.items.filter(pk__in=chunk) for chunk in chunks(keys, _KEYS_AT_A_TIME)]
        return self.everything._replace(parts=querysets)

    def compare(self, values: Mapping[Field, Value], sample: Sample) -> int:
        """Compare the sitemap with a copy that declares these values, and return the number of items.

        Both lack the other methods. These can return anything, such as the time, and are not compared.
        """
        others: dict[str, Any] = {
            hook: None
            for hook in FIELDS
            if hook != "location" and hook not in values and callable(getattr(self.sitemap, hook, None))
        }
        declared: dict[str, Any] = {hook: value.declaration for hook, value in values.items()}
        return sample.compare(self._with(others), self._with({**others, **declared}))

    def timed(self, values: Mapping[Field, Value]) -> tuple[float, float] | None:
        """Return the microseconds per URL of the sitemap and of the declaration, with all their hooks."""
        declared = self._with({hook: value.declaration for hook, value in values.items()})
        try:
            now, then = map(self.sample.microseconds, (self.sitemap, declared))
        except (UntraceableError, Exception):  # noqa: BLE001 other methods can raise anything, or save rows
            return None
        return (now, then) if now and then else None

    def _with(self, attributes: Mapping[str, Any]) -> Any:
        kind: Any = type(self.sitemap)
        declared = copy(self.sitemap)
        # A hook can be a property, or an attribute of the instance.
        declared.__class__ = type(kind.__name__, (kind,), {**attributes, "__module__": kind.__module__})
        for hook in attributes:
            vars(declared).pop(hook, None)
        return declared


def _checked(hook: Field, trace: Trace) -> Value:
    """Return the value of a hook. Raise `UntraceableError` for a value that a hook cannot declare."""
    value = trace.value()
    match value:
        case Constant() if hook == "location" or (hook == "lastmod" and value.value is not None):
            problem = f"returns {value.code} for an item without values"
        case TemplateValue() if hook != "location":
            problem = "creates a string from several parts"
        case TemplateValue() if not value.template.startswith(("/", "https://", "http://")):
            problem = "returns a string that does not begin with a slash"
        case _:
            return value
    raise UntraceableError(f"{trace.start()}: {problem}")
