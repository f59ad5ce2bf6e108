"""Methods `lastmod()`, `changefreq()` and `priority()`."""

# ruff: noqa: UP031
from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from django.utils import timezone
from django.utils.timezone import now

from tests.suggestions.corpus import Form, declares, refuses


class Lastmods(Form):
    hook = "lastmod"

    @declares('F("updated")')
    def field(item: Any) -> Any:
        return item.updated

    @declares('F("day")')
    def date(item: Any) -> Any:
        return item.day

    @declares('F("author__changed")')
    def related(item: Any) -> Any:
        return item.author.changed

    @declares('F("section__changed")')
    def nullable_relation(item: Any) -> Any:
        return item.section.changed

    @declares('F("section__changed")')
    def nullable_relation_or_none(item: Any) -> Any:
        if item.section:
            return item.section.changed
        return None

    @declares('Coalesce(F("updated"), F("created"))')
    def either(item: Any) -> Any:
        return item.updated or item.created

    @declares('Coalesce(F("updated"), F("author__changed"), F("created"))')
    def one_of_three(item: Any) -> Any:
        return item.updated or item.author.changed or item.created

    @declares('Coalesce(F("updated"), F("created"))')
    def both_read_first(item: Any) -> Any:
        updated, created = item.updated, item.created
        return created if updated is None else updated

    @refuses("would convert a date to a datetime")
    def time_or_day(item: Any) -> Any:
        return item.updated or item.day

    @refuses("would convert a date to a datetime")
    def time_or_day_of_a_time(item: Any) -> Any:
        return item.author.changed or item.updated or item.created.date()

    @declares('Coalesce(TruncDate("updated", tzinfo=ZoneInfo("UTC")), F("day"))')
    def day_or_day(item: Any) -> Any:
        return item.updated.date() if item.updated else item.day

    @declares('TruncDate("created", tzinfo=ZoneInfo("UTC"))')
    def day_of_a_time(item: Any) -> Any:
        return item.created.date()

    @declares('TruncDate("updated", tzinfo=ZoneInfo("UTC"))')
    def day_of_a_nullable_time(item: Any) -> Any:
        return item.updated and item.updated.date()

    @declares("None")
    def nothing(item: Any) -> Any:
        return None

    @declares('F("updated")')
    def by_name(item: Any) -> Any:
        return getattr(item, "updated", None)

    @declares('F("updated")')
    def if_any(item: Any) -> Any:
        return item.updated if hasattr(item, "updated") else item.created

    @refuses("depends on the value of `item.author.changed`")
    def newest(item: Any) -> Any:
        return max(item.created, item.author.changed)

    @refuses("computes with `item.created`")
    def later(item: Any) -> Any:
        return item.created + timedelta(days=1)

    @refuses("returns an object of type datetime")
    def clock(item: Any) -> Any:
        return timezone.now()

    @refuses("passes `item.created` to Django")
    def local_time(item: Any) -> Any:
        return timezone.localtime(item.created).date()

    @refuses("needs the value of a field")
    def combined(item: Any) -> Any:
        return datetime.combine(item.day, datetime.min.time())

    @refuses("uses `item.created.strftime`")
    def formatted(item: Any) -> Any:
        return item.created.strftime("%Y-%m-%d")

    @refuses("uses `item.labels`")
    def newest_label(item: Any) -> Any:
        return item.labels.order_by("-pk").first()

    @refuses("depends on whether `item.section` is None")
    def other_field_for_null(item: Any) -> Any:
        return item.created if item.section is None else item.author.changed


class Changefreqs(Form):
    hook = "changefreq"

    @declares('"daily"')
    def constant(item: Any) -> Any:
        return "daily"

    @declares('F("freq")')
    def field(item: Any) -> Any:
        return item.freq

    @declares('Coalesce(F("freq"), Value("weekly"))')
    def fallback(item: Any) -> Any:
        return item.freq if item.freq is not None else "weekly"

    @refuses("depends on the value of `item.freq`")
    def fallback_for_empty(item: Any) -> Any:
        return item.freq or "weekly"

    @refuses("depends on the value of `item.updated`")
    def by_age(item: Any) -> Any:
        if item.updated and item.updated > now() - timedelta(days=7):
            return "daily"
        return "monthly"

    @refuses("creates a string from several parts")
    def format(item: Any) -> Any:
        return f"{item.kind}ly"


class Priorities(Form):
    hook = "priority"

    @declares("0.5")
    def constant(item: Any) -> Any:
        return 0.5

    @declares('F("weight")')
    def field(item: Any) -> Any:
        return item.weight

    @declares('Coalesce(F("weight"), 0.5)')
    def fallback(item: Any) -> Any:
        return 0.5 if item.weight is None else item.weight

    @refuses("computes with `item.weight`")
    def computed(item: Any) -> Any:
        return item.weight / 10 if item.weight is not None else None

    @refuses("computes with `item.weight`")
    def rounded(item: Any) -> Any:
        return round(item.weight, 1)

    @refuses("depends on the value of `item.number`")
    def branch(item: Any) -> Any:
        return 0.9 if item.number > 10 else 0.1

    @refuses("uses `item.weight` as a number")
    def text(item: Any) -> Any:
        return "%.1f" % item.weight

    @refuses("depends on whether `item.section_id` is None")
    def null(item: Any) -> Any:
        return 0.5 if item.section_id is None else 0.8
