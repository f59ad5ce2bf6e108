"""Standard streams and callbacks that fail: reports may be lost, but publishing continues."""

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

from django_sitemaps09.export import export
from django_sitemaps09.management.streams import _ITEM_LOGGERS, hidden_item_warnings
from tests.support.commands import environment
from tests.support.configuration import BASE
from tests.support.paths import ROOT
from tests.support.sections import Numbers
from tests.support.waiting import DEADLINE

needs_full = pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")


def run(folder, redirection, *arguments, **streams):
    """Return status and errors of the command with its streams redirected by a shell."""
    command = ["sh", "-c", f'exec "$@" {redirection}', "sh", sys.executable, "-m", "django"]
    environ = environment(folder, "FINE", BASE_URL=BASE, ROOT=str(folder))
    given = {"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE, **streams}
    done = subprocess.run(  # noqa: S603 our own interpreter and arguments
        [*command, "export_sitemaps", *arguments],
        env=environ,
        cwd=ROOT,
        timeout=DEADLINE,
        check=False,
        text=True,
        **given,
    )
    return done.returncode, done.stderr or ""


class TestAStreamThatFails:
    @needs_full
    @pytest.mark.parametrize("arguments", [[], ["--format", "json"], ["--verbosity", "2"]])
    def test_as_a_full_disk_does_is_named_and_all_is_published(self, tmp_path, arguments):
        code, errors = run(tmp_path, ">/dev/full", *arguments)
        assert code == 0
        assert "Cannot write to standard output: [Errno 28]" in errors
        assert "Traceback" not in errors
        assert (tmp_path / "sitemap.xml").exists()

    def test_like_a_pipe_without_a_reader_prints_nothing(self, tmp_path):
        reader, writer = os.pipe()
        os.close(reader)
        try:
            code, errors = run(tmp_path, "", stdout=writer)
        finally:
            os.close(writer)
        assert (code, errors) == (0, "")
        assert (tmp_path / "sitemap.xml").exists()

    @pytest.mark.parametrize("redirection", [">&-", ">&- 2>&-"])
    def test_as_one_that_is_closed_does_publishes_all(self, tmp_path, redirection):
        assert run(tmp_path, redirection) == (0, "")
        assert (tmp_path / "sitemap.xml").exists()

    @needs_full
    def test_leaves_the_exit_status_of_a_run_that_failed(self, tmp_path):
        code, _ = run(tmp_path, ">/dev/full 2>/dev/full", "--remove", "absent")
        assert code == 1
        assert not (tmp_path / "sitemap.xml").exists()

    def test_of_call_command_is_the_same(self, tmp_path, settings):
        class Failing:
            def write(self, text):
                raise OSError(28, "No space left on device")

        settings.SITEMAPS09 = {"BASE_URL": BASE, "SITEMAPS": "tests.support.commands.FINE"}
        call_command("export_sitemaps", output=str(tmp_path), stdout=Failing(), stderr=Failing())
        assert (tmp_path / "sitemap.xml").exists()


@pytest.mark.parametrize("name", ["progress", "on_page"])
def test_a_callback_that_raises_ends_the_export_and_nothing_is_published(tmp_path, settings, name):
    settings.SITEMAPS09 = {"BASE_URL": BASE}
    error = KeyError("of the caller")

    def callback(*arguments):
        raise error

    callbacks = {name: callback}
    with pytest.raises(KeyError) as raised:
        export(output=tmp_path, sitemaps={"a": Numbers(3)}, **callbacks)
    assert raised.value is error
    assert not (tmp_path / "sitemap.xml").exists()
    assert list(tmp_path.glob(".sitemaps09/run-*")) == []


@pytest.mark.parametrize("name", _ITEM_LOGGERS)
def test_the_loggers_of_skipped_items_exist(name):
    assert import_module(name).logger.name == name


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
