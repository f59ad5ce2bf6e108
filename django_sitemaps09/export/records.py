"""What is noted, staged and reported of the pages of a section, for one host."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timezone
from typing import NamedTuple

from django_sitemaps09.export.published import page_name, page_names
from django_sitemaps09.export.report import PageFile, SectionReport
from django_sitemaps09.export.run import Outcome, Wanted
from django_sitemaps09.manifest import PageRecord, SectionRecord, Suffix
from django_sitemaps09.pages import Fingerprint, Page
from django_sitemaps09.protocol import past, w3c
from django_sitemaps09.sources import Source

#: What a section loses is measured against the most of so many seconds.
BASELINE = 7 * 24 * 3600


class Moves(NamedTuple):
    """What became of published pages: these are `closed`, or `split`, or `kept`; so many are merged."""

    closed: Collection[int]
    split: Collection[int]
    kept: Collection[int]
    merged: int


@dataclass(slots=True)
class Records:
    """One section of one host. `known` are its pages that keep their number, of which `before` is told."""

    name: str
    source: Source
    wanted: Wanted
    suffix: Suffix
    before: SectionRecord
    known: Mapping[int, PageRecord]
    pages: list[PageRecord] = field(default_factory=list)
    files: list[PageFile] = field(default_factory=list)
    staged: dict[str, str] = field(default_factory=dict)

    def keep(self, page: Page) -> None:
        """A page that was not rendered."""
        record = self.known[page.number]
        self.pages.append(record._replace(until=page.until))
        self.files.append(
            PageFile(
                name=page_name(self.name, page.number, self.before.suffix),
                after=page.after,
                until=page.until,
                urls=record.urls,
                bytes=record.bytes,
                size=record.size,
                lastmod=record.newest,
                digest=record.digest,
                unchanged=True,
            )
        )

    def add(self, page: Page, made: PageFile, staged: str, fingerprint: Fingerprint | None) -> None:
        """A page that was rendered; one without URLs is not written, and the next begins where it began."""
        if not made.urls:
            return
        record = self._record(page, made, fingerprint)
        self.pages.append(record)
        self.files.append(replace(made, size=record.size))
        if not made.unchanged:
            self.staged[made.name] = staged

    def _record(self, page: Page, made: PageFile, fingerprint: Fingerprint | None) -> PageRecord:
        old = self.known.get(page.number)
        same = old if old is not None and old.digest == made.digest else None
        changed: str | None = w3c(self.wanted.started, timezone.utc)
        if same is not None:
            changed = same.changed
        elif not any(known.digest for known in self.before.pages):
            # Nothing is known of a time before this one.
            changed = past(made.lastmod)
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

    def outcome(self, moves: Moves, highest: int) -> Outcome:
        """All of it; `highest` is the highest number that a page had before this run."""
        if self.pages:
            self.pages[-1] = self.pages[-1]._replace(until=None)
        after = SectionRecord(
            suffix=self.suffix,
            identity=self.source.identity,
            declared=self.source.declared,
            highest=max([highest, *(record.number for record in self.pages)]),
            counts=self._counts(),
            pages=tuple(self.pages),
        )
        names_before = set(page_names(self.name, self.before))
        report = SectionReport(
            self.name,
            tuple(self.files),
            0.0,
            written=len(self.staged),
            unchanged=len(self.files) - len(self.staged),
            skipped=len(moves.kept),
            removed=len(names_before.difference(page_names(self.name, after))),
            split=len(moves.split),
            merged=moves.merged,
        )
        # Where the open end has a closed page now, that one may also have been merged into it just before.
        ranged = self.before.identity is not None
        shrinks = {
            page_name(self.name, record.number, after.suffix)
            for record in self.pages
            if record.number in moves.split
            or (ranged and record.until is not None and record.number not in moves.closed)
        }
        return Outcome(report, after, self.staged, frozenset(shrinks & names_before))

    def _counts(self) -> tuple[tuple[float, int], ...]:
        """What the section is measured against the next time."""
        before, started = self.before, self.wanted.started.timestamp()
        if self.name in self.wanted.force:
            # What was right once is what comes is measured against, not what was before.
            return ()
        if not before.pages or sum(page.urls for page in self.pages) == before.urls:
            return before.counts
        counts = tuple(found for found in before.counts if found[0] >= started - BASELINE)
        return (*counts, (started, before.urls))


def common(befores: Sequence[SectionRecord]) -> tuple[SectionRecord, list[dict[int, PageRecord]]]:
    """What several hosts have of a section, as far as they have the same pages, and those by their numbers.

    Where they have others, all pages are cut anew, to numbers that none of them ever had.
    """
    first, *others = befores
    highest = max(record.highest for record in befores)
    if all(_cut_alike(first, other) for other in others):
        # Limits are those of the largest of them.
        several = zip(*(record.pages for record in befores), strict=True)
        pages = [some[0]._replace(bytes=max(page.bytes for page in some)) for some in several]
        known = [{page.number: page for page in record.pages} for record in befores]
        return replace(first, highest=highest, pages=tuple(pages)), known
    return SectionRecord(first.suffix, highest=highest), [{} for _ in befores]


def _cut_alike(first: SectionRecord, other: SectionRecord) -> bool:
    same = (first.identity, first.suffix, first.declared) == (other.identity, other.suffix, other.declared)
    return same and first.page_map() == other.page_map()
