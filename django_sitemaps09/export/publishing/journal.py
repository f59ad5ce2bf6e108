"""The write-ahead journal of publishing a run: which staged files replace which published ones.

It is written before the first step, so that the next run can finish what a killed one began.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from django_sitemaps09 import manifest as manifests
from django_sitemaps09.exceptions import ExportError, UnreadableError
from django_sitemaps09.filenames import NAME, PUBLISHED
from django_sitemaps09.stores import STATE, Store

JOURNAL = "journal.json"
#: Prefix of the folder that has the files of one run.
RUN = "run-"
# Valid names of runs and of their files, which cannot lead to another folder.
_RUN = re.compile(rf"{RUN}[0-9A-Za-z-]+")
_STAGED = re.compile(r"[0-9A-Za-z_-]+(?:\.[0-9A-Za-z]+)*")


class Step(NamedTuple):
    """Step of publishing: a `staged` file replaces `name`; `digest` is of its uncompressed content."""

    staged: str
    name: str
    digest: str


class Journal(NamedTuple):
    """Write-ahead journal of publishing a run.

    `root` is the new root of the manifest, `sections` names the sections that change. `files` has all their
    old and new pages, from which to remove files if the steps can no longer be taken. `delete` names files
    that are due to be deleted.
    """

    run: str
    steps: tuple[Step, ...]
    root: str
    sections: tuple[str, ...]
    files: tuple[str, ...]
    delete: tuple[str, ...]


def write_journal(state: Store, journal: Journal) -> None:
    """Write the journal, after which a run that is killed is finished by the next one."""
    state.write(JOURNAL, manifests.seal(journal._asdict()))


def read_journal(state: Store) -> Journal | None:
    """Return the journal of a run that was killed while it published; `None` if there is none."""
    content = state.read(JOURNAL, manifests.MAX_FILE_BYTES)
    if content is None:
        return None
    try:
        document = manifests.unseal(content)
        [run] = manifests.check_names(_RUN, [document["run"]])
        sections = manifests.check_names(NAME, document["sections"])
        files, delete = (manifests.check_names(PUBLISHED, document[key]) for key in ("files", "delete"))
        steps = tuple(Step(*map(str, step)) for step in document["steps"])
        manifests.check_names(PUBLISHED, (step.name for step in steps))
        manifests.check_names(_STAGED, (step.staged.partition(f"{STATE}/{run}/")[2] for step in steps))
        manifests.parse_root(document["root"], "its manifest")
        return Journal(run, steps, document["root"], tuple(sections), tuple(files), tuple(delete))
    except (*manifests.UNFIT, UnreadableError) as error:
        raise ExportError(
            f"{state.label}: {JOURNAL} cannot be read ({error!r:.500}). Remove it and {manifests.ROOT}: "
            "all pages are then rebuilt, and the published files stay until they are."
        ) from error
