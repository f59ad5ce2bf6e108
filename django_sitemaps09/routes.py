"""`Route`: a named URL pattern with constants and query expressions for its arguments."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

from django.urls import URLResolver, get_resolver, get_script_prefix, get_urlconf, reverse
from django.utils.translation import get_language

from django_sitemaps09.entries import Composed
from django_sitemaps09.patterns import Candidate, candidates


def is_expression(value: object) -> bool:
    """Whether a value is a query expression: `F`, `Case`, `Coalesce`, ..."""
    return hasattr(value, "resolve_expression")


class Route:
    """The location of each item, by the name of a URL pattern: `Route("article", slug=F("slug"))`.

    Plain values are constants, query expressions are columns of the section's query. What comes out
    is always what `reverse(viewname, args, kwargs)` gives for the values of the row, errors included,
    under the language, urlconf and script prefix that are active where it is called.
    """

    __slots__ = ("args", "kwargs", "viewname")

    def __init__(self, viewname: str, /, *args: Any, **kwargs: Any) -> None:
        if args and kwargs:
            raise ValueError(
                f"Route({viewname!r}): reverse() takes positional or keyword arguments, not both."
            )
        self.viewname = viewname
        self.args = args
        self.kwargs = kwargs

    def __repr__(self) -> str:
        parts = [repr(self.viewname), *map(repr, self.args)]
        parts += [f"{name}={value!r}" for name, value in self.kwargs.items()]
        return f"Route({', '.join(parts)})"

    @property
    def values(self) -> tuple[Any, ...]:
        """The arguments, constants and expressions, in their order."""
        return self.args or tuple(self.kwargs.values())

    @property
    def expressions(self) -> list[Any]:
        """The arguments that are query expressions, in the order in which `url` wants their values."""
        return [value for value in self.values if is_expression(value)]

    def url(self, values: Iterable[object]) -> str:
        """The path for the values of a row's expressions. `NoReverseMatch` as `reverse()` raises it."""
        return self.compiled().url(values)

    def compiled(self) -> CompiledRoute:
        """For the urlconf, the language and the script prefix that are active now."""
        resolver = get_resolver(get_urlconf())
        shape = (self.viewname, len(self.args), tuple(self.kwargs))
        prefix = get_script_prefix()
        known = _compiled.setdefault(resolver, {})
        key = (*shape, get_language(), prefix)
        found = known.get(key)
        if found is None:
            if len(known) >= _MOST_COMPILED:
                known.clear()
            found = known[key] = candidates(resolver, *shape, prefix)
        return CompiledRoute(self, found)


class CompiledRoute(NamedTuple):
    """A `Route` with all that `reverse()` would try for it, in its order."""

    route: Route
    candidates: Sequence[Candidate]

    def url(self, values: Iterable[object]) -> str:
        """The path for the values of a row's expressions. `NoReverseMatch` as `reverse()` raises it."""
        route, remaining = self.route, iter(values)
        filled = [next(remaining) if is_expression(value) else value for value in route.values]
        try:
            for candidate in self.candidates:
                if (url := candidate.url(filled)) is not None:
                    return url
        except Exception:  # noqa: BLE001, S110 whatever it is, reverse() raises it too
            pass
        if route.args:
            return reverse(route.viewname, args=filled)
        return reverse(route.viewname, kwargs=dict(zip(route.kwargs, filled, strict=True)))

    def composed(self, columns: Sequence[Sequence[object]], base: str = "") -> Composed | None:
        """`base` and the path for each row of the columns, one for each of the route's expressions.

        `None` where a row has to be looked at by itself: one that `reverse()` refuses, for example.
        """
        parts = self.candidates[0].parts if self.candidates else None
        if parts is None or not columns or not columns[0]:
            return None
        remaining = iter(columns)
        values = [next(remaining) if is_expression(value) else None for value in self.route.values]
        constants = dict(zip(self.candidates[0].names, self.route.values, strict=True))
        arguments = dict(zip(self.candidates[0].names, values, strict=True))
        literals, texts = [base + parts.literals[0]], []
        for name, text_of, literal in zip(parts.names, parts.texts, parts.literals[1:], strict=True):
            column = arguments[name]
            text = text_of([constants[name]] if column is None else column)
            if text is None:
                return None
            if column is None:
                literals[-1] += text[0] + literal
            else:
                literals.append(literal)
                texts.append(text)
        return Composed(literals, texts)


# Of one resolver. A script prefix can be what a client says, on some servers.
_MOST_COMPILED = 1_000
# Kept by resolver, not by class: another URLconf, or the next test's, has another one.
_compiled: WeakKeyDictionary[URLResolver, dict[tuple[Any, ...], tuple[Candidate, ...]]] = (
    WeakKeyDictionary()
)
