"""Read the source of a method, and return its value for each row, if columns express it literally.

No method is run. What is not understood here is refused, with its line.
"""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from inspect import getattr_static
from itertools import count
from string import Formatter
from types import FunctionType
from typing import Any, NamedTuple

from django.conf import settings
from django.contrib.sitemaps import GenericSitemap
from django.db import connections, router
from django.db.models import Model, QuerySet
from django.urls import get_resolver, reverse, reverse_lazy
from django.utils import functional

from django_sitemaps09.hooks.expressions import Field
from django_sitemaps09.orm.internals import (
    compares_exactly,
    has_known_objects,
    overridden,
    plain_field,
    value_kind,
)
from django_sitemaps09.routing.routes import candidates
from django_sitemaps09.sitemaps import Sitemap
from django_sitemaps09.suggestions.declared_values import OUTPUTS, Choice, Column, Constant, Reversed, Text
from django_sitemaps09.suggestions.method_source import Method, RefusedError, is_constant, read

_PROPERTIES = (property, cached_property, functional.cached_property)
_DJANGOS_LASTMOD = getattr_static(GenericSitemap, "lastmod")
_DEFAULT_LOCATION = getattr_static(Sitemap, "default_location")
_KINDS: Mapping[Field, set[str]] = {
    "location": {"text", "URL"},
    "lastmod": {"date", "datetime", "none"},
    "changefreq": {"text", "none"},
    "priority": {"integer", "float", "decimal", "none"},
}
_LOOKUPS = {ast.Eq: "", ast.NotEq: "", ast.Lt: "__lt", ast.LtE: "__lte", ast.Gt: "__gt", ast.GtE: "__gte"}
_REVERSE = ("viewname", "urlconf", "args", "kwargs")


class Instance(NamedTuple):
    """The instance of a row, or its related object at a `path`, for which `nulls` are relations."""

    model: type[Model]
    path: str = ""
    nulls: frozenset[str] = frozenset()


class Condition(NamedTuple):
    """The code of a `Q` that is true exactly if a test has the result `is_true`.

    If the result is `known_if`, the relations and columns in `known` are not NULL.
    """

    code: str
    is_true: bool
    known: frozenset[str] = frozenset()
    known_if: bool = True


def read_hook(sitemap: Any, items: QuerySet[Any], hook: Field) -> Any:
    """Return the value of a hook for each row. Raise `RefusedError` if columns do not express it."""
    _check_class(type(sitemap))
    row = Instance(items.model)
    raw = getattr_static(sitemap, hook)
    body = _Body(sitemap, items, row, read(_DJANGOS_LASTMOD), sitemap, {})
    if raw is _DJANGOS_LASTMOD:
        name = sitemap.date_field
        value = Constant(None) if name is None else body.attribute(body.method.definition, row, name)
    elif hook in vars(sitemap):
        raise RefusedError(f"{hook}: is set on the object, not on its class")
    else:
        value = body.called(body.method.definition, sitemap, raw, [row])
    kind = getattr(value, "kind", "object")
    if kind not in _KINDS[hook] or (hook == "location" and isinstance(value, Constant)):
        raise RefusedError(f"its value is {'the same for all rows' if kind in _KINDS[hook] else kind}")
    return value


