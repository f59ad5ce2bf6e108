"""Check the URL patterns of our views, and find the sections that the URLconf serves."""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from difflib import get_close_matches
from functools import partial
from itertools import chain
from typing import Any, NamedTuple
from urllib.parse import unquote

from django.apps import apps
from django.conf import settings
from django.core.checks import CheckMessage
from django.urls import (
    LocalePrefixPattern,
    NoReverseMatch,
    URLPattern,
    URLResolver,
    get_resolver,
    get_script_prefix,
    reverse,
)
from django.utils.module_loading import import_string

from django_sitemaps09.checks.subjects import message, valid_setting
from django_sitemaps09.conf import conf
from django_sitemaps09.declare.routes import Route, candidates
from django_sitemaps09.orm import internals
from django_sitemaps09.protocol import robots
from django_sitemaps09.protocol.filenames import INDEX
from django_sitemaps09.views import native

_COMPAT_VIEWS = "django_sitemaps09.views.compat"
_NATIVE_VIEWS = "django_sitemaps09.views.native"
# An index and any page.
_NATIVE_URLS: Mapping[str, dict[str, str]] = {"index": {}, "page": {"section": "section", "page": "1"}}
# Engines of sessions that need the model of their app.
_SESSION_TABLES = ("django.contrib.sessions.backends.db", "django.contrib.sessions.backends.cached_db")
# In the order of `MIDDLEWARE`.
_MIDDLEWARE = (
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
)
# A callback or a view, and the arguments from its URL pattern.
_Called = tuple[Any, dict[str, Any]]
# The callback of a path that a converter of the project may accept.
_UNKNOWN = object()
_SETS_URLCONF = re.compile(r"(?<!\bself)\.urlconf\s*=[^=]")
_TEMPLATES = {"index": "sitemap_index.xml", "sitemap": "sitemap.xml"}


def find_name(root: URLResolver, name: str) -> tuple[URLResolver, str, str]:
    """Return the resolver of a name's namespaces, the prefix of their URLs, and the name without them.

    Raise `UnknownNamespaceError`.
    """
    *namespaces, view = name.split(":")
    resolver, prefix, _ = internals.find_namespace(root, namespaces)
    return resolver, prefix, view


def route_problem(route: Route) -> str | None:
    """Return why `reverse()` fails for every item; `None` if it can succeed."""
    root = root_resolver()
    if root is None or candidates(root, route.pattern, len(route.args), tuple(route.kwargs), "/"):
        return None
    if not isinstance(route.pattern, str):
        # reverse() also accepts a view.
        is_known = bool(internals.reverse_candidates(root, route.pattern))
        return None if is_known else "its first argument is not the name of a URL pattern"
    try:
        resolver, prefix, view = find_name(root, route.pattern)
    except internals.UnknownNamespaceError as error:
        return f"there is no namespace {error.args[0]!r}"
    if "(" in prefix or "%" in prefix:
        # The prefix of an include() can contain arguments, too.
        return None
    patterns = internals.reverse_candidates(resolver, view)
    if not patterns:
        close_matches = get_close_matches(view, internals.reverse_names(resolver), n=1)
        suggestion = f" (did you mean {close_matches[0]!r}?)" if close_matches else ""
        return f"there is no URL pattern named {view!r}{suggestion}"
    parameters = [names for possibilities, *_ in patterns for _, names in possibilities]
    signatures = {", ".join(names) or "no arguments" for names in parameters}
    arguments = f"{len(route.args)} positional" if route.args else f"{sorted(route.kwargs)}"
    return (
        f"no URL pattern named {view!r} accepts the given arguments ({arguments}); accepted: "
        f"{'; or '.join(sorted(signatures))}"
    )


def check_urls(app_configs: object = None, **kwargs: object) -> list[CheckMessage]:
    """Check that requests reach our views, and that these can work with the arguments and settings."""
    messages = [*_check_order(), *_check_arguments(), *_check_robots(), *_check_inspector()]
    if valid_setting("has_target") and (problem := other_urlconf()):
        messages.append(message("W079", *problem))
    return messages


