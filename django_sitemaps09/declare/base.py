"""`Sitemap`, a subclass of `django.contrib.sitemaps.Sitemap` with expressions as hooks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing, suppress
from copy import copy
from datetime import date
from decimal import Decimal
from inspect import getattr_static
from itertools import chain
from types import FunctionType, MethodType, NoneType
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeAlias, cast

from django.contrib import sitemaps as contrib
from django.core.exceptions import ImproperlyConfigured
from django.core.paginator import Paginator
from django.db.models import Count, Model, QuerySet
from django.utils.functional import Promise
from django.utils.translation import get_language

from django_sitemaps09.conf import strings
from django_sitemaps09.declare import contrib_pages, expressions
from django_sitemaps09.declare.annotations import annotate, declared_value, load_columns, localized_location
from django_sitemaps09.declare.calls import FAILED, Items, lastmod_text, log_skips, skip_error
from django_sitemaps09.declare.expressions import FIELDS, LocationTemplate, Newest, alias, is_expression
from django_sitemaps09.orm.facts import Facts
from django_sitemaps09.orm.reading import AT_A_TIME, chunks, in_page_order, iterate_unordered, pin_database
from django_sitemaps09.protocol.fields import check_text, plain_text, typed_repr
from django_sitemaps09.protocol.media import Extension
from django_sitemaps09.protocol.urls import uri

if TYPE_CHECKING:
    from django.contrib.sites.models import Site
    from django.contrib.sites.requests import RequestSite
    from django.db.models.expressions import Combinable
    from typing_extensions import TypeVar

    from django_sitemaps09.protocol.entries import Alternate
    from django_sitemaps09.protocol.media import Image, News, Video

    # The defaults allow subclasses without type arguments, as with Django's `Sitemap`.
    ItemT = TypeVar("ItemT", default=Any)
    ModelT = TypeVar("ModelT", bound=Model, default=Any)

    Columns: TypeAlias = LocationTemplate | Combinable

    class _Base(Generic[ItemT]):
        """The interface of Django's `Sitemap`, with all types that each hook can have here."""

        limit: int
        protocol: str | None
        i18n: bool
        languages: Sequence[str] | None
        alternates: bool | Callable[[ItemT], Iterable[Alternate | tuple[str, str]] | None]
        x_default: bool | Callable[[ItemT], bool | str | None]
        latest_lastmod: date | None
        location: str | Columns | Mapping[str, Columns] | Callable[[ItemT], str]
        item_language: Combinable | None
        lastmod: date | Combinable | Callable[[ItemT], date | None] | None
        changefreq: str | Combinable | Callable[[ItemT], str | None] | None
        priority: float | Decimal | Combinable | Callable[[ItemT], float | Decimal | None] | None

        def items(self) -> Iterable[ItemT]: ...
        @property
        def paginator(self) -> Paginator[Any]: ...
        def get_languages_for_item(self, item: ItemT) -> Sequence[str]: ...
        def get_protocol(self, protocol: str | None = None) -> str: ...
        def get_domain(self, site: Site | RequestSite | None = None) -> str: ...
        def get_urls(
            self, page: int | str = 1, site: Site | RequestSite | None = None, protocol: str | None = None
        ) -> list[dict[str, Any]]: ...
        def get_latest_lastmod(self) -> date | None: ...
        def _languages(self) -> Sequence[str]: ...
        def _get(self, name: str, item: Any, default: Any = None) -> Any: ...

else:
    from typing import TypeVar

    ItemT = TypeVar("ItemT")
    ModelT = TypeVar("ModelT", bound=Model)

    class _Base(contrib.Sitemap, Generic[ItemT]):
        """A generic subclass of Django's `Sitemap`, so that fixes are inherited, and mixins for it work."""


