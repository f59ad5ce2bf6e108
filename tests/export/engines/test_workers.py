"""Exports on workers: those of `processes`, of Celery with each broker, and of Django Tasks."""

from __future__ import annotations

import json
import os
import random
import signal
import sqlite3
import sys
import time
from contextlib import ExitStack, closing
from importlib.util import find_spec

import pytest
from django.core.exceptions import ImproperlyConfigured

from tests.support import engine_project
from tests.support.engine_project import HASTY, HURRIED, PAGE, ROWS, crews, entered, locations_of, runs
from tests.support.exports import content, touched
from tests.support.internals import engines
from tests.support.killing import lives, needs_proc
from tests.support.processes import DEADLINE, until
from tests.support.published import states
from tests.support.services import REDIS

pytestmark = pytest.mark.slow
PASSWORD, _, SERVER = engine_project.RABBITMQ.rpartition("@")


def test_an_export_is_the_same_as_by_the_command_alone(crew, tmp_path):
    names = ("a", "odd", "one", "list")
    report, files = crew.serial(*names)
    for engine in [HASTY] if crew.broker else [f"processes:{count}" for count in (1, 2, 3)]:
        folder = tmp_path / engine
        assert (crew.export(folder, *names, engine=engine), runs(folder)) == ((report, files), [])
    # The comparison covers pages that were split by bytes, and skipped rows.
    assert report["published"]
    ranged, lame, one, listed = report["sections"]
    assert (ranged["split"] > 0, len(one["files"]), len(listed["files"]) > 1) == (True, 1, True)
    keys = [key + more for key in range(7, ROWS, 50) for more in (0, 1)]
    assert lame["skipped_items"] == len(keys)
    assert sorted(int(error["key"]) for error in lame["errors"]) == keys


def test_pages_are_merged_as_by_the_command_alone_and_a_second_run_writes_nothing(crew, tmp_path):
    maps, rewritten = crew.run("thinned", tmp_path / "serial", "serial")
    assert (len(maps[1]) < len(maps[0]), rewritten) == (True, [])
    assert crew.run("thinned", tmp_path / "workers", crew.engine) == [maps, []]


def test_an_export_is_rendered_by_two_workers_at_once(crew, tmp_path):
    report, _ = crew.export(tmp_path, "meeting", GZIP=False)
    pids, how = engine_project.renderers(tmp_path, "meeting")
    # Each process waited until two workers had a page, so these ran at the same time.
    met = set(entered(crew.gate()))
    assert (report["failures"], len(locations_of(tmp_path, "meeting"))) == ([], ROWS)
    assert (len(met), met - pids) == (2, set())
    if not crew.broker:
        # The default start method of Python differs: from 3.14 on, it is forkserver on Linux.
        assert (pids, how) == (met, {"fork" if sys.platform == "linux" else "spawn"})
        assert crew.pid not in pids


@crews("processes", "redis")
def test_pages_have_the_fingerprints_by_which_the_next_export_skips_them(crew, tmp_path):
    reports = crew.run("again", tmp_path / "workers", crew.engine)
    assert reports == crew.run("again", tmp_path / "serial", "serial")
    assert [report["sections"][0]["skipped"] > 0 for report in reports] == [False, True]


@crews("redis")
def test_workers_have_the_prefix_and_the_urlconf_of_the_command(crew, tmp_path):
    for name, engine in (("serial", "serial"), ("workers", HASTY)):
        assert crew.run("elsewhere", tmp_path / name, engine, GZIP=False)["failures"] == []
    assert content(tmp_path / "workers") == content(tmp_path / "serial")
    assert locations_of(tmp_path / "workers", "a")[0] == "/shop/other/a1/"


@needs_proc
@pytest.mark.parametrize("broker", [engine_project.CREWS[name] for name in ("processes", "redis", "tasks")])
def test_a_page_that_kills_whatever_renders_it_fails_its_section_alone(broker, make_project, tmp_path):
    # A process of Celery's pool dies, or the whole worker of Django Tasks; then a child of the command.
    why = "Section 'deadly', page " if broker else "two worker processes in a row died unexpectedly"
    project = make_project(broker)
    project.export(tmp_path, "deadly", engine="serial")
    pages = {name: state for name, state in touched(tmp_path).items() if "deadly" in name}
    with ExitStack() as stack:
        if broker:
            stack.enter_context(project.working(2))
        report, _ = project.export(tmp_path, "deadly", "a")
    [failure] = report["failures"]
    assert failure.startswith(f"Section 'deadly': ExportError: {why}")
    assert not broker or "the process that then rendered it here died (exit status -9)" in failure
    # The next section that needs workers gets new ones.
    assert [section["failure"] is None for section in report["sections"]] == [False, True]
    assert (len([*project.gate().glob("dead-*")]), report["published"], runs(tmp_path)) == (2, True, [])
    assert {name: touched(tmp_path)[name] for name in pages} == pages
    if not broker:
        # The page was rendered again by other workers, and none remains, whether it was known or not.
        assert (len(entered(project.gate())) > 2, project.children) == (True, 0)
        assert not any(map(lives, entered(project.gate())))


