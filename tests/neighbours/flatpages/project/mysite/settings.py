"""Settings of a site with flatpages, and those of the how-to."""

from tests.neighbours.base_settings import *  # noqa: F403
from tests.neighbours.base_settings import INSTALLED_APPS
from tests.neighbours.following import follow

INSTALLED_APPS = [*INSTALLED_APPS, "django.contrib.sites", "django.contrib.flatpages"]
follow("docs/howto/flatpages.md", "mysite/settings.py", globals())
