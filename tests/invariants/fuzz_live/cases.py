"""Random cases: a site, and steps that happen to it. The same name gives the same case."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace
from typing import NamedTuple

from tests.invariants.fuzz_live.rows import KINDS

#: Caches that all processes share and that lose nothing before it expires.
DURABLE = ("redis", "database", "file")
CACHES = (*DURABLE, "local", "failing", "evicting")


class Step(NamedTuple):
    """Something that happens. What it does to which rows or address depends on `seed` and on the site."""

    name: str
    process: int
    amount: float
    seed: int


@dataclass(frozen=True)
class Case:
    """A site with its first rows, and what happens to it."""

    name: str
    kind: str
    cache: str
    limit: int
    live_seconds: int
    live_cache: bool
    #: The most URLs of a page by the protocol, in multiples of the limit.
    protocol: int
    #: Whether rows are read from any of two replicas.
    replicas: bool
    keep_removed: int
    gzip: bool
    by_method: bool
    rows: int
    steps: tuple[Step, ...]

    def smaller(self):
        """Yield the case without some of its steps, and with fewer rows: the greatest changes first."""
        size = len(self.steps) // 2
        while size:
            for start in range(0, len(self.steps), size):
                yield replace(self, steps=self.steps[:start] + self.steps[start + size :])
            size //= 2
        if self.rows:
            yield replace(self, rows=self.rows // 2)
        for position, step in enumerate(self.steps):
            if step.process:
                changed = step._replace(process=0)
                yield replace(self, steps=(*self.steps[:position], changed, *self.steps[position + 1 :]))

    def __str__(self):
        options = [
            f"{name}={value!r}" for name, value in vars(self).items() if name not in ("name", "steps")
        ]
        return "\n".join([f"SITEMAPS09_FUZZ_CASE={self.name}", ", ".join(options), *map(repr, self.steps)])


#: How often each step occurs, and its amounts: a list to choose from, a range of whole numbers, or shares.
_STEPS = [
    # Numbers of rows; `bulk` and `append_many` are in multiples of the limit.
    *(("insert", 6, range(1, 5)), ("append", 6, range(1, 7)), ("append_many", 2, [0.5, 1.5, 4, 12])),
    *(
        ("bulk_together", 3, [0.5, 1, 2, 5, 40]),
        ("bulk_everywhere", 2, [1, 3, 10]),
        ("change", 3, range(1, 11)),
    ),
    # Shares of the rows.
    *(("delete", 3, [0.01, 0.1, 0.5, 0.9]), ("delete_range", 4, [0.05, 0.3, 0.8, 1])),
    *(("replace", 2, [0, 0.5, 1]), ("replace_atomic", 2, [0, 0.5, 1])),
    # Seconds.
    ("wait", 12, [1, 5, 11, 30, 61, 121, 299, 302, 400, 3_599, 90_000, 2_678_400]),
    *(("index", 5, None), ("crawl", 10, "share"), ("mixed_crawl", 8, None), ("settle", 5, None)),
    # Numbers of pages or requests.
    *(("slow_crawl", 3, None), ("read_on", 8, range(1, 9)), ("any_page", 8, range(1, 7))),
    *(("any_etag", 8, range(1, 7)), ("head", 5, range(1, 5))),
    # Number of queries before the database fails, or before rows vanish during a request.
    *(("database_fails", 4, [0, 0, 1, 2, 3]), ("race", 5, [0, 1, 1, 2, 3])),
    *(("killed", 5, [0, 1, 2, 3, 5, 9, 15]), ("section_fails", 1, None), ("restart", 2, None)),
    *(("newcomer", 4, range(1, 5)), ("migrate", 3, None), ("deploy", 3, None), ("new_secret", 1, None)),
    # Whether it is between two crawls.
    *(("export", 8, [0, 1]), ("cache_fails", 3, None), ("evict", 3, [0.3, 1])),
]
_ONLY_WITH = {"cache_fails": "failing", "evict": "evicting"}


def _amount(amounts, rng):
    if isinstance(amounts, range):
        return rng.randint(amounts[0], amounts[-1])
    return rng.choice(amounts) if isinstance(amounts, list) else rng.random() if amounts else 0


def case_of(name, caches=CACHES):
    rng = random.Random(name)  # noqa: S311 random steps are not secret
    cache = rng.choice(caches)
    exports = rng.random() < 0.4
    known = [step for step in _STEPS if _ONLY_WITH.get(step[0], cache) == cache]
    known = [step for step in known if exports or step[0] != "export"]
    limit = rng.choice([10, 20, 40])
    steps = [
        Step(name, rng.randrange(2), _amount(amounts, rng), rng.randrange(1_000_000))
        for name, _, amounts in rng.choices(known, [step[1] for step in known], k=rng.randint(15, 60))
    ]
    return Case(
        name=name,
        kind=rng.choice([*KINDS]),
        cache=cache,
        limit=limit,
        live_seconds=rng.choice([0, 1, 60]),
        live_cache=rng.random() < 0.4,
        protocol=rng.choice([1, 2, 2, 5, 1_000]),
        replicas=rng.random() < 0.3,
        keep_removed=rng.choice([3_600, 86_400]),
        gzip=rng.random() < 0.2,
        by_method=rng.random() < 0.15,
        rows=rng.choice([0, 3, limit, 3 * limit, 12 * limit]),
        steps=tuple(steps),
    )
