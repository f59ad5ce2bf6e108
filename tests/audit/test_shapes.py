"""Unusual servers, hosts and settings break no rule, and hostile documents cost little."""

from __future__ import annotations

import gzip
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.conf.locale import LANG_INFO
from django.core.management import CommandError, call_command
from django.test import override_settings
from django.urls import get_script_prefix, set_script_prefix

from django_sitemaps09 import protocol
from django_sitemaps09.audit import audit, documents, last_report
from django_sitemaps09.audit.api import choose_target
from django_sitemaps09.audit.documents import ParserThread, ReadEntry
from django_sitemaps09.audit.readers import Response
from django_sitemaps09.audit.rules import Findings, urls
from django_sitemaps09.audit.rules.links import parse_language
from django_sitemaps09.audit.rules.robots import RobotsLocation, RobotsRules, read_robots
from django_sitemaps09.audit.rules.urls import UrlRules
from django_sitemaps09.audit.scratch import Scratch
from django_sitemaps09.exceptions import AuditError, DocumentError
from django_sitemaps09.protocol import parse_base
from tests.support.configuration import BASE
from tests.support.sections import Numbers
from tests.support.site_files import ALL, PAGE, SPACE, index, sound, url, urlset, write

pytestmark = pytest.mark.sitemaps09
# A server that does not answer.
SILENT = "http://127.0.0.1:9"


@pytest.fixture
def thread() -> Iterator[ParserThread]:
    with closing(ParserThread()) as thread:
        yield thread


class Words(Numbers):
    def location(self, item: int) -> str:
        return f"{get_script_prefix()}words/{item}/"


class OneAnswer:
    """A reader with one answer for all URLs."""

    def __init__(self, body: bytes, **headers: str) -> None:
        self._body = body
        self._headers = {name.replace("_", "-"): [value] for name, value in headers.items()}

    @contextmanager
    def open(self, url: str, *, redirects: bool = True) -> Iterator[Response]:
        yield Response(url, 200, self._headers, iter([self._body]))

    def label(self, url: str) -> str:
        return url


def broken(folder: Path, page: str = urlset(url())) -> set[str]:
    write(folder, sound() | {PAGE: page})
    return {finding.rule for finding in audit(directory=folder).findings}


@pytest.mark.parametrize("size", [1, 2, 20])
def test_a_server_can_send_a_document_in_small_pieces(size: int, thread: ParserThread) -> None:
    body = urlset(url()).encode()
    found: list[str] = []
    pieces = (body[start : start + size] for start in range(0, len(body), size))
    batches = documents.batches(pieces, lambda rule, *_: found.append(rule), thread, text=False)
    assert [entry.location for _, entries in batches for entry in entries] == [f"{BASE}/words/a/"]
    assert found == []


def test_a_robots_txt_can_have_a_content_encoding() -> None:
    findings = Findings()
    body = gzip.compress(f"User-agent: *\nSitemap: {BASE}/sitemap.xml\n".encode())
    reader = OneAnswer(body, content_encoding="gzip")
    robots = read_robots(reader, RobotsLocation(parse_base(BASE)), ["*"], findings)
    assert robots.sitemaps == (f"{BASE}/sitemap.xml",)
    assert findings.result() == ()


def test_a_sitemap_can_be_a_query_of_the_home_page() -> None:
    with ExitStack() as stack:
        assert choose_target(f"{SILENT}/?map=1", None, None, None, stack).document == f"{SILENT}/?map=1"
        assert choose_target(f"{SILENT}/", None, None, None, stack).document is None


def test_an_entry_with_many_elements_is_read_in_linear_time(tmp_path: Path) -> None:
    """Entries of 5,000 elements are read, and the first larger one ends the document."""
    rest = "<i:a/>" * 4_999
    root = f'{SPACE} xmlns:i="urn:example"'
    started = time.process_time()
    content = urlset(*(url(f"/words/{n}/", rest) for n in range(40)), root=root)
    assert broken(tmp_path, content) == set()
    assert broken(tmp_path, urlset(url(rest="<i:a/>" * 200_000), root=root)) == {"document-limit"}
    assert time.process_time() - started < 5


