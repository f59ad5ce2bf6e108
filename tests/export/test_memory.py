"""The memory that a run took, as reported by the system."""

from __future__ import annotations

import subprocess
import sys

import pytest

from django_sitemaps09.export import report
from tests.support.memory import needs_resource
from tests.support.paths import ROOT

MILLION = 1_000_000

#: This runs in a separate process, because the peak memory of a process never decreases.
CODE = """
import subprocess, sys
from django_sitemaps09.export.report import Report, with_peaks
def peaks():
    report = with_peaks(Report((), None, "", ""))
    return report.memory, report.workers_memory
def grow(size):
    return b"x" * size
first = peaks()
held = grow({own})
del held
subprocess.run([sys.executable, "-c", "held = b'x' * {workers}"], check=True)
print(*first, *peaks())
"""


@needs_resource
def test_the_peaks_are_the_largest_numbers_of_bytes_ever_in_use() -> None:
    """The process holds 200 MB, and then a child holds 300 MB."""
    done = subprocess.run(  # noqa: S603 our own interpreter and code
        [sys.executable, "-c", CODE.format(own=200 * MILLION, workers=300 * MILLION)],
        env={"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=True,
    )
    before, none, own, workers = done.stdout.split()
    assert none == "None"
    # At first, the system may count the memory of the parent process.
    assert 200 * MILLION < int(own) < int(before) + 210 * MILLION
    assert 300 * MILLION < int(workers) < 400 * MILLION


def test_what_a_system_does_not_report_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(report, "resource", None)
    measured = report.with_peaks(report.Report((), None, "", ""))
    assert (measured.memory, measured.workers_memory) == (None, None)
