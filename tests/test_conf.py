"""Settings: their defaults, errors for invalid values, and that each access reads the current value."""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.test import override_settings
from django.utils import timezone, translation

from django_sitemaps09 import conf as module
from django_sitemaps09.conf import KEYS, Conf, conf
from django_sitemaps09.protocol import Base, Limits
from tests.support.paths import ROOT

#: For each key, the property that reads it, and the default of the property.
DEFAULTS: dict[str, tuple[str, Any]] = {
    "SITEMAPS": ("sitemaps", None),
    "BASE_URL": ("base_url", None),
    "STORAGE": ("storage", None),
    "ROOT": ("root", None),
    "STATE": ("state", None),
    "FILES_URL": ("files_url", None),
    "ROBOTS_TXT": ("robots_txt", None),
    "GZIP": ("gzip", True),
    "GZIP_LEVEL": ("gzip_level", None),
    "STYLESHEET": ("stylesheet", False),
    "MAX_URLS": ("max_urls", 50_000),
    "MAX_BYTES": ("max_bytes", 10_485_760),
    "MAX_SHRINK": ("max_shrink", 0.5),
    "KEEP_REMOVED": ("keep_removed", 86_400.0),
    "ENGINE": ("engine", "processes"),
    "CASCADE": ("cascade", False),
    "SERVE_EXPORTED": ("serve_exported", False),
    "LIVE_SECONDS": ("live_seconds", 60.0),
    "LIVE_CACHE": ("live_cache", None),
    "CACHE_CONTROL": ("cache_control", {}),
    "SUBMIT": ("submit", False),
    "INDEXNOW_KEY": ("indexnow_key", None),
    "INDEXNOW_URLS": ("indexnow_urls", ("https://api.indexnow.org/indexnow",)),
    "INDEXNOW_MAX_URLS": ("indexnow_max_urls", 10_000),
    "PING_URLS": ("ping_urls", ()),
    "SUBMIT_TIMEOUT": ("submit_timeout", 10.0),
    "SUBMIT_DEADLINE": ("submit_deadline", 60.0),
}

GOOD: list[tuple[str, Any, Any]] = [
    ("SITEMAPS", "shop.urls.sitemaps", "shop.urls.sitemaps"),
    ("BASE_URL", "https://www.example.com/", Base("https", "www.example.com")),
    ("BASE_URL", "http://exämple.com:8000", Base("http", "xn--exmple-cua.com:8000")),
    ("STORAGE", "default", "default"),
    ("ROOT", "public", Path("public")),
    ("STATE", "default", "default"),
    ("ROOT", Path("/srv/www"), Path("/srv/www")),
    ("FILES_URL", "https://cdn.example.com/", "https://cdn.example.com/"),
    ("FILES_URL", "https://cdn.example.com/a%20b/", "https://cdn.example.com/a%20b/"),
    ("ROBOTS_TXT", "public/robots.txt", Path("public/robots.txt")),
    ("ROBOTS_TXT", Path("/srv/www/robots.txt"), Path("/srv/www/robots.txt")),
    ("GZIP", False, False),
    ("GZIP", True, True),
    ("STYLESHEET", False, False),
    ("STYLESHEET", True, True),
    ("MAX_URLS", 1, 1),
    ("MAX_URLS", 50_000, 50_000),
    ("MAX_BYTES", 1, 1),
    ("MAX_BYTES", 52_428_800, 52_428_800),
    *(("MAX_SHRINK", value, float(value)) for value in (0, 0.25, 1, 1.0)),
    *(("KEEP_REMOVED", value, float(value)) for value in (0, 90, 0.5)),
    ("KEEP_REMOVED", timedelta(days=2), 172_800.0),
    ("KEEP_REMOVED", timedelta(0), 0.0),
    ("ENGINE", "serial", "serial"),
    ("ENGINE", "shop.engines.Mine", "shop.engines.Mine"),
    ("CASCADE", True, True),
    ("CASCADE", False, False),
    ("SERVE_EXPORTED", True, True),
    *(("LIVE_SECONDS", value, 90.0) for value in (90, 90.0, timedelta(seconds=90))),
    ("LIVE_SECONDS", 0, 0.0),
    ("LIVE_CACHE", "pages", "pages"),
    *(("CACHE_CONTROL", value, value) for value in ({}, {"public": True, "s_maxage": 0, "max_age": 60})),
    ("SUBMIT", True, True),
    *(("INDEXNOW_KEY", key, key) for key in ("a" * 8, "Aa0-" * 32, {"www.example.com": "b" * 32}, {})),
    ("INDEXNOW_URLS", ["https://www.bing.com/indexnow"], ("https://www.bing.com/indexnow",)),
    ("INDEXNOW_MAX_URLS", 1, 1),
    ("PING_URLS", ["http://[::1]:8000/?a=b"], ("http://[::1]:8000/?a=b",)),
    ("SUBMIT_TIMEOUT", timedelta(seconds=5), 5.0),
    ("SUBMIT_DEADLINE", 0, 0.0),
    *((key, None, None) for key in ("SITEMAPS", "BASE_URL", "STORAGE", "ROOT", "STATE", "FILES_URL")),
    *((key, None, None) for key in ("ROBOTS_TXT", "INDEXNOW_KEY")),
]

