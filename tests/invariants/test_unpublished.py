"""Runs that publish nothing change nothing: failures, guards, dry runs and lost databases."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from django.db import OperationalError, connection
from django.db.models import F, Value
from django.db.models.functions import Concat

from django_sitemaps09 import Sitemap, stores
from django_sitemaps09.exceptions import ExportRunningError
from django_sitemaps09.export import export
from django_sitemaps09.state import manifest as manifests
from tests.invariants.rows import articles, lastmods, of_section, words, write, write_words
from tests.support import published

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not hasattr(os, "fork"), reason="what dies is a fork"),
]


class AllBad(Sitemap[int]):
    def items(self) -> Sequence[int]:
        return range(30)

    def location(self, item: int) -> str:
        return "https://elsewhere.example.net/"


def failing(self: Any, item: Any) -> str:
    if item.pk == 25:
        raise ValueError("what a project has not foreseen")
    return f"/{item.slug}/"


def breaking(self: Any) -> Any:
    raise RuntimeError("the project is broken")


@pytest.mark.django_db
class TestWhatIsNotPublished:
    """Neither content nor modification time of a published file changes."""

    @pytest.mark.parametrize(
        "broken",
        [
            lambda: articles(queryset=None, get_queryset=breaking),
            lambda: articles(location="https://elsewhere.example.net/"),
            lambda: AllBad(),
        ],
        ids=["raises", "no-url", "every-item"],
    )
    def test_is_not_changed_by_a_failure(
        self, tmp_path: Path, keys: Any, broken: Callable[[], Any]
    ) -> None:
        write(*range(1, 36))
        write_words(*range(25))
        export(output=tmp_path, sitemaps={"a": articles(), "w": words()})
        before, dates = of_section(tmp_path, "a"), lastmods(tmp_path)
        write(*range(36, 60))
        write_words(*range(25, 50))
        report = export(output=tmp_path, sitemaps={"a": broken(), "w": words()})
        assert [bool(section.failure) for section in report.sections] == [True, False]
        assert of_section(tmp_path, "a") == before
        assert {name: lastmods(tmp_path)[name] for name in before} == {n: dates[n] for n in before}
        # The other, valid sections are published.
        assert len(published.indexed(tmp_path)) == 35 + 50

    def test_is_not_changed_by_the_guard(self, tmp_path: Path, keys: Any) -> None:
        from tests.models import Article

        keys(MAX_URLS=50)
        write(*range(1, 301))
        write_words(*range(25))
        export(output=tmp_path, sitemaps={"a": articles(), "w": words()})
        before = of_section(tmp_path, "a")
        Article.objects.filter(pk__lte=160).delete()
        Article.objects.update(slug=Concat(F("slug"), Value("-new")))
        write_words(*range(25, 50))
        report = export(output=tmp_path, sitemaps={"a": articles(), "w": words()})
        assert "--force a" in str(report.sections[0].failure)
        assert of_section(tmp_path, "a") == before
        assert len(published.indexed(tmp_path)) == 300 + 50
        # With --force, it is published.
        assert export(output=tmp_path, sitemaps={"a": articles(), "w": words()}, force=["a"]).failures == []
        assert len(published.indexed(tmp_path)) == 140 + 50

    def test_the_guard_remembers_what_there_was_through_small_steps(
        self, tmp_path: Path, keys: Any
    ) -> None:
        from tests.models import Article

        keys(MAX_URLS=50)
        write(*range(1, 401))
        for gone in (150, 190):
            report = export(output=tmp_path, sitemaps={"a": articles()})
            assert report.failures == []
            Article.objects.filter(pk__lte=gone).delete()
        export(output=tmp_path, sitemaps={"a": articles()})
        Article.objects.filter(pk__lte=300).delete()
        before = published.states(tmp_path)
        report = export(output=tmp_path, sitemaps={"a": articles()})
        assert "from 400 to 100" in str(report.sections[0].failure)
        assert published.states(tmp_path) == before

    def test_is_not_changed_by_a_strict_run(self, tmp_path: Path, keys: Any) -> None:
        from tests.models import Article

        write(*range(1, 36))
        write_words(*range(25))
        sitemaps = {"a": articles(location=lambda self, item: f"/{item.slug}/"), "w": words()}
        export(output=tmp_path, sitemaps=sitemaps)
        before = published.states(tmp_path)
        write(*range(36, 60))
        write_words(*range(25, 50))
        Article.objects.filter(pk=7).delete()
        sitemaps["a"] = articles(location=failing)
        report = export(output=tmp_path, sitemaps=sitemaps, strict=True)
        assert not report.published
        assert report.failures
        assert published.states(tmp_path) == before
        assert sorted(os.listdir(tmp_path / ".sitemaps09")) == kept_state(tmp_path)  # noqa: PTH208

    def test_is_not_changed_by_a_dry_run(self, tmp_path: Path, keys: Any) -> None:
        write(*range(1, 36))
        export(output=tmp_path, sitemaps={"a": articles()})
        before = published.states(tmp_path, hidden=True)
        write(*range(36, 60))
        export(output=tmp_path, sitemaps={"a": articles()}, dry_run=True)
        assert published.states(tmp_path, hidden=True) == before

    def test_is_not_changed_by_an_export_that_finds_another_one(self, tmp_path: Path, keys: Any) -> None:
        write(*range(1, 36))
        export(output=tmp_path, sitemaps={"a": articles()})
        write(*range(36, 60))
        before = published.states(tmp_path, hidden=True)
        with stores.exclusive_lock(stores.target_store(tmp_path)), pytest.raises(ExportRunningError):
            export(output=tmp_path, sitemaps={"a": articles()})
        assert published.states(tmp_path, hidden=True) == before


def kept_state(folder: Path) -> list[str]:
    manifest = manifests.read_root(stores.state_store(stores.target_store(folder)))
    assert manifest is not None
    return sorted(["history.json", "lock", "manifest.json", *manifest.files.values()])


@pytest.mark.django_db
class TestADatabaseThatIsGone:
    @pytest.mark.parametrize("at", [1, 2, 4, 6, 9])
    def test_costs_the_section_that_was_read_and_no_other_one(
        self, tmp_path: Path, keys: Any, at: int
    ) -> None:
        write(*range(1, 36))
        write_words(*range(25))
        sitemaps = {"w": words(), "a": articles(), "z": words()}
        export(output=tmp_path, sitemaps=sitemaps)
        before = of_section(tmp_path, "a")
        write(*range(1_000, 1_030))
        write_words(*range(25, 50))
        queries = 0

        def gone(execute: Any, sql: str, *arguments: Any) -> Any:
            nonlocal queries
            if "tests_article" in sql:
                queries += 1
                if queries >= at:
                    raise OperationalError("server closed the connection unexpectedly")
            return execute(sql, *arguments)

        with connection.execute_wrapper(gone):
            report = export(output=tmp_path, sitemaps=sitemaps)
        assert queries >= at
        assert [bool(section.failure) for section in report.sections] == [False, True, False]
        assert "OperationalError: server closed the connection" in str(report.sections[1].failure)
        assert of_section(tmp_path, "a") == before
        assert len(published.indexed(tmp_path)) == 35 + 50
        assert [name for name in os.listdir(tmp_path / ".sitemaps09") if name.startswith("run")] == []  # noqa: PTH208
        assert export(output=tmp_path, sitemaps=sitemaps).failures == []
        assert len(published.indexed(tmp_path)) == 65 + 50
