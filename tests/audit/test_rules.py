"""Rules and readers of the audit as functions: documents, URLs, robots.txt, hosts and languages."""

from __future__ import annotations

import gzip
import time
from contextlib import ExitStack, closing, contextmanager

import pytest
from django.conf.locale import LANG_INFO

from django_sitemaps09 import protocol
from django_sitemaps09.audit import documents
from django_sitemaps09.audit.api import choose_target
from django_sitemaps09.audit.documents import ParserThread, ReadEntry
from django_sitemaps09.audit.readers import Response
from django_sitemaps09.audit.rules import Findings
from django_sitemaps09.audit.rules.links import parse_language
from django_sitemaps09.audit.rules.robots import RobotsLocation, RobotsRules, read_robots
from django_sitemaps09.audit.rules.urls import UrlRules
from django_sitemaps09.audit.scratch import Scratch
from django_sitemaps09.exceptions import DocumentError
from django_sitemaps09.protocol import parse_base
from tests.support.configuration import BASE
from tests.support.sections import listing
from tests.support.site_files import url, urlset

pytestmark = pytest.mark.sitemaps09
SILENT, FILES, SHOP = "http://127.0.0.1:9", "https://files.example", "https://shop.example.com"


class OneAnswer:
    """A reader with one answer for all URLs."""

    def __init__(self, body, **headers):
        self.body, self.headers = body, headers

    @contextmanager
    def open(self, url, *, redirects=True):
        yield Response(url, 200, self.headers, iter([self.body]))

    def label(self, url):
        return url


def read(pieces):
    """Return the locations of a document in pieces, and the rules that are reported."""
    report = []
    with closing(ParserThread()) as thread:
        batches = documents.batches(pieces, lambda rule, *_: report.append(rule), thread, text=False)
        return [entry.location for _, entries in batches for entry in entries], report


@pytest.mark.parametrize("size", [1, 2, 20])
def test_a_server_can_send_a_document_in_small_pieces(size):
    body = urlset(url()).encode()
    pieces = (body[start : start + size] for start in range(0, len(body), size))
    assert read(pieces) == ([f"{BASE}/words/a/"], [])


def test_a_long_live_page_is_parsed_in_pieces():
    """Django's test client has the whole body at once, and libxml2 rejects one of ten million bytes."""
    body = urlset(*(url(f"/words/{number}/{'a' * 300}/") for number in range(30_000))).encode()
    assert len(body) > 10_000_000
    locations, report = read(iter([body]))
    assert (len(locations), report) == (30_000, [])


def test_an_error_is_reported_before_the_rest_is_read():
    """The rest can come late, or be damaged."""

    def pieces():
        yield urlset(*(url(f"/words/{number}/") for number in range(20)), "<url><loc></lac></url>").encode()
        pytest.fail("the rest is read")

    with pytest.raises(DocumentError, match="mismatch") as caught:
        read(pieces())
    assert caught.value.rule == "xml-invalid"


def test_the_inner_layers_of_gzip_have_a_limit(monkeypatch):
    """Empty members have no content that a limit for the document could count."""
    monkeypatch.setattr("django_sitemaps09.audit.readers.MAX_BYTES", 10_000)
    body = gzip.compress(gzip.compress(b"") * 2_000)
    with pytest.raises(DocumentError) as failure:
        list(Response(BASE, 200, {}, iter([body])).content(lambda *_: None))
    assert failure.value.rule == "document-too-large"


def test_a_robots_txt_can_have_a_content_encoding():
    findings, body = Findings(), gzip.compress(f"User-agent: *\nSitemap: {BASE}/sitemap.xml\n".encode())
    reader = OneAnswer(body, **{"content-encoding": ["gzip"]})
    robots = read_robots(reader, RobotsLocation(parse_base(BASE)), ["*"], findings)
    assert (robots.sitemaps, findings.result()) == ((f"{BASE}/sitemap.xml",), ())


def test_a_sitemap_can_be_a_query_of_the_home_page():
    with ExitStack() as stack:
        for path, document in (("/?map=1", f"{SILENT}/?map=1"), ("/", None)):
            assert choose_target(f"{SILENT}{path}", None, None, None, stack).document == document


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        (BASE, f"{BASE}/"),
        ("HTTPS://WWW.Example.com", f"{BASE}/"),
        (f"{BASE}:443?a=b", f"{BASE}/?a=b"),
        ("http://www.example.com:443/", "http://www.example.com:443/"),
        (f"{BASE}/%61%2f%c3/a/../b/./c/..", f"{BASE}/a%2F%C3/b/"),
        (f"{BASE}/../a", f"{BASE}/a"),
        (f"{BASE}/a?b=../%7e", f"{BASE}/a?b=../~"),
        (f"{BASE}/a//b/", f"{BASE}/a//b/"),
        ("not a URL/%61", "not a URL/%61"),
    ],
)
def test_equivalent_urls_have_one_normal_form(address, expected):
    assert protocol.normalized(address) == protocol.normalized(expected) == expected


def test_findings_of_another_host_are_added_up_to_the_limit():
    findings, others = Findings(), Findings()
    for number in range(8):
        findings.add("a", "url-host", number)
        others.add("b", "url-host", number)
    findings.add_all(others)
    [finding] = findings.result()
    assert (finding.count, len(finding.examples)) == (16, 10)


