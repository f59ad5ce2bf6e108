"""URLs of the tests with Django's admin and the inspector."""

from __future__ import annotations

from django.contrib import admin
from django.urls import include, path

from tests import urls

urlpatterns = [
    path("admin/sitemaps/", include("django_sitemaps09.inspector.urls")),
    path("admin/", admin.site.urls),
    *urls.urlpatterns,
]
