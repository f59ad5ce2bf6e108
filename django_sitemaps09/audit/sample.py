"""Choose the pages to fetch: none, all, or a uniform random sample."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence

from django_sitemaps09.audit.documents import Entry
from django_sitemaps09.audit.scratch import Page, Scratch
from django_sitemaps09.protocol import Base


class Sample:
    """The pages to fetch. `size` is `None` for all pages. Only URLs on `base` are chosen if it is set.

    The same URLs in the same order give the same sample.
    """

    def __init__(self, size: int | None, scratch: Scratch, base: Base | None) -> None:
        self._size, self._scratch = size, scratch
        self._start = "" if base is None else f"{base}/"
        self._pages: list[Page] = []
        self._count = 0
        self._random = random.Random(0)  # noqa: S311 a sample needs no secret

    def add(self, place: str, entries: Sequence[Entry]) -> None:
        """Consider the entries of a batch."""
        if self._size == 0:
            return
        pages = (Page(entry.location.strip(), entry.lastmod, f"{place}:{entry.line}") for entry in entries)
        pages = (page for page in pages if page.url.startswith(self._start or "http"))
        if self._size is None:
            self._scratch.add_pages([*pages])
            return
        for page in pages:
            # Reservoir sampling: https://en.wikipedia.org/wiki/Reservoir_sampling
            self._count += 1
            if len(self._pages) < self._size:
                self._pages.append(page)
            elif (position := self._random.randrange(self._count)) < self._size:
                self._pages[position] = page

    def pages(self) -> Iterator[Page]:
        """Yield the chosen pages."""
        yield from self._scratch.pages() if self._size is None else self._pages
