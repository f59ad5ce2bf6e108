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
from tests.docs.pages import PAGES
from tests.models import Article
from tests.support.articles import Articles, write_keys
from tests.support.configuration import SecondsClock
from tests.support.internals import caching, indexes, known_pages, listing
from tests.support.native_views import PAGE, get
from tests.support.sections import Numbers

pytestmark = [pytest.mark.django_db, pytest.mark.sitemaps09]
LOGGER, LINE = "django_sitemaps09.views", re.compile(r"(.+): (.+) in \d+\.\d{4} seconds(?:, (\d+ [a-z]+))?")
INDEX = "/sitemap.xml"
LISTING, FIRST = "Section 'articles', listing", "Section 'articles', page 1"


@pytest.fixture(autouse=True)
def _articles(register, settings, tmp_path, configure, monkeypatch):
    """Eight articles, and two caches that are shared without a server."""
    write_keys(*range(1, 9))
    register(articles=Articles, numbers=Numbers(3))
    backend = {"BACKEND": "django.core.cache.backends.filebased.FileBasedCache"}
    folders = {alias: str(tmp_path / alias) for alias in ("default", "pages")}
    settings.CACHES = {alias: {**backend, "LOCATION": folder} for alias, folder in folders.items()}
    configure(LIVE_SECONDS=0)
    monkeypatch.setattr(known_pages._live_cache, "paused_until", 0.0)


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
        is_free = lambda self: part not in self.name or next(free, False)  # noqa: E731
        monkeypatch.setattr(caching.Lock, "acquire", is_free)

    return take


def test_a_listing_says_how_it_was_found(lines, configure, monkeypatch, others_have_locks):
    configure(LIVE_SECONDS=60)
    results = [lines(LISTING, INDEX) for _ in range(2)]
    configure(LIVE_SECONDS=0)
    write_keys(*range(9, 20))
    results.append(lines(LISTING, INDEX))
    monkeypatch.setattr(listing, "time", SecondsClock(time.time() + indexes.AGE))
    results.append(lines(LISTING, INDEX))
    others_have_locks()
    monkeypatch.setattr(listing, "time", SecondsClock(time.time() + 2 * indexes.AGE))
    results.append(lines(LISTING, INDEX))
    listing._kept.clear()
    # The first readings are from before the other request stored the listing.
    read, is_made = listing.read, iter([False, False])
    monkeypatch.setattr(listing, "read", lambda *a, **o: read(*a) if next(is_made, True) else None)
    results.append(lines(LISTING, INDEX))
    assert results == [
        *(["renewed, 1 page"], ["hit, 1 page"], ["extended, 2 pages"], ["renewed, 2 pages"]),
        *(["outdated, 2 pages"], ["waited, 2 pages"]),
    ]


def test_a_fingerprint_is_read_known_and_then_outdated(lines, configure, monkeypatch, others_have_locks):
    configure(LIVE_SECONDS=60)
    known = get(PAGE)["ETag"]
    known_pages._entries.clear()
    results = [lines(FIRST, if_none_match=known)[0] for _ in range(2)]
    monkeypatch.setattr(known_pages, "time", SecondsClock(time.time() + 100))
    others_have_locks()
    results += lines(FIRST, if_none_match=known)[:1]
    assert results == ["fingerprint read, 8 rows", "fingerprint known", "fingerprint outdated"]


def test_a_rendered_page_says_how_it_was_found(lines, configure, monkeypatch, others_have_locks):
    configure(LIVE_CACHE="pages")
    document, size = get(PAGE).content, len(get(f"{PAGE}.gz").content)
    caches["pages"].clear()
    rendered, stored = f"rendered, {len(document)} bytes", f"stored, {size} bytes"
    results = [lines(FIRST)[1:] for _ in range(2)]
    assert results == [[rendered, stored, "status 200"], [f"hit, {size} bytes", "status 200"]]
    others_have_locks(":page:")
    Article.objects.filter(slug="s3").update(slug="other")
    assert lines(FIRST)[1:] == [f"outdated, {size} bytes", "status 200"]
    Article.objects.filter(slug="other").update(slug="s3")
    kept, is_stored = known_pages.CachedCopy, iter([False])
    read = kept._read
    monkeypatch.setattr(kept, "_read", lambda page: read(page) if next(is_stored, True) else None)
    others_have_locks(":page:", then_free=[False, True])
    assert lines(FIRST)[1:] == [f"waited, {size} bytes", "status 200"]


def test_a_request_says_what_has_answered_it_or_why_its_page_does_not_exist(lines, configure, folder):
    number, keys = "/sitemap-articles-7.xml", "/sitemap-articles.after.5.AAAAAAAAAA.xml"
    assert lines("Section 'articles', page 7", number) == ["unknown number"]
    assert lines("Section 'articles', page after 5", keys) == ["wrong signature"]
    assert lines(FIRST, if_none_match=get(PAGE)["ETag"])[1:] == ["status 304 by fingerprint"]
    assert lines(FIRST, if_match='"other"')[1:] == ["status 412 by fingerprint"]
    assert lines("Index", INDEX, if_none_match=get(INDEX)["ETag"]) == ["status 304 by content"]
    assert lines("Index", INDEX) == ["status 200"]
    url = "/sitemap-numbers-1.xml"
    rendered, status = lines("Section 'numbers', page 1", url, if_none_match=get(url)["ETag"])
    assert (rendered[:10], status) == ("rendered, ", "status 304 by content")
    # An exported file needs one step.
    configure(ROOT=folder, SERVE_EXPORTED=True)
    export()
    url = f"{PAGE}.gz"
    assert lines(f"File {url[1:]!r}", url, if_none_match=get(url)["ETag"]) == ["status 304 by file"]
    assert lines(f"File {url[1:]!r}", url) == ["status 200"]


def test_every_result_is_documented():
    """The table lists the results that the modules log, and no others."""
    code = "".join(path.read_text() for path in Path(indexes.__file__).parent.rglob("*.py"))
    calls = ",\n".join(re.findall(r"(?<!def )\blog\(([^\n]+)\)", code)) + ","
    logged = {*re.findall(r'"((?:fingerprint |unknown |wrong )?[a-z]{3,})"(?!\))', calls)} - {"page", "row"}
    # A fingerprint is also a value that one request builds at a time.
    logged |= {f"fingerprint {result}" for result in re.findall(r'\blog\("(\w+)"', getsource(caching.once))}
    text = PAGES["docs/howto/cache.md"].partition("## Log lines")[2]
    shown = text.split("```")[1].splitlines()[1:]
    assert (len(shown), all(map(LINE.fullmatch, shown))) == (4, True)
    rows = [line.split("|")[2] for line in text.splitlines() if line.startswith("|")]
    statuses = {"status 200", *(f"status 304 by {name}" for name in ("fingerprint", "content", "file"))}
    assert {name for row in rows for name in re.findall(r"`([^`]+)`", row)} == logged | statuses
