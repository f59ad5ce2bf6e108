"""Processes that run pytest, and end with the one that has started them."""

from __future__ import annotations

import ctypes
import os
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from tests.mutants.changes import ROOT

MARKS = "not slow and not services"


class Plugin:
    """Runs `act` with the collected tests by id, in the place of pytest's own loop."""

    def __init__(self, act: Callable[[dict[str, Any]], None], failed: Callable[[str], None]) -> None:
        self.act = act
        self.failed = failed

    def pytest_configure(self) -> None:
        from hypothesis import Phase, settings

        # A smaller example kills a mutant no better.
        settings.register_profile("mutants", settings(), phases=[Phase.explicit, Phase.generate])
        settings.load_profile("mutants")

    def pytest_runtestloop(self, session: Any) -> bool:
        if session.testsfailed:
            os._exit(2)
        self.act({item.nodeid: item for item in session.items})
        return True

    def pytest_runtest_logreport(self, report: Any) -> None:
        if report.failed:
            self.failed(report.nodeid)


def run_pytest(plugin: Plugin, folder: Path, modules: Sequence[str]) -> int:
    """Run pytest with options that suit forks, in a folder that is not the checkout."""
    import pytest

    os.chdir(folder)
    options = ["-q", "--capture=sys", "-m", MARKS, "--timeout=0", "-o", "faulthandler_timeout=0"]
    options += ["-pno:randomly", "-pno:xdist", "-pno:cacheprovider"]
    where = ["-c", str(ROOT / "pyproject.toml"), "--rootdir", str(ROOT), f"--basetemp={folder / 'pytest'}"]
    return int(pytest.main([*options, *where, *(str(ROOT / module) for module in modules)], [plugin]))


def run_items(items: Sequence[Any]) -> None:
    for item, following in zip(items, [*items[1:], None], strict=True):
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)


def start(run: Callable[[], object]) -> int:
    """Run a function in a process that ends with this one."""
    pid = os.fork()
    if pid:
        return pid
    try:
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG
        run()
        sys.stdout.flush()
        os._exit(0)
    except BaseException:  # noqa: BLE001 the process ends
        sys.excepthook(*sys.exc_info())
        sys.stderr.flush()
    finally:
        os._exit(3)


def fork(run: Callable[[Path], object], limit: float = 1e9) -> tuple[int | None, str]:
    """Run a function in a process with a folder of its own.

    Return its exit status, `None` if time ran out, and the test that it has named in the file `killer`.
    """

    def inside() -> None:
        os.setsid()
        os.environ.update(TMPDIR=str(folder), HYPOTHESIS_STORAGE_DIRECTORY=str(folder / "hypothesis"))
        tempfile.tempdir = str(folder)
        run(folder)

    folder = Path(tempfile.mkdtemp(prefix="mutant-"))
    folder.chmod(0o755)  # Tests export as another user.
    pid = start(inside)
    ended, status, end = 0, 0, time.monotonic() + limit
    try:
        while not ended and time.monotonic() < end:
            time.sleep(0.02)
            ended, status = os.waitpid(pid, os.WNOHANG)
        killer = folder / "killer"
        name = killer.read_text() if killer.exists() else ""
        return (os.waitstatus_to_exitcode(status) if ended else None), name
    finally:
        with suppress(ProcessLookupError):
            os.killpg(pid, signal.SIGKILL)
        if not ended:
            os.waitpid(pid, 0)
        shutil.rmtree(folder, ignore_errors=True)
