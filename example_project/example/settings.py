"""Settings of the example.

Four environment variables change them: `EXAMPLE_BASE_URL`, `EXAMPLE_DATABASE_URL`,
`EXAMPLE_SECRET_KEY` and `EXAMPLE_DEBUG=1`.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

BASE_DIR = Path(__file__).resolve().parent.parent
BASE_URL = os.environ.get("EXAMPLE_BASE_URL", "http://127.0.0.1:8000").rstrip("/")

# An export has no request, so it needs BASE_URL. With ROOT, live pages follow the export in this folder.
# A stylesheet makes /sitemap.xml and the .xml pages readable in a browser.
SITEMAPS09 = {"BASE_URL": BASE_URL, "ROOT": BASE_DIR / "public", "STYLESHEET": True}

SECRET_KEY = os.environ.get("EXAMPLE_SECRET_KEY", "for the example only, never for a real site")
# Off by default: with DEBUG, Django keeps the SQL of queries in memory, and `populate` runs queries of
# several megabytes.
DEBUG = os.environ.get("EXAMPLE_DEBUG") == "1"
ALLOWED_HOSTS = [urlsplit(BASE_URL).hostname, "127.0.0.1", "localhost"]

INSTALLED_APPS = [
    "articles",
    "products",
    "pages",
    "legacy",  # before django_sitemaps09, so that Django finds its sitemap.xml first
    "demo",
    "django_sitemaps09",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.sites",
    "django.contrib.flatpages",
]
SITE_ID = 1

MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.locale.LocaleMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
]
# The inspector is for staff. Without the admin, it needs another page to log in.
LOGIN_URL = "login"
ROOT_URLCONF = "example.urls"
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "example" / "templates"],
        "APP_DIRS": True,
    }
]

LANGUAGE_CODE = "en"
LANGUAGES = [("en", "English"), ("de", "Deutsch")]
USE_TZ = True
TIME_ZONE = "UTC"


def database(url: str) -> dict[str, Any]:
    """Return the entry of `DATABASES` for a URL.

    `sqlite:////path`, `postgresql://user:password@host:port/name` or, for MariaDB, `mysql://...`.
    """
    engines = {"sqlite": "sqlite3", "postgresql": "postgresql", "mysql": "mysql"}
    parts = urlsplit(url)
    if parts.scheme not in engines:
        raise ValueError(f"EXAMPLE_DATABASE_URL must start with one of {', '.join(engines)}")
    return {
        "ENGINE": f"django.db.backends.{engines[parts.scheme]}",
        "NAME": unquote(parts.path[1:]),
        "USER": unquote(parts.username or ""),
        "PASSWORD": unquote(parts.password or ""),
        "HOST": parts.hostname or "",
        "PORT": str(parts.port or ""),
    }


DATABASES = {
    "default": database(os.environ.get("EXAMPLE_DATABASE_URL", f"sqlite:///{BASE_DIR / 'db.sqlite3'}"))
}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
