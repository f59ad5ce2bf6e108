"""Render one page to staged files, in this process or in another one."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from django.core.exceptions import ImproperlyConfigured
from django.db import InterfaceError, OperationalError

from django_sitemaps09 import sections, sources, stores, writer
from django_sitemaps09.compression import compressor
from django_sitemaps09.conf import conf, surroundings
from django_sitemaps09.entries import ItemError, reason_of
from django_sitemaps09.exceptions import ExportError, SitemapError
from django_sitemaps09.export.rendering.sink import Sink
from django_sitemaps09.export.report import PageFile
from django_sitemaps09.filenames import Suffix, page_name
from django_sitemaps09.pages import Key, Page
from django_sitemaps09.protocol import Base
from django_sitemaps09.sources import Source
from django_sitemaps09.sources.profiling import Costs, record_costs
from django_sitemaps09.sources.retry import retry
from django_sitemaps09.stores import Store
from django_sitemaps09.writer import Destination

logger = logging.getLogger(__name__)

#: Exceptions that are logged without a traceback. Other exceptions can be mistakes in a project.
EXPECTED = (SitemapError, ImproperlyConfigured, OperationalError, InterfaceError, OSError)


class HostTarget(NamedTuple):
    """Place where the files of one host are published, determined by `output` and the settings.

    `folder` is the host's subfolder, or empty. `stage` is the folder of files that are not published yet,
    `None` in a dry run.
    """

    base: Base
    output: Path | None
    stage: str | None
    folder: str = ""


class Task(NamedTuple):
    """Page to render.

    `known` has the digest of the published file for each host. `fingerprint` requests the fingerprint of
    the page's rows. `prefix` precedes the file name in the staging folder. `using` is the alias of the
    database that the command reads.
    """

    section: str
    page: Page
    known: tuple[str | None, ...] = ()
    fingerprint: bool = False
    declaration_digest: str = ""
    prefix: str = ""
    using: str | None = None

    @property
    def label(self) -> str:
        return f"Section {self.section!r}, page {self.page.number}"


class RenderedPage(NamedTuple):
    """Rendered page: its file and its staged path for each host, skipped items, and costs."""

    files: tuple[PageFile, ...]
    errors: tuple[ItemError, ...]
    costs: Costs
    staged: tuple[str, ...]

    @property
    def file(self) -> PageFile:
        """File of the first host; the range, the cut and the number of URLs are the same for all hosts."""
        return self.files[0]

    @property
    def cut(self) -> Key | None:
        return self.file.cut

    @property
    def is_empty(self) -> bool:
        return self.file.urls == 0


@dataclass(frozen=True, slots=True)
class Renderer:
    """Renderer for the pages of one run, with the same rows for all hosts.

    It can be pickled, because it opens stores through the settings.
    """

    targets: tuple[HostTarget, ...]
    gzip: bool
    script_prefix: str
    urlconf: Any

    @property
    def bases(self) -> tuple[Base, ...]:
        return tuple(target.base for target in self.targets)

    @property
    def stage(self) -> str | None:
        """Staging folder of the first host; `None` in a dry run."""
        return self.targets[0].stage

    def suffix(self, source: Source) -> Suffix:
        """Return the suffix of a source's file names; text files are never compressed."""
        if source.format == "text":
            return "txt"
        return "xml.gz" if self.gzip else "xml"

    def render(
        self, source: Source, task: Task, host_stores: Sequence[Store]
    ) -> Callable[[], RenderedPage]:
        """Render one page to its staged files, and return a function that waits until they are on disk."""
        page = task.page
        file_name = page_name(task.section, page.number, self.suffix(source))
        staged_paths = tuple(f"{target.stage}/{task.prefix}{file_name}" for target in self.targets)
        with record_costs() as costs, ExitStack() as stack:
            rows = stack.enter_context(sources.read_page(source, page, needs_fingerprint=task.fingerprint))
            known_digests = task.known or [None] * len(host_stores)
            is_linked = "xhtml" in source.namespaces
            sinks = [
                stack.enter_context(self._sink(store, path, digest, is_linked=is_linked))
                for store, path, digest in zip(host_stores, staged_paths, known_digests, strict=True)
            ]
            documents = writer.write_documents(
                writer.page_format(source.format, styled=conf.stylesheet),
                rows.batches,
                [
                    Destination(sink.write, str(base))
                    for sink, base in zip(sinks, source.bases, strict=True)
                ],
                sources.page_limits(source, conf.limits),
                source.namespaces,
            )
            waits = [sink.end() for sink in sinks]

        def wait() -> RenderedPage:
            digests = [wait_for_sink() for wait_for_sink in waits]
            cut = None if documents[0].cut is None else source.key_text(documents[0].cut)
            files = [
                PageFile(
                    name=file_name,
                    after=page.after,
                    until=page.until if cut is None else cut,
                    urls=document.urls,
                    bytes=document.bytes,
                    size=sink.size,
                    lastmod=document.lastmod,
                    digest=digest,
                    cut=cut,
                    unchanged=sink.unchanged,
                    fingerprint=rows.fingerprint if cut is None else None,
                )
                for document, sink, digest in zip(documents, sinks, digests, strict=True)
            ]
            return RenderedPage(tuple(files), documents[0].errors, costs, staged_paths)

        return wait

    def _sink(self, store: Store, staged_path: str, known_digest: str | None, *, is_linked: bool) -> Sink:
        stream = compressor(conf.gzip_level, linked=is_linked) if staged_path.endswith(".gz") else None
        opener = None if self.stage is None else partial(store.staged, staged_path)
        return Sink(opener, stream, known_digest)


