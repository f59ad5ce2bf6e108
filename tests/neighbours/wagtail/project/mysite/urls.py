"""URLs of a site with Wagtail, and those of the how-to."""

from django.conf.urls.i18n import i18n_patterns
from django.urls import include, path

from tests.neighbours.following import follow

urlpatterns = i18n_patterns(path("", include("wagtail.urls")))
follow("docs/howto/wagtail.md", "mysite/urls.py", globals())
