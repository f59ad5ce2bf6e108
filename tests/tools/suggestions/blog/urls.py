"""URLs of the blog."""

from __future__ import annotations

from datetime import date

from django.http import HttpResponse
from django.urls import include, path, register_converter


class DayConverter:
    regex = "[0-9]{4}-[0-9]{2}-[0-9]{2}"

    def to_python(self, value):
        return date.fromisoformat(value)

    def to_url(self, value):
        return value.isoformat()


register_converter(DayConverter, "sitemaps09_day")


def nothing(request, **kwargs):
    return HttpResponse()


urlpatterns = [
    path("entries/<slug:slug>/", nothing, name="entry"),
    path("numbers/<int:pk>/", nothing, name="number"),
    path("by/<str:author>/<int:pk>/", nothing, name="author-entry"),
    path("teams/<slug:team>/<int:pk>/", nothing, name="team-entry"),
    path("sections/<str:section>/<slug:slug>/", nothing, name="section-entry"),
    path("kinds/<slug:kind>/<slug:slug>/", nothing, name="kind-entry"),
    path("uid/<uuid:uid>/", nothing, name="uid"),
    path("days/<sitemaps09_day:day>/<slug:slug>/", nothing, name="day"),
    path("archive/<int:year>/<int:month>/<int:day>/<slug:slug>/", nothing, name="archive"),
    path("ranks/<str:rank>/", nothing, name="rank"),
    path("blog/", include(([path("in/<slug:slug>/", nothing, name="entry")], "blog"), namespace="blog")),
]
