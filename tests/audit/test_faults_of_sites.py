"""Faults that concern a whole site: its hosts, crawlers, feeds, and what a server says."""

from __future__ import annotations

from collections.abc import Callable
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import call_command

from django_sitemaps09.audit import Finding, audit
from django_sitemaps09.exceptions import AuditError
from tests.support.answers import Answer, site
from tests.support.configuration import BASE
from tests.support.site_files import PAGE, sound, url, urlset, write

pytestmark = pytest.mark.sitemaps09


def findings(folder: Path, name: str, content: str) -> dict[str, Finding]:
    write(folder, sound() | {name: content})
    return {finding.rule: finding for finding in audit(directory=folder).findings}


@pytest.mark.django_db
@pytest.mark.parametrize("host", ["https://staging.example.com", "http://www.example.com"])
def test_a_robots_txt_of_another_environment_names_both_hosts(host: str, tmp_path: Path) -> None:
    found = findings(tmp_path, "robots.txt", f"User-agent: *\nSitemap: {host}/sitemap.xml\n")
    [finding] = found.values()
    assert finding.rule == "robots-host"
    assert finding.examples == (
        f"robots.txt: {host}/sitemap.xml is not in {BASE}/; BASE_URL is {BASE}, the Site is example.com",
    )


def test_a_crawler_that_is_blocked_alone_is_one_warning(tmp_path: Path) -> None:
    robots = (
        f"User-agent: Googlebot\nDisallow: /words/\n\nUser-agent: *\nDisallow:\nSitemap: {BASE}/sitemap.xml"
    )
    [finding] = findings(tmp_path, "robots.txt", robots).values()
    assert (finding.rule, finding.count) == ("robots-blocks-crawler", 1)
    assert finding.examples == (f"robots.txt: {BASE}/words/a/ is forbidden for Googlebot",)
    [finding] = findings(tmp_path, "robots.txt", robots.replace("/words/", "/sitemap")).values()
    assert finding.examples == (f"robots.txt: {BASE}/sitemap.xml is forbidden for Googlebot",)


def test_the_schema_alone_is_reported_once_for_each_document(tmp_path: Path) -> None:
    unordered = [f"<url><lastmod>2026-01-31</lastmod><loc>{BASE}/words/{n}/</loc></url>" for n in range(9)]
    [finding] = findings(tmp_path, PAGE, urlset(*unordered)).values()
    assert (finding.rule, finding.severity, finding.count) == ("element-order", "warning", 1)
    assert finding.examples == (f"{PAGE}:3: {BASE}/words/0/ (schema only: lastmod loc)",)


@pytest.mark.parametrize("version", ["1.0", "1.1"], ids=["plain", "with a warning"])
@pytest.mark.parametrize(("line", "comment"), [(0, 0), (1, 0), (3_000, 0), (3_000, 70_000)])
def test_invalid_xml_is_shown_with_the_text_around_it(
    line: int, comment: int, version: str, tmp_path: Path
) -> None:
    entries = [url(f"/words/ä{n:05}/") for n in range(5_000)]
    entries[line] = url("/words/a?b=1&c=2")
    page = urlset(f"<!--{'-x' * comment}-->", *entries).replace('"1.0"', f'"{version}"')
    page = page.replace("</url>\n", "</url>" if line == 1 else "</url>\n")
    finding = findings(tmp_path, PAGE, page)["xml-invalid"]
    assert "/words/a?b=1&c=2</loc>" in finding.examples[0]
    assert finding.examples[0].count("EntityRef") == finding.examples[0].count("line ") == 1


def test_a_site_can_redirect_to_another_host() -> None:
    with site() as base:
        moved = {
            name: Answer("", 301, {"Location": f"{base}/{name}"}) for name in ("robots.txt", "sitemap.xml")
        }
        with site(lambda _: moved) as typed:
            for address in (typed, f"{typed}/sitemap.xml"):
                report = audit(address)
                assert (report.findings, report.urls, report.target) == ((), 3, address)


def test_the_robots_txt_of_a_host_that_documents_redirect_to_does_not_count() -> None:
    with site() as base, site(lambda typed: moved) as typed:
        files = base.replace("127.0.0.1", "localhost")
        robots = f"User-agent: *\nDisallow: /words/a/\nSitemap: {typed}/sitemap.xml"
        moved = {"robots.txt": robots, "sitemap.xml": Answer("", 301, {"Location": f"{files}/{PAGE}"})}
        assert "document-redirect" in {finding.rule for finding in audit(f"{typed}/sitemap.xml").findings}


def test_a_user_agent_is_sent_over_http() -> None:
    names: list[str] = []
    with site(on_request=lambda environ: names.append(environ["HTTP_USER_AGENT"])) as base:
        audit(base, user_agent="Examplebot/1.0")
        assert {*names} == {"Examplebot/1.0"}
        with pytest.raises(AuditError, match="ASCII text"):
            audit(base, user_agent="a\r\nCookie: b")
    with pytest.raises(AuditError, match="only sent over HTTP"):
        audit(user_agent="Examplebot")


def test_advice_for_another_site_names_no_setting(tmp_path: Path, register: Callable[..., None]) -> None:
    with site(lambda base: {PAGE: urlset(url("https://other.example/a/", base=base))}) as base:
        output = StringIO()
        with pytest.raises(Exception, match="1 error"):
            call_command("audit_sitemaps", url=base, stdout=output)
    assert "List it in a document on its host.\n" in output.getvalue()
    write(tmp_path, {**sound(), PAGE: urlset(url("https://other.example/a/"))})
    output = StringIO()
    with pytest.raises(Exception, match="1 error"):
        call_command("audit_sitemaps", dir=str(tmp_path), stdout=output)
    assert "Check `BASE_URL`" in output.getvalue()
