"""Read the previous state from the manifest, or from the published files themselves."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import NamedTuple

from django_sitemaps09 import writer
from django_sitemaps09.conf import conf
from django_sitemaps09.entries import MAX_MESSAGE, excerpt
from django_sitemaps09.exceptions import ExportError, ManifestError, UnreadableError
from django_sitemaps09.export.options import HostOptions
from django_sitemaps09.export.publishing import indexes, promotion
from django_sitemaps09.export.publishing.promotion import PublishTarget
from django_sitemaps09.export.publishing.robots_files import Robots
from django_sitemaps09.filenames import INDEX, STYLESHEET, highest_numbers
from django_sitemaps09.state import adoption
from django_sitemaps09.state import manifest as manifests
from django_sitemaps09.state.journal import JOURNAL, Journal, read_journal
from django_sitemaps09.state.manifest import Manifest, SectionRecord
from django_sitemaps09.state.ownership import check_owner
from django_sitemaps09.stores import Store, owner

logger = logging.getLogger(__name__)

# A larger file is not one of our stylesheets.
_MAX_STYLESHEET = 100_000


class PreviousState(NamedTuple):
    """State before a run: the manifest, and the existing files with their sizes.

    `recovered` lists the files of a killed run that was finished first; it is `None` if no run was killed.
    `is_unverified` is true if a journal exists whose remaining steps were not taken.
    `has_foreign_stylesheet` is true if a file that is not ours has the name of the stylesheet.
    """

    manifest: Manifest
    names: Mapping[str, int | None]
    recovered: tuple[str, ...] | None
    is_unverified: bool
    has_foreign_stylesheet: bool


def load(
    publish_target: PublishTarget, host_options: HostOptions, now: float, *, dry_run: bool
) -> PreviousState:
    """Return the previous state, after finishing a run that was killed while publishing.

    A dry run does not finish a killed run. Raise `ExportError` if the files belong to another project.
    Raise it also if an index cannot be read and the export does not rebuild all sections.
    """
    url, base = host_options.url, str(host_options.base)
    store, state = publish_target.store, publish_target.state
    check_owner(store, state)
    journal = read_journal(state)
    recovered_names = None
    if journal is not None and not dry_run:
        update_robots = partial(_update_robots, host_options, publish_target)
        if promotion.roll_forward(publish_target, journal, update_robots):
            recovered_names = tuple(step.name for step in journal.steps)
            journal = None
    names = store.names()
    manifest = _read(publish_target, url, base)
    if manifest is None or journal is not None:
        try:
            adopted_manifest = adoption.adopt(store, url, base, names)
        except ExportError:
            if not host_options.is_whole:
                raise
            adopted_manifest = Manifest("", url, base)
        if manifest is None:
            manifest = _restore(publish_target, adopted_manifest, now)
        if journal is not None:
            manifest = _mark_unverified(manifest, adopted_manifest, journal, names, now)
    elif host_options.is_repair:
        _check_pages(store, manifest, names)
    return PreviousState(
        replace(_reserve_numbers(manifest, names), target=owner(store, state)),
        names,
        recovered_names,
        journal is not None,
        STYLESHEET in names and not is_our_stylesheet(store),
    )


def _check_pages(store: Store, manifest: Manifest, names: Mapping[str, int | None]) -> None:
    """Raise `ExportError` if the published indexes list other pages than the manifest of a repair.

    A manifest from a backup would make a sitemap incomplete. Missing and damaged indexes, and pages that
    are missing, are repaired: they do not count.
    """
    if not manifest.indexes or not names.keys() >= set(manifest.indexes):
        return
    try:
        adopted = adoption.adopt(store, manifest.url, manifest.base, names)
    except ExportError:
        return
    known, listed = manifest.pages().keys(), adopted.pages().keys()
    if differing := sorted((listed - known) | ((known & names.keys()) - listed)):
        raise ExportError(
            f"{store.label}: the manifest and the published indexes list different pages, such as "
            f"{', '.join(differing[:3])}, so nothing was repaired. Run an export instead."
        )


def is_our_stylesheet(store: Store) -> bool:
    try:
        content = store.read(STYLESHEET, _MAX_STYLESHEET) or b""
    except ExportError:
        return False
    # A file that was truncated is ours, too.
    return content[: len(writer.STYLESHEET_MARK)] == writer.STYLESHEET_MARK[: len(content)]


def _update_robots(
    host_options: HostOptions, publish_target: PublishTarget, documents: Sequence[str], is_transition: bool
) -> None:
    """Update robots.txt while finishing a killed run."""
    try:
        root = manifests.read_root(publish_target.state)
    except ManifestError:
        root = None
    names = indexes.to_announce(documents)
    Robots.for_host(host_options, names, root.indexes if root is not None else ()).publish(is_transition)


def _read(publish_target: PublishTarget, url: str, base: str) -> Manifest | None:
    """Return the manifest, or `None` if it is missing or damaged."""
    try:
        manifest = manifests.read(publish_target.state)
    except UnreadableError as error:
        logger.error("%s: all pages are rebuilt.", excerpt(error, MAX_MESSAGE))
        return None
    if manifest is not None:
        check_site(publish_target.store, publish_target.state, manifest, url, base)
    return manifest


def check_site(store: Store, state: Store, manifest: Manifest, url: str, base: str) -> None:
    """Raise `ExportError` if a manifest belongs to another site."""
    if (manifest.url, manifest.base) != (url, base):
        raise ExportError(
            f"{store.label} contains an export of {excerpt(manifest.base)} with files at "
            f"{excerpt(manifest.url)}, but this one is of {base} with files at {url}. "
            f"Export to another target. If the site has moved, remove {manifests.ROOT} in {state.label}. "
            "The next export then rebuilds all pages."
        )


def _restore(publish_target: PublishTarget, adopted_manifest: Manifest, now: float) -> Manifest:
    """Return the adopted manifest, completed from the manifest and its backup if they can be read.

    They can supply the highest page numbers, the URL counts and the removed files. Only the manifest itself
    knows which changes are not queued for submission. Without it, they can be those of any page.
    """
    sections = dict(adopted_manifest.sections)
    removed: dict[str, float] = {}
    unqueued: dict[str, float] = {}
    is_lost = False
    for name in (manifests.BACKUP, manifests.ROOT):
        try:
            root = manifests.read_root(publish_target.state, name)
        except ExportError:
            is_lost = True
            continue
        if root is None:
            continue
        is_lost = name == manifests.BACKUP
        removed |= root.removed
        unqueued |= root.unqueued
        for section, file in root.files.items():
            with suppress(UnreadableError):
                record = manifests.read_section(publish_target.state, file)
                sections[section] = _with_counts(sections.get(section), record)
    if is_lost and conf.indexnow_key is not None:
        unqueued = {**dict.fromkeys((INDEX, *adopted_manifest.pages()), now), **unqueued}
    return replace(adopted_manifest, sections=sections, removed=removed, unqueued=unqueued)


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
    """Return the manifest with the sections of a journal as the published indexes list them.

    Nothing else is certain about these sections. Files of the journal that no index lists are marked as
    removed.
    """
    sections = dict(manifest.sections)
    named_files = {*adopted_manifest.indexes}
    for name in journal.sections:
        adopted_record = adopted_manifest.sections.get(name)
        sections[name] = _with_counts(adopted_record, manifest.sections.get(name, SectionRecord()))
        if adopted_record is not None:
            named_files.update(adopted_record.file_names(name))
    removed_at = dict.fromkeys(
        (name for name in journal.files if name in names and name not in named_files), now
    )
    documents = tuple(dict.fromkeys((*manifest.indexes, *adopted_manifest.indexes)))
    unfinished = manifests.parse_root(journal.root, JOURNAL)
    return replace(
        manifest,
        sections=sections,
        removed={**removed_at, **manifest.removed},
        files={},
        indexes=documents,
        unqueued={**unfinished.unqueued, **manifest.unqueued},
    )


def _reserve_numbers(manifest: Manifest, names: Iterable[str]) -> Manifest:
    """Return the manifest with the page numbers of all existing files reserved."""
    highest = highest_numbers(names)
    sections = {
        name: replace(record, highest=max(record.highest, highest.get(name, 0)))
        for name, record in manifest.sections.items()
    }
    for name in highest.keys() - sections.keys():
        sections[name] = SectionRecord(highest=highest[name])
    return replace(manifest, sections=sections)
