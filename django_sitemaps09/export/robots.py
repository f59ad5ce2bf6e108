"""The robots.txt that an export keeps up to date."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from django_sitemaps09 import robots
from django_sitemaps09.exceptions import SitemapError
from django_sitemaps09.export import files
from django_sitemaps09.export.report import RobotsState
from django_sitemaps09.protocol import Base


@dataclass(slots=True)
class Robots:
    """A robots.txt that is to name the indexes at `urls`: what became of it, and what to say of it.

    `earlier` are those that it was to name before.
    """

    path: Path | None
    base: Base
    urls: Sequence[str]
    earlier: Sequence[str] = ()
    state: RobotsState = "none"
    warnings: Sequence[str] = ()
    failures: Sequence[str] = ()

    def publish(self, between: bool) -> None:
        """Brings it up to date; or names the indexes of now and then, while both are needed."""
        if not between:
            self.update()
        elif self.earlier and {*self.earlier} != {*self.urls}:
            Robots(self.path, self.base, [*dict.fromkeys((*self.earlier, *self.urls))]).update()

    def update(self, *, write: bool = True) -> None:
        """Brings it up to date, or only looks. What goes wrong is no error: the sitemap is published."""
        if self.path is None:
            return
        try:
            before = files.read_regular(self.path, 10 * robots.MAX_BYTES)
            after = robots.update(before, self.urls)
            if write and after != before:
                files.replace(self.path, after)
        except (SitemapError, OSError) as error:
            self.state = "failed"
            self.failures = [f"{self.path} was left as it is: {error}"]
            return
        # The rules of a file say nothing about other hosts.
        here = [url for url in self.urls if url.startswith(f"{self.base}/")]
        found = (warning.removeprefix("robots.txt: ") for warning in robots.warnings(after, here))
        self.warnings = [f"{self.path}: {warning}" for warning in found]
        self.state = "unchanged" if after == before else "written" if write else "stale"
