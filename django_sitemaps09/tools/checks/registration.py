"""Check sections that are registered, listed in the setting `SITEMAPS`, or passed in the URLconf."""

from __future__ import annotations

import inspect
import sys
from collections import OrderedDict
from collections.abc import Collection, Iterable, Iterator
from contextlib import suppress
from types import ModuleType
from typing import Any, cast

from django.apps import apps
from django.contrib import sitemaps as contrib
from django.core.checks import CheckMessage
from django.core.exceptions import ImproperlyConfigured

from django_sitemaps09.conf import conf
from django_sitemaps09.declare import sections
from django_sitemaps09.declare.base import CONTRIB_INTERNALS, Sitemap
from django_sitemaps09.protocol.fields import MAX_MESSAGE, excerpt, reason_of
from django_sitemaps09.tools import urlconf
from django_sitemaps09.tools.checks import attributes, querysets, subjects
from django_sitemaps09.tools.checks.configuration import export_settings
from django_sitemaps09.tools.checks.subjects import Subject, error_text, is_code, message

_READERS = ("__iter__", "keys", "values", "items")
_BUILT_IN = {dict, OrderedDict}


def check_sections(app_configs: object = None, **kwargs: object) -> list[CheckMessage]:
    """Check the names and the declarations of sections, each mapping and each class once."""
    messages: list[CheckMessage] = []
    default_sections: object = None
    passed_sitemaps = urlconf.passed_sitemaps()
    try:
        default_sections = _default_sections(passed_sitemaps)
    except Exception as error:  # noqa: BLE001 the modules of a project can raise anything
        is_explained = isinstance(error, (ImproperlyConfigured, ImportError))
        text = excerpt(error, MAX_MESSAGE) if is_explained else reason_of(error)
        hint = "Fix SITEMAPS09['SITEMAPS'], or the sitemaps.py file named in this message."
        messages.append(message("E005", text, hint))
    for mapping in {id(each.sitemaps): each.sitemaps for each in passed_sitemaps}.values():
        if mapping is not None and (problem := error_text(ImproperlyConfigured, sections.mapping, mapping)):
            hint = "Pass a dict, as in include(...), {'sitemaps': {'products': ProductSitemap}}."
            messages.append(message("E093", problem, hint))
    served = [urlconf.PassedSitemaps(default_sections, names_urls=True), *passed_sitemaps]
    in_urls = [_read_mapping(sitemaps) for sitemaps, names_urls in served if names_urls]
    problems = [error_text(ImproperlyConfigured, sections.native_mapping, each) for each in in_urls]
    # Other views accept all strings, but a name from a URL never equals a number.
    names = [name for sitemaps, names_urls in served if not names_urls for name in _read_mapping(sitemaps)]
    problems += [sections.invalid_name(name) for name in names if not isinstance(name, str)]
    for problem in dict.fromkeys(filter(None, problems)):
        hint = "Rename the section. Only the compatibility views and those of contrib accept any string."
        messages.append(message("W006", problem, hint))
    messages += check_declarations(_sections_in(each.sitemaps for each in served))
    if default_sections is not None and _uses_registry(passed_sitemaps):
        messages += _check_unregistered([default_sections, *urlconf.sitemaps_arguments()])
    return messages


def check_keys(
    app_configs: object = None, databases: Collection[str] | None = None, **kwargs: object
) -> list[CheckMessage]:
    """Check the keys of rows in these databases. Runs only with `check --database default`."""
    passed_sitemaps = urlconf.passed_sitemaps()
    default_sections: object = None
    with suppress(Exception):  # `check_sections()` reports this error.
        default_sections = _default_sections(passed_sitemaps)
    declarations = _sections_in([default_sections, *(each.sitemaps for each in passed_sitemaps)])
    found = [querysets.check_stored_keys(each, databases or ()) for each in _subjects(declarations)]
    return [message for messages in found for message in messages]


def _default_sections(passed_sitemaps: Iterable[urlconf.PassedSitemaps]) -> object:
    """Return the sections in the setting `SITEMAPS`, or else the registered sections; `None` if invalid."""
    if error_text(ImproperlyConfigured, getattr, conf, "sitemaps"):
        # `check_settings()` reports this error.
        return None
    if conf.sitemaps is not None:
        return sections.mapping()
    return sections.registered(discover=_uses_registry(passed_sitemaps))


def _uses_registry(passed_sitemaps: Iterable[urlconf.PassedSitemaps]) -> bool:
    """Return whether a view or an export uses registered sections. Only then are their modules imported."""
    # A project that passes a mapping may have old modules that can no longer be imported.
    is_served = any(each.sitemaps is None for each in passed_sitemaps)
    return conf.sitemaps is None and (is_served or bool(export_settings(conf.settings_dict)))


