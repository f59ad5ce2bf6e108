"""Declared lastmods, and their values in plain Python."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, datetime
from typing import Any, NamedTuple

from django.conf import settings
from django.db.models import Case, DateField, DateTimeField, F, Max, OuterRef, Q, Subquery, Value, When
from django.db.models.functions import (
    Cast,
    Coalesce,
    Greatest,
    TruncDate,
    TruncDay,
    TruncHour,
    TruncMonth,
    TruncYear,
)

from tests.invariants.fuzz import models
from tests.invariants.fuzz.facts import KINDS, UTC, Fact, stored

#: A naive time, as in `Fact`.
OLD = datetime(2019, 5, 17, 22, 30)
LEAP = date(2016, 2, 29)


class Lastmod(NamedTuple):
    """An expression for rows with one kind of key, and its value for a fact.

    `many` means multi-valued relations.
    """

    expression: Callable[[str], Any]
    value: Callable[[Fact], date | None]
    many: bool = False
    relation: bool = False


def old() -> Value:
    return Value(stored(OLD))


def at() -> Coalesce:
    """Return a time without nulls. On MariaDB, Django raises an error for a part of a null."""
    return Coalesce("at", Cast(old(), DateTimeField()))


def zone() -> Any:
    """Return the zone. MariaDB knows only UTC if its time zone tables are not loaded."""
    return UTC if settings.USE_TZ else None


def _newest(fact: Fact, score: int = -1) -> datetime | None:
    return max((at for _, found, at in fact.notes if found > score), default=None)


def _midnight(value: datetime, **parts: int) -> datetime:
    return value.replace(hour=0, minute=0, second=0, **parts)  # type: ignore[arg-type]


LASTMODS: dict[str, Lastmod] = {
    "none": Lastmod(lambda kind: None, lambda fact: None),
    "constant": Lastmod(lambda kind: LEAP, lambda fact: LEAP),
    "at": Lastmod(lambda kind: F("at"), lambda fact: fact.at),
    "day": Lastmod(lambda kind: F("day"), lambda fact: fact.day),
    "parent": Lastmod(
        lambda kind: F("parent__at"), lambda fact: fact.parent and fact.parent.at, relation=True
    ),
    "group": Lastmod(lambda kind: F("group__at"), lambda fact: fact.group_at),
    "Coalesce": Lastmod(lambda kind: Coalesce("at", old()), lambda fact: fact.at or OLD),
    "Coalesce of a date": Lastmod(lambda kind: Coalesce("day", Value(LEAP)), lambda fact: fact.day or LEAP),
    "Coalesce of columns": Lastmod(
        lambda kind: Coalesce("at", "group__at"), lambda fact: fact.at or fact.group_at
    ),
    "TruncYear": Lastmod(
        lambda kind: TruncYear(at(), tzinfo=zone()),
        lambda fact: _midnight(fact.at or OLD, month=1, day=1),
    ),
    "TruncMonth": Lastmod(
        lambda kind: TruncMonth(at(), tzinfo=zone()), lambda fact: _midnight(fact.at or OLD, day=1)
    ),
    "TruncDay": Lastmod(lambda kind: TruncDay(at(), tzinfo=zone()), lambda fact: _midnight(fact.at or OLD)),
    "TruncHour": Lastmod(
        lambda kind: TruncHour(at(), tzinfo=zone()),
        lambda fact: (fact.at or OLD).replace(minute=0, second=0),
    ),
    "TruncDate": Lastmod(lambda kind: TruncDate(at(), tzinfo=zone()), lambda fact: (fact.at or OLD).date()),
    "TruncMonth of a date": Lastmod(
        lambda kind: TruncMonth("day"), lambda fact: fact.day and fact.day.replace(day=1)
    ),
    "TruncDay of a date": Lastmod(lambda kind: TruncDay("day"), lambda fact: fact.day),
    "Cast to a date": Lastmod(
        lambda kind: Cast("at", DateField()), lambda fact: fact.at and fact.at.date()
    ),
    "Cast to a time": Lastmod(
        lambda kind: Cast("day", DateTimeField()),
        lambda fact: fact.day and datetime(fact.day.year, fact.day.month, fact.day.day),
    ),
    "Case": Lastmod(
        lambda kind: Case(When(flag=True, then=F("at")), default=old()),
        lambda fact: fact.at if fact.flag else OLD,
    ),
    "Case of dates": Lastmod(
        lambda kind: Case(When(weight__gt=2, then=F("day")), default=Value(LEAP)),
        lambda fact: fact.day if (fact.weight or 0) > 2 else LEAP,
    ),
    "Case without a default": Lastmod(
        lambda kind: Case(When(group__name="g1", then=F("group__at"))),
        lambda fact: fact.group_at if fact.group == 1 else None,
    ),
    "Greatest": Lastmod(
        lambda kind: Greatest(at(), Coalesce("group__at", Cast(old(), DateTimeField()))),
        lambda fact: max(fact.at or OLD, fact.group_at or OLD),
    ),
    "Max": Lastmod(lambda kind: Max("notes__at"), _newest, many=True, relation=True),
    "a filtered Max": Lastmod(
        lambda kind: Max("notes__at", filter=Q(notes__score__gt=2)),
        lambda fact: _newest(fact, 2),
        many=True,
        relation=True,
    ),
    "Max or a column": Lastmod(
        lambda kind: Coalesce(Max("notes__at"), "at", old()),
        lambda fact: _newest(fact) or fact.at or OLD,
        many=True,
        relation=True,
    ),
    "Subquery": Lastmod(
        lambda kind: Subquery(_notes(kind).filter(thing=OuterRef("pk")).order_by("-at").values("at")[:1]),
        _newest,
        relation=True,
    ),
}


def _notes(kind: str) -> Any:
    related: Any = KINDS[kind][0]._meta.get_field("notes").related_model
    return related._base_manager.all()


def of_kind(kind: str) -> dict[str, Lastmod]:
    """Return the lastmods that rows with one kind of key can have."""
    return {name: made for name, made in LASTMODS.items() if not (made.relation and kind == "composite")}


__all__ = ["LASTMODS", "Lastmod", "models", "of_kind"]
