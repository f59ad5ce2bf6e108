"""Expressions that a section declares, as source code, and their values in plain Python."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, datetime
from math import floor
from statistics import fmean
from typing import NamedTuple

from django.conf import settings
from django.db.models import DateTimeField, Value
from django.db.models.functions import Cast, Coalesce

from tests.invariants.fuzz.facts import UTC, stored

#: A naive time, as in `Fact`.
OLD = datetime(2019, 5, 17, 22, 30)
LEAP = date(2016, 2, 29)
#: The number, the time and the text of the rows at the end of a path.
RELATIONS = {
    "notes": ("score", "at", "word"), "children": ("weight", "at", "slug"), "tags": ("rank", "at", "name"),
    "children__notes": ("score", "at", "word"), "parent__notes": ("score", "at", "word"),
    "parent__tags": ("rank", "at", "name"),
}  # fmt: skip
_MAIN = ("notes", "notes", "children", "children", "tags", "tags", *RELATIONS)


def old():
    return Value(stored(OLD))


def at():
    """Return a time without nulls. On MariaDB, Django raises an error for a part of a null."""
    return Coalesce("at", Cast(old(), DateTimeField()))


def zone():
    """Return the zone. MariaDB knows only UTC if its time zone tables are not loaded."""
    return UTC if settings.USE_TZ else None


class Aggregate(NamedTuple):
    """An aggregate over the rows at the end of a path, as in `Max('notes__at')`."""

    function: str
    path: str
    field: str = ""
    least: int | None = None
    distinct: bool = False

    def __str__(self):
        made = f"{self.function}('{self.path}{self.field and f'__{self.field}'}'"
        if self.least is not None:
            made += f", filter=Q({self.path}__{RELATIONS[self.path][0]}__gt={self.least})"
        made += ", distinct=True)" if self.distinct else ")"
        # An average has other digits on each database.
        return f"Cast(Floor({made}), IntegerField())" if self.function == "Avg" else made

    def value(self, fact):
        """Return the aggregate of all rows that are related to a row."""
        number = RELATIONS[self.path][0]
        rows = fact.related(self.path)
        if self.least is not None:
            rows = [row for row in rows if (getattr(row, number) or 0) > self.least]
        if not self.field:
            # The rows of a relation have no value that is equal in two of them.
            return len({*map(id, rows)} if self.distinct else rows)
        values = [value for row in rows if (value := getattr(row, self.field)) is not None]
        if self.distinct:
            values = [*{*values}]
        if self.function == "Count":
            return len(values)
        if not values:
            return None
        return _FUNCTIONS[self.function](values)


_FUNCTIONS = {"Sum": sum, "Max": max, "Min": min, "Avg": lambda values: floor(fmean(values))}


def a_time(rng, *, but=None):
    """Return the first or the last time of related rows, not of the relation `but`."""
    path = rng.choice([path for path in _MAIN if path != but])
    least = rng.randrange(3) if rng.random() < 0.25 else None
    return Aggregate(rng.choice(["Max", "Max", "Min"]), path, RELATIONS[path][1], least)


def a_number(rng):
    """Return an aggregate whose value is a whole number."""
    path = rng.choice(_MAIN)
    function = rng.choice(["Count", "Count", "Count", "Sum", "Sum", "Max", "Min", "Avg"])
    least = rng.randrange(3) if rng.random() < 0.3 else None
    distinct = function in ("Count", "Sum") and rng.random() < 0.4
    field = "" if function == "Count" and rng.random() < 0.6 else RELATIONS[path][0]
    return Aggregate(function, path, field, least, distinct)


class Number(NamedTuple):
    """A whole number in a location: an aggregate, or the sum of two."""

    aggregates: tuple[Aggregate, ...]

    def __str__(self):
        if len(self.aggregates) == 1:
            return str(self.aggregates[0])
        return " + ".join(f"Coalesce({aggregate}, 0)" for aggregate in self.aggregates)

    def value(self, *values):
        return values[0] if len(values) == 1 else sum(value or 0 for value in values)


class Lastmod(NamedTuple):
    """A declared lastmod.

    `value` takes a fact, the row, and the values of `aggregates`. Without `value`, only Django knows it.
    """

    source: str
    value: Callable[..., date | None] | None
    aggregates: tuple[Aggregate, ...] = ()


def _midnight(value, **parts):
    return value.replace(hour=0, minute=0, second=0, **parts)


PLAIN = {
    "None": lambda fact: None,
    "LEAP": lambda fact: LEAP,
    "F('at')": lambda fact: fact.at,
    "F('day')": lambda fact: fact.day,
    "F('group__at')": lambda fact: fact.group_at,
    "Coalesce('at', old())": lambda fact: fact.at or OLD,
    "Coalesce('day', Value(LEAP))": lambda fact: fact.day or LEAP,
    "Coalesce('at', 'group__at')": lambda fact: fact.at or fact.group_at,
    "TruncYear(at(), tzinfo=zone())": lambda fact: _midnight(fact.at or OLD, month=1, day=1),
    "TruncMonth(at(), tzinfo=zone())": lambda fact: _midnight(fact.at or OLD, day=1),
    "TruncDay(at(), tzinfo=zone())": lambda fact: _midnight(fact.at or OLD),
    "TruncHour(at(), tzinfo=zone())": lambda fact: (fact.at or OLD).replace(minute=0, second=0),
    "TruncDate(at(), tzinfo=zone())": lambda fact: (fact.at or OLD).date(),
    "TruncMonth('day')": lambda fact: fact.day and fact.day.replace(day=1),
    "TruncDay('day')": lambda fact: fact.day,
    "Cast('at', DateField())": lambda fact: fact.at and fact.at.date(),
    "Cast('day', DateTimeField())": lambda fact: (
        fact.day and datetime(fact.day.year, fact.day.month, fact.day.day)
    ),
    "Case(When(flag=True, then=F('at')), default=old())": lambda fact: fact.at if fact.flag else OLD,
    "Case(When(weight__gt=2, then=F('day')), default=Value(LEAP))": lambda fact: (
        fact.day if (fact.weight or 0) > 2 else LEAP
    ),
    "Case(When(group__name='g1', then=F('group__at')))": lambda fact: (
        fact.group_at if fact.group == 1 else None
    ),
    "Greatest(at(), Coalesce('group__at', Cast(old(), DateTimeField())))": lambda fact: max(
        fact.at or OLD, fact.group_at or OLD
    ),
}
RELATED = {
    "F('parent__at')": lambda fact: fact.parent and fact.parent.at,
    "Subquery(notes().filter(thing=OuterRef('pk'), at__isnull=False).order_by('-at').values('at')[:1])": (
        lambda fact: max((note.at for note in fact.notes if note.at), default=None)
    ),
}
#: Expressions around one or two aggregates, and their values for a fact and the values of the aggregates.
AROUND = {
    "{0}": lambda fact, first: first,
    "Coalesce({0}, 'at', old())": lambda fact, first: first or fact.at or OLD,
    "Case(When(flag=True, then={0}), default=F('at'))": lambda fact, first: first if fact.flag else fact.at,
    "Coalesce({0}, {1})": lambda fact, first, second: first or second,
    "Greatest(Coalesce({0}, old()), Coalesce({1}, old()))": lambda fact, first, second: max(
        first or OLD, second or OLD
    ),
}


def lastmod(rng, kind, times):
    """Return any lastmod. `times` are the annotations of the queryset that are times."""
    if kind == "composite" or rng.random() < 0.3:
        made = rng.choice([*PLAIN.items(), *([] if kind == "composite" else RELATED.items())])
        return Lastmod(made[0], lambda fact, row: made[1](fact))
    if times and rng.random() < 0.5:
        name = rng.choice(times)
        if rng.random() < 0.5:
            return Lastmod(f"F('{name}')", lambda fact, row: row[name])
        source = rng.choice(["Max('{0}')", "Max(Coalesce('notes__at', '{0}'))", "Min('{0}')"])
        return Lastmod(source.format(name), None)
    source = rng.choice([*AROUND, "{0}", "{0}", "{0}"])
    first = a_time(rng)
    parts = (first, a_time(rng, but=first.path)) if "{1}" in source else (first,)
    around = AROUND[source]
    return Lastmod(source.format(*parts), lambda fact, row, *values: around(fact, *values), parts)
