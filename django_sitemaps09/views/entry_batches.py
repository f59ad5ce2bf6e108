"""Convert the entries of the compatibility views to batches: entry dicts, or the items of a section."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from copy import copy
from datetime import date
from itertools import compress
from operator import attrgetter
from typing import Any, Generic, NamedTuple

from django.utils import translation

from django_sitemaps09 import protocol, sources
from django_sitemaps09.conf import conf
from django_sitemaps09.django_internals import template_value
from django_sitemaps09.entries import (
    Alternate,
    Batch,
    Column,
    Extension,
    ItemError,
    check_text,
    excerpt,
    short_repr,
)
from django_sitemaps09.hooks.annotations import column, load_columns
from django_sitemaps09.hooks.expressions import alias, declared_expressions
from django_sitemaps09.hooks.extensions import results_in
from django_sitemaps09.hooks.hosts import AllowedHosts
from django_sitemaps09.hooks.values import Items, lastmod_text, priority_text, unescaped
from django_sitemaps09.location_templates import LocationTemplate, is_expression
from django_sitemaps09.protocol import Base
from django_sitemaps09.queryset_traits import AT_A_TIME, chunks
from django_sitemaps09.sitemaps import is_path
from django_sitemaps09.sources.columns import extensions
from django_sitemaps09.sources.get_urls import entry_batch
from django_sitemaps09.views.responses import as_datetime

logger = logging.getLogger(__name__)


def look_up(entry: Any, name: str) -> Any:
    """Look up a key or an attribute as templates do. Return `None` if neither exists."""
    try:
        return entry[name]
    except (TypeError, LookupError):
        return getattr(entry, name, None)


def as_text(value: Any, missing: str | None = None) -> str | None:
    """Return a value as an unescaped string for the writer, or `missing` if a template writes nothing.

    Skip a value that is neither text nor a number nor a date, and return `None`.
    """
    value = unescaped(template_value(value))
    return plain_text(value) if value else missing


def plain_text(value: Any) -> str | None:
    """Return text, a number or a date as a string. Log a warning and return `None` for other values."""
    try:
        return str(check_text(value))
    except ValueError as error:
        logger.warning("A value was skipped: %s", excerpt(error))
        return None


def priority(value: Any) -> str | None:
    """Return a priority as a string without localization or exponent. An invalid string is unchanged."""
    text = as_text(value)
    try:
        return text and priority_text(text)
    except ValueError:
        return text


def w3c_text(value: Any) -> str | None:
    """Return a lastmod in the W3C format. Log a warning and return `None` if it is invalid."""
    value = template_value(value)
    try:
        return lastmod_text(value) if value else None
    except ValueError as error:
        logger.warning("A lastmod was skipped: %s", excerpt(error))
        return None


#: Functions that convert the values of optional elements in entry dicts to text.
_CONVERTERS: dict[str, Callable[[Any], str | None]] = {
    "lastmod": w3c_text,
    "changefreq": as_text,
    "priority": priority,
}


def _texts(values: Mapping[str, Sequence[Any]], converters: Any = _CONVERTERS) -> dict[str, Column]:
    """Convert columns of values. A column becomes one string if all its values are the same object."""
    texts: dict[str, Column] = {}
    for name, convert in converters.items():
        part = values[name]
        is_constant = part and all(value is part[0] for value in part)
        texts[name] = convert(part[0]) if is_constant else list(map(convert, part))
    return texts


def dicts_batch(urls: Sequence[Any]) -> Batch:
    """Return a batch of entries from entry dicts, or from objects with attributes instead of keys."""
    items = Items([look_up(url, "item") for url in urls], [])
    # An entry without a location is written as in Django. An entry whose location is not text is skipped.
    locations = [as_text(look_up(url, "location"), missing="") for url in urls]
    links = [[*map(_alternate, template_value(look_up(url, "alternates")) or ())] for url in urls]

    def column(name: str) -> list[Any]:
        return [look_up(url, name) for url in urls]

    texts = _texts({name: column(name) for name in _CONVERTERS})
    return entry_batch(items, locations, texts, results_in(column), _hosts(locations), links)


def _alternate(link: Any) -> Alternate:
    return Alternate(as_text(look_up(link, "lang_code")) or "", as_text(look_up(link, "location")) or "")


def _hosts(locations: Sequence[str | None]) -> AllowedHosts:
    """Return allowed hosts with the host of the first absolute location, or with `localhost`."""
    for location in filter(None, locations):
        try:
            return AllowedHosts((protocol.origin(location),), joins_paths=True)
        except ValueError:
            continue
    return AllowedHosts((Base("https", "localhost"),), joins_paths=True)


class SectionPage(NamedTuple):
    """Page of a compiled sitemap: its class overrides no internals of `django.contrib.sitemaps`."""

    sitemap: Any
    page: Any
    site: Any
    protocol: str | None
    #: Function that returns a copy of the sitemap as it was before its first item was read.
    copy_sitemap: Callable[[], Any]
    items: Any

    def urls(self) -> list[dict[str, Any]]:
        """Return the entry dicts of `Sitemap.get_urls()`."""
        dicts: list[dict[str, Any]] = self.copy_sitemap().get_urls(
            page=self.page, site=self.site, protocol=self.protocol
        )
        return dicts

    def batches(self) -> Iterator[Batch]:
        """Yield the entries as batches, then set `latest_lastmod` as Django's `Sitemap` does."""
        base = Base(self.sitemap.get_protocol(self.protocol), self.sitemap.get_domain(self.site))
        hosts = AllowedHosts((base,), joins_paths=True)
        expressions = declared_expressions(self.sitemap)
        newest: Any = None
        are_dates = True
        with closing(chunks(self.items, AT_A_TIME)) as item_chunks:
            for chunk in item_chunks:
                chunk = [chunk[place] for place in load_columns(expressions, chunk)]
                items, values = _with_paths(chunk, self._values(chunk))
                are_dates = are_dates and all(isinstance(lastmod, date) for lastmod in values["lastmod"])
                if are_dates:
                    lastmods = filter(None, [newest, *values["lastmod"]])
                    newest = max(lastmods, key=as_datetime, default=None)
                locations = [f"{base}{path}" for path in values["location"]]
                texts = _texts(values, _CONVERTERS | {"priority": _hook_priority})
                yield entry_batch(items, locations, texts, self._results(items), hosts)
        if are_dates and newest:
            self.sitemap.latest_lastmod = newest

    def _results(self, items: Items) -> dict[str | Extension, list[Any]]:
        """Return the results of hooks that Django's `Sitemap` does not have."""
        if not (extensions.hooks(self.sitemap) or extensions.project_extensions(self.sitemap)):
            # On Python 3.10, changing the language leaves reference cycles that keep items alive.
            return {}
        with translation.override(conf.language):
            # The language of the request must not change the results, as in the native views.
            return extensions.results(self.sitemap, items.keys, items)

    def _values(self, items: Sequence[Any]) -> dict[str, list[Any]]:
        """Return the values of the hooks in `_ORDER`, called item by item as Django does."""
        hooks = {name: getattr(self.sitemap, name, None) for name in _ORDER}
        declared = {
            name: _declared_values(name, hook, items)
            for name, hook in hooks.items()
            if isinstance(hook, LocationTemplate) or is_expression(hook)
        }
        # Attributes are read for each item, because a property can change and a hook can set an attribute.
        callables = {
            name: hook if callable(hook) else lambda _, name=name: getattr(self.sitemap, name, None)
            for name, hook in hooks.items()
            if name not in declared
        }
        values = [[call(item) for call in callables.values()] for item in items]
        return declared | dict(zip(callables, map(list, zip(*values, strict=True)), strict=True))


