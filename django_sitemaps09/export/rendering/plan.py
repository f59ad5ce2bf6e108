"""Plan the pages of a section: which pages it has, and which of them need not be rendered."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta, timezone
from itertools import chain, count
from typing import NamedTuple

from django_sitemaps09 import pages, sources
from django_sitemaps09.conf import conf
from django_sitemaps09.export.options import ExportOptions, Listeners
from django_sitemaps09.export.rendering.page import Engine, RenderedPage, Renderer
from django_sitemaps09.export.report import PageFile
from django_sitemaps09.filenames import Suffix, page_name
from django_sitemaps09.pages import Fingerprint, Key, Page, Size
from django_sitemaps09.protocol import w3c
from django_sitemaps09.sources import Source, has_key_ranges
from django_sitemaps09.sources.retry import RetriedSource
from django_sitemaps09.state.manifest import PageRecord, SectionRecord
from django_sitemaps09.state.previous import PreviousState

# Pages with newer rows are always rendered, because an open transaction may still add older rows to them.
_HOT = timedelta(minutes=10)


class KeptPage:
    """Result for a page that was not rendered: it is unchanged or, in a repair, undamaged."""

    cut: None = None
    is_empty = False


@dataclass(frozen=True, slots=True)
class Plan:
    """Pages of a section before they are rendered.

    `pages` yields the pages in order. `closed_numbers` lists published pages with an upper bound.
    `kept_pages` lists pages that are not rendered. `rows_on_page` is the number of rows on a new page after
    the published ones. `split_numbers` and `merged_numbers` are filled while pages are rendered.
    """

    pages: Iterator[Page]
    closed_numbers: frozenset[int] = frozenset()
    kept_pages: frozenset[Page] = frozenset()
    rows_on_page: int = 0
    split_numbers: set[int] = field(default_factory=set)
    merged_numbers: set[int] = field(default_factory=set)


@dataclass(frozen=True, slots=True)
class Run:
    """State that all sections of a run share, with the previous state of each host.

    `started` has a time zone.
    """

    renderer: Renderer
    hosts: Sequence[PreviousState]
    options: ExportOptions
    started: datetime
    engine: Engine | None
    listeners: Listeners

    def records(self, section: str) -> list[SectionRecord]:
        """Return each host's published record of a section, or an empty one."""
        return [host.manifest.sections.get(section, SectionRecord()) for host in self.hosts]

    def for_host(self, index: int) -> Run:
        """Return this run with only one of its hosts."""
        return replace(
            self,
            renderer=replace(self.renderer, targets=(self.renderer.targets[index],)),
            hosts=[self.hosts[index]],
        )


