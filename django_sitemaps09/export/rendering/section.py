"""Export one section; its failure does not affect the others."""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from dataclasses import replace

from django_sitemaps09 import sources
from django_sitemaps09.conf import conf, site_locale
from django_sitemaps09.entries import MAX_MESSAGE, MAX_SHOWN, reason_of
from django_sitemaps09.export.hints import hints
from django_sitemaps09.export.rendering.page import EXPECTED
from django_sitemaps09.export.rendering.plan import SectionPages
from django_sitemaps09.export.rendering.records import BASELINE, common, published_files
from django_sitemaps09.export.rendering.retry import retry
from django_sitemaps09.export.rendering.run import Run, SectionOutcome
from django_sitemaps09.export.rendering.skipped import SkippedItems
from django_sitemaps09.export.report import SectionReport, counted
from django_sitemaps09.manifest import SectionRecord
from django_sitemaps09.sections import Section
from django_sitemaps09.sources import Source, UrlsSource
from django_sitemaps09.sources.positions import PositionSource
from django_sitemaps09.sources.profiling import Costs, recorded, step

logger = logging.getLogger(__name__)

# A section may lose fewer URLs than this in any case.
_SHRUNK = 100


def export_section(
    run: Run, name: str, section: Section, befores: Sequence[SectionRecord]
) -> list[SectionOutcome]:
    """Export all pages of a section, for each host; a failure does not affect other sections."""
    started = time.perf_counter()
    errors, costs = SkippedItems(name), Costs()
    outcomes = [SectionOutcome(SectionReport(name, (), 0.0), before) for before in befores]
    failure: str | None = None
    advice: Sequence[str] = ()
    is_transient = False
    try:
        # Ignore the locale of the caller, such as that of a request in the admin.
        with site_locale():
            source, rows, opened = retry(lambda: _opened(run, name, section), f"Section {name!r}")
            costs.add(opened)
            is_transient = source.is_transient
            before, known = common(befores)
            pages = SectionPages(run, name, source, befores, before, known, errors, costs)
            outcomes = pages.outcomes(rows)
        report = outcomes[0].report
        advice = hints(source, costs, report.urls) if report.files else ()
    except Exception as error:
        unexpected = not isinstance(error, EXPECTED)
        failure = reason_of(error, MAX_SHOWN if unexpected else MAX_MESSAGE)
        logger.error("Section %r could not be rendered: %s", name, failure, exc_info=unexpected)
    ended = []
    pairs = list(zip(befores, outcomes, strict=True))
    found = (_failure(run, name, *pair, errors, is_transient=is_transient) for pair in pairs)
    # Hosts share the same pages of a section, so it is published on all of them or on none.
    why = failure or next(filter(None, found), None)
    for before, outcome in pairs:
        if why is not None:
            files = published_files(name, before)
            outcome = SectionOutcome(SectionReport(name, files, 0.0, unchanged=len(files)), before)
        report = replace(
            outcome.report,
            seconds=time.perf_counter() - started,
            left_out=errors.left_out,
            errors=tuple(errors.named),
            failure=why,
            hints=advice if why is None else (),
            ignored_keys=costs.ignored_keys,
        )
        ended.append(outcome._replace(report=report))
    return ended


def _opened(run: Run, name: str, section: Section) -> tuple[Source, int, Costs]:
    with recorded() as costs:
        with step("items") as cost:
            source = sources.source(name, section, run.renderer.bases, conf.limits)
            cost.items = source.count if isinstance(source, PositionSource) else 0
        if isinstance(source, UrlsSource):
            source.begin(1)
    return source, sources.rows_on_page(source, conf.limits), costs


def _failure(
    run: Run,
    name: str,
    before: SectionRecord,
    outcome: SectionOutcome,
    errors: SkippedItems,
    *,
    is_transient: bool,
) -> str | None:
    """Return why a section that was rendered may not be published, or `None`."""
    after = outcome.record
    if not after.pages and errors.left_out:
        first = min(errors.named, key=lambda error: error.field != "location")
        return f"every item was left out, the first one as {first}"
    since = run.started.timestamp() - BASELINE
    most = max([before.urls, *(urls for until, urls in before.counts if until >= since)])
    lost = most - after.urls
    if is_transient or lost < _SHRUNK or lost <= conf.max_shrink * most or name in run.options.force:
        return None
    return (
        f"it would shrink from {most:,} to {counted(after.urls, 'URL')}, which is more than "
        f"SITEMAPS09['MAX_SHRINK'] allows; what is published stays. If that is right: --force {name}"
    )
