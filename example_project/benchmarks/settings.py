"""Settings of the processes that are measured; only the apps depend on the subject."""

from __future__ import annotations

import os
from importlib.util import find_spec

from benchmarks import subjects
from example.settings import database

_SUBJECT = subjects.current()
_OUTPUT = os.environ[subjects.OUTPUT]

SECRET_KEY = "for the benchmark only"
DEBUG = False
ALLOWED_HOSTS = ["testserver"]
DATABASES = {"default": database(os.environ[subjects.DATABASE])}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
CACHES = {"default": {"BACKEND": "django.core.cache.backends.locmem.LocMemCache"}}
LANGUAGE_CODE = "en"
USE_TZ = True
TIME_ZONE = "UTC"
SITE_ID = 1
MIDDLEWARE = ["django.middleware.security.SecurityMiddleware", "django.middleware.common.CommonMiddleware"]
ROOT_URLCONF = "benchmarks.urls"
TEMPLATES = [{"BACKEND": "django.template.backends.django.DjangoTemplates", "APP_DIRS": True}]

# django-icv-sitemaps has a relation to auth.Group.
_ICV = ["django.contrib.auth", "icv_sitemaps"]
# Each subject has only its own apps, since our templates would replace those of contrib.
_APPS = {
    "ours": ["django_sitemaps09", "benchmarks.related"],
    "contrib": ["django.contrib.sitemaps"],
    "static": ["django.contrib.sitemaps", "static_sitemaps"],
    "icv": [*_ICV, "benchmarks.icv"],
}
INSTALLED_APPS = ["articles", "django.contrib.contenttypes", "django.contrib.sites"]
if _SUBJECT is not None:
    INSTALLED_APPS += _APPS[_SUBJECT.family]
else:
    # For the process that fills the database with the rows of the example.
    INSTALLED_APPS += [
        "products",
        "legacy",
        "benchmarks.related",
        *(_ICV if find_spec("icv_sitemaps") else []),
    ]

# The setting names the sections, so that worker processes find them. As with the other packages, the limit
# of bytes is that of the protocol, so that pages are full with any slugs.
SITEMAPS09 = {
    "SITEMAPS": _SUBJECT.sections if _SUBJECT is not None else None,
    "MAX_BYTES": 52_428_800,
}
# For requests to a server: a cache that its processes share, with keys that begin with this prefix.
_PREFIX, _, _PAGES = os.environ.get("SITEMAPS09_BENCHMARK_CACHE", "").partition("+")
if _PREFIX:
    CACHES = {
        "default": {
            "BACKEND": "django.core.cache.backends.redis.RedisCache",
            "LOCATION": "redis://127.0.0.1:6379",
            "KEY_PREFIX": _PREFIX,
        }
    }
    # As in production, a worker keeps its connection to the database.
    DATABASES["default"]["CONN_MAX_AGE"] = None
    SITEMAPS09["LIVE_SECONDS"] = int(os.environ["SITEMAPS09_BENCHMARK_LIVE_SECONDS"])
    SITEMAPS09["LIVE_CACHE"] = "default" if _PAGES else None
    SITEMAPS09["BASE_URL"] = "https://www.example.com"

# django-static-sitemaps: its required settings. It joins this folder to the names of its files. Django's
# storages refuse absolute names, so the folder is the current directory.
STATICSITEMAPS_ROOT_DIR = "."
STATICSITEMAPS_ROOT_SITEMAP = "benchmarks.sections_contrib.SITEMAPS"
STATICSITEMAPS_URL = "https://www.example.com/"

# django-icv-sitemaps: its required settings.
MEDIA_ROOT = _OUTPUT
ICV_SITEMAPS_BASE_URL = "https://www.example.com"
if _SUBJECT is not None and _SUBJECT.family == "icv":
    ICV_SITEMAPS_AUTO_SECTIONS = {"articles": {"model": "benchmark_icv.SitemapArticle"}}
