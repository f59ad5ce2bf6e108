"""Requests for one page of a sitemap with the test client."""

from __future__ import annotations

import gzip

from django.test import Client

from benchmarks.measuring import Measured, Stopwatch
from benchmarks.subjects import Subject


def measure(subject: Subject) -> Measured:
    """Measure one request, after a request for a missing page, which loads the middleware and the URLconf.

    A crawler requests the index first. The native index caches the bounds of pages for five minutes, so it
    is requested first here, too. The compatibility views cache nothing, and their index may take minutes
    and gigabytes, so it is not requested.
    """
    client = Client()
    if client.get("/nowhere/", secure=True).status_code != 404:
        raise RuntimeError("/nowhere/ must return 404")
    if subject.index and client.get(subject.index, secure=True).status_code != 200:
        raise RuntimeError(f"{subject.index} did not return 200")
    watch = Stopwatch()
    with watch:
        response = client.get(subject.path, secure=True)
        body = response.content
    if response.status_code != 200:
        raise RuntimeError(f"{subject.path} returned {response.status_code}")
    page = gzip.decompress(body) if subject.path.endswith(".gz") else body
    return watch.measured(len(body), page.count(b"<url>"))
