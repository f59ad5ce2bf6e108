"""The pages of a section: which there are, which of them are made anew, and what is published next."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta, timezone
from itertools import chain, count
from typing import NamedTuple

from django_sitemaps09 import pages, sources
from django_sitemaps09.conf import conf
from django_sitemaps09.exceptions import ExportError
from django_sitemaps09.export.left_out import LeftOut
from django_sitemaps09.export.published import page_name, page_names
from django_sitemaps09.export.render import Rendered, Task, twice
from django_sitemaps09.export.report import PageFile, SectionReport
from django_sitemaps09.export.run import Outcome, Run
from django_sitemaps09.manifest import PageRecord, SectionRecord
from django_sitemaps09.pages import Fingerprint, Key, Page
from django_sitemaps09.protocol import past, w3c
from django_sitemaps09.sources import QuerySource, Source
from django_sitemaps09.sources.costs import Costs

# Pages that are merged away in one run: a part of all, and at least so many.
_MERGED_PART, _MERGED = 10, 4
# A transaction that is open for longer than this can bring rows that are older than what was seen.
_HOT = timedelta(minutes=10)
# What stands before the name of a staged file.
_PREFIX = re.compile(r"(?:[0-9a-f]{8}-)?")
#: What a section loses is measured against the most of so many seconds.
BASELINE = 7 * 24 * 3600


class Kept(NamedTuple):
    """A page whose rows are what they were: nothing was rendered."""

    record: PageRecord

    @property
    def cut(self) -> None:
        return None


@dataclass(slots=True)
class Plan:
    """The pages of a section before they are rendered.

    `pages` gives all of them in order. `known` has the records of those that are published under their
    number; of these, `closed` can be halved, and `kept` need not even be rendered. `fingerprints` are those
    that were read now. `split` is filled meanwhile.
    """

    pages: Iterator[Page]
    known: dict[int, PageRecord] = field(default_factory=dict)
    closed: frozenset[int] = frozenset()
    kept: frozenset[int] = frozenset()
    fingerprints: dict[Page, Fingerprint] = field(default_factory=dict)
    merged: int = 0
    split: set[int] = field(default_factory=set)


class SectionPages(NamedTuple):
    """The pages of one section in one run."""

    run: Run
    name: str
    source: Source
    before: SectionRecord
    errors: LeftOut
    costs: Costs

    def outcome(self, rows_on_page: int) -> Outcome:
        """Plans them, has them rendered, and says what is to be published."""
        plan = self._planned(rows_on_page)
        records = []
        files = []
        staged = {}
        for page, made in self._rendered(plan):
            if isinstance(made, Kept):
                records.append(made.record._replace(until=page.until))
                files.append(self._file(page, made.record))
            elif made.file.urls:
                # An empty page is not written; the range of the next one begins where it began.
                record = self._record(page, made.file, plan)
                if made.errors or self._came_too_soon(record.fingerprint):
                    record = record._replace(fingerprint=None)
                records.append(record)
                files.append(replace(made.file, size=records[-1].size))
                if not made.file.unchanged:
                    staged[made.file.name] = made.staged
        if records:
            records[-1] = records[-1]._replace(until=None)
        return self._outcome(plan, records, files, staged)

    def _planned(self, rows_on_page: int) -> Plan:
        """The pages: those that are published, and new ones behind them, or all of them new."""
        rows, before = Patient(self.source, f"Section {self.name!r}"), self.before
        fresh = count(before.highest + 1)
        bounds = [page.until for page in before.pages if page.until is not None]
        if self.source.identity is None and (
            self.run.wanted.rebalance or before.identity is not None or len(bounds) + 1 < len(before.pages)
        ):
            # What is on which page moves: pages keep their numbers.
            known = {page.number: page for page in before.pages}
            return Plan(pages.each_page(rows, rows_on_page, chain(known, fresh)), known)
        if (
            self.run.wanted.rebalance
            or not before.pages
            or before.identity != self.source.identity
            or not self.source.in_order(bounds)
        ):
            return Plan(pages.each_page(rows, rows_on_page, fresh))
        plan, ranges = self._as_published()
        *closed, last = ranges
        if last.number in plan.kept:
            plan.pages = iter(ranges)
        else:
            behind = pages.each_page(rows, rows_on_page, chain([last.number], fresh), last.after)
            plan.pages = chain(closed, behind)
        return plan

    def _as_published(self) -> tuple[Plan, list[Page]]:
        """The pages as they are published, less those that are merged away."""
        before = self.before.pages
        # Pages of a paginator are not ours to put together: the next cut would part them again.
        most = 0 if self.source.identity is None else max(_MERGED, len(before) // _MERGED_PART)
        groups = pages.merge(before, sources.page_limits(self.source, conf.limits), most)
        ranges: list[Page] = []
        after: Key | None = None
        for group in groups:
            ranges.append(Page(group[0].number, after, group[-1].until))
            after = group[-1].until
        known = {group[0].number: group[0] for group in groups}
        alone = {group[0].number: group[0] for group in groups if len(group) == 1}
        closed = frozenset(page.number for page in ranges[:-1])
        plan = Plan(iter(()), known, closed=closed, merged=len(before) - len(groups))
        if (
            self.run.wanted.changed_only
            and self.source.skippable
            and self.before.declared == self.source.declared
        ):
            fingerprints = [(page, self._fingerprint(alone.get(page.number))) for page in ranges]
            changed = pages.changed(fingerprints, self.source.fingerprint)
            plan.kept = frozenset(page.number for page in ranges if page.number not in changed)
            read = {page: changed.get(page.number) for page in ranges}
            plan.fingerprints = {page: found for page, found in read.items() if found is not None}
        return plan, ranges

    def _fingerprint(self, record: PageRecord | None) -> Fingerprint | None:
        """What the rows of a published page were; `None` where it has to be rendered in any case."""
        found = None if record is None else record.fingerprint
        if record is None or found is None or self._is_hot(found) or not self._is_there(record):
            return None
        return found

    def _is_hot(self, found: Fingerprint) -> bool:
        """Whether rows that are not newer than the newest one can still come."""
        if found.newest is None:
            return True
        since = self.run.wanted.started - _HOT
        if "T" not in found.newest:
            # A date is compared as one, in the zone where it is the earliest.
            since -= timedelta(hours=12)
        return found.newest >= w3c(since, timezone.utc)[: len(found.newest)]

    def _came_too_soon(self, found: Fingerprint | None) -> bool:
        """Whether a fingerprint could miss what comes later: without a hash, a row that is no newer."""
        return found is not None and found.hash is None and self._is_hot(found)

    def _is_there(self, record: PageRecord) -> bool:
        """Whether the file of a published page is, as far as that is told without reading it."""
        file = page_name(self.name, record.number, gzip=self.before.gzip)
        return (
            self.before.gzip == self.run.renderer.gzip
            and file in self.run.names
            and self.run.names[file] in (None, record.size)
        )

    def _rendered(self, plan: Plan) -> Iterator[tuple[Page, Rendered | Kept]]:
        """Each page with what was made of it."""
        run, source = self.run, self.source
        elsewhere = run.engine if isinstance(source, QuerySource) else None
        fingerprints = run.wanted.changed_only and source.skippable
        declared = source.declared

        def begin(page: Page) -> Callable[[], Rendered | Kept]:
            record = plan.known.get(page.number)
            if record is not None and page.number in plan.kept:
                return lambda: Kept(record)
            digest = record.digest if record is not None and self._is_there(record) else None
            wanted = fingerprints and page not in plan.fingerprints
            task = Task(self.name, page, digest or None, wanted, declared)
            if elsewhere is None or page.after == page.until:
                # The only page, from no key to none, is not worth a process.
                return run.renderer.page(source, task, run.store)
            return elsewhere.begin(run.renderer, task)

        def divide(page: Page, rendered: Rendered | Kept) -> Key | None:
            plan.split.add(page.number)
            if isinstance(rendered, Rendered) and page.number in plan.closed:
                return rendered.file.middle
            return rendered.cut

        # Here the next page is read while the thread of this one's file ends it.
        ahead = 2 if elsewhere is None else 2 * elsewhere.workers
        made = pages.render_all(plan.pages, begin, ahead, divide=divide, highest=self.before.highest)
        for page, rendered in made:
            if isinstance(rendered, Rendered):
                self._check(page, rendered)
                self.errors.add(rendered.errors)
                self.costs.add(rendered.costs)
                run.progress(self.name, rendered.file)
            yield page, rendered

    def _check(self, page: Page, rendered: Rendered) -> None:
        """What a worker answers decides what is published under which name: no other than it was told."""
        renderer = self.run.renderer
        name = page_name(self.name, page.number, gzip=renderer.gzip)
        prefix, found, rest = rendered.staged.removeprefix(f"{renderer.stage}/").partition(name)
        if rendered.file.name != name or not found or rest or _PREFIX.fullmatch(prefix) is None:
            raise ExportError(f"A worker answered with {rendered.staged!r} for {name}.")

    def _record(self, page: Page, made: PageFile, plan: Plan) -> PageRecord:
        """What is noted of a page that was rendered."""
        old = plan.known.get(page.number)
        same = old if old is not None and old.digest == made.digest else None
        changed: str | None = w3c(self.run.wanted.started, timezone.utc)
        if same is not None:
            changed = same.changed
        elif not any(known.digest for known in self.before.pages):
            # Nothing is known of a time before this one.
            changed = past(made.lastmod)
        fingerprint = made.fingerprint or plan.fingerprints.get(page)
        if fingerprint is None and same is not None and self.before.declared == self.source.declared:
            fingerprint = same.fingerprint
        return PageRecord(
            number=page.number,
            until=page.until,
            urls=made.urls,
            bytes=made.bytes,
            size=old.size if made.unchanged and old is not None else made.size,
            newest=made.lastmod,
            changed=changed,
            digest=made.digest,
            fingerprint=fingerprint,
            index_number=0 if old is None else old.index_number,
        )

    def _file(self, page: Page, record: PageRecord) -> PageFile:
        """A page that was not rendered, as the report has it."""
        return PageFile(
            name=page_name(self.name, page.number, gzip=self.before.gzip),
            after=page.after,
            until=page.until,
            urls=record.urls,
            bytes=record.bytes,
            size=record.size,
            lastmod=record.newest,
            digest=record.digest,
            unchanged=True,
        )

    def _outcome(
        self,
        plan: Plan,
        records: Sequence[PageRecord],
        files: Sequence[PageFile],
        staged: Mapping[str, str],
    ) -> Outcome:
        before, started = self.before, self.run.wanted.started.timestamp()
        urls = sum(record.urls for record in records)
        counts = before.counts
        if self.name in self.run.wanted.force:
            # What was right once is what comes is measured against, not what was before.
            counts = ()
        elif before.pages and urls != before.urls:
            counts = tuple(found for found in counts if found[0] >= started - BASELINE)
            counts = (*counts, (started, before.urls))
        after = SectionRecord(
            gzip=self.run.renderer.gzip,
            identity=self.source.identity,
            declared=self.source.declared,
            highest=max([before.highest, *(record.number for record in records)]),
            counts=counts,
            pages=tuple(records),
        )
        names_before = set(page_names(self.name, before))
        # Where the open end has a closed page now, that one may also have been merged into it just before.
        ranged = before.identity is not None
        shrinks = {
            page_name(self.name, record.number, gzip=after.gzip)
            for record in records
            if record.number in plan.split
            or (ranged and record.until is not None and record.number not in plan.closed)
        }
        report = SectionReport(
            self.name,
            tuple(files),
            0.0,
            written=len(staged),
            unchanged=len(files) - len(staged),
            skipped=len(plan.kept),
            removed=len(names_before.difference(page_names(self.name, after))),
            split=len(plan.split),
            merged=plan.merged,
        )
        return Outcome(report, after, staged, frozenset(shrinks & names_before))


class Patient(NamedTuple):
    """Rows whose database may be gone for a moment."""

    rows: Source
    what: str

    def is_empty(self) -> bool:
        return twice(self.rows.is_empty, self.what)

    def jump(self, after: Key | None, count: int) -> Key | None:
        return twice(lambda: self.rows.jump(after, count), self.what)
