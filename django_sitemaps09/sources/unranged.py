"""What sources without ranges of a key have in common."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from django_sitemaps09.pages import Fingerprint, Key


class Unranged:
    """A source whose pages are positions: nothing that is kept of them says what their rows were."""

    __slots__ = ()

    @property
    def digest(self) -> None:
        return None

    @property
    def identity(self) -> None:
        return None

    @property
    def skippable(self) -> bool:
        return False

    #: How many parts a position has, which tells those of one kind of source from those of another.
    parts: ClassVar[int] = 1

    def in_order(self, bounds: Sequence[Key]) -> bool:
        return all(len(bound) == self.parts for bound in bounds)

    def fingerprint(self, after: Key | None, until: Key | None) -> Fingerprint:
        raise NotImplementedError("Only a source that is skippable has fingerprints")
