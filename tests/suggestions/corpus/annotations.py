"""Methods that read annotations of the section's queryset."""

# ruff: noqa: F401 the tables use the imports
from __future__ import annotations

from typing import Any

from django.db.models import (
    Case,
    Count,
    DateTimeField,
    ExpressionWrapper,
    F,
    IntegerField,
    Max,
    OuterRef,
    Subquery,
    Value,
    When,
)
from django.db.models.functions import Coalesce, Length, TruncDay

from tests.suggestions.blog.models import Author
from tests.suggestions.corpus import Form


class AnnotatedTexts(Form):
    annotations = {"total": Count("labels"), "url": F("path")}
    of_the_sitemap = """
    item.url => F("url")
    f"/{item.total}/" => Refused: writes what can be NULL in `f'/{item.total}/'`
    """


class AnnotatedTimes(Form):
    hook = "lastmod"
    annotations = {
        "first": F("created"),
        "either": Coalesce("updated", "created"),
        "related": F("author__changed"),
        "midnight": TruncDay("created"),
        "mixed": Coalesce("day", "created", output_field=DateTimeField()),
        "newest": Max("updated"),
        "nested": Subquery(Author.objects.filter(pk=OuterRef("author")).values("changed")[:1]),
    }
    of_the_sitemap = """
    item.midnight => F("midnight")
    item.updated or item.first
        => Case(When(Q(updated__isnull=True), then=F("first")), default=F("updated"),
        output_field=DateTimeField())
    item.updated or item.either
        => Case(When(Q(updated__isnull=True), then=F("either")), default=F("updated"),
        output_field=DateTimeField())
    item.updated or item.related
        => Case(When(Q(updated__isnull=True), then=F("related")), default=F("updated"),
        output_field=DateTimeField())
    item.updated or item.midnight
        => Refused: chooses between computed datetime and datetime in `item.updated or item.midnight`
    item.updated or item.mixed
        => Refused: chooses between computed datetime and datetime in `item.updated or item.mixed`
    item.updated or item.newest
        => Refused: chooses between computed datetime and datetime in `item.updated or item.newest`
    item.updated or item.nested
        => Refused: chooses between computed datetime and datetime in `item.updated or item.nested`
    """


class AnnotatedNumbers(Form):
    hook = "priority"
    annotations = {
        "total": Count("labels"),
        "first": Coalesce("rank", "number", Value(2)),
        "half": ExpressionWrapper(F("number") * 0.5, IntegerField()),
        "second": Coalesce("rank", F("number") * 1),
        "rounded": Coalesce("rank", Value(1.5), output_field=IntegerField()),
        "length": Case(When(rank=1, then=2), default=Length("slug")),
    }
    of_the_sitemap = """
    0.9 if item.total else 0.1
        => Case(When(Q(total=0) | Q(total__isnull=True), then=Value(0.1)), default=Value(0.9),
        output_field=FloatField())
    0.9 if item.first == 2 else 0.1
        => Case(When(Q(first=2), then=Value(0.9)), default=Value(0.1), output_field=FloatField())
    0.9 if item.half == 2 else 0.1 => Refused: compares, maybe not as the database does, `item.half == 2`
    0.9 if item.second == 2 else 0.1
        => Refused: compares, maybe not as the database does, `item.second == 2`
    0.9 if item.rounded == 1 else 0.1
        => Refused: compares, maybe not as the database does, `item.rounded == 1`
    0.9 if item.length == 2 else 0.1
        => Refused: compares, maybe not as the database does, `item.length == 2`
    """