BAD: list[tuple[str, Any]] = [
    *(("SITEMAPS", value) for value in ({}, {"products": object}, 7, b"shop.urls.sitemaps")),
    *(("BASE_URL", value) for value in ("", "example.com", "ftp://a.b", "https://a.b/c", 7, b"https://a")),
    *(("BASE_URL", value) for value in ("https://a\r\nb.c", "https://a.b\n", "https://u:p@a.b")),
    *(("STORAGE", value) for value in (7, Path("x"), ["sitemaps"])),
    *(("STATE", value) for value in (7, Path("x"), ["sitemaps"])),
    *(("ROOT", value) for value in ("", 7, b"public", ["public"], False)),
    *(("FILES_URL", value) for value in ("", "/", "/files/", "cdn.example.com/", "https://a.b", 7)),
    *(("FILES_URL", value) for value in ("https://", "https:///", "https://a b/", "https://a.b/\n/")),
    *(("FILES_URL", value) for value in ("https://exämple.com/", "ftp://a.b/")),
    *(("ROBOTS_TXT", value) for value in ("", 7, b"robots.txt", True)),
    *(("GZIP", value) for value in ("false", "", 0, 1, None, [])),
    *(("STYLESHEET", value) for value in ("/sitemap.css", "", 0, 1, None, [])),
    *(("MAX_URLS", value) for value in (0, -1, 50_001, True, 10.0, "10", None)),
    *(("MAX_BYTES", value) for value in (0, -1, 52_428_801, True, 10.0, "10", None)),
    *(("MAX_SHRINK", value) for value in (-0.1, 1.1, 50, float("nan"), True, "0.5", None)),
    *(("KEEP_REMOVED", value) for value in (-1, float("nan"), True, "1 day", None, timedelta(seconds=-1))),
    *(("ENGINE", value) for value in (7, ["serial"], True)),
    *(("CASCADE", value) for value in ("false", "", 0, 1, None, [])),
    *(("SERVE_EXPORTED", value) for value in ("false", "", 0, 1, None, [])),
    *(("LIVE_SECONDS", value) for value in (-1, float("nan"), True, "60", None, timedelta(seconds=-1))),
    *(("LIVE_CACHE", value) for value in (7, ["pages"], True)),
    *(("CACHE_CONTROL", value) for value in ("max-age=60", None, [], {"public": False}, {"max_age": 1.5})),
    *(("CACHE_CONTROL", value) for value in ({"a\r\nX": True}, {"max_age": "1\r\nX: y"}, {"Max-Age": 1})),
    *(("SUBMIT", value) for value in ("yes", 1, None)),
    *(
        ("INDEXNOW_KEY", value)
        for value in (7, "short", "a" * 129, "a" * 8 + "/", "a" * 8 + "\n", b"a" * 8)
    ),
    *(("INDEXNOW_KEY", {host: "a" * 8}) for host in ("", "WWW.example.com", "a/b", "a\r\nX: y", 7)),
    *(("INDEXNOW_URLS", value) for value in ("https://a.b", None, ["http://a.b/"], ["ftp://a.b/"])),
    *(("PING_URLS", [url]) for url in (7, "https://a.b/#c", "https://u:p@a.b/", "https://a.b/\r\nX: y")),
    *(("INDEXNOW_MAX_URLS", value) for value in (0, 10_000_001, True, None)),
    *((key, value) for key in ("SUBMIT_TIMEOUT", "SUBMIT_DEADLINE") for value in (-1, "10", None)),
]


def read(key: str) -> Any:
    return getattr(conf, DEFAULTS[key][0])


def test_each_key_has_its_property_and_each_default_is_known() -> None:
    assert {key: name for key, (name, _) in DEFAULTS.items()} == KEYS
    assert conf.limits == Limits(50_000, 10_485_760)