# robots.txt


def blocking(text, *agents):
    return [
        *RobotsRules(parse_base(BASE), text, *([agents] if agents else [])).blocking_agents(f"{BASE}/a")
    ]


@pytest.mark.parametrize(
    ("agent", "name", "is_blocked"),
    [
        ("Googlebot", "Googlebot/2.1", True),
        ("Googlebot/2.1", "googlebot", True),
        ("Googlebot-News", "Googlebot", True),
        ("Googlebot", "Googlebot-News", False),
        ("Mozilla/5.0 (compatible; Foobot/1.0)", "foobot", True),
        *(("Googlebot", name, False) for name in ("bot", "*BadBot*", "*bot")),
        *(("Googlebot", name, True) for name in ("* # all", "*#all")),
        *(("*", name, False) for name in ("**", "*/1.0")),
    ],
)
def test_rules_are_those_of_the_product_of_an_agent(agent, name, is_blocked):
    assert blocking(f"User-agent: {name}\nDisallow: /", agent) == [agent] * is_blocked


@pytest.mark.parametrize("line", ["Disallow: /a", "disalow:/a", "DISALLOW : /a"])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_rules_are_read_in_each_form_that_protego_reads(line, end):
    assert blocking(f"User-agent: *{end}{line}{end}") == ["*"]


@pytest.mark.parametrize("text", ["\n", "disallow:\n", "disallow:", " ", "user agent "])
def test_whitespace_in_a_long_robots_txt_costs_little(text):
    started = time.process_time()
    RobotsRules(parse_base(BASE), text * (500_000 // len(text)))
    RobotsRules(parse_base(BASE), f"{text}{' ' * 500_000}x")
    assert time.process_time() - started < 10


def test_many_agents_cost_little():
    started = time.process_time()
    agents = "".join(f"User-agent: a{n}\n" for n in range(10_000))
    assert blocking(agents + "Disallow: /\n" * 10_000) == []
    assert time.process_time() - started < 5


# Hosts


@pytest.mark.parametrize(
    ("document", "is_valid"),
    [("sitemap-shop-1.xml", True), ("sitemap-words-1.xml", False), ("pages.xml?section=shop", True)],
)
def test_the_hosts_of_a_document_are_those_of_its_section_if_its_name_has_one(register, document, is_valid):
    register(shop=listing(range(3), hosts=("shop.example.com",)), words=listing(range(3)))
    base = parse_base(BASE)
    rules = UrlRules(findings := Findings(), base, RobotsRules(base), OneAnswer(b""))
    rules.check("a", f"{BASE}/{document}", [ReadEntry(1, f"{SHOP}/words/1/")], 0)
    rules.finish([f"{BASE}/{document}"])
    assert [finding.rule for finding in findings.result()] == ([] if is_valid else ["url-host"])


@pytest.mark.parametrize(
    ("named", "parents", "count"),
    [
        ("a.xml", [], 0),
        ("index.xml", ["index.xml"], 0),
        ("index.xml", ["root.xml", "index.xml"], 0),
        ("%61.xml", [], 0),
        ("b.xml", [], 3),
        ("b.xml", ["index.xml"], 3),
    ],
)
def test_a_document_may_have_urls_of_a_host_that_names_it_or_its_index(named, parents, count):
    """https://www.sitemaps.org/protocol.html#sitemaps_cross_submits"""
    reader = OneAnswer(f"Sitemap: {FILES}/{named}".encode())
    rules = UrlRules(findings := Findings(), None, RobotsRules(parse_base(FILES)), reader)
    for number in range(3):
        rules.check("a", f"{FILES}/a.xml", [ReadEntry(1, f"{BASE}/{number}/")], number)
    rules.finish([f"{FILES}/{name}" for name in ("a.xml", *parents)])
    expected = [("url-host", count)] if count else []
    assert [(finding.rule, finding.count) for finding in findings.result()] == expected


def test_the_url_of_an_entry_is_stored_once_for_all_its_links():
    scratch, source = Scratch(), f"{BASE}/{'a' * 2_000}"
    scratch.add_links(source, [f"{BASE}/{number}" for number in range(1_000)], [f"{BASE}/1"], "a:1")
    assert [*scratch.one_way_links()] == [(source, f"{BASE}/1", "a:1")]
    [[pages]] = scratch._connection.execute("PRAGMA page_count")
    assert pages < 100
    scratch.close()


# Languages

VALID = ["hsb", "ckb", "fil", "ast", "bh", "iw", "zh-Hant-TW", "es-MX", "gsw-CH", *LANG_INFO]


@pytest.mark.parametrize(
    ("codes", "expected"),
    [
        (VALID, (None,)),
        # A language or a country that Google may not know.
        (["qqq", "xyz", "yue", "en-ZZ"], ("hreflang-unsupported",)),
        (["xx-en"], ("hreflang-code", "there is no language 'xx'")),
        (["us-en"], ("hreflang-code", "the language comes first: write en-US")),
    ],
)
def test_the_codes_of_languages_are_valid_or_named_with_the_reason(codes, expected):
    assert {code: parse_language(code)[1 : 1 + len(expected)] for code in codes} == dict.fromkeys(
        codes, expected
    )
