"""Measure exports into a folder that already contains an export, and print a table for each database.

    python example_project/benchmarks/incremental.py

creates the same environment and databases as `run.py`, by default with 200,000 articles. It exports them
repeatedly into one folder: in full, after no change, with `--changed-only`, after one row in a thousand has
changed, at the end or everywhere, and without and with `FEED`, after one row in a hundred or all rows have
changed. All exports use zlib, with 1 and 2 workers. The tables are written to
standard output as Markdown. The options are those of `run.py`. Both commands share what they create;
`run.py --clean` removes it.
"""

from __future__ import annotations

import json
import os
import sys
from collections import defaultdict
from datetime import datetime, timezone
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

# The modules next to this one are a package, here and in the processes that are measured.
sys.path[0] = str(Path(__file__).resolve().parent.parent)

from benchmarks import run, subjects  # noqa: E402
from benchmarks.environment import Environment  # noqa: E402
from benchmarks.rounds import BenchmarkError, Database  # noqa: E402

WORKERS = (1, 2)
_HEAD = ("", "wall s", "of a full run", "rest ms", "URLs/s", "files written", "peak MB")
_CAPTION = """\
Medians of {rounds} rounds; each run is a separate process. The times do not include starting Python and
Django, and connecting to the database. "Of a full run" is the ratio of the wall time to that of the first
line with the same number of workers, in the same round. "Rest" is the time that is not spent on rendering:
lock, manifest, journal, moving files. Peak is the memory of the largest process. Where rows changed, it was
the most recent 0.1% of them, as many rows on all pages, or one row.
"""

Measurements = dict[tuple[int, str], list[dict[str, Any]]]


def main() -> int:
    options = run.parser().parse_args()
    environment = Environment(options.work.resolve())
    try:
        environment.create()
    except FileExistsError as error:
        raise BenchmarkError(str(error)) from error
    databases = run.prepared(environment, options)
    if not databases:
        raise BenchmarkError("No database is available.")
    date = datetime.now(timezone.utc).date().isoformat()
    version = databases[0].versions
    sys.stdout.write(
        f"## {date}, {options.rows:,} rows, Python {version['python']}, Django {version['django']}, "
        f"{os.cpu_count()} cores\n\n"
    )
    sys.stdout.write(f"{_CAPTION.format(rounds=options.rounds)}\n")
    for database in databases:
        measurements = measured(environment, database, options.rounds)
        sys.stdout.write(f"### {database.versions['database']}\n\n{table(measurements)}\n")
        sys.stdout.flush()
    return 0


def measured(environment: Environment, database: Database, rounds: int) -> Measurements:
    """Return the measurements of all rounds by number of workers and scenario."""
    measurements: Measurements = defaultdict(list)
    for number in range(1, rounds + 1):
        for workers in WORKERS:
            sys.stderr.write(f"round {number}, {database.label}, {workers} workers\n")
            with TemporaryDirectory(prefix="output-", dir=environment.work) as output:
                ended = environment.run(
                    "again",
                    str(workers),
                    output,
                    database=database.url,
                    output=output,
                    subject=subjects.BASELINES["export"].key,
                )
            if ended.returncode:
                raise BenchmarkError(ended.stderr.strip())
            lines = [json.loads(line) for line in ended.stdout.splitlines()]
            for line in lines:
                ratio = line["wall"] / lines[0]["wall"]
                measurements[workers, line["scenario"]].append({**line, "ratio": ratio})
    return measurements


def table(measurements: Measurements) -> str:
    """Return the table of all scenarios, for each number of workers."""
    lines = [_line(_HEAD), "|---|" + "---:|" * (len(_HEAD) - 1)]
    for (workers, scenario), runs in measurements.items():
        name = scenario if workers == 1 else f"{scenario}, {workers} workers"

        def middle(key: str, runs: list[dict[str, Any]] = runs) -> float:
            return median(run[key] for run in runs)

        lines.append(
            _line(
                (
                    name,
                    f"{middle('wall'):.3f}",
                    f"{middle('ratio'):.1%}",
                    f"{middle('outside') * 1000:.0f}",
                    f"{middle('urls') / middle('wall'):,.0f}",
                    f"{middle('written'):.0f}",
                    f"{middle('peak') / 1e6:.0f}",
                )
            )
        )
    return "\n".join(lines) + "\n"


def _line(cells: tuple[str, ...]) -> str:
    return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    try:
        sys.exit(main())
    except BenchmarkError as failure:
        sys.exit(str(failure))
