"""Hints for the slow: what the time of a section went to, and what to declare instead."""

from __future__ import annotations

from collections.abc import Sequence
from inspect import getattr_static
from typing import Any

from django.db.models import Model, QuerySet

from django_sitemaps09.hooks.expressions import FIELDS
from django_sitemaps09.hooks.extensions import HOOKS
from django_sitemaps09.queryset_traits import can_reorder
from django_sitemaps09.sitemaps import CONTRIB_INTERNALS, Sitemap, is_original
from django_sitemaps09.sources import Source, has_key_ranges
from django_sitemaps09.sources.get_urls import UrlsSource
from django_sitemaps09.sources.positions import PositionSource
from django_sitemaps09.sources.profiling import Cost, Costs, Step
from django_sitemaps09.sources.rows.members import Members

# A smaller section is written before anybody waits for it, and its times are noise.
_WORTH_TIMING = 1_000
# What takes less of a section's time is not worth a line.
_SHARE = 0.05
# Items have to be read in any case: to read them in a slow way has to cost more than that.
_SHARE_OF_READING = 0.25
_NEVER = float("inf")
# N+1: so many queries, and one for so many items. A prefetch takes one for a slice.
_MANY_QUERIES = 10
_QUERIES_PER_ITEM = 0.1

# What can be a method and nothing else.
_WITHOUT_COLUMNS: tuple[Step, ...] = (*HOOKS, "x_default", "extensions")
_CALLS: dict[Step, str] = {
    "items": "items()",
    "languages": "get_languages_for_item()",
    "get_urls": "get_urls()",
}
# Kinds of items that no expression can be declared for.
_UNION, _LIST, _OBJECTS = "a union", "a list of rows", "a list"


def hints(source: Source, costs: Costs, urls: int = 0) -> tuple[str, ...]:
    """One line of text for each step that is worth it, the costliest first, and one for slow querysets."""
    items = max((cost.items for cost in costs.steps.values()), default=0)
    found = []
    for step, cost in sorted(costs.steps.items(), key=lambda entry: -entry[1].seconds):
        if cost.queries >= _MANY_QUERIES and cost.queries > _QUERIES_PER_ITEM * items > 0:
            what, instead = _asking(step, source)
            what += f" ran {cost.queries / items:.1f} queries an item, which took"
            found.append(f"{what} {_time(cost, costs, items)}: {cost.sql}. {instead}")
        elif items >= _WORTH_TIMING and cost.seconds >= _least(step, source) * costs.seconds:
            what, instead = _slow(step, source, costs)
            found.append(f"{what}: {_time(cost, costs, items)} an item. {instead}")
    if urls >= _WORTH_TIMING and has_key_ranges(source):
        found += _form(source.members)
    return tuple(found)


def _form(members: Members) -> list[str]:
    """Return a hint for rows that are costly to choose, with the factor of the project's benchmark."""
    if members.looks_beyond:
        what, factor = "The queryset has a window function", "1.5 to 4"
    elif members.written is not None:
        what, factor = "The queryset joins many rows to one", "1 to 3.5"
    elif members.are_grouped:
        what, factor = "The queryset or a declared expression has an aggregate", "1.5 to 4"
    else:
        return []
    return [
        f"{what}: benchmarks measured {factor} times the time of a plain queryset of its table "
        "with integer keys. Where you can, filter by Exists(), or by columns of the model itself."
    ]


def _time(cost: Cost, costs: Costs, items: int) -> str:
    # In words: not every terminal can write the sign for micro, and the report must not fail there.
    return f"{cost.seconds / items * 1e6:.1f} of {costs.seconds / items * 1e6:.1f} microseconds"


def _least(step: Step, source: Source) -> float:
    """The share of a section's time from which a step is worth a line."""
    kind = _kind(source)
    if step == "items":
        # What gives a queryset has read no row yet.
        return _SHARE_OF_READING if kind in (_LIST, _OBJECTS) else _NEVER
    if step == "positions":
        return _SHARE_OF_READING
    if step in _WITHOUT_COLUMNS:
        return _NEVER
    # For what is no row there is nothing to declare.
    return _NEVER if kind == _OBJECTS else _SHARE


