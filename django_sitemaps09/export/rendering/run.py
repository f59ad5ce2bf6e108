"""Options, shared state and section outcomes of one export run."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import NamedTuple

from django_sitemaps09.export.options import ExportOptions
from django_sitemaps09.export.rendering.engine import Engine
from django_sitemaps09.export.rendering.page import Renderer
from django_sitemaps09.export.report import PageFile, SectionReport
from django_sitemaps09.manifest import SectionRecord
from django_sitemaps09.stores import Store


class SectionOutcome(NamedTuple):
    """Outcome of a section after its pages are staged.

    `record` is what to publish; it is the previous one if the section failed. `staged` maps the files that
    are new or changed to their staged paths. `shrinks` names those that gave rows away to another file.
    """

    report: SectionReport
    record: SectionRecord
    staged: Mapping[str, str] = {}
    shrinks: frozenset[str] = frozenset()


class Listeners(NamedTuple):
    """Callbacks for the progress of a run: with the expected pages, each page, and each section."""

    plan: Callable[[Mapping[str, int | None]], object] = lambda pages: None
    page: Callable[[str, PageFile], object] = lambda section, file: None
    section: Callable[[SectionReport], object] = lambda section: None


_NOBODY = Listeners()


@dataclass(frozen=True, slots=True)
class Run:
    """State of a run that all its sections share.

    `started` is the time when it began, with a time zone. `stores`, `names` and `foreign_names` have a
    value for each host. `names` are the files in the target with their sizes, `foreign_names` those of them
    that are not ours.
    """

    renderer: Renderer
    stores: Sequence[Store]
    names: Sequence[Mapping[str, int | None]]
    foreign_names: Sequence[Collection[str]]
    options: ExportOptions
    started: datetime
    engine: Engine | None = None
    listeners: Listeners = _NOBODY

    def for_host(self, index: int) -> Run:
        """Return this run for one of its hosts alone."""
        return replace(
            self,
            renderer=replace(self.renderer, targets=(self.renderer.targets[index],)),
            stores=[self.stores[index]],
            names=[self.names[index]],
            foreign_names=[self.foreign_names[index]],
        )
