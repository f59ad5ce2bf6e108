"""Exports in several processes: the same result as in one, even if a process ends early.

A pool is created in a separate process; see `tests.support.engine_project`.
"""

from __future__ import annotations

import multiprocessing
import os
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings as django_settings
from django.core.exceptions import ImproperlyConfigured

from django_sitemaps09.export.engines import available_cores
from tests.support.configuration import BASE
from tests.support.engine_project import (
    PAGE,
    ROWS,
    ByProcess,
    Project,
    content,
    fill,
    left_over,
    locations,
    numbers,
    renderers,
    touched,
)
from tests.support.killing import lives, needs_proc
from tests.support.waiting import DEADLINE, until

pytestmark = pytest.mark.slow


class TestAnExportBySeveralProcesses:
    def test_is_the_same_as_by_one(self, project: Project, tmp_path: Path) -> None:
        reports = project.run("ALL", "each_count", str(tmp_path), MAX_BYTES=9_000)
        assert reports[0]["published"]
        assert reports[1] == reports[0]
        assert reports[2] == reports[0]
        files = [content(tmp_path / workers) for workers in "123"]
        assert files[1] == files[0]
        assert files[2] == files[0]
        # The comparison covers pages that were split by bytes, and skipped rows.
        ranged, lame, one, listed = reports[0]["sections"]
        assert ranged["split"] > 0
        assert lame["skipped_items"] == len(lame["errors"]) == ROWS // 50
        assert [error["key"] for error in lame["errors"]] == [str(i) for i in range(7, ROWS, 50)]
        assert (len(one["files"]), len(listed["files"]) > 1) == (1, True)

    def test_has_two_processes_at_work_at_once(
        self, project: Project, tmp_path: Path, meeting_place: Path
    ) -> None:
        parent = project.run("MEETING", "pid", str(tmp_path), gate=meeting_place, GZIP=False)
        pids, how = renderers(tmp_path, "a")
        # Each process waited for the other one, so only processes that ran at the same time are listed.
        assert len(locations(tmp_path, "a")) == ROWS
        assert sorted(pids) == sorted(numbers(meeting_place))
        assert len(pids) == 2
        assert parent not in pids
        # Use the default start method of this Python on this system.
        assert how == {"fork" if multiprocessing.get_start_method() == "fork" else "spawn"}

    def test_renders_in_the_parent_what_other_processes_cannot_find(
        self, project: Project, tmp_path: Path
    ) -> None:
        parent = project.run("WHO", "pid", str(tmp_path), GZIP=False)
        assert parent not in renderers(tmp_path, "ranged")[0]
        for section in ("one", "list", "contrib"):
            assert renderers(tmp_path, section)[0] == {parent}

    def test_writes_nothing_in_a_dry_run(self, project: Project, tmp_path: Path) -> None:
        one, two = project.run("ALL", "dry", str(tmp_path / "public"))
        assert two == one
        assert not two["published"]
        assert not (tmp_path / "public").exists()


class TestBesideAThread:
    """A process with threads cannot be forked."""

    def test_workers_are_spawned(self, project: Project, tmp_path: Path) -> None:
        parent = project.run("WHO", "beside_a_thread", str(tmp_path), GZIP=False)
        pids, how = renderers(tmp_path, "ranged")
        assert how == {"spawn"}
        assert parent not in pids
        assert len(locations(tmp_path, "ranged")) == ROWS

    def test_workers_have_the_prefix_and_the_urlconf_of_the_parent(
        self, project: Project, tmp_path: Path
    ) -> None:
        project.run("PLAIN", "elsewhere", str(tmp_path), GZIP=False)
        assert content(tmp_path / "2") == content(tmp_path / "1")
        assert locations(tmp_path / "2", "a")[0] == "/shop/other/a1/"


class TestBesideAConnectionOfTheCaller:
    def test_workers_read_its_database_and_it_stays_open(self, project: Project, tmp_path: Path) -> None:
        found = project.run("PLAIN", "beside_a_connection", str(tmp_path / "public"))
        assert found["failures"] == []
        assert 0 < found["rows"] <= 30
        assert found["urls"] == found["rows"]

    def test_workers_render_nothing_under_other_settings(self, project: Project, tmp_path: Path) -> None:
        failures = project.run("PLAIN", "with_other_settings", str(tmp_path / "public"))
        assert "incompatible" in " ".join(failures)


