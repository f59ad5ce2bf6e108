"""Check that requests reach our views, and that these can work with the arguments of their patterns."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from functools import partial
from itertools import chain
from typing import Any
from urllib.parse import unquote

from django.apps import apps
from django.conf import settings
from django.core.checks import CheckMessage
from django.urls import LocalePrefixPattern, NoReverseMatch, URLResolver, get_script_prefix, reverse
from django.utils.module_loading import import_string

from django_sitemaps09.conf import conf
from django_sitemaps09.declare.routes import Route
from django_sitemaps09.protocol import robots
from django_sitemaps09.protocol.filenames import INDEX
from django_sitemaps09.tools.checks.subjects import message, valid_setting
from django_sitemaps09.tools.urlconf import (
    COMPAT_VIEWS,
    NATIVE_VIEWS,
    UNKNOWN,
    callbacks_of,
    called_views,
    module_name,
    other_urlconf,
    root_resolver,
    route_problem,
)
from django_sitemaps09.views import native

# An index and any page.
_NATIVE_URLS: Mapping[str, dict[str, str]] = {"index": {}, "page": {"section": "section", "page": "1"}}
# Engines of sessions that need the model of their app.
_SESSION_TABLES = ("django.contrib.sessions.backends.db", "django.contrib.sessions.backends.cached_db")
# In the order of `MIDDLEWARE`.
_MIDDLEWARE = (
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
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
        is_ours = any(called_views(NATIVE_VIEWS, callbacks=[(callback, {})]))
        if not (is_ours or is_wrapper or callback is UNKNOWN):
            view = f"{module_name(callback)}.{getattr(callback, '__qualname__', '')}"
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
    callbacks = chain.from_iterable(callbacks_of(root, {}, (), each) for each in paths)
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
    for view, arguments in called_views(NATIVE_VIEWS, COMPAT_VIEWS):
        # A decorator of the project may use any argument, and a middleware one with a less similar name.
        is_plain = getattr(sys.modules[view.__module__], getattr(view, "__name__", ""), None) is view
        names = [*inspect.signature(view).parameters] if is_plain else [*arguments]
        extra = [(name, get_close_matches(name, names, 1, 0.8)) for name in arguments if name not in names]
        found |= {(name, similar[0]) for name, similar in extra if similar}
    for name, similar in sorted(found):
        text = f"A URL pattern passes the argument {name!r}, which a view of this package does not have."
        yield message("E089", text, f"Did you mean {similar!r}?")


def _robots_arguments() -> Iterator[dict[str, Any]]:
    for view, arguments in called_views(NATIVE_VIEWS):
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


def _check_inspector() -> Iterator[CheckMessage]:
    if not any(called_views("django_sitemaps09.tools.inspector.")):
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
