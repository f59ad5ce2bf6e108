"""Query expressions that a sitemap declares: their annotations in queries, and their values for a row."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

from django.core.exceptions import FieldError, ImproperlyConfigured
from django.db.models import Expression, Max, Model, QuerySet

from django_sitemaps09.django_internals import Col, gives_instances
from django_sitemaps09.queryset_traits import has_window_function, pin_database
from django_sitemaps09.routes import Route, is_expression

Field = Literal["location", "lastmod", "changefreq", "priority"]
FIELDS: tuple[Field, ...] = ("location", "lastmod", "changefreq", "priority")


#: Alias of the declared expression `item_language`.
ITEM_LANGUAGE = "_sitemaps09_item_language"


class LastmodExpression(Expression):
    """Expression of a `lastmod` whose values are dates or times on every database.

    MariaDB and MySQL return strings for an expression with a `Value`, unless the expression is cast.
    """

    def __init__(self, expression: Any) -> None:
        super().__init__()
        self.expression = expression

    def get_source_expressions(self) -> list[Any]:
        return [self.expression]

    def set_source_expressions(self, exprs: Sequence[Any]) -> None:
        [self.expression] = exprs

    def get_group_by_cols(self) -> list[Any]:
        columns: list[Any] = self.expression.get_group_by_cols()
        return columns

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
        if (
            isinstance(self.expression, Col)
            or self.get_db_converters(connection)
            or self.output_field.get_internal_type() not in ("DateField", "DateTimeField")
        ):
            return sql, parameters
        return f"CAST({sql} AS {self.output_field.cast_db_type(connection)})", parameters


class _UniqueExpression(LastmodExpression):
    """Expression that is not equal to another one, such as a column of the model or a declared expression.

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
            lambda value, expression, database, convert=convert: (
                None if value is None else convert(value, expression, database)
            )
            for convert in self.expression.get_db_converters(connection)
        ]


def alias(name: str, position: int = 0) -> str:
    """Return the reserved alias of a declared expression."""
    return f"_sitemaps09_{name}_{position}"


def declared_expressions(sitemap: object) -> dict[str, Any]:
    """Return all expressions in a sitemap's hooks by reserved alias. A `Route` can have several."""
    annotations: dict[str, Any] = {}
    for name in FIELDS:
        for position, expression in enumerate(hook_expressions(name, getattr(sitemap, name, None))):
            annotations[alias(name, position)] = (
                LastmodExpression(expression) if name == "lastmod" else expression
            )
    language = getattr(sitemap, "item_language", None)
    if getattr(sitemap, "i18n", False) and is_expression(language):
        annotations[ITEM_LANGUAGE] = language
    return annotations


def hook_expressions(name: str, value: Any) -> list[Any]:
    """Return the expressions in a hook. A `location` can be a dict by language."""
    values = value.values() if name == "location" and isinstance(value, Mapping) else [value]
    parts = (part.expressions if isinstance(part, Route) else [part] for part in values)
    return [expression for part in parts for expression in part if is_expression(expression)]


def location_in(location: Any, code: str | None) -> tuple[Any, list[str]]:
    """Return the declaration of a location in a language, with the aliases of its expressions.

    Without a dict, all languages have the same declaration. Raise `ImproperlyConfigured` for a language
    that the dict does not have.
    """
    if not isinstance(location, Mapping):
        return location, [alias("location", i) for i in range(len(hook_expressions("location", location)))]
    first = 0
    for language, value in location.items():
        count = len(hook_expressions("location", value))
        if language == code:
            return value, [alias("location", first + i) for i in range(count)]
        first += count
    raise ImproperlyConfigured(f"The dict `location` has no language {code!r}.")


def location_problem(location: object, languages: Iterable[object] | None) -> str | None:
    """Return why a dict `location` is invalid; `None` for a valid dict, and for any other `location`.

    Without `i18n`, `languages` is `None`.
    """
    if not isinstance(location, Mapping):
        return None
    if languages is None:
        return "is a dict by language, which has no effect without i18n"
    if not location:
        return "is an empty dict"
    missing = sorted({str(code) for code in languages if code not in location})
    if missing:
        return f"is a dict without the languages {', '.join(missing)}"
    if not all(isinstance(value, Route) or is_expression(value) for value in location.values()):
        return "is a dict with values that are neither a Route nor a query expression"
    return None


