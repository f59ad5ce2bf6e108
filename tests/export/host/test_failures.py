"""Failures of one of several hosts, and what ends the exports of all."""

from __future__ import annotations

import logging
import signal

import pytest

from django_sitemaps09.exceptions import ExportError
from django_sitemaps09.export import engines
from django_sitemaps09.export.interrupts import Interrupted
from django_sitemaps09.export.rendering.page import render_page
from django_sitemaps09.signals import published as published_signal
from django_sitemaps09.stores.local import LocalStore
from tests.support import published
from tests.support.several_hosts import (
    FOLDERS,
    HOST_OPTIONS,
    A,
    B,
    C,
    Numbers,
    change,
    command,
    quiet,
    run,
    slugs,
    thirty,
    whole,
    written,
)

pytestmark = [pytest.mark.django_db, pytest.mark.slow]


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
    return [path for host in hosts for path in (folder / FOLDERS[host]).glob("*.xml*")]


@pytest.mark.parametrize("error", [OSError("boom"), ExportError("boom"), RuntimeError("boom")], ids=repr)
@pytest.mark.parametrize("host", [A, B, C])
def test_a_host_that_fails_has_a_report_with_the_failure_and_stops_no_other(
    folder, host, error, monkeypatch, caplog, announced
):
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
def test_a_signal_ends_the_exports_after_a_host_is_announced(
    folder, announced, monkeypatch, configure, when
):
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


@pytest.mark.parametrize(
    "options",
    [
        *({"names": ["unknown"]}, {"force": ["unknown"]}, {"workers": 0}, {"engine": "unknown"}),
        *({"gzip": "no"}, {"names": "a"}, {"submit": True}),
    ],
    ids=str,
)
def test_an_invalid_argument_is_an_error_before_any_host_is_written(folder, options):
    thirty()
    run(folder)
    change(15, "other")
    before = published.states(folder, hidden=True)
    with pytest.raises(Exception, match=r"\w") as raised:
        run(folder, **options)
    assert type(raised.value).__module__.startswith(("django_sitemaps09", "django.core.exceptions"))
    assert published.states(folder, hidden=True) == before
