"""An engine whose queue is a list: a test is the workers that read it, and sets the clock."""

from __future__ import annotations

import os
import socket

import pytest

from django_sitemaps09.export import export
from django_sitemaps09.export.engines.queues import QueueEngine
from django_sitemaps09.export.exports import run_exports
from django_sitemaps09.export.options import ExportOptions
from tests.support import articles, published
from tests.support.configuration import BASE
from tests.support.internals import STATE, engines, messages, queues, target_store
from tests.support.sections import declare
from tests.support.stores import Overwriting, saved, storage

ENGINE = f"{__name__}.FakeQueue"
#: The pages of a section with `PAGE` rows on each.
PAGES, PAGE = 10, 5
BEGIN = 1_000.0

Articles = declare(articles.Articles, limit=PAGE)


class Hooked(Articles):
    """A section whose rows call `hook`, wherever they are rendered."""

    hook = staticmethod(lambda item: None)

    def location(self, item):
        Hooked.hook(item)
        return f"/hooked/{item.slug}/"


SECTIONS = {"a": Articles, "b": Articles, "hooked": Hooked}


class Queue:
    """The messages that the command has sent, by number, and what a test decides.

    `received` is called with the number of each message as it is sent. Waiting moves the clock, and calls
    what is planned until then. `taken` is the number of messages that `take()` has taken.
    """

    def __init__(self, folder):
        self.output, self.store, self.now, self.taken = folder, target_store(folder, ""), BEGIN, 0
        self.engines, self.left, self.sent = [], [], []
        self.plans, self.children, self.errors = [], [], []
        self.received = lambda number: None

    seconds = property(lambda self: self.now - BEGIN)

    def sleep(self, seconds):
        assert self.now < BEGIN + 3_600, "the command waits for ever"
        self.now += seconds
        for plan in [plan for plan in self.plans if plan[0] <= self.now]:
            self.plans.remove(plan)
            plan[1]()

    def at(self, seconds, event):
        self.plans.append((BEGIN + seconds, event))

    def content(self, number):
        return messages.unsign(self.sent[number])[0]

    def folder(self, number):
        return messages.Folder(*messages.unsign(self.sent[number]))

    def pages(self):
        return [self.content(number)["task"]["page"][0] for number in range(len(self.sent))]

    def work(self, *numbers):
        for number in numbers:
            messages.handle_message(self.sent[number])

    def claim(self, number):
        self.folder(number).write(messages.CLAIM)

    def work_claimed(self, page):
        number = self.pages().index(page)
        folder = self.folder(number)
        folder.store.delete(f"{folder.stage}/{folder.token}{messages.CLAIM}")
        self.work(number)

    def take(self):
        while self.taken < len(self.sent):
            number, self.taken = self.taken, self.taken + 1
            if not any(map(self.folder(number).has, (messages.CLAIM, messages.OWN, messages.REPLY))):
                self.claim(number)
                return number
            self.work(number)
        return None

    def on_item(self, hook):
        def call(item):
            try:
                if self.sent:
                    hook(item)
            except Exception as error:
                # It would only skip the item.
                self.errors.append(error)
                raise

        Hooked.hook = staticmethod(call)

    def files(self):
        return saved("sitemaps") if self.output is None else published.states(self.output, hidden=True)

    def public(self):
        found = {name: self.store.read(name, 1_000_000) or b"" for name in self.store.names()}
        return {name: published.plain(data, name.endswith(".gz")) for name, data in found.items()}

    def runs(self):
        return [name for name in self.store.folders(STATE) if name.startswith("run-")]

    def export(self, *names, in_worker=False, **options):
        options = {"output": self.output, "engine": ENGINE, "workers": 2, **options}
        [report] = run_exports(ExportOptions(names or ["a"], **options), in_worker=in_worker)
        assert not self.errors, self.errors
        return report

    def serial(self, *names):
        with published.quick_folder() as folder:
            export(names or ["a"], output=folder, engine="serial")
            return published.unpacked(folder)


class FakeQueue(QueueEngine):
    worker_name = "test worker"

    def __init__(self, workers):
        super().__init__(workers)
        self.clock, self.sleep = lambda: self.queue.now, self.queue.sleep
        self.queue.engines.append(self)

    def __exit__(self, *error):
        self.queue.left.append(self)

    def put(self, message):
        self.queue.sent.append(message)
        self.queue.received(len(self.queue.sent) - 1)

    def describe(self):
        return "the list", "pytest"


class FakeChild:
    """A child process that a test plays. The first look at it calls `work`, which sets `returncode`."""

    pid, returncode, is_killed = 0, None, False

    def __init__(self, message, work):
        self.message, self.work = message, work

    def poll(self):
        if self.returncode is None:
            self.work(self)
        return self.returncode

    def kill(self):
        self.is_killed = True

    def wait(self):
        return -9 if self.returncode is None else self.returncode

    def renders(self):
        messages.handle_message(self.message, is_awaited=True)
        self.returncode = messages.HANDLED


def rendered(report):
    counts = dict(report.rendered_by)
    own = counts.pop("the export itself", 0)
    assert counts.keys() <= {f"{socket.gethostname()} (pid {os.getpid()})"}
    return own, sum(counts.values())


@pytest.fixture(params=["folder"])
def queue(request, settings, tmp_path, monkeypatch, db):
    settings.SITEMAPS09 = {"SITEMAPS": f"{__name__}.SECTIONS", "BASE_URL": BASE}
    if request.param != "folder":
        request.getfixturevalue("shared_cache")
        settings.SITEMAPS09 |= {"STORAGE": "sitemaps"}
    if request.param == "storage":
        request.getfixturevalue("declare")(sitemaps=storage(Overwriting))
    elif request.param == "s3":
        request.getfixturevalue("bucket")()
    made = Queue(tmp_path / "public" if request.param == "folder" else None)
    articles.write_keys(*range(1, PAGES * PAGE + 1))
    monkeypatch.setattr(FakeQueue, "queue", made, raising=False)
    # The workers are this process, which sees its rows, and does not pause.
    monkeypatch.setattr(engines, "_unseen_rows", lambda: None)
    monkeypatch.setattr(messages, "PAUSE", 0.0)
    monkeypatch.setattr(Hooked, "hook", staticmethod(lambda item: None))
    monkeypatch.setattr(queues, "start_alone", lambda message: pytest.fail("a child was started"))
    return made


@pytest.fixture
def children(queue, monkeypatch):
    def play(work):
        def start(message):
            queue.children.append(FakeChild(message, work))
            return queue.children[-1]

        monkeypatch.setattr(queues, "start_alone", start)

    return play


everywhere = pytest.mark.parametrize("queue", [
    "folder", *(pytest.param(name, marks=pytest.mark.services) for name in ("storage", "s3")),
], indirect=True)  # fmt: skip
