"""The `urlset` of the compatibility views. Its entry dicts are created only if code accesses them."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextvars import copy_context
from functools import wraps
from typing import Any

from django.core.exceptions import ImproperlyConfigured
from django.urls import get_script_prefix, get_urlconf, set_script_prefix, set_urlconf
from django.utils import timezone, translation

from django_sitemaps09 import writer
from django_sitemaps09.entries import Batch
from django_sitemaps09.hooks.values import log_skipped
from django_sitemaps09.protocol import XHTML_NAMESPACE
from django_sitemaps09.sources.columns.extensions import used_namespaces
from django_sitemaps09.views.entry_batches import SectionPage, dicts_batch

logger = logging.getLogger(__name__)


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
        for batch in (part.batches() if isinstance(part, SectionPage) else [dicts_batch(part)])
    )
    urlset.make = with_current_state(
        lambda: [url for part in parts for url in (part.urls() if isinstance(part, SectionPage) else part)]
    )
    return urlset


def with_current_state(make: Callable[[], list[Any]]) -> Callable[[], list[Any]]:
    """Return a function that calls `make` with the language, time zone and URLconf that are active now."""
    language, zone = translation.get_language(), timezone.get_current_timezone()
    urlconf, prefix = get_urlconf(), get_script_prefix()
    # Copy all context variables of the view, such as the tenant or the decimal context.
    context = copy_context()

    def make_with_state() -> list[Any]:
        # In another thread, Django does not read this state from the context.
        if language is None:
            translation.deactivate_all()
        else:
            translation.activate(language)
        timezone.activate(zone)
        set_urlconf(urlconf)
        set_script_prefix(prefix)
        return make()

    return lambda: context.copy().run(make_with_state)


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
    return _document([dicts_batch([] if urls is None else list(urls))])


def _document(batches: Iterable[Batch]) -> str:
    """Return a urlset with the namespaces in use, and always with `xhtml`, as Django does."""
    chunks: list[bytes] = []
    spaces = {"xhtml": XHTML_NAMESPACE}

    def check_prefixes() -> Iterator[Batch]:
        for batch in batches:
            for prefix, space in used_namespaces(batch).items():
                if spaces.setdefault(prefix, space) != space:
                    raise ImproperlyConfigured(
                        f"Sections of one document use two namespaces for the prefix {prefix!r}: "
                        f"{spaces[prefix]} and {space}."
                    )
            yield batch

    document = writer.write_urlset(check_prefixes(), chunks.append)
    log_skipped(logger, document.errors, len(document.errors))
    # All namespaces are known only now. Without entries, Django's document has a second newline.
    empty = b"" if document.urls else b"\n"
    return b"".join([writer.urlset_head(spaces), empty, *chunks[1:]]).decode()
