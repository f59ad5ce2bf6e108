"""Check attributes that are constants: `lastmod`, `limit` and others, `format`, `hosts`, `extensions`."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from typing import Any

from django.core.checks import CheckMessage

from django_sitemaps09 import protocol, sources
from django_sitemaps09.checks.subjects import (
    COLLECTIONS,
    data,
    error_text,
    graded,
    is_code,
    message,
    name_of,
    own_init,
    raw,
    safe_repr,
)
from django_sitemaps09.entries import Extension
from django_sitemaps09.hooks.expressions import FORMATS
from django_sitemaps09.hooks.extensions import EXTENDING
from django_sitemaps09.hooks.values import CONVERTERS
from django_sitemaps09.routing.location_templates import is_expression
from django_sitemaps09.sitemaps import is_contribs

_NUMBERS = (int, float, Decimal)
_CODES = {"lastmod": ("E010", "W010"), "changefreq": ("E011", "W011"), "priority": ("E012", "W012")}


def check_constants(subject: Any) -> Iterator[CheckMessage]:
    """Check `lastmod`, `changefreq`, `priority`, `protocol` and `limit` if they are constants."""
    for name, convert in CONVERTERS.items():
        value = data(subject, name)
        if not is_expression(value) and (problem := error_text(ValueError, convert, value)):
            hint = "Change or remove it, or declare a query expression or a method that takes the item."
            yield graded(subject, *_CODES[name], f"{name}: {problem}.", hint)
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
        text = f"limit {error}, not {safe_repr(limit)}."
        hint = f"Set a whole number from 1 to {protocol.MAX_URLS:,}."
        yield graded(subject, "E013", "W013", text, hint)
        return
    if size > protocol.MAX_URLS:
        yield message(
            "W015",
            f"{name_of(subject)}.limit is {size:,}, but a sitemap can contain at most "
            f"{protocol.MAX_URLS:,} URLs.",
            f"Set {protocol.MAX_URLS:,} or less. Native views and exports never use a higher value, but "
            "contrib's views serve pages that search engines reject.",
        )


def check_documents(subject: Any) -> Iterator[CheckMessage]:
    """Check `format`, `hosts` and `extensions` if they are constants."""
    yield from _check_format(subject)
    hosts = data(subject, "hosts")
    if hosts is not None and (problem := _hosts_problem(hosts)):
        hint = "Set a list of hosts, such as ['https://shop.example.com', 'blog.example.com']."
        yield graded(subject, "E050", "W050", f"hosts {problem}.", hint)
    extensions = data(subject, "extensions")
    if extensions is not None and (problem := _extensions_problem(extensions)):
        hint = "Set a list of Extension objects, each with its own prefix and namespace."
        yield graded(subject, "E054", "W054", f"extensions {problem}.", hint)


def _check_format(subject: Any) -> Iterator[CheckMessage]:
    value = data(subject, "format")
    if value is not None and not (isinstance(value, str) and value in FORMATS):
        hint = "Set 'xml' or 'text', or rename the attribute if it means something else."
        text = f"format must be 'xml' or 'text', not {safe_repr(value)}."
        yield graded(subject, "E051", "W051", text, hint)
    elif value == "text" and (xml_names := ", ".join(_xml_only_names(subject))):
        text = f"{name_of(subject)}.format is 'text', which does not include {xml_names}."
        hint = f"Text files contain only URLs. Set format = 'xml', or remove {xml_names}."
        yield message("W052", text, hint)


def _xml_only_names(subject: Any) -> list[str]:
    names: list[str] = [name for name in EXTENDING if callable(raw(subject, name))]
    extensions, alternates = data(subject, "extensions"), raw(subject, "alternates")
    if isinstance(extensions, (list, tuple)) and extensions:
        names.append("extensions")
    if callable(alternates) or (alternates is True and data(subject, "i18n") is True):
        names.append("alternates")
    return names


def _hosts_problem(hosts: object) -> str | None:
    if not isinstance(hosts, COLLECTIONS):
        return f"must be a list, not {safe_repr(hosts)}"
    for host in hosts:
        if not issubclass(type(host), str):
            return f"contains {safe_repr(host)}, which is not a string"
        try:
            protocol.parse_base(host if "://" in host else f"https://{host}")
        except ValueError as error:
            return f"contains {host!r}: {error}"
    return None


def _extensions_problem(extensions: object) -> str | None:
    if not isinstance(extensions, (list, tuple)):
        return f"must be a list, not {safe_repr(extensions)}"
    descriptions: set[str] = set()
    for extension in extensions:
        # Not isinstance(), which would evaluate a lazy object.
        if not issubclass(type(extension), Extension):
            return f"contains {safe_repr(extension)}, which is not an Extension"
        for description in (f"prefix {extension.prefix!r}", f"namespace {extension.namespace!r}"):
            if description in descriptions:
                return f"uses the {description} twice"
            descriptions.add(description)
    return None
