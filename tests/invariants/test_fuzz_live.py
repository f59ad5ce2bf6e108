"""Random histories of a site, with exports, failures and a clock, as crawlers of its live pages see them.

`SITEMAPS09_FUZZ_LIVE_CASES` is the number of cases on all databases together, by default 12, which take
half a minute. `SITEMAPS09_FUZZ_SEED` is what they begin with. A failure is the shortest list of steps that
fails in the same way, with the name of its case; `SITEMAPS09_FUZZ_CASE` runs that one alone.
"""

from __future__ import annotations

import logging
import os
import random
import socket
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from traceback import extract_tb
from typing import Any, TypeAlias

import pytest
from django.conf import settings as configured_settings

from tests.invariants.fuzz_live import history
from tests.invariants.fuzz_live.cases import CACHES, Case, Step, case_of
from tests.invariants.fuzz_live.connections import (
    WRITER,
    cache_tables,
    failing_database,
    writer_connection,
)
from tests.invariants.fuzz_live.invariants import Broken
from tests.invariants.fuzz_live.processes import FakeTime, Memories, patched
from tests.invariants.fuzz_live.rows import Table
from tests.invariants.fuzz_live.site import INDEX, Site, configured, sections
from tests.support.databases import ALIASES, parameter, require
from tests.support.published import quick_folder
from tests.support.services import REDIS

SEED = os.environ.get("SITEMAPS09_FUZZ_SEED", "1")
CASES = int(os.environ.get("SITEMAPS09_FUZZ_LIVE_CASES", "12"))
ONE = os.environ.get("SITEMAPS09_FUZZ_CASE")
#: Number of cases in one test, and seconds after which a test makes no case shorter: no test may take long.
PART, SECONDS = 4, 50

Register = Callable[..., None]
Failure: TypeAlias = "tuple[Case, Broken]"


def parts() -> Iterator[Any]:
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
def test_crawlers_find_all_rows_whatever_happens(
    using: str, part: int, size: int, register: Register, record_property: Any
) -> None:
    require(using)
    names = [f"{SEED}:{using}:{part}:{number}" for number in range(size)]
    if ONE is not None:
        names = [ONE] if part == 0 and ONE.split(":")[1:2] == [using] else []
    failures: list[str] = []
    until = time.monotonic() + SECONDS
    counts: Counter[str] = Counter()
    # Thousands of requests fail on purpose.
    logging.disable()
    with ExitStack() as stack:
        stack.callback(logging.disable, logging.NOTSET)
        clock = FakeTime()
        stack.enter_context(patched(clock))
        stack.enter_context(writer_connection(using))
        stack.enter_context(cache_tables())
        play = Player(using, register, Memories(), clock, counts)
        for name in names:
            failure = play(case_of(name, available_caches()))
            if failure is not None:
                counts[failure[1].args[0]] += 1
                failures.append(described(*shortest(play, failure, until)))
    for found, times in counts.items():
        record_property(found, times)
    assert not failures, "\n\n".join(["", f"{dict(counts)}", *failures])


def case_of_integers(cache: str) -> Case:
    return replace(
        case_of("bounds", (cache,)),
        kind="integer",
        limit=20,
        live_seconds=60,
        live_cache=False,
        by_method=False,
    )


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(
    ("cache", "last_steps", "seed"),
    [
        # A process that does not know yet that a page has grown answers that it has not changed.
        *(("file", [("wait", 30), ("mixed_crawl", 0)], seed) for seed in range(6)),
        # The new map has other bounds.
        *(("evicting", [("evict", 1), ("crawl", 0)], seed) for seed in range(3)),
    ],
)
def test_rows_of_pages_with_new_bounds_are_crawled(
    cache: str, last_steps: list[tuple[str, int]], seed: int, register: Register
) -> None:
    names = [("wait", 400), ("crawl", 0), ("wait", 299), ("crawl", 0), ("delete_range", 0.5), *last_steps]
    steps = tuple(Step(name, int(name == "crawl"), amount, seed) for name, amount in names)
    case = replace(case_of_integers(cache), rows=100, steps=steps)
    clock = FakeTime()
    with patched(clock), writer_connection("default"):
        failure = Player("default", register, Memories(), clock, Counter())(case)
    assert failure is None, described(*failure)


@contextmanager
def a_site(register: Register) -> Iterator[Site]:
    """Begin a case without steps. The clock says how many seconds have passed."""
    case, clock = case_of_integers("file"), FakeTime()
    with (
        patched(clock),
        writer_connection("default"),
        quick_folder() as folder,
        configured(case, folder, clock),
    ):
        table, memories = Table(case.kind, WRITER, clock.time), Memories()
        register(**sections(site := Site(case, "default", folder, table, memories, clock)))
        try:
            yield site
        finally:
            table.write({})
            memories.clear()


