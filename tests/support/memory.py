"""Helpers of several test modules."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import pytest

from django_sitemaps09.export import report

needs_resource = pytest.mark.skipif(report.resource is None, reason="this system does not tell")


@dataclass
class Traced:
    """Bytes that Python held at the end of a block, and the most that it held inside."""

    held: int = 0
    peak: int = 0


@contextmanager
def traced() -> Iterator[Traced]:
    """Measure the memory that Python allocates inside the block; the result is set when it ends."""
    found = Traced()
    tracemalloc.start()
    try:
        yield found
        found.held, found.peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
