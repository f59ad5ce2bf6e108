"""Check the locations of sections: constants, and the names of URL patterns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import date
from numbers import Number
from typing import Any

from django.core.checks import CheckMessage
from django.utils.functional import Promise

from django_sitemaps09.checks.querysets import names_in_rows
from django_sitemaps09.checks.subjects import (
    COLLECTIONS,
    Subject,
    is_code,
    is_off,
    message,
    safe_repr,
    typed,
)
from django_sitemaps09.checks.urlconf import find_name, root_resolver, route_problem
from django_sitemaps09.entries import has_text
from django_sitemaps09.hooks.expressions import location_problem
from django_sitemaps09.orm.internals import UnknownNamespaceError, reverse_candidates
from django_sitemaps09.routing.location_templates import LocationTemplate, is_expression
from django_sitemaps09.routing.routes import Route
from django_sitemaps09.sitemaps import ModelSitemap, StaticViewSitemap


def check_locations(subject: Subject) -> Iterator[CheckMessage]:
    """Check `location` if it is a constant, and the `viewnames` of a `StaticViewSitemap`."""
    location, i18n, languages = subject.data("location"), subject.raw("i18n"), subject.data("languages")
    # Otherwise, the project's code determines whether there are languages.
    if not (subject.has_own_init or is_code(i18n)):
        codes = languages if isinstance(languages, COLLECTIONS) else ()
        if problem := location_problem(location, None if is_off(i18n) else codes):
            hint = "Set i18n = True, and give each language a Route, a PathTemplate or a query expression."
            yield message("E024", f"{subject}.location {problem}.", hint)
    # Other objects can have the text of a path, such as those of `pathlib`.
    is_path = has_text(location) and not isinstance(location, (Number, date))
    is_known = location is None or isinstance(location, (Mapping, LocationTemplate))
    if not (is_path or is_known or is_expression(location)):
        text = f"{subject}.location must be a path, a Route or an expression, not {typed(location)}."
        yield message("E098", text, "Define `def location(self, item)`, which returns a path.")
    for value in location.values() if isinstance(location, Mapping) else [location]:
        yield from _check_location(subject, value)
    yield from _check_viewnames(subject)


def _check_location(subject: Subject, value: Any) -> Iterator[CheckMessage]:
    is_constant = isinstance(value, str) or (isinstance(value, LocationTemplate) and not value.expressions)
    if issubclass(subject.cls, ModelSitemap) and is_constant:
        text = f"{subject}.location is {safe_repr(value)}, which is the same URL for every row."
        hint = "Pass an argument as a query expression, such as slug=F('slug')."
        yield message("E020", text, _route_hint(subject, value) or hint)
    if isinstance(value, Route) and (problem := route_problem(value)):
        text = f"{subject}.location is {safe_repr(value)}, but {problem}."
        hint = "Pass the name of a URL pattern and its arguments to Route, as you would to reverse()."
        yield message("E021", text, hint)


def _route_hint(subject: Subject, value: Any) -> str | None:
    """Return the `Route` that a constant means if it names a URL pattern with named arguments."""
    root, name = root_resolver(), value.pattern if isinstance(value, Route) else value
    if root is None or not isinstance(name, str):
        return None
    try:
        resolver, _, view = find_name(root, name)
    except UnknownNamespaceError:
        return None
    signatures = [names for possible, *_ in reverse_candidates(resolver, view) for _, names in possible]
    # Django calls arguments without a name `_0`, `_1`.
    signature = next((names for names in signatures if names and not names[0].startswith("_")), None)
    if signature is None:
        return None
    known = names_in_rows(subject)
    arguments = [f"{each}=F({each if each in known else '...'!r})" for each in signature]
    return f"Did you mean Route({name!r}, {', '.join(arguments)})?"


def _check_viewnames(subject: Subject) -> Iterator[CheckMessage]:
    if not subject.inherits(StaticViewSitemap, "items"):
        return
    names = subject.raw("viewnames")
    if issubclass(type(names), (str, bytes)) or not (is_code(names) or hasattr(names, "__iter__")):
        text = f"{subject}.viewnames must be a list, not {typed(names)}."
        yield message("E022", text, "Set a list of the names of URL patterns, such as ['about'].")
    elif subject.inherits(StaticViewSitemap, "location", "default_location") and isinstance(
        names, COLLECTIONS
    ):
        # Views are not looked up.
        for name in (name for name in names if not is_code(name)):
            is_name = isinstance(name, (str, Promise))
            problem = route_problem(Route(name)) if is_name else "this is not the name of a URL pattern"
            if problem:
                text = f"{subject}.viewnames contains {typed(name, str)}, but {problem}."
                yield message("E023", text, "Use only names of URL patterns that take no arguments.")
