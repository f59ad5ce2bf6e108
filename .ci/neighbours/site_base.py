"""Settings of all sites."""

import os

SECRET_KEY = "not secret"  # noqa: S105
DEBUG = False
ALLOWED_HOSTS = ["*"]
DATABASES = {"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": os.environ["NEIGHBOUR_DATABASE"]}}
# Contrib writes the date of a lastmod in its own zone, this package in UTC.
TIME_ZONE = "UTC"
USE_TZ = True
SITE_ID = 1
DEFAULT_AUTO_FIELD = "django.db.models.AutoField"
ROOT_URLCONF = "site_urls"
MIDDLEWARE: list[str] = []
STATIC_URL = "/static/"
MEDIA_ROOT = os.path.dirname(os.environ["NEIGHBOUR_DATABASE"])  # noqa: PTH120
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ]
        },
    }
]
INSTALLED_APPS = [
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.messages",
    "django.contrib.sessions",
    "django.contrib.sites",
    "django.contrib.staticfiles",
]
SITEMAPS09 = {"SITEMAPS": "site_urls.sitemaps"}
