"""Entries of a site's sitemaps, served live and exported."""

from __future__ import annotations

import gzip
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch
from urllib.parse import urlsplit

from django.core.checks import CheckMessage, run_checks
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from lxml import etree

from django_sitemaps09.export import export_hosts

_SITEMAP = "{http://www.sitemaps.org/schemas/sitemap/0.9}"


class Entry(NamedTuple):
    """A URL with its lastmod and its links, each as language and URL."""

    url: str
    lastmod: str = ""
    links: frozenset[tuple[str, str]] = frozenset()


def entries(document: bytes) -> list[Entry]:
    return [
        Entry(
            url.findtext(f"{_SITEMAP}loc"),
            url.findtext(f"{_SITEMAP}lastmod", ""),
            frozenset((link.get("hreflang"), link.get("href")) for link in url.iter("{*}link")),
        )
        for url in etree.fromstring(document)
    ]


def _locations(index: bytes) -> list[str]:
    return [loc.text for loc in etree.fromstring(index).iter(f"{_SITEMAP}loc")]


def get(host: str, path: str) -> bytes:
    """Return a live document of a host."""
    response: Any = Client(SERVER_NAME=host).get(path, secure=True)
    assert response.status_code == 200, (host, path, response.status_code)
    content: bytes = response.content
    return gzip.decompress(content) if content[:2] == b"\x1f\x8b" else content


def live(host: str) -> list[Entry]:
    """Return the entries of all pages in the index of a host."""
    urls = _locations(get(host, "/sitemap.xml"))
    assert all(url.startswith(f"https://{host}/") for url in urls)
    return [entry for url in urls for entry in entries(get(host, urlsplit(url).path))]


def exported(
    folder: Path, *hosts: str, sitemaps: Mapping[str, Any] | None = None
) -> dict[str, list[Entry]]:
    """Export for several hosts, and return the entries of each host."""
    reports = export_hosts([f"https://{host}" for host in hosts], output=folder, sitemaps=sitemaps)
    found = {}
    for host in hosts:
        report = reports[f"https://{host}"]
        assert not report.failures, report.failures
        assert not any(section.errors for section in report.sections), report.sections
        place = folder / host
        names = [Path(urlsplit(url).path).name for url in _locations((place / "sitemap.xml").read_bytes())]
        found[host] = [
            entry for name in names for entry in entries(gzip.decompress((place / name).read_bytes()))
        ]
    return found


def complaints() -> list[CheckMessage]:
    """Return the messages of this package's system checks."""
    return [message for message in run_checks() if str(message.id).startswith("sitemaps09.")]


def queries(host: str, path: str) -> int:
    """Return the number of queries for a live page."""
    with CaptureQueriesContext(connection) as context:
        get(host, path)
    return len(context)


@contextmanager
def override_sitemaps(sitemaps: Mapping[str, Any]) -> Iterator[None]:
    """Replace the sections of the site."""
    with patch.object(import_module("mysite.sitemaps"), "sitemaps", sitemaps):
        yield
