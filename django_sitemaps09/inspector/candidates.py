"""Find the sections that can contain a URL: its path is resolved, and compared with their locations."""

from __future__ import annotations

from typing import Any
from urllib.parse import unquote

from django.db.models import F, Model
from django.urls import Resolver404, ResolverMatch, get_script_prefix, resolve
from django.utils import translation

from django_sitemaps09.conf import conf
from django_sitemaps09.hooks.expressions import alias
from django_sitemaps09.routes import Route, is_expression


def resolve_path(location: str) -> ResolverMatch | None:
    """Return the view of a path, which can have a query; `None` if the URLconf does not have the path."""
    path, prefix = unquote(location.partition("?")[0]), get_script_prefix()
    if not path.startswith(prefix):
        return None
    path = f"/{path.removeprefix(prefix)}"
    # Patterns of i18n_patterns() only match in the language of their prefix.
    with translation.override(translation.get_language_from_path(path) or conf.language):
        try:
            return resolve(path)
        except Resolver404:
            return None


def route_conditions(route: Route, match: ResolverMatch) -> dict[str, Any] | None:
    """Return conditions for the rows that have the matched path; `None` if the route has other paths.

    The names of the conditions are the aliases of the expressions in the route.
    """
    if isinstance(route.viewname, str):
        # A namespace can be that of an app or of an instance, so the found location is compared later.
        if route.viewname.rpartition(":")[2] != match.url_name:
            return None
    elif route.viewname is not match.func:
        return None
    if route.args:
        captured_values = match.args or tuple(_captured(match).values())
        if len(captured_values) != len(route.args):
            return None
    else:
        if not route.kwargs.keys() <= match.kwargs.keys():
            return None
        captured_values = tuple(match.kwargs[name] for name in route.kwargs)
    conditions: dict[str, Any] = {}
    for declared_value, value in zip(route.values, captured_values, strict=True):
        if is_expression(declared_value):
            conditions[alias("location", len(conditions))] = value
        elif str(declared_value) != str(value):
            return None
    return conditions


def _captured(match: ResolverMatch) -> dict[str, Any]:
    """Return the values captured from the path, without those that the pattern adds."""
    captured: dict[str, Any] | None = match.captured_kwargs  # type: ignore[attr-defined]
    return captured or {}


def field_conditions(model: type[Model], match: ResolverMatch) -> dict[str, Any] | None:
    """Return conditions for the rows of a model whose fields have the values captured from a path.

    This is a guess for locations that a method returns. Return `None` unless one of the fields has an
    index, because the query would read the whole table.
    """
    fields = _fields(model)
    conditions = {name: value for name, value in _captured(match).items() if name in fields}
    return conditions if any(_has_index(fields[name]) for name in conditions) else None


def column_conditions(model: type[Model], location: F, url: str) -> dict[str, Any] | None:
    """Return the condition for the rows whose location is a column with an index, else `None`."""
    name: str = location.name  # type: ignore[attr-defined]
    field = _fields(model).get(name)
    if field is None or not _has_index(field):
        return None
    path = f"/{url.partition('://')[2].partition('/')[2]}"
    return {f"{name}__in": list(dict.fromkeys((path, unquote(path), url, unquote(url))))}


def _fields(model: type[Model]) -> dict[str, Any]:
    fields: dict[str, Any] = {field.attname: field for field in model._meta.concrete_fields}
    fields |= {field.name: field for field in model._meta.concrete_fields}
    return fields | {"pk": model._meta.pk}


def _has_index(field: Any) -> bool:
    return bool(field.primary_key or field.unique or field.db_index)
