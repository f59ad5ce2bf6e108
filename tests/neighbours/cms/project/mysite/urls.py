"""URLs of a site with django CMS, and those of the how-to."""

from django.conf.urls.i18n import i18n_patterns
from django.urls import include, path

from tests.neighbours.following import follow

urlpatterns = i18n_patterns(path("", include("cms.urls")))
follow("docs/howto/django-cms.md", "mysite/urls.py", globals())
