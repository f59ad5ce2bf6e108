"""Properties that all sources with a declaration share."""

from __future__ import annotations

from collections.abc import Mapping

from django_sitemaps09.hooks.expressions import FormatName, format_name
from django_sitemaps09.protocol import Base
from django_sitemaps09.sitemaps import NewsSitemap
from django_sitemaps09.sources.columns.declaration import Declaration


class CompiledSource:
    """Source whose declaration turns rows into entries."""

    __slots__ = ()
    declaration: Declaration
    limit: int

    @property
    def rows_per_page(self) -> int:
        # A limit counts the entries of all languages.
        return max(1, self.limit // self.declaration.entries_per_item)

    @property
    def entries_per_page(self) -> int:
        # All entries of an item are on one page.
        return max(self.limit, self.declaration.entries_per_item)

    @property
    def namespaces(self) -> Mapping[str, str]:
        return self.declaration.namespaces

    @property
    def bases(self) -> tuple[Base, ...]:
        return self.declaration.hosts.bases

    @property
    def format(self) -> FormatName:
        return format_name(self.declaration.sitemap)

    @property
    def is_transient(self) -> bool:
        return isinstance(self.declaration.sitemap, NewsSitemap)
