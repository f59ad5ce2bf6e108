"""Claims, by which the command sees whether the worker of a page is alive, with a clock set by the test."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from django.core import signing

from django_sitemaps09.conf import conf
from django_sitemaps09.exceptions import ExportError
from django_sitemaps09.export.engines import messages, queues, workers
from django_sitemaps09.export.engines.messages import Claim, Folder
from django_sitemaps09.export.engines.queues import QueueEngine
from django_sitemaps09.export.engines.workers import handle_message
from django_sitemaps09.export.rendering.page import HostTarget, RenderedPage, Renderer, Task
from django_sitemaps09.pages import Page
from django_sitemaps09.protocol import Base
from django_sitemaps09.sources import source
from django_sitemaps09.stores import STATE, target_store
from tests.support.celery_sections import SECTIONS
from tests.support.configuration import BASE
from tests.support.factories import ArticleFactory
from tests.support.stores import Overwriting, below, storage
from tests.support.waiting import until

STAGE = f"{STATE}/run-1"


class Timeline:
    """Replaces the module `time`. Sleeping moves the clock, and runs what is planned until then."""

    def __init__(self) -> None:
        self.now = 1_000.0
        self.plans: list[tuple[float, Callable[[], object]]] = []

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        assert self.now < 1_000 + 2 * 3_600, "the command waits for ever"
        self.now += seconds
        for plan in [plan for plan in self.plans if plan[0] <= self.now]:
            self.plans.remove(plan)
            plan[1]()

    def at(self, seconds: float, event: Callable[[], object]) -> None:
        self.plans.append((1_000 + seconds, event))


class Queue(QueueEngine):
    """Queue in a list. A test is the worker that takes its messages."""

    worker_name = "test worker"

    def __init__(
        self, renderer: Renderer, timeline: Timeline, caplog: pytest.LogCaptureFixture, workers: int = 2
    ) -> None:
        super().__init__(workers)
        self.renderer, self.timeline, self.caplog = renderer, timeline, caplog
        self.sent: list[str] = []

    def with_workers(self, workers: int) -> Queue:
        return Queue(self.renderer, self.timeline, self.caplog, workers)

    def page(self, number: int = 1) -> Callable[[], RenderedPage]:
        """Submit a page, and return the function that waits for it."""
        return self.submit(self.renderer, task(number))

    def put(self, message: str) -> None:
        self.sent.append(message)

    def queue_label(self) -> str:
        return "the list"

    def worker_command(self) -> str:
        return "pytest"

    def folder(self, number: int) -> Folder:
        return Folder(*messages.unsign(self.sent[number]))

    def work(self, *numbers: int) -> None:
        for number in numbers:
            handle_message(self.sent[number], self.worker_name, is_redelivered=False)

    def renews(self, number: int, seconds: Sequence[float], attempt: str) -> None:
        """Plan the claims of a worker that takes a message, and dies after the last one."""
        for count, at in enumerate(seconds):
            claim = Claim(attempt, count, "web-1")
            self.timeline.at(at, lambda claim=claim: self.folder(number).write_claim(claim))

    @property
    def seconds(self) -> float:
        """The seconds since the beginning."""
        return self.timeline.now - 1_000

    @property
    def lines(self) -> list[str]:
        """The messages of this package in the log."""
        records = self.caplog.records
        return [record.getMessage() for record in records if record.name.startswith("django_sitemaps09")]


@pytest.fixture
def timeline(monkeypatch: pytest.MonkeyPatch) -> Timeline:
    timeline = Timeline()
    monkeypatch.setattr(queues, "time", timeline)
    return timeline


@pytest.fixture(params=["folder", "storage", pytest.param("s3", marks=pytest.mark.services)])
def renderer(request: pytest.FixtureRequest, settings: Any, tmp_path: Path, db: None) -> Renderer:
    """Return the renderer of a run whose target is a local folder, or a storage without paths."""
    settings.SITEMAPS09 = {"SITEMAPS": "tests.support.celery_sections.SECTIONS", "BASE_URL": BASE}
    ArticleFactory(slug="a1")
    if request.param == "storage":
        request.getfixturevalue("declare")(sitemaps=storage(Overwriting))
    elif request.param == "s3":
        request.getfixturevalue("bucket")()
    output = tmp_path / "public" if request.param == "folder" else None
    if output is None:
        settings.SITEMAPS09 |= {"STORAGE": "sitemaps"}
    return Renderer((HostTarget(Base("https", "www.example.com"), output, STAGE),), False, "/", None)


@pytest.fixture
def queue(renderer: Renderer, timeline: Timeline, caplog: pytest.LogCaptureFixture) -> Queue:
    return Queue(renderer, timeline, caplog)


in_a_folder = pytest.mark.parametrize("renderer", ["folder"], indirect=True)
#: Each look at a claim is a request of an S3, which only the thread that renews claims must bear.
in_memory = pytest.mark.parametrize("renderer", ["folder", "storage"], indirect=True)


def task(number: int = 1) -> Task:
    declared = source("a", SECTIONS["a"], (Base("https", "www.example.com"),), conf.limits)
    return Task("a", Page(number, None, None), declaration_digest=declared.declaration_digest)


def page_of(rendered: RenderedPage) -> tuple[int, str]:
    return rendered.file.urls, rendered.file.digest


class TestAWorkerThatDies:
    @in_memory
    @pytest.mark.parametrize("last", [0, 3], ids=["at once", "later"])
    def test_costs_half_a_minute_and_is_reported_in_one_line(self, queue: Queue, last: int) -> None:
        wait = queue.page()
        queue.renews(0, [2 + 5 * n for n in range(last + 1)], "first")
        dies = 2 + 5 * last

        def second() -> None:
            if len(queue.sent) == 2:
                queue.work(1)
            else:
                queue.timeline.plans.append((queue.timeline.now + 0.1, second))

        queue.timeline.at(dies, second)
        rendered = wait()
        assert queue.seconds - dies < 33
        assert len(queue.sent) == 2
        [line] = queue.lines
        assert line == (
            "The test worker on web-1 that rendered Section 'a', page 1 has died: it gave no sign of life "
            "for 30 seconds; sending the task again."
        )
        serial = queues.render_page(queue.renderer, task())
        assert page_of(rendered) == page_of(serial)
        assert queue.failures == []

    @in_memory
    def test_twice_on_one_page_is_the_failure_of_its_section(self, queue: Queue) -> None:
        wait, other = queue.page(), queue.page(2)
        queue.renews(0, [1], "first")
        queue.renews(0, [40, 45], "second")
        queue.work(1)
        with pytest.raises(
            ExportError, match=r"page 1: two workers in a row died .*, the last one on web-1"
        ):
            wait()
        assert 75 <= queue.seconds < 80
        assert len(queue.sent) == 3
        assert len(queue.lines) == 1
        assert other().file.urls == 1

    @in_a_folder
    @pytest.mark.parametrize("prefetched", [0, 8])
    def test_with_all_processes_of_its_machine_costs_little_more_than_one(
        self, queue: Queue, prefetched: int
    ) -> None:
        queue = queue.with_workers(8)
        waits = [queue.page(number) for number in range(1, 9 + prefetched)]
        for number in range(8):
            queue.renews(number, [1, 6], f"process {number}")

        def work_on_another_machine() -> None:
            queue.work(*range(8, len(queue.sent)))
            queue.timeline.plans.append((queue.timeline.now + 0.5, work_on_another_machine))

        queue.timeline.at(7, work_on_another_machine)
        assert [wait().file.urls for wait in waits] == [1] * len(waits)
        assert queue.seconds - 6 < 45
        assert len(queue.sent) == 16 + prefetched

    @in_a_folder
    def test_is_not_one_that_still_renews_its_claim(self, queue: Queue) -> None:
        wait = queue.page()
        queue.renews(0, [n * 5 for n in range(100)], "slow")
        queue.timeline.at(500, lambda: queue.work(0))
        assert wait().file.urls == 1
        assert (len(queue.sent), queue.lines) == (1, [])

    @in_a_folder
    def test_is_seen_whatever_the_clocks_of_the_machines_say(
        self, queue: Queue, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        wait = queue.page()
        folder = queue.folder(0)

        def claim(number: int, shift: float) -> None:
            now = time.time() + shift
            with monkeypatch.context() as patched:
                patched.setattr(signing.time, "time", lambda: now)
                folder.write_claim(Claim("one", number, "web-1"))

        for number, days in enumerate([-2, 2, -300, 300]):
            queue.timeline.at(1 + 20 * number, lambda n=number, d=days: claim(n, d * 86_400))
        queue.timeline.at(85, lambda: queue.work(0))
        assert wait().file.urls == 1
        assert len(queue.sent) == 1

    @in_a_folder
    def test_by_hanging_is_bounded_by_patience(self, queue: Queue) -> None:
        wait, earlier = queue.page(), queue.page(2)
        queue.renews(0, [n * 5 for n in range(400)], "hanging")
        with pytest.raises(ExportError, match=r"No test worker returned Section 'a', page 1 within 30 min"):
            wait()
        assert 1_800 < queue.seconds < 1_805
        [line] = queue.lines
        assert line == "No test worker has returned Section 'a', page 1; sending the task again."
        # No other page waits, since no worker has returned any.
        with pytest.raises(ExportError, match="page 1 within 30 minutes"):
            earlier()
        with pytest.raises(ExportError, match="page 1 within 30 minutes"):
            queue.page(3)
        assert queue.seconds < 1_805


class TestAPageThatNoWorkerTakes:
    @in_memory
    def test_is_rendered_by_the_command_and_never_sent_again(self, queue: Queue) -> None:
        with queue:
            waits = [queue.page(number) for number in range(1, 5)]
            rendered = [waits[0]()]
            assert 30 <= queue.seconds < 32
            waits += [queue.page(number) for number in range(5, 20)]
            rendered += [wait() for wait in waits[1:]]
        # The others do not wait, and do not fill a queue that nobody reads.
        assert queue.seconds < 32
        assert len(queue.sent) == 5
        assert {page_of(page) for page in rendered} == {page_of(queues.render_page(queue.renderer, task()))}
        [line] = queue.lines
        assert line.startswith("No worker has taken a page after 10 seconds. The pages are in the list. ")
        assert "within 30 seconds, the export renders the pages itself" in line
        [failure] = queue.failures
        assert failure.startswith(
            "The export itself rendered 19 of 19 pages: no test worker took one for 30 seconds. Start a "
            "worker that reads the list (pytest), has the same SECRET_KEY, and can access"
        )

    @in_a_folder
    def test_changes_nothing_if_a_worker_takes_it_later(self, queue: Queue, tmp_path: Path) -> None:
        queue.page()()
        before, said = below(tmp_path), queue.lines
        queue.work(0)
        assert (below(tmp_path), queue.lines) == (before, said)

    @in_a_folder
    def test_is_no_failure_if_workers_returned_others(self, queue: Queue) -> None:
        """A queue can be busy with another export."""
        with queue:
            first, second = queue.page(), queue.page(2)
            queue.timeline.at(1, lambda: queue.work(0))
            first()
            second()
        assert queue.failures == []
        [line] = queue.lines
        assert line.startswith("The export itself rendered 1 of 2 pages: no test worker took one for 30 s")

    @in_a_folder
    def test_is_no_failure_of_an_export_in_the_only_worker(self, queue: Queue) -> None:
        token = queues.in_worker.set(True)
        try:
            with queue:
                queue.page()()
        finally:
            queues.in_worker.reset(token)
        assert queue.failures == []
        assert queue.lines[-1].startswith("The export itself rendered 1 of 1 page: ")

    @in_a_folder
    def test_is_not_the_last_that_is_sent(self, queue: Queue) -> None:
        """Workers that start during an export are used."""
        queue.page()()
        queue.timeline.now += 31
        probe = queue.page(2)
        assert len(queue.sent) == 2
        queue.work(1)
        assert probe().file.urls == 1
        later = [queue.page(number) for number in (3, 4)]
        assert len(queue.sent) == 4
        queue.timeline.at(queue.seconds + 20, lambda: queue.work(2, 3))
        assert [wait().file.urls for wait in later] == [1, 1]

    @in_a_folder
    def test_leaves_later_ones_to_workers_that_have_returned_others(self, queue: Queue) -> None:
        first, second = queue.page(), queue.page(2)
        queue.work(1)
        first()
        second()
        later = [queue.page(number) for number in (3, 4)]
        assert len(queue.sent) == 4
        queue.work(2)
        queue.timeline.at(queue.seconds + 20, lambda: queue.work(3))
        assert [wait().file.urls for wait in later] == [1, 1]
        assert queue._rendered == 1

    @in_memory
    def test_does_not_mean_that_no_worker_has_taken_any(self, queue: Queue) -> None:
        first, _ = queue.page(), queue.page(2)
        queue.timeline.at(1, lambda: queue.work(1))
        first()
        assert queue.lines == []

    @in_a_folder
    def test_does_not_wait_for_each_one_that_a_dead_worker_had_reserved(self, queue: Queue) -> None:
        """A Celery worker reserves four messages by default."""
        queue = queue.with_workers(4)
        waits = [queue.page(number) for number in range(1, 9)]
        queue.work(0, 2, 4, 6)
        for wait in waits:
            wait()
        assert queue.seconds < 33
        assert len(queue.sent) == 8

    @in_a_folder
    def test_is_not_one_that_waits_behind_others(self, queue: Queue) -> None:
        queue = queue.with_workers(1)
        waits = [queue.page(number) for number in (1, 2)]
        queue.renews(0, range(0, 100, 5), "slow")
        for number, seconds in ((0, 100), (1, 125)):
            queue.timeline.at(seconds, lambda number=number: queue.work(number))
        for wait in waits:
            wait()
        assert (len(queue.sent), queue._rendered) == (2, 0)

    @in_a_folder
    def test_is_rendered_even_if_it_cannot_be_withdrawn(
        self, queue: Queue, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def fail(folder: Folder) -> None:
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(Folder, "withdraw", fail)
        assert queue.page()().file.urls == 1
        assert queue.lines[-1] == (
            "Section 'a', page 1 cannot be withdrawn: OSError: [Errno 28] No space left on device"
        )


class TestAClaim:
    @in_a_folder
    @pytest.mark.parametrize(
        "forger",
        [
            "unsigned",
            "another key",
            "a reply",
            "another page",
            "another run",
            "too large",
            "a text",
            "a folder",
        ],
    )
    def test_that_is_invalid_is_missing(self, queue: Queue, tmp_path: Path, forger: str) -> None:
        wait = queue.page()
        folder = queue.folder(0)
        values = Claim("one", 0, "web-1")._asdict() | {"run": folder.stage, "token": folder.token}

        def signed(content: dict[str, Any], key: str | None = None, salt: str = messages._CLAIM) -> bytes:
            return signing.dumps(content, key, salt).encode()

        path = tmp_path / "public" / STAGE / f"{folder.token}.claim"
        path.write_bytes(signed(values))
        assert folder.claim() == Claim("one", 0, "web-1")
        path.unlink()
        if forger == "a folder":
            path.mkdir()
        else:
            path.write_bytes(
                {
                    "unsigned": b'{"attempt": "one"}\xff',
                    "another key": signed(values, "another"),
                    "a reply": signed(values, salt=messages._REPLY),
                    "another page": signed(values | {"token": "0" * 16}),
                    "another run": signed(values | {"run": f"{STATE}/run-2"}),
                    "a text": signing.dumps("one", salt=messages._CLAIM).encode(),
                    "too large": signed(values | {"host": "x" * 5_000}),
                }[forger]
            )
        assert folder.claim() is None
        wait()
        # The page was rendered here, and not sent again.
        assert 30 <= queue.seconds < 32
        assert len(queue.sent) == 1

    def test_is_written_before_the_page_is_rendered_and_renewed_until_the_run_ends(
        self, queue: Queue, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        # Longer than a request to S3: the folder can be deleted between the look and the write.
        monkeypatch.setattr(workers, "RENEWAL", 0.5)
        queue.page()
        folder, seen = queue.folder(0), []

        def render(*page: object, **options: object) -> None:
            first = folder.claim()
            assert first is not None
            seen.append(first)
            until(lambda: (folder.claim() or first).number > first.number, "the claim was not renewed")
            folder.store.delete_folder(folder.stage)
            time.sleep(0.8)
            seen.append(folder.store.names(folder.stage))
            raise ExportError("the run has ended")

        monkeypatch.setattr(workers, "render_page", render)
        queue.work(0)
        # A late worker has not brought the folder back.
        assert [seen[0].number, seen[1]] == [0, {}]
        assert target_store(queue.renderer.targets[0].output).folders(STATE) == []

    @in_a_folder
    def test_that_cannot_be_written_fails_no_page(self, queue: Queue, tmp_path: Path) -> None:
        wait = queue.page()
        (tmp_path / "public" / STAGE / f"{queue.folder(0).token}.claim").mkdir()
        queue.work(0)
        assert wait().file.urls == 1
        assert "could not be written" in queue.lines[0]

    @in_a_folder
    def test_that_cannot_be_renewed_is_logged_and_ends_nothing(
        self, queue: Queue, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(workers, "RENEWAL", 0.01)
        wait = queue.page()
        render, write = workers.render_page, Folder.write_claim

        def slowly(*page: Any, **options: Any) -> Any:
            until(lambda: queue.caplog.records, "no failure was logged")
            return render(*page, **options)

        def fail_later(folder: Folder, claim: Claim) -> None:
            if claim.number:
                raise OSError(28, "No space left on device")
            write(folder, claim)

        monkeypatch.setattr(workers, "render_page", slowly)
        monkeypatch.setattr(Folder, "write_claim", fail_later)
        queue.work(0)
        assert "could not be renewed" in queue.lines[0]
        assert wait().file.urls == 1


@pytest.fixture(autouse=True)
def _no_thread_is_left() -> Iterator[None]:
    import threading

    yield
    assert not [thread for thread in threading.enumerate() if thread.name == "sitemap-claim"]
