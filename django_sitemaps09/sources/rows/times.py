"""Read dates and times as text of the database, where it is sure to equal what Python would write."""

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
    """Column of dates or times that is read as text; `zone` is what follows each value."""

    expression: Cast
    times: bool
    zone: str

    @classmethod
    def of(cls, rows: QuerySet[Any], name: str) -> TimeText | None:
        """Return the annotation `name` of rows as text; `None` if Python has to look at each value.

        Python has to if the text is not in UTC, since converting it needs time zones with all their
        history. It also has to if the field or the expression converts the value.
        """
        expression: Any = rows.query.annotations.get(name)
        try:
            field: Any = getattr(expression, "output_field", None)
        except FieldError:
            return None
        kind = field.get_internal_type() if field is not None else None
        connection = connections[rows.db]
        # A converter is how the field or the expression changes the database's value.
        if kind not in ("DateField", "DateTimeField") or expression.get_db_converters(connection):
            return None
        times = kind == "DateTimeField"
        if times and str(connection.timezone if settings.USE_TZ else conf.zone) not in _UTC:
            return None
        # PostgreSQL writes the zone after a time; other databases write none.
        zone = "+00" if times and connection.vendor == "postgresql" else ""
        return cls(Cast(F(name), TextField()), times, zone)

    def w3c(self, texts: Sequence[Any]) -> Sequence[str | None] | None:
        """Return a column of such texts in W3C format; `None` if Python has to look at the values."""
        return protocol.w3c_texts(texts, times=self.times, zone=self.zone)
