"""History of exports, two files beside the manifest.

One has what the last runs changed, skipped or failed to do. A run that changes nothing, and reports the
same problems as before, is not in it. The other one has the time of the last export of each section, so
every run that publishes writes it.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

from django_sitemaps09.exceptions import ExportError
from django_sitemaps09.protocol import MAX_MESSAGE, ItemError, excerpt
from django_sitemaps09.target import manifest as manifests
from django_sitemaps09.target.store import Store

logger = logging.getLogger(__name__)

ParsedT = TypeVar("ParsedT")

HISTORY = "history.json"
EXPORTED = "exported.json"
#: Maximum number of recorded runs. Older runs are forgotten.
MAX_RUNS = 50
_FORMAT = 1
_MAX_BYTES = 20_000_000
_NO_PROBLEMS = (0, (), None)
# The number of fields of a change that are numbers, after its name.
_COUNTS = 5
#: Maximum number of failures of a run, and of skipped items and elements of a section in it.
MAX_ERRORS = 10


class SectionChange(NamedTuple):
    """Changes to a section in one run. `previous_urls` and `urls` count the URLs before and after it.

    `is_complete` is true if all pages were rendered, so `errors` includes the skipped items of all pages.
    """

    section: str
    previous_urls: int
    urls: int
    written: int
    removed: int
    skipped_items: int = 0
    errors: tuple[ItemError, ...] = ()
    failure: str | None = None
    is_complete: bool = True

    @property
    def has_changed(self) -> bool:
        return bool(self.written or self.removed or self.urls != self.previous_urls)

    @property
    def problems(self) -> tuple[object, ...]:
        return self.skipped_items, self.errors, self.failure


class RecordedRun(NamedTuple):
    """Run of an export on one host. `started` is in seconds since 1970.

    `sections` has only sections that changed, or whose problems changed. `failures` are all failures of the
    run, including those of sections.
    """

    started: float
    is_published: bool
    seconds: float = 0.0
    sections: tuple[SectionChange, ...] = ()
    failures: tuple[str, ...] = ()


def read_history(state: Store) -> list[RecordedRun]:
    """Return the recorded runs, the newest one first. A damaged file counts as an empty history."""
    # Others may be able to write the file, so it has the bounds of a recorded history when it is read, too.
    return _read(state, HISTORY, lambda document: list(map(_run, document["runs"][:MAX_RUNS]))) or []


def read_exported(state: Store) -> dict[str, float]:
    """Return when the last run that exported a section without a failure started, for each section.

    Times are in seconds since 1970. A damaged file counts as empty.
    """

    def times(document: Mapping[str, Any]) -> dict[str, float]:
        return {section: manifests.parse_time(time) for section, time in document["sections"].items()}

    return _read(state, EXPORTED, times) or {}


def _read(state: Store, name: str, parse: Callable[[Mapping[str, Any]], ParsedT]) -> ParsedT | None:
    """Return a parsed file, or `None` if it is missing, damaged, or has another format."""

    def parse_format(document: Mapping[str, Any]) -> ParsedT | None:
        return parse(document) if document["format"] == _FORMAT else None

    try:
        return manifests.read_sealed(state, name, parse_format, _MAX_BYTES)
    except ExportError as error:
        logger.warning("%s", excerpt(error, MAX_MESSAGE))
        return None


def _run(values: Sequence[Any]) -> RecordedRun:
    run = RecordedRun(*values)
    return run._replace(
        started=manifests.parse_time(run.started),
        seconds=float(run.seconds),
        sections=tuple(_change(*section) for section in run.sections),
        failures=tuple(map(excerpt, run.failures[:MAX_ERRORS])),
    )


def _change(section: Any, *values: Any) -> SectionChange:
    counts: Any = map(int, values[:_COUNTS])
    change = SectionChange(excerpt(section, MAX_MESSAGE), *counts, *values[_COUNTS:])
    return change._replace(
        errors=tuple(ItemError(*map(excerpt, error)) for error in change.errors[:MAX_ERRORS]),
        failure=None if change.failure is None else excerpt(change.failure),
    )


def record_exported(state: Store, sections: Iterable[str], started: float) -> None:
    """Record the start of a run that exported these sections without a failure."""
    times = {**read_exported(state), **dict.fromkeys(sections, started)}
    state.write(EXPORTED, manifests.seal({"format": _FORMAT, "sections": times}))


def record_run(state: Store, run: RecordedRun) -> None:
    """Add a run to the history, and forget the oldest runs. Write nothing if the run has nothing new."""
    runs = read_history(state)
    changes = [_change(*section) for section in run.sections]
    notable_sections = tuple(change for change in changes if _is_notable(change, runs))
    failures = tuple(excerpt(failure) for failure in run.failures[:MAX_ERRORS])
    if not notable_sections and failures == (runs[0].failures if runs else ()):
        return
    run = run._replace(sections=notable_sections, failures=failures)
    runs = [run, *runs[: MAX_RUNS - 1]]
    # A longer file cannot be read, so all runs would be forgotten.
    while len(content := manifests.seal({"format": _FORMAT, "runs": runs})) > _MAX_BYTES and len(runs) > 1:
        runs = runs[: len(runs) // 2]
    state.write(HISTORY, content)


def _is_notable(change: SectionChange, runs: Sequence[RecordedRun]) -> bool:
    """Return whether a section changed, or its problems differ from those last recorded."""
    if change.has_changed:
        return True
    if not change.is_complete and change.problems == _NO_PROBLEMS:
        # The pages with the problems may not have been rendered.
        return False
    last_problems = (last.problems for _, last in section_changes(runs, change.section))
    return change.problems != next(last_problems, _NO_PROBLEMS)


def section_changes(
    runs: Sequence[RecordedRun], section: str
) -> Iterator[tuple[RecordedRun, SectionChange]]:
    """Yield the runs that recorded a section, with its changes, the newest one first."""
    for run in runs:
        for change in run.sections:
            if change.section == section:
                yield run, change
