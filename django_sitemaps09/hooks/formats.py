"""File formats of a section: an XML sitemap, or a text file of URLs."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias, cast, get_args

from django.core.exceptions import ImproperlyConfigured

from django_sitemaps09.hooks.expressions import declared_expressions

FormatName: TypeAlias = Literal["xml", "text"]
FORMATS: tuple[str, ...] = get_args(FormatName)


def format_name(sitemap: Any) -> FormatName:
    """Return the file format of a sitemap.

    A class for `django.contrib.sitemaps` can use the attribute `format` for something else, so other values
    mean XML. If the sitemap declares expressions, raise `ImproperlyConfigured` for an unknown string.
    """
    value = getattr(sitemap, "format", "xml")
    if not isinstance(value, str):
        return "xml"
    if value in FORMATS:
        return cast(FormatName, value)
    if declared_expressions(sitemap):
        raise ImproperlyConfigured(
            f"{type(sitemap).__qualname__}.format must be 'xml' or 'text', not {value!r}."
        )
    return "xml"
