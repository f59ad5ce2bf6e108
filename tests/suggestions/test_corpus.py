"""Methods as projects write them: a suggestion is right on rows that did not exist when it was made."""

from __future__ import annotations

import sys
import uuid
from datetime import date, datetime, timedelta, timezone
from itertools import cycle
from typing import Any

import pytest
from django.db.models import F

from django_sitemaps09 import ModelSitemap, Route
from django_sitemaps09.suggestions.declarations import declaration
from django_sitemaps09.suggestions.row_comparison import compare_rows
from tests.suggestions.blog.models import Author, Entry, Section, Team
from tests.suggestions.blog.rows import suggestion
from tests.suggestions.corpus import (  # noqa: F401 define the cases
    CASES,
    Case,
    conditional_values,
    hidden_conditions,
    locations,
    other_hooks,
    plain_methods,
)
from tests.suggestions.corpus.helpers import Helpers
from tests.support.sources import BASE

pytestmark = [
    pytest.mark.urls("tests.suggestions.blog.urls"),
    pytest.mark.sitemaps09(),
]

PARTS = 4
HIDDEN = ("HiddenInText", "HiddenElsewhere", "HiddenInHelpers", "HiddenInSitemaps")
# The URLs of these methods are invalid for most rows.
UNLISTED = ("anchor", "unknown_name", "text_where_a_number_is_expected")
PLAIN = ("Chains", "Reverse", "Formats", "Followed", "PlainChains", "PlainReverse", "PlainFormats")
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


def create_rows(using: str) -> None:
    """Create rows with all kinds of values."""
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


def sitemap(case: Case, using: str, monkeypatch: pytest.MonkeyPatch) -> Any:
    attributes: dict[str, Any] = {"queryset": Helpers.objects.using(using)}
    if case.takes_item:
        attributes[case.hook] = case.method
    else:
        monkeypatch.setattr(Helpers, "get_absolute_url", case.method)
    if case.hook != "location":
        attributes["location"] = Route("number", F("pk"))
    return type("CorpusSitemap", (ModelSitemap,), attributes)


def declared(code: str | None, hook: str) -> str | None:
    lines = (code or "").splitlines()
    return next((line.partition(" = ")[2] for line in lines if line.startswith(f"{hook} = ")), None)


@pytest.mark.django_db
@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_method_becomes_a_declaration_or_stays_for_a_reason(
    case: Case, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = suggestion(sitemap(case, "default", monkeypatch))
    if case.is_refused:
        assert found.code is None
        reason = case.expected.removeprefix("Refused: ")
        # The code of an f-string depends on the version of Python.
        assert (reason if sys.version_info >= (3, 13) else reason.partition("`")[0]) in found.notes[0]
    else:
        assert declared(found.code, case.hook) == case.expected, found.notes


@pytest.mark.parametrize("part", range(PARTS))
def test_a_suggestion_is_right_on_rows_that_are_made_later(
    using: str, part: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    suggestions = {}
    for case in CASES[part::PARTS]:
        code = declared(suggestion(sitemap(case, using, monkeypatch)).code, case.hook)
        if code is not None:
            suggestions[case] = code
    create_rows(using)
    # The usual collations of MariaDB do not compare texts exactly.
    assert len(suggestions) >= 120 / PARTS
    for case, code in suggestions.items():
        old = sitemap(case, using, monkeypatch)
        new = type("Declared", (old,), {case.hook: declaration(code)})
        comparison = compare_rows(old(), new(), BASE)
        assert comparison.differences == (), (str(case), code)
        assert comparison.rows > 3 or case.name in UNLISTED, case


def test_a_third_of_the_corpus_hides_conditions_and_nine_in_ten_plain_methods_are_declared() -> None:
    assert len(CASES) >= 200
    hidden = [case for case in CASES if case.form in HIDDEN]
    assert len(hidden) * 3 >= len(CASES)
    plain = [case for case in CASES if case.form in PLAIN]
    assert len(plain) >= 100
    assert sum(not case.is_refused for case in plain) >= 0.9 * len(plain)