def is_missing(value: object) -> bool:
    """Return whether a value of a dict `location` means that an item has no location in a language."""
    return value is None or value == ""


def annotate(sitemap: object, items: Any) -> Any:
    """Return items annotated with the declared expressions, or unchanged if Django cannot annotate them."""
    expressions = declared_expressions(sitemap)
    if not expressions:
        return items
    if not isinstance(items, QuerySet):
        raise ImproperlyConfigured(
            f"{type(sitemap).__qualname__} declares query expressions, but its items() does not return a "
            "queryset. Return one, or define the hooks as methods that take the item."
        )
    items = pin_database(items)
    # Django cannot annotate a union.
    if items.query.combinator or separate_rows(items, expressions) is not None:
        return items
    if items.query.where.contains_over_clause:
        expressions = {name: _UniqueExpression(part, name) for name, part in expressions.items()}
    return items.annotate(**expressions)


def separate_rows(items: Any, expressions: Mapping[str, Any]) -> QuerySet[Any] | None:
    """Return all rows of the model with the expressions, for items that cannot be annotated.

    Django cannot annotate unions and `distinct(fields)`, and an expression can change the rows of a slice.
    With a filter on a window, an aggregate needs all related rows. Return `None` for other items, and for
    expressions that depend on the items through an annotation or a window.
    """
    query = items.query if expressions and isinstance(items, QuerySet) else None
    if query is None or not gives_instances(items):
        return None
    cannot_annotate = query.combinator or query.is_sliced or query.distinct_fields
    if not (cannot_annotate or has_window_function(query)):
        return None
    try:
        rows: QuerySet[Any] = QuerySet(items.model, using=items.db).annotate(**expressions)
    except FieldError:
        return None
    annotations = [rows.query.annotations[name] for name in expressions]
    is_separate = cannot_annotate or any(expression.contains_aggregate for expression in annotations)
    has_window = any(expression.contains_over_clause for expression in annotations)
    return rows if is_separate and not has_window else None


def declared_value(value: Any, name: str, item: Any) -> Any:
    """Return the value of a field for an item, if the field is declared as a `Route` or an expression."""
    if isinstance(value, Route):
        parts = enumerate(value.expressions)
        return value.url([column(part, alias(name, i), item) for i, part in parts])
    return column(value, alias(name), item)


def localized_location(location: Mapping[str, Any], code: str | None, item: Any) -> str | None:
    """Return the location of an item in a language, from a dict `location`; `None` without a location."""
    value, names = location_in(location, code)
    parts = hook_expressions("location", value)
    values = [column(part, name, item) for part, name in zip(parts, names, strict=True)]
    if any(map(is_missing, values)):
        return None
    return value.url(values) if isinstance(value, Route) else str(values[0])


def column(expression: Any, name: str, item: Any) -> Any:
    """Return the value of an expression for a row, from its annotation or else from another query.

    Rows lack the annotation if the project paginates `items()` itself, or if `separate_rows` returns rows.
    """
    if isinstance(item, dict):
        return item[name]
    if not isinstance(item, Model):
        raise ImproperlyConfigured(
            f"Query expressions need model instances, not {type(item).__name__} objects. Return "
            "instances from items(), or define the hooks as methods that take the item."
        )
    if not hasattr(item, name):
        setattr(item, name, _rows_with(expression, name, item).get(pk=item.pk)[1])
    return getattr(item, name)


def column_values(expression: Any, name: str, items: Sequence[Any]) -> list[Any]:
    """Return the values of an expression for several rows. One query reads all missing annotations."""
    missing_items = [item for item in items if isinstance(item, Model) and not hasattr(item, name)]
    if missing_items:
        first = missing_items[0]
        rows = _rows_with(expression, name, first).filter(pk__in=[item.pk for item in missing_items])
        values = dict(rows)
        for item in missing_items:
            if type(item) is type(first) and item._state.db == first._state.db and item.pk in values:
                setattr(item, name, values[item.pk])
    return [column(expression, name, item) for item in items]


def _rows_with(expression: Any, name: str, item: Model) -> QuerySet[Any, Any]:
    rows: Any = type(item)._base_manager.using(item._state.db)
    column_expression = LastmodExpression(expression) if name == alias("lastmod") else expression
    pairs: QuerySet[Any, Any] = rows.annotate(**{name: column_expression}).values_list("pk", name)
    return pairs
