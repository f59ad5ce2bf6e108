"""Move staged files to their published names, in the order of the steps in the journal.

`Publication` builds the steps. All steps are first written to a write-ahead journal. A run that finds a
journal takes the remaining steps. Before the first index changes, robots.txt is updated to list both
previous and new indexes. After the last step, it lists only the new ones. Then the manifest is replaced.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import replace
from hashlib import sha256

from django_sitemaps09.exceptions import ManifestError
from django_sitemaps09.export.options import Host
from django_sitemaps09.export.publishing import indexes
from django_sitemaps09.export.publishing.file_checks import ExpectedFile, check_file
from django_sitemaps09.export.publishing.robots_files import Robots
from django_sitemaps09.filenames import INDEX, index_number
from django_sitemaps09.state import manifest as manifests
from django_sitemaps09.state.journal import (
    JOURNAL,
    RUN_NAME,
    Journal,
    Step,
    check_owner,
    read_journal,
    write_journal,
)
from django_sitemaps09.state.manifest import Manifest
from django_sitemaps09.stores import STATE, Store
from django_sitemaps09.stores.plain import name_errors

logger = logging.getLogger(__name__)

#: Prefix of the staged name of a transition index, with both old and new pages.
TRANSITION = "between-"


def publish(
    host: Host, check: Callable[[], None], journal: Journal, robots: Callable[[bool], None]
) -> None:
    """Write the journal and take all its steps; the section files of the manifest must exist already.

    `check` raises an exception if the lock is lost. `robots` updates robots.txt. It is called with `True`
    before the indexes change, with `False` afterwards.
    """
    check()
    # Another target that shares the state may have been exported since this run started.
    check_owner(host.store, host.state)
    # Staged files and their names must be on disk before the journal lists them.
    host.store.sync()
    write_journal(host.state, journal)
    _take(host, check, journal, robots)


def _take(
    host: Host,
    check: Callable[[], None],
    journal: Journal,
    robots: Callable[[bool], None],
    steps_taken: int = 0,
) -> None:
    """Take all steps except the first `steps_taken`, which a killed run has already taken."""
    store, state = host.store, host.state
    for number, step in enumerate(journal.steps):
        previous_step = journal.steps[number - 1] if number else None
        if previous_step and bool(index_number(previous_step.name)) != bool(index_number(step.name)):
            # Pages must be on disk before an index that lists them, even if the machine crashes.
            store.sync()
        if step.name == INDEX or (
            previous_step and _is_transition(previous_step) and not _is_transition(step)
        ):
            # All other indexes are published. robots.txt must list them before the first index changes,
            # since pages of the first index may have moved to them.
            store.sync()
            robots(True)
        if number >= steps_taken:
            check()
            store.promote(step.staged, step.name)
    store.sync()
    robots(False)
    check()
    replace_manifest(state, journal.root.encode())
    for name in journal.delete:
        check()
        store.delete(name)
    store.sync()
    check()
    state.delete(JOURNAL)
    state.sync()


def _is_transition(step: Step) -> bool:
    return step.staged.rpartition("/")[2].startswith(TRANSITION)


def replace_manifest(state: Store, root: bytes) -> None:
    """Replace the root of the manifest, and keep the previous one as a backup if it can be used."""
    old_root = state.read(manifests.ROOT, manifests.MAX_FILE_BYTES)
    if old_root == root:
        return
    with suppress(ManifestError):
        if old_root is not None:
            manifests.parse_root(old_root, manifests.ROOT)
            state.write(manifests.BACKUP, old_root)
    state.write(manifests.ROOT, root)


def recover(
    host: Host, check: Callable[[], None], *, dry_run: bool
) -> tuple[Journal | None, tuple[str, ...] | None]:
    """Finish a run that was killed while publishing; a dry run does not.

    Return the journal if its steps were not taken, and the names of the files if the run was finished.
    """
    store = host.store
    check_owner(store, host.state)
    journal = read_journal(host.state)
    if journal is None or dry_run:
        return journal, None
    # A step was taken if its staged file is gone. Steps are taken in order. If a staged file is gone but an
    # earlier one remains, someone removed it.
    folder = f"{STATE}/{journal.run}"
    staged_names = store.names(folder)
    steps_left = [step for step in journal.steps if step.staged.removeprefix(f"{folder}/") in staged_names]
    steps_taken = journal.steps[: len(journal.steps) - len(steps_left)]
    digests = {step.name: step.digest for step in steps_taken}
    digests |= {step.staged: step.digest for step in steps_left}
    if (*steps_taken, *steps_left) != journal.steps or any(
        _is_damaged(store, name, expected) for name, expected in digests.items()
    ):
        logger.warning(
            "%s: an export was killed while it was publishing, and its staged files are gone. These "
            "sections are rebuilt: %s",
            store.label,
            ", ".join(journal.sections),
        )
        return journal, None
    logger.warning("%s: an export was killed while it was publishing; finishing it now.", store.label)
    names = indexes.to_announce(manifests.parse_root(journal.root, JOURNAL).indexes)

    def update_robots(is_transition: bool) -> None:
        root = manifests.read_usable_root(host.state)
        previous_names = () if root is None else root.indexes
        Robots.for_host(host, names, previous_names).publish(is_transition)

    _take(host, check, journal, update_robots, len(steps_taken))
    return None, tuple(step.name for step in journal.steps)


def _is_damaged(store: Store, name: str, digest: str) -> bool:
    checked = check_file(store, ExpectedFile(name, frozenset({digest})))
    if checked.error is not None:
        # The file may be intact. So keep the journal for a run that can read it.
        with name_errors(f"{store.label}/{name}"):
            raise checked.error
    return checked.problem is not None


def stage(store: Store, prefix: str, documents: Iterable[tuple[str, bytes]]) -> list[Step]:
    """Stage documents under their names with a prefix, and return the steps that publish them."""
    steps = []
    for name, content in documents:
        with store.staged(f"{prefix}{name}") as file:
            file.write(content)
        steps.append(Step(f"{prefix}{name}", name, sha256(content).hexdigest()))
    return steps


def write_sections(state: Store, old_manifest: Manifest, new_manifest: Manifest) -> Manifest:
    """Write the files of changed sections; return the manifest with the file names of all sections."""
    files = {}
    for name, record in new_manifest.sections.items():
        file_name = old_manifest.files.get(name)
        if file_name is None or old_manifest.sections.get(name) != record:
            document = manifests.section_document(record)
            file_name = manifests.section_file(name, document)
            state.write(file_name, document)
        files[name] = file_name
    return replace(new_manifest, files=files)


def clean(store: Store) -> None:
    """Remove the staging folders and temporary files of killed runs."""
    for folder in store.folders(STATE):
        if RUN_NAME.fullmatch(folder):
            store.delete_folder(f"{STATE}/{folder}")
    store.clean()
