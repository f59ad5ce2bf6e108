"""Log lines about the steps of live requests: each result, once, in one form and on one logger."""

from __future__ import annotations

import logging
import re
import time
from inspect import getsource
from pathlib import Path

import pytest
from django.core.cache import caches

from django_sitemaps09.export import export
from django_sitemaps09.views import caching
from django_sitemaps09.views.live import kept_pages, listing, memo, renewal
from tests.docs.pages import PAGES
from tests.models import Article
from tests.support.articles import Articles, write_keys
from tests.support.clock import SecondsClock
from tests.support.native_views import PAGE, get
from tests.support.sections import Numbers

pytestmark = [pytest.mark.django_db, pytest.mark.sitemaps09]

LOGGER = "django_sitemaps09.views"
LINE = re.compile(r"(.+): (.+) in \d+\.\d{4} seconds(?:, (\d+ [a-z]+))?")
INDEX = "/sitemap.xml"
LISTING, FIRST = "Section 'articles', listing", "Section 'articles', page 1"


@pytest.fixture(autouse=True)
def _articles(register, settings, tmp_path, configure, monkeypatch):
    """Eight articles, and two caches that are shared without a server."""
    write_keys(*range(1, 9))
    register(articles=Articles, numbers=Numbers(3))
    backend = "django.core.cache.backends.filebased.FileBasedCache"
    settings.CACHES = {
        alias: {"BACKEND": backend, "LOCATION": str(tmp_path / alias)} for alias in ("default", "pages")
    }
    configure(LIVE_SECONDS=0)
    monkeypatch.setattr(kept_pages._live_cache, "paused_until", 0.0)


def etag(url=PAGE):
    return get(url)["ETag"]


@pytest.fixture
def lines(caplog):
    """Request a page, and return the log lines on a subject without their times."""

    def request(subject, url=PAGE, **headers):
        caplog.clear()
        with caplog.at_level(logging.DEBUG, LOGGER):
            get(url, **headers)
        records = [record for record in caplog.records if record.levelno == logging.DEBUG]
        assert {record.name for record in records if record.name.startswith("django_s")} == {LOGGER}
        found = [LINE.fullmatch(record.getMessage()) for record in records if record.name == LOGGER]
        return [", ".join(filter(None, match.groups()[1:])) for match in found if match[1] == subject]

    return request


@pytest.fixture
def others_have_locks(monkeypatch):
    """Return a function that lets other requests have the locks whose names have a part, except later."""

    def take(part="", then_free=None):
        free = iter(then_free or ())
        monkeypatch.setattr(
            caching.Lock, "acquire", lambda self: part not in self.name or next(free, False)
        )

    return take


def test_a_listing_is_renewed_found_extended_and_renewed_when_it_is_old(lines, configure, monkeypatch):
    configure(LIVE_SECONDS=60)
    assert [lines(LISTING, INDEX) for _ in range(2)] == [["renewed, 1 page"], ["hit, 1 page"]]
    configure(LIVE_SECONDS=0)
    write_keys(*range(9, 20))
    assert lines(LISTING, INDEX) == ["extended, 2 pages"]
    monkeypatch.setattr(listing, "time", SecondsClock(time.time() + renewal.AGE))
    assert lines(LISTING, INDEX) == ["renewed, 2 pages"]


@pytest.mark.parametrize("result", ["outdated", "waited"])
def test_a_listing_is_outdated_or_waited_for_while_another_request_makes_it(
    lines, monkeypatch, others_have_locks, result
):
    lines(LISTING, INDEX)
    others_have_locks()
    if result == "outdated":
        monkeypatch.setattr(listing, "time", SecondsClock(time.time() + renewal.AGE))
    else:
        listing._kept.clear()
        # The first readings are from before the other request stored the listing.
        read, is_made = listing.read, iter([False, False])
        monkeypatch.setattr(listing, "read", lambda *a, **o: read(*a) if next(is_made, True) else None)
    assert lines(LISTING, INDEX) == [f"{result}, 1 page"]


@pytest.mark.parametrize(
    ("label", "url", "result"),
    [
        ("7", "/sitemap-articles-7.xml", "unknown number"),
        ("after 5", "/sitemap-articles.after.5.AAAAAAAAAA.xml", "wrong signature"),
    ],
)
def test_a_page_that_does_not_exist_says_why(lines, label, url, result):
    assert lines(f"Section 'articles', page {label}", url) == [result]


