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
    BETWEEN,
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
    """Publication that follows `before`: the next manifest and its indexes.

    `between` has the indexes that name both old and new pages, `documents` the final ones. `due` names
    files to delete, `gone` files that no index names from now on. `stage` is the folder of the run, `None`
    in a dry run.
    """

    before: PreviousState
    manifest: Manifest
    outcomes: Mapping[str, SectionOutcome]
    between: Mapping[str, bytes]
    documents: Mapping[str, bytes]
    due: tuple[str, ...]
    gone: tuple[str, ...]
    stage: str | None

    @classmethod
    def of(
        cls,
        before: PreviousState,
        outcomes: Mapping[str, SectionOutcome],
        order: Iterable[str],
        dropped: Collection[str],
        started: float,
        stage: str | None,
    ) -> Publication:
        """Build the publication from the sections' outcomes; `dropped` sections lose all their pages."""
        old = before.manifest
        found = dict(old.sections)
        found |= {name: outcome.record for name, outcome in outcomes.items()}
        found |= {name: replace(found[name], pages=()) for name in dropped}
        ordered = {name: found[name] for name in dict.fromkeys((*order, *found)) if name in found}
        # With several indexes, a URL can also move between two that are replaced at different times.
        several = sum(len(record.pages) for record in ordered.values()) > indexes.LIMITS.urls
        several = several or len(old.indexes) > 1
        shrinking = [
            name
            for name, outcome in outcomes.items()
            if outcome.shrinks or (several and outcome.report.removed)
        ]
        sections = indexes.assigned(ordered, old.sections, shrinking, old.url)
        cascade = conf.cascade
        # A page whose index takes the place of another one is named by both for a while.
        shrinking += [
            name for name in sections if name not in shrinking and _moved(old, name, sections[name])
        ]
        between, documents = indexes.documents(sections, old.sections, shrinking, old.url, cascade=cascade)
        named = {*documents, *_names(sections)}
        gone = {*old.indexes, *_names(old.sections)} - named
        due = [name for name, since in old.removed.items() if since <= started - conf.keep_removed]
        due = [name for name in due if name not in named]
        removed = {
            name: since for name, since in old.removed.items() if name not in named and name not in due
        }
        removed |= dict.fromkeys(sorted(gone), started)
        run = (stage or "").rpartition("/")[2]
        manifest = Manifest(run, old.url, old.base, sections, removed, indexes=tuple(documents))
        return cls(before, manifest, outcomes, between, documents, tuple(due), tuple(sorted(gone)), stage)

    def written(self, place: PublishTarget) -> list[str]:
        """Return the names of the files that differ from what is published."""
        return [*self._pages(), *(name for name, _ in self._changed(place, self.documents))]

    def _pages(self) -> Iterator[str]:
        for outcome in self.outcomes.values():
            yield from outcome.staged

    @staticmethod
    def _changed(
        place: PublishTarget, documents: Mapping[str, bytes], earlier: Mapping[str, bytes] | None = None
    ) -> Iterator[tuple[str, bytes]]:
        """Yield documents that differ from the published ones, or from `earlier` ones published first."""
        for name, content in documents.items():
            try:
                known = (earlier or {}).get(name) or place.target.read(name, len(content))
            except ExportError:
                # It is not a regular file, or it is longer.
                known = None
            if known != content:
                yield name, content

    def publish(self, place: PublishTarget, folder: str, robots: Callable[[bool], None]) -> None:
        """Publish the staged files; if nothing has changed, only bring robots.txt up to date."""
        before, after = self.before.manifest, self.manifest
        steps = self._steps(place, folder)
        same = before.sections == after.sections and before.removed == after.removed
        if (
            not steps
            and same
            and before.indexes == after.indexes
            and before.run
            and not self.before.is_unverified
        ):
            robots(False)
            return
        for step in steps:
            if place.target.blocked(step.name):
                raise ExportError(
                    f"{place.target.label}: {step.name} is a folder. Remove it; nothing was published."
                )
        place.target.check()
        stored = write_sections(place.state, before, after)
        changed = tuple(name for name in after.sections if before.files.get(name) != stored.files[name])
        names = {*_names({n: r for n, r in before.sections.items() if n in changed})}
        names |= {*_names({n: r for n, r in after.sections.items() if n in changed})}
        root = stored.root().decode()
        journal = Journal(after.run, tuple(steps), root, changed, tuple(sorted(names)), self.due)
        publish(place, journal, robots)
        clean_state(place.state, stored.files)

    def _steps(self, place: PublishTarget, folder: str) -> list[Step]:
        """Return the steps in order: pages, `between` indexes, pages that shrink, final indexes."""
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
        between = dict(self._changed(place, self.between))
        steps += _staged(place, folder, BETWEEN, between.items())
        steps += [step for step in staged if step.name in shrinks]
        return steps + _staged(place, folder, "index-", self._changed(place, self.documents, between))


def _staged(
    place: PublishTarget, folder: str, what: str, documents: Iterable[tuple[str, bytes]]
) -> list[Step]:
    return stage(place.target, folder, ((f"{what}{name}", name, content) for name, content in documents))


def _moved(before: Manifest, name: str, after: SectionRecord) -> bool:
    earlier = before.sections[name].pages if name in before.sections else ()
    known = {page.number: page.index_number for page in earlier}
    return any(known.get(page.number, page.index_number) != page.index_number for page in after.pages)


def _names(sections: Mapping[str, SectionRecord]) -> Iterator[str]:
    for name, record in sections.items():
        yield from record.file_names(name)
