"""Build and check the distributions, and run the example's demo with the installed wheel.

Tests in the checkout import the checkout, so they cannot find files that are missing from the wheel.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import venv
from pathlib import Path


def run(*command: str | Path, folder: Path) -> None:
    print("+", *command, flush=True)  # noqa: T201
    subprocess.run(list(map(str, command)), cwd=folder, check=True)  # noqa: S603


root = Path(__file__).parent.parent.resolve()
work = Path(sys.argv[1]).resolve() / "packaging"
shutil.rmtree(work, ignore_errors=True)
work.mkdir(parents=True)

run(sys.executable, "-m", "build", "--outdir", work / "dist", root, folder=work)
(wheel,) = (work / "dist").glob("*.whl")
run(sys.executable, "-m", "twine", "check", "--strict", *(work / "dist").iterdir(), folder=work)
run(sys.executable, "-m", "check_wheel_contents", wheel, folder=work)

venv.create(work / "venv", with_pip=True)
python = work / "venv" / ("Scripts" if sys.platform == "win32" else "bin") / "python"
run(python, "-m", "pip", "install", "--quiet", wheel, folder=work)
shutil.copytree(
    root / "example_project",
    work / "example_project",
    ignore=shutil.ignore_patterns("db.sqlite3*", "public", "__pycache__", ".work"),
)
manage = work / "example_project" / "manage.py"
run(python, manage, "demo", "--articles", "500", "--products", "50", folder=work)
index = work / "example_project" / "public" / "sitemap.xml"
if b"sitemap-articles-1.xml.gz" not in index.read_bytes():
    raise SystemExit(f"{index} does not name the articles")
