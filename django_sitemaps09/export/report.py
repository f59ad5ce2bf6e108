"""Reports of an export, its sections and its files."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, NamedTuple

from django_sitemaps09.exceptions import ExportRunningError
from django_sitemaps09.export.notify import Submission
from django_sitemaps09.protocol import ItemError
from django_sitemaps09.target.manifest import PageFile

try:
    import resource
except ImportError:
    # Windows does not have this module.
    resource = None  # type: ignore[assignment]

#: State of robots.txt; `stale` means that the file would change, but was not written.
RobotsState = Literal["none", "unchanged", "written", "stale", "failed"]
ChangeKind = Literal["added", "removed", "changed"]
#: What a report calls the process of the export itself, among the workers that have rendered pages.
THIS_PROCESS = "the export itself"
# Linux counts in units of 1,024 bytes, macOS in bytes.
_UNIT = 1 if sys.platform == "darwin" else 1024


@dataclass(frozen=True, slots=True)
class SectionReport:
    """Result of one section.

    `files` has all its pages. `skipped_items` and `skipped_elements` count what was skipped on rendered
    pages; `errors` has the first errors. `written` and `unchanged` count files, `removed` files that were
    removed from the index. If nothing was published, these fields count what would have changed.
    `skipped` counts unchanged pages that were not rendered, `split` and `merged` pages that were split or
    merged away.

    `failure` says why nothing of the section was published. In this case, the published files are kept, and
    `files` lists them. `hints` say what made the section slow, and what to declare instead. `ignored_keys`
    are the first five keys in the dicts of `get_urls()` that exports do not write. `rendered_by` counts the
    rendered pages by the worker of a queue that rendered them, and by `THIS_PROCESS`.
    """

    section: str
    files: Sequence[PageFile]
    seconds: float
    skipped_items: int = 0
    skipped_elements: int = 0
    errors: Sequence[ItemError] = ()
    failure: str | None = None
    hints: Sequence[str] = ()
    ignored_keys: Sequence[str] = ()
    written: int = 0
    unchanged: int = 0
    skipped: int = 0
    removed: int = 0
    split: int = 0
    merged: int = 0
    rendered_by: Mapping[str, int] = field(default_factory=dict)

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
    """Result of a run. `published` is false in a dry run, and if nothing could be published.

    `written` lists the files that differ from the published ones; a dry run does not write them. `deleted`
    lists files that were deleted because no index had listed them for long enough. `folder` is the local
    folder, `None` for a storage without a path; `target` describes the folder or the storage. `recovered`
    is true if an earlier run had been killed while publishing, and was finished first. `changes` counts the
    URLs that were added, removed and changed, if requested. `submission` is the result of submitting them,
    `None` if that was not requested or not possible. `memory` is the peak memory of this process in
    bytes, `workers_memory` that of its largest finished child; `None` if unknown. `is_busy` is true if
    nothing was done, because another export is writing to the same target.
    """

    sections: Sequence[SectionReport]
    folder: Path | None
    target: str
    index_url: str
    published: bool = False
    robots: RobotsState = "none"
    robots_path: Path | None = None
    warnings: Sequence[str] = ()
    failures: Sequence[str] = ()
    seconds: float = 0.0
    indexes: Sequence[str] = ()
    written: Sequence[str] = ()
    deleted: Sequence[str] = ()
    recovered: bool = False
    changes: Mapping[str, int] | None = None
    memory: int | None = None
    workers_memory: int | None = None
    dry_run: bool = False
    submission: Submission | None = None
    is_busy: bool = False

    @property
    def urls(self) -> int:
        return sum(section.urls for section in self.sections)

    @property
    def rendered_by(self) -> Mapping[str, int]:
        """The number of rendered pages by who rendered them, as in the reports of sections."""
        return sum((Counter(section.rendered_by) for section in self.sections), Counter())

    @property
    def exit_status(self) -> int:
        """Exit status of the command: 0, 1 after a failure, or 75 if another export is running."""
        return 0 if not self.failures else ExportRunningError.exit_status if self.is_busy else 1

    def as_dict(self) -> dict[str, Any]:
        """Return the report as a dict for JSON."""
        data = asdict(self)
        data["folder"] = self.folder and str(self.folder)
        data["robots_path"] = self.robots_path and str(self.robots_path)
        data |= {"urls": self.urls, "rendered_by": dict(self.rendered_by), "exit_status": self.exit_status}
        data["submission"] = self.submission and self.submission.as_dict()
        data["urls_per_second"] = round(self.urls / self.seconds) if self.seconds else None
        for section, report in zip(data["sections"], self.sections, strict=True):
            section["errors"] = [error._asdict() for error in report.errors]
            section |= {"urls": report.urls, "bytes": report.bytes, "size": report.size}
        return data


class UrlChange(NamedTuple):
    """URL that was added or removed, or whose lastmod or any other element has changed."""

    kind: ChangeKind
    section: str
    url: str


@dataclass(frozen=True, slots=True)
class Published:
    """Changes made by an export: its report and the URLs of files.

    `written` has new and changed pages and indexes, `removed` has the files that no index lists any more.
    `urls` yields the changes to single URLs. It can be called repeatedly until the callback and all
    receivers have returned. It is `None` unless changes were requested.
    """

    report: Report
    written: Sequence[str]
    removed: Sequence[str]
    urls: Callable[[], Iterator[UrlChange]] | None = None


def exit_status(reports: Iterable[Report]) -> int:
    """Return the exit status of several exports: 75 only if nothing else failed."""
    statuses = {report.exit_status for report in reports}
    return 1 if 1 in statuses else max(statuses, default=0)


def with_peaks(report: Report) -> Report:
    """Return the report with the peak memory until now, if the system tells it."""
    if resource is None:
        return report
    own, children = map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    workers_memory = children.ru_maxrss * _UNIT or None
    return replace(report, memory=own.ru_maxrss * _UNIT, workers_memory=workers_memory)
