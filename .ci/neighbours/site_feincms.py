"""A site with FeinCMS."""

from typing import Any

from site_base import *  # noqa: F403
from site_base import INSTALLED_APPS

INSTALLED_APPS = [*INSTALLED_APPS, "mptt", "feincms", "feincms.module.page"]
MIGRATION_MODULES = {"page": None}
FEINCMS_USE_PAGE_ADMIN = False


def create() -> None:
    from feincms.module.page.models import Page

    parent = None
    for number in range(11):
        page = Page(
            title=f"Page {number}",
            slug=f"page-{number}",
            active=number != 4,
            in_navigation=number % 3 == 0,
            redirect_to="/page-0/" if number == 7 else "",
            parent=parent if number not in (5, 8) else None,
        )
        page.save()
        if number % 3 == 0:
            parent = page


def sitemaps() -> dict[str, Any]:
    from feincms.module.page.models import Page
    from feincms.module.page.sitemap import PageSitemap

    class ShallowPages(PageSitemap):
        def __init__(self) -> None:
            super().__init__(navigation_only=True, max_depth=2, changefreq="weekly")

    class EvenPages(PageSitemap):
        def __init__(self) -> None:
            super().__init__(queryset=Page.objects.active, filter=lambda pages: pages.exclude(pk=2))

    return {"pages": PageSitemap, "shallow": ShallowPages, "filtered": EvenPages, "made": PageSitemap()}


def urls() -> list[Any]:
    from django.urls import include, path
    from feincms.module.page.models import Page

    if not hasattr(Page, "template"):
        Page.register_templates(
            {"title": "Base", "path": "base.html", "key": "base", "regions": [("main", "Main")]}
        )
    return [path("", include("feincms.urls"))]
