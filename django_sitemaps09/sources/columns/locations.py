"""Build the locations of a `LocationTemplate` from columns of its arguments."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from django_sitemaps09.entries import TemplateColumn, short_repr
from django_sitemaps09.hooks import values
from django_sitemaps09.hooks.values import AllowedHosts, Items
from django_sitemaps09.protocol import MAX_LOCATION
from django_sitemaps09.routing.location_templates import CompiledTemplate


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
