"""Expressions of a declaration as columns of its query, and their values for a row."""

from __future__ import annotations

from typing import Any, Literal

from django.core.exceptions import ImproperlyConfigured
from django.db.models import Model, QuerySet

from django_sitemaps09.routes import Route, is_expression

Field = Literal["location", "lastmod", "changefreq", "priority"]
FIELDS: tuple[Field, ...] = ("location", "lastmod", "changefreq", "priority")


def alias(name: str, position: int = 0) -> str:
    """The reserved name under which the declared expressions of a field are read."""
    return f"_sitemaps09_{name}_{position}"


def declared_expressions(sitemap: object) -> dict[str, Any]:
    """All expressions of a sitemap's hooks by their reserved names, those of a `Route` in its order."""
    found: dict[str, Any] = {}
    for name in FIELDS:
        value = getattr(sitemap, name, None)
        expressions = value.expressions if isinstance(value, Route) else [value]
        for position, expression in enumerate(filter(is_expression, expressions)):
            found[alias(name, position)] = expression
    return found


def annotated(sitemap: object, items: Any) -> Any:
    """Items that carry the values of the declared expressions."""
    expressions = declared_expressions(sitemap)
    if not expressions:
        return items
    if not isinstance(items, QuerySet):
        raise ImproperlyConfigured(
            f"{type(sitemap).__qualname__} declares query expressions, but its items() are no "
            "queryset: return one, or make the hooks methods that take the item."
        )
    # Django annotates no union; its rows are asked for their values one by one.
    return items if items.query.combinator else items.annotate(**expressions)


def declared_value(value: Any, name: str, item: Any) -> Any:
    """The value of a field that is declared as a `Route` or an expression, for an item."""
    if isinstance(value, Route):
        parts = enumerate(value.expressions)
        return value.url([column(part, alias(name, i), item) for i, part in parts])
    return column(value, alias(name), item)


def column(expression: Any, name: str, item: Any) -> Any:
    """The value of an expression for a row: its annotation, or else what a query of its own gives.

    A row has no annotation where the project paginates `items()` itself, or makes a union of them.
    """
    if isinstance(item, dict):
        return item[name]
    if not isinstance(item, Model):
        raise ImproperlyConfigured(
            f"Query expressions need rows of a model, not {type(item).__name__} objects: let items() give "
            "instances, or make the hooks methods that take the item."
        )
    if not hasattr(item, name):
        rows = type(item)._base_manager.using(item._state.db).filter(pk=item.pk)
        setattr(item, name, rows.values_list(expression, flat=True).get())
    return getattr(item, name)
