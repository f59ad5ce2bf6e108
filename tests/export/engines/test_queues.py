"""What the export sends to a queue, what it renders itself, and what it reports, with a fake queue."""

from __future__ import annotations

import shutil
import threading

import pytest
from django.core.exceptions import ImproperlyConfigured

from django_sitemaps09.export import export, export_hosts
from tests.export.engines.fake_queue import ENGINE, PAGE, PAGES, Hooked, everywhere, rendered
from tests.models import Article
from tests.support import published
from tests.support.articles import write_keys
from tests.support.internals import messages, sink

NOBODY = "No test worker took a page, so the export itself rendered all. Start a worker that reads the list"
HOSTS = ("https://a.example", "https://b.example")


class TestWithoutWorkers:
    @everywhere
    def test_the_export_itself_renders_all_pages_without_waiting(self, queue):
        # S3 is slow.
        names = ["a"] if queue.output is None else ["a", "b"]
        serial, report = queue.serial(*names), queue.export(*names)
        assert (queue.public(), queue.runs()) == (serial, [])
        assert (rendered(report), queue.seconds) == ((len(names) * PAGES, 0), 0)
        assert (report.exit_status, report.warnings) == (0, [])

    @pytest.mark.parametrize("workers", [1, 8])
    def test_never_more_than_two_messages_for_each_are_out_even_after_hours(self, queue, workers):
        write_keys(*range(1_000, 1_000 + 20 * PAGE))
        queue.on_item(lambda item: setattr(queue, "now", queue.now + 600))
        report = queue.export("a", "hooked", "b", workers=workers)
        assert (rendered(report), len(queue.sent)) == ((3 * (PAGES + 20), 0), 2 * workers)

    @pytest.mark.parametrize(("seconds", "is_inside", "warnings", "failures"), [
        (4, False, 0, 0), (29, False, 1, 0), (31, False, 0, 1), (100, True, 1, 0),
    ])  # fmt: skip
    def test_a_message_may_lie_for_30_seconds(self, queue, seconds, is_inside, warnings, failures):
        queue.on_item(lambda item: setattr(queue, "now", 1_000 + seconds))
        report = queue.export("hooked", in_worker=is_inside)
        assert (report.published, report.exit_status) == (True, failures)
        assert (len(report.warnings), len(report.failures)) == (warnings, failures)
        lines = [*report.warnings, *report.failures]
        assert all(line.startswith(NOBODY) and "(pytest)" in line for line in lines)
        # The next host or run begins anew.
        queue.now += 100
        assert queue.export("a").exit_status == 0

    @pytest.mark.parametrize("page", [1, 4])
    def test_the_status_is_0_if_a_worker_has_taken_one_in_the_last_moment(self, queue, page):
        """It drops the message of page 1, which the export has rendered, or renders the last page sent."""

        def last(item):
            queue.now += 20
            if item.pk == PAGES * PAGE:
                queue.work(queue.pages().index(page))

        queue.on_item(last)
        report = queue.export("hooked")
        assert (report.failures, report.warnings) == ([], [])

    def test_dry_runs_and_sections_of_one_page_send_nothing(self, queue):
        report = queue.export(dry_run=True)
        assert (report.urls, rendered(report)) == (PAGES * PAGE, (PAGES, 0))
        assert (queue.sent, queue.runs()) == ([], [])
        Article.objects.filter(pk__gt=PAGE).delete()
        queue.export()
        assert queue.sent == []


