"""Rows on which declarations are compared: rows from all parts of a section, and rows with NULL."""

from __future__ import annotations

import random
from collections.abc import Collection, Iterable, Iterator
from contextlib import suppress
from itertools import islice
from typing import Any

from django.core.exceptions import FieldError
from django.db.models import CharField, QuerySet, TextField

# Number of runs of rows in a sample: the first rows, the last rows, and rows at random places in between.
_PARTS = 20
# Maximum number of additional rows with NULL, and with an empty string, for each field.
_WITHOUT_VALUE = 20
# Some databases limit the parameters of a query.
_KEYS_AT_A_TIME = 500


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
            column = rows.values_list(path).query.annotation_select.get(path)
            output = column.output_field if column else _field(rows, path)
            if isinstance(output, (CharField, TextField)):
                yield {path: ""}


def _field(rows: QuerySet[Any], path: str) -> Any:
    """Return the field at the end of a path."""
    options: Any = rows.model._meta
    *relations, name = path.split("__")
    for relation in relations:
        options = options.get_field(relation).related_model._meta
    return options.pk if name == "pk" else options.get_field(name)


def parts(rows: QuerySet[Any], keys: Iterable[Any]) -> Iterator[QuerySet[Any]]:
    """Yield querysets with the rows of these primary keys."""
    remaining = iter(keys)
    while chunk := list(islice(remaining, _KEYS_AT_A_TIME)):
        yield rows.filter(pk__in=chunk)
