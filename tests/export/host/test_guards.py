"""Guards against unintended changes with several hosts, and concurrent exports."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError

from django_sitemaps09 import stores
from django_sitemaps09.exceptions import ExportRunningError
from django_sitemaps09.export import export
from tests.models import Article
from tests.support import published
from tests.support.several_hosts import (
    FINE,
    FOLDERS,
    A,
    Articles,
    B,
    Bad,
    C,
    Numbers,
    Own,
    change,
    command,
    fill,
    pages,
    quiet,
    run,
    slugs,
    thirty,
    tree,
    whole,
    written,
)

pytestmark = [pytest.mark.django_db, pytest.mark.slow]


class TestAGuard:
    class Many(Articles):
        limit = 300

    def test_of_one_tree_holds_a_section_back_on_all_and_no_other_section(self, folder: Path) -> None:
        """Otherwise, the hosts would have different pages of it from then on."""
        fill(*range(1, 301))
        run(folder, sections={"a": self.Many})
        shutil.rmtree(folder / FOLDERS[A])
        Article.objects.filter(pk__gt=50).delete()
        before = tree(folder / FOLDERS[B])
        reports = run(folder, sections={"a": self.Many, "n": Numbers})
        for report in reports.values():
            [failure] = report.failures
            assert "it would shrink from 300 to 50 URLs" in failure
        again = run(folder, sections={"a": self.Many, "n": Numbers})
        assert again[B].failures
        assert again[A].written == ()
        found = tree(folder / FOLDERS[B])
        assert found["sitemap-a-1.xml.gz"] == before["sitemap-a-1.xml.gz"]
        assert b"sitemap-n-1.xml.gz" in found["sitemap.xml"]
        assert len(slugs(folder / FOLDERS[A])) == len(Numbers.rows)
        reports = run(folder, sections={"a": self.Many, "n": Numbers}, force=["a"])
        assert written(reports)
        assert len(slugs(folder / FOLDERS[B])) == 50 + len(Numbers.rows)
        quiet(folder, sections={"a": self.Many, "n": Numbers})

    def test_of_a_tree_is_reported_with_changed_only_too(self, folder: Path, settings: Any) -> None:
        settings.SITEMAPS09 = {"MAX_SHRINK": 0.3}
        fill(*range(1, 301))
        chosen = {"a": self.Many}
        run(folder, sections=chosen)
        Article.objects.filter(pk__gt=250).delete()
        run(folder, sections=chosen)
        # Only the manifest of the second host has the count of 300.
        shutil.rmtree(folder / FOLDERS[A])
        for _ in range(2):
            run(folder, sections=chosen, changed_only=True)
        Article.objects.filter(pk__gt=190).delete()
        for _ in range(3):
            reports = run(folder, sections=chosen, changed_only=True)
            assert len(slugs(folder / FOLDERS[B])) == 250
            for report in reports.values():
                assert "it would shrink from 300 to 190 URLs" in str(report.failures)

    def test_of_strict_runs_is_one_of_all_sections(self, folder: Path) -> None:
        thirty()
        run(folder)
        before = published.states(folder)
        change(15, "other")
        for report in run(folder, sections={"a": Articles, "bad": Bad}, strict=True).values():
            assert not report.published
            assert "strict" in report.failures[0]
        assert published.states(folder) == before

    def test_of_a_section_that_fails_affects_no_other_section(self, folder: Path) -> None:
        class Broken(Numbers):
            def items(self) -> Sequence[int]:
                raise OSError("the disk is gone")

        class BrokenOnOne(Own):
            def get_urls(self, page: Any = 1, site: Any = None, protocol: Any = None) -> Any:
                if site.domain == "a.example":
                    raise OSError("not here")
                return super().get_urls(page, site, protocol)

        thirty()
        reports = run(folder, sections={"broken": Broken, "one": BrokenOnOne, "a": Articles})
        assert [len(report.failures) for report in reports.values()] == [2, 1]
        assert pages(folder / FOLDERS[A]) == [f"sitemap-a-{number}.xml.gz" for number in (1, 2, 3)]
        assert pages(folder / FOLDERS[B])[0] == "sitemap-one-1.xml.gz"

    def test_removes_a_section_from_those_that_have_it(self, folder: Path) -> None:
        thirty()
        run(folder, sections={"a": Articles, "n": Numbers})
        export(output=folder / FOLDERS[A], base_url=A, sitemaps=FINE, remove=["n"])
        assert run(folder)[B].failures
        assert written(run(folder, remove=["n"]))
        whole(folder, A, B)


class TestTwoAtOnce:
    @pytest.mark.parametrize("host", [A, B])
    def test_are_refused_before_anything_is_touched(self, folder: Path, host: str) -> None:
        thirty()
        run(folder)
        change(15, "other")
        before = published.states(folder, hidden=True)
        with stores.exclusive_lock(stores.target_store(folder, FOLDERS[host])):
            with pytest.raises(ExportRunningError):
                run(folder)
            with pytest.raises(CommandError) as refused:
                command(folder, "--base-url", A, "--base-url", B)
            with pytest.raises(ExportRunningError):
                export(output=folder / FOLDERS[host], base_url=host, sitemaps=FINE)
        assert refused.value.returncode == 75
        assert published.states(folder, hidden=True) == before
        run(folder)
        whole(folder, A, B)

    def test_of_other_hosts_do_not_wait_for_each_other(self, folder: Path) -> None:
        thirty()
        with (
            stores.exclusive_lock(stores.target_store(folder, FOLDERS[C])),
            stores.exclusive_lock(stores.target_store(folder)),
        ):
            run(folder)
        whole(folder, A, B)
