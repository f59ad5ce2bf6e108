"""The page map of an export, which the live pages follow where there is one."""

from __future__ import annotations

import logging
from itertools import chain, count

from django.core.cache import cache

from django_sitemaps09 import manifest, pages, sources, stores
from django_sitemaps09.conf import conf
from django_sitemaps09.exceptions import ExportError
from django_sitemaps09.manifest import SectionRecord
from django_sitemaps09.pages import PageMap
from django_sitemaps09.sources import Source

logger = logging.getLogger(__name__)

_SECONDS = 10
_UNREADABLE = "django_sitemaps09:unreadable"


def record(section: str, source: Source) -> SectionRecord | None:
    """What is published of a section, if its pages are ranges of the key that it has now."""
    if not (conf.storage or conf.root) or cache.get(_UNREADABLE) or source.identity is None:
        return None
    try:
        found = _published(section, source)
        if found is None:
            return None
    except (ExportError, OSError) as error:
        # The export's own folder is not for everybody; or a new run has just taken its place.
        logger.warning("Section %r: its pages are cut without the export's: %s", section, error)
        # A storage that does not answer takes its time for each who asks.
        cache.set(_UNREADABLE, True, _SECONDS)
        return None
    bounds = [page.until for page in found.pages if page.until is not None]
    usable = found.pages and found.identity == source.identity and source.in_order(bounds)
    return found if usable else None


def _published(section: str, source: Source) -> SectionRecord | None:
    """What the host's own tree of files has of a section, else the one that is not of several."""
    for folder in (stores.host_folder(source.bases[0]), ""):
        state = stores.state(stores.target(None, folder), folder)
        root = manifest.read_root(state)
        if root is not None:
            file = root.files.get(section)
            return None if file is None else manifest.read_section(state, file)
    return None


def may_be_asked(section: str) -> bool:
    """Whether what is published of a section may be read again: at most once in some seconds."""
    return bool(cache.add(f"django_sitemaps09:asked:{section}", True, _SECONDS))


def page_map(record: SectionRecord, source: Source) -> PageMap:
    """The published pages, and those that the next export will add behind them."""
    *closed, last = record.page_map().pages
    numbers = chain([last.number], count(record.highest + 1))
    rows = sources.rows_on_page(source, conf.limits)
    return PageMap((*closed, *pages.each_page(source, rows, numbers, last.after)))
