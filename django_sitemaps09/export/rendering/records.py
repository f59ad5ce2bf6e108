"""Collect the pages of a section, once rendered, to what is published and reported of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import timezone
from typing import NamedTuple

from django_sitemaps09.export.rendering.page import RenderedPage
from django_sitemaps09.export.rendering.plan import Plan
from django_sitemaps09.export.report import THIS_PROCESS, SectionReport
from django_sitemaps09.pages import Page
from django_sitemaps09.protocol import drop_future, w3c
from django_sitemaps09.state.manifest import PageFile, SectionRecord

#: Seconds for which URL counts are kept. A section shrinks if it has fewer URLs than the largest count.
BASELINE = 7 * 24 * 3600


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
        files = [replace(page, unchanged=True) for page in record.pages]
        return cls(SectionReport(name, files, 0.0, unchanged=len(files)), record)


@dataclass(slots=True)
class Records:
    """The pages of one section, in their order, as they are rendered or kept."""

    plan: Plan
    pages: list[PageFile] = field(default_factory=list)
    staged: dict[str, str] = field(default_factory=dict)
    kept: int = 0
    rendered_by: Counter[str] = field(default_factory=Counter)

    def add(self, page: Page, rendered: RenderedPage) -> None:
        """Add a page. A page without URLs is omitted, and the next page takes over its range."""
        plan, file = self.plan, rendered.file
        after = self.pages[-1].until if self.pages else None
        if not rendered.staged:
            self.kept += 1
            self.pages.append(replace(file, after=after))
            return
        self.rendered_by[rendered.worker or THIS_PROCESS] += 1
        if rendered.is_empty:
            return
        published = plan.previous_pages.get(page.number)
        changed: str | None = w3c(plan.run.started, timezone.utc)
        if published is not None and published.digest == file.digest:
            changed = published.changed
        elif not any(previous.digest for previous in plan.previous.pages):
            # Without a previous digest, the last change is unknown, so the newest lastmod is used.
            changed = drop_future(file.lastmod)
        file = replace(
            file,
            after=after,
            until=page.until,
            size=published.size if file.unchanged and published is not None else file.size,
            changed=changed,
            fingerprint=plan.fingerprint(page, rendered),
            index_number=0 if published is None else published.index_number,
        )
        self.pages.append(file)
        if not file.unchanged:
            self.staged[file.name] = rendered.staged

    def outcome(self) -> SectionOutcome:
        """Return the outcome of the section, after all its pages were added."""
        plan, name, previous = self.plan, self.plan.name, self.plan.previous
        if self.pages:
            self.pages[-1] = replace(self.pages[-1], until=None)
        record = SectionRecord(
            suffix=plan.suffix,
            key_identity=plan.rows.key_identity,
            declaration_digest=plan.declaration_digest,
            highest=max([previous.highest, *(file.number for file in self.pages)]),
            counts=self._counts(),
            pages=tuple(self.pages),
        )
        previous_names = set(previous.file_names)
        report = SectionReport(
            name,
            record.pages,
            0.0,
            written=len(self.staged),
            unchanged=len(self.pages) - len(self.staged),
            skipped=self.kept,
            removed=len(previous_names.difference(record.file_names)),
            split=len(plan.split_numbers),
            merged=len(plan.merged_numbers),
            rendered_by=dict(self.rendered_by),
        )
        # The last page, which had no upper bound, may have been merged with another page and then cut. So
        # if it has a bound now, it may lose rows.
        shrinks = {
            file.name
            for file in self.pages
            if file.number in plan.split_numbers
            or (
                previous.has_key_ranges
                and file.until is not None
                and file.number not in plan.closed_numbers
            )
        }
        return SectionOutcome(report, record, self.staged, frozenset(shrinks & previous_names))

    def _counts(self) -> tuple[tuple[float, int], ...]:
        """Return the earlier URL counts. The next run compares its URL count with them."""
        previous, started = self.plan.previous, self.plan.run.started.timestamp()
        if self.plan.is_forced:
            # A forced result is the new baseline, so earlier counts are dropped.
            return ()
        if not previous.pages or sum(file.urls for file in self.pages) == previous.urls:
            return previous.counts
        counts = tuple(entry for entry in previous.counts if entry[0] >= started - BASELINE)
        return (*counts, (started, previous.urls))
