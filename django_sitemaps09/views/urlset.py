"""The urlset of contrib's road: items straight to the writer, and dicts where somebody looks at them."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from functools import partial, wraps
from itertools import chain
from operator import attrgetter
from typing import Any, NamedTuple

from django.core.exceptions import ImproperlyConfigured
from django.utils import translation

from django_sitemaps09 import sources, writer
from django_sitemaps09.conf import conf
from django_sitemaps09.entries import Batch, Column, ItemError, Version
from django_sitemaps09.protocol import Base
from django_sitemaps09.routes import Route, is_expression
from django_sitemaps09.rows import chunks
from django_sitemaps09.sitemaps import AT_A_TIME, alias, column
from django_sitemaps09.sources import extensions
from django_sitemaps09.sources.hosts import Hosts
from django_sitemaps09.views.listed import as_text, listed, log, priority, w3c_text

logger = logging.getLogger(__name__)


class Section(NamedTuple):
    """A page of a sitemap whose class leaves contrib's machinery alone, so that its entries are known."""

    sitemap: Any
    page: Any
    site: Any
    protocol: str | None
    items: Any

    def urls(self) -> list[dict[str, Any]]:
        """What contrib gives."""
        found: list[dict[str, Any]] = self.sitemap.get_urls(
            page=self.page, site=self.site, protocol=self.protocol
        )
        return found

    def batches(self) -> Iterator[Batch]:
        """The same for the writer; the newest lastmod is found by the way, as contrib finds it."""
        base = f"{self.sitemap.get_protocol(self.protocol)}://{self.sitemap.get_domain(self.site)}"
        newest: Any = None
        every = True
        with closing(chunks(self.items, AT_A_TIME)) as found:
            for items in found:
                values = self._values(items)
                for lastmod in values["lastmod"]:
                    every = every and lastmod is not None
                    if every and (newest is None or lastmod > newest):
                        newest = lastmod
                priorities = ["" if value is None else str(value) for value in values["priority"]]
                versions = [Version("", [f"{base}{path}" for path in values["location"]])]
                yield Batch(
                    keys=items,
                    versions=versions,
                    lastmods=_each(w3c_text, values["lastmod"]),
                    changefreqs=_each(as_text, values["changefreq"]),
                    priorities=_each(priority, priorities),
                    **self._extensions(base, items, versions),
                )
        if every and newest:
            self.sitemap.latest_lastmod = newest

    def _extensions(self, base: str, items: Sequence[Any], versions: Sequence[Version]) -> dict[str, Any]:
        """What the hooks of ours say of each item."""
        if not (extensions.hooks(self.sitemap) or extensions.own(self.sitemap)):
            # To change the language leaves cycles behind on Python 3.10, in which the items would stay.
            return {}
        errors: list[ItemError] = []
        with translation.override(conf.language):
            # Whoever looks at a page has a language; what it says has that of the site.
            told = extensions.told(self.sitemap, items, items, errors)
        hosts = Hosts((Base(*base.split("://", 1)),), joined=True)
        columns = extensions.columns(told, versions, hosts, items, errors)
        log(errors)
        return columns

    def _values(self, items: Sequence[Any]) -> dict[str, list[Any]]:
        """What the hooks give for each item, asked for item by item in contrib's order.

        Constants too: what is a property of the project's, or set by another hook, is none.
        """
        hooks = {name: getattr(self.sitemap, name, None) for name in _ORDER}
        found = {
            name: _declared(name, hook, items)
            for name, hook in hooks.items()
            if isinstance(hook, Route) or is_expression(hook)
        }
        asked = {
            name: hook if callable(hook) else partial(self._attribute, name)
            for name, hook in hooks.items()
            if name not in found
        }
        values = [[ask(item) for ask in asked.values()] for item in items]
        return found | dict(zip(asked, map(list, zip(*values, strict=True)), strict=True))

    def _attribute(self, name: str, item: Any) -> Any:
        return getattr(self.sitemap, name, None)


#: The order in which contrib asks for them.
_ORDER = ("location", "priority", "lastmod", "changefreq")


def section(sitemap: Any, page: Any, site: Any, protocol: str | None) -> Section | None:
    """`None` where only the sitemap itself knows its entries. The errors of contrib's paginator."""
    if not sources.is_compiled(sitemap) or sitemap.i18n:
        return None
    return Section(sitemap, page, site, protocol, sitemap.paginator.page(page).object_list)


