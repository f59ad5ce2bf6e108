"""`manage.py audit_sitemaps`: its output, its exit status, and baselines."""

from __future__ import annotations

import json
from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from django_sitemaps09.tools.audit import urls
from tests.support.configuration import BASE
from tests.support.site_files import DUPLICATE, OTHER, PAGE, index, site, sound, url, urlset, write

pytestmark = pytest.mark.sitemaps09

AMBIGUOUS = urlset(url(rest="<lastmod>2026-01</lastmod>"))
SOUND = "Nothing is wrong with the documents. Whether their pages exist is unknown without --fetch."
ELSEWHERE = "https://other.example"
NEWSBOT = f"User-agent: Newsbot\nDisallow: /words/\n\nSitemap: {BASE}/sitemap.xml"


def said(*arguments):
    out = StringIO()
    try:
        call_command("audit_sitemaps", *map(str, arguments), stdout=out)
    except CommandError as error:
        return out.getvalue(), error.returncode, str(error)
    return out.getvalue(), 0, ""


@pytest.fixture
def audited(tmp_path):
    def run(changes, *arguments):
        return said("--dir", write(tmp_path / "public", {**sound(), **changes}), *arguments)

    return run


def test_a_sound_folder_exits_with_0(audited, tmp_path):
    output, status, _ = audited({})
    first, second = output.splitlines()
    assert first.startswith(f"{tmp_path}/public: read 3 documents with 3 URLs in ")
    assert (second, status) == (SOUND, 0)


def test_an_error_exits_with_1_and_the_table_or_json_says_what_and_where(audited):
    output, status, error = audited(DUPLICATE)
    assert output.splitlines()[2:] == [
        "rule                   severity      count   accepted",
        "url-duplicate          error             1          0",
        "",
        "url-duplicate: A URL occurs more than once in a document. List it once.",
        f"  {PAGE}:4: {BASE}/words/a/",
    ]
    assert status == 1
    assert error.endswith("public found 1 error and 0 warnings.")
    assert audited(DUPLICATE, "--verbosity", 0)[:2] == ("", 1)
    output, status, _ = audited(DUPLICATE, "--format", "json", "--verbosity", 2)
    report = json.loads(output)
    figures = {"urls": 3, "documents": 3, "pages": 0, "errors": 1, "warnings": 0}
    assert {name: report[name] for name in figures} == figures
    finding = {"rule": "url-duplicate", "severity": "error", "count": 1, "accepted": 0}
    assert (report["findings"], status) == ([{**finding, "examples": [f"{PAGE}:4: {BASE}/words/a/"]}], 1)


@pytest.mark.django_db
@pytest.mark.parametrize(("changes", "arguments", "status", "words"), [
    # A warning fails only a strict audit.
    ({PAGE: AMBIGUOUS}, [], 0, "lastmod-ambiguous      warning"),
    ({PAGE: AMBIGUOUS}, ["--strict"], 1, ""),
    # Agents are checked in addition.
    ({"robots.txt": NEWSBOT}, [], 0, ""),
    ({"robots.txt": NEWSBOT}, ["--agent", "Newsbot"], 1, f"{BASE}/words/a/ is forbidden for Newsbot"),
    # Another base URL than that of the project
    (sound(ELSEWHERE), [], 1, ""), (sound(ELSEWHERE), ["--base-url", ELSEWHERE], 0, ""),
    ({PAGE: urlset(url(f"{ELSEWHERE}/a/"))}, [], 1, "Check `BASE_URL`"),
    # Names and URLs of a site cannot control the terminal.
    ({"sitemap.xml": index("%1B[31m.xml")}, ["--verbosity", 2], 1, "\\x1b[31m.xml"),
    (
        {"robots.txt": f"Sitemap: {BASE}/a.txt", "a.txt": f"{BASE}/\x1b[31mred\x9b\n"},
        ["--verbosity", 2], 1,
        "\\x1b[31mred",
    ),
])  # fmt: skip
def test_the_status_and_the_output_are_those_of_the_site(audited, changes, arguments, status, words):
    output, *rest = audited(changes, *arguments)
    assert (rest[0], words in output) == (status, True)
    assert not {"\x1b", "\x9b"} & {*output}


