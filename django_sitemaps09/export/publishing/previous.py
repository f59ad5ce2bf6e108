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
Tell: TypeAlias = "Callable[[Sequence[str], bool], None]"


class PreviousState(NamedTuple):
    """State before a run: the manifest, and the files in the target with their sizes.

    `recovered` names the files of a killed run that has been finished now, `None` if there was none.
    `is_unverified` is true if there is a journal whose steps can no longer be taken.
    """

    manifest: Manifest
    names: Mapping[str, int | None]
    recovered: tuple[str, ...] | None
    is_unverified: bool


def found(
    place: PublishTarget, url: str, base: str, now: float, *, dry_run: bool, whole: bool, robots: Tell
) -> PreviousState:
    """Return the state before a run. A run that was killed while it published is finished first.

    A dry run finishes nothing. Raise `ExportError` if the files belong to another project. Raise it also if
    an index cannot be read but has to be kept, because the export does not make the `whole` of it anew.
    """
    journal = read_journal(place.state)
    recovered = journal is not None and not dry_run and steps.roll_forward(place, journal, robots)
    names = place.target.names()
    manifest = _read(place, url, base)
    is_unverified = journal is not None and not recovered
    if manifest is None or is_unverified:
        try:
            adopted = adoption.adopted(place.target, url, base, names)
        except ExportError:
            if not whole:
                raise
            adopted = Manifest("", url, base)
        if manifest is None:
            manifest = _remembered(place, adopted)
        if journal is not None and is_unverified:
            manifest = _doubted(manifest, adopted, journal, names, now)
    late = tuple(step.name for step in journal.steps) if journal is not None and recovered else None
    return PreviousState(_reserved(manifest, names), names, late, is_unverified)


def _read(place: PublishTarget, url: str, base: str) -> Manifest | None:
    """Return the manifest, or `None` if there is none that can be read."""
    try:
        manifest = manifests.read(place.state)
    except UnreadableError as error:
        logger.error("%s: all pages are cut anew.", excerpt(error, MAX_MESSAGE))
        return None
    if manifest is not None and (manifest.url, manifest.base) != (url, base):
        raise ExportError(
            f"{place.target.label} holds an export of {manifest.base} whose files are at {manifest.url}; "
            f"this one is of {base}, at {url}. Export it to another place; or, if the site has moved, "
            f"remove {manifests.ROOT} in {place.state.label}: all pages are then cut anew."
        )
    return manifest


def _remembered(place: PublishTarget, adopted: Manifest) -> Manifest:
    """Return the adopted manifest with all that can be read of the manifest and its backup.

    That is highest page numbers, URL counts and removals.
    """
    sections = dict(adopted.sections)
    removed: dict[str, float] = {}
    for name in (manifests.BACKUP, manifests.ROOT):
        try:
            root = manifests.read_root(place.state, name)
        except ExportError:
            continue
        if root is None:
            continue
        removed |= root.removed
        for section, file in root.files.items():
            with suppress(UnreadableError):
                record = manifests.read_section(place.state, file)
                sections[section] = _with_counts(sections.get(section), record)
    return replace(adopted, sections=sections, removed=removed)


def _with_counts(adopted: SectionRecord | None, known: SectionRecord) -> SectionRecord:
    """Return the adopted record with the known URL counts and the highest page number ever used."""
    found = adopted or SectionRecord(known.suffix)
    urls = {page.number: page.urls for page in known.pages}
    return replace(
        found,
        highest=max(found.highest, known.highest),
        counts=known.counts,
        pages=tuple(page._replace(urls=urls.get(page.number, page.urls)) for page in found.pages),
    )


def _doubted(
    manifest: Manifest, adopted: Manifest, journal: Journal, names: Iterable[str], now: float
) -> Manifest:
    """Return the manifest with the sections of a journal as their indexes name them.

    Nothing else about them is certain. Other files of the journal, which the killed run had published or
    was about to remove, are marked as removed.
    """
    sections = dict(manifest.sections)
    for name in journal.sections:
        found = adopted.sections.get(name)
        known = manifest.sections.get(name)
        sections[name] = (found or SectionRecord()) if known is None else _with_counts(found, known)
    named = {*adopted.indexes, *_pages(adopted.sections, journal.sections)}
    since = dict.fromkeys((name for name in journal.files if name in names and name not in named), now)
    indexes = tuple(dict.fromkeys((*manifest.indexes, *adopted.indexes)))
    return replace(
        manifest, sections=sections, removed={**since, **manifest.removed}, files={}, indexes=indexes
    )


def _pages(sections: Mapping[str, SectionRecord], names: Iterable[str]) -> set[str]:
    return {file for name in names if name in sections for file in sections[name].file_names(name)}


def _reserved(manifest: Manifest, names: Iterable[str]) -> Manifest:
    """Return the manifest with all page numbers reserved that files in the target have."""
    highest = highest_numbers(names)
    sections = {
        name: replace(record, highest=max(record.highest, highest.get(name, 0)))
        for name, record in manifest.sections.items()
    }
    for name in highest.keys() - sections.keys():
        sections[name] = SectionRecord(highest=highest[name])
    return replace(manifest, sections=sections)
