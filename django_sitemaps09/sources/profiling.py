"""Profile the steps of reading a section, once a slice, and note keys that are not written."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any, Literal, NamedTuple, TypeAlias

from django.core.exceptions import ImproperlyConfigured
from django.db import connections
from django.db.backends.base.base import BaseDatabaseWrapper

from django_sitemaps09.hooks.expressions import Field
from django_sitemaps09.hooks.extensions import Hook

#: Measured steps: finding the items, reading rows by key or by position, and the hooks that are methods. A
#: section that is only read as columns has none of these.
Step: TypeAlias = (
    Field
    | Hook
    | Literal["items", "instances", "positions", "languages", "get_urls", "x_default", "extensions"]
)

# Characters of a query that are kept. The table and the conditions are at its end, after all the columns.
_BEGIN, _END = 60, 140
# Keys that a warning names.
_MOST_KEYS = 5


@dataclass(slots=True)
class Cost:
    """Cost of one step. `items` is set by the code that reads them.

    `sql` is the query that was `repeated` most often.
    """

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
    """Total seconds, and the costs of the steps among them. Small, and can be pickled.

    `ignored_keys` are the first few keys in the dicts of `get_urls()` that are not written.
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


class _Recording(NamedTuple):
    costs: Costs
    databases: tuple[BaseDatabaseWrapper, ...]


_recording: ContextVar[_Recording | None] = ContextVar("sitemaps09_costs", default=None)


@contextmanager
def record_costs() -> Iterator[Costs]:
    """Record the costs of the steps inside the block; they are complete when it ends."""
    costs = Costs()
    token = _recording.set(_Recording(costs, tuple(_databases())))
    start_time = perf_counter()
    try:
        yield costs
    finally:
        costs.seconds = perf_counter() - start_time
        _recording.reset(token)


@contextmanager
def step(name: Step) -> Iterator[Cost]:
    """Measure a step: a whole slice, never an item. Nothing is measured unless costs are recorded."""
    cost = Cost()
    recording = _recording.get()
    if recording is None:
        yield cost
        return
    queries: Counter[str] = Counter()

    def count_query(execute: Any, sql: Any, params: Any, many: bool, context: Any) -> Any:
        # str(), since psycopg takes objects that have no hash.
        queries[str(sql)] += 1
        return execute(sql, params, many, context)

    with ExitStack() as wrappers:
        for database in recording.databases:
            wrappers.enter_context(database.execute_wrapper(count_query))
        start_time = perf_counter()
        yield cost
        cost.seconds = perf_counter() - start_time
    if queries:
        cost.queries = sum(queries.values())
        [(sql, cost.repeated)] = queries.most_common(1)
        cost.sql = _line(sql)
    recording.costs.steps.setdefault(name, Cost()).add(cost)


def note_ignored_keys(keys: Iterable[str]) -> None:
    """Note keys that are not written, if costs are recorded."""
    if (recording := _recording.get()) is not None:
        recording.costs.ignore(keys)


def _databases() -> Iterator[BaseDatabaseWrapper]:
    """Yield all databases that a hook could query, without connecting to any."""
    for alias in connections:
        try:
            yield connections[alias]
        except (ImproperlyConfigured, ImportError):
            # A database cannot be queried without its driver.
            continue


def _line(sql: str) -> str:
    """Return a query as one short line of printable ASCII for a log or a terminal."""
    text = " ".join(sql.split())
    text = "".join(c if c.isascii() and c.isprintable() else ascii(c)[1:-1] for c in text)
    return text if len(text) <= _BEGIN + _END else f"{text[:_BEGIN]} ... {text[-_END:]}"
