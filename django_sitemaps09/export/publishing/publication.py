"""Publish what a run has staged, by steps that the next run finishes if the run is killed.

All steps are first written to a write-ahead journal. Steps add before they remove, so that a crawler never
misses a file. After the last step, the manifest is replaced.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from hashlib import sha256

from django_sitemaps09.conf import conf
from django_sitemaps09.exceptions import ExportError, ManifestError
from django_sitemaps09.export.host import Host
from django_sitemaps09.export.publishing import index_files
from django_sitemaps09.export.publishing.robots_files import Robots
from django_sitemaps09.export.run import Run
from django_sitemaps09.export.section import SectionOutcome
from django_sitemaps09.protocol.documents import stylesheet
from django_sitemaps09.protocol.filenames import FEED, INDEX, STYLESHEET, index_number
from django_sitemaps09.protocol.limits import INDEX_LIMITS
from django_sitemaps09.target import journal as journals, manifest as manifests
from django_sitemaps09.target.local import STATE
from django_sitemaps09.target.published import ExpectedFile, check_file
from django_sitemaps09.target.store import Store

logger = logging.getLogger(__name__)

# Prefix of the staged name of a transition index, with both old and new pages.
_TRANSITION = "between-"


@dataclass(frozen=True, slots=True)
class Publication:
    """Publication of a run: the next manifest, its indexes, and the stylesheet and the feed, if any.

    `staged` maps new and changed pages to their staged paths. `shrinks` are the published pages that lose
    rows to others. `transition` has the indexes that list both old and new pages, `documents` the final
    indexes. No index lists `removed_files` from now on. `files_to_delete` were removed long enough ago.
    """

    run: Run
    manifest: manifests.Manifest
    staged: Mapping[str, str]
    shrinks: frozenset[str]
    transition: Mapping[str, bytes]
    documents: Mapping[str, bytes]
    stylesheets: Mapping[str, bytes]
    feeds: Mapping[str, bytes]
    files_to_delete: tuple[str, ...]
    removed_files: tuple[str, ...]

    @classmethod
    def build(cls, run: Run, outcomes: Mapping[str, SectionOutcome]) -> Publication:
        """Build the publication from the outcomes of sections. Sections to remove lose all their pages."""
        previous, old = run.previous, run.previous.manifest
        records = {**old.sections, **{name: outcome.record for name, outcome in outcomes.items()}}
        for name in records.keys() & {*run.options.remove}:
            records[name] = replace(records[name], pages=())
        ordered = {name: records[name] for name in (*run.host.sections, *records) if name in records}
        # With several indexes, a URL can also move between indexes that are replaced at different times.
        several = sum(len(record.pages) for record in ordered.values()) > INDEX_LIMITS.urls
        several = several or len(old.indexes) > 1
        shrinking = {
            name: previous.section(name)
            for name, outcome in outcomes.items()
            if outcome.shrinks or (several and outcome.report.removed)
        }
        sections = index_files.assign(ordered, shrinking, old.url)
        old_pages = old.pages()
        # If a page moves to another index, both indexes list it during the transition.
        shrinking |= {
            name: previous.section(name)
            for name, record in sections.items()
            for page in record.pages
            if page.index_number != old_pages.get(page.name, page).index_number
        }
        transition, documents = index_files.documents(sections, shrinking, old.url)
        is_foreign = previous.has_foreign_stylesheet
        has_stylesheet = conf.stylesheet and documents and not is_foreign
        stylesheets = {STYLESHEET: stylesheet()} if has_stylesheet else {}
        names = {*documents, *(file for record in sections.values() for file in record.file_names)}
        names.update([STYLESHEET] if has_stylesheet or is_foreign else ())
        names.update([FEED] if conf.feed and documents else ())
        removed_files = tuple(sorted(old.names() - names))
        manifest, due = _successor(run, sections, names, removed_files)
        manifest = replace(manifest, indexes=tuple(documents), stylesheets=tuple(stylesheets), feeds={})
        staged = {name: path for outcome in outcomes.values() for name, path in outcome.staged.items()}
        shrinks = frozenset(name for outcome in outcomes.values() for name in outcome.shrinks)
        return cls(
            run, manifest, staged, shrinks, transition, documents, stylesheets, {}, due, removed_files
        )

    def with_feeds(self, feeds: Mapping[str, bytes]) -> Publication:
        """Return the publication with the feed, whose entries depend on what the rest of it changes."""
        digests = {name: sha256(content).hexdigest() for name, content in feeds.items()}
        return replace(self, feeds=feeds, manifest=replace(self.manifest, feeds=digests))

    def files_to_write(self) -> list[str]:
        """Return the names of the files that differ from what is published."""
        documents = {**self.stylesheets, **self.documents, **self.feeds}
        return [*self.staged, *dict(_changed_documents(self.run.host.store, documents))]

    def publish(self, robots: Robots) -> None:
        """Publish the staged files; if nothing has changed, only update robots.txt."""
        run, new, old = self.run, self.manifest, self.run.previous.manifest
        store, state = run.host.store, run.host.state
        steps = self._steps(store)
        is_same = old == replace(new, run=old.run, files=old.files)
        if not steps and is_same and old.run and not run.previous.is_unverified:
            robots.update()
            return
        for step in steps:
            if store.is_blocked(step.name):
                raise ExportError(
                    f"{store.label}: {step.name} is a folder, so nothing was published. Remove it."
                )
        store.check()
        changed, files, names = [], {}, set[str]()
        for name, record in new.sections.items():
            if name in old.files and old.sections.get(name) == record:
                files[name] = old.files[name]
                continue
            changed.append(name)
            names.update((*run.previous.section(name).file_names, *record.file_names))
            document = manifests.section_document(record)
            files[name] = manifests.section_file(name, document)
            state.write(files[name], document)
        stored = replace(new, files=files)
        root, sorted_names = stored.root().decode(), tuple(sorted(names))
        journal = journals.Journal(new.run, steps, root, tuple(changed), sorted_names, self.files_to_delete)
        run.check()
        # Another target that shares the state may have been exported since this run started.
        journals.check_owner(store, state)
        # Staged files and their names must be on disk before the journal lists them.
        store.sync()
        journals.write_journal(state, journal)
        _take(run.host, run.check, journal, robots)
        manifests.remove_unused(state, stored)

    def _steps(self, store: Store) -> tuple[journals.Step, ...]:
        """Stage the indexes and the stylesheet. Return the steps in order, adding before removing.

        Of the pages, only those that lose rows to others come after the transition indexes.
        """
        pages = [
            journals.Step(self.staged[name], name, page.digest)
            for name, page in self.manifest.pages().items()
            if name in self.staged
        ]
        folder = f"{STATE}/{self.manifest.run}"
        transition = dict(_changed_documents(store, self.transition))
        return (
            *_stage(store, f"{folder}/", _changed_documents(store, self.stylesheets)),
            *(step for step in pages if step.name not in self.shrinks),
            *_stage(store, f"{folder}/{_TRANSITION}", transition.items()),
            *(step for step in pages if step.name in self.shrinks),
            *_stage(store, f"{folder}/index-", _changed_documents(store, self.documents, transition)),
            *_stage(store, f"{folder}/", _changed_documents(store, self.feeds)),
        )


def _successor(
    run: Run, sections: Mapping[str, manifests.SectionRecord], names: set[str], removed_files: Iterable[str]
) -> tuple[manifests.Manifest, tuple[str, ...]]:
    """Return the next manifest, which lists files with these names, and the files to delete."""
    old, started = run.previous.manifest, run.started.timestamp()
    # A killed run may have listed a file again that was removed long ago.
    listed = names.union(removed_files)
    removed = {name: since for name, since in old.removed.items() if name not in listed}
    due = tuple(name for name, since in removed.items() if since <= started - conf.keep_removed)
    for name in due:
        del removed[name]
    removed |= dict.fromkeys(removed_files, started)
    ranges = {**old.removed_ranges, **old.ranges()}
    manifest = replace(
        old,
        run=(run.renderer.stage or "").rpartition("/")[2],
        sections=sections,
        removed=removed,
        removed_ranges={name: bounds for name, bounds in ranges.items() if name in removed},
        files={},
        unqueued={},
        moved=tuple(name for name in old.moved if name in removed),
    )
    return manifest, due


def _changed_documents(
    store: Store, documents: Mapping[str, bytes], transition: Mapping[str, bytes] = {}
) -> Iterator[tuple[str, bytes]]:
    """Yield documents that differ from their `transition` or, without one, from the published file."""
    for name, content in documents.items():
        previous_content = transition.get(name)
        # The published file may not be a regular file, or may be longer.
        with suppress(ExportError):
            previous_content = previous_content or store.read(name, len(content))
        if previous_content != content:
            yield name, content


def _stage(store: Store, prefix: str, documents: Iterable[tuple[str, bytes]]) -> Iterator[journals.Step]:
    """Stage documents under their names with a prefix, and yield the steps that publish them."""
    for name, content in documents:
        with store.staged(f"{prefix}{name}") as file:
            file.write(content)
        yield journals.Step(f"{prefix}{name}", name, sha256(content).hexdigest())


def _take(
    host: Host, check: Callable[[], None], journal: journals.Journal, robots: Robots, steps_taken: int = 0
) -> None:
    """Take all steps but the first `steps_taken`. `check` raises an exception if the lock is lost."""
    store, state = host.store, host.state
    for number, step in enumerate(journal.steps):
        previous_step = journal.steps[number - 1] if number else None
        if previous_step and bool(index_number(previous_step.name)) != bool(index_number(step.name)):
            # Pages must be on disk before an index that lists them, even if the machine crashes.
            store.sync()
        is_after_transition = previous_step and _is_transition(previous_step) and not _is_transition(step)
        if step.name == INDEX or is_after_transition:
            # All other indexes are published. robots.txt must list them before the first index changes,
            # since pages of the first index may have moved to them.
            store.sync()
            robots.update_for_transition()
        if number >= steps_taken:
            check()
            store.promote(step.staged, step.name)
    store.sync()
    robots.update()
    check()
    replace_manifest(state, journal.root.encode())
    for name in journal.delete:
        check()
        store.delete(name)
    store.sync()
    check()
    state.delete(journals.JOURNAL)
    state.sync()


def _is_transition(step: journals.Step) -> bool:
    return step.staged.rpartition("/")[2].startswith(_TRANSITION)


def replace_manifest(state: Store, root: bytes) -> None:
    """Replace the root of the manifest, and keep the previous one as a backup if it can be used."""
    old_root = state.read(manifests.ROOT, manifests.MAX_FILE_BYTES)
    if old_root == root:
        return
    with suppress(ManifestError):
        if old_root is not None:
            manifests.parse_root(old_root, manifests.ROOT)
            state.write(manifests.BACKUP, old_root)
    state.write(manifests.ROOT, root)


def recover(
    host: Host, check: Callable[[], None], now: float, *, dry_run: bool
) -> tuple[journals.Journal | None, tuple[str, ...] | None]:
    """Finish a run that was killed while publishing; a dry run does not.

    Return the journal if its steps were not taken, and the names of the files if the run was finished.
    """
    store, state = host.store, host.state
    journals.check_owner(store, state)
    journal = journals.read_journal(state)
    if journal is None or dry_run:
        return journal, None
    # A step was taken if its staged file is gone. Steps are taken in order. If a staged file is gone but an
    # earlier one remains, someone removed it.
    folder = f"{STATE}/{journal.run}"
    staged_names = store.names(folder)
    left = [step.staged.removeprefix(f"{folder}/") in staged_names for step in journal.steps]
    # A file that two steps replace has the content of the last one that was taken.
    digests = {
        step.staged if is_left else step.name: step.digest
        for step, is_left in zip(journal.steps, left, strict=True)
    }
    # If a file cannot be read, it may be intact. The error keeps the journal for a run that can read it.
    expected = [ExpectedFile(name, frozenset({digest})) for name, digest in digests.items()]
    if left != sorted(left) or any(check_file(store, file).problem for file in expected):
        logger.warning(
            "%s: an export was killed while it was publishing, and its staged files are gone. These "
            "sections are rebuilt: %s",
            store.label,
            ", ".join(journal.sections),
        )
        return journal, None
    logger.warning("%s: an export was killed while it was publishing; finishing it now.", store.label)
    old_root = manifests.read_usable_root(state) or host.site
    root = manifests.parse_root(journal.root, journals.JOURNAL)
    # An index may have listed until now what the killed run removed.
    removed = {name: old_root.removed.get(name, now) for name in root.removed}
    journal = journal._replace(root=replace(root, removed=removed).root().decode())
    robots = Robots(host, root.indexes, old_root.indexes, root.feeds)
    _take(host, check, journal, robots, left.count(False))
    return None, tuple(step.name for step in journal.steps)


def clean(store: Store) -> None:
    """Remove the staging folders and temporary files of killed runs."""
    for folder in store.folders(STATE):
        if journals.RUN_NAME.fullmatch(folder):
            store.delete_folder(f"{STATE}/{folder}")
    store.clean()
