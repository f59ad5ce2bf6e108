"""Use `make_project` or `crew` for exports whose engine or workers are processes of their own.

A `Project` has a folder, rows, sections that wait, fail or kill their process, and its own settings.
`python -m tests.support.engine_project FUNCTION ...` calls a function, and prints its result as JSON.
Workers are those of Celery, with Redis or RabbitMQ, or of Django Tasks, with the queue in the database.
The address of RabbitMQ is `SITEMAPS09_RABBITMQ`, as `user:password@host:port`, by default on this machine.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import ExitStack, closing, contextmanager, suppress
from datetime import datetime, timedelta, timezone
from pathlib import Path
from secrets import token_hex

import pytest
from django.conf import settings as django_settings
from django.contrib.sitemaps import Sitemap as ContribSitemap
from django.core.exceptions import ImproperlyConfigured
from django.db.models import F
from django.http import HttpResponse
from django.urls import path, set_script_prefix, set_urlconf
from django.utils.module_loading import import_string

from django_sitemaps09 import Route
from tests.support import killing, services
from tests.support.configuration import BASE
from tests.support.exports import content, locations, named
from tests.support.processes import DEADLINE, answers, ended, environment, started, until
from tests.support.published import quick_folder
from tests.support.sections import Numbers, declare, listing

ROWS, PAGE = 600, 100
#: Seconds for each row of the section `steady`.
STEADY = 0.004
RABBITMQ = os.environ.get("SITEMAPS09_RABBITMQ", "guest:guest@127.0.0.1:5672")
BROKERS = {"redis": f"redis://{services.REDIS}/0", "rabbitmq": f"amqp://{RABBITMQ}//"}
#: The address of a broker where no server listens.
NOWHERE = "redis://127.0.0.1:1/0"
#: An engine that counts its messages at the gate; one that sends each twice; and one whose clock runs fast.
ENGINES = ("Hasty", "Doubling", "Hurried")
HASTY, DOUBLING, HURRIED = (f"{__package__}.engine_project.{name}" for name in ENGINES)
DATABASE = "django_tasks_db.DatabaseBackend"
GATE, WORKER, QUEUE = (f"SITEMAPS09_TESTS_{name}" for name in ("GATE", "WORKER", "QUEUE"))

#: This module, as a URLconf that is not the one in the settings.
urlpatterns = [path("other/<slug:slug>/", lambda request, slug: HttpResponse(), name="article")]


# The gate is a folder where processes meet: each that enters creates a file with its process id.


def gate(name=""):
    return Path(os.environ[GATE]) / str(name)


def entered(folder=None):
    return [int(found.name) for found in (folder or gate()).iterdir() if found.name.isdigit()]


def in_worker():
    return multiprocessing.parent_process() is not None or WORKER in os.environ


def is_child():
    """Return whether the export has started this process for a page whose worker did not return it."""
    return sys.argv[0] == "-c"


def has_sent():
    """Return whether this process is the export itself, and has sent pages to workers."""
    return not (in_worker() or is_child()) and gate("sent").exists()


def here(number):
    """Return the process that renders, and its start method."""
    how = "spawn" if sys.modules["__main__"].__name__ == "__mp_main__" else "fork"
    return f"/{os.getpid()}/{how}/{number}/"


# The locations of sections, whose rows are rendered by workers, or by the export after it has sent pages.


def who(self, item):
    return here(item.pk)


def meeting(self, item):
    if item.pk % PAGE == 1 and (in_worker() or has_sent()):
        if in_worker():
            gate(os.getpid()).touch()
        until(lambda: len(entered()) > 1, "two workers never met")
    return here(item.pk)


def waiting(self, item):
    """Wait in two workers until the gate opens. The export leaves them their pages; a child never ends."""
    if item.pk % PAGE == 1:
        if in_worker():
            gate(os.getpid()).touch()
            until(gate("open").exists, "nobody opened the gate")
        elif has_sent():
            until(lambda: len(entered()) > 1, "two workers never began")
        elif is_child():
            gate(f"child-{os.getpid()}").touch()
            time.sleep(DEADLINE)
    return f"/{item.slug}/"


def deadly(self, item, *, times=99):
    """Kill the process that renders it, as the system does if memory runs out.

    The export itself lets a worker have the page. It does not render it later, since it is claimed then.
    """
    if in_worker() or is_child():
        gate(os.getpid()).touch()
        if item.pk == ROWS // 2 and len([*gate().glob("dead-*")]) < times:
            gate(f"dead-{os.getpid()}").touch()
            os.kill(os.getpid(), signal.SIGKILL)
    elif has_sent():
        until(lambda: [*gate().glob("dead-*")], "no worker took the page")
    return f"/articles/{item.slug}/"


def deadly_once(self, item):
    return deadly(self, item, times=1)


def steady(self, item):
    if in_worker():
        gate(os.getpid()).touch()
    time.sleep(STEADY)
    return f"/{item.slug}/"


def odd(self, item):
    """Raise errors with texts that are difficult for logs and JSON."""
    if item.pk % 50 == 7:
        raise ValueError(f"\u2028 \x1b[31m \U0001f600 \ud800 % {{}} \0 {item.pk}")
    return "https://elsewhere.example.net/" if item.pk % 50 == 8 else f"/{item.slug}/"


def broken(self, item):
    if item.pk == ROWS // 2:
        raise ImproperlyConfigured("the project is broken")
    return f"/{item.slug}/"


def articles(pks=ROWS, **attributes):
    """Return a section factory with pages of key ranges. Spawned workers have no models at import."""

    def made():
        from tests.models import Article

        rows = {"queryset": Article.objects.filter(pk__lte=pks), "lastmod": F("updated")}
        return declare(**{"location": Route("article", slug=F("slug")), **rows, **attributes})()

    return made


ByProcess = listing(range(3 * PAGE), location=lambda self, item: here(item))
Contrib = listing([*range(3 * PAGE)], ContribSitemap, limit=PAGE, location=lambda self, item: here(item))


class WaitingHere(ByProcess):
    def items(self):
        until(gate("open").exists, "nobody opened the gate")
        return super().items()


HOOKS = (who, meeting, waiting, deadly, deadly_once, steady, odd, broken)
#: The sections that the setting SITEMAPS names.
SECTIONS = {
    "a": articles(),
    "b": articles(),
    "one": articles(pks=5),
    "list": Numbers(3 * PAGE),
    "who_one": articles(pks=5, location=who),
    "who_list": ByProcess,
    "who_contrib": Contrib,
    "idle": WaitingHere,
    **{hook.__name__: articles(location=hook) for hook in HOOKS},
}


def __getattr__(name):
    """Return an engine with a queue, which differs from that of the package as its name says."""
    if name not in ENGINES:
        raise AttributeError(name)
    if os.environ[QUEUE] == "tasks":
        from django_sitemaps09.export.engines.django_tasks import DjangoTasks as Base
    else:
        from django_sitemaps09.export.engines import celery

        celery._RETRIES["max_retries"] = 1
        Base = celery.Celery

    class Engine(Base):
        if name == "Hurried":
            clock = staticmethod(lambda: 1_000 * time.monotonic())

        def put(self, message):
            for _ in range(1 + (name == "Doubling")):
                super().put(message)
                with gate("sent").open("a") as file:
                    print(json.dumps(message), file=file)

    return Engine


def prepare():
    from django.contrib.sites.models import Site
    from django.db import connection

    from tests.models import Article, Category, Tag

    with connection.schema_editor() as editor:
        for model in (Site, Category, Tag, Article):
            editor.create_model(model)
    Site.objects.create(domain="www.example.com", name="www")
    fill()


def fill(using="default"):
    from tests.models import Article

    first = datetime(2026, 1, 1, 10, 30, tzinfo=timezone.utc)
    # Later entries are longer than the first ones, so they exceed pages based on the first ones.
    slugs = (f"a{i}{'x' * 100 * (i > ROWS // 2)}" for i in range(1, ROWS + 1))
    rows = (Article(pk=i, slug=text, updated=first + timedelta(hours=i)) for i, text in enumerate(slugs, 1))
    Article.objects.using(using).bulk_create(rows)


def exported(folder, engine, *names, **options):
    """Export to a folder, or to the storage of the settings, and return the report without what differs.

    `engine` can have a number of workers, as in `processes:2`, or be empty.
    """
    from django_sitemaps09.export import export

    engine, _, workers = engine.partition(":")
    options |= {"engine": engine or None, "workers": int(workers) if workers else None}
    report = export([*names], output=folder or None, **options).as_dict()
    for clocked in ("folder", "target", "seconds", "urls_per_second", "memory", "workers_memory"):
        del report[clocked]
    report["pages"] = sum(report.pop("rendered_by").values())
    for section in report["sections"]:
        del section["seconds"]
        section["pages"] = sum(section.pop("rendered_by").values())
        section.pop("hints", None)
    return report


def again(folder, engine):
    return [exported(folder, engine, "a", changed_only=True) for _ in range(2)]


def thinned(folder, engine):
    """Export, delete most rows of some pages, so that these are merged, and export twice.

    Return the pages of each run, and what the last one wrote.
    """
    from tests.models import Article
    from tests.support.processes import forkable

    reports = [exported(folder, engine, "a")]
    Article.objects.filter(pk__range=(60, 320)).exclude(pk__in=range(60, 320, 20))._raw_delete("default")
    for _ in range(2):
        forkable()
        reports.append(exported(folder, engine, "a"))
    Article.objects.all()._raw_delete("default")
    fill()
    facts = ("name", "until", "urls", "digest")
    maps = [[[file[fact] for fact in facts] for file in each["sections"][0]["files"]] for each in reports]
    return maps, reports[-1]["written"]


def elsewhere(folder, engine):
    """Export under a prefix and a URLconf that only this process has."""
    set_script_prefix("/shop/")
    set_urlconf("tests.support.engine_project")
    return exported(folder, engine, "a")


class Project:
    """A folder, a database and settings for processes, with a queue of its own if it has a broker.

    `broker` is "redis", "rabbitmq", "tasks" for Django Tasks, or another text for a Celery app without a
    server. `engine` is the engine that sends pages to workers.
    """

    def __init__(self, folder, database=None, broker="", engine="processes:2", **settings):
        self.folder, self.broker, self.engine = folder, broker, HASTY if broker else engine
        self.queue, self.logs, self.sent_before = f"sitemaps09-tests-{token_hex(6)}", [], 0
        (folder / "gate").mkdir(parents=True)
        if database:
            shutil.copyfile(database, folder / "db.sqlite3")
        name, options = str(folder / "db.sqlite3"), {"timeout": DEADLINE}
        self.database = {"ENGINE": "django.db.backends.sqlite3", "NAME": name, "OPTIONS": options}
        self.settings = settings
        if broker == "tasks":
            backend = {"BACKEND": DATABASE, "QUEUES": ["default", "sitemaps"]}
            apps = [*django_settings.INSTALLED_APPS, "django_tasks_db"]
            self.settings = {"INSTALLED_APPS": apps, "TASKS": {"default": backend}} | settings
        elif broker:
            self.settings = {
                "CELERY_BROKER_URL": BROKERS.get(broker, NOWHERE),
                "CELERY_TASK_DEFAULT_QUEUE": f"{self.queue}-other",
                # The project has a separate queue for pages.
                "CELERY_TASK_ROUTES": {"django_sitemaps09.*": {"queue": self.queue}},
                "CELERY_BROKER_TRANSPORT_OPTIONS": {"global_keyprefix": f"{self.queue}:"},
                "CELERY_WORKER_PREFETCH_MULTIPLIER": 1,
                "CELERY_WORKER_ENABLE_REMOTE_CONTROL": False,
                # The project's settings differ from what the package needs.
                "CELERY_TASK_SERIALIZER": "pickle",
                "CELERY_ACCEPT_CONTENT": ["json"],
                **settings,
            }

    def gate(self, name=""):
        return self.folder / "gate" / str(name)

    def start(self, *command, is_worker=False, settings=None, out=subprocess.PIPE, **keys):
        """Start Python with `-m`, a command and keys of the setting `SITEMAPS09`."""
        limits = {"MAX_URLS": PAGE, "MAX_BYTES": 9_000}
        sitemaps = {"BASE_URL": BASE, "SITEMAPS": f"{__name__}.SECTIONS", **limits, **keys}
        given = {"DATABASES": {"default": self.database}, "SITEMAPS09": sitemaps, **self.settings}
        variables = {"SITEMAPS09_TESTS_SETTINGS": json.dumps(given | (settings or {}))}
        variables |= {GATE: self.gate(), QUEUE: self.broker}
        variables |= {WORKER: "1"} if is_worker else {}
        return started(
            *("-m", *command),
            environ=environment(self.folder, "tests.support.engine_settings", **variables),
            # A worker's pipe is closed when the tests end, even if they crash.
            stdin=subprocess.PIPE if is_worker else subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT if is_worker else subprocess.PIPE,
            start_new_session=True,
        )

    def call(self, function, *arguments, **given):
        """Start a process that calls a function of this module, or of another one."""
        module, name = getattr(function, "__module__", __name__), getattr(function, "__name__", function)
        return self.start("tests.support.engine_project", f"{module}.{name}", *map(str, arguments), **given)

    def said(self, *command, **given):
        """Return status, output and errors of a process, which is killed after a timeout."""
        return ended(self.start(*filter(None, command), **given))

    def run(self, function, *arguments, **given):
        """Return the result of a function. Its process was `pid`, and had so many `children` at the end."""
        return self.result(self.call(function, *arguments, **given))

    def result(self, process, deadline=DEADLINE):
        try:
            status, out, self.err = ended(process, deadline)
        finally:
            end(process)
        assert status == 0, self.err
        self.pid, self.children, value = json.loads(out.splitlines()[-1])
        return value

    def export(self, folder, *names, engine=None, **given):
        report = self.run("exported", folder, engine or self.engine, *names, **given)
        return report, content(folder) if folder.exists() else None

    def serial(self, *names):
        """Return the report and the files of an export by the command alone, the same for all projects."""
        if names not in _SERIAL:
            with quick_folder() as folder:
                _SERIAL[names] = self.export(folder, *names, engine="serial")
        return _SERIAL[names]

    @contextmanager
    def working(self, count, *options, **given):
        """Start workers, wait until they are ready, and end them in any case."""
        if self.broker == "tasks":
            quick, ready = ("--interval", "0.05", "--no-startup-delay"), "Starting worker"
            command = ["django", "db_worker", "--queue-name", "*", *quick]
        else:
            quiet = "--without-gossip --without-mingle --without-heartbeat -l INFO -c 1"
            worker = f"celery -A tests.support.engine_settings worker -Q {self.queue} {quiet}"
            command, ready = worker.split(), "ready."

        def is_ready(process, log):
            return process.poll() is not None or ready in log.read_text()

        with ExitStack() as stack:
            processes = []
            for _ in range(count):
                self.logs.append(self.folder / f"worker-{len(self.logs)}.log")
                file = stack.enter_context(self.logs[-1].open("w"))
                name = [] if self.broker == "tasks" else ["-n", f"{token_hex(4)}@localhost"]
                process = self.start(*command, *name, *options, is_worker=True, out=file, **given)
                processes.append(stack.enter_context(process))
                stack.callback(end, process)
            for log, process in zip(self.logs[-count:], processes, strict=True):
                until(lambda of=(process, log): is_ready(*of), "a worker never began")
                assert process.poll() is None, log.read_text()
            yield processes

    def log(self):
        return "".join(log.read_text() for log in self.logs)

    def sent(self):
        """Return how many messages have been sent since the gate was cleared."""
        return len(self.gate("sent").read_text().splitlines()) if self.gate("sent").exists() else 0

    def clear(self):
        self.sent_before += self.sent()
        shutil.rmtree(self.gate())
        self.gate().mkdir()

    def are_idle(self):
        """Wait until workers have received and finished all messages."""
        begun, finished = "received", "succeeded"
        if self.broker == "tasks":
            begun, finished = "1", "status NOT IN ('READY', 'RUNNING')"
        sent = self.sent_before + self.sent()
        until(lambda: sent <= self._tasks(begun), "messages never came to a worker")
        until(lambda: self._tasks(begun) == self._tasks(finished), "workers never ended their pages")

    def _tasks(self, state):
        if self.broker != "tasks":
            return len(set(re.findall(rf"Task django_sitemaps09\.render\[(.+)\] {state}", self.log())))
        query = f"SELECT count(*) FROM django_tasks_database_dbtaskresult WHERE {state}"  # noqa: S608
        with closing(sqlite3.connect(self.database["NAME"], timeout=DEADLINE)) as database:
            return database.execute(query).fetchone()[0]

    def close(self):
        """End the processes that still wait at the gate, and delete the queue from the broker."""
        for number in filter(killing.lives, entered(self.gate())):
            os.kill(number, signal.SIGKILL)
        if self.broker == "redis":
            import redis

            with redis.Redis.from_url(BROKERS["redis"]) as client:
                for key in client.scan_iter(f"{self.queue}*", 1_000):
                    client.delete(key)
        elif self.broker == "rabbitmq":
            from amqp.exceptions import ChannelError
            from kombu import Connection

            with Connection(BROKERS["rabbitmq"]) as connection:
                for name in (self.queue, f"{self.queue}-other"):
                    for delete in ("queue_delete", "exchange_delete"):
                        with suppress(ChannelError), connection.channel() as channel:
                            getattr(channel, delete)(name)


#: Reports and files of exports by the command alone, by sections.
_SERIAL = {}


def end(process):
    """Kill a process with all processes of its session, whether they run, are stopped or have ended."""
    killing.end(process.pid)
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def require(broker):
    """Skip the test, or fail it, if a broker or its packages are missing."""
    if broker:
        services.require_packages("django_tasks_db" if broker == "tasks" else "celery")
    if broker == "redis":
        services.require_redis()
    address = RABBITMQ.rpartition("@")[2]
    if broker == "rabbitmq" and not answers(address):
        services.missing(f"no RabbitMQ answers at {address}: see tests/support/engine_project.py")


@pytest.fixture(scope="session")
def database(tmp_path_factory):
    project = Project(tmp_path_factory.mktemp("rows"))
    project.run("prepare")
    return project.folder / "db.sqlite3"


@pytest.fixture(scope="session")
def tasks_database(tmp_path_factory, database):
    require("tasks")
    project = Project(tmp_path_factory.mktemp("tasks-rows"), database, "tasks")
    status, _, err = project.said("django", "migrate", "django_tasks_database", "--verbosity", "0")
    assert status == 0, err
    return project.folder / "db.sqlite3"


def _database_for(broker, request):
    require(broker)
    return request.getfixturevalue("tasks_database" if broker == "tasks" else "database")


@pytest.fixture
def make_project(tmp_path, request):
    """A project for one test, without workers."""
    with ExitStack() as stack:

        def made(broker="", **settings):
            project = Project(tmp_path / "project", _database_for(broker, request), broker, **settings)
            stack.callback(project.close)
            return project

        yield made


CREWS = {
    "processes": pytest.param("", id="processes"),
    **{name: pytest.param(name, marks=pytest.mark.services) for name in (*BROKERS, "tasks")},
}


def crews(*names):
    return pytest.mark.parametrize("_crew", [CREWS[name] for name in names], indirect=True)


@pytest.fixture(scope="module", params=CREWS.values())
def _crew(request, tmp_path_factory):
    """Start two workers for all tests that leave them unchanged.

    One pair of Celery workers has no result backend, the other has one that does not respond.
    """
    broker, folder = request.param, tmp_path_factory.mktemp("crew") / "project"
    backend = {"CELERY_RESULT_BACKEND": NOWHERE} if broker == "rabbitmq" else {}
    project = Project(folder, _database_for(broker, request), broker, **backend)
    with ExitStack() as stack:
        stack.callback(project.close)
        if broker:
            stack.enter_context(project.working(2, ROOT=str(folder / "theirs")))
        yield project


@pytest.fixture
def crew(_crew):
    _crew.clear()
    return _crew


@pytest.fixture
def backends(settings):
    """Set `TASKS`, by the class of each backend and its queues."""
    require("tasks")
    from django_sitemaps09.export.engines.django_tasks import tasks

    def declare_backends(*queues, **classes):
        ours = f"{tasks.__name__}.backends."
        settings.TASKS = {
            alias: {"BACKEND": name if "." in name else f"{ours}{name.lower()}.{name}Backend"}
            | ({"QUEUES": list(queues)} if queues else {})
            for alias, name in classes.items()
        }

    return declare_backends


def runs(folder):
    return [*folder.glob(".sitemaps09/run-*"), *folder.glob(".sitemaps09/tmp-*")]


def locations_of(folder, section):
    """Return the locations of a section's pages in the order of the index, without the base."""
    names = [name for name in named(folder) if name.startswith(f"sitemap-{section}-")]
    return [found.removeprefix(BASE) for name in names for found in locations((folder / name).read_bytes())]


def renderers(folder, section):
    """Return the processes that rendered a section, and their start methods."""
    # Each location ends like `here()`; with several hosts, bases differ.
    parts = [location.split("/") for location in locations_of(folder, section)]
    assert parts
    return {int(part[-4]) for part in parts}, {part[-3] for part in parts}


if __name__ == "__main__":
    import django

    django.setup()
    value = import_string(sys.argv[1])(*sys.argv[2:])
    print(json.dumps([os.getpid(), len(multiprocessing.active_children()), value]))  # noqa: T201
