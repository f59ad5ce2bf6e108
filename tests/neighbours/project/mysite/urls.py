"""URLs of a site with one of the packages, and those of its how-to."""

from django.apps import apps
from django.conf import settings
from django.conf.urls.i18n import i18n_patterns
from django.http import HttpResponse
from django.urls import include, path

from tests.docs.pages import follow


def page(request, slug):
    return HttpResponse(slug)


match settings.NAME:
    case "django-cms":
        urlpatterns = i18n_patterns(path("", include("cms.urls")))
    case "flatpages":
        urlpatterns = [path("pages/", include("django.contrib.flatpages.urls"))]
    case "oscar":
        urlpatterns = i18n_patterns(path("", include(apps.get_app_config("oscar").urls[0])))
        urlpatterns += [path("i18n/", include("django.conf.urls.i18n"))]
    case "translated-models":
        urlpatterns = i18n_patterns(
            path("news/<slug:slug>/", page, name="article"), path("shop/<slug:slug>/", page, name="product")
        )
    case _:
        urlpatterns = i18n_patterns(path("", include("wagtail.urls")))

follow(settings.PAGE, settings.CHAPTER, "mysite/urls.py", globals())
