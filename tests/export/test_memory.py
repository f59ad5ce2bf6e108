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
from django_sitemaps09.export.report import peaks
def grow(size):
    return b"x" * size
first = peaks()
held = grow({own})
del held
if {workers}:
    subprocess.run([sys.executable, "-c", "held = b'x' * {workers}"], check=True)
print(*first, *peaks())
"""


def measured(own: int, workers: int) -> list[int | None]:
    """Return the initial peaks, and those after the process and a child have held so many bytes."""
    done = subprocess.run(  # noqa: S603 our own interpreter and code
        [sys.executable, "-c", CODE.format(own=own, workers=workers)],
        env={"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=True,
    )
    return [None if word == "None" else int(word) for word in done.stdout.split()]


@needs_resource
class TestThePeaks:
    def test_are_the_largest_number_of_bytes_ever_in_use(self) -> None:
        before, _, after, workers = measured(200 * MILLION, 0)
        assert before is not None
        assert after is not None
        # At first, the system may count the memory of the parent process.
        assert 200 * MILLION < after < before + 210 * MILLION
        assert workers is None

    def test_of_others_are_those_of_the_largest_one(self) -> None:
        _, none, own, workers = measured(1, 200 * MILLION)
        assert none is None
        assert own is not None
        assert workers is not None
        assert 200 * MILLION < workers < 300 * MILLION


def test_what_a_system_does_not_report_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(report, "resource", None)
    assert report.peaks() == (None, None)
