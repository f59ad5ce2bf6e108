"""Find URLs that occur more than once, in one document or in several."""

from __future__ import annotations

from collections.abc import Sequence

from django_sitemaps09.audit.documents import Entry
from django_sitemaps09.audit.findings import Findings
from django_sitemaps09.audit.scratch import Scratch
from django_sitemaps09.audit.url_rules import normalized


class Duplicates:
    """Finds the repeated URLs of one document. `number` is the position of its name in `labels`."""

    def __init__(self, findings: Findings, scratch: Scratch, labels: Sequence[str], number: int) -> None:
        self._findings, self._scratch = findings, scratch
        self._labels, self._number = labels, number
        self._urls: set[str] = set()

    def check(self, entries: Sequence[Entry]) -> None:
        """Check the entries of a batch."""
        place = self._labels[self._number]
        urls = dict.fromkeys(normalized(url) for entry in entries if (url := entry.location.strip()))
        repeated = self._scratch.add_urls([*urls], self._number)
        if len(urls) == len(entries) and self._urls.isdisjoint(urls) and not repeated:
            self._urls.update(urls)
            return
        for entry in entries:
            location = entry.location.strip()
            url = normalized(location)
            if not url:
                continue
            if url in self._urls:
                text = location if location == url else f"{location} is equivalent to {url}"
                self._findings.add("url-duplicate", place, text, entry.line)
            elif url in repeated:
                text = f"{location} is also in {self._labels[repeated[url]]}"
                self._findings.add("url-duplicate-across", place, text, entry.line)
            self._urls.add(url)
