"""Items of a section: what the methods of a class may return, and pairs of items and languages."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from contextlib import closing
from itertools import islice
from types import FunctionType, MethodType
from typing import Any

from django.core.exceptions import FieldDoesNotExist, ImproperlyConfigured
from django.db.models import Model

from django_sitemaps09.declare.annotations import column, load_columns
from django_sitemaps09.declare.calls import MAX_LOGGED, log_skipped
from django_sitemaps09.declare.expressions import ITEM_LANGUAGE, declared_expressions
from django_sitemaps09.declare.extensions import language_problem, spelling
from django_sitemaps09.declare.location_templates import is_expression
from django_sitemaps09.orm.facts import facts
from django_sitemaps09.orm.reading import AT_A_TIME, chunks, count_rows, iterate_unordered
from django_sitemaps09.protocol import ItemError, excerpt, typed_repr

logger = logging.getLogger(__name__)


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
        return (
            f"must {verb} a queryset, not a function. Call the function, as in {example}, or override "
            "`get_queryset()`."
        )
    kind = f"the class {value.__qualname__}" if isinstance(value, type) else type(value).__name__
    return f"must {verb} a queryset, such as {example}, not {kind}."


def field_problem(
    name: object, model: type[Model] | None, kinds: tuple[type, ...], description: str
) -> str | None:
    """Return why a name does not refer to a field of these types, or `None`."""
    if not isinstance(name, str) or not name:
        return "this is not the name of a field"
    if model is None:
        return None
    try:
        field = model._meta.get_field(name)
    except FieldDoesNotExist:
        return f"{model._meta.label} has no such field"
    return None if isinstance(field, kinds) else f"{model._meta.label}.{name} is not {description}"


class TranslatedItems(Sequence[Any]):
    """A sequence of `(item, language)` pairs as in `django.contrib.sitemaps`, for a paginator.

    If all items have the same languages, these are `codes`. Then the database counts the rows of most
    querysets, and only the rows of a page are read. Otherwise, counting and slicing iterate over all items,
    and determine the languages of each of them.
    """

    def __init__(self, sitemap: Any, items: Any, codes: list[str] | None) -> None:
        self._sitemap = sitemap
        self._codes = codes if codes and facts(items).can_reorder else None
        # Without languages, no item is listed, so none is read.
        self._items: Any = [] if codes == [] else items if hasattr(items, "query") else list(items)

    def __iter__(self) -> Iterator[tuple[Any, str]]:
        return self._pairs(self._items)

    def _pairs(self, items: Any) -> Iterator[tuple[Any, str]]:
        for chunk in chunks(items, AT_A_TIME):
            places, _ = load_columns(declared_expressions(self._sitemap), chunk)
            for item in (chunk[place] for place in places):
                for code in self._codes or self._item_languages(item):
                    yield item, code

    def _item_languages(self, item: Any) -> Sequence[str]:
        # Contrib only iterates over the languages, so they can be a generator.
        codes = list(self._sitemap.get_languages_for_item(item))
        return in_item_language(self._sitemap, item, codes)

    def _language_problem(self, item: Any) -> str | None:
        """Return why the language that an expression declares for an item is not listed, or `None`."""
        if not is_expression(self._sitemap.item_language):
            return None
        code = column(self._sitemap.item_language, ITEM_LANGUAGE, item)
        return language_problem(code, self._sitemap._languages())  # noqa: SLF001 contrib's hook

    def __len__(self) -> int:
        if self._codes is not None:
            return len(self._codes) * count_rows(self._items)
        count, unlisted, errors = 0, 0, []
        with closing(iterate_unordered(self._items, AT_A_TIME)) as batches:
            for item in (item for chunk in batches for item in chunk):
                codes = self._item_languages(item)
                count += len(codes)
                if not codes and (reason := self._language_problem(item)):
                    unlisted += 1
                    if unlisted <= MAX_LOGGED:
                        errors.append(ItemError(excerpt(item), "item_language", reason))
        log_skipped(logger, errors, unlisted)
        return count

    def __getitem__(self, index: Any) -> Any:
        if not isinstance(index, slice):
            return list(self)[index]
        start, stop = index.start or 0, index.stop
        if index.step not in (None, 1) or start < 0 or (stop is not None and stop < start):
            return list(self)[index]
        if self._codes is None:
            return list(islice(self, start, stop))
        codes_per_item = len(self._codes)
        part = self._items[start // codes_per_item : None if stop is None else -(-stop // codes_per_item)]
        first = start // codes_per_item * codes_per_item
        return list(islice(self._pairs(part), start - first, None if stop is None else stop - first))


def in_item_language(sitemap: Any, item: Any, codes: Sequence[str]) -> Sequence[str]:
    """Return only the language of an item, if an expression declares it."""
    # On classes written for `django.contrib.sitemaps`, the attribute can mean anything.
    if not is_expression(sitemap.item_language):
        return codes
    own = spelling(column(sitemap.item_language, ITEM_LANGUAGE, item), codes)
    return [code for code in codes if code == own]
