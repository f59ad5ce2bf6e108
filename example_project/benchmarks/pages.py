"""One page of a sitemap, asked for by the test client."""

from __future__ import annotations

import gzip

from django.test import Client

from benchmarks.measuring import Measured, Stopwatch
from benchmarks.subjects import Subject


def measure(subject: Subject) -> Measured:
    """One request, behind one to nowhere, which makes middleware and resolver ready.

    A crawler asks for the index first. Ours keeps the bounds of pages for five minutes from then on, so
    there that is done too; nothing is kept on contrib's road, where it may take minutes and gigabytes.
    """
    client = Client()
    if client.get("/nowhere/", secure=True).status_code != 404:
        raise RuntimeError("There is something at /nowhere/")
    if subject.index and client.get(subject.index, secure=True).status_code != 200:
        raise RuntimeError(f"{subject.index} is not there")
    watch = Stopwatch()
    with watch:
        response = client.get(subject.path, secure=True)
        body = response.content
    if response.status_code != 200:
        raise RuntimeError(f"{subject.path} answered {response.status_code}")
    page = gzip.decompress(body) if subject.path.endswith(".gz") else body
    return watch.measured(len(body), page.count(b"<url>"))
