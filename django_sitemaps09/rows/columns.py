"""Columns: the values of a slice of rows, and the locations and extensions that they become."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple, cast

from django_sitemaps09.declare import hook_values as values
from django_sitemaps09.declare.calls import Items
from django_sitemaps09.declare.hosts import AllowedHosts
from django_sitemaps09.declare.location_templates import CompiledTemplate
from django_sitemaps09.protocol import MAX_LOCATION, ItemError, Localization, TemplateColumn, short_repr


class Rows(NamedTuple):
    """Slice of a section's rows, with the values of the declared expressions in `columns`, by alias.

    `lastmods` is `None` unless the database converted these values to text. `errors` has the unreadable
    rows, each as an error. `hashed` has what a `RunningFingerprint` hashes, or `None` if that is unknown.
    """

    keys: Sequence[Hashable]
    items: Sequence[Any] | None
    columns: Mapping[str, Sequence[Any]]
    lastmods: Sequence[str | None] | None = None
    errors: Sequence[ItemError] = ()
    hashed: Sequence[Any] | None = None

    @property
    def keyed_items(self) -> Items:
        """Keys of the items, with `errors` as the list to which skipped items and fields are added."""
        return Items(self.keys, cast("list[ItemError]", self.errors))

    def part(self, positions: Sequence[int]) -> Rows:
        """Return the rows at these ascending positions."""
        if len(positions) == len(self.keys):
            return self
        return Rows(
            [self.keys[i] for i in positions],
            self.items and [self.items[i] for i in positions],
            {name: [column[i] for i in positions] for name, column in self.columns.items()},
            self.lastmods and [self.lastmods[i] for i in positions],
            self.errors,
        )


def drop_unlocated(
    rows: Rows, localizations: list[Localization], columns: dict[str, Any]
) -> tuple[Rows, list[Localization], dict[str, Any]]:
    """Return the arguments without items that do not have a location in any language."""
    listed_localizations = [localization for localization in localizations if localization.is_listed]
    if any(localization.is_complete for localization in listed_localizations):
        return rows, localizations, columns
    locations = [localization.locations for localization in listed_localizations]
    positions = [i for i in range(len(rows.keys)) if any(texts[i] for texts in locations)]
    if len(positions) == len(rows.keys):
        return rows, localizations, columns
    parts = {
        name: column if column is None or isinstance(column, str) else [column[i] for i in positions]
        for name, column in columns.items()
    }
    return rows.part(positions), [localization.part(positions) for localization in localizations], parts


def template_locations(
    template: CompiledTemplate, columns: Sequence[Sequence[Any]], hosts: AllowedHosts, items: Items
) -> Sequence[str | None] | TemplateColumn:
    """Return the locations of the items, as a template column if all are known to be valid."""
    # Quoting a long string is slow, and the result is not shorter.
    has_long_text = any(map(_has_long_text, columns))
    urls = None if has_long_text else template.compose(columns)
    if urls is not None and urls.fits(hosts.room):
        return urls
    url = partial(_short_url, template) if has_long_text else template.url
    arguments = zip(*columns, strict=True) if columns else [()] * len(items.keys)
    return values.locations(items.each(url, arguments, "location"), hosts, items)


def _has_long_text(column: Sequence[Any]) -> bool:
    try:
        return max(map(len, column), default=0) > MAX_LOCATION
    except TypeError:
        return any(isinstance(value, str) and len(value) > MAX_LOCATION for value in column)


def _short_url(template: CompiledTemplate, arguments: Sequence[Any]) -> str | None:
    """Return the location of an item. Raise `ValueError` for a string that is too long."""
    for value in arguments:
        if isinstance(value, str) and len(value) > MAX_LOCATION:
            raise ValueError(
                f"{short_repr(value)} has {len(value):,} characters; at most {MAX_LOCATION:,} are allowed"
            )
    return template.url(arguments)
