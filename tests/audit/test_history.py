"""Audits that compare the lastmods of pages with their changes, and audits that are interrupted."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Iterator
from datetime import datetime, timezone
from io import StringIO
from itertools import count
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from django_sitemaps09.audit import AuditInterrupted, audit
from django_sitemaps09.audit.rules import pages as page_rules
from django_sitemaps09.exceptions import AuditError
from tests.support.answers import Answer, site
from tests.support.site_files import PAGE, url, urlset

HTML, TEXT = {"Content-Type": "text/html"}, {"Content-Type": "text/plain"}
NUMBERS = count()


class ChangingSite:
    """A site with one page whose text and lastmod can change."""

    def __init__(self) -> None:
        self.text, self.lastmod, self.varies = "<main>A text</main>", "2026-01-31", False

    def answers(self, base: str) -> dict[str, Answer | str | bytes | None]:
        text = f"{self.text}<p>{next(NUMBERS)}</p>" if self.varies else self.text
        page = Answer(f"<html><body><nav>{next(NUMBERS)}</nav>{text}</body></html>", 200, HTML)
        listed = urlset(url("/words/a/", f"<lastmod>{self.lastmod}</lastmod>", base=base))
        return {"words/a/": page, "about/": Answer("text", 200, TEXT), PAGE: listed}


@pytest.fixture
def changing() -> ChangingSite:
    return ChangingSite()


@pytest.fixture
def base(changing: ChangingSite) -> Iterator[str]:
    with site(changing.answers) as base:
        yield base


@pytest.mark.parametrize(
    ("text", "lastmod", "rules"),
    [
        ("<main>A text</main>", "2026-01-31", set()),
        ("<main>A \n text</main><footer>2027</footer>", "2026-01-31", set()),
        ("<main>Another text</main>", "2026-01-31", {"page-changed"}),
        ("<main>A text</main>", "2026-02-01", {"page-unchanged"}),
        ("<main>Another text</main>", "2026-02-01", set()),
        ("<p>Another text</p>", "2026-01-31", {"page-changed"}),
    ],
)
def test_lastmods_are_compared_with_changes(
    text: str, lastmod: str, rules: set[str], changing: ChangingSite, base: str, tmp_path: Path
) -> None:
    path = tmp_path / "history.json"
    first = audit(base, fetch="all", rate=0, history=path)
    assert (first.findings, first.compared, first.varying) == ((), 0, 0)
    changing.text, changing.lastmod = text, lastmod
    second = audit(base, fetch="all", rate=0, history=path)
    assert {finding.rule for finding in second.findings} == rules
    assert (second.compared, second.varying) == (1, 0)


@pytest.mark.parametrize("lastmod", ["2026-01-31T00:00:00+00:00", "2026-01-31T09:00:00Z", "2026-01-30", ""])
def test_a_lastmod_that_is_equivalent_older_or_none_is_not_newer(
    lastmod: str, changing: ChangingSite, base: str, tmp_path: Path
) -> None:
    path = tmp_path / "history.json"
    audit(base, fetch="all", rate=0, history=path)
    changing.lastmod = lastmod
    rules = {finding.rule for finding in audit(base, fetch="all", rate=0, history=path).findings}
    assert "page-unchanged" not in rules


def test_a_date_includes_the_changes_of_its_day(changing: ChangingSite, base: str, tmp_path: Path) -> None:
    path, link = tmp_path / "history.json", tmp_path / "link.json"
    link.symlink_to(path)
    changing.lastmod = f"{datetime.now(timezone.utc):%Y-%m-%d}"
    audit(base, fetch="all", rate=0, history=link)
    changing.text = "<main>Another text</main>"
    report = audit(base, fetch="all", rate=0, history=link)
    assert (report.findings, report.compared, link.is_symlink()) == ((), 1, True)
    with pytest.raises(AuditError, match="cannot be written"):
        audit(base, fetch="all", history=tmp_path / "missing" / "history.json")


def test_a_page_that_varies_is_not_judged(changing: ChangingSite, base: str, tmp_path: Path) -> None:
    path = tmp_path / "history.json"
    audit(base, fetch="all", rate=0, history=path)
    changing.text, changing.varies = "Text", True
    output = StringIO()
    arguments = {"url": base, "fetch": "all", "rate": 0, "history": str(path), "stdout": output}
    call_command("audit_sitemaps", **arguments)
    assert "Compared 0 pages with the history; not judged: 1 page" in output.getvalue()
    changing.text, changing.varies = "<main>Another text</main>", False
    # The text from before is still known.
    [finding] = audit(base, fetch="all", rate=0, history=path).findings
    assert finding.rule == "page-changed"


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such modes")
def test_a_history_changes_nothing_else_in_its_folder(base: str, tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    path = tmp_path / "2026-01-31T10:30.json"
    for _ in range(2):
        audit(base, fetch="all", rate=0, history=path)
        assert [file.name for file in tmp_path.iterdir()] == [path.name]
    assert [stat.S_IMODE(each.stat().st_mode) for each in (tmp_path, path)] == [0o755, 0o600]


def test_a_pipe_is_no_history(base: str, tmp_path: Path) -> None:
    path = tmp_path / "history.json"
    os.mkfifo(path)
    with pytest.raises(AuditError, match=r"is not a regular file\. Name another file"):
        audit(base, fetch=1, rate=0, history=path)


@pytest.mark.parametrize("content", ["", "[]", '{"format": 2, "pages": {}}', '{"format": 1, "pages": [1]}'])
def test_a_file_that_is_no_history_is_kept(content: str, base: str, tmp_path: Path) -> None:
    path = tmp_path / "history.json"
    path.write_text(content)
    with pytest.raises(AuditError, match=r"history\.json is not a history"):
        audit(base, fetch=1, rate=0, history=path)
    assert path.read_text() == content
    with pytest.raises(AuditError, match="number of pages to fetch"):
        audit(base, history=path)


def test_an_interrupted_audit_has_a_partial_report(
    base: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "history.json"

    def interrupt(number: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(AuditInterrupted) as caught:
        audit(base, fetch="all", rate=0, history=path, on_page=interrupt)
    assert (caught.value.report.is_partial, caught.value.report.pages) == (True, 1)
    monkeypatch.setattr(page_rules, "_html", lambda response: interrupt(0))
    options = {
        "url": base,
        "fetch": "all",
        "rate": 0,
        "history": str(path),
        "write_baseline": str(tmp_path / "baseline.json"),
    }
    output = StringIO()
    with pytest.raises(CommandError) as failure:
        call_command("audit_sitemaps", **options, stdout=output)
    assert failure.value.returncode == 130
    assert output.getvalue().startswith(f"PARTIAL, interrupted: {base}: read 3 documents with 2 URLs")
    output = StringIO()
    with pytest.raises(CommandError):
        call_command("audit_sitemaps", **options, format="json", stdout=output)
    assert json.loads(output.getvalue())["is_partial"] is True
    assert [*tmp_path.iterdir()] == []
