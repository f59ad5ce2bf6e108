"""Hints for slow sections: which steps took the time, and what to declare instead."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from inspect import getattr_static

from django.db.models import Model, QuerySet

from django_sitemaps09.declare.base import CONTRIB_INTERNALS, Sitemap, is_original
from django_sitemaps09.declare.calls import Costs, Step
from django_sitemaps09.declare.expressions import FIELDS, HOOKS
from django_sitemaps09.orm.facts import Facts
from django_sitemaps09.rows.members import Members
from django_sitemaps09.rows.positions import PositionSource
from django_sitemaps09.rows.queryset import has_key_ranges
from django_sitemaps09.rows.source_base import Source

# Smaller sections are always fast, and their times are noise.
_WORTH_TIMING = 1_000
# The smallest share of a section's time at which a step gets a hint.
_SHARE = 0.05
# The smallest share at which reading items gets a hint, since reading always takes time.
_SHARE_OF_READING = 0.25
_NEVER = float("inf")
# Minimum number of N+1 queries, in total and per item. A prefetch runs one query per slice.
_MANY_QUERIES = 10
_QUERIES_PER_ITEM = 0.1

# Hooks that cannot be declared as expressions.
_WITHOUT_COLUMNS: tuple[Step, ...] = (*HOOKS, "x_default", "extensions")
_CALLS = {"items": "items()", "languages": "get_languages_for_item()", "get_urls": "get_urls()"}
_SUGGEST = "manage.py suggest_sitemaps looks for a declaration with the same output."
# Kinds of items whose rows are not read as columns.
_UNION, _LIST, _EVALUATED, _OBJECTS = "a union", "a list of rows", "an evaluated queryset", "a list"
_IN_MEMORY = (_LIST, _EVALUATED, _OBJECTS)
_WITHOUT_EXPRESSIONS = (_UNION, *_IN_MEMORY)


def hints(source: Source, costs: Costs, urls: int = 0) -> tuple[str, ...]:
    """Return a line for each slow step, the slowest first, then a line for a slow queryset."""
    items = max((cost.items for cost in costs.steps.values()), default=0)
    lines, kind = [], _kind(source)
    for step, cost in sorted(costs.steps.items(), key=lambda entry: -entry[1].seconds):
        taken, total = (seconds / max(items, 1) * 1e6 for seconds in (cost.seconds, costs.seconds))
        # Not every terminal can display the micro sign, so use the word.
        time = f"{taken:.1f} of the {total:.1f} microseconds spent per item"
        if cost.queries >= _MANY_QUERIES and cost.queries > _QUERIES_PER_ITEM * items > 0:
            name, advice = _query_hint(step, source, kind)
            queries = f"{cost.queries / items:.1f} queries per item"
            lines.append(f"{name} runs {queries} and takes {time}: {cost.sql}. {advice}")
        elif items >= _WORTH_TIMING and cost.seconds >= _min_share(step, kind) * costs.seconds:
            problem, advice = _slow_hint(step, source, kind, costs)
            lines.append(f"{problem}: this takes {time}. {advice}")
    if urls >= _WORTH_TIMING and has_key_ranges(source):
        lines += _queryset_hints(source.members)
    return tuple(lines)


def has_suggestible(hint_lines: Iterable[str]) -> bool:
    """Return whether a hint names a hook that `suggest_sitemaps` may be able to replace."""
    return any(line.endswith(_SUGGEST) for line in hint_lines)


def _queryset_hints(members: Members) -> list[str]:
    """Return a hint for a queryset whose rows are slow to select, with a factor from our benchmarks."""
    if members.looks_beyond:
        problem, factor = "The queryset has a window function", "1.5 to 4"
    elif members.original is not None:
        problem, factor = "The queryset joins a multi-valued relation", "1 to 3.5"
    elif members.are_grouped:
        problem, factor = "The queryset or a declared expression has an aggregate", "1.5 to 4"
    else:
        return []
    return [
        f"{problem}: in benchmarks, this took {factor} times as long as a plain queryset of the same table "
        "with integer keys. If possible, filter by Exists(), or by columns of the model itself."
    ]


def _min_share(step: Step, kind: str) -> float:
    """Return the share of a section's time from which on a step gets a hint."""
    if step == "positions" or (step == "items" and kind in _IN_MEMORY):
        return _SHARE_OF_READING
    # The step "items" reads no rows if items() returns a queryset. Only rows can have expressions.
    return _NEVER if step in ("items", *_WITHOUT_COLUMNS) or kind == _OBJECTS else _SHARE


