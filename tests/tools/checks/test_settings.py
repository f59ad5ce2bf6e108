"""Checks of the settings, and those for `check --deploy`: ids, and what the messages say."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from django.conf import settings as django_settings

from tests.support.checking import WITHOUT_SITES, declaration, ids_of
from tests.support.internals import checks, conf_checks

pytestmark = pytest.mark.usefixtures("nothing_is_asked")

URL = "https://example.org"
ENGINE = "django_sitemaps09.export.engines.Processes"
STORAGES = {**django_settings.STORAGES, "sitemaps": django_settings.STORAGES["default"]}
BROKEN, ALIKE = {"a b": declaration()}, {"shop": declaration(), "Shop": declaration()}
LOCAL = [f"http://{host}" for host in ("localhost:8000", "127.0.0.1", "[::1]:8000")]
LOCAL += [f"https://{host}" for host in ("0.0.0.0:8000", "shop.localhost")]
#: The setting `SITEMAPS09`, the ids of its messages, and what they say.
TABLE = [
    *((value, "E001", f"must be a dict.*, not {type(value).__name__}") for value in ([7], None, "x")),
    ({"SITEMAPS": 7}, "E003", r"not 7 \(int\)"),
    ({"BASEURL": URL}, "E002", "unknown key: 'BASEURL'. Did you mean 'BASE_URL'?"),
    ({"base_url": URL}, "E002", "unknown key: 'base_url'. Did you mean 'BASE_URL'?"),
    ({"COMPRESSION": "gz"}, "E002", "unknown key: 'COMPRESSION'. Valid keys: .*GZIP"),
    ({"BASE_URL": "example.org"}, "E003", "BASE_URL.*See the settings in the documentation"),
    ({"ROOT": 7, "ROBOTS_TXT": 7}, "E003 E003", "ROOT.*ROBOTS_TXT"),
    ({"LIVE_CACHE": 7, "LIVE_SECONDS": -1}, "E003 E003", "LIVE_SECONDS.*LIVE_CACHE"),
    ({"ROOT": "x", "ROBOTS_TXT": Path("x/robots.txt")}, "W074 W074", "ROOT.*relative.*BASE_DIR / 'x'"),
    ({"STORAGE": "nowhere"}, "E004", "STORAGE.*an alias in STORAGES, not 'nowhere'. Use an alias from"),
    ({"STORAGE": "nowhere", "STATE": "nowhere"}, "E004 E004", "STATE.*alias in STORAGES, not 'nowhere'"),
    ({"LIVE_CACHE": "redis"}, "E004", "LIVE_CACHE.* alias in CACHES, not 'redis'. Use an alias from C"),
    ({"CACHE_CONTROL": {"public": True, "max_age": 60}, "LIVE_CACHE": "default"}, "", ""),
    ({"BASE_URL": URL, "MAX_BYTES": 52_428_800, "ROOT": "/x"}, "", ""),
    ({"SITEMAPS": "tests.nowhere.SITEMAPS"}, "E005", "Fix SITEMAPS09"),
    *(({"SITEMAPS": f"tests.support.checking{name}"}, "E005", "Fix")
      for name in ("", ".WITHOUT_SITES", ".ids")),
    *(({"SITEMAPS": f"{__name__}.{name}"}, "W006", "Rename the section") for name in ("BROKEN", "ALIKE")),
    *(({"BASE_URL": url}, "W075", re.escape(f"is '{url}', which crawlers cannot reach. Set the U"))
      for url in LOCAL),
    ({"BASE_URL": "https://localhost.example.com"}, "", ""),
    ({"SERVE_EXPORTED": True}, "W009", r"SERVE_EXPORTED.* Set SITEMAPS09\['ROOT'\]"),
    ({"SERVE_EXPORTED": True, "ROOT": "/x", "BASE_URL": URL}, "", ""),
    ({"SERVE_EXPORTED": True, "STORAGE": "default", "BASE_URL": URL}, "", ""),
    ({"SUBMIT": True}, "E080", "SUBMIT.* is on, but .*INDEXNOW_KEY.*in the documentation"),
    ({"SUBMIT": True, "INDEXNOW_KEY": "short"}, "E003", "INDEXNOW_KEY.*8 to 128"),
    ({"SUBMIT": True, "INDEXNOW_KEY": "0123456789"}, "", ""),
    ({"SUBMIT": True, "PING_URLS": ["https://example.org/ping"]}, "", ""),
    ({"FEED": 10, "ROOT": "/x", "BASE_URL": URL}, "", ""),
    ({"FEED": 10}, "W017", r"FEED.* the view of the feed.* Set SITEMAPS09\['ROOT'\]"),
    ({"FEED_IN_ROBOTS": True}, "W017", r"no feed for SITEMAPS09\['FEED_IN_ROBOTS'\]\. Set .*FEED"),
    ({"WEBSUB_HUB": "https://example.org/hub"}, "W017", "no feed for .*WEBSUB_HUB"),
    *(({"ENGINE": name}, "", "") for name in ("serial", "processes", ENGINE)),
    *(({"ENGINE": name}, "E007", f"{name}.*Set 'processes'.* the dotted path of your own")
      for name in ("celry", "a.b.C", "django.http.HttpResponse", "os.path.join")),
]  # fmt: skip


def said(messages):
    return " ".join(f"{message.msg} {message.hint}" for message in messages)


@pytest.mark.parametrize(("value", "expected", "says"), TABLE)
def test_a_setting_has_the_messages_of_its_row_by_all_checks_together(settings, value, expected, says):
    settings.SITEMAPS09 = value
    messages = [*conf_checks.check_settings(), *checks.check_sections(), *conf_checks.check_deployment()]
    # The test's own cache is not shared.
    messages = [each for each in messages if each.id not in ("sitemaps09.W070", "sitemaps09.W071")]
    assert ids_of(messages) == expected.split()
    assert re.search(says, said(messages))


def test_a_setting_with_a_similar_name_has_no_effect(settings):
    settings.SITEMAPS09_ROOT, settings.SITEMAP09, settings.SITEMAPS09 = "/x", {"ROOT": "/x"}, {}
    (message,) = conf_checks.check_settings()
    assert ids_of([message]) == ["W076"]
    assert message.msg.startswith("The setting SITEMAPS09_ROOT has no effect: all settings of this ")
    del settings.SITEMAPS09
    # A project can have this setting for its own code.
    settings.SITEMAPS = {}
    messages = conf_checks.check_settings()
    assert ids_of(messages) == ["W076", "W076"]
    assert "The setting SITEMAP09 has no effect" in said(messages)
    del settings.SITEMAP09, settings.SITEMAPS09_ROOT
    settings.SITEMAPS_09 = {}
    assert ids_of(conf_checks.check_settings()) == ["W076"]


@pytest.mark.services
@pytest.mark.parametrize(("backend", "expected", "says"), [
    ("Dummy", "E007", "never runs a task"),
    ("Immediate", "W072", "the export itself renders all pages"),
    ("nowhere.Backend", "E007", "nowhere.Backend"),
])  # fmt: skip
def test_a_backend_of_django_tasks_without_workers_is_reported(settings, backends, backend, expected, says):
    backends(default=backend)
    settings.SITEMAPS09 = {"ENGINE": "tasks"}
    (message,) = conf_checks.check_settings()
    assert (ids_of([message]), says in str(message.msg)) == ([expected], True)
    backends(default="Dummy", sitemaps="django_tasks_db.DatabaseBackend")
    assert conf_checks.check_settings() == []


@pytest.mark.parametrize(("value", "expected", "without_sites"), [
    ({}, [], []), ({"ROOT": "/public"}, [], ["W008"]),
    ({"STORAGE": "default"}, [], ["W008"]), ({"ROBOTS_TXT": "/robots.txt"}, [], ["W008"]),
    ({"ROOT": "/public", "BASE_URL": URL}, [], []),
    # The error is reported only once.
    ({"ROOT": "/public", "BASE_URL": "example.org"}, ["E003"], ["E003"]),
])  # fmt: skip
def test_an_export_needs_a_host(settings, value, expected, without_sites):
    settings.SITEMAPS09 = value
    assert ids_of(conf_checks.check_settings()) == expected
    settings.INSTALLED_APPS = WITHOUT_SITES
    messages = conf_checks.check_settings()
    assert ids_of(messages) == without_sites
    assert without_sites != ["W008"] or re.search("BASE_URL.* such as 'https://www.ex", said(messages))
    # A storage of this name is an export, too.
    settings.STORAGES, settings.SITEMAPS09 = STORAGES, {}
    assert ids_of(conf_checks.check_settings()) == ["W008"]


BACKENDS = "django.core.cache.backends"
SHARED = {"BACKEND": f"{BACKENDS}.db.DatabaseCache", "LOCATION": "cache"}
OWN, DUMMY = {"BACKEND": f"{BACKENDS}.locmem.LocMemCache"}, {"BACKEND": f"{BACKENDS}.dummy.DummyCache"}


@pytest.mark.parametrize(("caches", "alias", "expected"), [
    ({"default": SHARED}, None, []), ({"default": OWN}, None, ["W070"]),
    ({"default": DUMMY}, None, ["W070"]), ({"default": SHARED}, "default", []),
    ({"default": SHARED, "pages": OWN}, "pages", ["W071"]),
    ({"default": OWN, "pages": DUMMY}, "pages", ["W070", "W071"]),
    ({"default": OWN, "pages": SHARED}, "pages", ["W070"]), ({"default": SHARED}, "nowhere", []),
    ({"default": SHARED}, 7, []),
])  # fmt: skip
def test_a_deployed_site_with_native_views_has_a_shared_cache(settings, caches, alias, expected):
    settings.CACHES, settings.SITEMAPS09 = caches, {"LIVE_CACHE": alias}
    assert ids_of(conf_checks.check_deployment()) == expected
    settings.ROOT_URLCONF = "tests.support"
    assert conf_checks.check_deployment() == []
