"""Rows and sections of exports in the process of a test, and what is published of a section."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from django.db.models import F, Value
from django.db.models.functions import Concat

from django_sitemaps09 import ModelSitemap
from tests.support import published
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


def words(**attributes: Any) -> Any:
    """Return a section of columns, whose pages are ranges of a key of text."""
    from tests.models import Word

    declared = {
        "queryset": Word.objects.all(),
        "location": Concat(Value("/"), F("word"), Value("/")),
        **attributes,
    }
    return type("Words", (ModelSitemap,), declared)()


def write(*numbers: int, prefix: str = "a") -> None:
    from tests.models import Article

    first = datetime(2026, 1, 1, tzinfo=timezone.utc)
    Article.objects.bulk_create(
        Article(pk=number, slug=f"{prefix}{number}", updated=first + timedelta(hours=number))
        for number in numbers
    )


def write_words(*numbers: int) -> None:
    from tests.models import Word

    Word.objects.bulk_create(Word(word=f"w{number:05}") for number in numbers)


def of_section(folder: Path, section: str) -> dict[str, tuple[int, int, bytes]]:
    """Return the state of each page of a section."""
    found = published.states(folder)
    return {name: state for name, state in found.items() if name.startswith(f"sitemap-{section}-")}


def lastmods(folder: Path) -> dict[str, str | None]:
    """Return the `lastmod` of each page in the index."""
    space = published.SPACE
    root = ElementTree.fromstring((folder / "sitemap.xml").read_bytes())  # noqa: S314
    return {
        str(found.findtext(f"{space}loc")).rpartition("/")[2]: found.findtext(f"{space}lastmod")
        for found in root.iter(f"{space}sitemap")
    }
