"""Suggest declarations for the sections whose hooks are methods."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from typing import Any, cast

from django.core.exceptions import ImproperlyConfigured
from django.db import connections, transaction
from django.db.models import Model, QuerySet

from django_sitemaps09 import sections
from django_sitemaps09.checks import urlconf
from django_sitemaps09.conf import site_locale
from django_sitemaps09.django_internals import gives_instances
from django_sitemaps09.entries import MAX_MESSAGE, excerpt, reason_of
from django_sitemaps09.export.hints import opaque_reason
from django_sitemaps09.export.options import export_base
from django_sitemaps09.hooks.expressions import FIELDS
from django_sitemaps09.protocol import Base
from django_sitemaps09.sections import Section
from django_sitemaps09.sitemaps import GenericSitemap, has_same_languages
from django_sitemaps09.sources import is_compiled
from django_sitemaps09.sources.columns import content_hooks, project_extensions
from django_sitemaps09.suggestions.class_code import class_code
from django_sitemaps09.suggestions.places import UntraceableError
from django_sitemaps09.suggestions.proof import DifferenceError
from django_sitemaps09.suggestions.section_proof import SAMPLE, SectionProof
from django_sitemaps09.suggestions.side_effects import without_saving
from django_sitemaps09.suggestions.values import RouteValue, TemplateValue, Value

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
    for name in names:
        if name not in declared_sections:
            raise sections.unknown_section(name, declared_sections)
    base = export_base(base_url)
    suggestions = []
    for name in dict.fromkeys(names or declared_sections):
        section = declared_sections[name]
        in_place = _is_edited_in_place(declared_sections, name)
        is_generic = issubclass(type(section), GenericSitemap)
        arguments = "" if isinstance(section, type) else "({...})" if is_generic else "(...)"
        with site_locale(), without_saving(), _rolled_back():
            try:
                sitemap = sections.bind(section, base.domain)
                suggestions.append(
                    _suggestion(name, sitemap, base, sample, in_place=in_place, arguments=arguments)
                )
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
    if not isinstance(section, type):
        return False
    others = [other for other_name, other in declared_sections.items() if other_name != name]
    return not any(
        issubclass(other if isinstance(other, type) else type(other), section) for other in others
    )


def _suggestion(
    name: str, sitemap: Any, base: Base, sample: int | None, *, in_place: bool, arguments: str
) -> Suggestion:
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
        items_compared = proof.pair(values, [None] if sample is None else proof.sample_parts).compare()
    except DifferenceError as error:
        return Suggestion(name, notes=(*notes, f"The columns cannot replace the methods: {error}."))
    code = class_code(name, sitemap, values, proof.comments(values), in_place=in_place)
    if code.subclass and (arguments or code.subclass != type(sitemap).__name__):
        notes += (f'The entry of the section becomes "{name}": {code.subclass}{arguments}.',)
    microseconds = proof.timed(values)
    if microseconds and microseconds[1] > _GAIN * microseconds[0]:
        notes += ("No gain by itself, as measured.",)
    return Suggestion(name, code.text, tuple(values), items_compared, microseconds, notes)


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
    names += ["get_languages_for_item()"] * (sitemap.i18n and not has_same_languages(sitemap))
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
