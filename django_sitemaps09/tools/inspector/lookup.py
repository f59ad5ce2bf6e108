"""Answer whether a URL is in the sitemap: in which file, or why not.

The rows of sections are filtered by values in the URL, with a few small queries. For other sections,
exported files are searched, up to a limit: first those for which nothing else can answer.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from itertools import chain
from typing import Any, Literal

from django_sitemaps09.conf import conf, site_locale
from django_sitemaps09.declare.hosts import AllowedHosts
from django_sitemaps09.declare.locations import ResolvedPath, resolve_path
from django_sitemaps09.declare.sections import Section, declared_hosts, native_mapping
from django_sitemaps09.protocol.fields import excerpt, first_names, reason_of
from django_sitemaps09.protocol.filenames import parse_page_name
from django_sitemaps09.protocol.urls import Base, origin
from django_sitemaps09.target.manifest import MAX_TIME
from django_sitemaps09.tools.inspector.conditions import path_of
from django_sitemaps09.tools.inspector.exported_files import Entry, ExportedFiles, FoundEntry, section_of
from django_sitemaps09.tools.inspector.row_searches import (
    KeyQueries,
    LiveRow,
    RowSearch,
    SectionLookup,
    row_search,
)
from django_sitemaps09.tools.status import ExportState, sentences
from django_sitemaps09.views.responses import savepoints

# Maximum number of further sections with the URL that are shown.
_MAX_OTHERS = 10
_WILL_REMOVE = "The next export will remove it."

Verdict = Literal[
    "listed", "changed", "unconfirmed", "undeclared", "new", "live", "leaving", "removed", "filtered",
    "skipped", "elsewhere", "absent", "invalid",
]  # fmt: skip

#: Heading of the answer for each verdict.
HEADINGS: Mapping[Verdict, str] = {
    "listed": "In the sitemap",
    "changed": "In the sitemap, but its entry has changed since the last export",
    "unconfirmed": "In the exported sitemap, but the next export may remove it",
    "undeclared": "In the exported sitemap, in a section that is no longer declared",
    "new": "Not exported yet",
    "live": "In the live sitemap",
    "leaving": "In the exported sitemap until the next export",
    "removed": "Only in a file that no index lists any more",
    "filtered": "Not in the sitemap: its row is filtered out",
    "skipped": "Not in the sitemap: its row is skipped",
    "elsewhere": "Not in the sitemap: it is on another host",
    "absent": "Not in the sitemap",
    "invalid": "Not a URL that a sitemap can contain",
}
_LISTED: Collection[Verdict] = ("listed", "changed", "unconfirmed", "undeclared", "live", "leaving")


@dataclass(frozen=True, slots=True)
class Answer:
    """Answer to the question whether `url` is in the sitemap.

    `published` is the entry in the exported file, and `live` the entry as it is now. `reasons` say why the
    URL is missing, `notes` how far the search went, and `gap` why it is incomplete, if it is. `others` are
    answers for further sections.
    """

    url: str
    verdict: Verdict
    section: str | None = None
    key: str | None = None
    file: str | None = None
    file_url: str | None = None
    published: Entry | None = None
    live: Entry | None = None
    reasons: Sequence[str] = ()
    notes: Sequence[str] = ()
    gap: str = ""
    others: Sequence[Answer] = ()

    @property
    def heading(self) -> str:
        if self.gap and not self.is_listed:
            return f"Not found in the sitemap: {self.gap}"
        return HEADINGS[self.verdict]

    @property
    def is_listed(self) -> bool:
        return self.verdict in _LISTED


def look_up(text: str, base: Base) -> Answer:
    """Return the answer for a URL or a path that a person has typed."""
    try:
        text = text.strip()
        text = f"//{text}" if text.startswith(f"{base.domain}/") else text
        location = AllowedHosts(base, joins_paths=True, is_limited=False).uri(text)
        host, own_host = origin(location), origin(str(base))
    except ValueError as error:
        return Answer(excerpt(text), "invalid", reasons=[f"{error}."])
    files = ExportedFiles(ExportState.from_base(base))
    if files.export.error is not None:
        files.miss("the export cannot be read", f"The export cannot be read: {files.export.error}")
    is_foreign = host.domain != own_host.domain
    if not is_foreign and host.scheme != own_host.scheme:
        files.notes.append(f"The sitemap is for {base}, so this URL was looked up with {base.scheme}.")
    # The origin has no default port.
    location = f"{host if is_foreign else base}{path_of(location)}"
    declarations = dict(native_mapping().items())
    with site_locale():
        lookup = _lookup(location, base, declarations, files)
        answer = lookup.answer()
        if answer.verdict != "absent":
            return answer
        is_foreign = is_foreign and not lookup.unfiltered
        if is_foreign and host not in chain(*declared_hosts(declarations, base).values()):
            reason = f"{host} is not {base}, and no section allows it in its attribute `hosts`."
            return replace(answer, verdict="elsewhere", reasons=[reason])
        head, mark, query = location.partition("?")
        # Django redirects to the form with a slash, so a sitemap lists only this one.
        form, files = f"{head}/{mark}{query}", ExportedFiles(files.export)
        if head.endswith("/") or not _lookup(form, base, declarations, files).answer().is_listed:
            return answer
        return replace(answer, reasons=[*answer.reasons, f"The sitemap lists this form: {form}"])


def _lookup(
    location: str, base: Base, declarations: Mapping[str, Section], files: ExportedFiles
) -> _Lookup:
    """Look up a URL in the rows of all declared sections, with few queries for many sections."""
    resolved, queries, errors = resolve_path(path_of(location)), KeyQueries(), list[tuple[str, str]]()

    def attempt(name: str, step: Callable[..., Any], *arguments: Any) -> Any:
        try:
            with savepoints():
                return step(*arguments)
        except Exception as error:  # noqa: BLE001 a project's section can raise anything
            errors.append((name, f" cannot be read: {reason_of(error)}"))
            return SectionLookup(can_match=True, needs_search=True)

    arguments = (base, resolved, files.export, location)
    lookups = {
        name: attempt(name, row_search, name, each, *arguments) for name, each in declarations.items()
    }
    searches = {name: lookup for name, lookup in lookups.items() if isinstance(lookup, RowSearch)}
    queries.prepare([search.found for search in searches.values()])
    lookups |= {name: attempt(name, search.result, queries) for name, search in searches.items()}
    files.notes.extend(sentences(errors))
    return _Lookup(location, base, resolved, lookups, files)


@dataclass(frozen=True, slots=True)
class _Lookup:
    """A URL, whose path is `resolved`, with its lookups in the rows of all declared sections."""

    location: str
    base: Base
    resolved: ResolvedPath
    lookups: Mapping[str, SectionLookup]
    files: ExportedFiles

    @property
    def undeclared(self) -> list[str]:
        """The sections that are only published."""
        return [name for name in self.files.sections if name not in self.lookups]

    @property
    def unfiltered(self) -> list[str]:
        """The declared sections whose rows cannot be searched."""
        return [name for name, lookup in self.lookups.items() if lookup.needs_search]

    def answer(self) -> Answer:
        """Return the answer for the first section with the URL, with those for the others."""
        rows = [lookup.row for lookup in self.lookups.values() if lookup.row is not None]
        rows.sort(key=self._rank)
        answer = self._for_row(rows[0], rows) if rows else self._without_row()
        if answer.published is None and answer.live is None:
            return answer
        rows_by_section = {row.section: row for row in rows}
        names = [*rows_by_section]
        # Without an entry, and for a removed file, the files of the other sections were searched.
        if answer.is_listed and answer.published is not None:
            # Without a row, it was deleted, in other sections as well.
            without_row = () if answer.live is not None else self.files.sections
            names += [*self.undeclared, *self.unfiltered, *without_row]
        others: list[Answer] = []
        searched, searched_without_row = dict[str, float](), dict[str, float]()
        for name in dict.fromkeys(names):
            if name in (answer.section, section_of(answer.file)):
                continue
            if len(others) == _MAX_OTHERS:
                self.files.notes.append("Further sections may contain the URL, too.")
                break
            if name in rows_by_section:
                other = self._for_row(rows_by_section[name], searched=searched)
                others += [other] if other.is_listed or other.live is not None else []
            else:
                found = self.files.search(self.files.of_sections([name]), answer.url, searched_without_row)
                others += [self._found(found)] if found.name is not None else []
        return replace(answer, others=others)

    def _rank(self, row: LiveRow) -> tuple[bool, ...]:
        """Prefer a listed row, then one that is still exported, and then one that is not filtered out."""
        is_on_own_page = self.files.search(self._own_pages([row]), self.location).name is not None
        return row.entry is None or not row.is_listed, not is_on_own_page, row.is_listed is False

    def _own_pages(self, rows: Iterable[LiveRow]) -> Iterator[str]:
        return filter(None, (row.exported_page(self.files.export) for row in rows))

    def _pages(self, *groups: Iterable[str], excluded: str | None = None) -> Iterator[str]:
        """Yield the pages of sections for which nothing else can answer, and then those of `groups`."""
        for names in (self.undeclared, self.unfiltered, *groups):
            yield from self.files.of_sections(name for name in names if name != excluded)

    def _answer(self, verdict: Verdict, found: FoundEntry, **values: Any) -> Answer:
        values = {"url": self.location, "file": found.name, "published": found.entry, **values}
        values |= {"file_url": self.files.url(found.name, self.base), "gap": self.files.gap}
        return Answer(verdict=verdict, notes=self.files.notes, **values)

    def _for_row(
        self, row: LiveRow, others: Sequence[LiveRow] = (), searched: dict[str, float] | None = None
    ) -> Answer:
        """Return the answer for an item that has the URL, or would have it.

        Search its page, those of `others`, which are all items with the URL, and its section: the URL can
        have belonged to another row. With `others`, also search other sections: if one of these has the
        URL, the answer is for its own item.
        """
        location = self.location if row.entry is None else row.entry.location
        pages = chain(self._own_pages([row, *others]), self.files.of_sections([row.section]))
        found = self.files.search(pages, location, searched)
        if found.entry is None and others:
            found = self.files.search(self._pages(self.files.sections, excluded=row.section), location)
            if found.entry is not None and not row.is_in_next_export:
                return self._found(found)
        section = section_of(found.name)
        row = next((each for each in others if each.is_in_next_export and each.section == section), row)
        verdict, reasons = self._verdict(row, found.entry)
        return self._answer(
            verdict,
            found,
            url=location,
            section=row.section,
            key=excerpt(row.key),
            file=row.live_page() if verdict == "live" else found.name,
            live=row.entry if row.is_in_next_export else None,
            reasons=[*(f"Skipped: {reason}" for reason in row.skipped), *reasons],
        )

    def _verdict(self, row: LiveRow, published: Entry | None) -> tuple[Verdict, list[str]]:
        """Return the verdict on an item, with its reasons."""
        reasons = []
        if row.is_listed is False:
            reasons.append(f"The row exists, but items() of section {row.section!r} does not return it.")
        elif row.is_listed is None:
            text = "filters by a window function, so only an export can tell whether it lists the row."
            reasons.append(f"Section {row.section!r} {text}")
        if not row.is_in_next_export:
            if published is not None:
                return "leaving", [*reasons, _WILL_REMOVE]
            return "filtered" if row.is_listed is False else "skipped", reasons
        if row.is_listed is None:
            return "absent" if published is None else "unconfirmed", reasons
        if published is not None:
            return "listed" if row.entry == published else "changed", reasons
        if self.files.export.root is None:
            return "live", reasons
        text = f"The last export of section {row.section!r} does not contain this URL."
        return "new", [] if self.files.gap else [f"{text} The next one will add it."]

    def _without_row(self) -> Answer:
        """Search the exported files of the sections that may contain the URL, and then removed files."""
        lookups, unfiltered, match = self.lookups, self.unfiltered, self.resolved.match
        filtered = [n for n, lookup in lookups.items() if lookup.can_match and not lookup.needs_search]
        former_rows = (lookup.former_row for lookup in lookups.values() if lookup.former_row is not None)
        removed_pages = (name for name in self.files.removed if parse_page_name(name) is not None)
        # If the URLconf has changed, any section can contain the URL.
        pages = self._pages(filtered, lookups if match is None else ())
        found = self.files.search(chain(self._own_pages(former_rows), pages, removed_pages), self.location)
        if found.name is not None:
            return self._found(found)
        if unfiltered and self.files.export.root is None:
            self.files.gap = self.files.gap or "not all sections can be searched"
        reasons = []
        if match is None:
            reasons.append("No URL pattern matches the path.")
        elif not filtered:
            rest = "." if unfiltered else ", which no section has as its location."
            reasons.append(f"The path belongs to the view {excerpt(match.view_name)!r}{rest}")
        reasons += sentences((name, lookups[name].reason) for name in filtered)
        if found.files:
            reasons.append(f"It is not in the {found.files:,} exported files that were searched.")
        unread = [name for name, lookup in lookups.items() if lookup.is_unread]
        if unread:
            text = f"The rows of these sections cannot be searched by URL: {first_names(unread)}."
            self.files.notes.append(f"{text} Rows that are not in the exported files are missing.")
        return self._answer("absent", found, reasons=reasons)

    def _found(self, found: FoundEntry) -> Answer:
        """Return the answer for a URL that was found in an exported file, without its row."""
        name, section, notes = found.name or "", section_of(found.name), self.files.notes
        verdict: Verdict = "leaving"
        reasons = [f"No row of section {section!r} has this URL any more.", _WILL_REMOVE]
        if name in self.files.removed:
            seconds = max(0.0, min(self.files.removed[name], MAX_TIME))
            since = f"{datetime.fromtimestamp(seconds, timezone.utc):%Y-%m-%d %H:%M} UTC"
            hours = f"{conf.keep_removed / 3600:g} hours later (KEEP_REMOVED)"
            verdict = "removed"
            reasons = [f"No index has listed {name} since {since}. An export deletes it {hours}."]
        elif section in self.unfiltered:
            text = "could be found by this URL, so its current entry is not shown"
            notes.append(f"No row of section {section!r} {text}, and the next export may remove it.")
            verdict, reasons = "unconfirmed", []
        elif section in self.undeclared:
            notes.append(f"Exports keep its files. To remove them, use --remove {section}.")
            verdict, reasons = "undeclared", [f"Section {section!r} is published, but no longer declared."]
        return self._answer(verdict, found, section=section, reasons=reasons)
