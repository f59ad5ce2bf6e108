"""Keys for IndexNow, and the report of a submission."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from django_sitemaps09.notify import EndpointReport, Submission
from django_sitemaps09.notify.engines import Outcome, all_keys, key_for

pytestmark = pytest.mark.sitemaps09


def test_a_single_key_applies_to_every_host(configure: Callable[..., None]) -> None:
    configure(INDEXNOW_KEY="0123456789")
    assert key_for("a.b") == key_for("c.d") == "0123456789"
    assert [*all_keys()] == ["0123456789"]


def test_each_outcome_is_counted_and_a_problem_stays() -> None:
    report = EndpointReport("indexnow", "https://a.b/", "c.d")
    for verdict, problem in (("rejected", "bad"), ("accepted", None), ("pending", None)):
        report.count(Outcome(verdict, problem), 2)  # type: ignore[arg-type]
    assert (report.accepted, report.rejected, report.pending, report.problem) == (2, 2, 2, "bad")


def test_json_has_the_failures_and_times_with_a_zone() -> None:
    report = EndpointReport("ping", "https://a.b/", "c.d", pending=1, problem="bad", resumes=0.0)
    waiting = EndpointReport("ping", "https://a.b/", "c.d", resumes=1_800_000_000.0)
    document = json.loads(json.dumps(Submission("public", (report, waiting), 0.5, dropped=1).as_dict()))
    assert document["endpoints"][1]["resumes"] == "2027-01-15T08:00:00+00:00"
    assert document["failures"] == [
        "https://a.b/ (c.d): bad",
        "public: URLs dropped, because more than INDEXNOW_MAX_URLS were pending: 1.",
    ]
