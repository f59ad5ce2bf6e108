"""Pairs of items and languages for a paginator, without a list of all pairs."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from itertools import islice
from typing import Any

from django_sitemaps09.entries import ItemError, excerpt
from django_sitemaps09.hooks.values import MAX_LOGGED, log_skipped
from django_sitemaps09.orm.traits import (
    AT_A_TIME,
    can_reorder,
    chunks,
    count_rows,
    iterate_unordered,
)

logger = logging.getLogger(__name__)


class TranslatedItems(Sequence[Any]):
    """A sequence of `(item, language)` pairs as in `django.contrib.sitemaps`, for a paginator.

    If all items have the same languages, these are `codes`. Then the database counts the rows of most
    querysets, and only the rows of a page are read. Otherwise, counting and slicing iterate over all items,
    and call `item_languages` for each of them. If an item has no languages by mistake, `problem` returns
    the reason.
    """

    def __init__(
        self,
        items: Any,
        codes: list[str] | None,
        item_languages: Callable[[Any], Sequence[str]],
        problem: Callable[[Any], str | None],
    ) -> None:
        self._item_languages = item_languages
        self._problem = problem
        self._codes = codes if can_reorder(items) else None
        self._items: Any = items if hasattr(items, "query") else list(items)

    def __iter__(self) -> Iterator[tuple[Any, str]]:
        return self._pairs(self._items)

    def _pairs(self, items: Any) -> Iterator[tuple[Any, str]]:
        for chunk in chunks(items, AT_A_TIME):
            for item in chunk:
                for code in self._codes or self._item_languages(item):
                    yield item, code

    def __len__(self) -> int:
        if self._codes is not None:
            return len(self._codes) * count_rows(self._items)
        count, unlisted, errors = 0, 0, []
        with closing(iterate_unordered(self._items, AT_A_TIME)) as batches:
            for item in (item for chunk in batches for item in chunk):
                codes = self._item_languages(item)
                count += len(codes)
                if not codes and (reason := self._problem(item)):
                    unlisted += 1
                    if unlisted <= MAX_LOGGED:
                        errors.append(ItemError(excerpt(item), "item_language", reason))
        log_skipped(logger, errors, unlisted)
        return count

    def __getitem__(self, index: Any) -> Any:
        if not isinstance(index, slice):
            return list(self)[index]
        start, stop = index.start or 0, index.stop
        if index.step not in (None, 1) or start < 0 or (stop is not None and stop < start):
            return list(self)[index]
        if self._codes is None:
            return list(islice(self, start, stop))
        codes_per_item = len(self._codes)
        part = self._items[start // codes_per_item : None if stop is None else -(-stop // codes_per_item)]
        first = start // codes_per_item * codes_per_item
        return list(islice(self._pairs(part), start - first, None if stop is None else stop - first))

    def __eq__(self, other: object) -> bool:
        return list(self) == (list(other) if isinstance(other, TranslatedItems) else other)

    __hash__ = None  # type: ignore[assignment]

    def __add__(self, other: Any) -> list[Any]:
        return [*self, *other]

    def __radd__(self, other: Any) -> list[Any]:
        return [*other, *self]
