"""The pages of the compatibility views: batches to write at once, and entry dicts to create later."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from copy import copy
from datetime import date, datetime, time, timezone
from functools import partial
from itertools import compress
from typing import Any, NamedTuple

from django.core.exceptions import ImproperlyConfigured
from django.utils import translation

from django_sitemaps09 import sources, writer
from django_sitemaps09.conf import conf
from django_sitemaps09.entries import (
    NAMESPACES,
    Alternate,
    Batch,
    Localization,
    check_text,
    excerpt,
    plain_text,
    reason_of,
    short_repr,
)
from django_sitemaps09.hooks.annotations import load_columns
from django_sitemaps09.hooks.expressions import alias, declared_expressions, location_in
from django_sitemaps09.hooks.extensions import ResultColumns, create_batch
from django_sitemaps09.hooks.values import (
    SHARED_ERRORS,
    Items,
    lastmod_text,
    log_skipped,
    priority_text,
)
from django_sitemaps09.hosts import AllowedHosts
from django_sitemaps09.orm.internals import template_value
from django_sitemaps09.orm.traits import AT_A_TIME, chunks
from django_sitemaps09.protocol import Base
from django_sitemaps09.routing.location_templates import LocationTemplate, is_expression
from django_sitemaps09.sitemaps import is_path
from django_sitemaps09.sources.columns import (
    content_hooks,
    content_results,
    project_extensions,
    used_namespaces,
)
from django_sitemaps09.sources.url_batches import ENTRY_KEYS, url_batch

logger = logging.getLogger(__name__)


class SectionPage(NamedTuple):
    """Entries of a section: batches to write at once, and a function that returns them as dicts."""

    batches: Iterable[Batch]
    make_dicts: Callable[[], list[dict[str, Any]]]


def section_page(sitemap: Any, page: Any, site: Any, protocol: str | None, *, is_lazy: bool) -> SectionPage:
    """Return a page of a sitemap. Raise the paginator's errors.

    Dicts are only created later if `is_lazy` is true, and if the sitemap is neither opaque nor has `i18n`.
    """
    if is_lazy and sources.is_compiled(sitemap) and not sitemap.i18n:
        copy_sitemap = _preserve(sitemap)
        items = sitemap.paginator.page(page).object_list
        base = Base(sitemap.get_protocol(protocol), sitemap.get_domain(site))
        return SectionPage(
            _section_batches(sitemap, items, base),
            lambda: copy_sitemap().get_urls(page=page, site=site, protocol=protocol),
        )
    own_site = site if conf.base_url is None else sources.site_of(sitemap, conf.base_url)
    dicts = list(sitemap.get_urls(page=page, site=own_site, protocol=protocol))
    return SectionPage(map(dicts_batch, [dicts]), lambda: dicts)


class _Unregistered:
    """Base class that prevents calls of `__init_subclass__()`, in which a project can register classes."""

    def __init_subclass__(cls) -> None:
        pass


def _preserve(sitemap: Any) -> Callable[[], Any]:
    """Return a function that copies a sitemap with the attributes that it and its classes have now.

    If the sitemap cannot be copied, the function returns the original. Class attributes are preserved by a
    subclass, but not if there is a metaclass.
    """
    cls = type(sitemap)
    attributes: dict[str, Any] = {}
    try:
        instance = copy(sitemap)
    except Exception:  # noqa: BLE001 a project's class can raise anything
        return lambda: sitemap
    for base in reversed(cls.__mro__):
        attributes |= {name: value for name, value in vars(base).items() if not name.startswith("__")}

    def make_copy() -> Any:
        sitemap_copy = copy(instance)
        with suppress(TypeError):
            if type(cls) is type:
                # Attributes that were added to the class since then are still inherited.
                namespace = {"__module__": cls.__module__, **attributes}
                sitemap_copy.__class__ = type(cls.__name__, (_Unregistered, cls), namespace)
        return sitemap_copy

    return make_copy


def urlset_document(batches: Iterable[Batch]) -> str:
    """Return a urlset with the namespaces in use, and always with `xhtml`, as Django does."""
    chunks: list[bytes] = []
    spaces = {"xhtml": NAMESPACES["xhtml"]}

    def check_prefixes() -> Iterator[Batch]:
        for batch in batches:
            for prefix, space in used_namespaces(batch).items():
                if spaces.setdefault(prefix, space) != space:
                    raise ImproperlyConfigured(
                        f"Sections of one document use two namespaces for the prefix {prefix!r}: "
                        f"{spaces[prefix]} and {space}."
                    )
            yield batch

    document = writer.write_document(writer.URLSET, check_prefixes(), chunks.append)
    log_skipped(logger, document.errors, len(document.errors))
    # All namespaces are known only now. Without entries, Django's document has a second newline.
    empty = b"" if document.urls else b"\n"
    return b"".join([writer.urlset_head(spaces), empty, *chunks[1:]]).decode()


def value_of(entry: Any, name: str) -> Any:
    """Look up a key or an attribute as templates do. Return `None` if neither exists."""
    try:
        return entry[name]
    except (TypeError, LookupError):
        return getattr(entry, name, None)


def as_text(value: Any, missing: str | None = None) -> str | None:
    """Return a value as an unescaped string for the writer, or `missing` if a template writes nothing.

    Skip a value that is neither text nor a number nor a date, and return `None`.
    """
    value = template_value(value)
    return _plain_text(value) if value else missing


def _plain_text(value: Any) -> str | None:
    try:
        return str(check_text(value))
    except ValueError as error:
        logger.warning("A value was skipped: %s", excerpt(error))
        return None


def w3c_text(value: Any) -> str | None:
    """Return a lastmod in the W3C format. Log a warning and return `None` if it is invalid."""
    value = template_value(value)
    try:
        return lastmod_text(value) if value else None
    except ValueError as error:
        logger.warning("A lastmod was skipped: %s", excerpt(error))
        return None


def _priority(value: Any) -> str | None:
    """Return a priority as a string without localization or exponent. An invalid string is unchanged."""
    text = as_text(value)
    try:
        return text and priority_text(text)
    except ValueError:
        return text


# Functions that convert the values in entry dicts to text.
_CONVERTERS: dict[str, Callable[[Any], str | None]] = {
    # An entry without a location is written as in Django. An entry whose location is not text is skipped.
    "location": partial(as_text, missing=""),
    "lastmod": w3c_text,
    "changefreq": as_text,
    "priority": _priority,
}


# Django converts the priority of a hook to a string, so templates do not omit zero.
_HOOK_CONVERTERS = {name: _CONVERTERS[name] for name in ("lastmod", "changefreq")} | {
    "priority": lambda value: None if value is None else _priority(_plain_text(value))
}


def dicts_batch(urls: Sequence[Any]) -> Batch:
    """Return a batch of entries from entry dicts, or from objects with attributes instead of keys."""
    dicts = [
        url
        if type(url) is dict and "location" in url
        else {name: value_of(url, name) for name in ENTRY_KEYS}
        for url in urls
    ]
    items = Items([url.get("item") for url in dicts], [], raises_errors=True)
    return url_batch(dicts, items, _CONVERTERS, _alternate)


def _alternate(link: Any) -> Alternate:
    return Alternate(as_text(value_of(link, "lang_code")) or "", as_text(value_of(link, "location")) or "")


def _section_batches(sitemap: Any, page_items: Any, base: Base) -> Iterator[Batch]:
    """Yield the entries of items as batches, then set `latest_lastmod` as Django's `Sitemap` does."""
    hosts = AllowedHosts(base, joins_paths=True)
    expressions = declared_expressions(sitemap)
    newest: list[date | None] = []
    with closing(chunks(page_items, AT_A_TIME)) as item_chunks:
        for chunk in item_chunks:
            places, columns = load_columns(expressions, chunk)
            items = Items([chunk[place] for place in places], [])
            values = _hook_values(sitemap, items, columns)
            values["location"] = list(map(plain_text, values["location"]))
            is_listed = list(map(is_path, values["location"]))
            for position in [i for i, listed in enumerate(is_listed) if not listed]:
                path = short_repr(values["location"][position])
                items.skip(position, "location", f"{path} does not begin with a slash")
            items = items._replace(keys=list(compress(items.keys, is_listed)))
            values = {name: list(compress(column, is_listed)) for name, column in values.items()}
            if lastmods := values["lastmod"]:
                are_dates = all(isinstance(lastmod, date) for lastmod in lastmods)
                newest.append(max(lastmods, key=as_datetime) if are_dates else None)
            locations = [f"{base}{path}" for path in values["location"]]
            texts = {
                name: _text_column(convert, values[name]) for name, convert in _HOOK_CONVERTERS.items()
            }
            localizations = [Localization("", locations)]
            yield create_batch(items, localizations, texts, _results(sitemap, items), hosts)
    if newest and None not in newest:
        sitemap.latest_lastmod = max(newest, key=as_datetime)  # type: ignore[arg-type]


