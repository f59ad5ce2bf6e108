"""Answer whether a URL is in the sitemap: in which file, or why not.

The path is matched against the URL patterns that sections use as locations. If one matches, the rows of the
section are filtered by the captured values, with a few small queries. For sections that cannot be filtered,
the exported files are searched, up to a limit: first those for which nothing else can answer.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from functools import partial
from itertools import chain
from typing import Any, Literal

from django_sitemaps09 import protocol, sections
from django_sitemaps09.conf import conf, site_locale
from django_sitemaps09.entries import excerpt, first_names, reason_of
from django_sitemaps09.filenames import parse_page_name
from django_sitemaps09.hosts import AllowedHosts
from django_sitemaps09.inspector.key_queries import KeyQueries
from django_sitemaps09.inspector.published_entries import Entry, ExportedFiles, FoundEntry, section_of
from django_sitemaps09.inspector.rows import LiveRow, RowSearch, SectionLookup, row_search
from django_sitemaps09.protocol import Base
from django_sitemaps09.routing.routes import ResolvedPath, resolve_path
from django_sitemaps09.sections import Section
from django_sitemaps09.sitemaps.declared import read
from django_sitemaps09.state.manifest import MAX_TIME
from django_sitemaps09.status import ExportState, name_sections
from django_sitemaps09.views.responses import savepoints

# Maximum number of further sections with the URL that are shown.
_MAX_OTHERS = 10

Verdict = Literal[
    "listed", "changed", "new", "live", "leaving", "removed", "filtered", "skipped", "elsewhere", "absent",
    "invalid",
]  # fmt: skip

Outlook = Literal["unconfirmed", "undeclared"]

#: Heading of the answer for each verdict, and for what is known of the next export.
HEADINGS: Mapping[Verdict | Outlook, str] = {
    "listed": "In the sitemap",
    "changed": "In the sitemap, but its entry has changed since the last export",
    "new": "Not exported yet",
    "live": "In the live sitemap",
    "leaving": "In the exported sitemap until the next export",
    "removed": "Only in a file that no index lists any more",
    "filtered": "Not in the sitemap: its row is filtered out",
    "skipped": "Not in the sitemap: its row is skipped",
    "elsewhere": "Not in the sitemap: it is on another host",
    "absent": "Not in the sitemap",
    "invalid": "Not a URL that a sitemap can contain",
    "unconfirmed": "In the exported sitemap, but the next export may remove it",
    "undeclared": "In the exported sitemap, in a section that is no longer declared",
}
# Beginnings of the headings after an incomplete search, which cannot tell that a URL is missing.
_INCOMPLETE: Mapping[Verdict, str] = {
    "new": "Not found in the export",
    "removed": "Found only in a file that no index lists any more",
    "filtered": "Not found, and its row is filtered out",
    "skipped": "Not found, and its row is skipped",
    "elsewhere": "Not found, and it is on another host",
    "absent": "Not found",
}


@dataclass(frozen=True, slots=True)
class Answer:
    """Answer to the question whether `url` is in the sitemap.

    `file` is the name of the page, with its URL in `file_url`. `published` is the entry in the exported
    file, and `live` the entry as it is now. `reasons` say why the URL is missing, and `notes` how far the
    search went. `gap` is why the search is incomplete, if it is. `outlook` is what the next export may do
    instead of what the verdict says. `others` are the answers for further sections with the URL.
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
    outlook: Outlook | None = None
    others: Sequence[Answer] = ()

    @property
    def heading(self) -> str:
        if self.gap and self.verdict in _INCOMPLETE:
            return f"{_INCOMPLETE[self.verdict]}: {self.gap}"
        return HEADINGS[self.outlook or self.verdict]

    @property
    def is_listed(self) -> bool:
        return self.verdict in ("listed", "changed", "live", "leaving")


