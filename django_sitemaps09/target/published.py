"""What is published in a target: the files of a host, their content, and the bounds of a section's pages.

An export for one host writes to the target itself, an export for several hosts to a folder for each host.
If a target has both for a host, the one that was changed by the newest run is published, and the other one
is left over.
"""

from __future__ import annotations

import logging
import re
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import lru_cache
from hashlib import sha256
from itertools import takewhile
from pathlib import Path
from typing import BinaryIO, NamedTuple

from django_sitemaps09.conf import conf
from django_sitemaps09.declare.hosts import host_folder, plain_host
from django_sitemaps09.exceptions import ExportError
from django_sitemaps09.protocol.compression import GZIP_MAGIC, decompress
from django_sitemaps09.protocol.fields import excerpt, pluralize, reason_of
from django_sitemaps09.protocol.filenames import parse_page_name
from django_sitemaps09.protocol.limits import MAX_BYTES
from django_sitemaps09.protocol.pages import Key
from django_sitemaps09.protocol.urls import Base, origin, uri
from django_sitemaps09.target import manifest
from django_sitemaps09.target.journal import check_root
from django_sitemaps09.target.local import LocalStore, name_errors
from django_sitemaps09.target.manifest import Bounds, Manifest, SectionRecord
from django_sitemaps09.target.store import Store, state_store, target_store

logger = logging.getLogger(__name__)

#: The problem of a file that is missing.
MISSING = "it is missing, or is not a regular file"
# URL of a folder: the name of a file can follow it.
_FOLDER_URL = re.compile(r"[^?#]*/")


class ExportFolder(NamedTuple):
    """A folder that exports write to. `name` is its name in the target, empty for the target itself."""

    name: str
    store: Store
    state: Store

    @classmethod
    def in_target(cls, name: str = "", output: Path | None = None) -> ExportFolder:
        """Return a folder in `output`, or else in the target of the settings, without accessing files."""
        store = target_store(output, name)
        return cls(name, store, state_store(store, name))

    def guarded(self) -> ExportFolder:
        """Return the folder with stores that read only files of this user and of the target's owner."""

        def guard(store: Store) -> Store:
            return replace(store, is_guarded=True) if isinstance(store, LocalStore) else store

        return ExportFolder(self.name, guard(self.store), guard(self.state))

    def root(self) -> Manifest | None:
        """Return the manifest without sections, if any. Raise `ExportError` if it is another target's."""
        root = manifest.read_root(self.state)
        check_root(root, self.store, self.state)
        return root


class PublishedExport(NamedTuple):
    """An export that is published in a folder, and its manifest without sections."""

    folder: ExportFolder
    root: Manifest

    def url(self, hosts: Iterable[str]) -> str | None:
        """Return the URL of the files, with a slash at the end.

        Others may be able to write the manifest, and redirects and links must not lead to where they like.
        So the URL is `None` unless it is that of a folder on one of the hosts or on `FILES_URL`.
        """
        try:
            host = plain_host(origin(uri(self.root.url)).domain)
        except ValueError:
            return None
        own = [*hosts, *([] if conf.files_url is None else [origin(conf.files_url).domain])]
        is_ours = host in map(plain_host, own) and _FOLDER_URL.fullmatch(self.root.url)
        return self.root.url if is_ours else None

    def lists(self, name: str) -> bool:
        """Return whether a file name belongs to the export."""
        page = parse_page_name(name)
        # Every page of a published section: an index lists new pages before the manifest does.
        is_page = page is not None and page.section in self.root.files
        return is_page or name in self.root.removed or name in self.root.names()

    def record(self, section: str) -> SectionRecord | None:
        """Return the record of a section, if it is published. Raise `ExportError` if it is invalid."""
        file = self.root.files.get(section)
        return None if file is None else manifest.read_section(self.folder.state, file)