def test_the_inner_layers_of_gzip_have_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """Empty members have no content that a limit for the document could count."""
    monkeypatch.setattr("django_sitemaps09.audit.readers.MAX_BYTES", 10_000)
    body = gzip.compress(gzip.compress(b"") * 2_000)
    with pytest.raises(DocumentError) as failure:
        list(Response(BASE, 200, {}, iter([body])).content(lambda *_: None))
    assert failure.value.rule == "document-too-large"


def test_long_invalid_urls_are_not_kept_with_each_of_their_alternates(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept: list[str] = []
    monkeypatch.setattr(
        "django_sitemaps09.audit.scratch.Scratch.add_links", lambda self, source, *_: kept.append(source)
    )
    link = f'<xhtml:link rel="alternate" hreflang="en" href="{BASE}/b/"/>'
    page = urlset(url(f"/{'x' * 100_000}", link), root=ALL)
    assert broken(tmp_path, page) >= {"url-length", "hreflang-no-self"}
    assert kept == []


def test_names_of_documents_cannot_control_the_terminal(tmp_path: Path) -> None:
    write(tmp_path, {**sound(), "sitemap.xml": index("%1B[31m.xml")})
    output = StringIO()
    with pytest.raises(CommandError):
        call_command("audit_sitemaps", "--dir", str(tmp_path), verbosity=2, stdout=output)
    assert "\\x1b[31m.xml" in output.getvalue()
    assert "\x1b" not in output.getvalue()


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


def test_a_long_live_page_is_parsed_in_pieces(thread: ParserThread) -> None:
    """Django's test client has the whole body at once, and libxml2 rejects one of ten million bytes."""
    body = urlset(*(url(f"/words/{number}/{'a' * 300}/") for number in range(30_000))).encode()
    assert len(body) > 10_000_000
    report: list[str] = []
    batches = documents.batches(iter([body]), lambda rule, *_: report.append(rule), thread, text=False)
    assert sum(len(entries) for _, entries in batches) == 30_000
    assert report == []


def test_an_error_is_reported_before_the_rest_is_read(thread: ParserThread) -> None:
    """The rest can come late, or be damaged."""

    def pieces() -> Iterator[bytes]:
        yield urlset(*(url(f"/words/{number}/") for number in range(20)), "<url><loc></lac></url>").encode()
        pytest.fail("the rest is read")

    with pytest.raises(DocumentError, match="mismatch") as caught:
        list(documents.batches(pieces(), lambda *_: None, thread, text=False))
    assert caught.value.rule == "xml-invalid"


def test_reading_ends_soon_after_the_limit_of_urls(tmp_path: Path) -> None:
    write(tmp_path, {**sound(), PAGE: urlset("<url/>" * 500_000)})
    report = audit(directory=tmp_path)
    assert 50_000 < report.urls < 65_000
    assert "document-too-many-urls" in {finding.rule for finding in report.findings}


def test_a_document_that_takes_too_long_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(documents, "DOCUMENT_SECONDS", -1.0)
    assert broken(tmp_path) == {"document-unreachable"}


def test_names_of_large_entries_are_not_kept(tmp_path: Path) -> None:
    documents._names.cache_clear()
    broken(tmp_path, urlset(url(rest="<i:a/>" * 1_000), root=f'{SPACE} xmlns:i="urn:example"'))
    # The entries of the page, the index and the other page: only those with few names are kept.
    assert documents._names.cache_info().currsize == 2


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        ("HTTPS://WWW.Example.com", "https://www.example.com/"),
        ("https://www.example.com:443?a=b", "https://www.example.com/?a=b"),
        ("http://www.example.com:443/", "http://www.example.com:443/"),
        ("https://www.example.com/%61%2f%c3/a/../b/./c/..", "https://www.example.com/a%2F%C3/b/"),
        ("https://www.example.com/../a", "https://www.example.com/a"),
        ("https://www.example.com/a?b=../%7e", "https://www.example.com/a?b=../~"),
        ("https://www.example.com/a//b/", "https://www.example.com/a//b/"),
        ("not a URL/%61", "not a URL/%61"),
    ],
)
def test_equivalent_urls_have_one_normal_form(address: str, expected: str) -> None:
    assert protocol.normalized(address) == expected
    assert protocol.normalized(expected) == expected
    assert protocol.normalized(BASE) == f"{BASE}/"


