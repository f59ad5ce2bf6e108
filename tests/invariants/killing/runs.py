"""Functions that kill or disturb exports in a separate process. Each returns values for JSON, or raises."""

from __future__ import annotations

import contextlib
import os
import random
import shutil
import signal
import sys
import time
from itertools import count
from pathlib import Path
from typing import Any

from tests.invariants.killing.exports import SECTIONS_PATH, cleanly, export, fill, section, settings
from tests.invariants.killing.publication import (
    assert_files_are_whole,
    assert_is_current,
    assert_urls_are_kept,
)
from tests.invariants.killing.scenarios import (
    BOTH,
    EVERGREEN,
    SCENARIOS,
    THIN,
    THIRTY,
    TWO,
    Row,
    Rows,
    Run,
    many,
)
from tests.support import published
from tests.support.examples import KILL_STEP
from tests.support.killing import die_at, forked, is_killed_at, members, was_killed, woken
from tests.support.processes import forkable
from tests.support.waiting import until


def begun(name: str, folder: Path) -> tuple[list[Run], Run, Run]:
    """Complete all runs of a scenario but the last. Return them, the last one, and one of other rows."""
    *earlier, last = SCENARIOS[name]
    for run in earlier:
        fill(run.rows)
        cleanly(run, folder)
    kept = {key: row for key, row in last.rows.items() if key % 700}
    return earlier, last, last._replace(rows=kept | many(110, 1_310, 1_320, 7_000, 9_999))


def everywhere(name: str, place: str, *losing: str) -> int:
    """Kill the last run of a scenario at each of its points; `losing` removes what it had staged.

    Then the data change, and a run is not killed. The number of points is returned.
    """
    folder, before = Path(place) / "public", Path(place) / "before"
    earlier, last, later = begun(name, folder)
    if earlier:
        shutil.copytree(folder, before)
    once = earlier[-1].urls() if earlier else set()
    named_before = published.named(folder)
    for point in count(1, KILL_STEP):
        shutil.rmtree(folder, ignore_errors=True)
        if earlier:
            shutil.copytree(before, folder)
        fill(last.rows)
        died = is_killed_at(point, folder, lambda: cleanly(last, folder))
        try:
            named = {*named_before, *published.named(folder)}
            assert_files_are_whole(folder, named)
            assert_urls_are_kept(folder, once & last.urls())
            if losing:
                for staged in (folder / ".sitemaps09").glob("run-*"):
                    shutil.rmtree(staged)
            fill(later.rows)
            cleanly(later, folder)
            assert_files_are_whole(folder, {*named, *published.named(folder)})
            assert_is_current(folder, later)
        except BaseException:
            sys.stderr.write(f"Scenario {name!r}, killed at point {point}:\n")
            raise
        if not died:
            return point - 1
    raise AssertionError


def recovering(name: str, place: str) -> int:
    """As above, but what follows is killed too, while it recovers, at a point after the other."""
    folder, before, broken = (Path(place) / part for part in ("public", "before", "broken"))
    earlier, last, later = begun(name, folder)
    shutil.copytree(folder, before)
    once = earlier[-1].urls() & last.urls()
    chance = random.Random(4)  # noqa: S311
    pairs = 0
    for point in range(3, 200, 6):
        shutil.rmtree(folder)
        shutil.copytree(before, folder)
        fill(last.rows)
        if not is_killed_at(point, folder, lambda: cleanly(last, folder)):
            break
        fill(later.rows)
        shutil.rmtree(broken, ignore_errors=True)
        shutil.copytree(folder, broken)
        for second in sorted(chance.sample(range(1, 60), 3)):
            shutil.rmtree(folder)
            shutil.copytree(broken, folder)
            named = published.named(folder)
            is_killed_at(second, folder, lambda: cleanly(later, folder))
            try:
                assert_files_are_whole(folder, {*named, *published.named(folder)})
                assert_urls_are_kept(folder, once & later.urls())
                cleanly(later, folder)
                assert_files_are_whole(folder, {*named, *published.named(folder)})
                assert_is_current(folder, later)
            except BaseException:
                sys.stderr.write(f"Scenario {name!r}, killed at point {point}, then at {second}:\n")
                raise
            pairs += 1
    return pairs


def at_random(place: str, kills: str, seed: str) -> dict[str, int]:
    """Kill exports from another process, with different rows each time, while a reader may watch."""
    chance = random.Random(int(seed))  # noqa: S311
    folder = Path(place) / "public"
    rows = {**many(*range(100, 6_000, 90)), **EVERGREEN}
    run = Run(rows)
    fill(rows)
    cleanly(run, folder)
    (Path(place) / "ready").touch()
    named = set(published.named(folder))
    must, dead, seconds = run.urls(), 0, 0.05
    for _ in range(int(kills)):
        rows = changed(rows, chance)
        run = Run(rows, {"rebalance": chance.random() < 0.05})
        must &= run.urls()
        fill(rows)
        began = time.monotonic()
        number = forked(lambda run=run: cleanly(run, folder))
        time.sleep(chance.uniform(0, 1.1) * seconds)
        with contextlib.suppress(ProcessLookupError):
            os.kill(number, signal.SIGKILL)
        if was_killed(number):
            dead += 1
        else:
            seconds = time.monotonic() - began
        named |= published.named(folder)
        assert_files_are_whole(folder, named)
        assert_urls_are_kept(folder, must)
        if chance.random() < 0.25:
            began = time.monotonic()
            cleanly(run, folder)
            seconds = (seconds + time.monotonic() - began) / 2
            assert_is_current(folder, run)
            must = run.urls()
    cleanly(run, folder)
    assert_is_current(folder, run)
    assert_files_are_whole(folder, named)
    return {"killed": dead, "named": len(named)}


