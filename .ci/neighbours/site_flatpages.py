"""A site with `django.contrib.flatpages`."""

from typing import Any

from site_base import *  # noqa: F403
from site_base import INSTALLED_APPS

INSTALLED_APPS = [*INSTALLED_APPS, "django.contrib.flatpages"]


def create() -> None:
    from django.contrib.flatpages.models import FlatPage
    from django.contrib.sites.models import Site

    other = Site.objects.create(domain="other.example.com", name="other")
    for number in range(11):
        page = FlatPage.objects.create(
            url=f"/page-{number}/", title=str(number), registration_required=number == 3
        )
        page.sites.set([other] if number == 5 else [1])


def sitemaps() -> dict[str, Any]:
    from django.contrib.flatpages.sitemaps import FlatPageSitemap

    return {"flatpages": FlatPageSitemap}


def urls() -> list[Any]:
    from django.urls import include, path

    return [path("pages/", include("django.contrib.flatpages.urls"))]
