"""Read the source of a method, and return its value for each row, if columns express it literally.

No method is run. What is not understood here is refused, with its line.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from inspect import getattr_static
from itertools import count
from keyword import iskeyword
from string import Formatter
from types import FunctionType
from typing import Any, NamedTuple

from django.conf import settings
from django.contrib.sitemaps import GenericSitemap
from django.db import connections, router
from django.db.models import Model, QuerySet
from django.urls import get_resolver, reverse, reverse_lazy
from django.utils import functional

from django_sitemaps09.declare.base import Sitemap
from django_sitemaps09.declare.expressions import Field
from django_sitemaps09.declare.locations import candidates
from django_sitemaps09.orm import internals
from django_sitemaps09.tools.suggestions import methods
from django_sitemaps09.tools.suggestions.methods import Declared, Method, RefusedError, constant, read

_PROPERTIES = (property, cached_property, functional.cached_property)
_DJANGOS_LASTMOD = getattr_static(GenericSitemap, "lastmod")
_DEFAULT_LOCATION = getattr_static(Sitemap, "default_location")
_KINDS: Mapping[Field, set[str]] = {
    "location": {"text", "URL"},
    "lastmod": {"date", "datetime", "none"},
    "changefreq": {"text", "none"},
    "priority": {"integer", "float", "decimal", "none"},
}
_REVERSE = ("viewname", "urlconf", "args", "kwargs")
_NULL = constant(None)
# The values of such an annotation can differ in Python, so it is only a value of its own.
_COMPUTED = "computed "


class Instance(NamedTuple):
    """The instance of a row, or a related object at a `path`, whose relations `nulls` can be NULL."""

    model: type[Model]
    path: str = ""
    nulls: frozenset[str] = frozenset()


class Condition(NamedTuple):
    """The code of a `Q` that is true exactly if a test has the result `is_true`.

    If it has the other result, the relations and columns in `known` are not NULL.
    """

    code: str
    is_true: bool
    known: frozenset[str] = frozenset()


def read_hook(sitemap: Any, items: QuerySet[Any], hook: Field) -> Declared:
    """Return the value of a hook for each row. Raise `RefusedError` if columns do not express it."""
    raw, row = getattr_static(sitemap, hook), Instance(items.model)
    body = _Body(sitemap, items, row, read(_DJANGOS_LASTMOD), sitemap, {})
    node = body.method.definition
    if raw is _DJANGOS_LASTMOD:
        value = body.attribute(node, row, sitemap.date_field) if sitemap.date_field else _NULL
    else:
        value = body.called(node, sitemap, body.member(sitemap, hook), [row])
    kind = getattr(value, "kind", "object").removeprefix(_COMPUTED)
    if kind not in _KINDS[hook] or (hook == "location" and value.is_constant):
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

    def called(self, node: Any, owner: Any, function: Any, given: list[Any], decorators: int = 0) -> Any:
        """Return what a method returns: of the sitemap, of the item, or one helper of each of these."""
        is_helper = owner is self.owner and bool(self.names)
        if is_helper and self.is_helper:
            raise self.refuse(node, "is a helper, and calls another one:")
        if function is _DEFAULT_LOCATION:
            # It differs from Django's in the message of an error.
            return self.called(node, self.row, self.member(self.row, "get_absolute_url"), [])
        method = read(function, decorators)
        code, values = method.function.__code__, [owner, *given]
        names = code.co_varnames[: code.co_argcount]
        needed = len(names) - len(function.__defaults__ or ())
        if not needed <= len(values) <= len(names) or code.co_kwonlyargcount:
            raise method.refuse(method.definition, "takes other arguments")
        bound = dict(zip(names, values, strict=False))
        return _Body(self.sitemap, self.items, self.row, method, owner, bound, is_helper).result()

    def result(self) -> Any:
        """Return the value of the method, after assignments of names that are used."""
        definition = self.method.definition
        nodes = [node for node in ast.walk(definition) if isinstance(node, ast.Name)]
        used = {node.id for node in nodes if isinstance(node.ctx, ast.Load)} - {*self.names}
        *statements, last = definition.body[ast.get_docstring(definition) is not None :] or definition.body
        for statement in statements:
            match statement:
                case (
                    ast.Assign(targets=[ast.Name(id=name)], value=ast.expr() as node)
                    | ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as node)
                ) if name in used:
                    self.names[name] = self.value(node)
                case _:
                    raise self.refuse(statement, "has")
            used.remove(name)
        if not isinstance(last, ast.Return) or last.value is None:
            raise self.refuse(last, "has")
        return self.value(last.value)

    def value(self, node: Any) -> Any:
        """Return the value of an expression: `Declared`, an instance, or a container of values."""
        match node:
            case ast.Constant(value=literal) if methods.is_plain(literal):
                return constant(literal)
            case ast.Name(id=name) if name in self.names:
                return _without(self.names[name], self.known)
            case ast.Name(id=name) if (literal := self.method.global_constant(name)) is not None:
                return constant(literal)
            case ast.Attribute():
                return self.attribute(node, self.value(node.value), node.attr)
            case ast.JoinedStr():
                fields = [part for part in node.values if isinstance(part, ast.FormattedValue)]
                if all(part.conversion in (-1, ord("s")) and part.format_spec is None for part in fields):
                    parts = [part.value if part in fields else part for part in node.values]
                    return self.text(node, map(self.part, parts))
            case ast.Tuple():
                return tuple(map(self.part, node.elts))
            case ast.List():
                return [*map(self.part, node.elts)]
            case ast.Dict() if all(isinstance(getattr(key, "value", None), str) for key in node.keys):
                names = [getattr(key, "value", "") for key in node.keys]
                return dict(zip(names, map(self.part, node.values), strict=True))
            case ast.BinOp(op=ast.Add()):
                sides = [self.part(node.left), self.part(node.right)]
                if {side.kind for side in sides} == {"text"}:
                    return self.text(node, sides)
            case ast.BinOp(op=ast.Mod()) if not isinstance(right := self.value(node.right), list):
                values = dict(enumerate(right if isinstance(right, tuple) else [right]))
                values = right if isinstance(right, dict) else values
                return self.formatted(node, self.value(node.left), values, _percent_to_format)
            case ast.IfExp():
                condition = self.condition(node.test)
                informed = replace(self, known=self.known | condition.known)
                body, orelse = (self, informed) if condition.is_true else (informed, self)
                return self.choice(node, condition, body.value(node.body), orelse.value(node.orelse))
            case ast.BoolOp(op=ast.Or()):
                *others, value = map(self.value, node.values)
                for other in reversed(others):
                    condition = self.truth(node, other)
                    value = self.choice(node, condition, _without(other, condition.known), value)
                return value
            case ast.Call():
                return self.call(node)
        raise self.refuse(node, "reads" if isinstance(node, ast.Name) else "has")

    def part(self, node: Any) -> Declared:
        """Return a value that is a part of another one. Only a returned `reverse()` can fail for a row."""
        value = self.value(node)
        if not isinstance(value, Declared) or value.kind == "URL":
            raise self.refuse(node, "needs the text or the number of")
        return value

    def text(self, node: Any, parts: Iterable[Declared]) -> Declared:
        """Return several values as one text, as `str()` writes them."""
        values = list(parts)
        for value in values:
            if value.nulls or value.kind not in ("text", "integer"):
                raise self.refuse(node, f"writes {'what can be NULL' if value.nulls else value.kind} in")
        return methods.joined(values)

    def formatted(self, node: Any, template: Any, values: dict[Any, Any], convert: Any = str) -> Declared:
        """Return the text of a constant template for `format()`, which must use all values."""
        parts, numbers, used, is_numbered = [], count(), set(), set()
        text = getattr(template, "constant", None)
        if not isinstance(text, str):
            raise self.refuse(node, "formats")
        try:
            for literal, name, form, conversion in Formatter().parse(convert(text)):
                parts.append(constant(literal))
                if name is not None:
                    key: Any = int(name) if name.isdecimal() else name or next(numbers)
                    used.add(key)
                    is_numbered |= set() if isinstance(key, str) else {name != ""}
                    parts.append(values[key])
                    is_integer = (form, conversion, values[key].kind) == ("d", None, "integer")
                    if not is_integer and (form or conversion not in (None, "s")):
                        raise ValueError
        except (ValueError, LookupError, AttributeError):
            used.clear()
        if used != {*values} or len(is_numbered) > 1:
            raise self.refuse(node, "formats otherwise than by plain fields:")
        return self.text(node, parts)

    def member(self, owner: Any, name: str) -> Any:
        """Return what the class of an object has by a name; `None` if an object can have another value."""
        is_instance = isinstance(owner, Instance)
        kind = owner.model if is_instance else type(owner)
        if names := internals.overridden(kind):
            raise RefusedError(f"{kind.__name__}: has its own {names[0]}, which can change attributes")
        assigned = internals.assigned_names(self.items) if is_instance else {*vars(owner)}
        return None if name in assigned else getattr_static(kind, name, None)

    def attribute(self, node: Any, owner: Any, name: str) -> Any:
        """Return the value of an attribute: a column, a related object or a property."""
        if isinstance(owner, Declared) and owner.kind in ("date", "datetime"):
            return self.date_part(node, owner, name)
        if not isinstance(owner, Instance) and owner is not self.sitemap:
            raise self.refuse(node, "reads")
        raw = self.member(owner, name)
        if isinstance(owner, Instance):
            annotation = self.items.query.annotation_select.get(name) if owner is self.row else None
            if annotation is not None and getattr_static(owner.model, name, None) is None:
                kind = internals.value_kind(annotation.output_field) or "object"
                kind = kind if methods.is_stored(annotation) else f"{_COMPUTED}{kind}"
                return Declared(kind, f'F("{name}")', frozenset({name}), name)
            if raw is not None and (field := internals.plain_field(owner.model, name)):
                return self.field(node, owner, field)
        if type(raw) in _PROPERTIES and (owner is self.owner or owner is self.row):
            return self.called(node, owner, getattr(raw, "fget", None) or raw.func, [], 1)
        raise self.refuse(node, "reads what is not a plain field or a property of `self`:")

    def field(self, node: Any, owner: Instance, plain: internals.PlainField) -> Any:
        field = plain.field
        path, own = (f"{owner.path}__{name}".removeprefix("__") for name in (plain.name, field.name))
        # The columns of an unmanaged model, such as a view, can be NULL whatever its fields say.
        is_nullable = field.null or not field.model._meta.managed
        nulls = (owner.nulls | ({own} if is_nullable else set())) - self.known
        if owner.nulls - self.known:
            raise self.refuse(node, "reads an attribute of what can be NULL:")
        if plain.related is None and (kind := internals.value_kind(field)):
            return Declared(kind, f'F("{path}")', nulls, path, field)
        is_routed = any(hasattr(each, "db_for_read") for each in router.routers)
        if plain.related is None:
            raise self.refuse(node, f"reads a {type(field).__name__}, which can convert its values:")
        if plain.hides_rows or is_routed or not field.db_constraint:
            raise self.refuse(node, "reads what a manager or a router chooses:")
        return Instance(plain.related, path, nulls)

    def date_part(self, node: Any, column: Declared, name: str) -> Declared:
        if name not in ("year", "month", "day") or column.nulls or column.field is None:
            raise self.refuse(node, "reads")
        # Instances have times in the zone of the connection, and queries extract parts in the current one.
        zone = connections[self.items.db].timezone_name
        argument = f', tzinfo=ZoneInfo("{zone}")' if column.kind == "datetime" and settings.USE_TZ else ""
        return Declared("integer", f'Extract{name.capitalize()}("{column.path}"{argument})')

    def call(self, node: ast.Call) -> Any:
        words = {word.arg: word.value for word in node.keywords}
        match node.func:
            case ast.Name(id=name) if name not in self.names:
                function = self.method.global_value(name)
                if function is reverse or function is reverse_lazy:
                    return self.reverse(node, words)
                if function is str and len(node.args) == 1 and not words:
                    return self.text(node, map(self.part, node.args))
            case ast.Attribute(ast.Constant() | ast.Name() | ast.Attribute() as template, "format"):
                values: dict[Any, Any] = dict(enumerate(map(self.part, node.args)))
                values |= {name: self.part(value) for name, value in words.items()}
                return self.formatted(node, self.value(template), values)
            case ast.Attribute(value=ast.Name(id=name), attr=method) if name in self.names and not words:
                owner = self.names[name]
                given = [self.names.get(getattr(argument, "id", "")) for argument in node.args]
                is_own = owner is self.sitemap or owner is self.row
                if is_own and all(each is self.row for each in given):
                    function = self.member(owner, method)
                    if isinstance(function, FunctionType):
                        return self.called(node, owner, function, given)
        raise self.method.refuse(node, f"calls `{ast.unparse(node.func)}()`")

    def reverse(self, node: ast.Call, words: Mapping[Any, Any]) -> Declared:
        given = [*zip(_REVERSE, node.args, strict=False), *words.items()]
        values = {name: self.value(value) for name, value in given if name in _REVERSE}
        viewname, urlconf, args, kwargs = (values.get(name, _NULL) for name in _REVERSE)
        args, kwargs = () if args == _NULL else args, {} if kwargs == _NULL else kwargs
        is_known = len(values) == len(node.args) + len(words) and urlconf == _NULL
        is_plain = isinstance(args, (tuple, list)) and isinstance(kwargs, dict) and not (args and kwargs)
        if not (is_known and is_plain and isinstance(getattr(viewname, "constant", None), str)):
            raise self.refuse(node, "needs a constant name, and plain arguments, for")
        if not all(name.isidentifier() and not iskeyword(name) for name in kwargs):
            raise self.refuse(node, "has names that are not Python's in")
        arguments = [*(("", value) for value in args), *((f"{name}=", kwargs[name]) for name in kwargs)]
        if any(value.nulls for _, value in arguments):
            raise self.refuse(node, "passes what can be NULL to")
        found = candidates(get_resolver(), viewname.constant, len(args), tuple(kwargs), "/")
        converters = [each for candidate in found for each in candidate.converters.values()]
        # Django's own converters write a number like its text.
        is_djangos = all(type(each).__module__ == "django.urls.converters" for each in converters)
        is_alike = found and is_djangos and not any(candidate.defaults for candidate in found)
        codes = [viewname.code]
        for prefix, value in arguments:
            plain = value.parts[0] if is_alike and len(value.parts) == 1 else value
            codes.append(f"{prefix}{plain.code}")
        return Declared("URL", f"Route({', '.join(codes)})")

    def choice(self, node: Any, condition: Condition, value: Any, other: Any) -> Declared:
        kinds = {getattr(each, "kind", "object") for each in (value, other)} - {"none"}
        if "URL" in kinds:
            raise self.refuse(node, "needs a Route in Case(), which is not possible, for")
        if len(kinds) != 1 or not kinds <= {*methods.OUTPUTS}:
            raise self.refuse(node, f"chooses between {' and '.join(sorted(kinds)) or 'nothing'} in")
        [kind] = kinds
        then, default = (value, other) if condition.is_true else (other, value)
        output = f"output_field={methods.OUTPUTS[kind]}()"
        code = f"Case(When({condition.code}, then={then.operand}), default={default.operand}, {output})"
        return Declared(kind, code, value.nulls | other.nulls)

    def condition(self, node: Any) -> Condition:
        match node:
            case ast.UnaryOp(op=ast.Not()):
                condition = self.condition(node.operand)
                return condition._replace(is_true=not condition.is_true)
            case ast.Compare(left, [ast.Is() | ast.IsNot() as operator], [ast.Constant(None)]):
                value, is_null = self.value(left), isinstance(operator, ast.Is)
                if isinstance(value, (Instance, Declared)) and value.path and value.nulls:
                    return Condition(f"Q({value.path}__isnull=True)", is_null, value.nulls)
            case ast.Compare(left, [ast.Eq() | ast.NotEq() as operator], [right]):
                value, other = self.value(left), self.value(right)
                is_column = getattr(value, "path", "") and getattr(other, "is_constant", False)
                is_same_kind = is_column and getattr(value, "kind", "instance") == other.kind
                if is_same_kind and (value.kind == "integer" or self.is_exact(value)):
                    return Condition(f"Q({value.path}={other.code})", isinstance(operator, ast.Eq))
            case _ if not isinstance(node, ast.Compare):
                return self.truth(node, self.value(node))
        raise self.refuse(node, "compares, maybe not as the database does,")

    def truth(self, node: Any, value: Any) -> Condition:
        """Return the condition that a value is true in Python."""
        kind = getattr(value, "kind", "instance") if getattr(value, "path", "") else ""
        codes = []
        if isinstance(value, Instance):
            self.member(value, "__bool__")
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

    def is_exact(self, column: Declared) -> bool:
        is_text = column.kind == "text" and column.field is not None and column.field.model._meta.managed
        return is_text and internals.compares_exactly(column.field, self.items.db)


def _percent_to_format(template: str) -> str:
    """Return a template for `%` as one for `format()`, in which a field of another type is invalid."""

    def field(found: re.Match[str]) -> str:
        name, letter = found.groups()
        form = "" if letter == "s" else f":{letter or '?'}"
        return "%" if found[0] == "%%" else f"{{{name or ''}{form}}}"

    escaped = template.replace("{", "{{").replace("}", "}}")
    return re.sub(r"(?s)%(?:\((\w+)\))?(.?)", field, escaped)


def _without(value: Any, known: frozenset[str]) -> Any:
    """Return a value where these relations and columns are not NULL."""
    can_be_null = isinstance(value, Declared) and value.path
    return replace(value, nulls=value.nulls - known) if can_be_null else value
