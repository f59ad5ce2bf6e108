"""Queries of a few keys in many sections, of which most have no rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from contextlib import suppress
from typing import Any

from django.core.exceptions import EmptyResultSet
from django.db import connections
from django.db.models import QuerySet

from django_sitemaps09.orm.internals import compile_query
from django_sitemaps09.views.responses import savepoints

#: Maximum number of rows that a query returns. The values of most locations belong to one row.
MAX_FOUND = 10
# Number of queries that one query checks for rows.
_CHECKED = 100


class KeyQueries:
    """Queries and their results. Equal queries run once.

    `sections_read` counts the sections whose rows were found, by whether they list them.
    """

    def __init__(self) -> None:
        self._results: dict[tuple[str, str, str], list[Any]] = {}
        self.sections_read: Counter[bool] = Counter()

    def rows(self, query: QuerySet[Any]) -> list[Any]:
        """Return the first rows of a query."""
        key, _ = _compiled(query)
        if key not in self._results:
            self._results[key] = list(query[:MAX_FOUND])
        return self._results[key]

    def check(self, queries: Iterable[QuerySet[Any]]) -> None:
        """Find out which of many queries have no rows, without running each of them.

        A query that fails here fails again in `rows()`, where its section is known.
        """
        compiled: dict[tuple[str, str, str], tuple[Any, ...]] = {}
        for query in queries:
            with suppress(Exception):
                compiled |= [_compiled(query)]
        for alias in {key[0] for key in compiled}:
            keys = [key for key in compiled if key[0] == alias and key not in self._results]
            # A few queries are only run if they are needed.
            for start in range(0, len(keys) if len(keys) > MAX_FOUND else 0, _CHECKED):
                part = keys[start : start + _CHECKED]
                columns = ", ".join(f"CASE WHEN EXISTS({sql}) THEN 1 ELSE 0 END" for _, sql, _ in part)
                parameters = [value for key in part for value in compiled[key]]
                with suppress(Exception), savepoints(), connections[alias].cursor() as cursor:
                    cursor.execute(f"SELECT {columns}", parameters)
                    empty = [key for key, found in zip(part, cursor.fetchone(), strict=True) if not found]
                    self._results |= {key: [] for key in empty}


def _compiled(rows: QuerySet[Any]) -> tuple[tuple[str, str, str], tuple[Any, ...]]:
    """Return what identifies the query of rows, and its parameters."""
    try:
        sql, parameters, _ = compile_query(rows, connections[rows.db])
    except EmptyResultSet:
        sql, parameters = "SELECT 1 WHERE 1 = 0", ()
    return (rows.db, sql, repr(parameters)), tuple(parameters)
