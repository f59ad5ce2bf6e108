"""Random histories of a site, with exports, failures and a clock, as crawlers of its live pages see them.

`SITEMAPS09_FUZZ_LIVE_CASES` is the number of cases on all databases together, by default 12, which take
half a minute. `SITEMAPS09_FUZZ_SEED` is what they begin with. A failure prints its case, and its steps up
to the one that failed; `SITEMAPS09_FUZZ_CASE` runs that case alone.
"""

from __future__ import annotations

import logging
import os
from contextlib import ExitStack
from dataclasses import replace

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
from tests.invariants.fuzz_live.history import History
from tests.invariants.fuzz_live.site import Site, configured
from tests.support.databases import ALIASES, require
from tests.support.processes import answers
from tests.support.published import quick_folder
from tests.support.services import REDIS

SEED = os.environ.get("SITEMAPS09_FUZZ_SEED", "1")
CASES = int(os.environ.get("SITEMAPS09_FUZZ_LIVE_CASES", "12"))
ONE = os.environ.get("SITEMAPS09_FUZZ_CASE")


KNOWN = {*configured_settings.DATABASES}
EACH = range(-(-CASES // len(KNOWN)))
NAMES = [ONE] if ONE else [f"{SEED}:{alias}:{number}" for alias in ALIASES for number in EACH]


def on_its_database(name):
    alias = name.split(":")[1]
    databases = [*({alias, "default"} & KNOWN)]
    return pytest.param(alias, name, marks=pytest.mark.django_db(transaction=True, databases=databases))


@pytest.mark.slow
@pytest.mark.parametrize(("using", "name"), [*map(on_its_database, NAMES)])
def test_crawlers_find_all_rows_whatever_happens(using, name, register):
    require(using)
    play(case_of(name, available_caches()), using, register)


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("steps", [
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
])  # fmt: skip
def test_crawlers_find_all_rows_after(steps, seed, register):
    names = [step.partition(" ") for step in f"crawl, wait 400, crawl, {steps}".split(", ")]
    steps = tuple(Step(name, n % 2, float(amount or 0), seed) for n, (name, _, amount) in enumerate(names))
    site = {"kind": "integer", "limit": 20, "protocol": 2, "live_seconds": 60, "live_cache": False}
    case = replace(case_of("directed", ("evicting",)), **site, by_method=False, rows=100, steps=steps)
    play(case, "default", register)


def play(case, using, register):
    """Play a case on a database, from the beginning to the first invariant that is broken."""
    print(f"SITEMAPS09_FUZZ_CASE={case.name}: {case}")  # noqa: T201
    clock = FakeTime()
    # Thousands of requests fail on purpose.
    logging.disable()
    with ExitStack() as stack:
        stack.callback(logging.disable, logging.NOTSET)
        for context in (patched(clock), more_connections(using), cache_tables()):
            stack.enter_context(context)
        memories, table = Memories(), Table(case.kind, WRITER, clock.time)
        stack.callback(memories.clear)
        folder = stack.enter_context(quick_folder())
        stack.enter_context(configured(case, using, folder, clock))
        stack.callback(table.write, {})
        History(Site(case, using, folder, table, memories, clock, register)).run()


def available_caches():
    return CACHES if answers(REDIS) else tuple(name for name in CACHES if name != "redis")
