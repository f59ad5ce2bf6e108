"""How exports start several processes of this machine, and where they cannot."""

from __future__ import annotations

import multiprocessing
import os
import threading

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.db import connection, connections, transaction
from django.test import override_settings

from django_sitemaps09.export import export, export_hosts
from django_sitemaps09.export.engines import available_cores
from tests.models import Article
from tests.support import engine_project
from tests.support.configuration import BASE
from tests.support.databases import parameter, require
from tests.support.engine_project import ROWS, ByProcess, Project, fill, locations_of, renderers, runs
from tests.support.exports import content
from tests.support.processes import DEADLINE

pytestmark = pytest.mark.slow
project = pytest.fixture(lambda make_project: make_project())


def test_an_error_in_a_worker_is_the_failure_of_its_section_alone(project, tmp_path):
    report, files = project.export(tmp_path, "broken", "a", "list")
    assert (report, files) == project.serial("broken", "a", "list")
    assert report["failures"] == ["Section 'broken': ImproperlyConfigured: the project is broken."]
    assert [name for name in files if "broken" in name] == runs(tmp_path) == []
    assert [section["failure"] is None for section in report["sections"]] == [False, True, True]


def test_a_dry_run_writes_nothing_and_what_others_cannot_find_is_rendered_here(project, tmp_path):
    dry = [project.run(dry_run, tmp_path / "dry", count) for count in (1, 2)]
    assert (dry[0]["published"], dry[0] == dry[1], (tmp_path / "dry").exists()) == (False, True, False)
    names = ("who", "who_one", "who_list", "who_contrib")
    project.export(tmp_path, *names, GZIP=False)
    ranged, *others = (renderers(tmp_path, name)[0] for name in names)
    assert (project.pid in ranged, others) == (False, [{project.pid}] * 3)


def dry_run(folder, count):
    return engine_project.exported(folder, f"processes:{count}", "a", "odd", "list", dry_run=True)


def beside_a_thread(function, *arguments):
    ended = threading.Event()
    other = threading.Thread(target=ended.wait)
    other.start()
    try:
        return getattr(engine_project, function)(*arguments)
    finally:
        ended.set()
        other.join()


def test_workers_beside_a_thread_are_spawned_with_the_prefix_and_the_urlconf(project, tmp_path):
    """A process with threads cannot be forked."""
    project.run(beside_a_thread, "exported", tmp_path / "who", project.engine, "who", GZIP=False)
    pids, how = renderers(tmp_path / "who", "who")
    found = how, project.pid in pids, len(locations_of(tmp_path / "who", "who"))
    assert found == ({"spawn"}, False, ROWS)
    project.run("elsewhere", tmp_path / "1", "serial", GZIP=False)
    project.run(beside_a_thread, "elsewhere", tmp_path / "2", project.engine, GZIP=False)
    assert content(tmp_path / "2") == content(tmp_path / "1")
    assert locations_of(tmp_path / "2", "a")[0] == "/shop/other/a1/"


def beside_a_connection(folder):
    connection.settings_dict["NAME"] = f"{connection.settings_dict['NAME']}.other"
    engine_project.prepare()
    Article.objects.filter(pk__gt=330)._raw_delete("default")
    with connection.cursor() as cursor:
        cursor.execute("CREATE TEMPORARY TABLE mine (a int)")
    report = engine_project.exported(folder, "processes:2", "a")
    with connection.cursor() as cursor:
        # The connection is still the one that was open.
        cursor.execute("SELECT count(*) FROM mine")
    with override_settings(LANGUAGE_CODE="de"):
        other = engine_project.exported(folder, "processes:2", "a")
    return report["urls"], report["failures"], " ".join(other["failures"])


def test_spawned_workers_read_the_database_of_the_caller_but_lack_overridden_settings(project, tmp_path):
    urls, failures, others = project.run(beside_a_connection, tmp_path / "public")
    assert (urls, failures, "incompatible" in others) == (330, [], True)


def for_hosts(folder):
    reports = export_hosts(["https://a.example", "https://b.example"], ["who"], output=folder)
    return [report.failures for report in reports.values()]


