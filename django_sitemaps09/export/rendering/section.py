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
from django_sitemaps09.export.rendering.records import BASELINE, common_record, published_files
from django_sitemaps09.export.rendering.retry import retry
from django_sitemaps09.export.rendering.run import Run, SectionOutcome
from django_sitemaps09.export.rendering.skipped import SkippedItems
from django_sitemaps09.export.report import SectionReport, pluralize
from django_sitemaps09.manifest import SectionRecord
from django_sitemaps09.sections import Section
from django_sitemaps09.sources import Source, UrlsSource
from django_sitemaps09.sources.positions import PositionSource
from django_sitemaps09.sources.profiling import Costs, record_costs, step

logger = logging.getLogger(__name__)

# A section may lose fewer URLs than this in any case.
_SHRUNK = 100


def export_section(
    run: Run, name: str, section: Section, records: Sequence[SectionRecord]
) -> list[SectionOutcome]:
    """Export all pages of a section, for each host; a failure does not affect other sections."""
    started = time.perf_counter()
    errors, costs = SkippedItems(name), Costs()
    outcomes = [SectionOutcome(SectionReport(name, (), 0.0), previous) for previous in records]
    failure: str | None = None
    advice: Sequence[str] = ()
    is_transient = False
    try:
        # Ignore the locale of the caller, such as that of a request in the admin.
        with site_locale():
            source, rows, initial = retry(lambda: _open(run, name, section), f"Section {name!r}")
            costs.add(initial)
            is_transient = source.is_transient
            previous, known_pages = common_record(records)
            pages = SectionPages(run, name, source, records, previous, known_pages, errors, costs)
            outcomes = pages.outcomes(rows)
        report = outcomes[0].report
        advice = hints(source, costs, report.urls) if report.files else ()
    except Exception as error:
        unexpected = not isinstance(error, EXPECTED)
        failure = reason_of(error, MAX_SHOWN if unexpected else MAX_MESSAGE)
        logger.error("Section %r could not be rendered: %s", name, failure, exc_info=unexpected)
    final_outcomes = []
    pairs = list(zip(records, outcomes, strict=True))
    failures = (_failure(run, name, *pair, errors, is_transient=is_transient) for pair in pairs)
    # Hosts share the same pages of a section, so it is published on all of them or on none.
    reason = failure or next(filter(None, failures), None)
    for previous, outcome in pairs:
        if reason is not None:
            files = published_files(name, previous)
            outcome = SectionOutcome(SectionReport(name, files, 0.0, unchanged=len(files)), previous)
        report = replace(
            outcome.report,
            seconds=time.perf_counter() - started,
            left_out=errors.count,
            errors=tuple(errors.listed_errors),
            failure=reason,
            hints=advice if reason is None else (),
            ignored_keys=costs.ignored_keys,
        )
        final_outcomes.append(outcome._replace(report=report))
    return final_outcomes


def _open(run: Run, name: str, section: Section) -> tuple[Source, int, Costs]:
    with record_costs() as costs:
        with step("items") as cost:
            source = sources.source(name, section, run.renderer.bases, conf.limits)
            cost.items = source.count if isinstance(source, PositionSource) else 0
        if isinstance(source, UrlsSource):
            source.begin(1)
    return source, sources.rows_on_page(source, conf.limits), costs


def _failure(
    run: Run,
    name: str,
    previous: SectionRecord,
    outcome: SectionOutcome,
    errors: SkippedItems,
    *,
    is_transient: bool,
) -> str | None:
    """Return why a section that was rendered may not be published, or `None`."""
    record = outcome.record
    if not record.pages and errors.count:
        first = min(errors.listed_errors, key=lambda error: error.field != "location")
        return f"every item was skipped; the first: {first}"
    counted_since = run.started.timestamp() - BASELINE
    max_urls = max([previous.urls, *(urls for until, urls in previous.counts if until >= counted_since)])
    lost_urls = max_urls - record.urls
    if (
        is_transient
        or lost_urls < _SHRUNK
        or lost_urls <= conf.max_shrink * max_urls
        or name in frozenset(run.options.force)
    ):
        return None
    return (
        f"it would shrink from {max_urls:,} to {pluralize(record.urls, 'URL')}, which is more than "
        "SITEMAPS09['MAX_SHRINK'] allows; the published files stay. If this is intended, use --force "
        f"{name}"
    )
