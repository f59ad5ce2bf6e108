"""A site with Wagtail, with the settings and pages of its own tests."""

from typing import Any

import site_base
from wagtail.test.settings import *  # noqa: F403

ALLOWED_HOSTS = ["*"]
DATABASES = site_base.DATABASES
TIME_ZONE = "UTC"
ROOT_URLCONF = "site_urls"
SITE_ID = 1
SITEMAPS09 = site_base.SITEMAPS09
CACHES = {"default": {"BACKEND": "django.core.cache.backends.locmem.LocMemCache"}}


def create() -> None:
    from datetime import datetime, timedelta, timezone

    from wagtail.models import Page, PageViewRestriction, Site
    from wagtail.test.testapp.models import EventIndex, SimplePage

    Site.objects.update(hostname="www.example.com", port=80)
    home = Site.objects.get().root_page
    moment = datetime(2026, 1, 1, 12, 30, tzinfo=timezone.utc)
    for number in range(10):
        page = SimplePage(
            title=f"Page {number}",
            slug=f"page-{number}",
            content="Text",
            live=number != 3,
            last_published_at=moment + timedelta(days=number) if number % 2 else None,
            latest_revision_created_at=moment,
        )
        home.add_child(instance=page)
        if number == 5:
            PageViewRestriction.objects.create(page=page, password="not secret")  # noqa: S106
    home.add_child(instance=EventIndex(title="Events", slug="events", live=True))
    root = Page.objects.get(depth=1)
    other = root.add_child(instance=SimplePage(title="Other", slug="other", content="Text"))
    Site.objects.create(hostname="other.example.com", port=80, root_page=other)


def sitemaps() -> dict[str, Any]:
    from wagtail.contrib.sitemaps import Sitemap

    return {"pages": Sitemap, "made": Sitemap(request=None)}


def views() -> tuple[Any, Any]:
    from wagtail.contrib.sitemaps.views import index, sitemap

    return index, sitemap


def urls() -> list[Any]:
    from django.urls import include, path

    return [
        path("admin/", include("wagtail.admin.urls")),
        path("documents/", include("wagtail.documents.urls")),
        path("", include("wagtail.urls")),
    ]