@needs_proc
def test_a_worker_process_that_dies_once_has_no_effect(make_project, tmp_path):
    project = make_project()
    assert project.export(tmp_path, "deadly_once", "a") == project.serial("deadly_once", "a")
    assert (len([*project.gate().glob("dead-*")]), project.children, runs(tmp_path)) == (1, 0, [])
    assert not any(map(lives, entered(project.gate())))


@needs_proc
@pytest.mark.parametrize(("_crew", "names"), [
    pytest.param("", ["waiting"], id="busy processes"),
    pytest.param("", ["meeting", "idle"], id="idle processes"),
    pytest.param("redis", ["waiting"], marks=pytest.mark.services),
], indirect=["_crew"])  # fmt: skip
def test_a_killed_export_leaves_no_worker_that_changes_what_the_next_one_publishes(crew, names, tmp_path):
    process = crew.call("exported", tmp_path, crew.engine, *names)
    with process:
        until(lambda: len(entered(crew.gate())) == 2, "two workers never began")
        workers = entered(crew.gate())
        assert process.pid not in workers
        if "idle" in names:
            # All pages are rendered, and the parent waits.
            staged = ".sitemaps09/run-*/sitemap-meeting-*.gz"
            until(lambda: len([*tmp_path.glob(staged)]) >= ROWS // PAGE, "pages were not staged")
        assert all(map(lives, workers))
        process.kill()
        process.communicate(timeout=DEADLINE)
    if not crew.broker:
        until(lambda: not any(map(lives, workers)), "workers outlived the export")
        crew.gate("open").touch()
    assert content(tmp_path) == {}
    # Workers of a queue still render pages of the previous run while the next one publishes.
    report, _ = crew.export(tmp_path, *names, engine="serial" if crew.broker else crew.engine)
    assert (report["failures"], report["published"], runs(tmp_path)) == ([], True, [])
    if crew.broker:
        before = touched(tmp_path)
        crew.gate("open").touch()
        crew.are_idle()
        assert touched(tmp_path) == before
        # Their replies were not used, and the next run removes their files.
        assert not [*tmp_path.glob(".sitemaps09/run-*/*.signed")]
        crew.export(tmp_path, *names, engine="serial")
        assert (touched(tmp_path), runs(tmp_path)) == (before, [])


@crews("redis")
def test_workers_with_other_files_render_nothing(crew, tmp_path):
    report = crew.run("exported", "", HASTY, "a", ROOT=str(tmp_path))
    crew.are_idle()
    assert (report["failures"], content(tmp_path)) == ([], crew.serial("a")[1])
    assert not (crew.folder / "theirs").exists()


@pytest.mark.services
def test_a_worker_with_another_secret_key_refuses_pages_and_the_export_renders_them(make_project, tmp_path):
    project = make_project("redis")
    with project.working(1, settings={"SECRET_KEY": "another"}):
        report, files = project.export(tmp_path, "a")
        project.are_idle()
    assert "A message was refused: it is not signed with the SECRET_KEY of this process" in project.log()
    assert (report | {"warnings": []}, files, runs(tmp_path)) == (*project.serial("a"), [])


@crews("redis")
def test_an_export_that_is_terminated_while_a_child_renders_leaves_no_child_and_no_files(crew, tmp_path):
    # Claims are old at once by its clock.
    options = ["waiting", "--engine", HURRIED, "--workers", "2", "--output", str(tmp_path)]
    with crew.start("django", "export_sitemaps", *options) as process:
        until(lambda: [*crew.gate().glob("child-*")], "no child was started")
        [child] = crew.gate().glob("child-*")
        process.terminate()
        process.communicate(timeout=DEADLINE)
    assert (process.returncode, lives(int(child.name.partition("-")[2]))) == (143, False)
    assert (content(tmp_path), runs(tmp_path)) == ({}, [])
    crew.gate("open").touch()
    crew.are_idle()
    assert (content(tmp_path), runs(tmp_path)) == ({}, [])


def send_again():
    engine_project.Hasty(1).put(json.loads(engine_project.gate("sent").read_text().splitlines()[-1]))


@crews("rabbitmq")
def test_a_message_that_is_delivered_twice_or_too_late_changes_nothing(crew, tmp_path):
    assert crew.export(tmp_path, "a", engine=engine_project.DOUBLING) == crew.serial("a")
    before = touched(tmp_path)
    crew.run(send_again)
    crew.are_idle()
    assert "A message was ignored: no export in" in crew.log()
    assert (touched(tmp_path), runs(tmp_path)) == (before, [])


@crews("tasks")
def test_two_exports_at_once_share_the_workers(crew, tmp_path):
    processes = {name: crew.call("exported", tmp_path / name, HASTY, "a") for name in "xy"}
    for name, process in processes.items():
        assert (crew.result(process), content(tmp_path / name)) == crew.serial("a")
        assert runs(tmp_path / name) == []


IMMEDIATE = f"{'django.tasks' if find_spec('django.tasks') else 'django_tasks'}.backends.immediate"
AT_ONCE = {"celery": {"CELERY_TASK_ALWAYS_EAGER": True}}
AT_ONCE["tasks"] = {"TASKS": {"default": {"BACKEND": f"{IMMEDIATE}.ImmediateBackend"}}}


@pytest.mark.services
@pytest.mark.parametrize("broker", AT_ONCE)
def test_an_export_is_the_same_if_tasks_are_called_at_once(broker, make_project, tmp_path):
    project = make_project(broker, **AT_ONCE[broker])
    found = project.export(tmp_path, "a", "odd", "one")
    # The next run has other errors.
    warning = "an ImmediateBackend, so the export itself renders all pages"
    assert (warning in project.err) == (broker == "tasks")
    assert (found, runs(tmp_path)) == (project.serial("a", "odd", "one"), [])


QUEUES = {
    "redis": f"'{{0}}' of redis://{REDIS} (celery -A shop worker -Q {{0}})",
    "rabbitmq": f"'{{0}}' of amqp://{SERVER} (celery -A shop worker -Q {{0}})",
    "tasks": "'sitemaps' of the backend 'default' of TASKS (with django-tasks-db: manage.py db_worker "
    "--backend default --queue-name sitemaps)",
}


@pytest.mark.services
@pytest.mark.parametrize("broker", QUEUES)
def test_an_export_without_workers_names_a_queue(broker, make_project, tmp_path):
    project = make_project(broker)
    # Half a minute by its clock is over at once.
    options = ["--engine", HURRIED, "--output", str(tmp_path / "public")]
    status, _, warned = project.said("django", "export_sitemaps", "a", "one", *options)
    [line] = warned.splitlines()
    worker = "worker of Django Tasks" if broker == "tasks" else "Celery worker"
    expected = f"CommandError: No {worker} took a page, so the export itself rendered all. Start"
    assert line.startswith(expected)
    assert f"that reads the queue {QUEUES[broker].format(project.queue)}" in line
    assert (status, bool(PASSWORD) and PASSWORD in warned) == (1, False)
    assert content(tmp_path / "public") == project.serial("a", "one")[1]


@pytest.mark.services
@pytest.mark.parametrize(("url", "named"), [
    ("redis://me:secret@127.0.0.1:1/0", "redis://127.0.0.1:1 does not accept messages"),
    ("amqp://me:secret@127.0.0.1:1//", "amqp://127.0.0.1:1 does not accept messages"),
    ("redis://me:sec/ret@127.0.0.1:1/0", "an unknown address does not accept messages"),
    ("mongodb://me:secret@127.0.0.1:1/", "No module named 'pymongo'"),
    ("no tables", "Error: a table is missing, run manage.py migrate: no such table: django_tasks_da"),
])  # fmt: skip
def test_a_missing_broker_is_one_warning_without_password(url, named, make_project, database, tmp_path):
    if url == "no tables":
        project = make_project("tasks")
        project.database["NAME"] = str(database)
    else:
        project = make_project("nowhere", CELERY_BROKER_URL=url)
    report, files = project.export(tmp_path, "a", "b")
    [warning] = report["warnings"]
    assert (named in warning, "sec" in warning) == (True, False)
    assert (report | {"warnings": []}, files) == project.serial("a", "b")


def imported_modules():
    found = [name for name in sys.modules if name.partition(".")[0] in ("celery", "kombu")]
    sys.modules["celery"] = None
    try:
        engines.engine("celery", 2, elsewhere=True)
    except ImproperlyConfigured as error:
        return found, str(error)


@pytest.mark.services
def test_celery_is_imported_only_by_its_engine_which_says_what_it_needs(make_project, tmp_path):
    project = make_project("nowhere")
    # The app is not loaded.
    del project.settings["CELERY_BROKER_URL"]
    report, _ = project.export(tmp_path, "a")
    assert "No Celery app with a broker is loaded" in report["failures"][0]
    found, said = project.run(imported_modules)
    assert (found, "'celery' (which needs the extra `celery`)" in said) == ([], True)


# One of two workers is killed or frozen at random moments. `SITEMAPS09_KILLS` is the number of faults for
# each queue and target, also for Django Tasks with S3; add `-s` to see what each has cost.
KILL, STOP = signal.SIGKILL, signal.SIGSTOP
FAULTS = {("redis", "folder"): [KILL, STOP], ("rabbitmq", "folder"): [KILL]}
FAULTS |= {("tasks", "folder"): [STOP], ("redis", "s3"): [KILL]}
if KILLS := int(os.environ.get("SITEMAPS09_KILLS", "0")):
    FAULTS = {way: ([KILL, STOP] * KILLS)[:KILLS] for way in [*FAULTS, ("tasks", "s3")]}
#: Seconds that a fault may cost beyond a run without faults.
MOST_LOST = 30


def is_locked(project):
    """Return whether a process was stopped while SQLite is locked for it, which stops all others, too."""
    with closing(sqlite3.connect(project.database["NAME"], timeout=1)) as database:
        try:
            database.execute("BEGIN EXCLUSIVE")
        except sqlite3.OperationalError:
            return True
    return False


@pytest.mark.services
@pytest.mark.timeout(120 + 60 * max(2, KILLS))
@pytest.mark.parametrize(("broker", "target"), FAULTS)
def test_a_lost_worker_costs_seconds_and_no_file(broker, target, request, make_project, tmp_path, settings):
    keys, shared = {}, {}
    if target == "s3":
        bucket = request.getfixturevalue("bucket")()
        backend = "django.core.cache.backends.redis.RedisCache"
        cache = {"BACKEND": backend, "LOCATION": f"redis://{REDIS}", "KEY_PREFIX": bucket.name}
        keys = {"STORAGE": "sitemaps"}
        shared = {"STORAGES": settings.STORAGES, "CACHES": {"default": cache}}
    project = make_project(broker, **shared)

    def published(folder):
        if target == "folder":
            return content(folder)
        objects = [found.key for found in bucket.objects.all() if "/" not in found.key]
        found = {key: bucket.Object(key).get()["Body"].read() for key in objects}
        bucket.objects.all().delete()
        return found

    def export(folder, engine):
        return project.call("exported", folder if target == "folder" else "", engine, "steady", **keys)

    serial = project.result(export(tmp_path / "serial", "serial"))
    expected = published(tmp_path / "serial")
    with ExitStack() as stack:
        workers = stack.enter_context(project.working(2, **keys))
        begun = time.monotonic()
        project.result(export(tmp_path / "faultless", HASTY))
        usual = time.monotonic() - begun
        published(tmp_path / "faultless")
        for number, fault in enumerate(FAULTS[broker, target]):
            project.clear()
            if len(workers) < 2:
                workers += stack.enter_context(project.working(1, **keys))
            folder = tmp_path / f"public-{number}"
            begun = time.monotonic()
            process = export(folder, HASTY)
            until(lambda: entered(project.gate()), "no worker took a page")
            # Three processes need a third of the time.
            time.sleep(random.uniform(0, engine_project.STEADY * ROWS / 3))  # noqa: S311 no secret
            victim = workers[random.randrange(2)]  # noqa: S311
            os.killpg(victim.pid, fault)
            while fault == STOP and is_locked(project):
                os.killpg(victim.pid, signal.SIGCONT)
                time.sleep(0.01)
                os.killpg(victim.pid, fault)
            assert project.result(process, usual + MOST_LOST + 30) == serial
            lost = time.monotonic() - begun - usual
            print(f"{broker}, {target}: {fault.name} cost {lost:.1f} s")  # noqa: T201 with -s
            assert lost < MOST_LOST
            if fault == KILL:
                victim.wait()
                workers.remove(victim)
            elif target == "folder":
                before = states(folder, hidden=True)
                os.killpg(victim.pid, signal.SIGCONT)
                # Longer than the page that it had begun.
                time.sleep(2)
                assert states(folder, hidden=True) == before
            assert published(folder) == expected
