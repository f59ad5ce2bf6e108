"""The pages of a section: which there are, which of them are made anew, and what is published next."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta, timezone
from itertools import chain, count
from typing import NamedTuple

from django_sitemaps09 import pages, sources
from django_sitemaps09.conf import conf
from django_sitemaps09.exceptions import ExportError
from django_sitemaps09.export.left_out import LeftOut
from django_sitemaps09.export.published import page_name
from django_sitemaps09.export.records import Moves, Records
from django_sitemaps09.export.render import Rendered, Task, twice
from django_sitemaps09.export.run import Outcome, Run
from django_sitemaps09.manifest import PageRecord, SectionRecord, Suffix
from django_sitemaps09.pages import Fingerprint, Key, Page
from django_sitemaps09.protocol import w3c
from django_sitemaps09.sources import QuerySource, Source
from django_sitemaps09.sources.costs import Costs

# Pages that are merged away in one run: a part of all, and at least so many.
_MERGED_PART, _MERGED = 10, 4
# A transaction that is open for longer than this can bring rows that are older than what was seen.
_HOT = timedelta(minutes=10)
# What stands before the name of a staged file.
_PREFIX = re.compile(r"(?:[0-9a-f]{8}-)?")


class Kept(NamedTuple):
    """A page whose rows are what they were: nothing was rendered."""

    number: int

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
    """The pages of one section in one run, the same for all hosts. `befores` is what each has of them.

    `before` is what they have in common, `known` the records of these pages, of each host by number.
    """

    run: Run
    name: str
    source: Source
    befores: Sequence[SectionRecord]
    before: SectionRecord
    known: Sequence[Mapping[int, PageRecord]]
    errors: LeftOut
    costs: Costs

    @property
    def suffix(self) -> Suffix:
        """Of the files of this run."""
        return self.run.renderer.suffix(self.source)

    def outcomes(self, rows_on_page: int) -> list[Outcome]:
        """Plans them, has them rendered, and says what is to be published for each host."""
        plan = self._planned(rows_on_page)
        about = self.name, self.source, self.run.wanted, self.suffix
        hosts = [
            Records(*about, before, {number: known[number] for number in plan.known})
            for before, known in zip(self.befores, self.known, strict=True)
        ]
        for page, made in self._rendered(plan):
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
        """That of the rows of a page that was rendered, if the next run may go by it."""
        found = made.file.fingerprint or plan.fingerprints.get(page)
        old = plan.known.get(page.number)
        same = old is not None and old.digest == made.file.digest
        if found is None and old is not None and same and self.before.declared == self.source.declared:
            found = old.fingerprint
        return None if made.errors or self._came_too_soon(found) else found

    def _planned(self, rows_on_page: int) -> Plan:
        """The pages: those that are published, and new ones behind them, or all of them new."""
        rows, before = Patient(self.source, f"Section {self.name!r}"), self.before
        fresh = count(before.highest + 1)
        if self.source.fleeting:
            # Files that are updated, and not multiplied: what was in them is gone soon in any case.
            known = {page.number: page for page in before.pages}
            free = (number for number in count(1) if not self._is_taken(number))
            return Plan(pages.each_page(rows, rows_on_page, free), known)
        bounds = [page.until for page in before.pages if page.until is not None]
        if self.source.identity is None and (
            not self.source.in_order(bounds)
            or self.run.wanted.rebalance
            or before.identity is not None
            or len(bounds) + 1 < len(before.pages)
        ):
            # What is on which page moves: pages keep their numbers.
            known = {page.number: page for page in before.pages}
            return Plan(pages.each_page(rows, rows_on_page, chain(known, fresh)), known)
        if (
            self.run.wanted.rebalance
            or not before.pages
            or any(self._is_taken(page.number) for page in before.pages)
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

    def _is_taken(self, number: int) -> bool:
        """Whether somebody else has a file of the name that a page would have."""
        file = page_name(self.name, number, self.suffix)
        return any(file in taken for taken in self.run.taken)

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
        if record is None or found is None or self._is_hot(found):
            return None
        if None in self._digests(record.number) or any(
            known[record.number].fingerprint != found for known in self.known
        ):
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

    def _digests(self, number: int) -> tuple[str | None, ...]:
        """Those of a page's files, as far as these are told to be there without reading them."""
        file = page_name(self.name, number, self.suffix)
        found = []
        for before, known, names in zip(self.befores, self.known, self.run.names, strict=True):
            record = known[number]
            is_there = file in names and names[file] in (None, record.size)
            found.append(record.digest or None if is_there and before.suffix == self.suffix else None)
        return tuple(found)

    def _rendered(self, plan: Plan) -> Iterator[tuple[Page, Rendered | Kept]]:
        """Each page with what was made of it."""
        run, source = self.run, self.source
        elsewhere = run.engine if isinstance(source, QuerySource) else None
        fingerprints = run.wanted.changed_only and source.skippable
        declared = source.declared

        def begin(page: Page) -> Callable[[], Rendered | Kept]:
            if page.number in plan.kept:
                return lambda: Kept(page.number)
            known = self._digests(page.number) if page.number in plan.known else ()
            wanted = fingerprints and page not in plan.fingerprints
            task = Task(self.name, page, known, wanted, declared)
            if elsewhere is None or page.after == page.until:
                # The only page, from no key to none, is not worth a process.
                return run.renderer.page(source, task, run.stores)
            return elsewhere.begin(run.renderer, task)

        def divide(page: Page, rendered: Rendered | Kept) -> Key | None:
            plan.split.add(page.number)
            if isinstance(rendered, Rendered) and page.number in plan.closed:
                return rendered.file.middle
            return rendered.cut

        # Here the next page is read while the thread of this one's file ends it.
        ahead = 2 if elsewhere is None else 2 * elsewhere.workers
        highest = 0 if source.fleeting else self.before.highest
        made = pages.render_all(plan.pages, begin, ahead, divide=divide, highest=highest)
        for page, rendered in made:
            if isinstance(rendered, Rendered):
                self._check(page, rendered)
                self.errors.add(rendered.errors)
                self.costs.add(rendered.costs)
                run.progress(self.name, rendered.file)
            yield page, rendered

    def _check(self, page: Page, rendered: Rendered) -> None:
        """What a worker answers decides what is published under which name: no other than it was told."""
        name = page_name(self.name, page.number, self.suffix)
        answers = zip(self.run.renderer.targets, rendered.files, rendered.staged, strict=True)
        for target, file, staged in answers:
            prefix, found, rest = staged.removeprefix(f"{target.stage}/").partition(name)
            if file.name != name or not found or rest or _PREFIX.fullmatch(prefix) is None:
                raise ExportError(f"A worker answered with {staged!r} for {name}.")


class Patient(NamedTuple):
    """Rows whose database may be gone for a moment."""

    rows: Source
    what: str

    def is_empty(self) -> bool:
        return twice(self.rows.is_empty, self.what)

    def jump(self, after: Key | None, count: int) -> Key | None:
        return twice(lambda: self.rows.jump(after, count), self.what)
