"""Plan the pages of a section: which pages it has, and which of them need not be rendered."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import timedelta, timezone
from itertools import chain, count
from typing import cast

from django_sitemaps09.conf import conf
from django_sitemaps09.export.page import RenderedPage
from django_sitemaps09.export.run import Run
from django_sitemaps09.orm.reading import Retried
from django_sitemaps09.protocol import pages
from django_sitemaps09.protocol.filenames import page_name
from django_sitemaps09.protocol.pages import Fingerprint, Key, Page, Size
from django_sitemaps09.protocol.values import w3c
from django_sitemaps09.rows.queryset import QuerySource, has_key_ranges
from django_sitemaps09.rows.source_base import Source, page_limits
from django_sitemaps09.target.manifest import PageFile

# Seconds for which URL counts are kept. A section shrinks if it has fewer URLs than the largest count.
_BASELINE = 7 * 24 * 3600
# Pages with newer rows are always rendered, because an open transaction may still add older rows to them.
_HOT = timedelta(minutes=10)


class Plan:
    """The pages of one section in a run: the published pages and new pages after them, or all rebuilt.

    `previous` is the published record, `previous_pages` has its pages by number. `pages` yields the pages
    in order. `kept_pages` are not rendered, and `closed_numbers` are those of published pages with an upper
    bound. `split_numbers` and `merged_numbers` are filled while pages are rendered.
    """

    def __init__(self, run: Run, name: str, source: Source, rows_on_page: int) -> None:
        self.run, self.name, self.source = run, name, source
        self.rows = cast(QuerySource, Retried(source, f"Section {name!r}"))
        self.suffix = run.renderer.suffix(source)
        self.previous = run.previous.section(name)
        self.previous_pages = {page.number: page for page in self.previous.pages}
        # The source compiles the section's query for it.
        self.declaration_digest = self.rows.declaration_digest
        self.is_same_declaration = self.previous.declaration_digest == self.declaration_digest
        self.is_forced = name in run.options.force
        counted_since = run.started.timestamp() - _BASELINE
        self.recent_counts = [each for each in self.previous.counts if each[0] >= counted_since]
        self.kept_pages: frozenset[Page] = frozenset()
        self.closed_numbers: frozenset[int] = frozenset()
        self.split_numbers: set[int] = set()
        self.merged_numbers: set[int] = set()
        # The number of rows on a new page after the published ones, 0 if there are none.
        self._rows_on_new_page = 0
        self.pages = self._divide_rows(rows_on_page)

    def _divide_rows(self, rows_on_page: int) -> Iterator[Page]:
        rows, previous = self.rows, self.previous
        published = [page.number for page in previous.pages]
        bounds = [page.until for page in previous.pages if page.until is not None]
        numbers: Iterator[int] = count(previous.highest + 1)
        if self.source.is_transient:
            # Reuse file names: the entries of a transient section expire soon in any case.
            numbers = (number for number in count(1) if not self._is_taken(number))
            return pages.each_page(rows, rows_on_page, numbers)
        is_rebuilt = (
            self.run.options.rebalance
            or previous.key_identity != rows.key_identity
            or not rows.in_order(bounds)
        )
        if not has_key_ranges(self.source) and (is_rebuilt or len(bounds) + 1 < len(published)):
            # Without key ranges, rows move between pages anyway. New page numbers would gain nothing, so
            # the published numbers are reused.
            return pages.each_page(rows, rows_on_page, chain(published, numbers))
        if is_rebuilt or not published or any(map(self._is_taken, published)):
            return pages.each_page(rows, rows_on_page, numbers)
        ranges = [page.page for page in previous.pages]
        self._rows_on_new_page = rows_on_page
        self.closed_numbers = frozenset(page.number for page in ranges if page.until is not None)
        self.kept_pages = self._unchanged_pages(ranges)
        return iter(ranges)

    def divide(self, page: Page, rendered: RenderedPage) -> Sequence[Key]:
        """Return the keys at which a page is split, and record it, unless rows were only appended."""
        # Rows that were appended to the last page are divided as in a first export.
        if page.until is None and self._rows_on_new_page:
            parts = pages.each_page(self.rows, self._rows_on_new_page, after=page.after)
            if bounds := [part.until for part in parts if part.until is not None]:
                return bounds
        self.split_numbers.add(page.number)
        # Crawlers may still use an index with the old file of a page that has an upper bound, so all parts
        # of such a page get new numbers.
        if rendered.cut and has_key_ranges(self.source) and page.number in self.closed_numbers:
            return pages.even_bounds(self.rows, page, rendered.cut)
        return []

    def join(self, size: Size | None, page: Page, rendered: RenderedPage) -> Size | None:
        """Return the size of pages and the next one, if they fit together. `size` is that of the others."""
        # Pages of a paginator are not merged, since the next run would divide them again.
        if not has_key_ranges(self.source) or self.run.host.is_repair:
            return None
        if size is None:
            return rendered.file.urls, rendered.file.bytes
        size = size[0] + rendered.file.urls, size[1] + rendered.file.bytes
        if not pages.fit_together(size, page_limits(self.source, conf.limits), is_last=page.until is None):
            return None
        self.merged_numbers.add(page.number)
        return size

    def counts(self, urls: int) -> tuple[tuple[float, int], ...]:
        """Return the earlier URL counts of a section that has `urls` now, for the next run."""
        if self.is_forced:
            # A forced result is the new baseline.
            return ()
        if not self.previous.pages or urls == self.previous.urls:
            return self.previous.counts
        return (*self.recent_counts, (self.run.started.timestamp(), self.previous.urls))

    def digest(self, number: int) -> str | None:
        """Return a published page's digest, unless its file is missing or has another size or suffix."""
        page, names = self.previous_pages.get(number), self.run.previous.names
        if page is None or self.previous.suffix != self.suffix or page.name not in names:
            return None
        return page.digest or None if names[page.name] in (None, page.size) else None

    def _is_taken(self, number: int) -> bool:
        """Return whether a file that the manifest does not list has the name of this page."""
        return page_name(self.name, number, self.suffix) in self.run.previous.foreign_names

    def _unchanged_pages(self, ranges: Sequence[Page]) -> frozenset[Page]:
        """Return the pages that are not rendered: undamaged pages in a repair, else unchanged pages."""
        options, source, is_repair = self.run.options, self.source, self.run.host.is_repair
        can_keep = has_key_ranges(source) if is_repair else options.changed_only and source.can_fingerprint
        if not can_keep or not self.is_same_declaration:
            return frozenset()
        if is_repair:
            changed_numbers = {page.number for page in ranges if self.digest(page.number) is None}
        else:
            fingerprints = [(page.page, self._known_fingerprint(page)) for page in self.previous.pages]
            changed_numbers = pages.find_changed(fingerprints, self.rows.fingerprints)
        return frozenset(page for page in ranges if page.number not in changed_numbers)

    def _known_fingerprint(self, page: PageFile) -> Fingerprint | None:
        """Return the published fingerprint of a page, or `None` if the page must be rendered.

        It must if open transactions may still commit rows that are not newer than the newest row.
        """
        fingerprint = page.fingerprint
        if fingerprint is None or fingerprint.newest is None or self.digest(page.number) is None:
            return None
        hot_since = self.run.started - _HOT
        if "T" not in fingerprint.newest:
            # A date has no time zone, so use the date in the zone that is furthest behind UTC.
            hot_since -= timedelta(hours=12)
        is_hot = fingerprint.newest >= w3c(hot_since, timezone.utc)[: len(fingerprint.newest)]
        return None if is_hot else fingerprint
