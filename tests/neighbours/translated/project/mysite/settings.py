"""Settings of a site with translated models, and those of the how-to."""

from tests.neighbours.base_settings import *  # noqa: F403
from tests.neighbours.base_settings import INSTALLED_APPS
from tests.neighbours.following import follow

INSTALLED_APPS = ["modeltranslation", "parler", "news", "shop", *INSTALLED_APPS]
LANGUAGES = [("en", "English"), ("de", "German"), ("pt-br", "Brazilian Portuguese")]
PARLER_LANGUAGES = {None: tuple({"code": code} for code, _ in LANGUAGES)}
follow("docs/howto/translated-models.md", "mysite/settings.py", globals())
