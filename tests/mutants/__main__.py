"""The command `python -m tests.mutants`."""

# ruff: noqa: T201 this is a script

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from tests import mutants
from tests.mutants.changes import ROOT, Mutant, possible_mutants, sample
from tests.mutants.contexts import Contexts, measure
from tests.mutants.judging import Result, judge_at_import, judge_in_functions


def read_state(state: Path) -> dict[Mutant, Result]:
    rows = [json.loads(line) for line in state.read_text().splitlines()]
    return {Mutant(*row[0]): Result(Mutant(*row[0]), *row[1:]) for row in rows}


def again(results: Iterable[Result]) -> list[Result]:
    """Return the mutants of another run as pending ones, where they are in the code of today."""
    exact: dict[Any, list[Mutant]] = defaultdict(list)
    for mutant in possible_mutants():
        exact[mutant[:5]].append(mutant)
        exact[mutant.anywhere].append(mutant)
    pending = []
    for mutant, *_ in results:
        same = exact[mutant[:5]] or exact[mutant.anywhere]
        gone = Result(mutant, "not judged", "the code is gone")
        pending.append(Result(same[0]) if len(same) == 1 else gone)
    return pending


def report(results: Sequence[Result], before: Sequence[Result]) -> None:
    """Print the figures of each room, and the survivors."""
    states = ("killed", "survived", "not judged", "pending")
    print(f"{'room':20}{'mutants':>11}" + "".join(f"{state:>11}" for state in states) + f"{'share':>8}")
    rooms = sorted({result.mutant.room for result in results})
    for room in [*rooms, "all"]:
        counts = Counter(result.state for result in results if room in {result.mutant.room, "all"})
        judged = counts["killed"] + counts["survived"]
        share = f"{counts['killed'] / judged:8.1%}" if judged else "       -"
        print(f"{room:20}{counts.total():11}" + "".join(f"{counts[state]:11}" for state in states) + share)
    died = {result.mutant.anywhere for result in before if result.state == "killed"}
    lists: dict[str, Callable[[Result], bool]] = {
        "survived": lambda result: result.state == "survived",
        "not judged": lambda result: result.state == "not judged",
        "killed by a crash, not by a test": lambda result: result.by.startswith("exit status"),
        "killed before, and not now": lambda result: (
            result.state != "killed" and result.mutant.anywhere in died
        ),
    }
    for title, belongs in lists.items():
        print(f"\n{title}:")
        for mutant, state, by, tests, _ in sorted(filter(belongs, results)):
            place = f"{mutant.module}:{mutant.line}: {mutant.kind}: {mutant.change}"
            print(f"  {place} ({state}, {by or f'{tests} tests'})")


def copy_checkout(tree: Path) -> None:
    """Copy the files that git knows or would add, so that edits and children cannot disturb each other."""
    git = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(git, cwd=ROOT, check=True, capture_output=True, text=True).stdout  # noqa: S603
    for name in filter(None, names.split("\0")):
        if (ROOT / name).is_file():
            (tree / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, tree / name)


def main() -> None:
    parser = argparse.ArgumentParser(
        "python -m tests.mutants", description=(mutants.__doc__ or "").split("\n")[0]
    )
    parser.add_argument("--state", type=Path, required=True, help="the results, from which a run continues")
    parser.add_argument("--coverage", type=Path, help="the coverage database; default: beside the results")
    parser.add_argument("--count", type=int, default=500)
    parser.add_argument("--seed", type=int, default=41)
    parser.add_argument("--rooms", nargs="+", default=[], help="only of these rooms; default: of all")
    parser.add_argument(
        "--tests", nargs="+", default=["tests"], help="the folders and modules of tests to run"
    )
    parser.add_argument("--again", type=Path, help="judge the mutants of this state file, not a new sample")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--report", action="store_true", help="only print the results")
    options = parser.parse_args()
    state = options.state.resolve()
    tree = state.with_suffix(".tree")
    database = (options.coverage or state.with_suffix(".coverage")).resolve()
    earlier = list(read_state(options.again).values()) if options.again else []
    if options.report:
        report(list(read_state(state).values()), earlier)
        return
    if tree != ROOT:
        if not tree.exists():
            copy_checkout(tree)
        paths = [f"--state={state}", f"--coverage={database}"]
        paths += [f"--again={options.again.resolve()}"] if options.again else []
        os.environ["PYTHONPATH"] = str(tree)
        # A connection to a database server does not survive a fork.
        os.environ.update(SITEMAPS09_POSTGRESQL="none", SITEMAPS09_MARIADB="none")
        os.environ["COVERAGE_CORE"] = "sysmon" if hasattr(sys, "monitoring") else "ctrace"
        os.chdir(tree)
        os.execv(sys.executable, [sys.executable, "-m", "tests.mutants", *sys.argv[1:], *paths])  # noqa: S606
    if not database.exists():
        measure(database, options.tests)
    contexts = Contexts(database)
    if contexts.failed:
        print("skipped, because they fail without a mutant:", *contexts.failed, sep="\n  ", flush=True)
    if not state.exists():
        possible = [each for each in possible_mutants() if not options.rooms or each.room in options.rooms]
        new = [] if earlier else sample(possible, options.count, options.seed)
        chosen = again(earlier) if earlier else map(Result, new)
        state.write_text("".join(json.dumps(result) + "\n" for result in chosen))
    pending = [result for result in read_state(state).values() if result.state == "pending"]
    inside = [r.mutant for r in pending if not (r.by or contexts.tests(r.mutant)[1])]
    print(f"{len(pending)} mutants to judge, {len(inside)} of them inside functions", flush=True)
    if inside:
        judge_in_functions(inside, options.jobs, state, database, options.tests)
    pending = [result for result in read_state(state).values() if result.state == "pending"]
    judge_at_import([result.mutant for result in pending], options.jobs, state, database)
    report(list(read_state(state).values()), earlier)


if __name__ == "__main__":
    main()
