"""Settings: their defaults, errors for invalid values, and that each access reads the current value."""

from __future__ import annotations

import re
import subprocess
import sys
from datetime import datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.test import override_settings
from django.utils import timezone, translation

from django_sitemaps09.conf import KEYS
from tests.support.internals import Base, Limits, conf, conf_checks
from tests.support.processes import ROOT

DAY, NAN, BASE = 86_400.0, float("nan"), "https://a.b"
UNSET = ("SITEMAPS", "BASE_URL", "STORAGE", "ROOT", "STATE", "FILES_URL", "ROBOTS_TXT", "INDEXNOW_KEY")
OFF = ("STYLESHEET", "CASCADE", "SERVE_EXPORTED", "SUBMIT", "FEED_IN_ROBOTS")
DEFAULTS = (
    dict.fromkeys([*UNSET, "GZIP_LEVEL", "LIVE_CACHE", "FEED"])
    | dict.fromkeys(OFF, False)
    | {"GZIP": True, "MAX_URLS": 50_000, "MAX_BYTES": 10_485_760, "MAX_SHRINK": 0.5, "KEEP_REMOVED": DAY}
    | {"ENGINE": "processes", "LIVE_SECONDS": 60.0, "CACHE_CONTROL": {}, "PING_URLS": (), "WEBSUB_HUB": ()}
    | {"INDEXNOW_URLS": ("https://api.indexnow.org/indexnow",), "INDEXNOW_MAX_URLS": 10_000}
    | {"SUBMIT_TIMEOUT": 10.0, "SUBMIT_DEADLINE": 60.0}
)
#: Keys, and valid values that are read as they are set.
SAME = [
    *((key, None) for key in UNSET),
    *((key, value) for key in (*OFF, "GZIP") for value in (True, False)),
    *(("SITEMAPS", "shop.urls.sitemaps"), ("STORAGE", "default"), ("STATE", "default")),
    *(("GZIP_LEVEL", level) for level in range(1, 10)),
    *(("ROOT", Path("/srv/www")), ("ROBOTS_TXT", Path("/srv/www/robots.txt")), ("LIVE_CACHE", "pages")),
    *(("FILES_URL", "https://cdn.example.com/"), ("FILES_URL", "https://cdn.example.com/a%20b/")),
    *(("MAX_URLS", 1), ("MAX_URLS", 50_000), ("MAX_BYTES", 1), ("MAX_BYTES", 52_428_800)),
    *(("MAX_SHRINK", value) for value in (0.0, 0.25, 1.0)),
    *(("ENGINE", "serial"), ("ENGINE", "shop.engines.Mine"), ("INDEXNOW_MAX_URLS", 1)),
    *(("INDEXNOW_MAX_URLS", 10_000_000), ("FEED", 1), ("FEED", 1_000)),
    *(("CACHE_CONTROL", value) for value in ({}, {"public": True, "s_maxage": 0, "max_age": 60})),
    *(("INDEXNOW_KEY", key) for key in ("a" * 8, "Aa0-" * 32, {"www.example.com": "b" * 32}, {})),
]
#: Keys, valid values, and what is read.
CONVERTED = [
    ("BASE_URL", "https://www.example.com/", Base("https", "www.example.com")),
    ("BASE_URL", "http://exämple.com:8000", Base("http", "xn--exmple-cua.com:8000")),
    ("ROOT", "public", Path("public")), ("ENGINE", None, "processes"),
    ("ROBOTS_TXT", "public/robots.txt", Path("public/robots.txt")),
    *(("MAX_SHRINK", value, float(value)) for value in (0, 1)),
    *(("KEEP_REMOVED", value, float(value)) for value in (0, 90, 0.5)),
    *(("KEEP_REMOVED", timedelta(days=days), days * DAY) for days in (0, 2)),
    *(("LIVE_SECONDS", value, 90.0) for value in (90, 90.0, timedelta(seconds=90))),
    *(("LIVE_SECONDS", 0, 0.0), ("SUBMIT_DEADLINE", 0, 0.0), ("SUBMIT_TIMEOUT", timedelta(seconds=5), 5.0)),
    ("INDEXNOW_URLS", ["https://www.bing.com/indexnow"], ("https://www.bing.com/indexnow",)),
    ("PING_URLS", ["http://[::1]:8000/?a=b"], ("http://[::1]:8000/?a=b",)),
    ("WEBSUB_HUB", "https://hub.example.org/", ("https://hub.example.org/",)),
]  # fmt: skip
SECRETS = ("a" * 129, "a" * 8 + "/", "a" * 8 + "\n")
#: Keys, what an error must say, and invalid values. Those of paths are in `test_types.py`.
INVALID = [
    *((key, " must be True or False, not", "false", "", 0, 1, None, []) for key in ("GZIP", *OFF)),
    ("SITEMAPS", " must be a string, not", {}, {"products": object}, 7, b"shop.urls.sitemaps"),
    ("BASE_URL", ".*not of the form https://", "", "example.com", "ftp://a.b"),
    ("BASE_URL", ".*may only contain a scheme, a host", "https://a.b/c"),
    ("BASE_URL", ".* not a valid host name", "https://a\r\nb.c", "https://a.b\n"),
    ("BASE_URL", ".* contains a user name", "https://u:p@a.b"),
    ("BASE_URL", " must be a string, not", 7, b"https://a", [BASE]),
    *((key, " must be a string, not", 7, Path("x"), ["a"]) for key in ("STORAGE", "STATE", "LIVE_CACHE")),
    ("FILES_URL", " must be an absolute, percent-encoded URL", "", "/", "/files/", "cdn.example.com/"),
    ("FILES_URL", ".*URL that ends in a slash, not", BASE, "https://", "https:///", "https://a b/"),
    ("FILES_URL", "", 7, "https://a.b/\n/", "https://exämple.com/", "ftp://a.b/"),
    ("MAX_URLS", " must be a whole number from 1 to 50,000, not", 0, -1, 50_001, True, 10.0, "10", None),
    ("MAX_BYTES", ".* whole number from 1 to 52,428,800", 0, -1, 52_428_801, True, 10.0, "10", None),
    ("GZIP_LEVEL", " must be a whole number from 1 to 9, not", 0, 10, -1, "6", True, False, 6.0, [6], "x"),
    ("INDEXNOW_MAX_URLS", " must be a whole number from 1 to 10,000,000, not", 0, 10_000_001, True, None),
    ("MAX_SHRINK", " must be a number from 0 to 1, not", -0.1, 1.1, 50, NAN, True, "0.5", None),
    *((key, " must be a timedelta or a number of seconds", -1, NAN, True, "1d", None, timedelta(-1))
      for key in ("KEEP_REMOVED", "LIVE_SECONDS", "SUBMIT_TIMEOUT", "SUBMIT_DEADLINE")),
    ("ENGINE", " must be a string, not", 7, ["serial"], True),
    ("CACHE_CONTROL", ".*a dict of .*'max_age'", "max-age=60", None, [], {"a": False}, {"max_age": 1.5}),
    ("CACHE_CONTROL", "", {"a\r\nX": True}, {"max_age": "1\r\nX: y"}, {"Max-Age": 1}, {1: True}),
    ("INDEXNOW_KEY", ".* 8 to 128", "short", *SECRETS), ("INDEXNOW_KEY", "", 7, b"a" * 8),
    *(("INDEXNOW_KEY", "", {host: "a" * 8}) for host in ("", "WWW.a.b", "a/b", "a\r\nX: y", 7)),
    ("FEED", " must be a whole number from 1 to 1,000, not", 0, 1_001, True, "10"),
    ("WEBSUB_HUB", "", 7, "", "http://a.b/", ["https://a.b/"]),
    ("INDEXNOW_URLS", "", BASE, None, ["http://a.b/"], ["ftp://a.b/"]),
    *(("PING_URLS", "", [u]) for u in (7, "https://a.b/#c", "https://u:p@a.b/", "https://a.b/\r\nX: y")),
]  # fmt: skip


