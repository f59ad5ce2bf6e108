"""URLs of the tests with the inspector, without Django's admin."""

from __future__ import annotations

from django.conf.urls.i18n import i18n_patterns
from django.urls import include, path

from tests import urls

inspector = include("django_sitemaps09.inspector.urls")
urlpatterns = [
    path("sitemaps/", inspector, {"permission": "shop.view_product"}),
    *urls.urlpatterns,
    *i18n_patterns(path("seen/<slug:slug>/", urls.nothing, name="seen"), prefix_default_language=False),
]
