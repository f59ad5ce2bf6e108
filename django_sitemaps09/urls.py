"""URLs of the native views. Include them with `include("django_sitemaps09.urls")`."""

from __future__ import annotations

from django.apps import apps
from django.core.exceptions import ImproperlyConfigured
from django.urls import path, re_path

from django_sitemaps09 import views
from django_sitemaps09.protocol.filenames import FEED, INDEX, LIVE_INDEX, LIVE_PAGE, LIVE_RANGE, STYLESHEET
from django_sitemaps09.views.native import CONVERTER

if apps.ready and not apps.is_installed("django_sitemaps09"):
    raise ImproperlyConfigured(
        "django_sitemaps09.urls is included in a URLconf, but the app is not installed. Add "
        "'django_sitemaps09' to INSTALLED_APPS. This also makes the command export_sitemaps available."
    )

app_name = "django_sitemaps09"

urlpatterns = [
    path(INDEX, views.sitemap_index, name="index"),
    re_path(rf"^{LIVE_INDEX}\Z", views.sitemap_index, name="numbered-index"),
    path(FEED, views.feed, name="feed"),
    path(STYLESHEET, views.stylesheet, name="stylesheet"),
    re_path(rf"^{LIVE_PAGE}\.xml\Z", views.page, name="page"),
    re_path(rf"^{LIVE_PAGE}\.xml\.gz\Z", views.page_gz, name="page-gz"),
    re_path(rf"^{LIVE_PAGE}\.txt\Z", views.page_txt, name="page-txt"),
    re_path(rf"^{LIVE_RANGE}\.xml\Z", views.page_range, {"suffix": "xml"}, name="range"),
    re_path(rf"^{LIVE_RANGE}\.xml\.gz\Z", views.page_range, {"suffix": "xml.gz"}, name="range-gz"),
    re_path(rf"^{LIVE_RANGE}\.txt\Z", views.page_range, {"suffix": "txt"}, name="range-txt"),
    path(f"<{CONVERTER}:key>.txt", views.indexnow_key, name="indexnow-key"),
]
