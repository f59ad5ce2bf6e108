"""Functions that kill or disturb exports in a process of their own. They return JSON, or raise."""

from __future__ import annotations

import contextlib
import faulthandler
import logging
import os
import random
import shutil
import signal
import time
from itertools import count
from pathlib import Path

from tests.invariants.killing import submissions
from tests.invariants.killing.exports import (
    SECTIONS_PATH,
    assert_files_are_whole,
    assert_is_current,
    assert_urls_are_kept,
    cleanly,
    create_tables,
    export,
    fill,
    naming,
    section,
    use_settings,
)  # fmt: skip
from tests.invariants.killing.scenarios import BOTH, EVERGREEN, SCENARIOS, THIRTY, TWO, Row, Run, many
from tests.support import published
from tests.support.examples import KILL_STEP
from tests.support.killing import die_at, forked, is_killed_at, members, was_killed, woken
from tests.support.processes import forkable
from tests.support.waiting import until


def call(name, place, *arguments):
    """Call a function of this module, or of `submissions`, with a folder: see `test_killed_exports`."""
    faulthandler.enable()
    # Each killed export is logged; that is expected here.
    logging.disable(logging.ERROR)
    create_tables()
    function = globals().get(name) or getattr(submissions, name)
    return function(Path(place), *arguments)


def replace(folder, copy):
    """Let a folder be as its copy, or absent without one."""
    shutil.rmtree(folder, ignore_errors=True)
    if copy.exists():
        shutil.copytree(copy, folder)


def contents(folder):
    return {name: content for name, (_, _, content) in published.states(folder).items()}


def begun(name, folder):
    """Complete all runs of a scenario but the last, and keep a copy of the folder.

    Return the URLs that must stay, the last run, and a run of other rows.
    """
    *earlier, last = SCENARIOS[name]
    for run in earlier:
        fill(run.rows)
        cleanly(run, folder)
        replace(folder.with_name("before"), folder)
    kept = {key: row for key, row in last.rows.items() if key % 700}
    once = earlier[-1].urls() if earlier else set()
    return once, last, last._replace(rows=kept | many(110, 1_310, 1_320, 7_000, 9_999))


def everywhere(place, name, how=""):
    """Kill the last run of a scenario at each of its points. Then the data change, and a run is not killed.

    With `losing`, what the killed run had staged is lost. With `again`, the next run is killed too, while
    it recovers, at points of its own. The number of points is returned.
    """
    folder, before, broken = (place / part for part in ("public", "before", "broken"))
    once, last, later = begun(name, folder)
    named_before = published.named(folder)
    chance = random.Random(4)  # noqa: S311
    for point in count(3, 6) if how == "again" else count(1, KILL_STEP):
        replace(folder, before)
        fill(last.rows)
        died = is_killed_at(point, folder, lambda: cleanly(last, folder))
        with naming(f"Scenario {name!r}, killed at point {point}"):
            named = {*named_before, *published.named(folder)}
            assert_files_are_whole(folder, named)
            assert_urls_are_kept(folder, once & last.urls())
            if how == "losing":
                for staged in (folder / ".sitemaps09").glob("run-*"):
                    shutil.rmtree(staged)
        fill(later.rows)
        replace(broken, folder)
        for second in sorted(chance.sample(range(1, 60), 3)) if died and how == "again" else [0]:
            with naming(f"Scenario {name!r}, killed at point {point}, then at {second}"):
                if second:
                    replace(folder, broken)
                    is_killed_at(second, folder, lambda: cleanly(later, folder))
                    assert_files_are_whole(folder, {*named, *published.named(folder)})
                    assert_urls_are_kept(folder, once & last.urls() & later.urls())
                cleanly(later, folder)
                assert_files_are_whole(folder, {*named, *published.named(folder)})
                assert_is_current(folder, later)
        if not died:
            break
    return point - 1


