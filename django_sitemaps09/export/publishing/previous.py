"""Read what is published before a run, from its manifest or from the files themselves."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import NamedTuple, TypeAlias

from django_sitemaps09 import manifest as manifests
from django_sitemaps09.entries import MAX_MESSAGE, excerpt
from django_sitemaps09.exceptions import ExportError, UnreadableError
from django_sitemaps09.export.publishing import adoption, steps
from django_sitemaps09.export.publishing.journal import Journal, read_journal
from django_sitemaps09.export.publishing.steps import PublishTarget
from django_sitemaps09.filenames import highest_numbers
from django_sitemaps09.manifest import Manifest, SectionRecord

logger = logging.getLogger(__name__)


#: Callback that names the indexes of a killed run in robots.txt, when the run is finished late.
UpdateRobots: TypeAlias = "Callable[[Sequence[str], bool], None]"


class PreviousState(NamedTuple):
    """State before a run: the manifest, and the files in the target with their sizes.

    `recovered` names the files of a killed run that has been finished now, `None` if there was none.
    `is_unverified` is true if there is a journal whose steps can no longer be taken.
    """

    manifest: Manifest
    names: Mapping[str, int | None]
    recovered: tuple[str, ...] | None
    is_unverified: bool


def load(
    publish_target: PublishTarget,
    url: str,
    base: str,
    now: float,
    *,
    dry_run: bool,
    is_whole: bool,
    robots: UpdateRobots,
) -> PreviousState:
    """Return the state before a run. A run that was killed while it published is finished first.

    A dry run finishes nothing. Raise `ExportError` if the files belong to another project. Raise it also if
    an index cannot be read but has to be kept, because the export does not rebuild everything.
    """
    journal = read_journal(publish_target.state)
    recovered = journal is not None and not dry_run and steps.roll_forward(publish_target, journal, robots)
    names = publish_target.target.names()
    manifest = _read(publish_target, url, base)
    is_unverified = journal is not None and not recovered
    if manifest is None or is_unverified:
        try:
            adopted_manifest = adoption.adopt(publish_target.target, url, base, names)
        except ExportError:
            if not is_whole:
                raise
            adopted_manifest = Manifest("", url, base)
        if manifest is None:
            manifest = _restore(publish_target, adopted_manifest)
        if journal is not None and is_unverified:
            manifest = _mark_unverified(manifest, adopted_manifest, journal, names, now)
    recovered_names = (
        tuple(step.name for step in journal.steps) if journal is not None and recovered else None
    )
    return PreviousState(_reserve_numbers(manifest, names), names, recovered_names, is_unverified)


def _read(publish_target: PublishTarget, url: str, base: str) -> Manifest | None:
    """Return the manifest, or `None` if there is none that can be read."""
    try:
        manifest = manifests.read(publish_target.state)
    except UnreadableError as error:
        logger.error("%s: all pages are rebuilt.", excerpt(error, MAX_MESSAGE))
        return None
    if manifest is not None and (manifest.url, manifest.base) != (url, base):
        raise ExportError(
            f"{publish_target.target.label} contains an export of {manifest.base} with files at "
            f"{manifest.url}, "
            f"but this one is of {base} with files at {url}. Export to another target. If the site has "
            f"moved, remove {manifests.ROOT} in {publish_target.state.label}: all pages are then rebuilt."
        )
    return manifest


def _restore(publish_target: PublishTarget, adopted_manifest: Manifest) -> Manifest:
    """Return the adopted manifest with all that can be read of the manifest and its backup.

    That is highest page numbers, URL counts and removals.
    """
    sections = dict(adopted_manifest.sections)
    removed: dict[str, float] = {}
    for name in (manifests.BACKUP, manifests.ROOT):
        try:
            root = manifests.read_root(publish_target.state, name)
        except ExportError:
            continue
        if root is None:
            continue
        removed |= root.removed
        for section, file in root.files.items():
            with suppress(UnreadableError):
                record = manifests.read_section(publish_target.state, file)
                sections[section] = _with_counts(sections.get(section), record)
    return replace(adopted_manifest, sections=sections, removed=removed)


def _with_counts(adopted_record: SectionRecord | None, known_record: SectionRecord) -> SectionRecord:
    """Return the adopted record with the known URL counts and the highest page number ever used."""
    record = adopted_record or SectionRecord(known_record.suffix)
    urls = {page.number: page.urls for page in known_record.pages}
    return replace(
        record,
        highest=max(record.highest, known_record.highest),
        counts=known_record.counts,
        pages=tuple(page._replace(urls=urls.get(page.number, page.urls)) for page in record.pages),
    )


def _mark_unverified(
    manifest: Manifest, adopted_manifest: Manifest, journal: Journal, names: Iterable[str], now: float
) -> Manifest:
    """Return the manifest with the sections of a journal as their indexes name them.

    Nothing else about them is certain. Other files of the journal, which the killed run had published or
    was about to remove, are marked as removed.
    """
    sections = dict(manifest.sections)
    for name in journal.sections:
        adopted_record = adopted_manifest.sections.get(name)
        known_record = manifest.sections.get(name)
        sections[name] = (
            (adopted_record or SectionRecord())
            if known_record is None
            else _with_counts(adopted_record, known_record)
        )
    named_files = {*adopted_manifest.indexes, *_pages(adopted_manifest.sections, journal.sections)}
    removed_at = dict.fromkeys(
        (name for name in journal.files if name in names and name not in named_files), now
    )
    indexes = tuple(dict.fromkeys((*manifest.indexes, *adopted_manifest.indexes)))
    return replace(
        manifest, sections=sections, removed={**removed_at, **manifest.removed}, files={}, indexes=indexes
    )


def _pages(sections: Mapping[str, SectionRecord], names: Iterable[str]) -> set[str]:
    return {file for name in names if name in sections for file in sections[name].file_names(name)}


def _reserve_numbers(manifest: Manifest, names: Iterable[str]) -> Manifest:
    """Return the manifest with all page numbers reserved that files in the target have."""
    highest = highest_numbers(names)
    sections = {
        name: replace(record, highest=max(record.highest, highest.get(name, 0)))
        for name, record in manifest.sections.items()
    }
    for name in highest.keys() - sections.keys():
        sections[name] = SectionRecord(highest=highest[name])
    return replace(manifest, sections=sections)
