"""Hostile documents cost an audit little time and memory."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.broken_sites import IMAGE, PAGE, SPACE, sound, url, urlset, write
from tests.support.configuration import BASE
from tests.support.hostile_sites import SITES, write_site


@pytest.mark.slow
@pytest.mark.parametrize("name", SITES)
def test_a_hostile_site_costs_less_than_300_mb_a_minute_and_no_later_audit(
    name: str, tmp_path: Path
) -> None:
    hostile, valid = tmp_path / "hostile", tmp_path / "valid"
    hostile.mkdir()
    write_site(name, hostile)
    images = url("/words/a/", f"<image:image><image:loc>{BASE}/a.png</image:loc></image:image>")
    write(valid, {**sound(), PAGE: urlset(images, root=f"{SPACE} {IMAGE}")})
    # A process of its own, whose peak of memory is that of the audit.
    environment = {**os.environ, "DJANGO_SETTINGS_MODULE": "tests.settings"}
    command = [sys.executable, "-m", "tests.support.hostile_sites", str(hostile), str(valid)]
    output = subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE).stdout  # noqa: S603
    rules, seconds, megabytes = json.loads(output)
    assert rules[0]
    assert rules[1] == [], "lxml keeps the names of the hostile documents"
    assert seconds < 60
    assert megabytes < 300
