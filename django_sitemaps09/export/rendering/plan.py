"""Plan the pages of a section: which exist, which are rendered anew, and what is published next."""

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
from django_sitemaps09.export.engines import Engine
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


class Kept(NamedTuple):
    """Page that was not rendered because its rows have not changed."""

    number: int

    @property
    def cut(self) -> None:
        return None


@dataclass(slots=True)
class Plan:
    """Pages of a section before they are rendered.

    `pages` yields all of them in order. `known` has the records of those that are published under their
    number. Of these, `closed` pages can be halved, and `kept` pages are not even rendered. `fingerprints`
    has those that were read in this run. `split` is filled while pages are rendered.
    """

    pages: Iterator[Page]
    known: dict[int, PageRecord] = field(default_factory=dict)
    closed: frozenset[int] = frozenset()
    kept: frozenset[int] = frozenset()
    fingerprints: dict[Page, Fingerprint] = field(default_factory=dict)
    merged: int = 0
    split: set[int] = field(default_factory=set)

    def divide(self, page: Page, rendered: Rendered | Kept) -> Key | None:
        """Record that a page is split, and return the last key of its first part."""
        self.split.add(page.number)
        if isinstance(rendered, Rendered) and page.number in self.closed:
            return rendered.file.middle
        return rendered.cut


