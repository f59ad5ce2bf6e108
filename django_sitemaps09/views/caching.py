"""Django's default cache, with a fallback in memory while it fails.

A site whose cache is down loses its shared page maps, but not its sitemaps.
"""

from __future__ import annotations

import logging
import time
from typing import Any

from django.core.cache import cache
from django.core.cache.backends.locmem import LocMemCache

logger = logging.getLogger(__name__)

#: Seconds for which a cache that failed is not used, so that it slows down few requests.
PAUSE = 60

_stand_in = LocMemCache("django_sitemaps09", {})
_paused_until = 0.0


def get(name: str) -> Any:
    """Return the value that is kept under a name, or `None`."""
    return _call("get", name)


def add(name: str, value: object, seconds: float) -> bool:
    """Keep a value unless the name has one already; return whether it was kept."""
    return bool(_call("add", name, value, seconds))


def keep(name: str, value: object, seconds: float) -> None:
    """Keep a value, and replace an existing one."""
    _call("set", name, value, seconds)


def _call(method: str, *arguments: object) -> Any:
    global _paused_until
    if time.monotonic() >= _paused_until:
        try:
            return getattr(cache, method)(*arguments)
        except Exception as error:  # noqa: BLE001 each backend has errors of its own
            _paused_until = time.monotonic() + PAUSE
            logger.warning(
                "The default cache failed, so this process keeps its own page maps for %d seconds: %.200r",
                PAUSE,
                error,
            )
    return getattr(_stand_in, method)(*arguments)
