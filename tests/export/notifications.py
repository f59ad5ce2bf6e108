"""What receivers are told after an export is published."""

from __future__ import annotations

from django_sitemaps09.export import Published, UrlChange
from tests.support.configuration import BASE


class Notifications:
    """Receiver that records its notifications, and reads the URLs while it is called."""

    def __init__(self) -> None:
        self.written: list[str] = []
        self.removed: list[str] = []
        self.urls: list[UrlChange] = []
        self.calls = 0

    def __call__(self, published: Published, **kwargs: object) -> None:
        self.calls += 1
        self.written = [name.removeprefix(f"{BASE}/") for name in published.written]
        self.removed = [name.removeprefix(f"{BASE}/") for name in published.removed]
        self.urls = [] if published.urls is None else list(published.urls())

    def changes(self) -> dict[str, set[str]]:
        """Return the paths of all changed URLs, each of which is reported once."""
        found: dict[str, set[str]] = {"added": set(), "removed": set(), "changed": set()}
        for kind, _, url in self.urls:
            found[kind].add(url.removeprefix(BASE))
        assert sum(map(len, found.values())) == len(self.urls)
        return found
