"""Laws of an export by workers of Celery, over a real Redis and a real RabbitMQ.

Workers and commands are processes of their own, of a throw-away project; what they do is found here by
its name, in `python -m tests.test_celery` too. RabbitMQ is looked for where `SITEMAPS09_RABBITMQ` says,
as `user:password@host:port`, by default on this machine.
"""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from pathlib import Path
from secrets import token_hex
from threading import Event, Thread
from typing import Any

import pytest
from django.core import signing
from django.core.exceptions import ImproperlyConfigured
from django.db import connection
from django.http import HttpResponse
from django.test.utils import CaptureQueriesContext, override_settings
from django.urls import get_script_prefix, get_urlconf, path

from django_sitemaps09 import stores
from django_sitemaps09.conf import conf
from django_sitemaps09.exceptions import ExportError, UnknownSectionError
from django_sitemaps09.export.rendering.page import HostTarget, Renderer, Task, render_page
from django_sitemaps09.pages import Page
from django_sitemaps09.protocol import Base
from django_sitemaps09.stores import STATE, LocalStore
from tests.support import engine_project, services
from tests.support.configuration import BASE
from tests.support.engine_project import PAGE, ROWS, SETTINGS, articles, content, gate, locations, touched
from tests.support.paths import ROOT
from tests.support.waiting import DEADLINE, until

pytestmark = [pytest.mark.slow, pytest.mark.services]

RABBITMQ = os.environ.get("SITEMAPS09_RABBITMQ", "guest:guest@127.0.0.1:5672")
HASTY, DOUBLING = "shop.engine.Hasty", "shop.engine.Doubling"
BROKERS = {"redis": f"redis://{services.REDIS}/0", "rabbitmq": f"amqp://{RABBITMQ}//"}
#: For what does not depend on the broker.
one_crew = pytest.mark.parametrize("crew", ["redis"], indirect=True)
#: Where nobody listens.
NOWHERE = "redis://127.0.0.1:1/0"
WORKER = "SITEMAPS09_TESTS_WORKER"
PROJECT = {
    "__init__.py": "from shop.queue import app\n",
    "settings.py": SETTINGS
    + """
import django_sitemaps09
django_sitemaps09.__version__ = os.environ.get("SITEMAPS09_TESTS_RELEASE", django_sitemaps09.__version__)
LANGUAGE_CODE = os.environ.get("SITEMAPS09_TESTS_LANGUAGE", LANGUAGE_CODE)
globals().update(json.loads(os.environ["SITEMAPS09_TESTS_CELERY"]))
""",
    "queue.py": """
import os, signal
from threading import Thread
from celery import Celery
def end_with_the_tests():
    os.read(0, 1)
    os.killpg(0, signal.SIGKILL)
if "SITEMAPS09_TESTS_WORKER" in os.environ:
    Thread(target=end_with_the_tests, daemon=True).start()
app = Celery("shop")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()
""",
    "engine.py": """
import json, os
from pathlib import Path
from django_sitemaps09.export.engines import celery
celery._RETRIES["max_retries"] = 1
celery._AGAIN = 0.5
class Hasty(celery.Celery):
    patience = float(os.environ["SITEMAPS09_TESTS_PATIENCE"])
    notice = float(os.environ.get("SITEMAPS09_TESTS_NOTICE", celery.Celery.notice))
    def _send(self, message):
        super()._send(message)
        with Path(os.environ["SITEMAPS09_TESTS_GATE"], "sent").open("a") as file:
            print(json.dumps(message), file=file)
class Doubling(Hasty):
    def _send(self, message):
        super()._send(message)
        super()._send(message)
""",
}
#: Another URLconf than that of the settings: this module.
urlpatterns = [path("other/<slug:slug>/", lambda request, slug: HttpResponse(), name="article")]


# The sections, of which workers know the name. Only in a worker they wait, fail or end.


def in_worker() -> bool:
    return WORKER in os.environ


def meet(name: str) -> None:
    """Goes on where two processes are."""
    if in_worker():
        gate(name).mkdir(exist_ok=True)
        gate(f"{name}/{os.getpid()}").touch()
        until(lambda: len([*gate(name).iterdir()]) > 1, "nobody came")


def wait_for(name: str) -> None:
    if in_worker():
        gate(f"{name}-{os.getpid()}").touch()
        until(gate(name).exists, f"nobody said {name}")


def meeting(self: Any, item: Any) -> str:
    """The first page of each of two workers."""
    if item.pk % PAGE == 1:
        meet("all")
    return f"/{os.getpid()}/{item.pk}/"


def twice_at_once(self: Any, item: Any) -> str:
    """Each page in two workers at the same time."""
    if item.pk % PAGE == 1:
        meet(f"page-{item.pk}")
    return f"/{item.slug}/"


def odd(self: Any, item: Any) -> str:
    """Reasons that neither a log nor JSON may stumble upon."""
    if item.pk % 50 == 7:
        raise ValueError(f"\u2028 \x1b[31m \U0001f600 \ud800 % {{}} \0 {item.pk}")
    return "https://elsewhere.example.net/" if item.pk % 50 == 8 else f"/{item.slug}/"


