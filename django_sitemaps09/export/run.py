"""One run of an export: what it is asked for, and what comes of each section."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import NamedTuple

from django_sitemaps09.export.engines import Engine
from django_sitemaps09.export.render import Renderer
from django_sitemaps09.export.report import PageFile, SectionReport
from django_sitemaps09.manifest import SectionRecord
from django_sitemaps09.stores import Store


class Wanted(NamedTuple):
    """What a run is asked to do with its sections. `started` is its clock, with a zone."""

    started: datetime
    changed_only: bool = False
    rebalance: bool = False
    force: frozenset[str] = frozenset()


class Outcome(NamedTuple):
    """A section after its pages are staged. `record` is what to publish, the one before if it failed.

    `staged` has the files that are new or changed, and where they are; `shrinks` names those of them that
    had rows before which are in another one now.
    """

    report: SectionReport
    record: SectionRecord
    staged: Mapping[str, str] = {}
    shrinks: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Run:
    """What all sections share. `stores` and `names`, the published files, are those of each host.

    `taken` are names that ours could have, of files that are none of ours. `progress` is told of each page.
    """

    renderer: Renderer
    stores: Sequence[Store]
    names: Sequence[Mapping[str, int | None]]
    taken: Sequence[Collection[str]]
    wanted: Wanted
    engine: Engine | None = None
    progress: Callable[[str, PageFile], object] = lambda section, file: None

    def of_host(self, place: int) -> Run:
        """The same for one of the hosts alone."""
        return replace(
            self,
            renderer=replace(self.renderer, targets=(self.renderer.targets[place],)),
            stores=[self.stores[place]],
            names=[self.names[place]],
            taken=[self.taken[place]],
        )
