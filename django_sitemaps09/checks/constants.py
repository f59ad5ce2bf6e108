"""Check constant values of `lastmod`, `changefreq`, `priority`, `protocol` and `limit`."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from typing import Any

from django.core.checks import CheckMessage

from django_sitemaps09 import protocol, sources
from django_sitemaps09.checks.messages import error_text, message
from django_sitemaps09.checks.subjects import data, is_code, is_strict, name_of, own_init, raw, safe_repr
from django_sitemaps09.hooks.values import CONVERTERS
from django_sitemaps09.location_templates import is_expression
from django_sitemaps09.sitemaps import is_contribs

_NUMBERS = (int, float, Decimal)
_CODES = {"lastmod": ("E010", "W010"), "changefreq": ("E011", "W011"), "priority": ("E012", "W012")}


def check_constants(subject: Any) -> Iterator[CheckMessage]:
    """Check `lastmod`, `changefreq`, `priority`, `protocol` and `limit` if they are constants."""
    for name, convert in CONVERTERS.items():
        value = data(subject, name)
        if not is_expression(value) and (problem := error_text(ValueError, convert, value)):
            code = _CODES[name][0 if is_strict(subject) else 1]
            hint = "Change or remove it, or declare a query expression or a method that takes the item."
            yield message(code, f"{name_of(subject)}.{name}: {problem}.", hint)
    scheme = data(subject, "protocol")
    if scheme not in (None, "http", "https"):
        text = f"{name_of(subject)}.protocol must be 'http' or 'https', not {safe_repr(scheme)}."
        yield message("W014", text, "Set 'http' or 'https': crawlers do not follow other schemes.")
    yield from _check_limit(subject)


def _check_limit(subject: Any) -> Iterator[CheckMessage]:
    limit = raw(subject, "limit")
    if is_code(limit) or (hasattr(type(limit), "__int__") and not isinstance(limit, _NUMBERS)):
        # Only the project's code can compute the limit.
        return
    if limit is None and (own_init(subject) or not is_contribs(subject, "paginator")):
        # __init__() may set another limit, and an overridden paginator might ignore `limit`.
        return
    try:
        size = sources.page_size(limit)
    except ValueError as error:
        code = "E013" if is_strict(subject) else "W013"
        text = f"{name_of(subject)}.limit {error}, not {safe_repr(limit)}."
        yield message(code, text, f"Set a whole number from 1 to {protocol.MAX_URLS:,}.")
        return
    if size > protocol.MAX_URLS:
        yield message(
            "W015",
            f"{name_of(subject)}.limit is {size:,}, but a sitemap can contain at most "
            f"{protocol.MAX_URLS:,} URLs.",
            f"Set {protocol.MAX_URLS:,} or less. Native views and exports never use a higher value, but "
            "contrib's views serve pages that search engines reject.",
        )
