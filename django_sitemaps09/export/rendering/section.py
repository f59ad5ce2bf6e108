"""Export one section. A failure does not affect other sections."""

from __future__ import annotations

import logging
import re
import time
from collections import deque
from collections.abc import Callable, Generator, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field, replace
from functools import partial

from django_sitemaps09 import pages, sources
from django_sitemaps09.conf import conf, site_locale
from django_sitemaps09.entries import MAX_MESSAGE, MAX_SHOWN, ItemError, pluralize, reason_of
from django_sitemaps09.exceptions import ExportError
from django_sitemaps09.export.hints import hints
from django_sitemaps09.export.rendering.page import EXPECTED, RenderedPage, Task
from django_sitemaps09.export.rendering.plan import KeptPage, Plan, Run, SectionPages
from django_sitemaps09.export.rendering.records import BASELINE, Records, SectionOutcome, common_record
from django_sitemaps09.filenames import page_name
from django_sitemaps09.hooks.values import MAX_LOGGED, log_skipped
from django_sitemaps09.pages import Page
from django_sitemaps09.sections import Section
from django_sitemaps09.sources import Source, UrlsSource, has_key_ranges
from django_sitemaps09.sources.positions import PositionSource
from django_sitemaps09.sources.profiling import Costs, record_costs, step
from django_sitemaps09.sources.retry import RetriedSource, retry
from django_sitemaps09.state.manifest import SectionRecord

logger = logging.getLogger(__name__)

# Losing fewer URLs than this is always allowed.
_SHRUNK = 100
# Optional prefix before the name of a staged file.
_PREFIX = re.compile(r"(?:[0-9a-f]{8}-)?")
# All errors are counted, but a section in which every item fails must not fill the report.
_NAMED_ERRORS = 1_000


@dataclass(slots=True)
class SkippedItems:
    """Skipped items and elements of a section, each counted once even if its row is read twice."""

    section: str
    count: int = 0
    item_count: int = 0
    listed_errors: list[ItemError] = field(default_factory=list)
    previous_errors: frozenset[ItemError] = frozenset()

    def add(self, errors: tuple[ItemError, ...], rows: int = 1) -> None:
        """Add errors, each of which is about a number of `rows`."""
        # Splitting a page reads rows twice, for two consecutive pages.
        repeated_errors, self.previous_errors = self.previous_errors, frozenset(errors)
        for error in dict.fromkeys(errors):
            if error in repeated_errors:
                continue
            self.count += rows
            self.item_count += rows * error.skips_item
            if len(self.listed_errors) < _NAMED_ERRORS:
                self.listed_errors.append(error)
            # A mistake in a hook can fail for every item.
            level = logging.WARNING if self.count <= MAX_LOGGED else logging.DEBUG
            logger.log(level, "Section %r: skipped %s", self.section, error)


def export_section(run: Run, name: str, section: Section) -> list[SectionOutcome]:
    """Export all pages of a section, and return the outcome for each host, even if the section failed."""
    started = time.perf_counter()
    records = run.records(name)
    errors, costs = SkippedItems(name), Costs()
    advice: Sequence[str] = ()
    reason: str | None
    try:
        # Ignore the caller's locale, for example the language of a request in the admin.
        with site_locale():
            source, rows, initial = retry(lambda: _open(run, name, section), f"Section {name!r}")
            costs.add(initial)
            digest = RetriedSource(source, f"Section {name!r}").declaration_digest
            section_pages = SectionPages(run, name, source, *common_record(records), digest)
            outcomes = _outcomes(section_pages, rows, errors, costs)
        log_skipped(logger, (), errors.count, f"Section {name!r}: skipped")
        report = outcomes[0].report
        advice = hints(source, costs, report.urls) if report.files else ()
    except Exception as error:
        unexpected = not isinstance(error, EXPECTED)
        reason = reason_of(error, MAX_SHOWN if unexpected else MAX_MESSAGE)
        logger.error("Section %r could not be rendered: %s", name, reason, exc_info=unexpected)
    else:
        # All hosts share the pages of a section, so the section is published on all of them or on none.
        failures = [
            _failure(section_pages, record, outcome, errors)
            for record, outcome in zip(records, outcomes, strict=True)
        ]
        reason = next(filter(None, failures), None)
    if reason is not None:
        outcomes = [SectionOutcome.unpublished(name, record) for record in records]
    seconds = time.perf_counter() - started
    return [
        outcome._replace(
            report=replace(
                outcome.report,
                seconds=seconds,
                skipped_items=errors.item_count,
                skipped_elements=errors.count - errors.item_count,
                errors=tuple(errors.listed_errors),
                failure=reason,
                hints=advice if reason is None else (),
                ignored_keys=costs.ignored_keys,
            )
        )
        for outcome in outcomes
    ]


