"""Constants that can never be written: of the optional elements, the protocol, the limit."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django.core.checks import CheckMessage

from django_sitemaps09 import protocol
from django_sitemaps09.checks.messages import message
from django_sitemaps09.checks.subjects import data, is_strict, name_of, shown
from django_sitemaps09.routes import is_expression
from django_sitemaps09.sources.values import CONVERTERS

_METHOD = "Change it, leave it out, or declare a query expression or a method that takes the item."
_CODES = {"lastmod": ("E010", "W010"), "changefreq": ("E011", "W011"), "priority": ("E012", "W012")}


def check_constants(subject: Any) -> Iterator[CheckMessage]:
    """`lastmod`, `changefreq`, `priority`, `protocol` and `limit`, where they are data."""
    for name, judge in CONVERTERS.items():
        value = data(subject, name)
        if is_expression(value):
            continue
        try:
            judge(value)
        except ValueError as error:
            code = _CODES[name][0 if is_strict(subject) else 1]
            yield message(code, f"{name_of(subject)}.{name}: {error}.", _METHOD)
    scheme = data(subject, "protocol")
    if scheme not in (None, "http", "https"):
        text = f"{name_of(subject)}.protocol is {shown(scheme)}."
        yield message("W014", text, "Crawlers follow http and https.")
    yield from _limit(subject)


def _limit(subject: Any) -> Iterator[CheckMessage]:
    limit = data(subject, "limit")
    if limit is None:
        return
    if isinstance(limit, bool) or not isinstance(limit, int) or limit < 1:
        text = f"{name_of(subject)}.limit is {shown(limit)}, and no number of URLs."
        yield message("E013", text, f"Set a whole number from 1 to {protocol.MAX_URLS:,}.")
    elif limit > protocol.MAX_URLS:
        yield message(
            "W015",
            f"{name_of(subject)}.limit is {limit:,}, and {protocol.MAX_URLS:,} URLs are the most that a "
            "sitemap can have.",
            f"Set {protocol.MAX_URLS:,} or less: on the URLs of django_sitemaps09.urls and in an export "
            "the lower one counts, contrib's own views write files that engines refuse.",
        )
