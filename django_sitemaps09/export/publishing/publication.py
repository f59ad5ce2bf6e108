"""Build the manifest that a run publishes, and the steps that publish it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from django_sitemaps09.conf import conf
from django_sitemaps09.exceptions import ExportError
from django_sitemaps09.export.publishing import indexes
from django_sitemaps09.export.publishing.journal import Journal, Step
from django_sitemaps09.export.publishing.previous import PreviousState
from django_sitemaps09.export.publishing.steps import (
    TRANSITION,
    PublishTarget,
    clean_state,
    publish,
    stage,
    write_sections,
)
from django_sitemaps09.export.rendering.run import SectionOutcome
from django_sitemaps09.manifest import Manifest, SectionRecord


@dataclass(frozen=True, slots=True)
class Publication:
    """Publication that follows `previous`: the next manifest and its indexes.

    `transition` has the indexes that name both old and new pages, `documents` the final ones.
    `files_to_delete` names files to delete, `removed_files` files that no index names from now on. `stage`
    is the folder of the run, `None` in a dry run.
    """

    previous: PreviousState
    manifest: Manifest
    outcomes: Mapping[str, SectionOutcome]
    transition: Mapping[str, bytes]
    documents: Mapping[str, bytes]
    files_to_delete: tuple[str, ...]
    removed_files: tuple[str, ...]
    stage: str | None

    @classmethod
    def build(
        cls,
        previous: PreviousState,
        outcomes: Mapping[str, SectionOutcome],
        order: Iterable[str],
        removed_sections: Collection[str],
        started: float,
        stage: str | None,
    ) -> Publication:
        """Build the publication from the sections' outcomes; `removed_sections` lose all their pages."""
        old = previous.manifest
        records = dict(old.sections)
        records |= {name: outcome.record for name, outcome in outcomes.items()}
        records |= {name: replace(records[name], pages=()) for name in removed_sections}
        ordered = {name: records[name] for name in dict.fromkeys((*order, *records)) if name in records}
        # With several indexes, a URL can also move between two that are replaced at different times.
        several = sum(len(record.pages) for record in ordered.values()) > indexes.LIMITS.urls
        several = several or len(old.indexes) > 1
        shrinking = [
            name
            for name, outcome in outcomes.items()
            if outcome.shrinks or (several and outcome.report.removed)
        ]
        sections = indexes.assign(ordered, old.sections, shrinking, old.url)
        cascade = conf.cascade
        # A page whose index takes the place of another one is named by both for a while.
        shrinking += [
            name for name in sections if name not in shrinking and _has_moved(old, name, sections[name])
        ]
        transition, documents = indexes.documents(
            sections, old.sections, shrinking, old.url, cascade=cascade
        )
        names = {*documents, *_names(sections)}
        unnamed = {*old.indexes, *_names(old.sections)} - names
        due = [name for name, since in old.removed.items() if since <= started - conf.keep_removed]
        due = [name for name in due if name not in names]
        removed = {
            name: since for name, since in old.removed.items() if name not in names and name not in due
        }
        removed |= dict.fromkeys(sorted(unnamed), started)
        run = (stage or "").rpartition("/")[2]
        manifest = Manifest(run, old.url, old.base, sections, removed, indexes=tuple(documents))
        return cls(
            previous, manifest, outcomes, transition, documents, tuple(due), tuple(sorted(unnamed)), stage
        )

    def files_to_write(self, publish_target: PublishTarget) -> list[str]:
        """Return the names of the files that differ from what is published."""
        return [
            *self._pages(),
            *(name for name, _ in self._changed_documents(publish_target, self.documents)),
        ]

    def _pages(self) -> Iterator[str]:
        for outcome in self.outcomes.values():
            yield from outcome.staged

    @staticmethod
    def _changed_documents(
        publish_target: PublishTarget,
        documents: Mapping[str, bytes],
        replaced_documents: Mapping[str, bytes] | None = None,
    ) -> Iterator[tuple[str, bytes]]:
        """Yield documents that differ from the published ones, or from the `replaced_documents`."""
        for name, content in documents.items():
            try:
                published_content = (replaced_documents or {}).get(name) or publish_target.target.read(
                    name, len(content)
                )
            except ExportError:
                # It is not a regular file, or it is longer.
                published_content = None
            if published_content != content:
                yield name, content

    def publish(self, publish_target: PublishTarget, folder: str, robots: Callable[[bool], None]) -> None:
        """Publish the staged files; if nothing has changed, only bring robots.txt up to date."""
        old_manifest, new_manifest = self.previous.manifest, self.manifest
        steps = self._steps(publish_target, folder)
        is_same = (
            old_manifest.sections == new_manifest.sections and old_manifest.removed == new_manifest.removed
        )
        if (
            not steps
            and is_same
            and old_manifest.indexes == new_manifest.indexes
            and old_manifest.run
            and not self.previous.is_unverified
        ):
            robots(False)
            return
        for step in steps:
            if publish_target.target.is_blocked(step.name):
                raise ExportError(
                    f"{publish_target.target.label}: {step.name} is a folder, so "
                    "nothing was published. Remove it."
                )
        publish_target.target.check()
        stored_manifest = write_sections(publish_target.state, old_manifest, new_manifest)
        changed_sections = tuple(
            name
            for name in new_manifest.sections
            if old_manifest.files.get(name) != stored_manifest.files[name]
        )
        names = {*_names({n: r for n, r in old_manifest.sections.items() if n in changed_sections})}
        names |= {*_names({n: r for n, r in new_manifest.sections.items() if n in changed_sections})}
        root = stored_manifest.root().decode()
        journal = Journal(
            new_manifest.run,
            tuple(steps),
            root,
            changed_sections,
            tuple(sorted(names)),
            self.files_to_delete,
        )
        publish(publish_target, journal, robots)
        clean_state(publish_target.state, stored_manifest)

    def _steps(self, publish_target: PublishTarget, folder: str) -> list[Step]:
        """Return the steps in order: pages, indexes of the transition, pages that shrink, final indexes."""
        digests = {
            file.name: file.digest for outcome in self.outcomes.values() for file in outcome.report.files
        }
        staged = [
            Step(path, name, digests[name])
            for outcome in self.outcomes.values()
            for name, path in outcome.staged.items()
        ]
        shrinks = {name for outcome in self.outcomes.values() for name in outcome.shrinks}
        steps = [step for step in staged if step.name not in shrinks]
        transition = dict(self._changed_documents(publish_target, self.transition))
        steps += _stage_documents(publish_target, folder, TRANSITION, transition.items())
        steps += [step for step in staged if step.name in shrinks]
        return steps + _stage_documents(
            publish_target,
            folder,
            "index-",
            self._changed_documents(publish_target, self.documents, transition),
        )


def _stage_documents(
    publish_target: PublishTarget, folder: str, prefix: str, documents: Iterable[tuple[str, bytes]]
) -> list[Step]:
    return stage(
        publish_target.target, folder, ((f"{prefix}{name}", name, content) for name, content in documents)
    )


def _has_moved(old_manifest: Manifest, name: str, record: SectionRecord) -> bool:
    old_pages = old_manifest.sections[name].pages if name in old_manifest.sections else ()
    old_indexes = {page.number: page.index_number for page in old_pages}
    return any(
        old_indexes.get(page.number, page.index_number) != page.index_number for page in record.pages
    )


def _names(sections: Mapping[str, SectionRecord]) -> Iterator[str]:
    for name, record in sections.items():
        yield from record.file_names(name)
