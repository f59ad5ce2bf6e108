"""What sources without ranges of a key have in common."""

from __future__ import annotations

from collections.abc import Sequence

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

    def in_order(self, bounds: Sequence[Key]) -> bool:
        return True

    def fingerprint(self, after: Key | None, until: Key | None) -> Fingerprint:
        raise NotImplementedError("Only a source that is skippable has fingerprints")
