"""Standard streams that can fail without ending the command, and a progress bar in a terminal."""

from __future__ import annotations

import logging
import os
import sys
import threading
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, redirect_stderr, suppress
from dataclasses import dataclass, field
from shutil import get_terminal_size
from threading import RLock
from typing import Any

from django_sitemaps09.declare.calls import ABOUT_ITEM
from django_sitemaps09.export import PageFile, SectionReport
from django_sitemaps09.protocol.fields import pluralize

try:
    from tqdm import tqdm
except ImportError:
    # tqdm comes with the extra `progress`.
    tqdm = None

logger = logging.getLogger(__name__)

_OF_KNOWN = "{desc}: {percentage:3.0f}%|{bar}| {n_fmt}/{total_fmt} pages{postfix} [{elapsed}<{remaining}]"
_OF_UNKNOWN = "{desc}: {n_fmt} pages{postfix} [{elapsed}]"


class LenientStream:
    """A stream that ignores output if the wrapped stream is missing or has failed, like a closed pipe."""

    def __init__(self, stream: Any, name: str) -> None:
        self._stream, self._name = stream, name
        self._failed = stream is None

    def write(self, text: str) -> None:
        self._try("write", text)

    def flush(self) -> None:
        self._try("flush")

    def isatty(self) -> bool:
        return not self._failed and hasattr(self._stream, "isatty") and bool(self._stream.isatty())

    def _try(self, method: str, *arguments: Any) -> None:
        if self._failed:
            return
        try:
            getattr(self._stream, method)(*arguments)
        except (OSError, ValueError) as error:
            self._failed = True
            # A reader such as `head` can end early, so do not warn.
            if not isinstance(error, BrokenPipeError):
                logger.warning("Cannot write to %s: %s", self._name, error)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def flush_or_discard() -> None:
    """Flush the standard streams. If this fails, discard their output to keep the exit status."""
    for stream in (sys.stdout, sys.stderr):
        try:
            if stream is not None:
                stream.flush()
        except (OSError, ValueError):
            with suppress(OSError, ValueError), open(os.devnull, "w") as null:  # noqa: PTH123
                os.dup2(null.fileno(), stream.fileno())


@contextmanager
def hidden_item_warnings() -> Iterator[None]:
    """Hide warnings about skipped items from Python's handler of last resort. Other handlers get them."""
    handler, thread = logging.lastResort or logging.NullHandler(), threading.get_ident()

    # Another thread may run a command whose warnings are wanted.
    def is_about_run(record: logging.LogRecord) -> bool:
        return record.thread != thread or not ABOUT_ITEM.items() <= vars(record).items()

    handler.addFilter(is_about_run)
    try:
        yield
    finally:
        handler.removeFilter(is_about_run)


@dataclass(slots=True)
class Progress:
    """Counts of an export's completed sections, pages and URLs, shown in a `progress_line()`."""

    line: Any
    expected: dict[str, int | None] = field(default_factory=dict)
    pages: Counter[str] = field(default_factory=Counter)
    urls: Counter[str] = field(default_factory=Counter)
    ended_sections: set[str] = field(default_factory=set)

    def plan(self, pages: Mapping[str, int | None]) -> None:
        """Set the expected number of pages for each section, or `None` if it is unknown."""
        # The line begins again for the next host.
        if not self.ended_sections.isdisjoint(pages):
            for counts in (self.expected, self.pages, self.urls, self.ended_sections):
                counts.clear()
            self.line.reset()
        self.expected |= pages
        self._draw(next(iter(pages), ""))
        self.line.refresh()

    def page(self, section: str, file: PageFile) -> None:
        self.pages[section] += 1
        self.urls[section] += file.urls
        self._draw(section)

    def section(self, report: SectionReport) -> None:
        """Set the final counts of a section, including pages that were not rendered."""
        name = report.section
        self.ended_sections.add(name)
        self.pages[name] = max(self.pages[name], len(report.files))
        self.urls[name] = max(self.urls[name], report.urls)
        self.expected[name] = self.pages[name]
        self._draw(name)
        self.line.refresh()

    def _draw(self, section: str) -> None:
        line, pages = self.line, [max(n or 0, self.pages[name]) for name, n in self.expected.items()]
        is_known = None not in self.expected.values()
        line.total, line.bar_format = (sum(pages), _OF_KNOWN) if is_known else (None, _OF_UNKNOWN)
        sections = pluralize(len(self.expected), "section")
        line.set_description_str(f"{section}, {len(self.ended_sections)} of {sections} done", refresh=False)
        line.set_postfix_str(pluralize(sum(self.urls.values()), "URL"), refresh=False)
        line.update(sum(self.pages.values()) - line.n)


@contextmanager
def progress_line(stream: Any, *, wanted: bool) -> Iterator[Any]:
    """Yield a progress line of tqdm, or `None` without a terminal, without tqdm, or if `wanted` is false.

    `stream` is Django's `OutputWrapper`. Inside the block, text on `sys.stderr` appears above the line.
    """
    if tqdm is None or not wanted or not stream.isatty():
        yield None
        return

    class Line(tqdm):  # type: ignore[misc]
        # With a monitor thread, an export could not fork its workers.
        monitor_interval = 0

    Line.set_lock(RLock())
    # The delay hides the line until the number of pages is known.
    columns = get_terminal_size().columns
    line = Line(file=_Terminal(stream, "standard error"), leave=False, ncols=columns - 1, delay=1e-9)
    try:
        with redirect_stderr(_Above(line, stream)):  # type: ignore[type-var]
            yield line
    finally:
        line.close()


class _Terminal(LenientStream):
    """A wrapper for Django's `OutputWrapper` that adds neither a style nor a line ending."""

    def write(self, text: str) -> None:
        self._try("write", text, str, "")


class _Above(_Terminal):
    """Standard error stream whose text appears above the progress line."""

    def __init__(self, line: Any, stream: Any) -> None:
        super().__init__(stream, "standard error")
        self._line, self._process = line, os.getpid()

    def write(self, text: str) -> None:
        # Only this process has the line, not its forked workers.
        is_own_process = self._process == os.getpid()
        if is_own_process:
            self._line.clear()
        super().write(text)
        if is_own_process and text.endswith("\n"):
            self._line.refresh()
