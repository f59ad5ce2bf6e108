"""Measures exports into a folder that holds one already: one command, one table for each database.

    python example_project/benchmarks/incremental.py

makes and fills what `run.py` does, 200,000 articles unless told otherwise, and exports them again and again
into one folder: in full, after nothing has changed, with `--changed-only`, after one row in a thousand has,
with 1 and 2 workers and stdlib zlib. The tables are written to standard output as Markdown. The same
options hold as for `run.py`, and what either has made, the other uses too; `run.py --clean` removes it.
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

# The modules beside this one are a package, here and in the processes that are measured.
sys.path[0] = str(Path(__file__).resolve().parent.parent)

from benchmarks import run, subjects  # noqa: E402
from benchmarks.environment import Environment  # noqa: E402
from benchmarks.rounds import BenchmarkError, Database  # noqa: E402

WORKERS = (1, 2)
_HEAD = ("", "wall s", "of a full run", "rest ms", "URLs/s", "files written", "peak MB")
_CAPTION = """\
Medians of {rounds} rounds, each run in a process of its own; start-up of Python and Django, and the
connection, are left out. "Of a full run" is the wall time in ratio to the first line of the same round and
number of workers. "Rest" is all that is no rendering of a section: lock, manifest, journal, moving files.
Peak is that of the largest process. {changed} were changed in what follows the lines before it.
"""

Found = dict[tuple[int, str], list[dict[str, Any]]]


def main() -> int:
    options = run.parser().parse_args()
    environment = Environment(options.work.resolve())
    try:
        environment.make()
    except FileExistsError as error:
        raise BenchmarkError(str(error)) from error
    databases = run.prepared(environment, options)
    if not databases:
        raise BenchmarkError("There is no database to measure on")
    date = datetime.now(timezone.utc).date().isoformat()
    version = databases[0].versions
    sys.stdout.write(
        f"## {date}, {options.rows:,} rows, Python {version['python']}, Django {version['django']}, "
        f"{os.cpu_count()} cores\n\n"
    )
    sys.stdout.write(
        f"{_CAPTION.format(rounds=options.rounds, changed='The most recent 0.1 % of the rows')}\n"
    )
    for database in databases:
        found = measured(environment, database, options.rounds)
        sys.stdout.write(f"### {database.versions['database']}\n\n{table(found)}\n")
        sys.stdout.flush()
    return 0


def measured(environment: Environment, database: Database, rounds: int) -> Found:
    """All scenarios of all rounds, by workers and name."""
    found: Found = defaultdict(list)
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
                found[workers, line["scenario"]].append({**line, "ratio": ratio})
    return found


def table(found: Found) -> str:
    """The scenarios in their order, for each number of workers."""
    lines = [_line(_HEAD), "|---|" + "---:|" * (len(_HEAD) - 1)]
    for (workers, scenario), some in found.items():
        name = scenario if workers == 1 else f"{scenario}, {workers} workers"

        def middle(key: str, some: list[dict[str, Any]] = some) -> float:
            return median(one[key] for one in some)

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
