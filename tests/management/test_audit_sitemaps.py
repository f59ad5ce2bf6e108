"""`manage.py audit_sitemaps`: its output, its exit status, and baselines."""

from __future__ import annotations

import json
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from django_sitemaps09.audit.rules import robots
from tests.support.answers import site
from tests.support.configuration import BASE
from tests.support.site_files import DUPLICATE, OTHER, PAGE, sound, url, urlset, write

pytestmark = pytest.mark.sitemaps09

WARNING = {PAGE: urlset(url(rest="<lastmod>2026-01</lastmod>"))}


def said(*arguments: object) -> tuple[str, int]:
    """Return standard output and the exit status of the command."""
    out = StringIO()
    try:
        call_command("audit_sitemaps", *map(str, arguments), stdout=out)
    except CommandError as error:
        return out.getvalue(), error.returncode
    return out.getvalue(), 0


def folder(tmp_path: Path, files: Any = None) -> Path:
    return write(tmp_path / "public", {**sound(), **(files or {})})


def test_a_sound_folder_exits_with_0(tmp_path: Path) -> None:
    output, status = said("--dir", folder(tmp_path))
    assert status == 0
    first, second = output.splitlines()
    assert first.startswith(f"{tmp_path}/public: read 3 documents with 3 URLs in ")
    assert second == (
        "Nothing is wrong with the documents. Whether their pages exist is unknown without --fetch."
    )


def test_an_error_exits_with_1_and_the_table_says_what_and_where(tmp_path: Path) -> None:
    path = folder(tmp_path, DUPLICATE)
    output, status = said("--dir", path)
    assert status == 1
    assert output.splitlines()[2:] == [
        "rule                   severity      count   accepted",
        "url-duplicate          error             1          0",
        "",
        "url-duplicate: A URL occurs more than once in a document. List it once.",
        f"  {PAGE}:4: {BASE}/words/a/",
    ]
    assert said("--dir", path, "--verbosity", 0) == ("", 1)
    with pytest.raises(CommandError, match=r"public found 1 error and 0 warnings\.$"):
        call_command("audit_sitemaps", dir=str(path), stdout=StringIO())


def test_a_warning_exits_with_0_unless_the_audit_is_strict(tmp_path: Path) -> None:
    path = folder(tmp_path, WARNING)
    assert said("--dir", path)[1] == 0
    assert said("--dir", path, "--strict")[1] == 1


def test_json_is_the_report_and_nothing_else(tmp_path: Path) -> None:
    output, status = said("--dir", folder(tmp_path, DUPLICATE), "--format", "json", "--verbosity", 2)
    report = json.loads(output)
    assert status == 1
    figures = {"urls": 3, "documents": 3, "pages": 0, "errors": 1, "warnings": 0}
    assert {name: report[name] for name in figures} == figures
    finding = {"rule": "url-duplicate", "severity": "error", "count": 1, "accepted": 0}
    assert report["findings"] == [{**finding, "examples": [f"{PAGE}:4: {BASE}/words/a/"]}]


def test_more_verbosity_names_each_document_and_shows_all_examples(tmp_path: Path) -> None:
    path = folder(tmp_path, {PAGE: urlset(*[url()] * 6)})
    brief, _ = said("--dir", path)
    full, _ = said("--dir", path, "--verbosity", 2)
    assert full.splitlines()[:3] == ["sitemap.xml", PAGE, OTHER]
    assert brief.count("  sitemap-a-1.xml:") == 3
    assert full.count("  sitemap-a-1.xml:") == 5


def test_control_characters_of_a_site_are_escaped(tmp_path: Path) -> None:
    path = folder(tmp_path, {"sitemap.xml": f"Sitemap {BASE}", PAGE: None})
    write(path, {"robots.txt": f"Sitemap: {BASE}/a.txt", "a.txt": f"{BASE}/\x1b[31mred\x9b\n"})
    output, _ = said("--dir", path, "--verbosity", 2)
    assert "\x1b" not in output
    assert "\x9b" not in output
    assert "\\x1b[31mred" in output


# Baselines


