"""Read dates and times as text from the database, if Python would certainly write the same text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from django.conf import settings
from django.core.exceptions import FieldError
from django.db import connections
from django.db.models import F, QuerySet, TextField
from django.db.models.functions import Cast

from django_sitemaps09 import protocol
from django_sitemaps09.conf import conf

_UTC = {"UTC", "Etc/UTC"}


class TimeText(NamedTuple):
    """Column of dates or times that is read as text. `zone` is appended to each value."""

    expression: Cast
    times: bool
    zone: str

    @classmethod
    def from_annotation(cls, rows: QuerySet[Any], name: str) -> TimeText | None:
        """Return the annotation `name` as a text column; `None` if Python must convert each value.

        Python must convert times that are not in UTC, since the conversion needs the history of time zones.
        It must also convert values if the field or the expression has a converter.
        """
        expression: Any = rows.query.annotations.get(name)
        try:
            field: Any = getattr(expression, "output_field", None)
        except FieldError:
            return None
        kind = field.get_internal_type() if field is not None else None
        connection = connections[rows.db]
        if kind not in ("DateField", "DateTimeField") or expression.get_db_converters(connection):
            return None
        times = kind == "DateTimeField"
        if times and str(connection.timezone if settings.USE_TZ else conf.zone) not in _UTC:
            return None
        # Only PostgreSQL writes the zone after a time.
        zone = "+00" if times and connection.vendor == "postgresql" else ""
        return cls(Cast(F(name), TextField()), times, zone)

    def w3c(self, texts: Sequence[Any]) -> Sequence[str | None] | None:
        """Return the values in W3C format; `None` if Python must convert them."""
        return protocol.w3c_texts(texts, times=self.times, zone=self.zone)
