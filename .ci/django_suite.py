"""Run Django's tests of `django.contrib.sitemaps` against this package.

They come from the source distribution of the installed Django, with only the import lines changed. All
tests must pass except those in `DEVIATIONS`, which must fail.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import Any

import django

#: Tests that fail, with the number of the deviation in docs/reference/deviations.md.
DEVIATIONS = {
    # A lastmod is written with its time.
    "test_generic.GenericViewsSitemapTests.test_generic_sitemap_lastmod": 1,
    "test_http.HTTPSitemapTests.test_callable_sitemod_partial": 1,
    "test_http.HTTPSitemapTests.test_callable_sitemod_full": 1,
    # In an index, a naive lastmod gets a zone, and an aware one is written in UTC.
    "test_generic.GenericViewsSitemapTests.test_generic_sitemap_index": 2,
    "test_http.HTTPSitemapTests.test_sitemap_get_latest_lastmod": 2,
    "test_http.HTTPSitemapTests.test_sitemap_latest_lastmod_timezone": 2,
}
#: The minimum number of tests, since a suite that runs no tests does not fail.
COUNT = 51
ROOT = Path(__file__).parent.parent.resolve()
#: Parts of the source distribution that the tests need.
PARTS = ("runtests.py", "test_sqlite.py", "urls.py", "templates/", "sitemaps_tests/")
IMPORT = re.compile(r"^from django\.contrib\.sitemaps import ", re.MULTILINE)
SETTINGS = """
from test_sqlite import *
TIME_ZONE = "UTC"
TEST_RUNNER = "suite_runner.Runner"
"""
RUNNER = """
import json
from unittest import TextTestResult
from django.test.runner import DiscoverRunner
class Result(TextTestResult):
    def stopTestRun(self):
        super().stopTestRun()
        failed = [test.id() for test, _ in self.failures + self.errors + self.expectedFailures]
        failed += [test.id() for test in self.unexpectedSuccesses]
        with open("outcome.json", "w") as file:
            skipped = [test.id() for test, _ in self.skipped]
            json.dump({"run": self.testsRun, "failed": failed, "skipped": skipped}, file)
class Runner(DiscoverRunner):
    def get_resultclass(self):
        return Result
"""


def download(folder: Path) -> Path:
    """Download the source distribution of the installed Django with pip, unless the folder has it."""
    version = django.get_version()
    name = f"django-{version}.tar.gz"
    if not (folder / name).exists():
        folder.mkdir(parents=True, exist_ok=True)
        # Without build isolation, pip builds the metadata with the setuptools of this environment.
        options = ["--no-binary=django", "--no-deps", "--no-build-isolation", "--quiet", f"--dest={folder}"]
        command = [sys.executable, "-m", "pip", "download", *options, f"django=={version}"]
        subprocess.run(command, check=True)  # noqa: S603
    return folder / name


def unpack(archive: Path, folder: Path) -> None:
    """Extract the parts that the tests need to a folder, and change their import lines."""
    with tarfile.open(archive) as opened:
        start = f"{archive.name.removesuffix('.tar.gz')}/tests/"
        for member in opened.getmembers():
            name = member.name.removeprefix(start)
            if name == member.name or not name.startswith(PARTS) or not member.isfile():
                continue
            file = folder / name
            file.parent.mkdir(parents=True, exist_ok=True)
            content = opened.extractfile(member)
            assert content is not None  # noqa: S101 it is a file
            file.write_bytes(content.read())
    for file in (folder / "sitemaps_tests").rglob("*.py"):
        text = file.read_text(encoding="utf-8")
        file.write_text(IMPORT.sub("from django_sitemaps09 import ", text), encoding="utf-8")


def run(folder: Path) -> dict[str, Any]:
    """Run the tests with Django's own runner, and return the outcome; empty if no test started."""
    (folder / "suite_settings.py").write_text(SETTINGS)
    (folder / "suite_runner.py").write_text(RUNNER)
    command = [sys.executable, "runtests.py", "sitemaps_tests", "--settings=suite_settings", "--parallel=1"]
    environ = os.environ | {"PYTHONPATH": os.pathsep.join([str(folder), str(ROOT)])}
    with (folder / "output.txt").open("w") as file:
        subprocess.run(  # noqa: S603
            command, cwd=folder, env=environ, stdout=file, stderr=file, check=False, timeout=600
        )
    outcome = folder / "outcome.json"
    return dict(json.loads(outcome.read_text())) if outcome.exists() else {}


def faults(outcome: dict[str, Any]) -> list[str]:
    """Return the differences from `DEVIATIONS`, one line for each."""
    failed = {str(name).removeprefix("sitemaps_tests.") for name in outcome["failed"]}
    page = (ROOT / "docs" / "reference" / "deviations.md").read_text(encoding="utf-8")
    numbers = {int(number) for number in re.findall(r"^\| (\d+) \|", page, re.MULTILINE)}
    return [
        *(f"{name} fails and is not a deviation" for name in sorted(failed - DEVIATIONS.keys())),
        *(f"{name} passes: remove it from DEVIATIONS" for name in sorted(DEVIATIONS.keys() - failed)),
        *(f"{name} was skipped" for name in outcome["skipped"]),
        *(f"deviations.md has no number {number}" for number in set(DEVIATIONS.values()) - numbers),
    ]


def main(folder: Path) -> int:
    """Run the suite in a folder, and print unexpected results."""
    archive = download(folder)
    work = folder / archive.name.removesuffix(".tar.gz")
    shutil.rmtree(work, ignore_errors=True)
    unpack(archive, work)
    outcome = {"run": 0, "failed": [], "skipped": []} | run(work)
    messages = faults(outcome)
    if outcome["run"] < COUNT:
        messages.append(f"only {outcome['run']} of at least {COUNT} tests ran")
    if messages:
        print((work / "output.txt").read_text(), *messages, sep="\n")  # noqa: T201
    passed = outcome["run"] - len(outcome["failed"])
    expected = len(DEVIATIONS)
    print(f"Django {django.get_version()}: {passed} tests pass, {expected} are expected to fail")  # noqa: T201
    return 1 if messages else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]).resolve()))
