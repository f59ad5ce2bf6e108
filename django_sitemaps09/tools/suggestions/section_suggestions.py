"""Suggest declarations for sections whose hooks are methods, and compare declarations row by row."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from contextlib import closing
from copy import copy
from dataclasses import dataclass
from typing import Any, cast

from django.core.exceptions import ImproperlyConfigured
from django.db.models import Case, F, QuerySet, Value
from django.db.models.functions import Concat, ConcatPair

from django_sitemaps09 import PathTemplate
from django_sitemaps09.conf import conf, site_locale
from django_sitemaps09.declare import sections
from django_sitemaps09.declare.expressions import Field, LocationTemplate
from django_sitemaps09.declare.hosts import export_base
from django_sitemaps09.declare.sitemap_attributes import is_compiled, read
from django_sitemaps09.orm.facts import Facts
from django_sitemaps09.protocol.documents import elements
from django_sitemaps09.protocol.fields import MAX_MESSAGE, excerpt, reason_of
from django_sitemaps09.protocol.pages import Page
from django_sitemaps09.protocol.urls import Base
from django_sitemaps09.protocol.urlset import FORMATS
from django_sitemaps09.rows.compile import compile_source
from django_sitemaps09.rows.hints import opaque_reason
from django_sitemaps09.rows.source_base import Source
from django_sitemaps09.tools import urlconf
from django_sitemaps09.tools.suggestions.method_reader import read_hook
from django_sitemaps09.tools.suggestions.methods import RefusedError, declaration, import_lines

_PLAIN_LOCATION = PathTemplate("/{pk}/", pk=F("pk"))
_OTHER_ITEMS = "items() does not return a plain queryset of model instances. Only that can have columns."
# Rows that are compared at a time.
_ROWS = 2_000
# Number of differences that are shown.
_SHOWN = 3
# Rows that are written between the two queries make a difference only once.
_ATTEMPTS = 3


@dataclass(frozen=True, slots=True)
class Comparison:
    """A comparison of two declarations.

    `rows` is the number of rows that were compared, and that are in the sitemap. `is_complete` is false if
    there are more rows. `differences` has a line for each of the first rows that differ.
    """

    rows: int = 0
    is_complete: bool = True
    differences: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A suggestion of what a section can declare instead of its methods.

    `code` is the declarations of the `hooks` with their imports, or `None` if there is no suggestion.
    `comparison` is that with the methods on the rows of the section. If a row differs, there is no `code`.
    `notes` say what stays a method and why.
    """

    section: str
    code: str | None = None
    hooks: tuple[str, ...] = ()
    comparison: Comparison | None = None
    notes: tuple[str, ...] = ()


def suggest(
    names: Sequence[str] = (),
    *,
    rows: int | None = None,
    base_url: str | None = None,
    sitemaps: Mapping[str, sections.Section] | None = None,
) -> list[Suggestion]:
    """Return a suggestion for each named section, by default for all sections.

    A suggestion is read from the source of the methods. It is then compared with them on all rows, or on
    the first `rows` rows. Without `sitemaps`, the sections are those of an export, and those in dicts that
    the URLconf passes to views. Raise `UnknownSectionError` for an unknown name.
    """
    declared_sections = _sections(sitemaps)
    sections.check_known(names, declared_sections)
    base = export_base(base_url)
    suggestions = []
    for name in dict.fromkeys(names or declared_sections):
        with site_locale():
            try:
                suggestions.append(_suggestion(name, declared_sections[name], base, rows))
            except Exception as error:  # noqa: BLE001 a user's class can raise anything
                suggestions.append(Suggestion(name, notes=(reason_of(error, MAX_MESSAGE),)))
    return suggestions


def _sections(sitemaps: Mapping[str, sections.Section] | None) -> dict[str, sections.Section]:
    found = dict(sections.mapping(sitemaps).items())
    if sitemaps is None:
        passed = [view.sitemaps for view in urlconf.passed_sitemaps()]
        for mapping in [*passed, *(argument for _, argument in urlconf.templates())]:
            # Not isinstance(), which would evaluate a lazy object.
            if issubclass(type(mapping), Mapping):
                found = {**cast("Mapping[str, sections.Section]", mapping), **found}
    return found


def _suggestion(name: str, section: sections.Section, base: Base, rows: int | None) -> Suggestion:
    declared_now = read(sections.bind(section, base.domain), base, conf.limits)
    sitemap = declared_now.sitemap
    if not declared_now.hooks:
        return Suggestion(name, notes=opaque_reason(sitemap))
    methods = [name for name, hook in declared_now.hooks.items() if callable(hook)]
    if not methods:
        return Suggestion(name, notes=("All hooks are constants or expressions.",))
    items = sitemap.items()
    # The members of a union can be rows of other models, which become instances of the first one.
    own = Facts(items)
    if own.is_combined or not own.has_plain_instances:
        return Suggestion(name, notes=(_OTHER_ITEMS,))
    codes: dict[str, str] = {}
    declared: dict[str, Any] = {}
    notes = []
    for hook in methods:
        try:
            codes[hook], declared[hook] = _declaration(sitemap, items, hook)
        except (RefusedError, SyntaxError, ValueError) as error:
            notes.append(f"{hook} stays a method: {str(error).rstrip('.')}.")
    if not codes:
        return Suggestion(name, notes=tuple(notes))
    # No other method of the sitemap is called for a row.
    kept: dict[str, Any] = {hook: None for hook in [*methods, *declared_now.content] if hook not in codes}
    if kept:
        called = " and ".join(f"{hook}()" for hook in kept)
        notes.append(f"Model instances are still created for {called}.")
    if "location" in kept:
        kept["location"] = _PLAIN_LOCATION
    old, new = (_source(_with(sitemap, attributes), base) for attributes in (kept, kept | declared))
    comparison = _compare_rows(old, new, rows)
    declarations = [f"{hook} = {code}" for hook, code in codes.items()]
    if comparison.differences:
        notes.insert(0, f"The columns do not have the values of the methods: {' and '.join(declarations)}.")
        return Suggestion(name, comparison=comparison, notes=tuple(notes))
    code = "\n".join([*import_lines(codes.values()), "", *declarations])
    return Suggestion(name, code, tuple(codes), comparison, tuple(notes))