@dataclass
class _Body:
    """The body of a method, and the values of its names. `owner` is `self`, of which it can be a helper."""

    sitemap: Any
    items: QuerySet[Any]
    row: Instance
    method: Method
    owner: Any
    names: dict[str, Any]
    is_helper: bool = False
    known: frozenset[str] = frozenset()

    def refuse(self, node: Any, reason: str) -> RefusedError:
        return self.method.refuse(node, f"{reason} `{ast.unparse(node).splitlines()[0]}`")

    def called(
        self, node: Any, owner: Any, function: Any, arguments: list[Any], decorators: int = 0
    ) -> Any:
        """Return what a method of the sitemap or of the item returns, or a property."""
        is_helper = owner is self.owner and bool(self.names)
        if is_helper and self.is_helper:
            raise self.refuse(node, "is a helper, and calls another one:")
        if function is _DEFAULT_LOCATION:
            # It differs from Django's in the message of an error.
            name, owner, arguments = "get_absolute_url", self.row, []
            function, is_helper = getattr_static(owner.model, name, None), False
        method = read(function, decorators)
        code, values = method.function.__code__, [owner, *arguments]
        names = code.co_varnames[: code.co_argcount]
        needed = len(names) - len(function.__defaults__ or ())
        if not needed <= len(values) <= len(names) or code.co_kwonlyargcount:
            raise method.refuse(method.definition, "takes other arguments")
        given = dict(zip(names, values, strict=False))
        return _Body(self.sitemap, self.items, self.row, method, owner, given, is_helper).result()

    def result(self) -> Any:
        """Return the value of the method, after assignments of names."""
        definition = self.method.definition
        loaded = {
            n.id for n in ast.walk(definition) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)
        }
        for statement in definition.body[ast.get_docstring(definition) is not None : -1]:
            match statement:
                case (
                    ast.Assign(targets=[ast.Name(id=name)], value=node)
                    | ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as node)
                ) if name not in self.names and name in loaded:
                    self.names[name] = self.value(node)
                case _:
                    raise self.refuse(statement, "has")
        match definition.body[-1]:
            case ast.Return(value=ast.expr() as node):
                return self.value(node)
            case last:
                raise self.refuse(last, "has")

    def value(self, node: Any) -> Any:
        """Return the value of an expression: that of a column, an instance, or a container of values."""
        match node:
            case ast.Constant(value=value) if type(value) in (str, int, type(None)) or _is_finite(value):
                return Constant(value)
            case ast.Name(id=name) if name in self.names:
                return _without(self.names[name], self.known)
            case ast.Name(id=name) if type(value := self.method.global_value(name)) in (str, int):
                if is_constant(self.method.function.__globals__, name):
                    return Constant(value)
            case ast.Attribute():
                return self.attribute(node, self.value(node.value), node.attr)
            case ast.JoinedStr():
                return self.text(node, map(self.embedded, node.values))
            case ast.Tuple():
                return tuple(map(self.part, node.elts))
            case ast.List():
                return [*map(self.part, node.elts)]
            case ast.Dict() if all(isinstance(getattr(key, "value", None), str) for key in node.keys):
                keys = [key.value for key in node.keys]  # type: ignore[union-attr]
                return dict(zip(keys, map(self.part, node.values), strict=True))
            case ast.BinOp(op=ast.Add()):
                sides = [self.part(node.left), self.part(node.right)]
                if {side.kind for side in sides} == {"text"}:
                    return self.text(node, sides)
            case ast.BinOp(op=ast.Mod()):
                right = self.value(node.right)
                values = (
                    right if isinstance(right, dict) else right if isinstance(right, tuple) else (right,)
                )
                if not isinstance(right, list):
                    return self.formatted(node, self.value(node.left), _percent_fields, values)
            case ast.IfExp():
                return self.conditional(node)
            case ast.BoolOp(op=ast.Or()):
                *others, value = map(self.value, node.values)
                for other in reversed(others):
                    test = self.truth(node, other)
                    value = self.choice(node, test, _without(other, test.known), value)
                return value
            case ast.Call():
                return self.call(node)
        raise self.refuse(node, "reads" if isinstance(node, ast.Name) else "has")

    def part(self, node: Any) -> Any:
        """Return a value that is a part of another one. Only a returned `reverse()` can fail for a row."""
        value = self.value(node)
        if not isinstance(value, (Constant, Column, Choice, Text)):
            raise self.refuse(node, "needs the text or the number of")
        return value

    def embedded(self, node: Any) -> Any:
        if not isinstance(node, ast.FormattedValue):
            return self.part(node)
        if node.conversion not in (-1, ord("s")) or node.format_spec is not None:
            raise self.refuse(node.value, "converts or formats")
        return self.part(node.value)

    def text(self, node: Any, parts: Iterable[Any]) -> Any:
        """Return several values as one text, as `str()` writes them."""
        parts = list(parts)
        for part in parts:
            if part.is_nullable or part.kind not in ("text", "integer", "uuid"):
                what = "what can be NULL" if part.is_nullable else f"a {part.kind}"
                raise self.refuse(node, f"writes {what} in")
        return Text.join(parts)

    def formatted(self, node: Any, template: Any, parse: Any, values: Any) -> Any:
        """Return the text of a template with fields. `values` are a tuple, or a dict by name."""
        values = values if isinstance(values, dict) else dict(enumerate(values))
        try:
            fields = [*parse(template.value)]
        except (AttributeError, TypeError, ValueError):
            raise self.refuse(node, "formats") from None
        names = {name for _, name, _ in fields if name is not None}
        if names != {*values} or not all(isinstance(value, _TEXTS) for value in values.values()):
            raise self.refuse(node, "formats other values than those of plain fields:")
        parts: list[Any] = []
        for literal, name, letter in fields:
            parts.append(Constant(literal))
            if name is not None:
                if letter != "s" and (letter, values[name].kind) != ("d", "integer"):
                    raise self.refuse(node, "converts or formats")
                parts.append(values[name])
        return self.text(node, parts)

    def attribute(self, node: Any, owner: Any, name: str) -> Any:
        """Return the value of an attribute: a column, a related object, a property or a constant."""
        if isinstance(owner, Column):
            return self.date_part(node, owner, name)
        if not isinstance(owner, Instance) and owner is not self.sitemap:
            raise self.refuse(node, "reads")
        is_row = owner == self.row
        kind = owner.model if isinstance(owner, Instance) else type(owner)
        _check_class(kind)
        raw = getattr_static(kind, name, None)
        annotations = self.items.query.annotation_select
        if is_row and name in annotations and raw is None:
            output = value_kind(annotations[name].output_field) or "object"
            return Column(name, output, frozenset({name}))
        if isinstance(owner, Instance) and plain_field(owner.model, name):
            return self.field(node, owner, name)
        is_set = name in (annotations if is_row else vars(self.sitemap))
        is_kept = type(raw) in _PROPERTIES[1:] and has_known_objects(self.items)
        is_own = (owner is self.owner or owner is self.row) and not is_set
        if type(raw) in _PROPERTIES and is_own and not is_kept:
            return self.called(node, owner, getattr(raw, "fget", None) or raw.func, [], 1)
        if type(raw) in (str, int) and not is_set:
            definer = next(each for each in kind.__mro__ if name in vars(each))
            if is_constant(definer, name):
                return Constant(raw)
        raise self.refuse(node, "reads what is not a plain field, a property of `self` or a constant:")

    def field(self, node: Any, owner: Instance, name: str) -> Any:
        """Return the column of a field, or a related object."""
        field, lookup, related, hides_rows = plain_field(owner.model, name)  # type: ignore[misc]
        path, own = (f"{owner.path}__{part}".removeprefix("__") for part in (lookup, field.name))
        # The columns of an unmanaged model, such as a view, can be NULL whatever its fields say.
        nulls = owner.nulls | ({own} if field.null or not field.model._meta.managed else set())
        if owner.nulls - self.known:
            raise self.refuse(node, "reads an attribute of what can be NULL:")
        if related is None:
            return Column(path, value_kind(field) or "object", nulls - self.known, field)
        is_routed = any(hasattr(each, "db_for_read") for each in router.routers)
        if hides_rows or is_routed or not field.db_constraint or has_known_objects(self.items):
            raise self.refuse(node, "reads what a manager, a router or a prefetch can change:")
        return Instance(related, path, nulls - self.known)

    def date_part(self, node: Any, column: Column, name: str) -> Column:
        is_plain = (
            column.kind in ("date", "datetime") and column.field and not (column.nulls or column.part)
        )
        if not is_plain or name not in ("year", "month", "day"):
            raise self.refuse(node, "reads")
        has_zone = column.kind == "datetime" and settings.USE_TZ
        zone = connections[self.items.db].timezone_name if has_zone else ""
        return Column(column.path, "integer", field=column.field, part=name, zone=zone)

    # Calls.

    def call(self, node: ast.Call) -> Any:
        words = {word.arg: word.value for word in node.keywords}
        match node.func:
            case ast.Name(id=name) if name not in self.names:
                function = self.method.global_value(name)
                if function in (reverse, reverse_lazy) and None not in words and len(node.args) <= len(_REVERSE):
                    return self.reverse(node, dict(zip(_REVERSE, node.args, strict=False)), words)
                if function is str and len(node.args) == 1 and not words:
                    return self.text(node, map(self.part, node.args))
            case ast.Attribute(value=ast.Constant() | ast.Name() | ast.Attribute(), attr="format"):
                values = {**dict(enumerate(map(self.part, node.args)))}
                values |= {name: self.part(value) for name, value in words.items()}  # type: ignore[misc]
                return self.formatted(node, self.value(node.func.value), _format_fields, values)
            case ast.Attribute(value=ast.Name(id=name), attr=method) if name in self.names and not words:
                owner = self.names[name]
                arguments = [self.names.get(getattr(argument, "id", "")) for argument in node.args]
                if (owner is self.sitemap or owner is self.row) and all(
                    each is self.row for each in arguments
                ):
                    kind = owner.model if owner is self.row else type(owner)
                    _check_class(kind)
                    raw = getattr_static(kind, method, None)
                    is_set = owner is not self.row and method in vars(owner)
                    if isinstance(raw, FunctionType) and not is_set and not has_known_objects(self.items):
                        return self.called(node, owner, raw, arguments)
        raise self.method.refuse(node, f"calls `{ast.unparse(node.func)}()`")

    def reverse(self, node: ast.Call, given: dict[str, Any], words: Mapping[Any, Any]) -> Reversed:
        is_known = not {*given} & {*words} and {*given, *words} <= {*_REVERSE}
        values = {name: self.value(value) for name, value in (given | words).items()} if is_known else {}
        viewname, urlconf, args, kwargs = (values.get(name, Constant(None)) for name in _REVERSE)
        args = () if args == Constant(None) else args
        kwargs = {} if kwargs == Constant(None) else kwargs
        is_plain = isinstance(args, (tuple, list)) and isinstance(kwargs, dict) and not (args and kwargs)
        if not is_plain or urlconf != Constant(None) or getattr(viewname, "kind", "") != "text":
            raise self.refuse(node, "needs a name and plain arguments for")
        if not isinstance(viewname, Constant):
            raise self.refuse(node, "has the name of a view from a field in")
        shape = (str(viewname.value), len(args), tuple(kwargs))
        arguments = [self.argument(node, value, shape) for value in (*args, *kwargs.values())]
        return Reversed(shape[0], tuple(arguments), shape[2])

    def argument(self, node: Any, value: Any, shape: tuple[str, int, tuple[str, ...]]) -> Any:
        if value.is_nullable:
            raise self.refuse(node, "passes what can be NULL to")
        if not isinstance(value, Text) or len(value.parts) > 1:
            return self.operand(node, value)
        # Django's own converters write a number or a UUID like its text.
        found = candidates(get_resolver(), *shape, "/")
        converters = [each for candidate in found for each in candidate.converters.values()]
        is_djangos = all(type(each).__module__ == "django.urls.converters" for each in converters)
        if not found or not is_djangos or any(candidate.defaults for candidate in found):
            raise self.refuse(node, "passes a number as text to a pattern that can tell the difference:")
        return value.parts[0]

    # Conditions.

    def conditional(self, node: ast.IfExp) -> Choice:
        test, known = self.condition(node.test), self.known
        values = []
        for branch, result in ((node.body, True), (node.orelse, False)):
            self.known = known | test.known if result is test.known_if else known
            values.append(self.value(branch))
        self.known = known
        return self.choice(node, test, *values)

    def choice(self, node: Any, test: Condition, value: Any, other: Any) -> Choice:
        kinds = {getattr(each, "kind", "object") for each in (value, other)} - {"none"}
        if "URL" in kinds:
            raise self.refuse(node, "needs a Route in Case(), which is not possible, for")
        if len(kinds) != 1 or not kinds <= {*OUTPUTS}:
            raise self.refuse(node, f"chooses between {' and '.join(sorted(kinds)) or 'nothing'} in")
        first, second = (value, other) if test.is_true else (other, value)
        return Choice(test.code, self.operand(node, first), self.operand(node, second), *kinds)

    def operand(self, node: Any, value: Any) -> Any:
        """Return a value that can be a part of a query expression."""
        if isinstance(value, Text) and any(part.kind == "uuid" for part in value.parts):
            raise self.refuse(node, "joins a UUID, which databases write in different ways, in")
        if value.kind == "object":
            raise self.refuse(node, "has a value of an unknown type in")
        return value

    def condition(self, node: Any) -> Condition:
        match node:
            case ast.UnaryOp(op=ast.Not()):
                code, is_true, known, known_if = self.condition(node.operand)
                return Condition(code, not is_true, known, not known_if)
            case ast.Compare(
                ops=[ast.Is() | ast.IsNot() as operator], comparators=[ast.Constant(value=None)]
            ):
                value, is_null = self.value(node.left), isinstance(operator, ast.Is)
                if isinstance(value, (Instance, Column)) and value.nulls and not getattr(value, "part", ""):
                    return Condition(f"Q({value.path}__isnull=True)", is_null, value.nulls, not is_null)
            case ast.Compare(ops=[operator], comparators=[right]) if type(operator) in _LOOKUPS:
                value, other, lookup = self.value(node.left), self.value(right), _LOOKUPS[type(operator)]
                if isinstance(value, Column) and isinstance(other, Constant) and not value.part:
                    is_integer = value.kind == "integer" and not (lookup and value.is_nullable)
                    if value.kind == other.kind and (is_integer or (not lookup and self.is_exact(value))):
                        is_true = not isinstance(operator, ast.NotEq)
                        return Condition(f"Q({value.path}{lookup}={other.code})", is_true)
            case ast.Compare():
                pass
            case _:
                return self.truth(node, self.value(node))
        raise self.refuse(node, "compares, maybe not as the database does,")

    def truth(self, node: Any, value: Any) -> Condition:
        """Return the condition that a value is true in Python."""
        is_plain = isinstance(value, Instance) or (isinstance(value, Column) and not value.part)
        kind, codes = getattr(value, "kind", "instance") if is_plain else "", []
        if kind in ("boolean", "integer", "float"):
            codes = [f"Q({value.path}={False if kind == 'boolean' else 0})"]
        elif kind == "text" and value.field and connections[self.items.db].vendor == "mysql":
            # '' = ' ' is true in most collations.
            codes = [f'Q(Exact(Length("{value.path}"), 0))']
        elif kind == "text" and self.is_exact(value):
            codes = [f'Q({value.path}="")']
        elif kind not in ("instance", "date", "datetime", "uuid") or not value.nulls:
            raise self.refuse(node, "asks for the truth of")
        codes += [f"Q({value.path}__isnull=True)"] if value.nulls else []
        return Condition(" | ".join(codes), False, value.nulls)

    def is_exact(self, column: Column) -> bool:
        is_text = column.kind == "text" and column.field is not None and not column.part
        return is_text and compares_exactly(column.field, self.items.db)


