"""Readers of batches, for tests of sources."""

from __future__ import annotations


def locations(batches, base=""):
    """Return the locations of all entries, item by item, with paths joined to a base."""
    found = []
    for batch in batches:
        for texts in zip(*(version.texts() for version in batch.listed_localizations), strict=True):
            found += [f"{base}{text}" if text[:1] == "/" else text for text in texts if text is not None]
    return found
