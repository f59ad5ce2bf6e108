"""The `urlset` of the compatibility views. Its entry dicts are created only if code accesses them."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from datetime import date
from functools import partial, wraps
from itertools import compress
from operator import attrgetter
from typing import Any, NamedTuple

from django.core.exceptions import ImproperlyConfigured
from django.utils import translation

from django_sitemaps09 import sources, writer
from django_sitemaps09.conf import conf
from django_sitemaps09.entries import Batch, Column, ItemError, Localization, excerpt, short_repr
from django_sitemaps09.hooks import extensions as extension_columns
from django_sitemaps09.hooks.annotations import column, load_columns
from django_sitemaps09.hooks.expressions import alias, declared_expressions
from django_sitemaps09.hooks.hosts import AllowedHosts
from django_sitemaps09.hooks.values import Items
from django_sitemaps09.location_templates import LocationTemplate, is_expression
from django_sitemaps09.protocol import XHTML_NAMESPACE, Base
from django_sitemaps09.queryset_traits import AT_A_TIME, chunks
from django_sitemaps09.sitemaps import is_path
from django_sitemaps09.sources.columns import extensions
from django_sitemaps09.views.deferred import preserve, with_current_state
from django_sitemaps09.views.entry_dicts import (
    as_text,
    log_errors,
    make_batch,
    plain_text,
    priority,
    w3c_text,
)
from django_sitemaps09.views.responses import as_datetime

logger = logging.getLogger(__name__)


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
        base = f"{self.sitemap.get_protocol(self.protocol)}://{self.sitemap.get_domain(self.site)}"
        expressions = declared_expressions(self.sitemap)
        newest: Any = None
        are_dates = True
        with closing(chunks(self.items, AT_A_TIME)) as item_chunks:
            for chunk in item_chunks:
                chunk = [chunk[place] for place in load_columns(expressions, chunk)]
                items, values = _with_paths(chunk, self._values(chunk))
                for lastmod in values["lastmod"]:
                    are_dates = are_dates and isinstance(lastmod, date)
                    if are_dates and (newest is None or _is_later(lastmod, newest)):
                        newest = lastmod
                localizations = [Localization("", [f"{base}{path}" for path in values["location"]])]
                yield Batch(
                    keys=items,
                    localizations=localizations,
                    lastmods=_each(w3c_text, values["lastmod"]),
                    changefreqs=_each(as_text, values["changefreq"]),
                    priorities=_each(_priority, values["priority"]),
                    **self._extensions(base, items, localizations),
                )
        if are_dates and newest:
            self.sitemap.latest_lastmod = newest

    def _extensions(
        self, base: str, items: Sequence[Any], localizations: Sequence[Localization]
    ) -> dict[str, Any]:
        """Return the results of hooks that Django's `Sitemap` does not have, as columns of a batch."""
        if not (extensions.hooks(self.sitemap) or extensions.project_extensions(self.sitemap)):
            # On Python 3.10, changing the language leaves reference cycles that keep items alive.
            return {}
        errors: list[ItemError] = []
        with translation.override(conf.language):
            # The language of the request must not change the results, as in the native views.
            results = extensions.results(self.sitemap, items, Items(items, errors))
        hosts = AllowedHosts((Base(*base.split("://", 1)),), joins_paths=True)
        columns = extension_columns.columns(results, localizations, hosts, Items(items, errors))
        log_errors(errors)
        return columns

    def _values(self, items: Sequence[Any]) -> dict[str, list[Any]]:
        """Return the values of the hooks in `_ORDER`, called item by item as Django does.

        Attributes are read for each item, because a property can change and a hook can set an attribute.
        """
        hooks = {name: getattr(self.sitemap, name, None) for name in _ORDER}
        declared = {
            name: _declared_values(name, hook, items)
            for name, hook in hooks.items()
            if isinstance(hook, LocationTemplate) or is_expression(hook)
        }
        callables = {
            name: hook if callable(hook) else partial(self._attribute, name)
            for name, hook in hooks.items()
            if name not in declared
        }
        values = [[call(item) for call in callables.values()] for item in items]
        return declared | dict(zip(callables, map(list, zip(*values, strict=True)), strict=True))

    def _attribute(self, name: str, item: Any) -> Any:
        return getattr(self.sitemap, name, None)


#: The order in which Django calls the hooks of a sitemap.
_ORDER = ("location", "priority", "lastmod", "changefreq")


def section(sitemap: Any, page: Any, site: Any, protocol: str | None) -> SectionPage | None:
    """Return a page of a sitemap; `None` if it is opaque or has `i18n`. Raise the paginator's errors."""
    if not sources.is_compiled(sitemap) or sitemap.i18n:
        return None
    copy_sitemap = preserve(sitemap)
    return SectionPage(
        sitemap, page, site, protocol, copy_sitemap, sitemap.paginator.page(page).object_list
    )


def _is_later(lastmod: date, other: date) -> bool:
    """Return whether a date or datetime is later than another one. Datetimes can be aware or naive."""
    try:
        return lastmod > other
    except TypeError:
        return as_datetime(lastmod) > as_datetime(other)


