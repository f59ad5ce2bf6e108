"""System checks of settings and declarations: nothing here queries, or calls what a user wrote.

What contrib accepts is at most a warning on a class without expressions; where a class declares
some, or where nothing at all could be served, it is an error.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator
from difflib import get_close_matches
from typing import Any

from django.conf import settings
from django.contrib import sitemaps as contrib
from django.core.checks import CheckMessage, Error, Warning
from django.core.exceptions import FieldError, ImproperlyConfigured
from django.db.models import QuerySet
from django.urls import URLResolver, get_resolver

from django_sitemaps09 import conf, sections
from django_sitemaps09.routes import Route, is_expression
from django_sitemaps09.rows import can_reorder, repeats_rows
from django_sitemaps09.sitemaps import FIELDS, ModelSitemap, Sitemap, StaticViewSitemap
from django_sitemaps09.sources.keys import KeyColumns
from django_sitemaps09.sources.values import CONVERTERS

_METHOD = "Change it, leave it out, or declare a query expression or a method that takes the item."


def check_settings(app_configs: object = None, **kwargs: object) -> list[CheckMessage]:
    """The keys and values of `SITEMAPS09`."""
    try:
        given = conf.conf.given
    except ImproperlyConfigured as error:
        return [Error(str(error), hint="Set a dict, or remove the setting.", id="sitemaps09.E001")]
    found: list[CheckMessage] = []
    for key in given:
        if key not in conf.KEYS:
            near = get_close_matches(str(key).upper(), conf.KEYS, n=1)
            hint = f"Did you mean {near[0]!r}?" if near else f"There are: {', '.join(conf.KEYS)}."
            found.append(Error(f"SITEMAPS09 has no key {key!r}.", hint=hint, id="sitemaps09.E002"))
    messages = dict.fromkeys(filter(None, map(_refused, conf.KEYS.values())))
    found += [
        Error(text, hint="See the settings in the README.", id="sitemaps09.E003") for text in messages
    ]
    for key in ("STORAGE", "STATE"):
        alias = given.get(key)
        if isinstance(alias, str) and alias not in settings.STORAGES:
            hint = f"STORAGES has: {', '.join(settings.STORAGES)}."
            text = f"SITEMAPS09[{key!r}] is {alias!r}, no alias of STORAGES."
            found.append(Error(text, hint=hint, id="sitemaps09.E004"))
    if isinstance(given.get("ENGINE"), str) and (problem := _engine_problem(given["ENGINE"])):
        hint = "'processes', 'serial', 'celery', or the dotted path of a class of yours."
        found.append(Error(f"SITEMAPS09['ENGINE']: {problem}", hint=hint, id="sitemaps09.E007"))
    return found


def _engine_problem(name: str) -> str | None:
    # Here alone: what an export needs is no part of what a site starts with.
    from django_sitemaps09.export import engines

    try:
        engines.engine_class(name)
    except ImproperlyConfigured as error:
        return str(error)
    return None


def _refused(name: str) -> str | None:
    try:
        getattr(conf.conf, name)
    except ImproperlyConfigured as error:
        return str(error)
    return None


def check_sections(app_configs: object = None, **kwargs: object) -> list[CheckMessage]:
    """The sections that are registered or set, and what each of their classes declares."""
    try:
        known = sections.mapping()
    except (ImproperlyConfigured, ImportError) as error:
        hint = "Mend the setting SITEMAPS, or the sitemaps.py that is named."
        return [Error(str(error), hint=hint, id="sitemaps09.E005")]
    found: list[CheckMessage] = []
    try:
        sections.named(known)
    except ImproperlyConfigured as error:
        hint = "Only contrib's own views take any name."
        found.append(Warning(str(error), hint=hint, id="sitemaps09.W006"))
    return [*found, *check_declarations(known.values())]


def check_declarations(declared: Iterable[Any]) -> list[CheckMessage]:
    """The classes and instances among some sections, each class once. A factory is not called."""
    found: list[CheckMessage] = []
    for subject in dict.fromkeys(section for section in declared if _is_declaration(section)):
        for check in _CHECKS:
            found += check(subject)
    return found


def _is_declaration(section: Any) -> bool:
    if inspect.isclass(section):
        return issubclass(section, contrib.Sitemap)
    return isinstance(section, contrib.Sitemap)


def _name(subject: Any) -> str:
    described = subject if inspect.isclass(subject) else type(subject)
    return f"{described.__module__}.{described.__qualname__}"


def _class(subject: Any) -> type:
    return subject if inspect.isclass(subject) else type(subject)


def _hook(subject: Any, name: str) -> Any:
    """A hook that is data; `None` for methods, properties and the like, which are code of the user's."""
    value = inspect.getattr_static(subject, name, None)
    return None if callable(value) or hasattr(type(value), "__get__") else value


