"""Methods `lastmod()`, `changefreq()` and `priority()`."""

# ruff: noqa: F401 the tables use the imports
from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from django.utils import timezone
from django.utils.timezone import now

from tests.suggestions.corpus import Form


class Lastmods(Form):
    hook = "lastmod"
    of_the_sitemap = """
    item.updated => F("updated")
    item.day => F("day")
    item.author.changed => F("author__changed")
    item.section.changed => Refused: reads an attribute of what can be NULL: `item.section.changed`
    if item.section:
        return item.section.changed
    return None
        => Refused: has `if item.section:`
    item.updated or item.created
        => Case(When(Q(updated__isnull=True), then=F("created")), default=F("updated"),
        output_field=DateTimeField())
    item.updated or item.author.changed or item.created
        => Case(When(Q(updated__isnull=True), then=Case(When(Q(author__changed__isnull=True),
        then=F("created")), default=F("author__changed"), output_field=DateTimeField())),
        default=F("updated"), output_field=DateTimeField())
    updated, created = item.updated, item.created
    return created if updated is None else updated
        => Refused: has `updated, created = (item.updated, item.created)`
    item.updated or item.day => Refused: chooses between date and datetime in `item.updated or item.day`
    item.author.changed or item.updated or item.created.date() => Refused: calls `item.created.date()`
    item.updated.date() if item.updated else item.day => Refused: calls `item.updated.date()`
    item.created.date() => Refused: calls `item.created.date()`
    item.updated and item.updated.date() => Refused: has `item.updated and item.updated.date()`
    None => None
    getattr(item, "updated", None) => Refused: calls `getattr()`
    item.updated if hasattr(item, "updated") else item.created => Refused: calls `hasattr()`
    max(item.created, item.author.changed) => Refused: calls `max()`
    item.created + timedelta(days=1) => Refused: calls `timedelta()`
    timezone.now() => Refused: calls `timezone.now()`
    timezone.localtime(item.created).date() => Refused: calls `timezone.localtime(item.created).date()`
    datetime.combine(item.day, datetime.min.time()) => Refused: calls `datetime.combine()`
    item.created.strftime("%Y-%m-%d") => Refused: calls `item.created.strftime()`
    item.labels.order_by("-pk").first() => Refused: calls `item.labels.order_by('-pk').first()`
    item.created if item.section is None else item.author.changed
        => Case(When(Q(section__isnull=True), then=F("created")), default=F("author__changed"),
        output_field=DateTimeField())
    """


class Changefreqs(Form):
    hook = "changefreq"
    of_the_sitemap = """
    "daily" => "daily"
    item.freq => F("freq")
    item.freq if item.freq is not None else "weekly"
        => Case(When(Q(freq__isnull=True), then=Value("weekly")), default=F("freq"),
        output_field=CharField())
    item.freq or "weekly"
        => Case(When(Q(freq="") | Q(freq__isnull=True), then=Value("weekly")), default=F("freq"),
        output_field=CharField())
    if item.updated and item.updated > now() - timedelta(days=7):
        return "daily"
    return "monthly"
        => Refused: has `if item.updated and item.updated > now() - timedelta(days=7):`
    f"{item.kind}ly" => Concat(F("kind"), Value("ly"), output_field=CharField())
    """


class Priorities(Form):
    hook = "priority"
    of_the_sitemap = """
    0.5 => 0.5
    item.weight => F("weight")
    0.5 if item.weight is None else item.weight
        => Case(When(Q(weight__isnull=True), then=Value(0.5)), default=F("weight"),
        output_field=FloatField())
    item.weight / 10 if item.weight is not None else None => Refused: has `item.weight / 10`
    round(item.weight, 1) => Refused: calls `round()`
    0.9 if item.number > 10 else 0.1
        => Refused: compares, maybe not as the database does, `item.number > 10`
    "%.1f" % item.weight => Refused: formats otherwise than by plain fields: `'%.1f' % item.weight`
    0.5 if item.section_id is None else 0.8
        => Case(When(Q(section_id__isnull=True), then=Value(0.5)), default=Value(0.8),
        output_field=FloatField())
    0.9 if item.number == 10 else 0.1
        => Case(When(Q(number=10), then=Value(0.9)), default=Value(0.1), output_field=FloatField())
    """
