"""The kinds of locations: `PathTemplate`, a format string, and `Route`, a named URL pattern.

For whole columns, a route uses the path templates that `reverse()` tries for the name of a pattern.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import date, time
from numbers import Number
from string import Formatter
from typing import Any, NamedTuple, NoReturn, TypeAlias
from urllib.parse import quote, unquote
from uuid import UUID
from weakref import WeakKeyDictionary

from django import urls
from django.urls import converters as path_converters, reverse
from django.utils.functional import Promise
from django.utils.http import RFC3986_SUBDELIMS, escape_leading_slashes
from django.utils.translation import get_language, get_language_from_path, override

from django_sitemaps09.conf import conf
from django_sitemaps09.declare.expressions import LocationTemplate, is_expression
from django_sitemaps09.orm import internals
from django_sitemaps09.protocol.entries import SafeColumn, TemplateColumn
from django_sitemaps09.protocol.fields import short_repr, typed_repr
from django_sitemaps09.protocol.limits import MAX_LOCATION
from django_sitemaps09.protocol.urls import are_plain, quote_matches

# The characters that `reverse()` does not quote, besides letters, digits and `_.-~`.
_SAFE = f"{RFC3986_SUBDELIMS}/~:@"
_UNSAFE = re.compile(rf"([^A-Za-z0-9_.\-{re.escape(_SAFE)}\n]+)")
# The characters of a slug, which neither `quote()` nor XML changes.
_SLUG = b"-0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz"
_UNQUOTED = _SLUG + b"." + _SAFE.encode()
# The types of constants. A lazy string, which is a Promise, is not evaluated before it is needed.
_CONSTANTS = (str, Number, date, time, UUID, Promise)
# A field in the syntax of path().
_CONVERTER = re.compile(r"<\w+:(\w+)>")
_PARAMETER = re.compile(r"%\((\w+)\)s")


class PathTemplate(LocationTemplate):
    """The locations of items by a format string, such as `PathTemplate("/{slug}/", slug=F("slug"))`.

    A location is the same as that of a method that returns the f-string: each field is replaced by the
    `str()` of its value. A keyword argument is a query expression or a constant: text, a number, a date, a
    time, a UUID or a lazy string. An item is skipped if a value is NULL. The template is a path, or an
    absolute URL on an allowed host.
    """

    __slots__ = ("fields",)

    def __init__(self, template: str, /, *args: NoReturn, **values: Any) -> None:
        self.pattern, self.args, self.kwargs = template, (), values
        #: Pairs of a literal, and of the name of the field after it. After the last one, there is no field.
        self.fields = self._parse()
        if args:
            raise self._error('pass each value as a keyword, such as slug=F("slug")')
        names = [name for _, name in self.fields if name]
        if missing := [name for name in names if name not in values]:
            raise self._error(f'{{{missing[0]}}} has no value: pass {missing[0]}=F("...")')
        if unused := [name for name in values if name not in names]:
            raise self._error(f"remove the argument {unused[0]}, or add {{{unused[0]}}} to the template")
        for name, value in values.items():
            if not (is_expression(value) or isinstance(value, _CONSTANTS)):
                raise self._error(
                    f"the argument {name} is {typed_repr(value)}; pass a query expression, such as "
                    'F("slug"), or text, a number, a date, a time or a UUID'
                )
        if not template.lower().startswith(("/", "https://", "http://")):
            raise self._error("begin the template with a slash, or with https:// and a host")

    def _parse(self) -> list[tuple[str, str | None]]:
        if not isinstance(self.pattern, str):
            kind = type(self.pattern).__name__
            raise self._error(f"the template must be a string, such as '/{{slug}}/', not {kind}")
        try:
            parts = list(Formatter().parse(self.pattern))
        except ValueError as error:
            raise self._error(f"{error}; write a brace as {{{{ or }}}}") from error
        for literal, name, specification, conversion in parts:
            if field_of_path := _CONVERTER.search(literal):
                raise self._error(f"write {{{field_of_path[1]}}}, not {field_of_path[0]}")
            if name is not None and (not name.isidentifier() or specification or conversion):
                field = f"{name}{'!' if conversion else ''}{conversion or ''}"
                field += f":{specification}" if specification else ""
                raise self._error(
                    f"{{{field}}} is not a plain field such as {{slug}}, with its value as a keyword. "
                    "For an attribute or a format, pass a query expression, or define a method"
                )
        return [(literal, name) for literal, name, _, _ in parts]

    def _error(self, problem: str) -> ValueError:
        return ValueError(f"PathTemplate({self.pattern!r}): {problem}.")

    def compiled(self) -> CompiledPath:
        """Return the template with its constants as text, which can depend on the active language."""
        names = [name for name, value in self.kwargs.items() if is_expression(value)]
        literals, positions = [""], []
        for literal, name in self.fields:
            literals[-1] += literal
            if name in names:
                literals.append("")
                positions.append(names.index(name))
            elif name:
                literals[-1] += str(self.kwargs[name])
        text_format = "%s".join(literal.replace("%", "%%") for literal in literals)
        return CompiledPath(literals, positions, text_format)


class CompiledPath(NamedTuple):
    """A `PathTemplate` as literals, and between each two the index of an expression, in the format `%s`."""

    literals: Sequence[str]
    positions: Sequence[int]
    text_format: str

    def url(self, values: Iterable[object]) -> str | None:
        row = tuple(values)
        # Not `None in row`, which calls `__eq__()` of the values.
        if any(value is None for value in row):
            return None
        return self.text_format % tuple([row[position] for position in self.positions])

    def compose(self, columns: Sequence[Sequence[object]]) -> TemplateColumn | None:
        head = self.literals[0]
        if not (columns and columns[0] and re.match("/(?!/)", head) and _are_plain(self.literals)):
            return None
        texts = [text for column in columns if (text := _plain_texts(column)) is not None]
        if len(texts) < len(columns):
            return None
        first = texts[self.positions[0]]
        # A location must not begin with two slashes, and with a host after them.
        if head == "/" and not isinstance(first, SafeColumn) and {"", "/"} & {text[:1] for text in first}:
            return None
        return TemplateColumn(self.literals, [texts[position] for position in self.positions])


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
        if not (isinstance(viewname, str | Promise) or callable(viewname)):
            expected = "the first argument must be the name of a URL pattern"
            raise ValueError(f"Route({short_repr(viewname)}): {expected}, not {type(viewname).__name__}.")
        self.pattern, self.args, self.kwargs = viewname, args, kwargs

    def url(self, values: Iterable[object]) -> str:
        """Return the path for the values of a row's expressions. Raise the errors of `reverse()`."""
        return self.compiled().url(values)

    def compiled(self) -> CompiledRoute:
        """Return the route compiled for the active URLconf, language and script prefix."""
        resolver, prefix = urls.get_resolver(urls.get_urlconf()), urls.get_script_prefix()
        shape = (self.pattern, len(self.args), tuple(self.kwargs))
        cache, key = _compiled_routes.setdefault(resolver, {}), (*shape, get_language(), prefix)
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
        route, remaining = self.route, iter(values)
        arguments = [next(remaining) if is_expression(value) else value for value in route.values]
        try:
            for candidate in self.candidates:
                if (url := candidate.url(arguments)) is not None:
                    return url
        except Exception:  # noqa: BLE001, S110 reverse() raises the same error
            pass
        if route.args:
            return reverse(route.pattern, args=arguments)
        return reverse(route.pattern, kwargs=dict(zip(route.kwargs, arguments, strict=True)))

    def compose(self, columns: Sequence[Sequence[object]]) -> TemplateColumn | None:
        parts = self.candidates[0].parts if self.candidates else None
        if parts is None or not columns or not columns[0]:
            return None
        remaining = iter(columns)
        arguments = dict(zip(self.candidates[0].names, self.route.values, strict=True))
        named_columns = {name: next(remaining) for name, value in arguments.items() if is_expression(value)}
        literals, texts = [parts.literals[0]], []
        for name, convert, literal in zip(parts.names, parts.texts, parts.literals[1:], strict=True):
            text = convert(named_columns.get(name, [arguments[name]]))
            if text is None:
                return None
            if name in named_columns:
                literals.append(literal)
                texts.append(text)
            else:
                literals[-1] += text[0] + literal
        return TemplateColumn(literals, texts)


