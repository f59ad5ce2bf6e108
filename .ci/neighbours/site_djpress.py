"""A site with djpress."""

from typing import Any

from site_base import *  # noqa: F403
from site_base import INSTALLED_APPS

INSTALLED_APPS = [*INSTALLED_APPS, "djpress"]
#: A setting that djpress's own tests need, too.
DJPRESS_SETTINGS = {"TRUNCATE_TAG": "<!--more-->"}


def create() -> None:
    from datetime import datetime, timedelta, timezone

    from django.contrib.auth.models import User
    from djpress.models import Category, Post

    author = User.objects.create_user("author")
    categories = [Category.objects.create(title=f"Category {n}", slug=f"category-{n}") for n in range(6)]
    for number in range(12):
        post = Post.objects.create(
            title=f"Post {number}",
            slug=f"post-{number}",
            content="Text",
            author=author,
            status="draft" if number == 3 else "published",
            post_type="page" if number % 2 else "post",
            published_at=datetime(2026, 1, 1, tzinfo=timezone.utc) + timedelta(days=11 * number),
        )
        post.categories.set([categories[number // 3]])


def sitemaps() -> dict[str, Any]:
    from djpress.sitemaps import CategorySitemap, DateBasedSitemap, PageSitemap, PostSitemap

    return {
        "categories": CategorySitemap,
        "dates": DateBasedSitemap,
        "pages": PageSitemap,
        "posts": PostSitemap,
    }


def urls() -> list[Any]:
    from django.urls import include, path

    return [path("", include("djpress.urls"))]
