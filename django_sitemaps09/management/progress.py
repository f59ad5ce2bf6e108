"""Show the progress of an export on one line of a terminal, which is redrawn."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, redirect_stderr, suppress
from dataclasses import dataclass, field
from shutil import get_terminal_size
from threading import RLock
from typing import Any

from django_sitemaps09.export.report import PageFile, SectionReport, pluralize

try:
    from tqdm import tqdm
except ImportError:
    # tqdm comes with the extra `progress`.
    tqdm = None

_OF_KNOWN = "{desc}: {percentage:3.0f}%|{bar}| {n_fmt}/{total_fmt} pages{postfix} [{elapsed}<{remaining}]"
_OF_UNKNOWN = "{desc}: {n_fmt} pages{postfix} [{elapsed}]"


@dataclass(slots=True)
class Progress:
    """Sections, pages and URLs that are done, shown on a line.

    `total` is the number of pages, `None` unless it is known for each section.
    """

    line: Any
    expected: dict[str, int | None] = field(default_factory=dict)
    pages: dict[str, int] = field(default_factory=dict)
    urls: dict[str, int] = field(default_factory=dict)
    ended_sections: set[str] = field(default_factory=set)

    def plan(self, pages: Mapping[str, int | None]) -> None:
        """Set how many pages sections will have, `None` if unknown."""
        self.expected |= pages
        self._draw(next(iter(pages), ""))
        self.line.refresh()

    def page(self, section: str, file: PageFile) -> None:
        """Count a rendered page."""
        self.pages[section] = self.pages.get(section, 0) + 1
        self.urls[section] = self.urls.get(section, 0) + file.urls
        self._draw(section)

    def section(self, report: SectionReport) -> None:
        """Set the final counts of a section, including pages that were not rendered."""
        name = report.section
        self.ended_sections.add(name)
        self.pages[name] = max(self.pages.get(name, 0), len(report.files))
        self.urls[name] = max(self.urls.get(name, 0), report.urls)
        self.expected[name] = self.pages[name]
        self._draw(name)
        self.line.refresh()

    @property
    def total(self) -> int | None:
        total = 0
        for name, expected in self.expected.items():
            if expected is None:
                return None
            total += max(expected, self.pages.get(name, 0))
        return total

    def _draw(self, section: str) -> None:
        line, total = self.line, self.total
        line.total, line.bar_format = total, _OF_UNKNOWN if total is None else _OF_KNOWN
        sections = pluralize(len(self.expected), "section")
        line.set_description_str(f"{section}, {len(self.ended_sections)} of {sections} done", refresh=False)
        line.set_postfix_str(pluralize(sum(self.urls.values()), "URL"), refresh=False)
        line.update(sum(self.pages.values()) - line.n)


@contextmanager
def bar(stream: Any, *, wanted: bool) -> Iterator[Progress | None]:
    """Provide a `Progress`, or `None` where nothing is shown: in cron, in a pipe, without tqdm.

    `stream` is Django's output wrapper. Text written to `sys.stderr` meanwhile appears above the line.
    """
    if tqdm is None or not wanted or not stream.isatty():
        yield None
        return

    class Line(tqdm):  # type: ignore[misc]
        # A monitor thread would keep workers of an export from being forked.
        monitor_interval = 0

    Line.set_lock(RLock())
    # Nothing is drawn before the amount of work is known.
    columns = get_terminal_size().columns
    line = Line(file=_Terminal(stream), leave=False, ncols=columns - 1, delay=1e-9)
    try:
        with redirect_stderr(_Above(line, stream)):  # type: ignore[type-var]
            yield Progress(line)
    finally:
        line.close()


@dataclass(slots=True)
class _Terminal:
    """Wraps Django's stream to write text as it is, without a style and a line ending."""

    stream: Any

    def write(self, text: str) -> None:
        # The terminal may have been closed.
        with suppress(OSError, ValueError):
            self.stream.write(text, style_func=str, ending="")

    def flush(self) -> None:
        with suppress(OSError, ValueError):
            self.stream.flush()

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)


class _Above(_Terminal):
    """Standard error whose text appears above the line, while there is one."""

    def __init__(self, line: Any, stream: Any) -> None:
        super().__init__(stream)
        self.line, self.process = line, os.getpid()

    def write(self, text: str) -> None:
        # The line belongs to this process, and not to workers forked from it.
        is_own_process = self.process == os.getpid()
        if is_own_process:
            self.line.clear()
        super().write(text)
        if is_own_process and text.endswith("\n"):
            self.line.refresh()
