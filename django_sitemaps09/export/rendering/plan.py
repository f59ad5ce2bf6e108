"""Plan the pages of a section: which pages it has, and which of them need not be rendered."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta, timezone
from itertools import chain, count

from django_sitemaps09 import pages, sources
from django_sitemaps09.conf import conf
from django_sitemaps09.export.options import ExportOptions, Host
from django_sitemaps09.export.rendering.page import Engine, RenderedPage, Renderer
from django_sitemaps09.filenames import Suffix, page_name
from django_sitemaps09.pages import Fingerprint, Key, Page, Size
from django_sitemaps09.protocol import w3c
from django_sitemaps09.sources import Source, has_key_ranges
from django_sitemaps09.sources.retry import RetriedSource
from django_sitemaps09.state.manifest import PageFile, SectionRecord
from django_sitemaps09.state.previous import PreviousState

# Pages with newer rows are always rendered, because an open transaction may still add older rows to them.
_HOT = timedelta(minutes=10)


@dataclass(frozen=True, slots=True)
class Run:
    """Export to one host: what all of its sections share.

    `started` has a time zone. `previous` is the state before the run. `check` raises an exception if the
    run has lost the lock of its target.
    """

    host: Host
    options: ExportOptions
    started: datetime
    previous: PreviousState
    check: Callable[[], None]
    renderer: Renderer
    engine: Engine | None

    @property
    def stage(self) -> str | None:
        """The folder of files that are not published yet; `None` in a dry run."""
        return self.renderer.stage


@dataclass(slots=True)
class Plan:
    """The pages of one section in a run.

    `declaration_digest` is that of the source, which compiles the section's query for it. `previous` is the
    published record, `previous_pages` has its pages by number. `pages` yields the pages to render, in
    order. `closed_numbers` lists published pages with an upper bound. `kept_pages` lists pages that are not
    rendered. `rows_on_page` is the number of rows on a new page after the published ones, 0 if there are
    none. `split_numbers` and `merged_numbers` are filled while pages are rendered.
    """

    run: Run
    name: str
    source: Source
    declaration_digest: str
    previous: SectionRecord
    previous_pages: Mapping[int, PageFile] = field(init=False)
    pages: Iterator[Page] = field(init=False)
    closed_numbers: frozenset[int] = frozenset()
    kept_pages: frozenset[Page] = frozenset()
    rows_on_page: int = 0
    split_numbers: set[int] = field(default_factory=set)
    merged_numbers: set[int] = field(default_factory=set)

    @classmethod
    def of_section(cls, run: Run, name: str, source: Source, rows_on_page: int) -> Plan:
        """Return the plan of a section: the published pages and new pages after them, or all rebuilt."""
        digest = RetriedSource(source, f"Section {name!r}").declaration_digest
        plan = cls(run, name, source, digest, run.previous.section(name))
        plan.previous_pages = {page.number: page for page in plan.previous.pages}
        plan._divide_rows(rows_on_page)
        return plan

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

    def _divide_rows(self, rows_on_page: int) -> None:
        rows, previous = self.rows, self.previous
        new_numbers = count(previous.highest + 1)
        numbers = [page.number for page in previous.pages]
        if self.source.is_transient:
            # Reuse file names: the entries of a transient section expire soon in any case.
            free_numbers = (number for number in count(1) if not self._is_taken(number))
            self.pages = pages.each_page(rows, rows_on_page, free_numbers)
            return
        bounds = [page.until for page in previous.pages if page.until is not None]
        if not has_key_ranges(self.source) and (
            not rows.in_order(bounds)
            or self.run.options.rebalance
            or previous.has_key_ranges
            or len(bounds) + 1 < len(previous.pages)
        ):
            # Without key ranges, rows move between pages anyway. New page numbers would gain nothing, so
            # the published numbers are reused.
            self.pages = pages.each_page(rows, rows_on_page, chain(numbers, new_numbers))
        elif (
            self.run.options.rebalance
            or not previous.pages
            or any(map(self._is_taken, numbers))
            or previous.key_identity != rows.key_identity
            or not rows.in_order(bounds)
        ):
            self.pages = pages.each_page(rows, rows_on_page, new_numbers)
        else:
            ranges = [page.page for page in previous.pages]
            self.pages, self.rows_on_page = iter(ranges), rows_on_page
            self.closed_numbers = frozenset(page.number for page in ranges if page.until is not None)
            self.kept_pages = self._kept_pages(ranges)

    def kept(self, page: Page) -> RenderedPage:
        """Return the published file of a page that is not rendered."""
        return RenderedPage(replace(self.previous_pages[page.number], until=page.until, unchanged=True))

    def divide(self, page: Page, rendered: RenderedPage) -> Sequence[Key]:
        """Return the keys at which a page is split, and record it, unless rows were only appended."""
        # Rows that were appended to the last page are divided as in a first export.
        if page.until is None and self.rows_on_page:
            parts = pages.each_page(self.rows, self.rows_on_page, after=page.after)
            if bounds := [part.until for part in parts if part.until is not None]:
                return bounds
        self.split_numbers.add(page.number)
        # Crawlers may still use an index with the old file of a page that has an upper bound, so all parts
        # of such a page get new numbers.
        if rendered.cut and has_key_ranges(self.source) and page.number in self.closed_numbers:
            return pages.even_bounds(self.rows, page, rendered.cut)
        return []

    def join(self, size: Size | None, page: Page, rendered: RenderedPage) -> Size | None:
        """Return the size of pages, of which this is the next one, or `None` if they do not fit together.

        `size` is that of the others, or `None`.
        """
        # Pages of a paginator are not merged, since the next run would divide them again.
        if not has_key_ranges(self.source) or self.run.host.is_repair:
            return None
        if size is None:
            return rendered.file.urls, rendered.file.bytes
        size = size[0] + rendered.file.urls, size[1] + rendered.file.bytes
        limits = sources.page_limits(self.source, conf.limits)
        if not pages.fit_together(size, limits, is_last=page.until is None):
            return None
        self.merged_numbers.add(page.number)
        return size

    def fingerprint(self, page: Page, rendered: RenderedPage) -> Fingerprint | None:
        """Return the fingerprint of a rendered page's rows, if the next run can rely on it."""
        if rendered.errors:
            return None
        published, fingerprint = self.previous_pages.get(page.number), rendered.file.fingerprint
        if (
            published is not None
            and published.digest == rendered.file.digest
            and self.is_same_declaration
            and (fingerprint is None or not self.run.options.changed_only)
        ):
            # The rows of both have the same text, and a full run that changes nothing writes nothing.
            return published.fingerprint
        return fingerprint

    def digest(self, number: int) -> str | None:
        """Return the digest of a published page's file, without reading the file.

        It is `None` if the file is missing, has another size, or has another suffix in this run.
        """
        page, names = self.previous_pages.get(number), self.run.previous.names
        if page is None or self.previous.suffix != self.suffix or page.name not in names:
            return None
        return page.digest or None if names[page.name] in (None, page.size) else None

    def _is_taken(self, number: int) -> bool:
        """Return whether a file that the manifest does not list has the name of this page."""
        return page_name(self.name, number, self.suffix) in self.run.previous.foreign_names

    def _kept_pages(self, ranges: Sequence[Page]) -> frozenset[Page]:
        """Return the pages that are not rendered: undamaged pages in a repair, else unchanged pages."""
        is_repair, source = self.run.host.is_repair, self.source
        can_keep = (
            has_key_ranges(source)
            if is_repair
            else self.run.options.changed_only and source.can_fingerprint
        )
        if not can_keep or not self.is_same_declaration:
            return frozenset()
        if is_repair:
            return frozenset(page for page in ranges if self.digest(page.number) is not None)
        fingerprints = [(page.page, self._known_fingerprint(page)) for page in self.previous.pages]
        changed_numbers = pages.find_changed(fingerprints, self.rows.fingerprints)
        return frozenset(page for page in ranges if page.number not in changed_numbers)

    def _known_fingerprint(self, page: PageFile) -> Fingerprint | None:
        """Return the published fingerprint of a page, or `None` if the page must be rendered."""
        fingerprint = page.fingerprint
        if fingerprint is None or self._is_hot(fingerprint) or self.digest(page.number) is None:
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
