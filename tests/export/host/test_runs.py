"""Later runs for several hosts: each host has its own state, its own guard and its own lock."""

from __future__ import annotations

import os
import random
import re
import shutil

import pytest

from django_sitemaps09 import stores
from django_sitemaps09.exceptions import ExportError, ExportRunningError
from django_sitemaps09.export import export
from django_sitemaps09.export.report import exit_status
from django_sitemaps09.state.manifest import ROOT as MANIFEST
from django_sitemaps09.stores import STATE
from tests.models import Article
from tests.support import commands, killing, published
from tests.support.published import unpacked as tree
from tests.support.sections import declare
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
CHANGED = ("sitemap-a-2.xml.gz", "sitemap.xml")


@pytest.mark.parametrize("changed_only", [False, True])
def test_a_later_run_in_another_order_writes_one_file_in_each_tree_for_one_row(folder, changed_only):
    thirty()
    for _ in range(2):
        run(folder, changed_only=changed_only)
    change(15, "other")
    reports = run(folder, B, A, changed_only=changed_only)
    assert written(reports) == [CHANGED] * 2
    assert [report.sections[0].skipped for report in reports.values()] == [2 * changed_only] * 2
    whole(folder, A, B)
    quiet(folder, changed_only=changed_only)


def harm_sections(own):
    for file in (own / STATE).glob("section-*.jsonl"):
        file.write_bytes(file.read_bytes()[:-30])


def restore(own, copy=None):
    shutil.rmtree(own, ignore_errors=True)
    shutil.copytree(copy or own.with_name("kept"), own)


#: What happens to the folder of one host between two runs.
HARMS = {
    "missing": shutil.rmtree,
    "older": restore,
    "damaged": lambda own: (own / "sitemap-a-2.xml.gz").write_bytes(b"\x1f\x8b half of it"),
    "manifest": lambda own: (own / STATE / MANIFEST).write_bytes(b"{"),
    "section": harm_sections,
    "file": lambda own: (own / "sitemap-a-3.xml.gz").unlink(),
}


@pytest.mark.parametrize("harm", HARMS)
@pytest.mark.parametrize("host", [A, B])
@pytest.mark.parametrize("changed_only", [False, True])
def test_a_tree_that_is_harmed_is_repaired_and_no_other_is_written(folder, harm, host, changed_only):
    thirty()
    run(folder, changed_only=changed_only)
    own, other = folder / FOLDERS[host], B if host == A else A
    shutil.copytree(own, folder / "kept")
    fill(*range(31, 45))
    run(folder, changed_only=changed_only)
    HARMS[harm](own)
    named_before = {*pages(own)} if own.exists() else set()
    before = published.states(folder / FOLDERS[other])
    reports = run(folder, A, B, C, changed_only=changed_only)
    written(reports)
    assert (bool(reports[host].written), reports[other].written) == (True, ())
    assert published.states(folder / FOLDERS[other]) == before
    whole(folder, A, B, C)
    if harm in ("manifest", "section"):
        assert named_before.isdisjoint(pages(own)), "a number came back"
    # Files that no index lists any more are kept for a while.
    assert named_before <= {*tree(own)}
    quiet(folder, A, B, C)


@pytest.mark.parametrize("seed", range(3))
def test_each_tree_has_all_rows_after_any_history(folder, seed):
    chance = random.Random(seed)  # noqa: S311
    hosts, copies, free = [A, B, C], {}, list(range(1, 300))
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

    def bring_back():
        if copies:
            host = chance.choice(sorted(copies))
            restore(folder / FOLDERS[host], copies[host])

    def harm():
        if found := sorted((folder / FOLDERS[chance.choice(hosts)]).glob("**/*.json*")):
            chance.choice(found).write_bytes(b"?")

    def add():
        fill(*(free.pop() for _ in range(min(chance.randrange(1, 15), len(free)))))

    def delete():
        known = [*Article.objects.values_list("pk", flat=True)]
        Article.objects.filter(pk__in=chance.sample(known, min(12, len(known) - 1))).delete()

    def edit():
        change(
            chance.choice([*Article.objects.values_list("pk", flat=True)]), f"e{chance.randrange(10**6)}"
        )

    for _ in range(14):
        for _ in range(chance.randrange(1, 4)):
            chance.choice([alone, lose, keep, bring_back, harm, add, add, add, delete, edit])()
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
    rows = range(100, 3_100, 100)
    fill(*rows)
    public, died = folder / "public", 0
    run(public)
    shutil.copytree(public, folder / "kept")
    fill(*range(1_501, 1_508), 3_101)
    for point in range(1, 200, 11):
        restore(public)
        dead = killing.is_killed_at(point, public / FOLDERS[host], lambda: run(public))
        for one in (A, B):
            assert {f"s{key}" for key in rows} <= {*slugs(public / FOLDERS[one])}
        died += dead
        written(run(public))
        whole(public, A, B)
        if point % 4 == 1:
            quiet(public)
        if not dead:
            break
    assert died > 2


