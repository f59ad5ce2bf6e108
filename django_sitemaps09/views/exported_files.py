"""Serve the files of an export from the native views, if `SERVE_EXPORTED` is set.

An ETag is derived from the opened file, since an export replaces files before it replaces the manifest. It
also depends on a value from the manifest that changes with the file, because a deployment can set the times
of all files to the same value.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import BinaryIO
from urllib.parse import unquote, urlsplit

from django.core.handlers.wsgi import WSGIRequest
from django.http import FileResponse, HttpRequest, HttpResponse, HttpResponseBase, HttpResponseRedirect

from django_sitemaps09 import protocol, published, sections, sources
from django_sitemaps09.conf import conf
from django_sitemaps09.exceptions import ExportError
from django_sitemaps09.filenames import INDEX, parse_page_name
from django_sitemaps09.protocol import Base
from django_sitemaps09.published import PublishedExport
from django_sitemaps09.stores import LocalStore, Store, content_type
from django_sitemaps09.views import exported, validators
from django_sitemaps09.views.responses import GzipFile, GzipFileResponse, Sitemaps, current_base
from django_sitemaps09.views.stopwatch import Stopwatch, status_result


class GzipFileStream(GzipFile, FileResponse):
    """A gzip file that the server streams from the disk."""


def respond(request: HttpRequest, name: str, sitemaps: Sitemaps) -> HttpResponseBase | None:
    """Return an exported file, or a redirect to it. Return `None` if the view must respond with live data.

    Live data are needed if there is no export for the host of the request, if the export does not have the
    file, if its files are served at other paths of the host, or if the view serves other sections.
    """
    if not _serves(sitemaps):
        return None
    stopwatch = Stopwatch(f"File {name!r}")
    base = current_base(request)
    export = exported.current_export(base)
    if export is None:
        return None
    try:
        response = _response(request, base, export, name, sitemaps)
    except (ExportError, OSError) as error:
        if isinstance(export.folder.store, LocalStore):
            exported.log_unreadable(name, error)
        else:
            exported.ignore_export(base, error)
        return None
    if response is not None:
        stopwatch.log(status_result(response.status_code, "file"))
    return response


def _response(
    request: HttpRequest, base: Base, export: PublishedExport, name: str, sitemaps: Sitemaps
) -> HttpResponseBase | None:
    page = parse_page_name(name)
    # An index lists the pages of a new section before the manifest does.
    is_declared = page is not None and page.section in sections.native_mapping(sitemaps)
    if not is_declared and not export.lists(name):
        return None
    store, files_url = export.folder.store, _files_url(request, base, export)
    if files_url is None:
        return None
    url = f"{files_url}{name}"
    if _is_elsewhere(request, base, url):
        return _redirect(request, store, name, url)
    if unquote(urlsplit(url).path) != request.path:
        return None
    # A run writes a new manifest file for each section that it changes, so its name is a version.
    version = export.root.files.get(page.section, "") if page is not None else ""
    return _file_response(request, store, name, version or export.root.run)


def index_names(request: HttpRequest, base: Base, path: str, sitemaps: Sitemaps) -> Sequence[str]:
    """Return the file names of the exported indexes; an empty sequence if the index at `path` is live."""
    export = exported.current_export(base) if _serves(sitemaps) else None
    if export is None:
        return ()
    files_url = _files_url(request, base, export)
    if files_url is None:
        return ()
    url = f"{files_url}{INDEX}"
    is_served = _is_elsewhere(request, base, url) or unquote(urlsplit(url).path) == path
    return export.root.indexes if is_served else ()


def _serves(sitemaps: Sitemaps) -> bool:
    """Return whether a view serves files of an export."""
    if not conf.serve_exported or not published.is_configured():
        return False
    # An export without arguments exports these sections.
    return sitemaps is None or (conf.sitemaps is not None and sitemaps is sections.mapping())


def _files_url(request: HttpRequest, base: Base, export: PublishedExport) -> str | None:
    """Return the URL of the exported files, or `None` if the manifest has one that is not allowed."""
    files_url = export.url([base.domain, request.get_host()])
    if files_url is None:
        exported.log_unreadable(
            "url", ExportError(f"{export.folder.store.label}: the manifest has a URL on another host")
        )
    return files_url


def _is_elsewhere(request: HttpRequest, base: Base, url: str) -> bool:
    """Return whether the files are on another host. The scheme is ignored: a proxy can change it."""
    own_hosts = {published.plain_host(host) for host in (base.domain, request.get_host())}
    return published.plain_host(protocol.origin(url).domain) not in own_hosts


def _redirect(request: HttpRequest, store: Store, name: str, url: str) -> HttpResponseBase | None:
    file = store.open(name)
    if file is None:
        return None
    file.close()
    response = HttpResponseRedirect(url)
    validators.set_cache_control(response)
    return response


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
        response_class = GzipFileStream if is_gzip else FileResponse
        response = response_class(file, content_type=content_type(name))
        answer = validators.respond(request, response, _etag(file, version))
        if answer is not response:
            file.close()
        return answer
    content = store.read(name, protocol.MAX_BYTES)
    if content is None:
        return None
    response = (GzipFileResponse if is_gzip else HttpResponse)(content, content_type=content_type(name))
    return validators.respond(request, response, validators.of_content(content))


def _etag(file: BinaryIO, version: str) -> str:
    """Return the ETag of an open local file. An export never changes a file, it only replaces it."""
    status = os.fstat(file.fileno())
    return f'W/"{sources.digest((version, status.st_mtime_ns, status.st_size))[:32]}"'
