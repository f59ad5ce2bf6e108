"""Sitemaps that were written for django.contrib.sitemaps. Only one line is changed, the import.

That line was `from django.contrib.sitemaps import GenericSitemap, Sitemap`.
"""

from __future__ import annotations

import datetime

from django.db.models import QuerySet

from django_sitemaps09 import GenericSitemap, Sitemap
from legacy.models import Event


class UpcomingSitemap(Sitemap):
    changefreq = "daily"
    priority = 0.7
    limit = 50

    def items(self) -> QuerySet[Event]:
        return Event.objects.filter(archived=False)

    def lastmod(self, item: Event) -> datetime.date:
        return item.changed


sitemaps = {
    "upcoming": UpcomingSitemap,
    "archive": GenericSitemap(
        {"queryset": Event.objects.filter(archived=True), "date_field": "changed"}, priority=0.3
    ),
}
