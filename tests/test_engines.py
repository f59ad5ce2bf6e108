"""Laws of an export by several processes: the same as by one, whatever ends before its time.

A pool is made in a process of its own, `python -m tests.test_engines`: one without threads, whose
database other processes see.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from django.conf import settings as django_settings
from django.contrib.sitemaps import Sitemap as ContribSitemap
from django.core.exceptions import ImproperlyConfigured
from django.http import HttpResponse
from django.urls import path

from django_sitemaps09 import ModelSitemap, Route, Sitemap
from django_sitemaps09.export.engines import _cores
from tests.support.waiting import DEADLINE, until

pytestmark = pytest.mark.slow

BASE = "https://www.example.com"
ROOT = Path(__file__).parents[1]
LOC = "{http://www.sitemaps.org/schemas/sitemap/0.9}loc"
ROWS, PAGE = 600, 100
#: Where processes meet: each that is there has a file of its number.
GATE = "SITEMAPS09_TESTS_GATE"
SETTINGS = """
import json, os
from tests.settings import *
DATABASES = {"default": json.loads(os.environ["SITEMAPS09_TESTS_DATABASE"])}
SITEMAPS09 = json.loads(os.environ["SITEMAPS09_TESTS_KEYS"])
"""
#: Another URLconf than that of the settings: this module.
urlpatterns = [path("other/<slug:slug>/", lambda request, slug: HttpResponse(), name="article")]


# The sections, of which workers know the name. Models are imported late: a spawned worker imports this
# module before Django is set up.


def articles(**attributes: Any) -> Callable[[], Any]:
    """A factory of a section whose pages are ranges of a key; `pks` says of how many rows."""

    def made() -> Any:
        from django.db.models import F

        from tests.models import Article

        declared = {
            "queryset": Article.objects.filter(pk__lte=attributes.get("pks", ROWS)),
            "location": Route("article", slug=F("slug")),
            "lastmod": F("updated"),
        }
        return type("Articles", (ModelSitemap,), declared | attributes)()

    return made


def here(number: int) -> str:
    """Who renders, and how it came to be."""
    how = "spawn" if sys.modules["__main__"].__name__ == "__mp_main__" else "fork"
    return f"/{os.getpid()}/{how}/{number}/"


def gate(name: object) -> Path:
    return Path(os.environ[GATE]) / str(name)


def in_worker() -> bool:
    """Not in the parent, which reads the first rows itself to see how long they are."""
    return multiprocessing.parent_process() is not None


def enter() -> list[str]:
    """The numbers of the processes that are at the gate, this one among them."""
    gate(os.getpid()).touch()
    return [found.name for found in gate("").iterdir() if found.name.isdigit()]


class Numbers(Sitemap[int]):
    def items(self) -> Sequence[int]:
        return range(3 * PAGE)

    def location(self, item: int) -> str:
        return here(item)


class Contrib(ContribSitemap):
    limit = PAGE

    def items(self) -> list[int]:
        return list(range(3 * PAGE))

    def location(self, item: int) -> str:
        return here(item)


class WaitingInTheParent(Numbers):
    def items(self) -> Sequence[int]:
        until(gate("open").exists, "nobody opened the gate")
        return super().items()


def bad(self: Any, item: Any) -> str:
    return "https://elsewhere.example.net/" if item.pk % 50 == 7 else f"/{item.slug}/"


def broken(self: Any, item: Any) -> str:
    if item.pk == ROWS // 2:
        raise ImproperlyConfigured("the project is broken")
    return f"/{item.slug}/"


def meeting(self: Any, item: Any) -> str:
    """Goes on where two processes are."""
    if in_worker() and item.pk % PAGE == 1:
        until(lambda: len(enter()) > 1, "nobody came")
    return here(item.pk)


def killed(self: Any, item: Any) -> str:
    if in_worker():
        enter()
    if item.pk == ROWS // 2:
        os.kill(os.getpid(), signal.SIGKILL)
    return f"/{item.slug}/"


def killed_once(self: Any, item: Any) -> str:
    if in_worker():
        enter()
    if item.pk == ROWS // 2 and not gate("dead").exists():
        gate("dead").touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return f"/articles/{item.slug}/"


def waiting(self: Any, item: Any) -> str:
    if in_worker():
        enter()
        until(gate("open").exists, "nobody opened the gate")
    return f"/{item.slug}/"


def who(self: Any, item: Any) -> str:
    return here(item.pk)


class Fixed(Numbers):
    def location(self, item: int) -> str:
        return f"/numbers/{item}/"


# What the setting SITEMAPS names.
ALL = {"a": articles(), "bad": articles(location=bad), "one": articles(pks=5), "list": Fixed}
WHO = {"ranged": articles(location=who), "one": articles(pks=5, location=who), "list": Numbers} | {
    "contrib": Contrib
}
MEETING = {"a": articles(location=meeting)}
BROKEN = {"broken": articles(location=broken), "a": articles(), "list": Fixed}
FINE = {"a": articles(), "b": articles(), "list": Fixed}
KILLED = {"a": articles(location=killed), "b": articles(), "list": Fixed}
KILLED_ONCE = {"a": articles(location=killed_once), "b": articles(), "list": Fixed}
BUSY = {"a": articles(location=waiting)}
IDLE = {"a": articles(location=meeting), "list": WaitingInTheParent}
PLAIN = {"a": articles()}


# What is done in a process of its own. Each gives what JSON can say.


def prepare() -> None:
    """The rows, and the tables that they need."""
    from django.db import connection

    from tests.models import Article, Category, Tag

    with connection.schema_editor() as editor:
        for model in (Category, Tag, Article):
            editor.create_model(model)
    fill()


def fill(using: str = "default") -> None:
    from tests.models import Article

    first = datetime(2026, 1, 1, 10, 30, tzinfo=timezone.utc)
    # The later ones are longer, so that pages that are cut for the first ones do not hold them.
    Article.objects.using(using).bulk_create(
        Article(
            pk=i,
            slug=f"a{i}" + "x" * (100 if i > ROWS // 2 else 0),
            updated=first + timedelta(hours=i),
        )
        for i in range(1, ROWS + 1)
    )


def exported(folder: str, workers: str = "2", **options: Any) -> dict[str, Any]:
    from django_sitemaps09.export import export

    report = export(output=folder, workers=int(workers), **options).as_dict()
    # Paths differ, times, and how much memory was there.
    for clocked in ("folder", "target", "seconds", "urls_per_second", "memory", "workers_memory"):
        del report[clocked]
    for section in report["sections"]:
        del section["seconds"]
        section.pop("hints", None)
    return report


def each_count(folder: str) -> list[dict[str, Any]]:
    return [exported(f"{folder}/{workers}", str(workers)) for workers in (1, 2, 3)]


def dry(folder: str) -> list[dict[str, Any]]:
    return [exported(folder, workers, dry_run=True) for workers in ("1", "2")]


def pid(folder: str) -> int:
    exported(folder)
    return os.getpid()


def automatic(folder: str) -> int:
    from django_sitemaps09.export import export

    assert export(output=folder).failures == []
    return os.getpid()


def automatic_in_a_transaction(folder: str) -> int:
    from django.db import transaction

    with transaction.atomic():
        return automatic(folder)


def refused_in_a_transaction(folder: str) -> str:
    from django.db import transaction

    with transaction.atomic():
        try:
            exported(folder)
        except ImproperlyConfigured as error:
            return str(error)
    return ""


def beside_a_connection(folder: str) -> dict[str, object]:
    """An export by workers that are started anew, from another database than the settings name."""
    from django.db import connection

    from django_sitemaps09.export import export
    from tests.models import Article

    other = f"{connection.settings_dict['NAME']}.other"
    connection.close()
    shutil.copyfile(str(connection.settings_dict["NAME"]), other)
    connection.settings_dict["NAME"] = other
    Article.objects.filter(pk__gt=30)._raw_delete("default")
    with connection.cursor() as cursor:
        cursor.execute("CREATE TEMPORARY TABLE mine (a int)")
    report = export(output=folder, workers=2)
    with connection.cursor() as cursor:
        # The connection is still the one that was open.
        cursor.execute("SELECT count(*) FROM mine")
    return {"urls": report.urls, "rows": Article.objects.count(), "failures": list(report.failures)}


def with_other_settings(folder: str) -> list[str]:
    """Workers that are started anew do not know what the caller has overridden."""
    from django.db import connection
    from django.test import override_settings

    from django_sitemaps09.export import export

    connection.ensure_connection()
    with override_settings(LANGUAGE_CODE="de"):
        return list(export(output=folder, workers=2).failures)


def in_a_daemon(folder: str) -> list[str]:
    """What a daemonic process, which may start none, says of two workers; and what it does unasked."""
    import multiprocessing

    context = multiprocessing.get_context("fork")
    said = context.SimpleQueue()

    def work() -> None:
        from django_sitemaps09.export import export

        for workers in (2, None):
            try:
                said.put(str(export(output=folder, workers=workers).published))
            except ImproperlyConfigured as error:
                said.put(str(error))

    process = context.Process(target=work, daemon=True)
    process.start()
    process.join(DEADLINE)
    return [said.get(), said.get()]


def beside_a_thread(folder: str) -> int:
    ended = threading.Event()
    other = threading.Thread(target=ended.wait)
    other.start()
    try:
        assert threading.active_count() > 1
        return pid(folder)
    finally:
        ended.set()
        other.join()


def elsewhere(folder: str) -> None:
    """Under a prefix and a URLconf that only this process was told of."""
    from django.urls import set_script_prefix, set_urlconf

    set_script_prefix("/shop/")
    set_urlconf("tests.test_engines")
    exported(f"{folder}/1", "1")
    beside_a_thread(f"{folder}/2")


def with_queries(folder: str) -> list[Any]:
    """What the connection answers before and after; it was open when the workers began."""
    from django.db import connection

    from tests.models import Article

    def answers() -> list[Any]:
        count = Article.objects.count()
        return [count, Article.objects.filter(pk=7).update(published=True), connection.is_usable()]

    before = answers()
    reports = [exported(f"{folder}/{workers}", workers) for workers in ("1", "2")]
    return [before, answers(), reports[0] == reports[1], reports[1]["failures"]]


def children(folder: str) -> list[Any]:
    report = exported(folder)
    return [report, len(multiprocessing.active_children())]


# How it is started and looked at.


class Project:
    """A folder with settings and, if it is SQLite, its database."""

    def __init__(self, folder: Path, database: dict[str, Any] | None = None) -> None:
        self.folder = folder
        self.database = database or {
            "ENGINE": "django.db.backends.sqlite3",
            "NAME": str(folder / "db.sqlite3"),
            "OPTIONS": {"timeout": DEADLINE},
        }
        (folder / "engine_settings.py").write_text(SETTINGS)

    def start(self, sections: str, *command: str, gate: Path | None = None, **keys: Any) -> Any:
        given = {"BASE_URL": BASE, "SITEMAPS": f"tests.test_engines.{sections}", "MAX_URLS": PAGE, **keys}
        environ = os.environ | {
            "PYTHONPATH": os.pathsep.join(map(str, [self.folder, ROOT])),
            "DJANGO_SETTINGS_MODULE": "engine_settings",
            "SITEMAPS09_TESTS_DATABASE": json.dumps(self.database),
            "SITEMAPS09_TESTS_KEYS": json.dumps(given),
            GATE: str(gate),
        }
        return subprocess.Popen(  # noqa: S603 our own interpreter and arguments
            [sys.executable, "-m", *command],
            env=environ,
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def said(self, sections: str, *command: str, gate: Path | None = None, **keys: Any) -> Any:
        """Status, output and errors of a process that ends, or else is ended."""
        with self.start(sections, *command, gate=gate, **keys) as process:
            try:
                out, err = process.communicate(timeout=DEADLINE)
                return process.returncode, out, err
            finally:
                process.kill()

    def run(self, sections: str, *command: str, gate: Path | None = None, **keys: Any) -> Any:
        """What a function of this module gives in a process of its own."""
        status, out, err = self.said(sections, "tests.test_engines", *command, gate=gate, **keys)
        assert status == 0, err
        return json.loads(out)


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    made = Project(tmp_path_factory.mktemp("engines"))
    made.run("ALL", "prepare")
    return made


@pytest.fixture
def meeting_place(tmp_path: Path) -> Iterator[Path]:
    """The folder that is the gate; nobody is left behind it."""
    place = tmp_path / "gate"
    place.mkdir()
    yield place
    for number in numbers(place):
        if lives(number):
            os.kill(number, signal.SIGKILL)


def numbers(place: Path) -> list[int]:
    return [int(found.name) for found in place.iterdir() if found.name.isdigit()]


needs_proc = pytest.mark.skipif(
    not Path("/proc/self/stat").exists(), reason="this system has no /proc, which tells who lives"
)


def lives(number: int) -> bool:
    """Whether there is such a process, other than one that is dead and that nobody asked about."""
    try:
        state = Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state not in ("Z", "X")


def content(folder: Path) -> dict[str, bytes]:
    return {found.name: found.read_bytes() for found in folder.iterdir() if found.is_file()}


def touched(folder: Path) -> dict[str, tuple[int, int]]:
    """So that a file that is written anew differs even with the same bytes."""
    states = {found.name: found.stat() for found in folder.iterdir() if found.is_file()}
    return {name: (state.st_ino, state.st_mtime_ns) for name, state in states.items()}


def locations(folder: Path, section: str) -> list[str]:
    """Of a section's pages in the order of the index, less the base."""
    index = ElementTree.parse(folder / "sitemap.xml")  # noqa: S314 our own output
    names = [str(loc.text).rpartition("/")[2] for loc in index.iter(LOC)]
    found = []
    for name in names:
        if name.startswith(f"sitemap-{section}-"):
            page = ElementTree.parse(folder / name)  # noqa: S314
            found += [str(loc.text).removeprefix(BASE) for loc in page.iter(LOC)]
    return found


