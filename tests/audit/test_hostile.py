"""Hostile documents cost an audit little time and memory."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from tests.support.configuration import BASE
from tests.support.hostile_sites import SITES, write_site
from tests.support.site_files import ALL, PAGE, sound, url, urlset, write

#: Sites that one process audits, each followed by a valid one.
GROUPS = [[*SITES][start::6] for start in range(6)]
IMAGE = f"<image:image><image:loc>{BASE}/a.png</image:loc></image:image>"


@pytest.mark.slow
@pytest.mark.parametrize("names", GROUPS, ids=", ".join)
def test_hostile_sites_cost_less_than_300_mb_a_minute_and_no_later_audit(names, tmp_path):
    valid = write(tmp_path / "valid", {**sound(), PAGE: urlset(url("/words/a/", IMAGE), root=ALL)})
    folders = []
    for number, name in enumerate(names):
        (tmp_path / f"{number}").mkdir()
        write_site(name, tmp_path / f"{number}")
        folders += [tmp_path / f"{number}", valid]
    environment = {**os.environ, "DJANGO_SETTINGS_MODULE": "tests.settings"}
    command = [sys.executable, "-m", "tests.support.hostile_sites", *map(str, folders)]
    costs = json.loads(subprocess.check_output(command, env=environment))  # noqa: S603 our own program
    for name, (rules, seconds, megabytes), (others, *_) in zip(names, costs[::2], costs[1::2], strict=True):
        assert rules, name
        assert others == [], f"lxml keeps the names of the documents of: {name}"
        is_part = name.startswith("entries of ") and name != "entries of videos"
        assert seconds < (20 if is_part else 60), name
        assert megabytes < 300, name
