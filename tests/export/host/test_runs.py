"""Later runs for several hosts: each host has its own state, its own guard and its own lock."""

from __future__ import annotations

import os
import random
import re
import shutil

import pytest
from django.core.management import CommandError

from django_sitemaps09 import stores
from django_sitemaps09.exceptions import ExportError, ExportRunningError
from django_sitemaps09.export import export
from django_sitemaps09.export.report import exit_status
from django_sitemaps09.state.manifest import ROOT as MANIFEST
from django_sitemaps09.stores import STATE
from tests.models import Article
from tests.support import killing, published
from tests.support.published import unpacked as tree
from tests.support.several_hosts import (
    FINE,
    FOLDERS,
    HOST_OPTIONS,
    A,
    Articles,
    B,
    C,
    Numbers,
    change,
    command,
    fill,
    pages,
    quiet,
    run,
    slugs,
    thirty,
    whole,
    written,
)

pytestmark = [pytest.mark.django_db, pytest.mark.slow]


@pytest.mark.parametrize("changed_only", [False, True])
def test_a_later_run_in_another_order_writes_one_file_in_each_tree_for_one_row(folder, changed_only):
    thirty()
    for _ in range(2):
        run(folder, changed_only=changed_only)
    change(15, "other")
    reports = run(folder, B, A, changed_only=changed_only)
    assert written(reports) == [("sitemap-a-2.xml.gz", "sitemap.xml")] * 2
    assert [report.sections[0].skipped for report in reports.values()] == [2 * changed_only] * 2
    whole(folder, A, B)
    quiet(folder, changed_only=changed_only)


def harm_manifest(own):
    (own / STATE / MANIFEST).write_bytes(b"{")


def harm_sections(own):
    for file in (own / STATE).glob("section-*.jsonl"):
        file.write_bytes(file.read_bytes()[:-30])


def restore(own):
    shutil.rmtree(own)
    shutil.copytree(own.with_name("kept"), own)


#: What happens to the folder of one host between two runs.
HARMS = {
    "missing": shutil.rmtree,
    "older": restore,
    "damaged": lambda own: (own / "sitemap-a-2.xml.gz").write_bytes(b"\x1f\x8b half of it"),
    "manifest": harm_manifest,
    "section": harm_sections,
    "file": lambda own: (own / "sitemap-a-3.xml.gz").unlink(),
}


class TestATreeThatIsNotLikeTheOthers:
    @pytest.mark.parametrize("harm", HARMS)
    @pytest.mark.parametrize("host", [A, B])
    @pytest.mark.parametrize("changed_only", [False, True])
    def test_is_repaired_and_no_other_is_written_and_the_next_run_is_quiet(
        self, folder, harm, host, changed_only
    ):
        thirty()
        run(folder, changed_only=changed_only)
        own = folder / FOLDERS[host]
        shutil.copytree(own, folder / "kept")
        fill(*range(31, 45))
        run(folder, changed_only=changed_only)
        HARMS[harm](own)
        named_before = set(pages(own)) if own.exists() else set()
        [other] = {A, B} - {host}
        before = published.states(folder / FOLDERS[other])
        reports = run(folder, A, B, C, changed_only=changed_only)
        written(reports)
        assert reports[host].written
        assert reports[other].written == ()
        assert published.states(folder / FOLDERS[other]) == before
        whole(folder, A, B, C)
        if harm in ("manifest", "section"):
            assert set(pages(own)).isdisjoint(named_before), "a number came back"
        # Files that no index lists any more are kept for a while.
        assert named_before <= set(tree(own))
        quiet(folder, A, B, C)

    @pytest.mark.parametrize("seed", range(3))
    def test_has_all_rows_after_any_history(self, folder, seed):
        chance = random.Random(seed)  # noqa: S311
        hosts = [A, B, C]
        copies = {}
        free = list(range(1, 300))
        chance.shuffle(free)
        fill(*(free.pop() for _ in range(40)))

        def alone():
            host = chance.choice(hosts)
            export(output=folder / FOLDERS[host], base_url=host, sitemaps=FINE)

        def lose():
            shutil.rmtree(folder / FOLDERS[chance.choice(hosts)], ignore_errors=True)

        def keep():
            host = chance.choice(hosts)
            if (folder / FOLDERS[host]).exists():
                copies[host] = folder / f"kept-{len(copies)}-{chance.random()}"
                shutil.copytree(folder / FOLDERS[host], copies[host])

        def restore():
            if copies:
                host = chance.choice(sorted(copies))
                shutil.rmtree(folder / FOLDERS[host], ignore_errors=True)
                shutil.copytree(copies[host], folder / FOLDERS[host])

        def harm():
            host = chance.choice(hosts)
            found = sorted((folder / FOLDERS[host]).glob("**/*.json*"))
            if found:
                chance.choice(found).write_bytes(b"?")

        def add():
            fill(*(free.pop() for _ in range(min(chance.randrange(1, 15), len(free)))))

        def delete():
            known = list(Article.objects.values_list("pk", flat=True))
            Article.objects.filter(pk__in=chance.sample(known, min(12, len(known) - 1))).delete()

        def edit():
            known = list(Article.objects.values_list("pk", flat=True))
            change(chance.choice(known), f"e{chance.randrange(10**6)}")

        steps = [alone, lose, keep, restore, harm, add, add, add, delete, edit]
        for _ in range(14):
            for _ in range(chance.randrange(1, 4)):
                chance.choice(steps)()
            some = chance.sample(hosts, chance.randrange(2, 4))
            written(run(folder, *some, rebalance=chance.random() < 0.1))
            whole(folder, *some)
        for _ in range(6):
            if not any(written(run(folder, *hosts))):
                break
        whole(folder, *hosts)
        quiet(folder, *hosts)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="what dies is a fork")
