"""The index and the files: dates, foreign files, removed pages, and numbers after a crash."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from django_sitemaps09.export import export
from django_sitemaps09.stores.local import LocalStore
from tests.invariants.rows import articles, lastmods, of_section, words, write, write_words
from tests.support import published
from tests.support.clock import Clock

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not hasattr(os, "fork"), reason="what dies is a fork"),
]


@pytest.mark.django_db
class TestTheIndexAndTheFiles:
    def test_a_lastmod_changes_exactly_when_the_digest_does(
        self, tmp_path: Path, keys: Any, clock: Clock
    ) -> None:
        from tests.models import Article

        clock.time = datetime(2026, 6, 1, tzinfo=timezone.utc)
        write(*range(10, 360, 10))
        found: list[tuple[dict[str, str], dict[str, str | None]]] = []
        changes: list[Callable[[], object]] = [
            lambda: None,
            lambda: Article.objects.filter(pk=130).update(slug="another"),
            lambda: None,
            lambda: write(*range(131, 138)),
            lambda: write(*range(1_000, 1_020)),
            lambda: Article.objects.filter(pk__gt=10, pk__lt=90).delete(),
            lambda: None,
            lambda: None,
            lambda: Article.objects.filter(pk=130).update(slug="a130"),
            lambda: keys(GZIP_LEVEL=9),
        ]
        for change in changes:
            change()
            clock.time += timedelta(hours=1)
            assert export(output=tmp_path, sitemaps={"a": articles()}).failures == []
            digests = {name: published.digest(tmp_path, name) for name in published.pages(tmp_path)}
            found.append((digests, lastmods(tmp_path)))
        moved = 0
        for (digests, dates), (digests_now, dates_now) in pairwise(found):
            for name in digests.keys() & digests_now.keys():
                assert (dates[name] == dates_now[name]) == (digests[name] == digests_now[name]), name
                moved += dates[name] != dates_now[name]
        assert moved >= 4
        # In the first export, they are the lastmods of the rows.
        assert found[0][1]["sitemap-a-1.xml.gz"] == "2026-01-05T04:00:00Z"

    def test_what_is_in_no_manifest_is_never_deleted(self, tmp_path: Path, keys: Any) -> None:
        keys(KEEP_REMOVED=0)
        foreign = ["index.html", "sitemap.xsl", "sitemap-a.xml", "sitemap-a-0.xml.gz", "sitemap-news.xml"]
        # Files as from earlier exports, and of sections that do not exist.
        foreign += ["sitemap-a-77.xml.gz", "sitemap-a-78.xml", "sitemap-gone-3.xml.gz"]
        foreign += [".sitemaps09/mine.txt", "deep/sitemap-a-1.xml.gz"]
        for name in foreign:
            (tmp_path / name).parent.mkdir(exist_ok=True)
            (tmp_path / name).write_bytes(f"mine: {name}".encode())
        before = {name: (tmp_path / name).stat().st_mtime_ns for name in foreign}
        write(*range(1, 36))
        write_words(*range(25))
        both = {"a": articles(), "w": words()}
        export(output=tmp_path, sitemaps=both)
        first = set(published.pages(tmp_path))
        # None of their numbers is used.
        assert "sitemap-a-79.xml.gz" in first
        export(output=tmp_path, sitemaps=both, rebalance=True)
        export(output=tmp_path, sitemaps={"a": articles()}, remove=["w"])
        export(output=tmp_path, sitemaps={"a": articles()}, gzip=False)
        (tmp_path / ".sitemaps09" / "manifest.json").write_text("{")
        export(output=tmp_path, sitemaps={"a": articles()})
        for _ in range(2):
            export(output=tmp_path, sitemaps={"a": articles()})
        assert {name: (tmp_path / name).stat().st_mtime_ns for name in foreign} == before
        assert {name: (tmp_path / name).read_bytes() for name in foreign} == {
            name: f"mine: {name}".encode() for name in foreign
        }
        # The export deletes the files that it had written and removed.
        assert not any((tmp_path / name).exists() for name in first)

    def test_removed_files_stay_for_crawlers_with_an_older_index(
        self, tmp_path: Path, keys: Any, clock: Clock
    ) -> None:
        clock.time = datetime(2026, 6, 1, tzinfo=timezone.utc)
        write(*range(1, 36))
        export(output=tmp_path, sitemaps={"a": articles()})
        old = of_section(tmp_path, "a")
        clock.time += timedelta(hours=1)
        export(output=tmp_path, sitemaps={"a": articles()}, rebalance=True)
        clock.time += timedelta(hours=23, minutes=59)
        export(output=tmp_path, sitemaps={"a": articles()})
        assert of_section(tmp_path, "a").items() >= old.items()
        clock.time += timedelta(minutes=1)
        report = export(output=tmp_path, sitemaps={"a": articles()})
        assert sorted(report.deleted) == sorted(old)
        assert of_section(tmp_path, "a").keys().isdisjoint(old)
        # Their numbers are never used again.
        export(output=tmp_path, sitemaps={"a": articles()}, rebalance=True)
        assert set(published.pages(tmp_path)).isdisjoint(old)


@pytest.mark.django_db
class TestUnverifiedState:
    """A run was killed while publishing, and its staged files are lost."""

    @pytest.fixture
    def doubted(self, tmp_path: Path, keys: Any, monkeypatch: pytest.MonkeyPatch) -> Path:
        keys(MAX_URLS=50, KEEP_REMOVED=0)
        write(*range(1, 401))
        export(output=tmp_path, sitemaps={"a": articles()})
        for _ in range(2):
            # Numbers up to 27 are used. When pages are removed, no file has the last numbers any more.
            export(output=tmp_path, sitemaps={"a": articles()}, rebalance=True)
        highest = max(numbers(tmp_path))
        assert highest == 27
        monkeypatch.setattr(LocalStore, "promote", broken_off)
        write(401)
        with pytest.raises(KeyboardInterrupt):
            export(output=tmp_path, sitemaps={"a": articles()})
        monkeypatch.undo()
        keys(MAX_URLS=50)
        (run,) = (tmp_path / ".sitemaps09").glob("run-*")
        shutil.rmtree(run)
        return tmp_path

    def test_no_number_is_used_again(self, doubted: Path) -> None:
        for name in published.pages(doubted)[-2:]:
            (doubted / name).unlink()
        assert export(output=doubted, sitemaps={"a": articles()}).failures == []
        assert min(numbers(doubted)) == 28
        assert len(published.indexed(doubted)) == 401

    def test_the_guard_knows_how_many_there_were(self, doubted: Path) -> None:
        from tests.models import Article

        Article.objects.filter(pk__gt=20).delete()
        before = published.states(doubted)
        report = export(output=doubted, sitemaps={"a": articles()})
        assert "from 400 to 20" in str(report.sections[0].failure)
        assert published.states(doubted) == before


def broken_off(*_: object) -> None:
    raise KeyboardInterrupt


def numbers(folder: Path) -> list[int]:
    return [int(name.split("-")[2].removesuffix(".xml.gz")) for name in published.pages(folder)]
