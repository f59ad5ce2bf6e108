"""Rows of the blog, with NULL in each nullable field, and the suggestion for a section."""

from __future__ import annotations

from datetime import date, datetime, timedelta, timezone
from typing import Any

import pytest

from django_sitemaps09 import ModelSitemap
from django_sitemaps09.suggestions import Suggestion, suggest
from tests.suggestions.blog.models import Author, Entry, Label, Section, Team

NOON = datetime(2026, 1, 31, 23, 30, tzinfo=timezone.utc)


@pytest.fixture(autouse=True)
def entries(db: None) -> list[Entry]:
    teams = [Team.objects.create(slug=f"team-{number}") for number in range(2)]
    authors = [
        Author.objects.create(name=f"A {number}", team=teams[number % 2], changed=NOON if number else None)
        for number in range(3)
    ]
    parent = Section.objects.create(slug="parent", changed=NOON)
    child = Section.objects.create(slug="child", parent=parent, changed=NOON + timedelta(days=1))
    rows = [
        Entry.objects.create(
            slug=f"S-{number}",
            title=f"Title {number}",
            kind=("post", "note")[number % 2],
            author=authors[number % 3],
            section=(None, parent, child)[number % 3],
            number=number,
            public=number % 4 != 0,
            day=date(2026, 1 + number % 12, 1 + number),
            created=NOON + timedelta(hours=number),
            updated=None if number % 3 else NOON + timedelta(days=number),
            weight=None if number % 5 == 0 else number / 20,
            path="" if number % 6 == 0 else f"/p/{number}/",
            slug_en=f"en-{number}",
            slug_de=f"de-{number}",
        )
        for number in range(20)
    ]
    rows[0].labels.add(Label.objects.create(name="first"))
    return rows


def sitemap(model: type[Entry], **attributes: Any) -> Any:
    return type("BlogSitemap", (ModelSitemap,), {"model": model, **attributes})


def suggestion(section: Any, **options: Any) -> Suggestion:
    [found] = suggest(sitemaps={"blog": section}, **options)
    return found
