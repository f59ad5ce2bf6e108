"""Exports that are killed, in processes of their own: `python -m tests.killed DATABASE FUNCTION ...`.

Django is set up once; each export that is to die is a fork. What breaks a law ends this process with a
traceback; else it prints what JSON can say.
"""

from __future__ import annotations

import contextlib
import faulthandler
import json
import multiprocessing
import os
import random
import shutil
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

import django

from tests import settings as configuration
from tests.support import published as looked_at
from tests.support.examples import KILL_STEP
from tests.support.waiting import until

BASE = "https://www.example.com"
#: URLs of a page.
PAGE = 10


class Row(NamedTuple):
    slug: str
    section: str = "a"


Rows = Mapping[int, Row]


class Run(NamedTuple):
    """One export: the rows it finds, its options, settings and sections."""

    rows: Rows
    options: Mapping[str, Any] = {}
    keys: Mapping[str, Any] = {}
    sections: tuple[str, ...] = ("a",)
    model: str = "Parent"

    def urls(self) -> set[str]:
        return {f"{BASE}/{row.slug}/" for row in self.rows.values() if row.section in self.sections}


def many(*keys: int, section: str = "a", longer: int = 0) -> dict[int, Row]:
    return {key: Row(f"{section}{key}{'x' * longer}", section) for key in keys}


def without(rows: Rows, *gone: int) -> dict[int, Row]:
    return {key: row for key, row in rows.items() if key not in gone}


# What is killed: the last run of each. Keys are far apart, so that others come in between.

