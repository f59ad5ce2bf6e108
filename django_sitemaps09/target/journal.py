"""Write-ahead journal of publishing: which staged files replace which published files.

The journal is written before the first step, so the next run can finish a killed run.
"""

from __future__ import annotations

import re
from contextlib import suppress
from typing import Any, NamedTuple

from django_sitemaps09.exceptions import ExportError, UnreadableError
from django_sitemaps09.protocol import MAX_MESSAGE, excerpt
from django_sitemaps09.protocol.filenames import NAME, PUBLISHED
from django_sitemaps09.target import manifest as manifests
from django_sitemaps09.target.local import STATE, DamagedError
from django_sitemaps09.target.manifest import Manifest
from django_sitemaps09.target.store import Store, owner

JOURNAL = "journal.json"
#: Prefix of a run's name. The run's staging folder below `STATE` has the same name.
RUN = "run-"
#: Valid names of runs. They cannot lead to another folder.
RUN_NAME = re.compile(rf"{RUN}[0-9A-Za-z-]+")
# Valid names of staged files. They cannot lead to another folder.
_STAGED = re.compile(r"[0-9A-Za-z_-]+(?:\.[0-9A-Za-z]+)*")


class Step(NamedTuple):
    """Step of publishing: the file `staged` replaces `name`. `digest` covers the uncompressed content."""

    staged: str
    name: str
    digest: str


class Journal(NamedTuple):
    """Write-ahead journal of publishing a run.

    `root` is the new root of the manifest. `sections` lists the sections that change, `files` all their old
    and new pages. If the steps can no longer be taken, unused pages in `files` are marked as removed.
    `delete` lists files that are due for deletion.
    """

    run: str
    steps: tuple[Step, ...]
    root: str
    sections: tuple[str, ...]
    files: tuple[str, ...]
    delete: tuple[str, ...]


def write_journal(state: Store, journal: Journal) -> None:
    """Write the journal; from now on, the next run finishes this run if it is killed."""
    state.write(JOURNAL, manifests.seal(journal._asdict()))


def read_journal(state: Store) -> Journal | None:
    """Return the journal of a run that was killed while publishing, or `None`.

    Raise `ExportError` if the journal cannot be read.
    """
    try:
        return manifests.read_sealed(state, JOURNAL, _parse)
    except (DamagedError, UnreadableError) as error:
        raise ExportError(
            f"{error}. Remove it and {manifests.ROOT}. The next export then rebuilds all pages. The "
            "published files remain until it replaces them."
        ) from error


def _parse(document: dict[str, Any]) -> Journal:
    [run] = manifests.check_names(RUN_NAME, [document["run"]])
    sections = manifests.check_names(NAME, document["sections"])
    files, delete = (manifests.check_names(PUBLISHED, document[key]) for key in ("files", "delete"))
    steps = tuple(Step(*map(str, step)) for step in document["steps"])
    manifests.check_names(PUBLISHED, (step.name for step in steps))
    manifests.check_names(_STAGED, (step.staged.partition(f"{STATE}/{run}/")[2] for step in steps))
    manifests.parse_root(document["root"], f"The manifest in {JOURNAL}")
    return Journal(run, steps, document["root"], tuple(sections), tuple(files), tuple(delete))


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
