"""Check settings, URL patterns that lead to our views, and the caches and domain of a deployed site."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from difflib import get_close_matches
from functools import partial
from itertools import chain
from typing import Any
from urllib.parse import unquote, urlsplit

from django.apps import apps
from django.conf import settings
from django.core.cache import DEFAULT_CACHE_ALIAS
from django.core.checks import CheckMessage
from django.core.exceptions import ImproperlyConfigured
from django.db import DatabaseError, InterfaceError, router
from django.urls import LocalePrefixPattern, NoReverseMatch, URLResolver, get_script_prefix, reverse
from django.utils.module_loading import import_string

from django_sitemaps09.conf import KEYS, conf
from django_sitemaps09.declare.hosts import example_site_problem, export_base
from django_sitemaps09.declare.locations import Route
from django_sitemaps09.protocol import robots
from django_sitemaps09.protocol.filenames import INDEX
from django_sitemaps09.protocol.urls import is_local
from django_sitemaps09.tools import urlconf
from django_sitemaps09.tools.checks.subjects import error_text, message, valid_setting
from django_sitemaps09.views import caching, native

# Engines of sessions that need the model of their app.
_SESSION_TABLES = ("django.contrib.sessions.backends.db", "django.contrib.sessions.backends.cached_db")
# In the order of `MIDDLEWARE`.
_MIDDLEWARE = (
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
)


def check_settings(app_configs: object = None, **kwargs: object) -> list[CheckMessage]:
    """Check the keys and values of `SITEMAPS09`."""
    if problem := error_text(ImproperlyConfigured, getattr, conf, "settings_dict"):
        return [message("E001", problem, "Set a dict, or remove the setting.")]
    options = conf.settings_dict
    problems = [error_text(ImproperlyConfigured, getattr, conf, name) for name in KEYS.values()]
    hint = "See the settings in the documentation."
    invalid = [message("E003", problem, hint) for problem in problems if problem]
    messages = [*_check_names(options), *invalid, *_check_places(options)]
    messages += [*_check_engine(options), *_check_exports(options)]
    return messages if invalid else [*messages, *_check_submissions(options)]


def _check_names(options: Mapping[str, Any]) -> Iterator[CheckMessage]:
    """Check for unknown keys, and for settings of Django that belong into `SITEMAPS09` by their names."""
    names = [name for name in dir(settings) if name.startswith("SITEMAPS09_")]
    if not hasattr(settings, "SITEMAPS09"):
        # A project can have a setting `SITEMAPS` of its own.
        numbered = [name for name in dir(settings) if "9" in name]
        names += get_close_matches("SITEMAPS09", numbered, cutoff=0.85)
    for name in dict.fromkeys(names):
        text = f"The setting {name} has no effect: all settings of this package are keys of SITEMAPS09."
        hint = "Write SITEMAPS09 = {'BASE_URL': 'https://www.example.com'}, with all keys in one dict."
        yield message("W076", text, hint)
    for key in options:
        if key not in KEYS:
            matches = get_close_matches(str(key).upper(), KEYS, n=1)
            hint = f"Did you mean {matches[0]!r}?" if matches else f"Valid keys: {', '.join(KEYS)}."
            yield message("E002", f"SITEMAPS09 has an unknown key: {key!r}.", hint)


def _check_places(options: Mapping[str, Any]) -> Iterator[CheckMessage]:
    """Check that paths are absolute, and that aliases of storages and caches exist."""
    for key in ("ROOT", "ROBOTS_TXT"):
        path = valid_setting(KEYS[key])
        if path is not None and not path.is_absolute():
            text = f"SITEMAPS09[{key!r}] is {str(path)!r}, which is relative to the current directory. A "
            text += "server and a cron job may have different ones."
            yield message("W074", text, f"Set an absolute path, such as BASE_DIR / {str(path)!r}.")
    for key, name in (("STORAGE", "STORAGES"), ("STATE", "STORAGES"), ("LIVE_CACHE", "CACHES")):
        alias, aliases = options.get(key), getattr(settings, name)
        if isinstance(alias, str) and alias not in aliases:
            text = f"SITEMAPS09[{key!r}] must be an alias in {name}, not {alias!r}."
            yield message("E004", text, f"Use an alias from {name}: {', '.join(aliases)}.")


def _check_engine(options: Mapping[str, Any]) -> Iterator[CheckMessage]:
    name = options.get("ENGINE")
    if not isinstance(name, str):
        return
    # Imported only here, because a site without exports does not need these modules.
    from django_sitemaps09.export.engines import engine_class

    hint = "Set 'processes', 'serial', 'celery', 'tasks', or the dotted path of your own engine class."
    try:
        # An engine can check its own settings, and return a warning.
        warning = engine_class(name).check()
    except ImproperlyConfigured as error:
        yield message("E007", f"SITEMAPS09['ENGINE']: {error}", hint)
    else:
        if warning is not None:
            yield message("W072", f"SITEMAPS09['ENGINE']: {warning}", hint)


def export_settings(options: Mapping[str, Any]) -> list[str]:
    """Return the names of the settings that configure an export."""
    names = [f"SITEMAPS09[{key!r}]" for key in ("STORAGE", "ROOT", "ROBOTS_TXT") if options.get(key)]
    if "sitemaps" in settings.STORAGES and not options.get("STORAGE"):
        names.append("STORAGES['sitemaps']")
    return names


_TARGET_HINT = (
    "Set SITEMAPS09['ROOT'] or SITEMAPS09['STORAGE'] to the folder or storage that export_sitemaps writes "
    "to."
)


def _check_exports(options: Mapping[str, Any]) -> Iterator[CheckMessage]:
    """Check that exports have a host, since they have no request, and that views can find their files."""
    has_host = options.get("BASE_URL") is not None or apps.is_installed("django.contrib.sites")
    if not has_host and (reasons := export_settings(options)):
        text = f"An export is configured ({', '.join(reasons)}), but the host of its URLs is not set."
        hint = "Set SITEMAPS09['BASE_URL'] to a URL such as 'https://www.example.com', or install "
        hint += "django.contrib.sites. For a single run, pass --base-url to export_sitemaps."
        yield message("W008", text, hint)
    has_target = options.get("STORAGE") or options.get("ROOT") or "sitemaps" in settings.STORAGES
    if options.get("SERVE_EXPORTED") is True and not has_target:
        text = "SITEMAPS09['SERVE_EXPORTED'] is on, but the folder of the exported files is not set, so "
        text += "the views serve only live pages."
        yield message("W009", text, _TARGET_HINT)
    yield from _check_feed(options, has_target=bool(has_target))


def _check_feed(options: Mapping[str, Any], *, has_target: bool) -> Iterator[CheckMessage]:
    """Check that there is a feed, and where an export writes it."""
    without_feed = [key for key in ("FEED_IN_ROBOTS", "WEBSUB_HUB") if options.get(key)]
    if options.get("FEED") is not None and not has_target:
        text = "SITEMAPS09['FEED'] is set, but the folder of the exported files is not, so the view of the "
        text += "feed responds with 404."
        hint = _TARGET_HINT
    elif options.get("FEED") is None and without_feed:
        text = f"There is no feed for {' and '.join(f'SITEMAPS09[{key!r}]' for key in without_feed)}."
        hint = "Set SITEMAPS09['FEED'] to a number of entries, such as 1_000."
    else:
        return
    yield message("W017", text, hint)


def _check_submissions(options: Mapping[str, Any]) -> Iterator[CheckMessage]:
    if options.get("SUBMIT") is not True:
        return
    # Imported only here, because a site without submissions does not need these modules.
    from django_sitemaps09.export.notify.submission import check_configured

    if problem := error_text(ImproperlyConfigured, check_configured):
        hint = "See 'Tell others of changes' in the documentation, or turn SUBMIT off."
        yield message("E080", f"SITEMAPS09['SUBMIT'] is on, but exports cannot start: {problem}", hint)


def check_site(
    app_configs: object = None, databases: Collection[str] | None = None, **kwargs: object
) -> list[CheckMessage]:
    """Check the domain of the current `Site`. Runs only with `check --deploy --database default`."""
    if not databases or not apps.is_installed("django.contrib.sites"):
        return []
    if router.db_for_read(apps.get_model("sites", "Site")) not in databases:
        return []
    # There may be no site, or no table yet, or no database.
    with suppress(ImproperlyConfigured, DatabaseError, InterfaceError):
        if problem := example_site_problem(None, export_base(None)):
            return [message("W073", *problem)]
    return []


def check_deployment(app_configs: object = None, **kwargs: object) -> list[CheckMessage]:
    """Check the base URL and the caches of a deployed site (`check --deploy`)."""
    messages: list[CheckMessage] = []
    base = valid_setting("base_url")
    domain = "" if base is None else base.domain
    host = urlsplit(f"//{domain}").hostname or ""
    if is_local(domain) or host == "0.0.0.0" or host.endswith(".localhost"):  # noqa: S104
        text = f"SITEMAPS09['BASE_URL'] is {str(base)!r}, which crawlers cannot reach."
        messages.append(
            message("W075", text, "Set the URL of the site, such as 'https://www.example.com'.")
        )
    if not any(passed.names_urls for passed in urlconf.passed_sitemaps()):
        # Only native views use caches.
        return messages
    if not caching.is_shared(DEFAULT_CACHE_ALIAS):
        text = f"CACHES[{DEFAULT_CACHE_ALIAS!r}] is not shared by the processes of the site, so each "
        text += "process has to count the rows of large sections every five minutes."
        hint = "If a section has more than a million rows, set a cache such as Redis, Memcached or a "
        hint += "database table. Otherwise add 'sitemaps09.W070' to SILENCED_SYSTEM_CHECKS."
        messages.append(message("W070", text, hint))
    with suppress(ImproperlyConfigured):  # `check_settings()` reports this error.
        alias = conf.live_cache
        if alias is not None and not caching.is_shared(alias):
            text = f"SITEMAPS09['LIVE_CACHE'] is {alias!r}, which is not shared by the processes of the "
            text += "site, so each process renders and keeps its own pages."
            hint = "Use a cache such as Redis, Memcached or a database table."
            messages.append(message("W071", text, hint))
    return messages


def check_urls(app_configs: object = None, **kwargs: object) -> list[CheckMessage]:
    """Check that requests reach our views, and that these can work with the arguments and settings."""
    messages = [*_check_order(), *_check_arguments(), *_check_robots(), *_check_inspector()]
    if valid_setting("has_target") and (problem := urlconf.other_urlconf()):
        messages.append(message("W079", *problem))
    return messages


def _check_order() -> Iterator[CheckMessage]:
    """Check that no earlier URL pattern answers the requests for the native views and for robots.txt."""
    root = urlconf.root_resolver()
    if root is None:
        return
    index, page = _path("index"), _path("page", section="section", page="1")
    has_files_url = (valid_setting("settings_dict") or {}).get("FILES_URL")
    # Exported files are at the root of the host, also if FORCE_SCRIPT_NAME puts the site below a path.
    live_path = f"{conf.script_prefix.rstrip('/')}{index}"
    if index and index.count(INDEX) > 1:
        text = f"The index has the path {index}, because its URLs are included below {INDEX}."
        yield message("W087", text, 'Write path("", include("django_sitemaps09.urls")).')
    elif index and live_path != f"/{INDEX}" and valid_setting("has_target") and not has_files_url:
        text = f"The live index has the path {live_path}, but exports have URLs such as /{INDEX}."
        hint = "Include the URLs at the root of the site, or set SITEMAPS09['FILES_URL']."
        yield message("W095", text, hint)
    for path in filter(None, [index, page, "/robots.txt" if _robots_arguments() else None]):
        callback = _first_callback(root, path)
        # A class-based view at /robots.txt may call ours.
        is_wrapper = path == "/robots.txt" and hasattr(callback, "view_class")
        is_ours = any(urlconf.called_views(urlconf.NATIVE_VIEWS, callbacks=[(callback, {})]))
        if not (is_ours or is_wrapper or callback is urlconf.UNKNOWN):
            view = f"{urlconf.module_name(callback)}.{getattr(callback, '__qualname__', '')}"
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
    callbacks = chain.from_iterable(urlconf.callbacks_of(root, {}, (), each) for each in paths)
    callback, _ = next(callbacks, (None, {}))
    while type(callback) is partial:
        callback = callback.func
    return callback


def _path(name: str, **arguments: str) -> str | None:
    """Return the path of one of our views without the script prefix; `None` if it is not known."""
    try:
        url = reverse(f"django_sitemaps09:{name}", kwargs=arguments)
    except NoReverseMatch:
        return None
    return f"/{unquote(url.removeprefix(get_script_prefix()))}"


def _check_arguments() -> Iterator[CheckMessage]:
    found = set()
    for view, arguments in urlconf.called_views(urlconf.NATIVE_VIEWS, urlconf.COMPAT_VIEWS):
        # A decorator of the project may use any argument, and a middleware one with a less similar name.
        is_plain = getattr(sys.modules[view.__module__], getattr(view, "__name__", ""), None) is view
        names = [*inspect.signature(view).parameters] if is_plain else [*arguments]
        extra = [(name, get_close_matches(name, names, 1, 0.8)) for name in arguments if name not in names]
        found |= {(name, similar[0]) for name, similar in extra if similar}
    for name, similar in sorted(found):
        text = f"A URL pattern passes the argument {name!r}, which a view of this package does not have."
        yield message("E089", text, f"Did you mean {similar!r}?")


def _robots_arguments() -> list[dict[str, Any]]:
    views = urlconf.called_views(urlconf.NATIVE_VIEWS)
    return [arguments for view, arguments in views if getattr(view, "__name__", "") == "robots_txt"]


def _check_robots() -> Iterator[CheckMessage]:
    for arguments in _robots_arguments():
        name, rules = arguments.get("sitemap_url_name", "django_sitemaps09:index"), arguments.get("rules")
        if isinstance(name, str) and (problem := urlconf.route_problem(Route(name))):
            text = f"The view robots_txt fails, because it lists the index {name!r}, but {problem}."
            hint = "Include django_sitemaps09.urls, or pass the name of the index as `sitemap_url_name`."
            yield message("W090", text, hint)
        if (valid_setting("settings_dict") or {}).get("ROBOTS_TXT"):
            text = "The view robots_txt does not read the file that SITEMAPS09['ROBOTS_TXT'] names."
            yield message("W094", text, "Remove the URL pattern of the view, or ROBOTS_TXT.")
        if problem := native.rules_problem(rules):
            yield message("E096", problem, native.RULES_HINT)
        if isinstance(rules, str) and (path := _path("index")):
            base = valid_setting("base_url") or "https://www.example.com"
            for problem in robots.warnings(rules.encode(), [f"{base}{path}"]):
                hint = "Allow this URL in the `rules` of the view robots_txt."
                yield message("W088", f"robots.txt: {problem}", hint)


def _check_inspector() -> Iterator[CheckMessage]:
    if not any(urlconf.called_views("django_sitemaps09.tools.inspector.")):
        return
    needed_apps = ["django.contrib.auth"]
    if settings.SESSION_ENGINE in _SESSION_TABLES:
        needed_apps.append("django.contrib.sessions")
    middleware = {*settings.MIDDLEWARE}
    for path in settings.MIDDLEWARE:
        with suppress(Exception):  # The modules of a project can raise anything.
            bases = inspect.getmro(import_string(path))
            middleware |= {f"{base.__module__}.{base.__qualname__}" for base in bases}
    missing = [f"{name!r} to INSTALLED_APPS" for name in needed_apps if not apps.is_installed(name)]
    missing += [f"{name!r} to MIDDLEWARE" for name in _MIDDLEWARE if name not in middleware]
    if missing:
        text = "The inspector is included in the URLconf, but cannot know which user sends a request."
        yield message("W091", text, f"Add {', '.join(missing)}.")
