"""Measure audits of an export of the example project, without and with the rules for pages.

`python example_project/benchmarks/audit.py --articles 1000000` creates a database and an export in a
temporary folder with `manage.py demo`, and audits the export in a separate process each time. It needs the
extra `audit` in its own environment. The table is written to standard output as Markdown.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

EXAMPLE = Path(__file__).resolve().parent.parent
# The modules next to this one are a package.
sys.path[0] = str(EXAMPLE)

from benchmarks.measuring import Stopwatch  # noqa: E402

BASE = "http://127.0.0.1:8000"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--articles", type=int, default=1_000_000)
    parser.add_argument("--products", type=int, default=2_000, help="each in two languages")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--measure", metavar="DIR", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        measure(options.measure)
        return
    with TemporaryDirectory(prefix="sitemaps09-audit-") as folder:
        output = Path(folder, "public")
        environ = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join([str(EXAMPLE), str(EXAMPLE.parent)]),
            "DJANGO_SETTINGS_MODULE": "example.settings",
            "EXAMPLE_DATABASE_URL": f"sqlite:///{folder}/db.sqlite3",
            "EXAMPLE_BASE_URL": BASE,
        }
        demo = [f"--articles={options.articles}", f"--products={options.products}", f"--output={output}"]
        run(environ, str(EXAMPLE / "manage.py"), "demo", *demo)
        rounds = [
            json.loads(run(environ, __file__, "--measure", str(output))) for _ in range(options.rounds)
        ]
    sys.stdout.write(table(rounds))


def run(environ: dict[str, str], *command: str) -> str:
    done = subprocess.run(  # noqa: S603 our own interpreter and arguments
        [sys.executable, *command], env=environ, check=True, stdout=subprocess.PIPE, encoding="utf-8"
    )
    return done.stdout


def measure(folder: str) -> None:
    """Audit a folder in this process, and print the figures as JSON."""
    import django

    django.setup()
    from django_sitemaps09.tools.audit import audit

    watch = Stopwatch()
    with watch:
        report = audit(directory=folder)
    if report.findings:
        raise RuntimeError(f"The audit found {report.findings}")
    size = sum(path.stat().st_size for path in Path(folder).iterdir() if path.is_file())
    figures = watch.measured(size, report.urls)
    sys.stdout.write(json.dumps(figures._asdict()))


def table(rounds: list[dict[str, float]]) -> str:
    cells = {name: median(figures[name] for figures in rounds) for name in rounds[0]}
    urls = cells["urls"]
    return (
        "| URLs | seconds | CPU seconds | µs/URL | MB |\n|---:|---:|---:|---:|---:|\n"
        f"| {urls:,.0f} | {cells['wall']:.1f} | {cells['cpu']:.1f} | {cells['cpu'] / urls * 1e6:.1f} "
        f"| {cells['peak'] / 1e6:.0f} |\n"
    )


if __name__ == "__main__":
    main()
