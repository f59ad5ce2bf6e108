"""The rounds: every subject in a process of its own, all of them one after the other, again and again."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.environment import Environment
from benchmarks.measuring import Measured
from benchmarks.subjects import Subject

# So much of a share there may be more or less.
_ROUNDED = 0.03


class BenchmarkError(Exception):
    """Something without which nothing can be measured."""


@dataclass(frozen=True, slots=True)
class Database:
    """One that is filled. `pages` is the folder of our exported pages, not compressed.

    `checkout` has the package that is measured there, `None` for this one.
    """

    label: str
    url: str
    pages: Path
    versions: dict[str, str]
    checkout: Path | None = None


@dataclass(slots=True)
class Results:
    """All measurements by database and subject, one a round; and who failed."""

    found: dict[tuple[str, str], dict[int, Measured]] = field(default_factory=dict)
    failed: dict[tuple[str, str], str] = field(default_factory=dict)

    def of(self, label: str, subject: Subject) -> dict[int, Measured]:
        """By the number of the round; empty for one that failed or was not measured."""
        key = label, subject.key
        return {} if key in self.failed else self.found.get(key, {})


def run(
    environment: Environment,
    databases: Sequence[Database],
    chosen: Sequence[Subject],
    rows: int,
    rounds: int,
) -> Results:
    """Every round: all subjects on each database, every other time the other way round."""
    results = Results()
    plan = list(_plan(databases, chosen, rounds))
    for done, (number, database, subject) in enumerate(plan, 1):
        key = database.label, subject.key
        if key in results.failed:
            continue
        sys.stderr.write(f"[{done}/{len(plan)}] round {number}, {database.label}, {subject.key}: ")
        sys.stderr.flush()
        try:
            measured = _measure(environment, database, subject, rows)
        except BenchmarkError as error:
            results.failed[key] = str(error)
            # The whole of it is said once, at the end.
            sys.stderr.write(f"FAILED: {str(error).splitlines()[-1]}\n")
            continue
        results.found.setdefault(key, {})[number] = measured
        sys.stderr.write(f"{measured.wall:.3f} s\n")
    return results


def _plan(
    databases: Sequence[Database], chosen: Sequence[Subject], rounds: int
) -> Iterator[tuple[int, Database, Subject]]:
    for number in range(1, rounds + 1):
        # A machine that gets slower or faster meanwhile favours nobody.
        order = list(chosen) if number % 2 == 0 else list(reversed(chosen))
        for database in databases:
            for subject in order:
                if subject.needs in database.versions:
                    yield number, database, subject


def _measure(environment: Environment, database: Database, subject: Subject, rows: int) -> Measured:
    """One process. `BenchmarkError` if it fails, or does not bring all URLs."""
    with TemporaryDirectory(prefix="output-", dir=environment.work) as output:
        ended = environment.run(
            "subject",
            str(database.pages),
            database=database.url,
            output=output,
            subject=subject.key,
            checkout=database.checkout,
        )
    if ended.returncode:
        raise BenchmarkError(ended.stderr.strip() or f"exit status {ended.returncode}")
    measured = Measured(**json.loads(ended.stdout.splitlines()[-1]))
    expected = subject.urls(rows)
    # A share is of each category, and rounded there.
    if abs(measured.urls - expected) > (subject.share < 1) * _ROUNDED * expected:
        said = ended.stderr.strip()
        raise BenchmarkError(f"{said}\n{measured.urls:,} URLs instead of {expected:,}".strip())
    return measured
