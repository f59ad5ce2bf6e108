"""Export into a folder that already contains an export; print a line of JSON for each scenario.

`python -m benchmarks.again WORKERS FOLDER` starts a process for each scenario, since the memory peak is
that of a whole process.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from datetime import timedelta
from pathlib import Path
from typing import Any

from benchmarks import subjects

# Without isal, as without the extra `fast`.
sys.modules["isal"] = None  # type: ignore[assignment]

#: Scenarios that run in this order in one folder, with the options of the export.
SCENARIOS = (
    ("full", {}),
    ("full, nothing changed", {}),
    ("the first run with --changed-only", {"changed_only": True}),
    ("--changed-only, nothing changed", {"changed_only": True}),
    ("--changed-only, the last 0.1% changed", {"changed_only": True}),
    ("--changed-only, every thousandth row changed", {"changed_only": True}),
    ("full, one row changed", {}),
    ("full, 1% changed on all pages", {}),
    ("full, 1% changed on all pages, with FEED", {}),
    ("full, all rows changed", {}),
    ("full, all rows changed, with FEED", {}),
)


def main(workers: str, folder: str) -> None:
    for name, _ in SCENARIOS:
        command = [sys.executable, "-m", "benchmarks.again", workers, folder, name]
        ended = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
        if ended.returncode:
            raise SystemExit(ended.stderr)
        sys.stdout.write(ended.stdout)
        sys.stdout.flush()


def one(workers: int, folder: Path, name: str) -> dict[str, Any]:
    """Run one scenario, and return its measurements. They exclude starting Python and Django."""
    import django

    django.setup()
    from django.conf import settings

    from benchmarks.subject import warm_up
    from django_sitemaps09.export import export

    if "FEED" in name:
        settings.SITEMAPS09 = {**getattr(settings, "SITEMAPS09", {}), "FEED": 1_000}
    undo = change(name)
    warm_up()
    started = time.perf_counter()
    report = export(
        output=folder, base_url="https://www.example.com", workers=workers, **dict(SCENARIOS)[name]
    )
    wall = time.perf_counter() - started
    undo()
    if report.failures or not report.published:
        raise SystemExit("; ".join(report.failures) or "nothing was published")
    [section] = report.sections
    return {
        "scenario": name,
        "wall": wall,
        "outside": report.seconds - section.seconds,
        "urls": report.urls,
        "written": section.written,
        "skipped": section.skipped,
        "peak": max(report.memory or 0, report.workers_memory or 0),
    }


def change(name: str) -> Any:
    """Change the rows of a scenario, and return a function that undoes it.

    No new `lastmod` is from the last ten minutes, since such pages are always rendered.
    """
    from django.db.models import F

    from articles.models import Article

    published = Article.objects.filter(published=True)
    pks = published.order_by("pk").values_list("pk", flat=True)
    if name.startswith(("full, 1%", "full, all rows")):
        rows = published.alias(rest=F("pk") % (100 if "1%" in name else 1)).filter(rest=0)
        # Each of these scenarios changes what the one before has exported.
        later = timedelta(days=1 + list(dict(SCENARIOS)).index(name))
        rows.update(updated=F("updated") + later)
        return lambda: rows.update(updated=F("updated") - later)
    if "one row" in name:
        keys = list(pks[1000:1001])
    elif "the last" in name:
        keys = list(pks.reverse()[: published.count() // 1000])
    elif "every" in name:
        # Not a slice of all keys, which would be most of the memory that is measured.
        keys = list(pks.alias(rest=F("pk") % 1000).filter(rest=1))
    else:
        return lambda: None
    changed = published.filter(pk__in=keys)
    originals = {article.pk: article for article in changed}
    newest = max(article.updated for article in originals.values()) + timedelta(days=1)
    for article in changed:
        article.slug, article.updated = f"{article.slug}-x", newest
        article.save()
    return lambda: Article.objects.bulk_update(originals.values(), ["slug", "updated"], batch_size=200)


if __name__ == "__main__":
    if len(sys.argv) > 3:
        sys.stdout.write(f"{json.dumps(one(int(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]))}\n")
    else:
        os.environ.setdefault(subjects.OUTPUT, sys.argv[2])
        main(*sys.argv[1:])
