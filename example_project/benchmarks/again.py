"""Exports into a folder that holds one already: one line of JSON for each run of a scenario.

`python -m benchmarks.again WORKERS FOLDER` in a process for itself, which starts another one for each run:
the peak of memory is a process's own.
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

# zlib alone, as everybody has it.
sys.modules["isal"] = None  # type: ignore[assignment]

#: What is run one after the other in one folder, and with what.
SCENARIOS = (
    ("full", {}),
    ("full, nothing changed", {}),
    ("the first with --changed-only", {"changed_only": True}),
    ("--changed-only, nothing changed", {"changed_only": True}),
    ("--changed-only, 0.1 % changed", {"changed_only": True}),
    ("full, one row changed", {}),
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
    """One run, without the start of Python and Django."""
    import django

    django.setup()
    from benchmarks.subject import warm_up
    from django_sitemaps09.export import export

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
    """Makes the changes of a scenario; gives what takes them back. None of them is of these ten minutes."""
    from articles.models import Article

    published = Article.objects.filter(published=True)
    if "row changed" in name:
        keys = list(published.order_by("pk").values_list("pk", flat=True)[1000:1001])
    elif "0.1 %" in name:
        keys = list(published.order_by("-pk").values_list("pk", flat=True)[: published.count() // 1000])
    else:
        return lambda: None
    changed = published.filter(pk__in=keys)
    before = {article.pk: article for article in changed}
    newest = max(article.updated for article in before.values()) + timedelta(days=1)
    for article in changed:
        article.slug, article.updated = f"{article.slug}-x", newest
        article.save()
    return lambda: Article.objects.bulk_update(before.values(), ["slug", "updated"], batch_size=200)


if __name__ == "__main__":
    if len(sys.argv) > 3:
        sys.stdout.write(f"{json.dumps(one(int(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]))}\n")
    else:
        os.environ.setdefault(subjects.OUTPUT, sys.argv[2])
        main(*sys.argv[1:])