def changed(rows: Rows, chance: random.Random) -> dict[int, Row]:
    """Add and delete rows, usually in one range. The lasting rows stay."""
    gone = chance.sample(sorted(rows), len(rows) // 12)
    kept = {key: row for key, row in rows.items() if key not in gone or key in EVERGREEN}
    where = chance.randrange(6_000)
    fresh = many(*(chance.randrange(where, where + 300) for _ in range(chance.randrange(25))))
    return {**kept, **fresh, **EVERGREEN}


def orphans(place: str) -> int:
    """Kill the coordinator of workers while one worker is stopped."""
    from django_sitemaps09.exceptions import ExportRunningError
    from django_sitemaps09.export import export as run_it

    folder = Path(place) / "public"
    first, last = Run(BOTH, sections=TWO), SCENARIOS["two"][-1]
    met = 0

    def with_workers(**more: Any) -> Any:
        forkable()
        settings(last, SITEMAPS=SECTIONS_PATH)
        return run_it(output=folder, engine="processes", workers=2, **more)

    for point in count(1):
        shutil.rmtree(folder, ignore_errors=True)
        fill(first.rows)
        cleanly(first, folder)
        fill(last.rows)

        def work(point: int = point) -> None:
            die_at(point, folder, in_workers=True)
            with_workers()

        number = forked(work)
        try:
            died = was_killed(number)
            before = published.states(folder)
            if members(number):
                # Forked workers still hold the lock. Spawned workers do not prevent another export.
                met += 1
                with contextlib.suppress(ExportRunningError):
                    assert with_workers().failures == []
                    assert_is_current(folder, last)
                    before = published.states(folder)
                assert published.states(folder) == before
            until(lambda number=number: not woken(number), "workers outlive their coordinator")
        finally:
            # Even after a failure, no worker stays stopped forever.
            woken(number)
        assert published.states(folder) == before
        assert_urls_are_kept(folder, first.urls())
        report = with_workers()
        assert report.failures == []
        assert_is_current(folder, last)
        if not died:
            return met
    raise AssertionError


def each_way(place: str) -> list[Any]:
    """Export the same rows twice with each engine, number of workers and codec.

    Return page maps and digests.
    """
    from django_sitemaps09 import compression
    from django_sitemaps09.export import export as run_it
    from django_sitemaps09.state import manifest as manifests
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
                # Another codec does not rewrite unchanged files.
                keys = {} if level is None else {"GZIP_LEVEL": level}
                settings(run, SITEMAPS=SECTIONS_PATH, **keys)
                forkable()
                report = run_it(output=folder, **way)
                assert report.failures == [], report.failures
                assert_is_current(folder, run)
                before = published.states(folder, hidden=True)
                settings(run, SITEMAPS=SECTIONS_PATH, GZIP_LEVEL=9)
                forkable()
                again = run_it(output=folder, **way)
                assert again.written == (), (way, level, again.written)
                assert published.states(folder, hidden=True) == before, way
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
        named = published.named(folder)
        before = published.states(folder)
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
        _, status = os.waitpid(forked(work), 0)
        assert os.WIFEXITED(status)
        failed, went = failed + (os.WEXITSTATUS(status) == 1), went + (os.WEXITSTATUS(status) == 0)
        if room == 0:
            assert published.states(folder) == before
        assert_files_are_whole(folder, {*named, *published.named(folder)})
        assert_urls_are_kept(folder, run.urls())
        filler.unlink(missing_ok=True)
        cleanly(full, folder)
        assert_files_are_whole(folder, {*named, *published.named(folder)})
        assert_is_current(folder, full)
    return [failed, went]


def repairs(place: str) -> int:
    """Kill a repair of damaged pages and a damaged index at each of its points, then repair again.

    The number of points is returned.
    """
    from django_sitemaps09.export import verify

    folder, broken = (Path(place) / part for part in ("public", "broken"))
    run = Run(THIRTY)
    fill(run.rows)
    cleanly(run, folder)
    whole = published.states(folder)
    shutil.copytree(folder, broken)
    for name in ("sitemap-a-1.xml.gz", "sitemap-a-3.xml.gz", "sitemap.xml"):
        content = (broken / name).read_bytes()
        (broken / name).write_bytes(content[: len(content) // 2])

    def repaired() -> Any:
        settings(run)
        result = verify(output=folder, sitemaps={"a": section("a")}, engine="serial", repair=True)
        assert result.failures == []
        return result

    for point in count(1, KILL_STEP):
        shutil.rmtree(folder)
        shutil.copytree(broken, folder)
        died = is_killed_at(point, folder, repaired)
        try:
            repaired()
            assert repaired().damaged == []
            assert {name: state[2] for name, state in published.states(folder).items()} == {
                name: state[2] for name, state in whole.items()
            }
            cleanly(run, folder)
            assert_is_current(folder, run)
        except BaseException:
            sys.stderr.write(f"Killed at point {point}:\n")
            raise
        if not died:
            return point - 1
    raise AssertionError
