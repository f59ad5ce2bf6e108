"""Compare two declarations of a section on a sample of its rows: the bytes, and the time that they take."""

from __future__ import annotations

import random
from collections.abc import Collection, Generator, Hashable, Iterable, Iterator, Sequence
from contextlib import closing, suppress
from copy import copy
from itertools import islice, zip_longest
from time import perf_counter
from typing import Any, NamedTuple

from django.core.exceptions import FieldError
from django.db.models import CharField, F, QuerySet, TextField

from django_sitemaps09 import sources, writer
from django_sitemaps09.conf import conf
from django_sitemaps09.entries import MAX_MESSAGE, excerpt
from django_sitemaps09.orm.traits import chunks
from django_sitemaps09.pages import Page
from django_sitemaps09.protocol import Base

_EVERYTHING = Page(1, None, None)
# The best of several times has the least noise.
_ROUNDS = 3
# Minimum number of URLs for a measurement. With fewer, the queries take most of the time.
_WORTH_TIMING = 100
# Number of runs of rows in a sample: the first rows, the last rows, and rows at random places in between.
_PARTS = 20
# Maximum number of additional rows with NULL, and with an empty string, for each field.
_WITHOUT_VALUE = 20
# Some databases limit the parameters of a query.
_KEYS_AT_A_TIME = 500


class DifferenceError(Exception):
    """The declarations have different entries for an item."""


class Sample(NamedTuple):
    """Items of a section, on which declarations are compared.

    `parts` are querysets. `None` stands for the items of the sitemap. At most `most` items of a part are
    read.
    """

    section: str
    base: Base
    parts: Sequence[QuerySet[Any] | None] = (None,)
    most: int | None = None

    def compare(self, sitemap: Any, declared: Any) -> int:
        """Return the number of compared items. Raise `DifferenceError` for the first difference."""
        count = 0
        for part in self.parts:
            with (
                closing(self._entries(sitemap, part)) as left,
                closing(self._entries(declared, part)) as right,
            ):
                pairs = zip_longest(left, right)
                for entry, declared_entry in islice(pairs, self.most):
                    if entry != declared_entry:
                        raise DifferenceError(_difference(entry, declared_entry))
                    count += 1
        return count

    def microseconds(self, sitemap: Any) -> float | None:
        """Return the microseconds per URL of a declaration; `None` for a small number of URLs."""
        rounds = []
        for _ in range(_ROUNDS):
            start_time, urls = perf_counter(), 0
            for part in self.parts:
                with closing(self._entries(sitemap, part)) as entries:
                    urls += sum(text.count("<loc>") for _, text in islice(entries, self.most))
            if urls < _WORTH_TIMING:
                return None
            rounds.append((perf_counter() - start_time) / urls * 1e6)
        return min(rounds)

    def _entries(self, sitemap: Any, part: QuerySet[Any] | None) -> Generator[tuple[Hashable, str]]:
        """Yield the key and the text of each item, as in an export."""
        if part is not None:
            sitemap = copy(sitemap)
            sitemap.items = lambda: part
        source = sources.source(self.section, sitemap, self.base, conf.limits)
        with closing(source.batches(_EVERYTHING)) as batches:
            for batch in batches:
                texts = writer.elements(writer.FORMATS["xml"], batch, str(self.base))
                yield from zip(batch.keys, texts, strict=True)


def _difference(entry: tuple[Any, str] | None, declared: tuple[Any, str] | None) -> str:
    """Return a message with both texts of an item, or with one text if the other is skipped."""
    if entry and declared and entry[0] == declared[0]:
        return f"item {entry[0]!r} is {_shown(entry)} now, but would be {_shown(declared)}"
    if declared is None or (entry and entry[0] < declared[0]):
        return f"item {entry[0]!r} is {_shown(entry)} now, but would be skipped"  # type: ignore[index, arg-type]
    return f"item {declared[0]!r} is skipped now, but would be {_shown(declared)}"


def _shown(entry: tuple[Any, str]) -> str:
    return excerpt(entry[1].strip(), MAX_MESSAGE)


def sample_keys(
    rows: QuerySet[Any], size: int, nullable: Collection[str], paths: Collection[str]
) -> list[Any]:
    """Return the primary keys of about `size` rows, and of rows with NULL or an empty string.

    `nullable` has the lookups of fields and relations that can be NULL, `paths` the lookups of all fields.
    """
    keys = rows.order_by("pk").values_list("pk", flat=True)
    count = keys.count()
    if count <= size:
        return list(dict.fromkeys(keys))
    length = max(1, size // _PARTS)
    room = max(1, (count - length) // _PARTS)
    starts = [0, count - length]
    places = range(max(1, room - length + 1))
    starts += [part * room + random.choice(places) for part in range(1, _PARTS - 1)]  # noqa: S311 not secret
    found = dict.fromkeys(key for start in starts for key in keys[start : start + length])
    for condition in _conditions(rows, nullable, paths):
        found |= dict.fromkeys(keys.filter(**condition)[:_WITHOUT_VALUE])
    return list(found)


def _conditions(
    rows: QuerySet[Any], nullable: Collection[str], paths: Collection[str]
) -> Iterator[dict[str, Any]]:
    for key in sorted(nullable):
        yield {f"{key}__isnull": True}
    for path in sorted(paths):
        with suppress(FieldError):
            column: Any = F(path).resolve_expression(rows.query.clone())
            if isinstance(column.output_field, (CharField, TextField)):
                yield {path: ""}


def parts(rows: QuerySet[Any], keys: Iterable[Any]) -> Iterator[QuerySet[Any]]:
    """Yield querysets with the rows of these primary keys."""
    for chunk in chunks(keys, _KEYS_AT_A_TIME):
        yield rows.filter(pk__in=chunk)
