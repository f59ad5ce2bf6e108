"""Settings of the processes that are measured: the same for all, but for the apps of the subject."""

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
# Each is installed alone: with our app before it, contrib's template would be replaced by ours.
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
    # Where the database is filled, by the example's rows.
    INSTALLED_APPS += [
        "products",
        "legacy",
        "benchmarks.related",
        *(_ICV if find_spec("icv_sitemaps") else []),
    ]

# Ours: the sections by the setting, so that worker processes find them. The limit of bytes is the
# protocol's, as the peers have it, so that pages are full whatever the slugs are.
SITEMAPS09 = {
    "SITEMAPS": _SUBJECT.sections if _SUBJECT is not None else None,
    "MAX_BYTES": 52_428_800,
}

# django-static-sitemaps: what it asks for; everything else is its default. It joins this folder to the
# names of its files, and Django's storages refuse absolute ones; so it is the current directory.
STATICSITEMAPS_ROOT_DIR = "."
STATICSITEMAPS_ROOT_SITEMAP = "benchmarks.sections_contrib.SITEMAPS"
STATICSITEMAPS_URL = "https://www.example.com/"

# django-icv-sitemaps: the same.
MEDIA_ROOT = _OUTPUT
ICV_SITEMAPS_BASE_URL = "https://www.example.com"
if _SUBJECT is not None and _SUBJECT.family == "icv":
    ICV_SITEMAPS_AUTO_SECTIONS = {"articles": {"model": "benchmark_icv.SitemapArticle"}}