def test_findings_of_another_host_are_added_up_to_the_limit() -> None:
    findings, others = Findings(), Findings()
    for number in range(8):
        findings.add("a", "url-host", number)
        others.add("b", "url-host", number)
    findings.add_all(others)
    [finding] = findings.result()
    assert (finding.count, len(finding.examples)) == (16, 10)


def test_many_agents_cost_little() -> None:
    lines = "".join(f"User-agent: a{n}\n" for n in range(10_000)) + "Disallow: /\n" * 10_000
    started = time.process_time()
    assert [*RobotsRules(parse_base(BASE), lines).blocking_agents(f"{BASE}/a")] == []
    assert time.process_time() - started < 5


@pytest.mark.parametrize(
    ("agent", "name", "is_blocked"),
    [
        ("Googlebot", "Googlebot/2.1", True),
        ("Googlebot/2.1", "googlebot", True),
        ("Googlebot-News", "Googlebot", True),
        ("Googlebot", "Googlebot-News", False),
        ("Mozilla/5.0 (compatible; Foobot/1.0)", "foobot", True),
        ("Googlebot", "bot", False),
        ("Googlebot", "* # all", True),
        ("Googlebot", "*#all", True),
        ("Googlebot", "*BadBot*", False),
        ("Googlebot", "*bot", False),
        ("*", "**", False),
        ("*", "*/1.0", False),
    ],
)
def test_rules_are_those_of_the_product_of_an_agent(agent: str, name: str, is_blocked: bool) -> None:
    robots = RobotsRules(parse_base(BASE), f"User-agent: {name}\nDisallow: /", (agent,))
    assert [*robots.blocking_agents(f"{BASE}/a")] == [agent] * is_blocked


