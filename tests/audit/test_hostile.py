"""Hostile documents cost an audit little time and memory."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.hostile_sites import SITES


def run(action: str, name: str, folder: Path) -> str:
    environment = {**os.environ, "DJANGO_SETTINGS_MODULE": "tests.settings"}
    command = [sys.executable, "-m", "tests.support.hostile_sites", action, name, str(folder)]
    return subprocess.run(  # noqa: S603
        command, env=environment, check=True, stdout=subprocess.PIPE, text=True
    ).stdout


@pytest.mark.slow
@pytest.mark.parametrize("name", SITES)
def test_a_hostile_document_costs_less_than_300_mb_and_a_minute(name: str, tmp_path: Path) -> None:
    run("write", name, tmp_path)
    rules, seconds, megabytes = json.loads(run("audit", name, tmp_path))
    assert rules
    assert seconds < 60
    assert megabytes < 300