@pytest.mark.django_db(transaction=True)
class TestAMergedPageIsStillListed:
    """A crawler asks for all pages just before they change, and crawls again. Another process answers."""

    def test_if_it_had_been_divided_before(self, register: Register) -> None:
        with a_site(register) as site:
            rows = [*range(0, 60_000, 1_000), *range(25_001, 25_031)]
            site.table.write(dict.fromkeys(rows[:60], 0))
            for seconds, numbers in ((400, rows), (301, rows), (301, rows)):
                site.clock.seconds += seconds
                history.crawl(site, 1, with_etags=True)
                site.table.write(dict.fromkeys(numbers, 0))
            site.clock.seconds += 299
            history.crawl(site, 1, with_etags=True)
            kept = [n for n in rows if n % 1_000 == 0 and not 3_000 <= n <= 20_000]
            site.table.write(dict.fromkeys(kept, 0))
            site.clock.seconds += 5
            assert history.crawl(site, 0, with_etags=True, page_process=lambda: 1)

    def test_but_not_by_the_index_of_a_failing_database(self, register: Register) -> None:
        """It answers for `KEEP_REMOVED`, which begins when it is merged."""
        with a_site(register) as site:
            rows = range(0, 100_000, 1_000)
            site.table.write(dict.fromkeys(rows, 0))
            site.clock.seconds += 400
            second = history.get(site, 0, INDEX).pages[1]
            site.table.write({n: 0 for n in rows if not 4_000 < n < 22_000})
            site.clock.seconds += 301
            assert second in history.get(site, 0, INDEX).pages
            site.clock.seconds += 301
            with failing_database("default", 0, random.Random(1)):  # noqa: S311 not secret
                answer = site.request(0, INDEX, fails=True)
            assert answer.pages
            assert second not in answer.pages

    @pytest.mark.parametrize("process", [0, 1])
    def test_if_a_page_with_an_earlier_number_absorbs_it(self, process: int, register: Register) -> None:
        with a_site(register) as site:
            rows = range(0, 100_000, 1_000)
            site.table.write(dict.fromkeys(rows, 0))
            site.clock.seconds += 400
            found = history.crawl(site, 0, with_etags=True)
            assert found is not None
            second = found.index.pages[1]
            site.table.write({n: 0 for n in rows if not 4_000 < n < 22_000})
            site.clock.seconds += 301
            assert second not in [*history.get(site, 0, INDEX).pages][:2]
            site.clock.seconds += 289
            history.get(site, process, second)
            site.table.write({n: 0 for n in rows if not 26_000 < n < 36_000})
            site.clock.seconds += 12
            found = history.crawl(site, 0, with_etags=True, page_process=lambda: process)
            assert found is not None
            assert second in found.index.pages


class Player:
    """Plays cases on a database, each from the beginning."""

    def __init__(
        self, using: str, register: Register, memories: Memories, clock: FakeTime, counts: Counter[str]
    ) -> None:
        self.using, self.register, self.memories = using, register, memories
        self.clock, self.counts = clock, counts

    def __call__(self, case: Case) -> Failure | None:
        """Return the first invariant that is broken, and the case up to there."""
        self.clock.seconds = FakeTime().seconds
        table = Table(case.kind, WRITER, self.clock.time)
        with quick_folder() as folder, configured(case, folder, self.clock):
            site = Site(case, self.using, folder, table, self.memories, self.clock)
            self.register(**sections(site))
            try:
                history.run(site)
            except Broken as broken:
                return replace(case, steps=case.steps[: site.steps]), broken
            except Exception as error:  # noqa: BLE001 each is a defect
                frame = extract_tb(error.__traceback__)[-1]
                broken = Broken(type(error).__name__, f"{error} in {frame.filename}:{frame.lineno}")
                return replace(case, steps=case.steps[: site.steps]), broken
            finally:
                table.write({})
                self.memories.clear()
                self.counts["answers"] += site.answers
        return None


def shortest(play: Player, failure: Failure, until: float) -> Failure:
    """Return the shortest case that breaks the same invariant, or what is found until then."""
    case, broken = failure
    for smaller in case.smaller():
        if time.monotonic() > until:
            break
        found = play(smaller)
        if found is not None and found[1].args[0] == broken.args[0]:
            return shortest(play, found, until)
    return failure


def described(case: Case, broken: Broken) -> str:
    return f"{case}\n  # {broken.args[0]}: {broken.args[1]}"


def available_caches() -> tuple[str, ...]:
    host, _, port = REDIS.rpartition(":")
    try:
        socket.create_connection((host, int(port)), timeout=2).close()
    except OSError:
        return tuple(name for name in CACHES if name != "redis")
    return CACHES