def test_a_guard_of_a_tree_holds_a_section_back_there_alone_and_no_other_section(folder):
    fill(*range(1, 301))
    chosen = {"a": declare(Articles, limit=300), "n": Numbers}
    run(folder, sections={"a": chosen["a"]})
    # Only the manifest of the second host has the count of 300.
    shutil.rmtree(folder / FOLDERS[A])
    Article.objects.filter(pk__gt=50).delete()
    before = tree(folder / FOLDERS[B])
    for _ in range(2):
        reports = run(folder, sections=chosen)
        [failure] = reports[B].failures
        assert (reports[A].failures, "it would shrink from 300 to 50 URLs" in failure) == ([], True)
    found = tree(folder / FOLDERS[B])
    assert found["sitemap-a-1.xml.gz"] == before["sitemap-a-1.xml.gz"]
    assert b"sitemap-n-1.xml.gz" in found["sitemap.xml"]
    # It does not matter that a forced section is published on the other host already.
    assert [*map(bool, written(run(folder, sections=chosen, force=["a"])))] == [False, True]
    assert [len(slugs(folder / FOLDERS[host])) for host in (A, B)] == [50 + len(Numbers.rows)] * 2


def test_a_section_is_removed_from_the_hosts_that_have_it(folder):
    thirty()
    run(folder, sections={"a": Articles, "n": Numbers})
    export(output=folder / FOLDERS[A], base_url=A, sitemaps=FINE, remove=["n"])
    assert run(folder)[B].failures
    reports = run(folder, A, B, C, remove=["n"])
    assert [len(names) for names in written(reports)] == [0, 1, 4]
    assert "sitemap-n-1.xml.gz" not in pages(folder / FOLDERS[B])
    whole(folder, A, B, C)
    # What no host has is refused before any is written.
    change(15, "other")
    before = published.states(folder, hidden=True)
    for name, reason in (("n", "because it is not published"), ("a", "because it is still declared")):
        with pytest.raises(ExportError, match=reason):
            run(folder, remove=[name])
    assert published.states(folder, hidden=True) == before


def test_a_forced_section_may_be_published_on_one_host_alone(folder):
    thirty()
    run(folder, A)
    Article.objects.filter(pk__gt=2).delete()
    written(run(folder, A, B, force=["a"]))
    whole(folder, A, B)


def locked(folder, *name):
    return stores.exclusive_lock(stores.target_store(folder, *name))


def failed(folder, *arguments):
    """Return the exit status and the error of the command."""
    error = commands.failed("export_sitemaps", "--output", folder, *HOST_OPTIONS, *arguments, "--", "a")[2]
    return error.returncode, str(error)


@pytest.mark.parametrize("host", [A, B])
def test_a_second_export_of_one_host_is_refused_and_the_other_host_is_exported(folder, host):
    thirty()
    run(folder)
    change(15, "other")
    other = B if host == A else A
    before = published.states(folder / FOLDERS[host], hidden=True)
    with locked(folder, FOLDERS[host]):
        reports = run(folder)
        assert failed(folder)[0] == exit_status(reports.values()) == 75
        with pytest.raises(ExportRunningError):
            export(output=folder / FOLDERS[host], base_url=host, sitemaps=FINE)
    assert published.states(folder / FOLDERS[host], hidden=True) == before
    busy = reports[host]
    assert (busy.is_busy, busy.published, busy.sections, busy.exit_status) == (True, False, (), 75)
    assert busy.failures[0].startswith(f"{host}: ")
    assert (reports[other].is_busy, reports[other].exit_status) == (False, 0)
    whole(folder, other)
    run(folder)
    whole(folder, A, B)


def test_a_second_export_of_one_host_has_status_1_if_anything_else_failed(folder):
    thirty()
    run(folder)
    (folder / FOLDERS[B] / "sitemap.xml").unlink()
    (folder / FOLDERS[B] / "sitemap.xml").mkdir()
    change(15, "other")
    with locked(folder, FOLDERS[A]):
        status, error = failed(folder, "--base-url", C)
    busy, broken = error.splitlines()
    assert (status, busy.startswith(f"{A}: ")) == (1, True)
    assert re.search(rf"^{B}: .*is a folder", broken)
    whole(folder, C)


def test_exports_of_other_hosts_do_not_wait_for_each_other(folder):
    thirty()
    with locked(folder, FOLDERS[C]), locked(folder):
        run(folder)
    whole(folder, A, B)
