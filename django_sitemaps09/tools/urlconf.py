"""What the URLconf has for our views: the names and callbacks of patterns, and the sections it serves."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from difflib import get_close_matches
from functools import partial
from typing import Any, NamedTuple

from django.conf import settings
from django.urls import URLPattern, URLResolver, get_resolver
from django.utils.module_loading import import_string

from django_sitemaps09.declare.locations import Route, candidates
from django_sitemaps09.orm import internals

COMPAT_VIEWS = "django_sitemaps09.views.compat"
NATIVE_VIEWS = "django_sitemaps09.views.native"
# A callback or a view, and the arguments from its URL pattern.
_Called = tuple[Any, dict[str, Any]]
# The callback of a path that a converter of the project may accept.
UNKNOWN = object()
_SETS_URLCONF = re.compile(r"(?<!\bself)\.urlconf\s*=[^=]")
_TEMPLATES = {"index": "sitemap_index.xml", "sitemap": "sitemap.xml"}


def root_resolver() -> URLResolver | None:
    """Return the URL resolver of the site; `None` if the root URLconf is not set or invalid."""
    try:
        resolver: URLResolver = get_resolver()
        # Load the URLconf now. Django's own checks report errors in it.
        internals.reverse_names(resolver)
    except Exception:  # noqa: BLE001 the modules of a project can raise anything
        return None
    return resolver


def route_problem(route: Route) -> str | None:
    """Return why `reverse()` fails for every item; `None` if it can succeed."""
    root = root_resolver()
    if root is None or candidates(root, route.pattern, len(route.args), tuple(route.kwargs), "/"):
        return None
    if not isinstance(route.pattern, str):
        # reverse() also accepts a view.
        is_known = bool(internals.reverse_candidates(root, route.pattern))
        return None if is_known else "its first argument is not the name of a URL pattern"
    *namespaces, view = route.pattern.split(":")
    try:
        resolver, prefix, _ = internals.find_namespace(root, namespaces)
    except internals.UnknownNamespaceError as error:
        return f"there is no namespace {error.args[0]!r}"
    if "(" in prefix or "%" in prefix:
        # The prefix of an include() can contain arguments, too.
        return None
    accepted = {", ".join(names) or "no arguments" for names in signatures(route.pattern)}
    if not accepted:
        close_matches = get_close_matches(view, internals.reverse_names(resolver), n=1)
        suggestion = f" (did you mean {close_matches[0]!r}?)" if close_matches else ""
        return f"there is no URL pattern named {view!r}{suggestion}"
    arguments = f"{len(route.args)} positional" if route.args else f"{sorted(route.kwargs)}"
    return (
        f"no URL pattern named {view!r} accepts the given arguments ({arguments}); accepted: "
        f"{'; or '.join(sorted(accepted))}"
    )


def signatures(name: str) -> list[list[str]]:
    """Return the names of the arguments with which `reverse()` can find a URL pattern."""
    *namespaces, view = name.split(":")
    root = root_resolver()
    if root is None:
        return []
    try:
        resolver = internals.find_namespace(root, namespaces).resolver
    except internals.UnknownNamespaceError:
        return []
    patterns = internals.reverse_candidates(resolver, view)
    return [names for possibilities, *_ in patterns for _, names in possibilities]


def other_urlconf() -> tuple[str, str] | None:
    """Return that a middleware sets the URLconf of requests, which no export is, and what to do."""
    is_silenced = "sitemaps09.W079" in settings.SILENCED_SYSTEM_CHECKS
    for path in () if is_silenced else settings.MIDDLEWARE:
        with suppress(Exception):  # The modules of a project can raise anything.
            middleware = inspect.unwrap(import_string(path))
            for part in getattr(middleware, "__mro__", [middleware]):
                is_djangos = part.__module__.partition(".")[0] in ("django", "builtins")
                if not is_djangos and _SETS_URLCONF.search(inspect.getsource(part)):
                    return (
                        f"The middleware {path} sets request.urlconf, but exports use ROOT_URLCONF.",
                        "If a section has URLs of another URLconf, return them from a method `location` by "
                        "reverse(..., urlconf=...), which for_host() can choose. Then silence "
                        "sitemaps09.W079.",
                    )
    return None


class PassedSitemaps(NamedTuple):
    """The `sitemaps` argument of a view, and whether section names are part of the view's URLs.

    `sitemaps` is `None` if the view serves the registered sections or the sections in `SITEMAPS`.
    """

    sitemaps: object
    names_urls: bool


def passed_sitemaps() -> list[PassedSitemaps]:
    """Return the `sitemaps` that a pattern, or an `include()` around it, passes to each of our views."""
    return [
        PassedSitemaps(sitemaps, module_name(view) != COMPAT_VIEWS)
        for view, arguments in called_views("django_sitemaps09.views.")
        for sitemaps in [arguments.get("sitemaps")]
        if sitemaps is not None or getattr(view, "__name__", "") != "robots_txt"
    ]


def sitemaps_arguments() -> list[object]:
    """Return every `sitemaps` argument in the URLconf, even of views of other packages."""
    return [arguments.get("sitemaps") for _, arguments in _all_callbacks()]


def templates() -> list[tuple[Any, object]]:
    """Return the template name of each compatibility view and view of contrib, and its `sitemaps`."""
    return [
        (arguments.get("template_name", _TEMPLATES[view.__name__]), arguments.get("sitemaps"))
        for view, arguments in called_views(COMPAT_VIEWS, "django.contrib.sitemaps.views")
        if getattr(view, "__name__", "") in _TEMPLATES
    ]


def called_views(*modules: str, callbacks: Iterable[_Called] | None = None) -> Iterator[_Called]:
    """Yield each view of these modules without its decorators, and the arguments from its URL pattern.

    By default, the `callbacks` are those of the whole URLconf.
    """
    for callback, arguments in _all_callbacks() if callbacks is None else callbacks:
        view: Any = callback
        partial_arguments: dict[str, Any] = {}
        try:
            while True:
                view = inspect.unwrap(view, stop=lambda wrapper: module_name(wrapper).startswith(modules))
                if type(view) is not partial:
                    break
                view, partial_arguments = view.func, view.keywords | partial_arguments
        except ValueError:
            # The decorator is broken: the view wraps itself.
            continue
        if module_name(view).startswith(modules):
            yield view, partial_arguments | arguments


def _all_callbacks() -> Iterator[_Called]:
    resolver = root_resolver()
    return iter(()) if resolver is None else callbacks_of(resolver, {}, ())


def callbacks_of(
    resolver: URLResolver, outer: dict[str, Any], ancestors: tuple[int, ...], path: str | None = None
) -> Iterator[_Called]:
    """Yield the callbacks of all patterns, or of those that match a path, with all their arguments."""
    if path is not None:
        match = resolver.pattern.regex.search(path)
        if match is None:
            return
        path = path[match.end() :]
    if id(resolver.url_patterns) in ancestors:
        # The URLconf includes itself.
        return
    ancestors = (*ancestors, id(resolver.url_patterns))
    for pattern in resolver.url_patterns:
        if path is not None and _is_own(pattern) and pattern.pattern.regex.search(path):
            yield UNKNOWN, {}
        # Inner arguments override outer arguments, as when a request is resolved.
        if isinstance(pattern, URLResolver):
            yield from callbacks_of(pattern, outer | pattern.default_kwargs, ancestors, path)
        elif isinstance(pattern, URLPattern) and (path is None or pattern.pattern.regex.search(path)):
            yield pattern.callback, outer | pattern.default_args


def module_name(view: Any) -> str:
    return str(getattr(view, "__module__", ""))


def _is_own(pattern: URLPattern | URLResolver) -> bool:
    """Return whether a pattern has converters of the project. A check does not call them."""
    converters = getattr(pattern.pattern, "converters", {}).values()
    return any(module_name(type(converter)) != "django.urls.converters" for converter in converters)
