"""How much memory a run took, as far as the system tells."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from django_sitemaps09.export import memory
from tests.support.databases import require

MILLION = 1_000_000
#: In a process of its own: what a process once took it has taken for good.
CODE = """
import subprocess, sys
from django_sitemaps09.export.memory import peaks
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
    """The peaks at first, and those after so many bytes were held by that process and by another one."""
    done = subprocess.run(  # noqa: S603 our own interpreter and code
        [sys.executable, "-c", CODE.format(own=own, workers=workers)],
        env={"PYTHONPATH": str(Path(__file__).parents[1])},
        capture_output=True,
        text=True,
        check=True,
    )
    return [None if word == "None" else int(word) for word in done.stdout.split()]


needs_resource = pytest.mark.skipif(memory.resource is None, reason="this system does not tell")


@needs_resource
class TestThePeaks:
    def test_are_the_most_in_bytes_that_was_ever_held(self) -> None:
        before, _, after, workers = measured(200 * MILLION, 0)
        assert before is not None
        assert after is not None
        # What the process that started this one had may be counted for it at first.
        assert 200 * MILLION < after < before + 210 * MILLION
        assert workers is None

    def test_of_others_are_those_of_the_largest_one(self) -> None:
        _, none, own, workers = measured(1, 200 * MILLION)
        assert none is None
        assert own is not None
        assert workers is not None
        assert 200 * MILLION < workers < 300 * MILLION


def test_what_a_system_does_not_tell_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "resource", None)
    assert memory.peaks() == (None, None)


@needs_resource
@pytest.mark.slow
class TestTheIndexOfContribsViews:
    """Its `lastmod` is a method, which is asked for every row: 262,144 of them, in each of two ways."""

    ROWS = 18

    @pytest.mark.parametrize(
        ("alias", "shape"),
        [
            ("default", "ranges"),
            ("default", "cursor"),
            ("postgresql", "ranges"),
            ("postgresql", "cursor"),
            # Its driver holds the rows of a query, so that there is no other way.
            ("mariadb", "ranges"),
        ],
    )
    def test_holds_a_few_rows_at_a_time(self, alias: str, shape: str, tmp_path: Path) -> None:
        """The rows themselves would take 100 MB."""
        require(alias)
        done = subprocess.run(  # noqa: S603 our own interpreter and code
            [sys.executable, "-m", "tests.support.index_memory", alias, str(self.ROWS), shape],
            cwd=Path(__file__).parents[1],
            env={**os.environ, "SITEMAPS09_FILE": str(tmp_path / "rows.sqlite3")},
            capture_output=True,
            text=True,
            check=False,
            timeout=100,
        )
        assert done.returncode == 0, done.stderr
        grown, most = map(float, done.stdout.split())
        assert grown < 20
        assert most < 120
