"""Conditions for the rows that can have a URL, from the pattern of their locations."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any
from urllib.parse import unquote

from django.db.models import F, Model
from django.urls import ResolverMatch
from django.utils import translation
from django.utils.encoding import iri_to_uri

from django_sitemaps09.declare.expressions import LocationTemplate, alias, is_expression
from django_sitemaps09.declare.locations import Candidate, PathTemplate, ResolvedPath, Route

# The scheme and the host of an absolute URL, if a path follows.
_ORIGIN = re.compile("^https?://[^/]+(?=/)", re.IGNORECASE)


def template_conditions(
    template: LocationTemplate, resolved: ResolvedPath, url: str
) -> list[dict[str, Any]] | None:
    """Return conditions for the rows that can have a URL: one dict for each way to read values from it.

    The list is empty if no row can have the URL. Return `None` if only the locations of all rows can tell,
    as for an unknown kind of template.
    """
    with translation.override(resolved.language):
        if isinstance(template, PathTemplate):
            return path_conditions(template, url)
        return route_conditions(template, resolved) if isinstance(template, Route) else None


def path_conditions(template: PathTemplate, url: str) -> list[dict[str, Any]] | None:
    """Return the `template_conditions()` of a path template."""
    # A value can contain the text between two fields, so the URL is split at its first and its last places.
    # A value can also contain escapes, so these are read both as characters and as they are.
    literals, positions, _ = template.compiled()
    literals = [_ORIGIN.sub("", literals[0]), *literals[1:]]
    if literals[0][:1] != "/" or "%" in "".join(literals):
        return None
    path, names = path_of(url), [alias("location", position) for position in positions]
    results: list[dict[str, Any]] = []
    for text, parts in ((unquote(path), literals), (path, list(map(iri_to_uri, literals)))):
        backwards = _split(text[::-1], [part[::-1] for part in reversed(parts)])
        for values in (_split(text, parts), backwards and [value[::-1] for value in reversed(backwards)]):
            conditions = None if values is None else dict(zip(names, values, strict=True))
            if conditions is not None and conditions not in results:
                results.append(conditions)
    return results or (None if "%" in path else [])


def _split(text: str, literals: Sequence[str]) -> list[str] | None:
    """Return the texts between the literals, each as short as possible; `None` if the literals differ."""
    # A regular expression could take exponentially long.
    first, *others = literals
    if not others:
        return [] if text == first else None
    *middle, last = others
    if not (text.startswith(first) and text[len(first) :].endswith(last)):
        return None
    rest, values = text[len(first) : len(text) - len(last)], []
    for literal in middle:
        value, separator, rest = rest.partition(literal) if literal else ("", "", rest)
        if separator != literal:
            return None
        values.append(value)
    return [*values, rest]


def route_conditions(route: Route, resolved: ResolvedPath) -> list[dict[str, Any]]:
    """Return the `template_conditions()` of a route in the current language."""
    # The URLconf is not asked: another of its patterns can match the path first.
    for candidate in route.compiled().candidates:
        match = candidate.regex.search(resolved.path)
        conditions = None if match is None else _conditions(route, candidate, match)
        if conditions is not None:
            return [conditions]
    return []


def _conditions(route: Route, candidate: Candidate, match: re.Match[str]) -> dict[str, Any] | None:
    captured_texts: dict[str, Any] = match.groupdict()
    if not captured_texts:
        # Django gives these names to groups without a name.
        captured_texts = {f"_{position}": text for position, text in enumerate(match.groups())}
    conditions: dict[str, Any] = {}
    for name, declared_value in zip(candidate.names, route.values, strict=True):
        value = captured_texts.get(name, candidate.defaults.get(name))
        if name in captured_texts and name in candidate.converters:
            try:
                value = candidate.converters[name].to_python(value)
            except ValueError:
                return None
        if is_expression(declared_value):
            conditions[alias("location", len(conditions))] = value
        elif str(declared_value) != str(value):
            return None
    return conditions


def field_conditions(model: type[Model], match: ResolverMatch) -> list[dict[str, Any]] | None:
    """Return conditions for the rows of a model whose fields have the values captured from a path.

    This is a guess for locations that a method returns. Return `None` if none of the fields has an index,
    because the query would then read the whole table.
    """
    are_indexed = _are_indexed(model)
    # The values without the additional arguments of the pattern.
    captured: dict[str, Any] = match.captured_kwargs or {}  # type: ignore[attr-defined]
    conditions = {name: value for name, value in captured.items() if name in are_indexed}
    return [conditions] if any(map(are_indexed.get, conditions)) else None


def column_conditions(model: type[Model], location: F, url: str) -> list[dict[str, Any]] | None:
    """Return the condition for the rows whose location is a column with an index, else `None`."""
    name: str = location.name  # type: ignore[attr-defined]
    if not _are_indexed(model).get(name):
        return None
    # A location without a scheme begins with two slashes.
    texts = (path_of(url), url, url.partition(":")[2])
    forms = (form for text in texts for form in (text, unquote(text)))
    return [{f"{name}__in": list(dict.fromkeys(forms))}]


def path_of(url: str) -> str:
    """Return the path and the query of an absolute URL."""
    return f"/{url.partition('://')[2].partition('/')[2]}"


def _are_indexed(model: type[Model]) -> dict[str, bool]:
    """Return whether each field has an index, by the names that a filter can have for it."""
    fields: Any = model._meta.concrete_fields
    are_indexed = {"pk": True}
    for column in fields:
        are_indexed[column.name] = are_indexed[column.attname] = column.unique or column.db_index
    return are_indexed
