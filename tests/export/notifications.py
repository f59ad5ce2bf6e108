"""What receivers are told after an export is published."""

from __future__ import annotations

from tests.support.configuration import BASE


class Notifications:
    calls, written, removed, urls = 0, (), (), ()

    def __call__(self, published, **kwargs):
        self.calls += 1
        self.written = [name.removeprefix(f"{BASE}/") for name in published.written]
        self.removed = [name.removeprefix(f"{BASE}/") for name in published.removed]
        self.urls = [] if published.urls is None else list(published.urls())

    def changes(self):
        found = {"added": set(), "removed": set(), "changed": set()}
        for kind, _, url in self.urls:
            found[kind].add(url.removeprefix(BASE))
        assert sum(map(len, found.values())) == len(self.urls)
        return found
