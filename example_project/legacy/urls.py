"""URLconf that was written for django.contrib.sitemaps. Only one line is changed, the import of `views`.

That line was `from django.contrib.sitemaps import views`.

You can name a template, as for the index here, or override it: all compatibility views of the project use
`templates/sitemap.xml` of this app. The native views in `django_sitemaps09.urls` have no templates.
"""

from __future__ import annotations

from django.urls import path

from django_sitemaps09 import views
from legacy.sitemaps import sitemaps
from legacy.views import event

urlpatterns = [
    path("events/<int:pk>/", event, name="event"),
    path(
        "sitemap.xml",
        views.index,
        {"sitemaps": sitemaps, "template_name": "legacy/sitemap_index.xml"},
        name="legacy-index",
    ),
    path(
        "sitemap-<section>.xml",
        views.sitemap,
        {"sitemaps": sitemaps},
        name="django.contrib.sitemaps.views.sitemap",
    ),
]
