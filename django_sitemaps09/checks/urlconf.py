"""Find the mappings of sections and the templates that the root URLconf passes to views."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any, NamedTuple

from django.conf import settings
from django.urls import URLPattern, URLResolver, get_resolver

from django_sitemaps09.django_internals import reverse_names

_OURS = ("django_sitemaps09.views.",)
_COMPAT_VIEWS = "django_sitemaps09.views.compat"
_CONTRIBS = "django.contrib.sitemaps.views"
_TEMPLATES = {"index": "sitemap_index.xml", "sitemap": "sitemap.xml"}
_WITHOUT_SECTIONS = "robots_txt"


class PassedSitemaps(NamedTuple):
    """Value that a view gets as `sitemaps`, and whether its names become part of our URLs.

    `sitemaps` is `None` for a view that serves the sections of the setting or of the registry.
    """

    sitemaps: object
    names_urls: bool


class Template(NamedTuple):
    """Template of a view, and the value that the view gets as `sitemaps`."""

    name: Any
    sitemaps: object


def root() -> URLResolver | None:
    """Return the URL resolver of the site; `None` if there is none that can be used."""
    if not getattr(settings, "ROOT_URLCONF", None):
        return None
    resolver: URLResolver = get_resolver()
    try:
        # Loads the URLconf now; Django's own check reports whatever is wrong in it.
        reverse_names(resolver)
    except Exception:  # noqa: BLE001 the modules of a project can raise anything
        return None
    return resolver


def passed_sitemaps() -> list[PassedSitemaps]:
    """Return the `sitemaps` that a pattern, or an `include()` around it, passes to each of our views."""
    return [
        PassedSitemaps(sitemaps, _module_name(view) != _COMPAT_VIEWS)
        for view, arguments in _views(_OURS)
        for sitemaps in [arguments.get("sitemaps")]
        if sitemaps is not None or getattr(view, "__name__", "") != _WITHOUT_SECTIONS
    ]


def templates() -> list[Template]:
    """Return the template of each of contrib's views and of the compatibility views."""
    return [
        Template(arguments.get("template_name", _TEMPLATES[view.__name__]), arguments.get("sitemaps"))
        for view, arguments in _views((_COMPAT_VIEWS, _CONTRIBS))
        if getattr(view, "__name__", "") in _TEMPLATES
    ]


def _views(modules: tuple[str, ...]) -> list[tuple[Any, dict[str, Any]]]:
    """Return each view that is from one of these modules, with the arguments that it gets."""
    resolver = root()
    return [] if resolver is None else list(_views_below(resolver, modules, {}, ()))


def _views_below(
    resolver: URLResolver,
    modules: tuple[str, ...],
    outer_arguments: dict[str, Any],
    ancestors: tuple[int, ...],
) -> Iterator[tuple[Any, dict[str, Any]]]:
    if id(resolver.url_patterns) in ancestors:
        # The module includes itself.
        return
    ancestors = (*ancestors, id(resolver.url_patterns))
    for pattern in resolver.url_patterns:
        # Inner arguments override outer ones, as they do when a request is resolved.
        if isinstance(pattern, URLResolver):
            yield from _views_below(pattern, modules, outer_arguments | pattern.default_kwargs, ancestors)
        elif (
            isinstance(pattern, URLPattern)
            and (view := _unwrap_view(pattern.callback, modules)) is not None
        ):
            yield view, outer_arguments | pattern.default_args


def _unwrap_view(view: Any, modules: tuple[str, ...]) -> Any:
    """Return the view of these modules inside any decorators; `None` if it is from elsewhere."""
    try:
        innermost = inspect.unwrap(view, stop=lambda wrapper: _module_name(wrapper).startswith(modules))
    except ValueError:
        # It wraps itself.
        return None
    return innermost if _module_name(innermost).startswith(modules) else None


def _module_name(view: Any) -> str:
    return str(getattr(view, "__module__", ""))
