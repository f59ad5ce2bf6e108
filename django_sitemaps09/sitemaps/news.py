"""`NewsSitemap`: the articles of the last two days, for Google News."""

from __future__ import annotations

from datetime import timedelta
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
    """A section for the rows of the last two days, newest first.

    In addition to the attributes of `ModelSitemap`, set `date_field` and `publication_name`. Page 1 always
    has the newest rows.
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

        By default, the language is `publication_language` or `LANGUAGE_CODE`, and `date_field` is the date.
        """
        return News(
            self.publication_name,
            self.publication_language or conf.language,
            getattr(item, self.date_field),
            self.title(item),
        )

    def _sitemaps09_in_order(self, rows: QuerySet[ModelT]) -> QuerySet[ModelT]:
        """Return the rows whose `date_field` is between two days ago and now, newest first."""
        declared_field = f"{type(self).__qualname__}.date_field is {self.date_field!r}"
        try:
            field: Any = rows.model._meta.get_field(self.date_field)
        except FieldDoesNotExist as error:
            raise ImproperlyConfigured(
                f"{declared_field}, which is not a field of {rows.model._meta.label}. Set it to the field "
                "with the publication date."
            ) from error
        if not isinstance(field, DateField):
            raise ImproperlyConfigured(f"{declared_field}, which is not a date field.")
        now = timezone.now()
        # Compute the limit in UTC, because local time is set back once a year.
        end = (now.replace(tzinfo=conf.zone) if timezone.is_naive(now) else now).astimezone(utc_offset.utc)
        moments = (end - timedelta(days=protocol.NEWS_DAYS), end)
        bounds: list[Any] = [moment.astimezone(conf.zone) for moment in moments]
        if not isinstance(field, DateTimeField):
            # A date counts as midnight on that day.
            bounds = [bounds[0].date() + timedelta(days=1), bounds[1].date()]
        elif timezone.is_naive(now):
            bounds = [bound.replace(tzinfo=None) for bound in bounds]
        recent_rows = filter_rows(self, rows, {f"{self.date_field}__range": bounds})
        sorted_rows: QuerySet[ModelT] = recent_rows.order_by(f"-{self.date_field}", "-pk")
        return sorted_rows