@pytest.mark.parametrize("host", [A, B])
def test_an_export_that_is_killed_in_one_tree_leaves_both_whole_and_the_next_run_repairs_both(folder, host):
    fill(*range(100, 3_100, 100))
    public, kept = folder / "public", folder / "kept"
    run(public)
    shutil.copytree(public, kept)
    fill(*range(1_501, 1_508), 3_101)
    died = 0
    for point in range(1, 200, 11):
        shutil.rmtree(public)
        shutil.copytree(kept, public)
        dead = killing.is_killed_at(point, public / FOLDERS[host], lambda: run(public))
        for one in (A, B):
            found = slugs(public / FOLDERS[one])
            assert {f"s{key}" for key in range(100, 3_100, 100)} <= set(found)
        died += dead
        written(run(public))
        whole(public, A, B)
        if point % 4 == 1:
            quiet(public)
        if not dead:
            break
    assert died > 2


class TestAGuard:
    def test_of_a_tree_holds_a_section_back_there_alone_and_no_other_section(self, folder):
        fill(*range(1, 301))
        chosen = {"a": type("Many", (Articles,), {"limit": 300}), "n": Numbers}
        run(folder, sections={"a": chosen["a"]})
        # Only the manifest of the second host has the count of 300.
        shutil.rmtree(folder / FOLDERS[A])
        Article.objects.filter(pk__gt=50).delete()
        before = tree(folder / FOLDERS[B])
        for _ in range(2):
            reports = run(folder, sections=chosen)
            assert reports[A].failures == []
            [failure] = reports[B].failures
            assert "it would shrink from 300 to 50 URLs" in failure
        found = tree(folder / FOLDERS[B])
        assert found["sitemap-a-1.xml.gz"] == before["sitemap-a-1.xml.gz"]
        assert b"sitemap-n-1.xml.gz" in found["sitemap.xml"]
        reports = run(folder, sections=chosen, force=["a"])
        assert [bool(names) for names in written(reports)] == [False, True]
        for host in (A, B):
            assert len(slugs(folder / FOLDERS[host])) == 50 + len(Numbers.rows)

    def test_removes_a_section_from_the_hosts_that_have_it(self, folder):
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
    def test_refuses_to_remove_what_no_host_has_before_any_is_written(self, folder, name, match):
        thirty()
        run(folder)
        change(15, "other")
        before = published.states(folder, hidden=True)
        with pytest.raises(ExportError, match=match):
            run(folder, remove=[name])
        assert published.states(folder, hidden=True) == before

    def test_does_not_matter_where_a_forced_section_is_not_published(self, folder):
        thirty()
        run(folder, A)
        Article.objects.filter(pk__gt=2).delete()
        written(run(folder, A, B, force=["a"]))
        whole(folder, A, B)


class TestTwoExportsAtOnce:
    @pytest.mark.parametrize("host", [A, B])
    def test_of_one_host_are_refused_and_the_other_is_exported(self, folder, host):
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

    def test_have_status_1_if_anything_else_failed(self, folder):
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

    def test_of_other_hosts_do_not_wait_for_each_other(self, folder):
        thirty()
        with (
            stores.exclusive_lock(stores.target_store(folder, FOLDERS[C])),
            stores.exclusive_lock(stores.target_store(folder)),
        ):
            run(folder)
        whole(folder, A, B)
