"""A temporary project whose pages are rendered by Celery workers, with Redis or RabbitMQ as the broker.

Workers and commands are separate processes; their sections and functions are in
`tests.support.celery_sections`. The address of RabbitMQ is `SITEMAPS09_RABBITMQ`, as
`user:password@host:port`, by default on this machine.
"""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from pathlib import Path
from secrets import token_hex
from typing import Any

import pytest

from tests.support import engine_project, services
from tests.support.celery_sections import WORKER
from tests.support.configuration import BASE
from tests.support.engine_project import PAGE, SETTINGS, content
from tests.support.processes import environment, started
from tests.support.published import quick_folder
from tests.support.waiting import DEADLINE, until

RABBITMQ = os.environ.get("SITEMAPS09_RABBITMQ", "guest:guest@127.0.0.1:5672")
BROKERS = {"redis": f"redis://{services.REDIS}/0", "rabbitmq": f"amqp://{RABBITMQ}//"}
#: The broker for tests that do not depend on the broker.
one_crew = pytest.mark.parametrize("crew", ["redis"], indirect=True)
#: An address where no server listens.
NOWHERE = "redis://127.0.0.1:1/0"
# A worker reads its standard input, and ends with its processes when the tests close it.
END_WITH_THE_TESTS = """
import os, signal
from threading import Thread
def end_with_the_tests():
    os.read(0, 1)
    os.killpg(0, signal.SIGKILL)
if "SITEMAPS09_TESTS_WORKER" in os.environ:
    Thread(target=end_with_the_tests, daemon=True).start()
"""
PROJECT = {
    "__init__.py": "from shop.queue import app\n",
    "settings.py": SETTINGS
    + """
globals().update(json.loads(os.environ["SITEMAPS09_TESTS_CELERY"]))
""",
    "queue.py": END_WITH_THE_TESTS
    + """
from celery import Celery
app = Celery("shop")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()
""",
    "engine.py": """
import json, os, time
from pathlib import Path
from django_sitemaps09.export.engines import celery
celery._RETRIES["max_retries"] = 1
class Hasty(celery.Celery):
    def put(self, message):
        super().put(message)
        with Path(os.environ["SITEMAPS09_TESTS_GATE"], "sent").open("a") as file:
            print(json.dumps(message), file=file)
class Hurried(Hasty):
    clock = staticmethod(lambda: 1_000 * time.monotonic())
class Doubling(Hasty):
    def put(self, message):
        super().put(message)
        super().put(message)
""",
}


#: Reports and files of exports by the command alone, by sections.
_SERIAL: dict[tuple[str, ...], tuple[Any, dict[str, bytes]]] = {}