@pytest.mark.parametrize("name", KEYS.values())
def test_a_comment_says_what_each_setting_means(name: str) -> None:
    source = inspect.getsource(Conf).partition(f"\n    {name} = Setting(")[0]
    assert re.search(r"\n    #: [A-Z][^\n]+(\n    #: [^\n]+)*\Z", source)


@pytest.mark.parametrize("name", [name for name in vars(Conf) if not name.startswith("_")])
def test_each_property_says_what_it_means(name: str) -> None:
    assert vars(Conf)[name].__doc__


@pytest.mark.parametrize("key", DEFAULTS)
def test_what_is_not_set_has_its_default(key: str, settings: Any) -> None:
    with override_settings(SITEMAPS09={}):
        assert read(key) == DEFAULTS[key][1]
    del settings.SITEMAPS09
    assert read(key) == DEFAULTS[key][1]


@pytest.mark.parametrize(("key", "value", "expected"), GOOD, ids=lambda value: str(value)[:30])
def test_what_is_set_is_read_at_each_use(key: str, value: Any, expected: Any) -> None:
    with override_settings(SITEMAPS09={key: value}):
        assert read(key) == expected
        with override_settings(SITEMAPS09={}):
            assert read(key) == DEFAULTS[key][1]
        assert read(key) == expected


@pytest.mark.parametrize(("key", "value"), BAD, ids=lambda value: repr(value)[:30])
def test_a_bad_value_is_refused_with_the_name_of_its_key(key: str, value: Any) -> None:
    with override_settings(SITEMAPS09={key: value}):
        with pytest.raises(ImproperlyConfigured) as raised:
            read(key)
        assert str(raised.value).startswith(f"SITEMAPS09['{key}']")


def test_a_bad_value_of_one_key_affects_no_other_key() -> None:
    with override_settings(SITEMAPS09={"BASE_URL": "nonsense", "GZIP": False, "MAX_URLS": 7}):
        assert conf.gzip is False
        assert conf.limits.urls == 7


@pytest.mark.parametrize("given", [None, [], "https://www.example.com", 7, {"BASE_URL"}], ids=repr)
def test_settings_that_are_not_a_dict_are_refused_with_an_example(given: Any) -> None:
    with (
        override_settings(SITEMAPS09=given),
        pytest.raises(ImproperlyConfigured, match="SITEMAPS09 must be a dict, such as"),
    ):
        read("GZIP")


def test_the_storage_is_the_one_named_sitemaps_if_there_is_one() -> None:
    memory = {"BACKEND": "django.core.files.storage.InMemoryStorage"}
    storages = {"default": memory, "staticfiles": memory, "sitemaps": memory}
    with override_settings(STORAGES=storages, SITEMAPS09={}):
        assert conf.storage == "sitemaps"
        with override_settings(SITEMAPS09={"STORAGE": "default"}):
            assert conf.storage == "default"
    assert conf.storage is None


def test_naive_times_are_of_time_zone_whatever_is_activated() -> None:
    summer = datetime(2026, 7, 1)
    with override_settings(TIME_ZONE="Asia/Tokyo"), timezone.override(ZoneInfo("America/New_York")):
        assert conf.zone.utcoffset(summer) == timedelta(hours=9)
    assert conf.zone.utcoffset(summer) == timedelta(hours=2)


def test_the_language_is_language_code_whatever_is_activated() -> None:
    with override_settings(LANGUAGE_CODE="de"), translation.override("pt-br"):
        assert conf.language == "de"
    assert conf.language == "en"


def test_nothing_is_read_at_import() -> None:
    code = f"import {module.__name__} as m; m.conf; m.KEYS; print('imported')"
    done = subprocess.run(  # noqa: S603 our own interpreter and code
        [sys.executable, "-c", code],
        env={"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "imported\n"


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("INDEXNOW_KEY", "a secret key!"),
        ("INDEXNOW_KEY", {"www.example.com": "a secret key!"}),
        ("PING_URLS", ["https://user:secret@example.com/"]),
        ("INDEXNOW_URLS", ["http://example.com/?token=secret"]),
    ],
)
def test_an_error_does_not_contain_a_key_or_a_token(key: str, value: Any) -> None:
    with override_settings(SITEMAPS09={key: value}), pytest.raises(ImproperlyConfigured) as raised:
        read(key)
    assert "secret" not in str(raised.value)
    assert raised.value.__cause__ is None
