"""`Sitemap`: contrib's class, with hooks that can be constants, expressions or methods."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import date
from decimal import Decimal
from inspect import getattr_static
from typing import TYPE_CHECKING, Any, Generic, Literal

from django.contrib import sitemaps as contrib
from django.core.paginator import Paginator
from django.db.models import Max, Model, QuerySet
from django.utils.functional import cached_property

from django_sitemaps09.entries import Alternate, Extension, Image, News, Video
from django_sitemaps09.routes import Route, is_expression
from django_sitemaps09.rows import chunks, repeats_rows
from django_sitemaps09.sitemaps.declared import alias, annotated, declared_expressions, declared_value
from django_sitemaps09.sitemaps.hooks import with_hooks
from django_sitemaps09.sitemaps.translated import Translated

#: Instances in memory at a time, where contrib has all. All those of a page at once take half as long
#: again, most of it for the garbage collector, and three times the memory.
AT_A_TIME = 1_000

if TYPE_CHECKING:
    from django.contrib.sites.models import Site
    from django.contrib.sites.requests import RequestSite
    from django.db.models.expressions import Combinable

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
        alternates: bool | Callable[[ItemT], Iterable[Alternate | tuple[str, str]] | None]
        x_default: bool | Callable[[ItemT], bool | str | None]
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

    Beside contrib's switch, `alternates` can be a method that takes the item: the links, itself included
    where there is no `i18n`, that `Alternate` describes. A method `x_default` says `True`, `False` or which
    URL. `images`, `videos` and `news` are methods, too: what they give of an item, `news` one and the
    others a list, is written into each of its entries. Nothing of these is needed.
    """

    #: Further hosts that absolute locations may be on: `https://shop.example.com`, or a name alone.
    hosts: Sequence[str] = ()
    #: What files of an export are: `xml`, or `text`, which holds URLs and nothing else.
    format: Literal["xml", "text"] = "xml"
    #: What else entries hold, in namespaces of your own.
    extensions: Sequence[Extension] = ()

    if TYPE_CHECKING:

        def images(self, item: ItemT) -> Iterable[Image] | None: ...
        def videos(self, item: ItemT) -> Iterable[Video] | None: ...
        def news(self, item: ItemT) -> News | None: ...

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
        # Contrib's list of items and languages, where a project may do with it what it likes.
        untouched = type(self)._items is Sitemap._items and self.i18n
        items = self._translated() if untouched else self._items()
        if not isinstance(items, QuerySet) or not declared_expressions(self) or repeats_rows(items.query):
            return Paginator(items, self.limit)
        made = _Paginator(items, self.limit)
        made.counted = self.items()
        return made

    def _items(self) -> Any:
        return list(self._translated()) if self.i18n else annotated(self, self.items())

    def _translated(self) -> Translated:
        return Translated.of(self, annotated(self, self.items()), uniform=has_same_languages(self))

    def _urls(self, page: Any, protocol: str, domain: str) -> list[dict[str, Any]]:
        """Contrib's, with what the hooks of ours say of each item, under their names."""
        urls: list[dict[str, Any]] = super()._urls(page, protocol, domain)  # type: ignore[misc]
        return with_hooks(self, urls, f"{protocol}://{domain}")

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


def has_same_languages(sitemap: Any) -> bool:
    """Whether no code of a project's says what the languages of an item are."""
    name = "get_languages_for_item"
    return getattr_static(sitemap, name) is getattr_static(Sitemap, name)
