"""What is published, as views see it: its files, if `SERVE_EXPORTED` is set, and the bounds of its pages.

Both are looked up every ten seconds, and ignored while they cannot be read.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Hashable, Mapping, Sequence
from itertools import chain
from typing import Any, NamedTuple
from urllib.parse import unquote, urlsplit

from django.core.cache.backends.locmem import LocMemCache
from django.core.handlers.wsgi import WSGIRequest
from django.http import FileResponse, HttpRequest, HttpResponse, HttpResponseBase, HttpResponseRedirect

from django_sitemaps09.conf import conf
from django_sitemaps09.declare import sections
from django_sitemaps09.declare.hosts import current_base, plain_host
from django_sitemaps09.exceptions import ExportError
from django_sitemaps09.protocol.filenames import FEED, INDEX, content_type, parse_page_name
from django_sitemaps09.protocol.limits import MAX_BYTES
from django_sitemaps09.protocol.pages import Key, Page
from django_sitemaps09.protocol.urls import Base, origin
from django_sitemaps09.rows.declaration_digests import digest_of
from django_sitemaps09.rows.queryset import QuerySource
from django_sitemaps09.target import published
from django_sitemaps09.target.local import LocalStore
from django_sitemaps09.target.published import PublishedExport, PublishedSection
from django_sitemaps09.target.store import Store
from django_sitemaps09.views import responses
from django_sitemaps09.views.caching import BusyError
from django_sitemaps09.views.responses import GzipFile, GzipFileResponse, Sitemaps, Stopwatch

logger = logging.getLogger(__name__)

# Seconds until a new export is detected, unless one of its new pages is requested earlier.
_SECONDS = 10
_UNREADABLE = (
    "Section %r: pages are listed by their ranges of keys, because the export cannot be read: %.200s"
)
# Exports by host, in the memory of each process: sending them through a cache would take longer.
_exports = LocMemCache("django_sitemaps09:exports", {"TIMEOUT": _SECONDS, "MAX_ENTRIES": 1_000})
# Where sections were published when that could be read last, by host; the pages of files; and how many.
_sections: dict[str, PublishedSection | None] = {}
_pages: dict[Hashable, PublishedPages] = {}
_MAX_KEPT = 200


class GzipFileStream(GzipFile, FileResponse):
    """A gzip file that the server streams from the disk."""


def respond(request: HttpRequest, name: str, sitemaps: Sitemaps) -> HttpResponseBase | None:
    """Return an exported file, or a redirect to it. Return `None` if the view must respond with live data.

    Live data are needed if there is no export for the host of the request, if the export does not have the
    file, if its files are served at other paths of the host, or if the view serves other sections.
    """
    if not (_serves(sitemaps) or (name == FEED and conf.has_target)):
        return None
    stopwatch, base = Stopwatch(f"File {name!r}"), current_base(request)
    export = current_export(base)
    if export is None:
        return None
    try:
        response = _response(request, base, export, name, sitemaps)
    except (ExportError, OSError) as error:
        if isinstance(export.folder.store, LocalStore):
            _log_unreadable(name, error)
        else:
            _log_unreadable(str(base), error)
            # Without this pause, a storage that does not respond would slow down every request.
            _exports.set(digest_of(base.domain), None)
        return None
    if response is not None:
        stopwatch.log_status(response, "file")
    return response


def index_names(request: HttpRequest, base: Base, path: str, sitemaps: Sitemaps) -> Sequence[str]:
    """Return the file names of the exported indexes, unless the index at `path` is live."""
    export = current_export(base) if _serves(sitemaps) else None
    if export is None or _file_url(request, base, export, INDEX, path) is None:
        return ()
    return export.root.indexes


def current_export(base: Base) -> PublishedExport | None:
    """Return the export with the files of a host, at most ten seconds old."""

    def find() -> PublishedExport | None:
        try:
            return published.find_files(base)
        except (ExportError, OSError) as error:
            _log_unreadable(str(base), error)
            return None

    export: PublishedExport | None = _exports.get_or_set(digest_of(base.domain), find)
    return export


def _serves(sitemaps: Sitemaps) -> bool:
    if not conf.serve_exported or not conf.has_target:
        return False
    # An export without arguments exports these sections.
    return sitemaps is None or (conf.sitemaps is not None and sitemaps is sections.mapping())


def _response(
    request: HttpRequest, base: Base, export: PublishedExport, name: str, sitemaps: Sitemaps
) -> HttpResponseBase | None:
    page = parse_page_name(name)
    # An index lists the pages of a new section before the manifest does.
    is_declared = page is not None and page.section in sections.native_mapping(sitemaps)
    if name in export.root.moved or not (is_declared or export.lists(name)):
        return None
    store, url = export.folder.store, _file_url(request, base, export, name, request.path)
    if url is None:
        return None
    if _is_elsewhere(request, base, url):
        if (file := store.open(name)) is None:
            return None
        file.close()
        response = HttpResponseRedirect(url)
        responses.set_cache_control(response)
        return response
    # A run writes a new manifest file for each section that it changes, so its name is a version.
    version = export.root.files.get(page.section, "") if page is not None else ""
    return _file_response(request, store, name, version or export.root.run)


def _file_url(
    request: HttpRequest, base: Base, export: PublishedExport, name: str, path: str
) -> str | None:
    """Return the URL of an exported file if it is on another host or has this path."""
    files_url = export.url([base.domain, request.get_host()])
    if files_url is None:
        label = export.folder.store.label
        _log_unreadable("url", ExportError(f"{label}: the manifest has a URL on another host"))
        return None
    url = f"{files_url}{name}"
    return url if _is_elsewhere(request, base, url) or unquote(urlsplit(url).path) == path else None


def _is_elsewhere(request: HttpRequest, base: Base, url: str) -> bool:
    """Return whether a file is on another host. A proxy can change the scheme."""
    return plain_host(origin(url).domain) not in map(plain_host, (base.domain, request.get_host()))


def _file_response(request: HttpRequest, store: Store, name: str, version: str) -> HttpResponseBase | None:
    """Return a response with a file. Under WSGI, it streams a local file, so servers can use `sendfile()`.

    ASGI servers get the content at once, since Django would also read the whole file, and warn about it. An
    export replaces files before the manifest, so the ETag is that of the opened file, and of a value from
    the manifest that changes with it: a deployment can set the times of all files to the same value.
    """
    is_gzip = name.endswith(".gz")
    response: HttpResponseBase
    if isinstance(store, LocalStore) and isinstance(request, WSGIRequest):
        if (file := store.open(name)) is None:
            return None
        response = (GzipFileStream if is_gzip else FileResponse)(file, content_type=content_type(name))
        # An export never changes a file, it only replaces it.
        status = os.fstat(file.fileno())
        etag = f'W/"{digest_of((version, status.st_mtime_ns, status.st_size))[:32]}"'
        answer = responses.conditional(request, response, etag)
        if answer is not response:
            file.close()
        return answer
    if (content := store.read(name, MAX_BYTES)) is None:
        return None
    response = (GzipFileResponse if is_gzip else HttpResponse)(content, content_type=content_type(name))
    return responses.conditional(request, response, responses.content_etag(content))


def _log_unreadable(name: str, error: Exception) -> None:
    if _exports.add(digest_of(("unreadable", name)), ()):
        logger.warning("Live pages are served, because an exported file cannot be read: %.200s", error)


class PublishedPages(NamedTuple):
    """The published pages of a section as ranges of its current key; none if it has another key by now.

    `export` changes with them. `listed` has the numbers that an index can name, `answered` the pages by
    number, and `removed` those that no index lists any more.
    """

    export: str
    pages: tuple[Page, ...]
    listed: Mapping[tuple[Key | None, Key | None], int]
    answered: Mapping[int, Page]
    removed: Mapping[int, Page]

    def find(self, number: int) -> Page | None:
        return self.answered.get(number) or self.removed.get(number)


#: There is no export of a section.
NO_PAGES = PublishedPages("", (), {}, {}, {})


def published_pages(source: QuerySource, *, again: bool = False) -> PublishedPages | None:
    """Return the published pages of a section, at most ten seconds old; `None` if they were never readable.

    With `again`, they are at most a second old, and `BusyError` is raised while they cannot be read.
    """
    if not conf.has_target:
        return NO_PAGES
    section, base = source.section, source.declared.base
    name = digest_of((section, base.domain, source.members.key.stored_names))
    is_just_read, has_failed = f"{name}:read", _exports.get(name)
    is_too_old = again and _exports.get(is_just_read) is None
    # After a failure, a storage that does not respond must not slow down every request.
    if has_failed is None or is_too_old or (name not in _sections and not has_failed):
        try:
            _keep(_sections, name, published.find_section(section, base))
            _read_pages(source, _sections[name])
            has_failed = False
        except (ExportError, OSError) as error:
            # Perhaps this user cannot read the state folder, or a run has just replaced the files there.
            logger.warning(_UNREADABLE, section, error)
            has_failed = True
        _exports.set(name, has_failed)
        _exports.set(is_just_read, True, 1)
    if again and has_failed:
        raise BusyError(f"the published pages of section {section!r}")
    try:
        return _read_pages(source, _sections[name])
    except (ExportError, KeyError, OSError):
        return None


def _read_pages(source: QuerySource, section: PublishedSection | None) -> PublishedPages:
    """Return the pages of a published section, whose file never changes, so it is read once."""
    if section is None:
        return NO_PAGES
    export = f"{section.folder}/{section.file}"
    name = (section.section, export, source.members.key.stored_names)
    known = _pages.get(name)
    if known is None:
        # The former pages are in the backup of the manifest.
        records = section.records(source.key_identity, source.in_order)
        pages, *others = [tuple(page.page for page in record.pages) for record in records] or [()]
        former = {page.number: page for page in chain(*others)}
        # A process that does not know the new manifest yet answers with the range of the former one, so a
        # page that has grown is listed by its range until both agree. An export shrinks the open end. If
        # that was the only page, an index has named it by its number.
        listed = {
            (page.after, page.until): page.number
            for page in pages
            if former.get(page.number, page) == page and (page.until is not None or len(pages) == 1)
        }
        whole = {number: page for number, page in former.items() if page[1:] == (None, None)}
        answered = {**{page.number: page for page in pages}, **whole}
        known = PublishedPages(export, pages, listed, answered, {})
        _keep(_pages, name, known)
    removed = {number: Page(number, *bounds) for number, bounds in section.removed.items()}
    return known._replace(removed=removed)


def _keep(kept: dict[Any, Any], name: object, value: object) -> None:
    """Keep a value, in the place of the oldest one of many: clients can choose hosts."""
    if len(kept) >= _MAX_KEPT and name not in kept:
        kept.pop(next(iter(kept)), None)
    kept[name] = value
