"""Entries of a site's sitemaps, served live and exported."""

from __future__ import annotations

import gzip
from importlib import import_module
from pathlib import Path
from typing import NamedTuple
from unittest.mock import patch
from urllib.parse import urlsplit

from django.core.checks import run_checks
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from lxml import etree

from django_sitemaps09.export import export_hosts
from tests.support.published import SPACE


class Entry(NamedTuple):
    """A URL with its lastmod and its links, each as language and URL."""

    url: str
    lastmod: str = ""
    links: frozenset[tuple[str, str]] = frozenset()


def time(moment):
    return f"{moment:%Y-%m-%dT%H:%M:%SZ}" if moment else ""


def entries(document):
    return [
        Entry(
            url.findtext(f"{SPACE}loc"),
            url.findtext(f"{SPACE}lastmod", ""),
            frozenset((link.get("hreflang"), link.get("href")) for link in url.iter("{*}link")),
        )
        for url in etree.fromstring(document)
    ]


def get(host, path):
    response = Client(SERVER_NAME=host).get(path, secure=True)
    assert response.status_code == 200, (host, path, response.status_code)
    return gzip.decompress(response.content) if response.content[:2] == b"\x1f\x8b" else response.content


def live(host):
    """Return the entries of all pages in the index of a host, sorted."""
    urls = [entry.url for entry in entries(get(host, "/sitemap.xml"))]
    assert all(url.startswith(f"https://{host}/") for url in urls)
    return sorted(entry for url in urls for entry in entries(get(host, urlsplit(url).path)))


def exported(folder, *hosts, sitemaps=None):
    """Export for several hosts, and return the entries of each host, sorted."""
    reports = export_hosts([f"https://{host}" for host in hosts], output=folder, sitemaps=sitemaps)
    found = {}
    for host in hosts:
        report = reports[f"https://{host}"]
        assert (report.failures, [each.errors for each in report.sections if each.errors]) == ([], [])
        names = [Path(entry.url).name for entry in entries((folder / host / "sitemap.xml").read_bytes())]
        documents = [gzip.decompress((folder / host / name).read_bytes()) for name in names]
        found[host] = sorted(entry for document in documents for entry in entries(document))
    return found


def compare(folder, expected, live_hosts=None):
    """Compare what is exported and served for each host with its entries, and return all URLs."""
    assert [message for message in run_checks() if str(message.id).startswith("sitemaps09.")] == []
    assert exported(folder, *expected) == expected
    for host in live_hosts or expected:
        assert live(host) == expected[host]
    return {entry.url for listed in expected.values() for entry in listed}


def queries(host, path):
    with CaptureQueriesContext(connection) as context:
        get(host, path)
    return len(context)


def override_sitemaps(sitemaps):
    return patch.object(import_module("mysite.sitemaps"), "sitemaps", sitemaps)