@pytest.mark.skipif(available_cores() == 1, reason="with one core there is nothing to gain")
def test_automatic_workers_are_several_and_the_same_for_all_hosts(project, tmp_path):
    command = ("export_sitemaps", "who", "--all-sites", "--output", str(tmp_path / "sites"), "--no-gzip")
    with project.start("django", *command) as process:
        process.communicate(timeout=DEADLINE)
    parents = {process.pid}
    assert project.export(tmp_path / "alone", "who", engine=":", GZIP=False)[0]["failures"] == []
    parents.add(project.pid)
    assert project.run(for_hosts, tmp_path / "hosts", GZIP=False) == [[], []]
    parents.add(project.pid)
    # The choice depends on the open connections, and the first host leaves one open.
    folders = ("alone", "sites/www.example.com", "hosts/a.example", "hosts/b.example")
    alone, site, first, second = (renderers(tmp_path / folder, "who")[0] for folder in folders)
    assert first & second
    assert not parents & (alone | site | first | second)


def with_queries(folder):
    def answers():
        updated = Article.objects.filter(pk=7).update(slug="a7")
        return Article.objects.count(), updated, connection.is_usable()

    before = answers()
    one, two = (engine_project.exported(f"{folder}/{n}", f"processes:{n}", "a", "b") for n in (1, 2))
    return before, answers(), one == two, two["failures"]


@pytest.mark.parametrize("alias", [parameter("postgresql", transaction=True)])
def test_connections_of_the_parent_are_its_own_before_and_after(alias, tmp_path):
    require(alias)
    # The rows are visible to other processes.
    fill(alias)
    known = connections[alias].settings_dict
    database = {key: known[key] for key in ("ENGINE", "NAME", "USER", "PASSWORD", "HOST", "PORT")}
    project = Project(tmp_path / "project")
    project.database = database
    assert project.run(with_queries, tmp_path / "public") == [[ROWS, 1, True], [ROWS, 1, True], True, []]


def in_a_transaction(folder):
    with transaction.atomic():
        engine_project.exported(f"{folder}/automatic", "", "who")
        with pytest.raises(ImproperlyConfigured) as raised:
            engine_project.exported(f"{folder}/two", "processes:2", "who")
    return str(raised.value)


def in_a_daemon(folder):
    context = multiprocessing.get_context("fork")
    said = context.SimpleQueue()

    def work():
        for engine in ("processes:2", ""):
            try:
                said.put(str(engine_project.exported(folder, engine, "a")["published"]))
            except ImproperlyConfigured as error:
                said.put(str(error))

    process = context.Process(target=work, daemon=True)
    process.start()
    process.join(DEADLINE)
    return said.get(), said.get()


class TestAnExportThatCannotHaveWorkers:
    """Without a number of workers, the export renders all pages itself."""

    def test_is_in_a_transaction(self, project, tmp_path):
        said = project.run(in_a_transaction, tmp_path, GZIP=False)
        assert "several workers cannot run in a transaction" in said
        assert not (tmp_path / "two").exists()
        assert renderers(tmp_path / "automatic", "who")[0] == {project.pid}

    @pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
    def test_is_in_a_process_that_must_not_start_others(self, project, tmp_path):
        asked, unasked = project.run(in_a_daemon, tmp_path / "public")
        assert ("cannot run in a daemonic process" in asked, unasked) == (True, "True")

    @pytest.mark.django_db(transaction=True)
    @pytest.mark.parametrize(("sitemaps", "section", "why"), [
        (None, "who", "several workers cannot use an in-memory database"),
        ({"list": ByProcess}, "list", r"SITEMAPS09\['SITEMAPS'\] .*, or export with one"),
    ])  # fmt: skip
    def test_has_rows_or_sections_that_others_cannot_find(self, tmp_path, settings, sitemaps, section, why):
        found = "tests.support.engine_project.SECTIONS"
        settings.SITEMAPS09 = {"BASE_URL": BASE, "SITEMAPS": found, "GZIP": False, "MAX_URLS": 9}
        fill()
        given = {"output": tmp_path / "public", "sitemaps": sitemaps}
        with pytest.raises(ImproperlyConfigured, match=why):
            export([section], **given, workers=2)
        assert not (tmp_path / "public").exists()
        # The connection is unchanged.
        for workers in (1, None):
            assert export([section], **given, workers=workers).failures == []
            assert renderers(tmp_path / "public", section)[0] == {os.getpid()}
