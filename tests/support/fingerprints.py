"""Rows and sources, for tests of fingerprints and digests."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.db import connections
from django.db.models import QuerySet
from django.test.utils import CaptureQueriesContext

from tests.support.sources import COLUMNS, NOON, UTC, compiled, declaration, listing

__all__ = ["NOON", "UTC", "compiled", "declaration", "listing", "queries", "source_of"]


def source_of(rows: QuerySet[Any], **attributes: Any) -> Any:
    return compiled(declaration(queryset=rows, **{**COLUMNS, **attributes}))


@contextmanager
def queries(using: str, count: int) -> Iterator[None]:
    with CaptureQueriesContext(connections[using]) as captured:
        yield
    assert len(captured) == count, [query["sql"] for query in captured]
