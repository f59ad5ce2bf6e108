"""Read the previous state from the manifest, or from the published files themselves."""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import NamedTuple

from django_sitemaps09.conf import conf
from django_sitemaps09.exceptions import ExportError, UnreadableError
from django_sitemaps09.protocol import filenames
from django_sitemaps09.protocol.documents import STYLESHEET_MARK, read_index
from django_sitemaps09.protocol.entries import IndexEntry
from django_sitemaps09.protocol.fields import MAX_MESSAGE, excerpt
from django_sitemaps09.protocol.filenames import INDEX, STYLESHEET
from django_sitemaps09.protocol.limits import MAX_BYTES
from django_sitemaps09.target import manifest as manifests
from django_sitemaps09.target.journal import JOURNAL, Journal
from django_sitemaps09.target.manifest import Manifest, PageFile, SectionRecord
from django_sitemaps09.target.store import Store, owner

logger = logging.getLogger(__name__)

# A larger file is not one of our stylesheets.
_MAX_STYLESHEET = 100_000


class PreviousState(NamedTuple):
    """State of a store before a run: the manifest, and the existing files with their sizes.

    `foreign_names` are the files that the manifest does not list, and `has_foreign_stylesheet` says that
    one of them has the name of our stylesheet. It `is_unverified` if there is a journal whose remaining
    steps were not taken. The site `has_moved` if the manifest was that of another host.
    """

    manifest: Manifest
    names: Mapping[str, int | None]
    foreign_names: frozenset[str]
    is_unverified: bool
    has_foreign_stylesheet: bool
    has_moved: bool = False

    @property
    def is_first(self) -> bool:
        """Whether nothing was published before. Then all URLs are new."""
        return not any(record.pages for record in self.manifest.sections.values())

    def section(self, name: str) -> SectionRecord:
        return self.manifest.sections.get(name, SectionRecord())


def load(
    store: Store,
    state: Store,
    site: Manifest,
    journal: Journal | None,
    now: float,
    *,
    is_whole: bool,
    moved_from: Collection[str] = (),
) -> PreviousState:
    """Return the previous state. `journal` is that of a killed run whose steps were not taken.

    `site` is an empty manifest with the URLs of the export, and `moved_from` are base URLs from which the
    site may have moved. Raise `ExportError` if the files belong to another project or, unless the export
    rebuilds all sections (`is_whole`), if an index cannot be read.
    """
    names = store.names()
    try:
        manifest = manifests.read(state)
    except UnreadableError as error:
        logger.error("%s: all pages are rebuilt.", excerpt(error, MAX_MESSAGE))
        manifest = None
    has_moved = False
    if manifest is not None:
        has_moved = manifest.base in moved_from and manifest.base != site.base
        if has_moved:
            manifest = _moved(manifest, site, now)
        check_site(store, state, manifest, site)
    if manifest is None or journal is not None:
        try:
            adopted = _adopt(store, site, names)
        except ExportError:
            if not is_whole:
                raise
            adopted = site
        manifest = manifest or _restore(state, adopted, now)
        if journal is not None:
            manifest = _mark_unverified(manifest, adopted, journal, names, now)
    listed_names = manifest.names().union(manifest.removed)
    return PreviousState(
        replace(_reserve_numbers(manifest, names), target=owner(store, state)),
        names,
        frozenset(names) - listed_names,
        journal is not None,
        STYLESHEET in names and not is_our_stylesheet(store),
        has_moved,
    )


def check_pages(store: Store, previous: PreviousState) -> None:
    """Raise `ExportError` if the published indexes list other pages than the manifest of a repair.

    A manifest from a backup would make a sitemap incomplete. Missing and damaged indexes, and pages that
    are missing, are repaired: they do not count.
    """
    manifest, names = previous.manifest, previous.names
    if previous.is_unverified or not manifest.indexes or not names.keys() >= set(manifest.indexes):
        return
    try:
        adopted = _adopt(store, manifest, names)
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
    return content[: len(STYLESHEET_MARK)] == STYLESHEET_MARK[: len(content)]


def check_site(store: Store, state: Store, manifest: Manifest, site: Manifest) -> None:
    """Raise `ExportError` if a manifest belongs to another site."""
    if (manifest.url, manifest.base) != (site.url, site.base):
        base = excerpt(manifest.base)
        advice = f"pass --moved-from {base} once"
        if manifest.base == site.base:
            advice = f"remove {manifests.ROOT} in {state.label}. The next export then rebuilds all pages"
        raise ExportError(
            f"{store.label} contains an export of {base} with files at {excerpt(manifest.url)}, but this "
            f"one is of {site.base} with files at {site.url}. Export to another target. If the site has "
            f"moved, {advice}."
        )


def _moved(manifest: Manifest, site: Manifest, now: float) -> Manifest:
    """Return the manifest of a site that has moved: all of its pages are removed, and none is replaced."""
    pages = manifest.pages()
    return replace(
        manifest,
        url=site.url,
        base=site.base,
        # The counts still show if a section shrinks too much.
        sections={
            name: SectionRecord(
                record.suffix, highest=record.highest, counts=(*record.counts, (now, record.urls))
            )
            for name, record in manifest.sections.items()
        },
        # The entries of the feed are URLs of the old host.
        feeds={},
        removed={**manifest.removed, **dict.fromkeys([*pages, *manifest.feeds], now)},
        removed_ranges={**manifest.removed_ranges, **manifest.ranges()},
        files={},
        unqueued={},
        moved=tuple(dict.fromkeys((*manifest.removed, *pages, *manifest.feeds, *manifest.indexes))),
    )