THIRTY = many(*range(100, 3_100, 100))
SIXTY = many(*range(100, 6_100, 100))
# Of each page only some, so that several fit one.
THIN = without(SIXTY, *(key for key in SIXTY if key // 100 % 10 not in (3, 6)))
BOTH = THIRTY | many(*range(10_100, 13_100, 100), section="b")
TWO = ("a", "b")
# The second page keeps three rows, the last one two: so they are merged.
TAPERED = without(THIRTY, *range(1_400, 2_900, 100))

SCENARIOS: dict[str, list[Run]] = {
    "first": [Run(many(*range(1, 36)))],
    "split": [Run(THIRTY), Run(THIRTY | many(*range(1_301, 1_340)) | many(*range(101, 104)))],
    "split-by-bytes": [
        Run(THIRTY, keys={"MAX_BYTES": 1_500}),
        Run(THIRTY | many(*range(1_301, 1_304), longer=200), keys={"MAX_BYTES": 1_500}),
    ],
    "merge": [Run(SIXTY), Run(THIN), Run(THIN)],
    "merge-and-grow": [
        Run(SIXTY),
        Run(THIN),
        Run(THIN | many(*range(301, 320)) | many(*range(2_301, 2_312))),
    ],
    "merge-and-overflow": [Run(SIXTY), Run(THIN), Run(THIN | many(301))],
    "merge-of-the-tail-and-grow": [
        Run(THIRTY),
        Run(TAPERED),
        Run(TAPERED | many(*range(1_101, 1_115))),
    ],
    "deleted": [Run(SIXTY), Run(without(SIXTY, *range(1_100, 2_100, 100), 100, *range(5_100, 6_100, 100)))],
    "tail": [Run(THIRTY), Run(THIRTY | many(*range(2_801, 2_830)) | many(*range(1_301, 1_304)))],
    "rebalance": [Run(THIN), Run(without(SIXTY, 500), {"rebalance": True})],
    "identity": [Run(THIRTY), Run(without(THIRTY, 500) | many(250), model="Child")],
    "lower-limit": [Run(THIRTY), Run(THIRTY | many(150), keys={"MAX_URLS": 5})],
    "removed": [Run(BOTH, sections=TWO), Run(BOTH | many(150), {"remove": ["b"]})],
    "gzip-off": [Run(THIRTY), Run(THIRTY | many(*range(1_301, 1_304)), {"gzip": False})],
    "two": [
        Run(BOTH, sections=TWO),
        Run(BOTH | many(*range(1_301, 1_304)) | many(11_350, 14_000, section="b"), sections=TWO),
    ],
    "cascade-and-less": [
        Run(BOTH, keys={"CASCADE": True}, sections=TWO),
        Run(without(BOTH, *range(12_100, 13_100, 100)) | many(150), keys={"CASCADE": True}, sections=TWO),
    ],
    "cascade": [
        Run(BOTH, keys={"CASCADE": True}, sections=TWO),
        Run(
            BOTH | many(*range(1_301, 1_304)) | many(11_350, section="b"),
            keys={"CASCADE": True},
            sections=TWO,
        ),
    ],
}


# The world: rows, sections, exports.


def prepare() -> None:
    """The tables, and the files of a database in a state that costs little."""
    from django.db import connection

    from tests.models import Category, Child, Parent

    multiprocessing.set_start_method("fork")
    tables = connection.introspection.table_names()
    with connection.schema_editor() as editor:
        for model in (Parent, Child, Category):
            if model._meta.db_table not in tables:
                editor.create_model(model)


def fill(rows: Rows) -> None:
    """The rows that there are from now on: each has the key twice, of two tables."""
    from django.db import connection, transaction

    with transaction.atomic(), connection.cursor() as cursor:
        for table in ("tests_child", "tests_parent"):
            cursor.execute(f"DELETE FROM {table}")  # noqa: S608 no input
        if rows:
            parents = ", ".join(f"({key}, '{row.slug}')" for key, row in rows.items())
            cursor.execute(f"INSERT INTO tests_parent (id, name) VALUES {parents}")  # noqa: S608
            children = ", ".join(f"({key})" for key in rows)
            cursor.execute(f"INSERT INTO tests_child (parent_ptr_id) VALUES {children}")  # noqa: S608


def section(letter: str, model: str = "Parent", **attributes: Any) -> Callable[[], Any]:
    """A factory of a section whose URLs begin with a letter, of either table."""

    def made() -> Any:
        from django.db.models import F, Value
        from django.db.models.functions import Concat

        from django_sitemaps09 import ModelSitemap
        from tests import models

        declared = {
            "queryset": getattr(models, model).objects.filter(name__startswith=letter),
            "location": Concat(Value("/"), F("name"), Value("/")),
            **attributes,
        }
        return type("Rows", (ModelSitemap,), declared)()

    return made


#: Of workers, which find them by this path.
SECTIONS = {"a": section("a"), "b": section("b")}


def settings(run: Run, **more: Any) -> None:
    from django.conf import settings as configured

    configured.SITEMAPS09 = {"BASE_URL": BASE, "MAX_URLS": PAGE, **run.keys, **more}


def export(run: Run, folder: Path, **more: Any) -> Any:
    from django_sitemaps09.export import export as run_it

    settings(run)
    sitemaps = {name: section(name, run.model) for name in run.sections}
    # Few pages to an index, where there are several.
    with _few_pages_an_index(4 if run.keys.get("CASCADE") else 50_000):
        return run_it(output=folder, sitemaps=sitemaps, engine="serial", **{**run.options, **more})


@contextlib.contextmanager
def _few_pages_an_index(pages: int) -> Any:
    from django_sitemaps09.export.publishing import indexes

    before = indexes.LIMITS
    indexes.LIMITS = before._replace(urls=pages)
    try:
        yield
    finally:
        indexes.LIMITS = before


def cleanly(run: Run, folder: Path) -> Any:
    """An export that nobody kills, and that has nothing to complain of."""
    from django_sitemaps09.exceptions import ExportError

    try:
        report = export(run, folder)
    except ExportError as error:
        # The killed run had taken it out already.
        if "that is published and not declared" not in str(error):
            raise
        report = export(run._replace(options={}), folder)
    assert report.failures == [], report.failures
    assert report.published
    return report


# How it dies.


def die_at(point: int, folder: Path, *, in_workers: bool = False) -> None:
    """This process is killed before its `point`-th change of what is in a folder, or half through it.

    Whatever makes the change: Python tells of each file that is created, moved or removed. Before a file
    is synced only half of it has come to the disk. `in_workers` counts the changes of each worker
    instead, who then stands still.
    """
    left, own, below = point, os.getpid(), str(folder)
    one_at_a_time = threading.RLock()

    def now() -> bool:
        nonlocal left
        if in_workers is (os.getpid() == own):
            return False
        with one_at_a_time:
            left -= 1
            return left == 0

    def die() -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(own, signal.SIGKILL)
        # A worker sees nothing of that before it is let go on.
        os.kill(os.getpid(), signal.SIGSTOP)

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        if event == "open":
            path, _, flags = arguments
            counts = isinstance(path, (str, os.PathLike)) and bool(flags & os.O_CREAT)
        elif event in ("os.rename", "os.remove", "os.rmdir", "os.mkdir"):
            # Names below a folder that is open are told without it.
            path, counts = arguments[0], True
        else:
            return
        within = counts and (str(path).startswith(below) or not Path(path).is_absolute())
        if within and now():
            die()

    sync = os.fsync

    def half(descriptor: int) -> None:
        if now():
            with contextlib.suppress(OSError):
                os.ftruncate(descriptor, os.fstat(descriptor).st_size // 2)
            die()
        sync(descriptor)

    os.fsync = half
    sys.addaudithook(hook)


def child(work: Callable[[], object]) -> int:
    """The number of a fork that works, and ends with 0 if that went well."""
    from django.db import connections

    connections.close_all()
    number = os.fork()
    if number:
        return number
    try:
        # Its workers too are found by it.
        os.setpgid(0, 0)
        work()
    except BaseException:  # noqa: BLE001 whatever it is, the parent is told
        traceback.print_exc()
        os._exit(3)
    os._exit(0)


def killed(number: int) -> bool:
    """Whether it was; false where it came to its end."""
    _, status = os.waitpid(number, 0)
    if os.WIFSIGNALED(status):
        assert os.WTERMSIG(status) == signal.SIGKILL, status
        return True
    assert os.WEXITSTATUS(status) == 0, "the export failed, see above"
    return False


# The laws.


def law_1(folder: Path, named: Iterable[str]) -> None:
    """What is named is whole, now that nobody writes."""
    for name in named:
        looked_at.urls(folder, name)


def law_2(folder: Path, must: set[str]) -> None:
    lost = must - looked_at.indexed(folder)
    assert not lost, f"in no indexed page: {sorted(lost)[:5]} of {len(lost)}"


def law_3(folder: Path, run: Run) -> None:
    """What is published is what there is, and the manifest knows all of it."""
    from django_sitemaps09 import manifest as manifests
    from django_sitemaps09.stores.local import LocalStore

    found = [url for name in looked_at.pages(folder) for url in looked_at.urls(folder, name)]
    assert len(found) == len(set(found)), "twice"
    assert set(found) == run.urls(), sorted(set(found) ^ run.urls())[:5]
    state = folder / ".sitemaps09"
    left = [entry.name for entry in state.iterdir() if entry.name.startswith(("journal", "run-", "tmp-"))]
    assert left == []
    manifest = manifests.read(LocalStore(state, own=""))
    assert manifest is not None
    files = set()
    for name, record in manifest.sections.items():
        for page, number in zip(record.page_map().pages, record.pages, strict=True):
            file = f"sitemap-{name}-{page.number}.{record.suffix}"
            files.add(file)
            assert looked_at.digest(folder, file) == number.digest, file
            assert page.number <= record.highest
            held = set(looked_at.urls(folder, file))
            after, until = (key and int(key[0]) for key in (page.after, page.until))
            there = {
                f"{BASE}/{row.slug}/"
                for key, row in run.rows.items()
                if row.section == name
                and (after is None or key > after)
                and (until is None or key <= until)
            }
            assert held == there, file
        if record.pages:
            assert record.pages[-1].until is None
    assert files == set(looked_at.pages(folder))
    ours = {name for name in os.listdir(folder) if name.startswith("sitemap")}  # noqa: PTH208
    assert ours == files | set(manifest.indexes) | manifest.removed.keys(), "files that nobody knows of"


# What is done.


def everywhere(name: str, place: str, *losing: str) -> int:
    """The last run of a scenario, killed at each of its points; `losing` what it had staged.

    Then the data change, and a run is not killed. How many points there were is told.
    """
    folder, before = Path(place) / "public", Path(place) / "before"
    *earlier, last = SCENARIOS[name]
    for run in earlier:
        fill(run.rows)
        cleanly(run, folder)
    if earlier:
        shutil.copytree(folder, before)
    once = earlier[-1].urls() if earlier else set()
    kept = {key for key in last.rows if key % 700}
    later = last._replace(rows={k: last.rows[k] for k in kept} | many(110, 1_310, 1_320, 7_000, 9_999))
    named_before = looked_at.named(folder)
    for point in count(1, KILL_STEP):
        shutil.rmtree(folder, ignore_errors=True)
        if earlier:
            shutil.copytree(before, folder)
        fill(last.rows)

        def work(point: int = point) -> None:
            die_at(point, folder)
            cleanly(last, folder)

        died = killed(child(work))
        try:
            named = {*named_before, *looked_at.named(folder)}
            law_1(folder, named)
            law_2(folder, once & last.urls())
            if losing:
                for staged in (folder / ".sitemaps09").glob("run-*"):
                    shutil.rmtree(staged)
            fill(later.rows)
            cleanly(later, folder)
            law_1(folder, {*named, *looked_at.named(folder)})
            law_3(folder, later)
        except BaseException:
            sys.stderr.write(f"Scenario {name!r}, killed at point {point}:\n")
            raise
        if not died:
            return point - 1
    raise AssertionError


def recovering(name: str, place: str) -> int:
    """As above, but what follows is killed too, while it recovers, at a point after the other."""
    folder, before, broken = (Path(place) / part for part in ("public", "before", "broken"))
    *earlier, last = SCENARIOS[name]
    for run in earlier:
        fill(run.rows)
        cleanly(run, folder)
    shutil.copytree(folder, before)
    once = earlier[-1].urls() & last.urls()
    rows = {key: row for key, row in last.rows.items() if key % 700}
    later = last._replace(rows=rows | many(110, 1_310, 1_320, 7_000, 9_999))
    chance = random.Random(4)  # noqa: S311
    pairs = 0
    for point in range(3, 200, 6):
        shutil.rmtree(folder)
        shutil.copytree(before, folder)
        fill(last.rows)

        def work(point: int = point, run: Run = last) -> None:
            die_at(point, folder)
            cleanly(run, folder)

        if not killed(child(work)):
            break
        fill(later.rows)
        shutil.rmtree(broken, ignore_errors=True)
        shutil.copytree(folder, broken)
        for second in sorted(chance.sample(range(1, 60), 3)):
            shutil.rmtree(folder)
            shutil.copytree(broken, folder)
            named = looked_at.named(folder)
            killed(child(lambda second=second: work(second, later)))
            try:
                law_1(folder, {*named, *looked_at.named(folder)})
                law_2(folder, once & later.urls())
                cleanly(later, folder)
                law_1(folder, {*named, *looked_at.named(folder)})
                law_3(folder, later)
            except BaseException:
                sys.stderr.write(f"Scenario {name!r}, killed at point {point}, then at {second}:\n")
                raise
            pairs += 1
    return pairs


#: Rows of `at_random` that are never touched.
EVERGREEN = many(*range(500, 6_001, 500))


def at_random(place: str, kills: str, seed: str) -> dict[str, int]:
    """Kills from outside, with other rows each time; somebody else may look on."""
    chance = random.Random(int(seed))  # noqa: S311
    folder = Path(place) / "public"
    rows = {**many(*range(100, 6_000, 90)), **EVERGREEN}
    run = Run(rows)
    fill(rows)
    cleanly(run, folder)
    (Path(place) / "ready").touch()
    named = set(looked_at.named(folder))
    must, dead, seconds = run.urls(), 0, 0.05
    for _ in range(int(kills)):
        rows = changed(rows, chance)
        run = Run(rows, {"rebalance": chance.random() < 0.05})
        must &= run.urls()
        fill(rows)
        began = time.monotonic()
        number = child(lambda run=run: cleanly(run, folder))
        time.sleep(chance.uniform(0, 1.1) * seconds)
        with contextlib.suppress(ProcessLookupError):
            os.kill(number, signal.SIGKILL)
        if killed(number):
            dead += 1
        else:
            seconds = time.monotonic() - began
        named |= looked_at.named(folder)
        law_1(folder, named)
        law_2(folder, must)
        if chance.random() < 0.25:
            began = time.monotonic()
            cleanly(run, folder)
            seconds = (seconds + time.monotonic() - began) / 2
            law_3(folder, run)
            must = run.urls()
    cleanly(run, folder)
    law_3(folder, run)
    law_1(folder, named)
    return {"killed": dead, "named": len(named)}


def changed(rows: Rows, chance: random.Random) -> dict[int, Row]:
    """Some rows more and some less, most of the time in one place; those that last are left."""
    gone = chance.sample(sorted(rows), len(rows) // 12)
    kept = {key: row for key, row in rows.items() if key not in gone or key in EVERGREEN}
    where = chance.randrange(6_000)
    fresh = many(*(chance.randrange(where, where + 300) for _ in range(chance.randrange(25))))
    return {**kept, **fresh, **EVERGREEN}


def orphans(place: str) -> int:
    """Workers of a coordinator that is killed; one of them stands still meanwhile."""
    from django_sitemaps09.exceptions import ExportRunningError
    from django_sitemaps09.export import export as run_it

    folder = Path(place) / "public"
    first, last = Run(BOTH, sections=TWO), SCENARIOS["two"][-1]
    met = 0

    from django.db import connections

    def with_workers(**more: Any) -> Any:
        # Workers that are forked know what is set here; beside an open connection they would be started.
        connections.close_all()
        settings(last, SITEMAPS=f"{SECTIONS_PATH}.SECTIONS")
        return run_it(output=folder, engine="processes", workers=2, **more)

    for point in count(1):
        shutil.rmtree(folder, ignore_errors=True)
        fill(first.rows)
        cleanly(first, folder)
        fill(last.rows)

        def work(point: int = point) -> None:
            die_at(point, folder, in_workers=True)
            with_workers()

        number = child(work)
        try:
            died = killed(number)
            before = looked_at.states(folder)
            if members(number):
                # Those that were forked have the lock still; beside those that were started an export runs.
                met += 1
                with contextlib.suppress(ExportRunningError):
                    assert with_workers().failures == []
                    law_3(folder, last)
                    before = looked_at.states(folder)
                assert looked_at.states(folder) == before
            until(lambda number=number: not woken(number), "workers outlive their coordinator")
        finally:
            # Whatever failed, none of them stands still for ever.
            woken(number)
        assert looked_at.states(folder) == before
        law_2(folder, first.urls())
        report = with_workers()
        assert report.failures == []
        law_3(folder, last)
        if not died:
            return met
    raise AssertionError


#: Not `__main__`, which workers know as something else.
SECTIONS_PATH = "tests.killed"


def members(group: int) -> list[int]:
    """Returns the living processes of a process group."""
    return [number for number, ids in living() if ids.group == group]


def woken(group: int) -> list[int]:
    """Returns the living processes of a process group, each of which was told to go on."""
    found = members(group)
    for number in found:
        with contextlib.suppress(ProcessLookupError):
            os.kill(number, signal.SIGCONT)
    return found


def end(session: int) -> None:
    """Kills all living processes of a session, those that stand still too."""
    for number in [number for number, ids in living() if ids.session == session]:
        with contextlib.suppress(ProcessLookupError):
            os.kill(number, signal.SIGKILL)


class Ids(NamedTuple):
    group: int
    session: int


def living() -> Iterator[tuple[int, Ids]]:
    """Yields each process that lives, as far as /proc tells."""
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            state, _, group, session = stat.read_text().rpartition(")")[2].split()[:4]
            # One that is dead has its files as long as a thread of it is not.
            if state not in "ZX" or len([*stat.parent.glob("task/*")]) > 1:
                yield int(stat.parent.name), Ids(int(group), int(session))


def each_way(place: str) -> list[Any]:
    """The same rows, twice, by each engine, count of workers and codec: page maps and digests."""
    from django.db import connections

    from django_sitemaps09 import compression
    from django_sitemaps09 import manifest as manifests
    from django_sitemaps09.export import export as run_it
    from django_sitemaps09.stores.local import LocalStore

    ways: list[dict[str, Any]] = [{"engine": "serial"}]
    ways += [{"engine": "processes", "workers": workers} for workers in (1, 2, 3)]
    levels = [6, 1] if compression.isal_zlib is None else [None, 6]
    found = []
    runs = [
        SCENARIOS["two"][0],
        SCENARIOS["two"][1],
        Run(THIN | BOTH, sections=TWO),
        Run(THIN, sections=TWO),
    ]
    for way in ways:
        for level in levels:
            folder = Path(place) / f"{len(found)}"
            maps = []
            for run in runs:
                fill(run.rows)
                # Another codec rewrites nothing that is the same.
                keys = {} if level is None else {"GZIP_LEVEL": level}
                settings(run, SITEMAPS=f"{SECTIONS_PATH}.SECTIONS", **keys)
                # Workers that are forked know what is set here.
                connections.close_all()
                report = run_it(output=folder, **way)
                assert report.failures == [], report.failures
                law_3(folder, run)
                before = looked_at.states(folder, hidden=True)
                settings(run, SITEMAPS=f"{SECTIONS_PATH}.SECTIONS", GZIP_LEVEL=9)
                connections.close_all()
                again = run_it(output=folder, **way)
                while any(section.merged for section in again.sections):
                    # Rows that went away leave pages to be merged by the runs behind.
                    before = looked_at.states(folder, hidden=True)
                    connections.close_all()
                    again = run_it(output=folder, **way)
                assert again.written == (), (way, level, again.written)
                assert looked_at.states(folder, hidden=True) == before, way
                manifest = manifests.read(LocalStore(folder / ".sitemaps09", own=""))
                assert manifest is not None
                maps.append(
                    {
                        name: [(page.number, page.until, page.urls, page.digest) for page in record.pages]
                        for name, record in manifest.sections.items()
                    }
                )
            found.append([way, maps])
    return found


def two_at_once(place: str) -> bool:
    """One export waits in the middle of its pages; another one comes."""
    from django_sitemaps09.exceptions import ExportRunningError
    from django_sitemaps09.export import export as run_it

    folder, here, go = (Path(place) / name for name in ("public", "here", "go"))
    run = SCENARIOS["tail"][-1]
    fill(THIRTY)
    cleanly(Run(THIRTY), folder)
    fill(run.rows)

    def waits(self: Any, item: Any) -> str:
        if item.pk == 2_500:
            here.touch()
            until(go.exists, "nobody let it go on")
        return f"/{item.name}/"

    def work() -> None:
        settings(run)
        run_it(output=folder, sitemaps={"a": section("a", location=waits)}, engine="serial")

    number = child(work)
    until(here.exists, "it never began")
    before = looked_at.states(folder, hidden=True)
    try:
        cleanly(run, folder)
    except ExportRunningError:
        refused = True
    else:
        refused = False
    assert looked_at.states(folder, hidden=True) == before
    go.touch()
    assert not killed(number)
    law_3(folder, run)
    return refused


def disk_full(place: str, kind: str) -> list[int]:
    """Less room than an export takes, from none to enough of it; then there is room.

    `kind` is `tmpfs` where `place` is one of these of 1 MB, else `limit`: no file grows over a size. Tells
    how many runs failed, and how many did not.
    """
    folder, filler = Path(place) / "public", Path(place) / "filler"
    noise = random.Random(1)  # noqa: S311
    names = {key: Row("a" + noise.randbytes(90).hex()) for key in range(100, 6_100, 100)}
    run = Run(names, keys={"MAX_URLS": 40})
    more = {key + 1: Row("a" + noise.randbytes(90).hex()) for key in range(100, 6_100, 100)}
    full = run._replace(rows=names | more)
    failed = went = 0
    for room in [*range(0, 100_000, 4_096)] if kind == "tmpfs" else [*range(0, 16_384, 256)]:
        shutil.rmtree(folder, ignore_errors=True)
        fill(run.rows)
        cleanly(run, folder)
        named = looked_at.named(folder)
        before = looked_at.states(folder)
        fill(full.rows)

        def work(room: int = room) -> None:
            if kind != "tmpfs":
                import resource

                signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
                resource.setrlimit(resource.RLIMIT_FSIZE, (room, room))
            from django_sitemaps09.exceptions import ExportError

            try:
                report = export(full, folder)
            except (OSError, ExportError):
                os._exit(1)
            os._exit(1 if report.failures else 0)

        if kind == "tmpfs":
            free = os.statvfs(place)
            with filler.open("wb") as file:
                file.write(bytes(max(0, free.f_bavail * free.f_frsize - room)))
        _, status = os.waitpid(child(work), 0)
        assert os.WIFEXITED(status)
        failed, went = failed + (os.WEXITSTATUS(status) == 1), went + (os.WEXITSTATUS(status) == 0)
        if room == 0:
            assert looked_at.states(folder) == before
        law_1(folder, {*named, *looked_at.named(folder)})
        law_2(folder, run.urls())
        filler.unlink(missing_ok=True)
        cleanly(full, folder)
        law_1(folder, {*named, *looked_at.named(folder)})
        law_3(folder, full)
    return [failed, went]


if __name__ == "__main__":
    faulthandler.enable()
    database, function, *given = sys.argv[1:]
    configuration.DATABASES = {"default": json.loads(database)}
    django.setup()
    import logging

    # What is killed is told of; that is what it is for.
    logging.disable(logging.ERROR)
    prepare()
    print(json.dumps(globals()[function](*given)))  # noqa: T201
