"""The manifest of an export: its sections, their pages as key ranges, and the files to remove.

A small root document lists one file for each section. These files never change: a publication writes new
ones, then atomically replaces the root. By its digest, a damaged file is detected even if it can be parsed.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, fields, replace
from hashlib import sha256
from typing import Any, TypeAlias, TypeVar

from django_sitemaps09.exceptions import ExportError, ManifestError, UnreadableError
from django_sitemaps09.protocol.filenames import NAME, PUBLISHED, SUFFIXES, Suffix, page_name
from django_sitemaps09.protocol.pages import Fingerprint, Key, Page
from django_sitemaps09.target.local import DamagedError
from django_sitemaps09.target.store import Store

#: The version of the format. Files with a higher number were written by a later version of this package.
FORMAT = 2
ROOT = "manifest.json"
BACKUP = "manifest.json.bak"
_FILE = re.compile(rf"section-({NAME.pattern})-([0-9a-f]{{32}})\.jsonl")
#: The errors that parsing can raise for a document that this package did not write.
PARSE_ERRORS = (ValueError, KeyError, TypeError, AttributeError, IndexError, OverflowError, RecursionError)
#: The highest time, in seconds since 1970, that pages show: the year 2286.
MAX_TIME = 9_999_999_999.0
#: Maximum size of a file, in bytes. This is enough for four million pages of about 250 bytes each.
MAX_FILE_BYTES = 1_000_000_000

ParsedT = TypeVar("ParsedT")
#: The bounds of a page: the keys `after` and `until`.
Bounds: TypeAlias = "tuple[Key | None, Key | None]"


@dataclass(frozen=True, slots=True)
class PageFile:
    """One page of a section, from its rendering to the manifest: its file, its range and its contents.

    The range is that of the keys greater than `after`, up to and including `until`. `bytes` is the length
    before compression, `size` the length of the file. `lastmod` is the newest lastmod on the page, if all
    entries have one. `changed` is the lastmod of the page in the index: the time when `digest` last
    changed. `digest` is the SHA-256 of the uncompressed content. `index_number` is the number of the index
    that lists the page, 0 before one does. `unchanged` is true in a report if the published file is the
    same; it is not recorded.
    """

    name: str
    number: int
    after: Key | None
    until: Key | None
    urls: int = 0
    bytes: int = 0
    size: int = 0
    lastmod: str | None = None
    changed: str | None = None
    digest: str = ""
    fingerprint: Fingerprint | None = None
    index_number: int = 0
    unchanged: bool = field(default=False, compare=False)

    @property
    def page(self) -> Page:
        return Page(self.number, self.after, self.until)

    @property
    def row(self) -> tuple[Any, ...]:
        """Return what the manifest and the replies of workers have of the page, as values for JSON."""
        return tuple(getattr(self, name) for name in _ROW)

    @classmethod
    def from_row(cls, section: str, suffix: Suffix, after: Key | None, row: Sequence[Any]) -> PageFile:
        """Parse a row. Raise one of `PARSE_ERRORS` if it is invalid."""
        values = {name: parse(value) for (name, parse), value in zip(_ROW.items(), row, strict=True)}
        page = cls(page_name(section, values["number"], suffix), after=after, **values)
        rows = 0 if page.fingerprint is None else page.fingerprint.rows
        if page.number < 1 or min(page.urls, page.bytes, page.size, page.index_number, rows) < 0:
            raise ValueError(f"{row!r:.200} is not a valid page")
        return page


@dataclass(frozen=True, slots=True)
class SectionRecord:
    """One published section. `key_identity` is `None` if its pages are not key ranges.

    `highest` is the highest page number that was ever used. `counts` has pairs of a time (in seconds since
    1970) and the number of URLs that the section had until then.
    """

    suffix: Suffix = "xml.gz"
    key_identity: tuple[str, ...] | None = None
    declaration_digest: str | None = None
    highest: int = 0
    counts: tuple[tuple[float, int], ...] = ()
    pages: tuple[PageFile, ...] = ()

    @property
    def urls(self) -> int:
        return sum(page.urls for page in self.pages)

    @property
    def has_key_ranges(self) -> bool:
        return self.key_identity is not None

    @property
    def file_names(self) -> list[str]:
        return [page.name for page in self.pages]


@dataclass(frozen=True, slots=True)
class Manifest:
    """The published state after one run.

    `url` is the URL of the published files, and `base` the base URL of the locations. `files` has the name
    of each section's file in the state. `removed` has the names of files that no index lists any more, with
    the time (in seconds since 1970) since when; `removed_ranges` the bounds of those that are pages with
    key ranges; `moved` those on the host from which the site has moved, which no view serves. `stylesheets`
    has the stylesheet if pages and indexes refer to it, `feeds` the digest of the feed, if any. `target`
    identifies the target if the state is stored outside of it. `unqueued` has the names of files that were
    published with changes that are not queued for submission, with the time of the first run that did this.
    If it is not empty, it includes the first index, because removed URLs are on no file.
    """

    run: str
    url: str
    base: str
    sections: Mapping[str, SectionRecord] = field(default_factory=dict)
    removed: Mapping[str, float] = field(default_factory=dict)
    removed_ranges: Mapping[str, Bounds] = field(default_factory=dict)
    files: Mapping[str, str] = field(default_factory=dict)
    indexes: tuple[str, ...] = ()
    stylesheets: tuple[str, ...] = ()
    target: str = ""
    unqueued: Mapping[str, float] = field(default_factory=dict)
    moved: tuple[str, ...] = ()
    feeds: Mapping[str, str] = field(default_factory=dict)

    def is_for(self, domain: str) -> bool:
        """Return whether the locations are on a host. Without host folders, they can be on another one."""
        return self.base.partition("://")[2] == domain

    def pages(self) -> dict[str, PageFile]:
        return {page.name: page for record in self.sections.values() for page in record.pages}

    def names(self) -> set[str]:
        """Return the names of all files but those in `removed`. Without sections, it has no pages."""
        return {*self.indexes, *self.stylesheets, *self.feeds, *self.pages()}

    def ranges(self) -> dict[str, Bounds]:
        """Return the bounds of each page that is a range of keys, by file name."""
        records = [record for record in self.sections.values() if record.has_key_ranges]
        return {page.name: (page.after, page.until) for record in records for page in record.pages}

    def root(self) -> bytes:
        document = {each.name: getattr(self, each.name) for each in fields(self) if each.name != "files"}
        return seal({"format": FORMAT, **document, "sections": self.files})


def seal(document: Mapping[str, Any]) -> bytes:
    """Return a document as JSON that contains its digest."""
    return json.dumps({**document, "digest": _digest(document)}).encode()


def unseal(content: bytes | str) -> dict[str, Any]:
    """Parse a document of `seal()`. Raise one of `PARSE_ERRORS` if it is damaged."""
    document: dict[str, Any] = _loads(content)
    if document.pop("digest") != _digest(document):
        raise ValueError("its digest does not match its content")
    return document


def read_sealed(
    state: Store, name: str, parse: Callable[[dict[str, Any]], ParsedT], max_bytes: int = MAX_FILE_BYTES
) -> ParsedT | None:
    """Parse a file that `seal` wrote; `None` if it does not exist. Raise `DamagedError` if invalid."""
    try:
        content = state.read(name, max_bytes)
        return None if content is None else parse(unseal(content))
    except (DamagedError, *PARSE_ERRORS) as error:
        raise DamagedError(f"{state.label}: {name} cannot be read ({error!r:.500})") from error


def _digest(document: Mapping[str, Any]) -> str:
    return sha256(json.dumps(document).encode()).hexdigest()


def _loads(content: bytes | str) -> Any:
    """Parse JSON, but not `NaN` and `Infinity`, which this package never writes."""
    return json.loads(content, parse_float=_finite, parse_constant=_finite)


def _finite(value: Any) -> float:
    number = float(value)
    if not math.isfinite(number):
        raise ValueError(f"{value!r:.20} is not a finite number")
    return number


def parse_time(value: Any) -> float:
    """Return a time in seconds since 1970. Raise `ValueError` if it cannot be shown as a date."""
    seconds = float(value)
    if not 0 <= seconds <= MAX_TIME:
        raise ValueError(f"{value!r:.20} is not a time")
    return seconds


def check_names(pattern: re.Pattern[str], names: Iterable[object]) -> tuple[str, ...]:
    """Return the names as strings. Raise `ValueError` for a name that does not match `pattern`."""
    texts = tuple(map(str, names))
    for name in texts:
        if pattern.fullmatch(name) is None:
            raise ValueError(f"{name!r:.200} is not the name of an exported file")
    return texts


def read_root(state: Store, name: str = ROOT) -> Manifest | None:
    """Read a root without its sections; `None` if it does not exist. Raise `ManifestError` if invalid."""
    try:
        content = state.read(name, MAX_FILE_BYTES)
    except DamagedError as error:
        raise ManifestError(f"{error} Remove it. The next export then rebuilds all pages.") from error
    return None if content is None else parse_root(content, f"{state.label}: {name}")


def read_usable_root(state: Store) -> Manifest | None:
    """Read a root; `None` if it does not exist or is invalid."""
    with suppress(ManifestError):
        return read_root(state)
    return None


def parse_root(content: bytes | str, label: str) -> Manifest:
    """Parse a root without its sections. Raise `ManifestError` if it is invalid."""
    try:
        version = _loads(content)["format"]
        if version > FORMAT:
            raise ManifestError(
                f"{label} was written by a later version of django-sitemaps09. Export with that version, "
                "or remove the file. The next export then rebuilds all pages."
            )
        if version != FORMAT:
            raise ValueError("it was written by an earlier version")
        document = unseal(content)
        for section, file in document["sections"].items():
            check_names(NAME, [section])
            match = _FILE.fullmatch(file)
            if match is None or match[1] != section:
                raise ValueError(f"{file!r:.200} is not a file of section {section!r:.200}")
        check_names(PUBLISHED, (*document["removed"], *document["unqueued"]))
        return Manifest(
            run=str(document["run"]),
            url=str(document["url"]),
            base=str(document["base"]),
            removed={name: _finite(time) for name, time in document["removed"].items()},
            removed_ranges={
                name: (_texts(after), _texts(until))
                # Earlier versions did not record them.
                for name, (after, until) in document.get("removed_ranges", {}).items()
                if name in document["removed"]
            },
            files=dict(document["sections"]),
            indexes=check_names(PUBLISHED, document["indexes"]),
            stylesheets=check_names(PUBLISHED, document["stylesheets"]),
            target=str(document["target"]),
            unqueued={name: parse_time(time) for name, time in document["unqueued"].items()},
            moved=check_names(PUBLISHED, document.get("moved", ())),
            feeds={
                name: str(document["feeds"][name])
                for name in check_names(PUBLISHED, document.get("feeds", ()))
            },
        )
    except PARSE_ERRORS as error:
        raise UnreadableError(f"{label} cannot be read ({error!r:.500})") from error


def read(state: Store) -> Manifest | None:
    """Read a manifest with all its sections. Return `None` if it does not exist."""
    if (root := read_root(state)) is None:
        return None
    sections = {section: read_section(state, file) for section, file in root.files.items()}
    return replace(root, sections=sections)


def read_section(state: Store, name: str) -> SectionRecord:
    """Read the record of one section. Raise `UnreadableError` if it is missing or invalid."""
    try:
        content = state.read(name, MAX_FILE_BYTES)
        if content is None:
            raise ValueError("it does not exist")
        match = _FILE.fullmatch(name)
        if match is None or section_file(match[1], content) != name:
            raise ValueError("its digest does not match its content")
        lines = map(_loads, content.splitlines())
        head = next(lines)
        suffix = SUFFIXES[SUFFIXES.index(head["suffix"])]
        record = SectionRecord(
            suffix=suffix,
            key_identity=_texts(head["identity"]),
            declaration_digest=_text(head["declared"]),
            highest=int(head["highest"]),
            counts=tuple((_finite(time), int(urls)) for time, urls in head["counts"]),
            pages=tuple(_pages(match[1], suffix, lines)),
        )
        if len(record.pages) != head["pages"]:
            raise ValueError(f"it has {len(record.pages)} of {head['pages']} pages")
        _check(record)
    except (DamagedError, *PARSE_ERRORS, StopIteration) as error:
        raise UnreadableError(f"{state.label}: {name} cannot be read ({error!r:.500})") from error
    return record


def _check(record: SectionRecord) -> None:
    """Raise `ValueError` for inconsistent pages. Only the database can check the order of keys."""
    numbers = {page.number for page in record.pages}
    if len(numbers) < len(record.pages):
        raise ValueError("two pages have the same number")
    if max(numbers, default=0) > record.highest:
        raise ValueError(f"a page has a number above {record.highest}")
    if not record.has_key_ranges or not record.pages:
        return
    *closed_bounds, last_bound = [page.until for page in record.pages]
    if last_bound is not None or None in closed_bounds:
        raise ValueError("a page other than the last has no upper bound, or the last page has one")
    if len({*closed_bounds}) < len(closed_bounds):
        raise ValueError("two pages end with the same key")


def _pages(section: str, suffix: Suffix, rows: Iterable[Sequence[Any]]) -> Iterator[PageFile]:
    after = None
    for row in rows:
        page = PageFile.from_row(section, suffix, after, row)
        yield page
        after = page.until


def _fingerprint(values: Sequence[Any] | None) -> Fingerprint | None:
    if values is None:
        return None
    rows, newest, hash_ = values
    return Fingerprint(int(rows), _text(newest), hash_ if isinstance(hash_, str) else int(hash_))


def _text(value: object) -> str | None:
    return None if value is None else str(value)


def _texts(values: Iterable[object] | None) -> tuple[str, ...] | None:
    return None if values is None else tuple(map(str, values))


# The fields of a page in a row, in their order, and how each is parsed.
_ROW: Mapping[str, Callable[[Any], Any]] = {
    "number": int,
    "until": _texts,
    "urls": int,
    "bytes": int,
    "size": int,
    "lastmod": _text,
    "changed": _text,
    "digest": str,
    "fingerprint": _fingerprint,
    "index_number": int,
}


def section_document(record: SectionRecord) -> bytes:
    """Return the content of a section file: a line for the section, then a line for each page."""
    head = {
        "suffix": record.suffix,
        "identity": record.key_identity,
        "declared": record.declaration_digest,
        "highest": record.highest,
        "counts": record.counts,
        "pages": len(record.pages),
    }
    lines = (head, *(page.row for page in record.pages))
    return b"".join(f"{json.dumps(line)}\n".encode() for line in lines)


def section_file(section: str, document: bytes) -> str:
    """Return the name of a section file. The name contains the digest of the content."""
    return f"section-{section}-{sha256(document).hexdigest()[:32]}.jsonl"


def remove_unused(state: Store, manifest: Manifest) -> None:
    """Remove the files of sections that neither this manifest nor its backup lists."""
    used = set(manifest.files.values())
    with suppress(ExportError):
        if backup := read_root(state, BACKUP):
            used.update(backup.files.values())
    for name in state.names():
        if name.startswith("section-") and name.endswith(".jsonl") and name not in used:
            state.delete(name)
