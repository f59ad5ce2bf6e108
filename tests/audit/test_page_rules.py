"""Audits that request pages."""

from __future__ import annotations

import time
from typing import Any

import pytest
from django.http import HttpRequest, HttpResponse
from django.urls import path

from django_sitemaps09 import views
from django_sitemaps09.audit import audit
from tests.support.answers import site
from tests.support.site_files import sound, write


def test_a_sample_has_the_requested_size() -> None:
    with site() as base:
        assert audit(base, fetch=2, rate=0).pages == 2
        assert audit(base, fetch=20, rate=0).pages == 3
        assert audit(base).pages == 0


def test_pages_are_not_requested_faster_than_the_rate(monkeypatch: pytest.MonkeyPatch) -> None:
    pauses: list[float] = []
    monkeypatch.setattr(time, "sleep", pauses.append)
    with site() as base:
        audit(base, fetch="all", rate=0.5)
    asked = [pause for pause in pauses if pause]
    # Each page after the first one waits for the rest of two seconds, counted from the last request.
    assert len(asked) == 2
    assert all(pause <= 2 for pause in asked)


# Pages of this project


def fine(request: HttpRequest, word: str) -> HttpResponse:
    if word == "b":
        raise RuntimeError("the view is broken")
    response = HttpResponse(f'<link rel="canonical" href="{request.build_absolute_uri()}">')
    response.set_cookie("seen", word)
    assert "seen" not in request.COOKIES
    return response


urlpatterns = [
    path("robots.txt", views.robots_txt),
    path("words/<str:word>/", fine),
    path("about/", lambda request: HttpResponse("text")),
]


@pytest.mark.sitemaps09
@pytest.mark.urls("tests.audit.test_page_rules")
def test_pages_of_a_folder_are_requested_from_this_project(tmp_path: Any) -> None:
    report = audit(directory=write(tmp_path, sound()), fetch="all")
    assert [(finding.rule, finding.count) for finding in report.findings] == [("page-status", 1)]
    assert "words/b/ (500)" in report.findings[0].examples[0]
    assert report.pages == 3
