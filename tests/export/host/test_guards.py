"""Guards against unintended changes with several hosts, and concurrent exports."""

from __future__ import annotations

import re
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError

from django_sitemaps09 import stores
from django_sitemaps09.exceptions import ExportError, ExportRunningError
from django_sitemaps09.export import export
from django_sitemaps09.export.report import exit_status
from tests.models import Article
from tests.support import published
from tests.support.several_hosts import (
    FINE,
    FOLDERS,
    HOST_OPTIONS,
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

    @pytest.mark.parametrize("changed_only", [False, True])
    def test_of_a_tree_holds_a_section_back_there_alone_and_no_other_section(
        self, folder: Path, changed_only: bool
    ) -> None:
        fill(*range(1, 301))
        chosen = {"a": self.Many, "n": Numbers}
        run(folder, sections={"a": self.Many}, changed_only=changed_only)
        # Only the manifest of the second host has the count of 300.
        shutil.rmtree(folder / FOLDERS[A])
        Article.objects.filter(pk__gt=50).delete()
        before = tree(folder / FOLDERS[B])
        for _ in range(3):
            reports = run(folder, sections=chosen, changed_only=changed_only)
            assert reports[A].failures == []
            [failure] = reports[B].failures
            assert "it would shrink from 300 to 50 URLs" in failure
        found = tree(folder / FOLDERS[B])
        assert found["sitemap-a-1.xml.gz"] == before["sitemap-a-1.xml.gz"]
        assert b"sitemap-n-1.xml.gz" in found["sitemap.xml"]
        assert len(slugs(folder / FOLDERS[A])) == 50 + len(Numbers.rows)
        reports = run(folder, sections=chosen, force=["a"])
        assert [bool(names) for names in written(reports)] == [False, True]
        assert len(slugs(folder / FOLDERS[B])) == 50 + len(Numbers.rows)
        quiet(folder, sections=chosen)

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
        reports = run(folder, A, B, C, remove=["n"])
        assert [len(names) for names in written(reports)] == [0, 1, 4]
        assert "sitemap-n-1.xml.gz" not in pages(folder / FOLDERS[B])
        whole(folder, A, B, C)

    @pytest.mark.parametrize(
        ("name", "match"), [("n", "because it is not published"), ("a", "because it is still declared")]
    )
    def test_refuses_to_remove_what_no_host_has_before_any_is_written(
        self, folder: Path, name: str, match: str
    ) -> None:
        thirty()
        run(folder)
        change(15, "other")
        before = published.states(folder, hidden=True)
        with pytest.raises(ExportError, match=match):
            run(folder, remove=[name])
        assert published.states(folder, hidden=True) == before

    def test_does_not_matter_where_a_forced_section_is_not_published(self, folder: Path) -> None:
        thirty()
        run(folder, A)
        Article.objects.filter(pk__gt=2).delete()
        written(run(folder, A, B, force=["a"]))
        whole(folder, A, B)


class TestTwoAtOnce:
    @pytest.mark.parametrize("host", [A, B])
    def test_of_one_host_are_refused_and_the_other_is_exported(self, folder: Path, host: str) -> None:
        thirty()
        run(folder)
        change(15, "other")
        [other] = {A, B} - {host}
        before = published.states(folder / FOLDERS[host], hidden=True)
        with stores.exclusive_lock(stores.target_store(folder, FOLDERS[host])):
            reports = run(folder)
            with pytest.raises(CommandError) as refused:
                command(folder, *HOST_OPTIONS, "--", "a")
            with pytest.raises(ExportRunningError):
                export(output=folder / FOLDERS[host], base_url=host, sitemaps=FINE)
        assert refused.value.returncode == 75
        assert published.states(folder / FOLDERS[host], hidden=True) == before
        assert (reports[host].is_busy, reports[host].published, reports[host].sections) == (True, False, ())
        assert reports[host].failures[0].startswith(f"{host}: ")
        assert reports[host].exit_status == 75
        assert (reports[other].is_busy, reports[other].exit_status) == (False, 0)
        whole(folder, other)
        assert exit_status(reports.values()) == 75
        run(folder)
        whole(folder, A, B)

    def test_have_status_1_if_anything_else_failed(self, folder: Path) -> None:
        thirty()
        run(folder)
        (folder / FOLDERS[B] / "sitemap.xml").unlink()
        (folder / FOLDERS[B] / "sitemap.xml").mkdir()
        change(15, "other")
        with (
            stores.exclusive_lock(stores.target_store(folder, FOLDERS[A])),
            pytest.raises(CommandError) as failed,
        ):
            command(folder, *HOST_OPTIONS, "--base-url", C, "--", "a")
        assert failed.value.returncode == 1
        busy, broken = str(failed.value).splitlines()
        assert busy.startswith(f"{A}: ")
        assert re.search(rf"^{B}: .*is a folder", broken)
        whole(folder, C)

    def test_of_other_hosts_do_not_wait_for_each_other(self, folder: Path) -> None:
        thirty()
        with (
            stores.exclusive_lock(stores.target_store(folder, FOLDERS[C])),
            stores.exclusive_lock(stores.target_store(folder)),
        ):
            run(folder)
        whole(folder, A, B)
