"""Settings of the tests: SQLite in memory, and the database servers that respond.

A server is looked for where `SITEMAPS09_POSTGRESQL`, `SITEMAPS09_MARIADB` and `SITEMAPS09_MYSQL` say, by
default on this machine, written as `user:password@host:port`. One that does not answer is not in
`DATABASES`; its tests are then skipped, or, except for MySQL, fail where `SITEMAPS09_REQUIRE_SERVICES=1`.
"""

from __future__ import annotations

import importlib.util
import os
import re
from typing import Any

from tests.support.processes import answers

SECRET_KEY = "tests"
USE_TZ = True
TIME_ZONE = "Europe/Zurich"
LANGUAGE_CODE = "en"
LANGUAGES = [("en", "English"), ("de", "German"), ("pt-br", "Brazilian Portuguese")]
ROOT_URLCONF = "tests.urls"
ALLOWED_HOSTS = ["*"]
SITE_ID = 1
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
INSTALLED_APPS = [
    "django.contrib.contenttypes",
    "django.contrib.auth",
    "django.contrib.sites",
    "django.contrib.flatpages",
    "django.contrib.sessions",
    "django_sitemaps09",
    "tests",
    "tests.shop",
    "tests.invariants.fuzz",
    "tests.tools.suggestions.blog",
]
MIDDLEWARE = [
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
]
TEMPLATES = [{"BACKEND": "django.template.backends.django.DjangoTemplates", "APP_DIRS": True}]
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]


def server(variable: str, default: str, engine: str, driver: str) -> dict[str, Any] | None:
    """Return the entry of `DATABASES` for a server, or `None` if the server cannot be used."""
    match = re.fullmatch(r"([^:@]*):([^@]*)@(.+):([0-9]+)", os.environ.get(variable, default))
    if match is None or importlib.util.find_spec(driver) is None:
        return None
    user, password, host, port = match.groups()
    if not answers(f"{host}:{port}"):
        return None
    return {
        "ENGINE": engine,
        "USER": user,
        "PASSWORD": password,
        "HOST": host,
        "PORT": port,
        "NAME": "test",
        # Two concurrent test runs must not share a database. It must not depend on the default database
        # either, which a run of a few tests may not create.
        "TEST": {"NAME": f"test_sitemaps09_{os.getpid()}", "DEPENDENCIES": []},
    }


SERVERS = {
    "postgresql": server(
        "SITEMAPS09_POSTGRESQL", "postgres:@127.0.0.1:5432", "django.db.backends.postgresql", "psycopg"
    ),
    "mariadb": server("SITEMAPS09_MARIADB", "root:@127.0.0.1:3306", "django.db.backends.mysql", "MySQLdb"),
    "mysql": server("SITEMAPS09_MYSQL", "root:@127.0.0.1:3307", "django.db.backends.mysql", "MySQLdb"),
}
DATABASES: dict[str, dict[str, Any]] = {
    "default": {"ENGINE": "django.db.backends.sqlite3", "NAME": ":memory:"},
    **{alias: found for alias, found in SERVERS.items() if found},
}
if "mariadb" in DATABASES:
    DATABASES["mariadb"]["TEST"] |= {"CHARSET": "utf8mb4", "COLLATION": "utf8mb4_unicode_ci"}