def test_a_baseline_accepts_what_it_was_written_for_and_no_more(tmp_path: Path) -> None:
    path, baseline = folder(tmp_path, DUPLICATE | {OTHER: WARNING[PAGE]}), tmp_path / "baseline.json"
    assert said("--dir", path, "--write-baseline", baseline)[1] == 0
    accepted = json.loads(baseline.read_text())
    assert accepted == {"url-duplicate": 1, "url-duplicate-across": 1, "lastmod-ambiguous": 1}
    output, status = said("--dir", path, "--baseline", baseline, "--strict")
    assert status == 0
    assert "url-duplicate          error             1          1" in output
    assert "List it once" not in output
    path = folder(tmp_path, {PAGE: urlset(url(), url(), url())})
    assert said("--dir", path, "--baseline", baseline)[1] == 1
    baseline.write_text('{"url-host": 10}')
    assert said("--dir", folder(tmp_path, DUPLICATE), "--baseline", baseline)[1] == 1


# Wrong use


@pytest.mark.parametrize(
    "content", [b"", b"[]", b'{"url-host": "all"}', b'{"url-hosts": 1}', b"[" * 100_000, b'"\xe4"']
)
def test_an_invalid_baseline_exits_with_2(tmp_path: Path, content: bytes) -> None:
    baseline = tmp_path / "baseline.json"
    baseline.write_bytes(content)
    assert said("--dir", folder(tmp_path), "--baseline", baseline) == ("", 2)


@pytest.mark.parametrize(
    "arguments",
    [
        *("--dir does-not-exist", "--url sitemap.xml", "--base-url example", "--baseline does-not-exist"),
        *("--fetch -1", "--rate -1", "--rate nan"),
    ],
)
def test_invalid_arguments_exit_with_2(arguments: str) -> None:
    assert said(*arguments.split()) == ("", 2)


def test_a_url_with_a_second_scheme_is_refused_with_this_reason() -> None:
    with pytest.raises(CommandError, match="contains a second scheme before the path") as raised:
        call_command("audit_sitemaps", url="https://https://www.example.com/")
    assert raised.value.returncode == 2


@pytest.mark.parametrize(
    "arguments", [["--dir", "a", "--url", "b"], ["--fetch", "some"], ["--format", "xml"]]
)
def test_arguments_that_cannot_be_parsed_are_an_error(arguments: list[str]) -> None:
    with pytest.raises(CommandError):
        call_command("audit_sitemaps", *arguments)


def test_a_missing_library_is_named_with_the_extra(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(robots, "protego", None)
    with pytest.raises(CommandError, match=r"needs protego\. Install the extra `audit`") as raised:
        call_command("audit_sitemaps", dir=str(folder(tmp_path)))
    assert raised.value.returncode == 2


def test_an_interrupted_audit_exits_with_130_without_a_traceback(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def interrupt(*arguments: object, **options: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("django_sitemaps09.management.commands.audit_sitemaps.audit", interrupt)
    assert said("--dir", folder(tmp_path)) == ("", 130)


# Options


def test_agents_are_checked_in_addition(tmp_path: Path) -> None:
    robots = f"User-agent: Newsbot\nDisallow: /words/\n\nSitemap: {BASE}/sitemap.xml"
    path = folder(tmp_path, {"robots.txt": robots})
    assert said("--dir", path)[1] == 0
    output, status = said("--dir", path, "--agent", "Newsbot")
    assert status == 1
    assert f"{BASE}/words/a/ is forbidden for Newsbot" in output


@pytest.mark.django_db
def test_another_base_url_than_that_of_the_project(tmp_path: Path) -> None:
    path = write(tmp_path, sound("https://other.example"))
    assert said("--dir", path)[1] == 1
    assert said("--dir", path, "--base-url", "https://other.example")[1] == 0


def test_a_site_over_http_is_read_with_pages() -> None:
    with site(lambda base: dict.fromkeys(["words/a/", "words/b/", "about/"], "text")) as base:
        output, status = said("--url", base, "--fetch", "all", "--rate", "0")
    assert status == 0
    assert "read 3 documents with 3 URLs, 3 pages fetched in " in output
