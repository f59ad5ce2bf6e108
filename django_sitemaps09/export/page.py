"""Render one page to a staged file, in this process or in another one.

The file is hashed while rows are read, then compressed and staged if it differs from the published one.
"""

from __future__ import annotations

import logging
import os
from collections import deque
from collections.abc import Callable, Generator
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryFile, gettempdir
from typing import Any, BinaryIO, NamedTuple

from django.core.exceptions import ImproperlyConfigured
from django.db import InterfaceError, OperationalError

from django_sitemaps09.conf import conf, surroundings
from django_sitemaps09.declare import sections
from django_sitemaps09.declare.calls import Costs, record_costs
from django_sitemaps09.exceptions import ExportError, SitemapError
from django_sitemaps09.orm.reading import retry
from django_sitemaps09.protocol.compression import Compressor, compressor
from django_sitemaps09.protocol.documents import write_document
from django_sitemaps09.protocol.entries import ItemError
from django_sitemaps09.protocol.fields import reason_of
from django_sitemaps09.protocol.filenames import Suffix, page_name
from django_sitemaps09.protocol.pages import Key, Page
from django_sitemaps09.protocol.urls import Base
from django_sitemaps09.protocol.urlset import page_format
from django_sitemaps09.rows.compile import compile_source
from django_sitemaps09.rows.queryset import read_page
from django_sitemaps09.rows.source_base import Source, page_limits
from django_sitemaps09.target.local import name_errors
from django_sitemaps09.target.manifest import PageFile
from django_sitemaps09.target.store import Store, target_store

logger = logging.getLogger(__name__)

#: Exceptions that are logged without a traceback. Other exceptions can be mistakes in a project.
EXPECTED = (SitemapError, ImproperlyConfigured, OperationalError, InterfaceError, OSError)

# Bytes in a chunk for a file's threads, and the maximum number of chunks that wait for them.
_CHUNK = 1_000_000
_WAITING = 2

#: Opens a new file. The file is complete and on disk when the context ends without an error.
Open = Callable[[], AbstractContextManager[BinaryIO]]


