"""What the export sends to a queue, what it renders itself, and what it reports, with a fake queue."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest
from django.core.exceptions import ImproperlyConfigured

from django_sitemaps09.export import SectionReport, export_hosts
from django_sitemaps09.export.engines import queues
from django_sitemaps09.export.engines.messages import CLAIM, REPLY
from django_sitemaps09.export.rendering import sink
from tests.export.engines.fake_queue import (
    ENGINE,
    PAGE,
    PAGES,
    Hooked,
    Queue,
    add_rows,
    everywhere,
    rendered,
)
from tests.models import Article
from tests.support import published

NOBODY = "No test worker took a page, so the export itself rendered all. Start a worker that reads the list"


class TestWithoutWorkers:
    @everywhere
    def test_the_export_itself_renders_all_pages_without_waiting(self, queue: Queue) -> None:
        # S3 is slow.
        names = ["a"] if queue.output is None else ["a", "b"]
        serial = queue.serial(*names)
        report = queue.export(*names)
        assert (queue.public(), queue.runs()) == (serial, [])
        assert (rendered(report), queue.seconds) == ((len(names) * PAGES, 0), 0)
        assert (report.exit_status, report.warnings) == (0, [])

    @pytest.mark.parametrize("workers", [1, 8])
    def test_never_more_than_two_messages_for_each_are_out_even_after_hours(
        self, queue: Queue, workers: int
    ) -> None:
        add_rows(range(1_000, 1_000 + 20 * PAGE))

        def hour(item: Article) -> None:
            queue.now += 600

        queue.on_item(hour)
        report = queue.export("a", "hooked", "b", workers=workers)
        assert rendered(report) == (3 * (PAGES + 20), 0)
        assert len(queue.sent) == 2 * workers

    @pytest.mark.parametrize(("seconds", "kind"), [(4, None), (29, "warnings"), (31, "failures")])
    def test_the_status_is_1_only_if_a_message_lay_for_30_seconds(
        self, queue: Queue, seconds: int, kind: str | None
    ) -> None:
        queue.on_item(lambda item: setattr(queue, "now", 1_000 + seconds))
        report = queue.export("hooked")
        assert report.published
        assert report.exit_status == (1 if kind == "failures" else 0)
        for name in ("warnings", "failures"):
            lines = getattr(report, name)
            assert len(lines) == (name == kind)
            assert all(line.startswith(NOBODY) and "(pytest)" in line for line in lines)
        # The next host or run begins anew.
        queue.now += 100
        assert queue.export("a").exit_status == 0

    def test_the_status_is_0_inside_of_the_only_worker(self, queue: Queue) -> None:
        queue.on_item(lambda item: setattr(queue, "now", 1_100))
        token = queues.in_worker.set(True)
        try:
            report = queue.export("hooked")
        finally:
            queues.in_worker.reset(token)
        [warning] = report.warnings
        assert (report.exit_status, warning.startswith(NOBODY)) == (0, True)

    @pytest.mark.parametrize("page", [1, 4])
    def test_the_status_is_0_if_a_worker_has_taken_one_in_the_last_moment(
        self, queue: Queue, page: int
    ) -> None:
        """It drops the message of page 1, which the export has rendered, or renders the last page sent."""

        def last(item: Article) -> None:
            queue.now += 20
            if item.pk == PAGES * PAGE:
                queue.work(queue.by_page()[page])

        queue.on_item(last)
        report = queue.export("hooked")
        assert (report.failures, report.warnings) == ([], [])

    def test_a_dry_run_sends_nothing(self, queue: Queue) -> None:
        report = queue.export(dry_run=True)
        assert (queue.sent, queue.runs(), report.urls) == ([], [], PAGES * PAGE)
        assert rendered(report) == (PAGES, 0)

    def test_one_page_and_pages_that_did_not_change_are_not_sent(self, queue: Queue) -> None:
        Article.objects.filter(pk__gt=PAGE).delete()
        queue.export()
        assert queue.sent == []


class TestTheOrder:
    def test_the_awaited_page_comes_first_and_then_those_from_the_far_end(self, queue: Queue) -> None:
        """A window of eight pages for one worker, which claims the second one and returns it late."""
        order: list[int] = []

        def page(item: Article) -> None:
            order.extend([item.pk // PAGE + 1] if item.pk % PAGE == 1 else [])
            if order == [1] and item.pk == PAGE:
                queue.claim(queue.by_page()[2])

        queue.on_item(page)
        queue.at(3, lambda: queue.work_claimed(2))
        queue.export("hooked", workers=1)
        # The thread that finishes page 1 has time for page 8. Page 2 is awaited while others are rendered.
        assert order == [1, 8, 9, 7, 6, 5, 4, 3, 2, 10]

    def test_all_that_workers_can_take_is_sent_once_in_the_order_of_the_pages(self, queue: Queue) -> None:
        queue.received = queue.work
        report = queue.export(workers=1)
        assert [queue.page(number) for number in range(PAGES)] == [*range(1, PAGES + 1)]
        assert (len(queue.sent), rendered(report)) == (PAGES, (0, PAGES))

    @everywhere
    def test_results_are_those_of_the_export_alone_whoever_renders(self, queue: Queue) -> None:
        names = ["a"] if queue.output is None else ["a", "b", "hooked"]
        serial = queue.serial(*names)
        queue.received = lambda number: queue.work(number) if number % 3 else None
        report = queue.export(*names)
        own, others = rendered(report)
        assert (own + others, own > 0, others > 0) == (len(names) * PAGES, True, True)
        assert (queue.public(), report.exit_status, queue.runs()) == (serial, 0, [])
        assert queue.export(*names).written == ()

    def test_pages_that_splitting_adds_are_sent_and_taken_too(
        self, queue: Queue, configure: Callable[..., None]
    ) -> None:
        # The last pages have longer URLs than the first, by which the size of pages is measured.
        Article.objects.filter(pk__gt=PAGE).update(slug="x" * 100)
        for pk in range(PAGE + 1, PAGES * PAGE + 1):
            Article.objects.filter(pk=pk).update(slug=f"{'x' * 100}{pk}")
        configure(MAX_BYTES=700)
        serial = queue.serial()
        queue.received = lambda number: queue.work(number) if number % 2 else None
        report = queue.export(workers=1)
        assert report.sections[0].split
        assert queue.public() == serial
        assert max(queue.by_page()) > PAGES
        assert len({queue.content(number)["token"] for number in range(len(queue.sent))}) == len(queue.sent)

    def test_a_page_is_finished_by_a_thread_while_the_next_one_is_read(
        self, queue: Queue, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """As the engine `serial` does: the file of a page is still open when the next page is read."""
        ended, waited = threading.Event(), []
        finish = sink.Sink._finish

        def slowly(self: Any) -> None:
            waited.append(ended.wait(20))
            finish(self)

        monkeypatch.setattr(sink.Sink, "_finish", slowly)
        Hooked.hook = staticmethod(lambda item: ended.set() if item.pk == PAGES * PAGE else None)
        queue.export("hooked", workers=8)
        assert all(waited)


class TestMessages:
    @pytest.mark.parametrize("workers", [1, 3])
    def test_are_never_more_than_two_for_each_worker_while_one_is_slow(
        self, queue: Queue, children: Callable[..., None], workers: int
    ) -> None:
        """It needs longer for a page than messages need to look lost."""
        add_rows(range(1_000, 1_000 + 30 * PAGE))
        taken: list[int | None] = [None]

        def page(item: Article) -> None:
            queue.now += 10
            if taken[-1] is None or queue.folder(taken[-1]).has(REPLY):
                taken.append(queue.take())
            assert len(queue.sent) - queue.taken <= 2 * workers

        queue.on_item(page)
        children(lambda child: child.renders())
        queue.export("hooked", workers=workers)
        assert queue.taken > 1

    def test_that_vanish_with_a_worker_do_not_keep_others_from_work(self, queue: Queue) -> None:
        """A worker takes all, answers one and dies; then one message shows that another worker exists."""
        add_rows(range(1_000, 1_000 + 30 * PAGE))
        queue.received = lambda number: queue.work(number) if number == 0 or number > 4 else None

        queue.on_item(lambda item: setattr(queue, "now", queue.now + 4))
        report = queue.export("hooked", workers=2)
        assert rendered(report)[1] > 10

    def test_are_at_most_one_more_if_all_workers_have_left(self, queue: Queue) -> None:
        add_rows(range(1_000, 1_000 + 30 * PAGE))
        queue.received = lambda number: queue.work(number) if number < 3 else None
        queue.on_item(lambda item: setattr(queue, "now", queue.now + 60))
        report = queue.export("hooked", workers=2)
        assert rendered(report)[1] == 3
        assert len(queue.sent) <= 3 + 4 + 1

    @pytest.mark.parametrize("is_working", [True, False])
    def test_of_a_section_that_fails_midway_are_dropped_and_count_until_then(
        self, queue: Queue, *, is_working: bool
    ) -> None:
        def fail(item: Article) -> None:
            if queue.sent and item.pk > (PAGES - 1) * PAGE:
                raise ImproperlyConfigured("the project is broken")

        def work(report: SectionReport) -> None:
            assert report.failure or report.section == "a"
            queue.now += 1
            if is_working and report.failure:
                before = queue.folder(0).names() or set()
                queue.work(*range(4))
                tokens = [queue.folder(number).token for number in range(4)]
                names = queue.folder(0).names() or set()
                assert names - before == {f"{token}{CLAIM}" for token in tokens}

        Hooked.hook = staticmethod(fail)
        report = queue.export("hooked", "a", progress=work)
        assert report.sections[0].failure == "ImproperlyConfigured: the project is broken"
        assert [name for name in queue.public() if "hooked" in name] == []
        assert len(queue.sent) == (8 if is_working else 4)

    def test_are_not_sent_any_more_after_one_could_not_be_sent(
        self, queue: Queue, caplog: pytest.LogCaptureFixture
    ) -> None:
        def broken(number: int) -> None:
            if number == 2:
                raise RuntimeError("amqp://me:secret@broker/")
            queue.work(number)

        queue.received = broken
        serial = queue.serial("a", "b")
        report = queue.export("a", "b")
        assert (len(queue.sent), queue.public()) == (3, serial)
        assert (report.exit_status, rendered(report)) == (0, (2 * PAGES - 2, 2))
        assert report.warnings == [
            "Pages cannot be sent: the list does not accept messages (RuntimeError). The export itself "
            "rendered the pages."
        ]
        assert "secret" not in caplog.text
        # The broker can be back in the next run.
        queue.received = queue.work
        assert queue.export("b", force=["b"]).warnings == []


class TestSeveralHosts:
    HOSTS = ("https://a.example", "https://b.example")

    @pytest.mark.parametrize("is_working", [True, False])
    def test_have_one_engine_and_a_run_of_their_own(self, queue: Queue, *, is_working: bool) -> None:
        if is_working:
            queue.received = queue.work
        reports = export_hosts(self.HOSTS, ["a", "b"], output=queue.output, engine=ENGINE, workers=2)
        assert queue.output is not None
        serial = queue.output.with_name("serial")
        export_hosts(self.HOSTS, ["a", "b"], output=serial, engine="serial")
        for folder in ("a.example", "b.example"):
            assert published.unpacked(queue.output / folder) == published.unpacked(serial / folder)
        for report in reports.values():
            assert (report.exit_status, report.urls) == (0, 2 * PAGES * PAGE)
            assert rendered(report) == ((0, 2 * PAGES) if is_working else (2 * PAGES, 0))
        folders = {queue.content(number)["renderer"]["folder"] for number in range(len(queue.sent))}
        assert folders == {"a.example", "b.example"}
        if not is_working:
            # The messages of the first run do not count in the second one.
            assert len(queue.sent) == 2 * 4

    def test_with_a_worker_for_the_second_alone_are_told_apart(self, queue: Queue) -> None:
        def received(number: int) -> None:
            if queue.content(number)["renderer"]["folder"] == "b.example":
                queue.work(number)

        queue.received = received
        queue.on_item(lambda item: setattr(queue, "now", queue.now + 10))
        first, second = export_hosts(
            self.HOSTS, ["hooked"], output=queue.output, engine=ENGINE, workers=2
        ).values()
        [failure] = first.failures
        assert failure.startswith("https://a.example: " + NOBODY)
        assert (second.failures, second.warnings) == ([], [])