#: The order in which Django calls the hooks of a sitemap.
_ORDER = ("location", "priority", "lastmod", "changefreq")


def section_page(sitemap: Any, page: Any, site: Any, protocol: str | None) -> SectionPage | None:
    """Return a page of a sitemap; `None` if it is opaque or has `i18n`. Raise the paginator's errors."""
    if not sources.is_compiled(sitemap) or sitemap.i18n:
        return None
    copy_sitemap = preserve(sitemap)
    return SectionPage(
        sitemap, page, site, protocol, copy_sitemap, sitemap.paginator.page(page).object_list
    )


def _with_paths(items: Sequence[Any], values: dict[str, list[Any]]) -> tuple[Items, dict[str, list[Any]]]:
    """Skip items whose location is not a path. Any other string could extend the host name."""
    is_valid = [is_path(path) for path in values["location"]]
    errors = [
        ItemError(excerpt(item), "location", f"{short_repr(path)} does not begin with a slash")
        for item, path in zip(items, values["location"], strict=True)
        if not is_path(path)
    ]
    columns = {name: list(compress(column, is_valid)) for name, column in values.items()}
    return Items(list(compress(items, is_valid)), errors), columns


def _declared_values(name: str, hook: Any, items: Sequence[Any]) -> list[Any]:
    """Return the values of a location template or an expression for each item."""
    if not isinstance(hook, LocationTemplate):
        return _column(hook, alias(name), items)
    columns = [
        _column(part, alias(name, position), items) for position, part in enumerate(hook.expressions)
    ]
    template = hook.compiled()
    urls = template.compose(columns)
    if urls is not None:
        return urls.texts()
    return [template.url(row) for row in (zip(*columns, strict=True) if columns else [()] * len(items))]


def _column(expression: Any, name: str, items: Sequence[Any]) -> list[Any]:
    """Return the values of an expression for each item."""
    try:
        return list(map(attrgetter(name), items))
    except AttributeError:
        return [column(expression, name, item) for item in items]


def _hook_priority(value: Any) -> str | None:
    """Return a priority as text. Django converts it to a string, so templates do not omit zero."""
    return None if value is None else priority(plain_text(value))


def preserve(sitemap: Any) -> Callable[[], Any]:
    """Return a function that copies a sitemap with the attributes that it and its classes have now.

    If the sitemap cannot be copied, the function returns the original. Class attributes are preserved by a
    subclass. They are not preserved if there is a metaclass or an `__init_subclass__()`.
    """
    cls = type(sitemap)
    attributes: dict[str, Any] = {}
    try:
        instance = copy(sitemap)
        for base in reversed(cls.__mro__):
            attributes |= vars(base)
    except Exception:  # noqa: BLE001 a project's class can raise anything
        return lambda: sitemap
    has_hook = any(
        "__init_subclass__" in vars(base) for base in cls.__mro__ if base not in (object, Generic)
    )
    is_plain = type(cls) is type and not has_hook
    attributes = {name: value for name, value in attributes.items() if not name.startswith("__")}

    def make_copy() -> Any:
        sitemap_copy = copy(instance)
        if is_plain:
            with suppress(TypeError):
                # Attributes that were added to the class since `preserve()` are still inherited.
                sitemap_copy.__class__ = type(
                    cls.__name__, (cls,), {"__module__": cls.__module__, **attributes}
                )
        return sitemap_copy

    return make_copy
