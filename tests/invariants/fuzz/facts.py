"""Seeded rows, as Python objects and in a database."""

from __future__ import annotations

import random
import uuid
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from typing import NamedTuple

from django.conf import settings

from tests.invariants.fuzz import models

UTC = timezone.utc
ROWS = 12
#: A model for each kind of key, with the function that converts a number to a key.
KINDS = {
    # With growing gaps, and several below 0.
    "integer": (models.Whole, lambda n: {"id": n * n * 3 - 40}),
    "uuid": (models.Random, lambda n: {"id": uuid.UUID(int=(n * 2**121 + n * 7919) % 2**128)}),
    "text": (models.Texted, lambda n: {"code": f"k{n * 7 % 31:02}-{n}"}),
    "date": (models.Daily, lambda n: {"on": date(2001, 1, 1) + timedelta(days=n * 11)}),
    "decimal": (models.Priced, lambda n: {"price": Decimal(n * 37 % 101) / 8 + n * 100}),
    "relation": (models.Anchored, lambda n: {"anchor_id": n * 5}),
    "composite": (models.Paired, lambda n: {"row": "abc"[n % 3], "seat": n}),
}
WORDS = "abc"


class Note(NamedTuple):
    word: str
    score: int | None
    at: datetime | None


class Tag(NamedTuple):
    name: str
    rank: int | None
    at: datetime | None


@dataclass(eq=False)
class Fact:
    """A row. Times are naive: in UTC if `USE_TZ` is on, else in `TIME_ZONE`."""

    slug: str
    flag: bool
    weight: int | None
    at: datetime | None
    day: date | None
    group: int | None
    group_at: datetime | None
    parent: Fact | None
    notes: list[Note]
    tags: list[Tag]
    children: list[Fact] = field(default_factory=list)

    def related(self, path):
        """Return the rows at the end of a path of relations, as often as joins would repeat them."""
        rows = [self]
        for name in path.split("__"):
            found = [getattr(row, name) for row in rows]
            rows = [row for part in found for row in (part if isinstance(part, list) else [part]) if row]
        return rows


def facts(kind, seed):
    """Return rows, the same ones for the same seed."""
    rng = random.Random(f"{seed}:{kind}")  # noqa: S311 random rows are not secret
    groups = [moment(rng) for _ in range(3)]
    tags = [Tag(word, rng.choice([None, 1, 2, 3]), _maybe(moment(rng), rng)) for word in WORDS]
    found = []
    for number in range(ROWS):
        group = rng.choice([None, 0, 1, 2])
        made = Fact(
            slug=f"s{number * 5 % ROWS:02}", flag=rng.random() < 0.5, weight=rng.choice([None, 1, 2, 3, 4]),
            at=_maybe(moment(rng), rng), day=_maybe(moment(rng).date(), rng), group=group,
            group_at=None if group is None else groups[group], parent=None, notes=[], tags=[],
        )  # fmt: skip
        if kind != "composite":
            made.parent = rng.choice([None, *found[:4]])
            made.notes = [_note(rng) for _ in range(rng.choice([0, 1, 1, 2, 2, 3, 4]))]
            made.tags = rng.sample(tags, rng.choice([0, 1, 1, 2, 3]))
        if made.parent is not None:
            made.parent.children.append(made)
        found.append(made)
    return found


def _note(rng):
    return Note(rng.choice(WORDS), rng.choice([None, 0, 1, 2, 2, 3, 4]), _maybe(moment(rng), rng))


def _maybe(value, rng):
    return None if rng.random() < 0.15 else value


def moment(rng):
    """Return a time in the daytime, since clocks change at night."""
    day = datetime(2020, 1, 1) + timedelta(days=rng.randrange(1_800))
    return day.replace(hour=rng.randrange(5, 24), minute=rng.randrange(60), second=rng.randrange(60))


def stored(value):
    """Return a time as it is stored with the current settings."""
    return value and (value.replace(tzinfo=UTC) if settings.USE_TZ else value)


def write(kind, known, using):
    """Create the rows in a database."""
    model, key = KINDS[kind]
    groups = {fact.group: fact.group_at for fact in known if fact.group is not None}
    models.Group.objects.using(using).bulk_create(
        models.Group(id=_own(kind, n), name=f"g{n}", at=stored(at)) for n, at in groups.items()
    )
    if kind == "relation":
        models.Anchor.objects.using(using).bulk_create(
            models.Anchor(id=key(n)["anchor_id"]) for n in range(1, len(known) + 1)
        )
    made = {}
    for number, fact in enumerate(known, 1):
        own = {} if kind == "composite" else {"parent": fact.parent and made[fact.parent.slug]}
        made[fact.slug] = model(
            slug=fact.slug, number=(number * 5) % 29,
            group_id=None if fact.group is None else _own(kind, fact.group), flag=fact.flag,
            weight=fact.weight, at=stored(fact.at), day=fact.day, **own, **key(number),
        )  # fmt: skip
    model._base_manager.using(using).bulk_create(made.values())
    if kind != "composite":
        _write_related(kind, known, made, using)


def _write_related(kind, known, made, using):
    model = KINDS[kind][0]
    note = model._meta.get_field("notes").related_model
    note.objects.using(using).bulk_create(
        note(thing=made[fact.slug], word=word, score=score, at=stored(at))
        for fact in known
        for word, score, at in fact.notes
    )
    names = {tag.name: tag for fact in known for tag in fact.tags}
    tags = {
        name: models.Tag(id=_own(kind, WORDS.index(name)), name=name, rank=tag.rank, at=stored(tag.at))
        for name, tag in names.items()
    }
    models.Tag.objects.using(using).bulk_create(tags.values())
    through = model.tags.through
    through.objects.using(using).bulk_create(
        through(**{model._meta.model_name: made[fact.slug], "tag": tags[tag.name]})
        for fact in known
        for tag in fact.tags
    )


def _own(kind, number):
    """Return an id that no other kind uses."""
    return [*KINDS].index(kind) * 10 + number + 1
