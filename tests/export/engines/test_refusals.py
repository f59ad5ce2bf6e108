"""Workers that refuse pages: the export renders these itself, and says why, with a fake queue."""

from __future__ import annotations

import errno
import os
import shutil
import socket

import pytest
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

import django_sitemaps09
from django_sitemaps09.export.engines import messages
from django_sitemaps09.export.engines.messages import handle_message
from django_sitemaps09.stores import LocalStore
from tests.export.engines.fake_queue import PAGES, Articles, Hooked, rendered

REFUSED = f"A test worker refused a page: {socket.gethostname()}: "
DIFFERS = "the worker is incompatible: its section 'a' differs from the command's"


@pytest.fixture
def pauses(monkeypatch):
    pauses = []
    monkeypatch.setattr(messages, "PAUSE", 1.0)
    monkeypatch.setattr("time.sleep", pauses.append)
    return pauses


def fill_disk(patch, has_room_for="nothing"):
    write = LocalStore.write

    def full(store, name, *content):
        if name.endswith(has_room_for):
            return write(store, name, *content)
        raise OSError(errno.ENOSPC, "No space left on device")

    patch.setattr(LocalStore, "write", full)


def other_release(patch):
    patch.setattr(django_sitemaps09, "__version__", "99.1")


def work_as_misfit(queue, number, change):
    with pytest.MonkeyPatch.context() as patch:
        change(patch)
        queue.work(number)


class TestAWorkerThatDoesNotFit:
    @pytest.mark.parametrize(
        ("change", "reason"),
        [
            (other_release, "the worker is incompatible: its release ("),
            (lambda patch: patch.setitem(settings.SITEMAPS09, "MAX_BYTES", 9_001), DIFFERS),
            (lambda patch: patch.setattr(Articles, "changefreq", "daily", raising=False), DIFFERS),
            (lambda patch: fill_disk(patch, ".signed"), "OSError: No space left on device"),
        ],
        ids=["release", "setting", "declaration", "disk"],
    )
    def test_leaves_its_pages_to_the_export_and_is_named_once(self, queue, pauses, caplog, change, reason):
        serial = queue.serial()
        queue.received = lambda number: work_as_misfit(queue, number, change)
        report = queue.export()
        assert (queue.public(), report.exit_status, queue.runs()) == (serial, 0, [])
        [warning] = report.warnings
        assert warning.startswith(REFUSED + reason)
        assert warning.endswith(f". The export itself rendered {len(queue.sent)} pages.")
        assert len([message for message in caplog.messages if "A test worker refused" in message]) == 1
        # Other workers get their share meanwhile.
        assert (rendered(report), pauses) == ((PAGES, 0), [1.0] * len(queue.sent))

    def test_leaves_pages_to_one_that_does(self, queue):
        queue.received = lambda number: (
            work_as_misfit(queue, number, other_release) if number % 2 else queue.work(number)
        )
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
            queue.work_claimed(queue.page(number))
            with pytest.MonkeyPatch.context() as patch:
                other_release(patch)
                handle_message(queue.sent[number], is_awaited=True)

        queue.received = both
        report = queue.export()
        assert (rendered(report)[1], report.warnings) == (PAGES, [])


def test_a_page_that_fails_in_a_worker_alone_is_rendered_here(queue):
    working = []

    def broken(item):
        if working:
            raise ImproperlyConfigured("the project is broken there")

    def received(number):
        working.append(number)
        queue.work(number)
        working.clear()

    Hooked.hook = staticmethod(broken)
    queue.received = received
    report = queue.export("hooked")
    assert (report.exit_status, report.failures) == (0, [])
    [warning] = report.warnings
    assert warning.startswith(f"{REFUSED}ImproperlyConfigured: the project is broken there. The exp")


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
def test_a_message_of_an_ended_run_is_ignored_at_once_if_the_target_is_seen(
    queue, pauses, caplog, is_visible
):
    queue.export()
    if not is_visible:
        shutil.rmtree(queue.output)
    before = is_visible and queue.files()
    caplog.clear()
    queue.work(*range(len(queue.sent)))
    assert pauses == ([] if is_visible else [1.0] * len(queue.sent))
    assert {record.levelname for record in caplog.records} == {"WARNING"}
    assert (queue.output.exists(), is_visible and queue.files()) == (is_visible, before)
