"""Methods `lastmod()`, `changefreq()` and `priority()`."""

# ruff: noqa: UP031
from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from django.utils import timezone
from django.utils.timezone import now

from tests.suggestions.corpus import Form


class Lastmods(Form):
    hook = "lastmod"

    def field(self: Any, item: Any) -> Any:
        """F("updated")"""
        return item.updated

    def date(self: Any, item: Any) -> Any:
        """F("day")"""
        return item.day

    def related(self: Any, item: Any) -> Any:
        """F("author__changed")"""
        return item.author.changed

    def nullable_relation(self: Any, item: Any) -> Any:
        """Refused: reads an attribute of what can be NULL: `item.section.changed`"""
        return item.section.changed

    def nullable_relation_or_none(self: Any, item: Any) -> Any:
        """Refused: has `if item.section:`"""
        if item.section:
            return item.section.changed
        return None

    def either(self: Any, item: Any) -> Any:
        """
        Case(When(Q(updated__isnull=True), then=F("created")), default=F("updated"),
        output_field=DateTimeField())
        """
        return item.updated or item.created

    def one_of_three(self: Any, item: Any) -> Any:
        """
        Case(When(Q(updated__isnull=True), then=Case(When(Q(author__changed__isnull=True),
        then=F("created")), default=F("author__changed"), output_field=DateTimeField())),
        default=F("updated"), output_field=DateTimeField())
        """
        return item.updated or item.author.changed or item.created

    def both_read_first(self: Any, item: Any) -> Any:
        """Refused: has `updated, created = (item.updated, item.created)`"""
        updated, created = item.updated, item.created
        return created if updated is None else updated

    def time_or_day(self: Any, item: Any) -> Any:
        """Refused: chooses between date and datetime in `item.updated or item.day`"""
        return item.updated or item.day

    def time_or_day_of_a_time(self: Any, item: Any) -> Any:
        """Refused: calls `item.created.date()`"""
        return item.author.changed or item.updated or item.created.date()

    def day_or_day(self: Any, item: Any) -> Any:
        """Refused: calls `item.updated.date()`"""
        return item.updated.date() if item.updated else item.day

    def day_of_a_time(self: Any, item: Any) -> Any:
        """Refused: calls `item.created.date()`"""
        return item.created.date()

    def day_of_a_nullable_time(self: Any, item: Any) -> Any:
        """Refused: has `item.updated and item.updated.date()`"""
        return item.updated and item.updated.date()

    def nothing(self: Any, item: Any) -> Any:
        """None"""
        return None

    def by_name(self: Any, item: Any) -> Any:
        """Refused: calls `getattr()`"""
        return getattr(item, "updated", None)

    def if_any(self: Any, item: Any) -> Any:
        """Refused: calls `hasattr()`"""
        return item.updated if hasattr(item, "updated") else item.created

    def newest(self: Any, item: Any) -> Any:
        """Refused: calls `max()`"""
        return max(item.created, item.author.changed)

    def later(self: Any, item: Any) -> Any:
        """Refused: calls `timedelta()`"""
        return item.created + timedelta(days=1)

    def clock(self: Any, item: Any) -> Any:
        """Refused: calls `timezone.now()`"""
        return timezone.now()

    def local_time(self: Any, item: Any) -> Any:
        """Refused: calls `timezone.localtime(item.created).date()`"""
        return timezone.localtime(item.created).date()

    def combined(self: Any, item: Any) -> Any:
        """Refused: calls `datetime.combine()`"""
        return datetime.combine(item.day, datetime.min.time())

    def formatted(self: Any, item: Any) -> Any:
        """Refused: calls `item.created.strftime()`"""
        return item.created.strftime("%Y-%m-%d")

    def newest_label(self: Any, item: Any) -> Any:
        """Refused: calls `item.labels.order_by('-pk').first()`"""
        return item.labels.order_by("-pk").first()

    def other_field_for_null(self: Any, item: Any) -> Any:
        """
        Case(When(Q(section__isnull=True), then=F("created")), default=F("author__changed"),
        output_field=DateTimeField())
        """
        return item.created if item.section is None else item.author.changed


class Changefreqs(Form):
    hook = "changefreq"

    def constant(self: Any, item: Any) -> Any:
        """
        "daily"
        """
        return "daily"

    def field(self: Any, item: Any) -> Any:
        """F("freq")"""
        return item.freq

    def fallback(self: Any, item: Any) -> Any:
        """
        Case(When(Q(freq__isnull=True), then=Value("weekly")), default=F("freq"),
        output_field=CharField())
        """
        return item.freq if item.freq is not None else "weekly"

    def fallback_for_empty(self: Any, item: Any) -> Any:
        """
        Case(When(Q(freq="") | Q(freq__isnull=True), then=Value("weekly")), default=F("freq"),
        output_field=CharField())
        """
        return item.freq or "weekly"

    def by_age(self: Any, item: Any) -> Any:
        """Refused: has `if item.updated and item.updated > now() - timedelta(days=7):`"""
        if item.updated and item.updated > now() - timedelta(days=7):
            return "daily"
        return "monthly"

    def format(self: Any, item: Any) -> Any:
        """Concat(F("kind"), Value("ly"), output_field=CharField())"""
        return f"{item.kind}ly"


class Priorities(Form):
    hook = "priority"

    def constant(self: Any, item: Any) -> Any:
        """0.5"""
        return 0.5

    def field(self: Any, item: Any) -> Any:
        """F("weight")"""
        return item.weight

    def fallback(self: Any, item: Any) -> Any:
        """
        Case(When(Q(weight__isnull=True), then=Value(0.5)), default=F("weight"),
        output_field=FloatField())
        """
        return 0.5 if item.weight is None else item.weight

    def computed(self: Any, item: Any) -> Any:
        """Refused: has `item.weight / 10`"""
        return item.weight / 10 if item.weight is not None else None

    def rounded(self: Any, item: Any) -> Any:
        """Refused: calls `round()`"""
        return round(item.weight, 1)

    def branch(self: Any, item: Any) -> Any:
        """Refused: compares, maybe not as the database does, `item.number > 10`"""
        return 0.9 if item.number > 10 else 0.1

    def text(self: Any, item: Any) -> Any:
        """Refused: formats otherwise than by plain fields: `'%.1f' % item.weight`"""
        return "%.1f" % item.weight

    def null(self: Any, item: Any) -> Any:
        """
        Case(When(Q(section_id__isnull=True), then=Value(0.5)), default=Value(0.8),
        output_field=FloatField())
        """
        return 0.5 if item.section_id is None else 0.8

    def equal(self: Any, item: Any) -> Any:
        """Case(When(Q(number=10), then=Value(0.9)), default=Value(0.1), output_field=FloatField())"""
        return 0.9 if item.number == 10 else 0.1
