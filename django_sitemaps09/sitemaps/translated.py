"""Items with each of their languages, of which no list is ever made."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any

from django.db.models import QuerySet

from django_sitemaps09.rows import chunks

# As many as the views take at a time.
_AT_A_TIME = 1_000


class Translated:
    """What contrib has as a list of `(item, language)`: for a paginator, which counts and slices it.

    `uniform` says that all items have the same languages. Then those of a queryset are counted, and a page
    of them is read; else all items are gone through for either, and none are kept.
    """

    def __init__(self, sitemap: Any, items: Any, *, uniform: bool) -> None:
        self._sitemap = sitemap
        self._items = items
        self._codes = list(sitemap.get_languages_for_item(None)) if uniform else None

    def __iter__(self) -> Iterator[tuple[Any, str]]:
        return self._pairs(self._items)

    def _pairs(self, items: Any) -> Iterator[tuple[Any, str]]:
        for some in chunks(items, _AT_A_TIME):
            for item in some:
                codes = (
                    self._codes if self._codes is not None else self._sitemap.get_languages_for_item(item)
                )
                for code in codes:
                    yield item, code

    def __len__(self) -> int:
        if self._codes is None:
            return sum(1 for _ in self)
        rows = self._items
        return len(self._codes) * (rows.count() if isinstance(rows, QuerySet) else len(rows))

    def __getitem__(self, wanted: slice) -> list[tuple[Any, str]]:
        start, stop = wanted.start or 0, wanted.stop
        if not self._codes:
            return list(islice(self, start, stop))
        each = len(self._codes)
        last = None if stop is None else -(-stop // each)
        part = self._items[start // each : last]
        first = start // each * each
        return list(islice(self._pairs(part), start - first, None if stop is None else stop - first))
