"""URLs of a site with flatpages, and those of the how-to."""

from django.urls import include, path

from tests.neighbours.following import follow

urlpatterns = [path("pages/", include("django.contrib.flatpages.urls"))]
follow("docs/howto/flatpages.md", "mysite/urls.py", globals())
