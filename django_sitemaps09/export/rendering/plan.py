"""Plan the pages of a section: which exist, which are rendered again, and what is published next."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field
from datetime import timedelta, timezone
from functools import partial
from itertools import chain, count
from typing import NamedTuple

from django_sitemaps09 import pages, sources
from django_sitemaps09.conf import conf
from django_sitemaps09.exceptions import ExportError
from django_sitemaps09.export.rendering.engine import Engine
from django_sitemaps09.export.rendering.page import Rendered, Task
from django_sitemaps09.export.rendering.records import Moves, Records
from django_sitemaps09.export.rendering.retry import RetriedSource
from django_sitemaps09.export.rendering.run import Run, SectionOutcome
from django_sitemaps09.export.rendering.skipped import SkippedItems
from django_sitemaps09.filenames import Suffix, page_name
from django_sitemaps09.manifest import PageRecord, SectionRecord
from django_sitemaps09.pages import Fingerprint, Key, Page
from django_sitemaps09.protocol import w3c
from django_sitemaps09.sources import Source, has_key_ranges
from django_sitemaps09.sources.positions import PositionSource
from django_sitemaps09.sources.profiling import Costs

# Limits of the pages merged away in one run: a fraction of all pages, or this many if that is more.
_MERGED_PART, _MERGED = 10, 4
# A transaction that is open for longer than this can commit rows older than those already read.
_HOT = timedelta(minutes=10)
# An optional prefix before the name of a staged file.
_PREFIX = re.compile(r"(?:[0-9a-f]{8}-)?")


class KeptPage(NamedTuple):
    """Page that was not rendered because its rows have not changed."""

    number: int

    @property
    def cut(self) -> None:
        return None


@dataclass(slots=True)
class Plan:
    """Pages of a section before they are rendered.

    `pages` yields all of them in order. `previous_pages` has the records of those that are published under
    their number. Of these, `closed_numbers` pages can be halved, and `kept_numbers` pages are not even
    rendered; `merged_count` pages are merged into others. `fingerprints` has those that were read in this
    run. `split_numbers` is filled while pages are rendered.
    """

    pages: Iterator[Page]
    previous_pages: dict[int, PageRecord] = field(default_factory=dict)
    closed_numbers: frozenset[int] = frozenset()
    kept_numbers: frozenset[int] = frozenset()
    fingerprints: dict[Page, Fingerprint] = field(default_factory=dict)
    merged_count: int = 0
    split_numbers: set[int] = field(default_factory=set)

    def divide(self, page: Page, rendered: Rendered | KeptPage) -> Key | None:
        """Record that a page is split, and return the last key of its first part."""
        self.split_numbers.add(page.number)
        if isinstance(rendered, Rendered) and page.number in self.closed_numbers:
            return rendered.file.middle
        return rendered.cut


class SectionPages(NamedTuple):
    """Pages of one section in one run, the same for all hosts.

    `previous_records` has the published record of each host, `previous` what they have in common.
    `previous_pages` has the records of those common pages, for each host by number.
    """

    run: Run
    name: str
    source: Source
    previous_records: Sequence[SectionRecord]
    previous: SectionRecord
    previous_pages: Sequence[Mapping[int, PageRecord]]
    errors: SkippedItems
    costs: Costs

    @property
    def rows(self) -> RetriedSource:
        return RetriedSource(self.source, f"Section {self.name!r}")

    @property
    def suffix(self) -> Suffix:
        """Suffix of the section's files in this run."""
        return self.run.renderer.suffix(self.source)

    def outcomes(self, rows_on_page: int) -> list[SectionOutcome]:
        """Plan the pages, have them rendered, and return what is to be published for each host."""
        plan = self._plan(rows_on_page)
        if isinstance(self.source, PositionSource):
            self.run.listeners.plan({self.name: -(-self.source.count // rows_on_page)})
        is_forced = self.name in frozenset(self.run.options.force)
        arguments = self.name, self.rows, self.run.started, is_forced, self.suffix
        hosts = [
            Records(*arguments, previous, {number: records[number] for number in plan.previous_pages})
            for previous, records in zip(self.previous_records, self.previous_pages, strict=True)
        ]
        # The digest compiles the section's query, so it is not made for each page.
        declaration_digest = self.rows.declaration_digest
        is_same_declaration = self.previous.declaration_digest == declaration_digest
        with closing(self._render(plan, declaration_digest)) as results:
            for page, result in results:
                for index, host in enumerate(hosts):
                    if isinstance(result, KeptPage):
                        host.keep(page)
                    else:
                        fingerprint = _fingerprint_now(
                            page, result, plan, is_same_declaration=is_same_declaration
                        )
                        host.add(page, result.files[index], result.staged[index], fingerprint)
        moves = Moves(plan.closed_numbers, plan.split_numbers, plan.kept_numbers, plan.merged_count)
        highest = max(previous.highest for previous in self.previous_records)
        return [host.outcome(moves, highest) for host in hosts]

    def _plan(self, rows_on_page: int) -> Plan:
        """Return the plan of pages: the published ones and new ones after them, or all pages rebuilt."""
        rows, previous = self.rows, self.previous
        new_numbers = count(previous.highest + 1)
        if self.source.is_transient:
            # File names are reused: the entries of a transient section are gone soon in any case.
            records = {page.number: page for page in previous.pages}
            free_numbers = (number for number in count(1) if not self._is_taken(number))
            return Plan(pages.each_page(rows, rows_on_page, free_numbers), records)
        bounds = [page.until for page in previous.pages if page.until is not None]
        if not has_key_ranges(self.source) and (
            not rows.in_order(bounds)
            or self.run.options.rebalance
            or previous.has_key_ranges
            or len(bounds) + 1 < len(previous.pages)
        ):
            # Rows move from page to page here, so pages keep their numbers.
            records = {page.number: page for page in previous.pages}
            return Plan(pages.each_page(rows, rows_on_page, chain(records, new_numbers)), records)
        if (
            self.run.options.rebalance
            or not previous.pages
            or any(self._is_taken(page.number) for page in previous.pages)
            or previous.key_identity != rows.key_identity
            or not rows.in_order(bounds)
        ):
            return Plan(pages.each_page(rows, rows_on_page, new_numbers))
        plan, ranges = self._published_plan()
        *closed_pages, last_page = ranges
        if last_page.number in plan.kept_numbers:
            plan.pages = iter(ranges)
        else:
            last_pages = pages.each_page(
                rows, rows_on_page, chain([last_page.number], new_numbers), last_page.after
            )
            plan.pages = chain(closed_pages, last_pages)
        return plan

    def _is_taken(self, number: int) -> bool:
        """Return whether a file that is not ours has the name that a page would have."""
        file = page_name(self.name, number, self.suffix)
        return any(file in foreign_names for foreign_names in self.run.foreign_names)

    def _published_plan(self) -> tuple[Plan, list[Page]]:
        """Return the plan and the pages as they are published, without those that are merged away."""
        records = self.previous.pages
        # Pages of a paginator are not merged, since the next run would divide them again.
        max_merged = max(_MERGED, len(records) // _MERGED_PART) if has_key_ranges(self.source) else 0
        groups = pages.merge(records, sources.page_limits(self.source, conf.limits), max_merged)
        ranges: list[Page] = []
        after: Key | None = None
        for group in groups:
            ranges.append(Page(group[0].number, after, group[-1].until))
            after = group[-1].until
        first_records = {group[0].number: group[0] for group in groups}
        unmerged = {group[0].number: group[0] for group in groups if len(group) == 1}
        closed_numbers = frozenset(page.number for page in ranges[:-1])
        plan = Plan(
            iter(()), first_records, closed_numbers=closed_numbers, merged_count=len(records) - len(groups)
        )
        if (
            self.run.options.changed_only
            and self.source.can_fingerprint
            and self.previous.declaration_digest == self.rows.declaration_digest
        ):
            fingerprints = [(page, self._fingerprint(unmerged.get(page.number))) for page in ranges]
            changed = pages.find_changed(fingerprints, self.rows.fingerprint)
            plan.kept_numbers = frozenset(page.number for page in ranges if page.number not in changed)
            current = {page: changed.get(page.number) for page in ranges}
            plan.fingerprints = {
                page: fingerprint for page, fingerprint in current.items() if fingerprint is not None
            }
        return plan, ranges

    def _fingerprint(self, record: PageRecord | None) -> Fingerprint | None:
        """Return the published fingerprint of a page, or `None` if it must be rendered in any case."""
        fingerprint = None if record is None else record.fingerprint
        if record is None or fingerprint is None or self._is_hot(fingerprint):
            return None
        if None in self._digests(record.number) or any(
            records[record.number].fingerprint != fingerprint for records in self.previous_pages
        ):
            return None
        return fingerprint

    def _is_hot(self, fingerprint: Fingerprint) -> bool:
        """Return whether rows may still be committed that are not newer than the newest one."""
        if fingerprint.newest is None:
            return True
        hot_since = self.run.started - _HOT
        if "T" not in fingerprint.newest:
            # Dates are compared as dates, in the time zone where they are earliest.
            hot_since -= timedelta(hours=12)
        return fingerprint.newest >= w3c(hot_since, timezone.utc)[: len(fingerprint.newest)]

    def _digests(self, number: int) -> tuple[str | None, ...]:
        """Return the digest of a page's file on each host, without reading the file.

        It is `None` if the file is not listed, has another size, or has another suffix in this run.
        """
        file = page_name(self.name, number, self.suffix)
        digests = []
        for previous, records, names in zip(
            self.previous_records, self.previous_pages, self.run.names, strict=True
        ):
            record = records[number]
            is_there = file in names and names[file] in (None, record.size)
            digests.append(record.digest or None if is_there and previous.suffix == self.suffix else None)
        return tuple(digests)

    def _render(self, plan: Plan, declaration_digest: str) -> Generator[tuple[Page, Rendered | KeptPage]]:
        """Yield each page with its result."""
        run, source = self.run, self.source
        engine = run.engine if has_key_ranges(source) else None
        # In this process, the next page is read while a thread finishes the file of this one.
        local_results: deque[Callable[[], Rendered]] = deque(maxlen=2)
        # A crawler may have an index that names only such a page, so its file stays and is removed later.
        retired_numbers = plan.closed_numbers if has_key_ranges(source) else ()
        results = pages.render_all(
            plan.pages,
            partial(self._submit, plan, engine, local_results, declaration_digest),
            2 if engine is None else 2 * engine.workers,
            divide=plan.divide,
            retires=lambda page: page.number in retired_numbers,
            highest=0 if source.is_transient else self.previous.highest,
        )
        try:
            for page, rendered in results:
                if isinstance(rendered, Rendered):
                    self._check(page, rendered)
                    self.errors.add(rendered.errors)
                    self.costs.add(rendered.costs)
                    run.listeners.page(self.name, rendered.file)
                yield page, rendered
        except BaseException:
            # Wait for the threads of files, which must not write to a folder that is removed.
            for wait in local_results:
                with suppress(Exception):
                    wait()
            raise

    def _submit(
        self,
        plan: Plan,
        engine: Engine | None,
        local_results: deque[Callable[[], Rendered]],
        declaration_digest: str,
        page: Page,
    ) -> Callable[[], Rendered | KeptPage]:
        """Start to render a page, if it must be; return a function that waits for the result."""
        if page.number in plan.kept_numbers:
            return lambda: KeptPage(page.number)
        source = self.source
        task = Task(
            self.name,
            page,
            known=self._digests(page.number) if page.number in plan.previous_pages else (),
            fingerprint=self.run.options.changed_only
            and source.can_fingerprint
            and page not in plan.fingerprints,
            declaration_digest=declaration_digest,
            using=source.bare_rows.db if has_key_ranges(source) else None,
        )
        # A single page, whose range has no bounds, is not worth another process.
        if engine is not None and page.after != page.until:
            return engine.submit(self.run.renderer, task)
        local_results.append(self.run.renderer.render(source, task, self.run.stores))
        return local_results[-1]

    def _check(self, page: Page, rendered: Rendered) -> None:
        """Raise `ExportError` unless a worker's answer names the files that were requested.

        The answer decides what is published, and under which name.
        """
        name = page_name(self.name, page.number, self.suffix)
        answers = zip(self.run.renderer.targets, rendered.files, rendered.staged, strict=True)
        for target, file, staged in answers:
            prefix, separator, rest = staged.removeprefix(f"{target.stage}/").partition(name)
            if file.name != name or not separator or rest or _PREFIX.fullmatch(prefix) is None:
                raise ExportError(f"A worker answered with an invalid file for {name}: {staged!r}.")


def _fingerprint_now(
    page: Page, rendered: Rendered, plan: Plan, *, is_same_declaration: bool
) -> Fingerprint | None:
    """Return the fingerprint of a rendered page's rows, if the next run may rely on it."""
    if rendered.errors:
        return None
    fingerprint = rendered.file.fingerprint or plan.fingerprints.get(page)
    record = plan.previous_pages.get(page.number)
    is_unchanged = record is not None and record.digest == rendered.file.digest
    if fingerprint is None and record is not None and is_unchanged and is_same_declaration:
        return record.fingerprint
    return fingerprint
