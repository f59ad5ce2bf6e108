"""What an export did."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from django_sitemaps09.entries import ItemError
from django_sitemaps09.pages import Key

#: What became of robots.txt; `stale` where it would change, and nothing was to be written.
RobotsState = Literal["none", "unchanged", "written", "stale", "failed"]


@dataclass(frozen=True, slots=True)
class PageFile:
    """One rendered page: its range, what it holds, and what the file takes.

    `bytes` is before, `size` after compression; `digest` is of the former. `cut` is the last key it
    holds, where its limits did not admit the rest of its range.
    """

    name: str
    after: Key | None
    until: Key | None
    urls: int
    bytes: int
    size: int
    lastmod: str | None
    digest: str
    cut: Key | None


@dataclass(frozen=True, slots=True)
class SectionReport:
    """One section. `left_out` counts items and elements; `errors` names the first of them.

    `failure` says why nothing of it was published; what was published before stays. `hints` name what
    made it slow, and what to declare instead.
    """

    section: str
    files: Sequence[PageFile]
    seconds: float
    left_out: int = 0
    errors: Sequence[ItemError] = ()
    failure: str | None = None
    hints: Sequence[str] = ()

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
    """A whole run. `published` is false for a dry run, and where nothing may be published."""

    sections: Sequence[SectionReport]
    folder: Path
    index_url: str
    published: bool
    robots: RobotsState
    robots_path: Path | None
    warnings: Sequence[str]
    failures: Sequence[str]
    seconds: float

    @property
    def urls(self) -> int:
        return sum(section.urls for section in self.sections)

    def as_dict(self) -> dict[str, Any]:
        """The report as JSON has it."""
        found = asdict(self)
        found["folder"] = str(self.folder)
        found["robots_path"] = self.robots_path and str(self.robots_path)
        found["urls"] = self.urls
        for section, report in zip(found["sections"], self.sections, strict=True):
            section["errors"] = [error._asdict() for error in report.errors]
            section |= {"urls": report.urls, "bytes": report.bytes, "size": report.size}
        return found