class Engine(Protocol):
    """Engine that renders pages outside of this process, created with the number of workers.

    It is entered as a context manager before the first page. The optional attribute `default_workers` is
    the default number of workers. The optional static method `check` is called by system checks. It returns
    a warning or `None`, and raises `ImproperlyConfigured` if the engine cannot be used. The optional
    attribute `failures` lists messages, which are added to the report after the last page.
    """

    workers: int

    def __enter__(self) -> Engine: ...

    def __exit__(self, *error: object) -> None: ...

    def submit(self, renderer: Renderer, task: Task) -> Callable[[], RenderedPage]:
        """Submit a page, and return a function that waits for the result and raises errors.

        Workers call `render_page(renderer, task, check=check_declaration)`. This call finds the section by
        name, and raises `ExportError` if the worker's declaration differs.
        """


def check_declaration(source: Source, task: Task) -> None:
    """Raise `ExportError` if the declaration in this process differs from the command's."""
    if source.declaration_digest != task.declaration_digest:
        raise ExportError(
            incompatibility(f"section {task.section!r}", " in its query, settings, code or URLs")
        )


def incompatibility(what: str, where: str = "") -> str:
    """Return the message for a worker that is incompatible because its `what` differs."""
    return (
        f"the worker is incompatible: its {what} differs from the command's{where}. Run the same version "
        "for the command and its workers"
    )


def render_page(
    renderer: Renderer, task: Task, *, check: Callable[[Source, Task], None] = lambda source, task: None
) -> RenderedPage:
    """Render one page of a section that is found by its name in the setting or the registry.

    `check` is called first, and raises an exception if this process must not render the page.
    """

    def render() -> RenderedPage:
        all_sections = sections.native_mapping()
        sections.check_known([task.section], all_sections)
        section = all_sections[task.section]
        source = sources.source(task.section, section, renderer.bases, conf.limits, task.using)
        check(source, task)
        host_stores = [stores.target_store(target.output, target.folder) for target in renderer.targets]
        return renderer.render(source, task, host_stores)()

    try:
        with surroundings(renderer.script_prefix, renderer.urlconf):
            return retry(render, task.label)
    except EXPECTED:
        raise
    except Exception as error:
        # Not every exception can be pickled for the other process.
        logger.exception("%s could not be rendered", task.label)
        raise ExportError(reason_of(error)) from None
