"""Check the keys and values of `SITEMAPS09`, and the caches and the domain of a deployed site."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from difflib import get_close_matches
from typing import Any
from urllib.parse import urlsplit

from django.apps import apps
from django.conf import settings
from django.core.cache import DEFAULT_CACHE_ALIAS
from django.core.checks import CheckMessage
from django.core.exceptions import ImproperlyConfigured
from django.db import DatabaseError, InterfaceError, router

from django_sitemaps09 import protocol
from django_sitemaps09.conf import KEYS, conf
from django_sitemaps09.declare.hosts import example_site_problem, export_base
from django_sitemaps09.tools import urlconf
from django_sitemaps09.tools.checks.subjects import error_text, message, valid_setting
from django_sitemaps09.views import caching


def check_settings(app_configs: object = None, **kwargs: object) -> list[CheckMessage]:
    """Check the keys and values of `SITEMAPS09`."""
    if problem := error_text(ImproperlyConfigured, getattr, conf, "settings_dict"):
        return [message("E001", problem, "Set a dict, or remove the setting.")]
    options = conf.settings_dict
    return [
        *_check_names(),
        *_check_keys(options),
        *_check_values(),
        *_check_paths(),
        *_check_aliases(options),
        *_check_engine(options),
        *_check_exports(options),
        *_check_submissions(options),
    ]


def _check_names() -> Iterator[CheckMessage]:
    """Check for settings of Django whose names show that they belong into `SITEMAPS09`."""
    names = [name for name in dir(settings) if name.startswith("SITEMAPS09_")]
    if not hasattr(settings, "SITEMAPS09"):
        # A project can have a setting `SITEMAPS` of its own.
        numbered = [name for name in dir(settings) if "9" in name]
        names += get_close_matches("SITEMAPS09", numbered, cutoff=0.85)
    for name in dict.fromkeys(names):
        yield message(
            "W076",
            f"The setting {name} has no effect: all settings of this package are keys of SITEMAPS09.",
            "Write SITEMAPS09 = {'BASE_URL': 'https://www.example.com'}, with all keys in one dict.",
        )


def _check_keys(options: Mapping[str, Any]) -> Iterator[CheckMessage]:
    for key in options:
        if key not in KEYS:
            match = next(iter(get_close_matches(str(key).upper(), KEYS, n=1)), None)
            hint = f"Did you mean {match!r}?" if match else f"Valid keys: {', '.join(KEYS)}."
            yield message("E002", f"SITEMAPS09 has an unknown key: {key!r}.", hint)


def _check_values() -> Iterator[CheckMessage]:
    for name in KEYS.values():
        if problem := error_text(ImproperlyConfigured, getattr, conf, name):
            yield message("E003", problem, "See the settings in the documentation.")


def _check_paths() -> Iterator[CheckMessage]:
    for key in ("ROOT", "ROBOTS_TXT"):
        path = valid_setting(KEYS[key])
        if path is not None and not path.is_absolute():
            yield message(
                "W074",
                f"SITEMAPS09[{key!r}] is {str(path)!r}, which is relative to the current directory. A "
                "server and a cron job may have different ones.",
                f"Set an absolute path, such as BASE_DIR / {str(path)!r}.",
            )


def _check_aliases(options: Mapping[str, Any]) -> Iterator[CheckMessage]:
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
        warning = getattr(engine_class(name), "check", lambda: None)()
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


def _check_exports(options: Mapping[str, Any]) -> Iterator[CheckMessage]:
    """Check that exports have a host, since they have no request, and that views can find their files."""
    has_host = options.get("BASE_URL") is not None or apps.is_installed("django.contrib.sites")
    if not has_host and (reasons := export_settings(options)):
        yield message(
            "W008",
            f"An export is configured ({', '.join(reasons)}), but the host of its URLs is not set.",
            "Set SITEMAPS09['BASE_URL'] to a URL such as 'https://www.example.com', or install "
            "django.contrib.sites. For a single run, pass --base-url to export_sitemaps.",
        )
    has_target = options.get("STORAGE") or options.get("ROOT") or "sitemaps" in settings.STORAGES
    if options.get("SERVE_EXPORTED") is True and not has_target:
        yield message(
            "W009",
            "SITEMAPS09['SERVE_EXPORTED'] is on, but the folder of the exported files is not set, so the "
            "views serve only live pages.",
            "Set SITEMAPS09['ROOT'] or SITEMAPS09['STORAGE'] to the folder or storage that export_sitemaps "
            "writes to.",
        )


def _check_submissions(options: Mapping[str, Any]) -> Iterator[CheckMessage]:
    # Invalid values are reported already.
    if options.get("SUBMIT") is not True or any(_check_values()):
        return
    # Imported only here, because a site without submissions does not need these modules.
    from django_sitemaps09.export.notify.submission import check_configured

    if problem := error_text(ImproperlyConfigured, check_configured):
        hint = "See 'Inform search engines' in the documentation, or turn SUBMIT off."
        yield message("E080", f"SITEMAPS09['SUBMIT'] is on, but exports cannot start: {problem}", hint)


def check_site(
    app_configs: object = None, databases: Collection[str] | None = None, **kwargs: object
) -> list[CheckMessage]:
    """Check the domain of the current `Site`.

    As a check of databases, it runs only with `check --deploy --database default`.
    """
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
    is_native = any(passed.names_urls for passed in urlconf.passed_sitemaps())
    return [*_check_public(), *(_check_caches() if is_native else ())]


def _check_public() -> Iterator[CheckMessage]:
    base = valid_setting("base_url")
    domain = "" if base is None else base.domain
    host = urlsplit(f"//{domain}").hostname or ""
    if protocol.is_local(domain) or host == "0.0.0.0" or host.endswith(".localhost"):  # noqa: S104
        text = f"SITEMAPS09['BASE_URL'] is {str(base)!r}, which crawlers cannot reach."
        yield message("W075", text, "Set the URL of the site, such as 'https://www.example.com'.")


def _check_caches() -> Iterator[CheckMessage]:
    if not caching.is_shared(DEFAULT_CACHE_ALIAS):
        yield message(
            "W070",
            f"CACHES[{DEFAULT_CACHE_ALIAS!r}] is not shared by the processes of the site, so each process "
            "has to count the rows of large sections every five minutes.",
            "If a section has more than a million rows, set a cache such as Redis, Memcached or a database "
            "table. Otherwise add 'sitemaps09.W070' to SILENCED_SYSTEM_CHECKS.",
        )
    with suppress(ImproperlyConfigured):  # `check_settings()` reports this error.
        alias = conf.live_cache
        if alias is not None and not caching.is_shared(alias):
            yield message(
                "W071",
                f"SITEMAPS09['LIVE_CACHE'] is {alias!r}, which is not shared by the processes of the site, "
                "so each process renders and keeps its own pages.",
                "Use a cache such as Redis, Memcached or a database table.",
            )
