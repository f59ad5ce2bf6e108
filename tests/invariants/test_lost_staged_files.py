"""A run was killed while publishing, and its staged files are lost: what it published is unverified."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from django_sitemaps09.export import export
from django_sitemaps09.stores.local import LocalStore
from tests.models import Article
from tests.support import published
from tests.support.manifests import articles, write_articles

pytestmark = [
    pytest.mark.slow,
    pytest.mark.django_db,
    pytest.mark.sitemaps09(MAX_URLS=50, ENGINE="serial"),
]


def broken_off(*_: object) -> None:
    raise KeyboardInterrupt


def numbers(folder: Path) -> list[int]:
    return [int(name.split("-")[2].removesuffix(".xml.gz")) for name in published.pages(folder)]


@pytest.fixture
def unverified(tmp_path: Path, configure: Any, monkeypatch: pytest.MonkeyPatch) -> Path:
    configure(KEEP_REMOVED=0)
    write_articles(*range(1, 401))
    export(output=tmp_path, sitemaps={"a": articles()})
    for _ in range(2):
        # Numbers up to 27 are used. When pages are removed, no file has the last numbers any more.
        export(output=tmp_path, sitemaps={"a": articles()}, rebalance=True)
    highest = max(numbers(tmp_path))
    assert highest == 27
    monkeypatch.setattr(LocalStore, "promote", broken_off)
    write_articles(401)
    with pytest.raises(KeyboardInterrupt):
        export(output=tmp_path, sitemaps={"a": articles()})
    monkeypatch.undo()
    configure(KEEP_REMOVED=86_400)
    (run,) = (tmp_path / ".sitemaps09").glob("run-*")
    shutil.rmtree(run)
    return tmp_path


def test_no_number_is_used_again(unverified: Path) -> None:
    for name in published.pages(unverified)[-2:]:
        (unverified / name).unlink()
    assert export(output=unverified, sitemaps={"a": articles()}).failures == []
    assert min(numbers(unverified)) == 28
    assert len(published.indexed(unverified)) == 401


def test_the_guard_knows_how_many_urls_there_were(unverified: Path) -> None:
    Article.objects.filter(pk__gt=20).delete()
    before = published.states(unverified)
    report = export(output=unverified, sitemaps={"a": articles()})
    assert "from 400 to 20" in str(report.sections[0].failure)
    assert published.states(unverified) == before
