"""The exported files, searched for a URL, and the entries in them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from html import unescape
from itertools import chain, zip_longest
from typing import NamedTuple

from django_sitemaps09.protocol.fields import reason_of
from django_sitemaps09.protocol.filenames import parse_page_name
from django_sitemaps09.protocol.limits import MAX_BYTES
from django_sitemaps09.protocol.urls import Base
from django_sitemaps09.protocol.urlset import find_line
from django_sitemaps09.tools.status import ExportState

#: Maximum number of files that one search reads.
MAX_FILES = 40
# The only file of a section counts less if it has at most so many bytes.
_SMALL_BYTES, _SMALL_COST = 200_000, 1 / 12

_ENTRY = re.compile(r"<url>.*?</url>", re.DOTALL)
_LINK = re.compile(r'<xhtml:link rel="alternate" hreflang="([^"]*)" href="([^"]*)"/>')


class Entry(NamedTuple):
    """Entry of a sitemap as text: an element `url` as exports write it, or the URL in a text file."""

    text: str

    @property
    def location(self) -> str:
        return self.value("loc") or self.text

    def value(self, name: str) -> str | None:
        """Return the content of an element without a namespace prefix, or `None`."""
        match = re.search(f"<{name}>([^<]*)</{name}>", self.text)
        return match and unescape(match[1])

    @property
    def links(self) -> list[tuple[str, str]]:
        """The alternates: pairs of a language and a URL."""
        return [(unescape(language), unescape(url)) for language, url in _LINK.findall(self.text)]


def entries_of_item(text: str) -> list[Entry]:
    """Return the entries in the text of one item, one for each language."""
    matches = _ENTRY.findall(text) if text.startswith("<") else text.splitlines()
    return list(map(Entry, matches))


class FoundEntry(NamedTuple):
    """Result of a search: the number of files read, and the file with the URL and its entry, if any."""

    files: int
    name: str | None = None
    entry: Entry | None = None


@dataclass(slots=True)
class ExportedFiles:
    """The exported files of a host, with `notes` on searches, and the `gap` that makes one incomplete."""

    export: ExportState
    notes: list[str] = field(default_factory=list)
    gap: str = ""

    def miss(self, gap: str, note: str) -> None:
        """Report that a search is incomplete, once for each note."""
        if note not in self.notes:
            self.gap = self.gap or gap
            self.notes.append(note)

    @property
    def sections(self) -> Iterable[str]:
        return () if self.export.root is None else self.export.root.files

    @property
    def removed(self) -> Mapping[str, float]:
        """Removed files, with the time of their removal from the index in seconds since 1970."""
        return {} if self.export.root is None else self.export.root.removed

    def of_sections(self, sections: Iterable[str]) -> Iterator[str]:
        """Yield the names of the pages of sections, the last ones first: most new rows are on these."""
        names = []
        for section in sections:
            try:
                record = self.export.record(section)
                names.append([] if record is None else record.file_names[::-1])
            except Exception as error:  # noqa: BLE001 each storage raises its own errors
                note = f"Section {section!r} cannot be read: {reason_of(error)}"
                self.miss("not everything can be read", note)
        # One page of each section at a time, so that a long section does not use up a search.
        yield from filter(None, chain.from_iterable(zip_longest(*names)))

    def search(
        self, names: Iterable[str], location: str, searched: dict[str, float] | None = None
    ) -> FoundEntry:
        """Search for a URL in at most `MAX_FILES` files. Those `searched` before count and are not read."""
        searched, folder = {} if searched is None else searched, self.export.folder
        if folder is None:
            return FoundEntry(0)
        for name in names:
            if name in searched:
                continue
            if sum(searched.values()) >= MAX_FILES:
                text = f"The search ended after {len(searched):,} files. Other files may contain the URL."
                self.miss("the search ended early", text)
                break
            searched[name] = _SMALL_COST if self._is_small(name) else 1
            try:
                file = folder.store.open(name)
                if file is None:
                    continue
                with file:
                    line = find_line(file, MAX_BYTES, location)
            except Exception as error:  # noqa: BLE001 each storage raises its own errors
                self.miss("not everything can be read", f"{name} cannot be read: {reason_of(error)}.")
                continue
            if line is not None:
                return FoundEntry(len(searched), name, Entry(line))
        return FoundEntry(len(searched))

    def _is_small(self, name: str) -> bool:
        """Return whether a file is the only one of its section, and small."""
        with suppress(Exception):
            record = self.export.record(section_of(name) or "")
            [page] = () if record is None else record.pages
            return page.name == name and page.bytes <= _SMALL_BYTES
        return False

    def url(self, name: str | None, base: Base) -> str | None:
        """Return the URL of a file, unless the manifest names another host."""
        export = self.export.export
        url = export.url([base.domain]) if name and export is not None else None
        return url and f"{url}{name}"


def section_of(name: str | None) -> str | None:
    """Return the section of the page with a file name; `None` if it is not the name of a page."""
    page = parse_page_name(name or "")
    return None if page is None else page.section