def _declaration(sitemap: Any, items: QuerySet[Any], hook: Field) -> tuple[str, Any]:
    """Return the code that can replace a method, and what it declares."""
    value = read_hook(sitemap, items, hook)
    code = value.location if hook == "location" else value.code
    declared = declaration(code)
    if hook == "location" and not _is_rooted(declared):
        raise RefusedError("its text can be empty or a query, which only methods can return")
    return code, declared


def _is_rooted(location: Any) -> bool:
    """Return whether a location is never empty, and never begins with a query."""
    if isinstance(location, Value):
        return location.value is None or str(location.value)[:1] not in ("", "?")
    if isinstance(location, Case):
        return all(map(_is_rooted, [*(case.result for case in location.cases), location.default]))
    if isinstance(location, (Concat, ConcatPair)):
        return _is_rooted(location.get_source_expressions()[0])
    return isinstance(location, LocationTemplate)


def _with(sitemap: Any, attributes: Mapping[str, Any]) -> Any:
    """Return a copy of a sitemap with other attributes. A hook can be a property, so the class has them."""
    kind: Any = type(sitemap)
    declared = copy(sitemap)
    declared.__class__ = type(kind.__name__, (kind,), {**attributes, "__module__": kind.__module__})
    for hook in attributes:
        vars(declared).pop(hook, None)
    return declared


def compare(old: Any, new: Any, *, rows: int | None = None, base_url: str | None = None) -> Comparison:
    """Compare what two sitemaps write for each row, or for the first `rows` rows.

    Raise `ImproperlyConfigured` if they do not list rows by the same key.
    """
    base = export_base(base_url)
    with site_locale():
        sitemaps = [sections.bind(section, base.domain) for section in (old, new)]
        names = [type(sitemap).__qualname__ for sitemap in sitemaps]
        for name, sitemap in zip(names, sitemaps, strict=True):
            if not is_compiled(sitemap):
                raise ImproperlyConfigured(
                    f"{name} is read through get_urls(), so its rows are not known. Inherit from the "
                    "Sitemap of django_sitemaps09, and override only its hooks."
                )
        old_source, new_source = (_source(sitemap, base) for sitemap in sitemaps)
        if old_source.key_identity != new_source.key_identity:
            raise ImproperlyConfigured(
                f"{' and '.join(names)} list rows by different keys, so they cannot be compared row by "
                "row. Give both the same model and `key`."
            )
        return _compare_rows(old_source, new_source, rows)


def _compare_rows(old: Source, new: Source, rows: int | None) -> Comparison:
    """Compare the entries of two sources for each row. Both list rows by the same key."""
    count = 0
    differences: list[str] = []
    page = Page(1, None, None)
    for page in _bounds(old, rows):
        for _ in range(_ATTEMPTS):
            texts, others = _texts(old, page), _texts(new, page)
            if texts == others:
                break
        count += len(texts)
        differences += [
            f"row {key!r} is {_shown(texts, key)}, but would be {_shown(others, key)}"
            for key in dict.fromkeys([*texts, *others])
            if texts.get(key) != others.get(key)
        ]
        if len(differences) >= _SHOWN:
            break
    return Comparison(count, page.until is None, tuple(differences[:_SHOWN]))


def _source(sitemap: Any, base: Base) -> Source:
    # The name of a section is only in messages.
    return compile_source("comparison", sitemap, base, conf.limits)


def _bounds(source: Any, rows: int | None) -> Iterator[Page]:
    """Yield the ranges of the first `rows` rows, or of all rows."""
    after, remaining = None, _ROWS if rows is None else rows
    while remaining > 0:
        size = min(remaining, _ROWS)
        until = source.key_after(after, size)
        yield Page(1, after, until)
        if until is None:
            return
        after, remaining = until, remaining - (0 if rows is None else size)


def _texts(source: Any, page: Page) -> dict[Hashable, list[str]]:
    """Return the texts of the rows by key, as in an export. A queryset can list a row several times."""
    texts: dict[Hashable, list[str]] = {}
    with closing(source.batches(page)) as batches:
        for batch in batches:
            entries = elements(FORMATS[source.declared.format], batch, str(source.declared.base))
            for key, text in zip(batch.keys, entries, strict=True):
                texts.setdefault(key, []).append(text.strip())
    return texts


def _shown(texts: dict[Hashable, list[str]], key: Hashable) -> str:
    return excerpt(" and ".join(texts[key]), MAX_MESSAGE) if key in texts else "skipped"
