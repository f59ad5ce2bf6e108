"""The manifest of an export: its sections, their pages as ranges of a key, and the files to remove.

A small root names one file for each section. Such a file never changes: the next publication writes a
new one, and atomically replaces the root by one that names it. All files are verified by their digests,
so that a damaged file is detected even if it can be parsed.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
from typing import Any, NamedTuple

from django_sitemaps09.exceptions import ManifestError, UnreadableError
from django_sitemaps09.filenames import NAME, PUBLISHED, SUFFIXES, Suffix, page_name
from django_sitemaps09.pages import Fingerprint, Key, Page, PageMap
from django_sitemaps09.stores import Store

#: The format of these files. A file with a higher number was written by a later version of this package.
FORMAT = 2
ROOT = "manifest.json"
BACKUP = "manifest.json.bak"
_FILE = re.compile(rf"section-({NAME.pattern})-([0-9a-f]{{32}})\.jsonl")
#: The errors that parsed values raise if they are not what this package wrote.
UNFIT = (ValueError, KeyError, TypeError, AttributeError, IndexError, OverflowError, RecursionError)
#: Bytes of the largest file that is read. A page takes about 250 bytes, so that a section can have four
#: million pages.
MAX_FILE_BYTES = 1_000_000_000


class PageRecord(NamedTuple):
    """One published page. Its range begins after the `until` of the page before it.

    `bytes` is its length before, `size` after compression; `digest` is the SHA-256 of the uncompressed
    content. `newest` is the newest lastmod in it. `changed` is its lastmod in the index: when the digest
    last changed. `index_number` is the number of the index that names it.
    """

    number: int
    until: Key | None
    urls: int
    bytes: int
    size: int
    newest: str | None
    changed: str | None
    digest: str
    fingerprint: Fingerprint | None
    index_number: int


@dataclass(frozen=True, slots=True)
class SectionRecord:
    """One section. `key_identity` identifies its key; it is `None` if its pages are not ranges of a key.

    `highest` is the highest number that any of its pages has ever had. `counts` are earlier numbers of
    URLs, each with the time (seconds since 1970) until which it was published.
    """

    suffix: Suffix = "xml.gz"
    key_identity: tuple[str, ...] | None = None
    declaration_digest: str | None = None
    highest: int = 0
    counts: tuple[tuple[float, int], ...] = ()
    pages: tuple[PageRecord, ...] = ()

    @property
    def urls(self) -> int:
        return sum(page.urls for page in self.pages)

    @property
    def has_key_ranges(self) -> bool:
        return self.key_identity is not None

    def file_names(self, section: str) -> list[str]:
        """Return the file names of the pages of a section with this name."""
        return [page_name(section, page.number, self.suffix) for page in self.pages]

    def page_map(self) -> PageMap:
        """Return the pages as ranges."""
        return PageMap(tuple(self._ranges()))

    def _ranges(self) -> Iterator[Page]:
        after: Key | None = None
        for page in self.pages:
            yield Page(page.number, after, page.until)
            after = page.until


@dataclass(frozen=True, slots=True)
class Manifest:
    """The state that one run left. `files` are the names of the sections' files in the state folder.

    `url` and `base` are those of the project, and `indexes` are the names of the indexes. `removed` has the
    names of files that no index names any more, each with the time (seconds since 1970) when that began.
    """

    run: str
    url: str
    base: str
    sections: Mapping[str, SectionRecord] = field(default_factory=dict)
    removed: Mapping[str, float] = field(default_factory=dict)
    files: Mapping[str, str] = field(default_factory=dict)
    indexes: tuple[str, ...] = ()

    def root(self) -> bytes:
        """Return the root document, which names all other files."""
        document = {
            "format": FORMAT,
            "run": self.run,
            "url": self.url,
            "base": self.base,
            "sections": self.files,
            "removed": self.removed,
            "indexes": self.indexes,
        }
        return seal(document)


def seal(document: Mapping[str, Any]) -> bytes:
    """Return the JSON of a document, with a digest of all of it."""
    return json.dumps({**document, "digest": _digest(document)}).encode()


def unseal(content: bytes | str) -> dict[str, Any]:
    """Parse a document by `seal`. Raise `ValueError`, or another error of `UNFIT`, if it is damaged."""
    document: dict[str, Any] = _loads(content)
    if document.pop("digest") != _digest(document):
        raise ValueError("its digest does not match its content")
    return document


def _digest(document: Mapping[str, Any]) -> str:
    return sha256(json.dumps(document).encode()).hexdigest()


def _loads(content: bytes | str) -> Any:
    """Parse JSON. Refuse `NaN` and `Infinity`, which this package never writes."""
    return json.loads(content, parse_float=_finite, parse_constant=_finite)


def _finite(value: Any) -> float:
    number = float(value)
    if not math.isfinite(number):
        raise ValueError(f"{value!r:.20} is not a number")
    return number


def check_names(pattern: re.Pattern[str], names: Iterable[object]) -> list[str]:
    """Return names that match a pattern; raise `ValueError` for others, which could lead anywhere."""
    texts = [str(name) for name in names]
    for name in texts:
        if pattern.fullmatch(name) is None:
            raise ValueError(f"{name!r:.200} is not the name of an exported file")
    return texts


def read_root(state: Store, name: str = ROOT) -> Manifest | None:
    """Read a root without its sections; `None` if it does not exist. Raise `ManifestError` if invalid."""
    content = state.read(name, MAX_FILE_BYTES)
    return None if content is None else parse_root(content, f"{state.label}: {name}")


def parse_root(content: bytes | str, label: str) -> Manifest:
    """Parse a root without its sections. Raise `ManifestError` if it is invalid."""
    try:
        version = _loads(content)["format"]
        if version > FORMAT:
            raise ManifestError(
                f"{label} was written by a later version of django-sitemaps09. Export with that version, "
                "or remove the file: all pages are then rebuilt."
            )
        if version != FORMAT:
            raise ValueError("it was written by an earlier version")
        document = unseal(content)
        for section, file in document["sections"].items():
            check_names(NAME, [section])
            match = _FILE.fullmatch(file)
            if match is None or match[1] != section:
                raise ValueError(f"{file!r:.200} is not a file of section {section!r:.200}")
        removed = check_names(PUBLISHED, document["removed"])
        return Manifest(
            run=str(document["run"]),
            url=str(document["url"]),
            base=str(document["base"]),
            removed={name: _finite(document["removed"][name]) for name in removed},
            files=dict(document["sections"]),
            indexes=tuple(check_names(PUBLISHED, document["indexes"])),
        )
    except UNFIT as error:
        raise UnreadableError(f"{label} cannot be read ({error!r:.500})") from error


def read(state: Store, name: str = ROOT) -> Manifest | None:
    """Read a manifest with all its sections; `None` if it does not exist."""
    root = read_root(state, name)
    if root is None:
        return None
    sections = {section: read_section(state, file) for section, file in root.files.items()}
    return replace(root, sections=sections)


def read_section(state: Store, name: str) -> SectionRecord:
    """Read the record of one section. Raise `UnreadableError` if it is missing or invalid."""
    content = state.read(name, MAX_FILE_BYTES)
    try:
        if content is None:
            raise ValueError("it does not exist")
        match = _FILE.fullmatch(name)
        if match is None or section_file(match[1], content) != name:
            raise ValueError("its digest does not match its content")
        lines = iter(content.splitlines())
        head = _loads(next(lines))
        record = SectionRecord(
            suffix=SUFFIXES[SUFFIXES.index(head["suffix"])],
            key_identity=head["identity"]
            if head["identity"] is None
            else tuple(map(str, head["identity"])),
            declaration_digest=head["declared"],
            highest=int(head["highest"]),
            counts=tuple((_finite(time), int(urls)) for time, urls in head["counts"]),
            pages=tuple(_page(_loads(line)) for line in lines),
        )
        if len(record.pages) != head["pages"]:
            raise ValueError(f"it has {len(record.pages)} of {head['pages']} pages")
        _check(record)
    except (*UNFIT, StopIteration) as error:
        raise UnreadableError(f"{state.label}: {name} cannot be read ({error!r:.500})") from error
    return record


def _check(record: SectionRecord) -> None:
    """Raise `ValueError` for inconsistent pages. Only the database can check the order of their bounds."""
    numbers = {page.number for page in record.pages}
    if len(numbers) < len(record.pages):
        raise ValueError("two pages have the same number")
    if max(numbers, default=0) > record.highest:
        raise ValueError(f"a page has a number above {record.highest}")
    if not record.has_key_ranges or not record.pages:
        return
    *closed_bounds, last_bound = [page.until for page in record.pages]
    if last_bound is not None or None in closed_bounds:
        raise ValueError("a page other than the last one is open, or the last one is closed")
    if len({*closed_bounds}) < len(closed_bounds):
        raise ValueError("two pages end with the same key")


def _page(values: Sequence[Any]) -> PageRecord:
    page = PageRecord(*values)
    if page.fingerprint is not None and page.fingerprint[2] is None:
        # Without a hash, which earlier versions lacked on SQLite, a fingerprint is insufficient.
        page = page._replace(fingerprint=None)
    rows, newest, hash_ = page.fingerprint or (0, None, 0)
    numbers = (page.number, page.urls, page.bytes, page.size, page.index_number, rows)
    number, urls, bytes_, size, index_number, rows = map(int, numbers)
    if number < 1 or min(urls, bytes_, size, index_number, rows) < 0:
        raise ValueError(f"{values!r:.200} is not a page")
    newest = None if newest is None else str(newest)
    fingerprint = Fingerprint(rows, newest, hash_ if isinstance(hash_, str) else int(hash_))
    return PageRecord(
        number=number,
        until=None if page.until is None else tuple(map(str, page.until)),
        urls=urls,
        bytes=bytes_,
        size=size,
        newest=None if page.newest is None else str(page.newest),
        changed=None if page.changed is None else str(page.changed),
        digest=str(page.digest),
        fingerprint=None if page.fingerprint is None else fingerprint,
        index_number=index_number,
    )


def section_document(record: SectionRecord) -> bytes:
    """Return the file of one section: a line for all of it, then a line for each page."""
    head = {
        "suffix": record.suffix,
        "identity": record.key_identity,
        "declared": record.declaration_digest,
        "highest": record.highest,
        "counts": record.counts,
        "pages": len(record.pages),
    }
    return b"".join(f"{json.dumps(line)}\n".encode() for line in (head, *record.pages))


def section_file(section: str, document: bytes) -> str:
    """Return the name of a section's file, with a digest by which the root identifies the content."""
    return f"section-{section}-{sha256(document).hexdigest()[:32]}.jsonl"


def unused_files(state: Store, *manifests: Manifest | None) -> Iterable[str]:
    """Return the files of sections that none of these manifests names."""
    used_names = {
        file for manifest in manifests if manifest is not None for file in manifest.files.values()
    }
    names = (name for name in state.names() if name.startswith("section-") and name.endswith(".jsonl"))
    return [name for name in names if name not in used_names]
