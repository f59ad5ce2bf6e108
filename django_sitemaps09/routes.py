"""`Route`: a named URL pattern with constants and query expressions for its arguments."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

from django.urls import URLResolver, get_resolver, get_script_prefix, get_urlconf, reverse
from django.utils.translation import get_language

from django_sitemaps09.entries import TemplateColumn
from django_sitemaps09.patterns import Candidate, candidates


def is_expression(value: object) -> bool:
    """Return whether a value is a query expression: `F`, `Case`, `Coalesce`, ..."""
    # Looked up on the class: a mock, which tests of a project put in place of a method, has any attribute.
    return hasattr(type(value), "resolve_expression")


class Route:
    """The location of each item, by the name of a URL pattern: `Route("article", slug=F("slug"))`.

    Plain values are constants, and query expressions are columns of the section's query. The result is
    always that of `reverse()` for the values of the row, including its errors. It depends on the language,
    URLconf and script prefix that are active at the call.
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
        """The arguments that are query expressions, in the order in which `url` expects their values."""
        return [value for value in self.values if is_expression(value)]

    def url(self, values: Iterable[object]) -> str:
        """Return the path for the values of a row's expressions. Raise the errors of `reverse()`."""
        return self.compiled().url(values)

    def compiled(self) -> CompiledRoute:
        """Return the route compiled for the active URLconf, language and script prefix."""
        resolver = get_resolver(get_urlconf())
        shape = (self.viewname, len(self.args), tuple(self.kwargs))
        prefix = get_script_prefix()
        cache = _compiled_routes.setdefault(resolver, {})
        key = (*shape, get_language(), prefix)
        matches = cache.get(key)
        if matches is None:
            if len(cache) >= _MOST_COMPILED:
                cache.clear()
            matches = cache[key] = candidates(resolver, *shape, prefix)
        return CompiledRoute(self, matches)


class CompiledRoute(NamedTuple):
    """A `Route` with all candidates that `reverse()` would try for it, in the same order."""

    route: Route
    candidates: Sequence[Candidate]

    def url(self, values: Iterable[object]) -> str:
        """Return the path for the values of a row's expressions. Raise the errors of `reverse()`."""
        route, remaining = self.route, iter(values)
        arguments = [next(remaining) if is_expression(value) else value for value in route.values]
        try:
            for candidate in self.candidates:
                if (url := candidate.url(arguments)) is not None:
                    return url
        except Exception:  # noqa: BLE001, S110 whatever it is, reverse() raises it too
            pass
        if route.args:
            return reverse(route.viewname, args=arguments)
        return reverse(route.viewname, kwargs=dict(zip(route.kwargs, arguments, strict=True)))

    def compose(self, columns: Sequence[Sequence[object]], base: str = "") -> TemplateColumn | None:
        """Return `base` and the path for each row of the columns, one column for each expression.

        Return `None` if rows must be handled one by one: for example, if `reverse()` might refuse one.
        """
        parts = self.candidates[0].parts if self.candidates else None
        if parts is None or not columns or not columns[0]:
            return None
        remaining = iter(columns)
        values = [next(remaining) if is_expression(value) else None for value in self.route.values]
        constants = dict(zip(self.candidates[0].names, self.route.values, strict=True))
        arguments = dict(zip(self.candidates[0].names, values, strict=True))
        literals, texts = [base + parts.literals[0]], []
        for name, convert, literal in zip(parts.names, parts.texts, parts.literals[1:], strict=True):
            column = arguments[name]
            text = convert([constants[name]] if column is None else column)
            if text is None:
                return None
            if column is None:
                literals[-1] += text[0] + literal
            else:
                literals.append(literal)
                texts.append(text)
        return TemplateColumn(literals, texts)


# For each resolver. The number is limited, as on some servers a client can set the script prefix.
_MOST_COMPILED = 1_000
# Kept by resolver: another URLconf, such as that of the next test, has another one.
_compiled_routes: WeakKeyDictionary[URLResolver, dict[tuple[Any, ...], tuple[Candidate, ...]]] = (
    WeakKeyDictionary()
)
