"""Properties shared by the sources that are compiled from a declaration."""

from __future__ import annotations

from collections.abc import Mapping

from django_sitemaps09.hooks.formats import FormatName, format_name
from django_sitemaps09.protocol import Base
from django_sitemaps09.sources.columns.declaration import Declaration


class CompiledSource:
    """Source of rows that a declaration turns into entries."""

    __slots__ = ()
    declaration: Declaration
    limit: int

    @property
    def rows_per_page(self) -> int:
        return self.declaration.rows_per_page(self.limit)

    @property
    def entries_per_page(self) -> int:
        return self.declaration.entries_per_page(self.limit)

    @property
    def namespaces(self) -> Mapping[str, str]:
        return self.declaration.namespaces

    @property
    def bases(self) -> tuple[Base, ...]:
        return self.declaration.hosts.bases

    @property
    def format(self) -> FormatName:
        return format_name(self.declaration.sitemap)
