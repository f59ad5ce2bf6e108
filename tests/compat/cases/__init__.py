"""Declarations for which both packages must return the same.

Each case is a function that takes a pair of base classes and returns sections. It is called once with
contrib's classes and once with those of this package. The values are shared, so that contexts can be
compared by equality. Importing this package registers all cases.
"""

from __future__ import annotations

from tests.compat.cases import (
    failures,
    foreign,
    generic,
    hooks,
    items,
    languages,
    overrides,
    pages,
    sections,
    times,
)
from tests.compat.cases.foreign import Tree
from tests.compat.cases.parts import (
    CASES,
    COMPAT_BASES,
    CONTRIB_BASES,
    EARLY,
    LATE,
    LEAVES,
    NEW_YORK,
    UTC,
    ZURICH,
    Bases,
    Leaf,
    constant,
    timed,
)

__all__ = [
    "CASES",
    "COMPAT_BASES",
    "CONTRIB_BASES",
    "EARLY",
    "LATE",
    "LEAVES",
    "NEW_YORK",
    "UTC",
    "ZURICH",
    "Bases",
    "Leaf",
    "Tree",
    "constant",
    "failures",
    "foreign",
    "generic",
    "hooks",
    "items",
    "languages",
    "overrides",
    "pages",
    "sections",
    "timed",
    "times",
]
