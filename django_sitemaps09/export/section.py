"""Export one section. A failure does not affect other sections."""

from __future__ import annotations

import logging
import re
import time
from collections import Counter, deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import timezone
from functools import partial
from typing import NamedTuple

from django_sitemaps09.conf import conf, site_locale
from django_sitemaps09.declare.calls import ABOUT_ITEM, MAX_LOGGED, Costs, log_skipped, record_costs, step
from django_sitemaps09.declare.sections import Section
from django_sitemaps09.exceptions import ExportError
from django_sitemaps09.export.engines import Engine
from django_sitemaps09.export.page import EXPECTED, RenderedPage, Task
from django_sitemaps09.export.plan import Plan
from django_sitemaps09.export.report import THIS_PROCESS, SectionReport
from django_sitemaps09.export.run import Run
from django_sitemaps09.orm.reading import retry
from django_sitemaps09.protocol import pages
from django_sitemaps09.protocol.entries import ItemError
from django_sitemaps09.protocol.fields import MAX_MESSAGE, MAX_SHOWN, pluralize, reason_of
from django_sitemaps09.protocol.filenames import page_name
from django_sitemaps09.protocol.pages import Page
from django_sitemaps09.protocol.values import drop_future, w3c
from django_sitemaps09.rows.compile import compile_source
from django_sitemaps09.rows.get_urls import UrlsSource
from django_sitemaps09.rows.hints import hints
from django_sitemaps09.rows.positions import PositionSource
from django_sitemaps09.rows.queryset import has_key_ranges
from django_sitemaps09.rows.source_base import Source, rows_on_page
from django_sitemaps09.target.manifest import PageFile, SectionRecord

logger = logging.getLogger(__name__)

# Losing fewer URLs than this is always allowed.
_SHRUNK = 100
# All errors are counted, but a section in which every item fails must not fill the report.
_NAMED_ERRORS = 1_000
_UNPUBLISHED = PageFile("", 0, None, None)


class SectionOutcome(NamedTuple):
    """Outcome of a section after its pages are staged: the record to publish, or else the previous one.

    `staged` maps new and changed files to their staged paths. `shrinks` are published files that lost rows.
    """

    report: SectionReport
    record: SectionRecord
    staged: Mapping[str, str] = {}
    shrinks: frozenset[str] = frozenset()


