"""What hooks declare besides constants and methods: query expressions, and templates of locations."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date, time
from numbers import Number
from string import Formatter
from typing import Any, Literal, NamedTuple, NoReturn, Protocol, get_args
from uuid import UUID

from django.core.exceptions import ImproperlyConfigured
from django.db.models import Expression, Max
from django.utils.functional import Promise

from django_sitemaps09.orm.internals import Col
from django_sitemaps09.protocol.entries import SafeColumn, TemplateColumn
from django_sitemaps09.protocol.fields import typed_repr
from django_sitemaps09.protocol.limits import MAX_LOCATION
from django_sitemaps09.protocol.urls import are_plain

Field = Literal["location", "lastmod", "changefreq", "priority"]
FIELDS: tuple[Field, ...] = ("location", "lastmod", "changefreq", "priority")
#: Methods that return content of an item besides the elements of the protocol.
Hook = Literal["alternates", "images", "videos", "news"]
HOOKS: tuple[Hook, ...] = get_args(Hook)
#: Hooks except `alternates`, since `django.contrib.sitemaps` has a switch with this name.
EXTENDING: tuple[Hook, ...] = HOOKS[1:]
#: Alias of the declared expression `item_language`.
ITEM_LANGUAGE = "_sitemaps09_item_language"
#: The characters of a slug, which neither `quote()` nor XML changes.
SLUG_CHARACTERS = b"-0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz"

# The types of constants. A lazy string, which is a Promise, is not evaluated before it is needed.
_CONSTANTS = (str, Number, date, time, UUID, Promise)
# A field in the syntax of path().
_CONVERTER = re.compile(r"<\w+:(\w+)>")


def is_expression(value: object) -> bool:
    """Return whether a value is a query expression: `F`, `Case`, `Coalesce`, ..."""
    # Look it up on the class, because a mock of a method has every attribute.
    return hasattr(type(value), "resolve_expression")


def is_missing(value: object) -> bool:
    """Return whether a value means that an item has no such element, or no location in a language."""
    return value is None or value == ""


class LastmodExpression(Expression):
    """Expression of a `lastmod`. MariaDB and MySQL would return a string for one with a `Value`."""

    def __init__(self, expression: Any) -> None:
        super().__init__()
        self.expression = expression

    def get_source_expressions(self) -> list[Any]:
        return [self.expression]

    def set_source_expressions(self, exprs: Sequence[Any]) -> None:
        [self.expression] = exprs

    def get_group_by_cols(self) -> list[Any]:
        return self.expression.get_group_by_cols()  # type: ignore[no-any-return]

    def get_db_converters(self, connection: Any) -> list[Any]:
        # From Django 6.1 on, converters use the expression that is passed to them.
        return [
            lambda value, _, database, convert=convert: convert(value, self.expression, database)
            for convert in self.expression.get_db_converters(connection)
        ]

    def as_sql(self, compiler: Any, connection: Any, **_: Any) -> Any:
        return compiler.compile(self.expression)

    def as_mysql(self, compiler: Any, connection: Any, **_: Any) -> Any:
        sql, parameters = compiler.compile(self.expression)
        # A converter expects the value that the database returns without a cast.
        is_converted = isinstance(self.expression, Col) or self.get_db_converters(connection)
        if is_converted or self.output_field.get_internal_type() not in ("DateField", "DateTimeField"):
            return sql, parameters
        return f"CAST({sql} AS {self.output_field.cast_db_type(connection)})", parameters


class UniqueExpression(LastmodExpression):
    """Expression that is not equal to another column.

    If a query filters by a window function that it does not select, Django drops all but one of equal
    columns, and then finds too few columns in each row.
    """

    def __init__(self, expression: Any, name: str) -> None:
        super().__init__(expression)
        self.name = name

    def as_mysql(self, compiler: Any, connection: Any, **_: Any) -> Any:
        return self.as_sql(compiler, connection)


class Newest(Max):
    """Maximum of a column. The converters of `expression` convert it."""

    def __init__(self, column: str, *, expression: Any, **extra: Any) -> None:
        super().__init__(column, **extra)
        self.expression = expression

    def get_db_converters(self, connection: Any) -> list[Any]:
        # Without rows, the maximum is `None`. The converter of Trunc() cannot convert it.
        return [
            lambda value, *args, convert=convert: None if value is None else convert(value, *args)
            for convert in self.expression.get_db_converters(connection)
        ]


def alias(name: str, position: int = 0) -> str:
    """Return the reserved alias of a declared expression."""
    return f"_sitemaps09_{name}_{position}"


def declared_expressions(sitemap: object) -> dict[str, Any]:
    """Return all expressions in a sitemap's hooks by reserved alias."""
    language = getattr(sitemap, "item_language", None) if getattr(sitemap, "i18n", False) else None
    return expressions_in({name: getattr(sitemap, name, None) for name in FIELDS}, language)


