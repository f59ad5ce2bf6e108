"""Signals that end an export: one line, an exit status, and nothing left behind."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from django_sitemaps09 import ModelSitemap, Sitemap
from django_sitemaps09.export import export
from django_sitemaps09.export.interrupts import Interrupted, interruptible, uninterrupted
from tests.support.configuration import BASE
from tests.support.killing import lives
from tests.support.processes import ended, environment, started
from tests.support.published import quick_folder
from tests.support.waiting import DEADLINE, until

pytestmark = pytest.mark.slow
# A page has 95 rows, based on the first 200 rows, which are read before all pages.
ROWS, PAGE, PAGES, SAMPLE = 600, 100, 7, 200
SETTINGS = f"""
import contextlib
import os
from tests.settings import *
DATABASES = {{"default": {{"ENGINE": "django.db.backends.sqlite3", "NAME": os.environ["TESTS_DATABASE"]}}}}
SITEMAPS09 = {{
    "BASE_URL": "{BASE}", "SITEMAPS": "tests.export.test_interrupts.SECTIONS", "MAX_URLS": {PAGE},
    "ROOT": os.environ["TESTS_ROOT"],
}}
"""
#: Runs the command. With `spawn`, workers are spawned instead of forked.
RUN = """
import multiprocessing, sys
if __name__ == "__main__":
    from django.core.management import execute_from_command_line
    how = sys.argv.pop(1)
    if how in ("fork", "spawn"):
        multiprocessing.set_start_method(how)
    if how == "publishing":
        from django_sitemaps09.stores.local import LocalStore
        from tests.export.test_interrupts import meet
        promote = LocalStore.promote
        def slow(self, *arguments):
            meet()
            return promote(self, *arguments)
        LocalStore.promote = slow
    execute_from_command_line(["manage.py", "export_sitemaps", *sys.argv[1:]])
"""


@pytest.fixture(autouse=True)
def no_signal_is_ignored() -> Iterator[None]:
    """Restore the default handler for interrupts.

    Commands that a shell starts in the background, and their children, ignore them.
    """
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def meet() -> None:
    """Signal that this process has arrived, and wait for as long as the gate exists."""
    gate = Path(os.environ["TESTS_GATE"])
    if gate.is_dir():
        (gate / str(os.getpid())).touch()
        until(lambda: not gate.is_dir() or (gate / "open").exists(), "nobody opened the gate")


class Articles(ModelSitemap[Any]):
    """A section of key ranges, which workers render."""

    def get_queryset(self) -> Any:
        from tests.models import Article

        return Article.objects.all()

    def location(self, item: Any) -> str:
        if os.environ["TESTS_WAIT"] == "rows" and item.pk > SAMPLE and item.pk % PAGE == PAGE // 2:
            meet()
        return f"/articles/{item.pk}/"


SECTIONS = {"articles": Articles}


class Site:
    """A folder with a database, and the command that exports its rows."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.public, self.gate = folder, folder / "public", folder / "gate"
        (folder / "interrupt_settings.py").write_text(SETTINGS)
        (folder / "run.py").write_text(RUN)
        self.environ = environment(
            folder,
            "interrupt_settings",
            TESTS_DATABASE=folder / "db.sqlite3",
            TESTS_ROOT=self.public,
            TESTS_GATE=self.gate,
            TMPDIR=folder,
        )
        prepare = (
            "import django; django.setup()\n"
            "from django.core.management import call_command\n"
            "from tests.models import Article\n"
            "call_command('migrate', run_syncdb=True, verbosity=0)\n"
            f"Article.objects.bulk_create(Article(pk=n, slug=f'a{{n}}') for n in range(1, {ROWS} + 1))\n"
        )
        assert ended(started("-c", prepare, environ=self.environ))[0] == 0

    def start(self, how: str, *arguments: str, wait: str = "") -> subprocess.Popen[str]:
        environ = self.environ | {"TESTS_WAIT": wait}
        command = (self.folder / "run.py", how, *arguments)
        return started(*command, environ=environ, start_new_session=True)

    def run(self, *arguments: str) -> tuple[int, str, str]:
        return ended(self.start("serial", *arguments))

    @property
    def met(self) -> list[int]:
        return [int(path.name) for path in self.gate.iterdir() if path.name != "open"]

    @property
    def pages(self) -> int:
        return len(list(self.public.glob("sitemap-articles-*.xml.gz")))

    @property
    def left_over(self) -> Sequence[str]:
        """Return the files that a run has left behind."""
        stages = [path.name for path in self.public.glob(".sitemaps09/run-*")]
        return stages + [path.name for path in self.folder.glob("sitemaps09-*")]


@pytest.fixture
def site() -> Iterator[Site]:
    with quick_folder() as folder:
        made = Site(folder)
        made.gate.mkdir()
        yield made
        (made.gate / "open").touch()


ENGINES = [("serial", "1"), ("fork", "2"), ("spawn", "2")]
SIGNALS = [(signal.SIGINT, 130), (signal.SIGTERM, 143)]