def _declared(name: str, hook: Any, items: Sequence[Any]) -> list[Any]:
    """What a Route or an expression gives for each item."""
    if isinstance(hook, Route):
        columns = [
            _column(expression, alias(name, place), items)
            for place, expression in enumerate(hook.expressions)
        ]
        route = hook.compiled()
        composed = route.composed(columns)
        if composed is not None:
            return composed.texts()
        rows = zip(*columns, strict=True) if columns else [()] * len(items)
        return [route.url(row) for row in rows]
    return _column(hook, alias(name), items)


def _column(expression: Any, name: str, items: Sequence[Any]) -> list[Any]:
    """The values of an expression for each item: mostly the annotations of instances."""
    try:
        return list(map(attrgetter(name), items))
    except AttributeError:
        return [column(expression, name, item) for item in items]


def _each(convert: Callable[[Any], str | None], values: list[Any]) -> Column:
    """A column of texts; one text where all values are the same, as those of a constant are."""
    if all(value is values[0] for value in values):
        return convert(values[0])
    return list(map(convert, values))


class Urlset(list[Any]):
    """The dicts of all sections, as contrib has them in its context, which are made at the first look.

    What the stock template makes of them is written already. Where nobody looks, that is the answer,
    and no dict is ever made.
    """

    document: str | None = None
    make: Callable[[], Iterable[dict[str, Any]]] | None = None

    def look(self) -> None:
        """Makes what is not made yet; from now on the entries can be others than those written."""
        if self.make is not None:
            # If a hook fails there, it fails at the next look too: it must not be taken for an empty list.
            made = list(self.make())
            self.make = None
            super().extend(made)
        self.document = None

    def __radd__(self, other: list[Any]) -> list[Any]:
        return [*other, *self]


def written(parts: Sequence[Section | list[dict[str, Any]]]) -> Urlset:
    """The entries of some sections, written now, whoever renders them later."""
    found = Urlset()
    found.document = _document(
        batch
        for part in parts
        for batch in (part.batches() if isinstance(part, Section) else [listed(part)])
    )
    found.make = lambda: chain.from_iterable(
        part.urls() if isinstance(part, Section) else part for part in parts
    )
    return found


def _looking(name: str) -> Callable[..., Any]:
    """A method of a list that has it made first."""
    method = getattr(list, name)

    @wraps(method)
    def looking(self: Urlset, *args: Any, **kwargs: Any) -> Any:
        self.look()
        return method(self, *args, **kwargs)

    return looking


#: All that reads or changes a list.
LOOKS = (
    *("__add__", "__contains__", "__delitem__", "__eq__", "__ge__", "__getitem__", "__gt__", "__iadd__"),
    *("__imul__", "__iter__", "__le__", "__len__", "__lt__", "__mul__", "__ne__", "__reduce_ex__"),
    *("__repr__", "__reversed__", "__rmul__", "__setitem__", "append", "clear", "copy", "count", "extend"),
    *("index", "insert", "pop", "remove", "reverse", "sort"),
)
for _name in LOOKS:
    setattr(Urlset, _name, _looking(_name))


def urlset_document(urls: Iterable[Any] | None) -> str:
    """The dicts of `get_urls()` as a document. Any key but `location` may be missing."""
    if isinstance(urls, Urlset) and urls.document is not None:
        return urls.document
    return _document([listed(list(urls or ()))])


def _document(batches: Iterable[Batch]) -> str:
    """A urlset that declares the namespaces that something is in, and no others."""
    chunks: list[bytes] = []
    spaces: dict[str, str] = {}

    def seen() -> Iterator[Batch]:
        for batch in batches:
            for prefix, space in extensions.used(batch).items():
                if spaces.setdefault(prefix, space) != space:
                    raise ImproperlyConfigured(
                        f"Sections of one document have two namespaces for the prefix {prefix!r}: "
                        f"{spaces[prefix]} and {space}."
                    )
            yield batch

    writer.write_urlset(seen(), chunks.append)
    # Only now it is known what they have.
    return b"".join([writer.urlset_head(spaces), *chunks[1:]]).decode()
