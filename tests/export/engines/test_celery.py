"""Exports on workers of Celery, with a real Redis and a real RabbitMQ, and of Django Tasks."""

from __future__ import annotations

import socket
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from secrets import token_hex
from threading import Event, Thread
from typing import Any

import pytest
from django.urls import get_script_prefix, get_urlconf

from django_sitemaps09.exceptions import UnknownSectionError
from django_sitemaps09.export.rendering.page import HostTarget, Renderer, Task, render_page
from django_sitemaps09.pages import Page
from django_sitemaps09.protocol import Base
from django_sitemaps09.stores import STATE, LocalStore
from tests.support.celery_project import BROKERS, Site, end, one_crew, runs
from tests.support.celery_sections import DOUBLING, HASTY
from tests.support.engine_project import PAGE, ROWS, content, locations, touched
from tests.support.waiting import until

pytestmark = [pytest.mark.slow, pytest.mark.services]


class TestAnExportOnWorkers:
    def test_is_the_same_as_by_the_command_alone(self, crew: Site, tmp_path: Path) -> None:
        serial = crew.run("exported", str(tmp_path / "serial"), "serial", "a", "odd", "one")
        report = crew.run("exported", str(tmp_path / "celery"), HASTY, "a", "odd", "one")
        assert report == serial
        assert report["published"]
        assert content(tmp_path / "celery") == content(tmp_path / "serial")
        assert runs(tmp_path / "celery") == []
        # The comparison covers pages that were split by bytes, and skipped rows.
        ranged, lame, one = report["sections"]
        assert any(file["cut"] for file in ranged["files"])
        assert lame["skipped_items"] == len(lame["errors"]) == 2 * ROWS // 50
        assert len(one["files"]) == 1

    def test_is_rendered_by_all_of_them_at_once(self, crew: Site, tmp_path: Path) -> None:
        report = crew.run("exported", str(tmp_path), HASTY, "meeting", GZIP=False)
        assert report["failures"] == []
        found = locations(tmp_path, "meeting")
        assert len(found) == ROWS
        pids = {location.split("/")[1] for location in found}
        # Each worker waited for the other one, so only workers that ran at the same time are listed.
        assert pids == {entered.name for entered in crew.gate("all").iterdir()}
        assert len(pids) == 2

    @one_crew
    def test_has_the_fingerprints_by_which_the_next_one_skips_pages(
        self, crew: Site, tmp_path: Path
    ) -> None:
        serial = crew.run("again", str(tmp_path / "serial"), "serial")
        reports = crew.run("again", str(tmp_path / "celery"), HASTY)
        assert reports == serial
        [first], [second] = (report["sections"] for report in reports)
        assert first["skipped"] == 0
        assert second["skipped"] > 0

    @one_crew
    def test_knows_the_prefix_and_the_urlconf_of_the_command(self, crew: Site, tmp_path: Path) -> None:
        for name, engine in (("serial", "serial"), ("celery", HASTY)):
            report = crew.run("elsewhere", str(tmp_path / name), engine, GZIP=False)
            assert report["failures"] == []
        assert content(tmp_path / "celery") == content(tmp_path / "serial")
        assert locations(tmp_path / "celery", "a")[0] == "/shop/other/a1/"

    def test_needs_no_workers_in_a_dry_run(self, make_site: Callable[..., Site], tmp_path: Path) -> None:
        report = make_site().run("dry", str(tmp_path / "public"))
        assert report["failures"] == []
        assert report["sections"][0]["files"]
        assert not (tmp_path / "public").exists()

    def test_is_the_same_if_tasks_are_called_at_once(
        self, make_site: Callable[..., Site], tmp_path: Path
    ) -> None:
        site = make_site(CELERY_TASK_ALWAYS_EAGER=True)
        serial = site.run("exported", str(tmp_path / "serial"), "serial", "a")
        assert site.run("exported", str(tmp_path / "celery"), HASTY, "a") == serial
        assert content(tmp_path / "celery") == content(tmp_path / "serial")


class TestAMessage:
    @pytest.mark.parametrize("crew", BROKERS, indirect=True)
    def test_that_is_delivered_twice_at_the_same_time_or_too_late_changes_nothing(
        self, crew: Site, tmp_path: Path
    ) -> None:
        serial = crew.run("exported", str(tmp_path / "serial"), "serial", "doubled")
        folder = tmp_path / "celery"
        assert crew.run("exported", str(folder), DOUBLING, "doubled") == serial
        assert content(folder) == content(tmp_path / "serial")
        # Two workers rendered each page.
        assert all(len([*found.iterdir()]) == 2 for found in crew.gate().glob("page-*"))
        before = touched(folder)
        crew.run("send_again")
        crew.are_idle()
        assert "A rendering task was ignored" in crew.said()
        assert touched(folder) == before
        # Files that a second attempt staged after the end of the run are removed by the next run.
        crew.run("exported", str(folder), "serial", "doubled")
        assert (touched(folder), runs(folder)) == (before, [])


