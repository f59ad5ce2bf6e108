"""An export in a process of its own, one of whose workers is frozen and goes on after the end of the run.

`python -m tests.export.engines.lone_worker export FOLDER LOOK` runs the export, and starts the worker.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from tests.support.engine_project import Project
from tests.support.processes import ended
from tests.support.published import states

#: What the worker does next when it is frozen: it looks for the run before each of these.
LOOKS = ("begin", "claim", "stage", "complete", "reply")


def lone(folder: Path, database: Path, look: str) -> Any:
    """Return the result of an export whose worker freezes before a look for the run."""
    (folder / "project").mkdir()
    project = Project(folder / "project")
    project.database["NAME"] = str(database)
    command = ["tests.export.engines.lone_worker", "export", str(folder / "public"), look]
    status, out, err = ended(project.start("ALL", *command))
    assert status == 0, err
    return json.loads(out)


def export(folder: str, look: str) -> dict[str, Any]:
    from django_sitemaps09.export import export
    from django_sitemaps09.export.engines.queues import QueueEngine

    workers: list[subprocess.Popen[bytes]] = []

    class Freezing(QueueEngine):
        worker_name = "worker"
        # Claims are soon old.
        clock = staticmethod(lambda: 20 * time.monotonic())

        def put(self, message: str) -> None:
            # The first message is that of the page which the export renders at once.
            if not workers and messages:
                workers.append(frozen(message, look))
            messages.append(message)

        def describe(self) -> tuple[str, str]:
            return "nowhere", "nothing"

    messages: list[str] = []
    globals()["Freezing"] = Freezing
    report = export(["a"], output=folder, engine="tests.export.engines.lone_worker.Freezing", workers=1)
    before = states(Path(folder), hidden=True)
    [worker] = workers
    assert worker.poll() is None, "the worker was never frozen"
    worker.send_signal(signal.SIGCONT)
    status = worker.wait()
    after = states(Path(folder), hidden=True)
    changed = sorted(name for name in {*before, *after} if before.get(name) != after.get(name))
    return {"published": report.published, "changed": changed, "urls": report.urls, "status": status}


def frozen(message: str, look: str) -> subprocess.Popen[bytes]:
    """Start a worker, and return it when it has stopped."""
    worker = subprocess.Popen(  # noqa: S603 our own interpreter and arguments
        [sys.executable, "-m", "tests.export.engines.lone_worker", "work", message, look],
        stdout=subprocess.DEVNULL,
    )
    _, status = os.waitpid(worker.pid, os.WUNTRACED)
    assert os.WIFSTOPPED(status), "the worker ended before it was frozen"
    return worker


def work(message: str, look: str) -> None:
    from django_sitemaps09.export.engines.messages import handle_message
    from django_sitemaps09.stores import LocalStore

    read, looks = LocalStore.read, iter(LOOKS)

    def freezing(store: LocalStore, name: str, max_bytes: int) -> bytes | None:
        if name.endswith("/run.json") and next(looks, "") == look:
            os.kill(os.getpid(), signal.SIGSTOP)
        return read(store, name, max_bytes)

    LocalStore.read = freezing  # type: ignore[method-assign]
    handle_message(message)


if __name__ == "__main__":
    import django

    django.setup()
    # The engine is found by the name of this module.
    sys.modules["tests.export.engines.lone_worker"] = sys.modules[__name__]
    print(json.dumps(globals()[sys.argv[1]](*sys.argv[2:])))  # noqa: T201
