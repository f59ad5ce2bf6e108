"""Render one page to a staged file, in this process or in another one."""

from __future__ import annotations

import logging
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, Protocol

from django.core.exceptions import ImproperlyConfigured
from django.db import InterfaceError, OperationalError

from django_sitemaps09 import protocol
from django_sitemaps09.conf import conf, surroundings
from django_sitemaps09.declare import sections
from django_sitemaps09.declare.profiling import Costs, record_costs
from django_sitemaps09.exceptions import ExportError, SitemapError
from django_sitemaps09.export.rendering.sink import Sink
from django_sitemaps09.orm.reading import retry
from django_sitemaps09.protocol import Base, ItemError, reason_of
from django_sitemaps09.protocol.compression import compressor
from django_sitemaps09.protocol.filenames import Suffix, page_name
from django_sitemaps09.protocol.pages import Key, Page
from django_sitemaps09.rows import Source, compile_source, page_limits, read_page
from django_sitemaps09.target import Store, target_store
from django_sitemaps09.target.manifest import PageFile

logger = logging.getLogger(__name__)

#: Exceptions that are logged without a traceback. Other exceptions can be mistakes in a project.
EXPECTED = (SitemapError, ImproperlyConfigured, OperationalError, InterfaceError, OSError)


class Task(NamedTuple):
    """Page to render.

    `known` is the digest of the published file. `fingerprint` requests the fingerprint of the page's rows.
    `prefix` precedes the file name in the staging folder. `using` is the alias of the database that the
    command reads.
    """

    section: str
    page: Page
    known: str | None = None
    fingerprint: bool = False
    declaration_digest: str = ""
    prefix: str = ""
    using: str | None = None

    @property
    def label(self) -> str:
        return f"Section {self.section!r}, page {self.page.number}"


class RenderedPage(NamedTuple):
    """Rendered page: its file and its staged path, skipped items, and costs.

    `cut` is the last key on the page if the limits excluded the rest of its range. `staged` is empty for a
    page that was not rendered: it is unchanged or, in a repair, undamaged. `worker` is the host and the
    process of a worker that rendered the page; it is empty for the process of the export.
    """

    file: PageFile
    cut: Key | None = None
    errors: tuple[ItemError, ...] = ()
    costs: Costs = Costs()
    staged: str = ""
    worker: str = ""

    @property
    def is_empty(self) -> bool:
        return self.file.urls == 0


@dataclass(frozen=True, slots=True)
class Renderer:
    """Renderer for the pages of one run.

    `output` and `folder` determine where files are published, with the settings. `stage` is the folder of
    files that are not published yet, `None` in a dry run. The renderer can be pickled, because it opens
    stores through the settings.
    """

    base: Base
    output: Path | None
    folder: str
    stage: str | None
    gzip: bool
    script_prefix: str
    urlconf: Any

    def suffix(self, source: Source) -> Suffix:
        """Return the suffix of a source's file names; text files are never compressed."""
        if source.declared.format == "text":
            return "txt"
        return "xml.gz" if self.gzip else "xml"

    def render(
        self,
        source: Source,
        task: Task,
        store: Store,
        *,
        before_staging: Callable[[], None] = lambda: None,
        between: Callable[[], None] = lambda: None,
    ) -> Callable[[], RenderedPage]:
        """Render one page to its staged file, and return a function that waits until it is on disk.

        `before_staging` is called before the staged file is created, and before it is complete, because
        only then is it uploaded to a storage. `between` is called before each batch of rows is written.
        """
        page, suffix = task.page, self.suffix(source)
        name = page_name(task.section, page.number, suffix)
        staged = f"{self.stage}/{task.prefix}{name}"
        is_linked = "xhtml" in source.declared.namespaces
        stream = compressor(conf.gzip_level, linked=is_linked) if suffix == "xml.gz" else None

        @contextmanager
        def opener() -> Generator[BinaryIO]:
            before_staging()
            with store.staged(staged) as file:
                yield file
                before_staging()

        def write(data: bytes) -> None:
            between()
            sink.write(data)

        with (
            record_costs() as costs,
            read_page(source, page, needs_fingerprint=task.fingerprint) as rows,
            Sink(None if self.stage is None else opener, stream, task.known) as sink,
        ):
            written = protocol.write_document(
                protocol.page_format(source.declared.format, styled=conf.stylesheet),
                rows.batches,
                write,
                str(source.declared.base),
                page_limits(source, conf.limits),
                source.declared.namespaces,
            )
            wait_for_sink = sink.end()

        def wait() -> RenderedPage:
            digest = wait_for_sink()
            cut = None if written.cut is None else source.key_text(written.cut)
            file = PageFile(
                name,
                page.number,
                page.after,
                page.until if cut is None else cut,
                urls=written.urls,
                bytes=written.bytes,
                size=sink.size,
                lastmod=written.lastmod,
                digest=digest,
                fingerprint=rows.fingerprint if cut is None else None,
                unchanged=sink.unchanged,
            )
            return RenderedPage(file, cut, written.errors, costs, staged)

        return wait


class Engine(Protocol):
    """Engine that renders pages outside of this process, created with the number of workers.

    It is entered as a context manager before the first page of all hosts. The reference
    describes its optional members: `default_workers`, `ahead`, `check`, `begin_section`, `end_run`,
    `failures` and `warnings`.
    """

    workers: int

    def __enter__(self) -> Engine: ...

    def __exit__(self, *error: object) -> None: ...

    def submit(self, renderer: Renderer, task: Task) -> Callable[[], RenderedPage]:
        """Submit a page, and return a function that waits for the result and raises errors.

        If the function has an attribute `abandon`, it is called instead if the result is not needed any
        more. It ends when this process no longer renders the page. Workers call `render_page()`.
        """


def incompatibility(what: str, where: str = "") -> str:
    """Return the message for a worker that is incompatible because its `what` differs."""
    return (
        f"the worker is incompatible: its {what} differs from the command's{where}. Run the same version "
        "for the command and its workers"
    )


def render_page(
    renderer: Renderer, task: Task, *, before_staging: Callable[[], None] = lambda: None
) -> RenderedPage:
    """Render one page of a section that is found by its name in the setting or the registry.

    Raise `ExportError` if its declaration in this process differs from the command's: a spawned process,
    for example, does not have settings that its parent has overridden.
    """

    def render() -> RenderedPage:
        all_sections = sections.native_mapping()
        sections.check_known([task.section], all_sections)
        source = compile_source(
            task.section, all_sections[task.section], renderer.base, conf.limits, task.using
        )
        if source.declaration_digest != task.declaration_digest:
            where = " in its query, settings, code or URLs"
            raise ExportError(incompatibility(f"section {task.section!r}", where))
        store = target_store(renderer.output, renderer.folder)
        return renderer.render(source, task, store, before_staging=before_staging)()

    try:
        with surroundings(renderer.script_prefix, renderer.urlconf):
            return retry(render, task.label)
    except EXPECTED:
        raise
    except Exception as error:
        # Not every exception can be pickled for the other process.
        logger.exception("%s could not be rendered", task.label)
        raise ExportError(reason_of(error)) from None
