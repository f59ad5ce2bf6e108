"""Records of runs, beside the manifest: the write-ahead journal of publishing one, and the history.

The journal says which staged files replace which published files. It is written before the first step, so
the next run can finish a killed run.

The history has what the last runs changed, skipped or failed to do. A run that changes nothing, and reports
the same problems as before, is not in it. Another file has the time of the last export of each section, so
every run that publishes writes it.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from django_sitemaps09.exceptions import ExportError, UnreadableError
from django_sitemaps09.protocol.entries import ItemError
from django_sitemaps09.protocol.fields import MAX_MESSAGE, excerpt
from django_sitemaps09.protocol.filenames import NAME, PUBLISHED
from django_sitemaps09.target import manifest as manifests
from django_sitemaps09.target.local import STATE, DamagedError
from django_sitemaps09.target.manifest import Manifest, ParsedT, check_names
from django_sitemaps09.target.store import Store, owner

logger = logging.getLogger(__name__)

JOURNAL = "journal.json"
#: Prefix of a run's name. The run's staging folder below `STATE` has the same name.
RUN = "run-"
# Valid names of runs and of staged files. They cannot lead to another folder.
RUN_NAME = re.compile(rf"{RUN}[0-9A-Za-z-]+")
_STAGED = re.compile(r"[0-9A-Za-z_-]+(?:\.[0-9A-Za-z]+)*")

HISTORY = "history.json"
EXPORTED = "exported.json"
_FORMAT = 1
_MAX_BYTES = 20_000_000
#: Maximum number of recorded runs. Older runs are forgotten.
MAX_RUNS = 50
#: Maximum number of failures of a run, and of skipped items and elements of a section in it.
MAX_ERRORS = 10
_NO_PROBLEMS = (0, (), None)
# The number of fields of a change that are numbers, after its name.
_COUNTS = 5


class Step(NamedTuple):
    """Step of publishing: the file `staged` replaces `name`. `digest` covers the uncompressed content."""

    staged: str
    name: str
    digest: str


class Journal(NamedTuple):
    """Write-ahead journal of publishing a run.

    `root` is the new root of the manifest. `sections` are the sections that change, `files` all their old
    and new pages: if the steps can no longer be taken, unused ones are marked as removed. `delete` are the
    files that are due for deletion.
    """

    run: str
    steps: tuple[Step, ...]
    root: str
    sections: tuple[str, ...]
    files: tuple[str, ...]
    delete: tuple[str, ...]


def write_journal(state: Store, journal: Journal) -> None:
    state.write(JOURNAL, manifests.seal(journal._asdict()))


def read_journal(state: Store) -> Journal | None:
    """Return the journal of a run that was killed while publishing. Raise `ExportError` if invalid."""
    try:
        return manifests.read_sealed(state, JOURNAL, _parse)
    except (DamagedError, UnreadableError) as error:
        raise ExportError(
            f"{error}. Remove it and {manifests.ROOT}. The next export then rebuilds all pages. The "
            "published files remain until it replaces them."
        ) from error


def _parse(document: dict[str, Any]) -> Journal:
    [run] = check_names(RUN_NAME, [document["run"]])
    sections = check_names(NAME, document["sections"])
    files, delete = (check_names(PUBLISHED, document[key]) for key in ("files", "delete"))
    steps = tuple(Step(*map(str, step)) for step in document["steps"])
    check_names(PUBLISHED, (step.name for step in steps))
    check_names(_STAGED, (step.staged.partition(f"{STATE}/{run}/")[2] for step in steps))
    manifests.parse_root(document["root"], f"The manifest in {JOURNAL}")
    return Journal(run, steps, document["root"], sections, files, delete)


def check_owner(store: Store, state: Store) -> None:
    """Raise `ExportError` if the manifest or the journal in `state` belongs to another target."""
    if not owner(store, state):
        return
    # A damaged manifest is reported and replaced elsewhere.
    with suppress(UnreadableError):
        check_root(manifests.read_root(state), store, state)
    if journal := read_journal(state):
        check_root(manifests.parse_root(journal.root, JOURNAL), store, state)


def check_root(root: Manifest | None, store: Store, state: Store) -> None:
    """Raise `ExportError` if there is a manifest in `state` and it belongs to another target."""
    target = owner(store, state)
    # A manifest that was written inside its target names none.
    if root is not None and target and root.target not in ("", target):
        raise ExportError(
            f"{state.label} has the state of the target {excerpt(root.target, MAX_MESSAGE)}, so the target "
            f"{target} cannot share it. Set SITEMAPS09['STATE'] to another alias for one of them. If the "
            f"target has moved, remove {manifests.ROOT} in {state.label}, and journal.json if it exists. "
            "The next export then rebuilds all pages."
        )


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

    `sections` are those that changed, or whose problems changed. `failures` include those of sections.
    """

    started: float
    is_published: bool
    seconds: float = 0.0
    sections: tuple[SectionChange, ...] = ()
    failures: tuple[str, ...] = ()


def read_history(state: Store) -> list[RecordedRun]:
    """Return the recorded runs, the newest one first."""
    # Others may be able to write the file, so it has the bounds of a recorded history when it is read, too.
    return _read(state, HISTORY, lambda document: list(map(_run, document["runs"][:MAX_RUNS]))) or []


def read_exported(state: Store) -> dict[str, float]:
    """Return when the last run that exported a section without a failure started, in seconds since 1970."""
    return _read(state, EXPORTED, _times) or {}


def _times(document: Mapping[str, Any]) -> dict[str, float]:
    return {section: manifests.parse_time(time) for section, time in document["sections"].items()}


def _read(state: Store, name: str, parse: Callable[[Mapping[str, Any]], ParsedT]) -> ParsedT | None:
    """Return a parsed file, or `None` if it is missing or has another format. Log that it is damaged."""

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
    sections = tuple(change for change in changes if _is_notable(change, runs))
    failures = tuple(excerpt(failure) for failure in run.failures[:MAX_ERRORS])
    if not sections and failures == (runs[0].failures if runs else ()):
        return
    run = run._replace(sections=sections, failures=failures)
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
    return ((run, change) for run in runs for change in run.sections if change.section == section)
