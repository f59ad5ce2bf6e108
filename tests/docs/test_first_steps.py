"""The tutorial, followed to the letter in a new project, and messages for mistakes in a first project."""

from __future__ import annotations

import gzip
import json
import re
import shlex
import subprocess
import sys

import pytest
from django.test import Client

from tests.docs.pages import BLOCKS, PAGES, TAKEN, run, take
from tests.support.commands import said
from tests.support.processes import ended, environment, started
from tests.support.sections import Numbers

PAGE = "docs/tutorial.md"
*STEPS, SHOWN, EXPORT = [block for block in BLOCKS if block.page == PAGE]
TAKEN.update([*STEPS, SHOWN, EXPORT])
SERVED = take("docs/howto/serve.md", "Django")
CDN = take("docs/howto/cache.md", "CDN")
FOR_CDN = "public, max-age=60, s-maxage=600, stale-while-revalidate=3600, stale-if-error=86400"

#: Lines that set up an environment, which the test already has.
_SET_UP = ("python3 -m venv ", ". .venv/", "pip install ")
FETCH = """
import json
from django.test import Client
for path in {paths}:
    print(json.dumps(Client().get(f"/{{path}}", SERVER_NAME="127.0.0.1", SERVER_PORT="8000").text))
"""


def write(step, project):
    """Write a block of Python to the file that its first line names."""
    [(name, append)] = re.findall(r"\A# (\S+)( \(append\))?\n", step.text)
    file = project / name
    file.write_text(f"{file.read_text() if append else ''}{step.text}")


@pytest.mark.slow
def test_the_tutorial_produces_its_output(tmp_path):
    project, interpreter = tmp_path / "site", shlex.quote(sys.executable)
    project.mkdir()
    (tmp_path / "bin").mkdir()
    for name, command in {"python": interpreter, "django-admin": f"{interpreter} -m django"}.items():
        (tmp_path / "bin" / name).write_text(f'#!/bin/sh\nexec {command} "$@"\n')
        (tmp_path / "bin" / name).chmod(0o755)
    environ = environment(tmp_path, "none", PYTHONDONTWRITEBYTECODE=1)
    environ["PATH"] = f"{tmp_path / 'bin'}:{environ.get('PATH', '')}"
    del environ["DJANGO_SETTINGS_MODULE"]

    def shell(script):
        """Run a script in which `python` and `django-admin` are those of this test."""
        options = {"cwd": project, "env": environ, "capture_output": True, "encoding": "utf-8"}
        done = subprocess.run(["/bin/sh", "-euc", script], timeout=90, check=False, **options)  # noqa: S603 ours
        assert done.returncode == 0, done.stderr
        return done.stdout

    def fetch(*paths):
        code = shlex.quote(FETCH.format(paths=paths))
        return [json.loads(line) for line in shell(f"python manage.py shell -v 0 -c {code}").splitlines()]

    for step in STEPS:
        if step.language == "python":
            write(step, project)
        else:
            shell("\n".join(line for line in step.text.splitlines() if not line.startswith(_SET_UP)))
    index, page = re.findall(r"<http://127\.0\.0\.1:8000/(\S+)>", PAGES[PAGE])
    live_page, live_index, robots = fetch(page, index, "robots.txt")
    assert (SHOWN.language, live_page, f"/{page}.gz</loc>" in live_index) == ("xml", SHOWN.text, True)
    assert "Sitemap: http://127.0.0.1:8000/sitemap.xml" in robots

    def files():
        found = (file for file in (project / "public").iterdir() if file.is_file())
        return {file.name: (file.stat().st_mtime_ns, file.read_bytes()) for file in found}

    shell(EXPORT.text)
    before = files()
    assert sorted(before) == ["sitemap-books-1.xml.gz", "sitemap.xml"]
    assert gzip.decompress(before[f"{page}.gz"][1]).decode() == SHOWN.text
    assert ("Nothing has changed" in shell(EXPORT.text), files()) == (True, before)
    assert fetch(page) == [SHOWN.text]


@pytest.mark.usefixtures("cached_site")
def test_the_settings_of_the_pages_send_a_header_and_serve_files(settings, register, tmp_path, folder):
    register(home=Numbers(1))
    settings.SITEMAPS09 = run(CDN).SITEMAPS09
    assert Client().get("/sitemap.xml").headers["Cache-Control"] == FOR_CDN
    settings.SITEMAPS09 = run(SERVED, BASE_DIR=tmp_path).SITEMAPS09
    said("export_sitemaps")
    assert "/sitemap-home-1.xml.gz" in (folder / "sitemap.xml").read_text()
    (folder / "sitemap.xml").write_text("the file")
    assert Client().get("/sitemap.xml").getvalue() == b"the file"


def test_urls_of_an_app_that_is_not_installed_are_an_error(tmp_path):
    (tmp_path / "site_settings.py").write_text("ROOT_URLCONF = 'django_sitemaps09.urls'")
    *_, errors = ended(started("-m", "django", "check", environ=environment(tmp_path, "site_settings")))
    assert errors.rstrip().splitlines()[-1] == (
        "django.core.exceptions.ImproperlyConfigured: django_sitemaps09.urls is included in a URLconf, "
        "but the app is not installed. Add 'django_sitemaps09' to INSTALLED_APPS. This also makes "
        "the command export_sitemaps available."
    )