def renderers(folder: Path, section: str) -> tuple[set[int], set[str]]:
    """Who rendered a section, and how they came to be."""
    parts = [location.split("/") for location in locations(folder, section)]
    assert parts
    return {int(part[1]) for part in parts}, {part[2] for part in parts}


def left_over(folder: Path) -> list[str]:
    """What is our own there, but for the lock and the manifests with their sections."""
    state = folder / ".sitemaps09"
    known = {"lock"}
    for root in state.glob("manifest.json*"):
        known |= {root.name, *json.loads(root.read_text())["sections"].values()}
    return [found.name for found in state.iterdir() if found.name not in known]


class TestAnExportBySeveralProcesses:
    def test_is_the_same_as_by_one(self, project: Project, tmp_path: Path) -> None:
        reports = project.run("ALL", "each_count", str(tmp_path), MAX_BYTES=9_000)
        assert reports[0]["published"]
        assert reports[1] == reports[0]
        assert reports[2] == reports[0]
        files = [content(tmp_path / workers) for workers in "123"]
        assert files[1] == files[0]
        assert files[2] == files[0]
        # It was worth comparing: pages were split by bytes, and rows were left out.
        ranged, lame, one, listed = reports[0]["sections"]
        assert any(file["cut"] for file in ranged["files"])
        assert lame["left_out"] == len(lame["errors"]) == ROWS // 50
        assert [error["key"] for error in lame["errors"]] == [str(i) for i in range(7, ROWS, 50)]
        assert (len(one["files"]), len(listed["files"]) > 1) == (1, True)

    def test_has_its_pages_in_the_order_of_the_key(self, project: Project, tmp_path: Path) -> None:
        project.run("PLAIN", "exported", str(tmp_path), "3", MAX_BYTES=9_000, GZIP=False)
        found = [location.split("/")[2].rstrip("x") for location in locations(tmp_path, "a")]
        assert found == [f"a{i}" for i in range(1, ROWS + 1)]

    def test_has_two_processes_at_work_at_once(
        self, project: Project, tmp_path: Path, meeting_place: Path
    ) -> None:
        parent = project.run("MEETING", "pid", str(tmp_path), gate=meeting_place, GZIP=False)
        pids, how = renderers(tmp_path, "a")
        # Each of them waited for the other one; who did not meet anybody is not in there.
        assert len(locations(tmp_path, "a")) == ROWS
        assert sorted(pids) == sorted(numbers(meeting_place))
        assert len(pids) == 2
        assert parent not in pids
        # As this Python does it on this system.
        assert how == {"fork" if multiprocessing.get_start_method() == "fork" else "spawn"}

    def test_leaves_to_the_parent_what_other_processes_cannot_find_again(
        self, project: Project, tmp_path: Path
    ) -> None:
        parent = project.run("WHO", "pid", str(tmp_path), GZIP=False)
        assert parent not in renderers(tmp_path, "ranged")[0]
        for section in ("one", "list", "contrib"):
            assert renderers(tmp_path, section)[0] == {parent}

    def test_writes_nothing_where_it_is_dry(self, project: Project, tmp_path: Path) -> None:
        one, two = project.run("ALL", "dry", str(tmp_path / "public"))
        assert two == one
        assert not two["published"]
        assert not (tmp_path / "public").exists()

    def test_is_that_of_the_command(self, project: Project, tmp_path: Path) -> None:
        wanted = project.run("ALL", "exported", str(tmp_path / "python"), "1")
        options = ["--output", str(tmp_path / "command"), "--workers", "2", "--format", "json"]
        status, out, err = project.said("ALL", "django", "export_sitemaps", *options)
        assert status == 0, err
        found = json.loads(out)
        assert [section["files"] for section in found["sections"]] == [
            section["files"] for section in wanted["sections"]
        ]
        assert content(tmp_path / "command") == content(tmp_path / "python")

    def test_ends_with_status_1_where_a_worker_failed(self, project: Project, tmp_path: Path) -> None:
        options = ["--output", str(tmp_path), "--workers", "2"]
        status, _, err = project.said("BROKEN", "django", "export_sitemaps", *options)
        assert status == 1
        assert "Section 'broken': ImproperlyConfigured: the project is broken." in err