def _check_order() -> Iterator[CheckMessage]:
    """Check that no earlier URL pattern answers the requests for the native views and for robots.txt."""
    root = root_resolver()
    if root is None:
        return
    paths = [path for name, arguments in _NATIVE_URLS.items() if (path := _path(name, arguments))]
    has_root_files = valid_setting("has_target") and not _configures("FILES_URL")
    # Exported files are at the root of the host, also if FORCE_SCRIPT_NAME puts the site below a path.
    live_path = f"{conf.script_prefix.rstrip('/')}{paths[0]}" if paths else f"/{INDEX}"
    if paths and paths[0].count(INDEX) > 1:
        text = f"The index has the path {paths[0]}, because its URLs are included below {INDEX}."
        yield message("W087", text, 'Write path("", include("django_sitemaps09.urls")).')
    elif live_path != f"/{INDEX}" and has_root_files:
        text = f"The live index has the path {live_path}, but exports have URLs such as /{INDEX}."
        hint = "Include the URLs at the root of the site, or set SITEMAPS09['FILES_URL']."
        yield message("W095", text, hint)
    if next(_robots_arguments(), None) is not None:
        paths.append("/robots.txt")
    for path in paths:
        callback = _first_callback(root, path)
        # A class-based view at /robots.txt may call ours.
        is_wrapper = path == "/robots.txt" and hasattr(callback, "view_class")
        is_ours = any(_views(_NATIVE_VIEWS, callbacks=[(callback, {})]))
        if not (is_ours or is_wrapper or callback is _UNKNOWN):
            view = f"{_module_name(callback)}.{getattr(callback, '__qualname__', '')}"
            text = f"{path} is answered by {view}, whose URL pattern is before those of this package."
            if callback is None:
                text = f"No URL pattern answers {path}, where crawlers look for it."
            hint = "Put the patterns of this package into the root URLconf, before others for this path."
            yield message("W092", text, hint)


def _first_callback(root: URLResolver, path: str) -> Any:
    """Return the first callback for a path, or for the path with a language; `None` if there is none."""
    patterns = [pattern.pattern for pattern in root.url_patterns]
    prefixes = [pattern.language_prefix for pattern in patterns if isinstance(pattern, LocalePrefixPattern)]
    paths = [path, *(f"/{prefix}{path[1:]}" for prefix in prefixes)]
    callbacks = chain.from_iterable(_callbacks(root, {}, (), each) for each in paths)
    callback, _ = next(callbacks, (None, {}))
    while type(callback) is partial:
        callback = callback.func
    return callback


def _configures(key: str) -> bool:
    """Return whether `SITEMAPS09` has a key, even if its value is invalid."""
    return bool((valid_setting("settings_dict") or {}).get(key))


def _path(name: str, arguments: dict[str, str]) -> str | None:
    """Return the path of one of our views without the script prefix; `None` if it is not known."""
    try:
        url = reverse(f"django_sitemaps09:{name}", kwargs=arguments)
    except NoReverseMatch:
        return None
    return f"/{unquote(url.removeprefix(get_script_prefix()))}"


def _check_arguments() -> Iterator[CheckMessage]:
    found = set()
    for view, arguments in _views(_NATIVE_VIEWS, _COMPAT_VIEWS):
        # A decorator of the project may use any argument, and a middleware one with a less similar name.
        is_plain = getattr(sys.modules[view.__module__], getattr(view, "__name__", ""), None) is view
        names = [*inspect.signature(view).parameters] if is_plain else [*arguments]
        extra = [(name, get_close_matches(name, names, 1, 0.8)) for name in arguments if name not in names]
        found |= {(name, similar[0]) for name, similar in extra if similar}
    for name, similar in sorted(found):
        text = f"A URL pattern passes the argument {name!r}, which a view of this package does not have."
        yield message("E089", text, f"Did you mean {similar!r}?")


def _robots_arguments() -> Iterator[dict[str, Any]]:
    for view, arguments in _views(_NATIVE_VIEWS):
        if getattr(view, "__name__", "") == "robots_txt":
            yield arguments


def _check_robots() -> Iterator[CheckMessage]:
    for arguments in _robots_arguments():
        name, rules = arguments.get("sitemap_url_name", "django_sitemaps09:index"), arguments.get("rules")
        if isinstance(name, str) and (problem := route_problem(Route(name))):
            text = f"The view robots_txt fails, because it lists the index {name!r}, but {problem}."
            hint = "Include django_sitemaps09.urls, or pass the name of the index as `sitemap_url_name`."
            yield message("W090", text, hint)
        if _configures("ROBOTS_TXT"):
            text = "The view robots_txt does not read the file that SITEMAPS09['ROBOTS_TXT'] names."
            yield message("W094", text, "Remove the URL pattern of the view, or ROBOTS_TXT.")
        if problem := native.rules_problem(rules):
            yield message("E096", problem, native.RULES_HINT)
        if isinstance(rules, str) and (path := _path("index", {})):
            for problem in robots.warnings(rules.encode(), [f"https://www.example.com{path}"]):
                hint = "Allow this URL in the `rules` of the view robots_txt."
                yield message("W088", f"robots.txt: {problem}", hint)


