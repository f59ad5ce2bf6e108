"""Rows and a section of exports in the process of a test."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest
from django.db.models import F, Value
from django.db.models.functions import Concat

from django_sitemaps09 import ModelSitemap
from tests.support.configuration import BASE


@pytest.fixture
def keys(settings: Any) -> Callable[..., None]:
    """Set keys of `SITEMAPS09` for small pages."""

    def set_to(**given: Any) -> None:
        settings.SITEMAPS09 = {"BASE_URL": BASE, "MAX_URLS": 10, "ENGINE": "serial", **given}

    set_to()
    return set_to


def articles(**attributes: Any) -> Any:
    """Return a section of columns, whose pages are ranges of an integer key."""
    from tests.models import Article

    declared = {
        "queryset": Article.objects.all(),
        "location": Concat(Value("/"), F("slug"), Value("/")),
        "lastmod": F("updated"),
        **attributes,
    }
    return type("Articles", (ModelSitemap,), declared)()


def write(*numbers: int, prefix: str = "a") -> None:
    from tests.models import Article

    first = datetime(2026, 1, 1, tzinfo=timezone.utc)
    Article.objects.bulk_create(
        Article(pk=number, slug=f"{prefix}{number}", updated=first + timedelta(hours=number))
        for number in numbers
    )
