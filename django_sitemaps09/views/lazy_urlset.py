"""The urlset of the compatibility views: written from the items, with dicts only if code accesses them."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from datetime import date
from functools import partial, wraps
from operator import attrgetter
from typing import Any, NamedTuple

from django.core.exceptions import ImproperlyConfigured
from django.utils import translation

from django_sitemaps09 import sources, writer
from django_sitemaps09.conf import conf
from django_sitemaps09.entries import Batch, Column, ItemError, Localization, excerpt, short_repr
from django_sitemaps09.hooks import extensions as extension_columns
from django_sitemaps09.hooks.expressions import alias, column_values
from django_sitemaps09.hooks.hosts import AllowedHosts
from django_sitemaps09.hooks.values import Items
from django_sitemaps09.protocol import XHTML_NAMESPACE, Base
from django_sitemaps09.queryset_traits import AT_A_TIME, chunks
from django_sitemaps09.routes import Route, is_expression
from django_sitemaps09.sitemaps import is_path
from django_sitemaps09.sources.columns import extensions
from django_sitemaps09.views.deferred import preserve, with_present_state
from django_sitemaps09.views.entry_dicts import as_text, log, make_batch, priority, w3c_text
from django_sitemaps09.views.responses import as_datetime

logger = logging.getLogger(__name__)


class SectionPart(NamedTuple):
    """A page of a sitemap whose class overrides no internals of contrib, so that its entries are known."""

    sitemap: Any
    page: Any
    site: Any
    protocol: str | None
    #: Makes a copy of the sitemap as it was before its first item was read.
    copy_sitemap: Callable[[], Any]
    items: Any

    def urls(self) -> list[dict[str, Any]]:
        """Return the dicts of contrib's `get_urls()`."""
        dicts: list[dict[str, Any]] = self.copy_sitemap().get_urls(
            page=self.page, site=self.site, protocol=self.protocol
        )
        return dicts

    def batches(self) -> Iterator[Batch]:
        """Yield the entries as batches, and set `latest_lastmod` to the newest lastmod, as contrib does."""
        base = f"{self.sitemap.get_protocol(self.protocol)}://{self.sitemap.get_domain(self.site)}"
        newest: Any = None
        are_dates = True
        with closing(chunks(self.items, AT_A_TIME)) as item_chunks:
            for chunk in item_chunks:
                items, values = _with_paths(chunk, self._values(chunk))
                for lastmod in values["lastmod"]:
                    are_dates = are_dates and isinstance(lastmod, date)
                    if are_dates and (newest is None or _is_later(lastmod, newest)):
                        newest = lastmod
                priorities = ["" if value is None else str(value) for value in values["priority"]]
                versions = [Localization("", [f"{base}{path}" for path in values["location"]])]
                yield Batch(
                    keys=items,
                    versions=versions,
                    lastmods=_each(w3c_text, values["lastmod"]),
                    changefreqs=_each(as_text, values["changefreq"]),
                    priorities=_each(priority, priorities),
                    **self._extensions(base, items, versions),
                )
        if are_dates and newest:
            self.sitemap.latest_lastmod = newest

    def _extensions(
        self, base: str, items: Sequence[Any], versions: Sequence[Localization]
    ) -> dict[str, Any]:
        """Return the results of our own hooks for each item, as columns of a batch."""
        if not (extensions.hooks(self.sitemap) or extensions.project_extensions(self.sitemap)):
            # On Python 3.10, changing the language leaves reference cycles that would keep the items alive.
            return {}
        errors: list[ItemError] = []
        with translation.override(conf.language):
            # A request can have any language; the content of a page is in the language of the site.
            results = extensions.results(self.sitemap, items, Items(items, errors))
        hosts = AllowedHosts((Base(*base.split("://", 1)),), joins_paths=True)
        columns = extension_columns.columns(results, versions, hosts, Items(items, errors))
        log(errors)
        return columns

    def _values(self, items: Sequence[Any]) -> dict[str, list[Any]]:
        """Return the values of contrib's hooks, which are called item by item in contrib's order.

        Attributes are read for each item, too: a property, or one that another hook sets, is not constant.
        """
        hooks = {name: getattr(self.sitemap, name, None) for name in _ORDER}
        declared = {
            name: _declared_values(name, hook, items)
            for name, hook in hooks.items()
            if isinstance(hook, Route) or is_expression(hook)
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


#: The order in which contrib calls the hooks.
_ORDER = ("location", "priority", "lastmod", "changefreq")


def section(sitemap: Any, page: Any, site: Any, protocol: str | None) -> SectionPart | None:
    """Return a page of a sitemap, `None` for an opaque one or `i18n`. Raise the paginator's errors."""
    if not sources.is_compiled(sitemap) or sitemap.i18n:
        return None
    copy_sitemap = preserve(sitemap)
    return SectionPart(
        sitemap, page, site, protocol, copy_sitemap, sitemap.paginator.page(page).object_list
    )


def _is_later(lastmod: date, other: date) -> bool:
    """Return whether one lastmod is later; each can be a date, or a datetime, aware or naive."""
    try:
        return lastmod > other
    except TypeError:
        return as_datetime(lastmod) > as_datetime(other)


def _with_paths(
    items: Sequence[Any], values: dict[str, list[Any]]
) -> tuple[Sequence[Any], dict[str, list[Any]]]:
    """Return the items whose location cannot become a part of the host's name, with their values."""
    if all(map(is_path, values["location"])):
        return items, values
    positions = [i for i, path in enumerate(values["location"]) if is_path(path)]
    log(
        [
            ItemError(excerpt(items[i]), "location", f"{short_repr(path)} does not begin with a slash")
            for i, path in enumerate(values["location"])
            if not is_path(path)
        ]
    )
    return [items[i] for i in positions], {
        name: [column[i] for i in positions] for name, column in values.items()
    }


def _declared_values(name: str, hook: Any, items: Sequence[Any]) -> list[Any]:
    """Return the values of a `Route` or an expression for each item."""
    if isinstance(hook, Route):
        columns = [
            _column(expression, alias(name, position), items)
            for position, expression in enumerate(hook.expressions)
        ]
        route = hook.compiled()
        column = route.compose(columns)
        if column is not None:
            return column.texts()
        rows = zip(*columns, strict=True) if columns else [()] * len(items)
        return [route.url(row) for row in rows]
    return _column(hook, alias(name), items)


def _column(expression: Any, name: str, items: Sequence[Any]) -> list[Any]:
    """Return the values of an expression for each item: mostly the annotations of instances."""
    try:
        return list(map(attrgetter(name), items))
    except AttributeError:
        return column_values(expression, name, items)


def _each(convert: Callable[[Any], str | None], values: list[Any]) -> Column:
    """Return a column of texts, or one text if all values are the same object, as for a constant."""
    if all(value is values[0] for value in values):
        return convert(values[0])
    return list(map(convert, values))


class Urlset(list[Any]):
    """The dicts of all sections, as in contrib's context, which are made at the first access.

    The document of the stock template is already written. Without an access, it is the response, and no
    dict is made. At an access, the dicts are made with what was active and declared at the time of writing.
    Items are then read again, since keeping those of a page takes half as long again.
    """

    document: str | None = None
    make: Callable[[], Iterable[dict[str, Any]]] | None = None

    def look(self) -> None:
        """Make the dicts unless they are made; from now on, they can differ from the written document."""
        if self.make is not None:
            # If a hook fails here, `make` is kept: at the next access, the list must not seem to be empty.
            dicts = list(self.make())
            self.make = None
            super().extend(dicts)
        self.document = None

    def __radd__(self, other: list[Any]) -> list[Any]:
        return [*other, *self]


def write(parts: Sequence[SectionPart | list[dict[str, Any]]]) -> Urlset:
    """Write the entries of several sections now; return them for a template that is rendered later."""
    urlset = Urlset()
    urlset.document = _document(
        batch
        for part in parts
        for batch in (part.batches() if isinstance(part, SectionPart) else [make_batch(part)])
    )
    urlset.make = with_present_state(
        lambda: [url for part in parts for url in (part.urls() if isinstance(part, SectionPart) else part)]
    )
    return urlset


def _looking(name: str) -> Callable[..., Any]:
    """Return a method of `list` that makes the dicts first."""
    method = getattr(list, name)

    @wraps(method)
    def looking(self: Urlset, *args: Any, **kwargs: Any) -> Any:
        self.look()
        return method(self, *args, **kwargs)

    return looking


#: All methods that read or change a list.
LOOKS = (
    *("__add__", "__contains__", "__delitem__", "__eq__", "__ge__", "__getitem__", "__gt__", "__iadd__"),
    *("__imul__", "__iter__", "__le__", "__len__", "__lt__", "__mul__", "__ne__", "__reduce_ex__"),
    *("__repr__", "__reversed__", "__rmul__", "__setitem__", "append", "clear", "copy", "count", "extend"),
    *("index", "insert", "pop", "remove", "reverse", "sort"),
)
for _name in LOOKS:
    setattr(Urlset, _name, _looking(_name))


def urlset_document(urls: Iterable[Any] | None) -> str:
    """Return the document of the dicts of `get_urls()`. Any key but `location` can be missing."""
    if isinstance(urls, Urlset) and urls.document is not None:
        return urls.document
    return _document([make_batch([] if urls is None else list(urls))])


def _document(batches: Iterable[Batch]) -> str:
    """Return a urlset that declares the namespaces in use, and always that of links, as contrib's does."""
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
    # Only now are the namespaces known. Contrib's document without entries has a second line end.
    empty = b"" if document.urls else b"\n"
    return b"".join([writer.urlset_head(spaces), empty, *chunks[1:]]).decode()
