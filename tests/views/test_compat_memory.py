"""The index of the compatibility views keeps only a few rows in memory."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.databases import require
from tests.support.memory import needs_resource
from tests.support.paths import ROOT


@needs_resource
@pytest.mark.slow
class TestTheIndexOfContribsViews:
    """The `lastmod` of the section is a method, which is called for 262,144 rows, read in two ways."""

    ROWS = 18

    @pytest.mark.parametrize(
        ("alias", "shape"),
        [
            ("default", "ranges"),
            ("default", "cursor"),
            ("postgresql", "ranges"),
            ("postgresql", "cursor"),
            # The driver keeps all rows of a query in memory, so only ranges are possible.
            ("mariadb", "ranges"),
        ],
    )
    def test_holds_a_few_rows_at_a_time(self, alias: str, shape: str, tmp_path: Path) -> None:
        """The rows themselves would take 100 MB."""
        require(alias)
        done = subprocess.run(  # noqa: S603 our own interpreter and code
            [sys.executable, "-m", "tests.support.index_memory", alias, str(self.ROWS), shape],
            cwd=ROOT,
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