class SectionPages(NamedTuple):
    """Pages of one section in one run, the same for all hosts.

    `previous` is the record common to all hosts. `previous_by_host` has each host's published record, and
    its records of the common pages by number. `declaration_digest` is that of the source, which compiles
    the section's query for it.
    """

    run: Run
    name: str
    source: Source
    previous: SectionRecord
    previous_by_host: Sequence[tuple[SectionRecord, Mapping[int, PageRecord]]]
    declaration_digest: str

    @property
    def is_same_declaration(self) -> bool:
        """Whether the published pages were rendered from the same declaration."""
        return self.previous.declaration_digest == self.declaration_digest

    @property
    def rows(self) -> RetriedSource:
        return RetriedSource(self.source, f"Section {self.name!r}")

    @property
    def suffix(self) -> Suffix:
        return self.run.renderer.suffix(self.source)

    @property
    def is_forced(self) -> bool:
        """Whether the section is published even if it shrinks too much."""
        return self.name in frozenset(self.run.options.force)

    def plan(self, rows_on_page: int) -> Plan:
        """Return the plan: the published pages and new pages after them, or all pages rebuilt."""
        rows, previous = self.rows, self.previous
        new_numbers = count(previous.highest + 1)
        numbers = [page.number for page in previous.pages]
        if self.source.is_transient:
            # Reuse file names: the entries of a transient section expire soon in any case.
            free_numbers = (number for number in count(1) if not self._is_taken(number))
            return Plan(pages.each_page(rows, rows_on_page, free_numbers))
        bounds = [page.until for page in previous.pages if page.until is not None]
        if not has_key_ranges(self.source) and (
            not rows.in_order(bounds)
            or self.run.options.rebalance
            or previous.has_key_ranges
            or len(bounds) + 1 < len(previous.pages)
        ):
            # Without key ranges, rows move between pages anyway. New page numbers would gain nothing, so
            # the published numbers are reused.
            return Plan(pages.each_page(rows, rows_on_page, chain(numbers, new_numbers)))
        if (
            self.run.options.rebalance
            or not previous.pages
            or any(map(self._is_taken, numbers))
            or previous.key_identity != rows.key_identity
            or not rows.in_order(bounds)
        ):
            return Plan(pages.each_page(rows, rows_on_page, new_numbers))
        ranges = previous.page_map().pages
        closed_numbers = frozenset(page.number for page in ranges if page.until is not None)
        return Plan(iter(ranges), closed_numbers, self._kept_pages(ranges), rows_on_page)

    def divide(self, plan: Plan, page: Page, rendered: RenderedPage | KeptPage) -> Sequence[Key]:
        """Return the keys at which a page is split, and record it, unless rows were only appended."""
        # Rows that were appended to the last page are divided as in a first export.
        if page.until is None and plan.rows_on_page:
            parts = pages.each_page(self.rows, plan.rows_on_page, after=page.after)
            if bounds := [part.until for part in parts if part.until is not None]:
                return bounds
        plan.split_numbers.add(page.number)
        # Crawlers may still use an index with the old file of a page that has an upper bound, so all parts
        # of such a page get new numbers.
        if rendered.cut and has_key_ranges(self.source) and page.number in plan.closed_numbers:
            return pages.even_bounds(self.rows, page, rendered.cut)
        return []

    def join(
        self, plan: Plan, size: Size | None, page: Page, rendered: RenderedPage | KeptPage
    ) -> Size | None:
        """Return the size of pages, of which this is the next one, or `None` if they do not fit together.

        `size` is that of the others, or `None`. The bytes are those of the largest host's file.
        """
        # Pages of a paginator are not merged, since the next run would divide them again.
        if not has_key_ranges(self.source) or self.run.options.is_repair:
            return None
        files: Iterable[PageFile | PageRecord] = (
            rendered.files
            if isinstance(rendered, RenderedPage)
            else [records[page.number] for _, records in self.previous_by_host]
        )
        page_size = max(file.urls for file in files), max(file.bytes for file in files)
        if size is None:
            return page_size
        size = size[0] + page_size[0], size[1] + page_size[1]
        limits = sources.page_limits(self.source, conf.limits)
        if not pages.fit_together(size, limits, is_last=page.until is None):
            return None
        plan.merged_numbers.add(page.number)
        return size

    def fingerprint(self, plan: Plan, page: Page, rendered: RenderedPage) -> Fingerprint | None:
        """Return the fingerprint of a rendered page's rows, if the next run can rely on it."""
        if rendered.errors:
            return None
        fingerprint = rendered.file.fingerprint
        _, records = self.previous_by_host[0]
        record = records.get(page.number)
        if (
            record is not None
            and record.digest == rendered.file.digest
            and self.is_same_declaration
            and (fingerprint is None or not self.run.options.changed_only)
        ):
            # The rows of both have the same text, and a full run that changes nothing writes nothing.
            return record.fingerprint
        return fingerprint

    def _is_taken(self, number: int) -> bool:
        """Return whether a file that the manifest does not list has the name of this page."""
        file = page_name(self.name, number, self.suffix)
        return any(file in host.foreign_names for host in self.run.hosts)

    def _kept_pages(self, ranges: Sequence[Page]) -> frozenset[Page]:
        """Return the pages that are not rendered: undamaged pages in a repair, else unchanged pages."""
        options, source = self.run.options, self.source
        can_keep = (
            has_key_ranges(source) if options.is_repair else options.changed_only and source.can_fingerprint
        )
        if not can_keep or not self.is_same_declaration:
            return frozenset()
        if options.is_repair:
            return frozenset(page for page in ranges if None not in self.digests(page.number))
        fingerprints = [
            (page, self._known_fingerprint(record))
            for page, record in zip(ranges, self.previous.pages, strict=True)
        ]
        changed_numbers = pages.find_changed(fingerprints, self.rows.fingerprints)
        return frozenset(page for page in ranges if page.number not in changed_numbers)

    def _known_fingerprint(self, record: PageRecord) -> Fingerprint | None:
        """Return the published fingerprint of a page, or `None` if the page must be rendered."""
        fingerprint = record.fingerprint
        if (
            fingerprint is None
            or self._is_hot(fingerprint)
            or None in self.digests(record.number)
            or any(known[record.number].fingerprint != fingerprint for _, known in self.previous_by_host)
        ):
            return None
        return fingerprint

    def _is_hot(self, fingerprint: Fingerprint) -> bool:
        """Return whether open transactions may still commit rows that are not newer than the newest row."""
        if fingerprint.newest is None:
            return True
        hot_since = self.run.started - _HOT
        if "T" not in fingerprint.newest:
            # A date has no time zone, so use the date in the zone that is furthest behind UTC.
            hot_since -= timedelta(hours=12)
        return fingerprint.newest >= w3c(hot_since, timezone.utc)[: len(fingerprint.newest)]

    def digests(self, number: int) -> tuple[str | None, ...]:
        """Return the digest of a published page's file on each host, without reading the file.

        A digest is `None` if the file is missing, has another size, or has another suffix in this run.
        """
        file = page_name(self.name, number, self.suffix)
        digests = []
        for (previous, records), host in zip(self.previous_by_host, self.run.hosts, strict=True):
            if record := records.get(number):
                is_there = file in host.names and host.names[file] in (None, record.size)
                is_same = is_there and previous.suffix == self.suffix
                digests.append(record.digest or None if is_same else None)
        return tuple(digests)
