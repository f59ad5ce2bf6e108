"""Methods that read annotations of the section's queryset."""

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

    def alone(self: Any, item: Any) -> Any:
        """F("url")"""
        return item.url

    def in_text(self: Any, item: Any) -> Any:
        """Refused: writes what can be NULL in `f'/{item.total}/'`"""
        return f"/{item.total}/"


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

    def computed(self: Any, item: Any) -> Any:
        """F("midnight")"""
        return item.midnight

    def column(self: Any, item: Any) -> Any:
        """
        Case(When(Q(updated__isnull=True), then=F("first")), default=F("updated"),
        output_field=DateTimeField())
        """
        return item.updated or item.first

    def coalesced(self: Any, item: Any) -> Any:
        """
        Case(When(Q(updated__isnull=True), then=F("either")), default=F("updated"),
        output_field=DateTimeField())
        """
        return item.updated or item.either

    def related_column(self: Any, item: Any) -> Any:
        """
        Case(When(Q(updated__isnull=True), then=F("related")), default=F("updated"),
        output_field=DateTimeField())
        """
        return item.updated or item.related

    def truncated(self: Any, item: Any) -> Any:
        """Refused: chooses between computed datetime and datetime in `item.updated or item.midnight`"""
        return item.updated or item.midnight

    def two_types(self: Any, item: Any) -> Any:
        """Refused: chooses between computed datetime and datetime in `item.updated or item.mixed`"""
        return item.updated or item.mixed

    def aggregate(self: Any, item: Any) -> Any:
        """Refused: chooses between computed datetime and datetime in `item.updated or item.newest`"""
        return item.updated or item.newest

    def subquery(self: Any, item: Any) -> Any:
        """Refused: chooses between computed datetime and datetime in `item.updated or item.nested`"""
        return item.updated or item.nested


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

    def count(self: Any, item: Any) -> Any:
        """
        Case(When(Q(total=0) | Q(total__isnull=True), then=Value(0.1)), default=Value(0.9),
        output_field=FloatField())
        """
        return 0.9 if item.total else 0.1

    def coalesced(self: Any, item: Any) -> Any:
        """Case(When(Q(first=2), then=Value(0.9)), default=Value(0.1), output_field=FloatField())"""
        return 0.9 if item.first == 2 else 0.1

    def product(self: Any, item: Any) -> Any:
        """Refused: compares, maybe not as the database does, `item.half == 2`"""
        return 0.9 if item.half == 2 else 0.1

    def coalesced_product(self: Any, item: Any) -> Any:
        """Refused: compares, maybe not as the database does, `item.second == 2`"""
        return 0.9 if item.second == 2 else 0.1

    def of_another_type(self: Any, item: Any) -> Any:
        """Refused: compares, maybe not as the database does, `item.rounded == 1`"""
        return 0.9 if item.rounded == 1 else 0.1

    def condition(self: Any, item: Any) -> Any:
        """Refused: compares, maybe not as the database does, `item.length == 2`"""
        return 0.9 if item.length == 2 else 0.1