class TestAnErrorInAWorker:
    def test_is_the_failure_of_its_section_and_of_no_other_one(
        self, project: Project, tmp_path: Path
    ) -> None:
        one, two = (
            project.run("BROKEN", "exported", str(tmp_path / workers), workers, GZIP=False)
            for workers in "12"
        )
        assert two == one
        assert two["failures"] == ["Section 'broken': ImproperlyConfigured: the project is broken."]
        assert locations(tmp_path / "2", "broken") == []
        assert len(locations(tmp_path / "2", "a")) == ROWS
        assert left_over(tmp_path / "2") == []


@needs_proc
class TestAWorkerThatIsKilled:
    def test_twice_fails_its_section_in_clear_words_and_leaves_what_is_published(
        self, project: Project, tmp_path: Path, meeting_place: Path
    ) -> None:
        folder = tmp_path / "public"
        project.run("FINE", "exported", str(folder))
        before, states = content(folder), touched(folder)
        report, alive = project.run("KILLED", "children", str(folder), gate=meeting_place)
        (failure,) = report["failures"]
        assert failure.startswith(
            "Section 'a': ExportError: two worker processes in a row died unexpectedly"
        )
        # The next section that needs workers gets new ones.
        assert [section["failure"] is None for section in report["sections"]] == [False, True, True]
        assert content(folder) == before
        assert touched(folder) == states
        assert left_over(folder) == []
        # The page was rendered again by other workers.
        assert len(numbers(meeting_place)) > 2
        # No other worker remains, whether it was known or not.
        assert alive == 0
        workers = numbers(meeting_place)
        assert workers
        assert not any(map(lives, workers))

    def test_once_has_no_effect(self, project: Project, tmp_path: Path, meeting_place: Path) -> None:
        wanted = project.run("FINE", "exported", str(tmp_path / "fine"))
        report, alive = project.run("KILLED_ONCE", "children", str(tmp_path / "once"), gate=meeting_place)
        assert (meeting_place / "dead").exists()
        for each in (report, wanted):
            # Only the section with the hook that kills has no fingerprints.
            for file in each["sections"][0]["files"]:
                del file["fingerprint"]
        assert report == wanted
        assert content(tmp_path / "once") == content(tmp_path / "fine")
        assert left_over(tmp_path / "once") == []
        assert alive == 0
        assert not any(map(lives, numbers(meeting_place)))


@pytest.mark.skipif(available_cores() == 1, reason="with one core there is nothing to gain")
@pytest.mark.parametrize(
    ("function", "folders"),
    [
        ("automatic", ["."]),
        ("automatic_for_all_sites", ["www.example.com"]),
        # The choice depends on the open connections, and the first host leaves one open.
        ("automatic_for_hosts", ["a.example", "b.example"]),
    ],
)
def test_automatic_workers_are_several_and_the_same_for_all_hosts(
    project: Project, tmp_path: Path, function: str, folders: list[str]
) -> None:
    parent = project.run("WHO", function, str(tmp_path), GZIP=False)
    found = [renderers(tmp_path / folder, "ranged")[0] for folder in folders]
    assert parent not in set.union(*found)
    assert set.intersection(*found)


@needs_proc
class TestTheCoordinatorThatIsKilled:
    @pytest.mark.parametrize("sections", ["BUSY", "IDLE"])
    def test_ends_its_workers_and_does_not_affect_the_next_export(
        self, project: Project, tmp_path: Path, meeting_place: Path, sections: str
    ) -> None:
        folder = tmp_path / "public"
        process = project.start(
            sections, "tests.support.engine_project", "exported", str(folder), gate=meeting_place
        )
        with process:
            until(lambda: len(numbers(meeting_place)) == 2, "two workers never began")
            workers = numbers(meeting_place)
            assert process.pid not in workers
            assert all(map(lives, workers))
            if sections == "IDLE":
                # All pages are rendered, and the parent waits.
                pages = ROWS // PAGE
                until(
                    lambda: len([*folder.glob(".sitemaps09/run-*/sitemap-a-*.gz")]) >= pages,
                    "the workers did not end their pages",
                )
            process.kill()
            process.communicate(timeout=DEADLINE)
        until(lambda: not any(map(lives, workers)), "workers outlived the coordinator")
        assert content(folder) == {}
        (meeting_place / "open").touch()
        report = project.run(sections, "exported", str(folder), gate=meeting_place)
        assert report["published"]
        assert report["failures"] == []
        assert left_over(folder) == []


