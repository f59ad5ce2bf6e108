"""Collect records, staged files and reports of a section's pages, for one host."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone
from typing import NamedTuple

from django_sitemaps09.export.rendering.retry import RetriedSource
from django_sitemaps09.export.rendering.run import SectionOutcome
from django_sitemaps09.export.report import PageFile, SectionReport
from django_sitemaps09.filenames import Suffix, page_name
from django_sitemaps09.manifest import PageRecord, SectionRecord
from django_sitemaps09.pages import Fingerprint, Key, Page
from django_sitemaps09.protocol import past, w3c

#: Seconds for which URL counts are kept; a section's loss is measured against the largest of them.
BASELINE = 7 * 24 * 3600


class Moves(NamedTuple):
    """Numbers of published pages that are `closed`, `split` or `kept`, and how many are `merged` away."""

    closed: Collection[int]
    split: Collection[int]
    kept: Collection[int]
    merged: int


def published_files(name: str, record: SectionRecord) -> list[PageFile]:
    """Return the files of a section as they are published."""
    bounds = [None, *(page.until for page in record.pages)]
    return [
        _published_file(name, record.suffix, page, after)
        for page, after in zip(record.pages, bounds, strict=False)
    ]


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


@dataclass(slots=True)
class Records:
    """Records of one section for one host.

    `before` is its published record, `known` has the published pages that keep their number.
    """

    name: str
    source: RetriedSource
    started: datetime
    is_forced: bool
    suffix: Suffix
    before: SectionRecord
    known: Mapping[int, PageRecord]
    pages: list[PageRecord] = field(default_factory=list)
    files: list[PageFile] = field(default_factory=list)
    staged: dict[str, str] = field(default_factory=dict)

    def keep(self, page: Page) -> None:
        """Add a page that was not rendered."""
        record = self.known[page.number]._replace(until=page.until)
        self.pages.append(record)
        self.files.append(_published_file(self.name, self.before.suffix, record, page.after))

    def add(self, page: Page, made: PageFile, staged: str, fingerprint: Fingerprint | None) -> None:
        """Add a rendered page; skip one without URLs, so that the next page begins where it began."""
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
        changed: str | None = w3c(self.started, timezone.utc)
        if same is not None:
            changed = same.changed
        elif not any(known.digest for known in self.before.pages):
            # Without an earlier digest, the time of the last change is not known.
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

    def outcome(self, moves: Moves, highest: int) -> SectionOutcome:
        """Return the outcome of the section; `highest` is the highest page number before this run."""
        if self.pages:
            self.pages[-1] = self.pages[-1]._replace(until=None)
        after = SectionRecord(
            suffix=self.suffix,
            key_identity=self.source.key_identity,
            declaration_digest=self.source.declaration_digest,
            highest=max([highest, *(record.number for record in self.pages)]),
            counts=self._counts(),
            pages=tuple(self.pages),
        )
        names_before = set(self.before.file_names(self.name))
        report = SectionReport(
            self.name,
            tuple(self.files),
            0.0,
            written=len(self.staged),
            unchanged=len(self.files) - len(self.staged),
            skipped=len(moves.kept),
            removed=len(names_before.difference(after.file_names(self.name))),
            split=len(moves.split),
            merged=moves.merged,
        )
        # If the open end is a closed page now, another page may also have been merged with it just before.
        ranged = self.before.has_key_ranges
        shrinks = {
            page_name(self.name, record.number, after.suffix)
            for record in self.pages
            if record.number in moves.split
            or (ranged and record.until is not None and record.number not in moves.closed)
        }
        return SectionOutcome(report, after, self.staged, frozenset(shrinks & names_before))

    def _counts(self) -> tuple[tuple[float, int], ...]:
        """Return the URL counts that the next run is measured against."""
        before, started = self.before, self.started.timestamp()
        if self.is_forced:
            # A forced result is the new baseline, so earlier counts are dropped.
            return ()
        if not before.pages or sum(page.urls for page in self.pages) == before.urls:
            return before.counts
        counts = tuple(found for found in before.counts if found[0] >= started - BASELINE)
        return (*counts, (started, before.urls))


def common(befores: Sequence[SectionRecord]) -> tuple[SectionRecord, list[dict[int, PageRecord]]]:
    """Return what several hosts' records of a section have in common, and each host's pages by number.

    If their pages differ, all pages are cut anew, with numbers that no host has ever used.
    """
    first, *others = befores
    highest = max(record.highest for record in befores)
    if all(_cut_alike(first, other) for other in others):
        # The largest of the hosts' files is compared with the limits.
        several = zip(*(record.pages for record in befores), strict=True)
        pages = [some[0]._replace(bytes=max(page.bytes for page in some)) for some in several]
        known = [{page.number: page for page in record.pages} for record in befores]
        return replace(first, highest=highest, pages=tuple(pages)), known
    return SectionRecord(first.suffix, highest=highest), [{} for _ in befores]


def _cut_alike(first: SectionRecord, other: SectionRecord) -> bool:
    same = (first.key_identity, first.suffix, first.declaration_digest) == (
        other.key_identity,
        other.suffix,
        other.declaration_digest,
    )
    return same and first.page_map() == other.page_map()
