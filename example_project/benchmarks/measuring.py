"""Measurement of wall time, CPU time and peak memory."""

from __future__ import annotations

import resource
import sys
import time
from typing import NamedTuple


class Measured(NamedTuple):
    """Measurement of one subject, in seconds and bytes. `urls` is the number of URLs written or read."""

    wall: float
    cpu: float
    peak: int
    bytes: int
    urls: int


class Stopwatch:
    """Context manager that adds up the times of its blocks, and records the peak memory."""

    def __init__(self) -> None:
        self.wall = self.cpu = 0.0
        self.peak = 0

    def __enter__(self) -> None:
        self._cpu = cpu_seconds()
        self._wall = time.perf_counter()

    def __exit__(self, *exception: object) -> None:
        self.wall += time.perf_counter() - self._wall
        self.cpu += cpu_seconds() - self._cpu
        self.peak = peak_bytes()

    def measured(self, size: int, urls: int) -> Measured:
        return Measured(self.wall, self.cpu, self.peak, size, urls)


def cpu_seconds() -> float:
    """Return the CPU seconds of this process with all threads, and of its children that have ended."""
    usages = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


def peak_bytes() -> int:
    """Return the peak memory of the largest process: this one, or a child that has ended."""
    most = max(
        resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    )
    # Linux counts in kilobytes, macOS in bytes.
    return most if sys.platform == "darwin" else most * 1024
