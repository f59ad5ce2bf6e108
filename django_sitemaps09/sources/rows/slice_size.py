"""Choose how many rows are read at a time."""

from __future__ import annotations

from django_sitemaps09.sources.columns.declaration import Declaration

# Number of rows that are read to estimate the length of an entry.
SAMPLE = 200
# Rows in a slice. Longer slices are not faster: from 2,000 new objects on, Python 3.13 collects garbage.
# The collection takes as much time as fewer queries would save.
SLICE = 1_500
# Rows in a slice from a server, since a query's round trip takes longer than garbage collection.
SERVER_SLICE = 3_000
# Rows in a slice if each query may read a whole joined table.
COSTLY_SLICE = 25_000
# The minimum number of rows in a slice. For fewer rows, the query would cost more than the rows.
_FEWEST = 100
# Maximum number of instances in memory, since each consists of several objects. With `prefetch_related()`,
# all instances of a slice are in memory, since each prefetch is a query.
INSTANCES = 250


def slice_size(rows: int, declaration: Declaration) -> int:
    """Return the number of rows in a slice: fewer than `rows` if each row has entries in many languages."""
    return max(rows // declaration.entries_per_item, min(rows, _FEWEST))


def rows_at_a_time(*, is_distant: bool, is_costly: bool) -> int:
    """Return how many rows a query reads."""
    if not is_distant:
        return SLICE
    return COSTLY_SLICE if is_costly else SERVER_SLICE
