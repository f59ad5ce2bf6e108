"""Build and check the distributions, and run the example's demo with each of them installed.

Tests in the checkout import the checkout, so they cannot find files that are missing from a distribution.
With `--release`, the checkout must also be clean, and the changelog must have the version and a date.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tarfile
import venv
import zipfile
from pathlib import Path


def run(*command: str | Path, folder: Path) -> None:
    print("+", *command, flush=True)  # noqa: T201
    subprocess.run(list(map(str, command)), cwd=folder, check=True)  # noqa: S603


def git(*arguments: str) -> list[str]:
    """Return the lines that git prints."""
    command = ["git", "-C", root, "-c", "safe.directory=*", *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()  # noqa: S603


def committed(*folders: str) -> set[str]:
    return {*git("ls-files", "--", *folders)}


def contents(path: Path) -> set[str]:
    """Return the names of the files in a distribution, without the folder of an sdist."""
    if path.suffix == ".whl":
        return {*zipfile.ZipFile(path).namelist()}
    with tarfile.open(path) as archive:
        return {name.partition("/")[2] for name in archive.getnames()}


def check_contents(path: Path) -> None:
    """Exit unless a distribution contains exactly the committed files, and its metadata."""
    if path.suffix == ".whl":
        expected = committed("django_sitemaps09")
        metadata = {"METADATA", "RECORD", "WHEEL", "licenses/LICENSE"}
        expected |= {f"django_sitemaps09-{version}.dist-info/{name}" for name in metadata}
    else:
        files = ["CHANGELOG.md", "LICENSE", "README.md", "pyproject.toml", "tox.ini", ".gitignore"]
        expected = committed("django_sitemaps09", "tests", "docs", "example_project", *files) | {"PKG-INFO"}
    found = contents(path)
    if found != expected:
        raise SystemExit(f"{path.name} lacks {expected - found}, and should not have {found - expected}")


def check_release() -> None:
    """Exit unless everything is committed, and the changelog begins with this version and a date."""
    if changes := git("status", "--porcelain"):
        raise SystemExit("\n".join(["Commit or remove these files before a release:", *changes]))
    heading = re.search(r"^## (.*)$", (root / "CHANGELOG.md").read_text(), re.MULTILINE)
    if heading is None or not re.fullmatch(rf"{re.escape(version)} \(\d{{4}}-\d\d-\d\d\)", heading[1]):
        found = heading and heading[1]
        raise SystemExit(f"CHANGELOG.md must begin with '## {version} (year-month-day)', not {found!r}")


root = Path(__file__).parent.parent.resolve()
work = Path(sys.argv[1]).resolve() / "packaging"
version = re.search(r'__version__ = "(.*)"', (root / "django_sitemaps09/__init__.py").read_text())[1]  # type: ignore[index]
if "--release" in sys.argv:
    check_release()
shutil.rmtree(work, ignore_errors=True)
work.mkdir(parents=True)

for folder in ("dist", "again"):
    run(sys.executable, "-m", "build", "--outdir", work / folder, root, folder=work)
distributions = sorted((work / "dist").iterdir())
for path in distributions:
    if path.read_bytes() != (work / "again" / path.name).read_bytes():
        raise SystemExit(f"{path.name} differs between two builds of the same files")
    check_contents(path)
run(sys.executable, "-m", "twine", "check", "--strict", *distributions, folder=work)
run(sys.executable, "-m", "check_wheel_contents", *(work / "dist").glob("*.whl"), folder=work)

for path in distributions:
    site = work / path.suffix.strip(".")
    venv.create(site / "venv", with_pip=True)
    python = site / "venv" / ("Scripts" if sys.platform == "win32" else "bin") / "python"
    run(python, "-m", "pip", "install", "--quiet", path, folder=site)
    shutil.copytree(
        root / "example_project",
        site / "example_project",
        ignore=shutil.ignore_patterns("db.sqlite3*", "public", "__pycache__", ".work"),
    )
    manage = site / "example_project" / "manage.py"
    run(python, manage, "demo", "--articles", "500", "--products", "50", folder=site)
    index = site / "example_project" / "public" / "sitemap.xml"
    if b"sitemap-articles-1.xml.gz" not in index.read_bytes():
        raise SystemExit(f"{index} does not name the articles")
