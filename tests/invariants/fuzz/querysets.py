"""Random querysets, each with the code that creates it again."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from django.db.models import Count, Exists, F, Max, Min, OuterRef, Q, QuerySet, Sum, Window
from django.db.models.functions import DenseRank, Lower, Now, Rank

from tests.invariants.fuzz.facts import KINDS

Rng = random.Random
Build = Callable[[QuerySet[Any]], Any]


class Made(NamedTuple):
    """A queryset. With `fields`, its rows are dicts or tuples, and groups with a `last` slug."""

    text: str
    rows: Any
    fields: str = ""


def queryset(rng: Rng, kind: str, using: str) -> Made:
    """`Exception` of Django's where it does not admit what came by chance."""
    rows = KINDS[kind][0]._base_manager.using(using)
    return _ended(rng, kind, _combined(rng, kind, rows))


def _plain(rng: Rng) -> tuple[str, Q]:
    name, value = rng.choice(
        [
            ("flag", True),
            ("weight__gt", rng.randrange(4)),
            ("weight__isnull", rng.random() < 0.5),
            ("slug__gte", f"s{rng.randrange(24):02}"),
            ("group__name", "g1"),
            ("group__isnull", False),
            ("at__lt", Now()),
            ("at__year__gte", 2022),
            ("day__isnull", False),
            ("number__in", [*range(0, 29, rng.randrange(1, 4))]),
        ]
    )
    return f"{name}={value!r}", Q(**{name: value})


def _related(rng: Rng) -> tuple[str, Q]:
    name, value = rng.choice(
        [
            ("notes__word", rng.choice("abc")),
            ("notes__score__gt", rng.randrange(4)),
            ("notes__isnull", rng.random() < 0.3),
            ("parent__notes__word", rng.choice("abc")),
            ("parent__flag", True),
            ("parent__group__name", "g2"),
            ("parent__isnull", rng.random() < 0.5),
            ("children__flag", rng.random() < 0.5),
            ("children__notes__score", 2),
        ]
    )
    return f"{name}={value!r}", Q(**{name: value})


def _predicate(rng: Rng, kind: str) -> tuple[str, Q]:
    text, found = _related(rng) if kind != "composite" and rng.random() < 0.5 else _plain(rng)
    shape = rng.random()
    if shape < 0.15:
        other, q = _predicate(rng, kind)
        return f"Q({text}) | Q({other})", found | q
    if shape < 0.25:
        other, q = _predicate(rng, kind)
        return f"Q({text}) & ~Q({other})", found & ~q
    return f"Q({text})", found


def _steps(kind: str) -> dict[str, Callable[[Rng], Iterator[tuple[str, Build]]]]:
    """Return the steps that build a queryset, weighted by frequency."""

    def step(text: str, build: Build) -> Iterator[tuple[str, Build]]:
        yield text, build

    def filtered(rng: Rng) -> Iterator[tuple[str, Build]]:
        text, q = _predicate(rng, kind)
        return step(f"filter({text})", lambda rows: rows.filter(q))

    def excluded(rng: Rng) -> Iterator[tuple[str, Build]]:
        text, q = _predicate(rng, kind)
        return step(f"exclude({text})", lambda rows: rows.exclude(q))

    def counted(rng: Rng) -> Iterator[tuple[str, Build]]:
        _, q = _related(rng)
        kwargs: dict[str, Any] = {"filter": q} if rng.random() < 0.5 else {}
        kwargs |= {"distinct": True} if rng.random() < 0.5 else {}
        yield f"annotate(n=Count('notes', **{kwargs!r}))", lambda r: r.annotate(n=Count("notes", **kwargs))
        if rng.random() < 0.6:
            least = rng.randrange(3)
            yield f"filter(n__gte={least})", lambda rows: rows.filter(n__gte=least)

    def aggregated(rng: Rng) -> Iterator[tuple[str, Build]]:
        made = rng.choice(
            [Max("notes__at"), Min("notes__score"), Sum("notes__score"), Max("children__day")]
        )
        method = rng.choice(["annotate", "alias"])
        yield f"{method}(m={made!r})", lambda rows: getattr(rows, method)(m=made)
        if rng.random() < 0.4:
            yield "filter(m__isnull=False)", lambda rows: rows.filter(m__isnull=False)

    def existing(rng: Rng) -> Iterator[tuple[str, Build]]:
        note: Any = KINDS[kind][0]._meta.get_field("notes").related_model
        some = note._base_manager.filter(thing=OuterRef("pk"), score__gt=rng.randrange(4))
        return step("filter(Exists(notes))", lambda rows: rows.filter(Exists(some)))

    def ranked(rng: Rng) -> Iterator[tuple[str, Build]]:
        # A join can repeat a row, and the numbers of the two rows would then be random.
        made = Window(rng.choice([DenseRank, Rank])(), partition_by="group", order_by="slug")
        method = rng.choice(["annotate", "alias"])
        yield f"{method}(rank={made!r})", lambda rows: getattr(rows, method)(rank=made)
        most = rng.randrange(1, 5)
        yield f"filter(rank__lte={most})", lambda rows: rows.filter(rank__lte=most)

    def joined(rng: Rng) -> Iterator[tuple[str, Build]]:
        name = rng.choice(["word", "score"])
        return step(f"annotate(one=F('notes__{name}'))", lambda r: r.annotate(one=F(f"notes__{name}")))

    def extra(rng: Rng) -> Iterator[tuple[str, Build]]:
        table, most = KINDS[kind][0]._meta.db_table, rng.randrange(5, 29)
        where = [f"{table}.number < {most}"]
        return step(f"extra(where={where!r})", lambda rows: rows.extra(where=where))  # noqa: S610

    def shown(rng: Rng) -> Iterator[tuple[str, Build]]:
        return rng.choice(
            [
                step("distinct()", lambda rows: rows.distinct()),
                step("order_by('-slug')", lambda rows: rows.order_by("-slug")),
                step("order_by('group__name', 'slug')", lambda r: r.order_by("group__name", "slug")),
                step("reverse()", lambda rows: rows.reverse()),
                step("select_related('group')", lambda rows: rows.select_related("group")),
                step("only('slug')", lambda rows: rows.only("slug")),
                step("defer('day')", lambda rows: rows.defer("day")),
                step("annotate(low=Lower('slug'))", lambda rows: rows.annotate(low=Lower("slug"))),
            ]
        )

    found: dict[str, Callable[[Rng], Iterator[tuple[str, Build]]]] = {
        "filtered": filtered,
        "excluded": excluded,
        "shown": shown,
        "ranked": ranked,
        "extra": extra,
    }
    if kind != "composite":
        found |= {"counted": counted, "aggregated": aggregated, "existing": existing, "joined": joined}
    return found


