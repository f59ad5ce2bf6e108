"""The code of a sitemap class in which methods are replaced by declarations."""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from collections.abc import Collection, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from django_sitemaps09.suggestions.values import Value


class ClassCode(NamedTuple):
    """A class with its imports, ready to paste. `subclass` is its name, if it is not the sitemap's own."""

    text: str
    subclass: str | None


def class_code(
    section: str,
    sitemap: object,
    values: Mapping[Any, Value],
    comments: Mapping[Any, str] = MappingProxyType({}),
    *,
    in_place: bool,
) -> ClassCode:
    """Return the code of the class. `comments` are those above the declarations.

    With `in_place`, return the sitemap's own class with the methods replaced, if its source is available.
    Otherwise, return a subclass for this section.
    """
    kind = type(sitemap)
    lines = []
    for hook, value in values.items():
        if hook in comments:
            lines.append(f"# {comments[hook]}")
        lines.append(f"{hook} = {value.code}")
    name = None
    imports = {line for value in values.values() for line in value.imports}
    edited = _edited(kind, values.keys(), lines) if in_place else None
    if edited is None:
        words = (word for word in re.split("[^0-9A-Za-z]+", section) if word)
        name = f"{''.join(word[:1].upper() + word[1:] for word in words)}Sitemap"
        name = name if name.isidentifier() else f"Section{name}"
        base = f"{kind.__name__} as Base{name}" if kind.__name__ == name else kind.__name__
        package = (
            "django_sitemaps09" if kind.__module__.startswith("django_sitemaps09.") else kind.__module__
        )
        imports.add(f"from {package} import {base}")
        head = f"class {name}({base.rpartition(' ')[2]}):"
        edited = "\n".join([head, *(f"    {line}" for line in lines)])
    return ClassCode("\n".join([*_merged(imports), "", "", edited]), name)


def _merged(imports: Collection[str]) -> list[str]:
    """Return one import line for each module, Django's first."""
    names_by_module: dict[str, list[str]] = {}
    for line in sorted(imports):
        _, module, _, names = line.split(" ", 3)
        names_by_module.setdefault(module, []).append(names)
    modules = sorted(names_by_module, key=lambda module: (not module.startswith("django."), module))
    return [f"from {module} import {', '.join(sorted(names_by_module[module]))}" for module in modules]


def _edited(kind: type, names: Collection[str], declarations: list[str]) -> str | None:
    """Return the source of a class, with these methods replaced; `None` if that is not possible."""
    try:
        source = textwrap.dedent(inspect.getsource(kind))
        [definition] = ast.parse(source).body
    except (OSError, TypeError, SyntaxError, ValueError):
        return None
    if not isinstance(definition, ast.ClassDef) or definition.name != kind.__name__:
        return None
    for node in definition.body:
        if not isinstance(node, (ast.FunctionDef, ast.ClassDef)) and any(
            inner is not node and isinstance(inner, ast.stmt) and _defines(inner, names)
            for inner in ast.walk(node)
        ):
            # The method is defined under a condition.
            return None
    lines: list[str | None] = list(source.splitlines())
    # A method starts at its first decorator.
    starts = {
        node: min([node.lineno, *(part.lineno for part in getattr(node, "decorator_list", ()))])
        for node in definition.body
    }
    for node, start in starts.items():
        if _defines(node, names):
            lines[start - 1 : node.end_lineno] = [None] * (int(node.end_lineno or start) - start + 1)
    methods = [starts[node] for node in definition.body if isinstance(node, ast.FunctionDef)]
    position = min(methods, default=len(lines) + 1) - 1
    indent = " " * definition.body[0].col_offset
    above = [line for line in lines[:position] if line is not None]
    while above and not above[-1].strip():
        above.pop()
    below = "\n".join(line for line in lines[position:] if line is not None)
    # Where methods were removed, leave one blank line.
    below = re.sub(r"\n{3,}", "\n\n", below).strip("\n")
    body = [*above, *(f"{indent}{line}" for line in declarations), *(["", below] if below.strip() else [])]
    return "\n".join(body)


def _defines(node: ast.stmt, names: Collection[str]) -> bool:
    if isinstance(node, ast.FunctionDef):
        return node.name in names
    targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
    return any(isinstance(target, ast.Name) and target.id in names for target in targets)
