"""Random cases: a site with its rows and what they were at each moment, and steps that happen to it.

The same name gives the same case.
"""

from __future__ import annotations

import random
import re
import uuid
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from itertools import islice
from typing import NamedTuple

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
    "uuid": (models.Random, lambda n: {"id": uuid.UUID(int=n << 104, version=4)},
             lambda text: uuid.UUID(text).int >> 104),
    "text": (models.Texted, lambda n: {"code": f"k{n:07}"}, lambda text: int(text[1:])),
    "composite": (models.Paired, lambda n: {"row": f"r{n // 50_000:03}", "seat": n % 50_000},
                  lambda text: int(text[1:4]) * 50_000 + int(text[5:])),
}  # fmt: skip
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
        before, items = self.rows, self.model._default_manager.using(self.writer)
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
    number, _, version = url.rstrip("/").rpartition("/")[2].partition("-")
    return int(number), int(version)


def inserted(rows, count, rng, *, together):
    last = max(rows, default=GAP * 5)
    anywhere = (rng.randrange(last) for _ in range(20 * count))
    numbers = range(rng.randrange(last), last) if together else dict.fromkeys(anywhere)
    return {**rows, **dict.fromkeys(islice((number for number in numbers if number not in rows), count), 0)}


def extended(rows, count):
    last = max(rows, default=0)
    gap = max(1, min(GAP, (NUMBERS - last) // (2 * count + 1)))
    return {**rows, **dict.fromkeys((last + gap * n for n in range(1, count + 1)), 0)}


#: Caches that all processes share and that lose nothing before it expires.
DURABLE = ("redis", "database", "file")
CACHES = (*DURABLE, "local", "failing", "evicting")


class Step(NamedTuple):
    """Something that happens. What it does to which rows or address depends on `seed` and on the site."""

    name: str
    process: int
    amount: float
    seed: int


@dataclass(frozen=True)
class Case:
    """A site with its first rows, and what happens to it."""

    name: str
    kind: str
    cache: str
    limit: int
    live_seconds: int
    live_cache: bool
    #: The most URLs of a page by the protocol, in multiples of the limit.
    protocol: int
    #: Whether rows are read from any of two replicas.
    replicas: bool
    keep_removed: int
    gzip: bool
    by_method: bool
    rows: int
    steps: tuple[Step, ...] = field(repr=False)


#: How often each step occurs, and its amounts: a list to choose from, a range of whole numbers, or shares.
_STEPS = [
    # Numbers of rows; `bulk` and `append_many` are in multiples of the limit.
    *(("insert", 6, range(1, 5)), ("append", 6, range(1, 7)), ("append_many", 2, [0.5, 1.5, 4, 12])),
    *(("bulk_together", 3, [0.5, 1, 2, 5, 40]), ("bulk_everywhere", 2, [1, 3, 10])),
    ("change", 3, range(1, 11)),
    # Shares of the rows.
    *(("delete", 3, [0.01, 0.1, 0.5, 0.9]), ("delete_range", 4, [0.05, 0.3, 0.8, 1])),
    *(("replace", 2, [0, 0.5, 1]), ("replace_atomic", 2, [0, 0.5, 1])),
    # Seconds.
    ("wait", 12, [1, 5, 11, 30, 61, 121, 299, 302, 400, 3_599, 90_000, 2_678_400]),
    *(("index", 5, None), ("crawl", 10, "share"), ("mixed_crawl", 8, None), ("settle", 5, None)),
    # Numbers of pages or requests.
    *(("slow_crawl", 3, None), ("read_on", 8, range(1, 9)), ("any_page", 8, range(1, 7))),
    *(("any_etag", 8, range(1, 7)), ("head", 5, range(1, 5))),
    # Number of queries before the database fails, or before rows vanish during a request.
    *(("database_fails", 4, [0, 0, 1, 2, 3]), ("race", 5, [0, 1, 1, 2, 3])),
    *(("killed", 5, [0, 1, 2, 3, 5, 9, 15]), ("section_fails", 1, None), ("restart", 2, None)),
    *(("newcomer", 4, range(1, 5)), ("migrate", 3, None), ("deploy", 3, None), ("new_secret", 1, None)),
    # Whether it is between two crawls.
    *(("export", 8, [0, 1]), ("cache_fails", 3, None), ("evict", 3, [0.3, 1])),
]
_ONLY_WITH = {"cache_fails": "failing", "evict": "evicting"}


def _amount(amounts, rng):
    if isinstance(amounts, range):
        return rng.randint(amounts[0], amounts[-1])
    return rng.choice(amounts) if isinstance(amounts, list) else rng.random() if amounts else 0


def case_of(name, caches=CACHES):
    rng = random.Random(name)  # noqa: S311 random steps are not secret
    cache, exports = rng.choice(caches), rng.random() < 0.4
    known = [step for step in _STEPS if _ONLY_WITH.get(step[0], cache) == cache]
    known, limit = [step for step in known if exports or step[0] != "export"], rng.choice([10, 20, 40])
    steps = [
        Step(name, rng.randrange(2), _amount(amounts, rng), rng.randrange(1_000_000))
        for name, _, amounts in rng.choices(known, [step[1] for step in known], k=rng.randint(15, 60))
    ]
    drawn = {"kind": rng.choice([*KINDS]), "live_seconds": rng.choice([0, 1, 60])}
    drawn |= {"live_cache": rng.random() < 0.4, "protocol": rng.choice([1, 2, 2, 5, 1_000])}
    drawn |= {"replicas": rng.random() < 0.3, "keep_removed": rng.choice([3_600, 86_400])}
    drawn |= {"gzip": rng.random() < 0.2, "by_method": rng.random() < 0.15}
    drawn["rows"] = rng.choice([0, 3, limit, 3 * limit, 12 * limit])
    return Case(name=name, cache=cache, limit=limit, steps=tuple(steps), **drawn)
