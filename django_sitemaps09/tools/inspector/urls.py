"""The URL patterns of the inspector, for `include()`."""

from __future__ import annotations

from django.urls import path

from django_sitemaps09.tools.inspector import views

app_name = "sitemaps09_inspector"

urlpatterns = [
    path("", views.index, name="index"),
    path("url/", views.url, name="url"),
    path("inspector.css", views.stylesheet, name="stylesheet"),
]
