"""URLs of a site with translated models, and those of the how-to."""

from django.conf.urls.i18n import i18n_patterns
from django.http import HttpRequest, HttpResponse
from django.urls import path

from tests.neighbours.following import follow


def page(request: HttpRequest, slug: str) -> HttpResponse:
    """View of all items."""
    return HttpResponse(slug)


urlpatterns = i18n_patterns(
    path("news/<slug:slug>/", page, name="article"),
    path("shop/<slug:slug>/", page, name="product"),
)
follow("docs/howto/translated-models.md", "mysite/urls.py", globals())
