"""Choose what to audit: live views, a folder, or a site over HTTP."""

from __future__ import annotations

from contextlib import ExitStack, closing
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

from django.urls import get_script_prefix

from django_sitemaps09.audit.bodies import Reader
from django_sitemaps09.audit.client_reader import ClientReader
from django_sitemaps09.audit.document_rules import ListedDocument
from django_sitemaps09.audit.http_reader import HttpReader
from django_sitemaps09.audit.robots_rules import Robots, RobotsLocation, origin
from django_sitemaps09.audit.store_reader import StoreReader
from django_sitemaps09.conf import conf
from django_sitemaps09.exceptions import AuditError
from django_sitemaps09.export.options import export_base
from django_sitemaps09.filenames import INDEX
from django_sitemaps09.protocol import Base
from django_sitemaps09.stores import LocalStore, host_folder


class Target(NamedTuple):
    """Target of an audit. `reader` reads the documents, and `pages` requests the pages that they list.

    `document` is the URL to begin with. If it is `None`, begin with robots.txt, or else with `sitemap.xml`
    at `home`. `project` is the base of the URLs that this project's URLconf serves, or `None`.
    """

    name: str
    reader: Reader
    pages: Reader
    robots: RobotsLocation
    home: str
    document: str | None
    project: Base | None

    @property
    def base(self) -> Base:
        return self.robots.base


def choose_target(
    url: str | None, directory: Path | str | None, base_url: str | None, stack: ExitStack
) -> Target:
    """Choose how documents and pages are read."""
    if url is not None:
        return _http_target(url, base_url, stack.enter_context(closing(HttpReader())))
    base = export_base(base_url)
    client = ClientReader(base)
    home, name = f"{base}{get_script_prefix()}", f"live views at {base}"
    reader: Reader = client
    file = conf.robots_txt and Path(str(conf.robots_txt).replace("{host}", host_folder(base)))
    robots = RobotsLocation(base, file, is_expected=directory is None)
    if directory is not None:
        if not Path(directory).is_dir():
            raise AuditError(f"{directory} is not a directory.")
        has_files_url = conf.files_url is not None and conf.base_url in (None, base)
        home = str(conf.files_url) if has_files_url else f"{base}/"
        name, reader = str(directory), StoreReader(LocalStore(Path(directory)), home)
    return Target(name, reader, client, robots, home, None, base)


def _http_target(url: str, base_url: str | None, reader: HttpReader) -> Target:
    host = origin(url)
    if host is None:
        raise AuditError(f"{url!r} is not a URL that begins with http:// or https:// and a host.")
    base = host if base_url is None else export_base(base_url)
    project = base if base_url is not None or conf.base_url == base else None
    parts = urlsplit(url)
    document = url if parts.query or parts.path not in ("", "/", "/robots.txt") else None
    return Target(url, reader, reader, RobotsLocation(base), f"{host}/", document, project)


def roots(target: Target, robots: Robots) -> list[ListedDocument]:
    """Return the documents to begin with: the given one, those in robots.txt, or `sitemap.xml`."""
    if target.document is not None:
        return [ListedDocument(target.document, "")]
    place = target.reader.label(target.robots.url)
    roots = [ListedDocument(url, place) for url in robots.sitemaps if origin(url) is not None]
    if not isinstance(target.reader, HttpReader):
        # A folder has the files of one host, and live views are on one host.
        roots = [root for root in roots if root.url.startswith(target.home)]
    return roots or [ListedDocument(f"{target.home}{INDEX}", "")]
