"""Audits that request pages."""

from __future__ import annotations

import time
from typing import Any

import pytest
from django.http import HttpRequest, HttpResponse
from django.urls import path

from django_sitemaps09 import views
from django_sitemaps09.audit import audit
from tests.support.answers import Answer, site
from tests.support.broken_sites import sound, write

HTML = {"Content-Type": "text/html; charset=utf-8"}


def html(head: str) -> Answer:
    return Answer(f"<!doctype html><html><head>{head}</head><body>Text</body></html>", 200, HTML)


def noindex_within(size: int) -> Answer:
    """Return a page whose first `size` bytes end with an element that forbids indexing."""
    start, end = "<!doctype html><html><head><!--", '--><meta name="robots" content="noindex">'
    return Answer(f"{start}{end:x>{size - len(start)}}", 200, HTML)


#: The page /words/a/, whose lastmod is 2026-01-31, and the rules that it breaks.
PAGES: dict[str, tuple[Answer, set[str]]] = {
    "a page without a head": (Answer("text"), set()),
    "an empty page": (Answer("", 200, HTML), set()),
    "a missing page": (Answer("", 404), {"page-status"}),
    "a page with an error": (Answer("", 500), {"page-status"}),
    "a page with choices": (Answer("", 300, {"Location": "/words/b/"}), {"page-redirect"}),
    "a page that redirects": (Answer("", 301, {"Location": "/words/b/"}), {"page-redirect"}),
    "noindex in a header": (Answer("", 200, {"X-Robots-Tag": "noindex, nofollow"}), {"page-noindex"}),
    "noindex for one agent": (Answer("", 200, {"X-Robots-Tag": "googlebot: noindex"}), {"page-noindex"}),
    "nofollow in a header": (Answer("", 200, {"X-Robots-Tag": "nofollow"}), set()),
    "noindex in a meta element": (html('<META NAME="Robots" content="NoIndex">'), {"page-noindex"}),
    "none in a meta element": (html('<meta name="googlebot" content="none">'), {"page-noindex"}),
    "noindex in the first two million bytes": (noindex_within(2_000_000), {"page-noindex"}),
    "noindex after the first two million bytes": (noindex_within(2_000_001), set()),
    "no image index": (html('<meta name="robots" content="noimageindex">'), set()),
    "another canonical URL": (html('<link rel="canonical" href="/words/b/">'), {"page-canonical"}),
    "its own canonical URL": (html('<link rel="canonical" href="/words/a/">'), set()),
    "a newer Last-Modified": (
        Answer("", 200, {"Last-Modified": "Tue, 03 Feb 2026 10:00:00 GMT"}),
        {"page-newer"},
    ),
    "a newer Last-Modified with an offset": (
        Answer("", 200, {"Last-Modified": "Tue, 3 Feb 2026 10:00:00 +0100"}),
        {"page-newer"},
    ),
    "the same day": (Answer("", 200, {"Last-Modified": "Sat, 31 Jan 2026 20:00:00 GMT"}), set()),
    "an invalid Last-Modified": (Answer("", 200, {"Last-Modified": "yesterday"}), set()),
    "a newer time in a meta element": (
        html('<meta property="article:modified_time" content="2026-03-01T10:00:00Z">'),
        {"page-newer"},
    ),
    "an unknown charset": (Answer("<p>a", 200, {"Content-Type": "text/html; charset=x-bogus"}), set()),
    "a body that is cut short": (
        Answer("<p>a", 200, HTML | {"Content-Length": "100"}),
        {"page-unreachable"},
    ),
}


@pytest.mark.parametrize("name", PAGES)
def test_a_page_breaks_exactly_the_expected_rules(name: str) -> None:
    answer, rules = PAGES[name]
    with site(lambda base: {"words/a/": answer, "words/b/": "text", "about/": "text"}) as base:
        report = audit(base, fetch="all", rate=0)
    assert {finding.rule for finding in report.findings} == rules
    assert report.pages == 3


def test_a_finding_names_the_page_and_the_line_that_lists_it() -> None:
    with site(lambda base: {"words/b/": "text", "about/": "text"}) as base:
        [finding] = audit(base, fetch="all", rate=0).findings
    assert finding.examples == (f"{base}/sitemap-a-1.xml:3: {base}/words/a/ (404)",)


def test_a_finding_quotes_what_forbids_indexing() -> None:
    page = Answer("", 200, {"X-Robots-Tag": "noindex"})
    with site(lambda base: {"words/a/": page, "words/b/": "text", "about/": "text"}) as base:
        [finding] = audit(base, fetch="all", rate=0).findings
    assert finding.examples[0].endswith(f"{base}/words/a/ (X-Robots-Tag: noindex)")


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
