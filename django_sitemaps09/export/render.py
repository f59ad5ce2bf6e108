"""One page rendered to a staged file, in this process or in another one."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from django.core.exceptions import ImproperlyConfigured
from django.db import InterfaceError, OperationalError, close_old_connections
from django.urls import get_script_prefix, get_urlconf, set_script_prefix, set_urlconf

from django_sitemaps09 import sections, sources, stores, writer
from django_sitemaps09.compression import compressor
from django_sitemaps09.conf import conf, site_locale
from django_sitemaps09.entries import ItemError
from django_sitemaps09.exceptions import ExportError, SitemapError
from django_sitemaps09.export.files import Sink, sink, staged_file
from django_sitemaps09.export.published import page_name
from django_sitemaps09.export.report import PageFile
from django_sitemaps09.manifest import Suffix
from django_sitemaps09.pages import Fingerprint, Key, Page
from django_sitemaps09.protocol import Base
from django_sitemaps09.sources import Source
from django_sitemaps09.sources.costs import Costs, recorded
from django_sitemaps09.stores import Store
from django_sitemaps09.writer import Out, Written

logger = logging.getLogger(__name__)

WorkT = TypeVar("WorkT")

#: What says all in its message; anything else may be a mistake in a project, which a traceback shows.
EXPECTED = (SitemapError, ImproperlyConfigured, OperationalError, InterfaceError, OSError)


class Target(NamedTuple):
    """Where the files of one host go: to a `folder` of the target, or to all of it if that is empty.

    `output` tells the target with the settings; `stage` is for what is not published yet, `None` in a dry
    run.
    """

    base: Base
    output: Path | None
    stage: str | None
    folder: str = ""

    def store(self) -> Store:
        return stores.target(self.output, self.folder)


class Task(NamedTuple):
    """A page to be rendered; `known` are the digests of the files that are published under its name.

    `fingerprint` says that the fingerprint of its rows is wanted, which is read before they are.
    `declared` is the digest of the declaration, `prefix` what stands before the name in the staging folder.
    """

    section: str
    page: Page
    known: tuple[str | None, ...] = ()
    fingerprint: bool = False
    declared: str = ""
    prefix: str = ""

    @property
    def label(self) -> str:
        return f"Section {self.section!r}, page {self.page.number}"


class Rendered(NamedTuple):
    """A page, what was left out of it, and what it cost.

    `files` has the same range for each host, `staged` the paths of their new files.
    """

    files: tuple[PageFile, ...]
    errors: tuple[ItemError, ...]
    costs: Costs
    staged: tuple[str, ...]

    @property
    def file(self) -> PageFile:
        """That of the first host; ranges, cuts and URLs are those of all."""
        return self.files[0]

    @property
    def cut(self) -> Key | None:
        return self.file.cut


@dataclass(frozen=True, slots=True)
class Renderer:
    """How pages of this run are rendered: the same rows for all hosts.

    It can be pickled: targets are found again by the settings.
    """

    targets: tuple[Target, ...]
    gzip: bool
    script_prefix: str
    urlconf: Any

    @property
    def bases(self) -> tuple[Base, ...]:
        return tuple(target.base for target in self.targets)

    @property
    def stage(self) -> str | None:
        """Of the first host."""
        return self.targets[0].stage

    def suffix(self, source: Source) -> Suffix:
        """What the names of a source's files end with: those of URLs alone are not compressed."""
        if source.format == "text":
            return "txt"
        return "xml.gz" if self.gzip else "xml"

    def page(
        self, source: Source, task: Task, stores: Sequence[Store] | None = None
    ) -> Callable[[], Rendered]:
        """One page to its staged files; what is given back waits until these are on disk."""
        found = stores or [target.store() for target in self.targets]
        return twice(partial(self._page_once, source, task, found), task.label)

    def _page_once(self, source: Source, task: Task, stores: Sequence[Store]) -> Callable[[], Rendered]:
        page = task.page
        file_name = page_name(task.section, page.number, self.suffix(source))
        staged = tuple(f"{target.stage}/{task.prefix}{file_name}" for target in self.targets)
        # Before the rows, never after: what changes in between is then seen by the next run.
        fingerprint = source.fingerprint(page.after, page.until) if task.fingerprint else None
        with recorded() as costs, closing(source.batches(page)) as batches, ExitStack() as opened:
            sinks = [
                opened.enter_context(self._sink(*where, file_name, linked="xhtml" in source.namespaces))
                for where in zip(stores, staged, task.known or [None] * len(stores), strict=True)
            ]
            written = writer.write_documents(
                writer.FORMATS[source.format],
                batches,
                [Out(out.write, str(base)) for out, base in zip(sinks, source.bases, strict=True)],
                sources.page_limits(source, conf.limits),
                source.namespaces,
            )
            ended = [out.end() for out in sinks]

        def rendered() -> Rendered:
            digests = [end() for end in ended]
            files = [
                _page_file(source, page, file_name, done, out, digest, fingerprint)
                for done, out, digest in zip(written, sinks, digests, strict=True)
            ]
            return Rendered(tuple(files), written[0].errors, costs, staged)

        return rendered

    def _sink(
        self, store: Store, staged: str, known: str | None, file_name: str, *, linked: bool
    ) -> AbstractContextManager[Sink]:
        stream = compressor(conf.gzip_level, linked=linked) if file_name.endswith(".gz") else None
        place = None if self.stage is None else partial(staged_file, store, staged)
        return sink(place, stream, known)


