"""Queries of a few keys in many sections, of which most have no rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from itertools import chain
from typing import Any, TypeAlias

from django.core.exceptions import EmptyResultSet
from django.db import connections
from django.db.models import QuerySet

from django_sitemaps09.orm.internals import compile_query
from django_sitemaps09.views.responses import savepoints

#: Maximum number of rows that a query returns. The values of most locations belong to one row.
MAX_FOUND = 10
# Maximum number of queries that one query checks for rows.
_CHECKED = 100

#: A function that returns the rows of a query.
Read: TypeAlias = Callable[[QuerySet[Any]], list[Any]]
_Key: TypeAlias = tuple[str, str, str]


class KeyQueries:
    """Queries and their results. Equal queries run once.

    `sections_read` counts the sections whose rows were found, by whether they list them.
    """

    def __init__(self) -> None:
        # The parameters are kept, because the `repr()` of some is their address in memory.
        self._results: dict[_Key, tuple[Sequence[Any], list[Any]]] = {}
        self.sections_read: Counter[bool] = Counter()

    def rows(self, query: QuerySet[Any]) -> list[Any]:
        """Return the first rows of a query."""
        key, parameters = _compiled(query)
        if key not in self._results:
            self._results[key] = parameters, list(query[:MAX_FOUND])
        return self._results[key][1]

    def prepare(self, searches: Sequence[Callable[[Read], object]]) -> None:
        """Find out which queries of many searches have no rows, without running each of them.

        The second time, the searches read rows, and have further queries. A query that fails here fails
        again in `rows()`, where its section is known.
        """
        known, planned = set[_Key](), dict[_Key, Sequence[Any]]()

        def read(query: QuerySet[Any]) -> list[Any]:
            key, parameters = _compiled(query)
            if key in known:
                return self.rows(query)
            planned[key] = parameters
            return []

        for _ in range(2):
            for search in searches:
                with suppress(Exception), savepoints():
                    search(read)
            for alias in {key[0] for key in planned}:
                pairs = [pair for pair in planned.items() if pair[0][0] == alias]
                for start in range(0, len(pairs), _CHECKED):
                    self._exclude_empty(alias, pairs[start : start + _CHECKED])
            known.update(planned)
            planned.clear()

    def _exclude_empty(self, alias: str, pairs: Sequence[tuple[_Key, Sequence[Any]]]) -> None:
        # A few queries are only run if they are needed.
        if len(pairs) <= MAX_FOUND:
            return
        columns = ", ".join(f"CASE WHEN EXISTS({sql}) THEN 1 ELSE 0 END" for (_, sql, _), _ in pairs)
        parameters = [*chain.from_iterable(values for _, values in pairs)]
        try:
            with savepoints(), connections[alias].cursor() as cursor:
                cursor.execute(f"SELECT {columns}", parameters)
                found = zip(pairs, cursor.fetchone(), strict=True)
        except Exception:  # noqa: BLE001 the project's own queries can raise anything
            middle = len(pairs) // 2
            self._exclude_empty(alias, pairs[:middle])
            self._exclude_empty(alias, pairs[middle:])
        else:
            self._results |= {key: (values, []) for (key, values), has_rows in found if not has_rows}


def _compiled(rows: QuerySet[Any]) -> tuple[_Key, Sequence[Any]]:
    """Return what identifies the query of rows, and its parameters."""
    try:
        sql, parameters, _ = compile_query(rows, connections[rows.db])
    except EmptyResultSet:
        sql, parameters = "SELECT 1 WHERE 1 = 0", ()
    # `repr()` shortens JSON, and does not show bytes: psycopg and Python wrap their objects.
    values = repr([getattr(value, "obj", value) for value in parameters])
    return (rows.db, sql, values), parameters