def test_the_awaited_page_comes_first_and_then_those_from_the_far_end(queue):
    """A window of eight pages for one worker, which claims the second one and returns it late."""
    order = []

    def page(item):
        order.extend([item.pk // PAGE + 1] if item.pk % PAGE == 1 else [])
        if order == [1] and item.pk == PAGE:
            queue.claim(queue.pages().index(2))

    queue.on_item(page)
    queue.at(3, lambda: queue.work_claimed(2))
    queue.export("hooked", workers=1)
    # The thread that finishes page 1 has time for page 8. Page 2 is awaited while others are rendered.
    assert order == [1, 8, 9, 7, 6, 5, 4, 3, 2, 10]


def test_all_that_workers_can_take_is_sent_once_in_the_order_of_the_pages(queue):
    queue.received = queue.work
    report = queue.export(workers=1)
    assert (queue.pages(), rendered(report)) == ([*range(1, PAGES + 1)], (0, PAGES))


@everywhere
def test_results_are_those_of_the_export_alone_whoever_renders(queue):
    names = ["a"] if queue.output is None else ["a", "b", "hooked"]
    serial = queue.serial(*names)
    queue.received = lambda number: queue.work(number) if number % 3 else None
    report = queue.export(*names)
    own, others = rendered(report)
    assert (own + others, own > 0, others > 0) == (len(names) * PAGES, True, True)
    assert (queue.public(), report.exit_status, queue.runs()) == (serial, 0, [])
    assert queue.export(*names).written == ()


def test_pages_that_splitting_adds_are_sent_and_taken_too_and_others_are_merged(queue, configure):
    # The last pages have longer URLs than the first, by which the size of pages is measured.
    for pk in range(PAGE + 1, PAGES * PAGE + 1):
        Article.objects.filter(pk=pk).update(slug=f"{'x' * 100}{pk}")
    configure(MAX_BYTES=700)
    serial = queue.serial()
    queue.received = lambda number: queue.work(number) if number % 2 else None
    assert (queue.export(workers=1).sections[0].split > 0, max(queue.pages()) > PAGES) == (True, True)
    assert queue.public() == serial
    assert len({queue.content(number)["token"] for number in range(len(queue.sent))}) == len(queue.sent)
    # Then pages are merged, as they are in a copy by the export alone.
    twin = shutil.copytree(queue.output, queue.output.with_name("twin"))
    Article.objects.filter(pk__gt=PAGE).exclude(pk__in=range(10, PAGES * PAGE, 8)).delete()
    reports = [queue.export(workers=1), export(["a"], output=twin, engine="serial")]
    found, alone = ([(file.until, file.digest) for file in each.sections[0].files] for each in reports)
    assert (found, reports[0].sections[0].merged > 1, rendered(reports[0])[1] > 0) == (alone, True, True)
    # Another codec compresses no file again.
    configure(GZIP_LEVEL=9)
    assert queue.export(workers=1).written == ()


def test_a_page_is_finished_by_a_thread_while_the_next_one_is_read(queue, monkeypatch):
    """As the engine `serial` does: the file of a page is still open when the next page is read."""
    ended, waited, finish = threading.Event(), [], sink.Sink._finish

    def slowly(self):
        waited.append(ended.wait(20))
        finish(self)

    monkeypatch.setattr(sink.Sink, "_finish", slowly)
    Hooked.hook = staticmethod(lambda item: ended.set() if item.pk == PAGES * PAGE else None)
    queue.export("hooked", workers=8)
    assert all(waited)


class TestMessages:
    @pytest.mark.parametrize("workers", [1, 3])
    def test_are_never_more_than_two_for_each_worker_while_one_is_slow(self, queue, children, workers):
        """It needs longer for a page than messages need to look lost."""
        write_keys(*range(1_000, 1_000 + 30 * PAGE))
        taken = [None]

        def page(item):
            queue.now += 10
            if taken[-1] is None or queue.folder(taken[-1]).has(messages.REPLY):
                taken.append(queue.take())
            assert len(queue.sent) - queue.taken <= 2 * workers

        queue.on_item(page)
        children(lambda child: child.renders())
        queue.export("hooked", workers=workers)
        assert queue.taken > 1

    @pytest.mark.parametrize(("takes", "seconds", "pages", "most"), [
        # A worker takes all, answers one and dies; then one message shows that another worker exists.
        (lambda number: number == 0 or number > 4, 4, range(11, 41), 41),
        # All workers have left.
        (lambda number: number < 3, 60, range(3, 4), 3 + 4 + 1),
    ])  # fmt: skip
    def test_that_vanish_cost_one_more_and_keep_nobody_from_work(self, queue, takes, seconds, pages, most):
        write_keys(*range(1_000, 1_000 + 30 * PAGE))
        queue.received = lambda number: queue.work(number) if takes(number) else None
        queue.on_item(lambda item: setattr(queue, "now", queue.now + seconds))
        assert rendered(queue.export("hooked", workers=2))[1] in pages
        assert len(queue.sent) <= most

    @pytest.mark.parametrize("is_working", [True, False])
    def test_of_a_section_that_fails_midway_are_dropped_and_count_until_then(self, queue, is_working):
        def fail(item):
            if queue.sent and item.pk > (PAGES - 1) * PAGE:
                raise ImproperlyConfigured("the project is broken")

        def work(report):
            assert report.failure or report.section == "a"
            queue.now += 1
            if is_working and report.failure:
                before = queue.folder(0).names() or set()
                queue.work(*range(4))
                claims = {f"{queue.folder(number).token}{messages.CLAIM}" for number in range(4)}
                assert (queue.folder(0).names() or set()) - before == claims

        Hooked.hook = staticmethod(fail)
        report = queue.export("hooked", "a", progress=work)
        assert report.sections[0].failure == "ImproperlyConfigured: the project is broken"
        assert [name for name in queue.public() if "hooked" in name] == []
        assert len(queue.sent) == (8 if is_working else 4)

    def test_are_not_sent_any_more_after_one_could_not_be_sent(self, queue, caplog):
        def broken(number):
            if number == 2:
                raise RuntimeError("amqp://me:secret@broker/")
            queue.work(number)

        queue.received = broken
        serial, report = queue.serial("a", "b"), queue.export("a", "b")
        assert (len(queue.sent), queue.public()) == (3, serial)
        assert (report.exit_status, rendered(report)) == (0, (2 * PAGES - 2, 2))
        reason = "the list does not accept messages (RuntimeError)"
        assert report.warnings == [f"Pages cannot be sent: {reason}. The export itself rendered the pages."]
        assert "secret" not in caplog.text
        # The broker can be back in the next run.
        queue.received = queue.work
        assert queue.export("b", force=["b"]).warnings == []


class TestSeveralHosts:
    @pytest.mark.parametrize("is_working", [True, False])
    def test_have_one_engine_and_a_run_of_their_own(self, queue, is_working):
        queue.received = queue.work if is_working else queue.received
        reports = export_hosts(HOSTS, ["a", "b"], output=queue.output, engine=ENGINE, workers=2)
        assert (len(queue.engines), queue.left) == (1, queue.engines)
        serial = queue.output.with_name("serial")
        export_hosts(HOSTS, ["a", "b"], output=serial, engine="serial")
        pages = (0, 2 * PAGES) if is_working else (2 * PAGES, 0)
        for folder, report in zip(("a.example", "b.example"), reports.values(), strict=True):
            assert published.unpacked(queue.output / folder) == published.unpacked(serial / folder)
            assert (report.exit_status, report.urls, rendered(report)) == (0, 2 * PAGES * PAGE, pages)
        folders = [queue.content(number)["renderer"]["folder"] for number in range(len(queue.sent))]
        assert set(folders) == {"a.example", "b.example"}
        # The messages of the first run do not count in the second one.
        assert is_working or len(folders) == 2 * 4

    def test_with_a_worker_for_the_second_alone_are_told_apart(self, queue):
        def received(number):
            if queue.content(number)["renderer"]["folder"] == "b.example":
                queue.work(number)

        queue.received = received
        queue.on_item(lambda item: setattr(queue, "now", queue.now + 10))
        reports = export_hosts(HOSTS, ["hooked"], output=queue.output, engine=ENGINE, workers=2)
        first, second = reports.values()
        [failure] = first.failures
        assert failure.startswith("https://a.example: " + NOBODY)
        assert (second.failures, second.warnings) == ([], [])
