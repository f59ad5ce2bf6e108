"""Number of entries on a page of a section, from its `limit`."""

from __future__ import annotations

from numbers import Number
from typing import Any


def page_size(limit: Any) -> int:
    """Return a `limit` as the whole number that contrib's paginator makes of it, such as 60 of `"60"`.

    Raise `ValueError` if it is less than 1, or a number that is not exactly a whole one.
    """
    try:
        size = int(limit)
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError("must be a whole number of at least 1") from error
    # int() takes True, which is a switch, and 60.5, which is a mistake. Other types, such as a text or an
    # object with __int__(), have no other value to compare.
    is_other = isinstance(limit, Number) and limit != size  # type: ignore[comparison-overlap]
    if isinstance(limit, bool) or size < 1 or is_other:
        raise ValueError("must be a whole number of at least 1")
    return size
