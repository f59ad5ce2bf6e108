"""Laws of publishing, whatever is killed, refused or gone: with real processes, real files.

What dies is a fork of `python -m tests.killed`; see there for what is done to it.
"""

from __future__ import annotations

import contextlib
import gzip
import json
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta, timezone
from itertools import pairwise
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from django.conf import settings as django_settings
from django.core.files.base import ContentFile
from django.core.files.storage import InMemoryStorage, storages
from django.db import OperationalError, connection
from django.db.models import F, Value
from django.db.models.functions import Concat

from django_sitemaps09 import ModelSitemap, Sitemap, stores
from django_sitemaps09 import export as exports
from django_sitemaps09 import manifest as manifests
from django_sitemaps09.exceptions import ExportError, ExportRunningError
from django_sitemaps09.export import export
from django_sitemaps09.stores import lease
from django_sitemaps09.stores.local import LocalStore
from tests import killed
from tests.support import published as looked_at
from tests.support.databases import require

BASE = "https://www.example.com"
ROOT = Path(__file__).parents[1]
#: In seconds, for what would hang: less than the deadline of a test.
DEADLINE = 90

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not hasattr(os, "fork"), reason="what dies is a fork"),
]
needs_proc = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="/proc tells who lives")


class Place:
    """A folder, and a database that processes share."""

    def __init__(self, folder: Path, database: Mapping[str, Any]) -> None:
        self.folder, self.database = folder, database

    def start(self, function: str, *arguments: object) -> Any:
        environ = os.environ | {
            "DJANGO_SETTINGS_MODULE": "tests.settings",
            "PYTHONPATH": os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]),
        }
        database = json.dumps(self.database)
        return subprocess.Popen(  # noqa: S603 our own interpreter and arguments
            [sys.executable, "-m", "tests.killed", database, function, *map(str, arguments)],
            env=environ,
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def run(self, function: str, *arguments: object) -> Any:
        """What a function of `tests.killed` tells."""
        with self.start(function, *arguments) as process:
            try:
                out, err = process.communicate(timeout=DEADLINE)
            finally:
                end(process)
        assert process.returncode == 0, err
        return json.loads(out)


def end(process: subprocess.Popen[str]) -> None:
    """Ends a process with all that it has begun, whether it works, stands still or has ended."""
    killed.end(process.pid)
    process.kill()


@pytest.fixture
def folder() -> Iterator[Path]:
    with looked_at.quick_folder() as made:
        yield made


@pytest.fixture
def sqlite(folder: Path) -> Place:
    known = {"ENGINE": "django.db.backends.sqlite3", "OPTIONS": {"timeout": DEADLINE}}
    return Place(folder, {**known, "NAME": str(folder / "db.sqlite3")})


@pytest.fixture(scope="module")
def database_of_its_own() -> Iterator[dict[str, Any]]:
    """One of PostgreSQL that no test of other modules has."""
    require("postgresql")
    import psycopg

    known = django_settings.DATABASES["postgresql"]
    name = f"sitemaps09_laws_{os.getpid()}"
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
    """Laws 1, 2 and 3: before it, after it, and when the data changed and a run has ended."""

    @pytest.mark.parametrize("scenario", killed.SCENARIOS)
    def test_leaves_all_that_was_published_and_the_next_run_publishes_what_there_is(
        self, sqlite: Place, scenario: str
    ) -> None:
        # Less than that is no export that was killed in each of its steps.
        assert sqlite.run("everywhere", scenario, sqlite.folder) > 40

    @pytest.mark.services
    @pytest.mark.parametrize("scenario", ["tail", "merge-of-the-tail-and-grow"])
    def test_does_so_on_postgresql(self, postgresql: Place, scenario: str) -> None:
        assert postgresql.run("everywhere", scenario, postgresql.folder) > 40

    @pytest.mark.parametrize("scenario", ["first", "tail", "cascade-and-less"])
    def test_is_made_anew_where_what_it_had_staged_is_lost(self, sqlite: Place, scenario: str) -> None:
        assert sqlite.run("everywhere", scenario, sqlite.folder, "losing") > 40

    def test_may_be_followed_by_others_that_are_killed_while_they_recover(self, sqlite: Place) -> None:
        assert sqlite.run("recovering", "tail", sqlite.folder) > 20


class Reader:
    """A crawler that fetches the index and all it names, over and over."""

    def __init__(self, folder: Path, must: set[str]) -> None:
        self.folder, self.must = folder, must
        self.named: set[str] = set()
        self.reads = self.still = 0

    def look(self) -> None:
        """Law 1 of what the index that was read names; law 2 where there was a moment of all of it."""
        index = (self.folder / "sitemap.xml").read_bytes()
        names = [str(url).rpartition("/")[2] for url in looked_at.locations(index, False)]
        found: set[str] = set()
        states = {}
        for name in names:
            with (self.folder / name).open("rb") as file:
                states[name] = os.fstat(file.fileno())
                found.update(looked_at.locations(file.read(), name.endswith(".gz")))
        self.named.update(names)
        self.reads += 1
        if self._moved(index, states):
            return
        self.still += 1
        lost = self.must - found
        assert not lost, f"in no indexed page: {sorted(lost)}"

    def _moved(self, index: bytes, states: Mapping[str, os.stat_result]) -> bool:
        """Whether a file took the place of one of those, so that they were never there together."""
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
        evergreen = {f"{BASE}/{row.slug}/" for row in killed.EVERGREEN.values()}
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
        # What an index of the last day named is there still.
        for name in reader.named:
            looked_at.urls(reader.folder, name)


class TestWorkersOfACoordinatorThatWasKilled:
    @needs_proc
    def test_change_nothing_while_they_live_or_later(self, sqlite: Place) -> None:
        assert sqlite.run("orphans", sqlite.folder) > 0


class TestTheSameRows:
    def test_give_the_same_pages_by_each_engine_and_codec_and_a_second_run_writes_nothing(
        self, sqlite: Place
    ) -> None:
        (_, first), *others = sqlite.run("each_way", sqlite.folder)
        for way, found in others:
            assert found == first, way
        # It was worth comparing: pages were split, merged and opened.
        numbers = [[page[0] for page in pages["a"]] for pages in first]
        assert numbers[0] == sorted(numbers[0])
        assert numbers[1] != sorted(numbers[1])
        assert len(numbers[-1]) < len(numbers[0]) < len(numbers[1])


class TestTwoExportsAtOnce:
    def test_the_second_one_ends_having_touched_nothing(self, sqlite: Place) -> None:
        assert sqlite.run("two_at_once", sqlite.folder) is True


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


# In this process: what a section, a storage or a database does to the rest.


def articles(**attributes: Any) -> Any:
    from tests.models import Article

    declared = {
        "queryset": Article.objects.all(),
        "location": Concat(Value("/"), F("slug"), Value("/")),
        "lastmod": F("updated"),
        **attributes,
    }
    return type("Articles", (ModelSitemap,), declared)()


def words(**attributes: Any) -> Any:
    from tests.models import Word

    declared = {
        "queryset": Word.objects.all(),
        "location": Concat(Value("/"), F("word"), Value("/")),
        **attributes,
    }
    return type("Words", (ModelSitemap,), declared)()


def write(*numbers: int, prefix: str = "a") -> None:
    from tests.models import Article

    first = datetime(2026, 1, 1, tzinfo=timezone.utc)
    Article.objects.bulk_create(
        Article(pk=number, slug=f"{prefix}{number}", updated=first + timedelta(hours=number))
        for number in numbers
    )


def write_words(*numbers: int) -> None:
    from tests.models import Word

    Word.objects.bulk_create(Word(word=f"w{number:05}") for number in numbers)


@pytest.fixture
def keys(settings: Any) -> Callable[..., None]:
    """`SITEMAPS09` with small pages."""

    def set_to(**given: Any) -> None:
        settings.SITEMAPS09 = {"BASE_URL": BASE, "MAX_URLS": 10, "ENGINE": "serial", **given}

    set_to()
    return set_to


def of_section(folder: Path, section: str) -> dict[str, tuple[int, int, bytes]]:
    found = looked_at.states(folder)
    return {name: state for name, state in found.items() if name.startswith(f"sitemap-{section}-")}


def lastmods(folder: Path) -> dict[str, str | None]:
    """What the index says of each page."""
    space = looked_at.SPACE
    root = ElementTree.fromstring((folder / "sitemap.xml").read_bytes())  # noqa: S314
    return {
        str(found.findtext(f"{space}loc")).rpartition("/")[2]: found.findtext(f"{space}lastmod")
        for found in root.iter(f"{space}sitemap")
    }


class AllBad(Sitemap[int]):
    def items(self) -> Sequence[int]:
        return range(30)

    def location(self, item: int) -> str:
        return "https://elsewhere.example.net/"


def failing(self: Any, item: Any) -> str:
    if item.pk == 25:
        raise ValueError("what a project has not foreseen")
    return f"/{item.slug}/"


def breaking(self: Any) -> Any:
    raise RuntimeError("the project is broken")


@pytest.mark.django_db
class TestWhatIsNotPublished:
    """Law 6: not a byte, nor a time, of what there is."""

    @pytest.mark.parametrize(
        "broken",
        [
            lambda: articles(queryset=None, get_queryset=breaking),
            lambda: articles(location="https://elsewhere.example.net/"),
            lambda: AllBad(),
        ],
        ids=["raises", "no-url", "every-item"],
    )
    def test_is_touched_neither_by_a_failure(
        self, tmp_path: Path, keys: Any, broken: Callable[[], Any]
    ) -> None:
        write(*range(1, 36))
        write_words(*range(25))
        export(output=tmp_path, sitemaps={"a": articles(), "w": words()})
        before, dates = of_section(tmp_path, "a"), lastmods(tmp_path)
        write(*range(36, 60))
        write_words(*range(25, 50))
        report = export(output=tmp_path, sitemaps={"a": broken(), "w": words()})
        assert [bool(section.failure) for section in report.sections] == [True, False]
        assert of_section(tmp_path, "a") == before
        assert {name: lastmods(tmp_path)[name] for name in before} == {n: dates[n] for n in before}
        # What was right beside it is published.
        assert len(looked_at.indexed(tmp_path)) == 35 + 50

    def test_nor_by_the_guard(self, tmp_path: Path, keys: Any) -> None:
        from tests.models import Article

        keys(MAX_URLS=50)
        write(*range(1, 301))
        write_words(*range(25))
        export(output=tmp_path, sitemaps={"a": articles(), "w": words()})
        before = of_section(tmp_path, "a")
        Article.objects.filter(pk__lte=160).delete()
        Article.objects.update(slug=Concat(F("slug"), Value("-new")))
        write_words(*range(25, 50))
        report = export(output=tmp_path, sitemaps={"a": articles(), "w": words()})
        assert "--force a" in str(report.sections[0].failure)
        assert of_section(tmp_path, "a") == before
        assert len(looked_at.indexed(tmp_path)) == 300 + 50
        # Where it is meant, it is.
        assert export(output=tmp_path, sitemaps={"a": articles(), "w": words()}, force=["a"]).failures == []
        assert len(looked_at.indexed(tmp_path)) == 140 + 50

    def test_the_guard_remembers_what_there_was_through_small_steps(
        self, tmp_path: Path, keys: Any
    ) -> None:
        from tests.models import Article

        keys(MAX_URLS=50)
        write(*range(1, 401))
        for gone in (150, 190):
            report = export(output=tmp_path, sitemaps={"a": articles()})
            assert report.failures == []
            Article.objects.filter(pk__lte=gone).delete()
        export(output=tmp_path, sitemaps={"a": articles()})
        Article.objects.filter(pk__lte=300).delete()
        before = looked_at.states(tmp_path)
        report = export(output=tmp_path, sitemaps={"a": articles()})
        assert "from 400 to 100" in str(report.sections[0].failure)
        assert looked_at.states(tmp_path) == before

    def test_nor_by_a_strict_run(self, tmp_path: Path, keys: Any) -> None:
        from tests.models import Article

        write(*range(1, 36))
        write_words(*range(25))
        sitemaps = {"a": articles(location=lambda self, item: f"/{item.slug}/"), "w": words()}
        export(output=tmp_path, sitemaps=sitemaps)
        before = looked_at.states(tmp_path)
        write(*range(36, 60))
        write_words(*range(25, 50))
        Article.objects.filter(pk=7).delete()
        sitemaps["a"] = articles(location=failing)
        report = export(output=tmp_path, sitemaps=sitemaps, strict=True)
        assert not report.published
        assert report.failures
        assert looked_at.states(tmp_path) == before
        assert sorted(os.listdir(tmp_path / ".sitemaps09")) == kept_state(tmp_path)  # noqa: PTH208

    def test_nor_by_a_dry_run(self, tmp_path: Path, keys: Any) -> None:
        write(*range(1, 36))
        export(output=tmp_path, sitemaps={"a": articles()})
        before = looked_at.states(tmp_path, hidden=True)
        write(*range(36, 60))
        export(output=tmp_path, sitemaps={"a": articles()}, dry_run=True)
        assert looked_at.states(tmp_path, hidden=True) == before

    def test_nor_by_an_export_that_finds_another_one(self, tmp_path: Path, keys: Any) -> None:
        write(*range(1, 36))
        export(output=tmp_path, sitemaps={"a": articles()})
        write(*range(36, 60))
        before = looked_at.states(tmp_path, hidden=True)
        with stores.only_one(stores.target(tmp_path)), pytest.raises(ExportRunningError):
            export(output=tmp_path, sitemaps={"a": articles()})
        assert looked_at.states(tmp_path, hidden=True) == before


def kept_state(folder: Path) -> list[str]:
    manifest = manifests.read_root(stores.state(stores.target(folder)))
    assert manifest is not None
    return sorted(["lock", "manifest.json", *manifest.files.values()])


@pytest.mark.django_db
class TestADatabaseThatIsGone:
    @pytest.mark.parametrize("at", [1, 2, 4, 6, 9])
    def test_costs_the_section_that_was_read_and_no_other_one(
        self, tmp_path: Path, keys: Any, at: int
    ) -> None:
        write(*range(1, 36))
        write_words(*range(25))
        sitemaps = {"w": words(), "a": articles(), "z": words()}
        export(output=tmp_path, sitemaps=sitemaps)
        before = of_section(tmp_path, "a")
        write(*range(1_000, 1_030))
        write_words(*range(25, 50))
        asked = 0

        def gone(execute: Any, sql: str, *arguments: Any) -> Any:
            nonlocal asked
            if "tests_article" in sql:
                asked += 1
                if asked >= at:
                    raise OperationalError("server closed the connection unexpectedly")
            return execute(sql, *arguments)

        with connection.execute_wrapper(gone):
            report = export(output=tmp_path, sitemaps=sitemaps)
        assert asked >= at
        assert [bool(section.failure) for section in report.sections] == [False, True, False]
        assert "OperationalError: server closed the connection" in str(report.sections[1].failure)
        assert of_section(tmp_path, "a") == before
        assert len(looked_at.indexed(tmp_path)) == 35 + 50
        assert [name for name in os.listdir(tmp_path / ".sitemaps09") if name.startswith("run")] == []  # noqa: PTH208
        assert export(output=tmp_path, sitemaps=sitemaps).failures == []
        assert len(looked_at.indexed(tmp_path)) == 65 + 50


@pytest.mark.django_db
class TestTheIndexAndTheFiles:
    """Law 10."""

    def test_a_lastmod_changes_exactly_when_the_digest_does(
        self, tmp_path: Path, keys: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        from tests.models import Article

        now = datetime(2026, 6, 1, tzinfo=timezone.utc)

        class Clock(datetime):
            @classmethod
            def now(cls, tz: Any = None) -> datetime:  # type: ignore[override]
                return now

        monkeypatch.setattr(exports, "datetime", Clock)
        write(*range(10, 360, 10))
        found: list[tuple[dict[str, str], dict[str, str | None]]] = []
        changes: list[Callable[[], object]] = [
            lambda: None,
            lambda: Article.objects.filter(pk=130).update(slug="another"),
            lambda: None,
            lambda: write(*range(131, 138)),
            lambda: write(*range(1_000, 1_020)),
            lambda: Article.objects.filter(pk__gt=10, pk__lt=90).delete(),
            lambda: None,
            lambda: None,
            lambda: Article.objects.filter(pk=130).update(slug="a130"),
            lambda: keys(GZIP_LEVEL=9),
        ]
        for change in changes:
            change()
            now += timedelta(hours=1)
            assert export(output=tmp_path, sitemaps={"a": articles()}).failures == []
            digests = {name: looked_at.digest(tmp_path, name) for name in looked_at.pages(tmp_path)}
            found.append((digests, lastmods(tmp_path)))
        moved = 0
        for (digests, dates), (digests_now, dates_now) in pairwise(found):
            for name in digests.keys() & digests_now.keys():
                assert (dates[name] == dates_now[name]) == (digests[name] == digests_now[name]), name
                moved += dates[name] != dates_now[name]
        assert moved >= 4
        # On the first export they are those of the rows.
        assert found[0][1]["sitemap-a-1.xml.gz"] == "2026-01-05T04:00:00Z"

    def test_what_is_in_no_manifest_is_never_deleted(self, tmp_path: Path, keys: Any) -> None:
        keys(KEEP_REMOVED=0)
        foreign = ["index.html", "sitemap.xsl", "sitemap-a.xml", "sitemap-a-0.xml.gz", "sitemap-news.xml"]
        # As from an earlier time of ours, and of sections that there are not.
        foreign += ["sitemap-a-77.xml.gz", "sitemap-a-78.xml", "sitemap-gone-3.xml.gz"]
        foreign += [".sitemaps09/mine.txt", "deep/sitemap-a-1.xml.gz"]
        for name in foreign:
            (tmp_path / name).parent.mkdir(exist_ok=True)
            (tmp_path / name).write_bytes(f"mine: {name}".encode())
        before = {name: (tmp_path / name).stat().st_mtime_ns for name in foreign}
        write(*range(1, 36))
        write_words(*range(25))
        both = {"a": articles(), "w": words()}
        export(output=tmp_path, sitemaps=both)
        first = set(looked_at.pages(tmp_path))
        # No number of theirs is taken.
        assert "sitemap-a-79.xml.gz" in first
        export(output=tmp_path, sitemaps=both, rebalance=True)
        export(output=tmp_path, sitemaps={"a": articles()}, remove=["w"])
        export(output=tmp_path, sitemaps={"a": articles()}, gzip=False)
        (tmp_path / ".sitemaps09" / "manifest.json").write_text("{")
        export(output=tmp_path, sitemaps={"a": articles()})
        for _ in range(2):
            export(output=tmp_path, sitemaps={"a": articles()})
        assert {name: (tmp_path / name).stat().st_mtime_ns for name in foreign} == before
        assert {name: (tmp_path / name).read_bytes() for name in foreign} == {
            name: f"mine: {name}".encode() for name in foreign
        }
        # It was ours to delete what it had removed.
        assert not any((tmp_path / name).exists() for name in first)

    def test_what_is_removed_stays_for_those_who_hold_an_older_index(
        self, tmp_path: Path, keys: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        now = datetime(2026, 6, 1, tzinfo=timezone.utc)

        class Clock(datetime):
            @classmethod
            def now(cls, tz: Any = None) -> datetime:  # type: ignore[override]
                return now

        monkeypatch.setattr(exports, "datetime", Clock)
        write(*range(1, 36))
        export(output=tmp_path, sitemaps={"a": articles()})
        old = of_section(tmp_path, "a")
        now += timedelta(hours=1)
        export(output=tmp_path, sitemaps={"a": articles()}, rebalance=True)
        now += timedelta(hours=23, minutes=59)
        export(output=tmp_path, sitemaps={"a": articles()})
        assert of_section(tmp_path, "a").items() >= old.items()
        now += timedelta(minutes=1)
        report = export(output=tmp_path, sitemaps={"a": articles()})
        assert sorted(report.deleted) == sorted(old)
        assert of_section(tmp_path, "a").keys().isdisjoint(old)
        # And their numbers are gone with them.
        export(output=tmp_path, sitemaps={"a": articles()}, rebalance=True)
        assert set(looked_at.pages(tmp_path)).isdisjoint(old)


@pytest.mark.django_db
class TestWhatIsRememberedThoughNothingIsSure:
    """A run was killed while it published, and what it had staged is lost."""

    @pytest.fixture
    def doubted(self, tmp_path: Path, keys: Any, monkeypatch: pytest.MonkeyPatch) -> Path:
        keys(MAX_URLS=50, KEEP_REMOVED=0)
        write(*range(1, 401))
        export(output=tmp_path, sitemaps={"a": articles()})
        for _ in range(2):
            # Numbers up to 27, of which no file has the last ones when they are removed.
            export(output=tmp_path, sitemaps={"a": articles()}, rebalance=True)
        highest = max(numbers(tmp_path))
        assert highest == 27
        monkeypatch.setattr(LocalStore, "promote", broken_off)
        write(401)
        with pytest.raises(KeyboardInterrupt):
            export(output=tmp_path, sitemaps={"a": articles()})
        monkeypatch.undo()
        keys(MAX_URLS=50)
        (run,) = (tmp_path / ".sitemaps09").glob("run-*")
        shutil.rmtree(run)
        return tmp_path

    def test_no_number_is_used_again(self, doubted: Path) -> None:
        for name in looked_at.pages(doubted)[-2:]:
            (doubted / name).unlink()
        assert export(output=doubted, sitemaps={"a": articles()}).failures == []
        assert min(numbers(doubted)) == 28
        assert len(looked_at.indexed(doubted)) == 401

    def test_the_guard_knows_how_many_there_were(self, doubted: Path) -> None:
        from tests.models import Article

        Article.objects.filter(pk__gt=20).delete()
        before = looked_at.states(doubted)
        report = export(output=doubted, sitemaps={"a": articles()})
        assert "from 400 to 20" in str(report.sections[0].failure)
        assert looked_at.states(doubted) == before


def broken_off(*_: object) -> None:
    raise KeyboardInterrupt


def numbers(folder: Path) -> list[int]:
    return [int(name.split("-")[2].removesuffix(".xml.gz")) for name in looked_at.pages(folder)]


class Refusing(InMemoryStorage):
    """Replaces files whole, as S3 does; the n-th one is refused, by the number that is set."""

    left = 0

    def get_available_name(self, name: str, max_length: int | None = None) -> str:
        return name

    def _save(self, name: str, content: Any) -> str:
        Refusing.left -= 1
        if Refusing.left == 0:
            raise ConnectionError("the storage refuses")
        whole = ContentFile(content.read())
        if self.exists(name):
            self.delete(name)
        return super()._save(name, whole)

    def contents(self) -> dict[str, bytes]:
        """What is published."""
        found = {}
        for name in self.listdir("")[1]:
            with self.open(name) as file:
                found[name] = file.read()
        return found


def unpacked(contents: Mapping[str, bytes], name: str) -> tuple[str, ...]:
    return looked_at.locations(contents[name], name.endswith(".gz"))


def named(contents: Mapping[str, bytes]) -> list[str]:
    if "sitemap.xml" not in contents:
        return []
    return [url.rpartition("/")[2] for url in unpacked(contents, "sitemap.xml")]


@pytest.mark.django_db
@pytest.mark.filterwarnings("ignore::ResourceWarning")
class TestAStorageThatRefusesAWrite:
    @pytest.mark.parametrize("kind", ["first", "split", "merge"])
    def test_keeps_what_is_published_and_the_next_run_publishes_what_there_is(
        self, settings: Any, keys: Any, monkeypatch: pytest.MonkeyPatch, kind: str
    ) -> None:
        from tests.models import Article

        # The cache of the tests is shared by nobody but this process.
        monkeypatch.setattr(lease, "_UNFIT", {})
        settings.STORAGES = {
            **settings.STORAGES,
            "sitemaps": {"BACKEND": f"{__name__}.Refusing", "OPTIONS": {"location": "/laws"}},
        }
        sitemaps = {"a": articles()}
        refused = 0
        for point in range(1, 100):
            storages._storages.clear()  # type: ignore[attr-defined]
            storage: Any = storages["sitemaps"]
            Article.objects.all().delete()
            Refusing.left = 0
            if kind != "first":
                write(*range(100, 4_100, 100))
                assert export(sitemaps=sitemaps).failures == []
            if kind == "merge":
                Article.objects.exclude(pk__in=[300, 600, 1_300, 1_600, 2_300, 2_600, 3_300]).delete()
                assert export(sitemaps=sitemaps).failures == []
            earlier = storage.contents()
            once = {url for name in named(earlier) for url in unpacked(earlier, name)}
            write(*range(1_101, 1_125), 5_000)
            Refusing.left = point
            failed = False
            try:
                failed = bool(export(sitemaps=sitemaps).failures)
            except ExportError as error:
                assert "the storage refuses" in str(error)  # noqa: PT017 it may also go well
                failed = True
            found = storage.contents()
            for name in {*named(earlier), *named(found)}:
                unpacked(found, name)
            assert once <= {url for name in named(found) for url in unpacked(found, name)}, point
            over = Refusing.left > 0
            Refusing.left = 0
            write(9_000)
            assert export(sitemaps=sitemaps).failures == []
            found = storage.contents()
            urls = [url for name in named(found) for url in unpacked(found, name)]
            slugs = Article.objects.values_list("slug", flat=True)
            assert sorted(urls) == sorted(f"{BASE}/{slug}/" for slug in slugs), point
            for name in named(earlier):
                unpacked(found, name)
            self.is_clean(storage)
            if over:
                break
            refused += failed
            assert failed
        assert refused > 8

    @staticmethod
    def is_clean(storage: Any) -> None:
        folders, files = storage.listdir(".sitemaps09")
        assert [name for name in (*folders, *files) if name.startswith(("run-", "probe-", "journal"))] == []
        manifest = manifests.read(stores.state(stores.target(None)))
        assert manifest is not None
        found = storage.contents()
        for name, record in manifest.sections.items():
            for page in record.pages:
                file = f"sitemap-{name}-{page.number}.xml.gz"
                content = gzip.decompress(found[file])
                assert looked_at.sha256(content).hexdigest() == page.digest