def _own_init(subject: Any) -> bool:
    """Whether what a class has can only be known of its instances."""
    return inspect.isclass(subject) and subject.__init__ is not object.__init__


def _constants(subject: Any) -> Iterator[CheckMessage]:
    # How bad it is that a constant cannot be written.
    hooks = [_hook(subject, name) for name in FIELDS]
    strict = any(isinstance(hook, Route) or is_expression(hook) for hook in hooks)
    for number, (name, judge) in enumerate(CONVERTERS.items(), 10):
        value = _hook(subject, name)
        if is_expression(value):
            continue
        try:
            judge(value)
        except ValueError as error:
            text = f"{_name(subject)}.{name}: {error}."
            if strict:
                yield Error(text, hint=_METHOD, id=f"sitemaps09.E{number:03}")
            else:
                yield Warning(text, hint=_METHOD, id=f"sitemaps09.W{number:03}")
    if _hook(subject, "protocol") not in (None, "http", "https"):
        text = f"{_name(subject)}.protocol is {subject.protocol!r}."
        yield Warning(text, hint="Crawlers follow http and https.", id="sitemaps09.W014")
    limit = _hook(subject, "limit")
    if limit is not None and (isinstance(limit, bool) or not isinstance(limit, int) or limit < 1):
        text = f"{_name(subject)}.limit is {limit!r}, and no number of URLs."
        yield Error(text, hint="Set a whole number from 1 to 50,000.", id="sitemaps09.E013")


def _route(subject: Any) -> Iterator[CheckMessage]:
    route = _hook(subject, "location")
    fixed = isinstance(route, str) or (isinstance(route, Route) and not route.expressions)
    if issubclass(_class(subject), ModelSitemap) and fixed:
        yield Error(
            f"{_name(subject)}.location is {route!r}, the same URL for every row.",
            hint="Give an argument as a query expression, such as slug=F('slug').",
            id="sitemaps09.E020",
        )
    if isinstance(route, Route) and (problem := route_problem(route)):
        yield Error(
            f"{_name(subject)}.location is {route!r}, but {problem}.",
            hint="A Route takes the name of a URL pattern and its arguments, as reverse() does.",
            id="sitemaps09.E021",
        )


def route_problem(route: Route) -> str | None:
    """Why `reverse()` could take no value at all, or `None`: the name, or the arguments."""
    if not getattr(settings, "ROOT_URLCONF", None):
        return None
    resolver: URLResolver = get_resolver()
    *namespaces, view = route.viewname.split(":")
    for namespace in namespaces:
        instances = resolver.app_dict.get(namespace, [])
        chosen = namespace if namespace in instances or not instances else instances[0]
        if chosen not in resolver.namespace_dict:
            return f"there is no namespace {namespace!r}"
        prefix, resolver = resolver.namespace_dict[chosen]
        if "(" in prefix or "%" in prefix:
            # Arguments of the include() come on top of the pattern's.
            return None
    candidates = resolver.reverse_dict.getlist(view)
    if not candidates:
        return f"there is no URL pattern named {view!r}"
    for possibilities, _, defaults, _ in candidates:
        for _, parameters in possibilities:
            missing = set(route.kwargs).symmetric_difference(parameters).difference(defaults)
            if len(route.args) == len(parameters) if route.args else not missing:
                return None
    given = f"{len(route.args)} positional" if route.args else f"{sorted(route.kwargs)}"
    return f"no URL pattern named {view!r} takes the arguments it has ({given})"


