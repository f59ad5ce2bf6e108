"""Standard streams that fail: reports may be lost, but publishing continues."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
from importlib import import_module
from io import StringIO
from pathlib import Path
from threading import Thread

import pytest
from django.core.management import call_command

from django_sitemaps09.management.streams import _ITEM_LOGGERS, hidden_item_warnings
from tests.support.commands import environment
from tests.support.configuration import BASE
from tests.support.paths import ROOT
from tests.support.waiting import DEADLINE

needs_full = pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
FULL = "Cannot write to standard output: [Errno 28]"


def run(folder, redirection, *arguments, stdout=subprocess.DEVNULL):
    """Return status and errors of the command with its streams redirected by a shell."""
    command = [
        "sh",
        "-c",
        f'exec "$@" {redirection}',
        "sh",
        sys.executable,
        "-m",
        "django",
        "export_sitemaps",
    ]
    done = subprocess.run(  # noqa: S603 our own interpreter and arguments
        [*command, *arguments],
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
    pytest.param(">/dev/full", "--format json", 0, FULL, marks=needs_full),
    pytest.param(">/dev/full", "--verbosity 2", 0, FULL, marks=needs_full),
    pytest.param(">/dev/full 2>/dev/full", "--remove absent", 1, "", marks=needs_full),
    (">&-", "", 0, ""), (">&- 2>&-", "", 0, ""),
])  # fmt: skip
def test_a_stream_that_fails_changes_neither_files_nor_status(
    tmp_path, redirection, arguments, status, words
):
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
    console = StringIO()
    handler = logging.StreamHandler(console)
    monkeypatch.setattr(logging, "lastResort", handler)

    def log(name):
        record = logging.LogRecord(f"django_sitemaps09.{name}", logging.WARNING, "", 1, name, (), None)
        handler.handle(record)

    with hidden_item_warnings():
        with hidden_item_warnings():
            log("sitemaps.items")
        log("sitemaps.items")
        log("stores")
        other = Thread(target=log, args=("export.rendering.section",))
        other.start()
        other.join(10)
    log("sitemaps.items")
    assert console.getvalue().split() == ["stores", "export.rendering.section", "sitemaps.items"]
    assert [name for name in _ITEM_LOGGERS if import_module(name).logger.name != name] == []
