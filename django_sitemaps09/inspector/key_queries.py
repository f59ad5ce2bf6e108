"""Queries of a few keys in many sections, of which most have no rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
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
# Numbers of queries that one query checks for rows: at first, and if one of these queries fails.
_CHECKED = (100, 10)

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

    def check(self, queries: Iterable[QuerySet[Any]]) -> None:
        """Find out which of many queries have no rows, without running each of them.

        A query that fails here fails again in `rows()`, where its section is known.
        """
        compiled: dict[_Key, Sequence[Any]] = {}
        for query in queries:
            with suppress(Exception):
                compiled |= [_compiled(query)]
        for alias in {key[0] for key in compiled}:
            unknown = [
                pair for pair in compiled.items() if pair[0][0] == alias and pair[0] not in self._results
            ]
            # A few queries are only run if they are needed.
            if len(unknown) > MAX_FOUND:
                self._exclude_empty(alias, unknown, *_CHECKED)

    def _exclude_empty(
        self, alias: str, pairs: Sequence[tuple[_Key, Sequence[Any]]], size: int, *smaller: int
    ) -> None:
        for start in range(0, len(pairs), size):
            part = pairs[start : start + size]
            columns = ", ".join(f"CASE WHEN EXISTS({sql}) THEN 1 ELSE 0 END" for (_, sql, _), _ in part)
            try:
                with savepoints(), connections[alias].cursor() as cursor:
                    cursor.execute(
                        f"SELECT {columns}", [*chain.from_iterable(values for _, values in part)]
                    )
                    found = cursor.fetchone()
            except Exception:  # noqa: BLE001 the project's own queries can raise anything
                if smaller:
                    self._exclude_empty(alias, part, *smaller)
                continue
            for (key, values), is_found in zip(part, found, strict=True):
                if not is_found:
                    self._results[key] = values, []


def _compiled(rows: QuerySet[Any]) -> tuple[_Key, Sequence[Any]]:
    """Return what identifies the query of rows, and its parameters."""
    try:
        sql, parameters, _ = compile_query(rows, connections[rows.db])
    except EmptyResultSet:
        sql, parameters = "SELECT 1 WHERE 1 = 0", ()
    # `repr()` shortens JSON, and does not show bytes: psycopg and Python wrap their objects.
    values = repr([getattr(value, "obj", value) for value in parameters])
    return (rows.db, sql, values), parameters
