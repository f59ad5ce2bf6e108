"""Methods as projects write them: a suggestion is right on rows that did not exist when it was made."""

from __future__ import annotations

import sys

import pytest
from django.db.models import F

from django_sitemaps09 import ModelSitemap, Route
from django_sitemaps09.suggestions.declarations import declaration
from django_sitemaps09.suggestions.row_comparison import compare_rows
from tests.suggestions.blog.rows import suggestion
from tests.suggestions.corpus import CASES, columns, hidden, shortened  # noqa: F401 define the cases
from tests.suggestions.corpus.rows import create_rows
from tests.support.sources import BASE

pytestmark = [pytest.mark.urls("tests.suggestions.blog.urls"), pytest.mark.sitemaps09()]

PARTS = 4
HIDDEN = ("HiddenInText", "HiddenElsewhere", "HiddenInHelpers", "HiddenInSitemaps")
PLAIN = ("Chains", "Reverse", "Formats", "Followed")
# The URLs of these methods are invalid for most rows.
UNLISTED = (
    'f"/posts/{self.slug}/#comments"',
    'reverse("no-such-name", args=[self.slug])',
    'reverse("number", args=[self.slug])',
)


@pytest.fixture
def section_of(monkeypatch):
    def section_of(case, using="default"):
        rows = hidden.Helpers.objects.using(using).annotate(**case.annotations)
        attributes = {"queryset": rows, "location": Route("number", F("pk"))}
        method = case.method
        if not case.takes_item:
            monkeypatch.setattr(hidden.Helpers, "get_absolute_url", case.method)
            method = ModelSitemap.location if case.hook == "location" else text_of_the_model
        return type("CorpusSitemap", (ModelSitemap,), {**attributes, case.hook: method})

    return section_of


def text_of_the_model(self, item):
    return item.get_absolute_url()


def declared(code, hook):
    lines = (code or "").splitlines()
    return next((line.partition(" = ")[2] for line in lines if line.startswith(f"{hook} = ")), None)


@pytest.mark.django_db
@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_method_becomes_a_declaration_or_stays_for_a_reason(case, section_of):
    found = suggestion(section_of(case))
    if case.reason is None:
        assert shortened(declared(found.code, case.hook) or "") == case.text.removeprefix("Empty: "), (
            found.notes
        )
    else:
        assert found.code is None
        # The code of an f-string depends on the version of Python.
        reason = case.reason if sys.version_info >= (3, 13) else case.reason.partition("`")[0]
        assert reason in shortened(found.notes[0])


@pytest.mark.parametrize("part", range(PARTS))
def test_a_suggestion_is_right_on_rows_that_are_made_later(using, part, section_of):
    suggestions = {}
    for case in CASES[part::PARTS]:
        code = declared(suggestion(section_of(case, using)).code, case.hook)
        if code is not None:
            suggestions[case] = code
    create_rows(using)
    # The usual collations of MariaDB do not compare texts exactly.
    assert len(suggestions) >= 100 / PARTS
    for case, code in suggestions.items():
        old = section_of(case, using)
        new = type("Declared", (old,), {case.hook: declaration(code)})
        comparison = compare_rows(old(), new(), BASE)
        assert comparison.differences == (), (str(case), code)
        assert comparison.rows > 3 or case.body in UNLISTED, case


def test_a_third_of_the_corpus_hides_conditions_and_nine_in_ten_plain_methods_are_declared():
    hides = [case for case in CASES if case.form in HIDDEN]
    assert len(hides) * 3 >= len({(case.form, case.body) for case in CASES}) >= 200
    # A location that can be empty is declared for another hook.
    plain = [case for case in CASES if case.form in PLAIN]
    plain = [case for case in plain if not (case.can_be_empty and case.hook == "location")]
    assert len(plain) >= 80
    assert sum(case.reason is None for case in plain) >= 0.9 * len(plain)