class TestBesideAThread:
    """A process with threads cannot be forked."""

    def test_workers_are_made_anew(self, project: Project, tmp_path: Path) -> None:
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
        ended = "ExportError: a worker process ended before its time"
        (failure,) = report["failures"]
        assert failure.startswith(f"Section 'a': {ended}")
        assert failure.endswith("twice in a row.")
        # The next one that needs workers has new ones.
        assert [section["failure"] is None for section in report["sections"]] == [False, True, True]
        assert content(folder) == before
        assert touched(folder) == states
        assert left_over(folder) == []
        # It was tried again, by others.
        assert len(numbers(meeting_place)) > 2
        # Of the others none is left, neither of those that are known nor of those that are not.
        assert alive == 0
        workers = numbers(meeting_place)
        assert workers
        assert not any(map(lives, workers))

    def test_once_costs_nothing(self, project: Project, tmp_path: Path, meeting_place: Path) -> None:
        wanted = project.run("FINE", "exported", str(tmp_path / "fine"))
        report, alive = project.run("KILLED_ONCE", "children", str(tmp_path / "once"), gate=meeting_place)
        assert (meeting_place / "dead").exists()
        assert report == wanted
        assert content(tmp_path / "once") == content(tmp_path / "fine")
        assert left_over(tmp_path / "once") == []
        assert alive == 0
        assert not any(map(lives, numbers(meeting_place)))


