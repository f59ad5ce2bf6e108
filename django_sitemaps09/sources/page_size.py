"""Convert the `limit` of a sitemap to the number of entries on a page."""

from __future__ import annotations

from numbers import Number
from typing import Any


def page_size(limit: Any) -> int:
    """Return a `limit` as an integer, converted as in Django's paginator: `"60"` becomes 60.

    Raise `ValueError` if it is less than 1, or not a whole number.
    """
    try:
        size = int(limit)
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError("must be a whole number of at least 1") from error
    # int() accepts True and 60.5, which are mistakes. A string such as "60" never equals the result.
    is_rounded = isinstance(limit, Number) and limit != size  # type: ignore[comparison-overlap]
    if isinstance(limit, bool) or size < 1 or is_rounded:
        raise ValueError("must be a whole number of at least 1")
    return size