def broken(self: Any, item: Any) -> str:
    if item.pk == ROWS // 2 and in_worker():
        raise ImproperlyConfigured("the project is broken")
    return f"/{item.slug}/"


def deadly(self: Any, item: Any) -> str:
    """What takes each process with it, as one does that the system kills for its memory."""
    if item.pk == ROWS // 2 and in_worker():
        os.kill(os.getpid(), signal.SIGKILL)
    return f"/{item.slug}/"


def held(self: Any, item: Any) -> str:
    if item.pk == ROWS // 2:
        wait_for("killed")
    return f"/{item.slug}/"


def slow(self: Any, item: Any) -> str:
    if item.pk % PAGE == 1:
        wait_for("slow-ended")
    return f"/{item.slug}/"


def late(self: Any, item: Any) -> str:
    if item.pk % PAGE == 1:
        wait_for("published")
    return f"/{item.slug}/"


#: What the setting SITEMAPS names, everywhere.
SECTIONS = {
    "a": articles(),
    "b": articles(),
    "one": articles(pks=5),
    **{hook.__name__: articles(location=hook) for hook in (meeting, odd, broken, deadly, held, late, slow)},
    "doubled": articles(location=twice_at_once),
}


# What is done in a process of its own. Each gives what JSON can say.


def exported(folder: str, engine: str, *names: str, **options: Any) -> dict[str, Any]:
    report = engine_project.exported(folder, names=names, engine=engine, **options)
    differing = {"target", "urls_per_second", "memory", "workers_memory"}
    return {key: value for key, value in report.items() if key not in differing}


def to_the_setting() -> dict[str, Any]:
    return exported(None, HASTY, "a")  # type: ignore[arg-type]


def again(folder: str, engine: str) -> list[dict[str, Any]]:
    """The second one has nothing to render."""
    return [exported(folder, engine, "a", changed_only=True) for _ in range(2)]


def dry(folder: str) -> dict[str, Any]:
    return exported(folder, HASTY, "a", dry_run=True)


def elsewhere(folder: str, engine: str) -> dict[str, Any]:
    """Under a prefix and a URLconf that only this process was told of."""
    from django.urls import set_script_prefix, set_urlconf

    set_script_prefix("/shop/")
    set_urlconf("tests.test_celery")
    return exported(folder, engine, "a")


def send_again() -> None:
    """The last message that was sent, when all is over."""
    from shop.engine import Hasty

    Hasty(1)._send(json.loads(gate("sent").read_text().splitlines()[-1]))


def modules() -> list[str]:
    from django_sitemaps09.export import export

    assert export
    return [name for name in sys.modules if name.partition(".")[0] in ("celery", "kombu")]


def without_celery() -> str:
    from django_sitemaps09.export import engines

    sys.modules["celery"] = None  # type: ignore[assignment]
    try:
        engines.engine("celery", 2, elsewhere=True)
    except ImproperlyConfigured as error:
        return str(error)
    return ""


# How it is started and looked at.