# The rows are visible to other processes. Without such a database, the marker would be an error.
POSTGRESQL = (
    [pytest.mark.django_db(transaction=True, databases=["postgresql"])]
    if "postgresql" in django_settings.DATABASES
    else []
)


@pytest.mark.parametrize("_", [pytest.param("postgresql", marks=POSTGRESQL)])
def test_connections_of_the_parent_are_its_own_before_and_after(tmp_path: Path, _: str) -> None:
    from django.db import connections

    from tests.support.databases import require

    require("postgresql")
    fill("postgresql")
    known = connections["postgresql"].settings_dict
    database = {key: known[key] for key in ("ENGINE", "NAME", "USER", "PASSWORD", "HOST", "PORT")}
    before, after, same, failures = Project(tmp_path, database).run(
        "FINE", "with_queries", str(tmp_path / "public")
    )
    assert before == after == [ROWS, 1, True]
    assert failures == []
    assert same


class TestWhatAnExportWithWorkersRefuses:
    """Without a number of workers, the export renders all pages itself."""

    def test_is_a_transaction(self, project: Project, tmp_path: Path) -> None:
        parent, said = project.run("WHO", "in_a_transaction", str(tmp_path), GZIP=False)
        assert "several workers cannot run in a transaction" in said
        assert not (tmp_path / "two").exists()
        assert renderers(tmp_path / "automatic", "ranged")[0] == {parent}

    @pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
    def test_is_a_process_that_must_not_start_others(self, project: Project, tmp_path: Path) -> None:
        asked, unasked = project.run("PLAIN", "in_a_daemon", str(tmp_path / "public"))
        assert "cannot run in a daemonic process" in asked
        assert unasked == "True"

    @pytest.mark.django_db(transaction=True)
    @pytest.mark.parametrize(
        ("sitemaps", "section", "why"),
        [
            (None, "ranged", "several workers cannot use an in-memory database"),
            ({"list": ByProcess}, "list", r"SITEMAPS09\['SITEMAPS'\] .*, or export with one"),
        ],
        ids=["a database in memory", "sections that other processes cannot find"],
    )
    def test_is_what_other_processes_cannot_find(
        self, tmp_path: Path, settings: Any, sitemaps: Any, section: str, why: str
    ) -> None:
        from django_sitemaps09.export import export

        keys = {"SITEMAPS": "tests.support.engine_project.WHO", "GZIP": False, "MAX_URLS": 9}
        settings.SITEMAPS09 = {"BASE_URL": BASE, **keys}
        fill()
        with pytest.raises(ImproperlyConfigured, match=why):
            export(output=tmp_path / "public", workers=2, sitemaps=sitemaps)
        assert not (tmp_path / "public").exists()
        # The connection is unchanged.
        for workers in (1, None):
            assert export(output=tmp_path / "public", workers=workers, sitemaps=sitemaps).failures == []
            assert renderers(tmp_path / "public", section)[0] == {os.getpid()}

    @pytest.mark.parametrize("workers", [0, -1])
    def test_is_less_than_one_worker(self, tmp_path: Path, settings: Any, workers: int) -> None:
        from django_sitemaps09.export import export, verify

        settings.SITEMAPS09 = {"BASE_URL": BASE}
        for function in (export, verify):
            with pytest.raises(ImproperlyConfigured, match=f"at least one worker, not {workers}"):
                function(output=tmp_path / "public", workers=workers, sitemaps={"list": ByProcess})
        assert not (tmp_path / "public").exists()
