"""Exports on workers of Celery, with a real Redis and a real RabbitMQ, and of Django Tasks, or on none."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from secrets import token_hex
from threading import Event, Thread

import pytest
from django.urls import get_script_prefix, get_urlconf

from django_sitemaps09.exceptions import UnknownSectionError
from django_sitemaps09.export.rendering.page import Renderer, Task, render_page
from django_sitemaps09.pages import Page
from django_sitemaps09.protocol import Base
from django_sitemaps09.stores import STATE, LocalStore
from tests.support import services
from tests.support.celery_project import BROKERS, RABBITMQ, Site, end, one_crew, result, runs
from tests.support.celery_sections import DOUBLING, HASTY, HURRIED
from tests.support.engine_project import ROWS, content, locations, touched
from tests.support.killing import lives
from tests.support.waiting import DEADLINE, until

pytestmark = [pytest.mark.slow, pytest.mark.services]


class TestAnExportOnWorkers:
    def test_is_the_same_as_by_the_command_alone(self, crew: Site, tmp_path: Path) -> None:
        report = crew.run("exported", str(tmp_path), HASTY, "a", "odd", "one")
        assert (report, content(tmp_path)) == crew.serial("a", "odd", "one")
        assert report["published"]
        assert runs(tmp_path) == []
        # The comparison covers pages that were split by bytes, and skipped rows.
        ranged, lame, one = report["sections"]
        assert ranged["split"]
        assert lame["skipped_items"] == len(lame["errors"]) == 2 * ROWS // 50
        assert len(one["files"]) == 1

    def test_is_rendered_by_all_of_them_at_once(self, crew: Site, tmp_path: Path) -> None:
        crew.gate("sent").unlink(missing_ok=True)
        report = crew.run("exported", str(tmp_path), HASTY, "meeting", GZIP=False)
        assert report["failures"] == []
        found = locations(tmp_path, "meeting")
        assert len(found) == ROWS
        # All processes waited until two workers had a page, so these ran at the same time.
        workers = {entered.name for entered in crew.gate("all").iterdir()}
        assert len(workers) == 2
        assert workers <= {location.split("/")[1] for location in found}

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

    def test_is_the_same_if_tasks_are_called_at_once(
        self, make_site: Callable[..., Site], tmp_path: Path
    ) -> None:
        site = make_site(CELERY_TASK_ALWAYS_EAGER=True)
        report = site.run("exported", str(tmp_path / "celery"), HASTY, "a")
        assert (report, content(tmp_path / "celery")) == site.serial("a")


class TestAMessage:
    @pytest.mark.parametrize("crew", ["rabbitmq"], indirect=True)
    def test_that_is_delivered_twice_or_too_late_changes_nothing(self, crew: Site, tmp_path: Path) -> None:
        report = crew.run("exported", str(tmp_path), DOUBLING, "a")
        assert (report, content(tmp_path)) == crew.serial("a")
        before = touched(tmp_path)
        crew.run("send_again")
        crew.are_idle()
        assert "A message was ignored: no export in" in crew.said()
        assert (touched(tmp_path), runs(tmp_path)) == (before, [])


class TestAPage:
    # A process of Celery's pool dies, or the whole worker of Django Tasks.
    @pytest.mark.parametrize("queue", ["redis", "tasks"])
    def test_that_kills_whatever_renders_it_fails_its_section_and_not_the_export(
        self, queue: str, request: pytest.FixtureRequest, tmp_path: Path
    ) -> None:
        if queue == "tasks":
            site = request.getfixturevalue("make_tasks_site")()
        else:
            site = request.getfixturevalue("make_site")(queue)
        with site.working(2):
            report = site.run("exported", str(tmp_path / "public"), HASTY, "deadly", "a")
        [failure] = report["failures"]
        assert failure.startswith("Section 'deadly': ExportError: Section 'deadly', page ")
        assert "the process that then rendered it here died (exit status -9)" in failure
        assert report["published"]
        # A worker, and a child of the command.
        assert len([*site.gate().glob("dead-*")]) == 2


class TestTheCommandThatIsKilled:
    @one_crew
    def test_leaves_workers_that_change_nothing_that_is_published(self, crew: Site, tmp_path: Path) -> None:
        crew.gate("sent").unlink(missing_ok=True)
        process = crew.start("tests.support.celery_sections", "exported", str(tmp_path), HASTY, "late")
        until(lambda: len([*crew.gate().glob("published-*")]) == 2, "two workers never began")
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


class TestTheCommandThatIsTerminated:
    @one_crew
    def test_while_a_child_renders_leaves_neither_the_child_nor_files(
        self, crew: Site, tmp_path: Path
    ) -> None:
        for file in [*crew.gate().glob("published*"), *crew.gate().glob("sent")]:
            file.unlink()
        # Claims are old at once by its clock.
        options = ["late", "--engine", HURRIED, "--workers", "2", "--output", str(tmp_path)]
        with crew.start("django", "export_sitemaps", *options) as process:
            until(lambda: [*crew.gate().glob("child-*")], "no child was started")
            [child] = crew.gate().glob("child-*")
            process.terminate()
            process.communicate(timeout=DEADLINE)
        assert process.returncode == 143
        assert not lives(int(child.name.partition("-")[2]))
        assert (content(tmp_path), runs(tmp_path)) == ({}, [])
        crew.gate("published").touch()
        crew.are_idle()
        assert (content(tmp_path), runs(tmp_path)) == ({}, [])


class TestTwoExportsAtOnce:
    @pytest.mark.parametrize("crew", ["tasks"], indirect=True)
    def test_share_the_workers(self, crew: Site, tmp_path: Path) -> None:
        command = "tests.support.celery_sections", "exported"
        processes = [crew.start(*command, str(tmp_path / name), HASTY, "a") for name in ("x", "y")]
        for name, process in zip(("x", "y"), processes, strict=True):
            report, _ = result(process)
            assert (report, content(tmp_path / name)) == crew.serial("a")
            assert runs(tmp_path / name) == []


@one_crew
def test_a_worker_with_other_files_renders_nothing(crew: Site, tmp_path: Path) -> None:
    """`test_refusals` has more workers that do not fit."""
    report = crew.run("stored", HASTY, "a", ROOT=str(tmp_path))
    assert report["failures"] == []
    crew.are_idle()
    assert content(tmp_path) == crew.serial("a")[1]
    assert not (crew.folder / "theirs").exists()


class TestAWorkerWithAnotherSecretKey:
    def test_refuses_pages_and_the_export_renders_them(
        self, make_site: Callable[..., Site], tmp_path: Path
    ) -> None:
        site = make_site("redis")
        serial, files = site.serial("a")
        with site.working(1, celery={"SECRET_KEY": "another"}):
            report = site.run("exported", str(tmp_path / "celery"), HASTY, "a")
            site.are_idle()
        assert "A message was refused: it is not signed with the SECRET_KEY of this process" in site.said()
        assert report | {"warnings": []} == serial
        assert content(tmp_path / "celery") == files
        assert runs(tmp_path / "celery") == []


class TestNobody:
    @pytest.mark.parametrize("broker", BROKERS)
    def test_at_work_ends_the_command_with_1_and_names_the_queue_and_the_broker(
        self, make_site: Callable[..., Site], tmp_path: Path, broker: str
    ) -> None:
        site = make_site(broker)
        # Half a minute by its clock is over at once.
        options = ["--engine", HURRIED, "--output", str(tmp_path / "public")]
        with site.start("django", "export_sitemaps", "a", "one", *options) as process:
            _, warned = process.communicate(timeout=DEADLINE)
        assert process.returncode == 1
        [line] = warned.splitlines()
        assert line.startswith("CommandError: No Celery worker took a page, so the export itself rendered")
        place = {"redis": f"redis://{services.REDIS}", "rabbitmq": f"amqp://{RABBITMQ.rpartition('@')[2]}"}
        assert f"a worker that reads the queue '{site.queue}' of {place[broker]} (celery -A shop" in line
        assert f"worker -Q {site.queue})" in line
        assert RABBITMQ.rpartition("@")[0] not in warned
        assert content(tmp_path / "public") == site.serial("a", "one")[1]

    @pytest.mark.parametrize(
        ("url", "named"),
        [
            ("redis://me:secret@127.0.0.1:1/0", "redis://127.0.0.1:1 does not accept messages"),
            ("amqp://me:secret@127.0.0.1:1//", "amqp://127.0.0.1:1 does not accept messages"),
            ("redis://me:sec/ret@127.0.0.1:1/0", "an unknown address does not accept messages"),
            ("mongodb://me:secret@127.0.0.1:1/", "No module named 'pymongo'"),
        ],
    )
    def test_at_the_broker_is_one_warning_without_its_password(
        self, make_site: Callable[..., Site], tmp_path: Path, url: str, named: str
    ) -> None:
        site = make_site(CELERY_BROKER_URL=url)
        serial, files = site.serial("a", "b")
        report = site.run("exported", str(tmp_path / "celery"), HASTY, "a", "b")
        [warning] = report["warnings"]
        assert named in warning
        assert "sec" not in warning
        assert (report | {"warnings": []}, content(tmp_path / "celery")) == (serial, files)

    def test_without_a_loaded_celery_app_is_a_clear_error(
        self, make_site: Callable[..., Site], tmp_path: Path
    ) -> None:
        site = make_site()
        (site.folder / "shop" / "__init__.py").write_text("")
        report = site.run("exported", str(tmp_path), HASTY, "a")
        assert "No Celery app with a broker is loaded" in report["failures"][0]


def test_without_celery_an_export_is_imported_and_the_engine_says_what_it_needs(
    make_site: Callable[..., Site],
) -> None:
    site = make_site()
    (site.folder / "shop" / "__init__.py").write_text("")
    assert site.run("modules") == []
    assert "'celery' (which needs the extra `celery`)" in site.run("without_celery")


def test_a_process_has_its_own_prefix_and_urlconf_again_after_a_page() -> None:
    base = Base("https", "www.example.com")
    renderer = Renderer(base, None, "", None, True, "/shop/", "tests.support.celery_sections")
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