def at_random(place, kills, seed):
    """Kill exports from another process, with different rows each time, while a reader may watch."""
    chance, folder = random.Random(int(seed)), place / "public"  # noqa: S311
    rows = {**many(*range(100, 6_000, 90)), **EVERGREEN}
    run = Run(rows)
    fill(rows)
    cleanly(run, folder)
    (place / "ready").touch()
    named, must, dead, seconds = set(published.named(folder)), run.urls(), 0, 0.05
    for _ in range(int(kills)):
        # Add and delete rows, usually in one range. The lasting rows stay.
        gone, where = chance.sample(sorted(rows), len(rows) // 12), chance.randrange(6_000)
        fresh = many(*(chance.randrange(where, where + 300) for _ in range(chance.randrange(25))))
        rows = {key: row for key, row in rows.items() if key not in gone} | fresh | EVERGREEN
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
    return dead


def orphans(place):
    """Kill the coordinator of workers while one worker is stopped."""
    from django_sitemaps09.exceptions import ExportRunningError
    from django_sitemaps09.export import export

    folder, met = place / "public", 0
    first, last = Run(BOTH, sections=TWO), SCENARIOS["two"][-1]

    def with_workers():
        forkable()
        use_settings(last, SITEMAPS=SECTIONS_PATH)
        return export(output=folder, engine="processes", workers=2)

    for point in count(1):
        shutil.rmtree(folder, ignore_errors=True)
        fill(first.rows)
        cleanly(first, folder)
        fill(last.rows)
        number = forked(lambda point=point: die_at(point, folder, in_workers=True) or with_workers())
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
        assert with_workers().failures == []
        assert_is_current(folder, last)
        if not died:
            break
    return met


def disk_full(place, kind):
    """Export with less room than that takes, from none to enough of it; then there is room.

    `kind` is `tmpfs` if `place` is one of 1 MB, or `limit`: no file grows over a size. Return how many runs
    failed, and how many did not.
    """
    from django_sitemaps09.exceptions import ExportError

    folder, filler = place / "public", place / "filler"
    noise = random.Random(1)  # noqa: S311
    names = {key: Row("a" + noise.randbytes(90).hex()) for key in range(100, 6_100, 100)}
    run = Run(names, keys={"MAX_URLS": 40})
    more = {key + 1: Row("a" + noise.randbytes(90).hex()) for key in range(100, 6_100, 100)}
    full = run._replace(rows=names | more)
    statuses = []
    for room in range(0, 100_000, 4_096) if kind == "tmpfs" else range(0, 16_384, 256):
        shutil.rmtree(folder, ignore_errors=True)
        fill(run.rows)
        cleanly(run, folder)
        named, before = published.named(folder), published.states(folder)
        fill(full.rows)

        def work(room=room):
            if kind != "tmpfs":
                import resource

                signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
                resource.setrlimit(resource.RLIMIT_FSIZE, (room, room))
            try:
                report = export(full, folder)
            except (OSError, ExportError):
                os._exit(1)
            os._exit(1 if report.failures else 0)

        if kind == "tmpfs":
            free = os.statvfs(place)
            filler.write_bytes(bytes(max(0, free.f_bavail * free.f_frsize - room)))
        statuses.append(os.waitstatus_to_exitcode(os.waitpid(forked(work), 0)[1]))
        assert room > 0 or published.states(folder) == before
        assert_files_are_whole(folder, {*named, *published.named(folder)})
        assert_urls_are_kept(folder, run.urls())
        filler.unlink(missing_ok=True)
        cleanly(full, folder)
        assert_files_are_whole(folder, {*named, *published.named(folder)})
        assert_is_current(folder, full)
    assert {*statuses} == {0, 1}
    return statuses.count(1), statuses.count(0)


def repairs(place):
    """Kill a repair of damaged pages and a damaged index at each of its points, then repair again.

    The number of points is returned.
    """
    from django_sitemaps09.export import verify

    folder, broken, run = place / "public", place / "broken", Run(THIRTY)
    fill(run.rows)
    cleanly(run, folder)
    whole = contents(folder)
    replace(broken, folder)
    for name in ("sitemap-a-1.xml.gz", "sitemap-a-3.xml.gz", "sitemap.xml"):
        content = (broken / name).read_bytes()
        (broken / name).write_bytes(content[: len(content) // 2])

    def repaired():
        use_settings(run)
        result = verify(output=folder, sitemaps={"a": section("a")}, engine="serial", repair=True)
        assert result.failures == []
        return result.damaged

    for point in count(1, KILL_STEP):
        replace(folder, broken)
        died = is_killed_at(point, folder, repaired)
        with naming(f"Killed at point {point}"):
            repaired()
            assert (repaired(), contents(folder)) == ([], whole)
            cleanly(run, folder)
            assert_is_current(folder, run)
        if not died:
            break
    return point - 1
