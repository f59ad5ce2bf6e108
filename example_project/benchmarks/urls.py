"""URLconf of realistic length: articles, the sitemaps of the subject, and 60 other patterns."""

from __future__ import annotations

from django.conf.urls.i18n import i18n_patterns
from django.contrib.sitemaps import views as contrib
from django.urls import include, path

from articles import views as articles
from benchmarks import subjects

_SUBJECT = subjects.current()
_FILLERS = [
    path(f"area-{number}/<slug:slug>/<int:page>/", articles.image, name=f"area-{number}")
    for number in range(60)
]

urlpatterns = [
    *_FILLERS[:30],
    path("articles/<slug:category>/<str:slug>/", articles.article, name="article"),
    *_FILLERS[30:],
    *i18n_patterns(path("articles/<slug:category>/<str:slug>/", articles.article, name="translated")),
]

if _SUBJECT is not None and _SUBJECT.family == "ours":
    from django_sitemaps09 import views as ours

    urlpatterns += [
        path("", include("django_sitemaps09.urls")),
        path("contrib/sitemap.xml", ours.index, {"sitemap_url_name": "section"}),
        path("contrib/sitemap-<section>.xml", ours.sitemap, name="section"),
    ]
elif _SUBJECT is not None and _SUBJECT.family == "contrib":
    from benchmarks.sections_contrib import SITEMAPS

    urlpatterns += [
        path("contrib/sitemap.xml", contrib.index, {"sitemaps": SITEMAPS, "sitemap_url_name": "section"}),
        path("contrib/sitemap-<section>.xml", contrib.sitemap, {"sitemaps": SITEMAPS}, name="section"),
    ]
