"""Calls of a project's methods for items: what happens if one raises, what it costs, its result as text.

Who calls a method depends on the class and on the reader:

* For a class of this package, native views and exports call all methods by `Items.call()`. An exception
  skips the element, or for `location` and `get_languages_for_item` the item, as an `ItemError`. But
  `SHARED_ERRORS` fail the section.
* In Django's pages, the loop of `django.contrib.sitemaps` calls `location`, `lastmod`, `changefreq` and
  `priority` by `_get()`. Ours passes an exception to `skip_error()`, which skips the element. Exceptions
  of `location` and `get_languages_for_item` are raised, as in contrib. `Items.call()` calls the others.
* For an opaque sitemap, and so for each class of contrib, all readers call `get_urls()`. Unless the class
  extends ours, no exception is caught: Django's pages raise it, and other readers fail the section.

Errors and costs are collected in context variables, since contrib's code, which passes nothing on, is
between a reader and `_get()`.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field as dataclass_field
from datetime import date, datetime
from itertools import islice
from time import perf_counter
from types import NoneType
from typing import Any, Final, Literal, NamedTuple, TypeAlias

from django.core.exceptions import ImproperlyConfigured
from django.db import Error as DatabaseError, connections
from django.db.backends.base.base import BaseDatabaseWrapper
from django.utils import translation
from django.utils.functional import Promise

from django_sitemaps09.conf import conf
from django_sitemaps09.declare.expressions import Field, Hook, is_missing
from django_sitemaps09.declare.hosts import AllowedHosts
from django_sitemaps09.protocol.entries import ItemError
from django_sitemaps09.protocol.fields import key_excerpt, plain_text, reason_of, short_repr, typed_repr
from django_sitemaps09.protocol.urls import quote_all
from django_sitemaps09.protocol.values import changefreq_text, priority_text, w3c, w3c_column

logger = logging.getLogger(__name__)

#: A method of a project, or another function of a value.
Function: TypeAlias = Callable[[Any], Any]
#: Marks a value that could not be computed; `None` is a valid value.
FAILED: Final[Any] = object()
#: Errors that affect more than one item, so they are raised, and no item is skipped for them.
SHARED_ERRORS = (DatabaseError, ImproperlyConfigured, MemoryError)
#: Maximum number of skipped items logged as warnings, for a response or for a section of an export.
MAX_LOGGED = 3
#: Marks the records of a log that are only about skipped items.
ABOUT_ITEM = {"is_about_item": True}
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
_DATES = frozenset({date, datetime, NoneType})
_WORDS = frozenset({str, float, NoneType})


class Items(NamedTuple):
    """Keys of a slice's items, and the errors of skipped items and fields, unless `raises_errors`."""

    keys: Sequence[Hashable]
    errors: list[ItemError]
    raises_errors: bool = False

    def skip(self, position: int, field: str, reason: str) -> None:
        """Report that a field of an item is not written."""
        # Items are described in the language of the site, also if a request has another one.
        with translation.override(conf.language):
            self.errors.append(ItemError(key_excerpt(self.keys[position]), field, reason))

    def call(
        self, hook: Function, items: Sequence[Any], name: Step, field: str = "", *, failed: Any = FAILED
    ) -> list[Any]:
        """Call a method of the project for each item, as a measured step. By default, `field` is `name`."""
        with step(name):
            return self.each(hook, items, field or name, failed=failed)

    def each(
        self, function: Function, values: Iterable[Any], field: str, *, failed: Any = FAILED
    ) -> list[Any]:
        """Return the result of `function` for each value. The result for `FAILED` is `failed`.

        If `function` fails, the result is `failed` and the error is reported. `SHARED_ERRORS` are raised.
        """
        results = []
        for position, value in enumerate(values):
            try:
                results.append(failed if value is FAILED else function(value))
            except SHARED_ERRORS:
                raise
            except Exception as error:
                # A user's method can raise anything.
                if self.raises_errors:
                    raise
                self.skip(position, field, reason_of(error))
                results.append(failed)
        return results

    def each_of(self, position: int, function: Function, values: Sequence[Any], field: str) -> list[Any]:
        """Return the results of `function` for the values of one item. Skip values for which it fails."""
        item = self._replace(keys=[self.keys[position]] * len(values))
        return [result for result in item.each(function, values, field) if result is not FAILED]


# The list that collects what is skipped while `django.contrib.sitemaps` calls methods.
_collector: ContextVar[list[ItemError] | None] = ContextVar("sitemaps09_skips", default=None)


@contextmanager
def collect_skips() -> Iterator[list[ItemError]]:
    """Yield a list that collects what is skipped inside the block. It is not logged."""
    errors: list[ItemError] = []
    token = _collector.set(errors)
    try:
        yield errors
    finally:
        _collector.reset(token)


@contextmanager
def log_skips() -> Iterator[list[ItemError]]:
    """Log what is skipped inside the block, unless an outer `collect_skips()` collects it."""
    if (outer_errors := _collector.get()) is not None:
        yield outer_errors
        return
    with collect_skips() as errors:
        try:
            yield errors
        finally:
            log_skipped(logger, errors, len(errors))