class Task(NamedTuple):
    """Page to render.

    `known` is the digest of the published file. `fingerprint` requests the fingerprint of the page's rows.
    `prefix` precedes the file name in the staging folder. The command reads the database `using`.
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
    page that was not rendered: it is unchanged or, in a repair, undamaged. `worker` is the host and process
    of a worker, and empty for the process of the export.
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
    """Renderer for the pages of one run. It can be pickled, because it opens stores through the settings.

    `output` and `folder` determine where files are published, with the settings. `stage` is the folder of
    files that are not published yet, `None` in a dry run.
    """

    base: Base
    output: Path | None
    folder: str
    stage: str | None
    gzip: bool
    script_prefix: str
    urlconf: Any

    def suffix(self, source: Source) -> Suffix:
        # Text files are never compressed.
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
        page, name = task.page, page_name(task.section, task.page.number, self.suffix(source))
        staged = f"{self.stage}/{task.prefix}{name}"
        declared, limits = source.declared, page_limits(source, conf.limits)

        def write(data: bytes) -> None:
            between()
            sink.write(data)

        with (
            record_costs() as costs,
            read_page(source, page, needs_fingerprint=task.fingerprint) as rows,
            self._sink(source, task, staged, store, before_staging) as sink,
        ):
            kind, base = page_format(declared.format, styled=conf.stylesheet), str(declared.base)
            written = write_document(kind, rows.batches, write, base, limits, declared.namespaces)
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

    def _sink(
        self, source: Source, task: Task, staged: str, store: Store, before_staging: Callable[[], None]
    ) -> Sink:
        is_linked = "xhtml" in source.declared.namespaces
        is_compressed = self.suffix(source) == "xml.gz"
        stream = compressor(conf.gzip_level, linked=is_linked) if is_compressed else None

        @contextmanager
        def opener() -> Generator[BinaryIO]:
            before_staging()
            with store.staged(staged) as file:
                yield file
                before_staging()

        return Sink(None if self.stage is None else opener, stream, task.known)


class Sink:
    """Output file that counts, hashes and compresses bytes, and writes them with an `opener`, if any.

    Hashing and compressing have one thread each. They release the GIL, so rows are read meanwhile. Only a
    few chunks wait for these threads. The next `write()`, or waiting for the end, raises their errors. With
    the digest of the published file, bytes wait in a temporary file until it is known whether they differ.
    """

    def __init__(
        self, opener: Open | None, stream: Compressor | None, known_digest: str | None = None
    ) -> None:
        self.size = 0
        self.unchanged = False
        self._digest = sha256()
        self._stream = stream
        # A dry run keeps nothing.
        self._opener: Open = opener or (lambda: Path(os.devnull).open("wb"))  # noqa: SIM115
        self._known_digest = known_digest
        self._stack = ExitStack()
        first_opener: Open = self._opener if known_digest is None else TemporaryFile
        self._file = self._stack.enter_context(first_opener())
        self._thread = ThreadPoolExecutor(1, "sitemap-file")
        # Hashing takes half as long as compressing where entries have many links.
        self._hashing = ThreadPoolExecutor(1, "sitemap-digest")
        self._buffer: list[bytes] = []
        self._futures: deque[Future[None]] = deque()

    def write(self, data: bytes) -> None:
        self._buffer.append(data)
        # Only one thread at a time holds the GIL, and each switch takes time, so hand over long chunks.
        if sum(map(len, self._buffer)) >= _CHUNK:
            self._hand_over()

    def _hand_over(self) -> None:
        data, self._buffer = b"".join(self._buffer), []
        self._futures.append(self._hashing.submit(self._digest.update, data))
        receive = self._compress if self._known_digest is None else self._save
        self._futures.append(self._thread.submit(receive, data))
        while len(self._futures) > 2 * _WAITING:
            self._futures.popleft().result()

    def _compress(self, data: bytes) -> None:
        self._save(data if self._stream is None else self._stream.compress(data))

    def _save(self, data: bytes) -> None:
        self.size += len(data)
        # A temporary file has no name, so errors name its folder.
        name = getattr(self._file, "name", None)
        with name_errors(name if isinstance(name, (str, Path)) else gettempdir()):
            self._file.write(data)

    def end(self) -> Callable[[], str]:
        """End the file, and return a function that waits until it is on disk, and returns its digest."""
        if self._buffer:
            self._hand_over()
        self._futures.append(self._thread.submit(self._finish))

        def wait() -> str:
            self._thread.shutdown()
            self._hashing.shutdown()
            for future in self._futures:
                future.result()
            return self._digest.hexdigest()

        return wait

    def _finish(self) -> None:
        with self._stack:
            if self._known_digest is not None:
                # All chunks were submitted for hashing before this task.
                self._hashing.shutdown()
                self.size = 0
                self.unchanged = self._digest.hexdigest() == self._known_digest
                if self.unchanged:
                    return
                temporary_file = self._file
                temporary_file.seek(0)
                self._file = self._stack.enter_context(self._opener())
                for data in iter(partial(temporary_file.read, _CHUNK), b""):
                    self._compress(data)
            if self._stream is not None:
                self._save(self._stream.flush())

    def __enter__(self) -> Sink:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        """Discard the file if the block failed. Otherwise, it must have called `end()`."""
        if kind is not None:
            self._thread.shutdown(cancel_futures=True)
            self._hashing.shutdown(cancel_futures=True)
            # The error of the block is not one of the file, which would be named after it.
            with suppress(CancelledError), self._stack:
                raise CancelledError


def mismatch(what: str, where: str = "") -> str:
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
        mapping = sections.native_mapping()
        sections.check_known([task.section], mapping)
        source = compile_source(task.section, mapping[task.section], renderer.base, conf.limits, task.using)
        if source.declaration_digest != task.declaration_digest:
            where = " in its query, settings, code or URLs"
            raise ExportError(mismatch(f"section {task.section!r}", where))
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
