"""Render one page to a staged file, in this process or in another one."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from django.core.exceptions import ImproperlyConfigured
from django.db import InterfaceError, OperationalError
from django.urls import get_script_prefix, get_urlconf, set_script_prefix, set_urlconf

from django_sitemaps09 import sections, sources, stores, writer
from django_sitemaps09.compression import compressor
from django_sitemaps09.conf import conf, site_locale
from django_sitemaps09.entries import ItemError, reason_of
from django_sitemaps09.exceptions import ExportError, SitemapError
from django_sitemaps09.export.rendering.retry import retry
from django_sitemaps09.export.rendering.sink import Sink, open_sink
from django_sitemaps09.export.report import PageFile
from django_sitemaps09.filenames import Suffix, page_name
from django_sitemaps09.pages import Fingerprint, Key, Page
from django_sitemaps09.protocol import Base
from django_sitemaps09.sources import Source
from django_sitemaps09.sources.profiling import Costs, record_costs
from django_sitemaps09.stores import Store
from django_sitemaps09.writer import Destination, WriteResult

logger = logging.getLogger(__name__)

#: Exceptions whose message says everything. Others may be mistakes in a project, so their traceback is
#: logged.
EXPECTED = (SitemapError, ImproperlyConfigured, OperationalError, InterfaceError, OSError)


class HostTarget(NamedTuple):
    """Publish target of one host: a `folder` of it, or all of it if `folder` is empty.

    `output` and the settings determine the target. `stage` is the folder of files that are not published
    yet, `None` in a dry run.
    """

    base: Base
    output: Path | None
    stage: str | None
    folder: str = ""

    def store(self) -> Store:
        return stores.target(self.output, self.folder)


class Task(NamedTuple):
    """Page to render; `known` are the digests of the files that are published under its name.

    `fingerprint` requests the fingerprint of the page's rows, which is read before them. `prefix` precedes
    the file name in the staging folder. `using` is the alias of the database that the command reads.
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


class Rendered(NamedTuple):
    """Rendered page: its files, what was skipped, and what it cost.

    `files` has one file with the same range for each host, `staged` the paths of the new files.
    """

    files: tuple[PageFile, ...]
    errors: tuple[ItemError, ...]
    costs: Costs
    staged: tuple[str, ...]

    @property
    def file(self) -> PageFile:
        """File of the first host; ranges, cuts and URL counts are the same for all hosts."""
        return self.files[0]

    @property
    def cut(self) -> Key | None:
        return self.file.cut


@dataclass(frozen=True, slots=True)
class Renderer:
    """Renders the pages of one run, with the same rows for all hosts.

    It can be pickled, since stores are opened again through the settings.
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
        """Staging folder of the first host."""
        return self.targets[0].stage

    def suffix(self, source: Source) -> Suffix:
        """Return the suffix of a source's file names; text files are never compressed."""
        if source.format == "text":
            return "txt"
        return "xml.gz" if self.gzip else "xml"

    def render(
        self, source: Source, task: Task, host_stores: Sequence[Store] | None = None
    ) -> Callable[[], Rendered]:
        """Render one page to its staged files, and return a function that waits until they are on disk."""
        opened_stores = host_stores or [target.store() for target in self.targets]
        return retry(partial(self.render_once, source, task, opened_stores), task.label)

    def render_once(
        self, source: Source, task: Task, host_stores: Sequence[Store]
    ) -> Callable[[], Rendered]:
        """Render one page as `render` does, without a second attempt."""
        page = task.page
        file_name = page_name(task.section, page.number, self.suffix(source))
        staged_paths = tuple(f"{target.stage}/{task.prefix}{file_name}" for target in self.targets)
        # Read before the rows, never after them, so that the next run sees changes made in between.
        fingerprint = source.fingerprint(page.after, page.until) if task.fingerprint else None
        with record_costs() as costs, closing(source.batches(page)) as batches, ExitStack() as stack:
            sinks = [
                stack.enter_context(
                    self._sink(*sink_arguments, file_name, linked="xhtml" in source.namespaces)
                )
                for sink_arguments in zip(
                    host_stores, staged_paths, task.known or [None] * len(host_stores), strict=True
                )
            ]
            documents = writer.write_documents(
                writer.FORMATS[source.format],
                batches,
                [
                    Destination(sink.write, str(base))
                    for sink, base in zip(sinks, source.bases, strict=True)
                ],
                sources.page_limits(source, conf.limits),
                source.namespaces,
            )
            waits = [sink.end() for sink in sinks]

        def wait() -> Rendered:
            digests = [wait_for_sink() for wait_for_sink in waits]
            files = [
                _page_file(source, page, file_name, document, sink, digest, fingerprint)
                for document, sink, digest in zip(documents, sinks, digests, strict=True)
            ]
            return Rendered(tuple(files), documents[0].errors, costs, staged_paths)

        return wait

    def _sink(
        self, store: Store, staged_path: str, known_digest: str | None, file_name: str, *, linked: bool
    ) -> AbstractContextManager[Sink]:
        stream = compressor(conf.gzip_level, linked=linked) if file_name.endswith(".gz") else None
        opener = None if self.stage is None else partial(store.staged, staged_path)
        return open_sink(opener, stream, known_digest)


