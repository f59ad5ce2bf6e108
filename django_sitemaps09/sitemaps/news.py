"""`NewsSitemap`: the articles of the last two days, for Google News."""

from __future__ import annotations

from datetime import datetime, timedelta
from datetime import timezone as utc_offset
from typing import Any

from django.core.exceptions import FieldDoesNotExist, ImproperlyConfigured
from django.db.models import DateField, DateTimeField, QuerySet
from django.utils import timezone

from django_sitemaps09 import protocol
from django_sitemaps09.conf import conf
from django_sitemaps09.entries import News
from django_sitemaps09.sitemaps.base import ModelT
from django_sitemaps09.sitemaps.models import ModelSitemap, filter_rows


class NewsSitemap(ModelSitemap[ModelT]):
    """A section of the rows of the last two days, newest first.

    Set `date_field` and `publication_name`, too. Files are updated in place: page 1 always has the newest
    rows.
    """

    limit: int = protocol.MAX_NEWS
    date_field: str = ""
    publication_name: str = ""
    publication_language: str | None = None

    def title(self, item: ModelT) -> str:
        """Return the headline of an item. Default: `str(item)`."""
        return str(item)

    def news(self, item: ModelT) -> News | None:
        """Return the `News` of an item, or `None`.

        The default uses `publication_name`, `publication_language` (else `LANGUAGE_CODE`), `date_field` and
        `title`.
        """
        return News(
            self.publication_name,
            self.publication_language or conf.language,
            getattr(item, self.date_field),
            self.title(item),
        )

    def _sitemaps09_in_order(self, rows: QuerySet[ModelT]) -> QuerySet[ModelT]:
        """Return the rows whose `date_field` is in the last two days, not in the future, newest first."""
        try:
            field: Any = rows.model._meta.get_field(self.date_field)
        except FieldDoesNotExist as error:
            raise ImproperlyConfigured(
                f"{type(self).__qualname__}.date_field is {self.date_field!r}, which is not a field of "
                f"{rows.model._meta.label}. Set it to the field with the publication date."
            ) from error
        if not isinstance(field, DateField):
            raise ImproperlyConfigured(
                f"{type(self).__qualname__}.date_field is {self.date_field!r}, which is not a date field."
            )
        now = timezone.now()
        # Computed in UTC, as local time is put back once a year.
        moments = [_utc(now) - timedelta(days=protocol.NEWS_DAYS), _utc(now)]
        bounds: list[Any] = [moment.astimezone(conf.zone) for moment in moments]
        if not isinstance(field, DateTimeField):
            # A date counts as its midnight.
            bounds = [bounds[0].date() + timedelta(days=1), bounds[1].date()]
        elif timezone.is_naive(now):
            bounds = [bound.replace(tzinfo=None) for bound in bounds]
        recent_rows = filter_rows(self, rows, {f"{self.date_field}__range": bounds})
        sorted_rows: QuerySet[ModelT] = recent_rows.order_by(f"-{self.date_field}", "-pk")
        return sorted_rows


def _utc(moment: datetime) -> datetime:
    aware_moment = moment.replace(tzinfo=conf.zone) if moment.tzinfo is None else moment
    return aware_moment.astimezone(utc_offset.utc)
