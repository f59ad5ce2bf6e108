"""A site with django CMS, with the settings of its own tests."""

from typing import Any

import site_base
from cms.tests.settings import *  # noqa: F403

ALLOWED_HOSTS = ["*"]
DATABASES = site_base.DATABASES
ROOT_URLCONF = "site_urls"
SITEMAPS09 = site_base.SITEMAPS09
CMS_PERMISSION = False


def create() -> None:
    from cms.api import create_page, create_page_content

    parent = None
    for number in range(9):
        page = create_page(
            f"Page {number}",
            "nav_playground.html",
            "en",
            parent=parent,
            login_required=number == 4,
            redirect="/elsewhere/" if number == 6 else None,
        )
        if number % 2 == 0:
            create_page_content("de", f"Seite {number}", page)
        if number % 3 == 0:
            parent = page


def sitemaps() -> dict[str, Any]:
    from cms.sitemaps import CMSSitemap

    return {"cms": CMSSitemap}


def urls() -> list[Any]:
    from django.conf.urls.i18n import i18n_patterns
    from django.urls import include, path

    return i18n_patterns(path("", include("cms.urls")))
