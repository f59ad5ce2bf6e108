"""Methods as projects write them: a suggestion is right on rows that did not exist when it was made."""

from __future__ import annotations

import sys
from typing import Any

import pytest
from django.db.models import F

from django_sitemaps09 import ModelSitemap, Route
from django_sitemaps09.suggestions.declarations import declaration
from django_sitemaps09.suggestions.row_comparison import compare_rows
from tests.suggestions.blog.rows import suggestion
from tests.suggestions.corpus import (  # noqa: F401 define the cases
    CASES,
    Case,
    annotations,
    conditional_values,
    hidden_conditions,
    locations,
    other_hooks,
    plain_methods,
)
from tests.suggestions.corpus.helpers import Helpers
from tests.suggestions.corpus.rows import create_rows
from tests.support.sources import BASE

pytestmark = [pytest.mark.urls("tests.suggestions.blog.urls"), pytest.mark.sitemaps09()]

PARTS = 4
HIDDEN = ("HiddenInText", "HiddenElsewhere", "HiddenInHelpers", "HiddenInSitemaps")
# The URLs of these methods are invalid for most rows.
UNLISTED = (
    'f"/posts/{self.slug}/#comments"',
    'reverse("no-such-name", args=[self.slug])',
    'reverse("number", args=[self.slug])',
)
PLAIN = ("Chains", "Reverse", "Formats", "Followed", "PlainChains", "PlainReverse", "PlainFormats")


def sitemap(case: Case, using: str, monkeypatch: pytest.MonkeyPatch) -> Any:
    attributes: dict[str, Any] = {"queryset": Helpers.objects.using(using).annotate(**case.annotations)}
    if case.takes_item:
        attributes[case.hook] = case.method
    else:
        monkeypatch.setattr(Helpers, "get_absolute_url", case.method)
        if case.hook != "location":
            attributes[case.hook] = text_of_the_model
    if case.hook != "location":
        attributes["location"] = Route("number", F("pk"))
    return type("CorpusSitemap", (ModelSitemap,), attributes)


def text_of_the_model(self: Any, item: Any) -> Any:
    return item.get_absolute_url()


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
        assert comparison.rows > 3 or case.body in UNLISTED, case


def test_a_third_of_the_corpus_hides_conditions_and_nine_in_ten_plain_methods_are_declared() -> None:
    assert len(CASES) >= 200
    hidden = [case for case in CASES if case.form in HIDDEN]
    assert len(hidden) * 3 >= len({(case.form, case.body) for case in CASES})
    # A location that can be empty is declared for another hook.
    empty = [case for case in CASES if case.can_be_empty and case.hook == "location"]
    plain = [case for case in CASES if case.form in PLAIN and case not in empty]
    assert len(plain) >= 100
    assert sum(not case.is_refused for case in plain) >= 0.9 * len(plain)