class Sitemap(_Base[ItemT]):
    """A section of a site. Override `items()` and any of the hooks, such as `lastmod`.

    Each attribute of `django.contrib.sitemaps.Sitemap` has the same meaning here. Further optional methods
    take the item. `images`, `videos` and `alternates` return lists of `Image`, `Video` or `Alternate`
    objects, and `news` returns a `News` object. A method `x_default` returns `True`, `False` or a URL.
    Unless `i18n` is set, one of the `alternates` must link to the item itself.
    """

    #: Further allowed hosts for absolute locations, such as `https://shop.example.com` or only a host name.
    hosts: Sequence[str] = ()
    #: The format of exported files: `xml`, or `text` for files with only URLs.
    format: Literal["xml", "text"] = "xml"
    #: Sitemap extensions: further elements of entries, in other namespaces.
    extensions: Sequence[Extension] = ()
    #: With `i18n`, an expression for the only language in which an item is listed.
    if not TYPE_CHECKING:
        item_language = None

    if TYPE_CHECKING:

        def images(self, item: ItemT) -> Iterable[Image] | None: ...
        def videos(self, item: ItemT) -> Iterable[Video] | None: ...
        def news(self, item: ItemT) -> News | None: ...

    def default_location(self, item: ItemT) -> str:
        """Return the location of an item if none is declared: `item.get_absolute_url()`."""
        try:
            url = item.get_absolute_url  # type: ignore[attr-defined]
        except AttributeError as error:
            way = "define `def location(self, item)`"
            way += ", or use StaticViewSitemap for view names" if isinstance(item, str) else ""
            raise AttributeError(f"{error}. {type(self).__qualname__} has no `location`: {way}") from None
        return url()  # type: ignore[no-any-return]

    if not TYPE_CHECKING:

        def location(self, item):
            """Return the path or absolute URL of an item. Default: `default_location(item)`."""
            return self.default_location(item)

    def get_latest_lastmod(self) -> date | None:
        """Return the newest `lastmod` of all items for an index; `None` if an item has no lastmod.

        The database evaluates an expression, usually in at most two queries. A method is called for each
        item until it returns `None` or raises an error, which is logged.
        """
        hook = getattr(self, "lastmod", None)
        if not is_expression(hook):
            if not callable(hook):
                return super().get_latest_lastmod()
            latest: Any = None
            with log_skips() as errors, closing(iterate_unordered(read_items(self), AT_A_TIME)) as batches:
                for batch in batches:
                    lastmods = Items(batch, errors).call(hook, batch, "lastmod", failed=None)
                    if any(lastmod is None for lastmod in lastmods):
                        return None
                    with suppress(TypeError):
                        latest = max(lastmods if latest is None else [latest, *lastmods])
                        continue
                    return None
            return cast("date | None", latest)
        rows, name = _annotated_items(self), alias("lastmod")
        query, own = rows.query, Facts(rows)
        # aggregate() drops the order.
        if own.is_fetched or own.is_limited or name not in query.annotations or own.needs_order:
            lastmod = {name: expressions.declared_expressions(self)[name]}
            columns = (load_columns(lastmod, chunk)[1][name] for chunk in chunks(rows, AT_A_TIME))
            lastmods = list(chain.from_iterable(columns))
            return None if None in lastmods else max(lastmods, default=None)
        aggregates: dict[str, Any] = {"newest": Newest(name, expression=query.annotations[name])}
        if own.has_window:
            # A filter would be applied before the window function.
            aggregates["without"] = Count("*") - Count(name)
        elif rows.filter(**{f"{name}__isnull": True}).exists():
            return None
        totals = rows.aggregate(**aggregates)
        return None if totals.get("without") else totals["newest"]

    @property
    def paginator(self) -> Paginator[Any]:
        """Return Django's paginator. It counts rows without the joins that only declared columns need."""
        try:
            int(self.limit)
        except (TypeError, ValueError) as error:
            problem = f"limit must be a whole number, not {typed_repr(self.limit)}"
            raise ImproperlyConfigured(f"{type(self).__qualname__}.{problem}.") from error
        # If a project overrides `_items()`, paginate the list that this method returns.
        is_untouched = is_original(self, "_items") and self.i18n
        items = _translated_items(self) if is_untouched else pin_database(self._items())
        if not isinstance(items, QuerySet):
            has_slices = hasattr(items, "__getitem__") and not isinstance(items, Mapping)
            return Paginator(items if has_slices else list(items), self.limit)
        own, declared = Facts(items), expressions.declared_expressions(self)
        can_drop_columns = declared and not (own.is_fetched or own.repeats_rows)
        counted_items = in_page_order(read_items(self)) if can_drop_columns else items
        return contrib_pages.ColumnPaginator(self, items, pin_database(counted_items, items.db))

    def get_languages_for_item(self, item: ItemT) -> Sequence[str]:
        """Return the languages of an item. Default: those in which a dict `location` has a location.

        Without a dict, an item with an `item_language` has only this language.
        """
        codes = super().get_languages_for_item(item)
        location: Any = self.location
        if item is None:
            return codes
        if not isinstance(location, Mapping):
            return contrib_pages.in_item_language(self, item, codes)
        return [code for code in codes if localized_location(location, code, item) is not None]

    def _languages(self) -> Sequence[str]:
        location: Any = self.location
        if self.languages is None and isinstance(location, Mapping):
            return strings(location, f"The languages of {type(self).__qualname__}.location")
        return strings(super()._languages(), f"{type(self).__qualname__}.languages")

    def _items(self) -> Any:
        return list(_translated_items(self)) if self.i18n else _annotated_items(self)

    def _urls(self, page: Any, protocol: str, domain: str) -> list[dict[str, Any]]:
        """Return Django's entry dicts with the results of our hooks. Each key is the name of the hook."""
        try:
            # Unlike the base of native views, a domain can have a path at its end.
            uri(f"https://{domain}/")
        except ValueError as error:
            name = type(self).__qualname__
            raise ImproperlyConfigured(f"{name}.get_domain() returned {domain!r}: {error}.") from error
        with log_skips() as errors:
            start = len(errors)
            try:
                urls: list[dict[str, Any]] = super()._urls(page, protocol, domain)  # type: ignore[misc]
            except TypeError:
                # Django compares all lastmods, but they can be of several types.
                del errors[start:]
                undated_sitemap, lastmods = copy(self), list[Any]()
                get = undated_sitemap._get  # noqa: SLF001 contrib's hook

                def keep_lastmod(name: str, item: Any, default: Any = None) -> Any:
                    value = get(name, item, default)
                    return lastmods.append(value) if name == "lastmod" else value

                vars(undated_sitemap)["_get"] = keep_lastmod
                urls = super(Sitemap, undated_sitemap)._urls(page, protocol, domain)  # type: ignore[misc]
                for url, lastmod in zip(urls, lastmods, strict=True):
                    url["lastmod"] = lastmod
                if all(isinstance(lastmod, date) for lastmod in lastmods):
                    # A time can be out of range in UTC.
                    with suppress(ValueError):
                        self.latest_lastmod = max(lastmods, key=lambda value: lastmod_text(value) or "")
            hosts = contrib_pages.hosts_of(self, protocol, domain)
            urls = contrib_pages.filter_on_host(urls, f"{protocol}://{domain}", hosts, errors)
            return contrib_pages.add_hook_results(self, urls, hosts, errors)

    def _get(self, name: str, item: Any, default: Any = None) -> Any:
        try:
            value = getattr(self, name, default)
            if type(value) in _PLAIN:
                return value
            if type(value) is MethodType:
                value = super()._get(name, item, default)
            elif is_expression(value) or isinstance(value, LocationTemplate):
                row = item[0] if self.i18n else item
                # A model can have a `__getattr__()` for all other names.
                known = getattr(row, "__dict__", {}).get(_ATTRIBUTES.get(name), FAILED)
                value = declared_value(value, name, row) if known is FAILED else known
            elif name == "location" and self.i18n and isinstance(value, Mapping):
                value = localized_location(value, get_language(), item[0])
            else:
                value = super()._get(name, item, default)
            if name == "priority" and type(value) not in _PLAIN:
                # Django writes its `str()`, which can be the address of an object.
                check_text(value)
            # A lazy URL is in the language that is active when it is evaluated.
            is_lazy_url = name == "location" and isinstance(value, Promise)
            return plain_text(str(value) if is_lazy_url else value)
        except Exception as error:
            if name not in FIELDS[1:]:
                raise
            skip_error(item, name, error)
            return default


