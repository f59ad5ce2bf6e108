"""Standard streams that fail, and the progress line on a terminal."""

from __future__ import annotations

import io
import logging
import os
import re
import subprocess
import sys
from io import StringIO
from pathlib import Path
from threading import Thread

import pytest
from django.core.management import call_command
from django.core.management.base import OutputWrapper

from django_sitemaps09.declare.calls import log_skipped
from django_sitemaps09.export import PageFile, SectionReport
from django_sitemaps09.management import streams
from tests.support.commands import environment
from tests.support.configuration import BASE
from tests.support.processes import DEADLINE, ROOT, started
from tests.support.services import require_packages

needs_full = pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
FULL = "Cannot write to standard output: [Errno 28]"


def run(folder, redirection, *arguments, stdout=subprocess.DEVNULL):
    """Return status and errors of the command with its streams redirected by a shell."""
    command = ["sh", "-c", f'exec "$@" {redirection}', "sh", sys.executable, "-m", "django"]
    done = subprocess.run(  # noqa: S603 our own interpreter and arguments
        [*command, "export_sitemaps", *arguments],
        stdout=stdout,
        stderr=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        timeout=DEADLINE,
        env=environment(folder, "FINE", BASE_URL=BASE, ROOT=str(folder)),
        check=False,
    )
    return done.returncode, done.stderr


@pytest.mark.parametrize(("redirection", "arguments", "status", "words"), [
    pytest.param(">/dev/full", "", 0, FULL, marks=needs_full),
    pytest.param(">/dev/full", "--format json", 0, FULL, marks=[needs_full, pytest.mark.slow]),
    pytest.param(">/dev/full", "--verbosity 2", 0, FULL, marks=[needs_full, pytest.mark.slow]),
    pytest.param(">/dev/full 2>/dev/full", "--remove absent", 1, "", marks=[needs_full, pytest.mark.slow]),
    (">&-", "", 0, ""), pytest.param(">&- 2>&-", "", 0, "", marks=pytest.mark.slow),
])  # fmt: skip
def test_a_stream_that_fails_changes_no_file_and_no_status(tmp_path, redirection, arguments, status, words):
    found, errors = run(tmp_path, redirection, *arguments.split())
    assert (found, (tmp_path / "sitemap.xml").exists()) == (status, status == 0)
    assert (words in errors, bool(words) == bool(errors), "Traceback" in errors) == (True, True, False)


def test_a_pipe_without_a_reader_gets_nothing_and_no_error(tmp_path):
    reader, writer = os.pipe()
    os.close(reader)
    try:
        found = run(tmp_path, "", stdout=writer)
    finally:
        os.close(writer)
    assert (found, (tmp_path / "sitemap.xml").exists()) == ((0, ""), True)


@pytest.mark.sitemaps09(SITEMAPS="tests.support.commands.FINE")
def test_a_stream_of_call_command_may_fail_too(tmp_path):
    class Failing:
        def write(self, text):
            raise OSError(28, "No space left on device")

    call_command("export_sitemaps", output=str(tmp_path), stdout=Failing(), stderr=Failing())
    assert (tmp_path / "sitemap.xml").exists()


def test_warnings_about_items_are_hidden_only_from_the_thread_that_does_not_want_them(monkeypatch):
    handler = logging.StreamHandler(StringIO())
    monkeypatch.setattr(logging, "lastResort", handler)
    logger = logging.getLogger("django_sitemaps09")
    monkeypatch.setattr(logger, "handlers", [handler])

    def log(text):
        log_skipped(logger, [text], 1)

    with streams.hidden_item_warnings():
        with streams.hidden_item_warnings():
            log("inner")
        log("outer")
        logger.warning("run")
        other = Thread(target=log, args=("thread",))
        other.start()
        other.join(10)
    log("later")
    assert handler.stream.getvalue().split() == ["run", "Skipped", "thread", "Skipped", "later"]


pty = pytest.importorskip("pty", reason="needs pseudo-terminals, which this system does not have")
WIDTH = 100
PAGE = PageFile("sitemap-a-1.xml.gz", 1, None, None, 47_500)


@pytest.fixture
def _tqdm():
    require_packages("tqdm")


def with_tqdm(test):
    return pytest.mark.services(pytest.mark.usefixtures("_tqdm")(test))


class Terminal(io.StringIO):
    def isatty(self):
        return True