def _page_file(
    source: Source,
    page: Page,
    name: str,
    written: Written,
    out: Sink,
    digest: str,
    fingerprint: Fingerprint | None,
) -> PageFile:
    cut = None if written.cut is None else source.key_text(written.cut)
    return PageFile(
        name=name,
        after=page.after,
        until=page.until if cut is None else cut,
        urls=written.urls,
        bytes=written.bytes,
        size=out.size,
        lastmod=written.lastmod,
        digest=digest,
        cut=cut,
        middle=None if written.middle is None else source.key_text(written.middle),
        unchanged=out.unchanged,
        fingerprint=fingerprint if cut is None else None,
    )


def same_declaration(source: Source, task: Task) -> None:
    """`ExportError` where this process would not render what was asked for."""
    if source.declared != task.declared:
        raise ExportError(
            f"it is incompatible, with another section {task.section!r}, in its query, its settings, its "
            "code or its URLs than the command has: bring both to the same one"
        )


def render_page(
    renderer: Renderer, task: Task, *, check: Callable[[Source, Task], None] = lambda source, task: None
) -> Rendered:
    """One page in a process of its own, where the section is found by its name.

    `check` is asked before, and raises where this process is not to render it.
    """

    def rendered() -> Rendered:
        source = _found_again(renderer, task.section)
        check(source, task)
        return renderer._page_once(source, task, [target.store() for target in renderer.targets])()

    try:
        with _surroundings(renderer):
            return twice(rendered, task.label)
    except EXPECTED:
        raise
    except Exception as error:
        # Not every exception survives the way to another process; its text does.
        logger.exception("%s could not be rendered", task.label)
        raise ExportError(f"{type(error).__name__}: {error}") from None


@contextmanager
def _surroundings(renderer: Renderer) -> Iterator[None]:
    """All that a process knows of where the export was begun; it may have other things to do after."""
    before = get_script_prefix(), get_urlconf()
    set_script_prefix(renderer.script_prefix)
    set_urlconf(renderer.urlconf)
    try:
        with site_locale():
            yield
    finally:
        set_script_prefix(before[0])
        set_urlconf(before[1])


def _found_again(renderer: Renderer, section: str) -> Source:
    """The source of a section that is found by the setting or the registry."""
    known = sections.named()
    if section not in known:
        raise sections.unknown(section, known)
    return sources.source(section, known[section], renderer.bases, conf.limits)


def twice(work: Callable[[], WorkT], what: str) -> WorkT:
    """What `work` gives, tried again once where the database was gone."""
    try:
        return work()
    except (OperationalError, InterfaceError) as error:
        logger.warning("%s: the database failed, trying again: %s", what, error)
        close_old_connections()
        return work()