def _with_paths(
    items: Sequence[Any], values: dict[str, list[Any]]
) -> tuple[Sequence[Any], dict[str, list[Any]]]:
    """Return only items whose location is a path. Any other string could extend the host name."""
    paths = values["location"]
    is_valid = list(map(is_path, paths))
    if all(is_valid):
        return items, values
    log_errors(
        [
            ItemError(excerpt(item), "location", f"{short_repr(path)} does not begin with a slash")
            for item, path in zip(items, paths, strict=True)
            if not is_path(path)
        ]
    )
    return list(compress(items, is_valid)), {
        name: list(compress(column, is_valid)) for name, column in values.items()
    }


def _declared_values(name: str, hook: Any, items: Sequence[Any]) -> list[Any]:
    """Return the values of a location template or an expression for each item."""
    if isinstance(hook, LocationTemplate):
        columns = [
            _column(expression, alias(name, position), items)
            for position, expression in enumerate(hook.expressions)
        ]
        template = hook.compiled()
        urls = template.compose(columns)
        if urls is not None:
            return urls.texts()
        rows = zip(*columns, strict=True) if columns else [()] * len(items)
        return [template.url(row) for row in rows]
    return _column(hook, alias(name), items)


def _column(expression: Any, name: str, items: Sequence[Any]) -> list[Any]:
    """Return the values of an expression for each item."""
    try:
        return list(map(attrgetter(name), items))
    except AttributeError:
        return [column(expression, name, item) for item in items]


def _each(convert: Callable[[Any], str | None], values: list[Any]) -> Column:
    """Convert a column of values. Return one string instead if all values are the same object."""
    if values and all(value is values[0] for value in values):
        return convert(values[0])
    return list(map(convert, values))


def _priority(value: Any) -> str | None:
    """Return a priority as text. Django converts it to a string, so templates do not omit zero."""
    return None if value is None else priority(plain_text(value))


class Urlset(list[Any]):
    """The entry dicts in the template context of `django.contrib.sitemaps`, built on first access.

    The document of the stock template is written in advance. If nothing accesses the dicts, that document
    is the response. Dicts are built with the declarations and the state from the time of writing. Items are
    then read again, because keeping the items of a page would take 50% more time.
    """

    document: str | None = None
    make: Callable[[], list[dict[str, Any]]] | None = None

    def evaluate(self) -> None:
        """Create the dicts at the first call. Discard the document, since callers can change the list."""
        if self.make is not None:
            # If a hook fails, keep `make`: otherwise, the list would seem to be empty afterwards.
            dicts = self.make()
            self.make = None
            super().extend(dicts)
        self.document = None

    def __radd__(self, other: list[Any]) -> list[Any]:
        return [*other, *self]


def write(parts: Sequence[SectionPage | list[dict[str, Any]]]) -> Urlset:
    """Write the document of several sections now, and return it as a `Urlset` for the template."""
    urlset = Urlset()
    urlset.document = _document(
        batch
        for part in parts
        for batch in (part.batches() if isinstance(part, SectionPage) else [make_batch(part)])
    )
    urlset.make = with_current_state(
        lambda: [url for part in parts for url in (part.urls() if isinstance(part, SectionPage) else part)]
    )
    return urlset


def _evaluating(name: str) -> Callable[..., Any]:
    """Return a method of `list` that evaluates the urlset first."""
    method = getattr(list, name)

    @wraps(method)
    def evaluate_first(self: Urlset, *args: Any, **kwargs: Any) -> Any:
        self.evaluate()
        return method(self, *args, **kwargs)

    return evaluate_first


#: All methods that read or change a list.
EVALUATING_METHODS = (
    *("__add__", "__contains__", "__delitem__", "__eq__", "__ge__", "__getitem__", "__gt__", "__iadd__"),
    *("__imul__", "__iter__", "__le__", "__len__", "__lt__", "__mul__", "__ne__", "__reduce_ex__"),
    *("__repr__", "__reversed__", "__rmul__", "__setitem__", "append", "clear", "copy", "count", "extend"),
    *("index", "insert", "pop", "remove", "reverse", "sort"),
)
for _name in EVALUATING_METHODS:
    setattr(Urlset, _name, _evaluating(_name))


def urlset_document(urls: Iterable[Any] | None) -> str:
    """Return the document for entry dicts. Any key except `location` can be missing."""
    if isinstance(urls, Urlset) and urls.document is not None:
        return urls.document
    return _document([make_batch([] if urls is None else list(urls))])


def _document(batches: Iterable[Batch]) -> str:
    """Return a urlset with the namespaces in use, and always with `xhtml`, as Django does."""
    chunks: list[bytes] = []
    spaces = {"xhtml": XHTML_NAMESPACE}

    def check_prefixes() -> Iterator[Batch]:
        for batch in batches:
            for prefix, space in extensions.used_namespaces(batch).items():
                if spaces.setdefault(prefix, space) != space:
                    raise ImproperlyConfigured(
                        f"Sections of one document use two namespaces for the prefix {prefix!r}: "
                        f"{spaces[prefix]} and {space}."
                    )
            yield batch

    document = writer.write_urlset(check_prefixes(), chunks.append)
    # All namespaces are known only now. Without entries, Django's document has a second newline.
    empty = b"" if document.urls else b"\n"
    return b"".join([writer.urlset_head(spaces), empty, *chunks[1:]]).decode()
