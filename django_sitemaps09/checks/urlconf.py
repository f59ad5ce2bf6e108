"""The root URLconf: the mappings of sections that it passes to our views."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from django.conf import settings
from django.urls import URLPattern, URLResolver, get_resolver

from django_sitemaps09.checks.subjects import is_code

_VIEWS = "django_sitemaps09.views."
_CONTRIBS_ROAD = "django_sitemaps09.views.contrib"


class Passed(NamedTuple):
    """A mapping that a view gets, and whether its names become those of our URLs."""

    sitemaps: Mapping[Any, Any]
    names_urls: bool


def root() -> URLResolver | None:
    """The resolver of the site; `None` where there is none, or none that can be used."""
    if not getattr(settings, "ROOT_URLCONF", None):
        return None
    resolver: URLResolver = get_resolver()
    try:
        # Asked for now: whatever is wrong anywhere below, Django's own check of the URLconf says.
        _ = resolver.reverse_dict
    except Exception:  # noqa: BLE001 the modules of a project can raise anything
        return None
    return resolver


def passed() -> list[Passed]:
    """What `{"sitemaps": ...}` of a pattern, or of an `include()` around it, gives to a view of ours."""
    resolver = root()
    return [] if resolver is None else list(_below(resolver, None, ()))


def _below(resolver: URLResolver, sitemaps: Any, above: tuple[int, ...]) -> Iterator[Passed]:
    if id(resolver.url_patterns) in above:
        # A module that includes itself.
        return
    above = (*above, id(resolver.url_patterns))
    for pattern in resolver.url_patterns:
        if isinstance(pattern, URLResolver):
            # The inner one counts, as where a request is resolved.
            inner = pattern.default_kwargs.get("sitemaps", sitemaps)
            yield from _below(pattern, inner, above)
        elif isinstance(pattern, URLPattern) and (module := _our_module(pattern.callback)):
            given = pattern.default_args.get("sitemaps", sitemaps)
            if not is_code(given) and isinstance(given, Mapping):
                yield Passed(given, module != _CONTRIBS_ROAD)


def _our_module(view: Any) -> str | None:
    """Where a view of ours is from, however often it is decorated; `None` for one of another's."""
    try:
        innermost = inspect.unwrap(view, stop=lambda wrapper: _module(wrapper).startswith(_VIEWS))
    except ValueError:
        # It wraps itself.
        return None
    module = _module(innermost)
    return module if module.startswith(_VIEWS) else None


def _module(view: Any) -> str:
    return str(getattr(view, "__module__", ""))