class PublishedSection(NamedTuple):
    """A published section: the name of its folder in the target, and its file in the manifest.

    `removed` has the bounds of pages that no index lists any more, by number.
    """

    section: str
    folder: str
    file: str
    removed: Mapping[int, Bounds]

    def records(
        self, key_identity: tuple[str, ...] | None, in_order: Callable[[Sequence[Key]], bool]
    ) -> list[SectionRecord]:
        """Return the current record, and the record in the backup manifest if it differs.

        Stop at the first record whose pages are not ranges of the section's current key: it must have the
        `key_identity`, and bounds that are `in_order`. Raise `ExportError` or `OSError` if the current
        record cannot be read.
        """
        state = ExportFolder.in_target(self.folder).guarded().state
        records = [manifest.read_section(state, self.file)]
        with suppress(ExportError, OSError):
            backup = manifest.read_root(state, manifest.BACKUP)
            if backup is not None and backup.files.get(self.section, self.file) != self.file:
                records.append(manifest.read_section(state, backup.files[self.section]))

        def is_usable(record: SectionRecord) -> bool:
            bounds = [page.until for page in record.pages if page.until is not None]
            return bool(record.pages) and record.key_identity == key_identity and in_order(bounds)

        return list(takewhile(is_usable, records))


def export_folders(base: Base | None, output: Path | None = None) -> list[ExportFolder]:
    """Return the folders, if any, that can have an export for a host: its own, and the target itself."""
    if output is None and not conf.has_target:
        return []
    names = [""] if base is None else [host_folder(base), ""]
    return [ExportFolder.in_target(name, output).guarded() for name in names]


def find_files(base: Base | None, output: Path | None = None) -> PublishedExport | None:
    """Return the export that is published for a host or, without `base`, in the target itself.

    The target is `output`, or else that of the settings. Raise `ExportError` or `OSError` if a manifest
    cannot be read.
    """
    exports = _exports(base, output)
    return next(iter(exports), None) if base is None else _newest(exports, base)


def find_section(section: str, base: Base) -> PublishedSection | None:
    """Return where the bounds of a section's pages are published for a host. Raise like `find_files()`.

    Without an export for the host, they are those in the target itself: hosts that clients choose share
    them.
    """
    exports = _exports(base)
    export = _newest(exports, base) or next((export for export in exports if not export.folder.name), None)
    if export is None or section not in export.root.files:
        return None
    removed = {
        page.number: bounds
        for name, bounds in export.root.removed_ranges.items()
        if (page := parse_page_name(name)) is not None and page.section == section
    }
    return PublishedSection(section, export.folder.name, export.root.files[section], removed)


def _exports(base: Base | None, output: Path | None = None) -> list[PublishedExport]:
    roots = [(folder, folder.root()) for folder in export_folders(base, output)]
    return [PublishedExport(folder, root) for folder, root in roots if root is not None]


def _newest(exports: Iterable[PublishedExport], base: Base) -> PublishedExport | None:
    """Return the export for a host that was changed by the newest run."""
    exports = [export for export in exports if export.root.is_for(base.domain)]
    # The name of a run is `run-`, the time of its start, and a random part that says nothing about its age.
    newest = max(exports, key=lambda export: export.root.run.rpartition("-")[0], default=None)
    for export in exports:
        if newest is not None and export is not newest:
            _warn(excerpt(newest.root.base), newest.folder.store.label, export.folder.store.label)
    return newest


@lru_cache(maxsize=1_000)
def _warn(base: str, newest: str, other: str) -> None:
    """Log that a host has two exports, once in each process: views look every ten seconds."""
    logger.warning(
        "%s has two exports, in %s and in %s. The first one is newer and is used. If you no longer update "
        "the other one, delete its sitemap files, and its manifest in .sitemaps09/ or STATE.",
        base,
        newest,
        other,
    )


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


def check_file(store: Store, expected: ExpectedFile) -> CheckedFile:
    """Compare a file with what it should be. Raise `OSError` if it cannot be read, so may be intact."""
    name, section, problem = expected.name, expected.section, None
    try:
        with name_errors(f"{store.label}/{name}"):
            file = store.open(name)
            if file is None:
                return CheckedFile(name, section, problem=MISSING)
            with file:
                digest, urls, size = _read_content(file, name, max(expected.bytes or 0, MAX_BYTES))
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
