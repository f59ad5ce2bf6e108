"""Hooks and extensions that add content to the entries of a sitemap, with their namespaces and results."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from django_sitemaps09.entries import NAMESPACES, Batch, Extension, short_repr
from django_sitemaps09.hooks.expressions import format_name
from django_sitemaps09.hooks.extensions import HOOKS, Hook, own_extensions
from django_sitemaps09.hooks.values import Items
from django_sitemaps09.sitemaps import Sitemap
from django_sitemaps09.sources.profiling import step

_PREFIXES = {"alternates": "xhtml", "images": "image", "videos": "video", "news": "news"}


def hooks(sitemap: object) -> dict[Hook, Callable[[Any], Any]]:
    """Return the methods of a sitemap that add content to its entries, by name.

    Other attributes with these names belong to the project. Text files have only URLs, so no hooks apply.
    """
    if format_name(sitemap) == "text" or not isinstance(sitemap, Sitemap):
        return {}
    return {name: hook for name in HOOKS if callable(hook := getattr(sitemap, name, None))}


def project_extensions(sitemap: object) -> list[Extension]:
    """Return the sitemap's extensions; an empty list for a text file, since it can only have URLs."""
    return [] if format_name(sitemap) == "text" else own_extensions(sitemap)


def namespaces(sitemap: object, *, is_linked: bool) -> dict[str, str]:
    """Return the namespaces of all content that the entries of a sitemap can have, by prefix."""
    prefixes = [_PREFIXES[name] for name in hooks(sitemap)] + ["xhtml"] * is_linked
    uris = {prefix: NAMESPACES[prefix] for prefix in prefixes}
    return uris | {extension.prefix: extension.namespace for extension in project_extensions(sitemap)}


def used_namespaces(batch: Batch) -> dict[str, str]:
    """Return the namespaces of the content that a batch has, by prefix."""
    columns = {name: getattr(batch, name) for name in HOOKS}
    prefixes = [_PREFIXES[name] for name, column in columns.items() if column is not None and any(column)]
    prefixes += ["xhtml"] * any(localization.language for localization in batch.localizations)
    foreign = {
        extension.prefix: extension.namespace for extension in batch.extensions if any(batch.foreign or ())
    }
    return {prefix: NAMESPACES[prefix] for prefix in prefixes} | foreign


def results(sitemap: object, rows: Sequence[Any], items: Items) -> dict[str | Extension, list[Any]]:
    """Return the results of hooks and extensions for each item."""
    values: dict[str | Extension, list[Any]] = {}
    for name, hook in hooks(sitemap).items():
        with step(name):
            # Generators are consumed here, so that an error in a generator is reported for its item.
            function = hook if name == "news" else lambda item: _as_list(hook(item))  # noqa: B023
            values[name] = items.each(function, rows, name)
    for extension in project_extensions(sitemap):
        with step("extensions"):
            values[extension] = items.each(extension.xml, rows, extension.prefix)
    return values


def _as_list(value: Any) -> list[Any]:
    if value and isinstance(value, (str, bytes)):
        raise TypeError(f"{short_repr(value)} is a string, not a list")
    return [] if value is None or value == "" else list(value)
