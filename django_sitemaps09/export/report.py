"""Reports of exports and submissions."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, Literal, NamedTuple

from django_sitemaps09.exceptions import ExportRunningError
from django_sitemaps09.protocol.entries import ItemError
from django_sitemaps09.target.manifest import PageFile

try:
    import resource
except ImportError:  # on Windows
    resource = None  # type: ignore[assignment]

#: State of robots.txt; `stale` means that the file would change, but was not written.
RobotsState = Literal["none", "unchanged", "written", "stale", "failed"]
ChangeKind = Literal["added", "removed", "changed"]
#: `indexnow`: URLs that were added, changed or removed. `ping`: the URL of a sitemap that has changed.
#: `websub`: the URL of a feed that has changed.
MessageKind = Literal["indexnow", "ping", "websub"]
Verdict = Literal["accepted", "rejected", "pending"]
#: What a report calls the process of the export itself, among the workers.
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


@dataclass(slots=True)
class EndpointReport:
    """URLs of one host at one endpoint: how many it accepted and rejected, and how many are pending.

    `kind` is `indexnow` or `ping`. `endpoint` has no query, since that can contain a secret. `status` is
    the last HTTP status. `problem` says what failed. If URLs are pending because of a pause, `resumes`
    is its end, in seconds since 1970. `examples` has the first URLs in a dry run.
    """

    kind: MessageKind
    endpoint: str
    host: str
    accepted: int = 0
    rejected: int = 0
    pending: int = 0
    messages: int = 0
    status: int | None = None
    problem: str | None = None
    resumes: float | None = None
    examples: tuple[str, ...] = ()

    def count(self, verdict: Verdict, problem: str | None, urls: int) -> None:
        setattr(self, verdict, getattr(self, verdict) + urls)
        self.problem = problem or self.problem


@dataclass(frozen=True, slots=True)
class Submission:
    """Result of a submission for one target. `dropped` counts the oldest URLs beyond the limit.

    `damaged` names the messages that cannot be read, relative to the state folder. `unqueued` is true if
    changes were published but not queued. A dry run sends nothing, so all its URLs are pending.
    """

    target: str
    endpoints: Sequence[EndpointReport]
    seconds: float
    dropped: int = 0
    dry_run: bool = False
    damaged: tuple[str, ...] = ()
    unqueued: bool = False

    @property
    def failures(self) -> list[str]:
        """Messages about what was not accepted."""
        problems = [
            f"the message {name} in the state folder is damaged, so its URLs are not submitted. Remove the "
            "file."
            for name in self.damaged
        ]
        if self.dropped:
            text = f"URLs dropped, because more than INDEXNOW_MAX_URLS were pending: {self.dropped:,}."
            problems.insert(0, text)
        if self.unqueued:
            problems.append(
                "changes were published that could not be queued. The next export with --submit queues all "
                "URLs of their pages, except damaged ones: repair these with export_sitemaps --verify "
                "--repair."
            )
        return [
            *(f"{each.endpoint} ({each.host}): {each.problem}" for each in self.endpoints if each.problem),
            *(f"{self.target}: {problem}" for problem in problems),
        ]

    def as_dict(self) -> dict[str, Any]:
        """Return the result as a dict for JSON."""
        data = asdict(self)
        for report in data["endpoints"]:
            if resumes := report["resumes"]:
                report["resumes"] = datetime.fromtimestamp(resumes, timezone.utc).isoformat()
        return {**data, "failures": self.failures}


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
        data |= {name: data[name] and str(data[name]) for name in ("folder", "robots_path")}
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
    own = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * _UNIT
    workers = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * _UNIT
    return replace(report, memory=own, workers_memory=workers or None)
