"""Rules of the audit: faults of whole sites, sites that harm, and functions. `corpus/` has the others."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path

import pytest
from django.conf.locale import LANG_INFO
from hypothesis import given, strategies as st

from django_sitemaps09.exceptions import DocumentError
from django_sitemaps09.tools.audit import audit, audits, crawl, extensions, parsers, readers, scratch, urls
from django_sitemaps09.tools.audit.rules import Findings
from django_sitemaps09.tools.audit.values import parse_language
from tests.support.configuration import BASE
from tests.support.internals import MAX_BYTES, normalized, parse_base
from tests.support.sections import listing
from tests.support.site_files import ALL, HEAD, OTHER, PAGE, SPACE, index, sound, url, urlset, write
from tests.tools.audit.hostile_sites import SITES, write_site
from tests.tools.audit.test_corpus import VALID

pytestmark = pytest.mark.sitemaps09

INDEX, ROBOTS, STAGING = "sitemap.xml", "robots.txt", "https://staging.example.com"
NAMED = f"Sitemap: {BASE}/sitemap.xml"
BOMB = gzip.compress(urlset(url()).encode() + b" " * (4 * MAX_BYTES), 9)
LAUGHS = "<!ENTITY e0 'lol'>" + "".join(f"<!ENTITY e{n} '{f'&e{n - 1};' * 10}'>" for n in range(1, 12))
NAMESPACE, LONG = f'{SPACE} xmlns:i="urn:example"', f"{SPACE} xmlns:i='{'a' * 100_000}'"
UNORDERED = [f"<url><lastmod>2026-01-31</lastmod><loc>{BASE}/words/{n}/</loc></url>" for n in range(9)]
LINE = f"{BASE}/words/{'a' * 2_000_000}/"
SPACES = [url(f"/words/{n} /") for n in range(30)]
ENTITY, LISTED = "<!ENTITY e SYSTEM 'SECRET'>", f"<urlset {SPACE}><url><loc>&e;</loc></url>"
CHAIN = {f"sitemap-{n}.xml": index(f"sitemap-{n + 1}.xml") for n in range(2, 20)}


def packed(times):
    content = urlset(url()).encode()
    for _ in range(times):
        content = gzip.compress(content)
    return content


def found(folder, changes):
    report = audit(directory=write(folder, sound() | changes))
    return report, {finding.rule: finding for finding in report.findings}


OTHER_HOST = f": {STAGING}/a is not in {BASE}/; BASE_URL is {BASE}, the Site is example.com"
#: The files that differ from a sound site, the number of URLs, the rules with their counts, and what the
#: first example says.
TABLE = [
    ({}, 3, {}, ""),
    # Bombs, entities and endless documents
    ({INDEX: index(f"{PAGE}.gz"), f"{PAGE}.gz": BOMB}, 1, {"document-too-large": 1}, f"{PAGE}.gz"),
    ({PAGE: packed(10)}, 1, {"gzip-damaged": 1, "gzip-twice": 1}, PAGE),
    ({**CHAIN, INDEX: index("sitemap-2.xml")}, 0, {"document-limit": 1, "index-nested": 5}, ""),
    ({PAGE: urlset(url(rest="<i:a/>"), root=LONG)}, 1, {"document-limit": 1}, ""),
    ({INDEX: index("a.txt"), "a.txt": f"{LINE}\n{BASE}/words/b/"}, 2, {"url-length": 1}, "a.txt:1"),
    # Examples are escaped, and only the first ones are kept.
    ({PAGE: urlset(url("/words/\u202e/"))}, 2, {"url-encoding": 1}, f"{PAGE}:3: {BASE}/words/\\u202e/"),
    ({PAGE: urlset(*SPACES)}, 31, {"url-encoding": 30}, f"{PAGE}:3: {BASE}/words/0 /"),
    # The order of elements is reported once for each document.
    ({PAGE: urlset(*UNORDERED)}, 10, {"element-order": 1}, "/words/0/ (schema only: lastmod loc)"),
    # The robots.txt of another environment
    ({ROBOTS: f"Sitemap: {STAGING}/a"}, 3, {"robots-host": 1}, OTHER_HOST),
]


@pytest.mark.django_db
@pytest.mark.parametrize(("changes", "count", "expected", "example"), TABLE)
def test_an_audit_names_the_faults_of_a_folder(tmp_path, changes, count, expected, example):
    report, findings = found(tmp_path, changes)
    assert (report.urls, {rule: finding.count for rule, finding in findings.items()}) == (count, expected)
    assert not ("sitemap-2.xml" in changes and INDEX in changes) or report.documents == crawl.MAX_LEVELS + 1
    for finding in report.findings:
        assert len(finding.examples) == min(finding.count, 10)
        assert all(each.isprintable() for each in finding.examples)
    assert not example or example in report.findings[0].examples[0]


@pytest.mark.parametrize("place", ["<urlset {} a='&e11;'>", "<urlset {}><url><loc>&e11;</loc></url>"])
def test_entities_are_never_expanded(tmp_path, place):
    page = f"{HEAD}<!DOCTYPE urlset [{LAUGHS}]>{place.format(SPACE)}</urlset>"
    report, findings = found(tmp_path, {PAGE: page})
    assert ([*findings] in (["xml-doctype"], ["xml-invalid"]), "lollol" in str(report)) == (True, False)


OUTSIDE = ("../secret.xml", "%2e%2e/secret.xml", "a/../../secret.xml", "..%2fsecret.xml", "%00")


@pytest.mark.parametrize(("changes", "expected"), [
    *(({INDEX: index(name)}, "document-missing") for name in OUTSIDE),
    ({INDEX: index("link.xml")}, "document-unreachable"),
    ({INDEX: index(PAGE), PAGE: f"<!DOCTYPE urlset [{ENTITY}]>{LISTED}</urlset>"}, "xml-doctype"),
])  # fmt: skip
def test_files_outside_the_folder_are_never_read(tmp_path, changes, expected):
    secret, folder = tmp_path / "secret.xml", tmp_path / "public"
    secret.write_text(urlset(url("/words/secret/")))
    folder.mkdir()
    (folder / "link.xml").symlink_to(secret)
    changes = {name: content.replace("SECRET", secret.as_uri()) for name, content in changes.items()}
    report, findings = found(folder, changes)
    assert ([*findings], report.urls, "words/secret" in str(report)) == ([expected], 0, False)


def test_no_more_documents_than_the_limit_are_read(tmp_path, monkeypatch):
    monkeypatch.setattr(crawl, "MAX_DOCUMENTS", 2)
    report, findings = found(tmp_path, {})
    assert ([*findings], report.documents) == (["document-limit"], 2)


def test_reading_ends_soon_after_the_limit_of_urls(tmp_path):
    report, findings = found(tmp_path, {PAGE: urlset("<url/>" * 500_000)})
    assert 50_000 < report.urls < 65_000
    assert "document-too-many-urls" in findings


@pytest.mark.slow
def test_an_entry_with_many_elements_is_read_in_linear_time_and_without_keeping_its_names(tmp_path):
    """Entries of 5,000 elements are read, and the first larger one ends the document."""
    started = time.process_time()
    many = urlset(*(url(f"/words/{n}/", "<i:a/>" * 4_999) for n in range(40)), root=NAMESPACE)
    assert found(tmp_path, {PAGE: many})[1] == {}
    larger = urlset(url(rest="<i:a/>" * 200_000), root=NAMESPACE)
    assert [*found(tmp_path, {PAGE: larger})[1]] == ["document-limit"]
    assert time.process_time() - started < 5
    parsers.read_entries._names.cache_clear()
    found(tmp_path, {PAGE: urlset(url(rest="<i:a/>" * 1_000), root=NAMESPACE)})
    # The entries of the page, the index and the other page: only those with few names are kept.
    assert parsers.read_entries._names.cache_info().currsize == 2


def test_a_document_that_takes_too_long_ends(tmp_path, monkeypatch):
    monkeypatch.setattr(parsers, "DOCUMENT_SECONDS", -1.0)
    assert [*found(tmp_path, {})[1]] == ["document-unreachable"]


def test_long_invalid_urls_are_not_kept_with_each_of_their_alternates(tmp_path, monkeypatch):
    kept = []
    monkeypatch.setattr(scratch.Scratch, "add_links", lambda self, source, *_: kept.append(source))
    link = f'<xhtml:link rel="alternate" hreflang="en" href="{BASE}/b/"/>'
    _, findings = found(tmp_path, {PAGE: urlset(url(f"/{'x' * 100_000}", link), root=ALL)})
    assert (findings.keys() >= {"url-length", "hreflang-no-self"}, kept) == (True, [])


def test_a_long_robots_txt_is_applied_to_the_first_urls(tmp_path, monkeypatch):
    monkeypatch.setattr(urls, "_MAX_COST", 10_000)
    robots = f"User-agent: *\nDisallow: /words/\n{NAMED}"
    page = urlset(*(url(f"/words/{n}/") for n in range(500)))
    _, findings = found(tmp_path, {PAGE: page, ROBOTS: robots})
    assert findings.keys() == {"url-blocked", "document-limit"}
    assert f"to the first {findings['url-blocked'].count} URLs" in findings["document-limit"].examples[0]


@pytest.mark.parametrize("version", ["1.0", "1.1"], ids=["plain", "with a warning"])
@pytest.mark.parametrize(("line", "comment"), [(0, 0), (1, 0), (3_000, 0), (3_000, 70_000)])
def test_invalid_xml_is_shown_with_the_text_around_it(line, comment, version, tmp_path):
    entries = [url(f"/words/ä{n:05}/") for n in range(5_000)]
    entries[line] = url("/words/a?b=1&c=2")
    page = urlset(f"<!--{'-x' * comment}-->", *entries).replace('"1.0"', f'"{version}"')
    page = page.replace("</url>\n", "</url>" if line == 1 else "</url>\n")
    [example] = found(tmp_path, {PAGE: page})[1]["xml-invalid"].examples
    assert "/words/a?b=1&c=2</loc>" in example
    assert example.count("EntityRef") == example.count("line ") == 1


@pytest.mark.parametrize("most", [0, 1, 1_000])
def test_alternates_whose_entries_do_not_follow_each_other_link_back(tmp_path, monkeypatch, most):
    monkeypatch.setattr(extensions, "_MAX_GROUPS", most)
    link = f'<xhtml:link rel="alternate" hreflang="%s" href="{BASE}/words/%s%s/"/>'

    def version(language):
        both = [link % ("en", "en", n) + link % ("de", "de", n) for n in range(20)]
        entries = (url(f"/words/{language}{n}/", links) for n, links in enumerate(both))
        return urlset(*entries, root=ALL)

    assert found(tmp_path, {PAGE: version("en"), OTHER: version("de")})[1] == {}
    broken = version("de").replace(link % ("en", "en", 7), link % ("x-default", "de", 7))
    [finding] = found(tmp_path, {PAGE: version("en"), OTHER: broken})[1].values()
    assert (finding.rule, finding.count) == ("hreflang-no-return", 1)
    assert f"{BASE}/words/en7/ links to {BASE}/words/de7/" in finding.examples[0]


SITES_OF_FILES = [case for case in VALID if all(name and "/" not in name for name in case.files)]


@st.composite
def changed(draw):
    files = draw(st.sampled_from(SITES_OF_FILES)).files
    contents = {name: file.content() for name, file in files.items()}
    name = draw(st.sampled_from(sorted(contents)))
    data = bytearray(contents[name])
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(data)))
        end = min(len(data), start + draw(st.integers(0, 30)))
        piece = draw(st.binary(max_size=20) | st.text(max_size=10).map(lambda text: text.encode()))
        data[start:end] = piece * draw(st.sampled_from([1, 1, 1, 200]))
    if draw(st.booleans()):
        data = bytearray(gzip.compress(bytes(data), mtime=0))
        data[draw(st.integers(0, len(data) - 1))] ^= draw(st.integers(0, 255))
    return {**contents, name: bytes(data)}


@pytest.mark.django_db  # the site of a robots.txt for another host is named
@given(site=changed())
def test_an_audit_of_any_folder_ends_with_a_report(site):
    with tempfile.TemporaryDirectory() as folder:
        report = audit(directory=write(Path(folder), site))
    assert all(example.isprintable() for finding in report.findings for example in finding.examples)


@given(st.text(max_size=40), st.sampled_from(["", f"{BASE}/", "https://", "//"]))
def test_an_audit_of_any_text_ends_with_a_report(location, start):
    content = f"{start}{location}".encode(errors="replace")
    robots = f"User-agent: *\nDisallow: /b\nSitemap: {BASE}/a.txt\nSitemap: ".encode() + content
    with tempfile.TemporaryDirectory() as folder:
        write(Path(folder), {"a.txt": content, ROBOTS: robots, PAGE: sound()[PAGE]})
        assert audit(directory=folder).documents >= 1


#: Sites that one process audits, each followed by a valid one.
GROUPS = [[*SITES][start::6] for start in range(6)]
IMAGE = f"<image:image><image:loc>{BASE}/a.png</image:loc></image:image>"


@pytest.mark.slow
@pytest.mark.parametrize("names", GROUPS, ids=", ".join)
def test_hostile_sites_cost_less_than_300_mb_a_minute_and_no_later_audit(names, tmp_path):
    valid = write(tmp_path / "valid", {**sound(), PAGE: urlset(url("/words/a/", IMAGE), root=ALL)})
    folders = []
    for number, name in enumerate(names):
        (tmp_path / f"{number}").mkdir()
        write_site(name, tmp_path / f"{number}")
        folders += [tmp_path / f"{number}", valid]
    environment = {**os.environ, "DJANGO_SETTINGS_MODULE": "tests.settings"}
    command = [sys.executable, "-m", "tests.tools.audit.hostile_sites", *map(str, folders)]
    costs = json.loads(subprocess.check_output(command, env=environment))  # noqa: S603 our own program
    for name, (rules, seconds, megabytes), (others, *_) in zip(names, costs[::2], costs[1::2], strict=True):
        assert rules, name
        assert others == [], f"lxml keeps the names of the documents of: {name}"
        is_part = name.startswith("entries of ") and name != "entries of videos"
        assert seconds < (20 if is_part else 60), name
        assert megabytes < 300, name


SILENT, FILES, SHOP = "http://127.0.0.1:9", "https://files.example", "https://shop.example.com"


class OneAnswer:
    def __init__(self, body, **headers):
        self.body, self.headers = body, headers

    @contextmanager
    def open(self, url, *, redirects=True):
        yield readers.Response(url, 200, self.headers, iter([self.body]))

    def label(self, url):
        return url


def read(pieces):
    report = []
    with closing(parsers.ParserThread()) as thread:
        batches = parsers.batches(pieces, lambda rule, *_: report.append(rule), thread, text=False)
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
    monkeypatch.setattr("django_sitemaps09.tools.audit.readers.MAX_BYTES", 10_000)
    body = gzip.compress(gzip.compress(b"") * 2_000)
    with pytest.raises(DocumentError) as failure:
        list(readers.Response(BASE, 200, {}, iter([body])).content(lambda *_: None))
    assert failure.value.rule == "document-too-large"


def test_a_robots_txt_can_have_a_content_encoding():
    findings, body = Findings(), gzip.compress(f"User-agent: *\nSitemap: {BASE}/sitemap.xml\n".encode())
    reader = OneAnswer(body, **{"content-encoding": ["gzip"]})
    robots = urls.read_robots(reader, parse_base(BASE), ["*"], findings)
    assert ([*robots.sitemaps], findings.result()) == ([f"{BASE}/sitemap.xml"], ())


def test_a_sitemap_can_be_a_query_of_the_home_page():
    with ExitStack() as stack:
        for path, document in (("/?map=1", f"{SILENT}/?map=1"), ("/", None)):
            assert audits.choose_target(f"{SILENT}{path}", None, None, None, stack).document == document


@pytest.mark.parametrize(("address", "expected"), [
    (f"{BASE}:443?a=b", f"{BASE}/?a=b"), ("http://www.example.com:443/", "http://www.example.com:443/"),
    (f"{BASE}/%61%2f%c3/a/../b/./c/..", f"{BASE}/a%2F%C3/b/"), (f"{BASE}/../a", f"{BASE}/a"),
    (f"{BASE}/a//b/", f"{BASE}/a//b/"), ("not a URL/%61", "not a URL/%61"),
])  # fmt: skip
def test_equivalent_urls_have_one_normal_form(address, expected):
    assert normalized(address) == normalized(expected) == expected


def test_findings_of_another_host_are_added_up_to_the_limit():
    findings, others = Findings(), Findings()
    for number in range(8):
        findings.add("a", "url-host", number)
        others.add("b", "url-host", number)
    findings.add_all(others)
    [finding] = findings.result()
    assert (finding.count, len(finding.examples)) == (16, 10)


def blocking(text, *agents):
    rules = urls.RobotsRules(parse_base(BASE), text, *([agents] if agents else []))
    return rules.blocking_agents(f"{BASE}/a", rules.agents)


@pytest.mark.parametrize(("agent", "name", "is_blocked"), [
    ("Googlebot/2.1", "googlebot", True), ("Googlebot-News", "Googlebot", True),
    ("Googlebot", "Googlebot-News", False), ("Mozilla/5.0 (compatible; Foobot/1.0)", "foobot", True),
    *(("Googlebot", name, False) for name in ("bot", "*BadBot*", "*bot")),
    *(("Googlebot", name, True) for name in ("* # all", "*#all")),
    *(("*", name, False) for name in ("**", "*/1.0")),
])  # fmt: skip
def test_rules_are_those_of_the_product_of_an_agent(agent, name, is_blocked):
    assert blocking(f"User-agent: {name}\nDisallow: /", agent) == [agent] * is_blocked


@pytest.mark.parametrize("line", ["Disallow: /a", "disalow:/a", "DISALLOW : /a"])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_rules_are_read_in_each_form_that_protego_reads(line, end):
    assert blocking(f"User-agent: *{end}{line}{end}") == ["*"]


@pytest.mark.parametrize("text", ["\n", "disallow:\n", "disallow:", " ", "user agent "])
def test_whitespace_in_a_long_robots_txt_costs_little(text):
    started = time.process_time()
    urls.RobotsRules(parse_base(BASE), text * (500_000 // len(text)))
    urls.RobotsRules(parse_base(BASE), f"{text}{' ' * 500_000}x")
    assert time.process_time() - started < 10


def test_many_agents_cost_little():
    started = time.process_time()
    assert blocking("".join(f"User-agent: a{n}\n" for n in range(10_000)) + "Disallow: /\n" * 10_000) == []
    assert time.process_time() - started < 5


@pytest.mark.parametrize(
    ("document", "is_valid"),
    [("sitemap-shop-1.xml", True), ("sitemap-words-1.xml", False), ("pages.xml?section=shop", True)],
)
def test_the_hosts_of_a_document_are_those_of_its_section_if_its_name_has_one(register, document, is_valid):
    register(shop=listing(range(3), hosts=("shop.example.com",)), words=listing(range(3)))
    base = parse_base(BASE)
    rules = urls.UrlRules(findings := Findings(), base, urls.RobotsRules(base), OneAnswer(b""))
    rules.check("a", f"{BASE}/{document}", [parsers.ReadEntry(1, f"{SHOP}/words/1/")], 0)
    rules.finish([f"{BASE}/{document}"])
    assert [finding.rule for finding in findings.result()] == ([] if is_valid else ["url-host"])


@pytest.mark.parametrize(("named", "parents", "count"), [
    *(("a.xml", [], 0), ("index.xml", ["index.xml"], 0), ("index.xml", ["root.xml", "index.xml"], 0)),
    *(("%61.xml", [], 0), ("b.xml", [], 3), ("b.xml", ["index.xml"], 3)),
])  # fmt: skip
def test_a_document_may_have_urls_of_a_host_that_names_it_or_its_index(named, parents, count):
    """https://www.sitemaps.org/protocol.html#sitemaps_cross_submits"""
    reader = OneAnswer(f"Sitemap: {FILES}/{named}".encode())
    rules = urls.UrlRules(findings := Findings(), None, urls.RobotsRules(parse_base(FILES)), reader)
    for number in range(3):
        rules.check("a", f"{FILES}/a.xml", [parsers.ReadEntry(1, f"{BASE}/{number}/")], number)
    rules.finish([f"{FILES}/{name}" for name in ("a.xml", *parents)])
    expected = [("url-host", count)] if count else []
    assert [(finding.rule, finding.count) for finding in findings.result()] == expected


def test_the_url_of_an_entry_is_stored_once_for_all_its_links():
    kept, source = scratch.Scratch(), f"{BASE}/{'a' * 2_000}"
    kept.add_links(source, [f"{BASE}/{number}" for number in range(1_000)], [f"{BASE}/1"], "a:1")
    assert [*kept.one_way_links()] == [(source, f"{BASE}/1", "a:1")]
    [[pages]] = kept._connection.execute("PRAGMA page_count")
    assert pages < 100
    kept.close()


def test_the_codes_of_languages_are_valid_or_named_with_the_reason():
    """There are others in the corpus. Google may not know those that are unsupported."""
    valid = ["hsb", "ckb", "fil", "ast", "bh", "iw", "zh-Hant-TW", "es-MX", "gsw-CH", *LANG_INFO]
    unsupported = ["qqq", "xyz", "yue", "en-ZZ"]
    expected = dict.fromkeys(valid) | dict.fromkeys(unsupported, "hreflang-unsupported")
    assert {code: parse_language(code)[1] for code in expected} == expected
    assert parse_language("xx-en")[1:] == ("hreflang-code", "there is no language 'xx'")
    assert parse_language("us-en")[1:] == ("hreflang-code", "the language comes first: write en-US")