# Attributes of a row with the values of the four hooks. Locations are composed for a whole page.
_ATTRIBUTES = {"location": contrib_pages.URL_ATTRIBUTE} | {name: alias(name) for name in FIELDS[1:]}
_PLAIN = frozenset({str, int, float, NoneType})


def _annotated_items(sitemap: Sitemap[Any]) -> Any:
    return annotate(sitemap, in_page_order(read_items(sitemap)))


def _translated_items(sitemap: Sitemap[Any]) -> contrib_pages.TranslatedItems:
    # First, since `items()` can set the hooks.
    items = pin_database(_annotated_items(sitemap))
    has_own_languages = is_expression(sitemap.item_language) or isinstance(sitemap.location, Mapping)
    is_uniform = not has_own_languages and is_original(sitemap, "get_languages_for_item")
    codes = list(sitemap.get_languages_for_item(None)) if is_uniform else None
    return contrib_pages.TranslatedItems(sitemap, items, codes)


def read_items(sitemap: Any) -> Any:
    """Return the items of a sitemap. Raise `ImproperlyConfigured` if they are not iterable."""
    if not callable(sitemap.items):
        raise ImproperlyConfigured(
            f"{type(sitemap).__qualname__}.items must be a method, not {typed_repr(sitemap.items)}. Define "
            "`def items(self)`, which returns a queryset or a list."
        )
    return checked_items(sitemap, "items", sitemap.items())