class SectionPages(NamedTuple):
    """Pages of one section in one run, the same for all hosts.

    `befores` has the published record of each host, `before` what they have in common. `known` has the
    records of those common pages, for each host by number.
    """

    run: Run
    name: str
    source: Source
    befores: Sequence[SectionRecord]
    before: SectionRecord
    known: Sequence[Mapping[int, PageRecord]]
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
        plan = self._planned(rows_on_page)
        if isinstance(self.source, PositionSource):
            self.run.listeners.plan({self.name: -(-self.source.count // rows_on_page)})
        is_forced = self.name in self.run.options.force
        about = self.name, self.rows, self.run.started, is_forced, self.suffix
        hosts = [
            Records(*about, before, {number: known[number] for number in plan.known})
            for before, known in zip(self.befores, self.known, strict=True)
        ]
        with closing(self._rendered(plan)) as rendered:
            for page, made in rendered:
                for place, host in enumerate(hosts):
                    if isinstance(made, Kept):
                        host.keep(page)
                    else:
                        fingerprint = self._fingerprint_now(page, made, plan)
                        host.add(page, made.files[place], made.staged[place], fingerprint)
        moves = Moves(plan.closed, plan.split, plan.kept, plan.merged)
        highest = max(before.highest for before in self.befores)
        return [host.outcome(moves, highest) for host in hosts]

    def _fingerprint_now(self, page: Page, made: Rendered, plan: Plan) -> Fingerprint | None:
        """Return the fingerprint of a rendered page's rows, if the next run may rely on it."""
        found = made.file.fingerprint or plan.fingerprints.get(page)
        old = plan.known.get(page.number)
        same = old is not None and old.digest == made.file.digest
        if (
            found is None
            and old is not None
            and same
            and self.before.declaration_digest == self.rows.declaration_digest
        ):
            found = old.fingerprint
        return None if made.errors else found

    def _planned(self, rows_on_page: int) -> Plan:
        """Return the plan of pages: the published ones and new ones after them, or all cut anew."""
        rows, before = self.rows, self.before
        fresh = count(before.highest + 1)
        if self.source.is_transient:
            # File names are reused: the entries of a transient section are gone soon in any case.
            known = {page.number: page for page in before.pages}
            free = (number for number in count(1) if not self._is_taken(number))
            return Plan(pages.each_page(rows, rows_on_page, free), known)
        bounds = [page.until for page in before.pages if page.until is not None]
        if not has_key_ranges(self.source) and (
            not rows.in_order(bounds)
            or self.run.options.rebalance
            or before.has_key_ranges
            or len(bounds) + 1 < len(before.pages)
        ):
            # Rows move from page to page here, so pages keep their numbers.
            known = {page.number: page for page in before.pages}
            return Plan(pages.each_page(rows, rows_on_page, chain(known, fresh)), known)
        if (
            self.run.options.rebalance
            or not before.pages
            or any(self._is_taken(page.number) for page in before.pages)
            or before.key_identity != rows.key_identity
            or not rows.in_order(bounds)
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

    def _is_taken(self, number: int) -> bool:
        """Return whether a file that is not ours has the name that a page would have."""
        file = page_name(self.name, number, self.suffix)
        return any(file in taken for taken in self.run.taken)

    def _as_published(self) -> tuple[Plan, list[Page]]:
        """Return the plan and the pages as they are published, without those that are merged away."""
        before = self.before.pages
        # Pages of a paginator are not merged, since the next run would divide them again.
        most = max(_MERGED, len(before) // _MERGED_PART) if has_key_ranges(self.source) else 0
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
            self.run.options.changed_only
            and self.source.can_fingerprint
            and self.before.declaration_digest == self.rows.declaration_digest
        ):
            fingerprints = [(page, self._fingerprint(alone.get(page.number))) for page in ranges]
            changed = pages.changed(fingerprints, self.rows.fingerprint)
            plan.kept = frozenset(page.number for page in ranges if page.number not in changed)
            read = {page: changed.get(page.number) for page in ranges}
            plan.fingerprints = {page: found for page, found in read.items() if found is not None}
        return plan, ranges

    def _fingerprint(self, record: PageRecord | None) -> Fingerprint | None:
        """Return the published fingerprint of a page, or `None` if it must be rendered in any case."""
        found = None if record is None else record.fingerprint
        if record is None or found is None or self._is_hot(found):
            return None
        if None in self._digests(record.number) or any(
            known[record.number].fingerprint != found for known in self.known
        ):
            return None
        return found

    def _is_hot(self, found: Fingerprint) -> bool:
        """Return whether rows may still be committed that are not newer than the newest one."""
        if found.newest is None:
            return True
        since = self.run.started - _HOT
        if "T" not in found.newest:
            # Dates are compared as dates, in the time zone where they are earliest.
            since -= timedelta(hours=12)
        return found.newest >= w3c(since, timezone.utc)[: len(found.newest)]

    def _digests(self, number: int) -> tuple[str | None, ...]:
        """Return the digest of a page's file on each host, without reading the file.

        It is `None` if the file is not listed, has another size, or has another suffix in this run.
        """
        file = page_name(self.name, number, self.suffix)
        found = []
        for before, known, names in zip(self.befores, self.known, self.run.names, strict=True):
            record = known[number]
            is_there = file in names and names[file] in (None, record.size)
            found.append(record.digest or None if is_there and before.suffix == self.suffix else None)
        return tuple(found)

    def _rendered(self, plan: Plan) -> Generator[tuple[Page, Rendered | Kept]]:
        """Yield each page with its result."""
        run, source = self.run, self.source
        engine = run.engine if has_key_ranges(source) else None
        # In this process, the next page is read while a thread finishes the file of this one.
        here: deque[Callable[[], Rendered]] = deque(maxlen=2)
        # A crawler may have an index that names only such a page, so its file stays and is removed later.
        ranged = plan.closed if has_key_ranges(source) else ()
        made = pages.render_all(
            plan.pages,
            partial(self._submit, plan, engine, here, self.rows.declaration_digest),
            2 if engine is None else 2 * engine.workers,
            divide=plan.divide,
            retires=lambda page: page.number in ranged,
            highest=0 if source.is_transient else self.before.highest,
        )
        try:
            for page, rendered in made:
                if isinstance(rendered, Rendered):
                    self._check(page, rendered)
                    self.errors.add(rendered.errors)
                    self.costs.add(rendered.costs)
                    run.listeners.page(self.name, rendered.file)
                yield page, rendered
        except BaseException:
            # Wait for the threads of files, which must not write to a folder that is removed.
            for ended in here:
                with suppress(Exception):
                    ended()
            raise

    def _submit(
        self,
        plan: Plan,
        engine: Engine | None,
        here: deque[Callable[[], Rendered]],
        declaration_digest: str,
        page: Page,
    ) -> Callable[[], Rendered | Kept]:
        """Start to render a page, if it must be; return a function that waits for the result."""
        if page.number in plan.kept:
            return lambda: Kept(page.number)
        source = self.source
        task = Task(
            self.name,
            page,
            known=self._digests(page.number) if page.number in plan.known else (),
            fingerprint=self.run.options.changed_only
            and source.can_fingerprint
            and page not in plan.fingerprints,
            declaration_digest=declaration_digest,
            using=source.bare.db if has_key_ranges(source) else None,
        )
        # A single page, whose range has no bounds, is not worth another process.
        if engine is not None and page.after != page.until:
            return engine.begin(self.run.renderer, task)
        here.append(self.run.renderer.page(source, task, self.run.stores))
        return here[-1]

    def _check(self, page: Page, rendered: Rendered) -> None:
        """Raise `ExportError` unless a worker's answer names the files that were requested.

        The answer decides what is published, and under which name.
        """
        name = page_name(self.name, page.number, self.suffix)
        answers = zip(self.run.renderer.targets, rendered.files, rendered.staged, strict=True)
        for target, file, staged in answers:
            prefix, found, rest = staged.removeprefix(f"{target.stage}/").partition(name)
            if file.name != name or not found or rest or _PREFIX.fullmatch(prefix) is None:
                raise ExportError(f"A worker answered with {staged!r} for {name}.")
