"""Random histories of a site, with exports, failures and a clock, as crawlers of its live pages see them.

`SITEMAPS09_FUZZ_LIVE_CASES` is the number of cases on all databases together, by default 12, which take
half a minute. `SITEMAPS09_FUZZ_SEED` is what they begin with. A failure is the shortest list of steps that
fails in the same way, with the name of its case; `SITEMAPS09_FUZZ_CASE` runs that one alone.
"""

from __future__ import annotations

import logging
import os
import socket
import time
from collections import Counter
from contextlib import ExitStack
from dataclasses import replace
from traceback import extract_tb

import pytest
from django.conf import settings as configured_settings

from tests.invariants.fuzz_live.cases import CACHES, Step, Table, case_of
from tests.invariants.fuzz_live.faults import (
    WRITER,
    FakeTime,
    Memories,
    cache_tables,
    more_connections,
    patched,
)
from tests.invariants.fuzz_live.history import Broken, History
from tests.invariants.fuzz_live.site import Site, configured
from tests.support.databases import ALIASES, parameter, require
from tests.support.published import quick_folder
from tests.support.services import REDIS

SEED = os.environ.get("SITEMAPS09_FUZZ_SEED", "1")
CASES = int(os.environ.get("SITEMAPS09_FUZZ_LIVE_CASES", "12"))
ONE = os.environ.get("SITEMAPS09_FUZZ_CASE")
#: Number of cases in one test, and seconds after which a test makes no case shorter: no test may take long.
PART, SECONDS = 4, 50


def parts():
    """Return the cases of each test, for each database."""
    each = -(-CASES // len(configured_settings.DATABASES))
    for alias in ALIASES:
        known = {alias, "default"} & {*configured_settings.DATABASES}
        marks = [pytest.mark.django_db(transaction=True, databases=[*known])]
        for part in range(-(-each // PART)):
            size = min(PART, each - part * PART)
            yield pytest.param(alias, part, size, marks=marks, id=f"{parameter(alias).id}-{part}")


@pytest.mark.slow
@pytest.mark.parametrize(("using", "part", "size"), list(parts()))
def test_crawlers_find_all_rows_whatever_happens(using, part, size, register, record_property):
    require(using)
    names = [f"{SEED}:{using}:{part}:{number}" for number in range(size)]
    if ONE is not None:
        names = [ONE] if part == 0 and ONE.split(":")[1:2] == [using] else []
    failures, until, counts, clock = [], time.monotonic() + SECONDS, Counter(), FakeTime()
    # Thousands of requests fail on purpose.
    logging.disable()
    with ExitStack() as stack:
        stack.callback(logging.disable, logging.NOTSET)
        for context in (patched(clock), more_connections(using), cache_tables()):
            stack.enter_context(context)
        play = player(using, register, clock, counts)
        for name in names:
            failure = play(case_of(name, available_caches()))
            if failure is not None:
                counts[failure[1].args[0]] += 1
                failures.append(described(*shortest(play, failure, until)))
    for found, times in counts.items():
        record_property(found, times)
    assert not failures, "\n\n".join(["", f"{dict(counts)}", *failures])


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    "steps",
    [
        # Other bounds than those of a crawl under way.
        "slow_crawl, evict 1, delete_range 0.5, wait 302, index, read_on 99",
        # More rows in a range than the protocol allows.
        "bulk_together 5, crawl, wait 61, crawl, settle, mixed_crawl",
        # Another process goes on with a listing.
        "wait 302, killed 5, crawl, wait 11, mixed_crawl, settle",
        # A listing is lost just before the database fails.
        "evict 1, restart, restart, database_fails, wait 61, crawl",
        # An export divides a page that a crawl under way knows by its number.
        "export, wait 11, slow_crawl, bulk_together 1, export, wait 11, read_on 99, mixed_crawl",
        "delete_range 0.9, export, settle, slow_crawl, bulk_together 1, export, wait 11, read_on 99",
        "delete_range 0.7, export, wait 302, slow_crawl, bulk_together 1, export, wait 11, read_on 99",
        # An export lets one page grow and removes others. Another process has just read the one before.
        "export, wait 295, crawl, delete_range 0.5, export, wait 5, wait 1, mixed_crawl, any_page 20",
        # All pages of an export are gone, and a single one comes.
        "export, delete_range 1, export, wait 121, append_many 4, delete_range 0.8, wait 400, crawl",
    ],
)
def test_crawlers_find_all_rows_after(steps, seed, register):
    names = [step.partition(" ") for step in f"crawl, wait 400, crawl, {steps}".split(", ")]
    steps = tuple(Step(name, n % 2, float(amount or 0), seed) for n, (name, _, amount) in enumerate(names))
    site = {"kind": "integer", "limit": 20, "protocol": 2, "live_seconds": 60, "live_cache": False}
    case = replace(case_of("directed", ("evicting",)), **site, by_method=False, rows=100, steps=steps)
    clock = FakeTime()
    with patched(clock), more_connections("default"):
        failure = player("default", register, clock, Counter())(case)
    assert failure is None, described(*failure)


def player(using, register, clock, counts):
    """Return a function that plays a case on a database, from the beginning.

    It returns the first invariant that is broken, and the case up to there.
    """
    memories = Memories()

    def play(case):
        clock.seconds = FakeTime().seconds
        table = Table(case.kind, WRITER, clock.time)
        with quick_folder() as folder, configured(case, using, folder, clock):
            site = Site(case, using, folder, table, memories, clock, register)
            try:
                History(site).run()
            except Exception as error:  # noqa: BLE001 each is a defect
                broken, frame = error, extract_tb(error.__traceback__)[-1]
                if not isinstance(error, Broken):
                    broken = Broken(f"{error} in {frame.filename}:{frame.lineno}", type(error).__name__)
                return replace(case, steps=case.steps[: site.steps]), broken
            finally:
                table.write({})
                memories.clear()
                counts["answers"] += site.answers
        return None

    return play


def shortest(play, failure, until):
    """Return the shortest case that breaks the same invariant, or what is found until then."""
    case, broken = failure
    for smaller in case.smaller():
        if time.monotonic() > until:
            break
        found = play(smaller)
        if found is not None and found[1].args[0] == broken.args[0]:
            return shortest(play, found, until)
    return failure


def described(case, broken):
    return f"{case}\n  # {broken.args[0]}: {broken.args[1]}"


def available_caches():
    host, _, port = REDIS.rpartition(":")
    try:
        socket.create_connection((host, int(port)), timeout=2).close()
    except OSError:
        return tuple(name for name in CACHES if name != "redis")
    return CACHES
