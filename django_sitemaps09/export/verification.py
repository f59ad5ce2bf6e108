"""Verify published files without a lock, and repair them by an export of only the damaged pages."""

from __future__ import annotations

import copy
import threading
import time
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, fields, replace
from hashlib import sha256
from typing import Any, NamedTuple

from django.core.exceptions import ImproperlyConfigured
from django.utils.asyncio import async_unsafe

from django_sitemaps09.exceptions import ExportError, UnreadableError
from django_sitemaps09.export import options as opts
from django_sitemaps09.export.engines import available_cores
from django_sitemaps09.export.exports import run_exports
from django_sitemaps09.export.host import Host
from django_sitemaps09.export.options import VerifyHostsOptions, VerifyOptions, takes
from django_sitemaps09.export.publishing.index_files import published_entries
from django_sitemaps09.export.publishing.robots_files import Robots
from django_sitemaps09.export.report import Report
from django_sitemaps09.protocol.documents import index_document, stylesheet
from django_sitemaps09.protocol.fields import reason_of
from django_sitemaps09.protocol.filenames import STYLESHEET
from django_sitemaps09.target import manifest as manifests
from django_sitemaps09.target.journal import Journal, check_owner, read_journal
from django_sitemaps09.target.local import LocalStore
from django_sitemaps09.target.previous import check_site, is_our_stylesheet
from django_sitemaps09.target.published import MISSING, CheckedFile, ExpectedFile, check_file

# Maximum number of further attempts to read files that exports replace meanwhile.
_ATTEMPTS = 10


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


class _CheckedFiles(NamedTuple):
    """Files by name, and the journal of a run that is replacing them."""

    files: Mapping[str, CheckedFile]
    journal: Journal | None

    @property
    def damaged(self) -> dict[str, CheckedFile]:
        return {name: file for name, file in self.files.items() if file.problem is not None}


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
    results = [_check_files(host, workers) for host in hosts]
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
            result = _check_files(host, workers)
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


def _to_repair(host: Host, result: _CheckedFiles) -> Host:
    """Return the host with the sections and the files to repair."""
    names = {file.section for file in result.damaged.values()}
    # A run that was killed may have published pages that the manifest does not list yet.
    names.update(result.journal.sections if result.journal else ())
    chosen = {name: section for name, section in host.sections.items() if name in names}
    return replace(host, chosen=chosen, damaged=frozenset(result.damaged))


def _damaged_file(host: Host, file: CheckedFile, result: _CheckedFiles) -> DamagedFile:
    """Return a file that was damaged. `result` says whether it still is."""
    problem, name = file.problem or "", file.section
    if name and name not in host.sections:
        # A repair cannot render the page.
        problem += f", and section {name!r} is no longer declared. To remove it, use --remove {name}"
    return DamagedFile(file.name, file.section, problem, file.name not in result.damaged)


def _check_files(host: Host, workers: int) -> _CheckedFiles:
    """Check the pages of the chosen sections, the indexes, the stylesheet and robots.txt of a host.

    A file that seems to be damaged may have been replaced while it was read. So it is read again if a run
    has published files meanwhile. Raise `ExportError` if no manifest can be used.
    """
    state = _read_state(host)
    checked = _check(host, workers, *state)
    for _ in range(_ATTEMPTS):
        damaged = checked.damaged
        if not damaged or (current := _read_state(host)) == state:
            break
        state = current
        intact = {name: file for name, file in checked.files.items() if name not in damaged}
        checked = _check(host, workers, *state, damaged)
        checked = checked._replace(files={**intact, **checked.files})
    return checked


def _read_state(host: Host) -> tuple[manifests.Manifest, Journal | None]:
    """Return the manifest, and the journal of a run that is replacing files."""
    store, state = host.store, host.state
    check_owner(store, state)
    # Read the journal first. If a run ends between the two reads, the manifest already lists its files.
    journal = read_journal(state)
    try:
        try:
            manifest = manifests.read(state)
        except UnreadableError:
            # Two exports may end after the root is read, and remove the files that it lists. Try twice.
            manifest = manifests.read(state)
    except UnreadableError as error:
        raise UnreadableError(
            f"{error}. Without it, the published files cannot be verified. Run an export without --verify, "
            "which rebuilds all pages."
        ) from error
    if manifest is None:
        raise ExportError(
            f"{store.label} has no manifest of an export, so its files cannot be verified. Export first."
        )
    check_site(store, state, manifest, host.site)
    return manifest, journal


def _check(
    host: Host,
    workers: int,
    manifest: manifests.Manifest,
    journal: Journal | None,
    names: Collection[str] | None = None,
) -> _CheckedFiles:
    """Compare the files, or those with these names, with what they should be in this state."""
    existing_names, local = host.store.names(), threading.local()

    def begin() -> None:
        # Each thread has a store with connections of its own.
        local.store = copy.copy(host.store)

    def check(file: ExpectedFile) -> CheckedFile:
        if file.name not in existing_names:
            return CheckedFile(file.name, file.section, problem=MISSING)
        if file.name == STYLESHEET and not is_our_stylesheet(local.store):
            # The project has replaced it with its own stylesheet.
            return CheckedFile(file.name)
        try:
            return check_file(local.store, file)
        except OSError as error:
            if not isinstance(host.store, LocalStore):
                raise
            return CheckedFile(file.name, file.section, problem=f"it cannot be read ({reason_of(error)})")

    expected = [
        file
        for file in _expected_files(manifest, journal)
        if (host.is_whole or not file.section or file.section in host.chosen)
        and (names is None or file.name in names)
    ]
    # Decompressing and hashing release the GIL, and so does waiting for a storage.
    with ThreadPoolExecutor(workers, "sitemap-verify", begin) as pool:
        files = {file.name: file for file in pool.map(check, expected)}
    path = None if host.robots is None else str(host.robots)
    # While a run replaces files, it may also be updating robots.txt.
    if path and manifest.indexes and journal is None and (names is None or path in names):
        robots = Robots(host, manifest.indexes, feeds=manifest.feeds)
        robots.update(write=False)
        problem = None
        if robots.state != "unchanged":
            problem = robots.problem.removesuffix(".") or f"it does not list {', '.join(robots.lines)}"
        files[path] = CheckedFile(path, problem=problem)
    return _CheckedFiles(files, journal)


def _expected_files(manifest: manifests.Manifest, journal: Journal | None) -> Iterator[ExpectedFile]:
    """Yield the files of a manifest. While a run replaces them, each can be from that run or older."""
    new_digests: dict[str, set[str]] = defaultdict(set)
    for step in journal.steps if journal else ():
        new_digests[step.name].add(step.digest)
    documents = {
        name: [index_document(entries, styled=styled) for styled in (False, True)]
        for name, entries in published_entries(manifest).items()
    }
    documents |= {name: [stylesheet()] for name in manifest.stylesheets}
    for name, contents in documents.items():
        digests = {sha256(content).hexdigest() for content in contents}
        yield ExpectedFile(name, frozenset(digests | new_digests[name]))
    for name, digest in manifest.feeds.items():
        yield ExpectedFile(name, frozenset({digest} | new_digests[name]))
    for section, record in manifest.sections.items():
        for page in record.pages:
            # A page that was adopted from a published index has no digest.
            page_digests = frozenset(filter(None, {page.digest, *new_digests[page.name]}))
            urls = None if new_digests[page.name] else page.urls
            yield ExpectedFile(page.name, page_digests, section, urls, page.bytes)
