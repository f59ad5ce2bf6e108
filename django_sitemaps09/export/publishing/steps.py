"""Publish staged files, adding before removing, so that a crawler never misses a file.

Pages that are new or only gain rows come first. If any page gives rows away, an index that names old and
new pages follows, then those pages. Then come the final indexes and the manifest. robots.txt names all of
them before the first index changes, and the final ones afterwards. Before the first of these steps, all of
them are written to a write-ahead journal. A run that finds a journal takes its remaining steps.
"""

from __future__ import annotations

import logging
import zlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from hashlib import sha256
from typing import NamedTuple

from django_sitemaps09 import manifest as manifests
from django_sitemaps09.compression import decompress
from django_sitemaps09.exceptions import ExportError
from django_sitemaps09.export.publishing.journal import JOURNAL, RUN, Journal, Step, write_journal
from django_sitemaps09.filenames import INDEX, is_index
from django_sitemaps09.manifest import Manifest
from django_sitemaps09.stores import STATE, Store
from django_sitemaps09.stores.plain import name_errors

logger = logging.getLogger(__name__)

#: Prefix of the staged name of an index that names old and new pages.
TRANSITION = "between-"


class PublishTarget(NamedTuple):
    """Publish target, and `check`, which is called before each step and raises if the lock is lost."""

    target: Store
    state: Store
    check: Callable[[], None]


def digest(target: Store, name: str) -> str | None:
    """Return the SHA-256 of a file's uncompressed content; `None` if the file is missing or damaged."""
    file = target.open(name)
    if file is None:
        return None
    hash_ = sha256()
    with file, name_errors(f"{target.label}/{name}"):
        try:
            for data in decompress(file):
                hash_.update(data)
        except (zlib.error, EOFError):
            return None
    return hash_.hexdigest()


def publish(publish_target: PublishTarget, journal: Journal, robots: Callable[[bool], None]) -> None:
    """Write the journal and take all its steps; the section files of the manifest must exist already.

    `robots` updates robots.txt. It is called with `True` while old and new files are named.
    """
    publish_target.check()
    # Staged files must be on disk, with their names, before the journal names them.
    publish_target.target.sync()
    write_journal(publish_target.state, journal)
    _take(publish_target, journal, robots)


def _take(
    publish_target: PublishTarget, journal: Journal, robots: Callable[[bool], None], steps_taken: int = 0
) -> None:
    """Take all steps except the first `steps_taken`, which have been taken before."""
    target, state = publish_target.target, publish_target.state
    for number, step in enumerate(journal.steps):
        previous_step = journal.steps[number - 1] if number else None
        if previous_step is not None and is_index(previous_step.name) != is_index(step.name):
            # Pages must be on disk before an index that names them, even if the machine crashes.
            target.sync()
        if step.name == INDEX or (
            previous_step and _is_transition(previous_step) and not _is_transition(step)
        ):
            # All other indexes are in place, and each page will be in one of them. robots.txt names them
            # before the first index, which may have named those pages until now, changes.
            target.sync()
            robots(True)
        if number >= steps_taken:
            publish_target.check()
            target.promote(step.staged, step.name)
    target.sync()
    robots(False)
    publish_target.check()
    replace_manifest(state, journal.root.encode())
    for name in journal.delete:
        publish_target.check()
        target.delete(name)
    target.sync()
    publish_target.check()
    state.delete(JOURNAL)
    state.sync()


def _is_transition(step: Step) -> bool:
    return step.staged.rpartition("/")[2].startswith(TRANSITION)


def replace_manifest(state: Store, root: bytes) -> None:
    """Replace the root of the manifest, and keep the previous one as a backup."""
    old_root = state.read(manifests.ROOT, manifests.MAX_FILE_BYTES)
    if old_root == root:
        return
    if old_root is not None:
        state.write(manifests.BACKUP, old_root)
    state.write(manifests.ROOT, root)


def roll_forward(
    publish_target: PublishTarget, journal: Journal, robots: Callable[[Sequence[str], bool], None]
) -> bool:
    """Take the remaining steps of a killed run; return `False` if that is not possible.

    `robots` is called with the names of the run's indexes. A step was taken if its staged file is gone. If
    files of other steps than the first ones are gone, somebody else has removed them.
    """
    folder = f"{STATE}/{journal.run}"
    staged_names = publish_target.target.names(folder)
    steps_left = [step for step in journal.steps if step.staged.removeprefix(f"{folder}/") in staged_names]
    steps_taken = journal.steps[: len(journal.steps) - len(steps_left)]
    digests = {step.name: step.digest for step in steps_taken}
    if (
        (*steps_taken, *steps_left) != journal.steps
        or any(
            digest(publish_target.target, name) != expected_digest
            for name, expected_digest in digests.items()
        )
        or any(digest(publish_target.target, step.staged) != step.digest for step in steps_left)
    ):
        logger.warning(
            "%s: an export was killed while it was publishing, and its staged files are gone. These "
            "sections are rebuilt: %s",
            publish_target.target.label,
            ", ".join(journal.sections),
        )
        return False
    logger.warning(
        "%s: an export was killed while it was publishing; finishing it now.", publish_target.target.label
    )
    names = manifests.parse_root(journal.root, JOURNAL).indexes
    _take(publish_target, journal, partial(robots, names), len(steps_taken))
    return True


def stage(target: Store, folder: str, documents: Iterable[tuple[str, str, bytes]]) -> list[Step]:
    """Stage small documents, given as staged name, published name and content; return their steps."""
    steps = []
    for staged, name, content in documents:
        with target.staged(f"{folder}/{staged}") as file:
            file.write(content)
        steps.append(Step(f"{folder}/{staged}", name, sha256(content).hexdigest()))
    return steps


def write_sections(state: Store, old_manifest: Manifest, new_manifest: Manifest) -> Manifest:
    """Write the files of sections that differ; return the manifest with the file names of all sections."""
    files = {}
    for name, record in new_manifest.sections.items():
        file_name = old_manifest.files.get(name)
        if file_name is None or old_manifest.sections.get(name) != record:
            document = manifests.section_document(record)
            file_name = manifests.section_file(name, document)
            state.write(file_name, document)
        files[name] = file_name
    return replace(new_manifest, files=files)


def clean(target: Store) -> None:
    """Remove what killed runs left behind."""
    for folder in target.folders(STATE):
        if folder.startswith(RUN):
            target.delete_folder(f"{STATE}/{folder}")
    target.clean()


def clean_state(state: Store, manifest: Manifest) -> None:
    """Remove the files of sections that neither this manifest nor the previous one names."""
    try:
        backup = manifests.read_root(state, manifests.BACKUP)
    except ExportError:
        backup = None
    for name in manifests.unused_files(state, manifest, backup):
        state.delete(name)
