"""Run the sitemaps of other projects with this package, unchanged and with their import lines changed.

The source distribution of each project's installed version is unpacked twice. In the second tree, all
import lines name `django_sitemaps09` instead of `django.contrib.sitemaps`; nothing else is changed. Then:

* The project's own tests of its sitemaps must pass in both trees, except the `deviations`, which must fail
  in the second tree.
* A site with rows of the project (`neighbours/site_*.py`) must have the same entries in contrib's views
  (first tree), in the compatibility views (second tree), and in the native views and an export (both
  trees).

For FeinCMS and Oscar, only entries are compared: the distribution of FeinCMS has no tests, and that of
Oscar has no sitemap classes, so the site defines them.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

ROOT = Path(__file__).parent.parent.resolve()
SITES = Path(__file__).parent.resolve() / "neighbours"
IMPORT = re.compile(r"^(\s*(?:from|import) )django\.contrib\.sitemaps\b", re.MULTILINE)


@dataclass(frozen=True)
class Neighbour:
    """A project: its distribution, and its tests of sitemaps with their settings.

    At least `count` tests must run. `deviations` are tests that fail with changed import lines, with the
    number of the deviation in docs/reference/deviations.md. Import lines are changed below the folders
    `changed`.
    """

    distribution: str
    settings: str = ""
    tests: tuple[str, ...] = ()
    count: int = 0
    deviations: Mapping[str, int] = field(default_factory=dict)
    changed: tuple[str, ...] = (".",)


NEIGHBOURS = {
    "cms": Neighbour("django-cms", "cms.tests.settings", ("cms/tests/test_sitemap.py",), 5),
    "djpress": Neighbour("djpress", "site_djpress", ("tests/test_sitemaps.py",), 5),
    "feincms": Neighbour("FeinCMS"),
    "flatpages": Neighbour(
        "Django",
        "site_flatpages",
        ("tests/flatpages_tests/test_sitemaps.py",),
        1,
        # Not django/contrib/sitemaps, which this package is compared with.
        changed=("django/contrib/flatpages", "tests/flatpages_tests"),
    ),
    "oscar": Neighbour("django-oscar", changed=()),
    "photologue": Neighbour(
        "django-photologue",
        "site_photologue",
        ("photologue/tests/test_sitemap.py", "photologue/tests/test_sites.py::SitesTest::test_sitemap"),
        3,
        # These tests compare the text of a lastmod that has a time.
        {"test_get_photo": 1, "test_get_gallery": 1, "test_sitemap": 1},
    ),
    "wagtail": Neighbour("wagtail", "wagtail.test.settings", ("wagtail/contrib/sitemaps/tests.py",), 13),
}


def download(distribution: str, folder: Path) -> Path:
    """Return the source distribution of the installed version; pip downloads it once."""
    wanted = f"{distribution}=={version(distribution)}"
    place = folder / wanted
    if not list(place.glob("*.tar.gz")):
        options = ["--no-deps", "--quiet", f"--no-binary={distribution}", f"--dest={place}"]
        command = [sys.executable, "-m", "pip", "download", *options, wanted]
        subprocess.run(command, check=True)  # noqa: S603
    [archive] = place.glob("*.tar.gz")
    return archive


def unpack(archive: Path, tree: Path) -> None:
    """Extract the distribution to an empty folder, and copy the sites there."""
    shutil.rmtree(tree, ignore_errors=True)
    with tarfile.open(archive) as opened:
        opened.extractall(tree, filter="data")
    [inner] = tree.iterdir()
    for part in inner.iterdir():
        part.rename(tree / part.name)
    shutil.copytree(SITES, tree, dirs_exist_ok=True)


def change(tree: Path, folders: tuple[str, ...]) -> int:
    """Change the import lines of a project and of its site, and return how many the project has."""
    files = [file for folder in folders for file in (tree / folder).rglob("*.py")]
    sites = list(tree.glob("site_*.py"))
    counts = {file: _change(file) for file in dict.fromkeys([*files, *sites])}
    return sum(count for file, count in counts.items() if file not in sites)


def _change(file: Path) -> int:
    text, count = IMPORT.subn(r"\1django_sitemaps09", file.read_text(encoding="utf-8"))
    if count:
        file.write_text(text, encoding="utf-8")
    return count


def write_settings(tree: Path, name: str, settings: str, *, ours: bool) -> None:
    """Write settings with both apps, in the order in which the tested views find their templates."""
    order = ("django_sitemaps09", "django.contrib.sitemaps")
    lines = [
        f"from {settings} import *",
        f"from {settings} import INSTALLED_APPS as apps",
        f"apps = [app for app in apps if app not in {order}]",
        f"INSTALLED_APPS = [*apps, *{order if ours else order[::-1]}]",
    ]
    (tree / f"{name}.py").write_text("\n".join(lines) + "\n", encoding="utf-8")


def run(tree: Path, settings: str, *command: str) -> str:
    """Run Python in a tree, and return its output, even if it fails."""
    path = [tree, tree / "src", tree / "tests", ROOT]
    environ = os.environ | {
        "DJANGO_SETTINGS_MODULE": settings,
        "NEIGHBOUR_DATABASE": str(tree.parent / "site.sqlite3"),
        "PYTHONPATH": os.pathsep.join(map(str, path)),
    }
    completed = subprocess.run(  # noqa: S603
        [sys.executable, *command],
        cwd=tree,
        env=environ,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        timeout=600,
    )
    return completed.stdout


def test(tree: Path, neighbour: Neighbour, *, ours: bool) -> tuple[set[str], set[str], str]:
    """Run the project's tests, and return the names of those that passed and failed, and the output."""
    write_settings(tree, "tests_settings", neighbour.settings, ours=ours)
    (tree / "neighbour.ini").write_text("[pytest]\npython_files = *.py\n", encoding="utf-8")
    options = ["-c", "neighbour.ini", "--rootdir=.", "-q", "--junitxml=tests.xml", "-p", "no:cacheprovider"]
    output = run(tree, "tests_settings", "-m", "pytest", *options, *neighbour.tests)
    passed: set[str] = set()
    failed: set[str] = set()
    if (tree / "tests.xml").exists():
        for case in ElementTree.parse(tree / "tests.xml").iter("testcase"):  # noqa: S314 made by pytest
            if case.find("skipped") is None:
                (failed if len(case) else passed).add(str(case.get("name")))
    return passed, failed, output


