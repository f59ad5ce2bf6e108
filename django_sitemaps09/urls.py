"""`path("", include("django_sitemaps09.urls"))`: an index and the pages of all sections."""

from __future__ import annotations

from django.urls import path, re_path

from django_sitemaps09 import views
from django_sitemaps09.sections import NAME

app_name = "django_sitemaps09"

# Greedy: the number is what stands behind the last hyphen. Nine digits are more than any site has pages.
_PAGE = rf"^sitemap-(?P<section>{NAME.pattern})-(?P<page>[1-9][0-9]{{0,8}})"

urlpatterns = [
    path("sitemap.xml", views.sitemap_index, name="index"),
    re_path(rf"{_PAGE}\.xml\Z", views.page, name="page"),
    re_path(rf"{_PAGE}\.xml\.gz\Z", views.page_gz, name="page-gz"),
    re_path(rf"{_PAGE}\.txt\Z", views.page_txt, name="page-txt"),
]
