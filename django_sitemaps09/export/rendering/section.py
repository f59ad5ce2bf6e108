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
from django_sitemaps09.export.rendering.page import EXPECTED, RenderedPage, Task, nothing
from django_sitemaps09.export.rendering.plan import Plan, Run
from django_sitemaps09.export.rendering.records import BASELINE, Records, SectionOutcome
from django_sitemaps09.filenames import page_name
from django_sitemaps09.hooks.values import MAX_LOGGED, log_skipped
from django_sitemaps09.pages import Page
from django_sitemaps09.sections import Section
from django_sitemaps09.sources import Source, UrlsSource, has_key_ranges
from django_sitemaps09.sources.positions import PositionSource
from django_sitemaps09.sources.profiling import Costs, record_costs, step
from django_sitemaps09.sources.retry import retry
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


def export_section(run: Run, name: str, section: Section) -> SectionOutcome:
    """Export all pages of a section, and return the outcome, even if the section failed."""
    started = time.perf_counter()
    errors, costs = SkippedItems(name), Costs()
    advice: Sequence[str] = ()
    try:
        # Ignore the caller's locale, for example the language of a request in the admin.
        with site_locale():
            source, rows, initial = retry(lambda: _open(run, name, section), f"Section {name!r}")
            costs.add(initial)
            plan = Plan.of_section(run, name, source, rows)
            outcome = _outcome(plan, rows, errors, costs)
        log_skipped(logger, (), errors.count, f"Section {name!r}: skipped")
        advice = hints(source, costs, outcome.report.urls) if outcome.report.files else ()
        reason = _failure(plan, outcome.record, errors)
    except Exception as error:
        unexpected = not isinstance(error, EXPECTED)
        reason = reason_of(error, MAX_SHOWN if unexpected else MAX_MESSAGE)
        logger.error("Section %r could not be rendered: %s", name, reason, exc_info=unexpected)
    if reason is not None:
        outcome = SectionOutcome.unpublished(name, run.previous.section(name))
    report = replace(
        outcome.report,
        seconds=time.perf_counter() - started,
        skipped_items=errors.item_count,
        skipped_elements=errors.count - errors.item_count,
        errors=tuple(errors.listed_errors),
        failure=reason,
        hints=advice if reason is None else (),
        ignored_keys=costs.ignored_keys,
    )
    return outcome._replace(report=report)


def _open(run: Run, name: str, section: Section) -> tuple[Source, int, Costs]:
    with record_costs() as costs:
        with step("items") as cost:
            source = sources.source(name, section, run.host.base, conf.limits)
            cost.items = source.count if isinstance(source, PositionSource) else 0
        if isinstance(source, UrlsSource):
            source.begin(1)
    return source, sources.rows_on_page(source, conf.limits), costs


def _outcome(plan: Plan, rows_on_page: int, errors: SkippedItems, costs: Costs) -> SectionOutcome:
    options, source = plan.run.options, plan.source
    if not plan.run.host.is_repair:
        for count, error in plan.rows.unreadable_keys():
            errors.add((error,), count)
    if isinstance(source, PositionSource):
        options.on_plan({plan.name: -(-source.count // rows_on_page)})
    records = Records(plan)
    with closing(_render(plan)) as results:
        for page, rendered in results:
            if rendered.staged:
                _check_names(plan, page, rendered)
                errors.add(rendered.errors)
                costs.add(rendered.costs)
                options.on_page(plan.name, rendered.file)
            records.add(page, rendered)
    return records.outcome()


def _render(plan: Plan) -> Generator[tuple[Page, RenderedPage]]:
    run, source = plan.run, plan.source
    engine = run.engine if has_key_ranges(source) else None
    # If pages are rendered in this process, a thread finishes one page while the next one is read.
    local_results: deque[Callable[[], RenderedPage]] = deque(maxlen=2)

    def render(task: Task, between: Callable[[], None] = nothing) -> Callable[[], RenderedPage]:
        begin = partial(run.renderer.render, source, task, run.host.store, between=between)
        local_results.append(retry(begin, task.label))
        return local_results[-1]

    def submit(page: Page) -> Callable[[], RenderedPage]:
        if page in plan.kept_pages:
            return partial(plan.kept, page)
        task = Task(
            plan.name,
            page,
            known=plan.digest(page.number),
            fingerprint=source.can_fingerprint and (run.options.changed_only or source.hashes_cheaply),
            declaration_digest=plan.declaration_digest,
            using=source.members.rows.db if has_key_ranges(source) else None,
        )
        # For a single page, whose range has no bounds, another process saves no time.
        if engine is not None and page.after != page.until:
            return engine.submit(run.renderer, task)
        return render(task)

    getattr(engine, "begin_section", lambda render: None)(render)
    try:
        yield from pages.render_all(
            plan.pages,
            submit,
            2 if engine is None else getattr(engine, "ahead", 2 * engine.workers),
            divide=plan.divide,
            join=plan.join,
            highest=0 if source.is_transient else plan.previous.highest,
        )
    except BaseException:
        # Threads must not write to a folder that is removed, so wait for them.
        for wait in local_results:
            with suppress(Exception):
                wait()
        raise


def _check_names(plan: Plan, page: Page, rendered: RenderedPage) -> None:
    """Raise `ExportError` unless a worker's result has the requested file name.

    The result determines what is published, and under which name.
    """
    name = page_name(plan.name, page.number, plan.suffix)
    prefix, separator, rest = rendered.staged.removeprefix(f"{plan.run.stage}/").partition(name)
    is_known = separator and not rest and _PREFIX.fullmatch(prefix) is not None
    if (rendered.file.name, rendered.file.number) != (name, page.number) or not is_known:
        raise ExportError(f"A worker returned an invalid file name for {name}: {rendered.staged!r}.")


def _failure(plan: Plan, record: SectionRecord, errors: SkippedItems) -> str | None:
    """Return why a rendered section must not be published, or `None`."""
    if not record.pages and errors.count:
        first = min(errors.listed_errors, key=lambda error: not error.skips_item)
        return f"every item was skipped; first error: {first}"
    previous, counted_since = plan.previous, plan.run.started.timestamp() - BASELINE
    max_urls = max([previous.urls, *(urls for until, urls in previous.counts if until >= counted_since)])
    lost_urls = max_urls - record.urls
    if (
        plan.source.is_transient
        or lost_urls < _SHRUNK
        or lost_urls <= conf.max_shrink * max_urls
        or plan.is_forced
    ):
        return None
    return (
        f"it would shrink from {max_urls:,} to {pluralize(record.urls, 'URL')}, which is more than "
        "SITEMAPS09['MAX_SHRINK'] allows; the published files are kept. If this is intended, use --force "
        f"{plan.name}"
    )
