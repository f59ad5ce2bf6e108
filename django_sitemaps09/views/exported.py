"""What is published, as views see it: looked up every ten seconds, and ignored while it cannot be read."""

from __future__ import annotations

import logging
import time

from django.core.cache.backends.locmem import LocMemCache

from django_sitemaps09 import published, sources
from django_sitemaps09.exceptions import ExportError
from django_sitemaps09.protocol import Base
from django_sitemaps09.published import PublishedExport, PublishedSection
from django_sitemaps09.sources import QuerySource
from django_sitemaps09.state.manifest import SectionRecord
from django_sitemaps09.views import caching

logger = logging.getLogger(__name__)

# Seconds until a new export is detected, unless one of its new pages is requested earlier.
_SECONDS = 10
# Seconds for which the folder of a host is known. Each time it is read, this time begins again.
_FOLDER_SECONDS = 30 * 86_400
_UNREADABLE = "django_sitemaps09:unreadable"
# Exports by host, in the memory of each process: sending them through a cache would take longer.
_exports = LocMemCache("django_sitemaps09:exports", {"TIMEOUT": _SECONDS, "MAX_ENTRIES": 1_000})


def current_export(base: Base) -> PublishedExport | None:
    """Return the export with the files of a host. It is at most ten seconds old; `None` is cached, too."""
    key = sources.digest(base.domain)
    cached_value: tuple[PublishedExport | None] | None = _exports.get(key)
    if cached_value is not None:
        return cached_value[0]
    try:
        export = published.find_files(base)
    except (ExportError, OSError) as error:
        ignore_export(base, error)
        return None
    _exports.set(key, (export,))
    return export


def ignore_export(base: Base, error: Exception) -> None:
    """Log that the export for a host cannot be read, and ignore this export for ten seconds."""
    log_unreadable(str(base), error)
    # Without this pause, a storage that does not respond would slow down every request.
    _exports.set(sources.digest(base.domain), (None,))


def log_unreadable(name: str, error: Exception) -> None:
    """Log that a file or an export cannot be read, at most every ten seconds."""
    if _exports.add(sources.digest(("unreadable", name)), ()):
        logger.warning("Live pages are served, because an exported file cannot be read: %.200s", error)


def find(source: QuerySource, *, again: bool = False) -> PublishedSection | None:
    """Return where a section is published. The result is cached briefly; `again` ignores the cached one.

    The folder of a host is still known while the export cannot be read.
    """
    if not published.is_configured():
        return None
    section, base, now = source.section, source.bases[0], time.time()
    name = f"django_sitemaps09:published:{sources.digest((section, base.domain))}"
    read_at, published_section = _cached(section, name)
    if again or not 0 <= now - read_at < _SECONDS:
        if not is_unreadable():
            try:
                published_section = published.find_section(section, base)
            except (ExportError, OSError) as error:
                _warn(section, error)
        folder, file = ("", "") if published_section is None else published_section[1:]
        # Clients can choose any number of hosts that have no folder.
        caching.store(name, (now, folder, file), _FOLDER_SECONDS if folder else _SECONDS)
    return published_section


def is_unreadable() -> bool:
    """Return whether an export could not be read in the last ten seconds."""
    return bool(caching.get(_UNREADABLE))


def _cached(section: str, name: str) -> tuple[float, PublishedSection | None]:
    try:
        read_at, folder, file = caching.get(name)
        return float(read_at), PublishedSection(section, str(folder), str(file)) if file else None
    except (OverflowError, TypeError, ValueError):
        return 0.0, None


def _warn(section: str, error: Exception) -> None:
    # Perhaps this user cannot read the state folder, or a new run has just replaced the files there.
    logger.warning(
        "Section %r: the live pages differ from the exported ones, because the export cannot be read: "
        "%.200s",
        section,
        error,
    )
    # Without this pause, a storage that does not respond would slow down every request.
    caching.store(_UNREADABLE, True, _SECONDS)


def records(source: QuerySource, published_section: PublishedSection) -> list[SectionRecord] | None:
    """Return the records of a section whose pages can be used; `None` if the export cannot be read."""
    try:
        return published_section.records(source)
    except (ExportError, OSError) as error:
        _warn(published_section.section, error)
        return None
