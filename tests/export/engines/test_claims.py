"""Claims, which are advice to others, what happens to pages that their worker does not return, and the end
of a run, with a fake queue.
"""

from __future__ import annotations

import errno
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.core import signing

from django_sitemaps09.exceptions import ExportError
from django_sitemaps09.export.engines import messages
from django_sitemaps09.export.engines.messages import CLAIM, HANDLED, OWN, REPLY, Folder, handle_message
from django_sitemaps09.stores import STATE, LocalStore, RemoteStore
from tests.export.engines.fake_queue import PAGE, PAGES, FakeChild, Queue, everywhere, rendered
from tests.export.engines.lone_worker import LOOKS, lone
from tests.models import Article

DIED = (
    "ExportError: Section 'hooked', page 2: the worker that claimed it did not return it, and the process "
    "that then rendered it here died (exit status -9); the system may have killed it for lack of memory"
)


@pytest.fixture
def claim_second(queue: Queue) -> None:
    """Let a worker claim page 2 of the section `hooked`, which it does not return by itself."""

    def claim(item: Article) -> None:
        if queue.taken == 0:
            queue.taken = 1
            queue.work(0)
            assert queue.take() == 1

    queue.on_item(claim)


class TestAClaim:
    @everywhere
    def test_lets_other_workers_drop_the_message(self, queue: Queue) -> None:
        def received(number: int) -> None:
            if number == 0:
                queue.claim(0)
                before = queue.folder(0).names()
                queue.work(0)
                assert queue.folder(0).names() == before
                queue.work_claimed(1)
                before = queue.folder(0).names()
                queue.work(0)
                assert queue.folder(0).names() == before

        queue.received = received
        assert rendered(queue.export()) == (PAGES - 1, 1)

    @everywhere
    def test_of_the_export_itself_lets_workers_claim_and_drop_the_message(self, queue: Queue) -> None:
        def page(item: Article) -> None:
            if item.pk == PAGE * PAGES:
                folder = queue.folder(0)
                before = folder.names()
                queue.work(0)
                # Meanwhile, the thread of the export can stage its page, whose name has no prefix.
                new = {name for name in folder.names() - before if not name.startswith("sitemap-")}
                assert new == {f"{folder.token}{CLAIM}"}
                queue.now += 1

        queue.on_item(page)
        report = queue.export("hooked")
        assert rendered(report) == (PAGES, 0)
        # One message has left the queue.
        assert len(queue.sent) == 2 * 2 + 1

    def test_is_written_once_before_the_page_is_rendered_and_by_the_export_itself_too(
        self, queue: Queue
    ) -> None:
        def page(item: Article) -> None:
            if item.pk == 1:
                assert queue.folder(0).has(OWN)
            if item.pk == PAGE + 1:
                claims.append(queue.folder(1).has(OWN))

        claims: list[bool] = []
        queue.on_item(page)
        queue.export("hooked")
        assert claims[0]

    @pytest.mark.parametrize("is_first", [True, False])
    def test_of_two_holders_costs_one_page_and_the_first_complete_reply_counts(
        self, queue: Queue, *, is_first: bool
    ) -> None:
        """A worker has seen no claim yet when another one, or the export itself, writes its own."""
        serial = queue.serial("hooked")
        numbers: list[int] = []

        def page(item: Article) -> None:
            if item.pk == PAGE + 1 and not numbers and queue.sent:
                numbers.append(1)
                # Both hold page 2 now.
                handle_message(queue.sent[1], is_awaited=True)

        queue.on_item(page)
        if is_first:
            queue.received = lambda number: queue.work(number)
        report = queue.export("hooked")
        assert (queue.public(), report.exit_status) == (serial, 0)
        assert sum(rendered(report)) == PAGES
        assert queue.export("hooked").written == ()

    def test_that_cannot_be_written_here_does_not_fail_the_page(
        self, queue: Queue, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def fail(folder: Folder, ending: str) -> None:
            raise OSError(errno.ENOSPC, "No space left on device")

        monkeypatch.setattr(Folder, "write", fail)
        assert rendered(queue.export()) == (PAGES, 0)

    def test_is_seen_even_if_the_listing_is_late(
        self, queue: Queue, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A listing of NFS can be a minute old."""
        names = Folder.names
        monkeypatch.setattr(Folder, "names", lambda folder: names(folder) if queue.seconds > 60 else set())
        queue.received = queue.work
        assert rendered(queue.export())[1] >= 4


@pytest.mark.usefixtures("claim_second")
class TestAPageThatItsWorkerDoesNotReturn:
    def test_is_rendered_by_a_child_once_its_claim_is_old(
        self, queue: Queue, children: Callable[..., None]
    ) -> None:
        serial = queue.serial("hooked")
        children(FakeChild.renders)
        report = queue.export("hooked")
        assert 5 <= queue.seconds <= 8
        assert (len(queue.children), queue.public(), report.exit_status) == (1, serial, 0)
        assert report.warnings == []

    def test_is_awaited_for_30_seconds_if_no_page_of_the_section_is_rendered(
        self, queue: Queue, children: Callable[..., None]
    ) -> None:
        queue.received = queue.claim
        children(FakeChild.renders)
        report = queue.export(workers=8)
        assert 30 <= queue.seconds <= 40
        assert (len(queue.children), rendered(report)) == (PAGES, (PAGES, 0))

    def test_keeps_further_pages_from_workers_if_there_are_more_than_workers(
        self, queue: Queue, children: Callable[..., None]
    ) -> None:
        queue.received = queue.claim
        children(FakeChild.renders)
        report = queue.export(workers=1)
        assert (len(queue.sent), report.exit_status) == (len(queue.children), 0)
        assert len(queue.sent) < PAGES
        [warning] = report.warnings
        assert warning.startswith(
            "No more pages were sent, since workers did not return 2 that they claimed."
        )

    def test_may_take_twice_as_long_as_the_slowest_page_of_its_section(
        self, queue: Queue, children: Callable[..., None], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        build = messages.build_reply
        monkeypatch.setattr(
            messages,
            "build_reply",
            lambda page: build(page) | {"costs": {"seconds": 40.0, "steps": {}}},
        )
        queue.received = lambda number: queue.work(number) if number == 2 else None
        children(FakeChild.renders)
        queue.export("hooked")
        assert 80 <= queue.seconds <= 83

    @pytest.mark.parametrize("end", [-9, 0, 1, "bad reply", "no process"])
    def test_fails_its_section_and_no_other_if_the_child_dies_too(
        self, queue: Queue, children: Callable[..., None], monkeypatch: pytest.MonkeyPatch, end: object
    ) -> None:
        """Even if a reply of the child cannot be used, since the page may have killed both."""
        died = DIED.replace("-9", str(end)) if isinstance(end, int) else DIED

        def die(child: FakeChild) -> None:
            folder = queue.folder(2)
            if end == "bad reply":
                folder.store.write(f"{folder.stage}/{folder.token}{REPLY}", b"not signed")
            child.returncode = end if isinstance(end, int) else -9

        def fail(message: str) -> None:
            raise OSError(errno.EAGAIN, "Resource temporarily unavailable")

        children(die)
        if end == "no process":
            monkeypatch.setattr("django_sitemaps09.export.engines.queues.start_alone", fail)
            died = "no process can be started here to render it: "
        report = queue.export("hooked", "b")
        first, second = (section.failure for section in report.sections)
        assert second is None
        assert first == died or (end == "no process" and died in str(first))
        assert (report.published, queue.runs()) == (True, [])
        assert "sitemap-b-1.xml.gz" in queue.public()

    def test_is_rendered_here_if_the_child_survives_it_without_a_reply(
        self, queue: Queue, children: Callable[..., None]
    ) -> None:
        serial = queue.serial("hooked")
        children(lambda child: setattr(child, "returncode", HANDLED))
        assert rendered(queue.export("hooked")) == (PAGES, 0)
        assert queue.public() == serial

    def test_comes_from_the_worker_if_that_is_faster_than_the_child_which_is_killed(
        self, queue: Queue, children: Callable[..., None]
    ) -> None:
        children(lambda child: None)
        queue.at(40, lambda: queue.work_claimed(2))
        assert rendered(queue.export("hooked")) == (PAGES - 1, 1)
        assert [child.is_killed for child in queue.children] == [True]

    def test_leaves_no_child_behind_if_a_signal_ends_the_export(
        self, queue: Queue, children: Callable[..., None]
    ) -> None:
        def interrupt(child: FakeChild) -> None:
            raise KeyboardInterrupt

        children(interrupt)
        with pytest.raises(KeyboardInterrupt):
            queue.export("hooked")
        assert [child.is_killed for child in queue.children] == [True]
        assert queue.runs() == []

    def test_uses_the_databases_of_the_export_in_the_child(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """They can differ from the settings, as during tests."""
        code = "import json, sys; print(json.load(sys.stdin), file=open(sys.argv[1], 'w'))"
        monkeypatch.setattr(messages, "database_addresses", lambda: {"default": {"NAME": "other"}})
        real, seen = subprocess.Popen, tmp_path / "seen"

        def start(command: list[str], **options: Any) -> Any:
            return real([command[0], "-c", code, str(seen)], **options)

        monkeypatch.setattr(subprocess, "Popen", start)
        assert messages.start_alone("a message").wait(30) == 0
        assert seen.read_text() == "['a message', {'default': {'NAME': 'other'}}]\n"


FORGERIES = [
    "empty",
    "not JSON",
    "unsigned",
    "another key",
    "another kind",
    "another page",
    "another run",
    "a text",
    "huge",
    "a folder",
    "a link",
]


class TestAForged:
    """An attacker can write to the folder of the run."""

    @pytest.mark.parametrize("forger", FORGERIES)
    @pytest.mark.parametrize("is_working", [True, False])
    def test_file_costs_at_most_a_rendered_page(
        self,
        queue: Queue,
        children: Callable[..., None],
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
        forger: str,
        *,
        is_working: bool,
    ) -> None:
        monkeypatch.setitem(messages._MOST, REPLY, 100_000)
        children(FakeChild.renders)
        serial = queue.serial()

        def forge(number: int) -> None:
            ending = {1: "claim", 2: "signed", 3: "own"}.get(number)
            if ending is None:
                return
            salt = messages._SALTS[f".{ending}"]
            other = messages._SALTS[CLAIM if ending == "signed" else REPLY]
            folder = queue.folder(number)
            values = {"run": folder.stage, "token": folder.token, "host": "web-1", "worker": "web-1"}

            def signed(content: object, key: str | None = None, salt: str = salt) -> bytes:
                return signing.dumps(content, key, salt).encode()

            assert queue.output is not None
            path = queue.output / folder.stage / f"{folder.token}.{ending}"
            contents = {
                "empty": b"",
                "not JSON": b"\xff{",
                "unsigned": b'{"host": "web-1"}',
                "another key": signed(values, "another"),
                "another kind": signed(values, salt=other),
                "another page": signed(values | {"token": "0" * 16}),
                "another run": signed(values | {"run": f"{STATE}/run-2"}),
                "a text": signed("host"),
                "huge": signed(values | {"host": "x" * 200_000}),
            }
            if forger == "a folder":
                path.mkdir()
            elif forger == "a link":
                (tmp_path / "elsewhere").write_text("mine")
                path.symlink_to(tmp_path / "elsewhere")
            else:
                path.write_bytes(contents[forger])
            if is_working:
                queue.work(number)

        queue.received = forge
        report = queue.export()
        assert (queue.public(), report.exit_status, queue.runs()) == (serial, 0, [])
        assert queue.seconds <= 33
        if forger == "a link":
            assert (tmp_path / "elsewhere").read_text() == "mine"


class TestTheEndOfARun:
    @pytest.mark.parametrize(
        ("queue", "look"),
        [
            *(("folder", look) for look in range(1, 6)),
            *(pytest.param("s3", look, marks=pytest.mark.services) for look in (1, 3, 5)),
            *(pytest.param("storage", look, marks=pytest.mark.services) for look in (2, 4)),
        ],
        indirect=["queue"],
    )
    def test_leaves_nothing_for_late_workers_to_change(
        self, queue: Queue, monkeypatch: pytest.MonkeyPatch, look: int
    ) -> None:
        """A worker stops right before each look for the run, and goes on when the run has ended."""
        late: list[Any] = []
        store_type = LocalStore if queue.output is not None else RemoteStore
        read = store_type.read
        looks: list[str] = []

        def stopping(store: Any, name: str, *limit: int) -> Any:
            if late and name.endswith("/run.json"):
                looks.append(name)
                if len(looks) == look:
                    queue.store.delete_folder(name.rpartition("/")[0])
                    late.append(queue.files())
            return read(store, name, *limit)

        def message(number: int) -> None:
            if number == 3:
                # The run has ended when this message is handled, but for its folder.
                late.append(None)
                handle_message(queue.sent[3])
                assert len(late) == 2, "the worker never looked"
                assert queue.files() == late[1]
                raise KeyboardInterrupt

        monkeypatch.setattr(store_type, "read", stopping)
        queue.received = message
        with pytest.raises(KeyboardInterrupt):
            queue.export()
        assert queue.public() == {}

    # The test above is for all looks, too.
    @pytest.mark.slow
    @pytest.mark.parametrize("look", LOOKS if "SITEMAPS09_KILLS" in os.environ else ["claim", "reply"])
    def test_is_final_for_a_frozen_process(self, look: str, tmp_path: Path, database: Path) -> None:
        """The process gets SIGSTOP at that look, and SIGCONT when the run has ended."""
        result = lone(tmp_path, database, look)
        assert result == {"published": True, "changed": [], "urls": 600, "status": 0}


def test_a_run_whose_folder_cannot_be_opened_fails_the_section_and_tries_again(
    queue: Queue, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[Folder] = []
    open_folder = Folder.open

    def fail_once(folder: Folder) -> None:
        opened.append(folder)
        if len(opened) == 1:
            raise ExportError("the storage does not answer")
        open_folder(folder)

    monkeypatch.setattr(Folder, "open", fail_once)
    queue.received = queue.work
    report = queue.export("a", "b")
    assert [section.failure for section in report.sections] == [
        "ExportError: the storage does not answer",
        None,
    ]
    assert rendered(report)[1] > 0