@dataclass(slots=True)
class _Results:
    """The pages of a section in their order, as they are rendered or kept, and what was skipped.

    Each skipped item or element is counted once, even if its row is read twice.
    """

    section: str
    costs: Costs = field(default_factory=Costs)
    pages: list[PageFile] = field(default_factory=list)
    staged: dict[str, str] = field(default_factory=dict)
    rendered_by: Counter[str] = field(default_factory=Counter)
    kept: int = 0
    skipped: int = 0
    skipped_items: int = 0
    errors: list[ItemError] = field(default_factory=list)
    previous_errors: frozenset[ItemError] = frozenset()

    def skip(self, errors: tuple[ItemError, ...], rows: int = 1) -> None:
        """Add errors, each of which is about a number of `rows`."""
        # Splitting a page reads rows twice, for two consecutive pages.
        repeated_errors, self.previous_errors = self.previous_errors, frozenset(errors)
        for error in dict.fromkeys(errors):
            if error in repeated_errors:
                continue
            self.skipped += rows
            self.skipped_items += rows * error.skips_item
            if len(self.errors) < _NAMED_ERRORS:
                self.errors.append(error)
            # A mistake in a hook can fail for every item.
            level = logging.WARNING if self.skipped <= MAX_LOGGED else logging.DEBUG
            logger.log(level, "Section %r: skipped %s", self.section, error, extra=ABOUT_ITEM)

    def add(self, plan: Plan, page: Page, rendered: RenderedPage) -> None:
        """Add a page. A page without URLs is omitted, and the next page takes over its range."""
        file = rendered.file
        if rendered.staged:
            _check_names(plan, page, rendered)
            self.skip(rendered.errors)
            self.costs.add(rendered.costs)
            self.rendered_by[rendered.worker or THIS_PROCESS] += 1
            plan.run.options.on_page(plan.name, file)
        else:
            self.kept += 1
        if rendered.is_empty:
            return
        published = plan.previous_pages.get(page.number, _UNPUBLISHED)
        changed: str | None = w3c(plan.run.started, timezone.utc)
        if is_same := published.digest == file.digest:
            changed = published.changed
        elif not any(previous.digest for previous in plan.previous.pages):
            # Without a previous digest, the last change is unknown, so the newest lastmod is used.
            changed = drop_future(file.lastmod)
        fingerprint = None if rendered.errors else file.fingerprint
        is_known = rendered.errors or (fingerprint is not None and plan.run.options.changed_only)
        if is_same and plan.is_same_declaration and not is_known:
            # The rows of both have the same text, and a full run that changes nothing writes nothing.
            fingerprint = published.fingerprint
        file = replace(
            file,
            after=self.pages[-1].until if self.pages else None,
            until=page.until,
            size=published.size if file.unchanged else file.size,
            changed=changed,
            fingerprint=fingerprint,
            index_number=published.index_number,
        )
        self.pages.append(file)
        if not file.unchanged:
            self.staged[file.name] = rendered.staged

    def outcome(self, plan: Plan) -> SectionOutcome:
        previous = plan.previous
        if self.pages:
            self.pages[-1] = replace(self.pages[-1], until=None)
        record = SectionRecord(
            suffix=plan.suffix,
            key_identity=plan.rows.key_identity,
            declaration_digest=plan.declaration_digest,
            highest=max([previous.highest, *(file.number for file in self.pages)]),
            counts=plan.counts(sum(file.urls for file in self.pages)),
            pages=tuple(self.pages),
        )
        previous_names = set(previous.file_names)
        report = SectionReport(
            self.section,
            record.pages,
            0.0,
            written=len(self.staged),
            unchanged=len(self.pages) - len(self.staged),
            skipped=self.kept,
            removed=len(previous_names.difference(record.file_names)),
            split=len(plan.split_numbers),
            merged=len(plan.merged_numbers),
            rendered_by=dict(self.rendered_by),
        )
        # The last page, which had no upper bound, may have been merged and then cut: it may lose rows if it
        # has a bound now.
        shrinks = {
            file.name
            for file in self.pages
            if file.number in plan.split_numbers
            or (previous.has_key_ranges and file.until and file.number not in plan.closed_numbers)
        }
        return SectionOutcome(report, record, self.staged, frozenset(shrinks & previous_names))


