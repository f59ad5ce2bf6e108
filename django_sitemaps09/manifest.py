"""What an export has published: sections, their pages as ranges of a key, and what is to be removed.

A small root names one file for each section, which is never changed: what is published next gets a
new one, and the root that names it takes the place of the one before in one step.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NamedTuple, TypeAlias, get_args

from django_sitemaps09.exceptions import ManifestError
from django_sitemaps09.pages import Fingerprint, Key, Page, PageMap
from django_sitemaps09.sections import NAME
from django_sitemaps09.stores import Store

#: Of the files here. One with a higher number was written by a later version of this package.
FORMAT = 1
ROOT = "manifest.json"
BACKUP = "manifest.json.bak"
#: Published pages and indexes: what no such name has is never written, replaced or deleted.
PUBLISHED = re.compile(rf"sitemap(?:-{NAME.pattern})?\.xml(?:\.gz)?|sitemap-{NAME.pattern}\.txt")
#: What the name of a page ends with.
Suffix: TypeAlias = Literal["xml", "xml.gz", "txt"]
_SUFFIXES: tuple[Suffix, ...] = get_args(Suffix)
_FILE = re.compile(r"section-[A-Za-z0-9_-]+\.jsonl")
# A page takes some 250 bytes, so that this is a section of four million pages.
_MOST = 1_000_000_000


class PageRecord(NamedTuple):
    """One published page. It begins behind the `until` of the one before it.

    `bytes` is before, `size` after compression; `digest` is the SHA-256 of the former. `newest` is the
    newest lastmod in it, `changed` what the index says: when the digest last changed. `index_number`
    is that of the index that names it.
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
    """One section. `identity` is that of its key, `None` where its pages are no ranges of one.

    `highest` is the highest number that a page of it ever had. `counts` are earlier numbers of URLs,
    each with the time (seconds since 1970) until which it was published.
    """

    suffix: Suffix = "xml.gz"
    identity: tuple[str, ...] | None = None
    declared: str | None = None
    highest: int = 0
    counts: tuple[tuple[float, int], ...] = ()
    pages: tuple[PageRecord, ...] = ()

    @property
    def urls(self) -> int:
        return sum(page.urls for page in self.pages)

    def page_map(self) -> PageMap:
        """The pages as ranges."""
        return PageMap(tuple(self._ranges()))

    def _ranges(self) -> Iterator[Page]:
        after: Key | None = None
        for page in self.pages:
            yield Page(page.number, after, page.until)
            after = page.until


@dataclass(frozen=True, slots=True)
class Manifest:
    """What one run left. `files` are the names of the sections' files in the state folder.

    `url` and `base` are those of the project, `indexes` the names of the indexes; `removed` has the names
    of files that none of them names any more, each with the time (seconds since 1970) since which.
    """

    run: str
    url: str
    base: str
    sections: Mapping[str, SectionRecord] = field(default_factory=dict)
    removed: Mapping[str, float] = field(default_factory=dict)
    files: Mapping[str, str] = field(default_factory=dict)
    indexes: tuple[str, ...] = ()

    def root(self) -> bytes:
        """The document that names all others."""
        found = {
            "format": FORMAT,
            "run": self.run,
            "url": self.url,
            "base": self.base,
            "sections": self.files,
            "removed": self.removed,
            "indexes": self.indexes,
        }
        return json.dumps(found, indent=1).encode()


def plain(pattern: re.Pattern[str], names: Iterable[object]) -> list[str]:
    """The names as they are; `ValueError` for one that none of our files has, wherever it would lead."""
    found = [str(name) for name in names]
    for name in found:
        if pattern.fullmatch(name) is None:
            raise ValueError(f"{name!r:.200} is no name of a file of ours")
    return found


def read_root(state: Store, name: str = ROOT) -> Manifest | None:
    """A root without its sections, `None` where there is none. `ManifestError` for what is no root."""
    content = state.read(name, _MOST)
    if content is None:
        return None
    try:
        found = json.loads(content)
        if found["format"] > FORMAT:
            raise ManifestError(
                f"{state.label}: {name} was written by a later version of django-sitemaps09. Export with "
                "that one, or remove the file: all pages are then cut anew."
            )
        files = found["sections"]
        return Manifest(
            run=str(found["run"]),
            url=str(found["url"]),
            base=str(found["base"]),
            removed={name: float(found["removed"][name]) for name in plain(PUBLISHED, found["removed"])},
            files=dict(zip(plain(NAME, files), plain(_FILE, files.values()), strict=True)),
            indexes=tuple(plain(PUBLISHED, found["indexes"])),
        )
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise UnreadableError(f"{state.label}: {name} cannot be read ({error!r})") from error


def read(state: Store, name: str = ROOT) -> Manifest | None:
    """A manifest with all its sections, `None` where there is none."""
    root = read_root(state, name)
    if root is None:
        return None
    sections = {section: read_section(state, file) for section, file in root.files.items()}
    return replace(root, sections=sections)


def read_section(state: Store, name: str) -> SectionRecord:
    """The record of one section. `UnreadableError` where it is not there, or is none."""
    content = state.read(name, _MOST)
    try:
        if content is None:
            raise ValueError("it is not there")
        lines = iter(content.splitlines())
        head = json.loads(next(lines))
        found = SectionRecord(
            suffix=_SUFFIXES[_SUFFIXES.index(head["suffix"])],
            identity=head["identity"] if head["identity"] is None else tuple(map(str, head["identity"])),
            declared=head["declared"],
            highest=int(head["highest"]),
            counts=tuple((float(when), int(urls)) for when, urls in head["counts"]),
            pages=tuple(_page(json.loads(line)) for line in lines),
        )
        if len(found.pages) != head["pages"]:
            raise ValueError(f"it has {len(found.pages)} pages of {head['pages']}")
    except (ValueError, KeyError, TypeError, StopIteration, RecursionError) as error:
        raise UnreadableError(f"{state.label}: {name} cannot be read ({error!r})") from error
    return found


def _page(values: Sequence[Any]) -> PageRecord:
    page = PageRecord(*values)
    rows, newest, hash_ = page.fingerprint or (0, None, None)
    given = (page.number, page.urls, page.bytes, page.size, page.index_number, rows)
    number, urls, bytes_, size, index_number, rows = map(int, given)
    if number < 1 or min(urls, bytes_, size, index_number, rows) < 0:
        raise ValueError(f"{values!r:.200} is no page")
    found = None if hash_ is None else int(hash_)
    fingerprint = Fingerprint(rows, None if newest is None else str(newest), found)
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
    """The file of one section: what holds for all of it, then a line for each page."""
    head = {
        "suffix": record.suffix,
        "identity": record.identity,
        "declared": record.declared,
        "highest": record.highest,
        "counts": record.counts,
        "pages": len(record.pages),
    }
    return b"".join(f"{json.dumps(line)}\n".encode() for line in (head, *record.pages))


def section_file(section: str, run: str) -> str:
    """The name of a section's file that a run writes."""
    return f"section-{section}-{run}.jsonl"


def unused(state: Store, *used: Manifest | None) -> Iterable[str]:
    """Files of sections that none of these manifests names."""
    named = {file for manifest in used if manifest is not None for file in manifest.files.values()}
    found = (name for name in state.names() if name.startswith("section-") and name.endswith(".jsonl"))
    return [name for name in found if name not in named]


class UnreadableError(ManifestError):
    """A file of the manifest is damaged: what is published has to be found out in another way."""
