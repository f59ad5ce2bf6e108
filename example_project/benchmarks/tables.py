"""The results as Markdown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import median

from benchmarks import subjects
from benchmarks.measuring import Measured
from benchmarks.rounds import Database, Results
from benchmarks.subjects import Subject

_COLUMNS = ("", "wall s", "CPU s", "us/URL", "peak MB", "MB", "times ours")
_CAPTION = """\
Medians of {rounds} interleaved rounds, each measurement in a process of its own. Start-up of Python and
Django, the connection and the first use of the routes are left out for all alike. Before our pages, and
only there, the index was asked for, whose bounds of pages Django's cache keeps; "not known yet" is without
that. CPU is that of all processes of the subject, without a database server's; peak is that of its largest
process. MB is what was written, or the body of the page; django-static-sitemaps writes each page twice,
as it is and gzipped. Peers have their defaults: gzip at level 9, where ours has 6; and ours has the byte
limit of the protocol. Its pages hold 47,500 URLs, 95 % of what they may, those of others 50,000. "Driver
floor" reads rows in slices as ours does. "Times ours" is the wall time for each URL in ratio to "ours" of
the same table and round, the median of that. Of querysets, CPU has that of our connection's server in it,
and the ratio is of CPU, to the plain queryset."""


def heading(
    date: str, rows: int, slugs: str, rounds: int, cores: int, databases: Sequence[Database]
) -> str:
    """What was measured, with what, and how."""
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
    """One table: the exports with the floors, or what was read or asked for."""
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
    """The name of each row, with its measurements by round."""
    for subject in chosen:
        if subject.kind == kind:
            yield subject.name, results.of(database.label, subject)
    if kind == "export":
        for name, parts in subjects.FLOORS.items():
            if all(part in chosen for part in parts):
                yield name, _sums([results.of(database.label, part) for part in parts])


def _sums(parts: Sequence[dict[int, Measured]]) -> dict[int, Measured]:
    """Parts that follow each other: times and bytes add up, the peak is the highest."""
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
    """The cells of a row; one dash each, where there is nothing."""
    if not rounds:
        return ["not measured"] + ["-"] * (len(_COLUMNS) - 2)
    found = list(rounds.values())
    ratios = [
        getattr(one, by) / one.urls / (getattr(baseline[number], by) / baseline[number].urls)
        for number, one in rounds.items()
        if number in baseline
    ]
    size = median(one.bytes for one in found)
    return [
        f"{median(one.wall for one in found):.3f}",
        f"{median(one.cpu for one in found):.3f}",
        f"{median(one.wall / one.urls for one in found) * 1e6:.2f}",
        f"{median(one.peak for one in found) / 1e6:.0f}",
        f"{size / 1e6:.2f}" if size else "-",
        f"{median(ratios):.2f}" if ratios else "-",
    ]


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"
