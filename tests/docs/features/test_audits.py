"""The documentation of audits: what a report shows, a test of a project, and the last report."""

from __future__ import annotations

import re
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.urls import include, path

from django_sitemaps09 import register
from django_sitemaps09.audit import audit
from django_sitemaps09.export import export
from tests.docs.features.project import BASE, declared, snippet_of
from tests.docs.pages import Snippet, blocks
from tests.shop.models import Product
from tests.support.site_files import DUPLICATE, sound, write

AUDIT_TEST = ("docs/howto/audit.md", "In CI")
AUDIT_TABLE = ("docs/howto/audit.md", "Validate a sitemap")
LAST_AUDIT = ("docs/howto/audit.md", "The last report")


@pytest.mark.sitemaps09
def test_the_table_that_is_shown_is_the_one_that_is_printed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, settings: Any
) -> None:
    """The view of the words is that of `tests.urls`."""
    settings.ROOT_URLCONF = "tests.urls"
    write(tmp_path / "public", sound() | DUPLICATE)
    monkeypatch.chdir(tmp_path)
    out = StringIO()
    with pytest.raises(CommandError):
        call_command("audit_sitemaps", dir="public", stdout=out)
    [shown] = blocks("text", *AUDIT_TABLE)
    assert re.sub(r"\d+\.\d+", "N", shown.text) == re.sub(r"\d+\.\d+", "N", out.getvalue())


@snippet_of(AUDIT_TEST)
def test_a_project_can_test_its_sitemaps(snippet: Snippet, can: Product, db: None, use_urls: Any) -> None:
    test = snippet.run("shop.tests").test_the_sitemaps_are_valid
    use_urls(path("", include("django_sitemaps09.urls")))
    register("products", declared("pass"))
    with pytest.raises(AssertionError):
        test(db)


@snippet_of(LAST_AUDIT)
def test_the_last_report_is_printed(
    snippet: Snippet, can: Product, tmp_path: Path, settings: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    register("products", declared("pass"))
    settings.SITEMAPS09 = {"BASE_URL": BASE, "ROOT": str(tmp_path)}
    export()
    (tmp_path / "sitemap-products-1.xml.gz").unlink()
    audit(directory=tmp_path)
    report = snippet.run("shop.audits").report
    assert [finding.rule for finding in report.findings] == ["document-missing"]
    assert " document-missing error 1 ('sitemap-products-1.xml.gz: " in capsys.readouterr().out
