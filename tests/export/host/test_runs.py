"""Later runs for several hosts, and how their pages are divided."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from django_sitemaps09.hosts import host_folder
from django_sitemaps09.protocol import parse_base
from tests.models import Article
from tests.support import published
from tests.support.several_hosts import (
    FOLDERS,
    KINDS,
    ROWS,
    SECTIONS,
    A,
    B,
    change,
    fill,
    quiet,
    run,
    slugs,
    thirty,
    tree,
    whole,
    written,
)

pytestmark = [pytest.mark.django_db, pytest.mark.slow]


class TestASecondRun:
    def test_writes_nothing_in_any_tree(self, folder: Path) -> None:
        thirty()
        run(folder, sections={**KINDS, **SECTIONS})
        quiet(folder, sections={**KINDS, **SECTIONS})

    @pytest.mark.parametrize("changed_only", [False, True])
    def test_in_another_order_writes_nothing_either(self, folder: Path, changed_only: bool) -> None:
        thirty()
        for hosts in ((A, B), (A, B), (B, A)):
            reports = run(folder, *hosts, changed_only=changed_only)
        assert written(reports) == [(), ()]
        assert [report.sections[0].skipped for report in reports.values()] == [3 * changed_only] * 2

    @pytest.mark.parametrize("changed_only", [False, True])
    def test_writes_one_file_in_each_tree_for_one_row(self, folder: Path, changed_only: bool) -> None:
        thirty()
        for _ in range(2):
            run(folder, changed_only=changed_only)
        change(15, "other")
        reports = run(folder, changed_only=changed_only)
        assert written(reports) == [("sitemap-a-2.xml.gz", "sitemap.xml")] * 2
        assert [report.sections[0].skipped for report in reports.values()] == [2 * changed_only] * 2
        whole(folder, A, B)
        quiet(folder, changed_only=changed_only)

    def test_with_changed_only_renders_a_page_that_one_tree_has_lost(self, folder: Path) -> None:
        thirty()
        for _ in range(2):
            run(folder, changed_only=True)
        (folder / FOLDERS[B] / "sitemap-a-2.xml.gz").unlink()
        reports = run(folder, changed_only=True)
        assert written(reports) == [(), ("sitemap-a-2.xml.gz",)]
        whole(folder, A, B)

    @pytest.mark.parametrize("how", ["older", "unpublished"])
    def test_with_changed_only_renders_a_change_that_one_tree_lacks(self, folder: Path, how: str) -> None:
        thirty()
        for _ in range(2):
            run(folder, changed_only=True)
        behind = folder / FOLDERS[B]
        shutil.copytree(behind, folder / "kept")
        change(15, "other")
        if how == "unpublished":
            # Files cannot be published there, after the first host was published.
            (behind / "sitemap.xml").unlink()
            (behind / "sitemap.xml").mkdir()
            [failure] = run(folder, changed_only=True)[B].failures
            assert "is a folder" in failure
            (behind / "sitemap.xml").rmdir()
        else:
            run(folder, changed_only=True)
            shutil.rmtree(behind)
            shutil.copytree(folder / "kept", behind)
        for _ in range(2):
            written(run(folder, changed_only=True))
        whole(folder, A, B)

    def test_splits_and_adds_pages_on_each_host(self, folder: Path) -> None:
        fill(*range(100, 3_100, 100))
        run(folder)
        fill(*range(1_501, 1_508), *range(3_101, 3_125))
        reports = run(folder)
        assert [report.sections[0].split for report in reports.values()] == [1, 1]
        for report in reports.values():
            assert [file.urls for file in report.sections[0].files] == [10, 8, 9, 10, 10, 10, 4]
        whole(folder, A, B)
        quiet(folder)
        Article.objects.exclude(pk__in=(100, 1_200, 2_900, 3_120)).delete()
        for _ in range(8):
            run(folder, force=["a"])
        whole(folder, A, B)
        quiet(folder)

    @pytest.mark.parametrize("option", ["rebalance", "dry_run", "gzip"])
    def test_has_the_options_of_one_host(self, folder: Path, option: str) -> None:
        thirty()
        run(folder)
        change(15, "other")
        before = published.states(folder)
        given: dict[str, Any] = {option: option != "gzip"}
        reports = run(folder, **given)
        if option == "dry_run":
            assert published.states(folder) == before
            assert [report.published for report in reports.values()] == [False, False]
        else:
            whole(folder, A, B)
        run(folder)
        whole(folder, A, B)


class TestPages:
    @pytest.mark.parametrize("chosen", ["articles", "hooks", "numbers", "translated", "text"])
    def test_of_no_host_are_over_the_limit_in_any_order_of_the_hosts(
        self, folder: Path, settings: Any, chosen: str
    ) -> None:
        thirty()
        # Later entries are longer than the first ones, which determine how many rows fit.
        Article.objects.filter(pk__gt=15).update(slug="x" * 70)
        most = 1_800
        settings.SITEMAPS09 = {"MAX_BYTES": most}
        hosts = (A, f"https://{'l' * 50}.example", "https://b.example:8443")
        for place, order in enumerate((hosts, hosts[::-1])):
            run(folder / str(place), *order, sections={chosen: KINDS[chosen]})
        biggest = 0
        for host in hosts:
            found, other = (tree(folder / place / host_folder(parse_base(host))) for place in "01")
            assert found == other
            sizes = [len(content) for name, content in found.items() if name != "sitemap.xml"]
            assert len(sizes) > 2
            biggest = max(biggest, *sizes)
        assert most * 0.6 < biggest <= most

    def test_that_outgrow_the_bytes_of_one_host_are_split_there_alone_and_stay_so(
        self, folder: Path, settings: Any
    ) -> None:
        thirty()
        settings.SITEMAPS09 = {"MAX_BYTES": 1_600}
        hosts = (A, f"https://{'l' * 40}.example")
        run(folder, *hosts)
        Article.objects.filter(pk__in=(1, 2)).update(slug="y" * 110)
        reports = run(folder, *hosts)
        assert [report.sections[0].split for report in reports.values()] == [0, 1]
        for host in hosts:
            found = tree(folder / host_folder(parse_base(host)))
            assert max(len(content) for name, content in found.items() if "-a-" in name) <= 1_600
            assert len(slugs(folder / host_folder(parse_base(host)))) == ROWS
        quiet(folder, *hosts)