def _check_unregistered(mappings: Iterable[object]) -> Iterator[CheckMessage]:
    """Check for sitemap classes in the `sitemaps` modules of apps that no section and no code uses."""
    mappings = [mapping for mapping in mappings if mapping is not None]
    known = _sections_in(mappings)
    if not all(map(_is_readable, mappings)) or any(map(is_factory, known)):
        # A mapping that cannot be read can contain any class, and a factory can return any class.
        return
    used = {id(Subject(each).cls) for each in known}
    for module in filter(None, [sys.modules.get(f"{app.name}.sitemaps") for app in apps.get_app_configs()]):
        for value in dict(vars(module)).values():
            is_own_class = issubclass(type(value), type) and value.__module__ == module.__name__
            is_unused = is_own_class and issubclass(value, Sitemap) and id(value) not in used
            if is_unused and not value.__subclasses__() and not _is_mentioned(value, module):
                text = f"{Subject(value)} is not registered, so no sitemap lists its URLs."
                hint = 'Write @register("...") above it, with a name for the section. If other code uses '
                hint += "the class, add 'sitemaps09.W016' to SILENCED_SYSTEM_CHECKS."
                yield message("W016", text, hint)


def _is_mentioned(cls: type, module: ModuleType) -> bool:
    """Return whether another module imports a class or its module, or its module has its name twice."""
    own_names = (module.__name__, module.__name__.rpartition(".")[0])
    # Only plain modules, because others can run code when they are read.
    others = [each for name, each in [*sys.modules.items()] if name not in own_names]
    plain = [each for each in others if type(each) is ModuleType]
    found = {id(value) for each in plain for value in [*vars(each).values()]}
    return subjects.is_repeated(cls.__name__, module) or not found.isdisjoint({id(cls), id(module)})


def _read_mapping(sitemaps: object) -> dict[Any, Any]:
    """Return a copy of a dict of sections. Return an empty dict for any other object."""
    return dict(dict.items(cast("dict[Any, Any]", sitemaps))) if _is_readable(sitemaps) else {}


def _sections_in(mappings: Iterable[object]) -> list[Any]:
    return [section for mapping in mappings for section in _read_mapping(mapping).values()]


def _is_readable(sitemaps: object) -> bool:
    """Return whether a mapping has the reading methods of `dict`. Those of a project could run a query."""
    kind = type(sitemaps)
    if not issubclass(kind, dict):
        return False
    return {next(base for base in kind.__mro__ if name in vars(base)) for name in _READERS} <= _BUILT_IN


def is_factory(declaration: object) -> bool:
    """Return whether a section may be a function that returns a sitemap, or a stand-in for a sitemap."""
    is_class = issubclass(type(declaration), type)
    return not is_class and (is_code(declaration) or hasattr(type(declaration), "__getattr__"))


def _may_bind(subject: Subject) -> bool:
    """Return whether a section is a sitemap, or a class or an instance that may return or stand for one."""
    if any(subject.raw(name) is not None for name in ("get_urls", "for_host")):
        return True
    # A class can return another object when it is called.
    has_new = subject.is_class and inspect.getattr_static(subject.cls, "__new__") is not object.__new__
    return has_new or inspect.getattr_static(subject.cls, "__getattr__", None) is not None


def _subjects(declarations: Iterable[Any]) -> Iterable[Subject]:
    """Return each sitemap class and instance once, even if several sections use it."""
    # Compared by identity, because equality would call the project's own __eq__().
    return {id(section): Subject(section) for section in declarations}.values()


def check_declarations(sections: Iterable[Any]) -> list[CheckMessage]:
    """Check each sitemap class and instance once. Call no factory."""
    messages: list[CheckMessage] = []
    for subject in _subjects(sections):
        if not (is_factory(subject.declaration) or _may_bind(subject)):
            name = str(subject) if subject.is_class else subjects.safe_repr(subject.declaration)
            text = f"{name} is used as a section, but is not a sitemap."
            hint = "Register a subclass of ModelSitemap, StaticViewSitemap or Sitemap."
            messages.append(message("E081", text, hint))
        if issubclass(subject.cls, contrib.Sitemap):
            messages += [*attributes.check_constants(subject), *attributes.check_languages(subject)]
            messages += [*attributes.check_locations(subject), *querysets.check_rows(subject)]
        uses_hooks = subject.inherits(contrib.Sitemap, *CONTRIB_INTERNALS) and not subject.has_own_init
        # Only our classes have the other attributes.
        if issubclass(subject.cls, Sitemap):
            messages += [*attributes.check_names(subject), *attributes.check_hooks(subject)]
            messages += attributes.check_documents(subject)
        elif uses_hooks and subject.is_strict:
            text = f"{subject} is a class of django.contrib.sitemaps, which does not support expressions."
            messages.append(message("E082", text, "Import the base class from django_sitemaps09 instead."))
    # Several instances of one class can have the same problem.
    return [message for position, message in enumerate(messages) if message not in messages[:position]]
