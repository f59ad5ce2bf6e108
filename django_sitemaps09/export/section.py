"""One section exported: what goes wrong with it costs no other one."""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from dataclasses import replace

from django_sitemaps09 import sources
from django_sitemaps09.conf import conf, site_locale
from django_sitemaps09.export.hints import hints
from django_sitemaps09.export.left_out import LeftOut
from django_sitemaps09.export.paging import SectionPages
from django_sitemaps09.export.records import BASELINE, common
from django_sitemaps09.export.render import EXPECTED, twice
from django_sitemaps09.export.report import SectionReport
from django_sitemaps09.export.run import Outcome, Run
from django_sitemaps09.manifest import SectionRecord
from django_sitemaps09.sections import Section
from django_sitemaps09.sources import Source
from django_sitemaps09.sources.costs import Costs, recorded, step
from django_sitemaps09.sources.positions import PositionSource

logger = logging.getLogger(__name__)

# What a section may lose in any case.
_SHRUNK = 100


def export_section(
    run: Run, name: str, section: Section, befores: Sequence[SectionRecord]
) -> list[Outcome]:
    """All pages of a section, for each host. What goes wrong with one section costs no other."""
    started = time.perf_counter()
    errors, costs = LeftOut(name), Costs()
    outcomes = [Outcome(SectionReport(name, (), 0.0), before) for before in befores]
    failure: str | None = None
    advice: Sequence[str] = ()
    fleeting = False
    try:
        # Whatever is active where the export is called, in a request of an admin for one.
        with site_locale():
            source, rows, opened = twice(lambda: _opened(run, name, section), f"Section {name!r}")
            costs.add(opened)
            fleeting = source.fleeting
            before, known = common(befores)
            pages = SectionPages(run, name, source, befores, before, known, errors, costs)
            outcomes = pages.outcomes(rows)
        advice = hints(source, costs) if outcomes[0].report.files else ()
    except Exception as error:
        failure = f"{type(error).__name__}: {error}"
        unexpected = not isinstance(error, EXPECTED)
        logger.error("Section %r could not be rendered: %s", name, failure, exc_info=unexpected)
    ended = []
    pairs = list(zip(befores, outcomes, strict=True))
    found = (_failure(run, name, *pair, errors, fleeting=fleeting) for pair in pairs)
    # What has the same pages on several hosts keeps them: it is published on all of them, or on none.
    why = failure or next(filter(None, found), None)
    for before, outcome in pairs:
        if why is not None:
            outcome = Outcome(SectionReport(name, (), 0.0), before)
        report = replace(
            outcome.report,
            seconds=time.perf_counter() - started,
            left_out=errors.left_out,
            errors=tuple(errors.named),
            failure=why,
            hints=advice if why is None else (),
        )
        ended.append(outcome._replace(report=report))
    return ended


def _opened(run: Run, name: str, section: Section) -> tuple[Source, int, Costs]:
    with recorded() as costs, step("items") as cost:
        source = sources.source(name, section, run.renderer.bases, conf.limits)
        cost.items = source.count if isinstance(source, PositionSource) else 0
    return source, sources.rows_on_page(source, conf.limits), costs


def _failure(
    run: Run,
    name: str,
    before: SectionRecord,
    outcome: Outcome,
    errors: LeftOut,
    *,
    fleeting: bool,
) -> str | None:
    """Why a section that was rendered may not be published, or `None`."""
    after = outcome.record
    if not after.pages and errors.left_out:
        first = min(errors.named, key=lambda error: error.field != "location")
        return f"every item was left out, the first one as {first}"
    since = run.wanted.started.timestamp() - BASELINE
    most = max([before.urls, *(urls for until, urls in before.counts if until >= since)])
    lost = most - after.urls
    if fleeting or lost < _SHRUNK or lost <= conf.max_shrink * most or name in run.wanted.force:
        return None
    return (
        f"it would shrink from {most:,} to {after.urls:,} URLs, which is more than "
        f"SITEMAPS09['MAX_SHRINK'] allows; what is published stays. If that is right: --force {name}"
    )
