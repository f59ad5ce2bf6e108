"""Reads of a source that are retried if the database fails."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django_sitemaps09.entries import ItemError
from django_sitemaps09.orm.retry import retry
from django_sitemaps09.pages import Fingerprint, Key, Page
from django_sitemaps09.sources.base import Source
from django_sitemaps09.sources.queryset import has_key_ranges


@dataclass(frozen=True)
class RetriedSource:
    """Source whose queries are retried, for use outside of rendering."""

    source: Source
    label: str

    def is_empty(self) -> bool:
        return retry(self.source.is_empty, self.label)

    def key_after(self, after: Key | None, count: int) -> Key | None:
        return retry(lambda: self.source.key_after(after, count), self.label)

    def count(self, after: Key | None, until: Key | None, most: int) -> int:
        if not has_key_ranges(self.source):
            raise TypeError(f"{self.label} has no key ranges")
        source = self.source
        return retry(lambda: source.count(after, until, most), self.label)

    def unreadable_keys(self) -> list[tuple[int, ItemError]]:
        """Return how many rows have no key, for each reason; none if the source has no key ranges."""
        source = self.source
        return retry(source.unreadable_keys, self.label) if has_key_ranges(source) else []

    def in_order(self, bounds: Sequence[Key]) -> bool:
        return retry(lambda: self.source.in_order(bounds), self.label)

    def fingerprints(self, pages: Sequence[Page]) -> list[Fingerprint]:
        if not has_key_ranges(self.source):
            raise TypeError(f"{self.label} has no key ranges")
        source = self.source
        return retry(lambda: list(source.fingerprints(pages)), self.label)

    @property
    def key_identity(self) -> tuple[str, ...] | None:
        return retry(lambda: self.source.key_identity, self.label)

    @property
    def declaration_digest(self) -> str:
        return retry(lambda: self.source.declaration_digest, self.label)
