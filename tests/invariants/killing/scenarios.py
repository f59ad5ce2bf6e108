"""Exports to kill: the rows of each run, with its options, settings and sections."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from tests.support.configuration import BASE

#: URLs on a page.
PAGE = 10


class Row(NamedTuple):
    slug: str
    section: str = "a"


class Run(NamedTuple):
    """One export: its rows, options, settings, sections, and the model and attributes of these."""

    rows: Mapping[int, Row]
    options: Mapping[str, Any] = {}
    keys: Mapping[str, Any] = {}
    sections: tuple[str, ...] = ("a",)
    model: str = "Parent"
    attributes: Mapping[str, Any] = {}

    def urls(self, keys=None):
        """Return the URLs of these rows, or of all."""
        rows = [self.rows[key] for key in (self.rows if keys is None else keys)]
        return {f"{BASE}/{row.slug}/" for row in rows if row.section in self.sections}


def many(*keys, section="a", longer=0):
    return {key: Row(f"{section}{key}{'x' * longer}", section) for key in keys}


def without(rows, *gone):
    return {key: row for key, row in rows.items() if key not in gone}


# Keys have gaps, so that rows can be inserted between them.
THIRTY = many(*range(100, 3_100, 100))
SIXTY = many(*range(100, 6_100, 100))
# Only a few rows of each page, so that several pages fit on one.
THIN = without(SIXTY, *(key for key in SIXTY if key // 100 % 10 not in (3, 6)))
BOTH = THIRTY | many(*range(10_100, 13_100, 100), section="b")
TWO = ("a", "b")
# The second page keeps three rows and the last one two, so they are merged.
TAPERED = without(THIRTY, *range(1_400, 2_900, 100))
FEW = many(*range(1_301, 1_304))
SMALL, CASCADE, TEXT = {"MAX_BYTES": 1_500}, {"CASCADE": True}, {"format": "text"}
#: Rows that `at_random` never changes.
EVERGREEN = many(*range(500, 6_001, 500))

#: The last run of each is killed.
SCENARIOS = {
    "first": [Run(many(*range(1, 36)))],
    "split": [Run(THIRTY), Run(THIRTY | many(*range(1_301, 1_340)) | many(*range(101, 104)))],
    "split-by-bytes": [
        Run(THIRTY, keys=SMALL),
        Run(THIRTY | many(*range(1_301, 1_304), longer=200), keys=SMALL),
    ],
    "merge": [Run(SIXTY), Run(THIN)],
    "merge-and-grow": [Run(SIXTY), Run(THIN | many(*range(301, 320)) | many(*range(2_301, 2_312)))],
    "merge-and-overflow": [Run(SIXTY), Run(THIN | many(301))],
    "merge-of-the-tail-and-grow": [Run(THIRTY), Run(TAPERED | many(*range(1_101, 1_115)))],
    "deleted": [Run(SIXTY), Run(without(SIXTY, *range(1_100, 2_100, 100), 100, *range(5_100, 6_100, 100)))],
    "tail": [Run(THIRTY), Run(THIRTY | many(*range(2_801, 2_830)) | FEW)],
    "rebalance": [Run(THIN), Run(without(SIXTY, 500), {"rebalance": True})],
    "identity": [Run(THIRTY), Run(without(THIRTY, 500) | many(250), model="Child")],
    "lower-limit": [Run(THIRTY), Run(THIRTY | many(150), keys={"MAX_URLS": 5})],
    "removed": [Run(BOTH, sections=TWO), Run(BOTH | many(150), {"remove": ["b"]})],
    "gzip-off": [Run(THIRTY), Run(THIRTY | FEW, {"gzip": False})],
    "stylesheet": [Run(THIRTY), Run(THIRTY | FEW, keys={"STYLESHEET": True})],
    "xml-to-text": [Run(THIRTY), Run(THIRTY | FEW, attributes=TEXT)],
    "text-to-xml": [Run(THIRTY, attributes=TEXT), Run(THIRTY | FEW, {"gzip": False})],
    "two": [Run(BOTH, sections=TWO), Run(BOTH | FEW | many(11_350, 14_000, section="b"), sections=TWO)],
    "cascade-and-less": [
        Run(BOTH, keys=CASCADE, sections=TWO),
        Run(without(BOTH, *range(12_100, 13_100, 100)) | many(150), keys=CASCADE, sections=TWO),
    ],
    "cascade": [
        Run(BOTH, keys=CASCADE, sections=TWO),
        Run(BOTH | FEW | many(11_350, section="b"), keys=CASCADE, sections=TWO),
    ],
}
