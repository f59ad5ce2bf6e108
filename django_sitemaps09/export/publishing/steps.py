"""Publish staged files, adding before removing, so that a crawler never misses a file.

Pages that are new or only gain rows come first. If any page gives rows away, an index that names old and
new pages follows, then those pages. Then come the final indexes, robots.txt, and the manifest. Before the
first of these steps, all of them are written to a write-ahead journal. A run that finds a journal takes its
remaining steps.
"""

from __future__ import annotations

import logging
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from hashlib import sha256
from typing import NamedTuple

from django_sitemaps09 import manifest as manifests
from django_sitemaps09.compression import decompressed
from django_sitemaps09.exceptions import ExportError
from django_sitemaps09.export.publishing.journal import JOURNAL, RUN, Journal, Step, write_journal
from django_sitemaps09.filenames import INDEX, is_index
from django_sitemaps09.manifest import Manifest
from django_sitemaps09.stores import STATE, Store
from django_sitemaps09.stores.plain import named

logger = logging.getLogger(__name__)

#: Prefix of the staged name of an index that names old and new pages.
BETWEEN = "between-"
_MOST = 1_000_000_000


class PublishTarget(NamedTuple):
    """Publish target, and `check`, which is called before each step and raises if the lock is lost."""

    target: Store
    state: Store
    check: Callable[[], None]


def digest(target: Store, name: str) -> str | None:
    """Return the SHA-256 of a file's uncompressed content; `None` if the file is missing or damaged."""
    opened = target.open(name)
    if opened is None:
        return None
    content = sha256()
    with opened, named(f"{target.label}/{name}"):
        try:
            for data in decompressed(opened):
                content.update(data)
        except (zlib.error, EOFError):
            return None
    return content.hexdigest()


def publish(place: PublishTarget, journal: Journal, robots: Callable[[bool], None]) -> None:
    """Write the journal and take all its steps; the section files of the manifest must exist already.

    `robots` updates robots.txt. It is called with `True` while old and new files are named.
    """
    place.check()
    # Staged files must be on disk, with their names, before the journal names them.
    place.target.sync()
    write_journal(place.state, journal)
    _take(place, journal, robots)


def _take(place: PublishTarget, journal: Journal, robots: Callable[[bool], None], taken: int = 0) -> None:
    """Take all steps except the first `taken`, which have been taken before."""
    target, state = place.target, place.state
    for number, step in enumerate(journal.steps):
        before = journal.steps[number - 1] if number else None
        if before is not None and is_index(before.name) != is_index(step.name):
            # Pages must be on disk before an index that names them, even if the machine crashes.
            target.sync()
        if step.name == INDEX or (before and _is_between(before) and not _is_between(step)):
            # All other indexes are in place, and each page will be in one of them. robots.txt names them
            # before the first index, which may have named those pages until now, changes.
            target.sync()
            robots(True)
        if number >= taken:
            place.check()
            target.promote(step.staged, step.name)
    target.sync()
    robots(False)
    place.check()
    replace_manifest(state, journal.root.encode())
    for name in journal.delete:
        place.check()
        target.delete(name)
    target.sync()
    place.check()
    state.delete(JOURNAL)
    state.sync()


def _is_between(step: Step) -> bool:
    return step.staged.rpartition("/")[2].startswith(BETWEEN)


def replace_manifest(state: Store, root: bytes) -> None:
    """Replace the root of the manifest, and keep the previous one as a backup."""
    before = state.read(manifests.ROOT, _MOST)
    if before == root:
        return
    if before is not None:
        state.write(manifests.BACKUP, before)
    state.write(manifests.ROOT, root)


def roll_forward(
    place: PublishTarget, journal: Journal, robots: Callable[[Sequence[str], bool], None]
) -> bool:
    """Take the remaining steps of a killed run; return `False` if that is not possible.

    `robots` is called with the names of the run's indexes. A step was taken if its staged file is gone. If
    files of other steps than the first ones are gone, somebody else has removed them.
    """
    folder = f"{STATE}/{journal.run}"
    staged = place.target.names(folder)
    remaining = [step for step in journal.steps if step.staged.removeprefix(f"{folder}/") in staged]
    taken = journal.steps[: len(journal.steps) - len(remaining)]
    expected = {step.name: step.digest for step in taken}
    if (
        (*taken, *remaining) != journal.steps
        or any(digest(place.target, name) != found for name, found in expected.items())
        or any(digest(place.target, step.staged) != step.digest for step in remaining)
    ):
        logger.warning(
            "%s: an export was killed while it published, and what it had staged is gone. Its sections "
            "are made anew: %s",
            place.target.label,
            ", ".join(journal.sections),
        )
        return False
    logger.warning("%s: an export was killed while it published; it is finished now.", place.target.label)
    names = manifests.parse_root(journal.root, JOURNAL).indexes
    _take(place, journal, partial(robots, names), len(taken))
    return True


def stage(target: Store, folder: str, documents: Iterable[tuple[str, str, bytes]]) -> list[Step]:
    """Stage small documents, given as staged name, published name and content; return their steps."""
    steps = []
    for staged, name, content in documents:
        with target.staged(f"{folder}/{staged}") as file:
            file.write(content)
        steps.append(Step(f"{folder}/{staged}", name, sha256(content).hexdigest()))
    return steps


def write_sections(state: Store, before: Manifest, after: Manifest) -> Manifest:
    """Write the files of sections that differ; return the manifest with the file names of all sections."""
    files = {}
    for name, record in after.sections.items():
        known = before.files.get(name)
        if known is None or before.sections.get(name) != record:
            document = manifests.section_document(record)
            known = manifests.section_file(name, document)
            state.write(known, document)
        files[name] = known
    return replace(after, files=files)


def clean(target: Store) -> None:
    """Remove what killed runs left behind."""
    for folder in target.folders(STATE):
        if folder.startswith(RUN):
            target.delete_folder(f"{STATE}/{folder}")
    target.clean()


def clean_state(state: Store, manifest: Mapping[str, str]) -> None:
    """Remove the files of sections that neither this manifest nor the previous one names."""
    try:
        backup = manifests.read_root(state, manifests.BACKUP)
    except ExportError:
        backup = None
    now = Manifest("", "", "", files=manifest)
    for name in manifests.unused(state, now, backup):
        state.delete(name)
