"""Correct sites of unusual shapes break no rule, and hostile ones cost little."""

from __future__ import annotations

import gzip
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from django.test import override_settings
from django.urls import get_script_prefix, set_script_prefix

from django_sitemaps09.audit import audit, documents, last_report
from django_sitemaps09.audit.audit_target import choose_target
from django_sitemaps09.audit.bodies import Response, content
from django_sitemaps09.audit.findings import Findings
from django_sitemaps09.audit.page_rules import PageRules
from django_sitemaps09.audit.robots_rules import RobotsLocation, read_robots
from django_sitemaps09.audit.scratch import Page
from django_sitemaps09.exceptions import DocumentError
from django_sitemaps09.protocol import parse_base
from tests.support.broken_sites import HEAD, OTHER, PAGE, SPACE, XHTML, index, sound, url, urlset, write
from tests.support.configuration import BASE
from tests.support.sections import Numbers

pytestmark = pytest.mark.sitemaps09


class Words(Numbers):
    def location(self, item: int) -> str:
        return f"{get_script_prefix()}words/{item}/"


class OneAnswer:
    """A reader with one answer for all URLs."""

    def __init__(self, body: bytes, **headers: str) -> None:
        self._body = body
        self._headers = {name.replace("_", "-"): value for name, value in headers.items()}

    @contextmanager
    def open(self, url: str, *, redirects: bool = True) -> Iterator[Response]:
        yield Response(url, 200, self._headers, iter([self._body]))

    def label(self, url: str) -> str:
        return url


def broken(folder: Path, **files: str | bytes) -> set[str]:
    names = {"page": PAGE, "other": OTHER, "index": "sitemap.xml"}
    write(folder, {**sound(), **{names[key]: value for key, value in files.items()}})
    return {finding.rule for finding in audit(directory=folder).findings}


def page_rules(body: str = "", **headers: str) -> set[str]:
    findings = Findings()
    reader = OneAnswer(f"<html><head>{body}</head></html>".encode(), content_type="text/html", **headers)
    PageRules(reader, findings, 0).check(Page(f"{BASE}/", None, "a:1"))
    return {finding.rule for finding in findings.result()}


@pytest.mark.parametrize("size", [1, 2, 20])
def test_a_server_can_send_a_document_in_small_pieces(size: int) -> None:
    body = urlset(url()).encode()
    found: list[str] = []
    pieces = (body[start : start + size] for start in range(0, len(body), size))
    batches = documents.batches(pieces, lambda rule, *_: found.append(rule), text=False)
    assert [entry.location for batch in batches for entry in batch.entries] == [f"{BASE}/words/a/"]
    assert found == []


def test_a_long_comment_can_precede_the_root_element(tmp_path: Path) -> None:
    comment = f"{HEAD}<!-- {'x' * 300_000} -->\n"
    assert broken(tmp_path, page=urlset(url()).replace(HEAD, comment)) == set()


def test_a_robots_txt_can_have_a_content_encoding() -> None:
    findings = Findings()
    body = gzip.compress(f"User-agent: *\nSitemap: {BASE}/sitemap.xml\n".encode())
    reader = OneAnswer(body, content_encoding="gzip")
    robots = read_robots(reader, RobotsLocation(parse_base(BASE)), ["*"], findings)
    assert robots.sitemaps == (f"{BASE}/sitemap.xml",)
    assert findings.result() == ()


def test_an_alternate_for_phones_has_no_language(tmp_path: Path) -> None:
    link = '<xhtml:link rel="alternate" media="only screen and (max-width: 640px)" href="{}"/>'
    root = f"{SPACE} {XHTML}"
    good = urlset(url(rest=link.format("https://m.example.com/a/")), root=root)
    assert broken(tmp_path, page=good) == set()
    assert broken(tmp_path, page=urlset(url(rest=link.format("/a/")), root=root)) == {"hreflang-link"}


@pytest.mark.parametrize(
    ("listed", "lastmod", "rules"),
    [
        # Both are local values of the same moment, two hours east of UTC.
        ("2026-01-31T00:30:00+02:00", "2026-01-31", set()),
        ("2026-01-31", "2026-01-31T23:30:00-10:00", set()),
        ("2026-01-30T00:30:00Z", "2026-01-31", {"index-lastmod"}),
        ("2026-01-31", "2026-02-02T00:00:00Z", {"index-lastmod"}),
        ("2026-01-31", "2026-02-01", {"index-lastmod"}),
    ],
)
def test_dates_in_an_index_are_in_an_unknown_time_zone(
    listed: str, lastmod: str, rules: set[str], tmp_path: Path
) -> None:
    files = {
        "index": index(OTHER, rest=f"<lastmod>{listed}</lastmod>"),
        "other": urlset(url("/about/", f"<lastmod>{lastmod}</lastmod>")),
    }
    assert broken(tmp_path, **files) == rules


