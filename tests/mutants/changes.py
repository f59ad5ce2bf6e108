"""The possible mutants of the package, and a sample of them."""

from __future__ import annotations

import ast
import random
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, cast

ROOT = Path(__file__).parents[2]
PACKAGE = "django_sitemaps09"

_OPPOSITES: dict[type[ast.AST], type[ast.AST]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq, ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
    ast.And: ast.Or, ast.Or: ast.And,
}  # fmt: skip
_SKIPPED_FIELDS = {"annotation", "returns", "decorator_list", "type_params", "format_spec"}
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_SKIPPED_NODES = (ast.Import, ast.ImportFrom, ast.Global, ast.Nonlocal)
#: Calls and keyword arguments whose texts are for people, or for type checkers.
_TEXT_CALLS = {"cast", "TypeVar", "NewType", "debug", "info", "warning", "error", "exception"}
_TEXT_KEYWORDS = {"help", "description", "epilog", "hint", "doc"}


class Mutant(NamedTuple):
    """One change of one module. The first five fields identify it; `code` finds it in moved code."""

    module: str
    line: int
    column: int
    kind: str
    change: str
    code: str
    first: int
    last: int
    in_function: bool

    @property
    def room(self) -> str:
        """Return the direct child of the package that the module is or belongs to."""
        return self.module.split("/")[1].removesuffix(".py")

    @property
    def anywhere(self) -> tuple[str, ...]:
        """Return what identifies the mutant if its code moves within the module."""
        return self.module, self.kind, self.change, self.code


Apply = Callable[..., None]


def mutants_of(module: str, source: str) -> Iterator[tuple[Mutant, Apply, ast.Module]]:
    """Yield the possible mutants of a module, each with a function that applies it to the yielded tree."""
    tree = ast.parse(source)
    lines = source.splitlines()

    def visit(node: ast.AST, put: Apply, span: tuple[int, int], inside: bool) -> Iterator[Any]:
        for kind, after in _changes(node):
            change = f"{_text(node)} → {_text(after)}"
            line, column = cast(Any, node).lineno, cast(Any, node).col_offset
            mutant = Mutant(module, line, column, kind, change, lines[line - 1].strip(), *span, inside)
            yield mutant, partial(put, ast.copy_location(after, node)), tree
        for name, field in ast.iter_fields(node):
            if name in _SKIPPED_FIELDS or _is_for_people(node, name):
                continue
            within = inside or (name == "body" and isinstance(node, _FUNCTIONS))
            children = field if isinstance(field, list) else [field]
            for index, child in enumerate(children):
                if isinstance(child, ast.AST) and not _is_skipped(child, node):
                    is_list = children is field
                    to = partial(field.__setitem__, index) if is_list else partial(setattr, node, name)
                    yield from visit(child, to, _span(child) or span, within)

    yield from visit(tree, print, (0, 0), False)


def _span(node: ast.AST) -> tuple[int, int] | None:
    """Return the first and the last line of a statement, without those of its blocks."""
    if not isinstance(node, ast.stmt):
        return None
    body = getattr(node, "body", None)
    last = body[0].lineno - 1 if body else node.end_lineno or node.lineno
    return node.lineno, max(node.lineno, last)


def _is_skipped(node: ast.AST, parent: ast.AST) -> bool:
    match node:
        case ast.Constant(value=str(value)) if isinstance(parent, ast.JoinedStr) and " " in value:
            return True  # A part of a message.
        case ast.Expr(value=ast.Constant()) | ast.Subscript(value=ast.Name(id="Literal")):
            return True
        case ast.Assign(targets=[ast.Name(id="__all__")]) | ast.If(test=ast.Name(id="TYPE_CHECKING")):
            return True
        case ast.Compare(left=ast.Attribute(attr="version_info") | ast.Name(id="VERSION")):
            return True
    return isinstance(node, _SKIPPED_NODES)


def _is_for_people(node: ast.AST, field: str) -> bool:
    if isinstance(node, ast.keyword):
        return node.arg in _TEXT_KEYWORDS
    if isinstance(node, ast.Call) and field == "args":
        return getattr(node.func, "attr", getattr(node.func, "id", "")) in _TEXT_CALLS
    return False


