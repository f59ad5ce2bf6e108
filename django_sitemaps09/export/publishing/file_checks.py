"""Read published files back and compare them with the manifest, without a lock and without writing."""

from __future__ import annotations

import copy
import threading
import zlib
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
from typing import BinaryIO, NamedTuple

from django_sitemaps09 import protocol
from django_sitemaps09.exceptions import ExportError, UnreadableError
from django_sitemaps09.export.options import Host
from django_sitemaps09.export.publishing.index_files import published_entries
from django_sitemaps09.export.publishing.robots_files import Robots
from django_sitemaps09.protocol import excerpt, pluralize, reason_of
from django_sitemaps09.protocol.compression import GZIP_MAGIC, decompress
from django_sitemaps09.protocol.filenames import STYLESHEET
from django_sitemaps09.target import LocalStore, Store, manifest as manifests
from django_sitemaps09.target.journal import Journal, check_owner, read_journal
from django_sitemaps09.target.local import name_errors
from django_sitemaps09.target.manifest import Manifest
from django_sitemaps09.target.previous import check_site, is_our_stylesheet

# Maximum number of further attempts to read files that exports replace meanwhile.
_ATTEMPTS = 10
_MISSING = "it is missing, or is not a regular file"


class ExpectedFile(NamedTuple):
    """File whose uncompressed content must have one of the `digests`. Only a page has a `section`."""

    name: str
    digests: frozenset[str]
    section: str = ""
    urls: int | None = None
    bytes: int | None = None


class CheckedFile(NamedTuple):
    """File that was read back, with its uncompressed size in `bytes`."""

    name: str
    section: str = ""
    urls: int = 0
    bytes: int = 0
    problem: str | None = None


class CheckedFiles(NamedTuple):
    """Files by name, and the journal of a run that is replacing them."""

    files: Mapping[str, CheckedFile]
    journal: Journal | None

    @property
    def damaged(self) -> dict[str, CheckedFile]:
        return {name: file for name, file in self.files.items() if file.problem is not None}


def _expected_files(manifest: Manifest, journal: Journal | None) -> Iterator[ExpectedFile]:
    """Yield the files of a manifest. While a run replaces them, each can be from that run or older."""
    new_digests: dict[str, set[str]] = defaultdict(set)
    for step in journal.steps if journal else ():
        new_digests[step.name].add(step.digest)
    documents = {
        name: [protocol.index_document(entries, styled=styled) for styled in (False, True)]
        for name, entries in published_entries(manifest).items()
    }
    documents |= {name: [protocol.stylesheet()] for name in manifest.stylesheets}
    for name, contents in documents.items():
        digests = {sha256(content).hexdigest() for content in contents}
        yield ExpectedFile(name, frozenset(digests | new_digests[name]))
    for section, record in manifest.sections.items():
        for page in record.pages:
            # A page that was adopted from a published index has no digest.
            page_digests = frozenset(filter(None, {page.digest, *new_digests[page.name]}))
            urls = None if new_digests[page.name] else page.urls
            yield ExpectedFile(page.name, page_digests, section, urls, page.bytes)


def check_files(host: Host, workers: int) -> CheckedFiles:
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


def _read_state(host: Host) -> tuple[Manifest, Journal | None]:
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
    manifest: Manifest,
    journal: Journal | None,
    names: Collection[str] | None = None,
) -> CheckedFiles:
    """Compare the files, or those with these names, with what they should be in this state."""
    existing_names, local = host.store.names(), threading.local()

    def begin() -> None:
        # Each thread has a store with connections of its own.
        local.store = copy.copy(host.store)

    def check(file: ExpectedFile) -> CheckedFile:
        if file.name not in existing_names:
            return CheckedFile(file.name, file.section, problem=_MISSING)
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
        robots = Robots(host, manifest.indexes)
        robots.update(write=False)
        problem = None
        if robots.state != "unchanged":
            problem = "; ".join(robots.failures) or f"it does not list {', '.join(robots.urls)}"
        files[path] = CheckedFile(path, problem=problem)
    return CheckedFiles(files, journal)


def check_file(store: Store, expected: ExpectedFile) -> CheckedFile:
    """Compare a file with what it should be. Raise `OSError` if it cannot be read, so may be intact."""
    name, section, problem = expected.name, expected.section, None
    try:
        with name_errors(f"{store.label}/{name}"):
            file = store.open(name)
            if file is None:
                return CheckedFile(name, section, problem=_MISSING)
            with file:
                digest, urls, size = _read_content(file, name, max(expected.bytes or 0, protocol.MAX_BYTES))
    except (zlib.error, EOFError) as error:
        reason = excerpt(error) or "it is truncated"
        return CheckedFile(name, section, problem=f"it cannot be decompressed ({reason})")
    except (ExportError, OSError):
        raise
    except Exception as error:
        raise ExportError(f"Access to {name!r} in {store.label} failed: {reason_of(error)}") from error
    if not expected.digests:
        problem = "the manifest has no digest of it"
    elif digest not in expected.digests:
        sizes = f": {size:,} bytes instead of {expected.bytes:,}" if section else ""
        problem = f"its content is not what was published{sizes}"
    elif expected.urls not in (None, urls):
        problem = f"it has {pluralize(urls, 'URL')}, but the manifest has {expected.urls:,}"
    return CheckedFile(name, section, urls, size, problem)


def _read_content(file: BinaryIO, name: str, max_bytes: int) -> tuple[str, int, int]:
    """Return the SHA-256, the number of URLs and the size of up to `max_bytes` + 1 uncompressed bytes.

    Raise `zlib.error` or `EOFError` if the file is damaged.
    """
    is_gzip = file.read(len(GZIP_MAGIC)) == GZIP_MAGIC
    if is_gzip != name.endswith(".gz"):
        raise zlib.error("it must not be compressed" if is_gzip else "it is not a gzip file")
    file.seek(0)
    pattern = b"\n" if name.endswith(".txt") else b"<url>"
    digest, urls, size, tail = sha256(), 0, 0, b""
    for data in decompress(file, max_bytes):
        digest.update(data)
        size += len(data)
        # The pattern can begin at the end of one chunk, and end in the next one.
        text = tail + data
        urls += text.count(pattern)
        tail = text[max(0, len(text) - len(pattern) + 1) :]
    return digest.hexdigest(), urls, size
