"""Markdown tables of the results."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import median

from benchmarks import subjects
from benchmarks.measuring import Measured
from benchmarks.rounds import Database, Results
from benchmarks.subjects import Subject

_COLUMNS = ("", "wall s", "CPU s", "us/URL", "peak MB", "MB", "times ours")
_CAPTION = """\
Medians of {rounds} interleaved rounds; each measurement is a separate process. The times do not include
starting Python and Django, connecting to the database and loading the URLconf. Before each page of the
native views, the index was requested, which names the page, by another process for "in a new process".

CPU is the time of all processes of the subject, without the database server. Peak is the memory of the
largest process. MB is the size of all files, or of the response; django-static-sitemaps writes each page
twice, as it is and gzipped. The other packages have their defaults, such as gzip at level 9; "ours" has
level 6, and the byte limit of the protocol. Its pages have 47,500 URLs, 95% of the limit; those of the
others have 50,000.

"Driver floor" reads rows in slices of the same size as "ours". "Times ours" is the median of the ratio of
wall time for each URL to "ours" in the same table and round. For querysets, CPU includes the server process
of the connection, and the ratio is that of CPU time to the plain queryset."""


def heading(
    date: str, rows: int, slugs: str, rounds: int, cores: int, databases: Sequence[Database]
) -> str:
    """Return the heading and the caption: date, versions, machine and method."""
    versions = databases[0].versions
    names = ("django-static-sitemaps", "django-icv-sitemaps", "isal", "psycopg[binary]")
    parts = [
        date,
        f"{rows:,} rows ({slugs} slugs)",
        f"Python {versions['python']}",
        f"Django {versions['django']}",
        *(database.versions["database"] for database in databases),
        *(f"{name.partition('[')[0]} {versions[name]}" for name in names if name in versions),
        f"{cores} cores",
    ]
    return f"## {', '.join(parts)}\n\n{_CAPTION.format(rounds=rounds)}\n"


def table(title: str, kind: str, database: Database, chosen: Sequence[Subject], results: Results) -> str:
    """Return a table of exports with the floors, of pages, or of readings."""
    baseline = results.of(database.label, subjects.BASELINES[kind])
    by = "cpu" if kind in subjects.READINGS else "wall"
    lines = [
        _line(_COLUMNS),
        "|---|" + "---:|" * (len(_COLUMNS) - 1),
        *(
            _line((name, *_figures(rounds, baseline, by=by)))
            for name, rounds in _rows(kind, database, chosen, results)
        ),
    ]
    return f"### {database.versions['database']}: {title}\n\n" + "\n".join(lines) + "\n"


def _rows(
    kind: str, database: Database, chosen: Sequence[Subject], results: Results
) -> Iterator[tuple[str, dict[int, Measured]]]:
    """Yield the name of each row, with its measurements by round."""
    for subject in chosen:
        if subject.kind == kind:
            yield subject.name, results.of(database.label, subject)
    if kind == "export":
        for name, parts in subjects.FLOORS.items():
            if all(part in chosen for part in parts):
                yield name, _sums([results.of(database.label, part) for part in parts])


def _sums(parts: Sequence[dict[int, Measured]]) -> dict[int, Measured]:
    """Return the sums of several steps: times and bytes add up, the peak is the highest."""
    rounds = set.intersection(*(set(part) for part in parts))
    return {number: _sum([part[number] for part in parts]) for number in sorted(rounds)}


def _sum(parts: Sequence[Measured]) -> Measured:
    return Measured(
        wall=sum(part.wall for part in parts),
        cpu=sum(part.cpu for part in parts),
        peak=max(part.peak for part in parts),
        bytes=sum(part.bytes for part in parts),
        urls=parts[0].urls,
    )


def _figures(rounds: dict[int, Measured], baseline: dict[int, Measured], *, by: str) -> list[str]:
    """Return the cells of a row; a dash if there is no value."""
    if not rounds:
        return ["not measured"] + ["-"] * (len(_COLUMNS) - 2)
    measurements = list(rounds.values())
    ratios = [
        getattr(measured, by) / measured.urls / (getattr(baseline[number], by) / baseline[number].urls)
        for number, measured in rounds.items()
        if number in baseline
    ]
    size = median(measured.bytes for measured in measurements)
    return [
        f"{median(measured.wall for measured in measurements):.3f}",
        f"{median(measured.cpu for measured in measurements):.3f}",
        f"{median(measured.wall / measured.urls for measured in measurements) * 1e6:.2f}",
        f"{median(measured.peak for measured in measurements) / 1e6:.0f}",
        f"{size / 1e6:.2f}" if size else "-",
        f"{median(ratios):.2f}" if ratios else "-",
    ]


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"
