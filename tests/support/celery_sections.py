"""Sections that workers of queues render, and functions for `python -m tests.support.celery_sections`."""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from typing import Any

from django.core.exceptions import ImproperlyConfigured

from tests.support import engine_project
from tests.support.engine_project import PAGE, ROWS, articles, gate
from tests.support.waiting import DEADLINE, until

HASTY, DOUBLING, HURRIED = "shop.engine.Hasty", "shop.engine.Doubling", "shop.engine.Hurried"
WORKER = "SITEMAPS09_TESTS_WORKER"
#: Seconds for each row of the section `steady`.
STEADY = 0.004


def in_worker() -> bool:
    return WORKER in os.environ


def is_child() -> bool:
    """Return whether the export has started this process for a page whose worker did not return it."""
    return sys.argv[0] == "-c"


def sent() -> bool:
    """Return whether this process is the export itself, and has sent pages to workers."""
    return not (in_worker() or is_child()) and gate("sent").exists()


def wait_for(name: str) -> None:
    if in_worker():
        gate(f"{name}-{os.getpid()}").touch()
        until(gate(name).exists, f"nobody said {name}")
    elif sent():
        # The export leaves pages to the workers.
        until(lambda: len([*gate("").glob(f"{name}-*")]) > 1, "two workers never began")


def meeting(self: Any, item: Any) -> str:
    """Wait at the first page of each of two workers."""
    if item.pk % PAGE == 1 and (in_worker() or sent()):
        gate("all").mkdir(exist_ok=True)
        if in_worker():
            gate(f"all/{os.getpid()}").touch()
        until(lambda: len([*gate("all").iterdir()]) > 1, "two workers never met")
    return f"/{os.getpid()}/{item.pk}/"


def odd(self: Any, item: Any) -> str:
    """Raise errors with texts that are difficult for logs and JSON."""
    if item.pk % 50 == 7:
        raise ValueError(f"\u2028 \x1b[31m \U0001f600 \ud800 % {{}} \0 {item.pk}")
    return "https://elsewhere.example.net/" if item.pk % 50 == 8 else f"/{item.slug}/"


def deadly(self: Any, item: Any) -> str:
    """Kill the process that renders it, as the system does if memory runs out.

    The export itself lets a worker have the page. It does not render it later, since it is claimed then.
    """
    if in_worker() or is_child():
        if item.pk == ROWS // 2:
            gate(f"dead-{os.getpid()}").touch()
            os.kill(os.getpid(), signal.SIGKILL)
    elif sent():
        until(lambda: [*gate("").glob("dead-*")], "no worker took the page")
    return f"/{item.slug}/"


def late(self: Any, item: Any) -> str:
    if item.pk % PAGE == 1:
        wait_for("published")
        if is_child():
            gate(f"child-{os.getpid()}").touch()
            time.sleep(DEADLINE)
    return f"/{item.slug}/"


def steady(self: Any, item: Any) -> str:
    """Take some milliseconds, and let the test know that a worker has begun."""
    if in_worker():
        gate(f"steady-{os.getpid()}").touch()
    time.sleep(STEADY)
    return f"/{item.slug}/"


#: The sections that the setting SITEMAPS names in all processes.
SECTIONS = {
    "a": articles(),
    "b": articles(),
    "one": articles(pks=5),
    **{hook.__name__: articles(location=hook) for hook in (meeting, odd, deadly, late, steady)},
}


def exported(folder: str, engine: str, *names: str, **options: Any) -> dict[str, Any]:
    return engine_project.exported(folder, names=names, engine=engine, **options)


def stored(engine: str, *names: str) -> dict[str, Any]:
    """Export to the storage of the settings."""
    return exported(None, engine, *names)  # type: ignore[arg-type]


def again(folder: str, engine: str) -> list[dict[str, Any]]:
    """Export twice; the second export has nothing to render."""
    return [exported(folder, engine, "a", changed_only=True) for _ in range(2)]


def elsewhere(folder: str, engine: str) -> dict[str, Any]:
    """Export under a prefix and a URLconf that only this process has."""
    from django.urls import set_script_prefix, set_urlconf

    set_script_prefix("/shop/")
    set_urlconf("tests.support.engine_project")
    return exported(folder, engine, "a")


def send_again() -> None:
    """Return the last message, after the export has ended."""
    from shop.engine import Hasty

    Hasty(1).put(json.loads(gate("sent").read_text().splitlines()[-1]))


def enqueued(*names: str) -> list[Any]:
    """Run an export in a worker of Django Tasks, and return the status and the result of its task."""
    from django_sitemaps09.django_tasks import export

    result = export.enqueue(*names)

    def is_finished() -> bool:
        result.refresh()
        return bool(result.is_finished)

    until(is_finished, "no worker completed the export")
    return [str(result.status), result.return_value]


def ordered(*names: str) -> None:
    """Run an export in a worker of Celery, which has no result backend."""
    from django_sitemaps09.tasks import export

    export.delay(*names)


def modules() -> list[str]:
    from django_sitemaps09.export import export

    assert export
    return [name for name in sys.modules if name.partition(".")[0] in ("celery", "kombu")]


def without_celery() -> str:
    from django_sitemaps09.export import engines

    sys.modules["celery"] = None  # type: ignore[assignment]
    try:
        engines.engine("celery", 2, elsewhere=True)
    except ImproperlyConfigured as error:
        return str(error)
    return ""


if __name__ == "__main__":
    import django

    django.setup()
    print(json.dumps(globals()[sys.argv[1]](*sys.argv[2:])))  # noqa: T201