def _slow_hint(step: Step, source: Source, kind: str, costs: Costs) -> tuple[str, str]:
    name, sitemap = _name(step, source), source.declared.sitemap
    if step == "get_urls":
        problem, advice = opaque_reason(sitemap)
        return f"{problem[0].lower()}{problem[1:-1]}", advice
    if step == "items" and kind == _EVALUATED:
        problem = f"{type(sitemap).__qualname__}.items() evaluates its queryset"
        return problem, "Test for rows by exists(), so that they are read by key ranges."
    if step == "items":
        return "items() returns a list", "If its items are rows, return the queryset instead."
    if step == "positions":
        problem = f"items() returns {kind}, which is paginated by position"
        return problem, "Return a plain queryset, which is read by key ranges."
    if step == "instances":
        steps = (*FIELDS, "languages", *_WITHOUT_COLUMNS)
        methods = [_CALLS.get(name, name) for name in steps if name in costs.steps]
        verb = "is a method" if len(methods) == 1 else "are methods"
        problem = f"model instances are created, because {_join_names(methods)} {verb}"
        return problem, "If every hook is a constant or an expression, only columns are read."
    if step == "languages":
        return f"{name} is called for each item", "Remove it if all items have the same languages."
    problem = f"{step} is a method" if name == step else f"{step} calls {name} for each item"
    if kind in _WITHOUT_EXPRESSIONS:
        return problem, f"The items come from {kind}: expressions need a plain queryset."
    if step == "location":
        return problem, f'Declare location = Route("viewname", ...) with F() expressions. {_SUGGEST}'
    return problem, f'Declare {step} = F("field"), another expression, or a constant. {_SUGGEST}'


def _query_hint(step: Step, source: Source, kind: str) -> tuple[str, str]:
    """Return the name of a step that queries the database for each item, and what to do instead."""
    if step in ("instances", "positions"):
        return "reading rows", "Check __init__(), from_db() and the signals of the model."
    advice = "Add select_related() or prefetch_related() to the queryset"
    if step in FIELDS and kind not in _WITHOUT_EXPRESSIONS:
        column = 'F("relation__field")'
        advice += f", or declare a Route with {column}" if step == "location" else f", or declare {column}"
    return _name(step, source), f"{advice}."


def opaque_reason(sitemap: object) -> tuple[str, str]:
    """Return why a sitemap is opaque, and what to do, as two sentences."""
    kind = type(sitemap).__qualname__
    if isinstance(sitemap, Sitemap):
        names = [name for name in CONTRIB_INTERNALS if not is_original(sitemap, name)]
        reason = f"{kind} overrides {_join_names(names)}"
        advice = (
            "Without the override, a queryset is read by key ranges, and expressions are read as columns."
        )
    else:
        reason = f"{kind} does not inherit from django_sitemaps09's Sitemap"
        advice = "If the class is yours, import its base class from django_sitemaps09."
    return f"The section is read through get_urls(), because {reason}.", advice


def _name(step: Step, source: Source) -> str:
    """Return the name of the method that is called in a step."""
    hooks, sitemap = ("location", "default_location"), source.declared.sitemap
    if step == "location" and all(
        getattr_static(sitemap, hook) is getattr_static(Sitemap, hook) for hook in hooks
    ):
        return "get_absolute_url()"
    return _CALLS.get(step, step)


def _kind(source: Source) -> str:
    if not isinstance(source, PositionSource):
        return "a plain queryset"
    if not isinstance(source.items, QuerySet):
        if source.conversion.expressions:
            # Only a queryset has expressions. A sliced, ordered union is read as a list.
            return _UNION
        return _LIST if source.items and isinstance(source.items[0], Model) else _OBJECTS
    own = Facts(source.items)
    if own.is_fetched:
        return _EVALUATED
    if own.is_combined:
        return _UNION
    if own.is_limited:
        return "a slice" if own.is_sliced else "a queryset with distinct(fields)"
    return "a queryset without key ranges" if own.can_reorder else "a values() queryset"


def _join_names(names: Sequence[str]) -> str:
    return " and ".join([", ".join(names[:-1]), *names[-1:]] if len(names) > 1 else names)
