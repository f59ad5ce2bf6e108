"""Properties that all sources without key ranges share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from django_sitemaps09.pages import Fingerprint, Key


class UnrangedSource:
    """Source whose pages are ranges of positions. Positions do not identify rows."""

    __slots__ = ()
    map_cache_key = None
    key_identity = None
    can_fingerprint = False
    #: Number of parts in a position. Subclasses can override it.
    position_parts: ClassVar[int] = 1

    def in_order(self, bounds: Sequence[Key]) -> bool:
        return all(len(bound) == self.position_parts for bound in bounds)

    def fingerprint(self, after: Key | None, until: Key | None) -> Fingerprint:
        raise NotImplementedError("This source has no fingerprints, because its can_fingerprint is False")
