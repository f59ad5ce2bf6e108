"""Rows of the blog, and the suggestion for a section."""

from __future__ import annotations

import uuid
from datetime import date, datetime, timedelta, timezone
from itertools import cycle

import pytest

from django_sitemaps09 import ModelSitemap
from django_sitemaps09.tools.suggestions import suggest
from tests.tools.suggestions.blog.models import Author, Entry, Label, Section, Team

NOON = datetime(2026, 1, 31, 23, 30, tzinfo=timezone.utc)


@pytest.fixture(autouse=True)
def entries(db):
    author = Author.objects.create(name="A", team=Team.objects.create(slug="team"))
    rows = Entry.objects.bulk_create(
        Entry(slug=f"S-{number}", author=author, number=number,
              day=date(2026, 1 + number % 12, 1 + number), created=NOON + timedelta(hours=number),
              updated=None if number % 3 else NOON + timedelta(days=number),
              path="" if number % 6 == 0 else f"/p/{number}/")
        for number in range(20)
    )  # fmt: skip
    rows[0].labels.add(Label.objects.create(name="first"))
    return rows


def sitemap(**attributes):
    return type("BlogSitemap", (ModelSitemap,), {"model": Entry, **attributes})


def suggestion(section, **options):
    [found] = suggest(sitemaps={"blog": section}, **options)
    return found


TEXTS = [
    "", "draft", "1st", "note", "page", "Ünïcödé 日本", "a/b", "//host/x", "50%", "%s", "{slug}", " ",
    "a b",     "a?b#c", "a&b'c\"<d>", "old", "line\nbreak", "x" * 45, "None", "\N{PILE OF POO}", "/p/",
    "Note", "NOTE ", "note ", "DRAFT", "draft ", "0", "\u0130stanbul", "\ufb01", "e\u0301", "\xe9", "\xc9",
    "%2F", "/", "../x",
]  # fmt: skip
# Midnight in UTC, and in other time zones.
TIMES = [
    datetime(2026, 1, 1, tzinfo=timezone.utc),
    datetime(2025, 12, 31, 23, 0, tzinfo=timezone.utc),
    datetime(2026, 6, 30, 22, 0, 0, 1, tzinfo=timezone.utc),
    datetime(2026, 3, 1, 5, 0, tzinfo=timezone.utc),
    datetime(1970, 1, 1, tzinfo=timezone.utc),
]


def create_rows(using):
    teams = [Team.objects.using(using).create(slug=slug) for slug in ("team", "/team/")]
    authors = [
        Author(name=name[:20], team=team, changed=time)
        for name, team, time in zip(["author", "/author/", *TEXTS], cycle(teams), cycle([*TIMES, None]))
    ]
    sections = [Section(slug=slug, changed=TIMES[0]) for slug in ["section", "/section/", *TEXTS]]
    # On MySQL, `bulk_create()` sets no keys.
    for row in (*authors, *sections):
        row.save(using=using)
    plain = {"created": TIMES[3], "updated": TIMES[3], "day": date(2026, 5, 6), "weight": 0.5}
    Entry.objects.using(using).bulk_create(
        Entry(slug=f"slug-{number}", title=f"Title {number}", kind="post", number=number,
              author=authors[number % 2], section=sections[number % 2], path=f"/path/{number}/",
              rank=number, freq="daily", code=f"/code/{number}/", **plain)
        for number in (1, 2, 3)
    )  # fmt: skip
    Entry.objects.using(using).bulk_create(
        Entry(
            slug=TEXTS[number % len(TEXTS)],
            title=TEXTS[(number + 5) % len(TEXTS)],
            kind=("note", "post", "", "news", "Note", "note ", "POST")[number % 7],
            author=authors[number % len(authors)],
            section=None if number % 3 == 0 else sections[number % len(sections)],
            uid=uuid.UUID(int=number),
            number=1000 - 50 * number if number % 9 else 0,
            public=number % 2 == 0,
            day=date(2025, 12, 31) + timedelta(days=number),
            created=TIMES[number % len(TIMES)],
            updated=None if number % 4 == 1 else TIMES[(number + 2) % len(TIMES)],
            weight=None if number % 5 == 1 else number % 40 / 100,
            path=TEXTS[(number + 2) % len(TEXTS)],
            rank=None if number % 2 else number % 8,
            freq=(None, "", "daily", "often", "Daily", "daily ")[number % 6],
            code=None if number % 3 == 1 else TEXTS[(number + 3) % len(TEXTS)],
        )
        for number in range(2 * len(TEXTS) + 1)
    )
