"""Suggest declarations for the sections whose hooks are methods, as the code of a class."""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from typing import Any, cast

from django.core.exceptions import ImproperlyConfigured
from django.db import connections, transaction
from django.db.models import Model, QuerySet

from django_sitemaps09 import sections
from django_sitemaps09.checks import urlconf
from django_sitemaps09.conf import site_locale
from django_sitemaps09.entries import MAX_MESSAGE, excerpt, reason_of
from django_sitemaps09.export.hints import opaque_reason
from django_sitemaps09.export.options import export_base
from django_sitemaps09.hooks.expressions import FIELDS
from django_sitemaps09.orm.internals import gives_instances
from django_sitemaps09.protocol import Base
from django_sitemaps09.sections import Section
from django_sitemaps09.sitemaps import is_original
from django_sitemaps09.sources import is_compiled
from django_sitemaps09.sources.columns import content_hooks, project_extensions
from django_sitemaps09.suggestions.project_code import UntraceableError
from django_sitemaps09.suggestions.recordings import without_saving
from django_sitemaps09.suggestions.section_proof import SAMPLE, DifferenceError, SectionProof
from django_sitemaps09.suggestions.values import RouteValue, TemplateValue, Value, imported_names

# The largest share of the current time that is a gain. Two measurements of the same code differ slightly.
_GAIN = 0.95
_LIST = "items() returns a list of rows. Return the queryset instead, because only it can have columns."


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A suggestion of what a section can declare instead of its methods.

    `code` is the class with its imports, or `None` if there is no suggestion. `hooks` has the names of the
    hooks that it declares. `items` is the number of items for which both declarations have the same bytes.
    `microseconds` is the time per URL now and with the suggestion. `notes` say what stays a method and why.
    """

    section: str
    code: str | None = None
    hooks: tuple[str, ...] = ()
    items: int = 0
    microseconds: tuple[float, float] | None = None
    notes: tuple[str, ...] = ()


def suggest(
    names: Sequence[str] = (),
    *,
    sample: int | None = SAMPLE,
    base_url: str | None = None,
    sitemaps: Mapping[str, Section] | None = None,
) -> list[Suggestion]:
    """Return a suggestion for each named section, by default for all sections.

    A suggestion is compared with the current declaration on `sample` items, or on all items if `sample` is
    `None`. All changes to the database are rolled back. Without `sitemaps`, the sections are those of an
    export, and those in dicts that the URLconf passes to views. Raise `UnknownSectionError` for an unknown
    name.
    """
    declared_sections = _sections(sitemaps)
    sections.check_known(names, declared_sections)
    base = export_base(base_url)
    suggestions = []
    for name in dict.fromkeys(names or declared_sections):
        with site_locale(), without_saving(), _rolled_back():
            try:
                suggestions.append(_suggestion(name, declared_sections, base, sample))
            except UntraceableError as error:
                suggestions.append(Suggestion(name, notes=(f"A hook {error}.",)))
            except ImproperlyConfigured as error:
                suggestions.append(Suggestion(name, notes=(excerpt(error, MAX_MESSAGE),)))
            except Exception as error:  # noqa: BLE001 a user's class can raise anything
                suggestions.append(Suggestion(name, notes=(reason_of(error, MAX_MESSAGE),)))
    return suggestions


def _sections(sitemaps: Mapping[str, Section] | None) -> dict[str, Section]:
    found = dict(sections.mapping(sitemaps).items())
    if sitemaps is None:
        passed = [view.sitemaps for view in urlconf.passed_sitemaps()]
        for mapping in [*passed, *(view.sitemaps for view in urlconf.templates())]:
            # Not isinstance(), which would evaluate a lazy object.
            if issubclass(type(mapping), Mapping):
                found = {**cast("Mapping[str, Section]", mapping), **found}
    return found


def _is_edited_in_place(declared_sections: Mapping[str, Section], name: str) -> bool:
    """Return whether the class of a section can be changed without affecting other sections."""
    section = declared_sections[name]
    others = [other for other_name, other in declared_sections.items() if other_name != name]
    classes = [other if isinstance(other, type) else type(other) for other in others]
    return isinstance(section, type) and not any(issubclass(other, section) for other in classes)


def _suggestion(
    name: str, declared_sections: Mapping[str, Section], base: Base, sample: int | None
) -> Suggestion:
    section = declared_sections[name]
    sitemap = sections.bind(section, base.domain)
    if not is_compiled(sitemap):
        return Suggestion(name, notes=opaque_reason(sitemap))
    methods = [hook for hook in FIELDS if callable(getattr(sitemap, hook, None))]
    if not methods:
        return Suggestion(name, notes=("All hooks are constants or expressions.",))
    items = sitemap.items()
    if not isinstance(items, QuerySet) or not gives_instances(items, plainly=True):
        is_list = isinstance(items, (list, tuple)) and items and isinstance(items[0], Model)
        problem = _LIST if is_list else "items() does not return a queryset of model instances."
        return Suggestion(name, notes=(problem,))
    proof = SectionProof(name, sitemap, items, base, sample)
    values, notes = proof.values(methods)
    if not values:
        return Suggestion(name, notes=notes)
    with_items = [f"{hook}()" for hook in methods if hook not in values] + _other_methods(sitemap)
    reason = f"model instances are still created for {' and '.join(with_items)}"
    is_faster = any(_is_faster(value, items) for value in values.values())
    if with_items and not is_faster:
        codes = " and ".join(f"{hook} = {value.code}" for hook, value in values.items())
        return Suggestion(name, notes=(*notes, f"No gain by itself: {codes}, because {reason}."))
    if len(with_items) > len(methods) - len(values):
        notes += (f"{reason[0].upper()}{reason[1:]}.",)
    try:
        items_compared = proof.compare(values, proof.everything if sample is None else proof.sample)
    except DifferenceError as error:
        return Suggestion(name, notes=(*notes, f"The columns cannot replace the methods: {error}."))
    in_place = _is_edited_in_place(declared_sections, name)
    code, subclass = class_code(name, sitemap, values, proof.comments(values), in_place=in_place)
    arguments = "" if isinstance(section, type) else "(...), with the same arguments"
    if subclass and (arguments or subclass != type(sitemap).__name__):
        notes += (f'The entry of the section becomes "{name}": {subclass}{arguments}.',)
    microseconds = proof.timed(values)
    if microseconds and microseconds[1] > _GAIN * microseconds[0]:
        notes += ("No gain by itself, as measured.",)
    return Suggestion(name, code, tuple(values), items_compared, microseconds, notes)


def _is_faster(value: Value, items: QuerySet[Any]) -> bool:
    """Return whether a value saves time, even if model instances are still created.

    It saves calls to `reverse()`, checks of locations, or queries for related objects.
    """
    saves_queries = not items.query.select_related and any("__" in column.path for column in value.fields())
    return saves_queries or isinstance(value, (RouteValue, TemplateValue))


def _other_methods(sitemap: Any) -> list[str]:
    """Return the names of the hooks that need model instances, and that cannot be columns."""
    names = [f"{name}()" for name in content_hooks(sitemap)]
    names += ["extensions"] * bool(project_extensions(sitemap))
    if sitemap.i18n and not is_original(sitemap, "get_languages_for_item"):
        names.append("get_languages_for_item()")
    names += ["x_default()"] * (sitemap.i18n and callable(sitemap.x_default))
    return names


@contextmanager
def _rolled_back() -> Iterator[None]:
    """Roll back all changes that the block makes in any database."""
    with ExitStack() as transactions:
        for alias in connections:
            # If a database is not available here, no hook can use it either.
            with suppress(Exception):
                transactions.enter_context(transaction.atomic(using=alias))
                transactions.callback(transaction.set_rollback, True, using=alias)
        yield


def class_code(
    section: str,
    sitemap: object,
    values: Mapping[Any, Value],
    comments: Mapping[Any, str],
    *,
    in_place: bool,
) -> tuple[str, str | None]:
    """Return the code of the class with its imports. `comments` are those above the declarations.

    With `in_place`, this is the sitemap's own class with the methods replaced, if its source is available.
    Otherwise, it is a subclass for this section, whose name is also returned.
    """
    kind = type(sitemap)
    lines = []
    for hook, value in values.items():
        if hook in comments:
            lines.append(f"# {comments[hook]}")
        lines.append(f"{hook} = {value.code}")
    name = None
    imports = imported_names(values.values())
    edited = _edited(kind, values.keys(), lines) if in_place else None
    if edited is None:
        words = (word for word in re.split("[^0-9A-Za-z]+", section) if word)
        name = f"{''.join(word[:1].upper() + word[1:] for word in words)}Sitemap"
        name = name if name.isidentifier() else f"Section{name}"
        base = f"{kind.__name__} as Base{name}" if kind.__name__ == name else kind.__name__
        is_ours = kind.__module__.startswith("django_sitemaps09.")
        imports.add(("django_sitemaps09" if is_ours else kind.__module__, base))
        head = f"class {name}({base.rpartition(' ')[2]}):"
        edited = "\n".join([head, *(f"    {line}" for line in lines)])
    return "\n".join([*_import_lines(imports), "", "", edited]), name


def _import_lines(imports: Collection[tuple[str, str]]) -> list[str]:
    names_by_module: dict[str, list[str]] = {}
    for module, name in sorted(imports):
        names_by_module.setdefault(module, []).append(name)
    modules = sorted(names_by_module, key=lambda module: (not module.startswith("django."), module))
    return [f"from {module} import {', '.join(names_by_module[module])}" for module in modules]


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
