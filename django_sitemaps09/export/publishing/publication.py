"""Build the manifest that a run publishes, and the steps that publish it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, replace

from django_sitemaps09 import protocol, writer
from django_sitemaps09.conf import conf
from django_sitemaps09.exceptions import ExportError
from django_sitemaps09.export.publishing import indexes
from django_sitemaps09.export.publishing.promotion import TRANSITION, publish, stage, write_sections
from django_sitemaps09.export.rendering.plan import Run
from django_sitemaps09.export.rendering.section import SectionOutcome
from django_sitemaps09.filenames import STYLESHEET
from django_sitemaps09.state.journal import Journal, Step
from django_sitemaps09.state.manifest import Manifest, SectionRecord, remove_unused
from django_sitemaps09.stores import STATE, Store


@dataclass(frozen=True, slots=True)
class Publication:
    """Publication of a run: the next manifest, its indexes and their stylesheet, if any.

    `transition` has the indexes that list both old and new pages, `documents` the final indexes.
    `removed_files` are the files that no index lists from now on. `files_to_delete` are files that were
    removed long enough ago.
    """

    run: Run
    manifest: Manifest
    outcomes: Mapping[str, SectionOutcome]
    transition: Mapping[str, bytes]
    documents: Mapping[str, bytes]
    stylesheets: Mapping[str, bytes]
    files_to_delete: tuple[str, ...]
    removed_files: tuple[str, ...]

    @classmethod
    def build(
        cls, run: Run, outcomes: Mapping[str, SectionOutcome], remove: Collection[str]
    ) -> Publication:
        """Build the publication from the sections' outcomes; sections to `remove` lose all their pages."""
        previous, old, started = run.previous, run.previous.manifest, run.started.timestamp()
        records = {**old.sections, **{name: outcome.record for name, outcome in outcomes.items()}}
        records |= {name: replace(records[name], pages=()) for name in remove if name in records}
        ordered = {
            name: records[name] for name in dict.fromkeys((*run.host.sections, *records)) if name in records
        }
        # With several indexes, a URL can also move between indexes that are replaced at different times.
        several = sum(len(record.pages) for record in ordered.values()) > protocol.INDEX_LIMITS.urls
        several = several or len(old.indexes) > 1
        shrinking = [
            name
            for name, outcome in outcomes.items()
            if outcome.shrinks or (several and outcome.report.removed)
        ]
        sections = indexes.assign(ordered, old.sections, shrinking, old.url)
        # If a page moves to another index, both indexes list it during the transition.
        shrinking += [name for name in sections if _has_moved(old, name, sections[name])]
        transition, documents = indexes.documents(sections, old.sections, shrinking, old.url)
        has_stylesheet = conf.stylesheet and documents and not previous.has_foreign_stylesheet
        stylesheets = {STYLESHEET: writer.stylesheet()} if has_stylesheet else {}
        foreign_names = {STYLESHEET} if previous.has_foreign_stylesheet else set()
        manifest = Manifest(
            run=(run.stage or "").rpartition("/")[2],
            url=old.url,
            base=old.base,
            sections=sections,
            indexes=tuple(documents),
            stylesheets=tuple(stylesheets),
            target=old.target,
        )
        names = {*documents, *stylesheets, *manifest.pages(), *foreign_names}
        removed_files = tuple(sorted({*old.indexes, *old.stylesheets, *old.pages()} - names))
        earlier = {name: since for name, since in old.removed.items() if name not in names}
        due_before = started - conf.keep_removed
        due = tuple(name for name, since in earlier.items() if since <= due_before)
        removed = {name: since for name, since in earlier.items() if since > due_before}
        removed |= dict.fromkeys(removed_files, started)
        ranges = {**old.removed_ranges, **old.ranges()}
        manifest = replace(
            manifest,
            removed=removed,
            removed_ranges={name: bounds for name, bounds in ranges.items() if name in removed},
            moved=tuple(name for name in old.moved if name in removed),
        )
        return cls(run, manifest, outcomes, transition, documents, stylesheets, due, removed_files)

    def files_to_write(self) -> list[str]:
        """Return the names of the files that differ from what is published."""
        pages = [name for outcome in self.outcomes.values() for name in outcome.staged]
        documents = {**self.stylesheets, **self.documents}
        return [*pages, *dict(_changed_documents(self.run.host.store, documents))]

    def publish(self, robots: Callable[[bool], None]) -> None:
        """Publish the staged files; if nothing has changed, only update robots.txt."""
        host, old_manifest, new_manifest = self.run.host, self.run.previous.manifest, self.manifest
        steps = self._steps(host.store)
        is_same = old_manifest == replace(new_manifest, run=old_manifest.run, files=old_manifest.files)
        if not steps and is_same and old_manifest.run and not self.run.previous.is_unverified:
            robots(False)
            return
        for step in steps:
            if host.store.is_blocked(step.name):
                raise ExportError(
                    f"{host.store.label}: {step.name} is a folder, so nothing was published. Remove it."
                )
        host.store.check()
        stored_manifest = write_sections(host.state, old_manifest, new_manifest)
        changed_sections = tuple(
            name
            for name in new_manifest.sections
            if old_manifest.files.get(name) != stored_manifest.files[name]
        )
        names = {
            file
            for name in changed_sections
            for record in (self.run.previous.section(name), new_manifest.sections[name])
            for file in record.file_names
        }
        journal = Journal(
            run=new_manifest.run,
            steps=tuple(steps),
            root=stored_manifest.root().decode(),
            sections=changed_sections,
            files=tuple(sorted(names)),
            delete=self.files_to_delete,
        )
        publish(host, self.run.check, journal, robots)
        remove_unused(host.state, stored_manifest)

    def _steps(self, store: Store) -> list[Step]:
        """Return the steps in order, adding before removing, so that a crawler never misses a file.

        The stylesheet and pages that are new or only gain rows come first. If any page loses rows to
        another one, transition indexes with both old and new pages follow. Then come the pages that lose
        rows, and the final indexes.
        """
        staged = [
            Step(outcome.staged[file.name], file.name, file.digest)
            for outcome in self.outcomes.values()
            for file in outcome.report.files
            if file.name in outcome.staged
        ]
        shrinks = {name for outcome in self.outcomes.values() for name in outcome.shrinks}
        folder = f"{STATE}/{self.manifest.run}"
        stylesheets = _changed_documents(store, self.stylesheets)
        steps = stage(store, f"{folder}/", stylesheets)
        steps += [step for step in staged if step.name not in shrinks]
        transition = dict(_changed_documents(store, self.transition))
        steps += stage(store, f"{folder}/{TRANSITION}", transition.items())
        steps += [step for step in staged if step.name in shrinks]
        documents = _changed_documents(store, self.documents, transition)
        return steps + stage(store, f"{folder}/index-", documents)


def _changed_documents(
    store: Store, documents: Mapping[str, bytes], transition: Mapping[str, bytes] | None = None
) -> Iterator[tuple[str, bytes]]:
    """Yield documents that differ from their `transition` or, without one, from the published file."""
    for name, content in documents.items():
        try:
            previous_content = (transition or {}).get(name) or store.read(name, len(content))
        except ExportError:
            # The published file is not a regular file, or is longer.
            previous_content = None
        if previous_content != content:
            yield name, content


def _has_moved(old_manifest: Manifest, name: str, record: SectionRecord) -> bool:
    old_pages = old_manifest.sections[name].pages if name in old_manifest.sections else ()
    old_indexes = {page.number: page.index_number for page in old_pages}
    return any(
        old_indexes.get(page.number, page.index_number) != page.index_number for page in record.pages
    )
