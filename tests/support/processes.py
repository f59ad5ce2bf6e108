"""Use these to start Python in a process of its own, and to wait for what others do (`until`)."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

#: The checkout, which contains `tests` and `django_sitemaps09`.
ROOT = Path(__file__).parents[2]
#: Seconds; less than pytest's own limit, so that the message names the condition.
DEADLINE = 60


def until(condition, what):
    """Return when a condition is true; raise `TimeoutError` with `what` after the deadline."""
    deadline = time.monotonic() + DEADLINE
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError(what)
        time.sleep(0.01)


def answers(address):
    """Return whether a server accepts connections at an address, such as `127.0.0.1:6379`."""
    host, _, port = address.rpartition(":")
    with suppress(OSError), socket.create_connection((host, int(port)), timeout=2):
        return True
    return False


def environment(folder, settings, **variables):
    """Return the environment of a process that also imports from a folder, with a module of settings."""
    paths = [str(folder), str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    found = {"PYTHONPATH": os.pathsep.join(paths), "DJANGO_SETTINGS_MODULE": settings}
    return os.environ | found | {name: str(value) for name, value in variables.items()}


def started(*command, environ, **options):
    """Start Python with these arguments."""
    given = {"env": environ, "cwd": ROOT, "encoding": "utf-8"}
    given |= {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options}
    return subprocess.Popen([sys.executable, *map(str, command)], **given)  # noqa: S603 our own


def ended(process, deadline=DEADLINE):
    """Return status, output and errors of a process, which is killed after a timeout."""
    with process:
        try:
            out, err = process.communicate(timeout=deadline)
        finally:
            process.kill()
    return process.returncode, out, err


def forkable():
    """Let the workers of the next export be forked, so that they inherit overridden settings.

    They are spawned if a connection is open or another thread lives. Up to Python 3.12, a thread
    that was joined may still be listed for a moment.
    """
    from django.db import connections

    connections.close_all()
    tasks = Path("/proc/self/task")
    until(lambda: not tasks.is_dir() or len(list(tasks.iterdir())) == 1, "another thread lives")