_WEIGHTS = {
    "filtered": 8,
    "excluded": 3,
    "shown": 5,
    "ranked": 1,
    "extra": 0.5,
    "counted": 2,
    "aggregated": 2,
    "existing": 1,
    "joined": 0.5,
}


def _simple(rng: Rng, kind: str, rows: Any) -> Made:
    steps = _steps(kind)
    text = "rows"
    for name in rng.choices([*steps], [_WEIGHTS[name] for name in steps], k=rng.randrange(4)):
        for step, build in steps[name](rng):
            rows = build(rows)
            text += f".{step}"
    return Made(text, rows.all())


def _combined(rng: Rng, kind: str, rows: Any) -> Made:
    one = _simple(rng, kind, rows)
    if rng.random() < 0.6:
        return one
    other = _simple(rng, kind, rows)
    if one.rows.query.distinct != other.rows.query.distinct:
        one = Made(f"{one.text}.distinct()", one.rows.distinct())
        other = Made(f"{other.text}.distinct()", other.rows.distinct())
    if rng.random() < 0.7:
        return Made(f"({one.text}) | ({other.text})", one.rows | other.rows)
    return Made(f"({one.text}) & ({other.text})", one.rows & other.rows)


def _values(rng: Rng, kind: str, made: Made) -> Made:
    """In an order that can repeat rows, in none, or of a union."""
    text, rows, names = made.text, made.rows, ("slug", "at")
    fields = rng.choice(["values", "values_list"])
    order = rng.choice([["slug"], ["flag"], [], ["-notes__word"] if kind != "composite" else ["-flag"]])
    text, rows = f"({text}).order_by(*{order!r}).{fields}{names!r}", rows.order_by(*order)
    found = getattr(rows, fields)(*names)
    if rng.random() < 0.5:
        other = _combined(rng, kind, KINDS[kind][0]._base_manager.using(rows.db))
        found = found.order_by().union(getattr(other.rows.order_by(), fields)(*names))
        text = f"{text}.order_by().union(({other.text}).order_by().{fields}{names!r})"
    return Made(text, found, fields)


def _columns(rows: Any) -> Any:
    """Return what a queryset selects, which must be the same for all parts of a union."""
    return rows.query.deferred_loading, [*rows.query.annotation_select]


def _ended(rng: Rng, kind: str, made: Made) -> Made:
    """Mostly as it is; a slice, a union or values of it now and then, in an order without ties."""
    chance = rng.random()
    text, rows = made.text, made.rows
    if chance < 0.1:
        start, stop = rng.randrange(4), rng.choice([6, 12, 30])
        return Made(f"({text}).order_by('slug')[{start}:{stop}]", rows.order_by("slug")[start:stop])
    if chance < 0.18:
        return _values(rng, kind, made)
    if chance < 0.22:
        found = rows.order_by().values("flag", "weight").annotate(last=Max("slug"))
        text = f"({text}).order_by().values('flag', 'weight').annotate(last=Max('slug'))"
        if rng.random() < 0.3:
            text, found = f"{text}.order_by('last')[1:9]", found.order_by("last")[1:9]
        return Made(text, found, "groups")
    if chance < 0.3:
        method = rng.choice(["union", "intersection", "difference"])
        other = _combined(rng, kind, KINDS[kind][0]._base_manager.using(rows.db))
        if _columns(rows) != _columns(other.rows):
            # SQLite treats a date as a number there, and so does Django.
            return made
        found = getattr(rows.order_by(), method)(other.rows.order_by())
        text = f"({text}).{method}({other.text})"
        if rng.random() < 0.5:
            text, found = f"{text}.order_by('slug')", found.order_by("slug")
            if rng.random() < 0.3:
                text, found = f"{text}[1:9]", found[1:9]
        return Made(text, found)
    if chance < 0.34 and rows.db == "postgresql":
        return Made(
            f"({text}).order_by('group', 'slug').distinct('group')",
            rows.order_by("group", "slug").distinct("group"),
        )
    return made
