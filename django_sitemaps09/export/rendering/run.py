"""Shared state and section outcomes of one export run."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import NamedTuple

from django_sitemaps09.export.options import ExportOptions
from django_sitemaps09.export.rendering.engine import Engine
from django_sitemaps09.export.rendering.page import Renderer
from django_sitemaps09.export.report import PageFile, SectionReport
from django_sitemaps09.state.manifest import SectionRecord
from django_sitemaps09.stores import Store


class SectionOutcome(NamedTuple):
    """Outcome of a section after its pages are staged.

    `record` is the record to publish, or the previous record if the section failed. `staged` maps new and
    changed files to their staged paths. `shrinks` lists published files that lost rows to other files.
    """

    report: SectionReport
    record: SectionRecord
    staged: Mapping[str, str] = {}
    shrinks: frozenset[str] = frozenset()


class Listeners(NamedTuple):
    """Callbacks for the expected numbers of pages, each rendered page, and each finished section."""

    plan: Callable[[Mapping[str, int | None]], object]
    page: Callable[[str, PageFile], object]
    section: Callable[[SectionReport], object]


@dataclass(frozen=True, slots=True)
class Run:
    """State that all sections of a run share.

    `started` has a time zone. `stores`, `names` and `foreign_names` have one value for each host: its
    store, its existing files with their sizes, and the names of files that the manifest does not list.
    """

    renderer: Renderer
    stores: Sequence[Store]
    names: Sequence[Mapping[str, int | None]]
    foreign_names: Sequence[Collection[str]]
    options: ExportOptions
    started: datetime
    engine: Engine | None
    listeners: Listeners

    def for_host(self, index: int) -> Run:
        """Return this run with only one of its hosts."""
        return replace(
            self,
            renderer=replace(self.renderer, targets=(self.renderer.targets[index],)),
            stores=[self.stores[index]],
            names=[self.names[index]],
            foreign_names=[self.foreign_names[index]],
        )