def test_more_verbosity_names_each_document_and_shows_all_examples(audited):
    brief, full = (audited({PAGE: urlset(*[url()] * 6)}, "--verbosity", each)[0] for each in (1, 2))
    assert full.splitlines()[:3] == ["sitemap.xml", PAGE, OTHER]
    assert (brief.count("  sitemap-a-1.xml:"), full.count("  sitemap-a-1.xml:")) == (3, 5)


def test_a_site_over_http_is_read_with_pages_and_advice_names_no_setting():
    with site(lambda base: dict.fromkeys(["words/a/", "words/b/", "about/"], "text")) as base:
        output, status, _ = said("--url", base, "--fetch", "all", "--rate", "0")
    assert (status, "read 3 documents with 3 URLs, 3 pages fetched in " in output) == (0, True)
    with site(lambda base: {PAGE: urlset(url(f"{ELSEWHERE}/a/", base=base))}) as base:
        output, status, _ = said("--url", base)
    assert (status, "List it in a document on its host.\n" in output) == (1, True)


def test_a_baseline_accepts_what_it_was_written_for_and_no_more(audited, tmp_path):
    baseline = tmp_path / "baseline.json"
    assert audited(DUPLICATE | {OTHER: AMBIGUOUS}, "--write-baseline", baseline)[1] == 0
    accepted = {"url-duplicate": 1, "url-duplicate-across": 1, "lastmod-ambiguous": 1}
    assert json.loads(baseline.read_text()) == accepted
    output, status, _ = audited(DUPLICATE | {OTHER: AMBIGUOUS}, "--baseline", baseline, "--strict")
    assert (status, "url-duplicate          error             1          1" in output) == (0, True)
    assert "List it once" not in output
    assert audited({PAGE: urlset(url(), url(), url())}, "--baseline", baseline)[1] == 1
    baseline.write_text('{"url-host": 10}')
    assert audited(DUPLICATE, "--baseline", baseline)[1] == 1


@pytest.mark.parametrize("text", ["", "[]", '{"url-host": ""}', '{"url-hosts": 1}', "[" * 100_000, '"ä"'])
def test_an_invalid_baseline_exits_with_2(audited, tmp_path, text):
    (tmp_path / "baseline.json").write_text(text, encoding="latin-1")
    assert audited({}, "--baseline", tmp_path / "baseline.json")[:2] == ("", 2)


@pytest.mark.parametrize(("arguments", "status"), [
    *((f"--{name} does-not-exist", 2) for name in ("dir", "baseline")),
    *((arguments, 2) for arguments in ("--url sitemap.xml", "--base-url example", "--fetch -1")),
    *((f"--rate {rate}", 2) for rate in ("-1", "nan")),
    # These cannot be parsed.
    *((arguments, 1) for arguments in ("--dir a --url b", "--fetch some", "--format xml")),
])  # fmt: skip
def test_invalid_arguments_exit_with_a_status_of_their_own(arguments, status):
    assert said(*arguments.split())[:2] == ("", status)


def test_a_url_with_a_second_scheme_and_a_missing_library_are_named(audited, monkeypatch):
    _, status, error = said("--url", "https://https://www.example.com/")
    assert (status, "contains a second scheme before the path" in error) == (2, True)
    monkeypatch.setattr(urls, "protego", None)
    _, status, error = audited({})
    assert (status, "needs protego. Install the extra `audit`" in error) == (2, True)


def test_an_interrupted_audit_exits_with_130_without_a_traceback(monkeypatch, audited):
    def interrupt(*arguments, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr("django_sitemaps09.management.commands.audit_sitemaps.audit", interrupt)
    assert audited({})[:2] == ("", 130)