class TestAutomaticWorkers:
    """Where nobody said how many."""

    @pytest.mark.skipif(_cores() == 1, reason="with one core there is nothing to gain")
    def test_are_several_where_they_can_be(self, project: Project, tmp_path: Path) -> None:
        parent = project.run("WHO", "automatic", str(tmp_path), GZIP=False)
        assert parent not in renderers(tmp_path, "ranged")[0]

    def test_are_none_in_a_transaction(self, project: Project, tmp_path: Path) -> None:
        parent = project.run("WHO", "automatic_in_a_transaction", str(tmp_path), GZIP=False)
        assert renderers(tmp_path, "ranged")[0] == {parent}

    @pytest.mark.django_db(transaction=True)
    def test_are_none_beside_a_database_in_memory(self, tmp_path: Path, settings: Any) -> None:
        from django_sitemaps09.export import export
        from tests.models import Article

        settings.SITEMAPS09 = {
            "BASE_URL": BASE,
            "SITEMAPS": f"{__name__}.WHO",
            "GZIP": False,
            "MAX_URLS": 9,
        }
        Article.objects.bulk_create(Article(pk=i, slug=f"a{i}") for i in range(1, 21))
        assert export(output=tmp_path).failures == []
        assert renderers(tmp_path, "ranged")[0] == {os.getpid()}

    def test_are_none_for_sections_that_other_processes_cannot_find(
        self, tmp_path: Path, settings: Any
    ) -> None:
        from django_sitemaps09.export import export

        settings.SITEMAPS09 = {"BASE_URL": BASE, "GZIP": False}
        assert export(output=tmp_path, sitemaps={"list": Numbers}).failures == []
        assert renderers(tmp_path, "list")[0] == {os.getpid()}