class ResolvedPath(NamedTuple):
    """Path without escapes and query, with its language and its view, if a URL pattern matches it."""

    path: str
    language: str
    match: urls.ResolverMatch | None


def resolve_path(location: str, urlconf: str | None = None) -> ResolvedPath:
    """Find the language and the view of a path. The path can be followed by a query."""
    path, prefix = unquote(location.partition("?")[0]), urls.get_script_prefix()
    path_info = f"/{path.removeprefix(prefix)}"
    # Patterns of i18n_patterns() only match in the language of their prefix.
    language = get_language_from_path(path_info) or conf.language
    match = None
    if path.startswith(prefix):
        with override(language), suppress(urls.Resolver404):
            match = urls.resolve(path_info, urlconf)
    return ResolvedPath(path, language, match)


# Maximum number for each resolver. On some servers, clients add some by setting script prefixes.
_MAX_COMPILED = 1_000
# Compiled routes by resolver. Each URLconf has a resolver, for example the URLconf of a test.
_compiled_routes = WeakKeyDictionary[urls.URLResolver, "dict[tuple[Any, ...], tuple[Candidate, ...]]"]()

#: Function that quotes a column of values. Returns `None` if the results of `reverse()` might differ.
Texts: TypeAlias = Callable[[Sequence[Any]], "Sequence[str] | None"]


