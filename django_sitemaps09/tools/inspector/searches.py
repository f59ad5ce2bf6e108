"""Search for a URL: conditions for rows, from the patterns of their locations; and the exported files."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from html import unescape
from itertools import chain, zip_longest
from typing import Any, NamedTuple
from urllib.parse import unquote

from django.db.models import F, Model
from django.urls import ResolverMatch
from django.utils import translation
from django.utils.encoding import iri_to_uri

from django_sitemaps09.declare.expressions import LocationTemplate, alias, is_expression
from django_sitemaps09.declare.locations import Candidate, PathTemplate, ResolvedPath, Route
from django_sitemaps09.protocol.fields import reason_of
from django_sitemaps09.protocol.filenames import parse_page_name
from django_sitemaps09.protocol.limits import MAX_BYTES
from django_sitemaps09.protocol.urls import Base
from django_sitemaps09.protocol.urlset import find_line
from django_sitemaps09.tools.status import ExportState

# The scheme and the host of an absolute URL, if a path follows.
_ORIGIN = re.compile("^https?://[^/]+(?=/)", re.IGNORECASE)
#: Maximum number of files that one search reads.
MAX_FILES = 40
# The only file of a section counts less if it has at most so many bytes.
_SMALL_BYTES, _SMALL_COST = 200_000, 1 / 12

_ENTRY = re.compile(r"<url>.*?</url>", re.DOTALL)
_LINK = re.compile(r'<xhtml:link rel="alternate" hreflang="([^"]*)" href="([^"]*)"/>')


def template_conditions(
    template: LocationTemplate, resolved: ResolvedPath, url: str
) -> list[dict[str, Any]] | None:
    """Return conditions for the rows that can have a URL: one dict for each way to read values from it.

    The list is empty if no row can have the URL. Return `None` if only the locations of all rows can tell,
    as for an unknown kind of template.
    """
    with translation.override(resolved.language):
        if isinstance(template, PathTemplate):
            return path_conditions(template, url)
        return route_conditions(template, resolved) if isinstance(template, Route) else None


def path_conditions(template: PathTemplate, url: str) -> list[dict[str, Any]] | None:
    """Return the `template_conditions()` of a path template."""
    # A value can contain the text between two fields, so the URL is split at its first and its last places.
    # A value can also contain escapes, so these are read both as characters and as they are.
    literals, positions, _ = template.compiled()
    literals = [_ORIGIN.sub("", literals[0]), *literals[1:]]
    if literals[0][:1] != "/" or "%" in "".join(literals):
        return None
    path, names = path_of(url), [alias("location", position) for position in positions]
    results: list[dict[str, Any]] = []
    for text, parts in ((unquote(path), literals), (path, list(map(iri_to_uri, literals)))):
        backwards = _split(text[::-1], [part[::-1] for part in reversed(parts)])
        for values in (_split(text, parts), backwards and [value[::-1] for value in reversed(backwards)]):
            conditions = None if values is None else dict(zip(names, values, strict=True))
            if conditions is not None and conditions not in results:
                results.append(conditions)
    return results or (None if "%" in path else [])


def _split(text: str, literals: Sequence[str]) -> list[str] | None:
    """Return the texts between the literals, each as short as possible; `None` if the literals differ."""
    # A regular expression could take exponentially long.
    first, *others = literals
    if not others:
        return [] if text == first else None
    *middle, last = others
    if not (text.startswith(first) and text[len(first) :].endswith(last)):
        return None
    rest, values = text[len(first) : len(text) - len(last)], []
    for literal in middle:
        value, separator, rest = rest.partition(literal) if literal else ("", "", rest)
        if separator != literal:
            return None
        values.append(value)
    return [*values, rest]


def route_conditions(route: Route, resolved: ResolvedPath) -> list[dict[str, Any]]:
    """Return the `template_conditions()` of a route in the current language."""
    # The URLconf is not asked: another of its patterns can match the path first.
    for candidate in route.compiled().candidates:
        match = candidate.regex.search(resolved.path)
        conditions = None if match is None else _conditions(route, candidate, match)
        if conditions is not None:
            return [conditions]
    return []


def _conditions(route: Route, candidate: Candidate, match: re.Match[str]) -> dict[str, Any] | None:
    captured_texts: dict[str, Any] = match.groupdict()
    if not captured_texts:
        # Django gives these names to groups without a name.
        captured_texts = {f"_{position}": text for position, text in enumerate(match.groups())}
    conditions: dict[str, Any] = {}
    for name, declared_value in zip(candidate.names, route.values, strict=True):
        value = captured_texts.get(name, candidate.defaults.get(name))
        if name in captured_texts and name in candidate.converters:
            try:
                value = candidate.converters[name].to_python(value)
            except ValueError:
                return None
        if is_expression(declared_value):
            conditions[alias("location", len(conditions))] = value
        elif str(declared_value) != str(value):
            return None
    return conditions


def field_conditions(model: type[Model], match: ResolverMatch) -> list[dict[str, Any]] | None:
    """Return conditions for the rows of a model whose fields have the values captured from a path.

    This is a guess for locations that a method returns. Return `None` if none of the fields has an index,
    because the query would then read the whole table.
    """
    are_indexed = _are_indexed(model)
    # The values without the additional arguments of the pattern.
    captured: dict[str, Any] = match.captured_kwargs or {}  # type: ignore[attr-defined]
    conditions = {name: value for name, value in captured.items() if name in are_indexed}
    return [conditions] if any(map(are_indexed.get, conditions)) else None


def column_conditions(model: type[Model], location: F, url: str) -> list[dict[str, Any]] | None:
    """Return the condition for the rows whose location is a column with an index, else `None`."""
    name: str = location.name  # type: ignore[attr-defined]
    if not _are_indexed(model).get(name):
        return None
    # A location without a scheme begins with two slashes.
    texts = (path_of(url), url, url.partition(":")[2])
    forms = (form for text in texts for form in (text, unquote(text)))
    return [{f"{name}__in": list(dict.fromkeys(forms))}]


def path_of(url: str) -> str:
    """Return the path and the query of an absolute URL."""
    return f"/{url.partition('://')[2].partition('/')[2]}"


def _are_indexed(model: type[Model]) -> dict[str, bool]:
    """Return whether each field has an index, by the names that a filter can have for it."""
    fields: Any = model._meta.concrete_fields
    are_indexed = {"pk": True}
    for column in fields:
        are_indexed[column.name] = are_indexed[column.attname] = column.unique or column.db_index
    return are_indexed


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