def read(key):
    return getattr(conf, KEYS[key])


def refused(key, value):
    with override_settings(SITEMAPS09={key: value}), pytest.raises(ImproperlyConfigured) as raised:
        read(key)
    return raised.value


def test_each_key_is_its_property_in_upper_case_and_each_default_is_known(settings):
    assert {key: key.lower() for key in DEFAULTS} == KEYS
    settings.SITEMAPS09 = {}
    assert ({key: read(key) for key in KEYS}, conf.limits) == (DEFAULTS, Limits(50_000, 10_485_760))
    del settings.SITEMAPS09
    assert {key: read(key) for key in KEYS} == DEFAULTS


@pytest.mark.parametrize(("key", "value", "expected"), [*((*row, row[1]) for row in SAME), *CONVERTED])
def test_what_is_set_is_read_at_each_use(key, value, expected):
    with override_settings(SITEMAPS09={key: value}):
        assert read(key) == expected
        with override_settings(SITEMAPS09={}):
            assert read(key) == DEFAULTS[key]
        assert read(key) == expected


@pytest.mark.parametrize(
    ("key", "says", "value"), [(key, says, value) for key, says, *values in INVALID for value in values]
)
def test_an_invalid_value_is_refused_with_its_key_and_what_it_must_be(key, says, value):
    error = str(refused(key, value))
    assert re.match(rf"SITEMAPS09\['{key}'\]{says}", error)
    with override_settings(SITEMAPS09={key: value}):
        assert ("sitemaps09.E003", error) in [(each.id, each.msg) for each in conf_checks.check_settings()]


