"""Routes: named URL patterns with constants and query expressions as arguments."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

from django.urls import URLResolver, get_resolver, get_script_prefix, get_urlconf, reverse
from django.utils.translation import get_language

from django_sitemaps09.entries import TemplateColumn
from django_sitemaps09.routing.location_templates import LocationTemplate, is_expression
from django_sitemaps09.routing.reverse_templates import Candidate, candidates


class Route(LocationTemplate):
    """The locations of items by the name of a URL pattern, such as `Route("article", slug=F("slug"))`.

    Query expressions become columns of the section's query, and other values are constants. Paths and
    errors are always the same as those of `reverse()` with the values of a row. They depend on the active
    language, URLconf and script prefix.
    """

    __slots__ = ()

    def __init__(self, viewname: str, /, *args: Any, **kwargs: Any) -> None:
        if args and kwargs:
            raise ValueError(
                f"Route({viewname!r}): reverse() takes positional or keyword arguments, not both."
            )
        self.pattern, self.args, self.kwargs = viewname, args, kwargs

    @property
    def viewname(self) -> str:
        """The name of the URL pattern."""
        return self.pattern

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
            if len(cache) >= _MAX_COMPILED:
                cache.clear()
            matches = cache[key] = candidates(resolver, *shape, prefix)
        return CompiledRoute(self, matches)


class CompiledRoute(NamedTuple):
    """A `Route` with the path templates that `reverse()` tries for it, in the same order."""

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
        except Exception:  # noqa: BLE001, S110 reverse() raises the same error
            pass
        if route.args:
            return reverse(route.viewname, args=arguments)
        return reverse(route.viewname, kwargs=dict(zip(route.kwargs, arguments, strict=True)))

    def compose(self, columns: Sequence[Sequence[object]], base: str = "") -> TemplateColumn | None:
        """Return the URL of each row: `base` and the path. There is one column for each expression.

        Return `None` if `url()` must be called for each row, for example because `reverse()` might raise
        an error.
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


# Maximum number of entries for each resolver. On some servers, clients can add entries by setting script
# prefixes.
_MAX_COMPILED = 1_000
# Compiled routes by resolver. Each URLconf has a resolver, for example the URLconf of a test.
_compiled_routes: WeakKeyDictionary[URLResolver, dict[tuple[Any, ...], tuple[Candidate, ...]]] = (
    WeakKeyDictionary()
)