def checked_items(sitemap: object, method: str, items: Any) -> Any:
    """Return what a method of a sitemap returned. Raise `ImproperlyConfigured` if it is not iterable."""
    # iter() would evaluate a queryset.
    if hasattr(type(items), "__iter__") or hasattr(type(items), "__getitem__"):
        return items
    name = f"{type(sitemap).__qualname__}.{method}()"
    if items is None:
        raise ImproperlyConfigured(f"{name} returned None. Add `return` before its queryset or list.")
    raise ImproperlyConfigured(f"{name} {queryset_problem(items, 'return')}")


def queryset_problem(value: object, verb: str = "be") -> str:
    """Return an error message without its subject for a value that is not a queryset."""
    model = value if isinstance(value, type) and issubclass(value, Model) else getattr(value, "model", None)
    example = f"`{getattr(model, '__name__', 'Article')}.objects.all()`"
    if isinstance(value, (FunctionType, MethodType)):
        ways = f"Call the function, as in {example}, or override `get_queryset()`."
        return f"must {verb} a queryset, not a function. {ways}"
    kind = f"the class {value.__qualname__}" if isinstance(value, type) else type(value).__name__
    return f"must {verb} a queryset, such as {example}, not {kind}."


#: Internals of Django's `Sitemap`. A sitemap that overrides any of these is opaque.
CONTRIB_INTERNALS = (
    *("_get", "_items", "_location", "_urls", "_languages"),
    *("get_urls", "get_protocol", "get_domain", "paginator"),
)
# Saved at import, because the tests of a project can patch the class later.
_OURS = dict(vars(Sitemap))


def is_original(sitemap: object, *names: str) -> bool:
    """Return whether a sitemap uses our methods, or the unpatched methods of Django."""
    for name in names:
        contribs = getattr_static(contrib.Sitemap, name, None)
        is_own = getattr_static(sitemap, name, None) is _OURS.get(name, contribs)
        if not (is_own and _is_of_contrib(contribs, name)):
            return False
    return True


def is_contribs(sitemap: object, name: str) -> bool:
    """Return whether a sitemap has the method or property from Django's `Sitemap` or ours."""
    attribute = getattr_static(sitemap, name, None)
    return (name in _OURS and attribute is _OURS[name]) or _is_of_contrib(attribute, name)


def _is_of_contrib(attribute: Any, name: str) -> bool:
    """Return whether a method or a property is of `django.contrib.sitemaps`, and not patched by a project.

    The globals of a function identify its module, since `functools.wraps()` copies `__module__`.
    """
    function: Any = attribute.fget if isinstance(attribute, property) else attribute
    is_function = isinstance(function, FunctionType)
    return is_function and function.__name__ == name and function.__globals__ is vars(contrib)