@needs_proc
class TestTheCoordinatorThatIsKilled:
    @pytest.mark.parametrize("sections", ["BUSY", "IDLE"])
    def test_takes_its_workers_with_it_and_is_no_harm_to_the_next_export(
        self, project: Project, tmp_path: Path, meeting_place: Path, sections: str
    ) -> None:
        folder = tmp_path / "public"
        process = project.start(sections, "tests.test_engines", "exported", str(folder), gate=meeting_place)
        with process:
            until(lambda: len(numbers(meeting_place)) == 2, "two workers never began")
            workers = numbers(meeting_place)
            assert process.pid not in workers
            assert all(map(lives, workers))
            if sections == "IDLE":
                # All pages are there, and the parent waits.
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


# Rows that other processes see; the mark is an error where there is no such database.
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
    def test_is_a_transaction(self, project: Project, tmp_path: Path) -> None:
        said = project.run("PLAIN", "refused_in_a_transaction", str(tmp_path / "public"))
        assert "several workers cannot run in a transaction" in said
        assert not (tmp_path / "public").exists()

    @pytest.mark.django_db(transaction=True)
    def test_is_a_database_in_memory(self, tmp_path: Path, settings: Any) -> None:
        from django_sitemaps09.export import export
        from tests.models import Article

        settings.SITEMAPS09 = {"BASE_URL": BASE, "SITEMAPS": f"{__name__}.PLAIN"}
        assert Article.objects.count() == 0
        with pytest.raises(ImproperlyConfigured, match="several workers cannot read a database in memory"):
            export(output=tmp_path / "public", workers=2)
        assert not (tmp_path / "public").exists()
        # The connection is as it was, and one worker is content with it.
        assert Article.objects.count() == 0
        assert export(output=tmp_path / "public", workers=1).failures == []

    @pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
    def test_is_a_process_that_may_start_none(self, project: Project, tmp_path: Path) -> None:
        asked, unasked = project.run("PLAIN", "in_a_daemon", str(tmp_path / "public"))
        assert "cannot run in a daemonic process" in asked
        assert unasked == "True"

    @pytest.mark.parametrize("workers", [0, -1])
    def test_is_less_than_one_worker(self, tmp_path: Path, settings: Any, workers: int) -> None:
        from django_sitemaps09.export import export

        settings.SITEMAPS09 = {"BASE_URL": BASE}
        with pytest.raises(ImproperlyConfigured, match=f"at least one worker, not {workers}"):
            export(output=tmp_path / "public", workers=workers, sitemaps={"list": Fixed})
        assert not (tmp_path / "public").exists()

    def test_is_sections_that_other_processes_cannot_find(self, tmp_path: Path, settings: Any) -> None:
        from django_sitemaps09.export import export

        settings.SITEMAPS09 = {"BASE_URL": BASE}
        with pytest.raises(ImproperlyConfigured, match=r"SITEMAPS09\['SITEMAPS'\], or export with one"):
            export(output=tmp_path / "public", workers=2, sitemaps={"list": Fixed})
        assert not (tmp_path / "public").exists()
        assert export(output=tmp_path / "public", workers=1, sitemaps={"list": Fixed}).published


if __name__ == "__main__":
    import django

    django.setup()
    print(json.dumps(globals()[sys.argv[1]](*sys.argv[2:])))  # noqa: T201