def _open(run: Run, name: str, section: Section) -> tuple[Source, int, Costs]:
    with record_costs() as costs:
        with step("items") as cost:
            source = sources.source(name, section, run.renderer.bases, conf.limits)
            cost.items = source.count if isinstance(source, PositionSource) else 0
        if isinstance(source, UrlsSource):
            source.begin(1)
    return source, sources.rows_on_page(source, conf.limits), costs


def _outcomes(
    section_pages: SectionPages, rows_on_page: int, errors: SkippedItems, costs: Costs
) -> list[SectionOutcome]:
    listeners, source = section_pages.run.listeners, section_pages.source
    if not section_pages.run.options.is_repair:
        for count, error in section_pages.rows.unreadable_keys():
            errors.add((error,), count)
    plan = section_pages.plan(rows_on_page)
    if isinstance(source, PositionSource):
        listeners.plan({section_pages.name: -(-source.count // rows_on_page)})
    hosts = [Records(section_pages, *previous) for previous in section_pages.previous_by_host]
    with closing(_render(section_pages, plan)) as results:
        for page, result in results:
            if isinstance(result, KeptPage):
                for host in hosts:
                    host.keep(page)
                continue
            _check_names(section_pages, page, result)
            errors.add(result.errors)
            costs.add(result.costs)
            listeners.page(section_pages.name, result.file)
            fingerprint = section_pages.fingerprint(plan, page, result)
            for host, file, staged in zip(hosts, result.files, result.staged, strict=True):
                host.add(page, file, staged, fingerprint)
    return [host.outcome(plan) for host in hosts]


def _render(section_pages: SectionPages, plan: Plan) -> Generator[tuple[Page, RenderedPage | KeptPage]]:
    run, source = section_pages.run, section_pages.source
    engine = run.engine if has_key_ranges(source) else None
    # If pages are rendered in this process, a thread finishes one page while the next one is read.
    local_results: deque[Callable[[], RenderedPage]] = deque(maxlen=2)

    def submit(page: Page) -> Callable[[], RenderedPage | KeptPage]:
        if page in plan.kept_pages:
            return KeptPage
        task = Task(
            section_pages.name,
            page,
            known=section_pages.digests(page.number),
            fingerprint=source.can_fingerprint and (run.options.changed_only or source.hashes_cheaply),
            declaration_digest=section_pages.declaration_digest,
            using=source.members.rows.db if has_key_ranges(source) else None,
        )
        # For a single page, whose range has no bounds, another process saves no time.
        if engine is not None and page.after != page.until:
            return engine.submit(run.renderer, task)
        host_stores = [host.store for host in run.hosts]
        local_results.append(retry(partial(run.renderer.render, source, task, host_stores), task.label))
        return local_results[-1]

    try:
        yield from pages.render_all(
            plan.pages,
            submit,
            2 if engine is None else 2 * engine.workers,
            divide=partial(section_pages.divide, plan),
            join=partial(section_pages.join, plan),
            highest=0 if source.is_transient else section_pages.previous.highest,
        )
    except BaseException:
        # Threads must not write to a folder that is removed, so wait for them.
        for wait in local_results:
            with suppress(Exception):
                wait()
        raise


def _check_names(section_pages: SectionPages, page: Page, rendered: RenderedPage) -> None:
    """Raise `ExportError` unless a worker's result has the requested file names.

    The result determines what is published, and under which name.
    """
    name = page_name(section_pages.name, page.number, section_pages.suffix)
    targets = section_pages.run.renderer.targets
    for target, file, staged in zip(targets, rendered.files, rendered.staged, strict=True):
        prefix, separator, rest = staged.removeprefix(f"{target.stage}/").partition(name)
        if file.name != name or not separator or rest or _PREFIX.fullmatch(prefix) is None:
            raise ExportError(f"A worker returned an invalid file name for {name}: {staged!r}.")


def _failure(
    section_pages: SectionPages, previous: SectionRecord, outcome: SectionOutcome, errors: SkippedItems
) -> str | None:
    """Return why a rendered section must not be published, or `None`."""
    record = outcome.record
    if not record.pages and errors.count:
        first = min(errors.listed_errors, key=lambda error: not error.skips_item)
        return f"every item was skipped; first error: {first}"
    counted_since = section_pages.run.started.timestamp() - BASELINE
    max_urls = max([previous.urls, *(urls for until, urls in previous.counts if until >= counted_since)])
    lost_urls = max_urls - record.urls
    if (
        section_pages.source.is_transient
        or lost_urls < _SHRUNK
        or lost_urls <= conf.max_shrink * max_urls
        or section_pages.is_forced
    ):
        return None
    return (
        f"it would shrink from {max_urls:,} to {pluralize(record.urls, 'URL')}, which is more than "
        "SITEMAPS09['MAX_SHRINK'] allows; the published files are kept. If this is intended, use --force "
        f"{section_pages.name}"
    )