def shown(stream, *steps, wanted=True):
    """Return what is shown for plans, and for sections as their names and pages."""
    with streams.progress_line(OutputWrapper(stream), wanted=wanted) as line:
        progress = None if line is None else streams.Progress(line)
        for step in steps if progress else ():
            if isinstance(step, dict):
                progress.plan(step)
            else:
                name, reported, pages = step
                for _ in range(reported):
                    progress.page(name, PAGE)
                progress.section(SectionReport(name, [PAGE] * pages, 1.0))
    return stream.getvalue()


STEPS = ({"articles": 4, "news": None}, ("articles", 2, 3), {"news": 1}, ("news", 0, 1))


@with_tqdm
def test_a_terminal_shows_sections_pages_and_urls_and_each_host_from_the_beginning():
    text = shown(Terminal(), *STEPS)
    assert "\n" not in text
    assert "articles, 1 of 2 sections done: 3 pages, 142,500 URLs [" in text
    assert re.search(r"news, 2 of 2 sections done: 100%\|.*\| 4/4 pages, 190,000 URLs \[00:00<", text)
    steps = [step for pages in (2, 3) for step in ({"articles": pages}, ("articles", pages, pages))]
    text = shown(Terminal(), *steps)
    first, second = (f"{count}/{count} pages, {count * 47_500:,} URLs" for count in (2, 3))
    between = text.partition(first)[2].partition(second)
    assert between[1] == second
    assert re.search(r"articles, 0 of 1 section done: +0%\|.*\| 0/3 pages, 0 URLs", between[0])


@pytest.mark.parametrize("case", ["a pipe", "not wanted", "no tqdm"])
def test_nothing_is_shown_on_a_pipe_if_not_wanted_or_without_tqdm(monkeypatch, case):
    if case == "no tqdm":
        monkeypatch.setattr(streams, "tqdm", None)
    stream = io.StringIO() if case == "a pipe" else Terminal()
    assert shown(stream, *STEPS, wanted=case != "not wanted") == ""


@with_tqdm
def test_a_terminal_that_goes_away_is_not_an_error():
    class Gone(Terminal):
        def write(self, text):
            raise BrokenPipeError

    assert shown(Gone(), *STEPS) == ""


def read(terminal):
    try:
        return os.read(terminal, 65_536)
    except OSError:
        # Linux raises this when no process writes to the terminal any more.
        return b""


@pytest.fixture
def terminal(tmp_path, _tqdm):
    """Return a function that returns the output of the command on a terminal, byte for byte."""

    def run(sections, *arguments):
        ours, theirs = pty.openpty()
        size = {"TERM": "xterm-256color", "COLUMNS": str(WIDTH), "LINES": "24"}
        command = ["export_sitemaps", "--output", str(tmp_path / "public"), *arguments]
        environ = environment(tmp_path, sections, MAX_URLS=100, BASE_URL=BASE) | size
        streams = {"stdin": subprocess.DEVNULL, "stdout": theirs, "stderr": theirs}
        with started("-m", "django", *command, environ=environ, cwd=tmp_path, **streams) as process:
            os.close(theirs)
            written = b""
            try:
                while some := read(ours):
                    written += some
                process.wait(DEADLINE)
            finally:
                process.kill()
                os.close(ours)
        return written.decode()

    return run


def screen(text):
    """Return the lines that a terminal would show."""
    lines, column = [""], 0
    for character in text:
        if character == "\n":
            lines.append("")
        if character in "\r\n":
            column = 0
        else:
            lines[-1] = lines[-1][:column].ljust(column) + character + lines[-1][column + 1 :]
            column += 1
    return [line.rstrip() for line in lines]


@pytest.mark.services
def test_a_terminal_has_one_line_that_is_drawn_again_and_gone_in_the_end(terminal):
    for run in ("first", "second"):
        text = terminal("FINE")
        line, end, _ = text.partition("\r\n")
        assert end, text
        drawn = line.split("\r")
        # There are no colors, and no separate lines for sections.
        assert (len(drawn) > 3, "\x1b" in line, max(map(len, drawn)) <= WIDTH) == (True, False, True)
        words = ["2 of 2 sections done: 100%|", "| 14/14 pages, 1,237 URLs [", "sections done:   0%|"]
        assert [any(word in one for one in drawn) for word in words] == [True, True, run == "second"], drawn
        # Only the table is printed.
        lines = screen(text)
        assert (lines[0], lines[1][:8], "sections done" in "".join(lines)) == ("", "section ", False)


@pytest.mark.services
def test_a_terminal_has_what_the_log_says_above_the_line_and_nothing_without_a_reason(terminal):
    assert terminal("FINE", "--verbosity", "0") == ""
    lines = screen(terminal("LAME"))
    assert [line for line in lines if line.startswith("Section 'bad': skipped item 2, ")]
    assert "sections done" not in "".join(lines)