def _restore(state: Store, adopted: Manifest, now: float) -> Manifest:
    """Return the adopted manifest, completed from the manifest and its backup if they can be read.

    They can supply the highest page numbers, the URL counts and the removed files. Only the manifest itself
    knows which changes are not queued for submission. Without it, they can be those of any page.
    """
    restored, is_lost = adopted, False
    for name in (manifests.BACKUP, manifests.ROOT):
        try:
            root = manifests.read_root(state, name)
        except ExportError:
            is_lost = True
            continue
        if root is None:
            continue
        is_lost = name == manifests.BACKUP
        sections, ranges = dict(restored.sections), {**restored.removed_ranges, **root.removed_ranges}
        for section, file in root.files.items():
            with suppress(UnreadableError):
                record = manifests.read_section(state, file)
                # They are those of removed pages after this run.
                ranges |= replace(root, sections={section: record}).ranges()
                sections[section] = _with_counts(sections.get(section), record)
        restored = replace(
            restored,
            sections=sections,
            removed={**restored.removed, **root.removed},
            removed_ranges=ranges,
            unqueued={**restored.unqueued, **root.unqueued},
            moved=tuple(dict.fromkeys((*restored.moved, *root.moved))),
            feeds={**restored.feeds, **root.feeds},
        )
    if is_lost and conf.indexnow_key is not None:
        unqueued = {**dict.fromkeys((INDEX, *adopted.pages()), now), **restored.unqueued}
        restored = replace(restored, unqueued=unqueued)
    return restored


def _with_counts(adopted: SectionRecord | None, known: SectionRecord) -> SectionRecord:
    """Return the adopted record with the known URL counts and the highest page number ever used."""
    record = adopted or SectionRecord(known.suffix)
    urls = {page.number: page.urls for page in known.pages}
    pages = tuple(replace(page, urls=urls.get(page.number, page.urls)) for page in record.pages)
    return replace(record, highest=max(record.highest, known.highest), counts=known.counts, pages=pages)


def _mark_unverified(
    manifest: Manifest, adopted: Manifest, journal: Journal, names: Iterable[str], now: float
) -> Manifest:
    """Return the manifest with the sections of a journal as the published indexes list them.

    Nothing else is certain about them. Files of the journal that no index lists are marked as removed.
    """
    sections = dict(manifest.sections)
    listed_names = {*adopted.indexes}
    for name in journal.sections:
        adopted_record = adopted.sections.get(name)
        sections[name] = _with_counts(adopted_record, manifest.sections.get(name, SectionRecord()))
        listed_names.update(adopted_record.file_names if adopted_record is not None else ())
    removed_at = {name: now for name in journal.files if name in names and name not in listed_names}
    unfinished = manifests.parse_root(journal.root, JOURNAL)
    return replace(
        manifest,
        sections=sections,
        removed={**removed_at, **manifest.removed},
        # They may be of the host from which the site has moved.
        moved=(*manifest.moved, *(removed_at if manifest.moved else ())),
        removed_ranges={**manifest.ranges(), **manifest.removed_ranges},
        files={},
        indexes=tuple(dict.fromkeys((*manifest.indexes, *adopted.indexes))),
        unqueued={**unfinished.unqueued, **manifest.unqueued},
    )


def _reserve_numbers(manifest: Manifest, names: Iterable[str]) -> Manifest:
    """Return the manifest with the page numbers of all existing files reserved."""
    sections = dict(manifest.sections)
    for name, number in filenames.highest_numbers(names).items():
        record = sections.get(name, SectionRecord())
        sections[name] = replace(record, highest=max(record.highest, number))
    return replace(manifest, sections=sections)


def _adopt(store: Store, site: Manifest, names: Mapping[str, int | None]) -> Manifest:
    """Return a manifest of the pages that the published indexes list.

    Their ranges are unknown, so their sections are rebuilt with unused page numbers. An index that lists no
    existing page is ignored, unless it is `sitemap.xml`. Raise `ExportError` if one cannot be read.
    """
    pages: dict[str, dict[int, PageFile]] = {section: {} for section in filenames.highest_numbers(names)}
    suffixes: dict[str, filenames.Suffix] = {}
    indexes = []
    # Always read the first index: a symbolic link, for example, is not among the names.
    numbers = {name: filenames.index_number(name) for name in {INDEX, *names}}
    for index, name in sorted((number, name) for name, number in numbers.items() if number is not None):
        is_ours = name == INDEX and name in names
        for entry in _read_index(store, name):
            file_name = entry.location.removeprefix(site.url)
            page = filenames.parse_page_name(file_name)
            if page is None or file_name not in names:
                continue
            is_ours = True
            if suffixes.setdefault(page.section, page.suffix) == page.suffix:
                changed, number = entry.lastmod, page.number
                file = PageFile(file_name, number, None, None, changed=changed, index_number=index)
                # Indexes left over from a disabled cascade list pages a second time.
                pages[page.section].setdefault(number, file)
        if is_ours:
            indexes.append(name)
    sections = {
        section: SectionRecord(suffixes.get(section, "xml.gz"), pages=(*records.values(),))
        for section, records in pages.items()
    }
    return Manifest("", site.url, site.base, sections, indexes=tuple(indexes))


def _read_index(store: Store, name: str) -> list[IndexEntry]:
    """Return the entries of a published index, if it exists. Raise `ExportError` if it is not an index."""
    content = store.read(name, MAX_BYTES)
    try:
        return [] if content is None else read_index(content)
    except ValueError as error:
        raise ExportError(
            f"{store.label}: {name} is not a sitemap index that this package can read ({error}), so the "
            "entries of other sections would be lost. Export all sections, or remove the file."
        ) from error
