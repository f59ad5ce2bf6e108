"""Use `is_killed_at` to kill a fork at a change of a folder, and `dies_at` to end work in this process.

`living` and what follows it tell which processes remain.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
import time
import traceback
from pathlib import Path

import pytest

from tests.support.internals import LocalStore

needs_proc = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="this system has no /proc")


def die_at(point, folder, *, in_workers=False):
    """Kill this process before its `point`-th change of what is in a folder, or half through it.

    Whatever makes the change: Python tells of each file that is created, moved or removed. Before a file
    is synced only half of it has come to the disk. `in_workers` counts the changes of each worker
    instead, who then stands still.
    """
    left, own, below, sync = point, os.getpid(), str(folder), os.fsync
    one_at_a_time = threading.RLock()

    def now():
        nonlocal left
        if in_workers is (os.getpid() == own):
            return False
        with one_at_a_time:
            left -= 1
            return left == 0

    def die():
        with contextlib.suppress(ProcessLookupError):
            os.kill(own, signal.SIGKILL)
        # If a process is stopped when its parent dies, it gets SIGHUP. So the parent must die first.
        while os.getppid() == own:
            time.sleep(0.001)
        # The worker does not detect this before it is continued.
        os.kill(os.getpid(), signal.SIGSTOP)

    def hook(event, arguments):
        if event == "open":
            path, _, flags = arguments
            counts = isinstance(path, (str, os.PathLike)) and bool(flags & os.O_CREAT)
        elif event in ("os.rename", "os.remove", "os.rmdir", "os.mkdir"):
            # Names below an open folder are relative to it.
            path, counts = arguments[0], True
        else:
            return
        if counts and (str(path).startswith(below) or not Path(path).is_absolute()) and now():
            die()

    def half(descriptor):
        if now():
            with contextlib.suppress(OSError):
                os.ftruncate(descriptor, os.fstat(descriptor).st_size // 2)
            die()
        sync(descriptor)

    os.fsync = half
    sys.addaudithook(hook)


def forked(work):
    """Return the number of a fork that does some work and ends with 0 if that succeeds."""
    from django.db import connections

    connections.close_all()
    number = os.fork()
    if number:
        return number
    try:
        # Its workers can be found by this group, too.
        os.setpgid(0, 0)
        work()
    except BaseException:  # noqa: BLE001 the parent reads the exit status
        traceback.print_exc()
        os._exit(3)
    os._exit(0)


def die(*arguments):
    os.kill(os.getpid(), signal.SIGKILL)


def was_killed(number):
    """Wait for a fork, and return whether it was killed; `False` if it ended by itself."""
    _, status = os.waitpid(number, 0)
    if os.WIFSIGNALED(status):
        assert os.WTERMSIG(status) == signal.SIGKILL, status
        return True
    assert os.WEXITSTATUS(status) == 0, "the export failed, see above"
    return False


def is_killed_at(point, folder, work):
    """Do some work in a fork that `die_at()` kills, and return whether it was killed."""
    return was_killed(forked(lambda: die_at(point, folder) or work()))


class Killed(BaseException):
    """Error that no code catches, like a power cut."""


def dies_at(step, work, *methods):
    """Do some work, but end it before its n-th call of these methods of a folder, counted from 1.

    Return whether it was ended. By default, the steps are promotions of files.
    """
    left = iter(range(step - 1))

    def dying(method):
        def called(*arguments):
            if next(left, None) is None:
                raise Killed
            return method(*arguments)

        return called

    with pytest.MonkeyPatch.context() as patch:
        for name in methods or ("promote",):
            patch.setattr(LocalStore, name, dying(getattr(LocalStore, name)))
        try:
            work()
        except Killed:
            return True
    return False


def living():
    """Return the process group and the session of each living process in /proc, by number."""
    found = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            state, _, group, session = stat.read_text().rpartition(")")[2].split()[:4]
            # A dead process keeps its files open as long as one of its threads lives.
            if state not in "ZX" or len([*stat.parent.glob("task/*")]) > 1:
                found[int(stat.parent.name)] = int(group), int(session)
    return found


def lives(number):
    """Return whether a process is running; a zombie is not."""
    return number in living()


def members(group):
    return [number for number, (found, _) in living().items() if found == group]


def woken(group):
    """Continue the living processes of a process group, and return them."""
    found = members(group)
    for number in found:
        with contextlib.suppress(ProcessLookupError):
            os.kill(number, signal.SIGCONT)
    return found


def end(session):
    """Kill all living processes of a session, including those that are stopped."""
    for number in [number for number, (_, found) in living().items() if found == session]:
        with contextlib.suppress(ProcessLookupError):
            os.kill(number, signal.SIGKILL)
