"""Answer whether a URL is in the sitemap: in which file, or why not.

The path is matched against the URL patterns that sections use as locations. If one matches, the rows of the
section are filtered by the captured values, with a few small queries. For sections that cannot be filtered,
the exported files are searched, up to a limit.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone
from itertools import chain
from typing import Any

from django_sitemaps09 import protocol, sections, sources
from django_sitemaps09.conf import conf, site_locale
from django_sitemaps09.entries import excerpt, reason_of
from django_sitemaps09.filenames import page_name, parse_page_name
from django_sitemaps09.hooks.hosts import AllowedHosts
from django_sitemaps09.inspector import published_entries
from django_sitemaps09.inspector.answers import Answer, Verdict
from django_sitemaps09.inspector.candidates import ResolvedPath, resolve_path
from django_sitemaps09.inspector.published_entries import SearchResult
from django_sitemaps09.inspector.rows import LiveRow, SectionLookup, key_text, look_up_row
from django_sitemaps09.management.status import ExportState
from django_sitemaps09.manifest import MAX_TIME
from django_sitemaps09.protocol import Base
from django_sitemaps09.sections import Section
from django_sitemaps09.views.live import maps
from django_sitemaps09.views.responses import savepoints

logger = logging.getLogger(__name__)


def look_up(text: str, base: Base, export: ExportState) -> Answer:
    """Return the answer for a URL or a path that a person has typed."""
    try:
        text = text.strip()
        location = protocol.uri(f"{base.scheme}://{text}" if text.startswith(f"{base.domain}/") else text)
        location = f"{base}{location}" if location[0] == "/" else location
        host = protocol.origin(location)
        # The origin has no default port.
        path = location.partition("://")[2].partition("/")[2]
        location = f"{host}/{path}"
    except ValueError as error:
        return Answer(excerpt(text), "invalid", reasons=[f"{error}."])
    notes: list[str] = []
    names = () if export.root is None else export.root.files
    declarations = dict(sections.native_mapping().items())
    undeclared = [name for name in names if name not in declarations]
    own_host = protocol.origin(str(base))
    if host.domain == own_host.domain:
        location = f"{base}/{path}"
        if host.scheme != own_host.scheme:
            notes.append(f"The sitemap is for {base}, so this URL was looked up with {base.scheme}.")
    else:
        declarations = _on_host(host, declarations, base)
        if not declarations:
            reason = f"{host} is not {base}, and no section allows it in its attribute `hosts`."
            return Answer(location, "elsewhere", reasons=[reason])
    with site_locale():
        lookup = _Lookup(location, base, export, resolve_path(f"/{path}"), undeclared, notes)
        answer = lookup.answer(declarations)
        head, mark, query = location.partition("?")
        if answer.verdict != "absent" or head.endswith("/"):
            return answer
        # Django redirects to this form, so a sitemap lists only this one.
        location, path = f"{head}/{mark}{query}", f"/{path.partition('?')[0]}/{mark}{query}"
        lookup = _Lookup(location, base, export, resolve_path(path), undeclared)
        if not lookup.answer(declarations).is_listed:
            return answer
        return replace(answer, reasons=[*answer.reasons, f"The sitemap lists this form: {location}"])


def _on_host(host: Base, declarations: Mapping[str, Section], base: Base) -> dict[str, Section]:
    """Return the sections that allow locations on another host."""
    allowing = {}
    for name, section in declarations.items():
        try:
            others = AllowedHosts.from_sitemap(sections.bind(section, base.domain), (base,)).others
        except Exception as error:  # noqa: BLE001 a project's section can raise anything
            logger.warning("Section %r cannot be inspected: %s", name, reason_of(error))
            continue
        if host in others:
            allowing[name] = section
    return allowing


def _unique(names: Iterable[str]) -> Iterator[str]:
    seen: set[str] = set()
    for name in names:
        if name not in seen:
            seen.add(name)
            yield name


@dataclass(frozen=True, slots=True)
class _Lookup:
    """Lookup of one URL, whose path is `resolved`.

    `undeclared` has the published sections that are not declared. `notes` say how far the search went.
    """

    location: str
    base: Base
    export: ExportState
    resolved: ResolvedPath
    undeclared: Collection[str] = ()
    notes: list[str] = field(default_factory=list)

    def answer(self, declarations: Mapping[str, Section]) -> Answer:
        lookups: dict[str, SectionLookup] = {}
        rows: list[LiveRow] = []
        remaining = iter(declarations.items())
        for name, section in remaining:
            lookups[name] = lookup = self._section(name, section)
            if lookup.row is None:
                continue
            if lookup.row.entry is not None and lookup.row.row.is_listed:
                # Another section can have listed the row in the last export.
                others = (self._section(*other).row for other in remaining)
                return self._for_row(lookup.row, chain(rows, filter(None, others)))
            rows.append(lookup.row)
        if not rows:
            return self._without_row(lookups)
        # Prefer a row that is still exported, and then one that is not filtered out.
        unfiltered_row = min(rows, key=lambda row: row.row.is_listed is False)
        answer = self._for_row(next(filter(self._is_on_own_page, rows), unfiltered_row), rows)
        if answer.published is None:
            # Another section can list the URL.
            unfiltered = [name for name, lookup in lookups.items() if lookup.needs_search]
            result = self._search(self._other_files(answer.section, unfiltered), self.location)
            if result.name is not None:
                return self._found(result, unfiltered)
        return answer

    def _section(self, name: str, section: Section) -> SectionLookup:
        try:
            with savepoints():
                sitemap: Any = sections.bind(section, self.base.domain)
                record = self.export.record(name)
                return look_up_row(name, sitemap, self.base, self.resolved, record, self.location)
        except Exception as error:  # noqa: BLE001 a project's section can raise anything
            self.notes.append(f"Section {name!r} cannot be read: {reason_of(error)}")
        return SectionLookup(can_match=True, needs_search=True)

    def _for_row(self, row: LiveRow, others: Iterable[LiveRow]) -> Answer:
        """Return the answer for an item that has the URL, or would have it.

        `others` are the same item, or others with the URL, in other sections.
        """
        is_listed = row.entry is not None and row.row.is_listed is not False
        location = self.location if row.entry is None else row.entry.location
        name, published = self._published_page(row, location, others)
        if is_listed and published is None:
            # The URL can have belonged to a row of another section.
            result = self._search(self._other_files(row.section), location)
            name, published = result.name or name, result.entry
        if is_listed:
            if published is not None:
                verdict: Verdict = "listed" if row.entry == published else "changed"
            elif row.row.is_listed is None:
                verdict = "absent"
            elif self.export.root is None:
                verdict, name = "live", self._live_page(row)
            else:
                verdict = "new"
        elif published is not None:
            verdict = "leaving"
        else:
            verdict = "filtered" if row.row.is_listed is False else "skipped"
        if published is None and verdict != "live":
            name = ""
        return Answer(
            location,
            verdict,
            section=row.section,
            key=key_text(row),
            file=name or None,
            file_url=self._file_url(name),
            published=published,
            live=row.entry if is_listed else None,
            reasons=self._reasons(row, verdict),
            notes=self.notes,
        )

    def _reasons(self, row: LiveRow, verdict: Verdict) -> list[str]:
        reasons = [f"Skipped: {reason}" for reason in row.skipped]
        if row.row.is_listed is False:
            reasons.append(f"The row exists, but items() of section {row.section!r} does not return it.")
        if row.row.is_listed is None:
            reasons.append(
                f"Section {row.section!r} filters by a window function, so only an export can tell whether "
                "it lists the row."
            )
        if verdict == "new":
            reasons.append("The last export does not contain this URL. The next one will add it.")
        if verdict == "leaving":
            reasons.append("The next export will remove it.")
        return reasons

    def _published_page(self, row: LiveRow, location: str, others: Iterable[LiveRow]) -> tuple[str, Any]:
        """Return the name of an exported page with the URL, and its entry on this page.

        Search the page of the row, and its pages in other sections. Then search the other pages of the
        section: the URL can have belonged to another row.
        """
        record = self.export.record(row.section)
        own_names = [] if record is None else reversed(record.file_names(row.section))
        own_pages = chain.from_iterable(map(self._own_page, chain([row], others)))
        result = self._search(_unique(chain(own_pages, own_names)), location)
        return result.name or "", result.entry

    def _own_page(self, row: LiveRow) -> list[str]:
        """Return the name of the exported page whose keys include that of a row, if there is one."""
        record, source = self.export.record(row.section), row.source
        if record is None or not record.pages or source is None:
            return []
        if record.key_identity != source.key_identity:
            return []
        index = sources.page_index(source, row.row.key, [page.until for page in record.pages])
        return [record.file_names(row.section)[index]]

    def _is_on_own_page(self, row: LiveRow) -> bool:
        return self._search(iter(self._own_page(row)), self.location).name is not None

    def _live_page(self, row: LiveRow) -> str:
        """Return the name of the live page of an item, or an empty string if no page map is cached."""
        if row.source is None:
            return ""
        live_map = maps.SectionMap(row.source).cached()
        if live_map is None or not live_map.pages:
            return ""
        index = sources.page_index(row.source, row.row.key, [page.until for page in live_map.pages])
        return page_name(row.section, live_map.pages[index].number, "xml")

    def _search(self, names: Iterator[str], location: str) -> SearchResult:
        if self.export.folder is None:
            return SearchResult(None, None, 0, is_complete=True)
        result = published_entries.search(self.export.folder.store, names, location)
        self.notes.extend(f"{problem}." for problem in result.problems)
        if not result.is_complete:
            self.notes.append(
                f"The search ended after {result.files:,} files. Other files may contain the URL."
            )
        return result

    def _other_files(self, section: str | None, first: Iterable[str] = ()) -> Iterator[str]:
        """Yield the exported files of all sections except `section`, beginning with those in `first`."""
        exported = () if self.export.root is None else self.export.root.files
        return self._files(name for name in dict.fromkeys((*first, *exported)) if name != section)

    def _files(self, names: Iterable[str]) -> Iterator[str]:
        for name in names:
            try:
                record = self.export.record(name)
                # New rows are on the last pages of most sections.
                yield from reversed([] if record is None else record.file_names(name))
            except Exception as error:  # noqa: BLE001 each storage raises its own errors
                self.notes.append(f"Section {name!r} cannot be read: {reason_of(error)}")

    def _without_row(self, lookups: Mapping[str, SectionLookup]) -> Answer:
        """Search the exported files of the sections that may contain the URL, and then removed files."""
        unfiltered = [name for name, lookup in lookups.items() if lookup.needs_search]
        filtered = [n for n, lookup in lookups.items() if lookup.can_match and not lookup.needs_search]
        # If the URLconf has changed, any section can contain the URL.
        others = [] if self.resolved.match is not None else [n for n in lookups if n not in unfiltered]
        names = dict.fromkeys((*filtered, *unfiltered, *others, *self.undeclared))
        removed_pages = (name for name in self._removed if parse_page_name(name) is not None)
        result = self._search(chain(self._files(names), removed_pages), self.location)
        if result.name is None:
            return self._absent(filtered, lookups, result)
        return self._found(result, unfiltered)

    @property
    def _removed(self) -> Mapping[str, float]:
        """Removed files, with the time of their removal from the index in seconds since 1970."""
        return {} if self.export.root is None else self.export.root.removed

    def _found(self, result: SearchResult, unfiltered: Collection[str]) -> Answer:
        """Return the answer for a URL that was found in an exported file, without its row."""
        name = result.name or ""
        page = parse_page_name(name)
        section = page.section if page is not None else None
        reasons = []
        verdict: Verdict = "listed" if section in unfiltered else "leaving"
        if name in self._removed:
            verdict = "removed"
            seconds = max(0.0, min(self._removed[name], MAX_TIME))
            since = datetime.fromtimestamp(seconds, timezone.utc)
            reasons.append(
                f"No index has listed {name} since {since:%Y-%m-%d %H:%M} UTC. An export deletes it "
                f"{conf.keep_removed / 3600:g} hours later (KEEP_REMOVED)."
            )
        elif verdict == "listed":
            self.notes.append(
                f"No row of section {section!r} could be found by this URL, so its current entry is not "
                "shown, and the next export may remove it."
            )
        elif section in self.undeclared:
            reasons.append(f"Section {section!r} is published, but no longer declared.")
        else:
            reasons.append(f"No row of section {section!r} has this URL any more.")
            reasons.append("The next export will remove it.")
        return Answer(
            self.location,
            verdict,
            section=section,
            file=name,
            file_url=self._file_url(name),
            published=result.entry,
            reasons=reasons,
            notes=self.notes,
        )

    def _absent(
        self, filtered: list[str], lookups: Mapping[str, SectionLookup], result: SearchResult
    ) -> Answer:
        reasons = []
        unread = [name for name, lookup in lookups.items() if lookup.is_unread]
        if self.resolved.match is None:
            reasons.append("No URL pattern matches the path.")
        elif not filtered:
            view = excerpt(self.resolved.match.view_name)
            is_searched = any(lookup.needs_search for lookup in lookups.values())
            rest = "." if is_searched else ", which no section has as its location."
            reasons.append(f"The path belongs to the view {view!r}{rest}")
        reasons += [lookups[name].reason(name) for name in filtered]
        if result.files:
            reasons.append(f"It is not in the {result.files:,} exported files that were searched.")
        if unread:
            self.notes.append(
                "The rows of these sections cannot be searched by URL, so only exported files were: "
                f"{', '.join(unread)}. Rows that were added since the last export are missing."
                if self.export.root is not None
                else f"These sections are not exported, so they were not searched: {', '.join(unread)}."
            )
        return Answer(self.location, "absent", reasons=reasons, notes=self.notes)

    def _file_url(self, name: str) -> str | None:
        """Return the URL of an exported file, unless the manifest names another host."""
        export = self.export.export
        url = export.url([self.base.domain]) if name and export is not None else None
        return url and f"{url}{name}"
