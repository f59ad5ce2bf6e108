"""Verify published files, and repair them by an export that renders only the damaged pages."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields, replace
from typing import Any, NamedTuple

from django.core.exceptions import ImproperlyConfigured
from django.utils.asyncio import async_unsafe

from django_sitemaps09.export import options as opts
from django_sitemaps09.export.engines import available_cores
from django_sitemaps09.export.options import Host, VerifyHostsOptions, VerifyOptions, takes
from django_sitemaps09.export.publishing.file_checks import CheckedFile, CheckedFiles, check_files
from django_sitemaps09.export.report import Report
from django_sitemaps09.export.runs import run_exports


class DamagedFile(NamedTuple):
    """Published file that is damaged or missing. Only a page has a `section`.

    `repaired` is true if a repair has published the file again, or has removed it from the index.
    """

    name: str
    section: str
    problem: str
    repaired: bool = False


@dataclass(frozen=True, slots=True)
class Verification:
    """Result of verifying the published files of one host.

    `files` counts the files that were read, `urls` their URLs, and `bytes` their size before compression.
    `is_unfinished` is true while a run replaces files, and after it was killed while doing so. `repair` is
    the report of the export that repaired files or finished a killed run, `None` if none was needed.
    """

    target: str
    index_url: str
    files: int
    urls: int
    bytes: int
    damaged: Sequence[DamagedFile]
    is_unfinished: bool
    seconds: float
    repair: Report | None = None

    @property
    def failures(self) -> list[str]:
        """Messages about the files that are still damaged, and about failures of the repair."""
        damaged = [file for file in self.damaged if not file.repaired]
        failures = [f"{file.name} in {self.target} is damaged: {file.problem}." for file in damaged]
        return [*failures, *(self.repair.failures if self.repair else ())]

    def as_dict(self) -> dict[str, Any]:
        """Return the result as a dict for JSON."""
        damaged = [file._asdict() for file in self.damaged]
        repair = self.repair and self.repair.as_dict()
        return {**asdict(self), "damaged": damaged, "failures": self.failures, "repair": repair}


@async_unsafe
@takes(VerifyOptions)
def verify(options: VerifyOptions) -> Verification:
    """Read the published files back, and compare them with what the last export recorded.

    Check the pages of the named sections, or of all sections, and the indexes, the stylesheet and
    robots.txt. Nothing is written or locked, and an export can run meanwhile. `workers` is the number of
    threads. The other arguments are those of `export()`.

    With `repair`, an export then renders the pages that are damaged or missing and replaces them. It keeps
    all other pages as they are, except in sections whose declaration has changed or that have no key
    ranges. It also finishes a publication that was killed. If nothing is to be done, nothing is written.

    Raise `ExportError` if nothing is published, or if the manifest or the target cannot be read.
    """
    [verification] = _verify(options)
    return verification


@async_unsafe
@takes(VerifyHostsOptions)
def verify_hosts(options: VerifyHostsOptions) -> dict[str, Verification]:
    """Verify the files of several hosts, and return a result for each of the `base_urls`.

    The arguments are those of `verify()`, and the folders those of `export_hosts()`.
    """
    return dict(zip(options.base_urls, _verify(options), strict=True))


def _verify(options: VerifyOptions) -> list[Verification]:
    started = time.perf_counter()
    hosts = Host.resolve_all(options)
    if options.workers is not None and options.workers < 1:
        raise ImproperlyConfigured(f"A verification needs at least one worker, not {options.workers}.")
    workers = options.workers or available_cores()
    results = [check_files(host, workers) for host in hosts]
    damaged_hosts = [
        _to_repair(host, result)
        for host, result in zip(hosts, results, strict=True)
        if options.repair and (result.damaged or result.journal)
    ]
    repairs: dict[str, Report] = {}
    if damaged_hosts:
        shared = {each.name: getattr(options, each.name) for each in fields(opts.TargetOptions)}
        reports = run_exports(opts.ExportOptions(**shared), damaged_hosts)
        repairs = dict(zip((host.folder for host in damaged_hosts), reports, strict=True))
    verifications = []
    for host, result in zip(hosts, results, strict=True):
        report, files = repairs.get(host.folder), result.files
        if report is not None:
            # Read all files again.
            result = check_files(host, workers)
            files = {**files, **{name: file for name, file in result.damaged.items() if name not in files}}
        damaged = [_damaged_file(host, file, result) for file in files.values() if file.problem]
        verifications.append(
            Verification(
                host.store.label,
                host.index_url,
                files=len(files),
                urls=sum(file.urls for file in files.values()),
                bytes=sum(file.bytes for file in files.values()),
                damaged=damaged,
                is_unfinished=result.journal is not None,
                seconds=time.perf_counter() - started,
                repair=report,
            )
        )
    return verifications


def _to_repair(host: Host, result: CheckedFiles) -> Host:
    """Return the host with the sections and the files to repair."""
    names = {file.section for file in result.damaged.values()}
    # A run that was killed may have published pages that the manifest does not list yet.
    names.update(result.journal.sections if result.journal else ())
    chosen = {name: section for name, section in host.sections.items() if name in names}
    return replace(host, chosen=chosen, damaged=frozenset(result.damaged))


def _damaged_file(host: Host, file: CheckedFile, result: CheckedFiles) -> DamagedFile:
    """Return a file that was damaged. `result` says whether it still is."""
    problem, name = file.problem or "", file.section
    if name and name not in host.sections:
        # A repair cannot render the page.
        problem += f", and section {name!r} is no longer declared. To remove it, use --remove {name}"
    return DamagedFile(file.name, file.section, problem, file.name not in result.damaged)
