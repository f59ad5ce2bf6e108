"""Properties shared by the sources without key ranges."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from django_sitemaps09.pages import Fingerprint, Key


class UnrangedSource:
    """Source whose pages are positions: nothing stored about them shows what their rows were."""

    __slots__ = ()

    @property
    def map_cache_key(self) -> None:
        return None

    @property
    def key_identity(self) -> None:
        return None

    @property
    def can_fingerprint(self) -> bool:
        return False

    #: Number of parts of a position, which tells the positions of different kinds of sources apart.
    parts: ClassVar[int] = 1

    def in_order(self, bounds: Sequence[Key]) -> bool:
        return all(len(bound) == self.parts for bound in bounds)

    def fingerprint(self, after: Key | None, until: Key | None) -> Fingerprint:
        raise NotImplementedError("Only a source with can_fingerprint has fingerprints")
