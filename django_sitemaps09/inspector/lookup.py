"""Answer whether a URL is in the sitemap: in which file, or why not.

The path is matched against the URL patterns that sections use as locations. If one matches, the rows of the
section are filtered by the captured values, with a few small queries. For sections that cannot be filtered,
the exported files are searched, up to a limit.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from itertools import chain
from typing import Literal

from django_sitemaps09 import protocol, sections
from django_sitemaps09.conf import conf, site_locale
from django_sitemaps09.entries import excerpt, reason_of
from django_sitemaps09.filenames import parse_page_name
from django_sitemaps09.hosts import AllowedHosts
from django_sitemaps09.inspector.published_entries import Entry, ExportedFiles, FoundEntry
from django_sitemaps09.inspector.rows import LiveRow, SectionLookup, look_up_row
from django_sitemaps09.protocol import Base
from django_sitemaps09.routing.routes import ResolvedPath, resolve_path
from django_sitemaps09.sections import Section
from django_sitemaps09.sitemaps.declared import read
from django_sitemaps09.state.manifest import MAX_TIME
from django_sitemaps09.status import ExportState
from django_sitemaps09.views.responses import savepoints

Verdict = Literal[
    "listed", "changed", "new", "live", "leaving", "removed", "filtered", "skipped", "elsewhere", "absent",
    "invalid",
]  # fmt: skip

#: Heading of the answer for each verdict.
HEADINGS: dict[Verdict, str] = {
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
}


@dataclass(frozen=True, slots=True)
class Answer:
    """Answer to the question whether `url` is in the sitemap.

    `file` is the name of the page, with its URL in `file_url`. `published` is the entry in the exported
    file, and `live` the entry as it is now. `reasons` say why the URL is missing, and `notes` how far the
    search went.
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

    @property
    def heading(self) -> str:
        return HEADINGS[self.verdict]

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
    declarations = dict(sections.native_mapping().items())
    undeclared = [name for name in files.sections if name not in declarations]
    own_host = protocol.origin(str(base))
    if host.domain == own_host.domain:
        location = f"{base}/{path}"
        if host.scheme != own_host.scheme:
            files.notes.append(f"The sitemap is for {base}, so this URL was looked up with {base.scheme}.")
    else:
        allowed = sections.declared_hosts(declarations, base)
        declarations = {name: declarations[name] for name, hosts in allowed.items() if host in hosts}
        if not declarations:
            reason = f"{host} is not {base}, and no section allows it in its attribute `hosts`."
            return Answer(location, "elsewhere", reasons=[reason])
    with site_locale():
        answer = _Lookup(location, base, resolve_path(f"/{path}"), declarations, undeclared, files).answer()
        head, mark, query = location.partition("?")
        if answer.verdict != "absent" or head.endswith("/"):
            return answer
        # Django redirects to this form, so a sitemap lists only this one.
        location, path = f"{head}/{mark}{query}", f"/{path.partition('?')[0]}/{mark}{query}"
        files = ExportedFiles(files.export)
        lookup = _Lookup(location, base, resolve_path(path), declarations, undeclared, files)
        if not lookup.answer().is_listed:
            return answer
        return replace(answer, reasons=[*answer.reasons, f"The sitemap lists this form: {location}"])