def _slow(step: Step, source: Source, costs: Costs) -> tuple[str, str]:
    """Return the name of a step that takes long, and what to do instead."""
    if step == "get_urls":
        return _own_urls(_sitemap(source))
    if step == "items":
        return "items() gives a list", "Where its items are rows, let it return the queryset."
    if step == "positions":
        what = f"items() gives {_kind(source)}, whose rows are paged by position"
        return what, "A plain queryset is read by ranges of its key."
    if step == "instances":
        named = (*FIELDS, "languages", *_WITHOUT_COLUMNS)
        methods = [_CALLS.get(name, name) for name in named if name in costs.steps]
        are = "is a method" if len(methods) == 1 else "are methods"
        what = f"instances are made, since {_listed(methods)} {are}"
        return what, "Where every hook is a constant or an expression, only columns are read."
    name = _name(step, source)
    if step == "languages":
        return f"{name} is a method", "Leave it out where all items have the same languages."
    what = f"{step} is a method" if name == step else f"{step} is a method, {name}"
    if not _has_columns(source):
        return what, f"The items are {_kind(source)}: expressions need a plain queryset."
    if step == "location":
        return what, 'Declare location = Route("viewname", ...) with F() expressions.'
    return what, f'Declare {step} = F("field"), or another expression, or a constant.'


def _asking(step: Step, source: Source) -> tuple[str, str]:
    """Return the name of a step that queries the database for each item, and what to do about it."""
    if step in ("instances", "positions"):
        return "reading rows", "Look at __init__(), from_db() and the signals of the model."
    instead = "Add select_related() or prefetch_related() to the queryset"
    if step in FIELDS and _has_columns(source):
        column = 'F("relation__field")'
        instead += f", or declare a Route with {column}" if step == "location" else f", or declare {column}"
    return _name(step, source), f"{instead}."


def _own_urls(sitemap: Any) -> tuple[str, str]:
    kind = type(sitemap).__qualname__
    if not isinstance(sitemap, Sitemap):
        what = f"read through its own get_urls(), since {kind} is no Sitemap of django_sitemaps09"
        return what, "Where the class is yours, import its base from there."
    names = [name for name in CONTRIB_INTERNALS if not is_original(sitemap, name)]
    what = f"read through its own get_urls(), since {kind} overrides {_listed(names)}"
    return what, "Without that, a queryset is read by ranges of its key, and expressions as columns."


def _name(step: Step, source: Source) -> str:
    """A step by what is called for it."""
    hooks = ("location", "default_location")
    if step == "location" and all(_inherited(_sitemap(source), hook) for hook in hooks):
        return "get_absolute_url()"
    return _CALLS.get(step, step)


def _inherited(sitemap: Any, name: str) -> bool:
    return getattr_static(sitemap, name) is getattr_static(Sitemap, name)


def _sitemap(source: Any) -> Any:
    return source.sitemap if isinstance(source, UrlsSource) else source.declaration.sitemap


def _has_columns(source: Source) -> bool:
    return not isinstance(source, UrlsSource) and _kind(source) not in (_UNION, _LIST, _OBJECTS)


def _kind(source: Source) -> str:
    """Return what kind of items the source has."""
    if not isinstance(source, PositionSource):
        return "a plain queryset"
    if not isinstance(source.items, QuerySet):
        if source.declaration.expressions:
            # Only rows have any: those of a slice of a union are listed at once.
            return _UNION
        return _LIST if source.items and isinstance(source.items[0], Model) else _OBJECTS
    query = source.items.query
    if query.combinator:
        return _UNION
    if query.is_sliced:
        return "a slice"
    if query.distinct_fields:
        return "distinct() on fields"
    return "rows without ranges of a key" if can_reorder(source.items) else "values()"


def _listed(names: Sequence[str]) -> str:
    return " and ".join([", ".join(names[:-1]), *names[-1:]] if len(names) > 1 else names)
