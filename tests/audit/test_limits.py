"""Sites that try to harm the audit: bombs, entities, paths, endless indexes."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import pytest

from django_sitemaps09.audit import AuditReport, audit, crawl
from django_sitemaps09.audit.rules import links as link_rules
from django_sitemaps09.protocol import MAX_BYTES
from tests.support.configuration import BASE
from tests.support.site_files import ALL, HEAD, OTHER, PAGE, SPACE, index, sound, url, urlset, write

pytestmark = pytest.mark.sitemaps09


def audited(folder: Path, **files: Any) -> AuditReport:
    names = {"page": PAGE, "other": OTHER, "index": "sitemap.xml"}
    write(folder, {**sound(), **{names[name]: content for name, content in files.items()}})
    return audit(directory=folder)


def rules(report: AuditReport) -> list[str]:
    return [finding.rule for finding in report.findings]


def test_a_gzip_bomb_is_read_only_up_to_the_limit(tmp_path: Path) -> None:
    bomb = gzip.compress(urlset(url()).encode() + b" " * (4 * MAX_BYTES), 9)
    report = audited(tmp_path, index=index(f"{PAGE}.gz"), page=None)
    write(tmp_path, {f"{PAGE}.gz": bomb})
    report = audit(directory=tmp_path)
    assert rules(report) == ["document-too-large"]
    assert report.urls == 1


def test_nested_gzip_is_decompressed_only_up_to_the_limit(tmp_path: Path) -> None:
    content = urlset(url()).encode()
    for _ in range(10):
        content = gzip.compress(content)
    assert rules(audited(tmp_path, page=content)) == ["gzip-damaged", "gzip-twice"]


@pytest.mark.parametrize(
    "place", ["<urlset {space} a='{entity}'>", "<urlset {space}><url><loc>{entity}</loc></url>"]
)
def test_entities_are_never_expanded(tmp_path: Path, place: str) -> None:
    lines = ["<!ENTITY e0 'lol'>", *(f"<!ENTITY e{n} '{f'&e{n - 1};' * 10}'>" for n in range(1, 12))]
    start = place.format(space=SPACE, entity="&e11;")
    report = audited(tmp_path, page=f"{HEAD}<!DOCTYPE urlset [{''.join(lines)}]>{start}</urlset>")
    assert rules(report) in (["xml-doctype"], ["xml-invalid"])
    assert "lollol" not in str(report)


def test_no_file_is_read_for_an_entity(tmp_path: Path) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text("the secret")
    doctype = f'<!DOCTYPE urlset [<!ENTITY e SYSTEM "{secret.as_uri()}">]>'
    report = audited(
        tmp_path / "public", page=f"{HEAD}{doctype}<urlset {SPACE}><url><loc>&e;</loc></url></urlset>"
    )
    assert rules(report) == ["xml-doctype"]
    assert "the secret" not in str(report)


@pytest.mark.parametrize(
    "name", ["../secret.xml", "%2e%2e/secret.xml", "a/../../secret.xml", "..%2fsecret.xml", "%00"]
)
def test_files_outside_the_folder_are_never_read(tmp_path: Path, name: str) -> None:
    (tmp_path / "secret.xml").write_text(urlset(url("/words/secret/")))
    report = audited(tmp_path / "public", index=index(name))
    assert rules(report) == ["document-missing"]
    assert report.urls == 0


def test_a_symbolic_link_to_a_file_outside_is_never_followed(tmp_path: Path) -> None:
    (tmp_path / "secret.xml").write_text(urlset(url("/words/secret/")))
    write(tmp_path / "public", sound())
    (tmp_path / "public" / "link.xml").symlink_to(tmp_path / "secret.xml")
    report = audited(tmp_path / "public", index=index("link.xml"))
    assert report.urls == 0
    assert rules(report) == ["document-unreachable"]


def test_a_chain_of_indexes_ends(tmp_path: Path) -> None:
    write(tmp_path, {f"sitemap-{n}.xml": index(f"sitemap-{n + 1}.xml") for n in range(2, 20)})
    report = audited(tmp_path, index=index("sitemap-2.xml"))
    assert rules(report) == ["document-limit", "index-nested"]
    assert report.documents == crawl.MAX_LEVELS + 1


def test_no_more_documents_than_the_limit_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(crawl, "MAX_DOCUMENTS", 2)
    report = audited(tmp_path)
    assert rules(report) == ["document-limit"]
    assert report.documents == 2


def test_memory_for_an_endless_line_is_limited(tmp_path: Path) -> None:
    write(tmp_path, {"a.txt": f"{BASE}/words/{'a' * 2_000_000}/\n{BASE}/words/b/"})
    report = audited(tmp_path, index=index("a.txt"))
    assert rules(report) == ["url-length"]
    assert report.urls == 2


def test_control_characters_in_examples_are_escaped(tmp_path: Path) -> None:
    report = audited(tmp_path, page=urlset(url("/words/\u202e/")))
    [finding] = report.findings
    assert finding.rule == "url-encoding"
    assert all(example.isprintable() for example in finding.examples)
    assert "\\u202e" in finding.examples[0]


def test_only_the_first_examples_are_kept(tmp_path: Path) -> None:
    report = audited(tmp_path, page=urlset(*(url(f"/words/{n} /") for n in range(30))))
    [finding] = report.findings
    assert (finding.count, len(finding.examples)) == (30, 10)
    assert finding.examples[0].startswith(f"{PAGE}:3: {BASE}/words/0 /")


# Alternates whose entries do not follow each other


@pytest.mark.parametrize("most", [0, 1, 1_000])
def test_alternates_on_other_pages_link_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    monkeypatch.setattr(link_rules, "_MAX_GROUPS", most)

    def version(language: str) -> str:
        links = "".join(
            f'<xhtml:link rel="alternate" hreflang="{other}" href="{BASE}/words/{other}N/"/>'
            for other in ("en", "de")
        )
        entry = url(f"/words/{language}N/", links)
        return urlset(*(entry.replace("N", f"{number}") for number in range(20)), root=ALL)

    assert audited(tmp_path, page=version("en"), other=version("de")).findings == ()
    broken = version("de").replace(
        'hreflang="en" href="https://www.example.com/words/en7/"',
        'hreflang="x-default" href="https://www.example.com/words/de7/"',
    )
    [finding] = audited(tmp_path, page=version("en"), other=broken).findings
    assert (finding.rule, finding.count) == ("hreflang-no-return", 1)
    assert f"{BASE}/words/en7/ links to {BASE}/words/de7/" in finding.examples[0]