def look_up(text: str, base: Base) -> Answer:
    """Return the answer for a URL or a path that a person has typed."""
    try:
        text = text.strip()
        text = f"//{text}" if text.startswith(f"{base.domain}/") else text
        location = AllowedHosts(base, joins_paths=True, is_limited=False).uri(text)
        host = protocol.origin(location)
        # The origin has no default port.
        path = location.partition("://")[2].partition("/")[2]
        location = f"{host}/{path}"
    except ValueError as error:
        return Answer(excerpt(text), "invalid", reasons=[f"{error}."])
    files = ExportedFiles(ExportState.from_base(base))
    if files.export.error is not None:
        files.miss("the export cannot be read", f"The export cannot be read: {files.export.error}")
    declarations = dict(sections.native_mapping().items())
    undeclared = [name for name in files.sections if name not in declarations]
    own_host = protocol.origin(str(base))
    if host.domain == own_host.domain:
        location = f"{base}/{path}"
        if host.scheme != own_host.scheme:
            files.notes.append(f"The sitemap is for {base}, so this URL was looked up with {base.scheme}.")
    with site_locale():
        lookup = _lookup(location, base, resolve_path(f"/{path}"), declarations, undeclared, files)
        answer = lookup.answer()
        is_foreign = host.domain != own_host.domain and not lookup.unfiltered
        hosts = chain(*sections.declared_hosts(declarations, base).values()) if is_foreign else [host]
        if answer.verdict == "absent" and host not in hosts:
            reason = f"{host} is not {base}, and no section allows it in its attribute `hosts`."
            return replace(answer, verdict="elsewhere", reasons=[reason])
        head, mark, query = location.partition("?")
        if answer.verdict != "absent" or head.endswith("/"):
            return answer
        # Django redirects to this form, so a sitemap lists only this one.
        location, path = f"{head}/{mark}{query}", f"/{path.partition('?')[0]}/{mark}{query}"
        files = ExportedFiles(files.export)
        lookup = _lookup(location, base, resolve_path(path), declarations, undeclared, files)
        if not lookup.answer().is_listed:
            return answer
        return replace(answer, reasons=[*answer.reasons, f"The sitemap lists this form: {location}"])


def _lookup(
    location: str,
    base: Base,
    resolved: ResolvedPath,
    declarations: Mapping[str, Section],
    undeclared: Collection[str],
    files: ExportedFiles,
) -> _Lookup:
    """Look up a URL, whose path is `resolved`, in the rows of all declared sections.

    The number of queries for a missing URL hardly depends on the number of sections.
    """
    queries, errors = KeyQueries(), dict[str, list[str]]()

    def attempt(name: str, step: Callable[[], Any]) -> Any:
        try:
            with savepoints():
                return step()
        except Exception as error:  # noqa: BLE001 a project's section can raise anything
            errors.setdefault(reason_of(error), []).append(name)
            return SectionLookup(can_match=True, needs_search=True)

    def search(name: str) -> RowSearch | SectionLookup:
        declared = read(sections.bind(declarations[name], base.domain), base, conf.limits)
        return row_search(name, declared, resolved, files.export.record(name), location)

    lookups = {name: attempt(name, partial(search, name)) for name in declarations}
    searches = {name: lookup for name, lookup in lookups.items() if isinstance(lookup, RowSearch)}
    queries.check(query for search in searches.values() for query in search.queries())
    queries.check(query for search in searches.values() for query in search.queries(queries))
    lookups |= {name: attempt(name, partial(search.result, queries)) for name, search in searches.items()}
    files.notes.extend(f"{name_sections(names)} cannot be read: {error}" for error, names in errors.items())
    return _Lookup(location, base, resolved, lookups, undeclared, files)


