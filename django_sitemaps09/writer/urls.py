"""Write batches as a text file with one URL on each line ("Text file" in the protocol)."""

from __future__ import annotations

from django_sitemaps09.entries import Batch, TemplateColumn
from django_sitemaps09.writer.document import Format, Parts


def _lines(batch: Batch, base: str) -> Parts:
    """Return a line for each location. Locations are URIs and never contain line endings."""
    parts = []
    for localization in batch.listed_localizations:
        locations = localization.locations
        if isinstance(locations, TemplateColumn):
            first = base if locations.literals[0][:1] == "/" else ""
            parts.append([f"{first}{text}\n" for text in locations.texts()])
        else:
            lines = (f"{base}{text}" if text and text[0] == "/" else text for text in locations)
            parts.append([f"{line}\n" if line else "" for line in lines])
    return parts


TEXT = Format(lambda namespaces: b"", _lines, b"")
