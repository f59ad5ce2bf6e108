"""Audits over HTTP, of a real local server."""

from __future__ import annotations

from typing import Any

import pytest

from django_sitemaps09.audit import audit, readers
from django_sitemaps09.exceptions import AuditError
from tests.support.answers import Answer, site
from tests.support.site_files import OTHER, PAGE, url, urlset


def broken_rules(start: str, **options: Any) -> set[str]:
    return {finding.rule for finding in audit(start, **options).findings}


@pytest.mark.parametrize("path", ["", "/", "/robots.txt", "/sitemap.xml"])
def test_an_audit_starts_from_a_site_a_robots_txt_or_an_index(path: str) -> None:
    with site() as base:
        report = audit(f"{base}{path}")
        assert (report.target, report.documents, report.urls) == (f"{base}{path}", 3, 3)
        assert report.findings == ()


def test_an_audit_of_one_sitemap_reads_no_other_document() -> None:
    with site() as base:
        assert audit(f"{base}/{OTHER}").documents == 1


def test_a_server_that_does_not_respond_in_time_is_unreachable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(readers, "READ_SECONDS", 0.1)
    with site(lambda base: {OTHER: Answer("", seconds=1)}) as base:
        assert broken_rules(base) == {"document-unreachable"}


def test_a_document_that_takes_too_long_is_unreachable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(readers, "DOCUMENT_SECONDS", 0.0)
    with site() as base:
        assert broken_rules(f"{base}/{PAGE}") == {
            "robots-unreachable",
            "document-unreachable",
        }


def test_a_server_that_does_not_exist_is_unreachable() -> None:
    with site() as base:
        pass
    assert "document-unreachable" in broken_rules(base)


@pytest.mark.parametrize("start", ["ftp://example.com/", "sitemap.xml", "https://", "file:///etc/hostname"])
def test_only_http_urls_are_accepted(start: str) -> None:
    with pytest.raises(AuditError, match="is not a URL"):
        audit(start)


def test_redirects_never_lead_from_https_to_http(monkeypatch: pytest.MonkeyPatch) -> None:
    """A local server has no certificate, so the answers are those of a pool."""
    reader = readers.HttpReader()

    class Redirect:
        status = 302
        headers = {"Location": "http://www.example.com/sitemap.xml"}

        def close(self) -> None:
            """Do nothing."""

    monkeypatch.setattr(reader, "_request", lambda url: Redirect())
    with (
        pytest.raises(readers.DocumentError, match="redirects to http://www"),
        reader.open("https://www.example.com/sitemap.xml"),
    ):
        pass
    reader.close()


def test_urls_of_another_host_are_valid_if_its_robots_txt_lists_the_document() -> None:
    """Cross-submission: https://www.sitemaps.org/protocol.html#location"""
    documents: dict[str, str] = {}
    with (
        site(lambda base: documents) as files,
        site(lambda base: {"robots.txt": f"Sitemap: {files}/files.xml"}) as own,
    ):
        documents["files.xml"] = urlset(url(base=own))
        assert broken_rules(f"{files}/files.xml") == set()
        assert broken_rules(own) == set()
    with site() as other, site(lambda base: documents) as files:
        # Its robots.txt lists another sitemap.
        documents["files.xml"] = urlset(url(base=other))
        assert broken_rules(f"{files}/files.xml") == {"url-host"}
