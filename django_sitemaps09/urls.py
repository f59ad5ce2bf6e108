"""The URLs of an index and the pages of all sections: `path("", include("django_sitemaps09.urls"))`."""

from __future__ import annotations

from django.apps import apps
from django.core.exceptions import ImproperlyConfigured
from django.urls import path, re_path

from django_sitemaps09 import views
from django_sitemaps09.filenames import NAME

if apps.ready and not apps.is_installed("django_sitemaps09"):
    raise ImproperlyConfigured(
        "django_sitemaps09.urls is included in a URLconf, but the app is not installed. Add "
        "'django_sitemaps09' to INSTALLED_APPS, which also provides the command export_sitemaps."
    )

app_name = "django_sitemaps09"

# Greedy: the number follows the last hyphen. Nine digits are enough for the pages of any site.
_PAGE = rf"^sitemap-(?P<section>{NAME.pattern})-(?P<page>[1-9][0-9]{{0,8}})"

urlpatterns = [
    path("sitemap.xml", views.sitemap_index, name="index"),
    re_path(rf"{_PAGE}\.xml\Z", views.page, name="page"),
    re_path(rf"{_PAGE}\.xml\.gz\Z", views.page_gz, name="page-gz"),
    re_path(rf"{_PAGE}\.txt\Z", views.page_txt, name="page-txt"),
]