@dataclass(frozen=True, slots=True)
class _Lookup:
    """A URL, whose path is `resolved`, with its lookups in the rows of all declared sections.

    The sections in `undeclared` are only published.
    """

    location: str
    base: Base
    resolved: ResolvedPath
    lookups: Mapping[str, SectionLookup]
    undeclared: Collection[str]
    files: ExportedFiles

    @property
    def rows(self) -> list[LiveRow]:
        return [lookup.row for lookup in self.lookups.values() if lookup.row is not None]

    @property
    def unfiltered(self) -> list[str]:
        """The declared sections whose rows cannot be searched."""
        return [name for name, lookup in self.lookups.items() if lookup.needs_search]

    def answer(self) -> Answer:
        """Return the answer for the first section with the URL, with those for the others."""
        answer = self._first_answer()
        if answer.published is None and answer.live is None:
            return answer
        names = {answer.section, section_of(answer.file)}
        # These files count together. The pages of a section are searched once its own page has been.
        searched: dict[str, float] = {}
        rows = sorted(self.rows, key=self._is_on_own_page, reverse=True)
        others = [self._for_row(row, searched=searched) for row in rows if row.section not in names]
        others = [other for other in others if other.is_listed or other.live is not None]
        names.update(other.section for other in others)
        # Without an entry, and for a removed file, these files were searched.
        is_exported = answer.is_listed and answer.published is not None
        # Without a row, it was deleted, in other sections as well.
        others_without_row = () if answer.live is not None else self.files.sections
        unread = [*self.undeclared, *self.unfiltered, *others_without_row] if is_exported else []
        searched = {}
        for name in unread:
            if name in names:
                continue
            if len(others) == _MAX_OTHERS:
                self.files.notes.append("Further sections may contain the URL, too.")
                break
            found = self.files.search(self.files.of_sections([name]), answer.url, searched)
            others += [self._found(found)] if found.name is not None else []
        return replace(answer, others=others)

    def _first_answer(self) -> Answer:
        rows = self.rows
        for row in rows:
            if row.entry is not None and row.row.is_listed:
                # Another section can have listed the row in the last export.
                return self._for_row(row, rows)
        if not rows:
            return self._without_row()
        # Prefer a row that is still exported, and then one that is not filtered out.
        unfiltered_row = min(rows, key=lambda row: row.row.is_listed is False)
        answer = self._for_row(next(filter(self._is_on_own_page, rows), unfiltered_row), rows)
        if answer.published is None:
            # Another section can list the URL.
            found = self._search_others(answer.section, self.location)
            if found.name is not None:
                return self._found(found)
        return answer

    def _for_row(
        self, row: LiveRow, others: Sequence[LiveRow] = (), searched: dict[str, float] | None = None
    ) -> Answer:
        """Return the answer for an item that has the URL, or would have it.

        `others` are the same item, or others with the URL, in other sections. Search the page of the item,
        the pages of `others`, and then the other pages of the section: the URL can have belonged to another
        row. If there are `others`, search those of other sections. If one of these has the URL, the answer
        is for its own item.
        """
        location = self.location if row.entry is None else row.entry.location
        own_pages = filter(None, map(self._own_page, chain([row], others)))
        found = self.files.search(
            chain(own_pages, self.files.of_sections([row.section])), location, searched
        )
        if row.is_in_next_export and found.entry is None and others:
            found = self._search_others(row.section, location)
        listed = (other for other in others if other.is_in_next_export)
        row = next((other for other in listed if other.section == section_of(found.name)), row)
        verdict = self._verdict(row, found.entry)
        return self._answer(
            verdict,
            found,
            url=location,
            section=row.section,
            key=excerpt(row.row.key),
            file=row.live_page() if verdict == "live" else found.name,
            live=row.entry if row.is_in_next_export else None,
            reasons=_reasons(row, verdict, is_complete=not self.files.gap),
            outlook="unconfirmed" if row.row.is_listed is None and found.entry is not None else None,
        )

    def _answer(self, verdict: Verdict, found: FoundEntry, **values: Any) -> Answer:
        file_url = self.files.url(found.name, self.base)
        values = {"url": self.location, "file": found.name, "published": found.entry, **values}
        return Answer(
            verdict=verdict, file_url=file_url, notes=self.files.notes, gap=self.files.gap, **values
        )

    def _verdict(self, row: LiveRow, published: Entry | None) -> Verdict:
        if not row.is_in_next_export:
            if published is not None:
                return "leaving"
            return "filtered" if row.row.is_listed is False else "skipped"
        if published is not None:
            return "listed" if row.entry == published else "changed"
        if row.row.is_listed is None:
            return "absent"
        return "live" if self.files.export.root is None else "new"

    def _own_page(self, row: LiveRow) -> str | None:
        return row.exported_page(self.files.export.record(row.section))

    def _is_on_own_page(self, row: LiveRow) -> bool:
        return self.files.search(filter(None, [self._own_page(row)]), self.location).name is not None

    def _search_others(self, section: str | None, location: str) -> FoundEntry:
        """Search the files of all sections except `section`."""
        groups = (self.undeclared, self.unfiltered, self.files.sections)
        others = [[name for name in names if name != section] for names in groups]
        return self.files.search(chain(*map(self.files.of_sections, others)), location)

    def _without_row(self) -> Answer:
        """Search the exported files of the sections that may contain the URL, and then removed files."""
        lookups, unfiltered = self.lookups, self.unfiltered
        filtered = [n for n, lookup in lookups.items() if lookup.can_match and not lookup.needs_search]
        former_rows = (lookup.former_row for lookup in lookups.values() if lookup.former_row is not None)
        # If the URLconf has changed, any section can contain the URL.
        others = lookups if self.resolved.match is None else ()
        groups = (self.undeclared, unfiltered, filtered, others)
        removed_pages = (name for name in self.files.removed if parse_page_name(name) is not None)
        own_pages = filter(None, map(self._own_page, former_rows))
        pages = chain(own_pages, *map(self.files.of_sections, groups), removed_pages)
        found = self.files.search(pages, self.location)
        if found.name is not None:
            return self._found(found)
        if unfiltered and self.files.export.root is None:
            self.files.gaps.append("not all sections can be searched")
        reasons = []
        unread = [name for name, lookup in lookups.items() if lookup.is_unread]
        if self.resolved.match is None:
            reasons.append("No URL pattern matches the path.")
        elif not filtered:
            view = excerpt(self.resolved.match.view_name)
            rest = "." if unfiltered else ", which no section has as its location."
            reasons.append(f"The path belongs to the view {view!r}{rest}")
        names_by_reason: dict[tuple[str, str, str], list[str]] = {}
        for name in filtered:
            names_by_reason.setdefault(lookups[name].reason, []).append(name)
        for (singular, plural, reason), names in names_by_reason.items():
            reasons.append(f"{name_sections(names)} {singular if len(names) == 1 else plural} {reason}")
        if found.files:
            reasons.append(f"It is not in the {found.files:,} exported files that were searched.")
        if unread:
            self.files.notes.append(
                "The rows of these sections cannot be searched by URL, so only exported files were: "
                f"{first_names(unread)}. Rows that were added since the last export are missing."
                if self.files.export.root is not None
                else f"These sections are not exported, so they were not searched: {first_names(unread)}."
            )
        return self._answer("absent", found, reasons=reasons)

    def _found(self, found: FoundEntry) -> Answer:
        """Return the answer for a URL that was found in an exported file, without its row."""
        name, section = found.name or "", section_of(found.name)
        reasons: list[str] = []
        outlook: Outlook | None = None
        verdict: Verdict = "listed" if section in self.unfiltered else "leaving"
        if name in self.files.removed:
            verdict = "removed"
            seconds = max(0.0, min(self.files.removed[name], MAX_TIME))
            since = datetime.fromtimestamp(seconds, timezone.utc)
            reasons.append(
                f"No index has listed {name} since {since:%Y-%m-%d %H:%M} UTC. An export deletes it "
                f"{conf.keep_removed / 3600:g} hours later (KEEP_REMOVED)."
            )
        elif verdict == "listed":
            outlook = "unconfirmed"
            self.files.notes.append(
                f"No row of section {section!r} could be found by this URL, so its current entry is not "
                "shown, and the next export may remove it."
            )
        elif section in self.undeclared:
            outlook = "undeclared"
            reasons.append(f"Section {section!r} is published, but no longer declared.")
            self.files.notes.append(f"Exports keep its files. To remove them, use --remove {section}.")
        else:
            reasons.append(f"No row of section {section!r} has this URL any more.")
            reasons.append("The next export will remove it.")
        return self._answer(verdict, found, section=section, reasons=reasons, outlook=outlook)


def _reasons(row: LiveRow, verdict: Verdict, *, is_complete: bool) -> list[str]:
    reasons = [f"Skipped: {reason}" for reason in row.skipped]
    if row.row.is_listed is False:
        reasons.append(f"The row exists, but items() of section {row.section!r} does not return it.")
    if row.row.is_listed is None:
        reasons.append(
            f"Section {row.section!r} filters by a window function, so only an export can tell whether "
            "it lists the row."
        )
    if verdict == "new" and is_complete:
        text = f"The last export of section {row.section!r} does not contain this URL."
        reasons.append(f"{text} The next one will add it.")
    if verdict == "leaving":
        reasons.append("The next export will remove it.")
    return reasons
