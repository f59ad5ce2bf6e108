"""Rows of the blog, and the suggestion for a section."""

from __future__ import annotations

from datetime import date, datetime, timedelta, timezone

import pytest

from django_sitemaps09 import ModelSitemap
from django_sitemaps09.suggestions import suggest
from tests.suggestions.blog.models import Author, Entry, Label, Team

NOON = datetime(2026, 1, 31, 23, 30, tzinfo=timezone.utc)


@pytest.fixture(autouse=True)
def entries(db):
    author = Author.objects.create(name="A", team=Team.objects.create(slug="team"))
    rows = Entry.objects.bulk_create(
        Entry(
            slug=f"S-{number}",
            author=author,
            number=number,
            day=date(2026, 1 + number % 12, 1 + number),
            created=NOON + timedelta(hours=number),
            updated=None if number % 3 else NOON + timedelta(days=number),
            path="" if number % 6 == 0 else f"/p/{number}/",
        )
        for number in range(20)
    )
    rows[0].labels.add(Label.objects.create(name="first"))
    return rows


def sitemap(**attributes):
    return type("BlogSitemap", (ModelSitemap,), {"model": Entry, **attributes})


def suggestion(section, **options):
    [found] = suggest(sitemaps={"blog": section}, **options)
    return found
