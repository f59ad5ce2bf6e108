"""The tutorial, followed to the letter in a new project."""

from __future__ import annotations

import gzip
import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.pages import BLOCKS, PAGES, ROOT, Block

PAGE = "docs/tutorial.md"
#: In seconds.
DEADLINE = 90
#: Lines that set up an environment, which the test already has.
_SET_UP = ("python3 -m venv ", ". .venv/", "pip install ")


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """Return the environment of a shell in which `python` and `django-admin` are those of this test."""
    programs = tmp_path / "bin"
    programs.mkdir()
    interpreter = shlex.quote(sys.executable)
    for name, command in {"python": interpreter, "django-admin": f"{interpreter} -m django"}.items():
        (programs / name).write_text(f'#!/bin/sh\nexec {command} "$@"\n')
        (programs / name).chmod(0o755)
    inherited = {name: value for name, value in os.environ.items() if name != "DJANGO_SETTINGS_MODULE"}
    paths = [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    return {
        **inherited,
        "PATH": f"{programs}:{os.environ.get('PATH', '')}",
        "PYTHONPATH": os.pathsep.join(paths),
        "PYTHONDONTWRITEBYTECODE": "1",
    }


def follow(block: Block, project: Path, environment: dict[str, str]) -> str:
    """Write or run a block, and return the output of a shell."""
    if block.place.language == "python":
        name, append = re.findall(r"\A# (\S+)( \(append\))?\n", block.text)[0]
        file = project / name
        file.write_text(f"{file.read_text() if append else ''}{block.text}")
        return ""
    lines = [line for line in block.text.splitlines() if not line.startswith(_SET_UP)]
    return shell("\n".join(lines), project, environment)


def shell(script: str, project: Path, environment: dict[str, str]) -> str:
    done = subprocess.run(  # noqa: S603 our own page
        ["/bin/sh", "-euc", script],
        cwd=project,
        env=environment,
        capture_output=True,
        encoding="utf-8",
        timeout=DEADLINE,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


FETCH = """
import json
from django.test import Client
for path in {paths}:
    response = Client().get(f"/{{path}}", SERVER_NAME="127.0.0.1", SERVER_PORT="8000")
    print(json.dumps(response.text))
"""


def fetch(project: Path, environment: dict[str, str], *paths: str) -> list[str]:
    code = shlex.quote(FETCH.format(paths=paths))
    said = shell(f"python manage.py shell -v 0 -c {code}", project, environment)
    return [json.loads(line) for line in said.splitlines()]


@pytest.mark.slow
def test_the_tutorial_produces_its_output(tmp_path: Path, environment: dict[str, str]) -> None:
    project = tmp_path / "site"
    project.mkdir()
    *steps, shown, export = [block for block in BLOCKS if block.place.page == PAGE]
    assert shown.place.language == "xml"
    for step in steps:
        follow(step, project, environment)
    index, page = re.findall(r"<http://127\.0\.0\.1:8000/(\S+)>", PAGES[PAGE])
    live_page, live_index, robots = fetch(project, environment, page, index, "robots.txt")
    assert live_page == shown.text
    assert f"/{page}.gz</loc>" in live_index
    assert "Sitemap: http://127.0.0.1:8000/sitemap.xml" in robots

    follow(export, project, environment)
    public = project / "public"
    files = sorted(file.name for file in public.iterdir() if file.is_file())
    assert files == ["sitemap-books-1.xml.gz", "sitemap.xml"]
    assert gzip.decompress((public / f"{page}.gz").read_bytes()).decode() == shown.text
    before = {file: (public / file).stat().st_mtime_ns for file in files}
    assert "Nothing has changed" in follow(export, project, environment)
    assert {file: (public / file).stat().st_mtime_ns for file in files} == before
    assert fetch(project, environment, page) == [shown.text]