_TEXTS = (Constant, Column, Choice, Text)


def _without(value: Any, known: frozenset[str]) -> Any:
    """Return a value where these relations and columns are not NULL."""
    return replace(value, nulls=value.nulls - known) if isinstance(value, Column) else value


def _check_class(kind: type) -> None:
    """Refuse a class that can give its instances other attributes than its source shows."""
    if names := overridden(kind):
        raise RefusedError(f"{kind.__name__}: has its own {names[0]}, which can change attributes")


def _is_finite(value: object) -> bool:
    return type(value) is float and math.isfinite(value)


def _percent_fields(template: str) -> Iterator[tuple[str, Any, str]]:
    """Yield the literals of a template for `%`, each with the name or number and the type of its field."""
    *literals, last = re.split(r"(?s)%(?:\((\w+)\))?(.)", template)
    number = 0
    for literal, name, letter in zip(literals[::3], literals[1::3], literals[2::3], strict=True):
        if letter == "%" and name is None:
            yield f"{literal}%", None, ""
            continue
        yield literal, number if name is None else name, letter
        number += 1
    if "%" in last:
        raise ValueError
    yield last, None, ""


def _format_fields(template: str) -> Iterator[tuple[str, Any, str]]:
    """Yield the same for a template for `format()`."""
    numbers, is_automatic = count(), set()
    for literal, name, form, conversion in Formatter().parse(template):
        if name == "" or (name or "").isdecimal():
            is_automatic.add(name == "")
        if form or conversion not in (None, "s") or len(is_automatic) > 1:
            raise ValueError
        number = next(numbers) if name == "" else int(name) if (name or "").isdecimal() else name
        yield literal, number, "s"