def other_urlconf() -> tuple[str, str] | None:
    """Return that a middleware sets the URLconf of requests, which no export is, and what to do."""
    is_silenced = "sitemaps09.W079" in settings.SILENCED_SYSTEM_CHECKS
    for path in () if is_silenced else settings.MIDDLEWARE:
        with suppress(Exception):  # The modules of a project can raise anything.
            middleware = inspect.unwrap(import_string(path))
            parts = [
                each
                for each in getattr(middleware, "__mro__", [middleware])
                if each.__module__.partition(".")[0] not in ("django", "builtins")
            ]
            if any(_SETS_URLCONF.search(inspect.getsource(each)) for each in parts):
                return (
                    f"The middleware {path} sets request.urlconf, but exports use ROOT_URLCONF.",
                    "If a section has URLs of another URLconf, return them from a method `location` by "
                    "reverse(..., urlconf=...), which for_host() can choose. Then silence sitemaps09.W079.",
                )
    return None


def _check_inspector() -> Iterator[CheckMessage]:
    if not any(_views("django_sitemaps09.inspector.")):
        return
    needed_apps = ["django.contrib.auth"]
    if settings.SESSION_ENGINE in _SESSION_TABLES:
        needed_apps.append("django.contrib.sessions")
    middleware = {name for path in settings.MIDDLEWARE for name in _class_names(path)}
    missing = [f"{name!r} to INSTALLED_APPS" for name in needed_apps if not apps.is_installed(name)]
    missing += [f"{name!r} to MIDDLEWARE" for name in _MIDDLEWARE if name not in middleware]
    if missing:
        text = "The inspector is included in the URLconf, but cannot know which user sends a request."
        yield message("W091", text, f"Add {', '.join(missing)}.")


def _class_names(path: str) -> list[str]:
    """Return the dotted names of a class and its bases; only the path if it is not a class."""
    try:
        bases = inspect.getmro(import_string(path))
    except Exception:  # noqa: BLE001 the modules of a project can raise anything
        return [path]
    return [f"{base.__module__}.{base.__qualname__}" for base in bases]


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


def root_resolver() -> URLResolver | None:
    """Return the URL resolver of the site; `None` if the root URLconf is not set or invalid."""
    try:
        resolver: URLResolver = get_resolver()
        # Load the URLconf now. Django's own checks report errors in it.
        internals.reverse_names(resolver)
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


def sitemaps_arguments() -> list[object]:
    """Return every `sitemaps` argument in the URLconf, even of views of other packages."""
    return [arguments.get("sitemaps") for _, arguments in _all_callbacks()]


def templates() -> list[Template]:
    """Return the templates of the compatibility views and of the views in `django.contrib.sitemaps`."""
    return [
        Template(arguments.get("template_name", _TEMPLATES[view.__name__]), arguments.get("sitemaps"))
        for view, arguments in _views(_COMPAT_VIEWS, "django.contrib.sitemaps.views")
        if getattr(view, "__name__", "") in _TEMPLATES
    ]


def _views(*modules: str, callbacks: Iterable[_Called] | None = None) -> Iterator[_Called]:
    """Yield each view of these modules without its decorators, and the arguments from its URL pattern.

    By default, the `callbacks` are those of the whole URLconf.
    """
    for callback, arguments in _all_callbacks() if callbacks is None else callbacks:
        view: Any = callback
        partial_arguments: dict[str, Any] = {}
        try:
            while True:
                view = inspect.unwrap(view, stop=lambda wrapper: _module_name(wrapper).startswith(modules))
                if type(view) is not partial:
                    break
                view, partial_arguments = view.func, view.keywords | partial_arguments
        except ValueError:
            # The decorator is broken: the view wraps itself.
            continue
        if _module_name(view).startswith(modules):
            yield view, partial_arguments | arguments


def _all_callbacks() -> Iterator[_Called]:
    resolver = root_resolver()
    return iter(()) if resolver is None else _callbacks(resolver, {}, ())


def _callbacks(
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
            yield _UNKNOWN, {}
        # Inner arguments override outer arguments, as when a request is resolved.
        if isinstance(pattern, URLResolver):
            yield from _callbacks(pattern, outer | pattern.default_kwargs, ancestors, path)
        elif isinstance(pattern, URLPattern) and (path is None or pattern.pattern.regex.search(path)):
            yield pattern.callback, outer | pattern.default_args


def _module_name(view: Any) -> str:
    return str(getattr(view, "__module__", ""))


def _is_own(pattern: URLPattern | URLResolver) -> bool:
    """Return whether a pattern has converters of the project. A check does not call them."""
    converters = getattr(pattern.pattern, "converters", {}).values()
    return any(_module_name(type(converter)) != "django.urls.converters" for converter in converters)