def expressions_in(hooks: Mapping[Field, Any], item_language: Any) -> dict[str, Any]:
    """Return all expressions in hooks by reserved alias. A location can have several."""
    annotations: dict[str, Any] = {}
    for name, hook in hooks.items():
        for position, part in enumerate(hook_expressions(name, hook)):
            annotations[alias(name, position)] = LastmodExpression(part) if name == "lastmod" else part
    if is_expression(item_language):
        annotations[ITEM_LANGUAGE] = item_language
    return annotations


def hook_expressions(name: str, value: Any) -> list[Any]:
    """Return the expressions in a hook. A `location` can be a dict by language."""
    values = value.values() if name == "location" and isinstance(value, Mapping) else [value]
    parts = (part.expressions if isinstance(part, LocationTemplate) else [part] for part in values)
    return [expression for part in parts for expression in part if is_expression(expression)]


def location_in(location: Any, code: str | None) -> tuple[Any, list[str]]:
    """Return the declaration of a location in a language, with the aliases of its expressions.

    Raise `ImproperlyConfigured` for a language that a dict does not have.
    """
    first, locations = 0, location if isinstance(location, Mapping) else {code: location}
    for language, value in locations.items():
        count = len(hook_expressions("location", value))
        if language == code:
            return value, [alias("location", first + i) for i in range(count)]
        first += count
    raise ImproperlyConfigured(f"The dict `location` has no language {code!r}.")


class CompiledTemplate(Protocol):
    """A `LocationTemplate` compiled for the active language."""

    def url(self, values: Iterable[object]) -> str | None: ...
    def compose(self, columns: Sequence[Sequence[object]]) -> TemplateColumn | None:
        """Return the paths of all rows, with one column for each expression.

        Return `None` unless all are known to be URIs. `url()` must then be called for each row.
        """


class LocationTemplate(ABC):
    """A location of a pattern and its arguments: constants, and query expressions, which become columns."""

    __slots__ = ("args", "kwargs", "pattern")

    pattern: str
    args: tuple[Any, ...]
    kwargs: Mapping[str, Any]

    def __repr__(self) -> str:
        return self.code(repr)

    def code(self, show: Callable[[object], str]) -> str:
        """Return the declaration as Python code. `show` returns the code of an argument."""
        parts = [repr(self.pattern), *map(show, self.args)]
        parts += [f"{name}={show(value)}" for name, value in self.kwargs.items()]
        return f"{type(self).__name__}({', '.join(parts)})"

    @property
    def values(self) -> tuple[Any, ...]:
        return self.args or tuple(self.kwargs.values())

    @property
    def expressions(self) -> list[Any]:
        """The query expressions among the arguments, in the order in which `url` expects their values."""
        return [value for value in self.values if is_expression(value)]

    @abstractmethod
    def compiled(self) -> CompiledTemplate:
        """Return the template for the active language."""

    def url(self, values: Iterable[object]) -> str | None:
        """Return the location for the values of a row's expressions; `None` to skip the row."""
        return self.compiled().url(values)


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
        if head == "/" and not isinstance(first, SafeColumn) and _have_slashes(first):
            return None
        return TemplateColumn(self.literals, [texts[position] for position in self.positions])


def _have_slashes(texts: Sequence[str]) -> bool:
    return "" in texts or "\n/" in "\n".join(["", *texts])


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
    return slugs(texts) or (texts if _are_plain(texts) else None)


def join_lines(column: Sequence[Any]) -> str | None:
    """Join a column of strings. Return `None` if a value is not a string, is empty, or ends a line."""
    if {*map(type, column)} != {str} or "" in column:
        return None
    lines = "\n".join(column)
    return lines if lines.count("\n") == len(column) - 1 else None


def slugs(column: Sequence[Any]) -> SafeColumn | None:
    """Return a column of texts that are neither quoted nor escaped; `None` for other columns."""
    lines = join_lines(column)
    if lines is None or not lines.isascii() or lines.encode().translate(None, SLUG_CHARACTERS + b"\n"):
        return None
    return SafeColumn(column)
