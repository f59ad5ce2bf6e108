"""Formats of a section's files."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias, cast, get_args

from django.core.exceptions import ImproperlyConfigured

from django_sitemaps09.hooks.expressions import declared_expressions

FormatName: TypeAlias = Literal["xml", "text"]
FORMATS: tuple[str, ...] = get_args(FormatName)


def format_name(sitemap: Any) -> FormatName:
    """Return the `format` of a sitemap; any other value may belong to a class written for contrib.

    Raise `ImproperlyConfigured` for an unknown text if the sitemap declares expressions.
    """
    value = getattr(sitemap, "format", "xml")
    if isinstance(value, str) and value in FORMATS:
        return cast(FormatName, value)
    if isinstance(value, str) and declared_expressions(sitemap):
        raise ImproperlyConfigured(
            f"{type(sitemap).__qualname__}.format must be 'xml' or 'text', not {value!r}."
        )
    return "xml"
