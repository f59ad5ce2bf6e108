"""Check `location` and `viewnames`: the names of URL patterns, and their arguments."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from typing import Any

from django.core.checks import CheckMessage

from django_sitemaps09.checks import urlconf
from django_sitemaps09.checks.subjects import (
    COLLECTIONS,
    class_of,
    data,
    is_code,
    is_off,
    message,
    name_of,
    own_init,
    raw,
    safe_repr,
)
from django_sitemaps09.hooks.expressions import location_problem
from django_sitemaps09.orm.internals import (
    UnknownNamespaceError,
    find_namespace,
    reverse_candidates,
    reverse_names,
)
from django_sitemaps09.routing.location_templates import LocationTemplate
from django_sitemaps09.routing.routes import Route
from django_sitemaps09.sitemaps import ModelSitemap, StaticViewSitemap


def check_locations(subject: Any) -> Iterator[CheckMessage]:
    """Check `location` if it is a constant, and the `viewnames` of a `StaticViewSitemap`."""
    location = data(subject, "location")
    if isinstance(location, Mapping):
        yield from _check_languages(subject, location)
    for value in location.values() if isinstance(location, Mapping) else [location]:
        yield from _check_location(subject, value)
    yield from _check_viewnames(subject)


def _check_languages(subject: Any, location: Mapping[Any, Any]) -> Iterator[CheckMessage]:
    i18n, languages = raw(subject, "i18n"), data(subject, "languages")
    if own_init(subject) or is_code(i18n):
        # The project's code determines whether there are languages.
        return
    codes = languages if isinstance(languages, COLLECTIONS) else ()
    if problem := location_problem(location, None if is_off(i18n) else codes):
        hint = "Set i18n = True, and give each language a Route, a PathTemplate or a query expression."
        yield message("E024", f"{name_of(subject)}.location {problem}.", hint)


def _check_location(subject: Any, value: Any) -> Iterator[CheckMessage]:
    is_constant = isinstance(value, str) or (isinstance(value, LocationTemplate) and not value.expressions)
    if issubclass(class_of(subject), ModelSitemap) and is_constant:
        text = f"{name_of(subject)}.location is {safe_repr(value)}, which is the same URL for every row."
        yield message("E020", text, "Pass an argument as a query expression, such as slug=F('slug').")
    if isinstance(value, Route) and (problem := _route_problem(value)):
        text = f"{name_of(subject)}.location is {safe_repr(value)}, but {problem}."
        hint = "Pass the name of a URL pattern and its arguments to Route, as you would to reverse()."
        yield message("E021", text, hint)


def _route_problem(route: Route) -> str | None:
    """Return why `reverse()` fails for every item; `None` if it can succeed."""
    resolver = urlconf.root()
    if resolver is None:
        return None
    if not isinstance(route.viewname, str):
        # reverse() also accepts a view.
        is_known = bool(reverse_candidates(resolver, route.viewname))
        return None if is_known else "its first argument is not the name of a URL pattern"
    *namespaces, view = route.viewname.split(":")
    try:
        resolver, prefix, _ = find_namespace(resolver, namespaces)
    except UnknownNamespaceError as error:
        return f"there is no namespace {error.args[0]!r}"
    if "(" in prefix or "%" in prefix:
        # The prefix of an include() can contain arguments, too.
        return None
    candidates = reverse_candidates(resolver, view)
    if not candidates:
        close_matches = get_close_matches(view, reverse_names(resolver), n=1)
        suggestion = f" (did you mean {close_matches[0]!r}?)" if close_matches else ""
        return f"there is no URL pattern named {view!r}{suggestion}"
    signatures = set()
    for possibilities, _, defaults, _ in candidates:
        for _, parameters in possibilities:
            signatures.add(", ".join(parameters) or "no arguments")
            missing_names = set(route.kwargs).symmetric_difference(parameters).difference(defaults)
            if len(route.args) == len(parameters) if route.args else not missing_names:
                return None
    arguments = f"{len(route.args)} positional" if route.args else f"{sorted(route.kwargs)}"
    return (
        f"no URL pattern named {view!r} accepts the given arguments ({arguments}); accepted: "
        f"{'; or '.join(sorted(signatures))}"
    )


def _check_viewnames(subject: Any) -> Iterator[CheckMessage]:
    cls = class_of(subject)
    if not issubclass(cls, StaticViewSitemap) or cls.items is not StaticViewSitemap.items:
        return
    names = data(subject, "viewnames")
    if isinstance(names, str):
        text = f"{name_of(subject)}.viewnames must be a list, not the string {names!r}."
        yield message("E022", text, f"Set a list: [{names!r}].")
    elif cls.default_location is StaticViewSitemap.default_location and isinstance(names, COLLECTIONS):
        for name in names:
            if isinstance(name, str) and (problem := _route_problem(Route(name))):
                text = f"{name_of(subject)}.viewnames contains {name!r}, but {problem}."
                yield message("E023", text, "Use only names of URL patterns that take no arguments.")
