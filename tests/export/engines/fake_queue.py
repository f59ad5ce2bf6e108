"""An engine whose queue is a list: a test is the workers that read it, and sets the clock."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from django_sitemaps09.export import Report, engines, export
from django_sitemaps09.export.engines import messages, queues
from django_sitemaps09.export.engines.messages import CLAIM, HANDLED, OWN, REPLY, Folder, handle_message
from django_sitemaps09.export.engines.queues import QueueEngine
from django_sitemaps09.stores import STATE, Store, target_store
from tests.models import Article
from tests.support import articles, published
from tests.support.configuration import BASE
from tests.support.stores import Overwriting, saved, storage

ENGINE = f"{__name__}.FakeQueue"
#: The pages of a section with `PAGE` rows on each.
PAGES, PAGE = 10, 5
BEGIN = 1_000.0


class Articles(articles.Articles):
    limit = PAGE


class Hooked(Articles):
    """A section whose rows call `hook`, wherever they are rendered."""

    hook: Callable[[Article], object] = staticmethod(lambda item: None)

    def location(self, item: Article) -> str:  # type: ignore[override]
        Hooked.hook(item)
        return f"/hooked/{item.slug}/"


SECTIONS = {"a": Articles, "b": Articles, "hooked": Hooked}


class Queue:
    """The messages that the command has sent, by number, and what a test decides.

    `received` is called with the number of each message as it is sent. Waiting moves the clock, and calls
    what is planned until then. `taken` is the number of messages that `take()` has taken.
    """

    def __init__(self, folder: Path | None) -> None:
        self.output = folder
        self.now = BEGIN
        self.sent: list[str] = []
        self.received: Callable[[int], object] = lambda number: None
        self.plans: list[tuple[float, Callable[[], object]]] = []
        self.children: list[FakeChild] = []
        self.errors: list[Exception] = []
        self.taken = 0

    def clock(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        assert self.now < BEGIN + 3_600, "the command waits for ever"
        self.now += seconds
        for plan in [plan for plan in self.plans if plan[0] <= self.now]:
            self.plans.remove(plan)
            plan[1]()

    def at(self, seconds: float, event: Callable[[], object]) -> None:
        self.plans.append((BEGIN + seconds, event))

    @property
    def seconds(self) -> float:
        return self.now - BEGIN

    def work(self, *numbers: int) -> None:
        for number in numbers:
            handle_message(self.sent[number])

    def claim(self, number: int) -> None:
        self.folder(number).write(CLAIM)

    def work_claimed(self, page: int) -> None:
        """Render a page as the worker that has claimed it."""
        folder = self.folder(self.by_page()[page])
        folder.store.delete(f"{folder.stage}/{folder.token}{CLAIM}")
        handle_message(self.sent[self.by_page()[page]])

    def content(self, number: int) -> dict[str, Any]:
        return messages.unsign(self.sent[number])[0]

    def folder(self, number: int) -> Folder:
        return Folder(*messages.unsign(self.sent[number]))

    def page(self, number: int) -> int:
        page: int = self.content(number)["task"]["page"][0]
        return page

    def by_page(self) -> dict[int, int]:
        """Return the numbers of the messages by page number."""
        return {self.page(number): number for number in range(len(self.sent))}

    def take(self) -> int | None:
        """Take the next message whose page is free, claim it, and return its number."""
        while self.taken < len(self.sent):
            number, self.taken = self.taken, self.taken + 1
            if not any(self.folder(number).has(ending) for ending in (CLAIM, OWN, REPLY)):
                self.claim(number)
                return number
            self.work(number)
        return None

    def on_item(self, hook: Callable[[Article], object]) -> None:
        """Call a function for each row of the section `hooked`, once messages were sent."""

        def call(item: Article) -> None:
            try:
                if self.sent:
                    hook(item)
            except Exception as error:
                # It would only skip the item.
                self.errors.append(error)
                raise

        Hooked.hook = staticmethod(call)

    @property
    def store(self) -> Store:
        return target_store(self.output, "")

    def files(self) -> dict[str, Any]:
        """Return the state of all files of the target, also the hidden ones."""
        return saved("sitemaps") if self.output is None else published.states(self.output, hidden=True)

    def public(self) -> dict[str, bytes]:
        """Return the uncompressed content of what is published."""
        store = self.store
        found = {name: store.read(name, 1_000_000) or b"" for name in store.names()}
        return {name: published.plain(data, name.endswith(".gz")) for name, data in found.items()}

    def runs(self) -> list[str]:
        return [name for name in self.store.folders(STATE) if name.startswith("run-")]

    def export(self, *names: str, workers: int = 2, engine: str = ENGINE, **options: Any) -> Report:
        report = export(names or ["a"], output=self.output, engine=engine, workers=workers, **options)
        assert not self.errors, self.errors
        return report

    def serial(self, *names: str) -> dict[str, bytes]:
        """Return what the command publishes alone, and publish nothing."""
        with published.quick_folder() as folder:
            export(names or ["a"], output=folder, engine="serial")
            return published.unpacked(folder)


class FakeQueue(QueueEngine):
    worker_name = "test worker"
    queue: Queue

    def __init__(self, workers: int) -> None:
        super().__init__(workers)
        self.clock, self.sleep = self.queue.clock, self.queue.sleep

    def put(self, message: str) -> None:
        self.queue.sent.append(message)
        self.queue.received(len(self.queue.sent) - 1)

    def describe(self) -> tuple[str, str]:
        return "the list", "pytest"


class FakeChild:
    """A child process that a test plays. The first look at it calls `work`, which sets `returncode`."""

    pid = 0

    def __init__(self, message: str, work: Callable[[FakeChild], object]) -> None:
        self.message, self.work = message, work
        self.returncode: int | None = None
        self.is_killed = False

    def poll(self) -> int | None:
        if self.returncode is None:
            self.work(self)
        return self.returncode

    def kill(self) -> None:
        self.is_killed = True

    def wait(self) -> int:
        return -9 if self.returncode is None else self.returncode

    def renders(self) -> None:
        handle_message(self.message, is_awaited=True)
        self.returncode = HANDLED


def rendered(report: Report) -> tuple[int, int]:
    """Return how many pages the export itself has rendered, and how many the workers."""
    counts = dict(report.rendered_by)
    own = counts.pop("the export itself", 0)
    assert counts.keys() <= {f"{socket.gethostname()} (pid {os.getpid()})"}
    return own, sum(counts.values())


@pytest.fixture(params=["folder"])
def queue(
    request: pytest.FixtureRequest,
    settings: Any,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    db: None,
) -> Queue:
    """A queue for exports of `PAGES` pages to a local folder, or to a storage without paths."""
    settings.SITEMAPS09 = {"SITEMAPS": f"{__name__}.SECTIONS", "BASE_URL": BASE}
    if request.param == "storage":
        request.getfixturevalue("shared_cache")
        request.getfixturevalue("declare")(sitemaps=storage(Overwriting))
    elif request.param == "s3":
        request.getfixturevalue("shared_cache")
        request.getfixturevalue("bucket")()
    if request.param != "folder":
        settings.SITEMAPS09 |= {"STORAGE": "sitemaps"}
    made = Queue(tmp_path / "public" if request.param == "folder" else None)
    add_rows(range(1, PAGES * PAGE + 1))
    monkeypatch.setattr(FakeQueue, "queue", made, raising=False)
    # The workers are this process, which sees its rows, and does not pause.
    monkeypatch.setattr(engines, "_unseen_rows", lambda: None)
    monkeypatch.setattr(messages, "PAUSE", 0.0)
    monkeypatch.setattr(Hooked, "hook", staticmethod(lambda item: None))
    monkeypatch.setattr(queues, "start_alone", lambda message: pytest.fail("a child was started"))
    return made


def add_rows(keys: Sequence[int]) -> None:
    Article.objects.bulk_create(Article(pk=key, slug=f"s{key:03}") for key in keys)


@pytest.fixture
def children(queue: Queue, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Let the children of the export be played by a function."""

    def play(work: Callable[[FakeChild], object]) -> None:
        def start(message: str) -> FakeChild:
            queue.children.append(FakeChild(message, work))
            return queue.children[-1]

        monkeypatch.setattr(queues, "start_alone", start)

    return play


everywhere = pytest.mark.parametrize(
    "queue",
    ["folder", *(pytest.param(name, marks=pytest.mark.services) for name in ("storage", "s3"))],
    indirect=True,
)