class Site:
    """The project with a broker, and a queue of its own there."""

    def __init__(self, folder: Path, broker: str | None, database: Path, **celery: Any) -> None:
        self.folder, self.broker = folder, broker
        self.queue = f"sitemaps09-tests-{token_hex(6)}"
        self.logs: list[Path] = []
        shop = folder / "shop"
        shop.mkdir(parents=True)
        for name, text in PROJECT.items():
            (shop / name).write_text(text)
        self.database = {
            "ENGINE": "django.db.backends.sqlite3",
            "NAME": str(database),
            "OPTIONS": {"timeout": DEADLINE},
        }
        (folder / "gate").mkdir()
        self.celery = {
            "CELERY_BROKER_URL": BROKERS.get(broker or "", NOWHERE),
            "CELERY_TASK_DEFAULT_QUEUE": f"{self.queue}-other",
            # As a project has its pages on a queue of their own.
            "CELERY_TASK_ROUTES": {"django_sitemaps09.*": {"queue": self.queue}},
            "CELERY_BROKER_TRANSPORT_OPTIONS": {"global_keyprefix": f"{self.queue}:"},
            "CELERY_WORKER_PREFETCH_MULTIPLIER": 1,
            "CELERY_WORKER_ENABLE_REMOTE_CONTROL": False,
            # The project's taste is not ours.
            "CELERY_TASK_SERIALIZER": "pickle",
            "CELERY_ACCEPT_CONTENT": ["json"],
            **celery,
        }

    def gate(self, name: object = "") -> Path:
        return self.folder / "gate" / str(name)

    def start(
        self,
        *command: str,
        worker: bool = False,
        out: Any = subprocess.PIPE,
        environ: dict[str, str] | None = None,
        celery: dict[str, Any] | None = None,
        **keys: Any,
    ) -> subprocess.Popen[str]:
        given = {"BASE_URL": BASE, "SITEMAPS": "tests.test_celery.SECTIONS", "MAX_URLS": PAGE}
        variables = os.environ | {
            "PYTHONPATH": os.pathsep.join(map(str, [self.folder, ROOT])),
            "DJANGO_SETTINGS_MODULE": "shop.settings",
            "SITEMAPS09_TESTS_DATABASE": json.dumps(self.database),
            "SITEMAPS09_TESTS_KEYS": json.dumps(given | {"MAX_BYTES": 9_000} | keys),
            "SITEMAPS09_TESTS_CELERY": json.dumps(self.celery | (celery or {})),
            "SITEMAPS09_TESTS_PATIENCE": str(DEADLINE),
            engine_project.GATE: str(self.gate()),
        }
        if worker:
            variables[WORKER] = "1"
        return subprocess.Popen(  # noqa: S603 our own interpreter and arguments
            [sys.executable, "-m", *command],
            env=variables | (environ or {}),
            cwd=ROOT,
            # Of a worker it is closed when the tests end, however they do.
            stdin=subprocess.PIPE if worker else subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT if worker else subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def run(self, *command: str, **given: Any) -> Any:
        """What a function of this module gives in a process of its own."""
        return result(self.start("tests.test_celery", *command, **given))[0]

    @contextmanager
    def working(self, count: int, **given: Any) -> Iterator[list[subprocess.Popen[str]]]:
        """So many workers, which are ready, and are ended whatever happens."""
        with ExitStack() as stack:
            processes = []
            for _ in range(count):
                log = self.folder / f"worker-{len(self.logs)}.log"
                self.logs.append(log)
                options = ["-Q", self.queue, "-n", f"{token_hex(4)}@localhost", "-c", "1"]
                quiet = ["--without-gossip", "--without-mingle", "--without-heartbeat", "-l", "INFO"]
                file = stack.enter_context(log.open("w"))
                command = ["celery", "-A", "shop.queue", "worker", *options, *quiet]
                process = self.start(*command, worker=True, out=file, **given)
                processes.append(stack.enter_context(process))
                stack.callback(end, process)
            for log, process in zip(self.logs[-count:], processes, strict=True):
                ready = partial(began, process, log)
                until(ready, "a worker never began")
                assert process.poll() is None, log.read_text()
            yield processes

    def said(self) -> str:
        """What all workers have logged."""
        return "".join(log.read_text() for log in self.logs)

    def sent(self) -> int:
        """How many messages there were so far."""
        return len(self.gate("sent").read_text().splitlines()) if self.gate("sent").exists() else 0

    def are_idle(self) -> None:
        """Waits until all that was sent has come to a worker, and has ended there."""
        until(lambda: self.sent() <= len(self._tasks("received")), "messages never came to a worker")
        until(
            lambda: self._tasks("received") == self._tasks("succeeded"), "workers never ended their pages"
        )

    def _tasks(self, state: str) -> set[str]:
        return set(re.findall(rf"Task django_sitemaps09\.render\[(.+)\] {state}", self.said()))

    def clear(self) -> None:
        """Nothing of this queue stays in the broker."""
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
                    with suppress(ChannelError), connection.channel() as channel:
                        channel.queue_delete(name)
                    with suppress(ChannelError), connection.channel() as channel:
                        channel.exchange_delete(name)


def began(process: subprocess.Popen[str], log: Path) -> bool:
    return process.poll() is not None or "ready." in log.read_text()


def result(process: subprocess.Popen[str]) -> tuple[Any, str]:
    """What a process says when it ends well, and what it warned of."""
    with process:
        try:
            out, err = process.communicate(timeout=DEADLINE)
        finally:
            end(process)
    assert process.returncode == 0, err
    return json.loads(out), err


def end(process: subprocess.Popen[str]) -> None:
    """With all that it has begun."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def require(broker: str | None) -> None:
    services.require_packages("celery")
    if broker == "redis":
        services.require_redis()
    if broker != "rabbitmq":
        return
    host, _, port = RABBITMQ.rpartition("@")[2].rpartition(":")
    try:
        socket.create_connection((host, int(port)), timeout=2).close()
    except OSError:
        services.missing(f"no RabbitMQ answers at {host}:{port}: see tests/test_celery.py")


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The rows, which are the same for all."""
    folder = tmp_path_factory.mktemp("celery-rows")
    engine_project.Project(folder).run("ALL", "prepare")
    return folder / "db.sqlite3"


@pytest.fixture
def make_site(tmp_path: Path, database: Path) -> Iterator[Callable[..., Site]]:
    """A project for this test alone, with nobody at work yet."""
    with ExitStack() as stack:

        def made(broker: str | None = None, **celery: Any) -> Site:
            require(broker)
            site = Site(tmp_path / "site", broker, database, **celery)
            stack.callback(site.clear)
            return site

        yield made


@pytest.fixture(scope="module", params=BROKERS)
def crew(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, database: Path
) -> Iterator[Site]:
    """Two workers, for all tests that leave them as they were.

    One pair has no result backend, the other one has one that is dead.
    """
    broker = request.param
    require(broker)
    backend = {} if broker == "redis" else {"CELERY_RESULT_BACKEND": NOWHERE}
    site = Site(tmp_path_factory.mktemp("celery") / "site", broker, database, **backend)
    try:
        with site.working(2, ROOT=str(site.folder / "theirs")):
            yield site
    finally:
        site.clear()


def runs(folder: Path) -> list[Path]:
    """What runs have left there."""
    return [*folder.glob(".sitemaps09/run-*"), *folder.glob(".sitemaps09/tmp-*")]


class TestAnExportByWorkersOfCelery:
    def test_is_the_same_as_by_the_command_alone(self, crew: Site, tmp_path: Path) -> None:
        serial = crew.run("exported", str(tmp_path / "serial"), "serial", "a", "odd", "one")
        report = crew.run("exported", str(tmp_path / "celery"), HASTY, "a", "odd", "one")
        assert report == serial
        assert report["published"]
        assert content(tmp_path / "celery") == content(tmp_path / "serial")
        assert runs(tmp_path / "celery") == []
        # It was worth comparing: pages were split by bytes, and rows were left out.
        ranged, lame, one = report["sections"]
        assert any(file["cut"] for file in ranged["files"])
        assert lame["left_out"] == len(lame["errors"]) == 2 * ROWS // 50
        assert len(one["files"]) == 1

    def test_is_rendered_by_all_of_them_at_once(self, crew: Site, tmp_path: Path) -> None:
        report = crew.run("exported", str(tmp_path), HASTY, "meeting", GZIP=False)
        assert report["failures"] == []
        found = locations(tmp_path, "meeting")
        assert len(found) == ROWS
        pids = {location.split("/")[1] for location in found}
        # Each of them waited for the other one; who did not meet anybody is not in there.
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

    def test_is_dry_without_them(self, make_site: Callable[..., Site], tmp_path: Path) -> None:
        report = make_site().run("dry", str(tmp_path / "public"))
        assert report["failures"] == []
        assert report["sections"][0]["files"]
        assert not (tmp_path / "public").exists()

    def test_is_the_same_where_tasks_are_called_at_once(
        self, make_site: Callable[..., Site], tmp_path: Path
    ) -> None:
        site = make_site(CELERY_TASK_ALWAYS_EAGER=True)
        serial = site.run("exported", str(tmp_path / "serial"), "serial", "a")
        assert site.run("exported", str(tmp_path / "celery"), HASTY, "a") == serial
        assert content(tmp_path / "celery") == content(tmp_path / "serial")


class TestAMessage:
    def test_that_is_delivered_twice_at_the_same_time_or_too_late_changes_nothing(
        self, crew: Site, tmp_path: Path
    ) -> None:
        serial = crew.run("exported", str(tmp_path / "serial"), "serial", "doubled")
        folder = tmp_path / "celery"
        assert crew.run("exported", str(folder), DOUBLING, "doubled") == serial
        assert content(folder) == content(tmp_path / "serial")
        # Two were at work on each page.
        assert all(len([*found.iterdir()]) == 2 for found in crew.gate().glob("page-*"))
        before = touched(folder)
        crew.run("send_again")
        crew.are_idle()
        assert "A page came too late" in crew.said()
        assert touched(folder) == before
        # What a second attempt has staged after the end is gone after the next run.
        crew.run("exported", str(folder), "serial", "doubled")
        assert (touched(folder), runs(folder)) == (before, [])


class TestAPage:
    @one_crew
    def test_that_fails_is_the_failure_of_its_section_and_names_the_machine(
        self, crew: Site, tmp_path: Path
    ) -> None:
        report = crew.run("exported", str(tmp_path), HASTY, "broken", "a")
        assert report["failures"] == [
            f"Section 'broken': ExportError: A worker of Celery on {socket.gethostname()}: "
            "ImproperlyConfigured: the project is broken."
        ]
        assert report["published"]
        assert runs(tmp_path) == []

    def test_that_takes_each_worker_with_it_does_not_go_round_for_ever(
        self, crew: Site, tmp_path: Path
    ) -> None:
        report = crew.run("exported", str(tmp_path), HASTY, "deadly", "a")
        [failure] = report["failures"]
        assert failure.startswith("Section 'deadly': ExportError: A worker of Celery on ")
        assert "was delivered three times" in failure
        assert report["sections"][1]["failure"] is None


class TestAWorkerThatIsKilled:
    @pytest.mark.parametrize("broker", BROKERS)
    def test_leaves_its_page_to_another_one(
        self, make_site: Callable[..., Site], tmp_path: Path, broker: str
    ) -> None:
        site = make_site(broker)
        serial = site.run("exported", str(tmp_path / "serial"), "serial", "held")
        # RabbitMQ sees at once that it is gone; Redis gives the message back after an hour.
        patience = {"SITEMAPS09_TESTS_PATIENCE": "1.5" if broker == "redis" else str(DEADLINE)}
        with site.working(2):
            command = ["tests.test_celery", "exported", str(tmp_path / "celery"), HASTY, "held"]
            process = site.start(*command, environ=patience)
            until(lambda: [*site.gate().glob("killed-*")], "no worker took the page")
            [taken] = site.gate().glob("killed-*")
            os.killpg(os.getpgid(int(taken.name.rpartition("-")[2])), signal.SIGKILL)
            site.gate("killed").touch()
            report, warned = result(process)
        assert report == serial
        assert content(tmp_path / "celery") == content(tmp_path / "serial")
        assert ("it is sent again" in warned) == (broker == "redis")
        assert len([*site.gate().glob("killed-*")]) == 2


class TestTheCommandThatIsKilled:
    def test_leaves_workers_that_change_nothing_that_is_published(self, crew: Site, tmp_path: Path) -> None:
        process = crew.start("tests.test_celery", "exported", str(tmp_path), HASTY, "late")
        sent = crew.sent() + 4
        until(lambda: len([*crew.gate().glob("published-*")]) == 2, "two workers never began")
        until(lambda: crew.sent() == sent, "no more pages were sent")
        end(process)
        process.communicate()
        assert content(tmp_path) == {}
        # The next run publishes while they are at work on the last one.
        report = crew.run("exported", str(tmp_path), "serial", "late")
        assert report["failures"] == []
        assert runs(tmp_path) == []
        before = touched(tmp_path)
        crew.gate("published").touch()
        crew.are_idle()
        assert touched(tmp_path) == before
        # They answered nobody, and the rest is gone with the next run.
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
        assert f"it is incompatible, with another {what}" in failure
        assert not report["published"]
        assert content(tmp_path) == {}
        assert runs(tmp_path) == []

    @one_crew
    def test_because_it_has_other_files_leaves_the_page_alone(self, crew: Site, tmp_path: Path) -> None:
        hasty = {"SITEMAPS09_TESTS_PATIENCE": "0.5"}
        report = crew.run("to_the_setting", environ=hasty, ROOT=str(tmp_path / "ours"))
        [failure] = report["failures"]
        assert f"reaches {tmp_path / 'ours'} as the same user" in failure
        crew.are_idle()
        assert content(tmp_path / "ours") == {}
        assert not (crew.folder / "theirs").exists()


#: What the command warns of while it waits.
NOBODY = "No worker has taken a page after "


class TestAWorkerWithAnotherSecretKey:
    def test_refuses_pages_and_the_command_says_what_must_be_the_same(
        self, make_site: Callable[..., Site], tmp_path: Path
    ) -> None:
        site = make_site("redis")
        hasty = {"SITEMAPS09_TESTS_PATIENCE": "1.5", "SITEMAPS09_TESTS_NOTICE": "0.5"}
        command = ["tests.test_celery", "exported", str(tmp_path), HASTY, "a"]
        with site.working(1, celery={"SECRET_KEY": "another"}):
            report, warned = result(site.start(*command, environ=hasty))
            site.are_idle()
        [failure] = report["failures"]
        assert "has the same SECRET_KEY (its log says whether it has refused a page)" in failure
        assert NOBODY in warned
        assert "SECRET_KEY must be the same on the workers" in warned
        assert "A message was refused, and nothing was done: it is not signed with the SECRET_KEY of" in (
            site.said()
        )
        assert not report["published"]
        assert content(tmp_path) == {}
        assert runs(tmp_path) == []

    def test_renders_where_that_of_the_command_still_holds(
        self, make_site: Callable[..., Site], tmp_path: Path
    ) -> None:
        site = make_site("redis")
        serial = site.run("exported", str(tmp_path / "serial"), "serial", "a")
        rolled = {"SECRET_KEY": "new", "SECRET_KEY_FALLBACKS": ["older", "tests"]}
        with site.working(1, celery=rolled):
            assert site.run("exported", str(tmp_path / "celery"), HASTY, "a") == serial
        assert content(tmp_path / "celery") == content(tmp_path / "serial")


class TestACommandThatWaits:
    @one_crew
    def test_says_nothing_where_somebody_works(self, crew: Site, tmp_path: Path) -> None:
        command = ["tests.test_celery", "exported", str(tmp_path), HASTY, "slow"]
        process = crew.start(*command, environ={"SITEMAPS09_TESTS_NOTICE": "3"})
        try:
            until(lambda: [*crew.gate().glob("slow-ended-*")], "no worker took a page")
            time.sleep(4)
        finally:
            crew.gate("slow-ended").touch()
        report, warned = result(process)
        assert report["failures"] == []
        assert NOBODY not in warned


class TestNobody:
    @pytest.mark.parametrize("broker", BROKERS)
    def test_at_work_is_told_again_and_again_with_the_queue_and_the_broker(
        self, make_site: Callable[..., Site], tmp_path: Path, broker: str
    ) -> None:
        site = make_site(broker)
        hasty = {"SITEMAPS09_TESTS_PATIENCE": "1.5", "SITEMAPS09_TESTS_NOTICE": "0.3"}
        command = [
            "django",
            "export_sitemaps",
            "a",
            "--engine",
            HASTY,
            "--output",
            str(tmp_path / "public"),
        ]
        process = site.start(*command, environ=hasty)
        with process:
            _, warned = process.communicate(timeout=DEADLINE)
        assert process.returncode == 1
        lines = [line for line in warned.splitlines() if line.startswith(NOBODY)]
        assert len(lines) > 2
        place = {"redis": f"redis://{services.REDIS}", "rabbitmq": f"amqp://{RABBITMQ.rpartition('@')[2]}"}
        for line in lines:
            assert f"in the queue '{site.queue}' of {place[broker]}: start a worker" in line
            assert f"(celery -A shop worker -Q {site.queue})" in line
        assert RABBITMQ.rpartition("@")[0] not in warned

    @pytest.mark.parametrize("broker", BROKERS)
    def test_at_work_is_an_error_after_one_time_of_patience_for_all_sections(
        self, make_site: Callable[..., Site], tmp_path: Path, broker: str
    ) -> None:
        site = make_site(broker)
        hasty = {"SITEMAPS09_TESTS_PATIENCE": "1.5"}
        began = time.monotonic()
        report = site.run("exported", str(tmp_path), HASTY, "a", "b", "odd", environ=hasty)
        # Each of 18 pages would wait for twice as long.
        assert time.monotonic() - began < DEADLINE / 2
        assert len(report["failures"]) == 3
        for failure in report["failures"]:
            assert "No worker of Celery has answered for Section 'a', page " in failure
        assert not report["published"]
        assert content(tmp_path) == {}
        assert runs(tmp_path) == []

    @pytest.mark.parametrize(
        ("url", "named"),
        [
            ("redis://me:secret@127.0.0.1:1/0", "redis://127.0.0.1:1 takes no messages"),
            ("amqp://me:secret@127.0.0.1:1//", "amqp://127.0.0.1:1 takes no messages"),
            ("redis://me:sec/ret@127.0.0.1:1/0", "a URL that cannot be read takes no messages"),
        ],
    )
    def test_at_the_broker_is_an_error_without_its_password(
        self, make_site: Callable[..., Site], tmp_path: Path, url: str, named: str
    ) -> None:
        site = make_site(CELERY_BROKER_URL=url)
        report = site.run("exported", str(tmp_path), HASTY, "a", "b")
        for failure in report["failures"]:
            assert named in failure
            assert "sec" not in failure.replace("Section", "")
        assert len(report["failures"]) == 2
        assert content(tmp_path) == {}

    def test_who_has_made_an_app_is_an_error_that_says_so(
        self, make_site: Callable[..., Site], tmp_path: Path
    ) -> None:
        site = make_site()
        (site.folder / "shop" / "__init__.py").write_text("")
        report = site.run("exported", str(tmp_path), HASTY, "a")
        assert "No Celery app is loaded that knows a broker" in report["failures"][0]


class TestWithoutCelery:
    """The extra is for who asks for it."""

    def test_an_export_is_imported(self, make_site: Callable[..., Site]) -> None:
        site = make_site()
        (site.folder / "shop" / "__init__.py").write_text("")
        assert site.run("modules") == []

    def test_the_engine_says_what_it_needs(self, make_site: Callable[..., Site]) -> None:
        site = make_site()
        (site.folder / "shop" / "__init__.py").write_text("")
        assert "'celery', which needs the extra `celery`" in site.run("without_celery")


@pytest.fixture
def forging(
    settings: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, db: None
) -> Iterator[dict[str, Any]]:
    """The content of a message of a run that is not over; and a module that nobody may import."""
    pytest.importorskip("celery")
    from django_sitemaps09.export.engines import messages
    from django_sitemaps09.sources import source
    from tests.models import Article

    settings.SITEMAPS09 = {"SITEMAPS": "tests.test_celery.SECTIONS", "BASE_URL": BASE}
    Article.objects.create(slug="a1")
    (tmp_path / "modules").mkdir()
    (tmp_path / "modules" / f"{EVIL}.py").write_text("from tests.urls import urlpatterns\n")
    monkeypatch.syspath_prepend(tmp_path / "modules")
    base = Base("https", "www.example.com")
    target = HostTarget(base, tmp_path / "public", f"{STATE}/run-1")
    declared = source("a", SECTIONS["a"], (base,), conf.limits).declaration_digest
    task = Task("a", Page(1, None, None), declaration_digest=declared)
    content = messages.message_of(Renderer((target,), False, "/", None), task)
    messages.Folder(content).open()
    yield content
    sys.modules.pop(EVIL, None)


EVIL = "sitemaps09_tests_evil_urls"


def other_base(content: dict[str, Any]) -> None:
    content["renderer"]["targets"][0]["base"] = ["https", "evil.example.net"]


def other_bounds(content: dict[str, Any]) -> None:
    content["task"]["page"] = [1, ["0"], ["99"]]


def other_urlconf(content: dict[str, Any]) -> None:
    content["renderer"]["urlconf"] = EVIL


def other_run(content: dict[str, Any]) -> None:
    content["renderer"]["stage"] = content["renderer"]["targets"][0]["stage"] = f"{STATE}/run-2"


def other_folder(content: dict[str, Any]) -> None:
    output = content["renderer"]["output"] + "/elsewhere"
    content["renderer"]["output"] = content["renderer"]["targets"][0]["output"] = output


def altered(signed: str, change: Callable[[dict[str, Any]], None]) -> str:
    """What somebody makes of a signed text who has no key: the signature stays."""
    payload, _, rest = signed.partition(":")
    content = json.loads(signing.b64_decode(payload.encode()))
    change(content)
    return f"{signing.b64_encode(json.dumps(content).encode()).decode()}:{rest}"


def a_day_ago(monkeypatch: pytest.MonkeyPatch, sign: Callable[[], Any]) -> Any:
    now = time.time()
    with monkeypatch.context() as patched:
        patched.setattr(signing.time, "time", lambda: now - 25 * 3600)
        return sign()


def entries(folder: Path) -> dict[str, tuple[int, int]]:
    """All that is below, hidden or not."""
    states = {str(found): found.lstat() for found in folder.rglob("*")}
    return {name: (state.st_ino, state.st_mtime_ns) for name, state in states.items()}


class TestAForgedMessage:
    """Somebody else can write to the broker."""

    def render(self, message: Any) -> None:
        from django_sitemaps09.export.engines.celery import render

        render(message)

    def is_refused(
        self,
        message: Any,
        folder: Path,
        monkeypatch: pytest.MonkeyPatch,
        caplog: pytest.LogCaptureFixture,
        why: str = "it is not signed with the SECRET_KEY of this process",
    ) -> None:
        def opened(*where: object) -> None:
            raise AssertionError(f"{where} was opened")

        before = entries(folder)
        with monkeypatch.context() as patched, CaptureQueriesContext(connection) as queries:
            patched.setattr(stores, "target", opened)
            self.render(message)
        [record] = caplog.records
        assert record.getMessage().startswith(f"A message was refused, and nothing was done: {why}")
        assert record.levelname == "ERROR"
        assert EVIL not in sys.modules
        assert len(queries) == 0
        assert entries(folder) == before

    @pytest.mark.parametrize("change", [other_base, other_bounds, other_urlconf, other_run, other_folder])
    def test_that_was_altered_is_refused(
        self,
        forging: dict[str, Any],
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
        caplog: pytest.LogCaptureFixture,
        change: Callable[[dict[str, Any]], None],
    ) -> None:
        from django_sitemaps09.export.engines import messages

        message = altered(messages.sign(forging), change)
        assert message != messages.sign(forging)
        self.is_refused(message, tmp_path, monkeypatch, caplog)

    @pytest.mark.parametrize("signer", ["nobody", "text", "another key", "as an answer", "no salt"])
    def test_that_is_not_signed_as_a_message_is_refused(
        self,
        forging: dict[str, Any],
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
        caplog: pytest.LogCaptureFixture,
        signer: str,
    ) -> None:
        from django_sitemaps09.export.engines import messages

        other_urlconf(forging)
        message = {
            "nobody": forging,
            "text": json.dumps(forging),
            "another key": signing.dumps(forging, "another", messages._MESSAGE),
            "as an answer": signing.dumps(forging, salt=messages._ANSWER),
            "no salt": signing.dumps(forging),
        }[signer]
        self.is_refused(message, tmp_path, monkeypatch, caplog)

    def test_that_is_too_old_is_refused(
        self,
        forging: dict[str, Any],
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
        caplog: pytest.LogCaptureFixture,
    ) -> None:
        from django_sitemaps09.export.engines import messages

        message = a_day_ago(monkeypatch, lambda: messages.sign(forging))
        why = "it was signed more than a day ago, by the clock here"
        self.is_refused(message, tmp_path, monkeypatch, caplog, why)

    def test_of_another_run_renders_nothing_in_this_one(
        self, forging: dict[str, Any], tmp_path: Path, caplog: pytest.LogCaptureFixture
    ) -> None:
        from django_sitemaps09.export.engines import messages

        message = messages.sign(forging)
        (tmp_path / "public" / STATE / "run-1").rename(tmp_path / "public" / STATE / "run-2")
        before = entries(tmp_path)
        self.render(message)
        assert "A page came too late" in caplog.text
        assert entries(tmp_path) == before

    def test_that_was_signed_would_have_done_it(self, forging: dict[str, Any], tmp_path: Path) -> None:
        """What all tests above are worth."""
        from django_sitemaps09.export.engines import messages

        other_urlconf(forging)
        folder = messages.Folder(forging)
        self.render(messages.sign(forging))
        assert EVIL in sys.modules
        answer = folder.answer()
        assert answer is not None
        assert messages.read_answer(folder, answer).file.urls == 1
        assert [*tmp_path.glob(f"public/{STATE}/run-1/*sitemap-a-1.xml")]


class TestAForgedAnswer:
    """Somebody else can write to the folder of the run."""

    @pytest.mark.parametrize(
        "key", ["files", "errors", "costs", "staged", "run", "urls", "digest", "until"]
    )
    @pytest.mark.parametrize("value", [None, 7, -1, "x", [[]], {"a": 7}], ids=str)
    def test_of_our_own_that_is_mistyped_is_a_clear_error(
        self, forging: dict[str, Any], key: str, value: object
    ) -> None:
        from django_sitemaps09.export.engines import messages

        folder = messages.Folder(forging)
        TestAForgedMessage().render(messages.sign(forging))
        right = folder.answer()
        assert right is not None
        held = signing.loads(right.decode(), salt=messages._ANSWER)
        place = held["files"][0] if key in held["files"][0] else held
        place[key] = value
        wrong = signing.dumps(held, salt=messages._ANSWER).encode()
        try:
            found = messages.read_answer(folder, wrong)
        except ExportError as error:
            assert "An answer was refused: " in str(error)  # noqa: PT017 some values are as good as others
        else:
            assert (key, value) in [("urls", 7), ("digest", "x"), ("until", None)]
            assert found.file.name.startswith("sitemap-")

    @pytest.mark.parametrize(
        "forger", ["altered", "unsigned", "another key", "a message", "another run", "another page", "old"]
    )
    def test_is_refused(
        self, forging: dict[str, Any], monkeypatch: pytest.MonkeyPatch, forger: str
    ) -> None:
        from django_sitemaps09.export.engines import messages

        folder = messages.Folder(forging)
        TestAForgedMessage().render(messages.sign(forging))
        right = folder.answer()
        assert right is not None
        assert messages.read_answer(folder, right).file.urls == 1
        held = signing.loads(right.decode(), salt=messages._ANSWER)
        answer, why = {
            "altered": (altered(right.decode(), lambda found: found["files"][0].update(urls=2)), _KEY),
            "unsigned": (json.dumps(held), _KEY),
            "another key": (signing.dumps(held, "another", messages._ANSWER), _KEY),
            "a message": (signing.dumps(held, salt=messages._MESSAGE), _KEY),
            "another run": (signing.dumps(held | {"run": "x"}, salt=messages._ANSWER), "another run"),
            "another page": (signing.dumps(held | {"token": "x"}, salt=messages._ANSWER), "another page"),
            "old": (
                a_day_ago(monkeypatch, lambda: signing.dumps(held, salt=messages._ANSWER)),
                "more than a day ago",
            ),
        }[forger]
        with pytest.raises(ExportError, match=f"An answer was refused: .*{why}"):
            messages.read_answer(folder, answer.encode())

    @pytest.mark.parametrize(
        ("command", "worker", "answered"),
        [
            (["old"], ["new", "old"], True),
            (["new", "old"], ["new", "old"], True),
            (["new", "old"], ["new"], True),
            (["new", "old"], ["old"], False),
            (["old"], ["new"], False),
        ],
    )
    def test_is_none_where_keys_roll(
        self, forging: dict[str, Any], command: list[str], worker: list[str], *, answered: bool
    ) -> None:
        """A worker answers with the key that the command has, whichever of them was deployed first."""
        from django_sitemaps09.export.engines import messages

        with override_settings(SECRET_KEY=command[0], SECRET_KEY_FALLBACKS=command[1:]):
            message = messages.sign(forging)
        with override_settings(SECRET_KEY=worker[0], SECRET_KEY_FALLBACKS=worker[1:]):
            TestAForgedMessage().render(message)
        with override_settings(SECRET_KEY=command[0], SECRET_KEY_FALLBACKS=command[1:]):
            folder = messages.Folder(forging)
            answer = folder.answer()
            assert (answer is not None) is answered
            assert answer is None or messages.read_answer(folder, answer).file.urls == 1


_KEY = "it is not signed with the SECRET_KEY"


def test_a_process_has_its_own_prefix_and_urlconf_again_after_a_page() -> None:
    target = HostTarget(Base("https", "www.example.com"), None, None)
    renderer = Renderer((target,), True, "/shop/", "tests.test_celery")
    with pytest.raises(UnknownSectionError):
        render_page(renderer, Task("nobody-knows", Page(1, None, None)))
    assert (get_script_prefix(), get_urlconf()) == ("/", None)


def test_a_folder_goes_while_somebody_writes_there(tmp_path: Path) -> None:
    """As a worker does that outlives its run."""
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


if __name__ == "__main__":
    import django

    django.setup()
    print(json.dumps(globals()[sys.argv[1]](*sys.argv[2:])))  # noqa: T201
