"""What an export did."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from django_sitemaps09.entries import ItemError
from django_sitemaps09.pages import Fingerprint, Key

#: What became of robots.txt; `stale` where it would change, and nothing was to be written.
RobotsState = Literal["none", "unchanged", "written", "stale", "failed"]


@dataclass(frozen=True, slots=True)
class PageFile:
    """One page: its range, what it holds, and what the file takes.

    `bytes` is before, `size` after compression; `digest` is of the former. `lastmod` is the newest one in
    it, if all have one. `cut` is the last key it holds, where its limits did not admit the rest of its
    range, and `middle` one about half way to it. `unchanged` says that the published file is the same.
    """

    name: str
    after: Key | None
    until: Key | None
    urls: int
    bytes: int
    size: int
    lastmod: str | None
    digest: str
    cut: Key | None = None
    middle: Key | None = None
    unchanged: bool = False
    fingerprint: Fingerprint | None = None


@dataclass(frozen=True, slots=True)
class SectionReport:
    """One section. `files` are all its pages; `left_out` counts items and elements of those rendered.

    Of its files so many were `written`, `unchanged`, and `removed` from the index; `skipped` are those of
    the unchanged ones that were not even rendered. So many pages were `split`, and `merged` away. `errors`
    names the first of what was left out. `failure` says why nothing of it was published; what was
    published before stays. `hints` name what made it slow, and what to declare instead.
    """

    section: str
    files: Sequence[PageFile]
    seconds: float
    left_out: int = 0
    errors: Sequence[ItemError] = ()
    failure: str | None = None
    hints: Sequence[str] = ()
    written: int = 0
    unchanged: int = 0
    skipped: int = 0
    removed: int = 0
    split: int = 0
    merged: int = 0

    @property
    def urls(self) -> int:
        return sum(file.urls for file in self.files)

    @property
    def bytes(self) -> int:
        return sum(file.bytes for file in self.files)

    @property
    def size(self) -> int:
        return sum(file.size for file in self.files)


@dataclass(frozen=True, slots=True)
class Report:
    """A whole run. `published` is false for a dry run, and where nothing may be published.

    `written` names the files that differ from what was published, in a dry run those that would;
    `deleted` those that no index has named for long enough.

    `folder` is the local one, `None` for a storage without a path; `target` names either. `memory` is the
    peak of this process and, apart from it, of its largest worker, in bytes; `None` where the system
    does not tell. `recovered` says that an earlier run had been killed while it published, and was
    finished first. `changes` counts URLs that were added, removed and changed, if that was asked for.
    """

    sections: Sequence[SectionReport]
    folder: Path | None
    target: str
    index_url: str
    published: bool
    robots: RobotsState
    robots_path: Path | None
    warnings: Sequence[str]
    failures: Sequence[str]
    seconds: float
    indexes: Sequence[str] = ()
    written: Sequence[str] = ()
    deleted: Sequence[str] = ()
    recovered: bool = False
    changes: Mapping[str, int] | None = None
    memory: int | None = None
    workers_memory: int | None = None

    @property
    def urls(self) -> int:
        return sum(section.urls for section in self.sections)

    def as_dict(self) -> dict[str, Any]:
        """The report as JSON has it."""
        found = asdict(self)
        found["folder"] = self.folder and str(self.folder)
        found["robots_path"] = self.robots_path and str(self.robots_path)
        found["urls"] = self.urls
        found["urls_per_second"] = round(self.urls / self.seconds) if self.seconds else None
        for section, report in zip(found["sections"], self.sections, strict=True):
            section["errors"] = [error._asdict() for error in report.errors]
            section |= {"urls": report.urls, "bytes": report.bytes, "size": report.size}
        return found
