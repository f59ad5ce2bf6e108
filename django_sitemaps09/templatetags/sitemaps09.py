"""The template tags of the default templates: `{% sitemap_urlset %}` and `{% sitemap_index %}`.

They write what the views of `django.contrib.sitemaps` pass to a template: any key of an entry dict can be
missing, and any value can be of any type.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

from django import template
from django.core.exceptions import ImproperlyConfigured
from django.utils.safestring import SafeString, mark_safe

from django_sitemaps09.declare.calls import CONVERTERS, Items, log_skipped, texts
from django_sitemaps09.declare.contrib_pages import entry_values
from django_sitemaps09.declare.extensions import used_namespaces
from django_sitemaps09.protocol.documents import index_document, write_document
from django_sitemaps09.protocol.entries import Alternate, IndexEntry
from django_sitemaps09.protocol.media import NAMESPACES
from django_sitemaps09.protocol.urlset import URLSET
from django_sitemaps09.rows.get_urls import ENTRY_KEYS, url_batch

logger = logging.getLogger(__name__)
register = template.Library()


def _unchanged_if_invalid(convert: Callable[[Any], str | None]) -> Callable[[Any], str | None]:
    """Return a converter that returns an invalid value as a string, as Django's template writes it."""

    def converted(value: Any) -> str | None:
        try:
            return convert(value)
        except ValueError:
            return str(value)

    return converted


_CONVERTERS: dict[str, Callable[[Any], str | None]] = {
    # An entry without a location is written as in Django.
    "location": lambda value: str(value or ""),
    "lastmod": CONVERTERS["lastmod"],
    **{name: _unchanged_if_invalid(CONVERTERS[name]) for name in ("changefreq", "priority")},
}


@register.simple_tag(takes_context=True)
def sitemap_urlset(context: template.Context) -> SafeString:
    """Write the entries in `urlset` with the namespaces in use, and always with `xhtml`, as Django does."""
    dicts = [
        url
        if type(url) is dict and "location" in url
        else {name: _value_of(url, name) for name in ENTRY_KEYS}
        for url in context.get("urlset") or ()
    ]
    items = Items([url.get("item") for url in dicts], [], raises_errors=True)
    batch = url_batch(dicts, items, _CONVERTERS, _alternate)
    namespaces = {"xhtml": NAMESPACES["xhtml"]} | used_namespaces(batch)
    for prefix, uri in ((extension.prefix, extension.namespace) for extension in batch.extensions):
        # Several sections can have extensions of their own for the same namespace.
        if namespaces.get(prefix, uri) != uri:
            raise ImproperlyConfigured(
                f"Sections of one document use two namespaces for the prefix {prefix!r}: "
                f"{uri} and {namespaces[prefix]}."
            )
    chunks: list[bytes] = []
    document = write_document(URLSET, [batch], chunks.append, namespaces=namespaces)
    log_skipped(logger, document.errors, len(document.errors))
    if not document.urls:
        # Django's document has a second newline then.
        chunks.insert(1, b"\n")
    return mark_safe(b"".join(chunks).decode())  # noqa: S308 protocol.documents escapes it


@register.simple_tag(takes_context=True)
def sitemap_index(context: template.Context) -> SafeString:
    """Write the pages in `sitemaps`, each with its `location` and `last_mod`."""
    pages = list(context.get("sitemaps") or ())
    items = Items([_value_of(page, "location") for page in pages], [])
    locations = entry_values(items.keys, "location", items)
    lastmods = entry_values([_value_of(page, "last_mod") for page in pages], "lastmod", items)
    lastmods = texts(lastmods, "lastmod", items)
    log_skipped(logger, items.errors, len(items.errors))
    entries = [IndexEntry(str(url or ""), text) for url, text in zip(locations, lastmods, strict=True)]
    return mark_safe(index_document(entries).decode())  # noqa: S308 protocol.documents escapes it


def _value_of(entry: Any, name: str) -> Any:
    """Look up a key or an attribute as templates do. Return `None` if neither exists."""
    try:
        return entry[name]
    except (TypeError, LookupError):
        return getattr(entry, name, None)


def _alternate(link: Any) -> Alternate:
    items = Items([None], [], raises_errors=True)
    pair = [entry_values([_value_of(link, name)], name, items)[0] for name in ("lang_code", "location")]
    return Alternate(*(str(value or "") for value in pair))
