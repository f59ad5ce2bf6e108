"""A site with django-photologue."""

from typing import Any

from site_base import *  # noqa: F403
from site_base import INSTALLED_APPS

INSTALLED_APPS = [*INSTALLED_APPS, "sortedm2m", "photologue", "django.contrib.sitemaps"]


def create() -> None:
    from photologue.tests.factories import GalleryFactory, PhotoFactory

    for number in range(9):
        PhotoFactory(is_public=number != 4)
        GalleryFactory(is_public=number != 2)


def sitemaps() -> dict[str, Any]:
    from photologue.sitemaps import GallerySitemap, PhotoSitemap

    return {"galleries": GallerySitemap, "photos": PhotoSitemap}


def urls() -> list[Any]:
    from django.urls import include, path

    return [path("photologue/", include("photologue.urls", namespace="photologue"))]
