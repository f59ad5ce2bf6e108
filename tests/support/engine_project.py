"""An export in a separate process, with its sections and its settings.

It runs as `python -m tests.support.engine_project FUNCTION ...`: a process without threads, whose database
other processes see.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import shutil
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from django.contrib.sitemaps import Sitemap as ContribSitemap
from django.core.exceptions import ImproperlyConfigured
from django.http import HttpResponse
from django.urls import path

from django_sitemaps09 import ModelSitemap, Route, Sitemap
from tests.support.configuration import BASE
from tests.support.exports import (
    content,
    locations as locations_of,
    named,
    run_folders as left_over,
    touched,
)
from tests.support.killing import lives
from tests.support.processes import ended, environment, started
from tests.support.waiting import DEADLINE, until

__all__ = ["content", "left_over", "touched"]

ROWS, PAGE = 600, 100
#: The gate where processes wait for each other. Each creates a file with its process id.
GATE = "SITEMAPS09_TESTS_GATE"

SETTINGS = """
import json, os
from tests.settings import *
DATABASES = {"default": json.loads(os.environ["SITEMAPS09_TESTS_DATABASE"])}
SITEMAPS09 = json.loads(os.environ["SITEMAPS09_TESTS_KEYS"])
"""

#: This module, as a URLconf that is not the one in the settings.
urlpatterns = [path("other/<slug:slug>/", lambda request, slug: HttpResponse(), name="article")]


# The sections, which workers find by name. Models are imported late, because a spawned worker imports this
# module before Django is set up.


def articles(**attributes: Any) -> Callable[[], Any]:
    """Return a section factory whose pages are ranges of a key; `pks` selects the rows."""

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
    """Return the process that renders, and its start method."""
    how = "spawn" if sys.modules["__main__"].__name__ == "__mp_main__" else "fork"
    return f"/{os.getpid()}/{how}/{number}/"


def gate(name: object) -> Path:
    return Path(os.environ[GATE]) / str(name)


def in_worker() -> bool:
    """Wait, but not in the parent, which reads the first rows to measure their size."""
    return multiprocessing.parent_process() is not None


def enter() -> list[str]:
    """Return the ids of the processes at the gate, including this one."""
    gate(os.getpid()).touch()
    return [found.name for found in gate("").iterdir() if found.name.isdigit()]


class ByProcess(Sitemap[int]):
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


class WaitingInTheParent(ByProcess):
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
    """Wait until two processes have arrived."""
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


class Fixed(ByProcess):
    def location(self, item: int) -> str:
        return f"/numbers/{item}/"


# The sections that the setting SITEMAPS names.
ALL = {"a": articles(), "bad": articles(location=bad), "one": articles(pks=5), "list": Fixed}

WHO = {"ranged": articles(location=who), "one": articles(pks=5, location=who), "list": ByProcess} | {
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


# Functions for a separate process. Each returns values for JSON.


def prepare() -> None:
    """Create tables and rows."""
    from django.db import connection

    from tests.models import Article, Category, Tag

    with connection.schema_editor() as editor:
        for model in (Category, Tag, Article):
            editor.create_model(model)
    fill()


def fill(using: str = "default") -> None:
    from tests.models import Article

    first = datetime(2026, 1, 1, 10, 30, tzinfo=timezone.utc)
    # Later entries are longer than the first ones, so they exceed pages whose size is based on the first
    # ones.
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
    # Paths, times and memory differ.
    for clocked in ("folder", "target", "seconds", "urls_per_second", "memory", "workers_memory"):
        del report[clocked]
    # So do the processes that rendered the pages.
    report["pages"] = sum(report.pop("rendered_by").values())
    for section in report["sections"]:
        del section["seconds"]
        section["pages"] = sum(section.pop("rendered_by").values())
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


def automatic_for_all_sites(folder: str) -> int:
    from django.contrib.sites.models import Site
    from django.core.management import call_command
    from django.db import connection

    with connection.schema_editor() as editor:
        editor.create_model(Site)
    Site.objects.create(domain="www.example.com", name="www")
    connection.close()
    call_command("export_sitemaps", "--all-sites", "--output", folder, "--no-gzip", stdout=sys.stderr)
    return os.getpid()


def automatic_for_hosts(folder: str) -> int:
    from django_sitemaps09.export import export_hosts

    reports = export_hosts(["https://a.example", "https://b.example"], output=folder)
    assert [report.failures for report in reports.values()] == [[], []]
    return os.getpid()


def in_a_transaction(folder: str) -> tuple[int, str]:
    """Return this process, which has exported without workers, and why it cannot with two."""
    from django.db import transaction

    with transaction.atomic():
        process = automatic(f"{folder}/automatic")
        try:
            exported(f"{folder}/two")
        except ImproperlyConfigured as error:
            return process, str(error)
    return process, ""


def beside_a_connection(folder: str) -> dict[str, object]:
    """Export with spawned workers, from another database than in the settings."""
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
    """Spawned workers do not have the settings that the caller has overridden."""
    from django.db import connection
    from django.test import override_settings

    from django_sitemaps09.export import export

    connection.ensure_connection()
    with override_settings(LANGUAGE_CODE="de"):
        return list(export(output=folder, workers=2).failures)


def in_a_daemon(folder: str) -> list[str]:
    """Return what a daemonic process does with two workers, which it cannot start, and by default."""
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
    """Set a script prefix and a URLconf in this process only."""
    from django.urls import set_script_prefix, set_urlconf

    set_script_prefix("/shop/")
    set_urlconf("tests.support.engine_project")
    exported(f"{folder}/1", "1")
    beside_a_thread(f"{folder}/2")


def with_queries(folder: str) -> list[Any]:
    """Return results of a connection before and after the export; it is open when workers start."""
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


# Starting the process, and reading its results


class Project:
    """A folder with settings and, for SQLite, a database."""

    def __init__(self, folder: Path, database: dict[str, Any] | None = None) -> None:
        self.folder = folder
        self.database = database or {
            "ENGINE": "django.db.backends.sqlite3",
            "NAME": str(folder / "db.sqlite3"),
            "OPTIONS": {"timeout": DEADLINE},
        }
        (folder / "engine_settings.py").write_text(SETTINGS)

    def start(self, sections: str, *command: str, gate: Path | None = None, **keys: Any) -> Any:
        given = {
            "BASE_URL": BASE,
            "SITEMAPS": f"tests.support.engine_project.{sections}",
            "MAX_URLS": PAGE,
            **keys,
        }
        variables = {
            "SITEMAPS09_TESTS_DATABASE": json.dumps(self.database),
            "SITEMAPS09_TESTS_KEYS": json.dumps(given),
            GATE: gate,
        }
        return started("-m", *command, environ=environment(self.folder, "engine_settings", **variables))

    def said(self, sections: str, *command: str, gate: Path | None = None, **keys: Any) -> Any:
        """Return status, output and errors of a process, which is killed after a timeout."""
        return ended(self.start(sections, *command, gate=gate, **keys))

    def run(self, sections: str, *command: str, gate: Path | None = None, **keys: Any) -> Any:
        """Run a function of this module in a new process, and return its result."""
        status, out, err = self.said(sections, "tests.support.engine_project", *command, gate=gate, **keys)
        assert status == 0, err
        return json.loads(out)


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    made = Project(tmp_path_factory.mktemp("engines"))
    made.run("ALL", "prepare")
    return made


@pytest.fixture
def meeting_place(tmp_path: Path) -> Iterator[Path]:
    """Create the folder of the gate. At the end, kill processes that still wait there."""
    place = tmp_path / "gate"
    place.mkdir()
    yield place
    for number in numbers(place):
        if lives(number):
            os.kill(number, signal.SIGKILL)


def numbers(place: Path) -> list[int]:
    return [int(found.name) for found in place.iterdir() if found.name.isdigit()]


def locations(folder: Path, section: str) -> list[str]:
    """Return the locations of a section's pages in the order of the index, without the base."""
    names = [name for name in named(folder) if name.startswith(f"sitemap-{section}-")]
    found = [location for name in names for location in locations_of((folder / name).read_bytes())]
    return [location.removeprefix(BASE) for location in found]


def renderers(folder: Path, section: str) -> tuple[set[int], set[str]]:
    """Return the processes that rendered a section, and their start methods."""
    parts = [location.split("/") for location in locations(folder, section)]
    assert parts
    # Each ends like `here()`; with several hosts, bases differ.
    return {int(part[-4]) for part in parts}, {part[-3] for part in parts}


if __name__ == "__main__":
    import django

    django.setup()
    print(json.dumps(globals()[sys.argv[1]](*sys.argv[2:])))  # noqa: T201