def test_a_fingerprint_is_read_known_and_then_outdated_while_another_request_reads_it(
    lines, configure, monkeypatch, others_have_locks
):
    configure(LIVE_SECONDS=60)
    known = etag()
    memo._entries.clear()
    results = [lines(FIRST, if_none_match=known)[0] for _ in range(2)]
    monkeypatch.setattr(memo, "time", SecondsClock(time.time() + 100))
    others_have_locks()
    results += lines(FIRST, if_none_match=known)[:1]
    assert results == ["fingerprint read, 8 rows", "fingerprint known", "fingerprint outdated"]


class TestARenderedPage:
    @pytest.fixture(autouse=True)
    def _kept(self, configure):
        configure(LIVE_CACHE="pages")
        self.document, self.size = get(PAGE).content, len(get(f"{PAGE}.gz").content)

    def test_is_rendered_and_stored_and_then_found(self, lines):
        caches["pages"].clear()
        rendered, stored = f"rendered, {len(self.document)} bytes", f"stored, {self.size} bytes"
        assert lines(FIRST)[1:] == [rendered, stored, "status 200"]
        assert lines(FIRST)[1:] == [f"hit, {self.size} bytes", "status 200"]

    def test_is_outdated_while_another_request_renders_it(self, lines, others_have_locks):
        Article.objects.filter(slug="s3").update(slug="other")
        others_have_locks(":page:")
        assert lines(FIRST)[1:] == [f"outdated, {self.size} bytes", "status 200"]

    def test_is_waited_for_while_another_request_renders_it(self, lines, monkeypatch, others_have_locks):
        read, is_stored, kept = kept_pages.CachedCopy._read, iter([False]), kept_pages.CachedCopy
        monkeypatch.setattr(kept, "_read", lambda page: read(page) if next(is_stored, True) else None)
        others_have_locks(":page:", then_free=[False, True])
        assert lines(FIRST)[1:] == [f"waited, {self.size} bytes", "status 200"]


def test_a_conditional_request_says_what_has_answered_it(lines):
    assert lines(FIRST, if_none_match=etag())[1:] == ["status 304 by fingerprint"]
    assert lines(FIRST, if_match='"other"')[1:] == ["status 412 by fingerprint"]
    assert lines("Index", INDEX, if_none_match=etag(INDEX)) == ["status 304 by content"]
    assert lines("Index", INDEX) == ["status 200"]
    url = "/sitemap-numbers-1.xml"
    rendered, status = lines("Section 'numbers', page 1", url, if_none_match=etag(url))
    assert (rendered[:10], status) == ("rendered, ", "status 304 by content")


def test_an_exported_file_needs_one_step(lines, configure, folder):
    configure(ROOT=folder, SERVE_EXPORTED=True)
    export()
    url, known = f"{PAGE}.gz", etag(f"{PAGE}.gz")
    found = [lines(f"File {url[1:]!r}", url, **headers) for headers in ({}, {"if_none_match": known})]
    assert found == [["status 200"], ["status 304 by file"]]


def test_every_result_is_documented():
    """The table lists the results that the modules log, and no others."""
    folder = Path(renewal.__file__).parents[1]
    code = "".join(path.read_text() for path in folder.rglob("*.py"))
    logged = {
        result
        for arguments in re.findall(r"(?<!def )\blog\(([^\n]+)\)", code)
        for result in re.findall(r'"((?:fingerprint |unknown |wrong )?[a-z]{3,})"(?!\))', f"{arguments},")
    } - {"page", "row"}
    # A fingerprint is also a value that one request builds at a time.
    logged |= {f"fingerprint {result}" for result in re.findall(r'\blog\("(\w+)"', getsource(caching.once))}
    text = PAGES["docs/explanation/requests.md"].partition("## Log lines")[2]
    shown = text.split("```")[1].splitlines()[1:]
    assert (len(shown), all(map(LINE.fullmatch, shown))) == (4, True)
    rows = [line.split("|")[2] for line in text.splitlines() if line.startswith("|")]
    statuses = {
        "status 200",
        *(f"status 304 by {answerer}" for answerer in ("fingerprint", "content", "file")),
    }
    assert {name for row in rows for name in re.findall(r"`([^`]+)`", row)} == logged | statuses
