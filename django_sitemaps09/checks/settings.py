"""Check the keys and values of `SITEMAPS09`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from typing import Any

from django.apps import apps
from django.conf import settings
from django.core.checks import CheckMessage
from django.core.exceptions import ImproperlyConfigured

from django_sitemaps09 import conf
from django_sitemaps09.checks.messages import message


def check_settings(app_configs: object = None, **kwargs: object) -> list[CheckMessage]:
    """Check the keys and values of `SITEMAPS09`."""
    try:
        options = conf.conf.settings_dict
    except ImproperlyConfigured as error:
        return [message("E001", str(error), "Set a dict, or remove the setting.")]
    return [
        *_check_keys(options),
        *_check_values(),
        *_check_aliases(options),
        *_check_engine(options),
        *_check_base(options),
    ]


def _check_keys(options: Mapping[str, Any]) -> Iterator[CheckMessage]:
    for key in options:
        if key not in conf.KEYS:
            close_matches = get_close_matches(str(key).upper(), conf.KEYS, n=1)
            hint = (
                f"Did you mean {close_matches[0]!r}?"
                if close_matches
                else f"Valid keys: {', '.join(conf.KEYS)}."
            )
            yield message("E002", f"SITEMAPS09 has an unknown key: {key!r}.", hint)


def _check_values() -> Iterator[CheckMessage]:
    # Two keys can share a property.
    for text in dict.fromkeys(filter(None, map(_value_problem, conf.KEYS.values()))):
        yield message("E003", text, "See the settings in the documentation.")


def _value_problem(name: str) -> str | None:
    try:
        getattr(conf.conf, name)
    except ImproperlyConfigured as error:
        return str(error)
    return None


def _check_aliases(options: Mapping[str, Any]) -> Iterator[CheckMessage]:
    for key in ("STORAGE", "STATE"):
        alias = options.get(key)
        if isinstance(alias, str) and alias not in settings.STORAGES:
            text = f"SITEMAPS09[{key!r}] must be an alias in STORAGES, not {alias!r}."
            yield message("E004", text, f"Use an alias from STORAGES: {', '.join(settings.STORAGES)}.")


def _check_engine(options: Mapping[str, Any]) -> Iterator[CheckMessage]:
    name = options.get("ENGINE")
    if isinstance(name, str) and (problem := _engine_problem(name)):
        hint = "Set 'processes', 'serial', 'celery', or the dotted path of your own engine class."
        yield message("E007", f"SITEMAPS09['ENGINE']: {problem}", hint)


def _engine_problem(name: str) -> str | None:
    # Imported only here: what an export needs is not part of what a site starts with.
    from django_sitemaps09.export import engines

    try:
        engines.engine_class(name)
    except ImproperlyConfigured as error:
        return str(error)
    return None


def export_settings(options: Mapping[str, Any]) -> list[str]:
    """Return the settings that set up an export."""
    names = [f"SITEMAPS09[{key!r}]" for key in ("STORAGE", "ROOT", "ROBOTS_TXT") if options.get(key)]
    if "sitemaps" in settings.STORAGES and not options.get("STORAGE"):
        names.append("STORAGES['sitemaps']")
    return names


def _check_base(options: Mapping[str, Any]) -> Iterator[CheckMessage]:
    """Check that an export has a host, since it has no request to take one from."""
    if options.get("BASE_URL") is not None or apps.is_installed("django.contrib.sites"):
        return
    if reasons := export_settings(options):
        yield message(
            "W008",
            f"{' and '.join(reasons)} configure an export, but the host of its URLs is not set.",
            "Set SITEMAPS09['BASE_URL'] to a URL such as 'https://www.example.com', or install "
            "django.contrib.sites. For a single run, pass --base-url to export_sitemaps.",
        )