class TestAPage:
    @one_crew
    def test_that_fails_is_the_failure_of_its_section_and_names_the_machine(
        self, crew: Site, tmp_path: Path
    ) -> None:
        report = crew.run("exported", str(tmp_path), HASTY, "broken", "a")
        assert report["failures"] == [
            f"Section 'broken': ExportError: Celery worker on {socket.gethostname()}: "
            "ImproperlyConfigured: the project is broken."
        ]
        assert report["published"]
        assert runs(tmp_path) == []

    @pytest.mark.parametrize("crew", BROKERS, indirect=True)
    def test_that_kills_each_worker_is_not_retried_forever(self, crew: Site, tmp_path: Path) -> None:
        report = crew.run("exported", str(tmp_path), HASTY, "deadly", "a")
        [failure] = report["failures"]
        assert failure.startswith("Section 'deadly': ExportError: Celery worker on ")
        assert "was delivered three times" in failure
        assert report["sections"][1]["failure"] is None


class TestTheCommandThatIsKilled:
    @pytest.mark.parametrize("crew", BROKERS, indirect=True)
    def test_leaves_workers_that_change_nothing_that_is_published(self, crew: Site, tmp_path: Path) -> None:
        process = crew.start("tests.support.celery_sections", "exported", str(tmp_path), HASTY, "late")
        sent = crew.sent() + 4
        until(lambda: len([*crew.gate().glob("published-*")]) == 2, "two workers never began")
        until(lambda: crew.sent() == sent, "no more pages were sent")
        end(process)
        process.communicate()
        assert content(tmp_path) == {}
        # The next run publishes while the workers still render pages of the previous one.
        report = crew.run("exported", str(tmp_path), "serial", "late")
        assert report["failures"] == []
        assert runs(tmp_path) == []
        before = touched(tmp_path)
        crew.gate("published").touch()
        crew.are_idle()
        assert touched(tmp_path) == before
        # Their replies were not used, and the next run removes their files.
        assert not [*tmp_path.glob(".sitemaps09/run-*/*.signed")]
        crew.run("exported", str(tmp_path), "serial", "late")
        assert (touched(tmp_path), runs(tmp_path)) == (before, [])


class TestAWorkerThatDoesNotFit:
    @one_crew
    @pytest.mark.parametrize(
        ("environ", "keys", "what"),
        [
            ({"SITEMAPS09_TESTS_RELEASE": "99.1"}, {}, "release ("),
            ({"SITEMAPS09_TESTS_LANGUAGE": "de"}, {}, "section 'a'"),
            ({}, {"MAX_BYTES": 9_001}, "section 'a'"),
            ({}, {"MAX_URLS": PAGE - 1}, "section 'a'"),
        ],
    )
    def test_says_so_and_nothing_is_written(
        self, crew: Site, tmp_path: Path, environ: dict[str, str], keys: dict[str, Any], what: str
    ) -> None:
        report = crew.run("exported", str(tmp_path), HASTY, "a", environ=environ, **keys)
        [failure] = report["failures"]
        assert f"the worker is incompatible: its {what}" in failure
        assert not report["published"]
        assert content(tmp_path) == {}
        assert runs(tmp_path) == []

    @one_crew
    def test_that_has_other_files_does_not_render_the_page(self, crew: Site, tmp_path: Path) -> None:
        hasty = {"SITEMAPS09_TESTS_PATIENCE": "0.5"}
        report = crew.run("stored", HASTY, "a", environ=hasty, ROOT=str(tmp_path / "ours"))
        [failure] = report["failures"]
        assert f"can access {tmp_path / 'ours'} as the same user" in failure
        crew.are_idle()
        assert content(tmp_path / "ours") == {}
        assert not (crew.folder / "theirs").exists()


def test_a_process_has_its_own_prefix_and_urlconf_again_after_a_page() -> None:
    target = HostTarget(Base("https", "www.example.com"), None, None)
    renderer = Renderer((target,), True, "/shop/", "tests.support.celery_sections")
    with pytest.raises(UnknownSectionError):
        render_page(renderer, Task("nobody-knows", Page(1, None, None)))
    assert (get_script_prefix(), get_urlconf()) == ("/", None)


def test_a_folder_can_be_removed_while_another_process_writes_there(tmp_path: Path) -> None:
    """A worker that outlives its run does this."""
    store = LocalStore(tmp_path)
    folder = f"{STATE}/run-1"
    ended = Event()

    def write() -> None:
        while not ended.is_set():
            with suppress(OSError):
                store.write(f"{folder}/{token_hex(4)}", b"")

    thread = Thread(target=write)
    thread.start()
    try:
        for _ in range(100):
            store.delete_folder(folder)
    finally:
        ended.set()
        thread.join()
    store.delete_folder(folder)
    assert store.folders(STATE) == []
