"""Methods as projects write them: a suggestion is right on rows that the command has not seen."""

from __future__ import annotations

import uuid
from datetime import date, datetime, timedelta, timezone
from itertools import cycle
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from django.db.models import F, Value
from django.db.models.functions import Coalesce, ExtractDay, ExtractMonth, ExtractYear, TruncDate

from django_sitemaps09 import ModelSitemap, PathTemplate, Route
from django_sitemaps09.suggestions.section_proof import Sample
from tests.suggestions.blog.models import Author, Entry, Section, Team
from tests.suggestions.blog.rows import suggestion
from tests.suggestions.corpus import CASES, Case, Post, hidden_conditions, locations, other_hooks  # noqa: F401 define the cases
from tests.support.sources import BASE

pytestmark = [
    pytest.mark.urls("tests.suggestions.blog.urls"),
    pytest.mark.sitemaps09(),
]

DECLARED = [
    Coalesce, ExtractDay, ExtractMonth, ExtractYear, F, PathTemplate, Route, TruncDate, Value, ZoneInfo,
]  # fmt: skip
NAMES = {name.__name__: name for name in DECLARED}
TEXTS = [
    "", "draft", "1st", "note", "page", "Ünïcödé 日本", "a/b", "//host/x", "50%", "%s", "{slug}", " ",
    "a b",     "a?b#c", "a&b'c\"<d>", "old", "line\nbreak", "x" * 45, "None", "\N{PILE OF POO}", "/p/",
]  # fmt: skip
# Midnight in UTC, and in other time zones.
TIMES = [
    datetime(2026, 1, 1, tzinfo=timezone.utc),
    datetime(2025, 12, 31, 23, 0, tzinfo=timezone.utc),
    datetime(2026, 6, 30, 22, 0, 0, 1, tzinfo=timezone.utc),
    datetime(2026, 3, 1, 5, 0, tzinfo=timezone.utc),
    datetime(1970, 1, 1, tzinfo=timezone.utc),
]


def create_rows(using: str, *, only_plain: bool = False) -> None:
    """Create plain rows, which are the sample, and rows with all kinds of values."""
    teams = [Team.objects.using(using).create(slug=slug) for slug in ("team", "/team/")]
    authors = [
        Author(name=name[:20], team=team, changed=time)
        for name, team, time in zip(["author", "/author/", *TEXTS], cycle(teams), cycle([*TIMES, None]))
    ]
    sections = [Section(slug=slug, changed=TIMES[0]) for slug in ["section", "/section/", *TEXTS]]
    Author.objects.using(using).bulk_create(authors)
    Section.objects.using(using).bulk_create(sections)
    plain = {"created": TIMES[3], "updated": TIMES[3], "day": date(2026, 5, 6), "weight": 0.5}
    Entry.objects.using(using).bulk_create(
        Entry(
            slug=f"slug-{number}",
            title=f"Title {number}",
            kind="post",
            number=number,
            author=authors[number % 2],
            section=sections[number % 2],
            path=f"/path/{number}/",
            rank=number,
            freq="daily",
            code=f"/code/{number}/",
            **plain,
        )
        for number in (1, 2, 3)
    )
    if only_plain:
        return
    Entry.objects.using(using).bulk_create(
        Entry(
            slug=TEXTS[number % len(TEXTS)],
            title=TEXTS[(number + 5) % len(TEXTS)],
            kind=("note", "post", "", "news")[number % 4],
            author=authors[number % len(authors)],
            section=None if number % 3 == 0 else sections[number % len(sections)],
            uid=uuid.UUID(int=number),
            number=1000 - 50 * number,
            public=number % 2 == 0,
            day=date(2025, 12, 31) + timedelta(days=number),
            created=TIMES[number % len(TIMES)],
            updated=None if number % 4 == 1 else TIMES[(number + 2) % len(TIMES)],
            weight=None if number % 5 == 1 else number / 100,
            path=TEXTS[(number + 2) % len(TEXTS)],
            rank=None if number % 2 else number,
            freq=(None, "", "daily", "often")[number % 4],
            code=None if number % 3 == 1 else TEXTS[(number + 3) % len(TEXTS)],
        )
        for number in range(2 * len(TEXTS) + 1)
    )


def sitemap(case: Case, **attributes: Any) -> Any:
    declared = {"model": Post, "location": Route("number", F("pk")), case.hook: staticmethod(case.method)}
    return type("CorpusSitemap", (ModelSitemap,), {**declared, **attributes})


def check_bytes(case: Case, code: str, using: str) -> None:
    """Compare a method with its declaration on all rows."""
    rows = Post.objects.using(using)
    if case.assumed:
        rows = rows.filter(**{f"{case.assumed}__isnull": False})
    old = sitemap(case, queryset=rows)
    new = type("Declared", (old,), {case.hook: eval(code, NAMES)})  # noqa: S307 our own code
    assert Sample("corpus", BASE).compare(old(), new()) > 3


@pytest.mark.django_db
@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_method_becomes_a_declaration_or_stays_for_a_reason(case: Case) -> None:
    create_rows("default", only_plain=True)
    found = suggestion(sitemap(case, queryset=Post.objects.filter(number__in=(1, 2, 3))))
    notes = " ".join(found.notes)
    lines = [line.strip() for line in (found.code or "").splitlines()]
    codes = [line.partition(" = ")[2] for line in lines if line.startswith(f"{case.hook} = ")]
    assert codes == ([] if case.code is None else [case.code]), notes
    assert case.reason in notes
    assert (f"No item has NULL in `{case.assumed}`" in notes) == bool(case.assumed)


def test_the_declarations_have_the_same_bytes_on_each_database(using: str) -> None:
    create_rows(using)
    for case in CASES:
        if case.code is not None:
            check_bytes(case, case.code, using)


def test_a_third_of_the_corpus_hides_conditions_and_nine_in_ten_plain_methods_are_declared() -> None:
    assert len(CASES) >= 150
    hidden = [case for case in CASES if case.form.startswith("Hidden")]
    assert len(hidden) * 3 >= len(CASES)
    plain = [case for case in CASES if case.form in ("Chains", "Reverse", "Formats")]
    assert sum(case.code is not None for case in plain) >= 0.9 * len(plain)
