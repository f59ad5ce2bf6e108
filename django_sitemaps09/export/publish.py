"""What is staged takes its place: expanding before contracting, so that no reader ever misses a file.

First the pages that are new or only gain, then an index that names old and new ones if any page gives
rows away, then those pages, the indexes as they are from now on, robots.txt, and the manifest. Before
the first of these steps all of them are written to a journal; whoever finds one takes the steps again.
"""

from __future__ import annotations

import json
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
from django_sitemaps09.export.files import staged_file
from django_sitemaps09.export.published import INDEX, is_index
from django_sitemaps09.manifest import Manifest
from django_sitemaps09.sections import NAME
from django_sitemaps09.stores import STATE, Store

logger = logging.getLogger(__name__)

JOURNAL = "journal.json"
#: What stands before the name of an index that names old and new pages, where it is staged.
BETWEEN = "between-"
#: Folders in ours, one for the files of each run.
RUN = "run-"
# What a run is called, and its files; neither leads anywhere else.
_RUN = re.compile(rf"{RUN}[0-9A-Za-z-]+")
_STAGED = re.compile(r"[0-9A-Za-z_-]+(?:\.[0-9A-Za-z]+)*")
_MOST = 1_000_000_000
_CHUNK = 1_000_000
_GZIP_MAGIC = b"\x1f\x8b"


class Step(NamedTuple):
    """A staged file and the name whose place it takes; `digest` is of the uncompressed content."""

    staged: str
    name: str
    digest: str


class Journal(NamedTuple):
    """All that publishing a run takes. `root` is the manifest's, `sections` those that change.

    `files` are all that the run brings or takes out of the indexes: what is left of them if the steps
    can never be taken again. `delete` is due to be removed.
    """

    run: str
    steps: tuple[Step, ...]
    root: str
    sections: tuple[str, ...]
    files: tuple[str, ...]
    delete: tuple[str, ...]


class Place(NamedTuple):
    """Where a run publishes, and what is called before each step: it raises where the lock is lost."""

    target: Store
    state: Store
    check: Callable[[], None]


def digest(target: Store, name: str) -> str | None:
    """The SHA-256 of the uncompressed content of a file; `None` where it is not there, or not whole."""
    opened = target.open(name)
    if opened is None:
        return None
    with opened:
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


def publish(place: Place, journal: Journal, robots: Callable[[bool], None]) -> None:
    """The journal, and all its steps. The sections' files of the manifest are there already.

    `robots` brings robots.txt up to date, with true while old and new files are named.
    """
    place.check()
    # What is staged is there, names and all, before anything says so.
    place.target.sync()
    place.state.write(JOURNAL, json.dumps(journal).encode())
    _take(place, journal, robots)


def _take(place: Place, journal: Journal, robots: Callable[[bool], None]) -> None:
    target, state = place.target, place.state
    for before, step in zip((None, *journal.steps), journal.steps, strict=False):
        if before is not None and is_index(before.name) != is_index(step.name):
            # What an index names is there before the index is, whatever happens to the machine.
            target.sync()
        if not _is_between(step) and ((before and _is_between(before)) or step.name == INDEX):
            # All indexes are there, those of before and those of now, and each page is in one of them.
            robots(True)
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
    """The root of the manifest; the one before is kept beside it."""
    before = state.read(manifests.ROOT, _MOST)
    if before == root:
        return
    if before is not None:
        state.write(manifests.BACKUP, before)
    state.write(manifests.ROOT, root)


def read_journal(state: Store) -> Journal | None:
    """What a run left that was killed while it published; `None` if none was."""
    content = state.read(JOURNAL, _MOST)
    if content is None:
        return None
    try:
        run, steps, root, *names = json.loads(content)
        sections = manifests.plain(NAME, names[0])
        files, delete = (manifests.plain(manifests.PUBLISHED, some) for some in names[1:])
        taken = tuple(Step(*map(str, step)) for step in steps)
        manifests.plain(_RUN, [run])
        manifests.plain(manifests.PUBLISHED, (step.name for step in taken))
        manifests.plain(_STAGED, (step.staged.partition(f"{STATE}/{run}/")[2] for step in taken))
        return Journal(run, taken, str(root), tuple(sections), tuple(files), tuple(delete))
    except (ValueError, TypeError, IndexError, RecursionError) as error:
        raise ExportError(
            f"{state.label}: {JOURNAL} cannot be read ({error}). Remove it and {manifests.ROOT}: all pages "
            "are then cut anew, and what is published stays until they are."
        ) from error


def roll_forward(place: Place, journal: Journal, robots: Callable[[Sequence[str], bool], None]) -> bool:
    """The steps of a run that was killed, taken again; false where that is not possible.

    `robots` is told the names of its indexes. A step was taken if its staged file is gone; so those that
    are gone are the first ones, or somebody else took them away.
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
    names = json.loads(journal.root)["indexes"]
    _take(place, journal._replace(steps=tuple(remaining)), partial(robots, names))
    return True


def stage(target: Store, folder: str, documents: Iterable[tuple[str, str, bytes]]) -> list[Step]:
    """Small documents as staged files: what each is called there, the name it is for, its content."""
    steps = []
    for staged, name, content in documents:
        with staged_file(target, f"{folder}/{staged}") as file:
            file.write(content)
        steps.append(Step(f"{folder}/{staged}", name, sha256(content).hexdigest()))
    return steps


def write_sections(state: Store, before: Manifest, after: Manifest) -> Manifest:
    """The files of the sections that differ; the manifest with the names of all of them."""
    files = {}
    for name, record in after.sections.items():
        known = before.files.get(name)
        if known is None or before.sections.get(name) != record:
            known = manifests.section_file(name, after.run)
            state.write(known, manifests.section_document(record))
        files[name] = known
    return replace(after, files=files)


def clean(target: Store) -> None:
    """Removes what killed runs left behind."""
    for folder in target.folders(STATE):
        if folder.startswith(RUN):
            target.delete_folder(f"{STATE}/{folder}")
    target.clean()


def clean_state(state: Store, manifest: Mapping[str, str]) -> None:
    """Removes the files of sections that neither this manifest nor the one before it names."""
    try:
        backup = manifests.read_root(state, manifests.BACKUP)
    except ExportError:
        backup = None
    now = Manifest("", "", "", files=manifest)
    for name in manifests.unused(state, now, backup):
        state.delete(name)
