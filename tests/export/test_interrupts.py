"""Signals that end an export: one line, an exit status, and nothing left behind."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import sys
import threading
import time

import pytest
from django.core.management import CommandError, call_command, execute_from_command_line

from django_sitemaps09.export import export
from django_sitemaps09.export.interrupts import Interrupted, interruptible, uninterrupted
from tests.support.engine_project import PAGE, Project, articles, entered, gate, runs
from tests.support.killing import lives
from tests.support.processes import DEADLINE, ended, until
from tests.support.published import quick_folder
from tests.support.sections import Numbers

pytestmark = pytest.mark.slow
# A page has 95 rows, based on the first 200 rows, which are read before all pages.
PAGES, SAMPLE = 7, 200
SIGNALS = [(signal.SIGINT, 130), (signal.SIGTERM, 143)]


@pytest.fixture(autouse=True)
def _no_signal_is_ignored():
    """Restore the default handler for interrupts, which commands in the background ignore."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def meet():
    gate(os.getpid()).touch()
    until(gate("open").exists, "nobody opened the gate")


def location(self, item):
    if gate("rows").exists() and item.pk > SAMPLE and item.pk % PAGE == PAGE // 2:
        meet()
    return f"/articles/{item.pk}/"


SECTIONS = {"articles": articles(location=location)}


class Site(Project):
    def __init__(self, folder, database):
        super().__init__(folder, database)
        self.public = folder / "public"

    def export(self, how, *arguments):
        """Start the command. With `spawn`, workers are spawned instead of forked."""
        keys = {"SITEMAPS": f"{__name__}.SECTIONS", "MAX_BYTES": 1_000_000, "ROOT": str(self.public)}
        return self.start(__name__, how, *arguments, **keys)

    @property
    def files(self):
        left = [*runs(self.public), *self.folder.glob("sitemaps09-*")]
        return len([*self.public.glob("sitemap-articles-*.xml.gz")]), left


def run(how, *arguments):
    from tests.support.internals import LocalStore

    promote = LocalStore.promote
    if how in ("fork", "spawn"):
        multiprocessing.set_start_method(how)
    elif how == "publishing":
        LocalStore.promote = lambda *arguments: meet() or promote(*arguments)
    execute_from_command_line(["manage.py", "export_sitemaps", *arguments])


@pytest.fixture
def site(database, monkeypatch):
    with quick_folder() as folder:
        monkeypatch.setenv("TMPDIR", str(folder))
        made = Site(folder, database)
        yield made
        made.gate("open").touch()


@pytest.mark.parametrize(("number", "status"), SIGNALS)
@pytest.mark.parametrize(("how", "workers"), [("serial", "1"), ("fork", "2"), ("spawn", "2")])
def test_a_signal_while_pages_are_rendered_leaves_nothing_behind(site, how, workers, number, status):
    site.gate("rows").touch()
    with site.export(how, "--workers", workers) as process:
        until(lambda: len(entered(site.gate())) == int(workers), "the pages never began")
        if number == signal.SIGINT:
            # A terminal sends the signal to all processes, and a launcher may send it again.
            os.killpg(process.pid, number)
        process.send_signal(number)
        code, _, errors = ended(process)
    error = f"Interrupted by {signal.Signals(number).name}: nothing further was published."
    assert (code, errors, site.files) == (status, f"CommandError: {error}\n", (0, []))
    until(lambda: not any(map(lives, entered(site.gate()))), "a worker is left")
    site.gate("open").touch()
    assert (ended(site.export("serial"))[0], site.files) == (0, (PAGES, []))


@pytest.mark.parametrize(("number", "status"), SIGNALS)
def test_a_signal_while_files_are_published_takes_effect_afterwards(site, number, status):
    with site.export("publishing", "--workers", "1") as process:
        until(lambda: entered(site.gate()), "nothing was published")
        process.send_signal(number)
        time.sleep(0.2)
        assert process.poll() is None
        site.gate("open").touch()
        code, _, errors = ended(process)
    assert (code, errors.count("\n"), "was completed first" in errors) == (status, 1, True)
    assert (site.files, (site.public / ".sitemaps09" / "journal.json").exists()) == ((PAGES, []), False)
    code, out, errors = ended(site.export("serial"))
    assert (code, errors, "completed" in out) == (0, "", False)


def test_a_second_signal_interrupts_publishing_and_the_next_run_finishes_it(site):
    with site.export("publishing", "--workers", "1") as process:
        until(lambda: entered(site.gate()), "nothing was published")
        process.send_signal(signal.SIGTERM)
        time.sleep(1.2)
        process.send_signal(signal.SIGTERM)
        code, _, errors = ended(process)
    assert (code, errors.count("\n"), "the next export will finish it" in errors) == (143, 1, True)
    assert (site.public / ".sitemaps09" / "journal.json").exists()
    site.gate("open").touch()
    assert (ended(site.export("serial"))[0], site.files) == (0, (PAGES, []))


def handlers():
    return [signal.getsignal(number) for number, _ in SIGNALS]


class Spy(Numbers):
    """Note the signal handlers while the items are read, after raising a signal."""

    number, seen = None, ()

    def items(self):
        if self.number:
            signal.raise_signal(self.number)
        self.seen = handlers()
        return super().items()


@pytest.mark.sitemaps09
class TestHandlers:
    @pytest.fixture
    def spy(self, register):
        made = Spy(3)
        register(spy=made)
        return made

    def test_of_other_programs_stay(self, tmp_path, spy):
        def own(number, frame):
            """Signal handler of a server."""

        before = signal.signal(signal.SIGTERM, own)
        try:
            call_command("export_sitemaps", output=str(tmp_path), verbosity=0)
            assert spy.seen[1] is signal.getsignal(signal.SIGTERM) is own
        finally:
            signal.signal(signal.SIGTERM, before)

    @pytest.mark.parametrize(("number", "status"), SIGNALS)
    def test_end_a_caller_that_goes_on_after_errors(self, tmp_path, spy, number, status):
        def call_all():
            for _ in range(2):
                with contextlib.suppress(CommandError):
                    call_command("export_sitemaps", output=str(tmp_path), verbosity=0)

        spy.number, before = number, handlers()
        with pytest.raises(Interrupted) as raised:
            call_all()
        assert (raised.value.returncode, handlers()) == (status, before)

    def test_are_not_handled_where_export_is_called_or_in_a_thread(self, tmp_path, spy):
        before = handlers()
        export(output=tmp_path / "alone")
        assert spy.seen == before
        spy.seen = None
        options = {"output": str(tmp_path / "thread"), "verbosity": 0}
        thread = threading.Thread(target=call_command, args=["export_sitemaps"], kwargs=options)
        thread.start()
        thread.join(DEADLINE)
        assert (spy.seen, (tmp_path / "thread" / "sitemap.xml").exists()) == (before, True)

    def test_are_not_delayed_by_another_thread_that_publishes(self):
        publishing, done = threading.Event(), threading.Event()

        def publish():
            with uninterrupted():
                publishing.set()
                done.wait(DEADLINE)

        thread = threading.Thread(target=publish)
        with interruptible():
            thread.start()
            assert publishing.wait(DEADLINE)
            with pytest.raises(Interrupted):
                signal.raise_signal(signal.SIGTERM)
        done.set()
        thread.join(DEADLINE)

    def test_delay_nothing_outside_of_a_command(self):
        with uninterrupted(), pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)


if __name__ == "__main__":
    run(*sys.argv[1:])
