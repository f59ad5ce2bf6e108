"""Log lines about the steps of live requests: each result, once, in one form and on one logger."""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Callable
from inspect import getsource
from pathlib import Path
from typing import Any, TypeAlias

import pytest
from django.core.cache import caches
from django.test import Client

from django_sitemaps09.export import export
from django_sitemaps09.views import caching
from django_sitemaps09.views.live import kept_pages, listing, memo, renewal
from tests.docs.pages import PAGES
from tests.models import Article
from tests.support.articles import Articles, write_keys
from tests.support.clock import SecondsClock
from tests.support.configuration import Configure, Register
from tests.support.sections import Numbers

pytestmark = [pytest.mark.django_db, pytest.mark.sitemaps09]

LOGGER = "django_sitemaps09.views"
LINE = re.compile(r"(.+): (.+) in \d+\.\d{4} seconds(?:, (\d+ [a-z]+))?")
PAGE = "/sitemap-articles-1.xml"
INDEX = "/sitemap.xml"
LISTING = "Section 'articles', listing"
FIRST = "Section 'articles', page 1"
FILES = "django.core.cache.backends.filebased.FileBasedCache"


@pytest.fixture(autouse=True)
def _articles(
    register: Register, settings: Any, tmp_path: Path, configure: Configure, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Eight articles, and two caches that are shared without a server."""
    write_keys(*range(1, 9))
    register(articles=Articles, numbers=Numbers(3))
    settings.CACHES = {
        alias: {"BACKEND": FILES, "LOCATION": str(tmp_path / alias)} for alias in ("default", "pages")
    }
    configure(LIVE_SECONDS=0)
    monkeypatch.setattr(kept_pages._live_cache, "paused_until", 0.0)


def etag(url: str = PAGE) -> str:
    return Client().get(url).headers["ETag"]


@pytest.fixture
def lines(caplog: pytest.LogCaptureFixture) -> Callable[[str], list[str]]:
    """Request a page, and return the log lines on a subject without their times."""

    def request(subject: str, url: str = PAGE, **headers: str) -> list[str]:
        caplog.clear()
        with caplog.at_level(logging.DEBUG, LOGGER):
            # The file of a response is open until all of it has been read.
            Client().get(url, headers=headers).getvalue()
        records = [record for record in caplog.records if record.levelno == logging.DEBUG]
        assert {record.name for record in records if record.name.startswith("django_s")} == {LOGGER}
        found = [LINE.fullmatch(record.getMessage()) for record in records if record.name == LOGGER]
        assert all(found)
        return [
            ", ".join(filter(None, match.groups()[1:])) for match in found if match and match[1] == subject
        ]

    return request


Lines: TypeAlias = Callable[..., list[str]]


def test_a_listing_is_renewed_and_then_found(lines: Lines, configure: Configure) -> None:
    configure(LIVE_SECONDS=60)
    assert [lines(LISTING, INDEX) for _ in range(2)] == [["renewed, 1 page"], ["hit, 1 page"]]


def test_a_listing_is_extended_and_renewed_when_it_is_old(
    lines: Lines, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines(LISTING, INDEX)
    write_keys(*range(9, 20))
    assert lines(LISTING, INDEX) == ["extended, 2 pages"]
    monkeypatch.setattr(listing, "time", SecondsClock(time.time() + renewal.AGE))
    assert lines(LISTING, INDEX) == ["renewed, 2 pages"]


@pytest.mark.parametrize("result", ["outdated", "waited"])
def test_a_listing_is_outdated_or_waited_for_while_another_request_makes_it(
    lines: Lines, monkeypatch: pytest.MonkeyPatch, result: str
) -> None:
    lines(LISTING, INDEX)
    monkeypatch.setattr(caching.Lock, "acquire", lambda self: False)
    if result == "outdated":
        monkeypatch.setattr(listing, "time", SecondsClock(time.time() + renewal.AGE))
    else:
        listing._kept.clear()
        # The first readings are from before the other request stored the listing.
        read, is_made = listing.read, iter([False, False])
        monkeypatch.setattr(
            listing, "read", lambda *args, **options: read(*args) if next(is_made, True) else None
        )
    assert lines(LISTING, INDEX) == [f"{result}, 1 page"]


@pytest.mark.parametrize(
    ("subject", "url", "result"),
    [
        ("Section 'articles', page 7", "/sitemap-articles-7.xml", "unknown number"),
        (f"{FIRST[:-1]}after 5", "/sitemap-articles.after.5.AAAAAAAAAA.xml", "wrong signature"),
    ],
)
def test_a_page_that_does_not_exist_says_why(lines: Lines, subject: str, url: str, result: str) -> None:
    assert lines(subject, url) == [result]


def test_a_fingerprint_is_read_known_and_then_outdated_while_another_request_reads_it(
    lines: Lines, configure: Configure, monkeypatch: pytest.MonkeyPatch
) -> None:
    configure(LIVE_SECONDS=60)
    known = etag()
    memo._entries.clear()
    assert lines(FIRST, if_none_match=known)[0] == "fingerprint read, 8 rows"
    assert lines(FIRST, if_none_match=known)[0] == "fingerprint known"
    monkeypatch.setattr(memo, "time", SecondsClock(time.time() + 100))
    monkeypatch.setattr(caching.Lock, "acquire", lambda self: False)
    assert lines(FIRST, if_none_match=known)[0] == "fingerprint outdated"


class TestARenderedPage:
    @pytest.fixture(autouse=True)
    def _kept(self, configure: Configure) -> None:
        configure(LIVE_CACHE="pages")
        self.document = Client().get(PAGE).content
        self.size = len(Client().get(f"{PAGE}.gz").content)

    def test_is_rendered_and_stored_and_then_found(self, lines: Lines) -> None:
        caches["pages"].clear()
        rendered, stored = f"rendered, {len(self.document)} bytes", f"stored, {self.size} bytes"
        assert lines(FIRST)[1:] == [rendered, stored, "status 200"]
        assert lines(FIRST)[1:] == [f"hit, {self.size} bytes", "status 200"]

    def test_is_outdated_while_another_request_renders_it(
        self, lines: Lines, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        Article.objects.filter(slug="s3").update(slug="other")
        monkeypatch.setattr(caching.Lock, "acquire", lambda self: ":page:" not in self.name)
        assert lines(FIRST)[1:] == [f"outdated, {self.size} bytes", "status 200"]

    def test_is_waited_for_while_another_request_renders_it(
        self, lines: Lines, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        read, is_stored, acquired = kept_pages.CachedCopy._read, iter([False]), iter([False, True])
        monkeypatch.setattr(
            kept_pages.CachedCopy, "_read", lambda page: read(page) if next(is_stored, True) else None
        )
        monkeypatch.setattr(
            caching.Lock, "acquire", lambda self: ":page:" not in self.name or next(acquired)
        )
        assert lines(FIRST)[1:] == [f"waited, {self.size} bytes", "status 200"]


def test_a_conditional_request_says_what_has_answered_it(lines: Lines) -> None:
    assert lines(FIRST, if_none_match=etag())[1:] == ["status 304 by fingerprint"]
    assert lines(FIRST, if_match='"other"')[1:] == ["status 412 by fingerprint"]
    assert lines("Index", INDEX, if_none_match=etag(INDEX)) == ["status 304 by content"]
    assert lines("Index", INDEX) == ["status 200"]
    url = "/sitemap-numbers-1.xml"
    rendered, status = lines("Section 'numbers', page 1", url, if_none_match=etag(url))
    assert (rendered[:10], status) == ("rendered, ", "status 304 by content")


def test_an_exported_file_needs_one_step(lines: Lines, configure: Configure, folder: Path) -> None:
    configure(ROOT=folder, SERVE_EXPORTED=True)
    export()
    response: Any = Client().get(f"{PAGE}.gz")
    assert response.getvalue()
    subject = "File 'sitemap-articles-1.xml.gz'"
    assert lines(subject, f"{PAGE}.gz") == ["status 200"]
    known = response.headers["ETag"]
    assert lines(subject, f"{PAGE}.gz", if_none_match=known) == ["status 304 by file"]


def test_every_result_is_documented() -> None:
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
    assert len(shown) == 4
    assert all(map(LINE.fullmatch, shown))
    rows = [line.split("|")[2] for line in text.splitlines() if line.startswith("|")]
    documented = {name for row in rows for name in re.findall(r"`([^`]+)`", row)}
    assert {name for name in documented if not name.startswith("status")} == logged
    assert {name for name in documented if name.startswith("status")} == {
        "status 200",
        "status 304 by fingerprint",
        "status 304 by content",
        "status 304 by file",
    }
