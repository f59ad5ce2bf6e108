"""Settings of a site with django CMS, and those of the how-to."""

from tests.neighbours.base_settings import *  # noqa: F403
from tests.neighbours.base_settings import INSTALLED_APPS, TEMPLATES
from tests.neighbours.following import follow

INSTALLED_APPS = [
    *INSTALLED_APPS,
    "django.contrib.sites",
    "django.contrib.admin",
    "cms",
    "menus",
    "treebeard",
]
LANGUAGES = [("en", "English"), ("de", "German"), ("fr", "French")]
CMS_LANGUAGES = {
    site: [{"code": code, "name": name, "public": code != "fr"} for code, name in LANGUAGES]
    for site in (1, 2)
}
TEMPLATES[0]["OPTIONS"]["loaders"] = [("django.template.loaders.locmem.Loader", {"page.html": ""})]
del TEMPLATES[0]["APP_DIRS"]
CMS_TEMPLATES = [("page.html", "Page")]
CMS_CONFIRM_VERSION4 = True
SITE_ID = 1
follow("docs/howto/django-cms.md", "mysite/settings.py", globals())