@pytest.mark.parametrize(("number", "status"), SIGNALS, ids=["int", "term"])
@pytest.mark.parametrize(("how", "workers"), ENGINES)
def test_a_signal_while_pages_are_rendered_leaves_nothing_behind(
    site: Site, how: str, workers: str, number: int, status: int
) -> None:
    with site.start(how, "--workers", workers, wait="rows") as process:
        until(lambda: len(site.met) == int(workers), "the pages never began")
        inside = site.met
        if number == signal.SIGINT:
            # A terminal sends the signal to all processes, and a launcher may send it again.
            os.killpg(process.pid, number)
        process.send_signal(number)
        code, _, errors = ended(process)
    name = signal.Signals(number).name
    assert (code, errors) == (
        status,
        f"CommandError: Interrupted by {name}: nothing further was published.\n",
    )
    assert (site.pages, site.left_over) == (0, [])
    until(lambda: not any(lives(pid) for pid in inside if pid != process.pid), "a worker is left")
    (site.gate / "open").touch()
    assert site.run()[0] == 0
    assert site.pages == PAGES


@pytest.mark.parametrize(("number", "status"), SIGNALS, ids=["int", "term"])
def test_a_signal_while_files_are_published_takes_effect_afterwards(
    site: Site, number: int, status: int
) -> None:
    with site.start("publishing", "--workers", "1") as process:
        until(lambda: site.met, "nothing was published")
        process.send_signal(number)
        time.sleep(0.2)
        assert process.poll() is None
        (site.gate / "open").touch()
        code, _, errors = ended(process)
    assert code == status
    assert errors.count("\n") == 1
    assert "was completed first" in errors
    assert (site.pages, site.left_over) == (PAGES, [])
    assert not (site.public / ".sitemaps09" / "journal.json").exists()
    code, out, errors = site.run()
    assert (code, errors) == (0, "")
    assert "completed" not in out


def test_a_second_signal_interrupts_publishing_and_the_next_run_finishes_it(site: Site) -> None:
    with site.start("publishing", "--workers", "1") as process:
        until(lambda: site.met, "nothing was published")
        process.send_signal(signal.SIGTERM)
        time.sleep(1.2)
        process.send_signal(signal.SIGTERM)
        code, _, errors = ended(process)
    assert code == 143
    assert errors.count("\n") == 1
    assert "the next export will finish it" in errors
    assert (site.public / ".sitemaps09" / "journal.json").exists()
    (site.gate / "open").touch()
    assert site.run()[0] == 0
    assert (site.pages, site.left_over) == (PAGES, [])


def handlers() -> list[Any]:
    return [signal.getsignal(number) for number, _ in SIGNALS]


class Spy(Sitemap[int]):
    """Note the signal handlers while the items are read."""

    def __init__(self, seen: list[Any]) -> None:
        self.seen = seen

    def items(self) -> Sequence[int]:
        self.seen[:] = handlers()
        return range(3)

    def location(self, item: int) -> str:
        return f"/{item}/"


class TestHandlers:
    @pytest.fixture
    def seen(self, settings: Any) -> list[Any]:
        """The signal handlers during an export of the configured section."""
        settings.SITEMAPS09 = {"BASE_URL": BASE, "SITEMAPS": "tests.export.test_interrupts.SPIES"}
        seen: list[Any] = []
        SPIES["spy"] = Spy(seen)
        return seen

    def test_of_other_programs_stay(self, tmp_path: Path, seen: list[Any]) -> None:
        def own(number: int, frame: object) -> None:
            """Signal handler of a server."""

        before = signal.signal(signal.SIGTERM, own)
        try:
            call_command("export_sitemaps", output=str(tmp_path), verbosity=0)
            assert seen[1] is own
            assert signal.getsignal(signal.SIGTERM) is own
        finally:
            signal.signal(signal.SIGTERM, before)

    @pytest.mark.parametrize(("number", "status"), SIGNALS, ids=["int", "term"])
    def test_end_a_caller_that_goes_on_after_errors(
        self, tmp_path: Path, seen: list[Any], number: int, status: int
    ) -> None:
        class Signalled(Spy):
            def items(self) -> Sequence[int]:
                signal.raise_signal(number)
                return range(3)

        SPIES["spy"] = Signalled(seen)

        def call_all() -> None:
            for _ in range(2):
                with contextlib.suppress(CommandError):
                    call_command("export_sitemaps", output=str(tmp_path), verbosity=0)

        before = handlers()
        with pytest.raises(Interrupted) as raised:
            call_all()
        assert raised.value.returncode == status
        assert handlers() == before

    def test_are_not_handled_where_export_is_called(self, tmp_path: Path, settings: Any) -> None:
        seen: list[Any] = []
        settings.SITEMAPS09 = {"BASE_URL": BASE}
        before = handlers()
        export(output=tmp_path, sitemaps={"spy": Spy(seen)})
        assert seen == before

    def test_are_left_alone_in_a_thread(self, tmp_path: Path, seen: list[Any]) -> None:
        before = handlers()
        thread = threading.Thread(
            target=call_command, args=["export_sitemaps"], kwargs={"output": str(tmp_path), "verbosity": 0}
        )
        thread.start()
        thread.join(DEADLINE)
        assert seen == before
        assert (tmp_path / "sitemap.xml").exists()

    def test_are_not_delayed_by_another_thread_that_publishes(self) -> None:
        publishing, done = threading.Event(), threading.Event()

        def publish() -> None:
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

    def test_delay_nothing_outside_of_a_command(self) -> None:
        with uninterrupted(), pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)


SPIES: dict[str, Any] = {}
