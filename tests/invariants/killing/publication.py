"""Invariants of a published folder after any crash."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from tests.invariants.killing.scenarios import Run
from tests.support import published
from tests.support.configuration import BASE


def assert_files_are_whole(folder: Path, named: Iterable[str]) -> None:
    """Check that each listed file is complete, when no process is writing."""
    for name in named:
        published.urls(folder, name)


def assert_urls_are_kept(folder: Path, must: set[str]) -> None:
    """Check that an indexed page contains each of the URLs."""
    lost = must - published.indexed(folder)
    assert not lost, f"in no indexed page: {sorted(lost)[:5]} of {len(lost)}"


def assert_is_current(folder: Path, run: Run) -> None:
    """Check that the published URLs are those of the rows, and that the manifest lists every file."""
    from django_sitemaps09.state import manifest as manifests
    from django_sitemaps09.stores.local import LocalStore

    found = [url for name in published.pages(folder) for url in published.urls(folder, name)]
    assert len(found) == len(set(found)), "twice"
    assert set(found) == run.urls(), sorted(set(found) ^ run.urls())[:5]
    state = folder / ".sitemaps09"
    left = [entry.name for entry in state.iterdir() if entry.name.startswith(("journal", "run-", "tmp-"))]
    assert left == []
    manifest = manifests.read(LocalStore(state, own=""))
    assert manifest is not None
    files = set()
    for name, record in manifest.sections.items():
        for page in record.pages:
            file = f"sitemap-{name}-{page.number}.{record.suffix}"
            assert page.name == file
            files.add(file)
            assert published.digest(folder, file) == page.digest, file
            assert page.number <= record.highest
            held = set(published.urls(folder, file))
            after, until = (key and int(key[0]) for key in (page.after, page.until))
            there = {
                f"{BASE}/{row.slug}/"
                for key, row in run.rows.items()
                if row.section == name
                and (after is None or key > after)
                and (until is None or key <= until)
            }
            assert held == there, file
        if record.pages:
            assert record.pages[-1].until is None
    assert files == set(published.pages(folder))
    ours = {name for name in os.listdir(folder) if name.startswith("sitemap")}  # noqa: PTH208
    assert ours == files | set(manifest.indexes) | manifest.removed.keys(), "files that nobody knows of"
