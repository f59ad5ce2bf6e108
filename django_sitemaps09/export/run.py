"""One run: an export to one host."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

from django_sitemaps09.exceptions import ExportError
from django_sitemaps09.export.engines import Engine
from django_sitemaps09.export.host import Host
from django_sitemaps09.export.options import ExportOptions
from django_sitemaps09.export.page import Renderer
from django_sitemaps09.export.report import SectionReport
from django_sitemaps09.protocol.fields import reason_of
from django_sitemaps09.target.journal import RecordedRun, SectionChange, record_exported, record_run
from django_sitemaps09.target.previous import PreviousState

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Run:
    """Run for one host: what all of its sections share.

    `previous` is the state before the run. `check` raises an exception if the run has lost the lock of its
    target. `recovered` has the files of a killed run that was finished first, if there was one.
    """

    host: Host
    options: ExportOptions
    started: datetime
    previous: PreviousState
    check: Callable[[], None]
    renderer: Renderer
    engine: Engine
    recovered: Sequence[str] | None = None

    def record(self, reports: Sequence[SectionReport], failures: list[str], *, is_published: bool) -> None:
        """Add the run to the history. The export does not need the history, so an error is only logged."""
        state, started, changes = self.host.state, self.started.timestamp(), []
        for report in reports:
            urls = self.previous.section(report.section).urls
            # Unless the run was published, the report counts what would have changed.
            counts = (report.urls, report.written, report.removed) if is_published else (urls, 0, 0)
            skipped = report.skipped_items + report.skipped_elements
            errors, failure = tuple(report.errors), report.failure
            is_complete = failure is None and report.skipped == 0
            change = SectionChange(report.section, urls, *counts, skipped, errors, failure, is_complete)
            changes.append(change)
        gone = [(name, self.previous.section(name)) for name in self.options.remove if is_published]
        changes += [SectionChange(name, old.urls, 0, 0, len(old.pages)) for name, old in gone if old.pages]
        seconds = max(0.0, time.time() - started)
        try:
            record_run(state, RecordedRun(started, is_published, seconds, tuple(changes), tuple(failures)))
            # A repair keeps pages without reading their rows, so it does not count as an export.
            if is_published and not self.host.is_repair:
                exported = [report.section for report in reports if not report.failure]
                record_exported(state, exported, started)
        except (ExportError, OSError) as error:
            logger.error("%s: the run cannot be added to the history: %s", state.label, reason_of(error))
