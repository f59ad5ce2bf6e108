"""What hooks declare besides constants and methods: query expressions, and what all `locations` share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, Protocol, get_args

from django.core.exceptions import ImproperlyConfigured
from django.db.models import Expression, Max

from django_sitemaps09.orm.internals import Col
from django_sitemaps09.protocol.entries import TemplateColumn

Field = Literal["location", "lastmod", "changefreq", "priority"]
FIELDS: tuple[Field, ...] = ("location", "lastmod", "changefreq", "priority")
#: Methods that return content of an item besides the elements of the protocol.
Hook = Literal["alternates", "images", "videos", "news"]
HOOKS: tuple[Hook, ...] = get_args(Hook)
#: Hooks except `alternates`, since `django.contrib.sitemaps` has a switch with this name.
EXTENDING: tuple[Hook, ...] = HOOKS[1:]
#: Alias of the declared expression `item_language`.
ITEM_LANGUAGE = "_sitemaps09_item_language"


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