def test_a_long_robots_txt_is_applied_to_the_first_urls(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(urls, "_MAX_COST", 10_000)
    page = urlset(*(url(f"/words/{n}/") for n in range(500)))
    robots = f"User-agent: *\nDisallow: /words/\nSitemap: {BASE}/sitemap.xml"
    write(tmp_path, {**sound(), PAGE: page, "robots.txt": robots})
    findings = {finding.rule: finding for finding in audit(directory=tmp_path).findings}
    assert findings.keys() == {"url-blocked", "document-limit"}
    assert f"to the first {findings['url-blocked'].count} URLs" in findings["document-limit"].examples[0]


class Shop(Words):
    hosts = ("shop.example.com",)

    def location(self, item: int) -> str:
        return f"https://shop.example.com/words/{item}/"


def test_urls_on_the_hosts_that_a_section_declares_are_valid(register: Callable[..., None]) -> None:
    register(shop=Shop(3))
    assert audit().findings == ()


def test_a_host_that_django_rejects_is_named(register: Callable[..., None], settings: Any) -> None:
    settings.DEBUG, settings.ALLOWED_HOSTS = True, []
    settings.MIDDLEWARE = ["django.middleware.common.CommonMiddleware"]
    register(words=Words(3))
    with pytest.raises(AuditError, match=r"Add 'www\.example\.com' to ALLOWED_HOSTS"):
        audit()


@pytest.mark.parametrize(
    ("document", "is_valid"),
    [("sitemap-shop-1.xml", True), ("sitemap-words-1.xml", False), ("pages.xml?section=shop", True)],
)
def test_the_hosts_of_a_document_are_those_of_its_section_if_its_name_has_one(
    register: Callable[..., None], document: str, is_valid: bool
) -> None:
    register(shop=Shop(3), words=Words(3))
    base = parse_base(BASE)
    rules = UrlRules(findings := Findings(), base, RobotsRules(base), OneAnswer(b""))
    rules.check("a", f"{BASE}/{document}", [ReadEntry(1, "https://shop.example.com/words/1/")], 0)
    rules.finish([f"{BASE}/{document}"])
    assert [finding.rule for finding in findings.result()] == ([] if is_valid else ["url-host"])


@pytest.mark.parametrize(
    ("named", "parents", "is_valid"),
    [
        ("a.xml", (), True),
        ("index.xml", ("index.xml",), True),
        ("index.xml", ("root.xml", "index.xml"), True),
        ("%61.xml", (), True),
        ("b.xml", (), False),
        ("b.xml", ("index.xml",), False),
    ],
)
def test_a_document_may_have_urls_of_a_host_that_names_it_or_its_index(
    named: str, parents: tuple[str, ...], is_valid: bool
) -> None:
    """https://www.sitemaps.org/protocol.html#sitemaps_cross_submits"""
    reader = OneAnswer(f"Sitemap: https://files.example/{named}".encode())
    rules = UrlRules(findings := Findings(), None, RobotsRules(parse_base("https://files.example")), reader)
    for number in range(3):
        rules.check("a", "https://files.example/a.xml", [ReadEntry(1, f"{BASE}/{number}/")], number)
    rules.finish([f"https://files.example/{name}" for name in ("a.xml", *parents)])
    assert [(finding.rule, finding.count) for finding in findings.result()] == (
        [] if is_valid else [("url-host", 3)]
    )


@pytest.mark.parametrize("text", ["\n", "disallow:\n", "disallow:", " ", "user agent "])
def test_whitespace_in_a_long_robots_txt_costs_little(text: str) -> None:
    started = time.process_time()
    RobotsRules(parse_base(BASE), text * (500_000 // len(text)))
    RobotsRules(parse_base(BASE), f"{text}{' ' * 500_000}x")
    assert time.process_time() - started < 10


@pytest.mark.parametrize("line", ["Disallow: /a", "disalow:/a", "DISALLOW : /a"])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_rules_are_read_in_each_form_that_protego_reads(line: str, end: str) -> None:
    robots = RobotsRules(parse_base(BASE), f"User-agent: *{end}{line}{end}")
    assert [*robots.blocking_agents(f"{BASE}/a")] == ["*"]


def test_a_long_namespace_is_not_repeated_in_each_name(tmp_path: Path) -> None:
    root = f"{SPACE} xmlns:i='{'a' * 100_000}'"
    assert broken(tmp_path, urlset(url(rest="<i:a/>"), root=root)) == {"document-limit"}


def test_the_url_of_an_entry_is_stored_once_for_all_its_links() -> None:
    scratch, source = Scratch(), f"{BASE}/{'a' * 2_000}"
    scratch.add_links(source, [f"{BASE}/{number}" for number in range(1_000)], [f"{BASE}/1"], "a:1")
    assert [*scratch.one_way_links()] == [(source, f"{BASE}/1", "a:1")]
    [[pages]] = scratch._connection.execute("PRAGMA page_count")
    assert pages < 100
    scratch.close()


@pytest.mark.parametrize(
    ("code", "problem"),
    {
        **dict.fromkeys(
            ["hsb", "ckb", "fil", "ast", "bh", "iw", "zh-Hant-TW", "es-MX", "gsw-CH", *LANG_INFO]
        ),
        # A language or a country that Google may not know.
        **dict.fromkeys(["qqq", "xyz", "yue", "en-ZZ"], "hreflang-unsupported"),
    }.items(),
)
def test_the_codes_of_languages_are_valid_or_a_warning(code: str, problem: str | None) -> None:
    assert parse_language(code)[1] == problem


@pytest.mark.parametrize(
    ("code", "reason"),
    [("xx-en", "there is no language 'xx'"), ("us-en", "the language comes first: write en-US")],
)
def test_a_country_before_the_language_is_named(code: str, reason: str) -> None:
    assert parse_language(code)[1:] == ("hreflang-code", reason)
