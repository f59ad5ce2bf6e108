"""The routes of a project, for contrib's views and for ours. Each case has its own URLconf."""

from __future__ import annotations

from types import ModuleType
from typing import Any

from django.conf.urls.i18n import i18n_patterns
from django.http import HttpRequest, HttpResponse
from django.urls import include, path
from django.views.decorators.cache import cache_page

from tests.compat.cases.parts import CASES, LEAVES, Bases, section, updated


def page(request: HttpRequest, **values: Any) -> HttpResponse:
    return HttpResponse()


def counted(bases: Bases) -> Any:
    """Return a section that counts how often it was created."""

    class Counted(section(bases, LEAVES, lastmod=updated)):
        made: list[Any] = []

        def __init__(self) -> None:
            self.made.append(self)

    return Counted


#: The name of the view that contrib's index looks for.
DEFAULT = "django.contrib.sitemaps.views.sitemap"
STATIC = [
    path("home/", page, name="home"),
    path("about/", page, name="about"),
    path("shop/<slug:category>/<str:slug>/", page, name="article"),
    *i18n_patterns(
        path("leaf/<slug:slug>/", page, name="localized"),
        path("article/<int:pk>/", page, name="localized-article"),
    ),
]


def case_routes(name: str, bases: Bases, views: ModuleType) -> list[Any]:
    """Return the routes of a case."""
    sections = CASES[name](bases)
    return [
        *STATIC,
        path(f"{name}/index.xml", views.index, {"sitemaps": sections}),
        path(f"{name}/sitemap.xml", views.sitemap, {"sitemaps": sections}),
        path(f"{name}/sitemap-<section>.xml", views.sitemap, {"sitemaps": sections}, name=DEFAULT),
    ]


def routes(bases: Bases, views: ModuleType) -> list[Any]:
    """Return the routes that contrib's documentation shows, and others that it allows."""
    some = CASES["hooks_as_methods"](bases) | CASES["limits"](bases)
    nested = [path("sitemap-<path:section>.xml", views.sitemap, {"sitemaps": some}, name="page")]
    found = [
        # Without a name, as in the first example of contrib's documentation.
        path("sitemap.xml", views.index, {"sitemaps": some}),
        path("sitemap-<section>.xml", views.sitemap, {"sitemaps": some}, name=DEFAULT),
        path("fixed.xml", views.sitemap, {"sitemaps": some, "section": "two"}),
        path("fixed-unknown.xml", views.sitemap, {"sitemaps": some, "section": "three"}),
        path("fixed-empty.xml", views.sitemap, {"sitemaps": some, "section": ""}),
        path("whole/", views.sitemap, {"sitemaps": some, "section": None}),
        path("nested/", include((nested, "inner"), namespace="outer")),
        path("nested.xml", views.index, {"sitemaps": some, "sitemap_url_name": "outer:inner:page"}),
        path("nested-well.xml", views.index, {"sitemaps": some, "sitemap_url_name": "outer:page"}),
        path("unnamed.xml", views.index, {"sitemaps": some, "sitemap_url_name": "nowhere"}),
        path("unnamed-empty.xml", views.index, {"sitemaps": {}, "sitemap_url_name": "nowhere"}),
        templated(views.index, some, "index.xml", "compat/index.xml"),
        templated(views.sitemap, some, "sitemap.xml", "compat/urls.txt"),
        templated(views.sitemap, some, "several.xml", ["compat/none.xml", "sitemap.xml"]),
        templated(views.index, some, "several-index.xml", ("compat/index.xml", "sitemap_index.xml")),
        templated(views.sitemap, CASES["times_with_zones"](bases), "extending.xml", "compat/extending.xml"),
        templated(views.sitemap, some, "no.xml", "no.xml"),
        path("types/index.xml", views.index, {"sitemaps": some, "content_type": "text/xml"}),
        path(
            "types/sitemap.xml",
            views.sitemap,
            {"sitemaps": some, "content_type": "text/plain; charset=utf-8"},
        ),
        path(
            "types/latin.xml",
            views.sitemap,
            {
                "sitemaps": CASES["locations_to_escape"](bases),
                "template_name": "compat/urls.txt",
                "content_type": "text/plain; charset=utf-16",
            },
        ),
    ]
    both = {"counted": counted(bases)}
    cached = cache_page(600)
    return [
        *STATIC,
        *found,
        path("counted/index.xml", views.index, {"sitemaps": both, "sitemap_url_name": "counted"}),
        path("counted/sitemap-<section>.xml", views.sitemap, {"sitemaps": both}, name="counted"),
        path("cached/index.xml", cached(views.index), {"sitemaps": both, "sitemap_url_name": "cached"}),
        path("cached/sitemap-<section>.xml", cached(views.sitemap), {"sitemaps": both}, name="cached"),
    ]


def templated(view: Any, sections: Any, name: str, template: Any) -> Any:
    """Return the route of a view with a template."""
    return path(f"templates/{name}", view, {"sitemaps": sections, "template_name": template})
