"""One section rendered to staged files."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from django.core.exceptions import ImproperlyConfigured
from django.db import InterfaceError, OperationalError, close_old_connections
from django.urls import set_script_prefix, set_urlconf

from django_sitemaps09 import pages, sections, sources, writer
from django_sitemaps09.compression import compressor
from django_sitemaps09.conf import conf, site_locale
from django_sitemaps09.entries import ItemError
from django_sitemaps09.exceptions import ExportError, SitemapError
from django_sitemaps09.export.engines import Submit
from django_sitemaps09.export.files import sink
from django_sitemaps09.export.hints import hints
from django_sitemaps09.export.published import page_name
from django_sitemaps09.export.report import PageFile, SectionReport
from django_sitemaps09.pages import Key, Keyed, Page
from django_sitemaps09.protocol import Base
from django_sitemaps09.sections import Section
from django_sitemaps09.sources import QuerySource, Source
from django_sitemaps09.sources.costs import Costs, recorded, step
from django_sitemaps09.sources.positions import PositionSource

logger = logging.getLogger(__name__)

WorkT = TypeVar("WorkT")

# A section in which every item fails must not fill a report; all are counted.
_NAMED_ERRORS = 1_000
# What says all in its message; anything else may be a mistake in a project, which a traceback shows.
_EXPECTED = (SitemapError, ImproperlyConfigured, OperationalError, InterfaceError, OSError)


class Rendered(NamedTuple):
    """A staged page, what was left out of it, and what it cost."""

    file: PageFile
    errors: tuple[ItemError, ...]
    costs: Costs

    @property
    def cut(self) -> Key | None:
        return self.file.cut


@dataclass(frozen=True, slots=True)
class Renderer:
    """How pages of this run are rendered: into `stage`, or nowhere at all in a dry run."""

    base: Base
    stage: Path | None
    gzip: bool
    mode: int | None
    script_prefix: str
    urlconf: Any

    def section(
        self, name: str, section: Section, submit: Submit | None = None, workers: int = 1
    ) -> SectionReport:
        """All pages of a section. What goes wrong with one section costs no other.

        With `submit` pages are rendered elsewhere: those that are ranges of a key, so that a process
        of its own finds the same rows in them.
        """
        started = time.perf_counter()
        files: list[PageFile] = []
        errors = _Errors(name)
        failure = None
        try:
            # Whatever is active where the export is called, in a request of an admin for one.
            with site_locale():
                what = f"Section {name!r}"
                source, rows_on_page, costs = _twice(lambda: self._opened(name, section), what)
                elsewhere = submit if isinstance(source, QuerySource) else None

                def begin(page: Page) -> Callable[[], Rendered]:
                    if elsewhere is None or page.after == page.until:
                        # The only page, from no key to none, is not worth a process.
                        return self.page(name, source, page)
                    return elsewhere(render_page, self, name, page)

                # Here the next page is read while the thread of this one's file ends it.
                ahead = 2 if elsewhere is None else 2 * workers
                found = pages.each_page(_Patient(source, what), rows_on_page)
                for _, rendered in pages.render_all(found, begin, ahead):
                    errors.add(rendered.errors)
                    costs.add(rendered.costs)
                    if rendered.file.urls:
                        files.append(rendered.file)
        except Exception as error:
            failure = f"{type(error).__name__}: {error}"
            unexpected = not isinstance(error, _EXPECTED)
            logger.error("Section %r could not be rendered: %s", name, failure, exc_info=unexpected)
        if failure is None and not files and errors.left_out:
            first = min(errors.named, key=lambda error: error.field != "location")
            failure = f"every item was left out, the first one as {first}"
        advice = hints(source, costs) if files and failure is None else ()
        seconds = time.perf_counter() - started
        published = [] if failure else files
        return SectionReport(
            name, published, seconds, errors.left_out, tuple(errors.named), failure, advice
        )

    def _opened(self, name: str, section: Section) -> tuple[Source, int, Costs]:
        with recorded() as costs, step("items") as cost:
            source = sources.source(name, section, self.base, conf.limits)
            cost.items = source.count if isinstance(source, PositionSource) else 0
        return source, sources.rows_on_page(source, conf.limits), costs

    def page(self, name: str, source: Source, page: Page) -> Callable[[], Rendered]:
        """One page to its staged file; what is given back waits until that is on disk."""
        return _twice(lambda: self._page_once(name, source, page), f"Section {name!r}, page {page.number}")

    def _page_once(self, name: str, source: Source, page: Page) -> Callable[[], Rendered]:
        file_name = page_name(name, page.number, gzip=self.gzip)
        path = self.stage and self.stage / file_name
        if path is not None:
            path.unlink(missing_ok=True)
        limits = sources.page_limits(source, conf.limits)
        stream = compressor(conf.gzip_level) if self.gzip else None
        with (
            recorded() as costs,
            closing(source.batches(page)) as batches,
            sink(path, stream, self.mode) as out,
        ):
            written = writer.write_urlset(batches, out.write, limits, alternates=source.alternates)
            ended = out.end()

        def rendered() -> Rendered:
            digest = ended()
            cut = None if written.cut is None else source.key_text(written.cut)
            file = PageFile(
                name=file_name,
                after=page.after,
                until=page.until if cut is None else cut,
                urls=written.urls,
                bytes=written.bytes,
                size=out.size,
                lastmod=written.lastmod,
                digest=digest,
                cut=cut,
            )
            return Rendered(file, written.errors, costs)

        return rendered


def render_page(renderer: Renderer, name: str, page: Page) -> Rendered:
    """One page in a process of its own, where the section is found by its name."""
    set_script_prefix(renderer.script_prefix)
    set_urlconf(renderer.urlconf)

    def rendered() -> Rendered:
        section = sections.named()[name]
        source = sources.source(name, section, renderer.base, conf.limits)
        return renderer._page_once(name, source, page)()

    try:
        with site_locale():
            return _twice(rendered, f"Section {name!r}, page {page.number}")
    except _EXPECTED:
        raise
    except Exception as error:
        # Not every exception survives the way to another process; its text does.
        logger.exception("Section %r, page %s could not be rendered", name, page.number)
        raise ExportError(f"{type(error).__name__}: {error}") from None


def _twice(work: Callable[[], WorkT], what: str) -> WorkT:
    """What `work` gives, tried again once where the database was gone."""
    try:
        return work()
    except (OperationalError, InterfaceError) as error:
        logger.warning("%s: the database failed, trying again: %s", what, error)
        close_old_connections()
        return work()


class _Patient(NamedTuple):
    """Rows whose database may be gone for a moment."""

    rows: Keyed
    what: str

    def is_empty(self) -> bool:
        return _twice(self.rows.is_empty, self.what)

    def jump(self, after: Key | None, count: int) -> Key | None:
        return _twice(lambda: self.rows.jump(after, count), self.what)


@dataclass(slots=True)
class _Errors:
    """What was left out of a section, each thing once: a page that is cut reads some rows twice."""

    section: str
    left_out: int = 0
    named: list[ItemError] = field(default_factory=list)
    before: frozenset[ItemError] = frozenset()

    def add(self, errors: tuple[ItemError, ...]) -> None:
        # What is read twice is read again for the very next page.
        known, self.before = self.before, frozenset(errors)
        for error in dict.fromkeys(errors):
            if error in known:
                continue
            self.left_out += 1
            if len(self.named) < _NAMED_ERRORS:
                self.named.append(error)
                logger.warning("Section %r: left out: %s", self.section, error)
