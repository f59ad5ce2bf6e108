"""Find the mappings of sections and the templates that the root URLconf passes to views."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any, NamedTuple

from django.conf import settings
from django.urls import URLPattern, URLResolver, get_resolver

from django_sitemaps09.orm.internals import reverse_names

_COMPAT_VIEWS = "django_sitemaps09.views.compat"
_TEMPLATES = {"index": "sitemap_index.xml", "sitemap": "sitemap.xml"}


class PassedSitemaps(NamedTuple):
    """The `sitemaps` argument of a view, and whether section names are part of the view's URLs.

    `sitemaps` is `None` if the view serves the registered sections or the sections in `SITEMAPS`.
    """

    sitemaps: object
    names_urls: bool


class Template(NamedTuple):
    """The template of a view, and its `sitemaps` argument."""

    name: Any
    sitemaps: object


def root() -> URLResolver | None:
    """Return the URL resolver of the site; `None` if the root URLconf is not set or invalid."""
    if not getattr(settings, "ROOT_URLCONF", None):
        return None
    resolver: URLResolver = get_resolver()
    try:
        # Load the URLconf now. Django's own checks report errors in it.
        reverse_names(resolver)
    except Exception:  # noqa: BLE001 the modules of a project can raise anything
        return None
    return resolver


def passed_sitemaps() -> list[PassedSitemaps]:
    """Return the `sitemaps` that a pattern, or an `include()` around it, passes to each of our views."""
    return [
        PassedSitemaps(sitemaps, _module_name(view) != _COMPAT_VIEWS)
        for view, arguments in _views("django_sitemaps09.views.")
        for sitemaps in [arguments.get("sitemaps")]
        if sitemaps is not None or getattr(view, "__name__", "") != "robots_txt"
    ]


def templates() -> list[Template]:
    """Return the templates of the compatibility views and of the views in `django.contrib.sitemaps`."""
    return [
        Template(arguments.get("template_name", _TEMPLATES[view.__name__]), arguments.get("sitemaps"))
        for view, arguments in _views(_COMPAT_VIEWS, "django.contrib.sitemaps.views")
        if getattr(view, "__name__", "") in _TEMPLATES
    ]


def _views(*modules: str) -> Iterator[tuple[Any, dict[str, Any]]]:
    """Yield each view of these modules without its decorators, and the arguments from its URL pattern."""
    resolver = root()
    for callback, arguments in () if resolver is None else _callbacks(resolver, {}, ()):
        try:
            view = inspect.unwrap(callback, stop=lambda wrapper: _module_name(wrapper).startswith(modules))
        except ValueError:
            # The decorator is broken: the view wraps itself.
            continue
        if _module_name(view).startswith(modules):
            yield view, arguments


def _callbacks(
    resolver: URLResolver, outer_arguments: dict[str, Any], ancestors: tuple[int, ...]
) -> Iterator[tuple[Any, dict[str, Any]]]:
    if id(resolver.url_patterns) in ancestors:
        # The URLconf includes itself.
        return
    ancestors = (*ancestors, id(resolver.url_patterns))
    for pattern in resolver.url_patterns:
        # Inner arguments override outer arguments, as when a request is resolved.
        if isinstance(pattern, URLResolver):
            yield from _callbacks(pattern, outer_arguments | pattern.default_kwargs, ancestors)
        elif isinstance(pattern, URLPattern):
            yield pattern.callback, outer_arguments | pattern.default_args


def _module_name(view: Any) -> str:
    return str(getattr(view, "__module__", ""))