class Parts(NamedTuple):
    """A `path()` pattern with only built-in converters: quoted literals, and the arguments between them.

    If each value matches the regular expression of its converter, the whole path matches the pattern.
    """

    literals: Sequence[str]
    names: Sequence[str]
    texts: Sequence[Texts]


class Candidate(NamedTuple):
    """A path template that `reverse()` tries for the name of a pattern with certain arguments."""

    template: str
    names: Sequence[str]
    defaults: Mapping[str, object]
    converters: Mapping[str, Any]
    regex: re.Pattern[str]
    parts: Parts | None

    def url(self, values: Sequence[object]) -> str | None:
        """Return the quoted path, or `None` if `reverse()` would try the next candidate."""
        texts = {}
        for name, value in zip(self.names, values, strict=True):
            if name in self.defaults and value != self.defaults[name]:
                return None
            if name not in self.converters:
                texts[name] = str(value)
                continue
            try:
                texts[name] = self.converters[name].to_url(value)
            except ValueError:
                return None
        path = self.template % texts
        if self.regex.search(path) is None:
            return None
        return escape_leading_slashes(quote(path, safe=_SAFE))


def candidates(
    resolver: urls.URLResolver, viewname: str, count: int, keywords: Sequence[str], prefix: str
) -> tuple[Candidate, ...]:
    """Return the candidates for `count` positional arguments. If `count` is 0, use `keywords` instead."""
    # Like reverse(), accept a view instead of a name. It has no namespace.
    *path, name = viewname.split(":") if isinstance(viewname, str) else [viewname]
    try:
        resolver = internals.prefixed_resolver(internals.find_namespace(resolver, path))
    except internals.UnknownNamespaceError:
        return ()
    results = []
    try:
        for possibilities, regex, defaults, converters in internals.reverse_candidates(resolver, name):
            for template, parameters in possibilities:
                if count and count != len(parameters):
                    continue
                if not count and ({*keywords} ^ {*parameters}) - {*defaults}:
                    continue
                names = parameters if count else keywords
                fixed_defaults = {} if count else {k: v for k, v in defaults.items() if k not in parameters}
                is_complete = {*parameters} <= {*names} and not fixed_defaults.keys() & {*names}
                path_template = prefix.replace("%", "%%") + template
                pattern = re.compile(f"^{re.escape(prefix)}{regex}")
                parts = _parts(prefix, template, regex, converters) if is_complete else None
                results.append(Candidate(path_template, names, fixed_defaults, converters, pattern, parts))
    except re.error:
        # reverse() raises the same error if it reaches this candidate.
        return ()
    return tuple(results)


