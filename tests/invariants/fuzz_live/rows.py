"""The rows of the random site, their keys, and what they have been at each moment."""

from __future__ import annotations

import re
import uuid
from datetime import datetime, timedelta, timezone

from django.db import models as fields, transaction
from django.test.utils import isolate_apps

from tests.invariants.fuzz import models

#: Numbers of rows are less than this. Numbers are in the order of keys.
NUMBERS = 9_000_000
#: The distance of rows that are written first, and of those that are appended.
GAP = 2_000
_COLUMNS = ("slug", "number", "flag", "at")
_EPOCH = datetime(2020, 1, 1, tzinfo=timezone.utc)

#: For each kind of key: a model, and functions that convert a number to a key, and the text of a key back.
KINDS = {
    "integer": (models.Whole, lambda n: {"id": 2 * n - 10_001}, lambda text: (int(text) + 10_001) // 2),
    "uuid": (
        models.Random,
        lambda n: {"id": uuid.UUID(int=n << 104, version=4)},
        lambda text: uuid.UUID(text).int >> 104,
    ),
    "text": (models.Texted, lambda n: {"code": f"k{n:07}"}, lambda text: int(text[1:])),
    "composite": (
        models.Paired,
        lambda n: {"row": f"r{n // 50_000:03}", "seat": n % 50_000},
        lambda text: int(text[1:4]) * 50_000 + int(text[5:]),
    ),
}
_RANGE = re.compile(r"/sitemap-rows(?:\.after\.([^.]+))?(?:\.to\.([^.]+))?\.[\w-]{10}\.xml(?:\.gz)?")


def _model_with_few_columns(model):
    """Return a model of the same table without columns that the section does not use."""
    key = model._meta.pk_fields
    columns = {field.name: field.clone() for field in (*key, *map(model._meta.get_field, _COLUMNS))}
    if len(key) > 1:
        columns["pk"] = fields.CompositePrimaryKey(*(field.name for field in key))
    meta = type("Meta", (), {"app_label": "fuzz", "db_table": model._meta.db_table})
    with isolate_apps("tests.invariants.fuzz"):
        return type("Few", (fields.Model,), {"__module__": __name__, "Meta": meta, **columns})


class Table:
    """The rows, written through a connection of its own, with their history.

    `snapshots` has a time and the rows from that time on: the version of each row, by its number.
    """

    def __init__(self, kind, writer, clock):
        self.model, self.key, self.number = KINDS[kind]
        self.model_with_few_columns = _model_with_few_columns(self.model)
        self.writer, self.clock = writer, clock
        self.snapshots = [(clock(), {})]

    @property
    def rows(self):
        return self.snapshots[-1][1]

    @property
    def changed_at(self):
        return self.snapshots[-1][0]

    def at_any_time_since(self, time):
        """Return the rows that have been in the table at each moment since a time, the newest first."""
        found = []
        for since, rows in reversed(self.snapshots):
            found.append(rows)
            if since < time:
                break
        return found

    def always_since(self, time):
        """Return the rows that have been in the table, unchanged, since a time."""
        first, *others = [set(rows.items()) for rows in self.at_any_time_since(time)]
        return dict(first.intersection(*others))

    def range_of(self, address):
        """Return the first number of a row that a range address can list, and the number after the last."""
        match = _RANGE.fullmatch(address)
        if match is None:
            return None
        after, until = (text and self.number(text) + 1 for text in match.groups())
        return after or 0, until or NUMBERS

    def write(self, rows, *, atomic=True):
        """Write these rows and delete all others. Without `atomic`, the table is empty in between."""
        before = self.rows
        items = self.model._default_manager.using(self.writer)
        if not atomic and before:
            items.all()._raw_delete(self.writer)
            self._commit({})
            before = {}
        removed = [number for number, version in before.items() if rows.get(number) != version]
        fresh = {number: version for number, version in rows.items() if before.get(number) != version}
        with transaction.atomic(self.writer):
            if len(removed) == len(before) and before:
                items.all()._raw_delete(self.writer)
            else:
                for start in range(0, len(removed), 500):
                    items.filter(number__in=removed[start : start + 500])._raw_delete(self.writer)
            items.bulk_create([self._item(*entry) for entry in fresh.items()], batch_size=100)
        self._commit(dict(rows))

    def _commit(self, rows):
        if rows != self.rows:
            self.snapshots.append((self.clock(), rows))

    def _item(self, number, version):
        at = _EPOCH + timedelta(minutes=number % 1_000 + version)
        values = {"slug": f"{number}-{version}", "number": number, "flag": True, "at": at}
        return self.model(**self.key(number), **values)


def entry(url):
    """Return the number and the version of the row of a URL."""
    number, _, version = url.rstrip("/").rpartition("/")[2].partition("-")
    return int(number), int(version)


def inserted(rows, count, rng, *, together):
    """Return the rows with others between them, in one place or in all."""
    last = max(rows, default=GAP * 5)
    numbers = (
        range(rng.randrange(last), last) if together else (rng.randrange(last) for _ in range(20 * count))
    )
    fresh = {}
    for number in numbers:
        if len(fresh) >= count:
            break
        if number not in rows:
            fresh[number] = 0
    return {**rows, **fresh}


def extended(rows, count):
    """Return the rows with others after them."""
    last = max(rows, default=0)
    gap = max(1, min(GAP, (NUMBERS - last) // (2 * count + 1)))
    return {**rows, **dict.fromkeys((last + gap * n for n in range(1, count + 1)), 0)}
