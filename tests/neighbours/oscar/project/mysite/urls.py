"""URLs of a shop with Oscar, and those of the how-to."""

from django.apps import apps
from django.conf.urls.i18n import i18n_patterns
from django.urls import include, path

from tests.neighbours.following import follow

urlpatterns = [
    path("i18n/", include("django.conf.urls.i18n")),
    *i18n_patterns(path("", include(apps.get_app_config("oscar").urls[0]))),
]
follow("docs/howto/oscar.md", "mysite/urls.py", globals())
