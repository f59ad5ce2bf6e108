"""Sitemaps with the same columns of the same articles, for each kind of queryset."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.db.models import Count, Exists, F, Max, OuterRef, Q, QuerySet, Value, Window
from django.db.models.functions import Mod, RowNumber

from articles.models import Article
from benchmarks.related.models import Comment, Seat
from django_sitemaps09 import ModelSitemap, Route

PUBLISHED = Article.objects.filter(published=True)
#: Each article has a comment that is shown, and a comment that is not.
COMMENTED = PUBLISHED.filter(comments__isnull=False)
#: The oldest of every three adjacent articles.
RANKED = PUBLISHED.alias(
    place=Window(RowNumber(), partition_by=F("pk") - Mod("pk", 3), order_by="updated"),
).filter(place=1)


class Declared(ModelSitemap[Article]):
    location = Route("article", category=F("category__slug"), slug=F("slug"))
    lastmod = F("updated")


class Newest(ModelSitemap[Article]):
    location = Route("article", category=F("category__slug"), slug=F("slug"))
    lastmod = Max("comments__article__updated")


class Methods(ModelSitemap[Article]):
    location = Route("article", category=F("category__slug"), slug=F("slug"))

    def lastmod(self, item: Article) -> datetime:
        return item.updated


class Seats(ModelSitemap[Seat]):
    location = Route("article", category=Value("seats"), slug=F("number"))
    lastmod = F("updated")


def _sections(base: Any, rows: QuerySet[Any]) -> dict[str, Any]:
    return {"articles": type("Measured", (base,), {"queryset": rows})}


PLAIN = _sections(Declared, PUBLISHED)
TO_ONE = _sections(Declared, PUBLISHED.exclude(category__name=""))
TO_MANY = _sections(Declared, COMMENTED)
SOME = _sections(Declared, PUBLISHED.filter(Q(comments__shown=True) | Q(slug="")))
DISTINCT = _sections(Declared, PUBLISHED.distinct())
JOINED = _sections(Declared, COMMENTED.distinct())
GROUPED = _sections(Declared, PUBLISHED.annotate(n=Count("comments")).filter(n__gte=1))
RANKS = _sections(Declared, RANKED)
SEATS = _sections(Seats, Seat.objects.all())
DISTINCT_SEATS = _sections(Seats, Seat.objects.filter(block__gte=0).distinct())
INSTANCES = _sections(Methods, PUBLISHED)
JOINED_INSTANCES = _sections(Methods, COMMENTED)
RANKED_INSTANCES = _sections(Methods, RANKED)
AGGREGATES = _sections(Newest, PUBLISHED)
EXISTING = _sections(Declared, PUBLISHED.filter(Exists(Comment.objects.filter(article=OuterRef("pk")))))
