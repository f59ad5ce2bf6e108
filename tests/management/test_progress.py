"""The progress line of an export on a terminal, and its absence everywhere else."""

from __future__ import annotations

import io
import os
import re
import subprocess
import sys

import pytest
from django.core.management.base import OutputWrapper

from django_sitemaps09.export import PageFile, SectionReport
from django_sitemaps09.management import streams
from tests.support.commands import environment
from tests.support.configuration import BASE
from tests.support.services import require_packages

pty = pytest.importorskip("pty", reason="needs pseudo-terminals, which this system does not have")

#: In seconds.
DEADLINE = 60
WIDTH = 100
PAGE = PageFile("sitemap-a-1.xml.gz", 1, None, None, 47_500)


class Terminal(io.StringIO):
    def isatty(self):
        return True


def shown(stream, *, wanted=True):
    with streams.progress_line(OutputWrapper(stream), wanted=wanted) as line:
        if line is not None:
            progress = streams.Progress(line)
            progress.plan({"articles": 4, "news": None})
            progress.page("articles", PAGE)
            progress.page("articles", PAGE)
            progress.section(SectionReport("articles", [PAGE] * 3, 1.0))
            progress.plan({"news": 1})
            progress.section(SectionReport("news", [PAGE], 1.0))
    return stream.getvalue()


@pytest.mark.services
def test_it_has_sections_pages_and_urls_and_a_total_if_all_are_known():
    require_packages("tqdm")
    text = shown(Terminal())
    assert "\n" not in text
    assert "articles, 1 of 2 sections done: 3 pages, 142,500 URLs [" in text
    assert re.search(
        r"news, 2 of 2 sections done: 100%\|.*\| 4/4 pages, 190,000 URLs \[00:00<00:00\]", text
    )


@pytest.mark.services
def test_it_begins_again_for_each_host():
    require_packages("tqdm")
    stream = Terminal()
    with streams.progress_line(OutputWrapper(stream), wanted=True) as line:
        progress = streams.Progress(line)
        for pages in (2, 3):
            progress.plan({"articles": pages})
            for _ in range(pages):
                progress.page("articles", PAGE)
            progress.section(SectionReport("articles", [PAGE] * pages, 1.0))
    first, second = (f"{count}/{count} pages, {count * 47_500:,} URLs" for count in (2, 3))
    between = stream.getvalue().partition(first)[2].partition(second)
    assert between[1] == second
    assert re.search(r"articles, 0 of 1 section done: +0%\|.*\| 0/3 pages, 0 URLs", between[0])


@pytest.mark.parametrize("stream", [io.StringIO(), Terminal()], ids=["a pipe", "not wanted"])
def test_nothing_is_shown_on_a_pipe_or_if_not_wanted(stream):
    assert shown(stream, wanted=not stream.isatty()) == ""


def test_a_terminal_is_shown_nothing_without_tqdm(monkeypatch):
    monkeypatch.setattr(streams, "tqdm", None)
    assert shown(Terminal()) == ""


@pytest.mark.services
def test_a_terminal_that_goes_away_is_not_an_error():
    require_packages("tqdm")

    class Gone(Terminal):
        def write(self, text):
            raise BrokenPipeError

    assert shown(Gone()) == ""


class Site:
    """A project whose command writes all output to a terminal."""

    def __init__(self, folder):
        self.folder = folder

    def terminal(self, sections, *arguments):
        """Return the output of the command on a terminal, byte for byte."""
        ours, theirs = pty.openpty()
        size = {"TERM": "xterm-256color", "COLUMNS": str(WIDTH), "LINES": "24"}
        command = ["export_sitemaps", "--output", self.folder / "public", *arguments]
        with subprocess.Popen(  # noqa: S603 our own interpreter and arguments
            [sys.executable, "-m", "django", *map(str, command)],
            env=environment(self.folder, sections, MAX_URLS=100, BASE_URL=BASE) | size,
            cwd=self.folder,
            stdin=subprocess.DEVNULL,
            stdout=theirs,
            stderr=theirs,
        ) as process:
            os.close(theirs)
            written = b""
            try:
                while some := _read(ours):
                    written += some
                process.wait(DEADLINE)
            finally:
                process.kill()
                os.close(ours)
        return written.decode()


def _read(terminal):
    try:
        return os.read(terminal, 65_536)
    except OSError:
        # Linux raises this when no process writes to the terminal any more.
        return b""


def screen(text):
    """Return the lines that a terminal would show."""
    lines = [""]
    column = 0
    for character in text:
        if character == "\n":
            lines.append("")
            column = 0
        elif character == "\r":
            column = 0
        else:
            line = lines[-1]
            lines[-1] = line[:column].ljust(column) + character + line[column + 1 :]
            column += 1
    return [line.rstrip() for line in lines]


@pytest.fixture
def site(tmp_path):
    return Site(tmp_path)


@pytest.mark.services
class TestATerminal:
    @pytest.fixture(autouse=True)
    def _extra(self):
        require_packages("tqdm")

    def test_has_one_line_that_is_drawn_again_and_gone_in_the_end(self, site):
        for run in ("first", "second"):
            text = site.terminal("FINE")
            line, end, _ = text.partition("\r\n")
            assert end, text
            drawn = line.split("\r")
            assert len(drawn) > 3
            # There are no colors, and no separate lines for sections.
            assert "\x1b" not in line
            assert all(len(one) <= WIDTH for one in drawn)
            assert any("2 of 2 sections done: 100%|" in one for one in drawn), drawn
            assert any("| 14/14 pages, 1,237 URLs [" in one for one in drawn), drawn
            known = any("0 of 2 sections done:   0%|" in one for one in drawn)
            assert known == (run == "second"), drawn
            # Only the table is printed.
            lines = screen(text)
            assert lines[0] == ""
            assert lines[1].startswith("section ")
            assert "sections done" not in "".join(lines)

    def test_has_what_the_log_says_above_the_line(self, site):
        lines = screen(site.terminal("LAME"))
        assert [line for line in lines if line.startswith("Section 'bad': skipped item 2, ")]
        assert "sections done" not in "".join(lines)

    def test_has_no_line_without_a_reason(self, site):
        assert site.terminal("FINE", "--verbosity", "0") == ""
