"""Measure the peak memory of a run."""

from __future__ import annotations

import sys

try:
    import resource
except ImportError:
    # Windows does not have this module.
    resource = None  # type: ignore[assignment]

# Linux counts in units of 1,024 bytes, macOS in bytes.
_UNIT = 1 if sys.platform == "darwin" else 1024


def peaks() -> tuple[int | None, int | None]:
    """Return the peak memory in bytes of this process and its largest finished child; `None` if unknown."""
    if resource is None:
        return None, None
    own = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    children = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    return own * _UNIT, children * _UNIT or None