def test_an_invalid_value_of_one_key_affects_no_other_key():
    with override_settings(SITEMAPS09={"BASE_URL": "nonsense", "GZIP": False, "MAX_URLS": 7}):
        assert (conf.gzip, conf.limits.urls) == (False, 7)


def test_the_storage_is_the_one_named_sitemaps_if_there_is_one():
    memory = {"BACKEND": "django.core.files.storage.InMemoryStorage"}
    with override_settings(STORAGES={"default": memory, "staticfiles": memory, "sitemaps": memory}):
        assert conf.storage == "sitemaps"
        with override_settings(SITEMAPS09={"STORAGE": "default"}):
            assert conf.storage == "default"
    assert conf.storage is None


def test_times_and_texts_are_of_time_zone_and_language_code_whatever_is_activated():
    summer = datetime(2026, 7, 1)
    with timezone.override(ZoneInfo("America/New_York")), translation.override("pt-br"):
        with override_settings(TIME_ZONE="Asia/Tokyo", LANGUAGE_CODE="de"):
            assert (conf.zone.utcoffset(summer), conf.language) == (timedelta(hours=9), "de")
        assert (conf.zone.utcoffset(summer), conf.language) == (timedelta(hours=2), "en")


def test_nothing_is_read_at_import():
    code = "import django_sitemaps09.conf as m; m.conf; m.KEYS; print('imported')"
    command, environment = [sys.executable, "-c", code], {"PYTHONPATH": str(ROOT)}
    assert subprocess.check_output(command, env=environment) == b"imported\n"  # noqa: S603 our own code


def test_an_error_does_not_contain_a_key_or_a_token():
    for key, value in (
        ("INDEXNOW_KEY", "a secret key!"),
        ("INDEXNOW_KEY", {"www.example.com": "a secret key!"}),
        ("PING_URLS", ["https://user:secret@example.com/"]),
        ("INDEXNOW_URLS", ["http://example.com/?token=secret"]),
        ("WEBSUB_HUB", "http://example.com/?token=secret"),
    ):
        error = refused(key, value)
        assert ("secret" in str(error), error.__cause__) == (False, None)