@pytest.mark.parametrize(
    "value", ["index, max-image-preview:none", "max-image-preview: none", "unavailable_after: none"]
)
def test_values_of_other_robots_directives_do_not_forbid_indexing(value: str) -> None:
    assert page_rules(f'<meta name="robots" content="{value}">') == set()
    assert page_rules(x_robots_tag=value) == set()


def test_only_rules_for_large_crawlers_forbid_indexing() -> None:
    assert page_rules(x_robots_tag="otherbot: noindex, nofollow") == set()
    for value in ("noindex", "nofollow, noindex", "Googlebot: none", "nofollow noindex", "*: noindex"):
        assert page_rules(x_robots_tag=value) == {"page-noindex"}


def test_a_sitemap_can_be_a_query_of_the_home_page() -> None:
    with ExitStack() as stack:
        assert choose_target(f"{BASE}/?sitemap=1", None, None, stack).document == f"{BASE}/?sitemap=1"
        assert choose_target(f"{BASE}/", None, None, stack).document is None


def test_an_entry_with_many_elements_is_read_in_linear_time(tmp_path: Path) -> None:
    """Before, 200,000 elements took nine seconds, and 400,000 four times as long."""
    rest = "<i:a/>" * 200_000
    content = urlset(url(rest=rest), root=f'{SPACE} xmlns:i="urn:example"')
    started = time.process_time()
    assert broken(tmp_path, page=content) == set()
    assert time.process_time() - started < 5


def test_the_inner_layers_of_gzip_have_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """Empty members have no content that a limit for the document could count."""
    monkeypatch.setattr("django_sitemaps09.audit.bodies.MAX_BYTES", 10_000)
    body = gzip.compress(gzip.compress(b"") * 2_000)
    with pytest.raises(DocumentError) as failure:
        list(content(Response(BASE, 200, {}, iter([body])), lambda rule, detail: None))
    assert failure.value.rule == "document-too-large"


def test_long_invalid_urls_are_not_kept_with_each_of_their_alternates(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept: list[str] = []
    monkeypatch.setattr(
        "django_sitemaps09.audit.scratch.Scratch.add_links", lambda self, source, *_: kept.append(source)
    )
    link = f'<xhtml:link rel="alternate" hreflang="en" href="{BASE}/b/"/>'
    page = urlset(url(f"/{'x' * 100_000}", link), root=f"{SPACE} {XHTML}")
    assert broken(tmp_path, page=page) >= {"url-length", "hreflang-no-self"}
    assert kept == []


def test_names_of_documents_cannot_control_the_terminal(tmp_path: Path) -> None:
    write(tmp_path, {**sound(), "sitemap.xml": index("%1B[31m.xml")})
    output = StringIO()
    with pytest.raises(CommandError):
        call_command("audit_sitemaps", "--dir", str(tmp_path), verbosity=2, stdout=output)
    assert "\\x1b[31m.xml" in output.getvalue()
    assert "\x1b" not in output.getvalue()


def test_a_link_header_can_name_another_canonical_url() -> None:
    assert page_rules(link=f'<{BASE}/style.css>; rel=preload, <{BASE}/b/>; rel="canonical"') == {
        "page-canonical"
    }
    assert page_rules(link='</>; rel="canonical", </b/>; rel="next"') == set()
    assert page_rules('<link rel="canonical" href="/">', link="</b/>; rel=canonical") == set()


def test_live_views_can_be_under_a_script_prefix(register: Callable[..., None]) -> None:
    register(words=Words(3))
    before = get_script_prefix()
    set_script_prefix("/app/")
    try:
        with override_settings(FORCE_SCRIPT_NAME="/app"):
            report = audit(fetch=1)
    finally:
        set_script_prefix(before)
    assert {finding.rule for finding in report.findings} <= {"robots-no-sitemap"}
    assert (report.urls, report.pages) == (3, 1)


def test_the_report_of_another_site_is_not_kept(tmp_path: Path, register: Callable[..., None]) -> None:
    register(words=Words(3))
    with override_settings(SITEMAPS09={"BASE_URL": BASE, "ROOT": str(tmp_path)}):
        call_command("export_sitemaps", verbosity=0)
        report = audit(directory=tmp_path)
        audit("http://127.0.0.1:9/sitemap.xml")
        assert last_report() == report