def _page_file(
    source: Source,
    page: Page,
    name: str,
    document: WriteResult,
    sink: Sink,
    digest: str,
    fingerprint: Fingerprint | None,
) -> PageFile:
    cut = None if document.cut is None else source.key_text(document.cut)
    return PageFile(
        name=name,
        after=page.after,
        until=page.until if cut is None else cut,
        urls=document.urls,
        bytes=document.bytes,
        size=sink.size,
        lastmod=document.lastmod,
        digest=digest,
        cut=cut,
        middle=None if document.middle is None else source.key_text(document.middle),
        unchanged=sink.unchanged,
        fingerprint=fingerprint if cut is None else None,
    )


def check_declaration(source: Source, task: Task) -> None:
    """Raise `ExportError` if this process would not render what was requested."""
    if source.declaration_digest != task.declaration_digest:
        raise ExportError(
            incompatibility(f"section {task.section!r}", " in its query, settings, code or URLs")
        )


def incompatibility(what: str, where: str = "") -> str:
    """Return why a worker must not render a page."""
    return (
        f"it is incompatible: the worker's {what} differs from the command's{where}; deploy the same "
        "version to both"
    )


def render_page(
    renderer: Renderer, task: Task, *, check: Callable[[Source, Task], None] = lambda source, task: None
) -> Rendered:
    """Render one page where the section is found by its name, as in another process.

    `check` is called first, and raises if this process must not render the page.
    """

    def render() -> Rendered:
        source = _find_source(renderer, task)
        check(source, task)
        return renderer.render_once(source, task, [target.store() for target in renderer.targets])()

    try:
        with _surroundings(renderer):
            return retry(render, task.label)
    except EXPECTED:
        raise
    except Exception as error:
        # Not every exception survives the transfer to another process; its text does.
        logger.exception("%s could not be rendered", task.label)
        raise ExportError(reason_of(error)) from None


@contextmanager
def _surroundings(renderer: Renderer) -> Iterator[None]:
    """Use the script prefix, URLconf and locale of the export, and restore the previous ones afterwards."""
    previous = get_script_prefix(), get_urlconf()
    set_script_prefix(renderer.script_prefix)
    set_urlconf(renderer.urlconf)
    try:
        with site_locale():
            yield
    finally:
        set_script_prefix(previous[0])
        set_urlconf(previous[1])


def _find_source(renderer: Renderer, task: Task) -> Source:
    """Return the source of a section that is found by its name, in the setting or the registry."""
    all_sections = sections.native_mapping()
    if task.section not in all_sections:
        raise sections.unknown_section(task.section, all_sections)
    return sources.source(task.section, all_sections[task.section], renderer.bases, conf.limits, task.using)
