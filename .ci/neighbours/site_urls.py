"""URLconf of a site: contrib's two views, the native views, and the pages of the site.

In the second tree, the import line names this package, as in any project that switches to it.
"""

import os
from importlib import import_module

from django.contrib.sitemaps import views
from django.urls import include, path

site = import_module(os.environ["DJANGO_SETTINGS_MODULE"].replace("_settings", ""))
# Each section has several pages, so that differences between the bounds of pages become visible.
sitemaps = {}
for _name, _sitemap in site.sitemaps().items():
    if isinstance(_sitemap, type):
        sitemaps[_name] = type(_sitemap.__name__, (_sitemap,), {"limit": 4})
    else:
        _sitemap.limit = 4
        sitemaps[_name] = _sitemap
index, sitemap = getattr(site, "views", lambda: (views.index, views.sitemap))()
urlpatterns = [
    path("old/sitemap.xml", index, {"sitemaps": sitemaps, "sitemap_url_name": "old"}),
    path("old/sitemap-<section>.xml", sitemap, {"sitemaps": sitemaps}, name="old"),
    path("", include("django_sitemaps09.urls"), {"sitemaps": sitemaps}),
    *site.urls(),
]