def export_section(run: Run, name: str, section: Section) -> SectionOutcome:
    """Export all pages of a section, and return the outcome, even if the section failed."""
    started = time.perf_counter()
    results = _Results(name)
    advice: Sequence[str] = ()
    try:
        # Ignore the caller's locale, for example the language of a request in the admin.
        with site_locale():
            source, rows, results.costs = retry(lambda: _open(run, name, section), f"Section {name!r}")
            plan = Plan(run, name, source, rows)
            if has_key_ranges(source) and not run.host.is_repair:
                for count, error in plan.rows.unreadable_keys():
                    results.skip((error,), count)
            if isinstance(source, PositionSource):
                run.options.on_plan({name: -(-source.count // rows)})
            _render(plan, results)
            outcome = results.outcome(plan)
        log_skipped(logger, (), results.skipped, f"Section {name!r}: skipped")
        advice = hints(source, results.costs, outcome.record.urls) if outcome.record.pages else ()
        reason = _failure(plan, outcome.record, results)
    except Exception as error:
        unexpected = not isinstance(error, EXPECTED)
        reason = reason_of(error, MAX_SHOWN if unexpected else MAX_MESSAGE)
        logger.error("Section %r could not be rendered: %s", name, reason, exc_info=unexpected)
    if reason is not None:
        # The published files are kept.
        record = run.previous.section(name)
        files = [replace(page, unchanged=True) for page in record.pages]
        outcome = SectionOutcome(SectionReport(name, files, 0.0, unchanged=len(files)), record)
    report = replace(
        outcome.report,
        seconds=time.perf_counter() - started,
        skipped_items=results.skipped_items,
        skipped_elements=results.skipped - results.skipped_items,
        errors=tuple(results.errors),
        failure=reason,
        hints=advice if reason is None else (),
        ignored_keys=results.costs.ignored_keys,
    )
    return outcome._replace(report=report)


def _open(run: Run, name: str, section: Section) -> tuple[Source, int, Costs]:
    with record_costs() as costs:
        with step("items") as cost:
            source = compile_source(name, section, run.host.base, conf.limits)
            cost.items = source.count if isinstance(source, PositionSource) else 0
        if isinstance(source, UrlsSource):
            source.begin(1)
    return source, rows_on_page(source, conf.limits), costs


def _render(plan: Plan, results: _Results) -> None:
    run, source = plan.run, plan.source
    engine = run.engine if has_key_ranges(source) else Engine(1)
    # If pages are rendered in this process, a thread finishes one page while the next one is read.
    local_results: deque[Callable[[], RenderedPage]] = deque(maxlen=2)

    def render(task: Task, between: Callable[[], None] = lambda: None) -> Callable[[], RenderedPage]:
        begin = partial(run.renderer.render, source, task, run.host.store, between=between)
        local_results.append(retry(begin, task.label))
        return local_results[-1]

    def submit(page: Page) -> Callable[[], RenderedPage]:
        if page in plan.kept_pages:
            return partial(RenderedPage, replace(plan.previous_pages[page.number], unchanged=True))
        task = Task(
            plan.name,
            page,
            known=plan.digest(page.number),
            fingerprint=source.can_fingerprint and (run.options.changed_only or source.hashes_cheaply),
            declaration_digest=plan.declaration_digest,
            using=source.members.rows.db if has_key_ranges(source) else None,
        )
        # For a single page, whose range has no bounds, another process saves no time.
        return render(task) if page.after == page.until else engine.submit(run.renderer, task)

    engine.begin_section(render)
    highest = 0 if source.is_transient else plan.previous.highest
    try:
        for page, rendered in pages.render_all(
            plan.pages, submit, engine.ahead, divide=plan.divide, join=plan.join, highest=highest
        ):
            results.add(plan, page, rendered)
    except BaseException:
        # Threads must not write to a folder that is removed, so wait for them.
        for wait in local_results:
            with suppress(Exception):
                wait()
        raise


def _check_names(plan: Plan, page: Page, rendered: RenderedPage) -> None:
    """Raise `ExportError` if a worker's result would publish another file, or under another name."""
    name = page_name(plan.name, page.number, plan.suffix)
    staged = rf"{re.escape(f'{plan.run.renderer.stage}/')}([0-9a-f]{{8}}-)?{re.escape(name)}"
    is_known = (rendered.file.name, rendered.file.number) == (name, page.number)
    if not is_known or re.fullmatch(staged, rendered.staged) is None:
        raise ExportError(f"A worker returned an invalid file name for {name}: {rendered.staged!r}.")


def _failure(plan: Plan, record: SectionRecord, results: _Results) -> str | None:
    """Return why a rendered section must not be published, or `None`."""
    if not record.pages and results.skipped:
        first = min(results.errors, key=lambda error: not error.skips_item)
        return f"every item was skipped; first error: {first}"
    max_urls = max([plan.previous.urls, *(urls for _, urls in plan.recent_counts)])
    lost_urls = max_urls - record.urls
    is_allowed = plan.source.is_transient or plan.is_forced
    if is_allowed or lost_urls < _SHRUNK or lost_urls <= conf.max_shrink * max_urls:
        return None
    urls = pluralize(record.urls, "URL")
    return (
        f"it would shrink from {max_urls:,} to {urls}, which is more than SITEMAPS09['MAX_SHRINK'] allows; "
        f"the published files are kept. If this is intended, use --force {plan.name}"
    )
