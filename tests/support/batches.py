"""Readers of batches, for tests of sources."""

from __future__ import annotations

from collections.abc import Iterable

from django_sitemaps09.entries import Batch


def locations(batches: Iterable[Batch], base: object = "") -> list[str]:
    """Return the locations of all entries, item by item, with paths joined to a base."""
    found: list[str] = []
    for batch in batches:
        for texts in zip(*(version.texts() for version in batch.listed_localizations), strict=True):
            found += [f"{base}{text}" if text[:1] == "/" else text for text in texts if text is not None]
    return found
