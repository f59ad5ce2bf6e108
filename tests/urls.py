"""URLs of the tests."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.urls import include, path

from django_sitemaps09 import views


def nothing(request: HttpRequest, **kwargs: object) -> HttpResponse:
    return HttpResponse()


urlpatterns = [
    path("", include("django_sitemaps09.urls")),
    path("robots.txt", views.robots_txt),
    path("articles/<slug:slug>/", nothing, name="article"),
    path("words/<str:word>/", nothing, name="word"),
    path("documents/<uuid:id>/", nothing, name="document"),
    path("seats/<str:row>/<int:number>/", nothing, name="seat"),
    path("about/", nothing, name="about"),
    path("home/", nothing, name="home"),
]
