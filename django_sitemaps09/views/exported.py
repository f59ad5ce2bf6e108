"""What is published, as views see it: its files, if `SERVE_EXPORTED` is set, and the bounds of its pages.

Both are looked up every ten seconds, and ignored while they cannot be read. An ETag is derived from the
opened file, since an export replaces files before it replaces the manifest. It also depends on a value from
the manifest that changes with the file, because a deployment can set the times of all files to the same
value.
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Sequence
from urllib.parse import unquote, urlsplit

from django.core.cache.backends.locmem import LocMemCache
from django.core.handlers.wsgi import WSGIRequest
from django.http import FileResponse, HttpRequest, HttpResponse, HttpResponseBase, HttpResponseRedirect

from django_sitemaps09 import protocol, published, sections, sources
from django_sitemaps09.conf import conf
from django_sitemaps09.exceptions import ExportError
from django_sitemaps09.filenames import INDEX, content_type, parse_page_name
from django_sitemaps09.protocol import Base
from django_sitemaps09.published import PublishedExport, PublishedSection
from django_sitemaps09.sources import QuerySource
from django_sitemaps09.state.manifest import SectionRecord
from django_sitemaps09.stores import LocalStore, Store
from django_sitemaps09.views import caching, responses
from django_sitemaps09.views.responses import GzipFile, GzipFileResponse, Sitemaps, Stopwatch, current_base

logger = logging.getLogger(__name__)

# Seconds until a new export is detected, unless one of its new pages is requested earlier.
_SECONDS = 10
# Seconds for which the folder of a host is known. Each time it is read, this time begins again.
_FOLDER_SECONDS = 30 * 86_400
_UNREADABLE = "django_sitemaps09:unreadable"
# Exports by host, in the memory of each process: sending them through a cache would take longer.
_exports = LocMemCache("django_sitemaps09:exports", {"TIMEOUT": _SECONDS, "MAX_ENTRIES": 1_000})


class GzipFileStream(GzipFile, FileResponse):
    """A gzip file that the server streams from the disk."""


def respond(request: HttpRequest, name: str, sitemaps: Sitemaps) -> HttpResponseBase | None:
    """Return an exported file, or a redirect to it. Return `None` if the view must respond with live data.

    Live data are needed if there is no export for the host of the request, if the export does not have the
    file, if its files are served at other paths of the host, or if the view serves other sections.
    """
    if not _serves(sitemaps):
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
            _exports.set(sources.digest(base.domain), None)
        return None
    if response is not None:
        stopwatch.log_status(response, "file")
    return response


def index_names(request: HttpRequest, base: Base, path: str, sitemaps: Sitemaps) -> Sequence[str]:
    """Return the file names of the exported indexes; an empty sequence if the index at `path` is live."""
    export = current_export(base) if _serves(sitemaps) else None
    if export is None or _file_url(request, base, export, INDEX, path) is None:
        return ()
    return export.root.indexes


def current_export(base: Base) -> PublishedExport | None:
    """Return the export with the files of a host. It is at most ten seconds old; `None` is cached, too."""

    def find() -> PublishedExport | None:
        try:
            return published.find_files(base)
        except (ExportError, OSError) as error:
            _log_unreadable(str(base), error)
            return None

    export: PublishedExport | None = _exports.get_or_set(sources.digest(base.domain), find)
    return export


def _serves(sitemaps: Sitemaps) -> bool:
    if not conf.serve_exported or not published.is_configured():
        return False
    # An export without arguments exports these sections.
    return sitemaps is None or (conf.sitemaps is not None and sitemaps is sections.mapping())


def _response(
    request: HttpRequest, base: Base, export: PublishedExport, name: str, sitemaps: Sitemaps
) -> HttpResponseBase | None:
    page = parse_page_name(name)
    # An index lists the pages of a new section before the manifest does.
    is_declared = page is not None and page.section in sections.native_mapping(sitemaps)
    if not is_declared and not export.lists(name):
        return None
    store, url = export.folder.store, _file_url(request, base, export, name, request.path)
    if url is None:
        return None
    if _is_elsewhere(request, base, url):
        file = store.open(name)
        if file is None:
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
    """Return the URL of an exported file, if it is on another host or has this path, or else `None`."""
    files_url = export.url([base.domain, request.get_host()])
    if files_url is None:
        label = export.folder.store.label
        _log_unreadable("url", ExportError(f"{label}: the manifest has a URL on another host"))
        return None
    url = f"{files_url}{name}"
    is_served = _is_elsewhere(request, base, url) or unquote(urlsplit(url).path) == path
    return url if is_served else None


def _is_elsewhere(request: HttpRequest, base: Base, url: str) -> bool:
    """Return whether a file is on another host. The scheme is ignored: a proxy can change it."""
    own_hosts = {published.plain_host(host) for host in (base.domain, request.get_host())}
    return published.plain_host(protocol.origin(url).domain) not in own_hosts


def _file_response(request: HttpRequest, store: Store, name: str, version: str) -> HttpResponseBase | None:
    """Return a response with a file. Under WSGI, it streams a local file, so servers can use `sendfile()`.

    ASGI servers get the content at once, since Django would also read the whole file, and warn about it.
    """
    is_gzip = name.endswith(".gz")
    response: HttpResponseBase
    if isinstance(store, LocalStore) and isinstance(request, WSGIRequest):
        file = store.open(name)
        if file is None:
            return None
        response = (GzipFileStream if is_gzip else FileResponse)(file, content_type=content_type(name))
        # An export never changes a file, it only replaces it.
        status = os.fstat(file.fileno())
        etag = f'W/"{sources.digest((version, status.st_mtime_ns, status.st_size))[:32]}"'
        answer = responses.conditional(request, response, etag)
        if answer is not response:
            file.close()
        return answer
    content = store.read(name, protocol.MAX_BYTES)
    if content is None:
        return None
    response = (GzipFileResponse if is_gzip else HttpResponse)(content, content_type=content_type(name))
    return responses.conditional(request, response, responses.content_etag(content))


def _log_unreadable(name: str, error: Exception) -> None:
    """Log that a file or an export cannot be read, at most every ten seconds."""
    if _exports.add(sources.digest(("unreadable", name)), ()):
        logger.warning("Live pages are served, because an exported file cannot be read: %.200s", error)


def find_section(source: QuerySource, *, again: bool = False) -> PublishedSection | None:
    """Return where a section is published. The result is cached briefly; `again` ignores the cached one.

    The folder of a host is still known while the export cannot be read.
    """
    if not published.is_configured():
        return None
    section, base, now = source.section, source.bases[0], time.time()
    name = f"django_sitemaps09:published:{sources.digest((section, base.domain))}"
    try:
        read_at, folder, file = caching.default.get(name)
        read_at, folder, file = float(read_at), str(folder), str(file)
    except (OverflowError, TypeError, ValueError):
        read_at, folder, file = 0.0, "", ""
    published_section = PublishedSection(section, folder, file) if file else None
    if again or not 0 <= now - read_at < _SECONDS:
        if not is_unreadable():
            try:
                published_section = published.find_section(section, base)
            except (ExportError, OSError) as error:
                _warn(section, error)
        folder, file = ("", "") if published_section is None else published_section[1:]
        # Clients can choose any number of hosts that have no folder.
        caching.default.set(name, (now, folder, file), _FOLDER_SECONDS if folder else _SECONDS)
    return published_section


def is_unreadable() -> bool:
    """Return whether an export could not be read in the last ten seconds."""
    return bool(caching.default.get(_UNREADABLE))


def records(source: QuerySource, published_section: PublishedSection) -> list[SectionRecord] | None:
    """Return the records of a section whose pages can be used; `None` if the export cannot be read."""
    try:
        return published_section.records(source)
    except (ExportError, OSError) as error:
        _warn(published_section.section, error)
        return None


def _warn(section: str, error: Exception) -> None:
    # Perhaps this user cannot read the state folder, or a new run has just replaced the files there.
    logger.warning(
        "Section %r: the live pages differ from the exported ones, because the export cannot be read: "
        "%.200s",
        section,
        error,
    )
    # Without this pause, a storage that does not respond would slow down every request.
    caching.default.set(_UNREADABLE, True, _SECONDS)
