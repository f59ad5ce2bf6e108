"""Rounds of measurements: each round measures all subjects one after the other, each in a new process."""

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


class BenchmarkError(Exception):
    """Error that prevents a measurement."""


@dataclass(frozen=True, slots=True)
class Database:
    """A filled database. `pages` is the folder of exported pages, not compressed.

    `checkout` contains the package that is measured; `None` stands for this checkout.
    """

    label: str
    url: str
    pages: Path
    versions: dict[str, str]
    checkout: Path | None = None


@dataclass(slots=True)
class Results:
    """Measurements by database, subject and round, and the errors of subjects that failed."""

    measured: dict[tuple[str, str], dict[int, Measured]] = field(default_factory=dict)
    failed: dict[tuple[str, str], str] = field(default_factory=dict)

    def of(self, label: str, subject: Subject) -> dict[int, Measured]:
        """Return the measurements of a subject by round; empty if it failed or was not measured."""
        key = label, subject.key
        return {} if key in self.failed else self.measured.get(key, {})


def run(
    environment: Environment,
    databases: Sequence[Database],
    chosen: Sequence[Subject],
    rows: int,
    rounds: int,
) -> Results:
    """Measure all subjects on each database in each round, and reverse the order in every other round."""
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
            # The whole message is printed at the end.
            sys.stderr.write(f"FAILED: {str(error).splitlines()[-1]}\n")
            continue
        results.measured.setdefault(key, {})[number] = measured
        sys.stderr.write(f"{measured.wall:.3f} s\n")
    return results


def _plan(
    databases: Sequence[Database], chosen: Sequence[Subject], rounds: int
) -> Iterator[tuple[int, Database, Subject]]:
    for number in range(1, rounds + 1):
        # With alternating order, no subject benefits if the machine becomes slower or faster.
        order = list(chosen) if number % 2 == 0 else list(reversed(chosen))
        for database in databases:
            for subject in order:
                if subject.needs in database.versions:
                    yield number, database, subject


def _measure(environment: Environment, database: Database, subject: Subject, rows: int) -> Measured:
    """Measure a subject in a new process; raise `BenchmarkError` if it fails or misses URLs."""
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
    if measured.urls not in expected:
        output, wanted = ended.stderr.strip(), f"{expected[0]:,} to {expected[-1]:,}"
        raise BenchmarkError(f"{output}\n{measured.urls:,} URLs instead of {wanted}".strip())
    return measured