def _parts(prefix: str, template: str, regex: str, converters: Mapping[str, Any]) -> Parts | None:
    """Return the parts of a pattern; `None` unless they completely determine its regular expression."""
    first, *others = _PARAMETER.split(template)
    names, literals = others[::2], [first, *others[1::2]]
    expected = [re.escape(first)]
    for name, literal in zip(names, literals[1:], strict=True):
        if name not in converters or type(converter := converters[name]) not in _TEXTS:
            return None
        expected.append(f"(?P<{name}>{converter.regex}){re.escape(literal)}")
    # Since Python 3.14, the end of a string is `\z`.
    if "".join(expected) != re.sub(r"\\[Zz]$", "", regex) or "%" in "".join(literals):
        return None
    literals[0] = prefix + first
    # If a path could begin with two slashes, use reverse() because it escapes them.
    if not re.match("/[^/]", literals[0]):
        return None
    quoted_literals = [quote(literal, safe=_SAFE) for literal in literals]
    return Parts(quoted_literals, names, [_TEXTS[type(converters[name])] for name in names])


def _integers(column: Sequence[Any]) -> SafeColumn | None:
    if {*map(type, column)} != {int} or min(column) < 0 or max(column) >= 1 << 64:
        return None
    return SafeColumn(map(str, column))


def _uuids(column: Sequence[Any]) -> SafeColumn | None:
    return SafeColumn(map(str, column)) if {*map(type, column)} == {UUID} else None


def _strings(column: Sequence[Any]) -> Sequence[str] | None:
    texts = _paths(column)
    return None if texts is None or "/" in "".join(texts) else texts


def _paths(column: Sequence[Any]) -> Sequence[str] | None:
    lines = _join_lines(column)
    if lines is None:
        return None
    try:
        if lines.encode().translate(None, _UNQUOTED + b"\n"):
            column = quote_matches(_UNSAFE, lines).split("\n")
    except UnicodeEncodeError:
        return None
    # Of the unquoted characters, only these two need escaping in XML.
    return column if "&" in lines or "'" in lines else SafeColumn(column)


def _are_plain(texts: Sequence[str]) -> bool:
    """Return whether a URI can contain all texts as they are, between any others."""
    return are_plain(texts, "", MAX_LOCATION)


def _plain_texts(column: Sequence[object]) -> Sequence[str] | None:
    """Return a column as text; `None` if a value is NULL, or is changed in a URI."""
    kinds = {*map(type, column)}
    if type(None) in kinds:
        return None
    try:
        texts: Any = column if kinds == {str} else [*map(str, column)]
    except Exception:  # noqa: BLE001 url() raises the same error for the row
        return None
    return _slugs(texts) or (texts if _are_plain(texts) else None)


def _join_lines(column: Sequence[Any]) -> str | None:
    """Join a column of strings. Return `None` if a value is not a string, is empty, or ends a line."""
    if {*map(type, column)} != {str} or "" in column:
        return None
    lines = "\n".join(column)
    return lines if lines.count("\n") == len(column) - 1 else None


def _slugs(column: Sequence[Any]) -> SafeColumn | None:
    """Return a column of texts that are neither quoted nor escaped; `None` for other columns."""
    lines = _join_lines(column)
    if lines is None or not lines.isascii() or lines.encode().translate(None, _SLUG + b"\n"):
        return None
    return SafeColumn(column)


_TEXTS: Mapping[type, Texts] = {
    path_converters.IntConverter: _integers,
    path_converters.UUIDConverter: _uuids,
    path_converters.SlugConverter: _slugs,
    path_converters.StringConverter: _strings,
    path_converters.PathConverter: _paths,
}