class Site:
    """A project with its own queue at a broker."""

    project = PROJECT
    #: What the log of a worker contains when the worker is ready.
    ready = "ready."
    #: A line of that log for a page that a worker has received or completed.
    task_lines = r"Task django_sitemaps09\.render\[(.+)\] "
    states = ("received", "succeeded")
    #: More options of a worker.
    options: tuple[str, ...] = ()

    def __init__(self, folder: Path, broker: str | None, database: Path, **celery: Any) -> None:
        self.folder, self.broker = folder, broker
        self.queue = f"sitemaps09-tests-{token_hex(6)}"
        self.logs: list[Path] = []
        shop = folder / "shop"
        shop.mkdir(parents=True)
        for name, text in self.project.items():
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
            # The project has a separate queue for pages.
            "CELERY_TASK_ROUTES": {"django_sitemaps09.*": {"queue": self.queue}},
            "CELERY_BROKER_TRANSPORT_OPTIONS": {"global_keyprefix": f"{self.queue}:"},
            "CELERY_WORKER_PREFETCH_MULTIPLIER": 1,
            "CELERY_WORKER_ENABLE_REMOTE_CONTROL": False,
            # The project's settings differ from what the package needs.
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
        celery: dict[str, Any] | None = None,
        **keys: Any,
    ) -> subprocess.Popen[str]:
        given = {"BASE_URL": BASE, "SITEMAPS": "tests.support.celery_sections.SECTIONS", "MAX_URLS": PAGE}
        variables = {
            "SITEMAPS09_TESTS_DATABASE": json.dumps(self.database),
            "SITEMAPS09_TESTS_KEYS": json.dumps(given | {"MAX_BYTES": 9_000} | keys),
            "SITEMAPS09_TESTS_CELERY": json.dumps(self.celery | (celery or {})),
            engine_project.GATE: self.gate(),
        }
        if worker:
            variables[WORKER] = "1"
        return started(
            *("-m", *command),
            environ=environment(self.folder, "shop.settings", **variables),
            # A worker's pipe is closed when the tests end, even if they crash.
            stdin=subprocess.PIPE if worker else subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT if worker else subprocess.PIPE,
            start_new_session=True,
        )

    def run(self, *command: str, **given: Any) -> Any:
        """Run a function of `celery_sections` in a separate process, and return its result."""
        return result(self.start("tests.support.celery_sections", *command, **given))[0]

    def serial(self, *names: str) -> tuple[Any, dict[str, bytes]]:
        """Return the report and the files of an export by the command alone, the same for all sites."""
        if names not in _SERIAL:
            with quick_folder() as folder:
                report = self.run("exported", str(folder), "serial", *names)
                _SERIAL[names] = report, content(folder)
        return _SERIAL[names]

    @contextmanager
    def working(self, count: int, **given: Any) -> Iterator[list[subprocess.Popen[str]]]:
        """Start workers, wait until they are ready, and end them in any case."""
        with ExitStack() as stack:
            processes = []
            for _ in range(count):
                log = self.folder / f"worker-{len(self.logs)}.log"
                self.logs.append(log)
                file = stack.enter_context(log.open("w"))
                process = self.start(*self.worker_command(), worker=True, out=file, **given)
                processes.append(stack.enter_context(process))
                stack.callback(end, process)
            for log, process in zip(self.logs[-count:], processes, strict=True):
                ready = partial(began, process, log, self.ready)
                until(ready, "a worker never began")
                assert process.poll() is None, log.read_text()
            yield processes

    def worker_command(self) -> list[str]:
        options = ["-Q", self.queue, "-n", f"{token_hex(4)}@localhost", "-c", "1"]
        quiet = ["--without-gossip", "--without-mingle", "--without-heartbeat", "-l", "INFO"]
        return ["celery", "-A", "shop.queue", "worker", *options, *quiet, *self.options]

    def said(self) -> str:
        """Return the logs of all workers."""
        return "".join(log.read_text() for log in self.logs)

    def sent(self) -> int:
        """Return how many messages have been sent."""
        return len(self.gate("sent").read_text().splitlines()) if self.gate("sent").exists() else 0

    def are_idle(self) -> None:
        """Wait until workers have received and finished all messages."""
        begun, ended = self.states
        until(lambda: self.sent() <= len(self._tasks(begun)), "messages never came to a worker")
        until(lambda: self._tasks(begun) == self._tasks(ended), "workers never ended their pages")

    def _tasks(self, state: str) -> set[str]:
        return set(re.findall(self.task_lines + state, self.said()))

    def clear(self) -> None:
        """Delete the queue from the broker."""
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


def began(process: subprocess.Popen[str], log: Path, ready: str) -> bool:
    return process.poll() is not None or ready in log.read_text()


def result(process: subprocess.Popen[str], deadline: float = DEADLINE) -> tuple[Any, str]:
    """Return the output and the warnings of a process that must succeed."""
    with process:
        try:
            out, err = process.communicate(timeout=deadline)
        finally:
            end(process)
    assert process.returncode == 0, err
    return json.loads(out), err


def end(process: subprocess.Popen[str]) -> None:
    """Kill a process and its children."""
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
        services.missing(f"no RabbitMQ answers at {host}:{port}: see tests/support/celery_project.py")


@pytest.fixture(scope="session")
def database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Create the rows, which are the same for all projects."""
    folder = tmp_path_factory.mktemp("celery-rows")
    engine_project.Project(folder).run("ALL", "prepare")
    return folder / "db.sqlite3"


@pytest.fixture
def make_site(tmp_path: Path, database: Path) -> Iterator[Callable[..., Site]]:
    """A project for one test, without workers."""
    with ExitStack() as stack:

        def made(broker: str | None = None, **celery: Any) -> Site:
            require(broker)
            site = Site(tmp_path / "site", broker, database, **celery)
            stack.callback(site.clear)
            return site

        yield made


def runs(folder: Path) -> list[Path]:
    """Return the files that runs have left."""
    return [*folder.glob(".sitemaps09/run-*"), *folder.glob(".sitemaps09/tmp-*")]
