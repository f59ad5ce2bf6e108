"""What a user declares: sitemap classes on the base of those in `django.contrib.sitemaps`.

Each of `location`, `lastmod`, `changefreq` and `priority` is a constant, a query expression (for
`location` a `Route`), or a method that takes the item. Expressions become columns of the query; when
no hook needs the item, no model instance is made.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Generic, Literal

from django.contrib import sitemaps as contrib
from django.core.exceptions import ImproperlyConfigured
from django.core.paginator import Paginator
from django.db.models import Max, Model, QuerySet
from django.db.models.query import RawQuerySet
from django.urls import reverse
from django.utils.functional import cached_property

from django_sitemaps09.routes import Route, is_expression
from django_sitemaps09.rows import chunks, repeats_rows

if TYPE_CHECKING:
    from django.contrib.sites.models import Site
    from django.contrib.sites.requests import RequestSite
    from django.db.models.expressions import Combinable

Field = Literal["location", "lastmod", "changefreq", "priority"]
FIELDS: tuple[Field, ...] = ("location", "lastmod", "changefreq", "priority")
#: Instances in memory at a time, where contrib has all. All those of a page at once take half as long
#: again, most of it for the garbage collector, and three times the memory.
AT_A_TIME = 1_000

if TYPE_CHECKING:
    from typing_extensions import TypeVar

    # The defaults let a class stay as it was written for contrib: `class ProductSitemap(Sitemap)`.
    ItemT = TypeVar("ItemT", default=Any)
    ModelT = TypeVar("ModelT", bound=Model, default=Any)
else:
    from typing import TypeVar

    ItemT = TypeVar("ItemT")
    ModelT = TypeVar("ModelT", bound=Model)

if TYPE_CHECKING:

    class _Base(Generic[ItemT]):
        """The surface of contrib's class, with each hook as all that it may be."""

        limit: int
        protocol: str | None
        i18n: bool
        languages: Sequence[str] | None
        alternates: bool
        x_default: bool
        latest_lastmod: date | None
        location: str | Route | Combinable | Callable[[ItemT], str]
        lastmod: date | Combinable | Callable[[ItemT], date | None] | None
        changefreq: str | Combinable | Callable[[ItemT], str | None] | None
        priority: (
            float
            | Decimal
            | Combinable
            | Callable[[ItemT], float | None]
            | Callable[[ItemT], Decimal | None]
            | None
        )

        def items(self) -> Iterable[ItemT]: ...
        @property
        def paginator(self) -> Paginator[Any]: ...
        def get_languages_for_item(self, item: ItemT) -> Sequence[str]: ...
        def get_protocol(self, protocol: str | None = None) -> str: ...
        def get_domain(self, site: Site | RequestSite | None = None) -> str: ...
        def get_urls(
            self,
            page: int | str = 1,
            site: Site | RequestSite | None = None,
            protocol: str | None = None,
        ) -> list[dict[str, Any]]: ...
        def get_latest_lastmod(self) -> date | None: ...
        def _languages(self) -> Sequence[str]: ...
        def _get(self, name: str, item: Any, default: Any = None) -> Any: ...

else:

    class _Base(contrib.Sitemap, Generic[ItemT]):
        """Contrib's class, so that `isinstance`, mixins and Django's own fixes hold."""


class Sitemap(_Base[ItemT]):
    """A section of a site: override `items()`, and any of the hooks.

    A name that `django.contrib.sitemaps.Sitemap` has means the same here.
    """

    def default_location(self, item: ItemT) -> str:
        """What `location` is where nothing else is declared: `item.get_absolute_url()`."""
        return item.get_absolute_url()  # type: ignore[attr-defined, no-any-return]

    if not TYPE_CHECKING:

        def location(self, item):
            """Path or absolute URL of an item. Default: `default_location(item)`."""
            return self.default_location(item)

    def get_latest_lastmod(self) -> date | None:
        """The newest `lastmod` of all items, `None` where one has none: the index's on contrib's road.

        An expression is asked of the database, in at most two queries; a method is called for each
        item, as in contrib, but for no further one when one has none. No items are kept.
        """
        declared = getattr(self, "lastmod", None)
        if not is_expression(declared):
            if not callable(declared):
                return super().get_latest_lastmod()
            try:
                found = (declared(item) for some in chunks(self.items(), AT_A_TIME) for item in some)
                return max(found, default=None)
            except TypeError:
                return None
        rows = annotated(self, self.items())
        if rows.query.is_sliced or rows.query.combinator:
            lastmods = [declared_value(declared, "lastmod", item) for item in rows]
            return None if None in lastmods else max(lastmods, default=None)
        if rows.filter(**{f"{alias('lastmod')}__isnull": True}).exists():
            return None
        newest: date | None = rows.aggregate(newest=Max(alias("lastmod")))["newest"]
        return newest

    @property
    def paginator(self) -> Paginator[Any]:
        """Contrib's, which counts rows without the joins that only declared columns need."""
        items = self._items()
        if not isinstance(items, QuerySet) or not declared_expressions(self) or repeats_rows(items.query):
            return Paginator(items, self.limit)
        made = _Paginator(items, self.limit)
        made.counted = self.items()
        return made

    def _items(self) -> Any:
        items = annotated(self, self.items())
        if not self.i18n:
            return items
        return [(item, code) for item in items for code in self.get_languages_for_item(item)]

    def _get(self, name: str, item: Any, default: Any = None) -> Any:
        value = getattr(self, name, None)
        if isinstance(value, Route) or is_expression(value):
            return declared_value(value, name, item[0] if self.i18n else item)
        return super()._get(name, item, default)


