"""The memory that a run takes, as reported by the system."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import django
import pytest
from django.db import connection
from django.db.models import F, Value
from django.db.models.functions import Concat

from django_sitemaps09.export import export, report
from tests import settings as configuration
from tests.support.configuration import BASE
from tests.support.exports import article_model, article_sitemap
from tests.support.memory import needs_resource
from tests.support.paths import ROOT
from tests.support.processes import ended, environment, started

MILLION = 1_000_000

#: This runs in a separate process, because the peak memory of a process never decreases.
CODE = """
import subprocess, sys
from django_sitemaps09.export.report import Report, with_peaks
def peaks():
    report = with_peaks(Report((), None, "", ""))
    return report.memory, report.workers_memory
def grow(size):
    return b"x" * size
first = peaks()
held = grow({own})
del held
subprocess.run([sys.executable, "-c", "held = b'x' * {workers}"], check=True)
print(*first, *peaks())
"""


@needs_resource
def test_the_peaks_are_the_largest_numbers_of_bytes_ever_in_use() -> None:
    """The process holds 200 MB, and then a child holds 300 MB."""
    done = subprocess.run(  # noqa: S603 our own interpreter and code
        [sys.executable, "-c", CODE.format(own=200 * MILLION, workers=300 * MILLION)],
        env={"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=True,
    )
    before, none, own, workers = done.stdout.split()
    assert none == "None"
    # At first, the system may count the memory of the parent process.
    assert 200 * MILLION < int(own) < int(before) + 210 * MILLION
    assert 300 * MILLION < int(workers) < 400 * MILLION


def test_what_a_system_does_not_report_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(report, "resource", None)
    measured = report.with_peaks(report.Report((), None, "", ""))
    assert (measured.memory, measured.workers_memory) == (None, None)


def test_the_memory_of_an_export_does_not_grow_with_its_rows(tmp_path: Path) -> None:
    command = ("-m", "tests.export.test_memory", tmp_path, 10_000, 120_000)
    status, out, errors = ended(started(*command, environ=environment(tmp_path, "tests.settings")), 60)
    assert status == 0, errors
    few, many = map(int, out.split())
    # The locations of 110,000 rows alone would take 9 MB.
    assert many - few < 5_000_000


def exported_peaks(folder: str, *counts: int) -> list[int]:
    """Return the peak memory, in bytes, after an export of each of these numbers of rows."""
    model = article_model()
    with connection.schema_editor() as editor:
        editor.create_model(model._meta.get_field("category").related_model)
        editor.create_model(model)
    with connection.cursor() as cursor:
        cursor.execute(
            f"INSERT INTO {model._meta.db_table} (id, slug, published, updated)"  # noqa: S608 no input
            " WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %s)"
            " SELECT i, 'article-number-' || i, 1, '2026-01-01 00:00:00' FROM n",
            [max(counts)],
        )
    found = []
    for count in counts:
        rows = model.objects.filter(pk__lte=count)
        sitemap = article_sitemap(
            queryset=rows, location=Concat(Value("/articles/"), F("slug"), Value("/"))
        )
        report = export(output=f"{folder}/{count}", sitemaps={"a": sitemap}, base_url=BASE)
        assert report.urls == count, report.failures
        found.append(high_water())
    return found


def high_water() -> int:
    status = Path("/proc/self/status")
    if status.exists():
        # Unlike ru_maxrss, this does not include the memory of the parent process.
        (line,) = [line for line in status.read_text().splitlines() if line.startswith("VmHWM:")]
        return int(line.split()[1]) * 1_024
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1_024)


if __name__ == "__main__":
    configuration.DATABASES["default"]["NAME"] = f"{sys.argv[1]}/db.sqlite3"
    django.setup()
    print(*exported_peaks(sys.argv[1], *map(int, sys.argv[2:])))  # noqa: T201
