"""What the steps of reading a section cost: seconds, items and queries, measured once a slice."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any, Literal, NamedTuple, TypeAlias

from django.core.exceptions import ImproperlyConfigured
from django.db import connections
from django.db.backends.base.base import BaseDatabaseWrapper

from django_sitemaps09.sitemaps import Field, Hook

#: What is measured: finding the items, reading rows by key or by position, and the hooks that are
#: methods. A section that is read as columns alone has none of these.
Step: TypeAlias = (
    Field
    | Hook
    | Literal["items", "instances", "positions", "languages", "get_urls", "x_default", "extensions"]
)

# What is kept of a query. The table and the conditions stand at its end, behind all the columns.
_BEGIN, _END = 60, 140


@dataclass(slots=True)
class Cost:
    """One step. `items` is set by those that read them; `sql` ran `repeated` times, more than any other."""

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
    """Seconds in all, and those of the steps among them. Small, and can be pickled."""

    seconds: float = 0.0
    steps: dict[Step, Cost] = field(default_factory=dict)

    def add(self, other: Costs) -> None:
        self.seconds += other.seconds
        for name, cost in other.steps.items():
            self.steps.setdefault(name, Cost()).add(cost)


class _Recording(NamedTuple):
    costs: Costs
    databases: tuple[BaseDatabaseWrapper, ...]


_recording: ContextVar[_Recording | None] = ContextVar("sitemaps09_costs", default=None)


@contextmanager
def recorded() -> Iterator[Costs]:
    """The costs of the steps that are taken inside; whole when it is left."""
    costs = Costs()
    token = _recording.set(_Recording(costs, tuple(_databases())))
    started = perf_counter()
    try:
        yield costs
    finally:
        costs.seconds = perf_counter() - started
        _recording.reset(token)


@contextmanager
def step(name: Step) -> Iterator[Cost]:
    """A step: a whole slice, never an item. Where nobody records, nothing is measured."""
    cost = Cost()
    recording = _recording.get()
    if recording is None:
        yield cost
        return
    queries: Counter[str] = Counter()

    def counted(execute: Any, sql: Any, params: Any, many: bool, context: Any) -> Any:
        # str(), since psycopg takes objects that have no hash.
        queries[str(sql)] += 1
        return execute(sql, params, many, context)

    with ExitStack() as wrappers:
        for database in recording.databases:
            wrappers.enter_context(database.execute_wrapper(counted))
        started = perf_counter()
        yield cost
        cost.seconds = perf_counter() - started
    if queries:
        cost.queries = sum(queries.values())
        [(sql, cost.repeated)] = queries.most_common(1)
        cost.sql = _line(sql)
    recording.costs.steps.setdefault(name, Cost()).add(cost)


def _databases() -> Iterator[BaseDatabaseWrapper]:
    """All that a hook could ask, connected or not: none is connected by this."""
    for alias in connections:
        try:
            yield connections[alias]
        except (ImproperlyConfigured, ImportError):
            # Without a driver nobody can ask it anything.
            continue


def _line(sql: str) -> str:
    """A query for a log or a terminal: one short line of printable ASCII, whatever is in it."""
    text = " ".join(sql.split())
    text = "".join(c if c.isascii() and c.isprintable() else ascii(c)[1:-1] for c in text)
    return text if len(text) <= _BEGIN + _END else f"{text[:_BEGIN]} ... {text[-_END:]}"