# The order in which Django calls the hooks of a sitemap.
_ORDER = ("location", "priority", "lastmod", "changefreq")


def _hook_values(sitemap: Any, items: Items, columns: Mapping[str, list[Any]]) -> dict[str, list[Any]]:
    """Return the values of the hooks in `_ORDER`, called item by item as Django does."""
    hooks = {name: getattr(sitemap, name, None) for name in _ORDER}
    values = {name: columns[alias(name)] for name, hook in hooks.items() if is_expression(hook)}
    if isinstance(template := hooks["location"], LocationTemplate):
        parts = [columns[name] for name in location_in(template, None)[1]]
        compiled = template.compiled()
        urls = compiled.compose(parts)
        rows = zip(*parts, strict=True) if parts else [()] * len(items.keys)
        values["location"] = list(map(compiled.url, rows)) if urls is None else urls.texts()
    # Attributes are read for each item, because a property can change and a hook can set an attribute.
    calls = {
        name: hook if callable(hook) else lambda _, name=name: getattr(sitemap, name, None)
        for name, hook in hooks.items()
        if name not in values
    }
    return values | _call(calls, items)


def _call(calls: Mapping[str, Callable[[Any], Any]], items: Items) -> dict[str, list[Any]]:
    """Return the results of hooks by name. Report an error of a hook, but raise it for `location`."""
    results: dict[str, list[Any]] = {name: [] for name in calls}
    named_calls = [(name, call, results[name].append) for name, call in calls.items()]
    for position, item in enumerate(items.keys):
        for name, call, append in named_calls:
            try:
                append(call(item))
            except Exception as error:
                if name == "location" or isinstance(error, SHARED_ERRORS):
                    raise
                items.skip(position, name, reason_of(error))
                append(None)
    return results


def _results(sitemap: Any, items: Items) -> ResultColumns:
    """Return the results of hooks that Django's `Sitemap` does not have."""
    if not (content_hooks(sitemap) or project_extensions(sitemap)):
        # On Python 3.10, changing the language leaves reference cycles that keep items alive.
        return {}
    with translation.override(conf.language):
        # The language of the request must not change the results, as in the native views.
        return content_results(sitemap, items.keys, items)


def _text_column(convert: Callable[[Any], str | None], values: list[Any]) -> str | list[str | None] | None:
    """Convert a column of values. It becomes one string if all its values are the same object."""
    is_constant = values and all(value is values[0] for value in values)
    return convert(values[0]) if is_constant else list(map(convert, values))


def as_datetime(lastmod: date) -> datetime:
    """Return an aware datetime. A date becomes midnight in UTC. A naive datetime is in `TIME_ZONE`."""
    if not isinstance(lastmod, datetime):
        return datetime.combine(lastmod, time.min, timezone.utc)
    return lastmod if lastmod.tzinfo else lastmod.replace(tzinfo=conf.zone)
