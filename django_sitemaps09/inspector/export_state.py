"""The published export of a host, whose section files are read only when they are needed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from django_sitemaps09 import manifest
from django_sitemaps09.management.status import ExportStatus, PublishedExport, published_export
from django_sitemaps09.manifest import Manifest, SectionRecord
from django_sitemaps09.protocol import Base
from django_sitemaps09.stores import Store


@dataclass(frozen=True, slots=True)
class ExportState:
    """Export of a host. Its attributes are those of `PublishedExport`."""

    status: ExportStatus | None = None
    root: Manifest | None = None
    store: Store | None = None
    state: Store | None = None
    _records: dict[str, SectionRecord] = field(default_factory=dict, repr=False, compare=False)

    @classmethod
    def from_base(cls, base: Base) -> ExportState:
        """Return the export of a host. An export for another host is ignored."""
        export = published_export(base)
        if export.root is not None and not export.root.is_for(base.domain):
            export = PublishedExport(None if export.status is None else ExportStatus(export.status.target))
        return cls(*export)

    def record(self, section: str) -> SectionRecord | None:
        """Return the published record of a section, or `None`. Raise `ExportError` if it is damaged."""
        if self.root is None or self.state is None or section not in self.root.files:
            return None
        if section not in self._records:
            self._records[section] = manifest.read_section(self.state, self.root.files[section])
        return self._records[section]

    def file_names(self, section: str) -> Iterator[str]:
        """Yield the names of a section's published pages, the last page first.

        New rows are on the last pages of most sections.
        """
        record = self.record(section)
        if record is not None:
            yield from reversed(record.file_names(section))
