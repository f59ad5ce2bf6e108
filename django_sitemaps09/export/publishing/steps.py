"""Publish staged files, adding before removing, so that a crawler never misses a file.

Pages that are new or only gain rows come first. If any page gives rows away, an index that names old and
new pages follows, then those pages. Then come the final indexes, robots.txt, and the manifest. Before the
first of these steps, all of them are written to a write-ahead journal. A run that finds a journal takes its
remaining steps.
"""

from __future__ import annotations

import logging
import re
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from hashlib import sha256
from typing import BinaryIO, NamedTuple

from django_sitemaps09 import manifest as manifests
from django_sitemaps09.exceptions import ExportError
from django_sitemaps09.export.publishing.filenames import INDEX, is_index
from django_sitemaps09.manifest import Manifest, UnreadableError
from django_sitemaps09.sections import NAME
from django_sitemaps09.stores import STATE, Store
from django_sitemaps09.stores.plain import named

logger = logging.getLogger(__name__)

JOURNAL = "journal.json"
#: Prefix of the staged name of an index that names old and new pages.
BETWEEN = "between-"
#: Prefix of the folder that has the files of one run.
RUN = "run-"
# Valid names of runs and of their files, which cannot lead to another folder.
_RUN = re.compile(rf"{RUN}[0-9A-Za-z-]+")
_STAGED = re.compile(r"[0-9A-Za-z_-]+(?:\.[0-9A-Za-z]+)*")
_MOST = 1_000_000_000
_CHUNK = 1_000_000
_GZIP_MAGIC = b"\x1f\x8b"


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
    with opened, named(f"{target.label}/{name}"):
        try:
            return _digest(opened)
        except (zlib.error, EOFError):
            return None


def _digest(file: BinaryIO) -> str:
    found = sha256()
    first = file.read(_CHUNK)
    chunks = iter(partial(file.read, _CHUNK), b"")
    if not first.startswith(_GZIP_MAGIC):
        found.update(first)
        for data in chunks:
            found.update(data)
        return found.hexdigest()
    stream = zlib.decompressobj(31)
    data = first
    while data:
        while data:
            found.update(stream.decompress(data, _CHUNK))
            data = stream.unconsumed_tail
        data = next(chunks, b"")
    found.update(stream.flush())
    if not stream.eof:
        raise EOFError
    return found.hexdigest()


def publish(place: PublishTarget, journal: Journal, robots: Callable[[bool], None]) -> None:
    """Write the journal and take all its steps; the section files of the manifest must exist already.

    `robots` updates robots.txt. It is called with `True` while old and new files are named.
    """
    place.check()
    # Staged files must be on disk, with their names, before the journal names them.
    place.target.sync()
    place.state.write(JOURNAL, manifests.sealed(journal._asdict()))
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


def read_journal(state: Store) -> Journal | None:
    """Return the journal of a run that was killed while it published; `None` if there is none."""
    content = state.read(JOURNAL, _MOST)
    if content is None:
        return None
    try:
        found = manifests.unsealed(content)
        [run] = manifests.plain(_RUN, [found["run"]])
        sections = manifests.plain(NAME, found["sections"])
        files, delete = (manifests.plain(manifests.PUBLISHED, found[key]) for key in ("files", "delete"))
        steps = tuple(Step(*map(str, step)) for step in found["steps"])
        manifests.plain(manifests.PUBLISHED, (step.name for step in steps))
        manifests.plain(_STAGED, (step.staged.partition(f"{STATE}/{run}/")[2] for step in steps))
        manifests.parse_root(found["root"], "its manifest")
        return Journal(run, steps, found["root"], tuple(sections), tuple(files), tuple(delete))
    except (*manifests.UNFIT, UnreadableError) as error:
        raise ExportError(
            f"{state.label}: {JOURNAL} cannot be read ({error!r:.500}). Remove it and {manifests.ROOT}: "
            "all pages are then cut anew, and what is published stays until they are."
        ) from error


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
