"""Exports of several hosts: each has its own state, guard and lock, and fails alone."""

from __future__ import annotations

import logging
import os
import random
import re
import shutil
import signal

import pytest

from django_sitemaps09 import stores
from django_sitemaps09.exceptions import ExportError, ExportRunningError
from django_sitemaps09.export import engines, export
from django_sitemaps09.export.interrupts import Interrupted
from django_sitemaps09.export.rendering.page import render_page
from django_sitemaps09.export.report import exit_status
from django_sitemaps09.signals import published as published_signal
from django_sitemaps09.state.manifest import ROOT as MANIFEST
from django_sitemaps09.stores import STATE, LocalStore
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


@pytest.fixture
def announced():
    """Record each host for which the signal is sent."""
    found = []

    def receive(published, **options):
        found.append(published.report.index_url.removesuffix("/sitemap.xml"))

    published_signal.connect(receive)
    yield found
    published_signal.disconnect(receive)


def promoting(monkeypatch, host, act):
    """Do this before each file of a host is published."""
    original = LocalStore.promote

    def promote(self, staged, name):
        if self.folder.name == FOLDERS[host]:
            act()
        original(self, staged, name)

    monkeypatch.setattr(LocalStore, "promote", promote)


def files(folder, *hosts):
    """Return the published and the staged files of these hosts."""
    names = ("*.xml*", ".sitemaps09/run-*")
    return [path for host in hosts for name in names for path in (folder / FOLDERS[host]).glob(name)]


@pytest.mark.parametrize("error", [OSError("boom"), ExportError("boom"), RuntimeError("boom")], ids=repr)
@pytest.mark.parametrize("host", [A, B, C])
def test_a_host_that_fails_stops_no_other(folder, host, error, monkeypatch, caplog, announced):
    def fail():
        raise error

    thirty()
    run(folder, A, B, C)
    announced.clear()
    change(15, "other")
    with monkeypatch.context() as patches:
        promoting(patches, host, fail)
        reports = run(folder, A, B, C)
    others = [other for other in (A, B, C) if other != host]
    assert ([*reports], announced) == ([A, B, C], others)
    assert (
        written({other: reports[other] for other in others}) == [("sitemap-a-2.xml.gz", "sitemap.xml")] * 2
    )
    whole(folder, *others)
    report = reports[host]
    [failure] = report.failures
    assert (failure.startswith(f"{host}: "), "boom" in failure) == (True, True)
    assert (report.published, report.sections, report.is_busy, report.exit_status) == (False, (), False, 1)
    assert (report.index_url, report.folder) == (f"{host}/sitemap.xml", folder / FOLDERS[host])
    assert report.as_dict()["failures"] == [failure]
    [record] = [each for each in caplog.records if each.levelno == logging.ERROR]
    # Only a mistake in code needs a traceback.
    assert bool(record.exc_info) == isinstance(error, RuntimeError)
    assert slugs(folder / FOLDERS[host])
    written(run(folder, A, B, C))
    whole(folder, A, B, C)
    quiet(folder, A, B, C)


@pytest.mark.parametrize("name", ["on_plan", "on_page", "progress"])
def test_a_callback_that_fails_ends_the_exports_after_the_hosts_that_are_published(folder, name, announced):
    def fail(*arguments):
        if announced:
            raise LookupError("mine")

    thirty()
    with pytest.raises(LookupError, match="mine"):
        run(folder, A, B, C, **{name: fail})
    assert (announced, files(folder, B, C)) == ([A], [])
    whole(folder, A)
    written(run(folder, A, B, C))
    whole(folder, A, B, C)


class Interrupting(Numbers):
    """Section in which a signal arrives as soon as a host has been published."""

    announced = ()

    def items(self):
        if self.announced:
            signal.raise_signal(signal.SIGTERM)
        return super().items()


SECTIONS = {"n": Interrupting}


@pytest.mark.parametrize("when", ["after", "while"])
def test_a_signal_ends_exports_after_a_host_is_announced(folder, announced, monkeypatch, configure, when):
    configure(SITEMAPS=f"{__name__}.SECTIONS")
    if when == "after":
        monkeypatch.setattr(Interrupting, "announced", announced)
    else:
        promoting(monkeypatch, A, lambda: signal.raise_signal(signal.SIGTERM))
    words = "nothing further was published" if when == "after" else "was completed first"
    with pytest.raises(Interrupted, match=words):
        command(folder, *HOST_OPTIONS, "--base-url", C)
    assert (announced, files(folder, B, C)) == ([A], [])
    assert len(slugs(folder / FOLDERS[A])) == len(Numbers.rows)
    assert when == "after" or not (folder / FOLDERS[B]).exists()


class Once:
    """Engine that renders in this process, and records its uses."""

    events = []

    def __init__(self, workers):
        self.workers = workers
        self.events.append("made")

    def __enter__(self):
        self.events.append("entered")
        return self

    def __exit__(self, *error):
        self.events.append("left")

    def submit(self, renderer, task):
        self.events.append(f"{renderer.folder}/{task.page.number}")
        return lambda: render_page(renderer, task)

    def end_run(self):
        self.events.append("ended")


def test_one_engine_renders_the_pages_of_all_hosts(folder, monkeypatch):
    monkeypatch.setattr(engines, "_unseen_rows", lambda: None)
    monkeypatch.setattr(Once, "events", [])
    thirty()
    assert written(run(folder, sections=None, names=["a"], engine=f"{__name__}.Once"))
    pages = [[f"{FOLDERS[host]}/{number}" for number in (1, 2, 3)] for host in (A, B)]
    assert Once.events == ["made", "entered", *pages[0], "ended", *pages[1], "ended", "left"]
    whole(folder, A, B)


@pytest.mark.parametrize("options", [
    {"names": ["unknown"]}, {"force": ["unknown"]}, {"workers": 0}, {"engine": "unknown"}, {"gzip": "no"},
    {"names": "a"}, {"submit": True},
], ids=str)  # fmt: skip
def test_an_invalid_argument_is_an_error_before_any_host_is_written(folder, options):
    thirty()
    run(folder)
    change(15, "other")
    before = published.states(folder, hidden=True)
    with pytest.raises(Exception, match=r"\w") as raised:
        run(folder, **options)
    assert type(raised.value).__module__.startswith(("django_sitemaps09", "django.core.exceptions"))
    assert published.states(folder, hidden=True) == before
