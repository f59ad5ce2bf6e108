"""Hostile documents cost an audit little time and memory."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.hostile_sites import SITES, write_site


@pytest.mark.slow
@pytest.mark.parametrize("name", SITES)
def test_a_hostile_document_costs_less_than_300_mb_and_a_minute(name: str, tmp_path: Path) -> None:
    write_site(name, tmp_path)
    # A process of its own, whose peak of memory is that of the audit.
    environment = {**os.environ, "DJANGO_SETTINGS_MODULE": "tests.settings"}
    command = [sys.executable, "-m", "tests.support.hostile_sites", str(tmp_path)]
    output = subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE).stdout  # noqa: S603
    rules, seconds, megabytes = json.loads(output)
    assert rules
    assert seconds < 60
    assert megabytes < 300
