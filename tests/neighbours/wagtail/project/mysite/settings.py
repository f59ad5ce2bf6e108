"""Settings of a site with Wagtail: two locales, and the settings of the how-to."""

from tests.neighbours.base_settings import *  # noqa: F403
from tests.neighbours.base_settings import INSTALLED_APPS
from tests.neighbours.following import follow

INSTALLED_APPS = [
    "home",
    "wagtail.documents",
    "wagtail.images",
    "wagtail.admin",
    "wagtail.search",
    "wagtail.users",
    "wagtail",
    "taggit",
    "modelcluster",
    *INSTALLED_APPS,
]
USE_I18N = True
# Wagtail serves each locale in the language that this middleware activates.
MIDDLEWARE = ["django.middleware.locale.LocaleMiddleware"]
WAGTAIL_I18N_ENABLED = True
LANGUAGES = WAGTAIL_CONTENT_LANGUAGES = [("en", "English"), ("fr", "French")]
WAGTAIL_SITE_NAME = "Example"
WAGTAILADMIN_BASE_URL = "https://www.example.com"
follow("docs/howto/wagtail.md", "mysite/settings.py", globals())
