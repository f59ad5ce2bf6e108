"""The memory that a run takes, as reported by the system."""

from __future__ import annotations

import subprocess
import sys

import pytest
from django.db import connection
from django.db.models import F, Value
from django.db.models.functions import Concat

from django_sitemaps09.export import export, report
from tests.models import Article, Category
from tests.support.configuration import BASE
from tests.support.engine_project import Project
from tests.support.exports import article_sitemap
from tests.support.memory import needs_resource, peak_memory

MILLION = 1_000_000


def peaks():
    measured = report.with_peaks(report.Report((), None, "", ""))
    return measured.memory, measured.workers_memory


def measured_peaks():
    first = peaks()
    held = b"x" * 200 * MILLION
    del held
    subprocess.run([sys.executable, "-c", f"held = b'x' * {300 * MILLION}"], check=True)  # noqa: S603
    return *first, *peaks()


@pytest.mark.slow
@needs_resource
def test_the_peaks_are_the_largest_numbers_of_bytes_ever_in_use(tmp_path):
    """The peak memory of a process never decreases."""
    before, none, own, workers = Project(tmp_path / "project").run(measured_peaks)
    # At first, the system may count the memory of the parent process.
    assert (none, 200 * MILLION < own < before + 210 * MILLION) == (None, True)
    assert 300 * MILLION < workers < 400 * MILLION


def test_what_a_system_does_not_report_is_none(monkeypatch):
    monkeypatch.setattr(report, "resource", None)
    assert peaks() == (None, None)


def exported_peaks(folder, *counts):
    found = []
    with connection.schema_editor() as editor:
        for model in (Category, Article):
            editor.create_model(model)
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO tests_article (id, slug, published, updated)"
            " WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %s)"
            " SELECT i, 'article-number-' || i, 1, '2026-01-01 00:00:00' FROM n",
            [max(map(int, counts))],
        )
    for count in map(int, counts):
        location = Concat(Value("/articles/"), F("slug"), Value("/"))
        sitemap = article_sitemap(queryset=Article.objects.filter(pk__lte=count), location=location)
        # The default limits, for few pages.
        result = export(output=f"{folder}/{count}", sitemaps={"a": sitemap}, base_url=BASE)
        assert result.urls == count, result.failures
        found.append(peak_memory())
    return found


@pytest.mark.slow
def test_the_memory_of_an_export_does_not_grow_with_its_rows(tmp_path):
    limits = {"MAX_URLS": 50_000, "MAX_BYTES": 50 * MILLION, "SITEMAPS": None}
    few, many = Project(tmp_path / "project").run(exported_peaks, tmp_path, 10_000, 120_000, **limits)
    # The locations of 110,000 rows alone would take 9 MB.
    assert many - few < 5 * MILLION
