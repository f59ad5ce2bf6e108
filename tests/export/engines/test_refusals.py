"""Workers that refuse pages: the export renders these itself, and says why, with a fake queue."""

from __future__ import annotations

import errno
import shutil
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

import django_sitemaps09
from django_sitemaps09.export.engines import messages
from django_sitemaps09.export.engines.messages import handle_message
from django_sitemaps09.stores import LocalStore
from tests.export.engines.fake_queue import PAGES, Articles, Hooked, Queue, rendered
from tests.models import Article

REFUSED = f"A test worker refused a page: {socket.gethostname()}: "


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    monkeypatch.setattr(messages, "PAUSE", 1.0)
    pauses: list[float] = []
    monkeypatch.setattr("time.sleep", pauses.append)
    return pauses


def limit_bytes(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(settings, "SITEMAPS09", settings.SITEMAPS09 | {"MAX_BYTES": 9_001})


def fill_disk(patch: pytest.MonkeyPatch) -> None:
    """Leave room for the reply alone."""
    write = LocalStore.write

    def full(store: Any, name: str, *content: Any) -> Any:
        if name.endswith(".signed"):
            return write(store, name, *content)
        raise OSError(errno.ENOSPC, "No space left on device")

    patch.setattr(LocalStore, "write", full)


def other_release(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(django_sitemaps09, "__version__", "99.1")


DIFFERS = "the worker is incompatible: its section 'a' differs from the command's"
#: Ways in which a worker can differ from the command, and what it says.
MISFITS: dict[str, tuple[Callable[[pytest.MonkeyPatch], None], str]] = {
    "release": (other_release, "the worker is incompatible: its release ("),
    "setting": (limit_bytes, DIFFERS),
    "declaration": (lambda patch: patch.setattr(Articles, "changefreq", "daily", raising=False), DIFFERS),
    "disk": (fill_disk, "OSError: No space left on device"),
}


def work_as_misfit(queue: Queue, number: int, change: Callable[[pytest.MonkeyPatch], None]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        change(patch)
        queue.work(number)


class TestAWorkerThatDoesNotFit:
    @pytest.mark.parametrize("misfit", MISFITS)
    def test_says_so_and_the_export_renders_its_pages_and_names_the_reason_once(
        self, queue: Queue, pauses: list[float], caplog: pytest.LogCaptureFixture, misfit: str
    ) -> None:
        change, reason = MISFITS[misfit]
        serial = queue.serial()
        queue.received = lambda number: work_as_misfit(queue, number, change)
        report = queue.export()
        assert (queue.public(), report.exit_status, queue.runs()) == (serial, 0, [])
        assert rendered(report) == (PAGES, 0)
        [warning] = report.warnings
        assert warning.startswith(REFUSED + reason)
        assert warning.endswith(f". The export itself rendered {len(queue.sent)} pages.")
        logged = [record for record in caplog.records if "A test worker refused" in record.getMessage()]
        assert len(logged) == 1
        # Other workers get their share meanwhile.
        assert pauses == [1.0] * len(queue.sent)

    def test_leaves_pages_to_one_that_does(self, queue: Queue) -> None:
        queue.received = lambda number: (
            work_as_misfit(queue, number, other_release) if number % 2 else queue.work(number)
        )
        report = queue.export()
        here, by_workers = rendered(report)
        assert here + by_workers == PAGES
        # The command may have taken pages that were not sent yet.
        assert by_workers >= PAGES // 2 - 1
        assert (len(report.warnings), report.exit_status) == (1, 0)

    @pytest.mark.parametrize("is_full", [True, False])
    def test_costs_nothing_but_its_messages_if_it_cannot_reply(
        self, queue: Queue, pauses: list[float], tmp_path: Path, *, is_full: bool
    ) -> None:
        """It has another folder, where no run is active, or its disk is full."""

        def full(*arguments: Any) -> None:
            raise OSError(errno.ENOSPC, "No space left on device")

        def received(number: int) -> None:
            with pytest.MonkeyPatch.context() as patched:
                if is_full:
                    patched.setattr(LocalStore, "write", full)
                else:
                    patched.setattr(LocalStore, "folder", tmp_path / "unmounted", raising=False)
                    patched.setattr(LocalStore, "_path", lambda store, name: tmp_path / "unmounted" / name)
                    patched.setattr(LocalStore, "_inside", lambda *parts: tmp_path / "unmounted")
                queue.work(number)

        queue.received = received
        report = queue.export()
        assert (report.exit_status, rendered(report), queue.seconds) == (0, (PAGES, 0), 0)
        assert pauses == [1.0] * 4
        assert not (tmp_path / "unmounted").exists()

    def test_replaces_no_reply_by_its_refusal(self, queue: Queue) -> None:
        def both(number: int) -> None:
            queue.work_claimed(queue.page(number))
            with pytest.MonkeyPatch.context() as patch:
                other_release(patch)
                handle_message(queue.sent[number], is_awaited=True)

        queue.received = both
        report = queue.export()
        assert (rendered(report)[1], report.warnings) == (PAGES, [])


class TestAPage:
    def test_that_fails_in_a_worker_alone_is_rendered_here(self, queue: Queue) -> None:
        working: list[int] = []

        def broken(item: Article) -> None:
            if working:
                raise ImproperlyConfigured("the project is broken there")

        def received(number: int) -> None:
            working.append(number)
            queue.work(number)
            working.clear()

        Hooked.hook = staticmethod(broken)
        queue.received = received
        report = queue.export("hooked")
        assert (report.exit_status, report.failures) == (0, [])
        [warning] = report.warnings
        assert warning.startswith(f"{REFUSED}ImproperlyConfigured: the project is broken there. The exp")

    def test_whose_reply_cannot_be_read_is_rendered_here(
        self, queue: Queue, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        read = LocalStore.read

        def other_user(store: LocalStore, name: str, most: int) -> bytes | None:
            if name.endswith(".signed") and queue.seconds == 0 and len(queue.sent) > 3:
                raise PermissionError(errno.EACCES, "Permission denied", name)
            return read(store, name, most)

        queue.received = lambda number: queue.work(number) if number < 4 else None
        monkeypatch.setattr(LocalStore, "read", other_user)
        report = queue.export()
        assert report.exit_status == 0
        assert "PermissionError(13, 'Permission denied')" in report.warnings[0]


class TestAMessageOfARunThatHasEnded:
    @pytest.mark.parametrize("is_visible", [True, False])
    def test_is_ignored_at_once_unless_the_worker_does_not_see_the_target(
        self, queue: Queue, pauses: list[float], caplog: pytest.LogCaptureFixture, *, is_visible: bool
    ) -> None:
        queue.export()
        assert queue.output is not None
        if not is_visible:
            shutil.rmtree(queue.output)
        before = queue.files() if is_visible else None
        caplog.clear()
        queue.work(*range(len(queue.sent)))
        assert pauses == ([] if is_visible else [1.0] * len(queue.sent))
        assert {record.levelname for record in caplog.records} == {"WARNING"}
        assert queue.output.exists() is is_visible
        assert before is None or queue.files() == before
