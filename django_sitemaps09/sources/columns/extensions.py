"""The methods of a sitemap that extend its entries: which there are, and what they give for its rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from django_sitemaps09.entries import NAMESPACES, Batch, Extension, short_repr
from django_sitemaps09.hooks.extensions import HOOKS, Hook, own_extensions
from django_sitemaps09.hooks.formats import format_name
from django_sitemaps09.hooks.values import Items
from django_sitemaps09.sitemaps import Sitemap
from django_sitemaps09.sources.profiling import step

_PREFIXES = {"alternates": "xhtml", "images": "image", "videos": "video", "news": "news"}


def hooks(sitemap: object) -> dict[Hook, Callable[[Any], Any]]:
    """Return the methods of a sitemap that extend its entries.

    Attributes that are not methods are not ours. A sitemap whose files have only URLs has no such methods.
    """
    if format_name(sitemap) == "text" or not isinstance(sitemap, Sitemap):
        return {}
    return {name: hook for name in HOOKS if callable(hook := getattr(sitemap, name, None))}


def project_extensions(sitemap: object) -> list[Extension]:
    """Return the extensions of the project, if they are written."""
    return [] if format_name(sitemap) == "text" else own_extensions(sitemap)


def namespaces(sitemap: object, *, is_linked: bool) -> dict[str, str]:
    """Return the namespaces of all that the entries of a sitemap can have, by prefix."""
    prefixes = [_PREFIXES[name] for name in hooks(sitemap)] + ["xhtml"] * is_linked
    uris = {prefix: NAMESPACES[prefix] for prefix in prefixes}
    return uris | {extension.prefix: extension.namespace for extension in project_extensions(sitemap)}


def used_namespaces(batch: Batch) -> dict[str, str]:
    """Return the namespaces of what the entries of a batch have, by prefix."""
    columns = {name: getattr(batch, name) for name in HOOKS}
    prefixes = [_PREFIXES[name] for name, column in columns.items() if column is not None and any(column)]
    if any(version.language for version in batch.versions):
        prefixes.append("xhtml")
    foreign = {
        extension.prefix: extension.namespace for extension in batch.extensions if any(batch.foreign or ())
    }
    return {prefix: NAMESPACES[prefix] for prefix in prefixes} | foreign


def results(sitemap: object, rows: Sequence[Any], items: Items) -> dict[str | Extension, list[Any]]:
    """Return the results of the hooks for each item."""
    values: dict[str | Extension, list[Any]] = {}
    for name, hook in hooks(sitemap).items():
        with step(name):
            convert = _news_value if name == "news" else _list_value
            # Generators are consumed here, where their errors are the item's.
            values[name] = items.each(lambda item: convert(hook(item)), rows, name)  # noqa: B023
    for extension in project_extensions(sitemap):
        with step("extensions"):
            values[extension] = items.each(extension.xml, rows, extension.prefix)
    return values


def _news_value(value: Any) -> Any:
    return value


def _list_value(value: Any) -> list[Any]:
    if value and isinstance(value, (str, bytes)):
        raise TypeError(f"{short_repr(value)} is a string, not a list")
    return [] if value is None or value == "" else list(value)
