"""Check whether the caches of the native views are shared by all processes of a site."""

from __future__ import annotations

from collections.abc import Iterator

from django.core.cache import DEFAULT_CACHE_ALIAS
from django.core.checks import CheckMessage
from django.core.exceptions import ImproperlyConfigured

from django_sitemaps09.checks import urlconf
from django_sitemaps09.checks.messages import message
from django_sitemaps09.conf import conf
from django_sitemaps09.views import caching


def check_caches(app_configs: object = None, **kwargs: object) -> list[CheckMessage]:
    """Check the caches of a deployed site (`check --deploy`)."""
    if not any(passed.names_urls for passed in urlconf.passed_sitemaps()):
        return []
    return list(_check_caches())


def _check_caches() -> Iterator[CheckMessage]:
    if not caching.is_shared(DEFAULT_CACHE_ALIAS):
        yield message(
            "W070",
            f"CACHES[{DEFAULT_CACHE_ALIAS!r}] is not shared by the processes of the site, so each process "
            "has to divide large sections into pages by itself every five minutes.",
            "If a section has more than a million rows, set a cache such as Redis, Memcached or a database "
            "table. Otherwise add 'sitemaps09.W070' to SILENCED_SYSTEM_CHECKS.",
        )
    try:
        alias = conf.live_cache
        is_shared = alias is None or caching.is_shared(alias)
    except ImproperlyConfigured:
        # The checks in `checks/settings.py` report this error.
        return
    if not is_shared:
        yield message(
            "W071",
            f"SITEMAPS09['LIVE_CACHE'] is {alias!r}, which is not shared by the processes of the site, so "
            "each process renders and keeps its own pages.",
            "Use a cache such as Redis, Memcached or a database table.",
        )
