"""Claims; pages that a worker refuses or does not return; the end of a run: with a fake queue."""

from __future__ import annotations

import errno
import os
import shutil
import socket
import subprocess
from unittest.mock import Mock

import pytest
from django.conf import settings
from django.core import signing
from django.core.exceptions import ImproperlyConfigured

import django_sitemaps09
from django_sitemaps09.exceptions import ExportError
from tests.export.engines.fake_queue import PAGE, PAGES, FakeChild, Hooked, everywhere, rendered
from tests.support.exports import fails_with
from tests.support.internals import STATE, LocalStore, RemoteStore, messages, queues

DIED = (
    "ExportError: Section 'hooked', page 2: the worker that claimed it did not return it, and the process "
    "that then rendered it here died (exit status -9); the system may have killed it for lack of memory"
)


class TestAClaim:
    @everywhere
    def test_lets_other_workers_drop_the_message(self, queue):
        def received(number):
            if number == 0:
                for prepare in (lambda: queue.claim(0), lambda: queue.work_claimed(1)):
                    prepare()
                    before = queue.folder(0).names()
                    queue.work(0)
                    assert queue.folder(0).names() == before

        queue.received = received
        assert rendered(queue.export()) == (PAGES - 1, 1)

    @everywhere
    def test_of_the_export_itself_lets_workers_claim_and_drop_the_message(self, queue):
        def page(item):
            if item.pk in (1, PAGE + 1):
                # It is written before the page is rendered.
                claims.append(queue.folder(item.pk // PAGE).has(messages.OWN))
            if item.pk == PAGE * PAGES:
                folder = queue.folder(0)
                before = folder.names()
                queue.work(0)
                # Meanwhile, the thread of the export can stage its page, whose name has no prefix.
                new = {name for name in folder.names() - before if not name.startswith("sitemap-")}
                assert new == {f"{folder.token}{messages.CLAIM}"}
                queue.now += 1

        claims = []
        queue.on_item(page)
        assert rendered(queue.export("hooked")) == (PAGES, 0)
        # One message has left the queue.
        assert (claims[:2], len(queue.sent)) == ([True, True], 2 * 2 + 1)

    @pytest.mark.parametrize("is_first", [True, False])
    def test_of_two_holders_costs_one_page_and_the_first_complete_reply_counts(self, queue, is_first):
        """A worker has seen no claim yet when another one, or the export itself, writes its own."""
        serial, numbers = queue.serial("hooked"), []

        def page(item):
            if item.pk == PAGE + 1 and not numbers and queue.sent:
                numbers.append(1)
                # Both hold page 2 now.
                messages.handle_message(queue.sent[1], is_awaited=True)

        queue.on_item(page)
        if is_first:
            queue.received = queue.work
        report = queue.export("hooked")
        assert (queue.public(), report.exit_status, sum(rendered(report))) == (serial, 0, PAGES)
        assert queue.export("hooked").written == ()

    def test_that_cannot_be_written_here_does_not_fail_the_page(self, queue, monkeypatch):
        monkeypatch.setattr(messages.Folder, "write", fails_with(errno.ENOSPC))
        assert rendered(queue.export()) == (PAGES, 0)

    def test_is_seen_even_if_the_listing_is_late(self, queue, monkeypatch):
        """A listing of NFS can be a minute old."""
        names = messages.Folder.names
        late = lambda folder: names(folder) if queue.seconds > 60 else set()  # noqa: E731
        monkeypatch.setattr(messages.Folder, "names", late)
        queue.received = queue.work
        assert rendered(queue.export())[1] >= 4


class TestAPageThatItsWorkerDoesNotReturn:
    @pytest.fixture(autouse=True)
    def _claim_second(self, queue):
        """Let a worker claim page 2 of the section `hooked`, which it does not return by itself."""

        def claim(item):
            if queue.taken == 0:
                queue.taken = 1
                queue.work(0)
                assert queue.take() == 1

        queue.on_item(claim)

    def test_is_rendered_by_a_child_once_its_claim_is_old(self, queue, children):
        serial = queue.serial("hooked")
        children(FakeChild.renders)
        report = queue.export("hooked")
        assert 5 <= queue.seconds <= 8
        assert (len(queue.children), queue.public(), report.exit_status) == (1, serial, 0)
        assert report.warnings == []

    def test_is_awaited_for_30_seconds_if_no_page_of_the_section_is_rendered(self, queue, children):
        queue.received = queue.claim
        children(FakeChild.renders)
        report = queue.export(workers=8)
        assert 30 <= queue.seconds <= 40
        assert (len(queue.children), rendered(report)) == (PAGES, (PAGES, 0))

    def test_keeps_further_pages_from_workers_if_there_are_more_than_workers(self, queue, children):
        queue.received = queue.claim
        children(FakeChild.renders)
        report = queue.export(workers=1)
        assert (len(queue.sent) == len(queue.children) < PAGES, report.exit_status) == (True, 0)
        [warning] = report.warnings
        expected = "No more pages were sent, since workers did not return 2 that they claimed."
        assert warning.startswith(expected)

    def test_may_take_twice_as_long_as_the_slowest_page_of_its_section(self, queue, children, monkeypatch):
        build, costs = messages.build_reply, {"costs": {"seconds": 40.0, "steps": {}}}
        monkeypatch.setattr(messages, "build_reply", lambda page: build(page) | costs)
        queue.received = lambda number: queue.work(number) if number == 2 else None
        children(FakeChild.renders)
        queue.export("hooked")
        assert 80 <= queue.seconds <= 83

    @pytest.mark.parametrize("end", [-9, 0, 1, "bad reply", "no process"])
    def test_fails_its_section_and_no_other_if_the_child_dies_too(self, queue, children, monkeypatch, end):
        """Even if a reply of the child cannot be used, since the page may have killed both."""

        def die(child):
            folder = queue.folder(2)
            if end == "bad reply":
                folder.store.write(f"{folder.stage}/{folder.token}{messages.REPLY}", b"not signed")
            child.returncode = end if isinstance(end, int) else -9

        children(die)
        died = DIED.replace("-9", str(end)) if isinstance(end, int) else DIED
        if end == "no process":
            monkeypatch.setattr(queues, "start_alone", fails_with(errno.EAGAIN))
            died = "no process can be started here to render it: "
        report = queue.export("hooked", "b")
        first, second = (section.failure for section in report.sections)
        assert first == died or (end == "no process" and died in first)
        assert (second, report.published, queue.runs()) == (None, True, [])
        assert "sitemap-b-1.xml.gz" in queue.public()

    def test_is_rendered_here_if_the_child_survives_it_without_a_reply(self, queue, children):
        serial = queue.serial("hooked")
        children(lambda child: setattr(child, "returncode", messages.HANDLED))
        assert (rendered(queue.export("hooked")), queue.public()) == ((PAGES, 0), serial)

    def test_comes_from_the_worker_if_that_is_faster_than_the_child_which_is_killed(self, queue, children):
        children(lambda child: None)
        queue.at(40, lambda: queue.work_claimed(2))
        assert rendered(queue.export("hooked")) == (PAGES - 1, 1)
        assert [child.is_killed for child in queue.children] == [True]

    def test_leaves_no_child_behind_if_a_signal_ends_the_export(self, queue, children):
        children(Mock(side_effect=KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            queue.export("hooked")
        assert ([child.is_killed for child in queue.children], queue.runs()) == ([True], [])

    def test_uses_the_databases_of_the_export_in_the_child(self, tmp_path, monkeypatch):
        """They can differ from the settings, as during tests."""
        code = "import json, sys; print(json.load(sys.stdin), file=open(sys.argv[1], 'w'))"
        real, seen = subprocess.Popen, tmp_path / "seen"
        monkeypatch.setattr(messages, "database_addresses", lambda: {"default": {"NAME": "other"}})
        fake = lambda command, **given: real([command[0], "-c", code, str(seen)], **given)  # noqa: E731
        monkeypatch.setattr(subprocess, "Popen", fake)
        assert messages.start_alone("a message").wait(30) == 0
        assert seen.read_text() == "['a message', {'default': {'NAME': 'other'}}]\n"


@pytest.mark.parametrize("is_working", [True, False])
@pytest.mark.parametrize(
    "forger", ["not JSON", "key", "kind", "page", "run", "a text", "huge", "a folder", "a link"]
)
def test_a_forged_file_costs_at_most_one_page(queue, children, tmp_path, monkeypatch, forger, is_working):
    monkeypatch.setitem(messages._MOST, messages.REPLY, 100_000)
    children(FakeChild.renders)
    serial = queue.serial()
    (tmp_path / "elsewhere").write_text("mine")

    def forge(number):
        ending = {1: messages.CLAIM, 2: messages.REPLY, 3: messages.OWN}.get(number)
        if ending is None:
            return
        folder, salt = queue.folder(number), messages._SALTS[ending]
        other = messages._SALTS[messages.CLAIM if ending == messages.REPLY else messages.REPLY]
        values = {"run": folder.stage, "token": folder.token, "host": "web-1", "worker": "web-1"}
        path = queue.output / folder.stage / f"{folder.token}{ending}"
        if forger == "a folder":
            path.mkdir()
        elif forger == "a link":
            path.symlink_to(tmp_path / "elsewhere")
        else:
            content = {
                "not JSON": "\xff{",
                "key": signing.dumps(values, "another", salt),
                "kind": signing.dumps(values, salt=other),
                "page": signing.dumps(values | {"token": "0" * 16}, salt=salt),
                "run": signing.dumps(values | {"run": f"{STATE}/run-2"}, salt=salt),
                "a text": signing.dumps("host", salt=salt),
                "huge": signing.dumps(values | {"host": "x" * 200_000}, salt=salt),
            }[forger]
            path.write_bytes(content.encode("latin-1"))
        if is_working:
            queue.work(number)

    queue.received = forge
    report = queue.export()
    assert (queue.public(), report.exit_status, queue.runs()) == (serial, 0, [])
    assert (queue.seconds <= 33, (tmp_path / "elsewhere").read_text()) == (True, "mine")


@pytest.mark.parametrize(("queue", "look"), [
    *(("folder", look) for look in range(1, 6)),
    *(pytest.param("s3", look, marks=pytest.mark.services) for look in (1, 3, 5)),
    *(pytest.param("storage", look, marks=pytest.mark.services) for look in (2, 4)),
], indirect=["queue"])  # fmt: skip
def test_the_end_of_a_run_leaves_nothing_for_late_workers_to_change(queue, monkeypatch, look):
    """A worker stops before each look for the run until it ends. `test_workers` freezes real ones."""
    late, looks = [], []
    store_type = LocalStore if queue.output is not None else RemoteStore
    read = store_type.read

    def stopping(store, name, *limit):
        if late and name.endswith("/run.json"):
            looks.append(name)
            if len(looks) == look:
                queue.store.delete_folder(name.rpartition("/")[0])
                late.append(queue.files())
        return read(store, name, *limit)

    def message(number):
        if number == 3:
            # The run has ended when this message is handled, but for its folder.
            late.append(None)
            messages.handle_message(queue.sent[3])
            assert len(late) == 2, "the worker never looked"
            assert queue.files() == late[1]
            raise KeyboardInterrupt

    monkeypatch.setattr(store_type, "read", stopping)
    queue.received = message
    with pytest.raises(KeyboardInterrupt):
        queue.export()
    assert queue.public() == {}


def test_a_run_whose_folder_cannot_be_opened_fails_the_section_and_tries_again(queue, monkeypatch):
    opened, open_folder = [], messages.Folder.open

    def fail_once(folder):
        opened.append(folder)
        if len(opened) == 1:
            raise ExportError("the storage does not answer")
        open_folder(folder)

    monkeypatch.setattr(messages.Folder, "open", fail_once)
    queue.received = queue.work
    report = queue.export("a", "b")
    failures = [section.failure for section in report.sections]
    assert (failures, rendered(report)[1] > 0) == (["ExportError: the storage does not answer", None], True)


REFUSED = f"A test worker refused a page: {socket.gethostname()}: "
DIFFERS = "the worker is incompatible: its section 'hooked' differs from the command's"


@pytest.fixture
def pauses(monkeypatch):
    pauses = []
    monkeypatch.setattr(messages, "PAUSE", 1.0)
    monkeypatch.setattr("time.sleep", pauses.append)
    return pauses


def fill_disk(patch, has_room_for="nothing"):
    write = LocalStore.write

    def full(store, name, *content):
        return (write if name.endswith(has_room_for) else fails_with(errno.ENOSPC))(store, name, *content)

    patch.setattr(LocalStore, "write", full)


@staticmethod
def broken(item):
    raise ImproperlyConfigured("broken there")


def other_release(patch):
    patch.setattr(django_sitemaps09, "__version__", "99.1")


def work_as_misfit(queue, number, change):
    with pytest.MonkeyPatch.context() as patch:
        change(patch)
        queue.work(number)


class TestAWorkerThatDoesNotFit:
    @pytest.mark.parametrize(("change", "reason"), [
        (other_release, "the worker is incompatible: its release ("),
        (lambda patch: patch.setitem(settings.SITEMAPS09, "MAX_BYTES", 9_001), DIFFERS),
        (lambda patch: patch.setattr(Hooked, "changefreq", "daily", raising=False), DIFFERS),
        (lambda patch: fill_disk(patch, ".signed"), "OSError: No space left on device"),
        (lambda patch: patch.setattr(Hooked, "hook", broken), "ImproperlyConfigured: broken there"),
    ], ids=["release", "setting", "declaration", "disk", "code"])  # fmt: skip
    def test_leaves_its_pages_to_the_export_and_is_named_once(self, queue, pauses, caplog, change, reason):
        serial = queue.serial("hooked")
        queue.received = lambda number: work_as_misfit(queue, number, change)
        report = queue.export("hooked")
        assert (queue.public(), report.exit_status, queue.runs()) == (serial, 0, [])
        [warning] = report.warnings
        assert warning.startswith(REFUSED + reason)
        assert warning.endswith(f". The export itself rendered {len(queue.sent)} pages.")
        assert len([message for message in caplog.messages if "A test worker refused" in message]) == 1
        # Other workers get their share meanwhile.
        assert (rendered(report), pauses) == ((PAGES, 0), [1.0] * len(queue.sent))

    def test_leaves_pages_to_one_that_does(self, queue):
        queue.received = lambda n: work_as_misfit(queue, n, other_release) if n % 2 else queue.work(n)
        report = queue.export()
        here, by_workers = rendered(report)
        # The command may have taken pages that were not sent yet.
        assert (here + by_workers, by_workers >= PAGES // 2 - 1) == (PAGES, True)
        assert (len(report.warnings), report.exit_status) == (1, 0)

    @pytest.mark.parametrize("is_full", [True, False])
    def test_costs_nothing_but_its_messages_if_it_cannot_reply(self, queue, pauses, tmp_path, is_full):
        """It has another folder, where no run is active, or its disk is full."""
        other = tmp_path / "unmounted"

        def change(patch):
            if is_full:
                fill_disk(patch)
            else:
                patch.setattr(LocalStore, "folder", other, raising=False)
                patch.setattr(LocalStore, "_path", lambda store, name: other / name)
                patch.setattr(LocalStore, "_inside", lambda *parts: other)

        queue.received = lambda number: work_as_misfit(queue, number, change)
        report = queue.export()
        assert (report.exit_status, rendered(report), queue.seconds) == (0, (PAGES, 0), 0)
        assert (pauses, other.exists()) == ([1.0] * 4, False)

    def test_replaces_no_reply_by_its_refusal(self, queue):
        def both(number):
            queue.work_claimed(queue.pages()[number])
            with pytest.MonkeyPatch.context() as patch:
                other_release(patch)
                messages.handle_message(queue.sent[number], is_awaited=True)

        queue.received = both
        report = queue.export()
        assert (rendered(report)[1], report.warnings) == (PAGES, [])


def test_a_page_whose_reply_cannot_be_read_is_rendered_here(queue, monkeypatch):
    read = LocalStore.read

    def other_user(store, name, most):
        if name.endswith(".signed") and queue.seconds == 0 and len(queue.sent) > 3:
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), name)
        return read(store, name, most)

    queue.received = lambda number: queue.work(number) if number < 4 else None
    monkeypatch.setattr(LocalStore, "read", other_user)
    report = queue.export()
    assert report.exit_status == 0
    assert "PermissionError(13, 'Permission denied')" in report.warnings[0]


@pytest.mark.parametrize("is_visible", [True, False])
def test_a_message_of_an_ended_run_is_ignored(queue, pauses, caplog, is_visible):
    queue.export()
    if not is_visible:
        shutil.rmtree(queue.output)
    before = is_visible and queue.files()
    caplog.clear()
    queue.work(*range(len(queue.sent)))
    assert pauses == ([] if is_visible else [1.0] * len(queue.sent))
    assert {record.levelname for record in caplog.records} == {"WARNING"}
    assert (queue.output.exists(), is_visible and queue.files()) == (is_visible, before)
