"""Exports that are killed or run out of disk space, with real processes and real files.

Each process is a fork of `python -m tests.invariants.killing`.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings as django_settings

from tests.invariants.killing import submissions
from tests.invariants.killing.scenarios import EVERGREEN, SCENARIOS
from tests.support import killing, published
from tests.support.configuration import BASE
from tests.support.databases import require
from tests.support.examples import KILL_STEP
from tests.support.processes import environment, started

#: Timeout in seconds, shorter than that of a test.
DEADLINE = 90

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not hasattr(os, "fork"), reason="what dies is a fork"),
]


class Place:
    """A folder, and a database that several processes share."""

    def __init__(self, folder: Path, database: Mapping[str, Any]) -> None:
        self.folder, self.database = folder, database

    def start(self, function: str, *arguments: object) -> Any:
        command = ("-m", "tests.invariants.killing", json.dumps(self.database), function, *arguments)
        environ = environment(self.folder, "tests.settings")
        return started(*command, environ=environ, start_new_session=True)

    def run(self, function: str, *arguments: object) -> Any:
        """Return the result of a function of `tests.invariants.killing.runs`."""
        with self.start(function, *arguments) as process:
            try:
                out, err = process.communicate(timeout=DEADLINE)
            finally:
                end(process)
        assert process.returncode == 0, err
        return json.loads(out)


def end(process: subprocess.Popen[str]) -> None:
    """Kill a process and all its children, whether they run, are stopped or have ended."""
    killing.end(process.pid)
    process.kill()


@pytest.fixture
def folder() -> Iterator[Path]:
    with published.quick_folder() as made:
        yield made


@pytest.fixture
def sqlite(folder: Path) -> Place:
    known = {"ENGINE": "django.db.backends.sqlite3", "OPTIONS": {"timeout": DEADLINE}}
    return Place(folder, {**known, "NAME": str(folder / "db.sqlite3")})


@pytest.fixture(scope="module")
def database_of_its_own() -> Iterator[dict[str, Any]]:
    """Create a PostgreSQL database that no other test module uses."""
    require("postgresql")
    import psycopg

    known = django_settings.DATABASES["postgresql"]
    name = f"sitemaps09_invariants_{os.getpid()}"
    with psycopg.connect(
        host=known["HOST"],
        port=known["PORT"],
        user=known["USER"],
        password=known["PASSWORD"],
        dbname="postgres",
        autocommit=True,
    ) as server:
        server.execute(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")
        server.execute(f"CREATE DATABASE {name}")
        try:
            kept = {key: known[key] for key in ("ENGINE", "USER", "PASSWORD", "HOST", "PORT")}
            yield {**kept, "NAME": name}
        finally:
            server.execute(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture
def postgresql(folder: Path, database_of_its_own: dict[str, Any]) -> Place:
    return Place(folder, database_of_its_own)


class TestAnExportThatIsKilledAtEachPoint:
    """Files are complete, no URL is lost, and a run that completes publishes the current rows."""

    @pytest.mark.parametrize("scenario", SCENARIOS)
    def test_keeps_published_files_and_the_next_run_publishes_current_rows(
        self, sqlite: Place, scenario: str
    ) -> None:
        # With fewer points, the export was not killed at each step.
        assert sqlite.run("everywhere", scenario, sqlite.folder) > 40

    @pytest.mark.services
    @pytest.mark.parametrize("scenario", ["tail", "merge-of-the-tail-and-grow"])
    def test_does_so_on_postgresql(self, postgresql: Place, scenario: str) -> None:
        assert postgresql.run("everywhere", scenario, postgresql.folder) > 40

    @pytest.mark.parametrize("scenario", ["first", "tail", "cascade-and-less"])
    def test_is_rebuilt_if_its_staged_files_are_lost(self, sqlite: Place, scenario: str) -> None:
        assert sqlite.run("everywhere", scenario, sqlite.folder, "losing") > 40

    def test_of_a_repair_is_followed_by_one_that_repairs_everything(self, sqlite: Place) -> None:
        assert sqlite.run("repairs", sqlite.folder) > 20

    def test_may_be_followed_by_others_that_are_killed_while_they_recover(self, sqlite: Place) -> None:
        assert sqlite.run("recovering", "tail", sqlite.folder) > 20


@killing.needs_proc
class TestARunThatIsKilledOrWhoseDiskFailsAtEachPoint:
    """An export with `--submit`, a submission, a repair, or the run that recovers from one of them."""

    @pytest.mark.parametrize("scenario", submissions.SCENARIOS)
    def test_loses_no_change_to_submit(self, sqlite: Place, scenario: str) -> None:
        found = sqlite.run("nothing_is_lost", scenario, sqlite.folder, KILL_STEP, DEADLINE / 9)
        assert found["lost"] == []
        assert found["points"] > 9
        if scenario not in ("repair", "repaired", "not-queued"):
            # Removed URLs are unknown only after errors.
            assert found["unknown"].get("kill", 0) == 0


class Reader:
    """A crawler that repeatedly fetches the index and all listed files."""

    def __init__(self, folder: Path, must: set[str]) -> None:
        self.folder, self.must = folder, must
        self.named: set[str] = set()
        self.reads = self.still = 0

    def look(self) -> None:
        """Read all files in the index. Expect each URL if no file was replaced in the meantime."""
        index = (self.folder / "sitemap.xml").read_bytes()
        names = [str(url).rpartition("/")[2] for url in published.locations(index, False)]
        found: set[str] = set()
        states = {}
        for name in names:
            with (self.folder / name).open("rb") as file:
                states[name] = os.fstat(file.fileno())
                found.update(published.locations(file.read(), name.endswith(".gz")))
        self.named.update(names)
        self.reads += 1
        if self._moved(index, states):
            return
        self.still += 1
        lost = self.must - found
        assert not lost, f"in no indexed page: {sorted(lost)}"

    def _moved(self, index: bytes, states: Mapping[str, os.stat_result]) -> bool:
        """Return whether one of the files was replaced, so that they never existed together."""
        now = {name: (self.folder / name).stat() for name in states}
        same = [(s.st_ino, s.st_mtime_ns) for s in states.values()]
        return (
            same != [(s.st_ino, s.st_mtime_ns) for s in now.values()]
            or (self.folder / "sitemap.xml").read_bytes() != index
        )


class TestFiftyExportsThatAreKilledAtRandom:
    @pytest.mark.parametrize("using", ["sqlite", "postgresql"])
    def test_are_never_seen_by_a_crawler(self, request: pytest.FixtureRequest, using: str) -> None:
        place: Place = request.getfixturevalue(using)
        evergreen = {f"{BASE}/{row.slug}/" for row in EVERGREEN.values()}
        reader = Reader(place.folder / "public", evergreen)
        deadline = threading.Timer(DEADLINE, lambda: end(process))
        with place.start("at_random", place.folder, 50, 5) as process:
            deadline.start()
            try:
                while process.poll() is None:
                    if (place.folder / "ready").exists():
                        reader.look()
            finally:
                deadline.cancel()
                end(process)
                out, err = process.communicate()
        assert process.returncode == 0, err
        assert json.loads(out)["killed"] > 10
        assert reader.reads >= reader.still > 50
        # Files that an index of the last day listed still exist.
        for name in reader.named:
            published.urls(reader.folder, name)


class TestWorkersOfACoordinatorThatWasKilled:
    @killing.needs_proc
    def test_change_nothing_while_they_live_or_later(self, sqlite: Place) -> None:
        assert sqlite.run("orphans", sqlite.folder) > 0


class TestTheSameRows:
    def test_give_the_same_pages_by_each_engine_and_codec_and_a_second_run_writes_nothing(
        self, sqlite: Place
    ) -> None:
        (_, first), *others = sqlite.run("each_way", sqlite.folder)
        for way, found in others:
            assert found == first, way
        # The comparison covers pages that were split or merged, or lost their upper bound.
        numbers = [[page[0] for page in pages["a"]] for pages in first]
        assert numbers[0] == sorted(numbers[0])
        assert numbers[1] != sorted(numbers[1])
        assert len(numbers[-1]) < len(numbers[0]) < len(numbers[1])


class TestAFullDisk:
    def test_leaves_what_is_published_and_the_next_run_with_room_repairs(self, sqlite: Place) -> None:
        with small_disk(sqlite.folder) as (place, kind):
            failed, went = sqlite.run("disk_full", place, kind)
        # Some had enough room, and others had not.
        assert failed > 5
        assert went > 2

    def test_so_does_a_limit_to_the_size_of_files(self, sqlite: Place) -> None:
        pytest.importorskip("resource")
        failed, went = sqlite.run("disk_full", sqlite.folder, "limit")
        assert failed > 5
        assert went > 2


@contextlib.contextmanager
def small_disk(folder: Path) -> Iterator[tuple[Path, str]]:
    """A file system of 1 MB, where one may be had."""
    place = folder / "disk"
    place.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=1m", "sitemaps09", str(place)]
    try:
        done = subprocess.run(command, capture_output=True, check=False)  # noqa: S603
    except FileNotFoundError:
        pytest.skip("there is no `mount`")
    if done.returncode:
        pytest.skip(f"no file system can be mounted: {done.stderr.decode().strip()}")
    try:
        yield place, "tmpfs"
    finally:
        subprocess.run(["umount", str(place)], check=True)  # noqa: S603, S607
