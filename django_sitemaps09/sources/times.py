"""Dates and times as the text of the database, where that is sure to say what Python would say."""

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
    """A column of dates or times that is read as text; `zone` is what stands behind each."""

    expression: Cast
    times: bool
    zone: str

    @classmethod
    def of(cls, rows: QuerySet[Any], name: str) -> TimeText | None:
        """The annotation `name` of some rows as text; `None` where Python has to look at each value.

        It has to where the text is not in UTC, since to convert it is an affair of zones with all
        their history, or where the field or the expression has a say in what a value becomes.
        """
        expression: Any = rows.query.annotations.get(name)
        try:
            field: Any = getattr(expression, "output_field", None)
        except FieldError:
            return None
        kind = field.get_internal_type() if field is not None else None
        connection = connections[rows.db]
        # A converter is what the field or the expression makes of the database's value.
        if kind not in ("DateField", "DateTimeField") or expression.get_db_converters(connection):
            return None
        times = kind == "DateTimeField"
        if times and str(connection.timezone if settings.USE_TZ else conf.zone) not in _UTC:
            return None
        # PostgreSQL writes the zone behind a time, the others know of none.
        zone = "+00" if times and connection.vendor == "postgresql" else ""
        return cls(Cast(F(name), TextField()), times, zone)

    def w3c(self, texts: Sequence[Any]) -> Sequence[str | None] | None:
        """A column of such texts as W3C has them, `None` where Python has to look at the values."""
        return protocol.w3c_texts(texts, times=self.times, zone=self.zone)
