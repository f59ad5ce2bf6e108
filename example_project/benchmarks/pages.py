"""Requests for one page of a sitemap with the test client."""

from __future__ import annotations

import gzip
import re
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

from django.test import Client

from benchmarks.measuring import Measured, Stopwatch
from benchmarks.subjects import Subject


def measure(subject: Subject) -> Measured:
    """Measure one request, after a request for a missing page, which loads the middleware and the URLconf.

    The native index is requested first, since it names the page, by another process if the subject is cold.
    The compatibility views have numbers, and their index may take minutes and gigabytes, so it is not
    requested.
    """
    path = subject.path
    if subject.index:
        if subject.is_cold:
            with ProcessPoolExecutor(1, get_context("fork")) as other:
                name = other.submit(first_page, subject.index).result()
        else:
            name = first_page(subject.index)
        path = name if path.endswith(".gz") else name.removesuffix(".gz")
    client = Client()
    if client.get("/nowhere/", secure=True).status_code != 404:
        raise RuntimeError("/nowhere/ must return 404")
    watch = Stopwatch()
    with watch:
        response = client.get(path, secure=True)
        body = response.content
    if response.status_code != 200:
        raise RuntimeError(f"{path} returned {response.status_code}")
    page = gzip.decompress(body) if path.endswith(".gz") else body
    return watch.measured(len(body), page.count(b"<url>"))


def first_page(index: str) -> str:
    """Return the path of the first page of the articles that an index lists."""
    response = Client().get(index, secure=True)
    match = re.search(r"<loc>https?://[^/<]+(/sitemap-articles[^<]+)</loc>", response.content.decode())
    if match is None:
        raise RuntimeError(f"{index} returned {response.status_code} without a page of the articles")
    return match[1]
