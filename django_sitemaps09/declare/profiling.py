"""Measure the cost of each step of reading a section, and collect keys that are not written."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any, Literal, TypeAlias

from django.core.exceptions import ImproperlyConfigured
from django.db import connections
from django.db.backends.base.base import BaseDatabaseWrapper

from django_sitemaps09.declare.expressions import Field, Hook

#: Measured steps: `items()`, reading instances by key or by position, and hooks that are methods. Sections
#: that are only read as columns do not have these steps.
Step: TypeAlias = (
    Field
    | Hook
    | Literal["items", "instances", "positions", "languages", "get_urls", "x_default", "extensions"]
)

# Characters kept from each end of a query. The table and the conditions are at its end, after all columns.
_BEGIN, _END = 60, 140
# The maximum number of keys in a warning.
_MOST_KEYS = 5


@dataclass(slots=True)
class Cost:
    """Cost of a step, which sets `items`. `sql` is the query that ran most often: `repeated` times."""

    seconds: float = 0.0
    items: int = 0
    queries: int = 0
    sql: str = ""
    repeated: int = 0

    def add(self, other: Cost) -> None:
        self.seconds += other.seconds
        self.items += other.items
        self.queries += other.queries
        if other.sql == self.sql:
            self.repeated += other.repeated
        elif other.repeated > self.repeated:
            self.sql, self.repeated = other.sql, other.repeated


@dataclass(slots=True)
class Costs:
    """Total time and the cost of each step, in a form that can be pickled.

    `ignored_keys` has the first few keys in the dicts of `get_urls()` that are not written.
    """

    seconds: float = 0.0
    steps: dict[Step, Cost] = field(default_factory=dict)
    ignored_keys: list[str] = field(default_factory=list)

    def add(self, other: Costs) -> None:
        self.seconds += other.seconds
        for name, cost in other.steps.items():
            self.steps.setdefault(name, Cost()).add(cost)
        self.ignore(other.ignored_keys)

    def ignore(self, keys: Iterable[str]) -> None:
        self.ignored_keys = sorted({*self.ignored_keys, *keys})[:_MOST_KEYS]


# The costs that are being recorded, and the databases whose queries are counted.
_recording: ContextVar[tuple[Costs, Sequence[BaseDatabaseWrapper]] | None] = ContextVar(
    "sitemaps09_costs", default=None
)


@contextmanager
def record_costs() -> Iterator[Costs]:
    """Record the costs of all steps inside the block. They are complete when the block ends."""
    costs, databases = Costs(), []
    for alias in connections:
        # Without the driver of a database, no hook can query it.
        with suppress(ImproperlyConfigured, ImportError):
            databases.append(connections[alias])
    token = _recording.set((costs, databases))
    start_time = perf_counter()
    try:
        yield costs
    finally:
        costs.seconds = perf_counter() - start_time
        _recording.reset(token)


@contextmanager
def step(name: Step) -> Iterator[Cost]:
    """Measure a step for a whole slice, if costs are being recorded."""
    cost = Cost()
    recording = _recording.get()
    if recording is None:
        yield cost
        return
    costs, databases = recording
    queries: Counter[str] = Counter()

    def count_query(execute: Any, sql: Any, params: Any, many: bool, context: Any) -> Any:
        # psycopg also accepts queries that are not hashable.
        queries[str(sql)] += 1
        return execute(sql, params, many, context)

    with ExitStack() as wrappers:
        for database in databases:
            wrappers.enter_context(database.execute_wrapper(count_query))
        start_time = perf_counter()
        yield cost
        cost.seconds = perf_counter() - start_time
    if queries:
        cost.queries = sum(queries.values())
        [(sql, cost.repeated)] = queries.most_common(1)
        cost.sql = _line(sql)
    costs.steps.setdefault(name, Cost()).add(cost)


def note_ignored_keys(keys: Iterable[str]) -> None:
    """If costs are being recorded, add the keys that are not written."""
    if (recording := _recording.get()) is not None:
        recording[0].ignore(keys)


def _line(sql: str) -> str:
    """Return a query as one short line of printable ASCII for a log or a terminal."""
    text = " ".join(sql.split())
    text = "".join(c if c.isascii() and c.isprintable() else ascii(c)[1:-1] for c in text)
    return text if len(text) <= _BEGIN + _END else f"{text[:_BEGIN]} ... {text[-_END:]}"