def skip_error(item: Any, field: str, error: Exception) -> None:
    """Skip a value whose hook raised this error. Raise it if it is shared, or if nobody collects it."""
    errors = _collector.get()
    if isinstance(error, SHARED_ERRORS) or errors is None:
        raise error
    Items([item], errors).skip(0, field, reason_of(error))


def log_skipped(
    logger: logging.Logger, errors: Iterable[object], count: int, where: str = "Skipped"
) -> None:
    """Log the first errors, one per line after `where`, and only the number of the others."""
    for error in islice(errors, MAX_LOGGED):
        logger.warning("%s %s", where, error, extra=ABOUT_ITEM)
    if count > MAX_LOGGED:
        logger.warning("%s %d more", where, count - MAX_LOGGED, extra=ABOUT_ITEM)


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
    """Total time, the cost of each step, and the first few keys of `get_urls()` that are not written."""

    seconds: float = 0.0
    steps: dict[Step, Cost] = dataclass_field(default_factory=dict)
    ignored_keys: list[str] = dataclass_field(default_factory=list)

    def add(self, other: Costs) -> None:
        self.seconds += other.seconds
        for name, cost in other.steps.items():
            self.steps.setdefault(name, Cost()).add(cost)
        self.ignore(other.ignored_keys)

    def ignore(self, keys: Iterable[str]) -> None:
        self.ignored_keys = sorted({*self.ignored_keys, *keys})[:_MOST_KEYS]


# The costs that are being recorded, and the databases whose queries are counted.
_recording: ContextVar[tuple[Costs, list[BaseDatabaseWrapper]] | None]
_recording = ContextVar("sitemaps09_costs", default=None)


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


def rooted(values: Sequence[Any], homes: set[str], code: str, items: Items) -> Sequence[Any]:
    """Return the locations of methods, where an empty one is `/`, and a query belongs to that path.

    `django.contrib.sitemaps` puts the host before both. An empty location is listed once in each language
    of a page, whose `homes` are the languages in which it is. Others are reported.
    """
    if {*map(type, values)} <= {str} and {"", "?"}.isdisjoint(value[:1] for value in values):
        return values

    def root(value: Any) -> Any:
        text = str(value) if isinstance(value, Promise) else value
        if not isinstance(text, str) or text[:1] not in ("", "?"):
            return value
        if not text:
            check_home(homes, code)
        return f"/{plain_text(text)}"

    return items.each(root, values, "location")


def check_home(homes: set[str], key: str) -> None:
    """Add a key to `homes`. Raise `ValueError` if they have it."""
    if key in homes:
        raise ValueError("an earlier location of the page is empty, too, and both are the home page")
    homes.add(key)


def checked_locations(values: Sequence[Any], hosts: AllowedHosts, items: Items) -> Sequence[str | None]:
    """Return a column of locations for a batch, with `None` for each invalid location."""
    if {*map(type, values)} <= {str}:
        if hosts.are_plain(values):
            return values
        quoted = quote_all(values)
        if quoted is not None and hosts.are_plain(quoted):
            return quoted
    return items.each(hosts.location, values, "location", failed=None)


def lastmod_text(value: object) -> str | None:
    """Return a date or datetime, if naive in `TIME_ZONE`, as W3C text; `None` for a missing value."""
    if is_missing(value):
        return None
    if not isinstance(value, date):
        raise ValueError(f"{typed_repr(value)} is neither a date nor a datetime")
    try:
        return w3c(value, conf.zone)
    except OverflowError as error:
        raise ValueError(f"{short_repr(value)} is out of range in UTC") from error


def _optional(convert: Callable[[object], str]) -> Callable[[object], str | None]:
    return lambda value: None if is_missing(value) else convert(plain_text(value))


#: Functions that convert the values of optional elements to text, in the order of the XSD.
CONVERTERS: dict[str, Callable[[Any], str | None]] = {
    "lastmod": lastmod_text,
    "changefreq": _optional(changefreq_text),
    "priority": _optional(priority_text),
}


def texts(
    values: Sequence[Any], field: str, items: Items, convert: Callable[[Any], str | None] | None = None
) -> Sequence[str | None]:
    """Return a column of values as text, or `None`, by `CONVERTERS` or `convert`. Report invalid ones."""
    convert, kinds = convert or CONVERTERS[field], {*map(type, values)}
    # A column of common types is converted at once, or each of its different values is. If one of them is
    # invalid, or has a time zone that fails, each value is converted below.
    with suppress(Exception):
        if convert is lastmod_text and kinds <= _DATES:
            return w3c_column(values, conf.zone)
        if convert is not lastmod_text and kinds <= _WORDS:
            text_by_value = {value: convert(value) for value in {*values}}
            return [text_by_value[value] for value in values]
    return items.each(convert, values, field, failed=None)
