"""Collect the records, staged files and reports of a section's pages for one host."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timezone
from typing import NamedTuple

from django_sitemaps09.export.rendering.plan import Plan, SectionPages
from django_sitemaps09.export.report import PageFile, SectionReport
from django_sitemaps09.filenames import Suffix, page_name
from django_sitemaps09.pages import Fingerprint, Key, Page
from django_sitemaps09.protocol import drop_future, w3c
from django_sitemaps09.state.manifest import PageRecord, SectionRecord

#: Seconds for which URL counts are kept. A section shrinks if it has fewer URLs than the largest count.
BASELINE = 7 * 24 * 3600


def _published_file(name: str, suffix: Suffix, record: PageRecord, after: Key | None) -> PageFile:
    return PageFile(
        name=page_name(name, record.number, suffix),
        after=after,
        until=record.until,
        urls=record.urls,
        bytes=record.bytes,
        size=record.size,
        lastmod=record.newest,
        digest=record.digest,
        unchanged=True,
    )


class SectionOutcome(NamedTuple):
    """Outcome of a section after its pages are staged.

    `record` is the record to publish, or the previous record if the section failed. `staged` maps new and
    changed files to their staged paths. `shrinks` lists published files that lost rows to other files.
    """

    report: SectionReport
    record: SectionRecord
    staged: Mapping[str, str] = {}
    shrinks: frozenset[str] = frozenset()

    @classmethod
    def unpublished(cls, name: str, record: SectionRecord) -> SectionOutcome:
        """Return the outcome of a section that keeps its published files."""
        pages = zip(record.pages, record.page_map().pages, strict=True)
        files = [_published_file(name, record.suffix, page, key_range.after) for page, key_range in pages]
        return cls(SectionReport(name, files, 0.0, unchanged=len(files)), record)


@dataclass(slots=True)
class Records:
    """Records of one section for one host.

    `previous` is the published record. `previous_pages` has its pages by number.
    """

    section_pages: SectionPages
    previous: SectionRecord
    previous_pages: Mapping[int, PageRecord]
    pages: list[PageRecord] = field(default_factory=list)
    files: list[PageFile] = field(default_factory=list)
    staged: dict[str, str] = field(default_factory=dict)
    kept: int = 0

    def keep(self, page: Page) -> None:
        """Add a page that was not rendered."""
        record = self.previous_pages[page.number]._replace(until=page.until)
        self.kept += 1
        self.pages.append(record)
        self.files.append(
            _published_file(self.section_pages.name, self.previous.suffix, record, page.after)
        )

    def add(self, page: Page, file: PageFile, staged: str, fingerprint: Fingerprint | None) -> None:
        """Add a rendered page. A page without URLs is omitted, and the next page takes over its range."""
        if not file.urls:
            return
        previous_page = self.previous_pages.get(page.number)
        changed: str | None = w3c(self.section_pages.run.started, timezone.utc)
        if previous_page is not None and previous_page.digest == file.digest:
            changed = previous_page.changed
        elif not any(record.digest for record in self.previous.pages):
            # Without a previous digest, the last change is unknown, so the newest lastmod is used.
            changed = drop_future(file.lastmod)
        record = PageRecord(
            number=page.number,
            until=page.until,
            urls=file.urls,
            bytes=file.bytes,
            size=previous_page.size if file.unchanged and previous_page is not None else file.size,
            newest=file.lastmod,
            changed=changed,
            digest=file.digest,
            fingerprint=fingerprint,
            index_number=0 if previous_page is None else previous_page.index_number,
        )
        self.pages.append(record)
        self.files.append(replace(file, size=record.size))
        if not file.unchanged:
            self.staged[file.name] = staged

    def outcome(self, plan: Plan) -> SectionOutcome:
        """Return the outcome of the section, after all its pages were added."""
        name = self.section_pages.name
        if self.pages:
            self.pages[-1] = self.pages[-1]._replace(until=None)
        section_record = SectionRecord(
            suffix=self.section_pages.suffix,
            key_identity=self.section_pages.rows.key_identity,
            declaration_digest=self.section_pages.declaration_digest,
            highest=max([self.section_pages.previous.highest, *(page.number for page in self.pages)]),
            counts=self._counts(),
            pages=tuple(self.pages),
        )
        previous_names = set(self.previous.file_names(name))
        report = SectionReport(
            name,
            tuple(self.files),
            0.0,
            written=len(self.staged),
            unchanged=len(self.files) - len(self.staged),
            skipped=self.kept,
            removed=len(previous_names.difference(section_record.file_names(name))),
            split=len(plan.split_numbers),
            merged=len(plan.merged_numbers),
        )
        # The last page, which had no upper bound, may have been merged with another page and then cut. So
        # if it has a bound now, it may lose rows.
        has_key_ranges = self.previous.has_key_ranges
        shrinks = {
            page_name(name, record.number, section_record.suffix)
            for record in self.pages
            if record.number in plan.split_numbers
            or (has_key_ranges and record.until is not None and record.number not in plan.closed_numbers)
        }
        return SectionOutcome(report, section_record, self.staged, frozenset(shrinks & previous_names))

    def _counts(self) -> tuple[tuple[float, int], ...]:
        """Return the earlier URL counts. The next run compares its URL count with them."""
        previous, started = self.previous, self.section_pages.run.started.timestamp()
        if self.section_pages.is_forced:
            # A forced result is the new baseline, so earlier counts are dropped.
            return ()
        if not previous.pages or sum(page.urls for page in self.pages) == previous.urls:
            return previous.counts
        counts = tuple(entry for entry in previous.counts if entry[0] >= started - BASELINE)
        return (*counts, (started, previous.urls))


def common_record(
    records: Sequence[SectionRecord],
) -> tuple[SectionRecord, list[tuple[SectionRecord, dict[int, PageRecord]]]]:
    """Return the common record of several hosts, and each host's record with the common pages by number.

    If the hosts' pages or declarations differ, the record has no pages, so all pages get new numbers.
    """
    first = records[0]
    highest = max(record.highest for record in records)
    if len(records) > 1 and any(_shape(record) != _shape(first) for record in records):
        return SectionRecord(first.suffix, highest=highest), [(record, {}) for record in records]
    # Limits apply to the largest of the hosts' files.
    page_groups = zip(*(record.pages for record in records), strict=True)
    pages = [
        same_pages[0]._replace(bytes=max(page.bytes for page in same_pages)) for same_pages in page_groups
    ]
    by_host = [(record, {page.number: page for page in record.pages}) for record in records]
    return replace(first, highest=highest, pages=tuple(pages)), by_host


def _shape(record: SectionRecord) -> tuple[object, ...]:
    """Return what hosts must have in common, so that a page is the same rows in all their files."""
    return record.key_identity, record.suffix, record.declaration_digest, record.page_map()
