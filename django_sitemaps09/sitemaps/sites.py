"""Look up a `Site` of `django.contrib.sites` by its domain."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from functools import reduce
from operator import or_
from typing import Any

from django.apps import apps
from django.db.models import Q


def find_site(*domains: str) -> Any:
    """Return the `Site` with one of the domains, preferably the first; `None` if no site matches.

    The comparison ignores case, and treats Unicode and IDNA as equal.
    """
    names = [name for domain in domains for name in _spellings(domain)]
    sites = apps.get_model("sites", "Site").objects
    matches = sites.filter(reduce(or_, [Q(domain__iexact=name) for name in sorted({*names})]))

    def rank(site: Any) -> tuple[int, Any]:
        positions = (position for position, name in enumerate(names) if name.lower() == site.domain.lower())
        return -1 if site.domain == domains[0] else next(positions, len(names)), site.pk

    return min(matches, key=rank, default=None)


def _spellings(domain: str) -> Iterator[str]:
    """Yield a domain unchanged, in IDNA as in URLs, and in Unicode as in some `Site` objects."""
    yield domain
    with suppress(UnicodeError):
        yield domain.encode("idna").decode()
    with suppress(UnicodeError):
        yield domain.encode().decode("idna")