def _changes(node: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    """Yield what may stand in the place of a node."""
    match node:
        case ast.Compare(left=left, ops=ops, comparators=comparators):
            for index, op in enumerate(ops):
                opposite = cast(ast.cmpop, _OPPOSITES[type(op)]())
                changed = [*ops[:index], opposite, *ops[index + 1 :]]
                yield "comparison", ast.Compare(left, changed, comparators)
        case ast.BoolOp(op=op, values=values):
            yield "boolean", ast.BoolOp(cast(ast.boolop, _OPPOSITES[type(op)]()), values)
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield "boolean", operand
        case ast.Constant(value=bool(value)):
            yield "constant", ast.Constant(not value)
        case ast.Constant(value=int(value) | float(value)):
            yield "constant", ast.Constant(value + 1)
            yield "constant", ast.Constant(value - 1)
        case ast.Constant(value=str(value)) if len(value.split()) < 4:  # A longer one is a message.
            yield "constant", ast.Constant(f"X{value}")
        case ast.Constant(value=bytes(value)):
            yield "constant", ast.Constant(b"X" + value)
        case ast.Return(value=ast.Constant(value=None)):
            yield "return", ast.Return(ast.Constant(True))
        case ast.Return(value=ast.expr() as value) if not isinstance(getattr(value, "value", None), bool):
            yield "return", ast.Return(ast.Constant(None))
        case ast.Expr(value=ast.Yield(value=ast.expr())):
            yield "return", ast.Expr(ast.Yield(ast.Constant(None)))
        case ast.Expr(value=ast.Yield() | ast.YieldFrom()):
            pass
        case ast.Assign(targets=[ast.Subscript()]):
            yield "statement", ast.Pass()
        case ast.Expr() | ast.AugAssign() | ast.Raise() | ast.Continue() | ast.Break() | ast.Delete():
            yield "statement", ast.Pass()
        case ast.Return(value=None):
            yield "statement", ast.Pass()


def _text(node: ast.AST) -> str:
    try:
        text = ast.unparse(ast.fix_missing_locations(node)).replace("\n", " ")
    except ValueError:  # A part of an f-string that needs quotes of both kinds.
        text = type(node).__name__
    return text if len(text) <= 100 else f"{text[:97]}..."


def mutated(source: str, mutant: Mutant) -> ast.Module:
    """Return the tree of a module with its mutant."""
    for possible, apply, tree in mutants_of(mutant.module, source):
        if possible == mutant:
            apply()
            return ast.fix_missing_locations(tree)
    raise LookupError(mutant)


def sample(mutants: Iterable[Mutant], count: int, seed: int, least: int = 15) -> list[Mutant]:
    """Choose mutants: `least` of each room or all it has, and the rest in proportion to what remains."""
    rooms: defaultdict[str, list[Mutant]] = defaultdict(list)
    for mutant in sorted(set(mutants)):
        rooms[mutant.room].append(mutant)
    least = min(least, count // max(1, len(rooms)))
    sizes = {room: min(least, len(possible)) for room, possible in rooms.items()}
    more = {room: len(possible) - sizes[room] for room, possible in rooms.items()}
    rest = min(max(0, count - sum(sizes.values())), sum(more.values()))
    shares = {room: rest * left / (sum(more.values()) or 1) for room, left in more.items()}
    floors = {room: int(share) for room, share in shares.items()}
    by_fraction = sorted(shares, key=lambda room: (floors[room] - shares[room], room))
    for room in by_fraction[: rest - sum(floors.values())]:
        floors[room] += 1
    return [
        mutant
        for room in sorted(rooms)
        for mutant in random.Random(f"{seed} {room}").sample(rooms[room], sizes[room] + floors[room])  # noqa: S311
    ]


def possible_mutants() -> list[Mutant]:
    """Return all mutants of the package, except of migrations and `__init__.py` of the package itself."""
    paths = [path for path in sorted((ROOT / PACKAGE).rglob("*.py")) if "migrations" not in path.parts]
    paths.remove(ROOT / PACKAGE / "__init__.py")
    modules = [(path.relative_to(ROOT).as_posix(), path.read_text()) for path in paths]
    return [mutant for module, source in modules for mutant, *_ in mutants_of(module, source)]