class _Paginator(Paginator):  # type: ignore[type-arg]
    counted: Any

    @cached_property
    def count(self) -> int:
        return int(self.counted.count())


class ModelSitemap(Sitemap[ModelT]):
    """A section whose items are the rows of a model: set `queryset` or `model`, or `get_queryset()`.

    Pages are ranges of `key`: the primary key, or a field that is unique, not null, and never
    changes for a row that exists, which you declare by naming it.
    """

    queryset: QuerySet[ModelT] | None = None
    model: type[ModelT] | None = None
    key: str = "pk"

    def get_queryset(self) -> QuerySet[ModelT]:
        """The rows of the section, in any order. Default: those of `queryset`, else all of `model`."""
        rows = self.queryset
        if rows is None and self.model is not None:
            rows = self.model._default_manager.all()
        if rows is None:
            raise ImproperlyConfigured(
                f"{type(self).__qualname__} has no rows: set `queryset` or `model`, "
                "or override `get_queryset()` or `items()`."
            )
        # A class attribute must not keep the rows of its first use.
        return rows.using(rows.db) if isinstance(rows, RawQuerySet) else rows.all()

    def items(self) -> QuerySet[ModelT]:
        """The rows in a defined order, that of the primary key where they have none and can take one."""
        rows = self.get_queryset()
        query = rows.query if isinstance(rows, QuerySet) else None
        if query is None or rows.ordered or query.is_sliced or query.combinator or query.distinct_fields:
            return rows
        return rows.order_by("pk")


class StaticViewSitemap(Sitemap[str]):
    """A section of views without arguments: set `viewnames`."""

    viewnames: Sequence[str] = ()

    def items(self) -> Iterable[str]:
        """The names, as `reverse()` takes them."""
        return list(self.viewnames)

    def default_location(self, item: str) -> str:
        """`reverse(item)`."""
        return reverse(item)


if TYPE_CHECKING:

    class GenericSitemap(Sitemap[ModelT]):
        """Contrib's `GenericSitemap`."""

        queryset: QuerySet[ModelT]
        date_field: str | None

        def __init__(
            self,
            info_dict: Mapping[str, Any],
            priority: float | None = None,
            changefreq: str | None = None,
            protocol: str | None = None,
        ) -> None: ...
        def items(self) -> QuerySet[ModelT]: ...

else:

    class GenericSitemap(Sitemap[ModelT], contrib.GenericSitemap):
        """Contrib's `GenericSitemap`: `GenericSitemap({"queryset": ..., "date_field": ...})`."""

        get_latest_lastmod = contrib.GenericSitemap.get_latest_lastmod


def alias(name: str, position: int = 0) -> str:
    """The reserved name under which the declared expressions of a field are read."""
    return f"_sitemaps09_{name}_{position}"


def declared_expressions(sitemap: object) -> dict[str, Any]:
    """All expressions of a sitemap's hooks by their reserved names, those of a `Route` in its order."""
    found: dict[str, Any] = {}
    for name in FIELDS:
        value = getattr(sitemap, name, None)
        expressions = value.expressions if isinstance(value, Route) else [value]
        for position, expression in enumerate(filter(is_expression, expressions)):
            found[alias(name, position)] = expression
    return found


def annotated(sitemap: object, items: Any) -> Any:
    """Items that carry the values of the declared expressions."""
    expressions = declared_expressions(sitemap)
    if not expressions:
        return items
    if not isinstance(items, QuerySet):
        raise ImproperlyConfigured(
            f"{type(sitemap).__qualname__} declares query expressions, but its items() are no "
            "queryset: return one, or make the hooks methods that take the item."
        )
    # Django annotates no union; its rows are asked for their values one by one.
    return items if items.query.combinator else items.annotate(**expressions)


def declared_value(value: Any, name: str, item: Any) -> Any:
    """The value of a field that is declared as a `Route` or an expression, for an item."""
    if isinstance(value, Route):
        parts = enumerate(value.expressions)
        return value.url([column(part, alias(name, i), item) for i, part in parts])
    return column(value, alias(name), item)


def column(expression: Any, name: str, item: Any) -> Any:
    """The value of an expression for a row: its annotation, or else what a query of its own gives.

    A row has no annotation where the project paginates `items()` itself, or makes a union of them.
    """
    if isinstance(item, dict):
        return item[name]
    if not isinstance(item, Model):
        raise ImproperlyConfigured(
            f"Query expressions need rows of a model, not {type(item).__name__} objects: let items() give "
            "instances, or make the hooks methods that take the item."
        )
    if not hasattr(item, name):
        rows = type(item)._base_manager.using(item._state.db).filter(pk=item.pk)
        setattr(item, name, rows.values_list(expression, flat=True).get())
    return getattr(item, name)