def entries(tree: Path, name: str, *, ours: bool) -> dict[str, Any]:
    """Return the entries of the site by section, for each way to render them, or an error message."""
    write_settings(tree, f"site_{name}_settings", f"site_{name}", ours=ours)
    outcome = tree / "entries.json"
    output = run(tree, f"site_{name}_settings", "site_entries.py", str(outcome))
    (tree / "output.txt").write_text(output, encoding="utf-8")
    if not outcome.exists():
        raise RuntimeError(f"the site {name} did not run ({tree.name})\n{output}")
    return dict(json.loads(outcome.read_text(encoding="utf-8")))


def differences(wanted: Any, found: Any) -> list[str]:
    """Return the differences from contrib's entries, one line for each section."""
    if not isinstance(wanted, dict) or not isinstance(found, dict):
        return [] if isinstance(found, dict) else [found]
    return [
        f"section {name!r}: {len(missing)} missing {missing[:3]}, {len(extra)} unexpected {extra[:3]}"
        for name in sorted(wanted.keys() | found.keys())
        for missing, extra in [_difference(wanted.get(name, []), found.get(name, []))]
        if missing or extra
    ]


def _difference(wanted: list[Any], found: list[Any]) -> tuple[list[str], list[str]]:
    first, second = Counter(map(json.dumps, wanted)), Counter(map(json.dumps, found))
    return list((first - second).elements()), list((second - first).elements())


def check(name: str, neighbour: Neighbour, work: Path) -> list[str]:
    """Check one project, print a line of the table, and return unexpected results."""
    archive = download(neighbour.distribution, work / "sdists")
    trees = {ours: work / name / ("ours" if ours else "contrib") for ours in (False, True)}
    (work / name / "site.sqlite3").unlink(missing_ok=True)
    found: list[str] = []
    counts = []
    ways: dict[str, Any] = {}
    for ours, tree in trees.items():
        unpack(archive, tree)
        if ours and not change(tree, neighbour.changed) and neighbour.changed:
            found.append("no import line was changed")
        if neighbour.tests:
            passed, failed, output = test(tree, neighbour, ours=ours)
            expected = set(neighbour.deviations) if ours else set()
            found += [f"{test} fails ({tree.name})\n{output}" for test in sorted(failed - expected)]
            found += [f"{test} passes: remove it from the deviations" for test in sorted(expected - failed)]
            if len(passed | failed) < neighbour.count:
                found.append(f"only {len(passed | failed)} tests ran ({tree.name})\n{output}")
            counts.append(f"{len(passed)} of {len(passed | failed)}")
        else:
            counts.append("none")
        ways |= {f"{way} ({tree.name})": some for way, some in entries(tree, name, ours=ours).items()}
    wanted = ways["views (contrib)"]
    for way, some in ways.items():
        found += [f"{way}: {line}" for line in differences(wanted, some)]
    compared = sum(map(len, wanted.values())) if isinstance(wanted, dict) else 0
    if not compared:
        found.append("contrib's views have no entries")
    print(  # noqa: T201
        f"{name:<12}{version(neighbour.distribution):<10}Django {version('Django'):<8}"
        f"{counts[0]:>10} pass  {counts[1]:>10} pass swapped  {compared:>4} entries, {len(ways) - 1} times",
        flush=True,
    )
    return [f"{name}: {line}" for line in found]


def unknown_deviations() -> list[str]:
    """Return the deviations that docs/reference/deviations.md does not list."""
    page = (ROOT / "docs" / "reference" / "deviations.md").read_text(encoding="utf-8")
    numbers = {int(number) for number in re.findall(r"^\| (\d+) \|", page, re.MULTILINE)}
    used = {number for neighbour in NEIGHBOURS.values() for number in neighbour.deviations.values()}
    return [f"docs/reference/deviations.md has no deviation {number}" for number in sorted(used - numbers)]


def main(work: Path, names: list[str]) -> int:
    """Check the named projects or all, and print unexpected results."""
    found = unknown_deviations()
    for name in names or NEIGHBOURS:
        try:
            found += check(name, NEIGHBOURS[name], work)
        except RuntimeError as error:
            found.append(str(error))
    print(*found, sep="\n")  # noqa: T201
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]).resolve(), sys.argv[2:]))
