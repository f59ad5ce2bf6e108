"""Declarations for which both packages must return the same.

Each case is a function that takes a pair of base classes and returns sections. It is called once with
contrib's classes and once with those of this package. The values are shared, so that contexts can be
compared by equality. Importing this package registers all cases.
"""

from __future__ import annotations

from tests.compat.cases import classes, hooks

__all__ = ["classes", "hooks"]