def _static(subject: Any) -> Iterator[CheckMessage]:
    declared = _class(subject)
    if not issubclass(declared, StaticViewSitemap) or declared.items is not StaticViewSitemap.items:
        return
    names = _hook(subject, "viewnames")
    if isinstance(names, str):
        text = f"{_name(subject)}.viewnames is {names!r}, of which each letter is a name."
        yield Error(text, hint=f"Set a list: [{names!r}].", id="sitemaps09.E022")
    elif declared.default_location is StaticViewSitemap.default_location:
        for name in names or ():
            if problem := route_problem(Route(name)):
                yield Error(
                    f"{_name(subject)}.viewnames has {name!r}, but {problem}.",
                    hint="A view here has a name, and takes no arguments.",
                    id="sitemaps09.E023",
                )


def _rows(subject: Any) -> QuerySet[Any] | None:
    """The queryset of a declaration, where it can be known without a call of the user's."""
    declared = _class(subject)
    if not issubclass(declared, ModelSitemap):
        return None
    if (declared.items, declared.get_queryset) != (ModelSitemap.items, ModelSitemap.get_queryset):
        return None
    queryset, model = _hook(subject, "queryset"), inspect.getattr_static(subject, "model", None)
    if isinstance(queryset, QuerySet):
        return queryset
    return None if model is None else QuerySet(model)


def _model(subject: Any) -> Iterator[CheckMessage]:
    declared = _class(subject)
    if not issubclass(declared, ModelSitemap):
        return
    rows = _rows(subject)
    if rows is None:
        if not _own_init(subject) and (declared.items, declared.get_queryset) == (
            ModelSitemap.items,
            ModelSitemap.get_queryset,
        ):
            yield Error(
                f"{_name(subject)} has no rows.",
                hint="Set `queryset` or `model`, or override `get_queryset()` or `items()`.",
                id="sitemaps09.E030",
            )
        return
    if not can_reorder(rows):
        yield Warning(
            f"{_name(subject)} is paged by position: its queryset has no ranges of a key.",
            hint="Slices, unions, values() and distinct(fields) are slow on many rows, and a row that "
            "comes or goes moves all behind it. Use a plain queryset if there can be many.",
            id="sitemaps09.W031",
        )
    try:
        KeyColumns.of(rows.model, subject.key, rows.db)
    except ImproperlyConfigured as error:
        yield Error(f"{_name(subject)}: {error}", hint="Set `key`.", id="sitemaps09.E032")
    own = [getattr(declared, name) for name in ("location", "default_location")]
    default = own == [getattr(Sitemap, name) for name in ("location", "default_location")]
    default = default and _hook(subject, "location") is None
    if default and not _own_init(subject) and not hasattr(rows.model, "get_absolute_url"):
        yield Error(
            f"{_name(subject)} has no `location`, and {rows.model._meta.label} no get_absolute_url().",
            hint="Declare `location` as a Route or a method, or define get_absolute_url().",
            id="sitemaps09.E033",
        )
    yield from _expressions(subject, rows)


def _expressions(subject: Any, rows: QuerySet[Any]) -> Iterator[CheckMessage]:
    for name in FIELDS:
        value = _hook(subject, name)
        if not isinstance(value, Route) and not is_expression(value):
            continue
        parts = value.expressions if isinstance(value, Route) else [value]
        try:
            resolved = rows.annotate(**{f"_check_{i}": part for i, part in enumerate(parts)})
        except (FieldError, TypeError, NotImplementedError) as error:
            yield Error(
                f"{_name(subject)}.{name}: {error}.".replace("..", "."),
                hint="Expressions name fields of the model, or annotations of the queryset.",
                id="sitemaps09.E034",
            )
            continue
        if repeats_rows(resolved.query) and not repeats_rows(rows.query):
            yield Error(
                f"{_name(subject)}.{name} follows a relation to many rows: items would repeat.",
                hint="Use an aggregate such as Max(), or a method that takes the item.",
                id="sitemaps09.E035",
            )


_CHECKS: tuple[Callable[[Any], Iterable[CheckMessage]], ...] = (_constants, _route, _static, _model)
