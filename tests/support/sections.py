"""How a test declares a section: `declare()` for a queryset or hooks, `listing()` for items in memory.

`Numbers` is a section that other processes can import.
"""

from __future__ import annotations

from django_sitemaps09 import ModelSitemap, Sitemap


def declare(base=ModelSitemap, **attributes):
    return type("Declared", (base,), attributes)


def listing(items, base=Sitemap, **attributes):
    """Return a sitemap class of these items, whose paths are `/item/`."""
    attributes.setdefault("location", lambda self, item: f"/{item}/")
    return declare(base, items=lambda self: items, **attributes)


class Numbers(Sitemap[int]):
    """Section of the numbers from `start` on, without a database and without a key."""

    def __init__(self, count, start=0):
        self.numbers = range(start, start + count)

    def items(self):
        return self.numbers

    def location(self, item):
        return f"/numbers/{item}/"