@dataclass(frozen=True, slots=True)
class _Lookup:
    """Lookup of one URL, whose path is `resolved`. The sections in `undeclared` are only published."""

    location: str
    base: Base
    resolved: ResolvedPath
    declarations: Mapping[str, Section]
    undeclared: Collection[str]
    files: ExportedFiles

    def answer(self) -> Answer:
        lookups: dict[str, SectionLookup] = {}
        rows: list[LiveRow] = []
        remaining = iter(self.declarations.items())
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
            found = self._search_others(answer.section, self.location, unfiltered)
            if found.name is not None:
                return self._found(found, unfiltered)
        return answer

    def _section(self, name: str, section: Section) -> SectionLookup:
        try:
            with savepoints():
                declared = read(sections.bind(section, self.base.domain), self.base, conf.limits)
                record = self.files.export.record(name)
                return look_up_row(name, declared, self.resolved, record, self.location)
        except Exception as error:  # noqa: BLE001 a project's section can raise anything
            self.files.notes.append(f"Section {name!r} cannot be read: {reason_of(error)}")
        return SectionLookup(can_match=True, needs_search=True)

    def _for_row(self, row: LiveRow, others: Iterable[LiveRow]) -> Answer:
        """Return the answer for an item that has the URL, or would have it.

        `others` are the same item, or others with the URL, in other sections. Search the page of the item
        and its pages in other sections. Then search the other pages of the section, and those of other
        sections: the URL can have belonged to another row.
        """
        location = self.location if row.entry is None else row.entry.location
        own_pages = filter(None, map(self._own_page, chain([row], others)))
        found = self.files.search(chain(own_pages, self.files.of_sections([row.section])), location)
        if row.is_in_next_export and found.entry is None:
            found = self._search_others(row.section, location)
        verdict = self._verdict(row, found.entry)
        return Answer(
            location,
            verdict,
            section=row.section,
            key=excerpt(row.row.key),
            file=row.live_page() if verdict == "live" else found.name,
            file_url=self.files.url(found.name, self.base),
            published=found.entry,
            live=row.entry if row.is_in_next_export else None,
            reasons=_reasons(row, verdict),
            notes=self.files.notes,
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

    def _search_others(self, section: str | None, location: str, first: Iterable[str] = ()) -> FoundEntry:
        """Search the files of all sections except `section`, beginning with those in `first`."""
        names = dict.fromkeys((*first, *self.files.sections))
        others = (name for name in names if name != section)
        return self.files.search(self.files.of_sections(others), location)

    def _without_row(self, lookups: Mapping[str, SectionLookup]) -> Answer:
        """Search the exported files of the sections that may contain the URL, and then removed files."""
        unfiltered = [name for name, lookup in lookups.items() if lookup.needs_search]
        filtered = [n for n, lookup in lookups.items() if lookup.can_match and not lookup.needs_search]
        # If the URLconf has changed, any section can contain the URL.
        others = [] if self.resolved.match is not None else [n for n in lookups if n not in unfiltered]
        names = dict.fromkeys((*filtered, *unfiltered, *others, *self.undeclared))
        removed_pages = (name for name in self.files.removed if parse_page_name(name) is not None)
        found = self.files.search(chain(self.files.of_sections(names), removed_pages), self.location)
        if found.name is not None:
            return self._found(found, unfiltered)
        reasons = []
        unread = [name for name, lookup in lookups.items() if lookup.is_unread]
        if self.resolved.match is None:
            reasons.append("No URL pattern matches the path.")
        elif not filtered:
            view = excerpt(self.resolved.match.view_name)
            rest = "." if unfiltered else ", which no section has as its location."
            reasons.append(f"The path belongs to the view {view!r}{rest}")
        reasons += [lookups[name].reason(name) for name in filtered]
        if found.files:
            reasons.append(f"It is not in the {found.files:,} exported files that were searched.")
        if unread:
            self.files.notes.append(
                "The rows of these sections cannot be searched by URL, so only exported files were: "
                f"{', '.join(unread)}. Rows that were added since the last export are missing."
                if self.files.export.root is not None
                else f"These sections are not exported, so they were not searched: {', '.join(unread)}."
            )
        return Answer(self.location, "absent", reasons=reasons, notes=self.files.notes)

    def _found(self, found: FoundEntry, unfiltered: Collection[str]) -> Answer:
        """Return the answer for a URL that was found in an exported file, without its row."""
        name = found.name or ""
        page = parse_page_name(name)
        section = page.section if page is not None else None
        reasons = []
        verdict: Verdict = "listed" if section in unfiltered else "leaving"
        if name in self.files.removed:
            verdict = "removed"
            seconds = max(0.0, min(self.files.removed[name], MAX_TIME))
            since = datetime.fromtimestamp(seconds, timezone.utc)
            reasons.append(
                f"No index has listed {name} since {since:%Y-%m-%d %H:%M} UTC. An export deletes it "
                f"{conf.keep_removed / 3600:g} hours later (KEEP_REMOVED)."
            )
        elif verdict == "listed":
            self.files.notes.append(
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
            file_url=self.files.url(name, self.base),
            published=found.entry,
            reasons=reasons,
            notes=self.files.notes,
        )


def _reasons(row: LiveRow, verdict: Verdict) -> list[str]:
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
