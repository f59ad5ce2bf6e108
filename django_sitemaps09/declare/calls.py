"""Calls of a project's methods for items, and what happens if one raises.

Who calls a method depends on the class and on the reader:

* For a class of this package, native views and exports call all methods by `Items.call()`. An exception
  skips the element, or the item if the method is `location` or `get_languages_for_item`. It becomes an
  `ItemError`, but `SHARED_ERRORS` fail the section.
* In Django's pages, the loop of `django.contrib.sitemaps` calls `location`, `lastmod`, `changefreq` and
  `priority` by `_get()`. Ours passes an exception to `skip_error()`, which skips the element. Exceptions
  of `location` and of `get_languages_for_item` are raised, as in contrib. All other methods are called by
  `Items.call()`.
* For an opaque sitemap, and so for each class of contrib, all readers call `get_urls()`. Unless the class
  extends ours, no exception is caught: Django's pages raise it, and other readers fail the section.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from itertools import islice
from typing import Any, Final, NamedTuple

from django.core.exceptions import ImproperlyConfigured
from django.db import Error as DatabaseError
from django.utils import translation

from django_sitemaps09.conf import conf
from django_sitemaps09.declare.profiling import Step, step
from django_sitemaps09.protocol import ItemError, key_excerpt, reason_of

logger = logging.getLogger(__name__)

#: Marks a value that could not be computed; `None` is a valid value.
FAILED: Final[Any] = object()
#: Errors that affect more than one item, so they are raised, and no item is skipped for them.
SHARED_ERRORS = (DatabaseError, ImproperlyConfigured, MemoryError)
#: Maximum number of skipped items logged as warnings, for a response or for a section of an export.
MAX_LOGGED = 3


class Items(NamedTuple):
    """Keys of a slice's items, and the errors of skipped items and fields.

    If `raises_errors` is true, the errors of functions are raised and not reported.
    """

    keys: Sequence[Hashable]
    errors: list[ItemError]
    raises_errors: bool = False

    def skip(self, position: int, field: str, reason: str) -> None:
        """Report that a field of an item is not written."""
        # Items are described in the language of the site, also if a request has another one.
        with translation.override(conf.language):
            self.errors.append(ItemError(key_excerpt(self.keys[position]), field, reason))

    def call(
        self,
        hook: Callable[[Any], Any],
        items: Sequence[Any],
        name: Step,
        field: str = "",
        *,
        failed: Any = FAILED,
    ) -> list[Any]:
        """Call a method of the project for each item, as a measured step. By default, `field` is `name`."""
        with step(name):
            return self.each(hook, items, field or name, failed=failed)

    def each(
        self, function: Callable[[Any], Any], values: Iterable[Any], field: str, *, failed: Any = FAILED
    ) -> list[Any]:
        """Return the result of `function` for each value. The result for `FAILED` is `failed`.

        If `function` fails, the result is `failed` and the error is reported. `SHARED_ERRORS` are raised.
        """
        results = []
        for position, value in enumerate(values):
            try:
                results.append(failed if value is FAILED else function(value))
            except SHARED_ERRORS:
                raise
            except Exception as error:
                # A user's method can raise anything.
                if self.raises_errors:
                    raise
                self.skip(position, field, reason_of(error))
                results.append(failed)
        return results

    def each_of(
        self, position: int, function: Callable[[Any], Any], values: Sequence[Any], field: str
    ) -> list[Any]:
        """Return the results of `function` for the values of one item. Skip values for which it fails."""
        item = self._replace(keys=[self.keys[position]] * len(values))
        return [result for result in item.each(function, values, field) if result is not FAILED]


# The list that collects what is skipped while `django.contrib.sitemaps` calls methods.
_collector: ContextVar[list[ItemError] | None] = ContextVar("sitemaps09_skips", default=None)


@contextmanager
def collect_skips() -> Iterator[list[ItemError]]:
    """Yield a list that collects what is skipped inside the block. It is not logged."""
    errors: list[ItemError] = []
    token = _collector.set(errors)
    try:
        yield errors
    finally:
        _collector.reset(token)


@contextmanager
def log_skips() -> Iterator[list[ItemError]]:
    """Log what is skipped inside the block, unless an outer `collect_skips()` collects it."""
    if (outer_errors := _collector.get()) is not None:
        yield outer_errors
        return
    with collect_skips() as errors:
        try:
            yield errors
        finally:
            log_skipped(logger, errors, len(errors))


def skip_error(item: Any, field: str, error: Exception) -> None:
    """Skip a value of an item, because its hook raised this error.

    Raise one of the `SHARED_ERRORS`. Raise any error outside of `log_skips()` and `collect_skips()`, since
    nobody would see it.
    """
    errors = _collector.get()
    if isinstance(error, SHARED_ERRORS) or errors is None:
        raise error
    Items([item], errors).skip(0, field, reason_of(error))


def log_skipped(
    logger: logging.Logger, errors: Iterable[object], count: int, where: str = "Skipped"
) -> None:
    """Log the first errors, one per line after `where`, and the number of further errors.

    A hook that fails for every item must not log thousands of lines for each request.
    """
    for error in islice(errors, MAX_LOGGED):
        logger.warning("%s %s", where, error)
    if count > MAX_LOGGED:
        logger.warning("%s %d more", where, count - MAX_LOGGED)
